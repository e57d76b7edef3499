"""The log: its sizes (Table 1), its funnel and health, and results without a judgment."""

from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.core.text.words import (
    capital,
    count,
    listed,
    number,
    percent,
    plural,
    sentence,
    span,
    visible,
)
from clickassay.findings.draw import nothing_kept_reason
from clickassay.findings.estimates import estimate, not_computed
from clickassay.findings.run import Run, in_order
from clickassay.health.checks import BY_NAME, OK, HealthCheck, fired, well_text
from clickassay.report.charts.marks import bars
from clickassay.report.model import Figure, Section, headline_suffix, shown_samples
from clickassay.report.tables import (
    ReportTable,
    Row,
    Share,
    ShownColumn,
    Spelled,
    field,
    share,
    shown_table,
    value,
)

# ---- results without a judgment ------------------------------------------------------------------


RULES = {
    "drop": "rankings excluded",
    "zero": "the worst grade",
    "best": "the highest grade",
    "model": "grades predicted from clicks",
}
"""Treatment of results without a judgment, by rule."""

HEADS = ("Coverage", "Grades filled in", "Queries")
MODEL_NOTE = (
    "Missing grades are drawn from judged results with similar attraction, relevance and impressions, "
    "estimated from the clicks of one half of the users. All other numbers of this report use the other half."
)
EXTREMES_NOTE = (
    "All ungraded results get the worst or the highest grade. These are two extremes, not bounds: with "
    "other grades a correlation can lie outside them, and often does."
)


def filled_share(run: Run, sample: SampleKey) -> float | None:
    """Return the share of the sample's grades that are filled in; None where only judgments are used."""
    rule = run.settings.unjudged
    rows = sample.rows(run.frames["unjudged"]).filter(rule=rule)
    return None if rule not in {"zero", "model"} or rows.is_empty() else rows["filled"][0]


def unjudged_sections(run: Run) -> tuple[Section, ...]:
    """Return the section, or nothing when no rule but dropping was tried."""
    frame = run.frames["unjudged"]
    if frame.is_empty():
        return ()
    rows = []
    for sample in shown_samples(run):
        for rule, name in RULES.items():
            own = list(sample.rows(frame).filter(click_metric=run.click, rule=rule).iter_rows(named=True))
            if own:
                cells = {row["editorial_metric"]: estimate(row) for row in own}
                values = (cells.get(metric, not_computed()) for metric in run.editorial)
                first = (Share(own[0]["coverage"]), Share(own[0]["filled"]), own[0]["n_queries"])
                rows.append(Row(sample.label, name, (*first, *values)))
    rules = set(frame["rule"].unique())
    table = ReportTable(
        "unjudged", f"Correlation with {run.click} by treatment of results without a judgment", "Treatment",
        (*HEADS, *run.editorial), tuple(rows), data=frame,
        spanners=(("Correlation", len(HEADS), len(run.editorial)),),
        notes=tuple(note for rule, note in (("model", MODEL_NOTE), ("best", EXTREMES_NOTE)) if rule in rules),
    )  # fmt: skip
    texts = ["No configuration was used under this run's rule."]
    if run.headline is not None:
        there = run.headline.rows(frame).filter(click_metric=run.click)
        tried = [rule for rule in RULES if there.filter(rule=rule).height]
        ranked = there.filter(rule=tried[0]).sort("correlation", descending=True, nulls_last=True)
        best = ranked["editorial_metric"][0]
        texts = [f"At {run.headline.label}, for {best}:"]
        for rule in tried:
            row = there.filter(rule=rule, editorial_metric=best).row(0, named=True)
            cell = estimate(row)
            known = (
                cell.reason if cell.value is None else f"{number(cell.value)} ({span(cell.low, cell.high)})"
            )
            text = (
                f"{RULES[rule]}: coverage {percent(row['coverage'])}, {percent(row['filled'])} of the grades "
            )
            texts.append(sentence(f"{text}filled in, correlation with {row['click_metric']} {known}"))
    return (Section("unjudged", "Results without a judgment", tuple(texts), tables=(table,)),)


# ---- what to judge next -------------------------------------------------------------------------


SHOWN = 10
"""Queries that are shown for each goal."""

