"""The report on judges: tables, pictures and sentences, as data."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.text.words import MINUS, plural, visible
from clickassay.correlation.agreement import MEASURES
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.estimates import estimate
from clickassay.report.charts.marks import IntervalHeads, interval_figure
from clickassay.report.charts.vega import apart
from clickassay.report.model import Figure, Section, StudyReport
from clickassay.report.sections.judges import confusion_table
from clickassay.report.tables import (
    Fields,
    ReportTable,
    Row,
    Share,
    ShownColumn,
    ends,
    field,
    p_value,
    share,
    shown_table,
    under,
    value,
)
from clickassay.studies.judges.compare import JudgesCompared
from clickassay.studies.judges.verdict import (
    answer,
    details,
    other_scales,
    overlap_sentence,
    rankings_sentence,
    repeated_sentences,
)

MEASURE_HEADS = {
    "equal": "same grade",
    "kappa": "kappa",
    "kappa_linear": "kappa, linear",
    "kappa_quadratic": "kappa, quadratic",
    "ac1": "AC1",
    "alpha_nominal": "alpha, nominal",
    "alpha_ordinal": "alpha, ordinal",
    "alpha_interval": "alpha, interval",
    "mean_difference": "mean grade, second less first",
}
"""What measures are called."""

assert MEASURE_HEADS.keys() == MEASURES.keys()  # noqa: S101 - a measure without a name

GROUPED_BY = {"mean_grade": "mean grade of both", "quarter": "quarter of the file"}
ONE_GRADE = "both always give the same grade"
EQUAL_RUNS = "all rankings are equal"
ONE_QUERY = "intervals and tests need two queries"
CHANCE = (
    "When most results are bad, the share with the same grade is high by chance. Kappa and alpha correct for "
    "chance; AC1 does so even where nearly all results have one grade. Linear and quadratic kappa weight a "
    "miss by its distance."
)
RANKINGS_NOTES = (
    "Intervals are simultaneous over all pairs: a pair that does not differ significantly under both judges "
    "may be in either order.",
    "Same, opposite, first only, second only: pairs that differ significantly under both judges or one. "
    "Changed: the difference itself differs significantly between the judges.",
)
_JUDGES: Mapping[str, Any] = {"explained": False, "group_head": "Judges"}


def judges_tables(found: JudgesCompared) -> dict[str, ReportTable]:
    """Return the tables that a terminal shows by their names; those of clicks with a run alone."""
    a, b = "first judge", "second judge"
    if len(found.judges) == 2:
        a, b = map(visible, sorted(found.judges))  # a run has them in this order

    def group(row: Fields, text: str = "") -> str:
        """Return a text, with the judges before it where there are more than two."""
        if len(found.judges) == 2:
            return text
        pair = f"{visible(row['judge_a'])}, {visible(row['judge_b'])}"
        pair = "all judges" if row["judge_a"] == EVERY else pair
        return f"{pair}: {text}" if text else pair

    def no_kappa(row: Fields) -> str:
        return "undefined for equal mean grades" if row["by"] == "mean_grade" else ONE_GRADE

    counts = (field("Results", "n_results"), field("Queries", "n_queries"))
    point, low, high = ends("Value", "value", ONE_GRADE)
    tables = [
        shown_table(
            "agreement", "Agreement", found.agreement,
            ShownColumn("Measure", lambda row: MEASURE_HEADS[row["measure"]]),
            (point, *under("95% CI", low, high), *counts), group=group, **_JUDGES,
        ),
        _grades_table(found),
        shown_table(
            "bias", "Where the judges differ", found.bias,
            ShownColumn("Group", lambda row: _part(row, found.bias)),
            (
                *under("Mean grade", *ends("Second less first", "mean_difference", "no result")),
                *under("Mean grade", p_value("p", "p_adjusted")),
                *under("Agreement", *ends("Quadratic kappa", "kappa_quadratic", no_kappa,
                                          "kappa_quadratic_low", "kappa_quadratic_high")),
                *counts,
            ),
            group=lambda row: group(row, f"by {_grouped_by(row['by'])}"), explained=False,
            notes=("p: of the same difference in the other groups (Holm); not for groups by mean grade.",),
            group_head="Results",
        ),
        shown_table(
            "rankings", "Order of rankings under each judge", found.rankings, field("Measure", "measure"),
            (
                *under("tau", *ends("Value", "tau", EQUAL_RUNS, "tau_low", "tau_high")),
                *under("tau_AP", *ends("Value", "tau_ap", EQUAL_RUNS, "tau_ap_low", "tau_ap_high")),
                *under("Pairs of rankings", field("all", "pairs"), field("same", "same"),
                       field("opposite", "opposite"), field("first only", "only_a"),
                       field("second only", "only_b"), field("changed", "changed")),
                field("Queries", "n_queries"),
            ),
            group=group, notes=RANKINGS_NOTES, **_JUDGES,
        ),
        shown_table(
            "ranking_pairs", "Pairs of rankings under each judge", found.ranking_pairs,
            ShownColumn("Rankings", lambda row: f"{visible(row['run'])} {MINUS} {visible(row['baseline'])}"),
            (
                *under("By the first judge", value("Difference", "difference_a"), p_value("p", "p_holm_a")),
                *under("By the second", value("Difference", "difference_b"), p_value("p", "p_holm_b")),
                *under("Change", *ends("Value", "change", ONE_QUERY), p_value("p", "p_holm")),
            ),
            group=lambda row: group(row, row["measure"]), explained=False, group_head="Measure",
            notes=("p: adjusted for the number of pairs (Holm).",),
        ),
    ]  # fmt: skip
    if found.clicks:
        tables += [
            shown_table(
                "judge_disagreements", "Whose order do clicks support?", found.clicks["judge_disagreements"],
                ShownColumn("Sample", _sample),
                (
                    field("Clicks", "n_clicks"),
                    *under("Upper result clicked, if first for", share(a, "upper_a"), share(b, "upper_b")),
                    *ends("Difference", "difference", "no click"), p_value("p", "p_adjusted"),
                    ShownColumn("Supported", lambda row: visible(row["supported"] or "inconclusive")),
                ),
                group=group, **_JUDGES,
            ),
            shown_table(
                "judge_comparisons", "With whose grades do metrics predict clicks better?",
                found.clicks["judge_comparisons"],
                ShownColumn("Metric", lambda row: f"{row['editorial_metric']} with {row['click_metric']}"),
                (
                    *under("Correlation with grades of", value(a, "correlation_a", "no correlation"),
                           value(b, "correlation_b", "no correlation")),
                    *ends("Difference", "difference", "no difference"), p_value("p", "p_adjusted"),
                ),
                group=lambda row: group(row, _sample(row)), explained=False, group_head="Sample",
            ),
        ]  # fmt: skip
    return {one.name: one for one in tables}


def _grouped_by(by: str) -> str:
    return GROUPED_BY.get(by, visible(by))


def _part(row: Fields, rows: pl.DataFrame) -> str:
    if row["by"] != "mean_grade":
        return visible(row["part"])
    highest = max(map(int, rows.filter(by="mean_grade")["part"]))
    return f"{row['part']} or more" if int(row["part"]) == highest else f"{row['part']} or {row['part']}.5"


def _sample(row: Fields) -> str:
    market = "" if row["market"] == EVERY else f"{visible(row['market'])}, "
    return f"{market}top {row['depth']}"


def _grades_table(found: JudgesCompared) -> ReportTable:
    shares = {(row["judge"], row["grade"]): row["share"] for row in found.grades.iter_rows(named=True)}
    rows = tuple(
        Row("", str(grade), tuple(Share(shares.get((name, grade), 0.0)) for name in found.judges))
        for grade in sorted({grade for _, grade in shares})
    )
    title, heads = "How often each grade is given", tuple(map(visible, found.judges))
    return ReportTable("grades", title, "Grade", heads, rows, data=found.grades, **_JUDGES)


def agreement_figures(found: JudgesCompared) -> tuple[Figure, ...]:
    """Draw the measures of the first two judges with their intervals."""
    first = found.agreement.row(0, named=True)
    names = first["judge_a"], first["judge_b"]
    own = found.agreement.filter(judge_a=names[0], judge_b=names[1]).filter(
        pl.col("measure") != "mean_difference"
    )
    estimates = {
        MEASURE_HEADS[row["measure"]]: estimate(row, "value", reason=ONE_GRADE)
        for row in own.iter_rows(named=True)
    }
    title = f"Agreement of {visible(names[0])} and {visible(names[1])}"
    return interval_figure(
        "agreement", title, estimates, IntervalHeads("Agreement", name="Measure"), "agreement"
    )


def bias_figures(found: JudgesCompared) -> tuple[Figure, ...]:
    """Draw the mean difference of the first two judges by group, a picture for each kind of group."""
    if found.bias.is_empty():
        return ()
    first = found.agreement.row(0, named=True)
    own = found.bias.filter(judge_a=first["judge_a"], judge_b=first["judge_b"])
    figures: list[Figure] = []
    for place, ((by,), part) in enumerate(own.group_by("by", maintain_order=True)):
        rows = list(part.iter_rows(named=True))
        labels = apart({row["part"]: _part(row, found.bias) for row in rows})
        estimates = {labels[row["part"]]: estimate(row, "mean_difference") for row in rows}
        axis = f"{visible(first['judge_b'])} less {visible(first['judge_a'])}, mean grade"
        title = f"By {_grouped_by(str(by))}"
        figures += interval_figure(
            f"bias-{place}", title, estimates, IntervalHeads(axis, name="Group"), "bias"
        )
    return tuple(figures)


def build_judges_report(found: JudgesCompared, at_least: float | None, *, command: str) -> StudyReport:
    """Turn the numbers into sentences, tables and pictures, without writing anything."""
    tables = judges_tables(found)
    confusion = confusion_table(found.confusion, "Which grade is given for which", str)
    confusion = replace(confusion, explained=False)
    reading = (CHANCE, overlap_sentence(found), *repeated_sentences(found), *other_scales(found))
    sections = [
        Section(
            "agreement", "Agreement", reading, agreement_figures(found),
            tables=(tables["agreement"], tables["grades"]), folded=(confusion,), fold_words=confusion.title,
        )
    ]  # fmt: skip
    if found.bias.height:
        own = tuple(bias_reading(found))
        sections.append(
            Section("bias", "Where they differ", own, bias_figures(found), tables=(tables["bias"],))
        )
    if found.rankings.height:
        sections.append(
            Section(
                "rankings", "Do they put rankings in the same order?", (rankings_sentence(found),),
                tables=(tables["rankings"],), folded=(tables["ranking_pairs"],),
                fold_words="Every pair of rankings",
            )
        )  # fmt: skip
    if found.clicks:
        clicks = (
            "Where two judges disagree about the order of two neighbouring results, clicks on only one of "
            "the two show whose order users follow. Clicks are evidence of relevance, not its truth."
        )
        supported, predicted = tables["judge_disagreements"], tables["judge_comparisons"]
        sections.append(
            Section(
                "clicks", "What clicks say", (clicks,), tables=(supported,), folded=(predicted,),
                fold_words=predicted.title,
            )
        )  # fmt: skip
    return StudyReport(
        "Judges compared", answer(found, at_least), details(found, at_least), (),
        tuple(sections), visible(command, limit=10_000),
    )  # fmt: skip


def bias_reading(found: JudgesCompared) -> Iterator[str]:
    """Yield the groups whose difference is significantly unlike the rest, and what a group means."""
    tested = found.bias.filter(pl.col("p_adjusted").is_not_null())
    unlike = tested.filter(pl.col("p_adjusted") < ALPHA).height
    differ = "differs" if unlike == 1 else "differ"
    yield (
        f"Of {plural(tested.height, 'group')} of results, {unlike} {differ} significantly from the rest "
        "in how much higher the second judge's grades are."
    )
    yield (
        "Results are grouped by the mean grade of both judges: grouped by the grade of one, even two equally "
        "good judges would seem to differ. A quarter of the second judge's file can differ because its "
        "queries do."
    )
