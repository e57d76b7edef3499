"""Every number of one depth and judge, worked by hand (the table is in tiny_table)."""

import math
from fractions import Fraction

import polars as pl
import pytest

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.core.settings import load_settings
from clickassay.metrics.clicks import CLICK_METRICS
from clickassay.metrics.scoring import compute_metrics, formed_sessions
from support.logs.tiny_table import judged_at, judgment_rows, table_of

CLICKS_AT_TWO = {  # 5 sessions without a click, 2 on the first place, 4 on the second; only the first is good
    "UCTR": Fraction(6, 11),
    "QCTR": Fraction(6, 11),
    "MaxRR": Fraction(2 * 2 + 4, 22),
    "MinRR": Fraction(2 * 2 + 4, 22),
    "MeanRR": Fraction(2 * 2 + 4, 22),
    "PLC": Fraction(2 * 2 + 4, 22),
    "SS": Fraction(2, 11),
}
IDEAL = 15 + 7 / math.log2(3)  # grades 4 and 3; 4 is never shown
EDITORIAL_AT_TWO = {  # grades 3 and 1
    "DCG": 7 + 1 / math.log2(3),
    "NDCG": (7 + 1 / math.log2(3)) / IDEAL,
    "AP": 1 / 2,
    "RR": 1.0,
    "ERR": 7 / 16 + 1 / 2 * 1 / 16 * 9 / 16,
    "RBP": 0.2 * (7 / 16 + 0.8 * 1 / 16),
    "MeanGrade": 2.0,
    "MeanGrade@1": 3.0,
    "P@1": 1.0,
}


def measured_at(depth, table=None, rows=None, judge="all", **settings):
    table = table_of() if table is None else table
    judged = judged_at(depth, table, rows, judge=judge)
    return compute_metrics(
        judged, formed_sessions(table.funnel), load_settings(**settings), judge=judge, depth=depth
    )


def test_click_metrics_are_means_over_sessions_and_editorial_ones_of_the_grades_with_the_whole_pool():
    measured = measured_at(2)
    (row,), (sample,) = measured.configurations.iter_rows(named=True), measured.samples
    assert (row["n_sessions"], row["grades"], sample.sessions.tolist()) == (11, [3, 1], [11])
    assert (sample.key, sample.queries) == (SampleKey("all", 2, "all"), ("q",))
    clicks = {name: float(value) for name, value in CLICKS_AT_TWO.items()}
    of_sample = dict(zip(sample.click_names, sample.click_values[0], strict=True))
    assert {name: row[name] for name in CLICK_METRICS} == of_sample == pytest.approx(clicks)
    of_sample = dict(zip(sample.editorial_names, sample.editorial_values[0], strict=True))
    for found in (row, of_sample):
        assert {name: found[name] for name in EDITORIAL_AT_TWO} == pytest.approx(EDITORIAL_AT_TWO)


def test_with_the_pool_of_what_is_shown_the_ideal_is_the_best_order_of_the_list():
    (row,) = measured_at(2, pool="shown").configurations.iter_rows(named=True)
    assert (row["NDCG"], row["AP"]) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("success", "expected"), [(0, 6 / 11), (1, 6 / 11), (2, 2 / 11), (3, 2 / 11), (4, 0)]
)
def test_a_click_is_a_success_from_the_success_grade_on(success, expected):
    (row,) = measured_at(2, success_grade=success).configurations.iter_rows(named=True)
    assert row["SS"] == pytest.approx(expected)


def test_the_configurations_of_a_sample_have_the_ids_of_the_table():
    table = table_of([("uk", "q", "ab"), ("us", "q", "ba"), ("us", "r", "a")], [{1: 3}, {0: 4}, {1: 1}])
    rows = judgment_rows([("q", "a", 1), ("q", "b", 2), ("r", "a", 4)])
    measured = measured_at(1, table, rows)
    for sample in measured.samples:
        here = measured.configurations.filter(pl.col("market") == sample.key.market)
        by_id = dict(here.select("configuration_id", "query").iter_rows())
        named = [sample.queries[index] for index in sample.query_index]
        assert [by_id[name] for name in sample.configuration_ids] == named
        sessions = dict(here.select("configuration_id", "n_sessions").iter_rows())
        assert [sessions[name] for name in sample.configuration_ids] == sample.sessions.tolist()


def test_the_null_success_deals_the_patterns_of_all_configurations_of_the_market_to_each():
    lists = [("uk", "q", "ab"), ("uk", "r", "xy"), ("us", "q", "ab")]
    # uk: 4 sessions without a click, 3 on the first place, 2 on the second, 1 on both; us: 5 on the first
    table = table_of(lists, [{0: 4, 1: 1}, {1: 2, 2: 2, 3: 1}, {1: 5}])
    rows = judgment_rows([("q", "a", 2), ("q", "b", 1), ("r", "x", 0), ("r", "y", 4)])
    samples = {sample.key.market: sample for sample in measured_at(2, table, rows).samples}
    assert samples["uk"].null_success.tolist() == [4 / 10, 3 / 10]  # first place good; second place good
    assert samples["us"].null_success.tolist() == [1.0]
    harder = {
        sample.key.market: sample.null_success.tolist()
        for sample in measured_at(2, table, rows, success_grade=3).samples
    }
    assert harder == {"uk": [0.0, 3 / 10], "us": [0.0]}


