"""Sections: the numbers that are written and drawn are those of the run's tables."""

import itertools
import math
import re

import polars as pl
import pytest

from clickassay.core.contracts.columns import EVERY
from clickassay.findings.estimates import Estimate
from clickassay.findings.run import run_of as read_run
from clickassay.report.sections.classes import (
    _leader_changes,
    classes_section,
    frequency_section,
    ties_note,
    unspaced_note,
)
from clickassay.report.sections.comparisons import within_section
from clickassay.report.sections.context import provenance_section
from clickassay.report.sections.correlations import correlations_section, good_section
from clickassay.report.sections.log import data_line, funnel_panels, funnel_section, statistics_section
from clickassay.report.sections.rankers import differences_section
from clickassay.report.tables import Share
from support.reports.report_runs import drawn, report_of, run_of
from support.reports.report_tables import (
    BASELINES,
    CLICKS,
    EDITORIAL,
    HEADLINE,
    HOSTILE,
    empty_tables,
    nothing_kept_tables,
    one_configuration_tables,
    run_info,
    run_tables,
)
from support.reports.verdict_world import found_in


def one(frame, **key):
    """The one row of the headline sample with this key."""
    (row,) = frame.filter(**HEADLINE, **key).iter_rows(named=True)
    return row


def ends(row, column="correlation"):
    return row[column], row["ci_low"], row["ci_high"]


def interval_of(value):
    return value["value"], value["low"], value["high"]


def test_the_data_line_counts_what_was_read(tables, run):
    sessions = tables["funnel"].filter(source="sessions", step="formed")["rows"].sum()
    line = data_line(run)
    assert line.startswith(
        f"{sessions + 300:,} searches and {sessions + 400:,} clicks make {sessions:,} sessions in 2 markets"
    )
    assert "9,000 judgments by 2 judges" in line


def test_the_data_line_says_as_how_many_grouped_queries_count(tables):
    queries = one(tables["statistics"])["n_queries"]
    fewer = pl.when(**HEADLINE).then(queries - 7).otherwise("n_queries")
    grouped = {
        **tables,
        "queries": tables["queries"].with_columns(query_group=pl.lit("all of them")),
        "comparisons": tables["comparisons"].with_columns(n_queries=fewer),
    }
    assert f"({queries} queries that count as {queries - 7} (one per group), " in data_line(run_of(grouped))
    assert "count as" not in data_line(run_of({**grouped, "queries": tables["queries"]}))


def test_table_1_has_a_row_per_sample_with_the_headline_first(tables, run):
    table = statistics_section(run).tables[0]
    assert table.rows[0].name == "market m1, top 5, judge editor"
    assert len(table.rows) == 8
    row = one(tables["statistics"])
    names = ("n_queries", "n_configurations", "n_sessions", "n_all_sessions")
    assert table.rows[0].cells == (*(row[name] for name in names), Share(row["coverage"]))


def test_parts_of_every_funnel_panel_add_up_to_its_whole(run):
    for panel in funnel_panels(run):
        whole = [row.rows for row in panel.rows if row.label in ("read", "formed")]
        parts = [row.rows for row in panel.rows if row.label not in ("read", "formed")]
        assert sum(parts) == (whole[0] if whole else sum(parts))
        shares = [row.share for row in panel.rows if row.label not in ("read", "formed")]
        assert sum(shares) == pytest.approx(1.0)


def test_the_funnel_draws_each_source_once_and_counts_every_sample(run):
    section = funnel_section(run)
    assert [figure.title for figure in section.figures] == [
        "Searches",
        "Clicks",
        "Clicks kept, at depth 5",
        "Sessions: market m1, top 5, judge editor",
        "Judgments",
    ]
    kept = [row["label"] for row in section.figures[0].drawing.rows if row["goes_on"]]
    assert kept == ["read", "kept"]  # the rest is left out, and grey
    groups = {row.group for row in section.folded[0].rows}
    assert len([group for group in groups if group.startswith("Sessions")]) == 8
    assert "Clicks kept, at depth 10" in groups


def test_the_heat_map_holds_each_correlation_with_its_interval_and_marks_the_highest(tables, run):
    section = correlations_section(run)
    values = section.figures[0].drawing.rows
    assert [(v["click"], v["editorial"]) for v in values] == list(itertools.product(CLICKS, EDITORIAL))
    for value in values:
        key = {"split": "all", "click_metric": value["click"], "editorial_metric": value["editorial"]}
        assert interval_of(value) == ends(one(tables["correlations"], **key))
    for click in CLICKS:
        mine = [v for v in values if v["click"] == click]
        assert [v for v in mine if v["best"]] == [max(mine, key=lambda v: v["value"])]
    assert [row.name for row in section.folded[0].rows][6] == "QCTR"
    assert any("QCTR comes last" in text for text in section.reading)


