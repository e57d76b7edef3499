"""The changes between two runs, in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SAMPLE_COLUMNS, SampleKey
from clickassay.core.text.words import capital, count, listed, plural, visible
from clickassay.report.verdict.sentences import spoken
from clickassay.studies.runs_compared import numbers as compared
from clickassay.studies.runs_compared import read
from clickassay.studies.runs_compared.compare import UNEVEN, RunComparison

MOST_NAMED = 3
"""Metrics that a title names one by one."""

_KINDS = (read.INPUT, read.SETTING, read.VERSION, read.OTHER)


_DECISIONS = {
    "log_at_fault": "fix the log",
    "cannot_decide": "the log cannot decide",
    "choose_click_metric": "signals disagree",
    "switch": "switch to {subject}",
    "keep": "keep {subject}",
    "baseline_better": "{subject} is better",
    "use": "{subject} predicts best",
    "baseline_as_good": "no metric beats {subject}",
    "use_any": "several metrics predict best",
    "cannot_say": "inconclusive",
}
"""Kinds of decisions in a few words; docs/reference/summary.md defines each."""


def title_and_lead(diff: RunComparison) -> tuple[str, str]:
    """Return the page's title, without full stop, and lead: a changed decision, or significant changes."""
    (moved, rest), decision = significant_changes(diff), decision_sentence(diff).removesuffix(".")
    title, other = (moved, decision) if decision.startswith(_SAME_DECISION) else (decision, moved)
    return title, f"{other}. {rest}".rstrip()


_SAME_DECISION = "The decision is the same"


def decision_sentence(diff: RunComparison) -> str:
    """Return whether the decision of the second run is the same."""
    nothing: Mapping[str, Any] = {"decision": "cannot_decide", "subject": None}
    rows = (decision or nothing for decision in diff.decisions)
    before, after = (
        _DECISIONS[row["decision"]].format(subject=spoken(visible(row["subject"] or ""))) for row in rows
    )
    if before == after:
        return f"{_SAME_DECISION}: {after}."
    return f"The decision changed: {before} \u2192 {after}."


def significant_changes(diff: RunComparison) -> tuple[str, str]:
    """Return what changed significantly, without a full stop, and a sentence on what did not."""
    known = diff.numbers.filter(pl.col("change").is_not_null())
    changed, rest = [], []
    for subject, families in _SUBJECTS.items():
        rows = known.filter(pl.col("family").is_in(families))
        beyond = rows.filter(status=compared.BEYOND)
        sides = [word for word, part in _sides(beyond) if part.height]
        if sides:
            names = beyond.select(pl.coalesce("editorial_metric", "click_metric")).to_series().unique().sort()
            named = subject
            if len(names) <= MOST_NAMED:
                of = "" if beyond["table"][0] == compared.MEANS else f"{subject} of "
                named = f"{of}{listed(map(visible, names))}"
            changed.append(f"{named} {' and '.join(sides)}")
        elif rows.height:
            rest.append(subject)
    if not changed:
        return "Nothing changed significantly", ""
    left = f"{capital(listed(rest))} did not change significantly." if rest else ""
    return f"Significant changes: {', '.join(changed)}", left


_SUBJECTS = {
    "metrics": [compared.MEANS_OF_METRICS],
    "clicks": [compared.MEANS_OF_CLICKS],
    "correlations": [compared.WITHIN_QUERIES, compared.WEIGHTED, compared.CLOSED_FORMS, compared.BY_CLASS],
}
"""Families of numbers by what they are about."""


def _sides(rows: pl.DataFrame) -> tuple[tuple[str, pl.DataFrame], ...]:
    return ("rose", rows.filter(pl.col("change") > 0)), ("fell", rows.filter(pl.col("change") < 0))


