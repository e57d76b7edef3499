"""The section with published results next to the run's: whose number is whose, and none made up."""

import csv
import io

import polars as pl
import pytest

from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import ReportError
from clickassay.report.cells import Estimate, Share
from clickassay.report.published.read import known
from clickassay.report.sections.context.published import published_section
from clickassay.report.writers.csv import csv_text
from clickassay.report.writers.latex import latex_table
from clickassay.report.writers.markdown import markdown_rows
from clickassay.report.writers.tables import html_table
from support.reports.report_runs import run_of
from support.reports.report_tables import (
    empty_tables,
    nothing_kept_tables,
    one_configuration_tables,
    run_tables,
    small_tables,
)
from support.reports.report_world import HEADLINE, HOSTILE

PAPER = "Chapelle et al. 2009"
FIVE = ("DCG", "NDCG", "AP", "RR", "ERR")
SIX = ("UCTR", "MaxRR", "MeanRR", "MinRR", "PLC", "SS")


def section_of(tables, **settings):
    return published_section(run_of(tables, **settings), "chapelle2009")


@pytest.fixture(scope="module")
def section(tables):
    return section_of(tables)


def table(section, number):
    (found,) = (one for one in section.every_table if one.name == f"published_chapelle2009_table{number}")
    return found


def cells(section, number, group, name):
    """Return one shown row as {head: cell}."""
    shown = table(section, number)
    (row,) = (one for one in shown.rows if (one.group, one.name) == (group, name))
    return dict(zip(shown.heads, row.cells, strict=True))


def own(tables, name, column, *, depth=5, **key):
    """Return the run's value and interval straight from its table."""
    (row,) = tables[name].filter(**HEADLINE | {"depth": depth}, **key).iter_rows(named=True)
    return row[column], row["ci_low"], row["ci_high"]


def overall(tables, click, editorial, **depth):
    """Return a correlation of the run over all queries, with its interval."""
    key = {"split": "all", "click_metric": click, "editorial_metric": editorial}
    return own(tables, "correlations", "correlation", **key, **depth)


def ends(cell):
    return cell.value, cell.low, cell.high


def with_mean_rr(tables, values):
    """Return the tables with these correlations with MeanRR in the headline sample; None = no value."""
    key = HEADLINE | {"split": EVERY, "click_metric": "MeanRR"}
    here = pl.all_horizontal(pl.col(name) == value for name, value in key.items())
    here &= pl.col("editorial_metric").is_in(list(values))
    new = pl.col("editorial_metric").replace_strict(values, default=None, return_dtype=pl.Float64)
    column = pl.when(here).then(new).otherwise("correlation")
    return {**tables, "correlations": tables["correlations"].with_columns(correlation=column)}


# ---- whose number is whose --------------------------------------------------------------------


def test_each_column_says_whose_it_is_and_is_next_to_the_other(section):
    assert table(section, 2).heads == (
        "This log, market m1, depth 5, judge editor",
        f"{PAPER}, market 1, depth 5",
        f"{PAPER}, market 2, depth 5",
        "This log, market m1, depth 10, judge editor",
        f"{PAPER}, market 1, depth 10",
        f"{PAPER}, market 2, depth 10",
    )
    for one in section.every_table:
        assert all(head.startswith(("This log, ", f"{PAPER}, market ")) for head in one.heads)
        assert PAPER in one.title


def test_there_is_one_table_for_each_table_of_the_paper_and_each_warns(section):
    assert [one.name[-1] for one in section.every_table] == list("123456")
    for one in section.every_table:
        assert any(
            "another log, with other users" in note and "prove nothing" in note for note in one.remarks
        )


