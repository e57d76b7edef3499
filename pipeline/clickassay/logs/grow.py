"""A pattern store brought up to a log: only new files are read; each batch is published when it is done."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.patterns import FUNNEL
from clickassay.core.errors import InputError, RejectedRowsError
from clickassay.core.files.tables import scan_parquet
from clickassay.core.progress import Event, Progress
from clickassay.core.settings import Settings, log_settings
from clickassay.core.text.words import utc_text, visible
from clickassay.inputs.sources.fingerprint import FileFingerprint, refuse_changed
from clickassay.logs.assignments import Assignments, counted_assignments
from clickassay.logs.batches import Window, cut_chunks, refuse_lone_last
from clickassay.logs.chunks import DAY_MS, FileChunk
from clickassay.logs.log import H, Log
from clickassay.logs.outcomes import Outcomes
from clickassay.logs.sql.steps import END_MS, FIRST_MS, end_of_times
from clickassay.patterns.batches import ASSIGNED, CARRIED, BatchContent, KnownFiles, StoredBatch, undo_runs
from clickassay.patterns.funnel import check_log, with_counts
from clickassay.patterns.places import STORE_FILE
from clickassay.patterns.store import PatternStore, id_digest, known_ids

Ids = NDArray[np.int64] | NDArray[np.uint64]

_OF_A_RUN = ("clock", "only_judged")
"""Settings of the log that are not a store's own: one is of each run, one follows from the queries kept."""

Fingerprints = Mapping[str, FileFingerprint]


@dataclass(frozen=True)
class Plan(Generic[H]):
    """The work that brings a store up to a log."""

    log: Log[H]  # The files to read.
    # One for each batch to come, in order of time; empty when there is nothing to do.
    windows: tuple[Window, ...]
    # Fingerprints of the files to read, by ``searches`` and ``clicks``.
    files: Mapping[str, tuple[FileFingerprint, ...]]
    run: int  # Number of the batch with which the run over these files began.
    known: int  # Files that the store holds already, and copies of those to read.
    # Fingerprints of the files to read, and of their copies.
    alike: Mapping[str, tuple[FileFingerprint, ...]]


def with_folds_of(folder: Path, settings: Settings) -> Settings:
    """Return settings with the number of folds of a store that is there already, unless they name one."""
    if "folds" in settings.model_fields_set or not (folder / STORE_FILE).exists():
        return settings
    return settings.model_copy(update={"folds": PatternStore(folder).settings["folds"]})


def store_settings(settings: Settings, log: Log[H]) -> dict[str, Any]:
    """Return the settings that must stay the same over the life of a store."""
    chosen = log_settings(settings.model_dump(mode="json"))
    return {
        "stored_depth": settings.stored_depth,
        **{name: value for name, value in chosen.items() if name not in _OF_A_RUN},
        "clicks_by": "url" if log.by_url else "position",
        "search_ids": "integers" if log.searches.has_numbers("search_id") else "text",
        "user_ids": "integers" if log.searches.has_numbers("user_id") else "text",
    }


def plan_growth(store: PatternStore, log: Log[H], settings: Settings) -> Plan[H]:
    """Plan the batches of those files of a log that a store does not hold yet.

    Raises InputError if a file has changed, comes too late, or is needed to finish an interrupted run and
    missing.
    """
    history = store.history()
    last = history[-1] if history else None
    unfinished = last is not None and not last.info["ends_run"]
    files = {what: half.fingerprints() for what, half in log.halves.items()}
    again = {
        what: store.run_files(int(last.info["run"]), what) if last and unfinished else [] for what in files
    }
    new = {what: _new_files(store, what, files[what], again[what]) for what in files}
    known = sum(len(files[what]) - len(new[what]) for what in files)
    run = int(last.info["run"]) if last and unfinished else len(history) + 1
    to_read = Log(log.searches.only(new["searches"]), log.clicks.only(new["clicks"]))
    new_files = {what: tuple(files[what][file] for file in new[what]) for what in files}
    alike: dict[str, tuple[FileFingerprint, ...]] = {}
    for what, given in files.items():
        digests = {file.digest for file in new_files[what]}
        alike[what] = tuple(file for file in given.values() if file.digest in digests)
    if not any(new.values()):
        return Plan(to_read, (), new_files, run, known, alike)
    windows = _windows(store, to_read, files, again, last, settings)
    return Plan(to_read, windows, new_files, run, known, alike)


