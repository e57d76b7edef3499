"""The first screen's picture, its scale and its means, against the tables of runs and numbers by hand."""

import math
import re
import struct
from dataclasses import replace

import polars as pl
import pytest
from scipy.stats import norm as normal

from clickassay.core.text.words import MINUS
from clickassay.findings.draw import mean_levels
from clickassay.findings.estimates import Estimate
from clickassay.findings.ranking import highest_possible
from clickassay.report.charts import vega
from clickassay.report.charts.overview import Bar, Overview, Status
from clickassay.report.sections.log import health_line
from clickassay.report.sections.overview import (
    levels_section,
    overview,
    overview_figures,
    overview_legend,
    second_overview,
)
from clickassay.report.verdict.sentences import scale_sentences
from support.reports.report_runs import RUNS, checks, report_of, settings_with
from support.reports.report_runs import run_of as run_with
from support.reports.report_svg import Picture
from support.reports.verdict_world import correlations, found_in, pairs, run_of, within

VALUES = {"DCG": 0.36, "AP": 0.30, "ERR": 0.40, "RR": -0.2, "MeanGrade": 0.02, "MeanGrade@1": 0.38}
LETTER = 6
"""Pixels of an average character at 12 pixels."""


def ranking_of(run):
    return found_in(run).correlation.ranking


@pytest.fixture(scope="module")
def small():
    """DCG is in use; ERR is significantly above it, RR below, and MeanGrade@1 may be above by the margin."""
    tests = pairs(VALUES, [{"ERR", "DCG"}, {"DCG", "RR"}])
    return run_of(correlations=correlations(VALUES), comparisons=tests, settings={"current": "DCG"})


def test_rows_stand_highest_first_with_what_tests_and_bounds_say(small):
    drawn = overview(small, ranking_of(small))
    assert [(bar.label, *bar.texts, bar.status) for bar in drawn.bars] == [
        ("ERR", "0.400", Status.BETTER),
        ("top result's grade", "0.380", Status.OPEN),
        ("DCG (your metric)", "0.360", Status.REFERENCE),
        ("AP", "0.300", Status.SAME),
        ("mean grade", "0.020", Status.SAME),
        ("RR", f"{MINUS}0.200", Status.WORSE),
    ]
    assert [bar.label for bar in drawn.bars if bar.is_baseline] == ["top result's grade", "mean grade"]
    assert [bar.label for bar in drawn.bars if bar.is_current] == ["DCG (your metric)"]


def test_of_two_rankings_rows_show_how_often_each_picks_the_one_that_users_prefer():
    run = run_of(**within(VALUES, queries=60), settings={"question": "rankings"})
    found = found_in(run)
    drawn = overview(run, found.verdict.claims[0].ranking)
    shares = [f"{100 * (0.5 + math.asin(value) / math.pi):.1f}%" for value in sorted(VALUES.values())]
    assert [bar.texts for bar in drawn.bars] == [(share,) for share in reversed(shares)]
    assert drawn.heads == ("clicks",)


def test_lines_are_differences_that_hold_for_the_family_of_the_decision(small):
    drawn = overview(small, ranking_of(small))
    reach = normal.ppf(1 - 0.025 / 5)  # five others against the metric in use; of as many degrees as a normal
    for bar, value in zip(drawn.bars, sorted(VALUES.values(), reverse=True), strict=True):
        error = {Status.BETTER: 0.004, Status.WORSE: 0.004, Status.REFERENCE: None}.get(bar.status, 0.02)
        assert bar.difference.value == pytest.approx(value - 0.36, abs=1e-12)
        if error is None:
            assert (bar.difference.low, bar.difference.high) == (None, None)
        else:
            ends = (value - 0.36 - reach * error, value - 0.36 + reach * error)
            assert (bar.difference.low, bar.difference.high) == pytest.approx(ends, abs=1e-6)
    assert drawn.reference == "DCG"
    captions = "".join(re.findall(r"<t(?:ext|span)[^>]*>([^<]+)", drawn.draw().svg))
    assert "\u2190 worse \u00b7 difference in correlation from DCG \u00b7 better \u2192" in captions
    assert "Lines: simultaneous 95% CIs" in captions


def test_without_a_metric_in_use_the_highest_baseline_is_compared_with(small):
    run = run_of(correlations=correlations(VALUES), comparisons=pairs(VALUES))
    drawn = overview(run, ranking_of(run))
    (reference,) = [bar for bar in drawn.bars if bar.status is Status.REFERENCE]
    assert reference.label == "top result's grade"
    metrics = {name: VALUES[name] for name in ("DCG", "ERR")}
    run = run_of(correlations=correlations(metrics), comparisons=pairs(metrics))
    assert [bar.status for bar in overview(run, ranking_of(run)).bars] == [Status.REFERENCE, Status.SAME]


