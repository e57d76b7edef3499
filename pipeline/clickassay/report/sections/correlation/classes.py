"""Correlation with the headline click metric by class of query: Tables 4 and 5, splits, Figure 4."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import polars as pl

from clickassay.core.records import SampleKey
from clickassay.core.text.words import count, listed, number, plural, sentence, visible
from clickassay.findings.estimates import Estimate, estimate, not_computed
from clickassay.findings.run import OWN_SPLITS, Run, in_order
from clickassay.metrics.catalogue import BASELINES
from clickassay.metrics.editorial import EDITORIAL_METRICS
from clickassay.report.cells import Row
from clickassay.report.charts.marks import common_domain, decile_lines
from clickassay.report.model import (
    Figure,
    ReportTable,
    Section,
    group_heading,
    noise_corrected,
    other_samples,
    other_samples_table,
    title_suffix,
)
from clickassay.report.verdict.words import spoken

FREQUENCY = "frequency"
UNSPACED = (
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Chinese characters
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003134f]"  # Thai, Lao, Burmese, Khmer, more Chinese
)
"""Letters of scripts that put no spaces between words."""

NOISE = (
    "Frequent queries have more sessions per list, so less noise in their clicks: that alone lets the "
    "correlation rise with the decile, even if metrics and users relate in the same way everywhere."
)
SPLITS_SHOWN = 6
"""Attributes of queries that get a table on the page; the CSV files hold all of them."""

CLASS_ORDER = (
    *("1", "2", "3", "4", "4+", "5", "6", "7", "8", "9", "10"),
    *("low", "middle", "high", "no clicks", "true", "false", "unknown"),
)
CLASS_LABELS = {
    "length": {"1": "1 word", "2": "2 words", "3": "3 words", "4+": "4 or more"},
    "navigational": {"true": "navigational", "false": "not navigational"},
    "click_entropy": {"low": "low click entropy", "middle": "middle", "high": "high click entropy"},
    FREQUENCY: {"1": "1 (rarest)", "10": "10 (most frequent)"},
}
PARADOX = (
    "The values within all classes can be lower than the overall one "
    "(the amalgamation paradox, Chapelle et al. 2009, 6.2)."
)


def classes_section(run: Run) -> Section:
    """Tables 4 and 5 and one table per further attribute of the queries."""
    navigational, remark = _navigational(run)
    more = [split for split in _splits(run) if split not in OWN_SPLITS]
    length, kind = f"Table 4. By {_kind('length')}", f"Table 5. By {_kind(navigational)}"
    tables = [
        _table(run, "length", "table4_length", length, run.headline_samples),
        _table(run, navigational, f"table5_{navigational}", kind, run.headline_samples),
    ]
    tables += [_attribute_table(run, split, place) for place, split in enumerate(more, start=1)]
    rest = (
        *other_samples_table(
            replace(_table(run, "length", "table4_samples", length, other_samples(run)), data=None)
        ),
        *other_samples_table(
            replace(_table(run, navigational, "table5_samples", kind, other_samples(run)), data=None)
        ),
    )
    reading = [_reading(run, split) for split in ("length", navigational, *more[:SPLITS_SHOWN])]
    notes = [unspaced_note(_queries(run)), remark, *_skipped(run, more)]
    return Section(
        "classes",
        "Kinds of queries",
        (*[text for text in (*reading, *notes) if text], PARADOX),
        tables=tuple(tables),
        folded=rest,
        fold_words="Other samples",
    )


def _navigational(run: Run) -> tuple[str, str]:
    splits = _splits(run)
    if "navigational" in splits or (run.info.get("has_navigational") and "click_entropy" not in splits):
        return "navigational", ""
    return "click_entropy", (
        "No input says which queries are navigational; instead, queries with a click are split into thirds "
        "by click entropy (low: users mostly click the same result, as for navigational queries). Queries of "
        "equal entropy stay together, so the parts may differ in size; those without a click are a class of "
        "their own."
    )


def _queries(run: Run) -> pl.DataFrame:
    """Return the queries of the headline sample, the rarest first, and their sessions."""
    rows = run.headline_rows("configurations").group_by("query").agg(pl.col("n_sessions").sum())
    return rows.sort("n_sessions", "query")


def unspaced_note(queries: pl.DataFrame) -> str:
    """Say how many queries are in a script without spaces, so that words are not counted; '' if none."""
    number_found = int(queries["query"].str.contains(UNSPACED).sum())
    if not number_found:
        return ""
    every = plural(queries.height, "query", "queries")
    return (
        f"Words are counted by spaces, and {count(number_found)} of {every} have letters of a script that is "
        "written without spaces between words (Chinese, Japanese, Thai, Lao, Khmer or Burmese): without "
        "spaces a query counts as 1 word, however long it is."
    )


def ties_note(sessions: Sequence[int]) -> str:
    """Say which borders of the deciles part queries with the same number of sessions; '' if none does.

    `sessions` are the sessions of all queries of the sample, ascending.
    """
    decile = [10 * rank // len(sessions) + 1 for rank in range(len(sessions))]
    cut = [
        (decile[rank - 1], decile[rank], sessions[rank])
        for rank in range(1, len(sessions))
        if decile[rank - 1] != decile[rank] and sessions[rank - 1] == sessions[rank]
    ]
    if not cut:
        return ""
    borders = listed(f"{low} and {high} ({plural(number, 'session')})" for low, high, number in cut)
    return (
        f"Queries with equally many sessions lie on both sides of the border between deciles {borders}: "
        "there the order of their texts decides, so these deciles do not part rarer from more frequent ones."
    )


def _kind(split: str) -> str:
    known = {
        "click_entropy": "click entropy",
        "navigational": "navigational or not",
        "length": "query length",
    }
    return known.get(split) or visible(split, limit=40)


def _splits(run: Run) -> tuple[str, ...]:
    return tuple(run.frames["correlations"]["split"].unique().sort().to_list())


def _attribute_table(run: Run, split: str, place: int) -> ReportTable:
    # The attribute's name comes from the input: only harmless letters of it may reach a file name
    slug = re.sub(r"[^a-z0-9]+", "_", split.lower()).strip("_")[:30]
    name = f"split{place}_{slug}" if slug else f"split{place}"
    shown = run.headline_samples if place <= SPLITS_SHOWN else ()
    return _table(run, split, name, f"By {_kind(split)}", shown)


def _table(run: Run, split: str, name: str, title: str, samples: Sequence[SampleKey]) -> ReportTable:
    data = run.frames["correlations"].filter(split=split, click_metric=run.click)
    rows = tuple(row for sample in samples for row in _sample_rows(run, sample, split, run.editorial))
    return ReportTable(
        name,
        f"{title}: correlation with {run.click}{title_suffix(run, *samples)}",
        "Queries",
        ("Number", *run.editorial),
        rows,
        data=data,
    )


def _sample_rows(
    run: Run, sample: SampleKey, split: str, metrics: Sequence[str], *, corrected: bool = False
) -> list[Row]:
    by_class = class_estimates(run, sample, split, corrected=corrected)
    numbers = {
        row["class"]: row["n_queries"] for row in _class_frame(run, sample, split).iter_rows(named=True)
    }
    labels = CLASS_LABELS.get(split, {})
    return [
        Row(
            group_heading(run, sample),
            labels.get(label, visible(label)),
            (numbers[label], *(line.get(name, not_computed()) for name in metrics)),
        )
        for label, line in by_class.items()
    ]


def _class_frame(run: Run, sample: SampleKey, split: str) -> pl.DataFrame:
    return run.correlations(sample, split=split).filter(click_metric=run.click)


def class_estimates(
    run: Run, sample: SampleKey, split: str, *, corrected: bool = False
) -> dict[str, dict[str, Estimate]]:
    """Return the estimates of one sample by class, in report order, and editorial metric.

    The noise-corrected ones if `corrected`.
    """
    return _by_class(_class_frame(run, sample, split), noise_corrected if corrected else estimate)


def _by_class(
    rows: pl.DataFrame, cell: Callable[[Mapping[str, Any]], Estimate]
) -> dict[str, dict[str, Estimate]]:
    by_class: dict[str, dict[str, Estimate]] = {
        label: {} for label in in_order(rows["class"].unique().to_list(), CLASS_ORDER)
    }
    for row in rows.iter_rows(named=True):
        by_class[row["class"]][row["editorial_metric"]] = cell(row)
    return by_class


def _reading(run: Run, split: str) -> str:
    rows = run.competing("correlations").filter(split=split, click_metric=run.click)
    by_class = {} if run.headline is None else _by_class(run.headline.rows(rows), estimate)
    best = {label: top for label, line in by_class.items() if (top := _best(run, line)) is not None}
    if not best or run.headline is None:
        return f"By {_kind(split)} there is nothing to show: no class has a correlation with {run.click}."
    labels = CLASS_LABELS.get(split, {})
    names = list(dict.fromkeys(best.values()))
    if len(names) == 1:
        first, last = next(iter(best)), list(best)[-1]
        ends = f"{number(by_class[first][names[0]].value)} ({labels.get(first, visible(first))})"
        if first != last:
            ends += f" to {number(by_class[last][names[0]].value)} ({labels.get(last, visible(last))})"
        where = {1: "the only class with a value", 2: "both classes"}.get(
            len(best), f"all {len(best)} classes"
        )
        return sentence(f"By {_kind(split)}, {spoken(names[0])} leads in {where}: {ends}")
    where_highest = {
        name: listed(labels.get(label, visible(label)) for label in best if best[label] == name)
        for name in names
    }
    parts = [f"{spoken(name)} for {classes}" for name, classes in where_highest.items()]
    if _leader_changes(by_class, best):
        return sentence(f"By {_kind(split)}, the leader changes: {'; '.join(parts)}")
    return sentence(
        f"By {_kind(split)}, the highest value is that of {'; of '.join(parts)}; but intervals overlap, so "
        "that this is no evidence that the leader changes"
    )


def _leader_changes(by_class: Mapping[str, Mapping[str, Estimate]], best: Mapping[str, str]) -> bool:
    """Whether two classes have leaders, each with its interval above the interval of the other's leader."""
    return any(
        _is_above(by_class[one], best[one], best[other])
        and _is_above(by_class[other], best[other], best[one])
        for one, other in combinations(best, 2)
        if best[one] != best[other]
    )


