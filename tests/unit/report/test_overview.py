"""The first screen's picture, its scale and its means, against the tables of runs and numbers by hand."""

import math
import struct
from dataclasses import replace

import polars as pl
import pytest
from scipy.stats import t as student

from clickassay.findings.draw import mean_levels
from clickassay.findings.estimates import Estimate
from clickassay.report.charts import vega
from clickassay.report.charts.overview import Bar, Overview, Status
from clickassay.report.sections.log.health import health_line
from clickassay.report.sections.overview import (
    LEGEND,
    facts,
    highest_possible,
    levels_table,
    overview,
    overview_figure,
    overview_legend,
    scale_sentences,
)
from support.one_correlation import jackknife
from support.reports.report_runs import RUNS, checks, report_of, settings_with
from support.reports.report_runs import run_of as run_with
from support.reports.report_svg import Picture
from support.reports.report_tables import run_info, run_tables
from support.reports.report_world import BASELINES, HEADLINE, HOSTILE
from support.reports.verdict_world import SURE, UNSURE, correlations, found_in, pairs, run_of

VALUES = {"DCG": 0.36, "AP": 0.30, "ERR": 0.40, "RR": -0.2, "MeanGrade": 0.02, "MeanGrade@1": 0.38}
P = {**dict.fromkeys(VALUES, SURE), "MeanGrade": UNSURE}
LETTER = 6
"""Pixels of an average character at 12 pixels."""


def ranking_of(run):
    return found_in(run).correlation.ranking


@pytest.fixture(scope="module")
def small():
    """ERR is significantly above AP, RR and MeanGrade, MeanGrade is not above noise, RR is below it."""
    significant = [{"ERR", "AP"}, {"ERR", "RR"}, {"ERR", "MeanGrade"}]
    return run_of(correlations=correlations(VALUES, p=P), comparisons=pairs(VALUES, significant))


# ---- rows -----------------------------------------------------------------------------------------


def test_rows_stand_highest_first_with_the_baselines_and_what_the_tests_say(small):
    drawn = overview(small, ranking_of(small), "DCG")
    assert [(bar.label, bar.found.value, bar.status) for bar in drawn.bars] == [
        ("ERR", 0.40, Status.BEST),
        ("grade of the first result alone", 0.38, Status.BEST),
        ("DCG (in use)", 0.36, Status.BEST),
        ("AP", 0.30, Status.BELOW),
        ("mean grade alone", 0.02, Status.NOISE),
        ("RR", -0.2, Status.NEGATIVE),
    ]


def test_lines_are_the_simultaneous_intervals_of_the_table(tables):
    run = run_with(tables)
    rows = tables["correlations"].filter(**HEADLINE, split="all", click_metric="MeanRR").to_dicts()
    ends = {row["correlation"]: (row["simultaneous_low"], row["simultaneous_high"]) for row in rows}
    drawn = overview(run, ranking_of(run))
    assert len(drawn.bars) == len(rows) == 11
    assert {bar.found.value: (bar.found.low, bar.found.high) for bar in drawn.bars} == ends
    assert "hold for all rows at once (95 %)" in " ".join(drawn.axis)


def test_a_metric_without_an_interval_has_a_dot_and_no_line():
    none = pl.lit(None, pl.Float64)
    values = correlations(VALUES).with_columns(simultaneous_low=none, simultaneous_high=none)
    run = run_of(correlations=values)
    picture = Picture(overview(run, ranking_of(run)).draw().svg)
    assert len(picture.with_tip) == len(VALUES)
    assert not [mark for mark in picture.layer(0) if mark.name == "line"]


@pytest.mark.parametrize("form", ["draw", "draw_narrow"])
def test_dots_are_filled_by_what_the_tests_say(small, form):
    picture = Picture(getattr(overview(small, ranking_of(small)), form)().svg)
    dots = [(mark.element.get("fill"), mark.element.get("stroke")) for mark in picture.with_tip]
    assert dots == [
        *[(vega.ACCENT, vega.ACCENT)] * 3,
        (vega.QUIET, vega.QUIET),
        (vega.PAGE, vega.QUIET),
        (vega.WARM, vega.WARM),
    ]


def test_both_forms_show_the_same_rows_in_their_order(tables):
    drawn = overview(run_with(tables), ranking_of(run_with(tables)), "NDCG")
    wide, narrow = (Picture(one.svg) for one in (drawn.draw(), drawn.draw_narrow()))
    tips = [mark.tip for mark in wide.with_tip]
    assert tips == [mark.tip for mark in narrow.with_tip]
    assert [tip.split("\n")[0].removeprefix("Metric: ") for tip in tips] == [bar.label for bar in drawn.bars]
    assert narrow.width < 375 < wide.width  # the width of a small phone
    for picture in (wide, narrow):
        heights = [mark.centre[1] for mark in picture.with_tip]
        assert heights == sorted(heights)
        seen = {mark.text for mark in picture.marks if mark.name == "text"}
        assert {bar.label for bar in drawn.bars} <= seen