def test_table_2_has_the_runs_correlations_with_intervals_next_to_the_printed_ones(tables, section):
    assert len(table(section, 2).rows) == 30
    for depth in (5, 10):
        for click in SIX:
            for name in FIVE:
                cell = cells(section, 2, click, name)[f"This log, market m1, depth {depth}, judge editor"]
                assert ends(cell) == overall(tables, click, name, depth=depth)
    line = cells(section, 2, "MeanRR", "ERR")
    assert line[f"{PAPER}, market 1, depth 5"] == Estimate(0.480)
    assert line[f"{PAPER}, market 2, depth 5"] == Estimate(0.515)
    assert line[f"{PAPER}, market 1, depth 10"] == Estimate(0.428)
    assert line[f"{PAPER}, market 2, depth 10"] == Estimate(0.710)


def test_what_the_paper_printed_has_no_interval_and_no_gap(section):
    for one in section.every_table[1:]:
        theirs = [place for place, head in enumerate(one.heads) if head.startswith(PAPER)]
        printed = [row.cells[place] for row in one.rows for place in theirs]
        assert printed
        assert all(cell == Estimate(cell.value) and cell.value is not None for cell in printed)


def test_table_1_has_sizes_of_both_logs(tables, section):
    here = tables["statistics"].filter(**HEADLINE | {"depth": 10}).row(0, named=True)
    sessions, coverage = (cells(section, 1, "", name) for name in ("Sessions", "Coverage"))
    assert sessions["This log, market m1, depth 10, judge editor"] == here["n_sessions"]
    assert sessions[f"{PAPER}, market 2, depth 5"] == 186_668_363
    assert coverage["This log, market m1, depth 10, judge editor"] == Share(here["coverage"])
    assert coverage[f"{PAPER}, market 2, depth 10"] == Share(0.014)


@pytest.mark.parametrize(
    ("place", "key", "printed"),
    [
        ((3, "MeanRR", "AP, good not relevant"), ("all", "all", "AP"), 0.376),
        ((3, "MeanRR", "AP, good relevant"), ("all", "all", "AP(rel=2)"), 0.044),
        ((3, "MeanRR", "RR, good not relevant"), ("all", "all", "RR"), 0.395),
        ((3, "MeanRR", "RR, good relevant"), ("all", "all", "RR(rel=2)"), 0.187),
        ((4, "ERR", "1 word"), ("length", "1", "ERR"), 0.525),
        ((4, "ERR", "4 or more"), ("length", "4+", "ERR"), 0.361),
        ((5, "ERR", "navigational"), ("navigational", "true", "ERR"), 0.222),
        ((5, "ERR", "not navigational"), ("navigational", "false", "ERR"), 0.226),
    ],
)
def test_tables_3_to_5_show_the_metric_of_the_same_threshold_and_class(tables, section, place, key, printed):
    line = cells(section, *place)
    where = dict(zip(("split", "class", "editorial_metric"), key, strict=True))
    mine = line["This log, market m1, depth 5, judge editor"]
    assert ends(mine) == own(tables, "correlations", "correlation", click_metric="MeanRR", **where)
    assert line[f"{PAPER}, market 1, depth 5"] == Estimate(printed)


def test_table_6_has_closed_form_with_interval_and_random_run_without(tables, section):
    line = cells(section, 6, "PLC", "RR")
    key = {"depth": 10, "click_metric": "PLC", "editorial_metric": "RR"}
    place = "This log, market m1, depth 10, judge editor"
    assert ends(line[f"{place}, closed form"]) == own(tables, "differences", "exact", **key)
    drawn, _, _ = own(tables, "differences", "monte_carlo", **key)
    assert line[f"{place}, 1,000 iterations"] == Estimate(drawn)
    assert line[f"{PAPER}, market 1, depth 10, 1,000 iterations"] == Estimate(0.300)


def test_the_runs_own_number_of_iterations_is_shown(tables):
    heads = table(section_of(tables, iterations=20_000), 6).heads
    assert "This log, market m1, depth 5, judge editor, 20,000 iterations" in heads
    assert f"{PAPER}, market 1, depth 5, 1,000 iterations" in heads


# ---- the same definition ----------------------------------------------------------------------