def _is_above(line: Mapping[str, Estimate], name: str, rival: str) -> bool:
    low, high = (line[each] if each in line else not_computed() for each in (name, rival))
    return low.low is not None and high.high is not None and low.low > high.high


def _best(run: Run, line: Mapping[str, Estimate]) -> str | None:
    every = (*run.editorial, *BASELINES)
    known = [name for name in every if name in line and line[name].value is not None]
    return max(known, key=lambda name: line[name].value or 0.0, default=None)


def _skipped(run: Run, more: Sequence[str]) -> list[str]:
    skipped = [visible(name) for name in run.info.get("skipped_attributes") or ()]
    texts = []
    if skipped:
        texts.append(
            sentence(f"Not used as a split, because of too many different values: {listed(skipped[:20])}")
        )
    if len(more) > SPLITS_SHOWN:
        texts.append(f"{len(more) - SPLITS_SHOWN} more attributes are in the CSV files only.")
    return texts


def frequency_section(run: Run) -> Section:
    """Figure 4: correlation with the headline click metric by decile of query frequency."""
    title = "Rare and frequent queries"
    metrics = [name for name in run.editorial if name in EDITORIAL_METRICS]
    data = run.frames["correlations"].filter(split=FREQUENCY, click_metric=run.click)
    table = _frequency_table(run, metrics, "figure4_frequency", f"correlation with {run.click}", data)
    without_noise = _frequency_table(
        run, metrics, "figure4_noise_corrected", f"noise-corrected correlation with {run.click}", None
    )
    lines = _lines(run, metrics)
    if not lines:
        text = f"There is nothing to show: no decile has a correlation with {run.click}."
        return Section("frequency", title, (text,), tables=(table,))
    corrected = _lines(run, metrics, corrected=True)
    drawn = {name: _within_scale(corrected.get(name, {})) for name in lines}
    estimates = [one for line in lines.values() for one in line.values()]
    domain = common_domain(estimates, [value for line in drawn.values() for value in line.values()])
    figures = tuple(
        Figure(
            f"frequency-{place}",
            name,
            _line_text(run, name, line),
            decile_lines(lines, name, domain=domain, corrected=drawn[name]),
            table.name,
        )
        for place, (name, line) in enumerate(lines.items())
    )
    legend = (
        ("line", "the metric named above, with its 95 % interval"),
        ("diamond", "its noise-corrected correlation, where it lies within -1 to 1"),
        ("line-quiet", "the other metrics"),
    )
    reading = _frequency_reading(run, lines, corrected)
    return Section("frequency", title, reading, figures, legend=legend, folded=(table, without_noise))