def sentences(diff: RunComparison) -> Iterator[str]:
    """Yield what changed: a sentence for each family of numbers, and one on inputs and settings."""
    numbers = diff.numbers.filter(pl.col("status") != compared.NO_VALUE)
    entries = [entry for entry in diff.entries if entry.status != read.SAME]
    counts = [numbers.filter(status=status).height for status in (read.ONLY_A, read.ONLY_B)]
    alone = "".join(
        f"; {plural(rows, 'number')} only in {run}"
        for run, rows in zip(diff.names, counts, strict=True)
        if rows
    )
    changed = capital(things(entries)) if entries else "No input, setting or version"
    moved = numbers.filter(pl.col("change").is_not_null() & (pl.col("change") != 0))
    if moved.is_empty() and alone:
        yield f"{changed} changed; {_of_same(numbers)}{alone}."
    elif moved.is_empty():
        start = f"Nothing but {things(entries)}" if entries else "Nothing"
        yield f"{start} changed; {_of_same(numbers)}."
    else:
        for family, nouns in _NOUNS.items():
            shared = numbers.filter(pl.col("change").is_not_null(), family=family)
            own = moved.filter(family=family)
            if own.height:
                beyond = own.filter(status=compared.BEYOND)
                sides = [f"{count(part.height)} {word}" for word, part in _sides(beyond) if part.height]
                if sides:
                    words = change_words(clearest(beyond).row(0, named=True))
                    what = f"{' and '.join(sides)} significantly of {count(shared.height)} compared"
                    yield f"{capital(nouns)}: {what}. Clearest: {words}."
                else:
                    yield f"{capital(nouns)}: no significant change ({count(shared.height)} compared)."
            elif shared.height:
                yield f"{capital(nouns)}: no change ({count(shared.height)} compared)."
        yield f"{capital(alone.removeprefix('; '))}. {changed} changed." if alone else f"{changed} changed."