def test_the_figure_says_in_words_what_it_shows(small):
    ranking = ranking_of(small)
    (figure,) = overview_figure(ranking, overview(small, ranking))
    assert figure.alt == (
        "Correlation with MeanRR, highest first: ERR 0.400 (among the best), grade of the first result "
        "alone 0.380 (among the best), DCG 0.360 (among the best), AP 0.300 (significantly below the "
        "highest), mean grade alone 0.020 (not significantly different from noise), RR −0.200 "  # noqa: RUF001
        "(significantly below noise)."
    )
    assert figure.narrow is not None


def test_the_legend_explains_the_marks_that_are_there(small):
    drawn = overview(small, ranking_of(small))
    assert overview_legend(drawn) == tuple(LEGEND.values())
    assert overview_legend(replace(drawn, bars=drawn.bars[:3])) == (LEGEND[Status.BEST],)
    assert overview_legend(None) == ()


# ---- the highest that can be reached -----------------------------------------------------------------


def with_reliability(reliability, values=VALUES):
    """A run whose noise-corrected correlations are those divided by the root of a reliability."""
    root = math.sqrt(reliability)
    corrected = correlations(values).with_columns(
        noise_corrected=pl.col("correlation") / root,
        noise_corrected_low=pl.col("ci_low") / root,
        noise_corrected_high=pl.col("ci_high") / root,
    )
    return run_of(correlations=corrected)


@pytest.mark.parametrize("reliability", [0.06, 0.36, 1.0])
def test_the_highest_possible_is_the_root_of_the_reliability(reliability):
    run = with_reliability(reliability)
    assert highest_possible(run, ranking_of(run)) == pytest.approx(math.sqrt(reliability), abs=1e-12)
    assert overview(run, ranking_of(run)).ceiling == highest_possible(run, ranking_of(run))


@pytest.mark.parametrize("reliability", [0.04, 1e-6])
def test_of_clicks_that_are_mostly_noise_no_highest_is_given(reliability):
    run = with_reliability(reliability)
    assert highest_possible(run, ranking_of(run)) is None
    (text,) = scale_sentences(run, ranking_of(run))
    assert text == (
        "If clicks ignored the grades, the value would be 0; the log has too few sessions to say how much "
        "could be reached."
    )


def test_without_a_bound_no_highest_is_given(small):
    assert highest_possible(small, ranking_of(small)) is None


def test_the_scale_says_how_much_of_the_highest_is_reached():
    run = with_reliability(0.64)
    (text,) = scale_sentences(run, ranking_of(run))
    assert text.startswith("If clicks ignored the grades, the value would be 0; ")
    assert text.endswith("would reach about 0.80. ERR reaches 50 % of that.")


def test_what_is_not_above_noise_reaches_nothing():
    run = with_reliability(0.64)
    ranking = ranking_of(run)
    quiet = {name: replace(one, p_adjusted=0.5) for name, one in ranking.competitors.items()}
    (text,) = scale_sentences(run, replace(ranking, competitors=quiet))
    assert text.endswith("would reach about 0.80.")


def test_the_scale_of_ss_begins_at_what_clicks_that_ignore_grades_give():
    nulls = dict.fromkeys(VALUES, 0.25)
    run = run_of(correlations=correlations(VALUES, "SS", nulls=nulls), settings={"click_metric": ["SS"]})
    (text,) = scale_sentences(run, ranking_of(run))
    assert text.startswith("If clicks ignored the grades, the value would be 0.25; ")


@pytest.mark.parametrize("form", ["draw", "draw_narrow"])
@pytest.mark.parametrize("ceiling", [0.02, 0.2, 0.5, 0.97])
@pytest.mark.parametrize("lowest", [0.05, -0.9])
def test_the_line_of_the_highest_possible_and_its_words_lie_within_the_picture(form, ceiling, lowest):
    bars = [Bar("ERR", Estimate(0.95, 0.9, 0.97), Status.BEST), Bar("AP", Estimate(lowest), Status.BELOW)]
    picture = Picture(getattr(Overview(bars, ("Correlation.", "Lines."), ceiling), form)().svg)
    (words,) = [mark for mark in picture.marks if mark.text.startswith("highest possible") and mark.points]
    part = {"start": 0, "middle": 0.5, "end": 1}[words.element.get("text-anchor")]
    left = words.points[0][0] - part * LETTER * len(words.text)
    assert left >= 0
    assert left + LETTER * len(words.text) <= picture.width


