"""The section on correlation within queries."""

import math

import polars as pl
import pytest

from clickassay.core.contracts.columns import EVERY
from clickassay.report.sections.comparisons import within_section
from support.reports.report_runs import drawn, run_of
from support.reports.report_tables import HEADLINE, empty_tables, nothing_kept_tables, run_info


def section_of(tables):
    return within_section(*drawn(tables, run_info()))


def rows_of(tables, market):
    key = {**HEADLINE, "market": market, "split": "all", "click_metric": "MeanRR"}
    return tables["within"].filter(**key).sort("correlation", descending=True).to_dicts()


def test_metrics_and_baselines_stand_by_their_correlation(tables):
    section = section_of(tables)
    (table,) = section.tables
    rows = rows_of(tables, HEADLINE["market"])
    assert [row.name for row in table.rows] == [row["editorial_metric"] for row in rows]
    assert [row.cells[1].value for row in table.rows] == [row["correlation"] for row in rows]
    for shown, row in zip(table.rows, rows, strict=True):  # of pairs, the share that a correlation means
        expected = [0.5 + math.asin(row[name]) / math.pi for name in ("correlation", "ci_low", "ci_high")]
        assert [shown.cells[0].value, shown.cells[0].low, shown.cells[0].high] == pytest.approx(expected)
    assert table.title == f"Correlation within queries with MeanRR at {run_of(tables).headline.label}"
    assert table.data.height == tables["within"].height
    (figure,) = section.figures
    assert [row["name"] for row in figure.drawing.rows] == [row.name for row in table.rows]


def test_the_reading_names_the_highest_and_how_often_it_prefers_the_same_list(tables):
    first, *_ = rows_of(tables, HEADLINE["market"])
    text = " ".join(section_of(tables).reading)
    assert text.startswith("Within queries, ")
    assert f"has the highest correlation with MeanRR, {first['correlation']:.3f} (95% CI " in text
    assert "MeanRR prefer the same of two rankings in 60.0% of cases (coin toss: 50%)." in text


def test_of_several_markets_all_together_are_shown(tables):
    together = tables["within"].filter(market=HEADLINE["market"]).with_columns(market=pl.lit(EVERY))
    lower = together.with_columns(pl.col("correlation", "ci_low", "ci_high") - 0.1)
    section = section_of({**tables, "within": pl.concat([tables["within"], lower])})
    assert section.reading[0].startswith("Within queries of all markets, ")
    (table,) = section.tables
    assert table.title.endswith(", all markets together")
    values = [row["correlation"] - 0.1 for row in rows_of(tables, HEADLINE["market"])]
    assert [row.cells[1].value for row in table.rows] == pytest.approx(values)


@pytest.mark.parametrize("make", [empty_tables, nothing_kept_tables])
def test_without_two_lists_for_a_query_it_says_so(make):
    section = section_of(make())
    said = "Rankings of the same query cannot be compared: no query has two fully judged rankings."
    assert (section.reading, section.figures) == ((said,), ())
    assert section.tables[0].rows == ()
