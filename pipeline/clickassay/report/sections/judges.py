"""Several judges: how far they agree, whose order clicks support, whose grades predict clicks better."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.text.words import number, percent, plural, sentence, visible
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.estimates import estimate
from clickassay.findings.ranking import lead_from_row
from clickassay.findings.run import Run
from clickassay.report.model import Section
from clickassay.report.tables import (
    ReportTable,
    Row,
    ShownColumn,
    field,
    p_text,
    p_value,
    share,
    shown_table,
    under,
    value,
    with_interval,
)
from clickassay.report.verdict.sentences import caution_sentence, interval_text, queries_needed_cell

PAIR = ("judge_a", "judge_b")
NEITHER = "inconclusive"
NO_PAIR = "no neighbouring clicked results at the same positions were ordered both ways"
ONE_GRADE = "both judges always give the same single grade"
SS_NOTE = "SS is excluded: it is computed from the grades."


def judges_sections(run: Run) -> tuple[Section, ...]:
    """Return the section on judges, or nothing when no two judges judged the same result."""
    agreement = run.frames["agreement"]
    if agreement.is_empty():
        return ()
    by_measure = agreement.pivot("measure", index=("market", *PAIR), values="value", maintain_order=True)
    of_kappa = agreement.filter(measure="kappa_quadratic").drop("measure", "value")
    pairs = of_kappa.join(by_measure, on=("market", *PAIR), maintain_order="left")
    own, disputed = (run.frames[name] for name in ("judge_comparisons", "judge_disagreements"))
    if run.headline is None:
        own, disputed = own.head(0), disputed.head(0)
    else:
        key = {"market": run.headline.market, "depth": run.headline.depth}
        own, disputed = own.filter(**key, click_metric=run.click), disputed.filter(**key)
    tested = own.filter(pl.col("p_adjusted").is_not_null())
    compared: tuple[str, ...] = (
        "No metric can be compared: too few configurations were graded by both judges.",
    )
    if tested.height:
        by_pair = tested.group_by(*PAIR, maintain_order=True)
        compared = (*(_pair_reading(rows.to_dicts()) for _, rows in by_pair), SS_NOTE)
    widest = pairs.sort("n_results", descending=True, maintain_order=True).row(0, named=True)
    found = estimate(widest, "kappa_quadratic")
    kappa = "no kappa" if found.value is None else f"quadratic kappa {number(found.value)}"
    readings = (
        sentence(
            f"judges {_judges(widest)} both judged {plural(widest['n_results'], 'result')}; "
            f"{percent(widest['equal'])} got the same grade from both; {kappa} ({interval_text(found)})"
        ),
        *(_disagreement_reading(row) for row in disputed.iter_rows(named=True)),
        *compared,
    )
    tables = (
        _agreement_table(agreement, pairs),
        _disagreement_table(run, disputed),
        _comparison_table(run, own),
    )
    confusion = confusion_table(run.frames["confusion"], "Confusion matrix of the grades", run.grade_label)
    return (
        Section(
            "judges", "Whose grades?", readings, tables=tables, folded=(confusion,), fold_words="By grade"
        ),
    )


def _judges(row: Mapping[str, Any]) -> str:
    return f"{visible(row['judge_a'])} and {visible(row['judge_b'])}"


def _of_both(
    rows: pl.DataFrame, text: str, column: Callable[[str, str], ShownColumn], name: str
) -> tuple[ShownColumn, ShownColumn]:
    """Return the columns of two judges: headed by name, or if there are several pairs by place."""
    pairs = rows.select(PAIR).unique()
    names = pairs.row(0) if pairs.height == 1 else ("the first judge", "the second judge")
    first, second = (text.format(visible(one)) for one in names)
    return column(first, f"{name}_a"), column(second, f"{name}_b")


def _where(run: Run) -> str:
    return "" if run.headline is None else f", {replace(run.headline, judge=EVERY).label}"


_NEEDED = ShownColumn(
    "Queries needed", lambda row: queries_needed_cell(lead_from_row(row), "no difference to detect")
)


def _agreement_table(agreement: pl.DataFrame, pairs: pl.DataFrame) -> ReportTable:
    kappas = (
        value("Unweighted", "kappa", ONE_GRADE), value("Linear", "kappa_linear", ONE_GRADE),
        with_interval("Quadratic", "kappa_quadratic", ONE_GRADE),
    )  # fmt: skip
    return shown_table(
        "agreement", "Agreement of judges on the same results", pairs, ShownColumn("Judges", _judges),
        (
            field("Results both judged", "n_results"), share("Same grade", "equal"),
            value("Mean grade, second minus first", "mean_difference"),
            *under("Cohen's kappa, by weights", *kappas),
        ),
        group=lambda row: "" if row["market"] == EVERY else visible(row["market"]), data=agreement,
    )  # fmt: skip


def _comparison_table(run: Run, rows: pl.DataFrame) -> ReportTable:
    def better(row: Mapping[str, Any]) -> str:
        """Return the judge with whose grades a metric predicts clicks significantly better."""
        if row["p_adjusted"] is None:
            return "not tested"
        if row["p_adjusted"] >= ALPHA:
            return NEITHER
        return visible(row["judge_a" if row["difference"] > 0 else "judge_b"])

    place = {name: at for at, name in enumerate(run.editorial)}
    shown = [row for row in rows.iter_rows(named=True) if row["editorial_metric"] in place]
    shown.sort(key=lambda row: (row["judge_a"], row["judge_b"], place[row["editorial_metric"]]))
    return shown_table(
        "judge_comparisons",
        f"Correlation with {run.click} by judge, on configurations that both judged{_where(run)}", shown,
        field("Offline metric", "editorial_metric"),
        (
            *_of_both(
                rows, "Grades of {}", lambda head, name: value(head, name, "no correlation"), "correlation"
            ),
            with_interval("Difference", "difference", "no difference"), p_value("Adjusted p", "p_adjusted"),
            ShownColumn("Better with", better), _NEEDED,
        ),
        group=_judges, data=run.frames["judge_comparisons"], group_head="Judges",
    )  # fmt: skip


def _disagreement_table(run: Run, rows: pl.DataFrame) -> ReportTable:
    def supported(row: Mapping[str, Any]) -> str:
        if row["p_adjusted"] is None:
            return "not tested"
        return NEITHER if row["supported"] is None else visible(row["supported"])

    return shown_table(
        "judge_disagreements",
        f"Clicks on neighbouring results that two judges order oppositely{_where(run)}", rows,
        ShownColumn("Judges", _judges),
        (
            field("Pairs of results", "n_pairs"), field("Clicks on one of both", "n_clicks"),
            *_of_both(rows, "On the upper, where {} puts it first", share, "upper"),
            with_interval("Difference", "difference", NO_PAIR), p_value("Adjusted p", "p_adjusted"),
            ShownColumn("Clicks support", supported), _NEEDED,
        ),
        data=run.frames["judge_disagreements"],
    )  # fmt: skip


def confusion_table(frame: pl.DataFrame, title: str, grade_label: Callable[[int], str]) -> ReportTable:
    """Return the counts of pairs of grades: the first judge's in rows, the second's in columns."""
    grades = sorted({*frame["grade_a"], *frame["grade_b"]})
    rows = []
    for (market, a, b, grade), counts in frame.group_by("market", *PAIR, "grade_a", maintain_order=True):
        times = dict(counts.select("grade_b", "rows").iter_rows())
        place = "" if market == EVERY else f"{visible(market)}: "
        group = f"{place}{visible(a)} in rows, {visible(b)} in columns"
        rows.append(Row(group, grade_label(int(str(grade))), tuple(times.get(one, 0) for one in grades)))
    heads = tuple(map(grade_label, grades))
    return ReportTable("confusion", title, "Grade", heads, tuple(rows), data=frame, group_head="Judges")


def _disagreement_reading(row: Mapping[str, Any]) -> str:
    first, second = visible(row["judge_a"]), visible(row["judge_b"])
    if row["difference"] is None:
        return f"Clicks cannot decide between {first} and {second}: {NO_PAIR}."
    supported, difference = row["supported"], estimate(row, "difference")
    verdict = (
        f"clicks do not significantly support the order of {first} or of {second}"
        if supported is None
        else f"clicks support the order of {visible(supported)}"
    )
    pairs, clicks = plural(row["n_pairs"], "pair"), plural(row["n_clicks"], "session")
    test = f"{interval_text(difference)} of the difference, adjusted p {p_text(row['p_adjusted'])}"
    return (
        f"Where {first} and {second} order two neighbouring results oppositely ({pairs}, {clicks} that "
        f"clicked one of both), the upper one gets {percent(row['upper_a'])} of these clicks if {first} puts "
        f"it first, and {percent(row['upper_b'])} if {second} does: {verdict} ({test})."
        f"{caution_sentence(difference)}"
    )


def _pair_reading(rows: Sequence[Mapping[str, Any]]) -> str:
    first, second = visible(rows[0]["judge_a"]), visible(rows[0]["judge_b"])
    click = rows[0]["click_metric"]
    significant = [row for row in rows if row["p_adjusted"] < ALPHA]
    better = sum(row["difference"] > 0 for row in significant)
    widest = max(rows, key=lambda row: abs(row["difference"]))
    difference = estimate(widest, "difference")
    if significant:
        text = (
            f"{click} is predicted significantly better with the grades of {first} for {better} of "
            f"{plural(len(rows), 'metric')}, and with those of {second} for {len(significant) - better}; for "
            "the rest, the difference is not significant"
        )
    else:
        text = (
            f"No metric predicts {click} significantly better with the grades of {first} than with "
            f"those of {second}, or vice versa ({len(rows)} tested)"
        )
    name, value = widest["editorial_metric"], number(difference.value)
    return (
        f"{text}. The largest difference ({first} minus {second}) is for {name}: {value} "
        f"({interval_text(difference)})."
    )
