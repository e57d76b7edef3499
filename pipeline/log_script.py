"""The big step for engines that read the log themselves: one sequence of steps, all of it SQL.

The embedded default reads with Polars and hands numbers to SQL (`PatternBuilder`). Where the log lies in a
cluster, reading is SQL too (``sql/reading``); from there on the steps are the same.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import polars as pl

from pipeline.engines.base import Value
from pipeline.errors import EngineError
from pipeline.log_funnel import LogFunnel
from pipeline.table_form import DataType


class ScriptEngine(Protocol):
    """Gives names to the SELECTs of steps."""

    def stage(self, name: str, step: str, **values: Value) -> None:
        """Write the rows of `step`, and read them again as table `name`."""

    def view(self, name: str, step: str, **values: Value) -> None:
        """Give the SELECT of `step` a name, without running it."""

    def rows(self, step: str, **values: Value) -> list[tuple[Any, ...]]:
        """Return the few rows of `step`."""
        ...

    def rows_of(self, *steps: str) -> list[list[tuple[Any, ...]]]:
        """Return the few rows of each of several steps."""
        ...

    def is_empty(self, name: str) -> bool:
        """Tell whether table `name` holds no row."""
        ...


COUNTS = (
    *("rows_read", "searches", "rejected_searches", "rejected_clicks", "click_fates", "orphans"),
    "click_positions",
)
"""Steps of ``sql/counts`` that a batch ends with."""


class LogScript:
    """Runs the steps of a log on an engine that has the views ``searches_log`` and ``clicks_log``.

    Parameters
    ----------
    engine
        Runs, or writes down, the SQL.
    values
        For the ``$`` parameters of the steps.
    only_judged
        Whether lists of queries that are not in ``judged_queries`` are left out.
    """

    def __init__(self, engine: ScriptEngine, values: Mapping[str, Value], *, only_judged: bool) -> None:
        self._engine, self._values, self._only_judged = engine, dict(values), only_judged

    def at_watermark(self, watermark_ms: int) -> None:
        """Say from when on rows of later batches are (ms since 1970, UTC)."""
        self._values["watermark_ms"] = watermark_ms

    def tell_ids_apart(self) -> None:
        """Make ``repeated_ids`` and ``ambiguous_ids`` of a whole log, whose batches need to know them."""
        engine = self._engine
        self._view("log_ids", "reading/log_ids")
        engine.stage("repeated_ids", "reading/repeated_ids")
        if engine.is_empty("repeated_ids"):
            engine.view("ambiguous_ids", "reading/no_ids")
            return
        engine.view("fingerprinted_searches", "reading/fingerprinted_searches")
        engine.view("searches_to_read", "reading/repeated_searches")
        engine.stage("searches_read", "reading/searches_read")
        engine.view("ids_read", "reading/ids_read")
        self._check("checks/search_id_fingerprints")
        self._tell_rejected("searches")
        engine.stage("ambiguous_ids", "sessions/ambiguous_ids")

    def read_batch(self) -> None:
        """Read searches and clicks once, and tell those apart that cannot be used."""
        self._read_searches()
        self._tell_rejected("searches")
        self._read_clicks()
        self._tell_rejected("clicks")
        self._supersede()
        self._engine.view("searches", "sessions/searches")

    def _read_searches(self) -> None:
        engine = self._engine
        engine.view("fingerprinted_searches", "reading/fingerprinted_searches")
        engine.view("searches_to_read", "reading/every_search")
        engine.stage("shown_queries", "reading/shown_queries")
        self._check("checks/query_texts")
        if self._only_judged:
            engine.stage("kept_queries", "reading/kept_queries")
            engine.stage("left_out_markets", "reading/left_out_markets")
            engine.stage("searches_staged", "reading/judged_searches_read")
        else:
            engine.view("left_out_markets", "reading/no_markets")
            engine.stage("searches_staged", "reading/searches_read")
        engine.view("shown_at", "reading/shown_at")
        self._stage("shown_texts", "reading/shown_texts")
        self._check("checks/list_texts")
        engine.stage("list_names", "reading/list_names")
        renamed = not engine.is_empty("list_names")
        engine.view("searches_read", f"reading/{'renamed_searches' if renamed else 'searches_as_read'}")

    def _read_clicks(self) -> None:
        engine = self._engine
        self._stage("url_names", "reading/url_names")
        renamed = not engine.is_empty("url_names")
        engine.stage("clicks_read", f"reading/{'renamed_clicks_read' if renamed else 'clicks_read'}")

    def _tell_rejected(self, what: str) -> None:
        self._stage(f"rejected_{what}", f"sessions/rejected_{what}")
        self._engine.view(f"usable_{what}", f"sessions/usable_{what}")

    def _supersede(self) -> None:
        if self._engine.is_empty("repeated_ids"):
            self._engine.view("superseded_searches", "reading/no_searches")
        else:
            self._stage("superseded_searches", "sessions/superseded_searches")

    def form_sessions(self) -> None:
        """Place clicks in the lists of their searches, tell sessions apart, and count them."""
        engine, values = self._engine, self._values
        self._stage("click_fates", "sessions/click_fates")
        self._view("search_bits", "sessions/search_bits")
        engine.view("masks", "reading/masks")
        engine.view("masked_searches", "reading/masked_searches")
        engine.view("suspected_searches", "reading/suspected_searches")
        engine.stage("repeated_pairs", "sessions/repeated_pairs")
        self._view("returning_pairs", "sessions/returning_pairs")
        self._stage("searches_of_returning_users", "sessions/searches_of_returning_users")
        engine.view("tied_searches", "sessions/tied_searches")
        engine.view("tied_ids", "reading/tied_ids")
        self._stage("visits", "sessions/visits")
        self._view("open_visits", "sessions/open_visits")
        self._stage("session_searches", "sessions/session_searches")
        self._stage("session_clicks", "sessions/session_clicks")
        self._view("session_masks", "sessions/session_masks")
        engine.view("sessions", "sessions/sessions")
        self._stage("session_patterns", "patterns/session_patterns")
        self._check("checks/sessions_add_up")

    def choose(self, step: str) -> None:
        """Make the tables of the seam from some of the sessions: ``closed_patterns`` or ``open_patterns``."""
        engine = self._engine
        engine.view("chosen_patterns", f"patterns/{step}")
        if self._only_judged:
            self._check("checks/left_out_fingerprints")
        self._stage("list_configurations", "patterns/list_configurations")
        self._check("checks/configuration_numbers")
        self._view("configurations", "patterns/configurations")
        engine.view("patterns", "patterns/patterns")
        engine.view("queries", "patterns/queries")

    def count(self, funnel: LogFunnel) -> None:
        """Count the batch in a funnel."""
        self._view("orphans", "sessions/orphans")
        rows = self._engine.rows_of(*(f"counts/{step}" for step in COUNTS))
        read, told, rejected_searches, rejected_clicks, fates, orphans, positions = rows
        searches, clicks = read[0]
        usable, carried, kept, carried_clicks = told[0]
        funnel.count_searches(
            read=searches - carried,
            rejected=dict(rejected_searches),
            usable=usable - carried,
            kept=kept - carried,
        )
        funnel.count_clicks(
            read=clicks - carried_clicks,
            carried=carried_clicks,
            rejected=dict(rejected_clicks),
            fates=fates,
            orphans=pl.DataFrame(orphans, schema=_ORPHANS, orient="row").with_columns(search_id=pl.lit(None)),
        )
        funnel.count_positions(positions)

    def sessions(self) -> list[tuple[Any, ...]]:
        """Return how many of the sessions chosen last there are: (market, query is kept, first page, sessions)."""
        return self._engine.rows("counts/sessions")

    def _view(self, name: str, step: str) -> None:
        self._engine.view(name, step, **self._values)

    def _stage(self, name: str, step: str) -> None:
        self._engine.stage(name, step, **self._values)

    def _check(self, step: str) -> None:
        if self._engine.rows(step):
            raise EngineError(f"check {step} found rows where there must be none; nothing was written")


_ORPHANS: dict[str, DataType] = {"is_open": pl.Boolean, "clicks": pl.Int64}