GOALS = {"coverage": "to raise coverage", "interval": "to narrow intervals"}
NEXT = (
    field("Results to judge", "labels"), field("Sessions completed", "sessions"),
    field("Results so far", "labels_so_far"), share("Coverage so far", "coverage"),
    value("Interval width so far", "width", "nothing is judged yet"),
)  # fmt: skip
NOTE = (
    "So far: down to this row. Interval width: expected, relative to today's, if queries differ only in "
    "their number of sessions. Very frequent queries raise coverage but widen intervals."
)
HOW = (
    "The command plan --run writes a sheet of the results to judge, as many as a budget allows. These "
    "results are not a random sample: to evaluate a ranking, draw queries with plan --ranking."
)


def next_judgments_section(run: Run) -> Section:
    """Return the first queries to judge in the headline sample, for both goals."""
    frame, own = run.frames["next_judgments"], run.headline_rows("next_judgments")
    named = run.labels.relabel(own)
    table = shown_table(
        "next_judgments", f"Queries with the largest gain per judgment{headline_suffix(run)}",
        [row for goal in GOALS for row in named.filter(goal=goal).head(SHOWN).iter_rows(named=True)],
        ShownColumn("Query", lambda row: visible(row["query"])), NEXT, group=lambda row: GOALS[row["goal"]],
        notes=(NOTE,) if own.height else (), data=run.labels.relabel(frame.drop("urls")), group_head="Goal",
    )  # fmt: skip
    reading: tuple[str, ...] = ("Every shown result of this log's queries is judged.",)
    if run.headline is not None and own.height:
        now = percent(run.headline.rows(run.frames["statistics"])["coverage"][0])
        sentences = []
        for goal in GOALS:
            for row in own.filter(goal=goal).head(SHOWN).tail(1).iter_rows(named=True):
                judged = (
                    f"{plural(row['labels_so_far'], 'result')} of {plural(row['rank'], 'query', 'queries')}"
                )
                sentences.append(
                    f"At {run.headline.label}, judging {judged} would raise coverage from {now} to "
                    f"{percent(row['coverage'])}."
                    if goal == "coverage"
                    else f"To narrow intervals, {judged} would make them {number(row['width'], 2)} times as "
                    "wide as they are now."
                )
        reading = (*sentences, HOW)
    return Section("next_judgments", "What to judge next", reading, tables=(table,) if frame.height else ())


# ---- sizes of the log ----------------------------------------------------------------------------


STEPS = (
    "read", "formed", "rejected", "repeated", "unmatched", "out of time", "no query", "left out",
    "set apart", "elsewhere", "again", "too short", "not judged", "kept", "in patterns",
)  # fmt: skip
"""Steps of the funnel in the order in which rows meet them; unknown ones follow."""

SOURCES = ("impressions", "searches", "clicks", "sessions", "judgments")
WHOLE = ("read", "formed")
"""Steps that count all rows, before any is left out."""

SIZES = (
    field("Queries", "n_queries"), field("Configurations", "n_configurations"),
    field("Sessions", "n_sessions"), field("All sessions", "n_all_sessions"), share("Coverage", "coverage"),
)  # fmt: skip


def data_line(run: Run) -> str:
    """Return the sizes of the data as one sentence."""
    whole = run.frames["funnel"].filter(pl.col("step").is_in(WHOLE), depth=0)
    read = {source: int(whole.filter(source=source)["rows"].sum()) for source in SOURCES}

    def several(column: str, joint: str) -> str:
        labels = set(run.frames["statistics"][column].to_list()) - {EVERY}
        return f"{joint}{plural(len(labels), column)}" if labels else ""

    parts = [plural(read["searches"], "search", "searches"), plural(read["clicks"], "click")]
    text = f"{listed(parts)} make {plural(read['sessions'], 'session')}{several('market', ' in ')}"
    text += f"; {plural(read['judgments'], 'judgment')}{several('judge', ' by ')}"
    if run.headline is not None:
        row = run.headline.rows(run.frames["statistics"]).row(0, named=True)
        queries = plural(row["n_queries"], "query", "queries")
        units = int(max(run.headline_rows("comparisons")["n_queries"].drop_nulls(), default=row["n_queries"]))
        if units < row["n_queries"] and run.tables["queries"]["query_group"].count() > 0:
            queries += f" that count as {count(units)} (one per group)"
        size = [queries, plural(row["n_configurations"], "configuration")]
        verb = "grades" if read["judgments"] == 1 else "grade"
        filled = filled_share(run, run.headline)
        if filled is not None:
            rule = RULES[run.settings.unjudged]
            text += f" and grades that are filled in ({percent(filled)} of all, {rule})"
            verb = "grade"
        text += f" {verb} every result of {percent(row['coverage'])} of the sessions at {run.headline.label} "
        text += f"({', '.join(size)})"
    return sentence(text)