def _frequency_table(
    run: Run, metrics: Sequence[str], name: str, what: str, data: pl.DataFrame | None
) -> ReportTable:
    rows = tuple(
        row
        for sample in run.headline_samples
        for row in _sample_rows(run, sample, FREQUENCY, metrics, corrected=data is None)
    )
    title = f"Figure 4 in numbers: {what} by frequency decile{title_suffix(run, *run.headline_samples)}"
    return ReportTable(name, title, "Decile", ("Queries", *metrics), rows, data=data)


def _within_scale(line: Mapping[int, Estimate]) -> dict[int, float]:
    """Return the values that a correlation can have: noise-corrected ones may lie beyond."""
    return {at: one.value for at, one in line.items() if one.value is not None and abs(one.value) <= 1}


def _lines(run: Run, metrics: Sequence[str], *, corrected: bool = False) -> dict[str, dict[int, Estimate]]:
    by_class = (
        {} if run.headline is None else class_estimates(run, run.headline, FREQUENCY, corrected=corrected)
    )
    lines = {
        name: {
            int(label): line[name] for label, line in by_class.items() if label.isdecimal() and name in line
        }
        for name in metrics
    }
    return {name: line for name, line in lines.items() if any(one.value is not None for one in line.values())}


def _line_text(run: Run, name: str, line: Mapping[int, Estimate]) -> str:
    parts = [f"{at}: {number(one.value)}" for at, one in line.items()]
    return f"Correlation of {name} with {run.click} by frequency decile, 1 = rarest: {', '.join(parts)}."