def _new_files(
    store: PatternStore, what: str, files: Fingerprints, again: list[FileFingerprint]
) -> list[str]:
    known = KnownFiles(what, store.files(what))
    new: list[str] = []
    new_files: list[FileFingerprint] = []
    taken: set[str] = set()
    for file, fingerprint in files.items():
        before, same = known.at(fingerprint.path), known.like(fingerprint)
        if before is not None and same != before:
            runs = sorted({int(batch.info["run"]) for batch in store.history()})
            changed = next(run for run in runs if before in store.run_files(run, what))
            raise InputError(
                f"{what}: {file} has changed since it went into {store.folder} (batch {changed} or later), "
                "or is read with another --column now; restore it, or make its batches again: "
                f"{undo_runs(store.folder, changed)}"
            )
        if same is None or same in again:
            new_files.extend([] if same is None else [same])
            if fingerprint.digest not in taken:  # its copy is not read
                new.append(file)
                taken.add(fingerprint.digest)
    missing = [file.path for file in again if file not in new_files]
    if missing:
        raise InputError(
            f"{what}: the last run into {store.folder} was interrupted, and {missing[0]} is needed "
            "to finish it; give it again, or undo that run: "
            f"{undo_runs(store.folder, int(store.history()[-1].info['run']))}"
        )
    return new


def _windows(
    store: PatternStore,
    log: Log[H],
    files: Mapping[str, Fingerprints],
    again: Mapping[str, list[FileFingerprint]],
    last: StoredBatch | None,
    settings: Settings,
) -> tuple[Window, ...]:
    """Return the windows of new files, and of those of an interrupted run; rows that are late are refused."""
    end_ms = end_of_times(settings)
    chunks = {what: half.chunks(FIRST_MS, end_ms) for what, half in log.halves.items()}
    if not settings.allow_gap:
        refuse_lone_last(log, chunks["searches"], end_ms)
    if last is None:
        return cut_chunks(chunks["searches"], chunks["clicks"], settings)
    start_ms = last.watermark_ms
    placed: dict[str, list[FileChunk]] = {what: [] for what in chunks}
    for what, some in chunks.items():
        read = {file.path for file in again[what]}
        for chunk in some:
            first_ms = chunk.first_ms
            is_new = files[what][chunk.file].path not in read
            if is_new and first_ms is not None and first_ms < start_ms:
                number = next(batch.number for batch in store.history() if first_ms < batch.watermark_ms)
                raise InputError(
                    f"{what}: {chunk.file} comes too late: its first row has time {utc_text(first_ms)} "
                    f"UTC, and {store.folder} is closed up to {utc_text(start_ms)} UTC; "
                    f"make the batches again: {undo_runs(store.folder, number)}"
                )
            # a new chunk without a usable time belongs to the first window of a run that continues
            is_untimed = is_new and first_ms is None
            placed[what].append(replace(chunk, first_ms=start_ms, last_ms=start_ms) if is_untimed else chunk)
    if last.info["ends_run"]:
        return cut_chunks(chunks["searches"], chunks["clicks"], settings)
    return cut_chunks(tuple(placed["searches"]), tuple(placed["clicks"]), settings, start_ms)


def with_carried(outcomes: Outcomes | None, store: PatternStore) -> Outcomes | None:
    """Return outcomes, also earlier ones of open sessions; InputError if one had another kind then."""
    before, now = store.outcome_kinds(), {} if outcomes is None else outcomes.kinds
    name = next((name for name, kind in now.items() if before.get(name, kind) != kind), None)
    if name is not None:
        raise InputError(
            f"outcomes: {name} has kind {now[name]} here, but {before[name]} in {store.folder}; add "
            f"--outcome-kind {name}={before[name]}, or make the batches again: {undo_runs(store.folder, 1)}"
        )
    last = next(iter(store.batches()[-1:]), None)
    if last is None or not last.has(CARRIED):
        return outcomes
    carried = last.frame(CARRIED)
    return (outcomes or Outcomes(carried.clear())).with_earlier(carried)