def statistics_section(run: Run) -> Section:
    """Table 1: queries, configurations, sessions and coverage of every sample."""
    frame, samples = run.frames["statistics"], shown_samples(run)
    notes = []
    if run.n_samples > len(samples):
        left = run.n_samples - len(samples)
        notes.append(f"{left} more of the {run.n_samples} samples are in the CSV files only, here and below.")
    filled = {sample.label: filled_share(run, sample) for sample in samples}
    known = [f"{percent(share)} at {label}" for label, share in filled.items() if share is not None]
    if known:  # how many of the grades that coverage rests on are not judgments
        rule = RULES[run.settings.unjudged]
        notes.append(f"Coverage counts grades that are filled in ({rule}): {listed(known)} of the grades.")
    rows = [
        {**row, "sample": sample.label}
        for sample in samples
        for row in sample.rows(frame).iter_rows(named=True)
    ]
    table = shown_table(
        "table1_statistics", "Table 1. Sessions after the join with the judgments", rows,
        field("Sample", "sample"), SIZES, data=frame, notes=tuple(notes),
    )  # fmt: skip
    kept = frame.filter(pl.col("n_sessions") > 0)
    if kept.is_empty():
        text = sentence(f"No correlation can be computed: {nothing_kept_reason(run)}")
        return Section("data", "The data", (text,), tables=(table,))
    row = kept.sort("coverage", descending=True).row(0, named=True)
    best = SampleKey.of(row).label
    text = f"Coverage at {best} is {percent(row['coverage'])}"
    if kept.height > 1 and kept["coverage"].n_unique() == 1:
        text = f"Coverage is {percent(row['coverage'])} in all {count(kept.height)} samples"
    elif kept.height > 1:
        worst = kept.sort("coverage").row(0, named=True)
        text = f"Coverage is highest at {best} ({percent(row['coverage'])}) and lowest at "
        text += f"{SampleKey.of(worst).label} ({percent(worst['coverage'])})"
    per_query = row["n_configurations"] / max(1, row["n_queries"])
    text += f". A query has {per_query:.1f} configurations on average at {best}."
    return Section("data", "The data", (text,), tables=(table,))


# ---- the funnel ---------------------------------------------------------------------------------


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

    @property
    def text(self) -> str:
        """All steps with their numbers."""
        parts = [f"{row.label} {count(row.rows)} ({percent(row.share)})" for row in self.rows]
        return sentence(f"{self.title}: {', '.join(parts)}")


def funnel_section(run: Run) -> Section:
    """Show the rows that were read, left out at each step with the reason, and kept."""
    panels = funnel_panels(run)
    figures = tuple(
        Figure(f"funnel-{place}", panel.title, panel.text, bars(panel.rows), "funnel")
        for place, panel in enumerate(panel for panel in panels if panel.drawn)
    )
    rows = tuple(
        Row(panel.title, row.label, (row.rows, Share(row.share))) for panel in panels for row in panel.rows
    )
    table = ReportTable(
        "funnel", "The funnel in numbers", "Step", ("Rows", "Share"), rows, data=run.frames["funnel"],
        group_head="Source",
    )  # fmt: skip
    texts = []
    for panel in [one for one in panels if one.title.startswith(("Searches", "Sessions"))] or panels:
        lost = [row for row in panel.rows if not row.goes_on and row.rows]
        if not lost:
            continue
        most = max(lost, key=lambda row: row.rows)
        total, part = sum(row.rows for row in lost), sum(row.share or 0.0 for row in lost)
        text = f"{panel.title}: {count(total)} ({percent(part)}) {'is' if total == 1 else 'are'} excluded"
        text += f", most of them as “{most.label}” ({count(most.rows)})" if len(lost) > 1 else ""
        texts.append(sentence(text if len(lost) > 1 else f"{text} as “{most.label}”"))
    nothing = "No row was excluded." if panels else "The run counted no rows, so there is no funnel."
    legend = (("bar-on", "used in the next step"), ("bar-off", "excluded, with the reason"))
    return Section(
        "funnel", "What was read, used and excluded", tuple(texts[:2]) or (nothing,), figures,
        legend=legend if figures else (), folded=(table,),
    )  # fmt: skip


