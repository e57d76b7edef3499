"""Counts at every step from raw log to sessions, so that nothing disappears silently (method 3).

When too many rows of an input are unusable, the input is probably misread: the run stops with the reasons.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.patterns import FUNNEL
from clickassay.core.errors import EngineError, InputError, RejectedRowsError
from clickassay.core.settings import OF_DWELL_TIMES, SIGNAL_NAME

TeamRow = tuple[bool, str | None, bool, int]
"""Whether sessions are counted, or searches that name rankers; why they do not count; whether that may still
change; and how many."""


class LogFunnel:
    """The funnel of one or several batches of a log, whose lists are kept to `depth`."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._closed: Counter[tuple[str, str, str]] = Counter()
        self._open: Counter[tuple[str, str, str]] = Counter()
        self._landed: dict[bool, Counter[tuple[int | None, bool]]] = {False: Counter(), True: Counter()}
        self._orphan_clicks: list[pl.DataFrame] = []
        self._open_orphan_clicks = pl.DataFrame()

    def count_searches(
        self,
        *,
        read: int,
        rejected: Mapping[str, int],
        usable: int,
        kept: int,
        left_out: int,
        shortened: int,
        merged: int,
    ) -> None:
        """Count searches new in a batch: all, those rejected by reason, usable, and kept once each.

        left_out, shortened, merged: of these, those whose query is left out, whose list shows a result again,
          and of the latter whose results the normal form of URLs makes fewer.
        """
        _check_sum("searches", read, usable + sum(rejected.values()))
        self._closed["searches", "read", ""] += read
        for reason, rows in rejected.items():
            self._closed["searches", "rejected", reason] += rows
        self._closed["searches", "repeated", "delivered again"] += usable - kept
        self._closed["searches", "kept", ""] += kept
        self._closed["lists", "left out", _NO_JUDGMENTS] += left_out
        self._closed["lists", "shortened", SHOWN_AGAIN] += shortened - merged
        self._closed["lists", "shortened", MERGED] += merged

    def count_clicks(
        self,
        *,
        read: int,
        carried: int,
        rejected: Mapping[str, int],
        outcomes: Iterable[tuple[bool, bool, bool, bool, int]],
        orphan_clicks: pl.DataFrame,
    ) -> None:
        """Count clicks of a batch: read now, or with an earlier one (carried); rejected by reason.

        outcomes: (ambiguous, in time, of an open session, place of another result, clicks), search known.
        orphan_clicks: search_id, is_open, clicks: clicks whose search is not known.
        """
        outcomes = list(outcomes)
        known = sum(clicks for *_, clicks in outcomes) + int(orphan_clicks["clicks"].sum())
        _check_sum("clicks", read + carried, sum(rejected.values()) + known)
        self._open.clear()
        self._closed["clicks", "read", ""] += read
        for reason, rows in rejected.items():
            self._closed["clicks", "rejected", reason] += rows
        for ambiguous, in_time, is_open, is_misplaced, clicks in outcomes:
            counts = self._open if is_open else self._closed
            step, reason = ("kept", "") if in_time else ("out of time", _OUT_OF_TIME)
            step, reason = ("rejected", _AMBIGUOUS) if ambiguous else (step, reason)
            counts["clicks", step, reason] += clicks
            counts["positions", "misplaced", _ANOTHER_RESULT] += clicks if is_misplaced else 0
        self._orphan_clicks.append(orphan_clicks.filter(~pl.col("is_open")))
        self._open_orphan_clicks = orphan_clicks.filter("is_open")

    def count_actions(self, rows: Iterable[tuple[str, str, bool, int]]) -> None:
        """Count rows with another action than click: (step, reason, may still change, rows), after clicks.

        Steps are ``usable``, ``rejected`` and ``carried``, of rows as they are read, and ``unmatched``,
        ``left out`` and ``kept``, whose reason is the action, of usable rows.
        """
        read = outcomes = 0
        for step, reason, is_open, actions in rows:
            if step in {"usable", "carried", "rejected"}:
                read += 0 if step == "rejected" else actions
                self._closed["actions", "read", ""] += 0 if step == "carried" else actions
                if step == "rejected":
                    self._closed["actions", step, reason] += actions
                continue
            outcomes += actions
            counts = self._open if is_open else self._closed
            counts["actions", step, reason or _OF_ACTIONS[step]] += actions
        _check_sum("actions", read, outcomes)

    def count_outcomes(self, rows: Iterable[tuple[str, bool, int]]) -> None:
        """Count rows that were given for searches of the batch: (outcome, may still change, rows)."""
        for name, is_open, number in rows:
            (self._open if is_open else self._closed)["outcomes", "kept", name] += number

    def count_teams(self, rows: Iterable[TeamRow]) -> None:
        """Count searches of the batch that name rankers, and sessions that begin with one, after clicks."""
        for are_sessions, fault, is_open, number in rows:
            counts = self._open if is_open else self._closed
            if are_sessions:
                counts["interleaved", "left out" if fault else "kept", fault or ""] += number
                continue
            counts["teams", "read", ""] += number
            counts["teams", "rejected" if fault else "kept", fault or ""] += number

    def count_dwell_times(self, rows: Iterable[tuple[str, bool, int]]) -> None:
        """Count clicks in time by what decided on their satisfaction: (step, may still change, clicks)."""
        for step, is_open, clicks in rows:
            (self._open if is_open else self._closed)["dwell times", step, ""] += clicks

    def count_positions(self, rows: Iterable[tuple[int | None, bool, bool, int]]) -> None:
        """Count (position, on first page, of open session, clicks): None = not listed, 0 = left out."""
        self._landed[True].clear()
        for position, on_first_page, is_open, clicks in rows:
            self._landed[is_open][position, on_first_page] += clicks

    def orphan_clicks(self, *, is_open: bool = False) -> pl.DataFrame:
        """Return (search_id, clicks): clicks whose search was not in the batch that was read with them."""
        frames = [self._open_orphan_clicks] if is_open else self._orphan_clicks
        return pl.concat(frames).group_by("search_id").agg(pl.col("clicks").sum())

    def frame(
        self, patterns: pl.DataFrame, sessions: Iterable[tuple[str, bool, bool, int]], *, is_open: bool
    ) -> pl.DataFrame:
        """Return the funnel in its contract's form, without orphan clicks; steps without rows are omitted.

        patterns, sessions: click_mask, sessions; market, query is kept, begins on a first page, sessions.
          `is_open`: of those that may still grow, or of all others.
        """
        rows: Counter[tuple[str, str, int, str, str]] = Counter()
        for (source, step, reason), count in (self._open if is_open else self._closed).items():
            rows[source, EVERY, 0, step, reason] += count
        for market, is_kept, on_first_page, count in sessions:
            rows["sessions", market, 0, "formed", ""] += count
            if not is_kept:
                rows["sessions", market, 0, "left out", _NO_JUDGMENTS] += count
            elif not on_first_page:
                rows["sessions", market, 0, "left out", "begins on a later page"] += count
        # where kept clicks landed; those on the same result of a session count once in its pattern
        landed = self._landed[is_open]
        masks, sessions = patterns["click_mask"].to_numpy(), patterns["sessions"].to_numpy()
        left_out = landed[0, False] + landed[0, True]
        later = sum(clicks for (at, on_first_page), clicks in landed.items() if at != 0 and not on_first_page)
        every, distinct, once = landed.total() - left_out - later, 0, 0
        for depth in range(1, self._depth + 1):
            distinct += int(np.sum(sessions, where=(masks >> (depth - 1)) & 1 == 1))
            once += landed[depth, True]
            rows["clicks", EVERY, depth, "left out", _NO_JUDGMENTS] = left_out
            rows["clicks", EVERY, depth, "left out", "session begins on a later page"] = later
            rows["clicks", EVERY, depth, "elsewhere", "not in the top results"] = every - once
            rows["clicks", EVERY, depth, "again", "same result clicked again"] = once - distinct
            rows["clicks", EVERY, depth, "in patterns", ""] = distinct
        return _funnel_frame(rows)