def test_variances_are_unbiased_and_entropies_over_the_clicked_urls_of_a_query():
    (sample,) = measured_at(2).samples
    variances = dict(zip(sample.click_names, sample.click_variances[0], strict=True))
    assert variances["UCTR"] == pytest.approx(3 / 11)  # 11/10 * 6/11 * 5/11
    assert variances["MaxRR"] == pytest.approx((2 * 1 + 4 / 4 - 11 * (4 / 11) ** 2) / 10)
    assert sample.click_entropy.tolist() == pytest.approx([-(math.log2(1 / 3) + 2 * math.log2(2 / 3)) / 3])


def test_entropy_adds_the_clicks_on_a_url_over_the_lists_of_its_query():
    table = table_of(
        [("all", "q", "ab"), ("all", "q", "ba"), ("all", "r", "x")], [{1: 3}, {2: 2, 1: 5}, {0: 1}]
    )
    rows = judgment_rows([("q", "a", 1), ("q", "b", 2), ("r", "x", 1)])
    (sample,) = measured_at(2, table, rows).samples
    assert sample.click_entropy.tolist() == pytest.approx([1.0])  # a and b were clicked 5 times each


def test_coverage_is_the_part_of_all_sessions_that_is_kept():
    (row,) = measured_at(2).statistics.iter_rows(named=True)
    assert row == {
        "market": "all", "depth": 2, "judge": "all", "n_queries": 1, "n_configurations": 1,
        "n_sessions": 11, "n_all_sessions": 23, "coverage": 11 / 23,
        "first_day": None, "last_day": None,
    }  # fmt: skip


def test_the_funnel_says_where_every_session_went():
    rows = measured_at(2).funnel.select("source", "market", "depth", "judge", "step", "rows").rows()
    assert rows == [
        ("sessions", "all", 2, "all", "kept", 11),
        ("sessions", "all", 2, "all", "not judged", 7),
        ("sessions", "all", 2, "all", "too short", 5),
    ]


def test_patterns_are_those_of_the_judged_configurations():
    measured = measured_at(2)
    assert measured.configuration_ids.to_list() == measured.configurations["configuration_id"].to_list()
    assert measured.patterns.rows() == [(0, 0, 0, 5), (0, 0, 1, 2), (0, 0, 2, 4)]


def test_a_market_without_a_judged_configuration_has_statistics_but_no_sample():
    table = table_of([("uk", "q", "ab"), ("us", "q", "xy")], [{1: 3}, {0: 4}])
    measured = measured_at(2, table)
    assert [sample.key.market for sample in measured.samples] == ["uk"]
    assert measured.statistics.select("market", "n_sessions", "coverage").rows() == [
        ("uk", 3, 1.0),
        ("us", 0, 0.0),
    ]


def test_a_log_without_a_session_on_a_first_page_has_no_coverage():
    empty = table_of([], [])
    assert formed_sessions(empty.funnel) == {EVERY: 0}
    measured = measured_at(2, empty, judgment_rows([("q", "a", 1)]))
    assert measured.statistics.select("market", "n_all_sessions", "coverage").rows() == [("all", 0, None)]


def test_markets_are_measured_separately():
    table = table_of([("uk", "q", "ab"), ("us", "q", "ba")], [{1: 3}, {0: 4}])
    samples = {sample.key.market: sample for sample in measured_at(2, table).samples}
    assert {market: sample.sessions.tolist() for market, sample in samples.items()} == {"uk": [3], "us": [4]}
    assert samples["us"].click_values.tolist() == [[0.0] * 7]
    assert samples["us"].click_entropy.tolist() == [0.0]
    assert samples["uk"].editorial_values[0, 3] == 1.0  # RR: grade 3 comes first
    assert samples["us"].editorial_values[0, 3] == 0.5


def test_query_index_is_ascending_and_points_at_the_query():
    lists = [("all", query, "a") for query in ("z", "b", "\u00e9", "9", "10")]
    table = table_of(lists, [{1: 1}, {1: 2}, {1: 3}, {1: 4}, {1: 5}])
    (sample,) = measured_at(1, table, judgment_rows([(query, "a", 1) for _, query, _ in lists])).samples
    assert sample.queries == ("10", "9", "b", "z", "\u00e9")
    assert sample.query_index.tolist() == [0, 1, 2, 3, 4]
    assert sample.sessions.tolist() == [5, 4, 2, 1, 3]


def test_all_sessions_are_read_from_the_funnel_of_the_log():
    funnel = pl.concat([table_of([(market, "q", "a")], [{0: 2}]).funnel for market in ("us", "uk")])
    assert formed_sessions(funnel) == {"uk": 2, "us": 2}