def test_a_metric_without_an_interval_has_a_dot_and_no_line():
    run = run_of(correlations=correlations(VALUES))  # no pair was tested
    picture = Picture(overview(run, ranking_of(run)).draw().svg)
    assert len(picture.with_tip) == len(VALUES)
    assert not [mark for mark in picture.layer(1) if mark.name == "line"]


@pytest.mark.parametrize("form", ["draw", "draw_narrow", "draw_small"])
def test_dots_are_filled_by_what_the_tests_say(small, form):
    picture = Picture(getattr(overview(small, ranking_of(small)), form)().svg)
    dots = [(mark.element.get("fill"), mark.element.get("stroke")) for mark in picture.with_tip]
    assert dots == [
        (vega.ACCENT, vega.ACCENT),
        (vega.PAGE, vega.ACCENT),
        (vega.INK, vega.INK),
        *[(vega.QUIET, vega.QUIET)] * 2,
        (vega.WARM, vega.WARM),
    ]


def test_all_forms_show_the_same_rows_in_their_order(tables):
    drawn = overview(run_with(tables), ranking_of(run_with(tables)))
    forms = wide, narrow, _ = [
        Picture(one.svg) for one in (drawn.draw(), drawn.draw_narrow(), drawn.draw_small())
    ]
    tips = [mark.tip for mark in wide.with_tip]
    assert [tip.split("\n")[0].removeprefix("Metric: ") for tip in tips] == [bar.label for bar in drawn.bars]
    assert narrow.width < 375 < wide.width  # the width of a small phone
    for picture in forms:
        assert tips == [mark.tip for mark in picture.with_tip]
        heights = [mark.centre[1] for mark in picture.with_tip]
        assert heights == sorted(heights)
        seen = {mark.text for mark in picture.marks if mark.name == "text"}
        assert {bar.label for bar in drawn.bars} <= seen


def test_the_figure_says_in_words_what_it_shows(small):
    (figure,) = overview_figures(small, found_in(small), overview(small, ranking_of(small)))
    assert figure.alt == (
        "Correlation over all queries, on clicks (MeanRR), highest first: ERR 0.400 (significantly better, "
        "difference +0.040), top result's grade 0.380 (could be meaningfully better, difference +0.020), DCG "
        f"(your metric) 0.360 (reference), AP 0.300 (no meaningful gain, difference {MINUS}0.060), mean "
        f"grade 0.020 (no meaningful gain, difference {MINUS}0.340), RR {MINUS}0.200 (significantly worse, "
        f"difference {MINUS}0.560)."
    )
    assert figure.narrow is not None


def test_too_few_queries_for_the_other_question_have_no_picture():
    tests = {"correlations": correlations(VALUES, queries=60), "comparisons": pairs(VALUES)}
    for queries, is_drawn in ((49, False), (50, True)):
        run = run_of(**tests, **within(VALUES, queries=queries))
        assert (second_overview(run, found_in(run)) is not None) == is_drawn


def test_the_second_picture_is_about_the_question_that_does_not_decide(tables):
    titles = {
        "rankings": "Secondary: which metric finds badly served queries?",
        "queries": "Secondary: how well does each metric predict which ranking users prefer?",
    }
    for question, title in titles.items():
        report = report_of(tables, settings_with(question=question))
        if report.claims.verdict.question == question:
            assert [one.title for one in report.second] == [title]


def test_the_legend_explains_the_marks_that_are_there(small):
    drawn = overview(small, ranking_of(small))
    assert overview_legend([drawn]) == (
        ("dot", "significantly better"),
        ("ring", "could be meaningfully better"),
        ("dot-quiet", "no meaningful gain"),
        ("dot-warm", "significantly worse"),
        ("dot-ink", "reference"),
        ("band", "too small to matter (\u00b10.05)"),
    )
    assert overview_legend([]) == ()
    few, rest = (replace(drawn, bars=bars) for bars in (drawn.bars[:1], drawn.bars[1:]))
    assert overview_legend([few, rest]) == overview_legend([drawn])  # of both pictures
    assert "band" not in [mark for mark, _ in overview_legend([replace(drawn, margin=0.0)])]


def with_reliability(reliability, values=VALUES):
    """A run whose noise-corrected correlations are those divided by the root of a reliability."""
    root = math.sqrt(reliability)
    corrected = correlations(values).with_columns(
        noise_corrected=pl.col("correlation") / root,
        noise_corrected_low=pl.col("ci_low") / root,
        noise_corrected_high=pl.col("ci_high") / root,
    )
    return run_of(correlations=corrected)


