"""The oracle against what is worked by hand; the numbers that it shares with us have unit tests of ours."""

import math
from collections import Counter

import pytest

from support.logs.small_logs import click, search
from support.oracle.messy_logs import seeded_log
from support.oracle.oracle_log import END_MS, FIRST_MS, configuration_id, log_to_sessions, user_digest
from support.oracle.oracle_metrics import read_judgments
from support.oracle.oracle_run import oracle

DEPTH_TWO = {"depth": (2,)}


def test_configuration_ids_and_user_digests_are_md5_as_md5sum_prints_it():
    assert configuration_id("all", "shoes", ("a", "b")) == "51860fd3e36576b297d631847a1c651b"
    assert configuration_id("us", "", ("a\x1fb", "c\\d")) == "c6ee4e8cc4cd9f8defa1979fc7275a85"
    assert f"{user_digest('u42'):015x}" == "1c7082c84e57634"
    # 42 * 48271 + 11 = 2027393, below 2^31 - 1; 2027393 * 1103515245 + 12345 modulo 2^31 - 1
    assert user_digest(42) == user_digest("42") == 2029739442
    assert f"{user_digest('ü'):015x}" == "c03410a5204b21c"


def funnel_of(searches):
    """Return the funnel of searches without a click."""
    funnel = Counter()
    log_to_sessions(searches, [], DEPTH_TWO, funnel)
    return funnel


def test_a_search_is_rejected_for_the_first_reason_that_applies():
    good = search(1, 0)
    bad = dict.fromkeys(good)
    faults = []
    for name in ("search_id", "user_id", "query", "timestamp", "results", "market", "page"):
        funnel = funnel_of([dict(bad)])
        faults += [key[5] for key in funnel if key[:5] == ("searches", "all", 0, "all", "rejected")]
        bad[name] = good[name]
    assert faults == [f"null {name}" for name in good]
    odd = [good | {"results": []}, good | {"results": ["a", None]}]
    odd += [good | {"timestamp": time} for time in (FIRST_MS - 1, FIRST_MS, END_MS - 1, END_MS)]
    funnel = funnel_of(odd)
    rejected = {key[5]: rows for key, rows in funnel.items() if key[4] == "rejected"}
    assert rejected == {"empty results": 1, "null in results": 1, "time out of range": 2}


def test_a_whole_small_log_gives_the_numbers_worked_by_hand():
    searches = [search(n, 0, "ab" if n < 4 else "ba", user=n) for n in range(8)]
    searches += [search(8, 0, "a", user=8), search(9, 0, "az", user=9)]
    clicks = [click(n, 1, "a") for n in (0, 1, 2, 4)]
    judgments = [{"query": "Q ", "url": url, "grade": grade} for url, grade in (("a", 4), ("b", 0))]
    answer = oracle(searches, clicks, judgments, None, DEPTH_TWO)
    key = ("uk", 2, "all")
    assert answer["statistics"][key] == {
        "n_queries": 1,
        "n_configurations": 2,
        "n_sessions": 8,
        "n_all_sessions": 10,
        "coverage": 0.8,
    }
    good, bad = sorted(answer["judged"].values(), key=lambda row: -row["DCG"])
    assert (good["UCTR"], bad["UCTR"], bad["MaxRR"]) == (0.75, 0.25, 0.125)
    assert (good["NDCG"], bad["NDCG"]) == pytest.approx((1, 1 / math.log2(3)))
    # weighted: sum n (y - m)^2 = 8 0.25^2 = 0.5; s2 = 0.25 in both, half of both is noise
    one_query = "no interval: too few queries vary"
    together = ("simultaneous_low", "simultaneous_high")
    ends = ("ci_low", "ci_high", "noise_corrected_low", "noise_corrected_high", "p_value", "p_adjusted")
    ends += together
    no_ends = dict.fromkeys(ends)
    assert answer["correlations"][*key, "all", "all", "UCTR", "ERR"] == no_ends | {
        "correlation": pytest.approx(1, abs=1e-12),
        "noise_corrected": pytest.approx(math.sqrt(2), abs=1e-12),
        "null_correlation": 0.0,
        "n_configurations": 2,
        "n_queries": 1,
        "n_sessions": 8,
        "reason": None,
        "caution": one_query,
    }
    # S_cc = 0.5^2 / 2 = 0.125; s2 = 0.25 in both; noise = 0.25 / 4
    assert answer["differences"][*key, "UCTR", "ERR"] == no_ends | {
        "exact": pytest.approx(1, abs=1e-12),
        "noise_corrected": pytest.approx(math.sqrt(2), abs=1e-12),
        "sign_agreement": pytest.approx(1, abs=1e-6),
        "n_queries": 1,
        "n_configurations": 2,
        "reason": None,
        "caution": one_query,
    }
    assert answer["comparisons"][*key, "UCTR", "DCG", "ERR"] == {
        **dict.fromkeys(
            ("ci_low", "ci_high", *together, "error", "degrees", "p_value", "p_adjusted", "queries_needed")
        ),
        "difference": 0.0,
        "n_queries": 1,
        "caution": one_query,
    }
    lost = {key[4]: rows for key, rows in answer["funnel"].items() if key[0] == "sessions" and key[5]}
    assert lost == {"too short": 1, "not judged": 1}


