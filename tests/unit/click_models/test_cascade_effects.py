"""Results whose clicks collapse under a better one: worked by hand, and against plain Python."""

import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from clickassay.click_models import cascade_effects as cascade_module
from clickassay.click_models.cascade_effects import cascade_effects, clearest_pairs, compared_places, p_value
from clickassay.core.contracts.clicks import CASCADE_EFFECTS
from support.logs.tiny_table import judged_at, judgment_rows, table_of
from support.oracle import oracle_cascade_effects as oracle
from support.oracle.oracle_metrics import Configuration

# the www of myspace is alone in first place, and second below uk; the others make the average of first place
# 240/400, twice that of second place: 120/400
MYSPACE = [
    ("all", "myspace", "wx", {0: 3, 1: 97}),
    ("all", "myspace", "uw", {0: 1, 1: 88, 2: 2, 3: 9}),
    ("all", "other", "ab", {0: 45, 1: 46, 2: 109}),
]
GRADES = [
    *(("myspace", "u", 4), ("myspace", "w", 3), ("myspace", "x", 0)),
    *(("other", "a", 2), ("other", "b", 2)),
]


def found_in(rows, grades, *, depth=2, **options):
    """Return the clearest pairs of configurations (market, query, letters, sessions by mask)."""
    table = table_of([row[:3] for row in rows], [row[3] for row in rows], stored_depth=depth)
    graded = judgment_rows(grades, **options.pop("columns", {}))
    judged = judged_at(depth, table, graded, **options)
    return clearest_pairs(judged, compared_places(judged), judge="all", depth=depth)


def test_twenty_queries_of_a_market_are_named_the_largest_fall_first_equal_ones_by_query():
    queries = [f"q{number:02d}" for number in range(23, 0, -1)]
    rows = [(market, query, *shown[2:]) for market in "ns" for query in queries for shown in MYSPACE[:2]]
    rows[1] = ("n", "q23", "uw", {0: 2, 1: 97, 2: 1})  # fewer clicks on w below u
    rows += [(market, "other", "ab", {1: 9999, 2: 9999}) for market in "ns"]
    grades = [(query, url, grade) for query in queries for _, url, grade in GRADES[:3]]
    found = found_in(rows, grades + GRADES[3:])
    assert found["market"].to_list() == ["n"] * 20 + ["s"] * 20
    assert found["rank"].to_list() == [*range(1, 21)] * 2
    assert found["query"].to_list() == ["q23", *sorted(queries)[:19], *sorted(queries)[:20]]


MARKETS, JUDGES, DEPTHS = ("de", "us"), ("editor", "llm"), (2, 4)
URLS = "abcdefg"


def random_log(rng):
    """Return lists with sessions by mask, of users who stop at a good result mostly, and all grades."""
    grades = {
        (judge, query, url): rng.choice((0, 1, 3, 4)) for judge in JUDGES for query in "pqrs" for url in URLS
    }
    lists, masks = [], []
    for market in MARKETS:
        for query in "pqrs":
            for letters in sorted({tuple(rng.sample(URLS, 4)) for _ in range(8)}):
                own = [grades["editor", query, url] for url in letters]
                sessions = [mask_of(rng, letters, own) for _ in range(rng.choice((19, 20, 60, 200)))]
                lists.append((market, query, "".join(letters)))
                masks.append({mask: sessions.count(mask) for mask in set(sessions)})
    return lists, masks, grades


def mask_of(rng, letters, grades):
    """Return what one user clicks, never on the second place of a URL."""
    mask = 0
    for place, (url, grade) in enumerate(zip(letters, grades, strict=True)):
        if url not in letters[:place] and rng.random() < 0.4 + grade / 8:
            mask |= 1 << place
            if rng.random() < grade / 4:
                break
    return mask


def configurations_at(depth, market, judge, lists, masks, grades):
    """Return the configurations that the oracle needs."""
    clicked = {}
    for (of_market, query, letters), own in zip(lists, masks, strict=True):
        if of_market == market:
            for mask, sessions in own.items():
                places = tuple(place for place in range(1, depth + 1) if mask >> (place - 1) & 1)
                clicked.setdefault((query, tuple(letters[:depth])), []).extend([places] * sessions)
    return [
        Configuration(
            market, query, results, tuple(grades[judge, query, url] for url in results), tuple(places), ()
        )
        for (query, results), places in clicked.items()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_the_clearest_pairs_are_those_of_plain_loops_over_places_exposures_and_pairs(seed):
    lists, masks, grades = random_log(random.Random(seed))  # noqa: S311 - no secret
    expected, found = [], []
    for depth in DEPTHS:
        for judge in JUDGES:
            judged = judged_of(depth, judge, lists, masks, grades)
            found.append(clearest_pairs(judged, compared_places(judged), judge=judge, depth=depth))
            for market in MARKETS:
                own = configurations_at(depth, market, judge, lists, masks, grades)
                key = {"market": market, "depth": depth, "judge": judge}
                rows = oracle.clearest_pairs(own).items()
                expected += [{**key, "rank": rank, **row} for rank, row in rows]
    assert len(expected) > 5
    expected = CASCADE_EFFECTS.canonical(pl.DataFrame(expected, schema=CASCADE_EFFECTS.empty().schema))
    assert_frame_equal(CASCADE_EFFECTS.canonical(pl.concat(found)), expected, rel_tol=1e-12, abs_tol=0)


def judged_of(depth, judge, lists, masks, grades):
    """Return the judged configurations of a random log."""
    rows = [(query, url, grade) for (of_judge, query, url), grade in grades.items() if of_judge == judge]
    table = table_of(lists, masks, stored_depth=4)
    return judged_at(depth, table, judgment_rows(rows, judge=[judge] * len(rows)), judge=judge)


@pytest.mark.parametrize("seed", range(4))
def test_the_test_of_all_queries_is_that_of_a_regression_on_dummies(seed, monkeypatch):
    lists, masks, grades = random_log(random.Random(seed))  # noqa: S311 - no secret
    found = []
    monkeypatch.setattr(cascade_module, "p_value", lambda scores: found.append(p_value(scores)) or 1.0)
    judged = judged_of(4, "editor", lists, masks, grades)
    assert cascade_effects(judged, judge="editor", depth=4).is_empty()  # every p-value is 1
    expected = [
        oracle.p_value(configurations_at(4, market, "editor", lists, masks, grades)) for market in MARKETS
    ]
    assert found == pytest.approx(expected, rel=1e-6)


def test_one_query_alone_gives_no_example_and_many_alike_do():
    assert len(found_in(MYSPACE, GRADES)) == 1
    one = judged_at(2, table_of([row[:3] for row in MYSPACE], [row[3] for row in MYSPACE], stored_depth=2),
                    judgment_rows(GRADES))  # fmt: skip
    assert cascade_effects(one, judge="all", depth=2).is_empty()
    names = [f"q{number:02d}" for number in range(12)]
    # where nothing better is above, clicks fall to a half from first to second place
    lists = [("all", name, letters) for name in names for letters in ("wx", "uw", "xy", "yx")]
    masks = [
        counts
        for step in range(len(names))
        for counts in ({0: 400 + step, 1: 600}, {0: 900 - step, 2: 100}, *[{0: 400, 1: 600, 2: 300}] * 2)
    ]
    of_urls = (("u", 4), ("w", 3), ("x", 1), ("y", 1))
    grades = [(name, url, grade) for name in names for url, grade in of_urls]
    many = judged_at(2, table_of(lists, masks, stored_depth=2), judgment_rows(grades))
    assert cascade_effects(many, judge="all", depth=2).height == len(names)
