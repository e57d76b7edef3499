"""Raw logs to pattern table, batch by batch, as a sequence of SQL steps on the embedded engine."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from clickassay.core.contracts.form import DataType
from clickassay.core.errors import EngineError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.settings import Settings
from clickassay.logs.embedded.scan import lists_with_odd_urls, odd_urls, query_fingerprints, url_fingerprints
from clickassay.logs.engine import Engine, Rows
from clickassay.logs.steps import check, step_values
from clickassay.patterns.funnel import LogFunnel
from clickassay.patterns.table import PatternTable

_MERGE_ROWS = 6_000_000
_RENAMES = pl.DataFrame(schema={"old": pl.UInt64, "new": pl.UInt64})


@dataclass(frozen=True)
class LogBatch:
    """The rows of a window of time, in canonical types.

    Attributes
    ----------
    searches, clicks
        Rows with a column `carried`: whether they were read with an earlier batch already.
    watermark_ms
        No row of a later batch is older (ms since 1970, UTC).
    """

    searches: pl.LazyFrame
    clicks: pl.LazyFrame
    watermark_ms: int


@dataclass(frozen=True)
class Carry:
    """Rows to be read again with the next batch, as they were read."""

    searches: pl.DataFrame
    clicks: pl.DataFrame


class PatternBuilder:
    """Adds up the pattern table of a log, one batch after the other, in order of time.

    Parameters
    ----------
    engine
        Runs the SQL; holds the sums.
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
        self._query_names, self._url_names = _RENAMES, _RENAMES
        self._odd_lists = pl.Series([], dtype=pl.UInt64)
        self._judged_queries, self._kept_queries = judged_queries, pl.Series([], dtype=pl.UInt64)
        self._left_out = pl.DataFrame(schema=_LEFT_OUT)
        self.funnel = LogFunnel(settings.stored_depth)
        self._last: Rows | None = None
        self._added = self._merged = 0  # rows of the sums since they were merged last, and then
        self._start()

    def _start(self) -> None:
        self._engine.show("queries_read", pl.DataFrame(schema=_QUERIES))
        self._engine.table("query_texts", "embedded/query_texts")
        self._engine.show("texts_read", pl.DataFrame(schema=_TEXTS))
        self._engine.table("list_texts", "embedded/list_texts")
        if self._judged_queries is not None:
            self._engine.show("judged_queries", self._judged_queries)
        self._leave_out(self._left_out)

    def add(self, batch: LogBatch, report: Callable[[int, int], None], progress: Progress = silent) -> Carry:
        """Count a batch; return what the next one must read again.

        Parameters
        ----------
        batch
            Rows that come after those of all batches before.
        report
            Told how many searches and clicks more are read.

        Raises
        ------
        EngineError
            If the engine gives up, or a check of the step fails.
        """
        self._let_go()
        self.values["watermark_ms"] = batch.watermark_ms
        searches = self._read_searches(batch.searches, lambda rows: report(rows, 0))
        clicks = self._engine.read("clicks", batch.clicks, lambda rows: report(0, rows))
        self._engine.table("rejected_clicks", "steps/4_clicks/rejected_clicks", **self.values)
        self._engine.view("usable_clicks", "steps/4_clicks/usable_clicks")
        progress(Event("joining clicks to searches"))
        self._place_clicks(clicks)
        progress(Event("forming sessions"))
        self._form_sessions(searches)
        self._count(searches, clicks)
        self._last = searches
        return self._carry(searches, clicks)

    def _let_go(self) -> None:
        """Free the memory of the batch before: the next one takes as much."""
        self._last = None
        self._engine.drop(*_OF_A_BATCH)

    def _read_searches(self, frame: pl.LazyFrame, report: Callable[[int], None]) -> Rows:
        """Read searches once: numbers for SQL, rejected rows told apart, texts kept where first seen."""
        engine = self._engine
        rows = engine.read("searches", frame, report)
        engine.table("rejected_searches", "steps/3_clean_searches/rejected_searches", **self.values)
        self._keep_queries(rows)
        if self._judged_queries is not None:
            self._kept_queries = pl.concat(
                [self._kept_queries, engine.fetch("embedded/judged_queries_shown")["query_fp"]]
            )
            self._leave_out(rows.keep_only(self._kept_queries))
        self._keep_lists(rows)
        rows.rename("query_fp", self._query_names)
        rows.rename("urls", self._url_names, only=("list_fp", self._odd_lists))
        engine.view("usable_searches", "steps/3_clean_searches/usable_searches")
        engine.table("duplicate_deliveries", "steps/3_clean_searches/duplicate_deliveries", **self.values)
        engine.view("searches", "steps/3_clean_searches/searches")
        return rows

    def _keep_queries(self, rows: Rows) -> None:
        """Keep the texts of queries first seen, and the fingerprints of normal forms."""
        engine = self._engine
        new = engine.fetch("embedded/new_queries").sort("row_nr")
        texts = rows.texts(new["row_nr"], ("market", "query"))
        engine.show("queries_read", texts.select("market", raw_query="query").with_columns(new["query_fp"]))
        engine.append("query_texts", "embedded/query_texts")
        odd = engine.fetch("embedded/unnormalised_queries")
        found = odd.select(old="query_fp").with_columns(new=query_fingerprints(odd))
        self._query_names = pl.concat([self._query_names, found])

    def _leave_out(self, markets: pl.DataFrame) -> None:
        """Remember the numbers that stand for lists of queries without judgments."""
        self._left_out = pl.concat([self._left_out, markets]).unique()
        self._engine.show("left_out_read", self._left_out)
        self._engine.table("placeholder_lists", "embedded/placeholder_lists")

    def _keep_lists(self, rows: Rows) -> None:
        """Keep the texts of lists first seen, and the fingerprints of their URLs' normal forms."""
        engine = self._engine
        engine.table("lists_of_batch", "embedded/lists_of_batch")
        new = engine.fetch("embedded/new_lists").sort("row_nr")
        texts = rows.texts(new["row_nr"], ("market", "query", "results")).hstack(new.drop("row_nr"))
        texts = texts.with_columns(odd_urls=self._renamed_in(texts["results"]))
        self._odd_lists = pl.concat([self._odd_lists, texts.filter("odd_urls")["list_fp"]])
        engine.show("texts_read", texts.select(*_TEXTS))
        check(engine, "embedded/list_fingerprint_collisions")
        check(engine, "embedded/query_fingerprint_collisions")
        engine.append("list_texts", "embedded/list_texts")
        if len(self._left_out):
            check(engine, "checks/placeholder_collisions")

    def _renamed_in(self, lists: pl.Series) -> pl.Series:
        """Tell which lists show a URL that has another normal form, and remember these URLs."""
        if not self.values["normalise_urls"]:
            return pl.repeat(False, len(lists), dtype=pl.Boolean, eager=True)
        odd = lists_with_odd_urls(lists)
        self._remember_urls(odd_urls(lists.filter(odd).explode()))
        return odd

    def _remember_urls(self, odd: pl.Series) -> int:
        """Add the fingerprints of URLs whose normal form is another to those known; return how many."""
        if not len(odd):
            return 0
        self._engine.show("urls_read", odd.alias("url").to_frame())
        found = self._engine.fetch("embedded/unnormalised_urls")
        names = pl.DataFrame(
            {"old": url_fingerprints(found["url"]), "new": url_fingerprints(found["normal"])}
        )
        self._url_names = pl.concat([self._url_names, names]).unique("old")
        return found.height

    def _place_clicks(self, clicks: Rows) -> None:
        engine = self._engine
        if self.values["by_url"]:
            clicks.rename("url_fp", self._url_names)
        engine.table("attributed_clicks", "steps/4_clicks/attributed_clicks", **self.values)
        if self.values["by_url"] and self.values["normalise_urls"]:
            elsewhere = clicks.texts(engine.fetch("embedded/clicks_off_the_list")["row_nr"], ("url",))["url"]
            if self._remember_urls(odd_urls(elsewhere)):
                clicks.rename("url_fp", self._url_names)
                engine.table("attributed_clicks", "steps/4_clicks/attributed_clicks", **self.values)

    def _form_sessions(self, searches: Rows) -> None:
        engine = self._engine
        bits = engine.fetch("steps/5_visits/click_bits", **self.values)
        searches.or_bits("click_mask", bits["row_nr"], bits["bits"])
        engine.show("suspects", searches.repeated(("user_fp", "query_fp")).to_frame())
        engine.view("possible_repeats", "embedded/possible_repeats")
        engine.view("searches_with_masks", "embedded/searches_with_masks")
        self._tables(
            "steps/5_visits/repeated_user_queries",
            "steps/5_visits/user_queries_to_sessionise",
            "steps/5_visits/searches_to_sessionise",
        )
        tied = engine.fetch("steps/5_visits/tied_searches")["row_nr"]
        engine.show("tied_read", searches.texts(tied, ("search_id",)).with_columns(row_nr=tied))
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

    def _count(self, searches: Rows, clicks: Rows) -> None:
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

    def _orphan_clicks(self, clicks: Rows) -> pl.DataFrame:
        """Return search ids of clicks that no search of the batch has: search_id, is_open, clicks."""
        found = self._engine.fetch("steps/4_clicks/orphan_clicks", **self.values)
        return clicks.texts(found["row_nr"], ("search_id",)).hstack(found.select("is_open", "clicks"))

    def _carry(self, searches: Rows, clicks: Rows) -> Carry:
        open_searches = self._engine.fetch("steps/8_carry_over/open_searches")["row_nr"]
        open_clicks = self._engine.fetch("steps/8_carry_over/open_clicks", **self.values)["row_nr"]
        return Carry(searches.texts(open_searches), clicks.texts(open_clicks))

    def ids(self) -> pl.Series:
        """Return the digests of the search ids that are new in the last batch, sorted, each once."""
        searches = self._last
        if searches is None:
            raise EngineError("search ids were asked for before a batch was read")
        new = self._engine.fetch("steps/8_carry_over/new_search_ids")
        if new.schema["search_fp"] == pl.Int64:
            return new["search_fp"].unique().sort()
        self._engine.show("ids_read", searches.texts(new["row_nr"], ("search_id",)))
        return self._engine.fetch("embedded/new_id_digests")["id"].unique().sort()

    def closed(self, *, is_last: bool = False) -> PatternTable:
        """Return the pattern table of all sessions that can grow no more; no batch comes after the last."""
        self._let_go()
        self._engine.table("chosen_patterns", "embedded/merged_patterns")
        self._engine.drop("closed_patterns")
        return self._table(is_open=False, is_last=is_last)

    def opened(self) -> PatternTable:
        """Return the pattern table of sessions that may still grow, as they are if the log ends here."""
        self._engine.table("chosen_patterns", "steps/7_patterns/open_patterns")
        return self._table(is_open=True)

    def start_afresh(self) -> None:
        """Forget the sums, but not what was learned of texts."""
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


_OF_A_BATCH = (
    *(
        "searches_read",
        "clicks_read",
        "texts_read",
        "urls_read",
        "attributed_clicks",
        "lists_of_batch",
        "suspects",
    ),
    *("visits", "searches_to_sessionise", "session_searches", "session_clicks", "session_masks"),
)
"""What takes most memory of what a batch leaves, and no later step reads."""

_LEFT_OUT: dict[str, DataType] = {"market": pl.String, "list_fp": pl.UInt64}
_QUERIES: dict[str, DataType] = {"market": pl.String, "raw_query": pl.String, "query_fp": pl.UInt64}
_TEXTS: dict[str, DataType] = {
    "list_fp": pl.UInt64,
    "query_fp": pl.UInt64,
    "odd_urls": pl.Boolean,
    "market": pl.String,
    "query": pl.String,
    "results": pl.List(pl.String),
}
