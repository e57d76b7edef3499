"""The message of a run with too few judgments: why, what to judge first, and what clicks show alone."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.settings import Settings
from clickassay.core.text.words import count, listed, percent, plural, visible
from clickassay.judgments.prepare import Judgments
from clickassay.judgments.shown import clicks_by_position, results_shown
from clickassay.metrics.clicks import CLICKS
from clickassay.patterns.lists import LogLists

MAX_QUERIES = 5
"""Queries that are named; the table `next_judgments` has 200."""

MAX_URLS = 3
"""URLs of each that are named."""

MAX_POSITIONS = 10
"""Positions of the curve: as many as fit on a line."""

_FINDING = "FINDING Metrics cannot be compared with these clicks"
_BLOCKS = "▁▂▃▄▅▆▇█"
_MAX_TEXT = 32
_MEND = (
    "What helps:",
    "  correcting what is wrong with the log or its judgments, see below; only then judge more, or choose "
    "a rule for results without a grade",
)
_STEPS = {
    "too short": ("has fewer results", "have fewer results"),
    "not judged": ("shows a result without a grade", "show a result without a grade"),
    "set apart": ("is of a user set apart", "are of users set apart"),
    "kept": ("is judged in full", "are judged in full"),
}


def no_correlation(frames: Mapping[str, pl.DataFrame]) -> bool:
    """Return whether no correlation has a value: at no depth, in no market, of no judge, under no rule."""
    return all(frames[name]["correlation"].is_null().all() for name in ("correlations", "unjudged"))


def without_judgments(
    lists: LogLists,
    graded: Judgments,
    settings: Settings,
    frames: Mapping[str, pl.DataFrame],
    *,
    judge: str,
    is_misread: bool,
) -> tuple[str, ...]:
    """Return the lines of one screen for a run with `no_correlation`.

    lists: all lists of the log.
    graded: judgments of its queries.
    frames: Tables of the run; `statistics`, `funnel` and `next_judgments` are read.
    judge: the judge of the largest sample of the run.
    is_misread: whether something is wrong with the log or the judgments: then it would mislead to say what to
      judge.

    Returns lines, at most 24; none if lists are judged in full, and all of them: judgments are not what is
    missing.
    """
    shown = _shown(lists, graded, max(settings.depth))
    if shown["judges"].null_count() == 0 and frames["configurations"].height:
        return ()
    if shown.is_empty():
        return (f"{_FINDING}: no session is kept; the funnel in report.md says where they went.",)
    words = f", judge {visible(judge)}" if len(graded.judges) > 1 else ""
    why = _why(shown, settings, frames, judge, words)
    if is_misread:
        return (*why, *_clicks_alone(lists, max(settings.depth)), *_MEND)
    proposed = _first_to_judge(frames["next_judgments"].filter(judge=judge), words)
    return (
        *why,
        *proposed,
        *_clicks_alone(lists, max(settings.depth)),
        *_remedies(shown, graded, settings, has_proposed=bool(proposed)),
    )


def _shown(lists: LogLists, graded: Judgments, deepest: int) -> pl.DataFrame:
    """Return (list, query, place, url, sessions, judges) of every result down to `deepest`, once a list."""
    known = lists.configurations.select("market", "query", "results", "sessions")
    results, on = results_shown(known, deepest), (*graded.query_key, "url")
    judges = graded.grades.group_by(on).agg(pl.col("judge").alias("judges"))
    return results.join(judges, on=on, how="left", maintain_order="left")


def _why(
    shown: pl.DataFrame, settings: Settings, frames: Mapping[str, pl.DataFrame], judge: str, words: str
) -> list[str]:
    every, judged = _weight(shown), _weight(shown.filter(pl.col("judges").is_not_null()))
    deepest = max(settings.depth)
    lines = [
        f"{_FINDING}: {_reason(frames)}.",
        f"{percent(judged / every)} of the results shown have a grade: {count(judged)} of "
        f"{count(every)}, in the first {deepest} of the list of each session.",
    ]
    of_sessions = frames["funnel"].filter(source="sessions", judge=judge)
    for depth in settings.depth[:3]:
        own = of_sessions.filter(pl.col("depth") == depth)
        rows = dict(own.group_by("step").agg(pl.col("rows").sum()).iter_rows())
        parts = [plural(rows[step], *words) for step, words in _STEPS.items() if rows.get(step)]
        lines.append(f"  depth {depth}{words}: of {plural(sum(rows.values()), 'session')}, {listed(parts)}")
    return lines


def _reason(frames: Mapping[str, pl.DataFrame]) -> str:
    if frames["configurations"].is_empty():
        return "no list is judged in full"
    reasons = frames["correlations"].filter(pl.col("split") == EVERY)["reason"].drop_nulls().value_counts()
    first = reasons.sort("count", "reason", descending=[True, False])["reason"].head(1).to_list()
    return f"few lists are judged in full ({first[0] if first else 'in no market enough'})"


def _weight(results: pl.DataFrame) -> int:
    return int(results["sessions"].sum())


def _first_to_judge(proposed: pl.DataFrame, words: str) -> list[str]:
    depth = int(proposed["depth"].min() or 0)  # type: ignore[arg-type]
    own = proposed.filter(pl.col("goal") == "coverage", pl.col("depth") == depth)
    own = own.sort("rank", "market").head(MAX_QUERIES)
    if own.is_empty():
        return []
    rows = [
        f"  {visible(row['query'], limit=_MAX_TEXT)}: {_urls(row['urls'])}"
        f" (completes {plural(row['sessions'], 'session')})"
        for row in own.iter_rows(named=True)
    ]
    return [f"To judge first, for the most sessions a label at depth {depth}{words}:", *rows]


def _urls(urls: Sequence[str]) -> str:
    named = ", ".join(visible(url, limit=_MAX_TEXT) for url in urls[:MAX_URLS])
    return f"{named} and {count(len(urls) - MAX_URLS)} more" if len(urls) > MAX_URLS else named


def _clicks_alone(lists: LogLists, deepest: int) -> list[str]:
    """Return clicks per session by position, and the click metrics that need no grades."""
    masks, sessions = (lists.patterns[name].to_numpy() for name in ("click_mask", "sessions"))
    masks, total = masks & ((1 << deepest) - 1), int(sessions.sum())
    positions = clicks_by_position(lists, min(deepest, MAX_POSITIONS))
    rates = [clicked / shown for shown, clicked in positions]
    metrics = (
        f"{metric.name} {np.average(metric.function(masks), weights=sessions):.3f}"
        for metric in CLICKS
        if metric.needs == ("masks",)
    )
    return [
        f"What clicks show alone, in {plural(total, 'session')} (at a position: of the lists that reach it):",
        "  position " + "".join(f"{place:>7}" for place in range(1, len(rates) + 1)),
        "  clicked  " + "".join(f"{percent(rate):>7}" for rate in rates),
        "           " + "".join(f"{_block(rate, max(rates)):>7}" for rate in rates),
        f"  {', '.join(metrics)}",
    ]


def _block(rate: float, highest: float) -> str:
    return _BLOCKS[round(rate / highest * (len(_BLOCKS) - 1))] if rate else " "


def _remedies(shown: pl.DataFrame, graded: Judgments, settings: Settings, *, has_proposed: bool) -> list[str]:
    lines = ["What helps:"]
    untried = sorted(set(range(1, max(settings.depth))) - set(settings.depth))
    by_depth = {depth: _completed(shown, graded, depth) for depth in untried}
    depths = [f"{depth} ({plural(sessions, 'session')})" for depth, sessions in by_depth.items() if sessions]
    if depths:
        lines.append(f"  another --depth; judged in full are at depth {', '.join(depths[-3:])}")
    first = shown.filter(pl.col("place") == min(settings.depth) - 1)
    asked = _weight(first.join(graded.grades, on=graded.query_key, how="semi"))
    if settings.unjudged == "drop" and asked:
        lines.append(
            "  --unjudged zero (or extremes, model): grades by rule, in "
            f"{plural(asked, 'session')} of queries "
            "with some judgment"
        )
    if has_proposed:
        lines.append("  judging these results; as a sheet: clickassay plan --run RUN --budget N --out SHEET")
    return lines


def _completed(shown: pl.DataFrame, graded: Judgments, depth: int) -> int:
    """Return the most sessions whose first `depth` results one judge has judged."""
    top = shown.filter(pl.col("place") < depth)
    return max((_completed_by(top, judge, depth) for judge in graded.judges), default=0)


def _completed_by(top: pl.DataFrame, judge: str, depth: int) -> int:
    own = top.filter(pl.col("judges").list.contains(judge))
    full = own.group_by("list").agg(pl.len(), pl.col("sessions").first()).filter(pl.col("len") == depth)
    return _weight(full)
