"""A log to its pattern table, batch by batch, as a sequence of SQL steps on the embedded engine."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from clickassay.core.contracts.form import DataType
from clickassay.core.errors import EngineError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.settings import Settings
from clickassay.logs.embedded.scan import (
    lists_with_unnormalised_urls,
    query_fingerprints,
    unnormalised_urls,
    url_fingerprints,
)
from clickassay.logs.engine import Batch, Engine
from clickassay.logs.steps import check, step_values
from clickassay.patterns.funnel import LogFunnel
from clickassay.patterns.table import PatternTable

_MERGE_ROWS = 6_000_000
_NO_MAP = pl.DataFrame(schema={"old": pl.UInt64, "new": pl.UInt64})


@dataclass(frozen=True)
class LogBatch:
    """The rows of a window of time, in canonical types.

    Attributes
    ----------
    searches, clicks
        Rows with a column `carried`: whether they were already read with an earlier batch.
    watermark_ms
        No row of a later batch is older (ms since 1970, UTC).
    """

    searches: pl.LazyFrame
    clicks: pl.LazyFrame
    watermark_ms: int


@dataclass(frozen=True)
class CarryOver:
    """Searches and clicks of open sessions, and late clicks, which are read again with the next batch."""

    searches: pl.DataFrame
    clicks: pl.DataFrame


class EmbeddedSessioniser:
    """Adds up the pattern table of a log, one batch after the other, in order of time.

    Parameters
    ----------
    engine
        Runs the SQL, and holds the sums.
    settings
        Depth, idle limit and scope, folds, normalisation.
    by_url
        Whether clicks name a URL, or else a position.
    judged_queries
        market (null = every market), query: sessions of other queries are only counted; None = keep all.
    """

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        *,
        by_url: bool,
        judged_queries: pl.DataFrame | None = None,
    ) -> None:
        self._engine = engine
        self.values = step_values(settings, by_url=by_url)
        self._query_fp_map, self._url_fp_map = _NO_MAP, _NO_MAP
        self._unnormalised_lists = pl.Series([], dtype=pl.UInt64)
        self._judged_queries, self._kept_queries = judged_queries, pl.Series([], dtype=pl.UInt64)
        self._placeholders = pl.DataFrame(schema=_PLACEHOLDERS)
        self.funnel = LogFunnel(settings.stored_depth)
        self._last: Batch | None = None
        self._added = self._merged = 0  # rows of the sums since they were merged last, and then
        self._start()

    def _start(self) -> None:
        self._engine.register("queries_read", pl.DataFrame(schema=_QUERIES))
        self._engine.table("query_texts", "embedded/query_texts")
        self._engine.register("texts_read", pl.DataFrame(schema=_TEXTS))
        self._engine.table("list_texts", "embedded/list_texts")
        if self._judged_queries is not None:
            self._engine.register("judged_queries", self._judged_queries)
        self._add_placeholders(self._placeholders)

    def add(
        self, batch: LogBatch, report: Callable[[int, int], None], progress: Progress = silent
    ) -> CarryOver:
        """Count a batch; return the rows that the next one must read again.

        Parameters
        ----------
        batch
            Rows that come after those of all batches before.
        report
            Called with numbers of searches and clicks read since.

        Raises
        ------
        EngineError
            If the engine gives up, or a check of the step fails.
        """
        self._drop_batch()
        self.values["watermark_ms"] = batch.watermark_ms
        searches = self._read_searches(batch.searches, lambda rows: report(rows, 0))
        clicks = self._engine.read("clicks", batch.clicks, lambda rows: report(0, rows))
        self._engine.table("rejected_clicks", "steps/4_clicks/rejected_clicks", **self.values)
        self._engine.view("usable_clicks", "steps/4_clicks/usable_clicks")
        progress(Event("joining clicks to searches"))
        self._attribute_clicks(clicks)
        progress(Event("forming sessions"))
        self._form_sessions(searches)
        self._count(searches, clicks)
        self._last = searches
        return self._carry_over(searches, clicks)

    def _drop_batch(self) -> None:
        """Free the memory of the batch before: the next one takes as much."""
        self._last = None
        self._engine.drop(*_BATCH_TABLES)

    def _read_searches(self, frame: pl.LazyFrame, report: Callable[[int], None]) -> Batch:
        """Read searches once: numbers for SQL, rejected rows by reason, texts kept where first seen."""
        engine = self._engine
        rows = engine.read("searches", frame, report)
        engine.table("rejected_searches", "steps/3_clean_searches/rejected_searches", **self.values)
        self._keep_queries(rows)
        if self._judged_queries is not None:
            self._kept_queries = pl.concat(
                [self._kept_queries, engine.fetch("embedded/judged_queries_shown")["query_fp"]]
            )
            self._add_placeholders(rows.keep_only(self._kept_queries))
        self._keep_lists(rows)
        rows.map_values("query_fp", self._query_fp_map)
        rows.map_values("urls", self._url_fp_map, only=("list_fp", self._unnormalised_lists))
        engine.view("usable_searches", "steps/3_clean_searches/usable_searches")
        engine.table("duplicate_deliveries", "steps/3_clean_searches/duplicate_deliveries", **self.values)
        engine.view("searches", "steps/3_clean_searches/searches")
        return rows

    def _keep_queries(self, rows: Batch) -> None:
        """Keep the texts of new queries, and the fingerprints of their normal forms."""
        engine = self._engine
        new = engine.fetch("embedded/new_queries").sort("row_nr")
        texts = rows.take(new["row_nr"], ("market", "query"))
        engine.register(
            "queries_read", texts.select("market", raw_query="query").with_columns(new["query_fp"])
        )
        engine.append("query_texts", "embedded/query_texts")
        changed = engine.fetch("embedded/unnormalised_queries")
        found = changed.select(old="query_fp").with_columns(new=query_fingerprints(changed))
        self._query_fp_map = pl.concat([self._query_fp_map, found])

    def _add_placeholders(self, markets: pl.DataFrame) -> None:
        """Keep the placeholders of lists of queries without judgments."""
        self._placeholders = pl.concat([self._placeholders, markets]).unique()
        self._engine.register("placeholders_read", self._placeholders)
        self._engine.table("placeholder_lists", "embedded/placeholder_lists")

    def _keep_lists(self, rows: Batch) -> None:
        """Keep the texts of new lists, and the fingerprints of their URLs' normal forms."""
        engine = self._engine
        engine.table("lists_of_batch", "embedded/lists_of_batch")
        new = engine.fetch("embedded/new_lists").sort("row_nr")
        texts = rows.take(new["row_nr"], ("market", "query", "results")).hstack(new.drop("row_nr"))
        texts = texts.with_columns(has_unnormalised_urls=self._find_unnormalised(texts["results"]))
        self._unnormalised_lists = pl.concat(
            [self._unnormalised_lists, texts.filter("has_unnormalised_urls")["list_fp"]]
        )
        engine.register("texts_read", texts.select(*_TEXTS))
        check(engine, "embedded/list_fingerprint_collisions")
        check(engine, "embedded/query_fingerprint_collisions")
        engine.append("list_texts", "embedded/list_texts")
        if len(self._placeholders):
            check(engine, "checks/placeholder_collisions")

    def _find_unnormalised(self, lists: pl.Series) -> pl.Series:
        """Return which lists show a URL that has another normal form, and map these URLs."""
        if not self.values["normalise_urls"]:
            return pl.repeat(False, len(lists), dtype=pl.Boolean, eager=True)
        has_unnormalised = lists_with_unnormalised_urls(lists)
        self._map_urls(unnormalised_urls(lists.filter(has_unnormalised).explode()))
        return has_unnormalised

    def _map_urls(self, urls: pl.Series) -> int:
        """Map fingerprints of URLs to those of their normal forms where these differ; return how many do."""
        if not len(urls):
            return 0
        self._engine.register("urls_read", urls.alias("url").to_frame())
        found = self._engine.fetch("embedded/unnormalised_urls")
        mapping = pl.DataFrame(
            {"old": url_fingerprints(found["url"]), "new": url_fingerprints(found["normal"])}
        )
        self._url_fp_map = pl.concat([self._url_fp_map, mapping]).unique("old")
        return found.height

    def _attribute_clicks(self, clicks: Batch) -> None:
        engine = self._engine
        if self.values["by_url"]:
            clicks.map_values("url_fp", self._url_fp_map)
        engine.table("attributed_clicks", "steps/4_clicks/attributed_clicks", **self.values)
        if self.values["by_url"] and self.values["normalise_urls"]:
            off_list = clicks.take(engine.fetch("embedded/clicks_off_the_list")["row_nr"], ("url",))["url"]
            if self._map_urls(unnormalised_urls(off_list)):
                clicks.map_values("url_fp", self._url_fp_map)
                engine.table("attributed_clicks", "steps/4_clicks/attributed_clicks", **self.values)

    def _form_sessions(self, searches: Batch) -> None:
        engine = self._engine
        bits = engine.fetch("steps/5_visits/click_bits", **self.values)
        searches.set_bits("click_mask", bits["row_nr"], bits["bits"])
        engine.register("repeats_read", searches.possible_repeats(("user_fp", "query_fp")).to_frame())
        engine.view("possible_repeats", "embedded/possible_repeats")
        engine.view("searches_with_masks", "embedded/searches_with_masks")
        self._tables(
            "steps/5_visits/repeated_user_queries",
            "steps/5_visits/user_queries_to_sessionise",
            "steps/5_visits/searches_to_sessionise",
            "steps/5_visits/searches_in_one_session",
        )
        tied = engine.fetch("steps/5_visits/tied_searches")["row_nr"]
        engine.register("tied_read", searches.take(tied, ("search_id",)).with_columns(row_nr=tied))
        engine.table("tie_breakers", "embedded/tie_breakers")
        self._tables(
            "steps/5_visits/visits", "steps/5_visits/open_visits", "steps/6_sessions/session_searches"
        )
        engine.view("clicks_of_sessions", "steps/6_sessions/clicks_of_sessions")
        self._tables("steps/6_sessions/session_clicks", "steps/6_sessions/session_masks")
        engine.view("sessions", "steps/6_sessions/sessions")
        engine.table("session_patterns", "steps/6_sessions/session_patterns", **self.values)
        check(engine, "checks/searches_not_in_one_session")
        self._added += engine.append("closed_patterns", "steps/7_patterns/closed_patterns")
        if self._added > max(_MERGE_ROWS, self._merged):  # so that every row is merged few times
            self._merged = engine.table("closed_patterns", "embedded/merged_patterns")
            self._added = 0

    def _count(self, searches: Batch, clicks: Batch) -> None:
        engine = self._engine
        usable, carried, kept, carried_clicks = engine.rows("funnel/searches")[0]
        self.funnel.count_searches(
            read=searches.height - carried,
            rejected=dict(engine.rows("funnel/rejected_searches")),
            usable=usable - carried,
            kept=kept - carried,
        )
        self.funnel.count_clicks(
            read=clicks.height - carried_clicks,
            carried=carried_clicks,
            rejected=dict(engine.rows("funnel/rejected_clicks")),
            outcomes=engine.rows("funnel/attributed_clicks"),
            orphan_clicks=self._orphan_clicks(clicks),
        )
        self.funnel.count_positions(engine.rows("funnel/click_positions"))

    def _orphan_clicks(self, clicks: Batch) -> pl.DataFrame:
        """Return search ids of clicks that no search of the batch has: search_id, is_open, clicks."""
        found = self._engine.fetch("steps/4_clicks/orphan_clicks", **self.values)
        return clicks.take(found["row_nr"], ("search_id",)).hstack(found.select("is_open", "clicks"))

    def _carry_over(self, searches: Batch, clicks: Batch) -> CarryOver:
        open_searches = self._engine.fetch("steps/8_carry_over/open_searches")["row_nr"]
        open_clicks = self._engine.fetch("steps/8_carry_over/open_clicks", **self.values)["row_nr"]
        return CarryOver(searches.take(open_searches), clicks.take(open_clicks))

    def ids(self) -> pl.Series:
        """Return the digests of the search ids that are new in the last batch, sorted, each once."""
        searches = self._last
        if searches is None:
            raise EngineError("search ids were requested before a batch was read")
        new = self._engine.fetch("steps/8_carry_over/new_search_ids")
        if new.schema["search_fp"] == pl.Int64:
            return new["search_fp"].unique().sort()
        self._engine.register("ids_read", searches.take(new["row_nr"], ("search_id",)))
        return self._engine.fetch("embedded/new_id_digests")["id"].unique().sort()

    def closed_table(self, *, is_last: bool = False) -> PatternTable:
        """Return the pattern table of all closed sessions; `is_last` if no batch follows."""
        self._drop_batch()
        self._engine.table("chosen_patterns", "embedded/merged_patterns")
        self._engine.drop("closed_patterns")
        return self._table(is_open=False, is_last=is_last)

    def open_table(self) -> PatternTable:
        """Return the pattern table of open sessions, as if the log ended here."""
        self._engine.table("chosen_patterns", "steps/7_patterns/open_patterns")
        return self._table(is_open=True)

    def start_afresh(self) -> None:
        """Begin new sums; texts stay known."""
        self._engine.drop("closed_patterns", "chosen_patterns", "list_configurations")
        self.funnel = LogFunnel(int(self.values["depth"]))
        self._added = self._merged = 0

    def _table(self, *, is_open: bool, is_last: bool = False) -> PatternTable:
        engine, values = self._engine, self.values
        engine.table("list_configurations", "steps/7_patterns/list_configurations", **values)
        check(engine, "checks/configuration_number_collisions")
        configurations = engine.fetch("steps/7_patterns/configurations", **values)
        if is_last:
            engine.drop("list_texts")
        configurations = configurations.sort("configuration_nr")
        patterns = engine.fetch("steps/7_patterns/patterns").sort("configuration_nr", "fold", "click_mask")
        # hexadecimal digits are in the order of the numbers they spell, and numbers are sorted faster
        patterns = patterns.with_columns(_ids_of(patterns, configurations))
        return PatternTable(
            configurations=configurations.drop("configuration_nr"),
            patterns=patterns.drop("configuration_nr"),
            queries=engine.fetch("steps/7_patterns/queries"),
            funnel=self.funnel.frame(patterns, engine.rows("funnel/sessions"), is_open=is_open),
            info={"stored_depth": values["depth"]},
        )

    def _tables(self, *steps: str) -> None:
        """Create tables that are named as the files of their steps."""
        for step in steps:
            self._engine.table(step.rpartition("/")[2], step, **self.values)


def _ids_of(patterns: pl.DataFrame, configurations: pl.DataFrame) -> pl.Series:
    """Return the id of each pattern's configuration; both are sorted by its number."""
    places = configurations["configuration_nr"].search_sorted(patterns["configuration_nr"])
    return configurations["configuration_id"].gather(places)


_BATCH_TABLES = (
    *(
        "searches_read",
        "clicks_read",
        "texts_read",
        "urls_read",
        "attributed_clicks",
        "lists_of_batch",
        "repeats_read",
    ),
    *("visits", "searches_to_sessionise", "searches_in_one_session"),
    *("session_searches", "session_clicks", "session_masks"),
)
"""The largest tables of a batch that no later step reads."""

_PLACEHOLDERS: dict[str, DataType] = {"market": pl.String, "list_fp": pl.UInt64}
_QUERIES: dict[str, DataType] = {"market": pl.String, "raw_query": pl.String, "query_fp": pl.UInt64}
_TEXTS: dict[str, DataType] = {
    "list_fp": pl.UInt64,
    "query_fp": pl.UInt64,
    "has_unnormalised_urls": pl.Boolean,
    "market": pl.String,
    "query": pl.String,
    "results": pl.List(pl.String),
}
