"""The batches of a store on the embedded engine."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from clickassay.core.progress import Progress
from clickassay.core.settings import Settings
from clickassay.logs.embedded.build import batch_of, reporter
from clickassay.logs.embedded.scan import id_fingerprint
from clickassay.logs.embedded.search_ids import find_ambiguous_ids, repeated_ids, rows_with_ids
from clickassay.logs.embedded.sessioniser import CarryOver, EmbeddedSessioniser
from clickassay.logs.engine import Engine
from clickassay.logs.grow import Plan
from clickassay.logs.log import LocalHalf
from clickassay.patterns.store.batches import BatchContent, StoredBatch


class EmbeddedBatchProcessor:
    """Processes the batches of a store on the embedded engine."""

    def __init__(
        self, engine: Engine, settings: Settings, judged_queries: pl.DataFrame | None, progress: Progress
    ) -> None:
        self._engine, self._settings, self._progress = engine, settings, progress
        self._judged_queries = judged_queries
        self._carry_over: CarryOver | None = None

    def begin(self, plan: Plan[LocalHalf], before: StoredBatch | None) -> None:
        """Find ambiguous search ids of a plan."""
        self._sessioniser = EmbeddedSessioniser(
            self._engine, self._settings, by_url=plan.log.by_url, judged_queries=self._judged_queries
        )
        searches = plan.log.searches.frame
        self._carry_over = carry_over = _carry_over(before)
        repeated = _with_carried(repeated_ids(searches), searches, carry_over)
        # a carried search may share its id with a new one
        known = searches if carry_over is None else pl.concat([searches, carry_over.searches.lazy()])
        self._ambiguous = find_ambiguous_ids(
            self._engine, known, repeated, self._sessioniser.values, _ambiguous_before(before)
        )

    def add(self, plan: Plan[LocalHalf], number: int, watermark_ms: int) -> None:
        """Process a window of the plan."""
        batch = batch_of(plan.windows[number], plan.log, self._carry_over, watermark_ms)
        report = reporter(plan.windows, number, self._progress)
        self._carry_over = self._sessioniser.add(batch, report, self._progress)

    def ids(self) -> pl.LazyFrame:
        """Return the digests of the search ids that are new in the last batch."""
        return self._sessioniser.ids().alias("id").to_frame().lazy()

    def content(self, info: Mapping[str, Any]) -> BatchContent:
        """Return the content of the last batch, and begin new sums."""
        carry_over = self._carry_over or CarryOver(pl.DataFrame(), pl.DataFrame())
        content = _content(self._sessioniser, carry_over, self._ambiguous, info)
        self._sessioniser.start_afresh()
        return content


def _content(
    sessioniser: EmbeddedSessioniser, carry_over: CarryOver, ambiguous: pl.Series, info: Mapping[str, Any]
) -> BatchContent:
    frames = {
        "carry_searches": carry_over.searches.drop("carried").sort(
            "timestamp", "search_id", "user_id", "page"
        ),
        "carry_clicks": carry_over.clicks.drop("carried").sort("timestamp", "search_id", "url", "position"),
        "ids": sessioniser.ids().alias("id").to_frame(),
        "orphan_clicks": pl.concat(
            sessioniser.funnel.orphan_clicks(is_open=is_open)
            .with_columns(is_open=pl.lit(is_open))
            .sort("search_id")
            for is_open in (False, True)
        ),
        "ambiguous": ambiguous.alias("search_id").to_frame(),
    }
    return BatchContent(sessioniser.closed_table(), sessioniser.open_table(), frames, info)


def _with_carried(repeated: pl.Series, searches: pl.LazyFrame, carry_over: CarryOver | None) -> pl.Series:
    """Add ids of carried searches that new files have as well: repeated deliveries of a recent search."""
    if carry_over is None or carry_over.searches.is_empty():
        return repeated
    carried = carry_over.searches.lazy().select(id_fingerprint(carry_over.searches.lazy(), "search_id"))
    both = rows_with_ids(searches.select("search_id"), carried.collect().to_series())
    again = both.select(id_fingerprint(both, "search_id").alias("search_fp")).collect()["search_fp"]
    return pl.concat([repeated.alias("search_fp"), again]).unique()


def _ambiguous_before(before: StoredBatch | None) -> list[object]:
    return [] if before is None else before.frame("ambiguous")["search_id"].to_list()


def _carry_over(before: StoredBatch | None) -> CarryOver | None:
    return None if before is None else CarryOver(before.frame("carry_searches"), before.frame("carry_clicks"))