# ---- means and facts ------------------------------------------------------------------------------


def test_means_are_those_of_sessions_with_intervals_of_leaving_out_queries(tables):
    run = run_with(tables)
    rows = tables["configurations"].filter(**HEADLINE).to_dicts()
    found = mean_levels(run)
    assert not set(found) & set(BASELINES)
    assert list(found)[:2] == ["DCG", "NDCG"]
    assert list(found)[-1] == "QCTR"
    for name in ("ERR", "MeanRR"):

        def mean(kept, name=name):
            sessions = sum(row["n_sessions"] for row in kept)
            return sum(row[name] * row["n_sessions"] for row in kept) / sessions

        queries = sorted({row["query"] for row in rows})
        left = [mean([row for row in rows if row["query"] != query]) for query in queries]
        error, degrees = jackknife(left)
        margin = student.ppf(0.975, degrees) * error
        assert found[name].mean == pytest.approx(mean(rows), abs=1e-9)
        assert found[name].low == pytest.approx(mean(rows) - margin, abs=1e-7)
        assert found[name].high == pytest.approx(mean(rows) + margin, abs=1e-7)


def test_the_table_of_means_has_what_was_found_and_no_end_that_is_not_there(tables):
    run = run_with(tables)
    found = mean_levels(run)
    found["ERR"] = replace(found["ERR"], low=math.nan, high=math.nan, caution="no interval: one query")
    table = levels_table(run, found)
    cells = {row.name: row.cells[0] for row in table.rows}
    assert (cells["ERR"].low, cells["ERR"].high) == (None, None)
    assert cells["NDCG"] == Estimate(found["NDCG"].mean, found["NDCG"].low, found["NDCG"].high)
    assert {row.name: row.group for row in table.rows}["UCTR"] == "clicks"
    assert table.data["metric"].to_list() == list(found)


def test_facts_say_what_is_measured_where_on_how_much_and_how_sound(tables):
    known = dict(facts(run_with(tables)))
    assert list(known) == ["Clicks measured by", "Data", "Health"]
    assert known["Clicks measured by"].startswith("MeanRR. Mean of ")
    assert "of the sessions at market m1, depth 5, judge editor" in known["Data"]


@pytest.mark.parametrize(
    ("statuses", "line"),
    [
        ((), "Not checked"),
        (("ok",), "✓ No fault found by 1 check of the log and its judgments"),
        (("ok", "ok"), "✓ No fault found by 2 checks of the log and its judgments"),
        (("ok", "finding"), "✗ Finding: clicks come after the idle limit of their search (see below)"),
        (
            ("caution", "finding", "caution"),
            "✗ Finding: clicks come after the idle limit of their search, and 2 more (see below)",
        ),
    ],
)
def test_the_health_of_the_log_is_one_line(statuses, line):
    assert health_line(run_of(health=checks(*statuses))) == line


# ---- the summary's picture ------------------------------------------------------------------------


def png_size(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


@pytest.mark.parametrize("name", RUNS)
def test_a_run_with_a_ranking_has_a_picture_for_a_chat_and_others_have_none(reports, made, name):
    path = reports[name][0] / "summary.png"
    assert path.exists() == (made[name].picture is not None)
    assert path.exists() == (name in ("full", "small", "hostile"))
    if path.exists():
        drawn = made[name].picture.draw()
        page = Picture(drawn.svg)
        width, height = png_size(path.read_bytes())
        assert page.width < width / 2 < page.width + 80  # twice the pixels, and a frame
        assert page.height + 60 < height / 2 < page.height + 260  # title and lead above


def test_a_longer_lead_takes_more_room_above_the_picture():
    drawn = Overview([Bar(HOSTILE, Estimate(0.5, 0.4, 0.6), Status.BEST)], ("Correlation.",), 0.8)
    short, long = (png_size(drawn.image("Keep ERR", "Because. " * times)) for times in (1, 40))
    assert short[0] == long[0]
    assert short[1] < long[1]


def test_the_metric_in_use_is_marked_in_the_report_by_any_of_its_names():
    report = report_of(run_tables(), settings_with(current="nDCG"))
    assert [bar.label for bar in report.picture.bars if "(in use)" in bar.label] == ["NDCG (in use)"]
    assert report.decision.current == "NDCG"
    assert report_of(run_tables(), run_info()).decision.current is None
