"""Whose order clicks support: shares against plain loops, and judges whose errors are planted."""

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from scipy import stats

from clickassay.core.contracts.judges import JUDGE_DISAGREEMENTS
from clickassay.correlation.disagreements import contested_pairs, judge_disagreements

ALL = {"market": "all", "depth": 3}


def lists_of(rows, **more):
    """Configurations of rows (judge, id, query, results, grades)."""
    names = ["judge", "configuration_id", "query", "results", "grades"]
    frame = pl.DataFrame([(*row[:3], row[3].split(), row[4]) for row in rows], schema=names, orient="row")
    return frame.with_columns(**{name: pl.lit(value) for name, value in (ALL | more).items()})


def patterns_of(rows):
    return pl.DataFrame(rows, schema=["configuration_id", "fold", "click_mask", "sessions"], orient="row")


def test_pairs_that_judges_order_oppositely_are_counted_with_sessions_that_click_one_of_both():
    rows = [("ann", "x", "q", "a b c", [3, 1, 1]), ("bob", "x", "q", "a b c", [1, 2, 0])]
    both = lists_of(rows[:1]).join(lists_of(rows[1:]), on="configuration_id", suffix="_b")
    masks = [("x", 0, 0b001, 5), ("x", 1, 0b101, 2), ("x", 0, 0b011, 9), ("x", 0, 0b010, 4), ("x", 0, 0, 7)]
    # b and c: ann sees a tie, so nobody contradicts bob
    (pair,) = contested_pairs(both, patterns_of(masks)).to_dicts()
    assert pair == {
        **{"query": "q", "unit": "q", "position": 1, "upper": "a", "lower": "b", "order": 1},
        **{"clicks": 5 + 2 + 4, "upper_clicks": 5 + 2},
    }


def random_log(seed, *, queries=70, right=0.5, chance=0.7):
    """Lists of three in which both judges order all neighbours oppositely; clicks side with ann or bob."""
    rng = np.random.default_rng(seed)
    lists, patterns = [], []
    for query in range(queries):
        for number in range(int(rng.integers(1, 4))):
            name, urls = f"{query:03d}-{number}", " ".join(f"u{place}" for place in rng.permutation(6)[:3])
            grades = rng.permutation([0, 1, 2])
            lists += [
                ("ann", name, f"q{query}", urls, grades.tolist()),
                ("bob", name, f"q{query}", urls, (2 - grades).tolist()),
            ]
            truth = grades if rng.random() < right else 2 - grades
            for _ in range(int(rng.integers(1, 12))):
                upper = rng.random() < (chance if truth[0] > truth[1] else 1 - chance) * 0.8 + 0.1
                patterns.append((name, int(rng.integers(2)), int(rng.choice([1, 5] if upper else [2, 6])), 1))
    counted = (
        patterns_of(patterns).group_by("configuration_id", "fold", "click_mask", maintain_order=True).sum()
    )
    return lists_of(lists), counted


def looped(lists, patterns):
    """Scores and scales of queries, and the shares of the upper result by order, in plain loops."""
    by_judge = {judge: defaultdict(dict) for judge in ("ann", "bob")}
    for row in lists.iter_rows(named=True):
        by_judge[row["judge"]][row["configuration_id"]] = row
    tally = defaultdict(lambda: [0, 0])
    for pattern in patterns.iter_rows(named=True):
        a, b = (by_judge[judge][pattern["configuration_id"]] for judge in ("ann", "bob"))
        for place, (upper, lower) in enumerate(pairwise(a["results"])):
            one, other = (row["grades"][place] - row["grades"][place + 1] for row in (a, b))
            bits = [pattern["click_mask"] >> (place + step) & 1 for step in (0, 1)]
            if one * other < 0 and sum(bits) == 1:
                key = a["query"], place, upper, lower, 1 if one > 0 else -1
                tally[key][0] += pattern["sessions"]
                tally[key][1] += pattern["sessions"] * bits[0]
    pairs = [(*key, n / (n + 4), up / n) for key, (n, up) in tally.items()]
    scores, scales, compared, common = defaultdict(float), defaultdict(float), [0.0, 0.0], 0.0
    for place in {pair[1] for pair in pairs}:
        here = [pair for pair in pairs if pair[1] == place]
        total = math.fsum(pair[5] for pair in here)
        mean_x = math.fsum(pair[5] * pair[6] for pair in here) / total
        mean_d = math.fsum(pair[5] * pair[4] for pair in here) / total
        for query, _, _, _, order, weight, share in here:
            scores[query] += weight * order * (share - mean_x)
            scales[query] += weight * order * (order - mean_d) / 2
        sides = [[pair for pair in here if pair[4] == side] for side in (1, -1)]
        sums = [math.fsum(pair[5] for pair in side) for side in sides]
        both = sums[0] * sums[1] / total
        common += both
        for number, side in enumerate(sides):
            compared[number] += both * math.fsum(pair[5] * pair[6] for pair in side) / sums[number]
    order = sorted(scores)
    return [scores[q] for q in order], [scales[q] for q in order], [each / common for each in compared]


