"""The pattern store: a log's pattern table in batches, each published whole; a run continues where one ended.

A batch folder holds the pattern table of its closed sessions (`closed`), that of its open ones as if the log
ended there (`open`), the rows to be read again with the next batch (`carry_searches`, `carry_clicks`),
and its search ids as far as other batches need them. The table of the whole log is the sum of all
`closed` and of the last `open`.
"""

import hashlib
import itertools
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.contracts.patterns import FUNNEL
from clickassay.core.errors import StoreError
from clickassay.core.files.documents import DocumentError, check_form, read_json
from clickassay.core.files.output import new_folder_in
from clickassay.core.files.tables import write_table
from clickassay.core.settings import log_settings
from clickassay.inputs.sources.fingerprint import FileFingerprint, input_fingerprint
from clickassay.patterns.batches import (
    OWN_DIGEST,
    BatchContent,
    StoredBatch,
    StoreRecord,
    broken,
    drop_data,
    faults_of,
    locked_folder,
    read_frame,
    read_record,
    refuse_others,
    remedy,
    replace_json,
    write_batch,
    write_through,
)
from clickassay.patterns.funnel import orphan_click_rows, shown_signals
from clickassay.patterns.health import merged_counts
from clickassay.patterns.places import STORE_FILE
from clickassay.patterns.table import JUDGED_FILE, PatternTable, merge_tables

_AT_ONCE = 50_000_000
"""Ids that are compared in memory at a time."""


def id_digest(search_id: object) -> int:
    """Return the digest by which a store knows a search id: an integer itself, or 64 bits of a text's md5."""
    if isinstance(search_id, int):
        return search_id
    return int(hashlib.md5(str(search_id).encode(), usedforsecurity=False).hexdigest()[:16], 16)


def known_ids(search_ids: pl.Series, batches: Sequence[StoredBatch]) -> pl.Series:
    """Return for each id whether one of the batches has read it."""
    if search_ids.is_empty():
        return pl.Series([], dtype=pl.Boolean)
    digests = [id_digest(search_id) for search_id in search_ids]
    wanted = pl.Series("id", digests, dtype=batches[0].frame("ids").schema["id"])
    wanted_ids = pl.col("id").is_in(wanted.implode())
    ids = pl.concat([read_frame(batch.folder / "ids.parquet", wanted_ids) for batch in batches])["id"]
    return wanted.is_in(ids.implode())


