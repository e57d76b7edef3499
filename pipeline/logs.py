"""The big step: raw logs to pattern table, as a sequence of SQL steps on an engine."""

from collections.abc import Callable, Mapping

import polars as pl

from pipeline.contracts import DataType
from pipeline.engines.base import Engine, Value
from pipeline.engines.scan import fingerprints_of, odd_urls, places_of
from pipeline.errors import EngineError, InputError
from pipeline.inputs import Input, as_text_ids
from pipeline.log_funnel import LogFunnel
from pipeline.patterns import PatternTable
from pipeline.progress import Progress, silent
from pipeline.settings import Settings

FIRST_MS = 631_152_000_000  # 1990-01-01 UTC
END_MS = 4_133_980_800_000  # 2101-01-01 UTC: the year 2100 is the last one inside

_FORMED = ("searches_of_returning_users", "visits", "session_searches", "session_clicks", "search_masks")
_CHECKS = (
    "checks/query_fingerprints",
    "checks/list_fingerprints",
    "checks/search_id_fingerprints",
    "checks/sessions_add_up",
)


def build_pattern_table(
    engine: Engine, searches: Input, clicks: Input, settings: Settings, *, progress: Progress = silent
) -> PatternTable:
    """Turn a log into its pattern table (contract 2 to 4).

    Parameters
    ----------
    engine
        Runs the SQL; left with the tables of the step.
    searches, clicks
        The log, in canonical types.
    settings
        Depth, idle limit and scope, folds, normalisation, part of rows that may be unusable.

    Raises
    ------
    InputError
        If clicks name neither URL nor position, too many rows are unusable, or no usable search is left.
    EngineError
        If the engine gives up, or a check of the step fails.
    """
    _check_click_columns(clicks)
    searches, clicks = _same_id_type(searches, clicks)
    values = _values(settings, clicks)
    funnel = LogFunnel(engine, settings)
    funnel.count_read_searches(_scan_searches(engine, searches, values, progress))
    clicks_read = _scan_clicks(engine, clicks, values, progress)
    _resolve_searches(engine, searches, values, progress)
    funnel.count_repeats()
    _place_clicks(engine, values, progress)
    funnel.count_clicks(clicks_read)
    _form_sessions(engine, values, progress)
    _check(engine)
    return _fetched(engine, funnel, values, progress)


def _check_click_columns(clicks: Input) -> None:
    if not {"url", "position"} & clicks.columns:
        has = ", ".join(sorted(clicks.columns))
        raise InputError(
            f"clicks: neither column url nor column position in {clicks.files[0]}; it has: {has}"
        )


def _same_id_type(searches: Input, clicks: Input) -> tuple[Input, Input]:
    types = {table.frame.collect_schema()["search_id"] for table in (searches, clicks)}
    if len(types) == 1:
        return searches, clicks
    return as_text_ids(searches, "search_id"), as_text_ids(clicks, "search_id")


def _values(settings: Settings, clicks: Input) -> dict[str, Value]:
    return {
        "first_ms": FIRST_MS,
        "end_ms": END_MS,
        "idle_ms": settings.idle_ms,
        "per_query": settings.idle_scope == "query",
        "depth": settings.stored_depth,
        "folds": settings.folds,
        "normalise_urls": settings.normalise_urls,
        "by_url": "url" in clicks.columns,
    }


def _scan_searches(engine: Engine, searches: Input, values: Mapping[str, Value], progress: Progress) -> int:
    """Read searches once: usable rows as fingerprints, rejected rows as counts, texts where first seen.

    Returns the number of rows read.
    """
    report = _counter("reading searches", searches, progress)

    def add(batch: pl.DataFrame) -> None:
        _add_rows(engine, "searches", batch.height, values)
        new = engine.fetch("sessions/new_lists")["row_nr"] if batch.height else pl.Series([], dtype=pl.Int64)
        _add_texts(engine, batch.select("list_fp", "query_fp", "market", "query", "results")[new], values)
        report(batch.height)

    engine.show("texts_read", pl.DataFrame(schema=_TEXTS))
    engine.table("shown_texts", "sessions/shown_texts")
    return engine.batches("searches", searches.frame, add)


_TEXTS: dict[str, DataType] = {
    "query_fp": pl.UInt64,
    "list_fp": pl.UInt64,
    "odd_urls": pl.Boolean,
    "market": pl.String,
    "query": pl.String,
    "results": pl.List(pl.String),
}


def _add_texts(engine: Engine, lists: pl.DataFrame, values: Mapping[str, Value]) -> None:
    """Keep the texts of lists shown first in this batch, and the fingerprints of the URLs at their places."""
    places = places_of(lists)
    odd = places.filter("odd").select(pl.col("list_fp").unique())
    texts = lists.with_columns(odd_urls=pl.col("list_fp").is_in(odd["list_fp"].implode()))
    engine.show("texts_read", texts.select(*_TEXTS))
    engine.append("shown_texts", "sessions/shown_texts")
    engine.show("places_read", places.drop("url", "odd"))
    engine.append("shown_places", "sessions/shown_places")
    _add_renames(engine, places.filter("odd")["url"], values)


