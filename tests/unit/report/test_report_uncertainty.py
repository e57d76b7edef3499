"""The report on uncertainty, against the tables, plain loops and numbers written down here."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from clickassay.findings.estimates import Estimate
from clickassay.findings.ranking import Lead, groups, letters, rank, swap_sides
from clickassay.report.charts import vega
from clickassay.report.model import noise_corrected
from clickassay.report.sections.comparisons import comparisons_section
from clickassay.report.sections.correlations import baselines_section, correlations_section
from clickassay.report.sections.rankers import differences_section
from clickassay.report.tables import Spelled
from clickassay.report.verdict.sentences import first_finding, needed_text, second_finding
from support.reports.report_runs import report_of, run_of
from support.reports.report_svg import Picture
from support.reports.report_tables import BASELINES, CLICKS, EDITORIAL, HEADLINE, run_info
from support.reports.verdict_world import found_in


def changed(tables, name, **columns):
    """The tables with some columns of one of them set."""
    return run_of({**tables, name: tables[name].with_columns(**columns)})


def section_of(run):
    return comparisons_section(run, found_in(run))


def reading_of(run):
    """The sentences of the section after those of the first finding."""
    found = found_in(run)
    first = first_finding(found.correlation).reading
    reading = comparisons_section(run, found).reading
    assert reading[: len(first)] == first
    return reading[len(first) :]


def pairs_of(tables):
    """Rows of the headline sample and click metric, baselines included."""
    return tables["comparisons"].filter(**HEADLINE, click_metric="MeanRR").to_dicts()


def with_p(tables, different, p=0.04, q=0.06):
    """The run with an adjusted p-value of `p` for some pairs of MeanRR and `q` for all others."""
    chosen = pl.concat_str("metric_a", pl.lit("/"), "metric_b").is_in([f"{a}/{b}" for a, b in different])
    return changed(tables, "comparisons", p_adjusted=pl.when(chosen).then(p).otherwise(q))


def noise_corrected_ends(row):
    """What is shown: nothing without an interval."""
    found = tuple(row[f"noise_corrected{end}"] for end in ("", "_low", "_high"))
    return (None,) * 3 if found[1] is None else found


def correlations_of(tables, click, **key):
    """Correlations of one sample with a click metric by offline metric."""
    rows = tables["correlations"].filter(split="all", click_metric=click, **(key or HEADLINE))
    return {row["editorial_metric"]: row for row in rows.to_dicts()}


# ---- pairs of metrics -------------------------------------------------------------------------
def test_every_pair_is_shown_with_difference_p_values_verdict_and_queries(tables, run):
    section = section_of(run)
    rows = pairs_of(tables)
    assert len(rows) == 55
    significant = sum(row["p_adjusted"] < 0.05 for row in rows)
    assert reading_of(run)[0] == (
        f"At market m1, top 5, judge editor, the difference is significant for {significant} of 55 pairs."
    )
    assert section.folded[0].data.equals(tables["comparisons"])
    shown = {row.name: row.cells for row in section.folded[0].rows}
    for row in rows:
        name = f"{row['metric_a']} \N{MINUS SIGN} {row['metric_b']}"
        difference, p, adjusted, verdict, needed = shown[name]
        assert difference == Estimate(row["difference"], row["ci_low"], row["ci_high"])
        for cell, value in ((p, row["p_value"]), (adjusted, row["p_adjusted"])):
            assert cell == Spelled("< 0.001" if value < 0.001 else f"{value:.3f}", value)
        assert verdict == ("yes" if row["p_adjusted"] < 0.05 else "no")
        if row["queries_needed"] > 100 * row["n_queries"]:
            assert needed.text == "out of reach"
        else:
            at_least = float(needed.text.removeprefix("at least ").replace(",", ""))
            assert at_least == pytest.approx(row["queries_needed"], rel=0.06)
        assert needed.value == row["queries_needed"]


def test_the_largest_difference_is_described_from_the_better_metric(tables):
    significant = [("DCG", "ERR"), ("AP", "ERR")]
    run = with_p(tables, significant, p=0.0004)
    rows = {(row["metric_a"], row["metric_b"]): row for row in pairs_of(tables)}
    (a, b), row = max(
        ((pair, rows[pair]) for pair in significant), key=lambda item: abs(item[1]["difference"])
    )
    low, high = sorted([abs(row["ci_low"]), abs(row["ci_high"])])
    assert row["difference"] < 0
    assert reading_of(run)[1] == (
        f"{b} predicts MeanRR better than {a} by {-row['difference']:.3f} (95% CI {low:.3f} to "
        f"{high:.3f}, adjusted p < 0.001), the largest of these differences."
    )


def test_a_single_difference_is_not_called_the_largest_and_carries_its_caution(tables):
    doubtful = {**tables, "comparisons": tables["comparisons"].with_columns(caution=pl.lit("few decide"))}
    text = reading_of(with_p(doubtful, [("DCG", "ERR")]))[1]
    assert text.startswith("ERR predicts MeanRR better than DCG by ")
    assert text.endswith("adjusted p 0.040). This interval is unreliable: few decide.")


def test_the_queries_that_would_settle_ties_range_from_the_easiest_to_the_hardest(tables):
    needed = {"DCG": 1234.0, "RR": 5678.0, "RBP": None, "NDCG": 4e9}
    name = pl.when(pl.col("metric_a") == "ERR").then("metric_b").otherwise("metric_a")
    column = name.replace_strict(needed, default=2000.0, return_dtype=pl.Float64)
    run = changed(tables, "comparisons", queries_needed=column, n_queries=pl.lit(60), p_adjusted=pl.lit(0.9))
    assert rank(run, run.headline).best == "ERR"
    shown = {row.name: row.cells[-1] for row in section_of(run).tables[0].rows}
    easy, hard = (shown[name].text for name in ("DCG", "RR"))
    assert (
        "To show a difference between ERR and the metrics that are not significantly different from it would "
        f"take {easy} judged queries (for DCG) or {hard} (for RR); there are 60. This number gives 80% power."
    ) in section_of(run).reading
    assert shown["NDCG"] == Spelled("out of reach", 4e9)
    assert shown["DCG"].value == 1234.0
    assert shown["RBP"] == Estimate(None, reason="not tested")


def test_pairs_without_a_difference_are_not_called_alike(tables):
    none = pl.lit(None, pl.Float64)
    run = changed(tables, "comparisons", p_value=none, p_adjusted=none)
    section = section_of(run)
    assert reading_of(run) == (
        "No pair of metrics can be compared at market m1, top 5, judge editor: no difference has an "
        "interval.",
    )
    assert {row.cells[3] for row in section.folded[0].rows} == {"not tested"}
    assert section.tables == ()


def test_pairs_that_were_not_tested_are_counted(tables):
    gone = (pl.col("metric_a") == "DCG") & (pl.col("metric_b") == "ERR")
    run = changed(tables, "comparisons", p_adjusted=pl.when(~gone).then("p_adjusted"))
    assert reading_of(run)[0].endswith("of 54 pairs; 1 pair could not be tested.")


def test_the_lines_of_differences_are_those_that_hold_for_all_pairs_at_once(tables, run):
    (figure,) = section_of(run).figures
    rows = {frozenset((row["metric_a"], row["metric_b"])): row for row in pairs_of(tables)}
    best = rank(run, run.headline).best
    for drawn in figure.drawing.rows:
        row = rows[frozenset((best, drawn["name"]))]
        ends = [row["simultaneous_low"], row["simultaneous_high"]]
        expected = ends if row["metric_a"] == best else [-ends[1], -ends[0]]
        assert [drawn["low"], drawn["high"]] == expected
    assert figure.drawing.titles["interval"] == "Simultaneous 95% CI"


def alike_by_trial(names, apart):
    """The largest sets of names without a significantly different pair, by trying every set."""
    bad = {frozenset(pair) for pair in apart}
    fine = [
        set(chosen)
        for size in range(1, len(names) + 1)
        for chosen in itertools.combinations(names, size)
        if not any(frozenset(pair) in bad for pair in itertools.combinations(chosen, 2))
    ]
    return [one for one in fine if not any(one < other for other in fine)]


@pytest.mark.parametrize("seed", range(8))
def test_groups_are_the_largest_sets_without_a_significantly_different_pair(seed):
    rng = np.random.default_rng(seed)
    names = list("ABCDEFG")
    apart = [pair for pair in itertools.combinations(names, 2) if rng.random() < seed / 8]
    found = groups(names, apart)
    assert sorted(map(sorted, found)) == sorted(map(sorted, alike_by_trial(names, apart)))
    shared = letters(found)
    for a, b in itertools.combinations(names, 2):
        assert bool(set(shared[a].split()) & set(shared[b].split())) == ((a, b) not in apart)


def test_letters_go_on_after_z():
    found = letters([(str(place),) for place in range(28)])
    assert [found["0"], found["25"], found["26"], found["27"]] == ["a", "z", "a2", "b2"]


def test_metrics_stand_in_order_with_letters_and_leads_and_hollow_dots_where_not_told_apart(tables):
    section = section_of(with_p(tables, [("DCG", "ERR"), ("AP", "ERR")]))
    (table,), (figure,) = section.tables, section.figures
    values = {name: row["correlation"] for name, row in correlations_of(tables, "MeanRR").items()}
    order = sorted((*EDITORIAL, *BASELINES), key=lambda name: -values[name])
    assert [row.name for row in table.rows] == order
    assert order[0] == "ERR"
    shared = {row.name: row.cells[1] for row in table.rows}
    assert shared["ERR"] == "a"
    assert shared["DCG"] == shared["AP"] == "b"
    assert {shared[name] for name in order if name not in ("ERR", "DCG", "AP")} == {"a b"}
    behind = {row.name: row.cells[2] for row in table.rows[1:]}
    for name, lead in behind.items():
        assert lead.value == pytest.approx(values["ERR"] - values[name], abs=1e-12)
        assert lead.low < lead.value < lead.high
    filled = {row["name"] for row in figure.drawing.rows if not row["hollow"]}
    assert filled == {"DCG", "AP"}
    # without a filled dot: drawn in the colour of the page, with a rim
    dots = Picture(figure.drawing.svg).layer(1)
    assert Counter(dot.element.get("fill") for dot in dots) == {vega.PAGE: 8, vega.ACCENT: 2}
    assert {dot.element.get("stroke") for dot in dots} == {vega.ACCENT}


# ---- cautions ---------------------------------------------------------------------------------
def test_every_table_with_doubtful_intervals_says_so(tables):
    doubtful = {
        name: frame.with_columns(caution=pl.lit("heavy-tailed sessions"))
        if "caution" in frame.columns
        else frame
        for name, frame in tables.items()
    }
    report = report_of(doubtful, run_info())
    with_intervals = [
        table
        for section in report.sections
        for table in section.every_table
        if table.name != "levels"  # means come from the configurations themselves
        if any(isinstance(cell, Estimate) and cell.has_interval for row in table.shown for cell in row.cells)
    ]
    assert len(with_intervals) >= 14
    for table in with_intervals:
        assert any(text.startswith("Unreliable intervals: ") for text in table.remarks), table.name
        assert any(text.endswith("(heavy-tailed sessions).") for text in table.remarks), table.name


def test_the_queries_needed_are_at_least_the_number_that_was_estimated():
    lead = Lead(Estimate(0.1, 0.05, 0.2), p_adjusted=0.2, queries_needed=4012.0, n_queries=401)
    assert needed_text(lead) == needed_text(swap_sides(lead)) == "at least 4,000"
    assert needed_text(replace(lead, queries_needed=40_101.0)) is None  # out of reach
    assert needed_text(replace(lead, queries_needed=None)) is None


# ---- noise correction -------------------------------------------------------------------------
def test_table_6_shows_the_noise_corrected_value_with_its_interval(tables, run):
    table = differences_section(run, found_in(run)).folded[0]
    assert table.heads[3] == "Noise-corrected"
    rows = {(row.group, row.name): row.cells[3] for row in table.rows}
    frame = tables["differences"].filter(~pl.col("editorial_metric").is_in(BASELINES), **HEADLINE)
    assert len(rows) == frame.height == 56
    for row in frame.to_dicts():
        cell = rows[row["click_metric"], row["editorial_metric"]]
        assert (cell.value, cell.low, cell.high) == noise_corrected_ends(row)
    # 7 click metrics times 2 of 8 metrics have no value; QCTR's other 6 have no bound
    assert any(
        text.startswith("Dash: the noise correction has no finite bound (6 of") for text in table.remarks
    )
    assert any(
        text.startswith("Dash: no variance of clicks remains") and "(14 of" in text for text in table.remarks
    )


def test_noise_corrected_values_beyond_one_are_counted(tables):
    beyond = pl.when(pl.col("editorial_metric") == "RR").then(7.5).otherwise("noise_corrected")
    run = changed(tables, "differences", noise_corrected=beyond)
    note = differences_section(run, found_in(run)).folded[0].notes[0]
    assert note.startswith("7 noise-corrected values beyond 1: there, the log has too few")


def with_noise_corrected(tables, value, low, high):
    """The run with this noise-corrected value and interval for every difference."""
    columns = {"noise_corrected": value, "noise_corrected_low": low, "noise_corrected_high": high}
    return changed(tables, "differences", **{name: pl.lit(x, pl.Float64) for name, x in columns.items()})


def test_the_reading_shows_what_infinitely_many_sessions_would_show(tables):
    rows = tables["differences"].filter(**HEADLINE, click_metric="MeanRR").to_dicts()
    best = max((row for row in rows if row["editorial_metric"] in EDITORIAL), key=lambda row: row["exact"])
    run = with_noise_corrected(tables, 0.81, 0.62, 1.07)
    found = found_in(run)
    reading = differences_section(run, found).reading
    first = second_finding(found.differences)
    assert reading[:-2] == first.reading
    assert " ".join(reading[:-2]) == first.text
    assert reading[-2] == (
        f"With infinitely many sessions, the correlation of {best['editorial_metric']} would be 0.810 "
        f"(95% CI "
        "0.620 to 1.070; as an estimate, it may be above 1)."
    )


@pytest.mark.parametrize(("value", "low", "high"), [(None, None, None), (0.9, None, None), (1.4, 0.9, 2.0)])
def test_without_a_bound_the_reading_promises_nothing_about_infinitely_many_sessions(
    tables, value, low, high
):
    run = with_noise_corrected(tables, value, low, high)
    assert "cannot be estimated" in differences_section(run, found_in(run)).reading[-2]


def test_the_noise_corrected_correlations_are_folded_under_table_2(tables, run):
    table = correlations_section(run).folded[1]
    assert "infinitely many sessions" in table.title
    assert "Noise-corrected" in table.title
    rows = {(row.group, row.name): row.cells for row in table.rows}
    assert len(rows) == 8 * len(CLICKS)
    for click in CLICKS:
        found = correlations_of(tables, click)
        for name, cell in zip(
            (*EDITORIAL, *BASELINES), rows["market m1, top 5, judge editor", click], strict=True
        ):
            assert (cell.value, cell.low, cell.high) == noise_corrected_ends(found[name])
    cells = 8 * (len(EDITORIAL) + len(BASELINES)) * len(CLICKS)
    assert (
        f"Dash: the noise correction has no finite bound ({cells // len(CLICKS)} of {cells} cells)."
        in table.remarks
    )


BEYOND = "a noise-corrected value beyond 1 is not a correlation: too few sessions"


def missing(reason):
    return Estimate(None, reason=reason)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((0.5, 0.6, 0.4, 0.9, None, None), Estimate(0.6, 0.4, 0.9)),
        ((0.5, 0.6, 0.4, 0.9, None, "few"), Estimate(0.6, 0.4, 0.9, caution="few")),
        ((0.5, 1.6, 0.4, 2.9, None, None), Estimate(1.6, 0.4, 2.9, caution=BEYOND)),
        ((0.5, 0.6, None, None, None, "few"), missing("the noise correction has no finite bound")),
        ((None, 0.6, None, None, None, "no interval: x"), missing("no interval: x")),
        (
            (0.5, None, None, None, None, "few"),
            missing("no variance of clicks remains after the noise correction"),
        ),
        ((None, None, None, None, "why", None), missing("why")),
    ],
)
def test_a_noise_corrected_value_says_why_it_or_its_interval_is_missing(row, expected):
    names = ("ci_low", "noise_corrected", "noise_corrected_low", "noise_corrected_high", "reason", "caution")
    assert noise_corrected(dict(zip(names, row, strict=True))) == expected


# ---- baselines --------------------------------------------------------------------------------
def test_baselines_are_next_to_the_best_metric_with_how_far_it_is_above(tables, run):
    table = baselines_section(run).tables[0]
    row = next(row for row in table.rows if row.name == "market m2, top 5, judge llm")
    key = {"market": "m2", "depth": 5, "judge": "llm"}
    found = correlations_of(tables, "MeanRR", **key)
    best = max(EDITORIAL, key=lambda name: found[name]["correlation"])
    *plain, top, which, added, p = row.cells
    assert [cell.value for cell in plain] == [found[name]["correlation"] for name in BASELINES]
    assert (top.value, which) == (found[best]["correlation"], best)
    pairs = tables["comparisons"].filter(**key, click_metric="MeanRR", metric_a=best, metric_b="MeanGrade")
    pair = pairs.row(0, named=True)
    assert (added.value, added.low, added.high) == (pair["difference"], pair["ci_low"], pair["ci_high"])
    adjusted = pair["p_adjusted"]
    assert p == Spelled("< 0.001" if adjusted < 0.001 else f"{adjusted:.3f}", adjusted)


def best_against_baselines(tables, differences):
    """The run with (difference, low, high, adjusted p) of each metric over MeanGrade, MeanGrade@1, P@1."""
    frame = tables["comparisons"]
    for baseline, numbers in zip(BASELINES, differences, strict=True):
        names = ("difference", "ci_low", "ci_high", "p_adjusted")
        chosen = (pl.col("metric_b") == baseline) & ~pl.col("metric_a").is_in(BASELINES)
        frame = frame.with_columns(
            pl.when(chosen).then(pl.lit(x)).otherwise(name).alias(name)
            for name, x in zip(names, numbers, strict=True)
        )
    return run_of({**tables, "comparisons": frame})


def test_a_metric_above_all_baselines_is_said_to_be(tables):
    run = best_against_baselines(
        tables, [(0.1, 0.08, 0.12, 0.0002), (0.05, 0.01, 0.09, 0.04), (0.2, 0.1, 0.3, 0.01)]
    )
    text, order, _ = baselines_section(run).reading
    assert text.endswith("It is significantly better than all of them (adjusted p < 0.05).")
    assert order == (
        "The mean grade ignores the order of results; the correlation of ERR is 0.100 higher (95% CI "
        "0.080 to 0.120, adjusted p < 0.001)."
    )


def test_baselines_that_are_not_beaten_are_named(tables):
    run = best_against_baselines(
        tables, [(0.1, 0.08, 0.12, 0.001), (-0.1, -0.2, -0.05, 0.001), (0.2, 0, 0.4, 0.06)]
    )
    words = "It is not significantly better than the top result's grade or the top result's relevance."
    assert words in baselines_section(run).reading[0]


def test_ss_is_shown_beside_what_clicks_that_ignore_grades_would_give_and_compares_nothing(tables, run):
    section = baselines_section(run)
    rows = [row for row in section.tables[1].rows if row.group == "market m1, top 5, judge editor"]
    assert [row.name for row in rows] == ["observed", "if clicks ignored grades"]
    found = correlations_of(tables, "SS")
    best = max(EDITORIAL, key=lambda name: found[name]["correlation"])
    assert section.reading[2].endswith(
        f"That of {best} is {found[best]['correlation']:.3f}; if clicks ignored the grades it would be "
        f"{found[best]['null_correlation']:.3f}. Do not compare metrics by SS."
    )