def funnel_panels(run: Run) -> tuple[FunnelPanel, ...]:
    """Return the funnel by source; clicks also by depth, sessions by sample."""
    funnel, panels = run.frames["funnel"], []
    for source in in_order(funnel["source"].unique().to_list(), SOURCES):
        rows = funnel.filter(source=source)
        general, special = rows.filter(depth=0), rows.filter(pl.col("depth") > 0)
        if source == "sessions" and not special.is_empty():
            keys = special.select("market", "depth", "judge").unique().sort("market", "depth", "judge")
            known = [SampleKey(*row) for row in keys.iter_rows()]
            samples = [one for one in shown_samples(run) if one in known] or known[:1]
            for sample in samples:
                own = pl.concat([general.filter(market=sample.market), sample.rows(special)])
                panels.append(_panel(f"Sessions: {sample.label}", own, sample == samples[0]))
            continue
        markets, title = general["market"].unique().sort().to_list(), capital(visible(source))
        for market in markets:
            where = "" if market == EVERY else f": market {visible(market)}"
            panels.append(_panel(title + where, general.filter(market=market), market == markets[0]))
        depths = special["depth"].unique().sort().to_list()
        for depth in depths:
            own, title = special.filter(depth=depth), f"{source} kept, at depth {depth}"
            panels.append(_panel(title, own, depth == depths[0]))
    return tuple(panels)


def _panel(title: str, frame: pl.DataFrame, drawn: bool) -> FunnelPanel:
    summed = frame.group_by("step", "reason").agg(pl.col("rows").sum()).sort("step", "reason")
    known = {step: place for place, step in enumerate(STEPS)}
    steps = sorted(summed.iter_rows(named=True), key=lambda row: (known.get(row["step"], 99), -row["rows"]))
    whole = sum(row["rows"] for row in steps if row["step"] in WHOLE) or sum(row["rows"] for row in steps)
    rows = []
    for row in steps:
        reason = f": {visible(row['reason'])}" if row["reason"] else ""
        part = row["rows"] / whole if whole else None
        rows.append(FunnelRow(visible(row["step"]) + reason, row["rows"], part, row["reason"] == ""))
    return FunnelPanel(capital(title), tuple(rows), drawn)


# ---- health -------------------------------------------------------------------------------------


def health_line(run: Run) -> str:
    """Return the state of the log in a few words."""
    frame = run.frames["health"]
    wrong = fired(frame)
    if frame.is_empty():
        return "Not checked"
    if not wrong:
        return f"\u2713 {capital(well_text(frame))}"
    more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return f"\u2717 {capital(wrong[0].status)}: {wrong[0].fault}{more} (see below)"


def health_section(run: Run) -> Section:
    """Return faults of the log, and all checks folded, without examples: no ids or rare queries on pages."""
    frame = run.frames["health"]
    said = tuple(f"{capital(one.status)}. {one.sentence} {one.remedy}" for one in fired(frame))
    checks = {row["check"]: HealthCheck(**row) for row in frame.iter_rows(named=True)}
    rows = []
    for name, check in BY_NAME.items():
        if (one := checks.get(name)) is not None:
            status = Spelled(one.status, 0.0 if one.status == OK else 1.0)
            value = one.sentence if one.value is None else Spelled(f"{one.value:.4g}", one.value)
            limit = Spelled(f"{check.side} {one.threshold:g}", one.threshold)
            rows.append(Row("", capital(check.meaning), (status, value, limit)))
    heads = ("Status", "Number", "Fires from")
    table = ReportTable("health", "Data checks", "Check", heads, tuple(rows))
    well = f"Data checks: {well_text(frame)}."
    return Section("health", "Data checks", said or (well,), folded=(table,), fold_words="All checks")