NO_HIGHEST = "0 = unrelated to clicks. The log has too few sessions to estimate the best possible value."


@pytest.mark.parametrize(
    ("reliability", "text"),
    [
        (0.64, "would reach only about 0.80."),
        (1.0, "would reach only about 1.00."),
        (0.04, NO_HIGHEST),
        (1e-6, NO_HIGHEST),
    ],
)
def test_the_highest_possible_is_the_root_of_the_reliability_but_where_clicks_are_noise(reliability, text):
    run = with_reliability(reliability)
    highest = None if text is NO_HIGHEST else pytest.approx(math.sqrt(reliability), abs=1e-12)
    assert highest_possible(run, ranking_of(run)) == highest
    (said,) = scale_sentences(run, found_in(run))
    assert said.endswith(text)


@pytest.mark.parametrize("form", ["draw", "draw_narrow", "draw_small"])
@pytest.mark.parametrize("margin", [0.0, 0.05, 0.6])
def test_the_band_of_the_margin_heads_and_labels_lie_within_the_picture(form, margin):
    bars = [
        Bar("ERR", Estimate(0.0, -0.15, 0.15), Status.BETTER, ("0.950", "60.1%")),
        Bar("AP", Estimate(0.0), Status.REFERENCE, ("0.750", "55.0%")),
    ]
    drawn = Overview(bars, "NDCG", margin, ("clicks", "purchases"))
    picture = Picture(getattr(drawn, form)().svg)
    heads = [mark for mark in picture.marks if mark.text in drawn.heads and mark.points]
    reach = 0
    for words in sorted(heads, key=lambda mark: mark.points[0][0]):
        assert words.element.get("text-anchor") == "end"
        right = words.points[0][0]
        assert reach <= right - LETTER * len(words.text) < right <= picture.width
        reach = right
    assert len(heads) == len(drawn.heads)
    labels = [mark for mark in picture.of("role-axis-label") if mark.element.get("text-anchor") == "middle"]
    assert len(labels) > 2
    for label in labels:
        half = LETTER * len(label.text) / 2
        assert half <= label.points[0][0] <= picture.width - half
    (band,) = picture.layer(0)
    left, end = (min(x for x, _ in band.points), max(x for x, _ in band.points))
    zero = next(mark for mark in picture.with_tip if "AP" in mark.tip).centre[0]
    assert (left + end) / 2 == pytest.approx(zero, abs=0.6)
    assert 0 <= left <= end <= picture.width


def test_the_table_of_means_has_what_was_found_and_no_end_that_is_not_there(tables):
    run = run_with(tables)
    found = mean_levels(run)
    found["ERR"] = replace(found["ERR"], low=math.nan, high=math.nan, caution="no interval: one query")
    (table,) = levels_section(run, found).tables
    cells = {row.name: row.cells[0] for row in table.rows}
    assert (cells["ERR"].low, cells["ERR"].high) == (None, None)
    assert cells["NDCG"] == Estimate(found["NDCG"].mean, found["NDCG"].low, found["NDCG"].high)
    assert {row.name: row.group for row in table.rows}["UCTR"] == "clicks"
    assert table.data["metric"].to_list() == list(found)


@pytest.mark.parametrize(
    ("statuses", "line"),
    [
        ((), "Not checked"),
        (("ok",), "✓ All 1 passed"),
        (("ok", "ok"), "✓ All 2 passed"),
        (("ok", "finding"), "✗ Finding: clicks come after the idle limit of their search (see below)"),
        (
            ("caution", "finding", "caution"),
            "✗ Finding: clicks come after the idle limit of their search, and 2 more (see below)",
        ),
    ],
)
def test_the_health_of_the_log_is_one_line(statuses, line):
    assert health_line(run_of(health=checks(*statuses))) == line


def png_size(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_run_with_a_ranking_has_a_picture_for_a_chat_and_others_have_none(reports, made, name):
    path = reports[name] / "summary.png"
    assert path.exists() == (made[name].picture is not None)
    assert path.exists() == (name in ("full", "small", "hostile"))
    if path.exists():
        drawn = made[name].picture.draw()
        page = Picture(drawn.svg)
        width, height = png_size(path.read_bytes())
        assert page.width < width / 2 < page.width + 80  # twice the pixels, and a frame
        assert page.height + 60 < height / 2 < page.height + 260  # title and lead above


def test_a_longer_lead_takes_more_room_above_the_picture(small):
    drawn = overview(small, ranking_of(small))
    short, long = (png_size(drawn.image("Keep ERR", ["Because. " * times])) for times in (1, 40))
    assert (short[0], short[1]) < (long[0], long[1]) == (short[0], long[1])