def test_with_another_relevance_threshold_the_metric_of_the_same_threshold_is_shown(tables):
    section = section_of(tables, relevant_grade=2)
    place = "This log, market m1, depth 5, judge editor"
    good = cells(section, 3, "MeanRR", "AP, good relevant")[place]
    assert ends(good) == overall(tables, "MeanRR", "AP")
    for number, name in ((3, "AP, good not relevant"), (2, "AP")):
        assert cells(section, number, "MeanRR", name)[place] == Estimate(None, reason="not computed")
    assert section.reading[-1] == "The definitions differ: relevant_grade is 2 here and 3 there."


def test_on_another_scale_metrics_meet_by_name_and_the_reading_says_so(tables):
    section = section_of(tables, max_grade=2, relevant_grade=1, success_grade=1)
    mine = cells(section, 2, "UCTR", "AP")["This log, market m1, depth 5, judge editor"]
    assert ends(mine) == overall(tables, "UCTR", "AP")
    assert section.reading[-1] == (
        "The definitions differ: max_grade is 2 here and 4 there, relevant_grade is 1 here and 3 there and "
        "success_grade is 1 here and 2 there."
    )


def test_a_hostile_setting_is_shown_with_all_its_marks(tables):
    text = section_of(tables, success_grade=HOSTILE).reading[-1]
    assert "\u202e" not in text
    assert "\\u202e here and 2 there" in text


def test_with_the_papers_definitions_the_reading_says_nothing_of_definitions(section):
    assert "definitions" not in " ".join(section.reading)


# ---- the reading ------------------------------------------------------------------------------


def test_a_reversed_order_has_rank_correlation_minus_one(tables):
    values = {"ERR": 0.1, "RR": 0.2, "AP": 0.3, "DCG": 0.4, "NDCG": 0.5}
    (text,) = section_of(with_mean_rr(tables, values)).reading
    assert text == (
        f"By correlation with MeanRR, highest first: ERR, RR, AP, DCG, NDCG in {PAPER}, market 1 and "
        "market 2, depth 5; NDCG, DCG, AP, RR, ERR in this log, market m1, depth 5, judge editor. First is "
        "ERR there, NDCG here; Spearman's rank correlation of the two orders is "
        "\N{MINUS SIGN}1.000 (5 metrics)."
    )


def test_the_rank_correlation_is_that_of_the_ranks(tables):
    # ranks in the paper ERR 1, RR 2, AP 3, DCG 4, NDCG 5; here ERR 1, DCG 2, RR 3, NDCG 4, AP 5:
    # squared rank differences 0 + 1 + 4 + 4 + 1 = 10, so 1 - 6 * 10 / (5 * 24) = 0.5
    values = {"ERR": 0.5, "DCG": 0.4, "RR": 0.3, "NDCG": 0.2, "AP": -0.1}
    (text,) = section_of(with_mean_rr(tables, values)).reading
    assert text.endswith(
        "First is ERR in both; Spearman's rank correlation of the two orders is 0.500 (5 metrics)."
    )


def test_equal_values_share_a_place(tables):
    # ranks here ERR and RR 1.5, the rest as in the paper: Pearson of the ranks is 9.5 / sqrt(10 * 9.5)
    values = {"ERR": 0.5, "RR": 0.5, "AP": 0.3, "DCG": 0.2, "NDCG": 0.1}
    (text,) = section_of(with_mean_rr(tables, values)).reading
    assert "; RR = ERR, AP, DCG, NDCG in this log" in text
    assert "there, RR and ERR here" in text
    assert "is 0.975 (5 metrics)" in text


def test_values_that_are_all_equal_have_no_rank_correlation(tables):
    (text,) = section_of(with_mean_rr(tables, dict.fromkeys(FIVE, 0.3))).reading
    assert text.endswith("there is no rank correlation, as all values of one log are equal.")


