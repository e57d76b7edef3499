"""Click entropy over the lists of a query; statistics where nothing is judged or shown."""

import pytest

from clickassay.core.contracts.columns import EVERY
from clickassay.core.settings import load_settings
from clickassay.metrics.scoring import compute_metrics, formed_sessions
from support.logs.tiny_table import judged_at, judgment_rows, table_of


def measured(table, rows=None):
    judged = judged_at(2, table, rows, judge="all")
    return compute_metrics(judged, formed_sessions(table.funnel), load_settings(), judge="all", depth=2)


def test_entropy_adds_the_clicks_on_a_url_over_the_lists_of_its_query():
    lists = [("all", "q", "ab"), ("all", "q", "ba"), ("all", "r", "x")]
    rows = judgment_rows([("q", "a", 1), ("q", "b", 2), ("r", "x", 1)])
    (sample,) = measured(table_of(lists, [{1: 3}, {2: 2, 1: 5}, {0: 1}]), rows).samples
    assert sample.click_entropy.tolist() == pytest.approx([1.0])  # a and b were clicked 5 times each


def test_a_market_without_a_judged_configuration_has_statistics_but_no_sample():
    table = table_of([("uk", "q", "ab"), ("us", "q", "xy")], [{1: 3}, {0: 4}])
    found = measured(table)
    assert [sample.key.market for sample in found.samples] == ["uk"]
    assert found.statistics.select("market", "n_sessions", "coverage").rows() == [
        ("uk", 3, 1.0),
        ("us", 0, 0.0),
    ]


def test_a_log_without_a_session_on_a_first_page_has_no_coverage():
    empty = table_of([], [])
    assert formed_sessions(empty.funnel) == {EVERY: 0}
    found = measured(empty, judgment_rows([("q", "a", 1)]))
    assert found.statistics.select("market", "n_all_sessions", "coverage").rows() == [("all", 0, None)]
