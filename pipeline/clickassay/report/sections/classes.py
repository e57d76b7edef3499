"""Correlation with the headline click metric by class of query: Tables 4 and 5, splits, Figure 4."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import polars as pl

from clickassay.core.records import SampleKey
from clickassay.core.text.words import count, listed, number, plural, sentence, visible
from clickassay.findings.estimates import Estimate, estimate, not_computed
from clickassay.findings.run import OWN_SPLITS, Run, in_order
from clickassay.metrics.catalogue import BASELINES
from clickassay.metrics.editorial import EDITORIAL_METRICS
from clickassay.report import model
from clickassay.report.charts.marks import common_domain, decile_lines
from clickassay.report.tables import ReportTable, Row
from clickassay.report.verdict.sentences import spoken

FREQUENCY = "frequency"
UNSPACED = (
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Chinese characters
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003134f]"  # Thai, Lao, Burmese, Khmer, more Chinese
)
"""Letters of scripts that put no spaces between words."""

NOISE = (
    "Frequent queries have more sessions per ranking, so their clicks are less noisy. This alone raises "
    "the correlation with the decile, even if metrics agree with users equally well everywhere."
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
KINDS = {"click_entropy": "click entropy", "navigational": "navigational or not", "length": "query length"}
BY_ENTROPY = (
    "The input does not say which queries are navigational. Instead, queries with a click are split into "
    "thirds by click entropy (low: users mostly click the same result, as for navigational queries). "
    "Queries of equal entropy stay together, so the thirds may differ in size. Queries without a click "
    "form their own class."
)
PARADOX = (
    "The value of every class can be lower than the overall value (amalgamation paradox, Chapelle et al. "
    "2009, 6.2)."
)


ByClass = Mapping[str, Mapping[str, Estimate]]
"""Estimates by class, in the order of reports, and offline metric."""


def classes_section(run: Run) -> model.Section:
    """Tables 4 and 5 and one table per further attribute of the queries."""
    splits = run.frames["correlations"]["split"].unique().sort().to_list()
    navigational, remark = "click_entropy", BY_ENTROPY
    if "navigational" in splits or (run.info.get("has_navigational") and "click_entropy" not in splits):
        navigational, remark = "navigational", ""
    more = [split for split in splits if split not in OWN_SPLITS]
    tables: list[ReportTable] = []
    others: list[ReportTable] = []
    for place, split in ((4, "length"), (5, navigational)):
        title = f"Table {place}. By {_kind(split)}"
        tables.append(_table(run, split, f"table{place}_{split}", title, run.headline_samples))
        rest = _table(run, split, f"table{place}_samples", title, model.other_samples(run))
        others += model.other_samples_table(replace(rest, data=None))
    for place, split in enumerate(more, start=1):
        # The attribute's name comes from the input: only harmless letters of it may reach a file name
        slug = re.sub(r"[^a-z0-9]+", "_", split.lower()).strip("_")[:30]
        name = f"split{place}_{slug}" if slug else f"split{place}"
        shown = run.headline_samples if place <= SPLITS_SHOWN else ()
        tables.append(_table(run, split, name, f"By {_kind(split)}", shown))
    reading = [_reading(run, split) for split in ("length", navigational, *more[:SPLITS_SHOWN])]
    reading += [unspaced_note(_queries(run)), remark]
    skipped = [visible(name) for name in run.info.get("skipped_attributes") or ()]
    if skipped:
        why = f"Not used as a split, because of too many different values: {listed(skipped[:20])}"
        reading.append(sentence(why))
    if len(more) > SPLITS_SHOWN:
        reading.append(f"{len(more) - SPLITS_SHOWN} more attributes are in the CSV files only.")
    return model.Section(
        "classes", "Kinds of queries", (*filter(None, reading), PARADOX), tables=tuple(tables),
        folded=tuple(others), fold_words="Other samples",
    )  # fmt: skip


def _queries(run: Run) -> pl.DataFrame:
    rows = run.headline_rows("configurations").group_by("query").agg(pl.col("n_sessions").sum())
    return rows.sort("n_sessions", "query")


def unspaced_note(queries: pl.DataFrame) -> str:
    """Say how many queries are in a script without spaces, so that words are not counted; '' if none."""
    number_found = int(queries["query"].str.contains(UNSPACED).sum())
    if not number_found:
        return ""
    every = plural(queries.height, "query", "queries")
    return (
        f"Words are counted by spaces, and {count(number_found)} of {every} have letters of a script "
        f"without spaces between words (Chinese, Japanese, Thai, Lao, Khmer or Burmese). A query without "
        f"spaces counts as 1 word."
    )


def ties_note(sessions: Sequence[int]) -> str:
    """Say which borders of deciles part queries of equal (ascending) `sessions`; '' if none does."""
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
        f"Deciles {borders} share queries of equal frequency, split alphabetically; do not compare these "
        "neighbours."
    )


def _kind(split: str) -> str:
    return KINDS.get(split) or visible(split, limit=40)


def _label(split: str, name: str) -> str:
    return CLASS_LABELS.get(split, {}).get(name, visible(name))


def _table(run: Run, split: str, name: str, title: str, samples: Sequence[SampleKey]) -> ReportTable:
    data = run.frames["correlations"].filter(split=split, click_metric=run.click)
    rows = tuple(row for sample in samples for row in _sample_rows(run, sample, split, run.editorial))
    title = f"{title}: correlation with {run.click}{model.title_suffix(run, *samples)}"
    return ReportTable(name, title, "Queries", ("Number", *run.editorial), rows, data=data)


def _sample_rows(
    run: Run, sample: SampleKey, split: str, metrics: Sequence[str], *, corrected: bool = False
) -> list[Row]:
    by_class = class_estimates(run, sample, split, corrected=corrected)
    numbers = dict(_class_frame(run, sample, split).select("class", "n_queries").iter_rows())
    return [
        Row(
            model.group_heading(run, sample), _label(split, name),
            (numbers[name], *(line.get(metric, not_computed()) for metric in metrics)),
        )
        for name, line in by_class.items()
    ]  # fmt: skip


def _class_frame(run: Run, sample: SampleKey, split: str) -> pl.DataFrame:
    return run.correlations(sample, split=split).filter(click_metric=run.click)


def class_estimates(run: Run, sample: SampleKey, split: str, *, corrected: bool = False) -> ByClass:
    """Return the estimates of one sample by class and metric; the noise-corrected ones if `corrected`."""
    return _by_class(_class_frame(run, sample, split), corrected=corrected)


def _by_class(rows: pl.DataFrame, *, corrected: bool = False) -> ByClass:
    cell = model.noise_corrected if corrected else estimate
    names = in_order(rows["class"].unique().to_list(), CLASS_ORDER)
    by_class: dict[str, dict[str, Estimate]] = {name: {} for name in names}
    for row in rows.iter_rows(named=True):
        by_class[row["class"]][row["editorial_metric"]] = cell(row)
    return by_class


def _reading(run: Run, split: str) -> str:
    rows = run.competing("correlations").filter(split=split, click_metric=run.click)
    by_class = {} if run.headline is None else _by_class(run.headline.rows(rows))
    best: dict[str, str] = {}
    for name, line in by_class.items():
        known = [one for one in (*run.editorial, *BASELINES) if one in line and line[one].value is not None]
        if known:
            best[name] = max(known, key=lambda one: line[one].value or 0.0)
    by = f"By {_kind(split)}"
    if not best:
        return f"{by} nothing can be shown: no class has a correlation with {run.click}."
    leaders = list(dict.fromkeys(best.values()))
    if len(leaders) == 1:
        first, last = next(iter(best)), list(best)[-1]
        ends = f"{number(by_class[first][leaders[0]].value)} ({_label(split, first)})"
        if first != last:
            ends += f" to {number(by_class[last][leaders[0]].value)} ({_label(split, last)})"
        few = {1: "the only class with a value", 2: "both classes"}
        where = few.get(len(best), f"all {len(best)} classes")
        return sentence(f"{by}, {spoken(leaders[0])} leads in {where}: {ends}")
    where_highest = {
        leader: listed(_label(split, name) for name in best if best[name] == leader) for leader in leaders
    }
    parts = [f"{spoken(name)} for {classes}" for name, classes in where_highest.items()]
    if _leader_changes(by_class, best):
        return sentence(f"{by}, the leader changes: {'; '.join(parts)}")
    return sentence(
        f"{by}, the highest value is that of {'; of '.join(parts)}; intervals overlap, so this is not "
        f"evidence that the leader changes"
    )


def _leader_changes(by_class: ByClass, best: Mapping[str, str]) -> bool:
    """Whether two classes have leaders, each with its interval above the interval of the other's leader."""

    def is_above(line: Mapping[str, Estimate], name: str, rival: str) -> bool:
        low, high = (line.get(each, not_computed()) for each in (name, rival))
        return low.low is not None and high.high is not None and low.low > high.high

    return any(
        is_above(by_class[one], best[one], best[other]) and is_above(by_class[other], best[other], best[one])
        for one, other in combinations(best, 2)
        if best[one] != best[other]
    )