def test_metrics_without_a_value_here_are_left_out_of_both_orders(tables):
    values = {"ERR": 0.5, "RR": None, "AP": 0.3, "DCG": 0.4, "NDCG": None}
    (text,) = section_of(with_mean_rr(tables, values)).reading
    assert f"highest first: ERR, AP, DCG in {PAPER}" in text
    assert "; ERR, DCG, AP in this log" in text
    assert text.endswith("is 0.500 (3 metrics).")
    values |= {"AP": None}
    (text,) = section_of(with_mean_rr(tables, values)).reading
    assert text.endswith(
        "First is ERR in both; a rank correlation needs at least 3 metrics with a value in both."
    )


# ---- what the run does not have ---------------------------------------------------------------


@pytest.mark.parametrize("make", [nothing_kept_tables, empty_tables])
def test_a_run_that_kept_nothing_shows_the_papers_numbers_and_says_so(make):
    section = section_of(make())
    assert section.reading[0].startswith(f"There is nothing to compare with {PAPER}: no session was kept")
    line = cells(section, 2, "MeanRR", "ERR")
    assert line["This log, depth 5"] == Estimate(None, reason="no session of this log was kept")
    assert line[f"{PAPER}, market 1, depth 5"] == Estimate(0.480)
    for one in section.every_table:
        assert any(note.startswith("Dash: no session of this log was kept") for note in one.remarks)


def test_a_depth_that_the_run_lacks_is_shown():
    section = section_of(small_tables())
    line = cells(section, 2, "SS", "AP")
    assert line["This log, depth 10"] == Estimate(None, reason="this log has no depth 10")
    assert line["This log, market m1, depth 5, judge a"].value is not None
    assert line[f"{PAPER}, market 1, depth 10"] == Estimate(0.165)
    assert cells(section, 1, "", "Queries")["This log, depth 10"].reason == "this log has no depth 10"


def test_a_run_of_other_depths_only_has_nothing_to_compare():
    section = section_of(run_tables(("m1",), (3,), ("a",), n_queries=12))
    assert section.reading == (
        f"There is nothing to compare with {PAPER}: this log was not evaluated at depth 5 or 10.",
    )


def test_a_headline_of_another_depth_is_read_at_the_papers_smallest():
    section = section_of(run_tables(("m1",), (3, 10), ("a",), n_queries=12))
    assert "market 2, depth 10; " in section.reading[0] + section.reading[-1]


def test_a_log_that_does_not_say_what_is_navigational_shows_the_papers_numbers():
    section = section_of(run_tables(("m1",), (5,), ("a",), n_queries=12, attribute="click_entropy"))
    line = cells(section, 5, "DCG", "navigational")
    reason = "the queries of this log are not split by navigational"
    assert line["This log, market m1, depth 5, judge a"] == Estimate(None, reason=reason)
    assert line[f"{PAPER}, market 1, depth 5"] == Estimate(-0.005)


def test_a_class_without_queries_is_shown(tables):
    fewer = {**tables, "correlations": tables["correlations"].filter(pl.col("class") != "4+")}
    line = cells(section_of(fewer), 4, "ERR", "4 or more")
    assert line["This log, market m1, depth 5, judge editor"].reason == "this log has no query of this class"


def test_a_sample_with_no_session_is_shown(tables):
    deep = (pl.col("depth") == 10) & (pl.col("market") == "m1")
    none = dict.fromkeys(("n_queries", "n_configurations", "n_sessions"), 0) | {"coverage": 0.0}
    emptied = {
        **tables,
        "statistics": tables["statistics"].with_columns(
            pl.when(deep).then(pl.lit(value)).otherwise(name).alias(name) for name, value in none.items()
        ),
        "correlations": tables["correlations"].filter(~deep),
    }
    line = cells(section_of(emptied), 2, "MeanRR", "ERR")
    reason = line["This log, market m1, depth 10, judge editor"].reason
    assert reason == "no session of this log was kept at depth 10"


