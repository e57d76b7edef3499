"""Counts at every step of the big step, so that nothing disappears silently (contract 3)."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import polars as pl

from pipeline.contracts import EVERY, FUNNEL
from pipeline.engines.base import Engine
from pipeline.errors import EngineError, InputError
from pipeline.rejection import check_rejected
from pipeline.settings import Settings

_FATES = {
    (False, False): "unmatched",
    (True, False): "out of time",
    (True, True): "kept",
}
"""By whether a click finds its search, and in time."""


class LogFunnel:
    """Collects the funnel of one log while the engine works through its steps."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings
        self._rows: Counter[tuple[str, str, int, str, str]] = Counter()

    def count_read_searches(self, read: int) -> None:
        """Count searches read and rejected.

        Raises
        ------
        InputError
            If too many are rejected, or none is left.
        """
        rejected = dict(self._engine.rows("counts/rejected_searches"))
        usable = self._count("usable_searches")
        _check_sum("searches", read, usable + sum(rejected.values()))
        if not read:
            raise InputError("searches: the files hold no rows")
        self._add("searches", "read", "", read)
        self._reject("searches", rejected, read)
        if not usable:
            raise InputError(f"searches: none of the {read:,} rows is usable")

    def count_repeats(self) -> None:
        """Count deliveries of the same search."""
        usable, kept = self._count("usable_searches"), self._count("searches")
        self._add("searches", "repeated", "delivered again", usable - kept)
        self._add("searches", "kept", "", kept)

    def count_clicks(self, read: int) -> None:
        """Count what became of clicks.

        Raises
        ------
        InputError
            If too many are rejected.
        """
        fates: Counter[str] = Counter()
        for ambiguous, matched, in_time, clicks in self._engine.rows("counts/click_fates"):
            fates["ambiguous" if ambiguous else _FATES[matched, in_time]] += clicks
        rejected = dict(self._engine.rows("counts/rejected_clicks"))
        _check_sum("clicks", read, sum(rejected.values()) + fates.total())
        rejected["ambiguous search_id"] = fates["ambiguous"]
        self._add("clicks", "read", "", read)
        self._reject("clicks", rejected, read)
        self._add("clicks", "unmatched", "no usable search", fates["unmatched"])
        self._add("clicks", "out of time", "beyond the idle limit", fates["out of time"])
        self._add("clicks", "kept", "", fates["kept"])

    def count_positions(self, patterns: pl.DataFrame) -> None:
        """Count where kept clicks landed, for every depth up to the stored one.

        Clicks that land on the same result of a session count once in its pattern.
        """
        landed: Counter[int | None] = Counter()
        left_out = 0
        for position, on_first_page, clicks in self._engine.rows("counts/click_positions"):
            if on_first_page:
                landed[position] += clicks
            else:
                left_out += clicks
        masks, sessions = patterns["click_mask"].to_numpy(), patterns["sessions"].to_numpy()
        every, distinct, once = sum(landed.values()), 0, 0
        for depth in range(1, self._settings.stored_depth + 1):
            distinct += int(np.sum(sessions, where=(masks >> (depth - 1)) & 1 == 1))
            once += landed[depth]
            self._add("clicks", "left out", "session begins on a later page", left_out, depth=depth)
            self._add("clicks", "elsewhere", "not in the top results", every - once, depth=depth)
            self._add("clicks", "again", "same result clicked again", once - distinct, depth=depth)
            self._add("clicks", "in patterns", "", distinct, depth=depth)

    def count_sessions(self) -> None:
        """Count sessions formed and left out, by market."""
        for market, on_first_page, sessions in self._engine.rows("counts/sessions"):
            self._add("sessions", "formed", "", sessions, market=market)
            if not on_first_page:
                self._add("sessions", "left out", "begins on a later page", sessions, market=market)

    def frame(self) -> pl.DataFrame:
        """Return the funnel in its contract's form; steps without rows are left away."""
        rows = [(*key, count) for key, count in self._rows.items() if count]
        names = ["source", "market", "depth", "step", "reason", "rows"]
        frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(judge=pl.lit(EVERY))
        return FUNNEL.canonical(frame)

    def _count(self, step: str) -> int:
        return int(self._engine.rows(f"counts/{step}")[0][0])

    def _add(
        self, source: str, step: str, reason: str, rows: int, *, market: str = EVERY, depth: int = 0
    ) -> None:
        self._rows[source, market, depth, step, reason] += rows

    def _reject(self, source: str, reasons: Mapping[str, int], read: int) -> None:
        for reason, rows in reasons.items():
            self._add(source, "rejected", reason, rows)
        check_rejected(source, reasons, read, self._settings.max_rejected)


def _check_sum(source: str, read: int, counted: int) -> None:
    if read != counted:
        raise EngineError(
            f"{source}: {read:,} rows were read but {counted:,} accounted for; nothing was written"
        )
