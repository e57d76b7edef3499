"""The batches of a store on Spark."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.progress import Event, Progress
from clickassay.core.settings import Settings
from clickassay.logs.grow import Plan
from clickassay.logs.spark.builder import SparkBuilder
from clickassay.logs.spark.engine import SparkEngine
from clickassay.logs.spark.read import SparkHalf
from clickassay.logs.spark.windows import window_rows
from clickassay.patterns.store.batches import BatchContent, StoredBatch


@dataclass
class SparkMaker:
    """Works through batches on Spark; what passes this machine passes it in pieces."""

    engine: SparkEngine
    settings: Settings
    judged_queries: pl.DataFrame | None
    progress: Progress

    def begin(self, plan: Plan[SparkHalf], before: StoredBatch | None) -> None:
        """Look at all search ids of a plan."""
        searches, clicks = plan.log.searches, plan.log.clicks
        self._builder = SparkBuilder(
            self.engine, self.settings, by_url=plan.log.by_url, judged_queries=self.judged_queries
        )
        self._has_number_ids = searches.has_number_ids
        put = self.engine.put
        self._carry = {
            "searches": put(_file(before, "carry_searches"), searches.frame),
            "clicks": put(_file(before, "carry_clicks"), clicks.frame),
        }
        ids = searches.frame.select("search_id")
        self.engine.name("ambiguous_log", put(_file(before, "ambiguous"), ids))
        whole = searches.frame.unionByName(self._carry["searches"])
        self._builder.tell_ids_apart(whole, continues_log=True)
        self._ambiguous = self._builder.ambiguous()

    def add(self, plan: Plan[SparkHalf], number: int, watermark_ms: int) -> None:
        """Work through a window of the plan."""
        name, part = f"batch {number + 1} of {len(plan.windows)}", number / len(plan.windows)
        window = plan.windows[number]

        def report(event: Event) -> None:
            self.progress(Event(f"{name}: {event.message}", part))

        self._builder.add(
            window_rows(plan.log.searches, window.searches, window),
            window_rows(plan.log.clicks, window.clicks, window),
            watermark_ms,
            report,
            carried=(self._carry["searches"], self._carry["clicks"]),
        )
        self._carried = self._builder.carried()
        self._carry = {what: self.engine.opened(f"carry_over_{what}") for what in ("searches", "clicks")}

    def ids(self) -> pl.LazyFrame:
        """Return the digests of the search ids that are new in the last batch."""
        self._ids = self._builder.ids(are_numbers=self._has_number_ids)
        return self._ids

    def content(self, info: Mapping[str, Any]) -> BatchContent:
        """Return what the last batch adds to a store, and begin new sums."""
        searches, clicks, orphan_clicks = self._carried
        frames = {
            "carry_searches": searches,
            "carry_clicks": clicks,
            "ids": self._ids,
            "orphan_clicks": orphan_clicks,
            "ambiguous": self._ambiguous,
        }
        closed = self._builder.table(is_open=False, info={}, progress=self.progress)
        opened = self._builder.table(is_open=True, info={}, progress=self.progress)
        self._builder.start_afresh()
        return BatchContent(closed, opened, frames, info)


def _file(batch: StoredBatch | None, name: str) -> Path | None:
    return None if batch is None else batch.folder / f"{name}.parquet"