def with_known(assignments: Assignments | None, store: PatternStore, run: int) -> Assignments | None:
    """Return assignments with those that earlier runs left; RejectedRowsError if one begins too early."""
    before = [batch for batch in store.batches() if batch.info["run"] < run]
    if assignments is None or not before:
        return assignments
    assignments = assignments.with_arms_of(before[-1].frame("carry_searches"))
    known = [batch.frame(ASSIGNED)["id"] for batch in before if batch.has(ASSIGNED)][-1:]
    known_ids = pl.concat([pl.Series("id", [], pl.UInt64), *known])
    rows, closed_ms = assignments.given, before[-1].watermark_ms
    late = rows.filter(~assignments.digests().is_in(known_ids.implode()) & (rows["since_ms"] < closed_ms))
    if late.height:
        row = late.row(0, named=True)
        raise RejectedRowsError(
            f"assignments: {late.height:,} of {rows.height:,} come too late, such as one to "
            f"{visible(row['variant'])} of {visible(row['experiment'])}: {store.folder} has counted all "
            f"sessions up to {utc_text(closed_ms)} UTC; give column timestamp (an assignment without one "
            f"holds from the beginning), or make the batches again: {undo_runs(store.folder, 1)}"
        )
    return replace(assignments, known=known_ids)


class JoinedOutcomes:
    """Follows outcomes that a run brings; RejectedRowsError if too many are of searches counted before."""

    def __init__(self, outcomes: Outcomes | None, store: PatternStore, run: int, settings: Settings) -> None:
        self._outcomes = outcomes
        if outcomes is None:
            return
        ids = outcomes.rows["search_id"]
        before: list[StoredBatch] = []
        begun: list[StoredBatch] = []  # what this run has read already, if it was interrupted, is not late
        for batch in store.batches():
            (before if batch.info["run"] < run else begun).append(batch)
        last = [batch.frame("carry_searches")["search_id"].cast(ids.dtype) for batch in before[-1:]]
        is_open = ids.is_in(pl.concat([ids.clear(), *last]).implode())  # of visits that may still grow
        self._is_late = is_late = _are_known(ids, before) & ~is_open
        self._digests = [id_digest(one) for one in ids]
        self._is_settled = is_open | is_late | _are_known(ids, begun)
        self._counts = Counter(outcomes.counts)
        self._counts["late", "search of an earlier run"] += int(
            outcomes.rows.filter(is_late)["given_rows"].sum()
        )
        late = sum(n for (step, _), n in self._counts.items() if step == "late")
        read = self._counts["read", ""]
        if late > settings.max_rejected * read:
            raise RejectedRowsError(
                f"outcomes: {late:,} of {read:,} rows come too late: an earlier run into {store.folder} "
                "counted their searches; give outcomes to the run that reads their searches, or make the "
                f"batches again: {undo_runs(store.folder, 1)}"
            )

    def add(self, ids: pl.LazyFrame) -> None:
        """Note the search ids of a batch."""
        if self._outcomes is not None:
            new = ids.select("id").collect()["id"]
            self._is_settled |= pl.Series(self._digests, dtype=new.dtype).is_in(new.implode())

    def put(self, content: BatchContent, *, ends_run: bool) -> BatchContent:
        """Add the outcomes of open sessions to a batch, and to the last one what became of all rows."""
        if self._outcomes is None:
            return content
        rows, ids = self._outcomes.rows, self._outcomes.rows["search_id"]
        searches = (
            content.frames["carry_searches"].lazy().select(pl.col("search_id").cast(rows.schema["search_id"]))
        )
        carried = rows.lazy().join(searches.unique(), on="search_id", how="semi").collect()
        frames = {**content.frames, CARRIED: carried.sort("search_id", "outcome")}
        content = replace(content, frames=frames)
        if not ends_run:
            return content
        ambiguous = content.frames["ambiguous"].lazy().collect()["search_id"].cast(ids.dtype)
        is_lost = ~self._is_settled | (ids.is_in(ambiguous.implode()) & ~self._is_late)
        unmatched = int(rows.filter(is_lost)["given_rows"].sum())
        counts = {**self._counts, ("unmatched", "no usable search"): unmatched}
        funnel = with_counts(content.closed.funnel, "outcomes", counts)
        return replace(content, closed=replace(content.closed, funnel=funnel))


def _are_known(ids: pl.Series, batches: Sequence[StoredBatch]) -> pl.Series:
    return known_ids(ids, batches) if batches else pl.Series([False] * len(ids), dtype=pl.Boolean)


class BatchProcessor(Protocol[H]):
    """Processes the batches of a plan, one after the other, on an engine."""

    def begin(self, plan: Plan[H], before: StoredBatch | None) -> None:
        """Find ambiguous search ids of a plan; rows carry over from `before`, the last batch of the store."""

    def add(self, plan: Plan[H], number: int, watermark_ms: int) -> None:
        """Process a window of the plan."""

    def ids(self) -> pl.LazyFrame:
        """Return the digests of the search ids that are new in the last batch (id), sorted, each once."""

    def content(self, info: Mapping[str, Any]) -> BatchContent:
        """Return the content of the last batch, and begin new sums."""


