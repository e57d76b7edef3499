"""How the numbers were computed, and what other tools would report of the same lists."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from clickassay.core.text.words import listed, number, sentence, visible
from clickassay.findings.estimates import Estimate
from clickassay.findings.run import Run
from clickassay.inputs.sources.fingerprint import recorded_digest
from clickassay.report import tables
from clickassay.report.model import Section, headline_suffix

LONGEST_VALUE = 400

CLICK_MEANINGS = {
    "UCTR": "1 if a result was clicked",
    "MaxRR": "1 / position of the first click",
    "MeanRR": "mean of 1 / position over the clicks",
    "MinRR": "1 / position of the last click",
    "PLC": "clicks / position of the last click",
    "SS": "1 if a clicked result has a grade of {good} or better",
    "QCTR": "number of clicked results",
}
EDITORIAL_MEANINGS = {
    "DCG": "sum of (2^grade - 1) / log2(position + 1)",
    "NDCG": "DCG / DCG of the ideal order of {pool}",
    "AP": "mean, over the relevant ones among {pool}, of the precision at their positions; "
    "relevant: {relevant} or better; AP(rel=n): grade n or better",
    "RR": "1 / position of the first relevant result; RR(rel=n): of the first with grade n or better",
    "ERR": "expected 1 / position at which a user stops; each result satisfies the user with probability "
    "(2^grade - 1) / 2^{top}",
    "RBP": "(1 - p) times the sum of (2^grade - 1) / 2^{top} times p^(position - 1), p = {persistence}",
}
BASELINE_MEANINGS = {
    "MeanGrade": "mean grade of the results, in any order",
    "MeanGrade@1": "top result's grade",
    "P@1": "1 if the first result is relevant",
}
CHOICES = (
    "A session has the results of its first search; its clicks are the distinct results clicked in any of "
    "its searches.",
    "A click belongs to its search if it lies within the idle limit before or after it; other clicks are "
    "ignored.",
    "QCTR counts distinct clicked results.",
    "The closed form is the limit of Algorithm 3 for infinitely many iterations.",
    "95% CIs: excluding one query at a time gives the standard error (jackknife); the half-width "
    "of the interval is Student's t times this error. When few queries make up most of the variance, the "
    "degrees of freedom are few and the interval is wider. Intervals of correlations are computed on "
    "Fisher's scale (artanh), so that they stay within -1 and 1.",
    "An interval is marked as unreliable with fewer than 50 queries, or when a few queries dominate: "
    "sessions per query follow a power law, and similar frequent queries may be missing from the log.",
    "Noise correction: a click metric of a configuration is noisy because it has few sessions. The "
    "variance between these sessions estimates the noise variance, which is subtracted from the variance "
    "of the click metric. The interval (Fieller) has no finite end if no variance may remain.",
    "Paired p-values are two-sided and adjusted by Holm's method. A family contains all pairs of offline "
    "metrics and baselines for one market, depth, judge and click metric.",
    "The baselines (mean grade, grade and top result's relevance) and SS with clicks that ignore the "
    "grades are not in the paper.",
)


def command(run: Run) -> str:
    """Return the command line that made the run, or ''."""
    return visible(run.info.get("command") or "", limit=2_000)


def provenance_section(run: Run) -> Section:
    """Return definitions, choices, settings, inputs and versions as tables."""
    # the clock is that of the run unless it is given: settings.json has it, and the page stays the same
    settings = {name: one for name, one in (run.info.get("settings") or {}).items() if name != "clock"}
    rows = []
    for name, entry in sorted((run.info.get("inputs") or {}).items()):
        known: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"names": entry}
        sizes = (known.get(size) for size in ("files", "bytes"))
        whole = (size if isinstance(size, int) else None for size in sizes)
        cells = (_text(known.get("names")), *whole, _text(recorded_digest(known)))
        rows.append(tables.Row("", visible(name), cells))
    heads = ("First three files", "Number of files", "Bytes", "Digest")
    shown = (
        _definitions(run), _named_values("Settings", ("Setting", "Value"), settings),
        tables.ReportTable("inputs", "Inputs", "Input", heads, tuple(rows), for_papers=False),
        _named_values("Versions", ("Software", "Version"), run.info.get("versions") or {}),
    )  # fmt: skip
    seed = run.settings.seed
    texts = [f"The same inputs and settings give the same bytes. Seed: {visible(seed)}."]
    texts += [sentence(visible(note, limit=LONGEST_VALUE)) for note in run.info.get("notes") or ()]
    texts += ["Where this report goes beyond Chapelle et al. (2009), the choices are ours:", *CHOICES]
    return Section(
        "provenance", "How this was computed", tuple(texts), folded=shown,
        fold_words="Definitions, settings, inputs, versions",
    )  # fmt: skip


def _definitions(run: Run) -> tables.ReportTable:
    values = {
        "good": run.grade_label(run.settings.success_grade),
        "pool": "all judged results" if run.settings.pool == "judged" else "the shown results",
        "relevant": run.grade_label(run.settings.relevant_grade),
        "top": str(run.settings.max_grade),
        "persistence": visible(run.settings.persistence),
    }
    meanings = {
        "Click metrics, per session": CLICK_MEANINGS,
        "Offline metrics, per configuration": EDITORIAL_MEANINGS,
        "Baselines, per configuration": BASELINE_MEANINGS,
    }
    rows = tuple(
        tables.Row(group, name, (text.format(**values),))
        for group, texts in meanings.items()
        for name, text in texts.items()
    )
    note = f"In a session without a click, a click metric is 0. {run.click} is the headline click metric."
    return tables.ReportTable(
        "definitions", "What the metrics are", "Metric", ("Definition",), rows, group_head="Kind",
        notes=(note,), for_papers=False,
    )  # fmt: skip


def _named_values(title: str, heads: tuple[str, str], values: Mapping[str, Any]) -> tables.ReportTable:
    rows = tuple(tables.Row("", visible(name), (_text(one),)) for name, one in sorted(values.items()))
    return tables.ReportTable(title.lower(), title, heads[0], heads[1:], rows, for_papers=False)


def _text(entry: object) -> str:
    if isinstance(entry, bool):
        return "yes" if entry else "no"
    if isinstance(entry, Sequence) and not isinstance(entry, str):
        return visible(", ".join(map(str, entry)), limit=LONGEST_VALUE)
    return visible("not given" if entry is None else entry, limit=LONGEST_VALUE)


OWN_NOTE = (
    "The first row of a metric is the run's own convention. Conventions that give the same values on this "
    "run share a row. The intervals of differences are not adjusted for the number of differences."
)


def conventions_section(run: Run) -> Section:
    """Return what other tools would report of the headline sample."""
    name, title = "conventions", "The same metric in other tools"
    rows = run.headline_rows(name).filter(click_metric=run.click)
    if rows.is_empty():
        return Section(name, title, ("No number here would differ in another tool.",))
    first = pl.col("place").min().over("quantity")
    rows = rows.sort("place").with_columns(first=first).sort("first", ~pl.col("own"), "place")
    different = rows.filter(pl.col("same_as").is_null())

    def gap(row: Mapping[str, Any]) -> tables.Cell:
        return None if row["own"] else Estimate(row["gap"], row["gap_low"], row["gap_high"], row["reason"])

    def tools(row: Mapping[str, Any]) -> str:
        same_values = rows.filter(pl.col("same_as") == row["convention"])["tools"].to_list()
        return "; ".join((row["tools"], *same_values))

    table = tables.shown_table(
        name, f"Mean and correlation with {run.click} by convention{headline_suffix(run)}", different,
        tables.field("Convention", "convention"),
        (
            tables.value("Mean", "mean"), tables.with_interval("Correlation", "correlation"),
            tables.ShownColumn("Difference from the run's own", gap),
            tables.ShownColumn("Reported by", tools),
        ),
        group=lambda row: row["quantity"], notes=(OWN_NOTE,), data=run.frames[name], group_head="Metric",
    )  # fmt: skip
    ranges = []
    for (metric,), own in rows.group_by("quantity", maintain_order=True):
        means = own["mean"].drop_nulls().sort()
        if len(means):
            ranges.append(f"{metric} {number(means[0])} to {number(means[-1])}")
    significant = different.filter((pl.col("gap_low") > 0) | (pl.col("gap_high") < 0))
    changed = listed(significant["convention"]) if significant.height else "none"
    reading = (
        "Tools use the same name for different numbers. Range of the mean over the same rankings, by "
        f"convention: {'; '.join(ranges)}.",
        f"Conventions whose correlation with {run.click} differs from the run's own (the 95% CI "
        f"of the difference excludes 0): {changed}. The command audit shows which conclusions that changes.",
    )
    return Section(name, title, reading, tables=(table,))