def test_values_without_a_number_keep_the_reason_of_the_run():
    section = section_of(one_configuration_tables())
    assert section.reading == (f"This log, depth 5, has no correlation with MeanRR to compare with {PAPER}.",)
    assert cells(section, 2, "PLC", "DCG")["This log, depth 5"].reason == "one configuration"
    assert cells(section, 6, "PLC", "DCG")["This log, depth 5, closed form"].reason == "one configuration"


def test_an_unknown_name_is_refused_with_the_known_ones(tables):
    assert "chapelle2009" in known()
    with pytest.raises(ReportError, match="known: chapelle2009"):
        published_section(run_of(tables), "chapelle2010")


# ---- files ------------------------------------------------------------------------------------


def test_the_csv_has_one_line_per_printed_value_with_the_runs_next_to_it(tables, section):
    data = table(section, 2).data
    assert data.height == 120
    metrics = {"click_metric": "MaxRR", "editorial_metric": "NDCG"}
    row = data.filter(market_paper="market 2", depth_paper=10, **metrics).row(0, named=True)
    assert row["value_paper"] == 0.348
    mine = (row["value_run"], row["ci_low"], row["ci_high"])
    assert mine == overall(tables, "MaxRR", "NDCG", depth=10)
    assert (row["paper"], row["table"]) == (PAPER, "2")
    assert (row["market_run"], row["depth_run"], row["judge_run"]) == ("m1", 10, "editor")


def test_the_csv_of_differences_has_the_random_run_too(tables, section):
    key = {"click_metric": "SS", "editorial_metric": "AP"}
    row = table(section, 6).data.filter(depth_paper=5, **key).row(0, named=True)
    assert row["value_paper"] == 0.316
    assert row["value_run"] == own(tables, "differences", "exact", **key)[0]
    assert row["monte_carlo"] == own(tables, "differences", "monte_carlo", **key)[0]


def test_the_csv_of_sizes_has_both_and_of_an_empty_run_the_papers_only(tables, section):
    row = table(section, 1).data.filter(market_paper="market 1", depth_paper=5).row(0, named=True)
    here = tables["statistics"].filter(**HEADLINE).row(0, named=True)
    assert (row["n_sessions_paper"], row["n_sessions_run"]) == (72_752_548, here["n_sessions"])
    assert (row["coverage_paper"], row["coverage_run"]) == (0.058, here["coverage"])
    lone = table(section_of(empty_tables()), 1).data
    assert lone["n_queries_run"].is_null().all()
    assert lone["n_queries_paper"].to_list() == [16_356, 5_291, 3_476, 543]


def test_the_csv_says_why_the_run_has_no_value():
    data = table(section_of(small_tables()), 2).data.filter(depth_paper=10)
    assert data["value_run"].is_null().all()
    assert data["reason"].unique().to_list() == ["this log has no depth 10"]


@pytest.fixture(scope="module")
def hostile():
    return section_of(run_tables((HOSTILE,), (5,), ("a",), n_queries=12))


def test_a_hostile_market_is_only_text_on_the_page(hostile):
    for one in hostile.every_table:
        page = html_table(one)
        assert "<script" not in page
        assert "\u202e" not in page
        assert "&lt;script&gt;alert(1)" in page
    assert "\u202e" not in " ".join(hostile.reading)


def test_a_hostile_market_moves_no_cell_of_markdown_and_ends_no_latex_table(hostile):
    for one in hostile.every_table:
        rows = markdown_rows(one)
        assert {len(row) for row in rows} == {1 + len(one.heads)}
        assert all(text.count("|") == text.count("\\|") for row in rows for text in row)
        assert latex_table(one).count(r"\end{tabular") == 1


def test_a_hostile_market_is_one_cell_of_the_csv(hostile):
    for one in hostile.every_table:
        rows = list(csv.DictReader(io.StringIO(csv_text(one), newline="")))
        assert len(rows) == one.data.height
        assert {row["market_run"] for row in rows} <= {HOSTILE, ""}
        assert HOSTILE in {row["market_run"] for row in rows}