def add_to_store(
    processor: BatchProcessor[H], store: PatternStore, plan: Plan[H], settings: Settings,
    versions: Mapping[str, str], progress: Progress, outcomes: Outcomes | None = None,
    assignments: Assignments | None = None,
) -> int:  # fmt: skip
    """Process the batches of a plan, and publish each when it is done; return how many.

    Raises InputError if too many rows of the whole store are unusable, or new search ids are used already.
    """
    if not plan.windows:
        if store.batches():
            check_log(_so_far(store), settings.max_rejected)
        return 0
    progress(Event("looking at search ids"))
    joined = JoinedOutcomes(outcomes, store, plan.run, settings)
    processor.begin(plan, next(iter(store.batches()[-1:]), None))
    for number in range(len(plan.windows)):
        watermark_ms, ends_run = _watermark(store, plan, number, settings)
        processor.add(plan, number, watermark_ms)
        progress(Event("publishing"))
        ids = NewIds(processor.ids())
        joined.add(processor.ids())
        refuse_used(store, plan.run, ids)
        info = {
            "run": plan.run,
            "start_ms": plan.windows[number].start_ms,
            "watermark_ms": watermark_ms,
            "files": {  # all are named by the first batch of a run
                what: [file.entry() for file in files if not number] for what, files in plan.files.items()
            },
            "ids": None if ids.span is None else list(ids.span),
            "ends_run": ends_run,
            "settings": settings.model_dump(mode="json"),
            "versions": dict(versions),
            "outcome_kinds": {} if outcomes is None else outcomes.kinds,
        }
        content = processor.content(info)
        if not number:
            funnel = with_counts(content.closed.funnel, "impressions", plan.log.searches.made_of)
            funnel = counted_assignments(funnel, assignments)
            content = replace(content, closed=replace(content.closed, funnel=funnel))
        content = joined.put(content, ends_run=ends_run)
        if assignments is not None and assignments.given.height:
            known = pl.concat([assignments.known, assignments.digests()]).unique().sort()
            content = replace(content, frames={**content.frames, ASSIGNED: known.to_frame()})
        for what, files in plan.files.items():
            refuse_changed(what, files)
        store.publish(replace(content, info={**info, "counted": _counted(store, content.closed.funnel)}))
    check_log(_so_far(store), settings.max_rejected)
    return len(plan.windows)


def _counted(store: PatternStore, funnel: pl.DataFrame) -> list[dict[str, Any]]:
    history = store.history()
    before = _as_funnel(history[-1].info["counted"]) if history else FUNNEL.empty()
    rows = pl.concat(
        [before, FUNNEL.canonical(funnel.filter(depth=0).filter(pl.col("source") != "sessions"))]
    )
    return rows.group_by("source", "step", "reason").agg(pl.col("rows").sum()).sort(pl.all()).to_dicts()


def _as_funnel(counted: list[dict[str, Any]]) -> pl.DataFrame:
    every = pl.lit(EVERY)
    rows = pl.DataFrame(
        counted, schema={"source": pl.String, "step": pl.String, "reason": pl.String, "rows": pl.Int64}
    )
    return FUNNEL.canonical(rows.with_columns(market=every, judge=every, depth=pl.lit(0)))


def _so_far(store: PatternStore) -> pl.DataFrame:
    """Return rows read and rejected of all batches; only a report counts ids ambiguous across batches."""
    last = store.history()[-1]
    return pl.concat([_as_funnel(last.info["counted"]), last.frame("open/funnel")])


def _watermark(store: PatternStore, plan: Plan[H], number: int, settings: Settings) -> tuple[int, bool]:
    """Return the earliest time of later batches, and whether the run ends: then late rows may come."""
    if number + 1 < len(plan.windows):
        start_ms = plan.windows[number + 1].start_ms
        return (END_MS if start_ms is None else start_ms), False
    history = store.history()
    before = history[-1].watermark_ms if history else FIRST_MS
    times = [chunk.last_ms for chunk in plan.windows[number].searches if chunk.last_ms is not None]
    return max([before, *(time - round(settings.late_minutes * 60_000) for time in times)]), True


COMPARED_DAYS = 7
"""All ids are compared with batches that end so many days, or less, before the newest batch."""

ONE_IN = 64
"""Of the ids of a batch, one in so many is compared with batches that are older."""