def ids_of_several_runs(batches: Sequence[StoredBatch]) -> list[tuple[int, int]]:
    """Return (run, number of its ids that earlier runs had): growing compares with older batches in part."""
    if len({batch.info["run"] for batch in batches}) < 2:
        return []
    total = sum(batch.rows("ids") for batch in batches)
    parts = max(1, -(-total // _AT_ONCE))
    used: Counter[int] = Counter()
    for part in range(parts):
        chosen = pl.col("id").hash(1) % parts == part
        frames = [
            batch.frame("ids", chosen).with_columns(run=pl.lit(int(batch.info["run"]), pl.Int32))
            for batch in batches
        ]
        every = pl.concat(frames).unique().sort("id", "run")
        used.update(
            dict(every.filter(pl.col("id") == pl.col("id").shift()).group_by("run").len().iter_rows())
        )
    return sorted(used.items())


FORMAT = 2
"""Layout of a store; 1 had a file ``orphans`` where ``orphan_clicks`` is now."""


class PatternStore:
    """A folder of batches, in order of time; StoreError if it holds something else, or is broken."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings: dict[str, Any] = self._header()
        self._listed: list[StoredBatch] | None = None
        self._is_locked = False  # then no other process changes the list

    def _header(self) -> dict[str, Any]:
        try:
            header = read_json(self.folder / STORE_FILE)
        except (FileNotFoundError, NotADirectoryError) as error:
            refuse_others(self.folder)
            raise StoreError(
                f"{self.folder} is not a pattern store; `clickassay patterns --store {self.folder}` makes one"
            ) from error
        except (OSError, DocumentError) as error:
            raise broken(self.folder / STORE_FILE, error) from error
        if header.get("format") != FORMAT:
            raise StoreError(
                f"{self.folder} is a pattern store of another version of clickassay; make it again from "
                "its logs: `clickassay patterns --searches … --clicks … --store NEW_FOLDER`"
            )
        try:
            return check_form(header, StoreRecord)
        except DocumentError as error:
            raise broken(self.folder / STORE_FILE, error) from error

    @classmethod
    def open_or_create(
        cls, folder: Path, settings: Mapping[str, Any], judged_queries: pl.DataFrame | None = None
    ) -> "PatternStore":
        """Open a store, or create it; it keeps the settings, and the queries, that it was made with."""
        digest = None if judged_queries is None else _rows_digest(judged_queries)
        settings = {**settings, "only_judged": digest is not None, "judged_queries": digest}
        if not (folder / STORE_FILE).exists():
            refuse_others(folder)
            folder.mkdir(parents=True, exist_ok=True)
            with locked_folder(folder):
                if not (folder / STORE_FILE).exists():  # another process may have made it just now
                    if judged_queries is not None:
                        write_table(judged_queries, folder / JUDGED_FILE)
                    replace_json(folder / STORE_FILE, {"format": FORMAT, "forgotten_before": 0, **settings})
        store = cls(folder)
        if digest != store.settings.get("judged_queries") and store.settings.get("only_judged") and digest:
            raise StoreError(
                f"store {folder} contains only the queries that were judged when it was made, and these "
                "judgments have other queries; use the same judgments, or another --store"
            )
        made = {**log_settings(store.settings), **store.settings}  # the first stores do not name all
        for name, value in settings.items():
            if made.get(name, value) != value:
                raise StoreError(
                    f"store {folder} was made with {name} = {made.get(name)}, not {value}; "
                    "use the same setting, or another --store"
                )
        return store

    def judged_queries(self) -> pl.DataFrame | None:
        """Return (market, query) of the queries that are kept, null = every market; None when all are."""
        if not self.settings.get("only_judged"):
            return None
        judged = read_frame(self.folder / JUDGED_FILE)
        if _rows_digest(judged) != self.settings["judged_queries"]:
            raise broken(
                self.folder / JUDGED_FILE, ValueError("its content has changed since it was written")
            )
        return judged

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from the store, and remove what a killed one left; StoreError if it is in use."""
        with locked_folder(self.folder):
            self._sweep()
            self._is_locked = True
            try:
                yield
            finally:
                self._is_locked, self._listed = False, None

    def _sweep(self) -> None:
        for leftover in (*self.folder.glob(".batch.*"), *self.folder.glob(".spill.*")):
            shutil.rmtree(leftover, ignore_errors=True)
        for folder in self._folders():
            if int(folder.name) < self.settings["forgotten_before"]:
                drop_data(folder)

    def history(self) -> list[StoredBatch]:
        """Return all batches ever published and not undone, in order of time, also dropped ones."""
        if self._listed is not None:
            return [*self._listed]
        folders = self._folders()
        for number, folder in enumerate(folders, start=1):
            if int(folder.name) != number:
                raise StoreError(
                    f"store {self.folder}: batch {number} is missing; {remedy(self.folder, number)}"
                )
        listed = [StoredBatch(int(path.name), path, read_record(path / "batch.json")) for path in folders]
        self._listed = [*listed] if self._is_locked else None
        return listed

    def batches(self) -> list[StoredBatch]:
        """Return the batches whose data are there, in order of time."""
        return self._with_data(self.history())

    def _with_data(self, every: Sequence[StoredBatch]) -> list[StoredBatch]:
        return [batch for batch in every if batch.number >= self.settings["forgotten_before"]]

    def publish(self, content: BatchContent) -> StoredBatch:
        """Add a batch after the last one: it appears whole, by one rename, or not at all."""
        number = len(self.history()) + 1
        if number == 1:
            content = replace(content, info={**content.info, "store": self._lasting()})
        work = new_folder_in(self.folder, ".batch.")
        try:
            write_batch(content, work, number)
            place = self.folder / f"{number:06d}"
            work.rename(place)
            write_through(self.folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        published = StoredBatch(number, place, read_record(place / "batch.json"))
        if self._listed is not None:
            self._listed.append(published)
        return published

    def table(self) -> PatternTable:
        """Return the pattern table of the whole log: closed sessions, and open ones as they are now."""
        every = self.history()  # listed once: another process may publish meanwhile
        batches = self._with_data(every)
        if not batches:
            raise StoreError(f"store {self.folder} has no batch yet; `clickassay patterns --store` adds some")
        closed = (batch.table("closed") for batch in batches)
        tables = itertools.chain(closed, [batches[-1].table("open")])
        info = {
            "stored_depth": self.settings["stored_depth"],
            "settings": {**batches[-1].info["settings"]},
            "inputs": {what: input_fingerprint(_files(every, what)) for what in ("searches", "clicks")},
            "versions": batches[-1].info["versions"],
            "outcome_kinds": self.outcome_kinds(),
        }
        judged = self.judged_queries()
        whole, funnel = merge_tables(tables), _funnel(batches)
        shown: dict[str, Any] = {
            name: shown_signals(getattr(whole, name), funnel)
            for name in ("signals", "arms", "arm_patterns", "interleaved")
        }
        return replace(whole, funnel=funnel, info=info, judged_queries=judged, **shown)

    def funnel(self) -> pl.DataFrame:
        """Return the funnel of the whole log, as its contract has it."""
        return _funnel(self.batches())

    def outcome_kinds(self) -> dict[str, str]:
        """Return the kind of each outcome that a run brought, by name."""
        found: dict[str, str] = {}
        for batch in self.history():
            kinds = batch.info.get("outcome_kinds", {})
            if not isinstance(kinds, dict):
                raise broken(batch.folder / "batch.json", ValueError("outcome_kinds is not a table of names"))
            found |= kinds
        return found

    def health(self) -> pl.DataFrame:
        """Return the counts of the checks of the whole log, as their contract has them."""
        batches = self.batches()
        last = [batch.frame("open/health") for batch in batches[-1:]]
        return merged_counts(pl.concat([*(batch.frame("closed/health") for batch in batches), *last]))

    def files(self, what: str) -> list[FileFingerprint]:
        """Return all files of ``searches`` or ``clicks`` that the store was made of, each once."""
        return _files(self.history(), what)

    def run_files(self, run: int, what: str) -> list[FileFingerprint]:
        """Return the files of ``searches`` or ``clicks`` that one run read, or was to read."""
        of_run = [batch for batch in self.history() if batch.info["run"] == run]
        return [FileFingerprint.recorded(file) for batch in of_run for file in batch.info["files"][what]]

    def forget_from(self, number: int) -> int:
        """Undo batches from `number` on, whose files are new then; StoreError if there is none such."""
        self._refuse_after_last(number)
        undone = [batch for batch in self._folders() if int(batch.name) >= number]
        for folder in reversed(undone):  # the last first: what is left is always the beginning of the store
            hidden = folder.with_name(f".batch.{folder.name}")
            folder.rename(hidden)
            self._listed = None
            shutil.rmtree(hidden)
        return len(undone)

    def forget_before(self, number: int) -> int:
        """Drop the sessions of batches before `number` for good, not their files; return how many.

        Raises StoreError if there is no such batch: the last one stays, it holds the visits still open.
        """
        self._refuse_after_last(number)
        dropped = [batch for batch in self.batches() if batch.number < number]
        if dropped:
            self.settings["forgotten_before"] = number
            replace_json(self.folder / STORE_FILE, self.settings)
            self._sweep()
        return len(dropped)

    def _refuse_after_last(self, number: int) -> None:
        last = max((int(folder.name) for folder in self._folders()), default=0)
        if number > last:
            raise StoreError(
                f"store {self.folder} has no batch {number}: its last is {last}; "
                f"`clickassay store info {self.folder}` shows all"
            )

    def _folders(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.name.isdigit())

    def _lasting(self) -> dict[str, Any]:
        return {name: value for name, value in self.settings.items() if name != "forgotten_before"}

    def without_digest(self) -> list[int]:
        """Return the batches that an older version wrote: what is in their batch.json cannot be compared."""
        return [batch.number for batch in self.history() if OWN_DIGEST not in batch.info]

    def damage(self) -> list[str]:
        """Compare files with digests, counts with sums, ids, settings; return a line for each fault."""
        kept_from = self.settings["forgotten_before"]
        faults = [
            fault
            for folder in self._folders()
            for fault in faults_of(folder, has_data=int(folder.name) >= kept_from)
        ]
        if faults:
            return faults
        first, lasting = next(iter(self.history()), None), self._lasting()
        written = lasting if first is None else first.info.get("store", lasting)
        changed = [
            f"{self.folder / STORE_FILE} has {name} = {self.settings.get(name)}, "
            f"but batch 1 was written with {written.get(name)}; restore it"
            for name in sorted({*written, *lasting})
            if self.settings.get(name) != written.get(name)
        ]
        if changed:
            return changed
        used_again = [
            f"run from batch {run} on: {used:,} search ids were already used by an earlier run; ids must "
            "be unique over the whole log"
            for run, used in ids_of_several_runs(self.batches())
        ]
        # the parts of the funnel add up to what was read, and patterns to sessions
        table = self.table()
        rows = table.funnel.filter(pl.col("depth") == 0).group_by("source", "step").agg(pl.col("rows").sum())
        count = {(source, step): number for source, step, number in rows.iter_rows()}
        for source in ("searches", "clicks"):
            parts = {step: number for (of, step), number in count.items() if of == source and step != "read"}
            read = count.get((source, "read"), 0)
            if sum(parts.values()) != read:
                faults.append(f"{source}: {read:,} read, but {sum(parts.values()):,} used or excluded")
        used = count.get(("sessions", "formed"), 0) - count.get(("sessions", "left out"), 0)
        sessions = table.patterns["sessions"].sum()
        if sessions != used:
            faults.append(f"{used:,} sessions used, but {sessions:,} in patterns")
        return faults + used_again


def _rows_digest(frame: pl.DataFrame) -> str:
    return hashlib.sha256(json.dumps(frame.rows()).encode()).hexdigest()


def _files(batches: Sequence[StoredBatch], what: str) -> list[FileFingerprint]:
    files = [FileFingerprint.recorded(file) for batch in batches for file in batch.info["files"][what]]
    known = {file.path: file for file in files}
    return [known[path] for path in sorted(known)]


def _funnel(batches: Sequence[StoredBatch]) -> pl.DataFrame:
    frames = [batch.frame("closed/funnel") for batch in batches]
    frames += [batch.frame("open/funnel") for batch in batches[-1:]]
    orphans = [batch.frame("orphan_clicks").filter(~pl.col("is_open")) for batch in batches]
    orphan_clicks = pl.concat([*orphans, batches[-1].frame("orphan_clicks").filter("is_open")])
    ambiguous = batches[-1].frame("ambiguous")["search_id"]  # of all batches so far
    is_ambiguous = orphan_clicks["search_id"].is_in(ambiguous.implode())
    known = known_ids(orphan_clicks["search_id"], batches)
    clicks = orphan_clicks["clicks"]
    of_orphans = orphan_click_rows(
        ambiguous=int(clicks.filter(is_ambiguous).sum()),
        out_of_time=int(clicks.filter(known & ~is_ambiguous).sum()),
        unmatched=int(clicks.filter(~known & ~is_ambiguous).sum()),
    )
    rows = pl.concat([*frames, of_orphans])
    return FUNNEL.canonical(rows.group_by(FUNNEL.key).agg(pl.col("rows").sum()))