def _scan_clicks(engine: Engine, clicks: Input, values: Mapping[str, Value], progress: Progress) -> int:
    """Read clicks once, in the same way; their URLs matter only where another form is the normal one."""
    report = _counter("reading clicks", clicks, progress)

    def add(batch: pl.DataFrame) -> None:
        _add_rows(engine, "clicks", batch.height, values)
        _add_renames(engine, odd_urls(batch["url"]), values)
        report(batch.height)

    return engine.batches("clicks", clicks.frame, add)


def _add_rows(engine: Engine, what: str, rows: int, values: Mapping[str, Value]) -> None:
    usable = engine.append(f"usable_{what}", f"sessions/usable_{what}", **values)
    if usable < rows or not rows:
        engine.append(f"rejected_{what}", f"sessions/rejected_{what}", **values)


def _add_renames(engine: Engine, odd: pl.Series, values: Mapping[str, Value]) -> None:
    """Keep the fingerprints of URLs whose normal form is another; opaque ids and most URLs have none."""
    if not values["normalise_urls"]:
        odd = odd.clear()
    if len(odd) or not engine.has("found_renames"):
        engine.show("urls_read", odd.unique().alias("url").to_frame())
        engine.show("renames_read", fingerprints_of(engine.fetch("sessions/odd_urls")))
        engine.append("found_renames", "sessions/found_renames")


def _counter(message: str, table: Input, progress: Progress) -> Callable[[int], None]:
    """Return a function that reports progress when told how many rows more are done."""
    total, done = _total_rows(table), 0

    def add(rows: int) -> None:
        nonlocal done
        done += rows
        progress(message, done / total if total else None)

    return add


def _total_rows(table: Input) -> int | None:
    if any(file.suffix not in (".parquet", ".pq") for file in table.files):
        return None  # counting the rows of a text file means reading it
    return int(table.frame.select(pl.len()).collect().item())


def _resolve_searches(
    engine: Engine, searches: Input, values: Mapping[str, Value], progress: Progress
) -> None:
    progress("finding repeated searches", None)
    for table in ("shown_queries", "renamed_queries", "renamed_urls", "repeated_ids", "repeated_pairs"):
        engine.table(table, f"sessions/{table}")
    engine.view("normal_searches", "sessions/normal_searches")
    engine.table("wanted_ids", "sessions/wanted_ids")
    _fetch_ids(engine, searches)
    engine.table("resolved_repeats", "sessions/resolved_repeats", **values)
    engine.table("ambiguous_ids", "sessions/ambiguous_ids")
    engine.view("searches", "sessions/searches")
    engine.view("list_places", "sessions/list_places")
    engine.view("clicks", "sessions/clicks_by_url" if values["by_url"] else "sessions/clicks_by_place")


def _fetch_ids(engine: Engine, searches: Input) -> None:
    """Read the ids themselves a second time, but only where a repeat or a tie in time needs them."""
    ids = searches.frame.select("search_id")
    if engine.rows("counts/wanted_ids") == [(0,)]:
        ids = ids.clear().lazy()
    engine.batches("ids", ids, lambda _batch: _append_ids(engine))
    engine.table("search_order", "sessions/search_order")


def _append_ids(engine: Engine) -> None:
    engine.append("known_ids", "sessions/known_ids")


def _place_clicks(engine: Engine, values: Mapping[str, Value], progress: Progress) -> None:
    progress("joining clicks to searches", None)
    engine.table("list_urls", "sessions/list_urls")
    engine.table("click_fates", "sessions/click_fates", **values)


def _form_sessions(engine: Engine, values: Mapping[str, Value], progress: Progress) -> None:
    progress("forming sessions", None)
    for table in _FORMED:
        engine.table(table, f"sessions/{table}", **values)
    progress("counting click patterns", None)
    engine.view("session_masks", "sessions/session_masks")
    engine.view("sessions", "sessions/sessions")
    engine.table("session_patterns", "patterns/session_patterns", **values)
    engine.table("session_configurations", "patterns/session_configurations", **values)


def _check(engine: Engine) -> None:
    for step in _CHECKS:
        if engine.rows(step):
            raise EngineError(f"check {step} found rows where there must be none; nothing was written")


def _fetched(
    engine: Engine, funnel: LogFunnel, values: Mapping[str, Value], progress: Progress
) -> PatternTable:
    progress("collecting the pattern table", None)
    patterns = engine.fetch("patterns/patterns")
    funnel.count_positions(patterns)
    funnel.count_sessions()
    return PatternTable(
        configurations=engine.fetch("patterns/configurations"),
        patterns=patterns,
        queries=engine.fetch("patterns/queries"),
        funnel=funnel.frame(),
        info={"stored_depth": values["depth"]},
    )