_CHUNK = 1_000_000
"""Ids compared at a time."""
_SCANNED = 64
"""Old batches that are read in one scan."""


class NewIds:
    """Digests of the search ids that are new in a batch, and their `span`: the lowest and the highest.

    They must be unique over the whole log. They are kept in ascending order, 8 bytes each, so a year of them
    cannot be read every night. Days that lie back further are compared in part: an id is used again because a
    counter starts anew or rows are delivered under a new name, and then many are. `clickassay store verify`
    compares all.
    """

    def __init__(self, ids: pl.LazyFrame) -> None:
        """Take a frame with one column, id, sorted, each once."""
        self._ids = ids
        number, first, last = ids.select(
            pl.len(), first=pl.col("id").first(), last=pl.col("id").last()
        ).collect().row(0)  # fmt: skip
        self.span: tuple[int, int] | None = None if first is None else (first, last)
        self._block_size = -(-number // ONE_IN)
        self._first_block = ids.head(self._block_size).collect()["id"].to_numpy()

    def used_in(self, batch: StoredBatch) -> Ids:
        """Return the ids that a batch has."""
        used = [self._first_block[:0]]

        def each(chunk: pl.DataFrame) -> None:
            if chunk.height:
                used.append(_in_both(batch, chunk["id"].to_numpy()))

        self._ids.sink_batches(each, chunk_size=_CHUNK, maintain_order=True)
        return np.concatenate(used)

    def some_used_in(self, batch: StoredBatch) -> Ids:
        """Return, of one id in 64, the ids that a batch has: of a block of ids from its lowest on.

        Digests of texts are spread evenly over all numbers, so a block of them is a sample.
        """
        lowest, block = batch.info["ids"][0], self._first_block
        if lowest > block[-1]:
            later = self._ids.filter(pl.col("id") >= lowest)
            block = later.head(self._block_size).collect()["id"].to_numpy()
        return _in_both(batch, block) if len(block) else block

    def unused_in(self, batches: Sequence[StoredBatch]) -> frozenset[int]:
        """Return the numbers of old batches that `some_used_in` would find nothing in, in few scans.

        Nearly all batches begin below the first block, so that they are asked about the same ids. A file that
        cannot be read is left to `some_used_in`, which says so.
        """
        asked = [batch for batch in batches if batch.info["ids"][0] <= self._first_block[-1]]
        block, unused = pl.Series("id", self._first_block), set[int]()
        for first in range(0, len(asked), _SCANNED):
            some = asked[first : first + _SCANNED]
            is_in_range = pl.col("id").is_between(block[0], block[-1])
            with suppress(pl.exceptions.PolarsError, OSError):
                known = scan_parquet([batch.folder / "ids.parquet" for batch in some]).filter(is_in_range)
                if not known.collect()["id"].is_in(block.implode()).any():
                    unused.update(batch.number for batch in some)
        return frozenset(unused)


def _in_both(batch: StoredBatch, ids: Ids) -> Ids:
    known: Ids = batch.frame("ids", pl.col("id").is_between(ids[0], ids[-1]))["id"].to_numpy()
    both = np.concatenate([known, ids])
    both.sort(kind="stable")  # merges two sorted runs
    twice: Ids = both[1:][both[1:] == both[:-1]]
    return twice


def refuse_used(store: PatternStore, run: int, ids: NewIds) -> None:
    """Refuse (InputError) ids that a run before the one of batch `run` used: clicks could be of either."""
    history = store.history()
    asked = [
        batch
        for batch in history
        if batch.info["run"] != run and batch.number >= store.settings["forgotten_before"]
        if (known := batch.info["ids"]) and ids.span is not None
        if known[0] <= ids.span[1] and ids.span[0] <= known[1]
    ]
    newest = history[-1].watermark_ms if history else 0
    old = [batch for batch in asked if batch.watermark_ms < newest - COMPARED_DAYS * DAY_MS]
    of_old, unused = {batch.number for batch in old}, ids.unused_in(old)
    for batch in asked:
        if batch.number in unused:
            continue
        is_old = batch.number in of_old
        used = ids.some_used_in(batch) if is_old else ids.used_in(batch)
        if len(used):
            raise InputError(
                f"searches: {f'of one in {ONE_IN}, ' if is_old else ''}{len(used):,} search ids of the new "
                f"files were already used in batch {batch.number} of {store.folder} (digest of one: "
                f"{used[0]}); ids must be unique over the whole log. If only a few are repeated, make "
                f"the batches again: {undo_runs(store.folder, int(batch.info['run']))}"
            )
