"""The batches of a store on an engine that runs all of the declared steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

import polars as pl

from clickassay.core.progress import Event, Progress
from clickassay.core.settings import Settings
from clickassay.logs.batches.windows import Window
from clickassay.logs.chunks import FileChunk
from clickassay.logs.engine import R, SqlEngine
from clickassay.logs.grow import Plan
from clickassay.logs.log import H, carries_actions, has_signals
from clickassay.logs.outcomes import Outcomes
from clickassay.logs.sql.sessioniser import SqlSessioniser
from clickassay.patterns.store.batches import BatchContent, StoredBatch


@dataclass
class SqlBatchProcessor(Generic[H, R]):
    """Processes the batches of a store; large tables pass through this machine file by file."""

    engine: SqlEngine[R]  # Runs the SQL.
    # rows_of, rows_in: Give the rows of one half of a log, and the rows of its chunks that lie in a window.
    rows_of: Callable[[H], R]
    rows_in: Callable[[H, Sequence[FileChunk], Window], R]
    settings: Settings
    judged_queries: pl.DataFrame | None
    progress: Progress
    outcomes: Outcomes | None = None

    def begin(self, plan: Plan[H], before: StoredBatch | None) -> None:
        """Find ambiguous search ids of a plan."""
        carries = _file(before, "carry_clicks")
        self._sessioniser = SqlSessioniser(
            self.engine,
            self.settings,
            by_url=plan.log.by_url,
            has_signals=has_signals(plan.log, self.settings) or carries_actions(carries),
            outcomes=None if self.outcomes is None else self.outcomes.rows,
            judged_queries=self.judged_queries,
        )
        self._has_number_ids = plan.log.searches.has_numbers("search_id")
        searches, clicks = self.rows_of(plan.log.searches), self.rows_of(plan.log.clicks)
        self._carried = (
            self.engine.put(_file(before, "carry_searches"), searches),
            self.engine.put(carries, clicks),
        )
        ambiguous = self.engine.put(_file(before, "ambiguous"), searches)
        self._sessioniser.find_ambiguous_ids(searches, self._carried[0], ambiguous)
        self._ambiguous = self._sessioniser.ambiguous()

    def add(self, plan: Plan[H], number: int, watermark_ms: int) -> None:
        """Process a window of the plan."""
        name, part = f"batch {number + 1} of {len(plan.windows)}", number / len(plan.windows)
        window = plan.windows[number]

        def report(event: Event) -> None:
            self.progress(Event(f"{name}: {event.message}", part))

        self._sessioniser.add(
            self.rows_in(plan.log.searches, window.searches, window),
            self.rows_in(plan.log.clicks, window.clicks, window),
            watermark_ms,
            report,
            carried=self._carried,
        )
        self._fetched = self._sessioniser.carry_over()
        self._carried = self._sessioniser.carried()

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