def orphan_click_rows(*, ambiguous: int, out_of_time: int, unmatched: int) -> pl.DataFrame:
    """Return the funnel rows of orphan clicks by their outcome."""
    rows: Counter[tuple[str, str, int, str, str]] = Counter()
    rows["clicks", EVERY, 0, "rejected", _AMBIGUOUS] = ambiguous
    rows["clicks", EVERY, 0, "out of time", _OUT_OF_TIME] = out_of_time
    rows["clicks", EVERY, 0, "unmatched", "no usable search"] = unmatched
    return _funnel_frame(rows)


def with_counts(funnel: pl.DataFrame, source: str, counts: Mapping[tuple[str, str], int]) -> pl.DataFrame:
    """Add what became of the rows of a source, by step and reason."""
    rows = Counter({(source, EVERY, 0, *key): count for key, count in counts.items()})
    every = pl.concat([funnel, _funnel_frame(rows)])
    return every.group_by(pl.exclude("rows"), maintain_order=True).agg(pl.col("rows").sum())


def check_log(funnel: pl.DataFrame, max_rejected: float) -> None:
    """Refuse (InputError) a log without a usable search, or with too many rejected searches or clicks."""
    for source in ("impressions", "searches", "teams", "clicks", "actions"):
        rows = funnel.filter(pl.col("source") == source, pl.col("depth") == 0)
        read = int(rows.filter(pl.col("step") == "read")["rows"].sum())
        if source == "searches" and not read:
            raise InputError("searches: the files contain no rows")
        rejected = rows.filter(pl.col("step") == "rejected")
        check_rejected(source, dict(rejected.select("reason", "rows").iter_rows()), read, max_rejected)
        if source == "searches" and rejected["rows"].sum() == read:
            raise InputError(f"searches: none of the {read:,} rows is usable")
    kept = funnel.filter(source="actions", step="kept").group_by("reason").agg(pl.col("rows").sum())
    counts = dict(kept.sort("rows", "reason", descending=[True, False]).iter_rows())
    named = ", ".join(f"{name!r:.60} ({rows:,})" for name, rows in [*counts.items()][:12])
    if len(counts) > MOST_SIGNALS:
        raise InputError(
            f"clicks: column action has {len(counts)} actions, but at most {MOST_SIGNALS} can be counted: "
            f"{named}; name the actions to count, such as --signal add_to_cart,purchase"
        )
    wrong = next((name for name in counts if not SIGNAL_NAME.fullmatch(name)), None)
    if wrong is not None:
        raise InputError(
            f"clicks: action {wrong!r:.80} cannot be a signal: its name may have up to 40 letters, digits "
            "and _ . : / - with single blanks; rename it, or name the actions to count with --signal"
        )
    dwell = dict(funnel.filter(source="dwell times").group_by("step").agg(pl.col("rows").sum()).iter_rows())
    if 2 * dwell.get("at one time", 0) > dwell.get("distinct", 0) and dwell.get("next event", 0):
        share = dwell["at one time"] / dwell["distinct"]
        raise InputError(
            f"clicks: {share:.0%} of the clicks share their time with another event of their visit: the "
            "clock of this log is too coarse for dwell times; give column dwell_seconds, or remove "
            "satisfied from --signal"
        )