@pytest.mark.parametrize("right", [0.5, 0.7])
def test_shares_difference_and_test_are_those_of_plain_loops(right):
    lists, patterns = random_log(3, right=right)
    row = judge_disagreements(lists, patterns).row(0, named=True)
    scores, scales, (upper_a, upper_b) = looped(lists, patterns)
    assert (row["upper_a"], row["upper_b"]) == pytest.approx((upper_a, upper_b), abs=1e-12)
    difference = math.fsum(scores) / math.fsum(scales)
    assert row["difference"] == pytest.approx(difference, abs=1e-12)
    assert row["difference"] == pytest.approx(upper_a - upper_b, abs=1e-12)
    squares = [score**2 for score in scores]
    q, total = len(scores), math.fsum(squares)
    degrees = 2 / max(math.fsum(each**2 for each in squares) / total**2 - 1 / q, 2 / (q - 1))
    degrees = min(2 * degrees, q - 1)
    z = math.fsum(scores) / math.sqrt(total)
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(z), degrees), rel=1e-9)
    assert (row["n_queries"], row["p_adjusted"]) == (q, row["p_value"])
    for end in (row["ci_low"], row["ci_high"]):  # where the same test of a difference of this size gives 0.05
        left = [score - end * scale for score, scale in zip(scores, scales, strict=True)]
        at_end = math.fsum(left) / math.sqrt(math.fsum(each**2 for each in left))
        assert abs(at_end) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)


def with_errors(grades, share, rng):
    """Grades of which some are drawn anew from the other four of the scale."""
    wrong = rng.random(len(grades)) < share
    return np.where(wrong, (grades + rng.integers(1, 5, len(grades))) % 5, grades)


def judged_log(seed, errors, *, queries=150):
    """Two judges with planted errors; each list of five is clicked by users who read and stop."""
    rng = np.random.default_rng(seed)
    rows, patterns = [], []
    for query in range(queries):
        true = rng.choice(5, 12, p=[0.35, 0.25, 0.2, 0.1, 0.1])
        given = [with_errors(true, share, rng) for share in errors]
        for number in range(3):
            name, shown = f"{query:03d}-{number}", rng.permutation(12)[:5]
            for judge, grades in zip(("ann", "bob"), given, strict=True):
                urls = " ".join(f"u{url}" for url in shown)
                rows.append((judge, name, f"q{query}", urls, grades[shown].tolist()))
            clicked = rng.random((20, 5)) < 0.05 + 0.2 * true[shown]
            clicked &= np.cumprod(rng.random((20, 5)) < 0.8, axis=1).astype(bool)
            masks = clicked @ (1 << np.arange(5))
            patterns += [(name, 0, int(mask), 1) for mask in masks]
    counted = patterns_of(patterns).group_by("configuration_id", "fold", "click_mask").sum()
    return lists_of(rows, depth=5), counted


def test_the_judge_with_fewer_planted_errors_is_supported():
    for seed in range(3):
        row = judge_disagreements(*judged_log(seed, (0.08, 0.25))).row(0, named=True)
        assert row["supported"] == "ann"
        assert row["ci_low"] > 0
        worse = judge_disagreements(*judged_log(seed, (0.25, 0.08))).row(0, named=True)
        assert worse["supported"] == "bob"


def test_a_position_where_one_order_alone_occurs_says_nothing():
    rows = [
        row
        for number in range(3)
        for row in (
            ("ann", f"x{number}", f"q{number}", "a b c", [2, 1, 0]),
            ("bob", f"x{number}", f"q{number}", "a b c", [1, 2, 2]),
        )
    ]
    row = judge_disagreements(lists_of(rows), patterns_of([("x0", 0, 1, 4), ("x1", 0, 2, 4)])).row(
        0, named=True
    )
    names = "upper_a difference ci_low p_value p_adjusted queries_needed supported caution"
    assert {row[name] for name in names.split()} == {None}
    assert (row["n_pairs"], row["n_clicks"], row["n_queries"]) == (0, 0, 0)


def test_judges_without_a_list_in_common_and_a_judge_alone_give_no_row():
    rows = [("ann", "x", "q", "a b c", [2, 1, 0]), ("bob", "y", "q", "b a c", [1, 2, 2])]
    for lists in (lists_of(rows), lists_of(rows[:1]), lists_of(rows).head(0)):
        assert judge_disagreements(lists, patterns_of([("x", 0, 1, 4)])).equals(JUDGE_DISAGREEMENTS.empty())


def test_pairs_of_three_judges_are_one_family_by_market_and_depth():
    lists, patterns = judged_log(2, (0.08, 0.25))
    third = lists.filter(judge="bob").with_columns(
        judge=pl.lit("eve"), grades=pl.col("grades").list.reverse()
    )
    whole = pl.concat([lists, third])
    both = pl.concat([whole, whole.with_columns(market=pl.lit("other"))])
    found = judge_disagreements(both, patterns)
    assert found.group_by("market").len()["len"].to_list() == [3, 3]
    (_, one), (_, other) = found.group_by("market", maintain_order=True)
    assert one.drop("market").equals(other.drop("market"))
    smallest = one.sort("p_value").row(0, named=True)
    assert smallest["p_adjusted"] == pytest.approx(3 * smallest["p_value"])
