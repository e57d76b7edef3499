"""The log stage for engines that read the log themselves: one sequence of steps, all of it SQL."""

from collections.abc import Mapping
from typing import Any

from clickassay.core.errors import EngineError
from clickassay.core.settings import Settings
from clickassay.logs.engine import ScriptEngine, Value
from clickassay.patterns.counts import COUNTS, count_batch
from clickassay.patterns.funnel import LogFunnel

FIRST_MS = 631_152_000_000  # 1990-01-01 UTC
END_MS = 4_133_980_800_000  # 2101-01-01 UTC: the year 2100 is the last one inside
NEVER_MS = 2 * END_MS
"""The watermark after the last batch of a log that has ended: no row can come any more."""


def step_values(settings: Settings, *, by_url: bool) -> dict[str, Value]:
    """Return the values of the steps' ``$`` parameters, but for ``watermark_ms``.

    Parameters
    ----------
    settings
        Depth, idle limit and scope, folds, normalisation.
    by_url
        Whether clicks name a URL, or else a position.
    """
    return {
        "first_ms": FIRST_MS,
        "end_ms": END_MS,
        "idle_ms": settings.idle_ms,
        "per_query": settings.idle_scope == "query",
        "depth": settings.stored_depth,
        "folds": settings.folds,
        "normalise_urls": settings.normalise_urls,
        "by_url": by_url,
    }


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

    def tell_ids_apart(self, *, before: bool = False) -> None:
        """Make ``repeated_ids`` and ``ambiguous_ids`` of a whole log, whose batches need to know them.

        With `before`, table ``ambiguous_log`` holds search ids that earlier parts of the log found ambiguous.
        """
        engine = self._engine
        found = "ambiguous_found" if before else "ambiguous_ids"
        self._view("log_ids", "reading/log_ids")
        engine.stage("repeated_ids", "reading/repeated_ids")
        if engine.is_empty("repeated_ids"):
            engine.view(found, "reading/no_ids")
        else:
            self._find_ambiguous(found)
        if before:
            engine.view("ambiguous_before", "reading/ambiguous_before")
            engine.view("ambiguous_ids", "reading/known_ambiguous")
            engine.stage("ambiguous_texts", "reading/ambiguous_texts")

    def _find_ambiguous(self, name: str) -> None:
        engine = self._engine
        engine.view("fingerprinted_searches", "reading/fingerprinted_searches")
        engine.view("searches_to_read", "reading/repeated_searches")
        engine.stage("searches_read", "reading/searches_read")
        engine.view("ids_read", "reading/ids_read")
        self._check("checks/search_id_fingerprints")
        self._tell_rejected("searches")
        engine.stage(name, "sessions/ambiguous_ids")

    def carry(self) -> None:
        """Name the rows that the next batch must read again, and the search ids that are new."""
        engine = self._engine
        engine.view("carried_searches", "sessions/carried_searches")
        self._view("carried_clicks", "sessions/carried_clicks")
        engine.view("batch_ids", "sessions/batch_ids")

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
        engine.stage("shown_at", "reading/shown_at")  # so that its size is known
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
        engine = self._engine
        self._stage("click_fates", "sessions/click_fates")
        self._view("search_bits", "sessions/search_bits")
        engine.view("masks", "reading/masks")
        engine.view("masked_searches", "reading/masked_searches")
        engine.view("suspected_searches", "reading/suspected_searches")
        engine.stage("repeated_pairs", "sessions/repeated_pairs")
        self._stage("returning_pairs", "sessions/returning_pairs")
        self._stage("searches_of_returning_users", "sessions/searches_of_returning_users")
        engine.stage("tied_searches", "sessions/tied_searches")
        engine.stage("tied_ids", "reading/tied_ids")
        self._stage("visits", "sessions/visits")
        self._view("open_visits", "sessions/open_visits")
        self._stage("session_searches", "sessions/session_searches")
        engine.stage("later_clicks", "sessions/later_clicks")
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
        count_batch(funnel, self.counts())

    def counts(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of each step of `COUNTS`."""
        self._view("orphans", "sessions/orphans")
        return dict(zip(COUNTS, self._engine.rows_of(*(f"counts/{step}" for step in COUNTS)), strict=True))

    def sessions(self) -> list[tuple[Any, ...]]:
        """Return the numbers of sessions chosen last: (market, query is kept, first page, sessions)."""
        return self._engine.rows("counts/sessions")

    def _view(self, name: str, step: str) -> None:
        self._engine.view(name, step, **self._values)

    def _stage(self, name: str, step: str) -> None:
        self._engine.stage(name, step, **self._values)

    def _check(self, step: str) -> None:
        if self._engine.rows(step):
            raise EngineError(f"check {step} found rows where there must be none; nothing was written")
