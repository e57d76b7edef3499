"""Every number of one depth and judge, worked by hand (the table is in tiny_table)."""

import math

import pytest

from clickassay.core.contracts.columns import EVERY
from clickassay.core.settings import load_settings
from clickassay.metrics.scoring import compute_metrics, formed_sessions
from support.logs.tiny_table import judged_at, judgment_rows, table_of


def measured_at(depth, table=None, rows=None, judge="all", **settings):
    table = table_of() if table is None else table
    judged = judged_at(depth, table, rows, judge=judge)
    return compute_metrics(
        judged, formed_sessions(table.funnel), load_settings(**settings), judge=judge, depth=depth
    )


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