def _ends(lines: Mapping[str, Mapping[int, Estimate]]) -> list[str]:
    """Say from where to where the lines of the paper's two metrics go, or the first line."""
    parts = []
    for name in [name for name in ("DCG", "ERR") if name in lines] or list(lines)[:1]:
        known = {at: one.value for at, one in lines[name].items() if one.value is not None}
        first, last = min(known), max(known)
        parts.append(
            f"{name} goes from {number(known[first])} in decile {first} "
            f"to {number(known[last])} in decile {last}"
        )
    return parts


def _frequency_reading(
    run: Run, lines: Mapping[str, Mapping[int, Estimate]], corrected: Mapping[str, Mapping[int, Estimate]]
) -> tuple[str, ...]:
    where = run.headline.label if run.headline else ""
    noise = f"{NOISE} Noise-corrected, {listed(_ends(corrected))}." if corrected else NOISE
    sizes = [] if run.headline is None else _class_frame(run, run.headline, FREQUENCY)["n_queries"].to_list()
    most = plural(max(sizes, default=0), "query", "queries")
    size = f"Deciles are of equal size, {most} at most, by increasing sessions of the query."
    ties = ties_note(_queries(run)["n_sessions"].to_list())
    texts = (sentence(f"At {where}, {listed(_ends(lines))}"), noise, size, ties, *_cautions(lines))
    return tuple(text for text in texts if text)


def _cautions(lines: Mapping[str, Mapping[int, Estimate]]) -> tuple[str, ...]:
    every = {at for line in lines.values() for at in line}
    classes = {at for line in lines.values() for at, one in line.items() if one.caution}
    if not classes:
        return ()
    text = f"Do not rely on the intervals of {len(classes)} of {plural(len(every), 'decile')}"
    return (f"{text}: the notes below the table give the reasons.",)
