"""The batches of a store on the embedded engine."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from clickassay.core.progress import Progress
from clickassay.core.settings import Settings
from clickassay.logs.embedded.build import batch_of, reporter
from clickassay.logs.embedded.builder import Carry, PatternBuilder
from clickassay.logs.embedded.scan import id_fingerprint
from clickassay.logs.embedded.search_ids import repeated_ids, rows_with_ids, show_ids
from clickassay.logs.engine import Engine
from clickassay.logs.grow import Plan
from clickassay.logs.log import LocalHalf
from clickassay.patterns.store.batches import BatchContent, StoredBatch


class EmbeddedMaker:
    """Works through batches on the embedded engine."""

    def __init__(
        self, engine: Engine, settings: Settings, judged_queries: pl.DataFrame | None, progress: Progress
    ) -> None:
        self._engine, self._settings, self._progress = engine, settings, progress
        self._judged_queries = judged_queries
        self._carry: Carry | None = None

    def begin(self, plan: Plan[LocalHalf], before: StoredBatch | None) -> None:
        """Look at all search ids of a plan."""
        self._builder = PatternBuilder(
            self._engine, self._settings, by_url=plan.log.by_url, judged_queries=self._judged_queries
        )
        searches = plan.log.searches.frame
        self._carry = carry = _carried(before)
        repeated = _with_carried(repeated_ids(searches), searches, carry)
        # a carried search may share its id with a new one
        known = searches if carry is None else pl.concat([searches, carry.searches.lazy()])
        self._ambiguous = show_ids(
            self._engine, known, repeated, self._builder.values, _ambiguous_before(before)
        )

    def add(self, plan: Plan[LocalHalf], number: int, watermark_ms: int) -> None:
        """Work through a window of the plan."""
        batch = batch_of(plan.windows[number], plan.log, self._carry, watermark_ms)
        report = reporter(plan.windows, number, self._progress)
        self._carry = self._builder.add(batch, report, self._progress)

    def ids(self) -> pl.LazyFrame:
        """Return the digests of the search ids that are new in the last batch."""
        return self._builder.ids().alias("id").to_frame().lazy()

    def content(self, info: Mapping[str, Any]) -> BatchContent:
        """Return what the last batch adds to a store, and begin new sums."""
        carry = self._carry or Carry(pl.DataFrame(), pl.DataFrame())
        content = _content(self._builder, carry, self._ambiguous, info)
        self._builder.start_afresh()
        return content


def _content(
    builder: PatternBuilder, carry: Carry, ambiguous: pl.Series, info: Mapping[str, Any]
) -> BatchContent:
    frames = {
        "carry_searches": carry.searches.drop("carried").sort("timestamp", "search_id", "user_id", "page"),
        "carry_clicks": carry.clicks.drop("carried").sort("timestamp", "search_id", "url", "position"),
        "ids": builder.ids().alias("id").to_frame(),
        "orphan_clicks": pl.concat(
            builder.funnel.orphan_clicks(is_open=is_open)
            .with_columns(is_open=pl.lit(is_open))
            .sort("search_id")
            for is_open in (False, True)
        ),
        "ambiguous": ambiguous.alias("search_id").to_frame(),
    }
    return BatchContent(builder.closed(), builder.opened(), frames, info)


def _with_carried(repeated: pl.Series, searches: pl.LazyFrame, carry: Carry | None) -> pl.Series:
    """Add ids of carried searches that new files have as well: deliveries again, of a search just before."""
    if carry is None or carry.searches.is_empty():
        return repeated
    carried = carry.searches.lazy().select(id_fingerprint(carry.searches.lazy(), "search_id"))
    both = rows_with_ids(searches.select("search_id"), carried.collect().to_series())
    again = both.select(id_fingerprint(both, "search_id").alias("search_fp")).collect()["search_fp"]
    return pl.concat([repeated.alias("search_fp"), again]).unique()


def _ambiguous_before(before: StoredBatch | None) -> list[object]:
    return [] if before is None else before.frame("ambiguous")["search_id"].to_list()


def _carried(before: StoredBatch | None) -> Carry | None:
    return None if before is None else Carry(before.frame("carry_searches"), before.frame("carry_clicks"))