# ---- Figure 4 -----------------------------------------------------------------------------------


Lines = Mapping[str, Mapping[int, Estimate]]
"""Estimates by metric and decile."""


def frequency_section(run: Run) -> model.Section:
    """Figure 4: correlation with the headline click metric by decile of query frequency."""
    name, title = "frequency", "Rare and frequent queries"
    metrics = [one for one in run.editorial if one in EDITORIAL_METRICS]
    data = run.frames["correlations"].filter(split=FREQUENCY, click_metric=run.click)
    what = f"correlation with {run.click}"
    table = _frequency_table(run, metrics, "figure4_frequency", what, data)
    without_noise = _frequency_table(run, metrics, "figure4_noise_corrected", f"noise-corrected {what}", None)
    lines = _lines(run, metrics)
    if not lines:
        text = f"Nothing can be shown: no decile has a correlation with {run.click}."
        return model.Section(name, title, (text,), tables=(table,))
    corrected = _lines(run, metrics, corrected=True)
    drawn = {  # noise-corrected values may lie beyond what a correlation can be
        metric: {
            at: one.value
            for at, one in corrected.get(metric, {}).items()
            if one.value is not None and abs(one.value) <= 1
        }
        for metric in lines
    }
    estimates = [one for line in lines.values() for one in line.values()]
    domain = common_domain(estimates, [value for line in drawn.values() for value in line.values()])
    figures = []
    for place, (metric, line) in enumerate(lines.items()):
        values = ", ".join(f"{at}: {number(one.value)}" for at, one in line.items())
        alt = f"Correlation of {metric} with {run.click} by frequency decile, 1 = rarest: {values}."
        drawing = decile_lines(lines, metric, domain=domain, corrected=drawn[metric])
        figures.append(model.Figure(f"frequency-{place}", metric, alt, drawing, table.name))
    legend = (
        ("line", "the metric named above, with 95% CI"),
        ("diamond", "noise-corrected correlation, if between -1 and 1"),
        ("line-quiet", "the other metrics"),
    )
    where = run.headline.label if run.headline else ""
    sizes = [] if run.headline is None else _class_frame(run, run.headline, FREQUENCY)["n_queries"].to_list()
    most = plural(max(sizes, default=0), "query", "queries")
    texts = [
        sentence(f"At {where}, {_ends(lines)}"),
        f"{NOISE} Noise-corrected, {_ends(corrected)}." if corrected else NOISE,
        f"Deciles have equal sizes ({most} at most) and are ordered by sessions per query.",
        ties_note(_queries(run)["n_sessions"].to_list()),
    ]
    with_caution = {at for line in lines.values() for at, one in line.items() if one.caution}
    if with_caution:
        every = {at for line in lines.values() for at in line}
        told = f"Unreliable intervals: {len(with_caution)} of {plural(len(every), 'decile')}"
        texts.append(f"{told}: the notes below the table give the reasons.")
    reading = tuple(filter(None, texts))
    folded = (table, without_noise)
    return model.Section(name, title, reading, tuple(figures), legend=legend, folded=folded)


