"""The data: the sizes of the log (Table 1), and the funnel from raw rows to analysed sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.core.text.words import capital, count, listed, percent, plural, sentence, visible
from clickassay.findings.draw import nothing_kept_reason
from clickassay.findings.run import Run, in_order
from clickassay.report.cells import Row, Share
from clickassay.report.charts.marks import bars
from clickassay.report.model import Figure, ReportTable, Section, shown_samples
from clickassay.report.sections.log.unjudged import RULES, filled_share

STEPS = (
    "read", "formed", "rejected", "repeated", "unmatched", "out of time", "no query", "left out",
    "set apart", "elsewhere", "again", "too short", "not judged", "kept", "in patterns",
)  # fmt: skip
"""Steps of the funnel in the order in which rows meet them; unknown ones follow."""

SOURCES = ("impressions", "searches", "clicks", "sessions", "judgments")
WHOLE = ("read", "formed")
"""Steps that count all rows, before any is left out."""


class FunnelRow(NamedTuple):
    """Rows at one step: step and reason, number, share of the panel's whole, and whether they are kept."""

    label: str
    rows: int
    share: float | None
    goes_on: bool


@dataclass(frozen=True)
class FunnelPanel:
    """Rows of one source by step: the parts add up to its whole. `drawn` panels are also a picture."""

    title: str
    rows: tuple[FunnelRow, ...]
    drawn: bool


def data_line(run: Run) -> str:
    """Return the sizes of the data as one sentence."""
    funnel = run.frames["funnel"]
    read = {source: _rows(funnel, source, WHOLE) for source in SOURCES}
    parts = [plural(read["searches"], "search", "searches"), plural(read["clicks"], "click")]
    text = f"{listed(parts)} make {plural(read['sessions'], 'session')}{_several(run, 'market', ' in ')}"
    text += f"; {plural(read['judgments'], 'judgment')}{_several(run, 'judge', ' by ')}"
    if run.headline is not None:
        row = run.headline.rows(run.frames["statistics"]).row(0, named=True)
        size = [_queries(run, row["n_queries"]), plural(row["n_configurations"], "configuration")]
        verb = "grades" if read["judgments"] == 1 else "grade"
        filled = filled_share(run, run.headline)
        if filled is not None:
            rule = RULES[run.settings.unjudged]
            text += f" and grades that are filled in ({percent(filled)} of all, {rule})"
            verb = "grade"
        text += f" {verb} every result of {percent(row['coverage'])} of the sessions at {run.headline.label} "
        text += f"({', '.join(size)})"
    return sentence(text)


def _queries(run: Run, queries: int) -> str:
    """Return the number of queries in words, and as how many they count where like ones are grouped."""
    units = int(max(run.headline_rows("comparisons")["n_queries"].drop_nulls(), default=queries))
    grouped = units < queries and run.tables["queries"]["query_group"].count() > 0
    counted = f" that count as {count(units)}, a group as one" if grouped else ""
    return plural(queries, "query", "queries") + counted


def _rows(funnel: pl.DataFrame, source: str, steps: Sequence[str]) -> int:
    return int(funnel.filter(pl.col("source") == source, pl.col("step").is_in(steps), depth=0)["rows"].sum())


def _several(run: Run, column: str, joint: str) -> str:
    labels = set(run.frames["statistics"][column].to_list()) - {EVERY}
    return f"{joint}{plural(len(labels), column)}" if labels else ""


def statistics_section(run: Run) -> Section:
    """Table 1: queries, configurations, sessions and coverage of every sample."""
    frame = run.frames["statistics"]
    numbers = ("n_queries", "n_configurations", "n_sessions", "n_all_sessions")
    rows = [
        Row("", sample.label, (*(row[name] for name in numbers), Share(row["coverage"])))
        for sample in shown_samples(run)
        for row in sample.rows(frame).iter_rows(named=True)
    ]
    table = ReportTable(
        "table1_statistics", "Table 1. Data left after the join with the judgments", "Sample",
        ("Queries", "Configurations", "Sessions", "All sessions", "Coverage"), tuple(rows), data=frame,
        notes=(*_samples_not_shown(run), *_filled_notes(run)),
    )  # fmt: skip
    return Section("data", "The data", _statistics_reading(run), tables=(table,))


def _samples_not_shown(run: Run) -> tuple[str, ...]:
    left = run.n_samples - len(shown_samples(run))
    text = f"{left} more of the {run.n_samples} samples are in the CSV files only, here and below."
    return (text,) if left > 0 else ()


def _filled_notes(run: Run) -> tuple[str, ...]:
    """Return how many of the grades that coverage rests on are not judgments."""
    shares = {sample.label: filled_share(run, sample) for sample in shown_samples(run)}
    known = [f"{percent(share)} at {label}" for label, share in shares.items() if share is not None]
    if not known:
        return ()
    rule = RULES[run.settings.unjudged]
    return (f"Coverage counts grades that are filled in ({rule}): {listed(known)} of the grades.",)


def _statistics_reading(run: Run) -> tuple[str, ...]:
    frame = run.frames["statistics"]
    kept = frame.filter(pl.col("n_sessions") > 0)
    if kept.is_empty():
        return (sentence(f"There is nothing to correlate: {nothing_kept_reason(run)}"),)
    row = kept.sort("coverage", descending=True).row(0, named=True)
    best = SampleKey.of(row)
    text = f"Coverage at {best.label} is {percent(row['coverage'])}"
    if kept.height > 1 and kept["coverage"].n_unique() == 1:
        text = f"Coverage is {percent(row['coverage'])} in all {count(kept.height)} samples"
    elif kept.height > 1:
        worst = kept.sort("coverage").row(0, named=True)
        label = SampleKey.of(worst).label
        text = f"Coverage is highest at {best.label} ({percent(row['coverage'])}) and lowest at {label} "
        text += f"({percent(worst['coverage'])})"
    per_query = row["n_configurations"] / max(1, row["n_queries"])
    return (f"{text}. A query has {per_query:.1f} configurations on average at {best.label}.",)


