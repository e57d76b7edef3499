"""A log, or the batches of a store, to pattern tables by the declared steps, on any engine for these."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic

import polars as pl

from clickassay.core.progress import Event, Progress
from clickassay.core.settings import Settings
from clickassay.inputs.columns import TEAMS
from clickassay.logs.assignments import Assignments, counted_assignments, ends_of_tests
from clickassay.logs.batches import Window
from clickassay.logs.chunks import FileChunk
from clickassay.logs.grow import Plan
from clickassay.logs.log import H, Log, carries_column, has_signals
from clickassay.logs.outcomes import Outcomes, counted_outcomes
from clickassay.logs.sql.steps import (
    CARRY_OVER,
    DRAFTS,
    FORM_SESSIONS,
    FUNNEL,
    FUNNEL_OF_SESSIONS,
    FUNNEL_OF_SIGNALS,
    NEVER_MS,
    NEW_IDS,
    PATTERNS,
    PATTERNS_OF_DAYS,
    PATTERNS_OF_OUTCOMES,
    PATTERNS_OF_SIGNALS,
    PATTERNS_OF_TEAMS,
    PATTERNS_OF_TESTS,
    READ_BATCH,
    READ_LOG,
    SEARCH_IDS,
    Property,
    R,
    SqlEngine,
    Step,
    counted_properties,
    results,
    run_steps,
    step_values,
)
from clickassay.patterns.batches import BatchContent, StoredBatch
from clickassay.patterns.funnel import LogFunnel, check_log, orphan_click_rows, shown_signals, with_counts
from clickassay.patterns.health import LogCounts
from clickassay.patterns.interleaving import ranker_pairs
from clickassay.patterns.table import ARM_TABLES, Pieces, StagedTable, smallest_digests

_ORPHAN_CLICKS = {"is_open": pl.Boolean, "clicks": pl.Int64}


class SqlSessioniser(Generic[R]):
    """Adds up the pattern table of a log, one batch after the other.

    has_teams: whether searches name the ranker of each result.
    judged_queries: market (null = every market), query: sessions of other queries are only counted.
    """

    def __init__(
        self,
        engine: SqlEngine[R],
        settings: Settings,
        *,
        by_url: bool,
        has_signals: bool,
        has_teams: bool,
        outcomes: pl.DataFrame | None,
        judged_queries: pl.DataFrame | None,
        assignments: Assignments | None,
    ) -> None:
        self._engine, self._settings = engine, settings
        self._says_arms = assignments is not None and assignments.is_by_search
        self._has_teams = has_teams
        self._values = step_values(
            settings, by_url=by_url, arms_by_search=self._says_arms, has_teams=has_teams
        )
        self._read: tuple[Step, ...] = READ_LOG
        self._properties: set[Property] = set() if judged_queries is None else {"only_judged"}
        self._properties |= counted_properties(
            settings,
            has_signals=has_signals,
            has_outcomes=outcomes is not None,
            has_tests=assignments is not None,
            has_teams=has_teams,
        )
        if assignments is not None or has_teams:
            engine.register("test_spans", ends_of_tests(settings.tests))
        if assignments is not None:
            engine.register("assignments_log", assignments.by_user.cast({pl.Categorical: pl.String}))
            engine.register("users_in_two", assignments.in_two)
        if outcomes is not None:
            engine.register("outcomes_log", outcomes)
        self.funnel, self._health = LogFunnel(settings.stored_depth), LogCounts()
        if judged_queries is not None:
            engine.register("judged_queries", judged_queries)

    def find_ambiguous_ids(self, searches: R, carried: R, ambiguous: R) -> None:
        """Find the search ids that are ambiguous in all of a log in batches, which a batch alone cannot know.

        carried, ambiguous: searches carried over from earlier parts, and ids found ambiguous there.
        """
        self._read = READ_BATCH
        self._engine.show("ambiguous_log", ambiguous)
        self._engine.show("searches_log", searches, carried)
        self._run(SEARCH_IDS)

    def add(
        self,
        searches: R,
        clicks: R,
        watermark_ms: int,
        progress: Progress,
        *,
        carried: tuple[R, R] | None = None,
    ) -> None:
        """Process new rows, and those carried over; no later row is older than `watermark_ms` (1970, UTC).

        A log whose ambiguous search ids were not looked for is one batch, which finds them by itself.
        """
        carried_searches, carried_clicks = carried or (None, None)
        self._engine.show("searches_log", searches, carried_searches)
        self._engine.show("clicks_log", clicks, carried_clicks)
        self._values["watermark_ms"] = watermark_ms
        progress(Event("reading"))
        self._run(self._read)
        progress(Event("forming sessions"))
        self._run(FORM_SESSIONS)
        progress(Event("counting"))
        steps = (*FUNNEL, *results(FUNNEL_OF_SIGNALS, self._properties))
        counts = self._engine.rows_of(*(step.file for step in steps))
        self._count({step.name: rows for step, rows in zip(steps, counts, strict=True)})

    def _count(self, rows: Mapping[str, list[tuple[Any, ...]]]) -> None:
        searches, clicks = rows["rows_read"][0]
        usable, carried, kept, left_out, shortened, merged, carried_clicks = rows["searches"][0]
        self.funnel.count_searches(
            read=searches - carried,
            rejected=dict(rows["rejected_searches"]),
            usable=usable - carried,
            kept=kept - carried,
            left_out=left_out,
            shortened=shortened,
            merged=merged,
        )
        orphan_clicks = pl.DataFrame(rows["orphan_clicks"], schema=_ORPHAN_CLICKS, orient="row")
        self.funnel.count_clicks(
            read=clicks - carried_clicks,
            carried=carried_clicks,
            rejected=dict(rows["rejected_clicks"]),
            outcomes=rows["attributed_clicks"],
            orphan_clicks=orphan_clicks.with_columns(search_id=pl.lit(None)),
        )
        self.funnel.count_positions(rows["click_positions"])
        if "actions" in rows:
            self.funnel.count_actions(rows["actions"])
        self.funnel.count_dwell_times(rows.get("dwell_times", ()))
        self.funnel.count_outcomes(rows.get("outcomes", ()))
        self.funnel.count_teams(rows.get("teams", ()))
        self._health.add_rows(rows["health"])

    def ambiguous(self) -> pl.LazyFrame:
        """Return the search ids that are known to be ambiguous (search_id), of a log in batches."""
        return self._fetched(SEARCH_IDS)[0]

    def carry_over(self) -> list[pl.LazyFrame]:
        """Return searches and clicks that the next batch reads again, and ids that no search has yet."""
        self._run(CARRY_OVER)
        searches, *others = self._fetched(CARRY_OVER)
        kept = {"variant": self._says_arms, TEAMS: self._has_teams}
        kept["experiment"] = any(kept.values())
        return [searches.drop(name for name, is_kept in kept.items() if not is_kept), *others]

    def carried(self) -> tuple[R, R]:
        """Return the searches and clicks of the last `carry_over`, to be read again."""
        searches, clicks, _ = (step.stem or step.name for step in results(CARRY_OVER, self._properties))
        return self._engine.fetched(searches), self._engine.fetched(clicks)

    def ids(self, *, are_numbers: bool) -> pl.LazyFrame:
        """Return the digests of the search ids that are new in the last batch (id), sorted, each once."""
        self._run(NEW_IDS)
        (ids,) = self._fetched(NEW_IDS, *(("has_number_ids",) if are_numbers else ()))
        return ids.with_columns(pl.col("id").cast(pl.Int64 if are_numbers else pl.UInt64))

    def start_afresh(self) -> None:
        """Begin new sums."""
        self.funnel, self._health = LogFunnel(self._settings.stored_depth), LogCounts()

    def table(self, *, is_open: bool, info: Mapping[str, Any], progress: Progress) -> StagedTable:
        """Return the pattern table of open sessions, or of closed ones."""
        progress(Event("collecting the pattern table"))
        which: tuple[Property, ...] = ("is_open",) if is_open else ()
        self._values["is_open"] = is_open
        self._run(PATTERNS, *which)
        buckets = pl.col("user_buckets").cast(pl.UInt64, wrap_numerical=True)
        configurations, patterns, queries = self._fetched(PATTERNS, *which)
        days = self._rows_of("periods", PATTERNS_OF_DAYS, *which)
        counts_signals = self._settings.signal != ("none",)
        signals = self._rows_of("signals", PATTERNS_OF_SIGNALS, *which) if counts_signals else None
        outcomes = self._rows_of("outcomes", PATTERNS_OF_OUTCOMES, *which)
        sessions = self._engine.rows(FUNNEL_OF_SESSIONS[0].file)
        masks = patterns.group_by("click_mask").agg(pl.col("sessions").sum()).collect(engine="streaming")
        return StagedTable(
            configurations=Pieces.of(configurations),
            patterns=Pieces.of(patterns),
            queries=Pieces.of(queries.with_columns(buckets)),
            funnel=self.funnel.frame(masks, sessions, is_open=is_open),
            info=info,
            health=(LogCounts() if is_open else self._health).frame(),
            shown=None if days is None else Pieces.of(days),
            signals=None if signals is None else signals.collect(),
            outcomes=None if outcomes is None else outcomes.collect(),
            **self._arm_tables(),
            interleaved=self._interleaved(),
        )

    def _interleaved(self) -> Pieces | None:
        if not self._has_teams:
            return None
        (drafts,) = self._fetched(DRAFTS)
        self._engine.register("ranker_pairs", ranker_pairs(drafts.collect(), self._settings.stored_depth))
        return Pieces.of(self._fetched(PATTERNS_OF_TEAMS)[0])

    def _arm_tables(self) -> dict[str, Any]:
        if "tests" not in self._properties:
            return {}
        names = [step.name for step in results(PATTERNS_OF_TESTS, self._properties)]
        rows = dict(zip(names, self._fetched(PATTERNS_OF_TESTS), strict=True))
        patterns = rows.pop("arm_patterns")
        tables = {
            name: form.canonical(rows[name].collect()) if name in rows else form.empty()
            for name, form in ARM_TABLES.items()
        }
        users = smallest_digests(tables["arm_users"])
        return {**tables, "arm_users": users, "arm_patterns": Pieces.of(patterns)}

    def _rows_of(self, counted: Property, steps: Iterable[Step], *which: Property) -> pl.LazyFrame | None:
        if counted not in self._properties:
            return None
        self._run(steps, *which)
        return self._fetched(steps, *which)[0]

    def _run(self, steps: Iterable[Step], *more: Property) -> None:
        run_steps(self._engine, steps, self._values, {*self._properties, *more})

    def _fetched(self, steps: Iterable[Step], *more: Property) -> list[pl.LazyFrame]:
        files = (step.file for step in results(steps, {*self._properties, *more}))
        return self._engine.fetch(*files, **self._values)


def sql_pattern_table(  # noqa: PLR0913 - a whole job
    engine: SqlEngine[R],
    searches: R,
    clicks: R,
    settings: Settings,
    judged_queries: pl.DataFrame | None,
    *,
    log: Log[Any],
    outcomes: Outcomes | None = None,
    assignments: Assignments | None = None,
    info: Mapping[str, Any],
    progress: Progress,
) -> StagedTable:
    """Turn a whole log into its pattern table, as one batch: the engine bounds its memory by itself.

    Raises InputError if too many rows are unusable, or no usable search is left; EngineError if the engine
    gives up, or a check of the step fails.
    """
    sessioniser = SqlSessioniser(
        engine,
        settings,
        by_url=log.by_url,
        has_signals=has_signals(log, settings),
        has_teams=TEAMS in log.searches.columns,
        outcomes=None if outcomes is None else outcomes.rows,
        judged_queries=judged_queries,
        assignments=assignments,
    )
    sessioniser.add(searches, clicks, NEVER_MS, progress)
    table = sessioniser.table(is_open=False, info=info, progress=progress)
    orphan_clicks = sessioniser.funnel.orphan_clicks()["clicks"].sum()
    rows = orphan_click_rows(ambiguous=0, out_of_time=0, unmatched=int(orphan_clicks))
    funnel = pl.concat([table.funnel, rows]).group_by(pl.exclude("rows")).agg(pl.col("rows").sum())
    funnel = with_counts(funnel, "impressions", log.searches.made_of)
    funnel = counted_outcomes(funnel, outcomes)
    check_log(funnel, settings.max_rejected)
    funnel = counted_assignments(funnel, assignments)
    shown: dict[str, Any] = {
        name: shown_signals(getattr(table, name), funnel)
        for name in ("signals", "arms", "arm_patterns", "interleaved")
    }
    return replace(table, funnel=funnel, judged_queries=judged_queries, **shown)


@dataclass
class SqlBatchProcessor(Generic[H, R]):
    """A `BatchProcessor` by the declared steps; large tables pass through this machine file by file."""

    engine: SqlEngine[R]
    # rows_of, rows_in: Give the rows of one half of a log, and the rows of its chunks that lie in a window.
    rows_of: Callable[[H], R]
    rows_in: Callable[[H, Sequence[FileChunk], Window], R]
    settings: Settings
    judged_queries: pl.DataFrame | None
    progress: Progress
    outcomes: Outcomes | None = None
    assignments: Assignments | None = None

    def begin(self, plan: Plan[H], before: StoredBatch | None) -> None:
        searched, carries = (_file(before, f"carry_{half}") for half in ("searches", "clicks"))
        self._sessioniser = SqlSessioniser(
            self.engine,
            self.settings,
            by_url=plan.log.by_url,
            has_signals=has_signals(plan.log, self.settings) or carries_column(carries, "action"),
            has_teams=TEAMS in plan.log.searches.columns or carries_column(searched, TEAMS),
            outcomes=None if self.outcomes is None else self.outcomes.rows,
            judged_queries=self.judged_queries,
            assignments=self.assignments,
        )
        self._has_number_ids = plan.log.searches.has_numbers("search_id")
        searches, clicks = self.rows_of(plan.log.searches), self.rows_of(plan.log.clicks)
        self._carried = (self.engine.put(searched, searches), self.engine.put(carries, clicks))
        ambiguous = self.engine.put(_file(before, "ambiguous"), searches)
        self._sessioniser.find_ambiguous_ids(searches, self._carried[0], ambiguous)
        self._ambiguous = self._sessioniser.ambiguous()

    def add(self, plan: Plan[H], number: int, watermark_ms: int) -> None:
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
        self._ids = self._sessioniser.ids(are_numbers=self._has_number_ids)
        return self._ids

    def content(self, info: Mapping[str, Any]) -> BatchContent:
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