def _frequency_table(
    run: Run, metrics: Sequence[str], name: str, what: str, data: pl.DataFrame | None
) -> ReportTable:
    rows = tuple(
        row
        for sample in run.headline_samples
        for row in _sample_rows(run, sample, FREQUENCY, metrics, corrected=data is None)
    )
    title = f"Figure 4 in numbers: {what} by frequency decile{model.headline_suffix(run)}"
    return ReportTable(name, title, "Decile", ("Queries", *metrics), rows, data=data)


def _lines(run: Run, metrics: Sequence[str], *, corrected: bool = False) -> Lines:
    by_class: ByClass = {}
    if run.headline is not None:
        by_class = class_estimates(run, run.headline, FREQUENCY, corrected=corrected)
    deciles = {int(label): line for label, line in by_class.items() if label.isdecimal()}
    lines = {name: {at: line[name] for at, line in deciles.items() if name in line} for name in metrics}
    return {name: line for name, line in lines.items() if any(one.value is not None for one in line.values())}


def _ends(lines: Lines) -> str:
    """Say from where to where the lines of the paper's two metrics go, or the first line."""
    parts = []
    for name in [name for name in ("DCG", "ERR") if name in lines] or list(lines)[:1]:
        known = {at: one.value for at, one in lines[name].items() if one.value is not None}
        first, last = min(known), max(known)
        start = f"{name} goes from {number(known[first])} in decile {first}"
        parts.append(f"{start} to {number(known[last])} in decile {last}")
    return listed(parts)