def funnel_section(run: Run) -> Section:
    """Show the rows that were read, left out at each step with the reason, and kept."""
    panels = funnel_panels(run)
    figures = tuple(
        Figure(
            f"funnel-{place}",
            panel.title,
            _panel_text(panel),
            bars(panel.rows),
            "funnel",
        )
        for place, panel in enumerate(panel for panel in panels if panel.drawn)
    )
    rows = tuple(
        Row(panel.title, row.label, (row.rows, Share(row.share))) for panel in panels for row in panel.rows
    )
    table = ReportTable(
        "funnel",
        "The funnel in numbers",
        "Step",
        ("Rows", "Share"),
        rows,
        data=run.frames["funnel"],
        group_head="Source",
    )
    return Section(
        "funnel",
        "What was read, what was kept",
        _funnel_reading(panels),
        figures,
        legend=(("bar-on", "kept for the next step"), ("bar-off", "left out, with the reason"))
        if figures
        else (),
        folded=(table,),
    )


def funnel_panels(run: Run) -> tuple[FunnelPanel, ...]:
    """Return the funnel by source; clicks also by depth, sessions by sample."""
    funnel = run.frames["funnel"]
    return tuple(
        panel
        for source in in_order(funnel["source"].unique().to_list(), SOURCES)
        for panel in _source_panels(run, funnel.filter(source=source), source)
    )


def _source_panels(run: Run, frame: pl.DataFrame, source: str) -> list[FunnelPanel]:
    general = frame.filter(depth=0)
    special = frame.filter(pl.col("depth") > 0)
    if source == "sessions" and not special.is_empty():
        samples = _samples(run, special)
        return [_session_panel(general, special, sample, sample == samples[0]) for sample in samples]
    markets = general["market"].unique().sort().to_list()
    panels = [
        _panel(_titled(source, market), general.filter(market=market), market == markets[0])
        for market in markets
    ]
    depths = special["depth"].unique().sort().to_list()
    for depth in depths:
        title = f"{source} kept, at depth {depth}"
        panels.append(_panel(title, special.filter(depth=depth), depth == depths[0]))
    return panels


def _titled(source: str, market: str) -> str:
    title = capital(visible(source))
    return title if market == EVERY else f"{title}: market {visible(market)}"


def _samples(run: Run, special: pl.DataFrame) -> tuple[SampleKey, ...]:
    keys = special.select("market", "depth", "judge").unique().sort("market", "depth", "judge")
    known = [SampleKey(*row) for row in keys.iter_rows()]
    return tuple(sample for sample in shown_samples(run) if sample in known) or tuple(known[:1])


def _session_panel(
    general: pl.DataFrame, special: pl.DataFrame, sample: SampleKey, drawn: bool
) -> FunnelPanel:
    rows = pl.concat([general.filter(market=sample.market), sample.rows(special)])
    return _panel(f"Sessions: {sample.label}", rows, drawn)


def _panel(title: str, frame: pl.DataFrame, drawn: bool) -> FunnelPanel:
    summed = frame.group_by("step", "reason").agg(pl.col("rows").sum()).sort("step", "reason")
    known = {step: place for place, step in enumerate(STEPS)}
    steps = sorted(summed.iter_rows(named=True), key=lambda row: (known.get(row["step"], 99), -row["rows"]))
    whole = sum(row["rows"] for row in steps if row["step"] in WHOLE) or sum(row["rows"] for row in steps)
    rows = [
        FunnelRow(
            _step_label(row["step"], row["reason"]),
            row["rows"],
            row["rows"] / whole if whole else None,
            row["reason"] == "",
        )
        for row in steps
    ]
    return FunnelPanel(capital(title), tuple(rows), drawn)


def _step_label(step: str, reason: str) -> str:
    return visible(step) if not reason else f"{visible(step)}: {visible(reason)}"


def _panel_text(panel: FunnelPanel) -> str:
    parts = [f"{row.label} {count(row.rows)} ({percent(row.share)})" for row in panel.rows]
    return sentence(f"{panel.title}: {', '.join(parts)}")


def _funnel_reading(panels: Sequence[FunnelPanel]) -> tuple[str, ...]:
    if not panels:
        return ("The run counted no rows: there is no funnel to show.",)
    own = [panel for panel in panels if panel.title.startswith(("Searches", "Sessions"))]
    texts = [text for panel in own or panels if (text := _panel_reading(panel))]
    return tuple(texts[:2]) or ("No row was left out.",)


def _panel_reading(panel: FunnelPanel) -> str:
    lost = [row for row in panel.rows if not row.goes_on and row.rows]
    if not lost:
        return ""
    most = max(lost, key=lambda row: row.rows)
    total = sum(row.rows for row in lost)
    share = sum(row.share or 0.0 for row in lost)
    text = f"{panel.title}: {count(total)} ({percent(share)}) {'is' if total == 1 else 'are'} left out"
    if len(lost) > 1:
        return sentence(f"{text}, most of them as “{most.label}” ({count(most.rows)})")
    return sentence(f"{text} as “{most.label}”")