MOST_SIGNALS = 8

MOST_BY_LAST_CLICK = 0.5
"""A larger share of satisfied clicks that nothing follows leads no headline."""


def share_by_last_click(funnel: pl.DataFrame) -> float:
    """Return the share of satisfied clicks, 0..1, that are so because nothing follows in their visit."""
    rows = funnel.filter(source="dwell times").group_by("step").agg(pl.col("rows").sum())
    counts = dict(rows.iter_rows())
    return float(counts.get("satisfied by last click", 0) / max(1, counts.get("satisfied", 0)))


def shows_both_ways(funnel: pl.DataFrame) -> bool:
    """Return whether most satisfied clicks rest on a convention: then they are shown both ways."""
    return share_by_last_click(funnel) > MOST_BY_LAST_CLICK


class _Filtered(Protocol):
    def filter(self, condition: pl.Expr, /) -> Any: ...  # noqa: ANN401 - of its own type


Shown = TypeVar("Shown", bound=_Filtered | None)


def shown_signals(signals: Shown, funnel: pl.DataFrame) -> Shown:
    """Return the rows of a whole log, by signal, that are shown."""
    if signals is None or shows_both_ways(funnel):
        return signals
    shown: Shown = signals.filter(pl.col("signal") != OF_DWELL_TIMES[1])
    return shown


