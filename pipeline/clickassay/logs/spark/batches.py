"""The batches of a store on Spark."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.progress import Event, Progress
from clickassay.core.settings import Settings
from clickassay.logs.grow import Plan
from clickassay.logs.spark.engine import SparkEngine
from clickassay.logs.spark.read import SparkHalf
from clickassay.logs.spark.sessioniser import SparkSessioniser
from clickassay.logs.spark.windows import window_rows
from clickassay.patterns.store.batches import BatchContent, StoredBatch


@dataclass
class SparkBatchProcessor:
    """Processes the batches of a store on Spark; large tables pass through this machine file by file."""

    engine: SparkEngine
    settings: Settings
    judged_queries: pl.DataFrame | None
    progress: Progress

    def begin(self, plan: Plan[SparkHalf], before: StoredBatch | None) -> None:
        """Find ambiguous search ids of a plan."""
        searches, clicks = plan.log.searches, plan.log.clicks
        self._sessioniser = SparkSessioniser(
            self.engine, self.settings, by_url=plan.log.by_url, judged_queries=self.judged_queries
        )
        self._has_number_ids = searches.has_number_ids
        put = self.engine.put
        self._carry_over = {
            "searches": put(_file(before, "carry_searches"), searches.frame),
            "clicks": put(_file(before, "carry_clicks"), clicks.frame),
        }
        ids = searches.frame.select("search_id")
        self.engine.register_view("ambiguous_log", put(_file(before, "ambiguous"), ids))
        whole = searches.frame.unionByName(self._carry_over["searches"])
        self._sessioniser.find_ambiguous_ids(whole, continues_log=True)
        self._ambiguous = self._sessioniser.ambiguous()

    def add(self, plan: Plan[SparkHalf], number: int, watermark_ms: int) -> None:
        """Process a window of the plan."""
        name, part = f"batch {number + 1} of {len(plan.windows)}", number / len(plan.windows)
        window = plan.windows[number]

        def report(event: Event) -> None:
            self.progress(Event(f"{name}: {event.message}", part))

        self._sessioniser.add(
            window_rows(plan.log.searches, window.searches, window),
            window_rows(plan.log.clicks, window.clicks, window),
            watermark_ms,
            report,
            carried=(self._carry_over["searches"], self._carry_over["clicks"]),
        )
        self._fetched = self._sessioniser.carry_over()
        self._carry_over = {what: self.engine.opened(f"carry_over_{what}") for what in ("searches", "clicks")}

    def ids(self) -> pl.LazyFrame:
        """Return the digests of the search ids that are new in the last batch."""
        self._ids = self._sessioniser.ids(are_numbers=self._has_number_ids)
        return self._ids

    def content(self, info: Mapping[str, Any]) -> BatchContent:
        """Return the content of the last batch, and begin new sums."""
        searches, clicks, orphan_clicks = self._fetched
        frames = {
            "carry_searches": searches,
            "carry_clicks": clicks,
            "ids": self._ids,
            "orphan_clicks": orphan_clicks,
            "ambiguous": self._ambiguous,
        }
        closed = self._sessioniser.table(is_open=False, info={}, progress=self.progress)
        opened = self._sessioniser.table(is_open=True, info={}, progress=self.progress)
        self._sessioniser.start_afresh()
        return BatchContent(closed, opened, frames, info)


def _file(batch: StoredBatch | None, name: str) -> Path | None:
    return None if batch is None else batch.folder / f"{name}.parquet"