def parts(funnel, source, market, depth, judge):
    """Return rows by step of one source at one market, depth and judge."""
    found = Counter()
    for key, rows in funnel.items():
        if key[:4] == (source, market, depth, judge):
            found[key[4]] += rows
    return found


@pytest.mark.parametrize("seed", range(8))
def test_the_parts_of_a_messy_funnel_add_up_to_what_was_read(seed):
    log = seeded_log(seed)
    answer = oracle(*log)
    funnel = answer["funnel"]
    for source, rows in zip(("searches", "clicks", "judgments"), log, strict=False):
        steps = parts(funnel, source, "all", 0, "all")
        assert steps.pop("read", 0) == len(rows)
        assert steps.total() == len(rows)
    kept = funnel.get(("clicks", "all", 0, "all", "kept", ""), 0)
    assert all(parts(funnel, "clicks", "all", depth, "all").total() == kept for depth in log[4]["depth"])
    for market, depth, judge in answer["statistics"]:
        at_start = parts(funnel, "sessions", market, 0, "all")
        at_depth = parts(funnel, "sessions", market, depth, judge)
        assert at_start["formed"] == at_start["left out"] + at_depth.total()


def test_messy_logs_hold_every_trouble_and_many_correlations():
    funnel = Counter()
    for searches, clicks, judgments, _, settings in map(seeded_log, range(60)):
        sessions = log_to_sessions(searches, clicks, settings, funnel)
        read_judgments(judgments, sessions, settings, funnel)
    steps = {(key[0], key[5]) for key in funnel}
    found = [oracle(*seeded_log(seed))["correlations"].values() for seed in range(20)]
    correlations = [sum(row["correlation"] is not None for row in rows) for rows in found]
    nulls = {
        "searches": ("search_id", "user_id", "query", "timestamp", "results", "market", "page"),
        "clicks": ("search_id", "timestamp", "url", "position"),
        "judgments": ("query", "url", "judge", "market"),
    }
    expected = {(source, f"null {name}") for source, names in nulls.items() for name in names}
    expected |= {("searches", reason) for reason in ("empty results", "null in results", "delivered again")}
    expected |= {
        ("clicks", reason) for reason in ("position below 1", "ambiguous search_id", "no usable search")
    }
    expected |= {("clicks", "beyond the idle limit"), ("judgments", "its query is not in the log")}
    expected |= {("judgments", "no grade, -1 or a refusal")}
    assert expected <= steps
    assert sum(number > 100 for number in correlations) >= 10


def test_the_same_seed_draws_the_same_log():
    assert seeded_log(5) == seeded_log(5)
    assert seeded_log(5) != seeded_log(6)
