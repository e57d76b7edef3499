"""The batches of a store on arrays."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from clickassay.core.progress import Progress
from clickassay.core.settings import Settings
from clickassay.logs.arrays.build import batch_of, reporter
from clickassay.logs.arrays.carry_over import clicks_as_read, searches_as_read
from clickassay.logs.arrays.engine import ArraySessioniser
from clickassay.logs.arrays.search_ids import ambiguous_ids
from clickassay.logs.grow import Plan
from clickassay.logs.log import LocalHalf
from clickassay.patterns.store.batches import BatchContent, StoredBatch


class ArrayBatchProcessor:
    """Processes the batches of a store on arrays."""

    def __init__(self, settings: Settings, judged_queries: pl.DataFrame | None, progress: Progress) -> None:
        self._settings, self._judged_queries, self._progress = settings, judged_queries, progress

    def begin(self, plan: Plan[LocalHalf], before: StoredBatch | None) -> None:
        """Find ambiguous search ids of a plan, and take up the open visits of the store."""
        known = [] if before is None else before.frame("ambiguous")["search_id"].to_list()
        carried = None if before is None else before.frame("carry_searches")
        ids = ambiguous_ids(plan.log.searches.frame, known, carried)
        self._ambiguous = pl.concat([ids.found, pl.Series(known, dtype=ids.found.dtype)]).unique().sort()
        self._sessioniser = ArraySessioniser(
            self._settings,
            by_url=plan.log.by_url,
            ambiguous=ids.known,
            judged_queries=self._judged_queries,
            keeps_ids=True,
        )
        if before is not None and carried is not None:
            self._sessioniser.take_up(carried, before.frame("carry_clicks"))

    def add(self, plan: Plan[LocalHalf], number: int, watermark_ms: int) -> None:
        """Process a window of the plan."""
        batch = batch_of(plan.windows[number], plan.log, watermark_ms)
        self._sessioniser.add(batch, reporter(plan.windows, number, self._progress), self._progress)

    def ids(self) -> pl.LazyFrame:
        """Return the digests of the search ids that are new in the last batch."""
        return self._sessioniser.new_ids.to_frame().lazy()

    def content(self, info: Mapping[str, Any]) -> BatchContent:
        """Return the content of the last batch, and begin new sums."""
        sessioniser, carry_over = self._sessioniser, self._sessioniser.carry_over
        if carry_over is None:
            raise RuntimeError("the content of a batch was requested before one was added")
        orphans = [
            sessioniser.funnel.orphan_clicks(is_open=is_open)
            .with_columns(is_open=pl.lit(is_open))
            .sort("search_id")
            for is_open in (False, True)
        ]
        frames = {
            "carry_searches": searches_as_read(carry_over.searches, sessioniser.shown),
            "carry_clicks": clicks_as_read(carry_over.clicks, sessioniser.shown),
            "ids": sessioniser.new_ids.to_frame(),
            "orphan_clicks": pl.concat(orphans),
            "ambiguous": self._ambiguous.alias("search_id").to_frame(),
        }
        content = BatchContent(sessioniser.closed_table(), sessioniser.open_table(), frames, info)
        sessioniser.start_afresh()
        return content