_NO_JUDGMENTS = "query without judgments"
SHOWN_AGAIN = "a result is shown again"
MERGED = "URLs with one normal form"
_ANOTHER_RESULT = "position names another result"
_AMBIGUOUS = "ambiguous search_id"
_OF_ACTIONS = {"unmatched": "no usable search within the idle limit", "left out": "no signal", "kept": ""}
_OUT_OF_TIME = "beyond the idle limit"


def _funnel_frame(rows: Counter[tuple[str, str, int, str, str]]) -> pl.DataFrame:
    kept = [(*key, count) for key, count in rows.items() if count]
    names = ["source", "market", "depth", "step", "reason", "rows"]
    return FUNNEL.canonical(pl.DataFrame(kept, schema=names, orient="row").with_columns(judge=pl.lit(EVERY)))


def _check_sum(source: str, read: int, counted: int) -> None:
    if read != counted:
        raise EngineError(
            f"{source}: {read:,} rows were read, but only {counted:,} are accounted for; nothing was written"
        )


_HINTS = {
    "time out of range": " Times must be timestamps or milliseconds since 1970, from 1990 to 2100, and at "
    "most a day after the clock of this machine (or --clock); are these seconds or microseconds?",
    "position below 1": " Positions count from 1: add 1 to those of a log that counts from 0.",
}


def usable_rows(
    source: str,
    rows: pl.DataFrame,
    conditions: Mapping[str, pl.Expr],
    counts: Counter[tuple[str, str]],
    limit: float,
    described: Callable[[pl.DataFrame], str] | None = None,
) -> pl.DataFrame:
    """Return the rows that meet all conditions, and count the others by the first that they do not meet.

    RejectedRowsError if they are more than `limit` of those read; with what the first, `described`, has.
    """
    reasons: dict[str, int] = {}
    first = rows.clear()
    for reason, is_usable in conditions.items():
        wrong = rows.filter(~is_usable)
        first = wrong.head(1) if first.is_empty() else first
        reasons[reason] = wrong.height
        rows = rows.filter(is_usable) if wrong.height else rows
    counts.update({("rejected", reason): n for reason, n in reasons.items() if n})
    try:
        check_rejected(source, reasons, counts["read", ""], limit)
    except RejectedRowsError as error:
        told = "" if described is None else f" The first such row has {described(first)}."
        raise RejectedRowsError(f"{error}{told}") from error
    return rows


def check_rejected(source: str, reasons: Mapping[str, int], read: int, limit: float) -> None:
    """Stop if more than `limit` of rows is unusable; RejectedRowsError has reasons, most frequent first."""
    rejected = sum(reasons.values())
    if rejected <= limit * read:
        return
    ordered = sorted((item for item in reasons.items() if item[1]), key=lambda item: (-item[1], item[0]))
    counts = ", ".join(f"{rows:,} with {reason}" for reason, rows in ordered)
    hint = "".join(text for reason, text in _HINTS.items() if reasons.get(reason))
    raise RejectedRowsError(
        f"{source}: {rejected:,} of {read:,} rows are unusable ({counts}), more than the {limit:.2%} that "
        f"--max-rejected allows; check that the columns are the right ones.{hint}"
    )