def test_table_2_reading_names_the_highest_correlation_and_counts_no_rows(tables, run):
    overall = tables["correlations"].filter(~pl.col("editorial_metric").is_in(BASELINES), split="all")
    top = overall.sort("correlation").row(-1, named=True)
    text = correlations_section(run).reading[0]
    value = f"{top['correlation']:.3f}: {top['editorial_metric']} with {top['click_metric']} at "
    assert text.startswith(f"The highest of these correlations is {value}")
    assert "Rows share sessions and clicks" in text
    assert not re.search(r"\d+ of \d+ rows", text)


def test_table_3_puts_each_metric_next_to_its_variant(tables, run):
    table = good_section(run).tables[0]
    assert table.heads == ("AP", "AP(rel=2)", "RR", "RR(rel=2)")
    row = next(row for row in table.rows if row.name == "UCTR")
    for cell, name in zip(row.cells, ("AP", "AP(rel=2)", "RR", "RR(rel=2)"), strict=True):
        row_of_metric = one(tables["correlations"], split="all", click_metric="UCTR", editorial_metric=name)
        assert cell.value == row_of_metric["correlation"]


def test_table_3_says_when_there_is_no_variant(tables):
    plain = tables["correlations"].filter(~pl.col("editorial_metric").str.contains("rel"))
    section = good_section(run_of({**tables, "correlations": plain}))
    assert section.reading == (
        "Nothing can be shown: the run has no variant of AP or RR with another relevance threshold.",
    )
    assert section.tables[0].rows == ()


def test_tables_by_class_are_in_the_order_of_the_paper(run):
    tables = {table.name: table for table in classes_section(run).tables}
    lengths = ["1 word", "2 words", "3 words", "4 or more"]
    assert [row.name for row in tables["table4_length"].rows] == lengths
    assert [row.name for row in tables["table5_navigational"].rows] == ["navigational", "not navigational"]


def test_without_navigational_queries_click_entropy_takes_their_place_and_the_report_says_so():
    run = read_run(
        run_tables(("m",), (5,), ("all",), n_queries=12, attribute="none"), run_info(has_navigational=False)
    )
    section = classes_section(run)
    assert "table5_click_entropy" in [table.name for table in section.tables]
    assert any("The input does not say which queries are navigational" in text for text in section.reading)


def test_an_attribute_of_any_name_becomes_a_table_with_a_harmless_file_name(run):
    extra = [table for table in classes_section(run).tables if table.name.startswith("split")]
    assert [table.name for table in extra] == ["split1_intent_script_alert_1_script_x"]
    assert extra[0].data["split"].unique().to_list() == [f"intent {HOSTILE}"]
    assert any(text.endswith("too many different values: topic.") for text in classes_section(run).reading)


def test_figure_4_draws_one_picture_per_main_metric_on_one_scale(tables, run):
    figures = frequency_section(run).figures
    assert [figure.title for figure in figures] == list(EDITORIAL[:6])
    assert "Unreliable intervals: 10 of 10 deciles" in " ".join(frequency_section(run).reading)
    main = [v for v in figures[4].drawing.rows if v["main"]]
    assert [v["decile"] for v in main] == list(range(1, 11))
    for value in main:
        key = {"split": "frequency", "class": str(value["decile"])}
        row = one(tables["correlations"], click_metric="MeanRR", editorial_metric="ERR", **key)
        assert interval_of(value) == ends(row)


def test_table_6_draws_closed_form_and_random_run(tables, run):
    section = differences_section(run, found_in(run))
    figures = [figure for figure in section.figures if figure.name.startswith("differences")]
    assert [figure.title for figure in figures] == ["MeanRR", *(name for name in CLICKS if name != "MeanRR")]
    for value in figures[0].drawing.rows:
        row = one(tables["differences"], click_metric="MeanRR", editorial_metric=value["name"])
        assert (*interval_of(value), value["run"]) == (*ends(row, "exact"), row["monte_carlo"])
    rows = tables["differences"].filter(~pl.col("editorial_metric").is_in(BASELINES), **HEADLINE).to_dicts()
    near = sum(abs(row["monte_carlo"] - row["exact"]) <= 2 * row["monte_carlo_se"] for row in rows)
    assert f"standard errors in {near} of 56 cases" in section.reading[-1]