def clearest(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `RunComparison.numbers`, the clearest changes first."""
    return rows.sort(
        pl.col("p_adjusted").fill_null(1),
        pl.col("p_value").fill_null(1),
        pl.col("change").abs(),
        descending=[False, False, True],
        maintain_order=True,
    )


_NOUNS = {
    compared.MEANS_OF_METRICS: "means of offline metrics",
    compared.MEANS_OF_CLICKS: "means of click metrics",
    compared.WITHIN_QUERIES: "correlations within queries",
    compared.WEIGHTED: "weighted correlations",
    compared.CLOSED_FORMS: "correlations of differences",
    compared.BY_CLASS: "correlations by class",
}
"""What the numbers of each of `FAMILIES` are called."""


def cautions_words(numbers: pl.DataFrame) -> Iterator[str]:
    """Yield each caution of the numbers once, with how many have it, the most frequent first."""
    known = numbers.filter(pl.col("caution").is_not_null())
    counts = known["caution"].str.split("; ").explode().value_counts(sort=True)
    for row in counts.sort("count", "caution", descending=[True, False]).iter_rows(named=True):
        yield f"Caution for {plural(row['count'], 'number')}: {row['caution']}."


def uneven_words(sizes: pl.DataFrame, names: tuple[str, str] = ("A", "B")) -> str | None:
    """Return a sentence where the runs so named differ in sessions per configuration; else None.

    This difference alone changes correlations: with fewer sessions, chance clicks lower them.
    """
    wide = sizes.pivot("quantity", index=SAMPLE_COLUMNS, values=["a", "b"])
    if not {"a_n_sessions", "b_n_sessions"} <= {*wide.columns}:
        return None
    per = wide.select(
        *((pl.col(f"{run}_n_sessions") / pl.col(f"{run}_n_configurations")).alias(run) for run in "ab")
    )
    far = per.filter((pl.col("b") / pl.col("a")).log().abs() > np.log(UNEVEN)).sort("b", nulls_last=True)
    if far.is_empty():
        return None
    e_g = listed(f"{size:.3g} in {name}" for size, name in zip(far.row(0), names, strict=True))
    return (
        f"Sessions per configuration differ, e.g. {e_g}. With fewer sessions, chance clicks lower all "
        "correlations: a change can be significant though no metric changed."
    )


def _of_same(numbers: pl.DataFrame) -> str:
    same = numbers.filter(status=read.SAME).height
    if not same:
        return "no number is in both runs"
    every = "all " if same == numbers.height and same > 1 else ""
    return f"{every}{plural(same, 'number')} {'is' if same == 1 else 'are'} the same"


def things(pairs: Sequence[read.RecordedPair]) -> str:
    """List what changed, e.g. ``the inputs clicks and searches``; versions are many, and listed as one."""
    by_kind = {kind: [entry.name for entry in pairs if entry.kind == kind] for kind in _KINDS}
    return listed(
        "versions" if kind == read.VERSION else f"the {kind}{'' if len(names) == 1 else 's'} {listed(names)}"
        for kind, names in by_kind.items()
        if names
    )


def status_words(row: Mapping[str, Any]) -> str:
    """Return the status of a change as readers call it."""
    return {compared.BEYOND: "significant", compared.WITHIN: "not significant"}.get(
        row["status"], str(row["status"])
    )


def change_words(row: Mapping[str, Any]) -> str:
    """Describe a change of a mean or correlation, or one only in A, of `RunComparison.numbers` in words.

    For instance ``mean ERR (depth 5) rose from 0.4 to 0.42, by 0.02 [0.01, 0.03], significant``.
    """
    if row["status"] == read.ONLY_A:
        return f"{place_words(row)} has no value in B ({row['reason']})"
    side = 1 if row["change"] > 0 else -1
    ends = sorted(side * end for end in (row["ci_low"], row["ci_high"]) if end is not None)
    span = f" [{ends[0]:.3g}, {ends[1]:.3g}]" if len(ends) == 2 else ""
    rose = "rose" if side > 0 else "fell"
    p = "" if row["p_adjusted"] is None else f" (adjusted p {row['p_adjusted']:.2g})"
    alone = ", tested from intervals alone" if row["tested_by"] == compared.INTERVALS else ""
    few = f" ({compared.FEW_FOLDS})" if compared.FEW_FOLDS in (row["caution"] or "") else ""
    way = f"{rose} from {row['a']:.3g} to {row['b']:.3g}, by {abs(row['change']):.3g}{span}"
    return f"{place_words(row)} {way}, {status_words(row)}{p}{alone}{few}"


def place_words(row: Mapping[str, Any]) -> str:
    """Describe which number a row is; a market, judge or class that is ``all`` is left out."""
    of_class = [f"{row['split']} {row['class']}"] if row["split"] != EVERY else []
    where = ", ".join([SampleKey.of(row).label, *of_class])
    if row["table"] == compared.MEANS:
        return f"mean {row['editorial_metric'] or row['click_metric']} ({where})"
    what = _KINDS_OF_CORRELATION[row["table"]]
    return f"the {what} of {row['editorial_metric']} with {row['click_metric']} ({where})"


_KINDS_OF_CORRELATION = {
    "within": "correlation within queries",
    "correlations": "correlation",
    "differences": "correlation of differences",
}


def alone_words(numbers: pl.DataFrame, status: str, names: tuple[str, str] = ("A", "B")) -> str | None:
    """Describe what only one run has (`status`), e.g. ``6 numbers only in A: depth 10``; None if nothing."""
    rows = numbers.filter(not_computed(status))
    others = numbers.filter(~not_computed(status))
    if rows.is_empty():
        return None
    parts = []
    for name in compared.PLACE[1:]:  # every column that a table has
        values = [value for value in rows[name].drop_nulls().unique().sort() if value not in others[name]]
        if values and (others.height or rows[name].n_unique() == 1):
            called = name.replace("editorial", "offline").replace("_", " ")
            parts.append(f"{called} {listed(str(value) for value in values)}")
    parts = [part for part in parts if not part.endswith(f" {EVERY}")]
    what = f": {'; '.join(parts)}" if parts else ""
    return f"{plural(rows.height, 'number')} only in {names[status == read.ONLY_B]}{what}"


def not_computed(status: str) -> pl.Expr:
    """Return the condition for rows of `RunComparison.numbers` that the other run does not have at all."""
    return (pl.col("status") == status) & pl.col("reason").eq_missing(compared.NO_ROW)
