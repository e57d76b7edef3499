"""How the numbers were computed: definitions, our choices, settings, inputs, versions, seed."""

from collections.abc import Mapping, Sequence
from typing import Any

from clickassay.core.text.words import sentence, visible
from clickassay.findings.run import Run
from clickassay.inputs.sources.fingerprint import recorded_digest
from clickassay.report.cells import Cell, Row
from clickassay.report.model import ReportTable, Section

LONGEST_VALUE = 400

CLICK_MEANINGS = {
    "UCTR": "1 if anything was clicked",
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
    "MeanGrade@1": "grade of the first result",
    "P@1": "1 if the first result is relevant",
}
CHOICES = (
    "A session has the results of its first search; its clicks are the distinct results clicked in any of "
    "its searches.",
    "A click belongs to its search if it lies within the idle limit before or after it; other clicks are "
    "ignored.",
    "QCTR counts distinct clicked results.",
    "The closed form is the limit of Algorithm 3 for infinitely many iterations.",
    "95 % intervals: leaving out one query at a time gives the standard error (jackknife); the half-width "
    "of the interval is Student's t times this error. When few queries make up most of the variance, the "
    "degrees of freedom are few and the interval is wider. Intervals of correlations are computed on "
    "Fisher's scale (artanh), so that they stay within -1 and 1.",
    "An interval is marked as not to be relied on with fewer than 50 queries, or when sessions per query are "
    "heavy-tailed: they follow a power law, so that queries which decide may be missing from the log.",
    "Noise correction: a click metric of a configuration is noisy because it has few sessions. The variance "
    "between these sessions gives the variance of this noise, which is subtracted from the variance of the "
    "click metric. The interval (Fieller) has no finite end when nothing may be left.",
    "Paired p-values are two-sided and adjusted by Holm's method. A family is all pairs of editorial "
    "metrics, baselines included, of one market, depth, judge and click metric.",
    "The baselines (mean grade, grade and relevance of the first result) and SS with clicks that ignore the "
    "grades are not in the paper.",
)


def provenance_section(run: Run) -> Section:
    """Return definitions, choices, settings, inputs and versions as tables."""
    # the clock is that of the run unless it is given: settings.json has it, and the page stays the same
    shown = {name: value for name, value in (run.info.get("settings") or {}).items() if name != "clock"}
    settings = _named_values("Settings", ("Setting", "Value"), shown)
    versions = _named_values("Versions", ("Software", "Version"), run.info.get("versions") or {})
    tables = (_definitions(run), settings, _inputs(run), versions)
    return Section(
        "provenance",
        "How this was computed",
        _reading(run),
        folded=tables,
        fold_words="Definitions, settings, inputs, versions",
    )


def _reading(run: Run) -> tuple[str, ...]:
    seed = run.settings.seed
    texts = [f"The same inputs and settings give the same bytes. Seed: {visible(seed)}."]
    texts += [sentence(visible(note, limit=LONGEST_VALUE)) for note in run.info.get("notes") or ()]
    return (*texts, "Where this report goes beyond Chapelle et al. (2009), the choices are ours:", *CHOICES)


def command(run: Run) -> str:
    """Return the command line that made the run, or ''."""
    return visible(run.info.get("command") or "", limit=2_000)


def _definitions(run: Run) -> ReportTable:
    values = {
        "good": run.success_label,
        "pool": "all judged results" if run.settings.pool == "judged" else "the shown results",
        "relevant": run.grade_label(run.settings.relevant_grade),
        "top": str(run.settings.max_grade),
        "persistence": visible(run.settings.persistence),
    }
    meanings = {
        "Click metrics, per session": CLICK_MEANINGS,
        "Editorial metrics, per configuration": EDITORIAL_MEANINGS,
        "Baselines, per configuration": BASELINE_MEANINGS,
    }
    rows = tuple(
        Row(group, name, (text.format(**values),))
        for group, texts in meanings.items()
        for name, text in texts.items()
    )
    note = f"In a session without a click, a click metric is 0. {run.click} is the headline click metric."
    return ReportTable(
        "definitions",
        "What the metrics are",
        "Metric",
        ("Definition",),
        rows,
        group_head="Kind",
        notes=(note,),
        for_papers=False,
    )


def _named_values(title: str, heads: tuple[str, str], values: Mapping[str, Any]) -> ReportTable:
    rows = tuple(Row("", visible(name), (_text(value),)) for name, value in sorted(values.items()))
    return ReportTable(title.lower(), title, heads[0], heads[1:], rows, for_papers=False)


def _inputs(run: Run) -> ReportTable:
    inputs: Mapping[str, Any] = run.info.get("inputs") or {}
    rows = tuple(Row("", visible(name), _input_cells(entry)) for name, entry in sorted(inputs.items()))
    return ReportTable(
        "inputs",
        "Inputs",
        "Input",
        ("First three files", "Number of files", "Bytes", "Digest"),
        rows,
        for_papers=False,
    )


def _input_cells(entry: object) -> tuple[Cell, ...]:
    known: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"names": entry}
    numbers = (known.get(name) for name in ("files", "bytes"))
    whole = (value if isinstance(value, int) else None for value in numbers)
    return (_text(known.get("names")), *whole, _text(recorded_digest(known)))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return visible(", ".join(str(item) for item in value), limit=LONGEST_VALUE)
    return visible("not given" if value is None else value, limit=LONGEST_VALUE)