def test_provenance_lists_settings_inputs_versions_seed_and_notes(run):
    section = provenance_section(run)
    cells = {table.name: {row.name: row.cells for row in table.rows} for table in section.folded}
    assert cells["settings"]["depth"] == ("5, 10",)
    assert cells["inputs"]["clicks"][:3] == ("clicks.parquet", 1, 1_234_567)
    assert cells["versions"]["polars"] == ("2.1.0",)
    assert section.reading[0].endswith("Seed: 0.")
    assert "The log is in order of time." in section.reading


def test_definitions_follow_the_settings():
    settings = {**run_info()["settings"], "pool": "shown", "relevant_grade": 4, "persistence": 0.5}
    section = provenance_section(read_run(empty_tables(), run_info(settings=settings)))
    meaning = {row.name: row.cells[0] for row in section.folded[0].rows}
    assert "the shown results" in meaning["NDCG"]
    assert "perfect or better" in meaning["AP"]
    assert meaning["RBP"].endswith("p = 0.5")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (empty_tables, "no session could be used: the log and the judgments share no configuration"),
        (
            nothing_kept_tables,
            "no session could be used; most were excluded because of: a result without a grade (880)",
        ),
        (one_configuration_tables, "there is no correlation (one configuration)"),
    ],
)
def test_a_run_with_next_to_nothing_says_so_in_every_section(make, why):
    report = report_of(make(), run_info())
    texts = {section.name: section.reading[0] for section in report.sections}
    for name in ("correlations", "comparisons", "good", "classes", "frequency", "differences"):
        assert any(word in texts[name] for word in ("Nothing", "no ", "No ", "Fewer than two")), texts[name]
    assert report.title == f"This log cannot decide: {why}"
    assert (report.overview, report.second, report.scale) == ((), (), ())


def test_a_single_sample_needs_no_tables_of_others():
    report = report_of(run_tables(("all",), (5,), ("all",), n_queries=12), run_info())
    names = [table.name for section in report.sections for table in section.every_table]
    assert not [name for name in names if name in ("table3_samples", "table4_samples", "table5_samples")]
    assert report.scope == "Top 5."
    assert dict(report.facts)["Clicks"].startswith("MeanRR. ")


def test_borders_between_deciles_that_part_equally_frequent_queries_are_named():
    sessions = [*range(1, 15), 15, 15, 17, 18, 19, 19]  # two queries a decile; 15, 15 are in 8, 19, 19 in 10
    assert ties_note(sessions) == ""
    note = ties_note([1, 1, 1, *range(2, 19)])  # deciles 1 (1 1) and 2 (1 2)
    assert note.startswith("Deciles 1 and 2 (1 session) share queries of equal frequency")


def test_queries_in_scripts_without_spaces_are_counted():
    texts = [
        "red shoes",
        "\u6771\u4eac \u5929\u6c17",
        "\u0e01\u0e32\u0e41\u0e1f",
        "caf\u00e9",
        "\ud55c\uad6d \uc5b4",
    ]
    note = unspaced_note(pl.DataFrame({"query": texts}))
    assert "2 of 5 queries have letters of a script" in note
    assert unspaced_note(pl.DataFrame({"query": texts[:1]})) == ""


def line(err, dcg, reach):
    return {
        name: Estimate(value, value - reach, value + reach) for name, value in (("ERR", err), ("DCG", dcg))
    }


@pytest.mark.parametrize(
    ("short", "long", "changes"),
    [
        (line(0.5, 0.3, 0.05), line(0.2, 0.4, 0.05), True),
        (line(0.5, 0.3, 0.05), line(0.2, 0.4, 0.15), False),  # the second class could be either
        (line(0.5, 0.3, 0.15), line(0.2, 0.4, 0.15), False),
        (line(0.5, 0.3, 0.05), {"DCG": Estimate(0.4, 0.39, 0.41)}, False),  # ERR has no value there
    ],
)
def test_both_leaders_must_be_above_the_other_one(short, long, changes):
    best = {"1 word": "ERR", "2 words": "DCG"}
    assert _leader_changes({"1 word": short, "2 words": long}, best) is changes


# ---- correlation within queries -----------------------------------------------------------------
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
    text = " ".join(section.reading)
    assert text.startswith("Within queries, ")
    assert f"has the highest correlation with MeanRR, {rows[0]['correlation']:.3f} (95% CI " in text
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
