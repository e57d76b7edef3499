"""The batches of a pattern store: their files, records and locks, written and read whole."""

import hashlib
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import polars as pl
from pydantic import BaseModel, Field, field_validator, model_validator

from clickassay.core.contracts.form import ContractError
from clickassay.core.errors import InputError, StoreError
from clickassay.core.files.documents import DocumentError, check_form, read_json
from clickassay.core.files.locks import locks
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.core.files.output import is_disk_full, write_json
from clickassay.core.files.tables import scan_parquet, write_table
from clickassay.core.settings import LOG_SETTINGS, NAMED_SETTINGS, Settings
from clickassay.inputs.sources.fingerprint import END_BYTES, ENDS, FileFingerprint, content_digest
from clickassay.patterns.places import STORE_FILE
from clickassay.patterns.table import (
    FOLDER_TABLES,
    JUDGED_FILE,
    OWN_TABLES,
    PatternTable,
    StagedTable,
    write_folder_tables,
)

Count = Annotated[int, Field(ge=0, lt=1 << 63)]


class StoreRecord(BaseModel):
    """The content of store.json; its settings are compared with the settings that are asked for."""

    format: int
    forgotten_before: Count
    stored_depth: Count
    only_judged: bool
    judged_queries: str | None


class RecordedFile(BaseModel):
    """A file of the log that a batch has read; older stores name its digest otherwise."""

    name: str
    path: str
    bytes: Count
    digest: str | None = None
    sha256: str | None = None

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        if self.digest is None and self.sha256 is None:
            raise ValueError("no digest")
        return self


class RecordedFiles(BaseModel):
    """The files of both halves of the log."""

    searches: list[RecordedFile]
    clicks: list[RecordedFile]


class CountedRows(BaseModel):
    """A row of the funnel up to a batch."""

    source: str
    step: str
    reason: str
    rows: Count


class BatchRecord(BaseModel):
    """The content of batch.json."""

    run: Annotated[int, Field(ge=1)]
    start_ms: int | None
    watermark_ms: int
    ids: list[int] | None = Field(min_length=2, max_length=2)
    ends_run: bool
    files: RecordedFiles
    counted: list[CountedRows]
    settings: dict[str, Any]
    versions: dict[str, Any]
    digests: dict[str, str]

    @field_validator("settings")
    @classmethod
    def _name_the_log(cls, settings: dict[str, Any]) -> dict[str, Any]:
        missing = [name for name in NAMED_SETTINGS if name not in settings]
        if missing:
            raise ValueError(f"no {missing[0]}")
        Settings(**{name: settings[name] for name in LOG_SETTINGS if name in settings})
        return settings


ID_ROW_GROUP = 1 << 15
"""Digests of search ids in a row group; a block of one in 64 of a day of four million has about as many."""


def read_frame(file: Path, condition: pl.Expr | None = None) -> pl.DataFrame:
    """Read the rows of a store's file that meet a condition; StoreError if it is missing or broken."""
    return _collected(file, lambda rows: rows if condition is None else rows.filter(condition))


def rows_of(file: Path) -> int:
    """Return the number of rows of a file of a store, as `read_frame` reads it."""
    return int(_collected(file, lambda rows: rows.select(pl.len())).item())


def _collected(file: Path, chosen: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
    try:
        return chosen(scan_parquet(file)).collect()
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise broken(file, error) from error


def write_ids(ids: pl.DataFrame | pl.LazyFrame, file: Path) -> None:
    """Write sorted digests of search ids, to be read by later runs as often as there are any.

    They are hardly smaller when compressed, and take three times as long to read. Row groups are small,
    since of an old batch only a block is read.
    """
    ids.lazy().sink_parquet(
        file, compression="uncompressed", row_group_size=ID_ROW_GROUP, statistics=True, maintain_order=True
    )


OWN_DIGEST = "own_digest"
"""Key of batch.json: SHA-256 of all else in it; older versions wrote none."""


def with_own_digest(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a batch.json with its own digest."""
    rest = {name: value for name, value in info.items() if name != OWN_DIGEST}
    spelled = json.dumps(rest, sort_keys=True).encode()
    return {**rest, OWN_DIGEST: hashlib.sha256(spelled).hexdigest()}


def read_record(file: Path) -> dict[str, Any]:
    """Read the batch.json of a batch; StoreError if it is missing or broken."""
    try:
        value = check_form(read_json(file), BatchRecord)
    except (OSError, DocumentError) as error:
        raise broken(file, error) from error
    if OWN_DIGEST in value and value != with_own_digest(value):
        raise broken(file, ValueError("its content has changed since it was written"))
    return value


def broken(file: Path, error: Exception) -> StoreError:
    """Return the error of a missing or broken file, with the repair; MachineError if it is the system's."""
    refuse_machine_fault(file, error)
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    fault = "is missing" if isinstance(error, FileNotFoundError) else f"is broken: {reason}"
    if file.name in (STORE_FILE, JUDGED_FILE):
        return StoreError(f"{file} {fault}; restore it, or create the store again in another folder")
    batch = next(folder for folder in file.parents if folder.name.isdigit())
    return StoreError(f"{file} {fault}; {remedy(batch.parent, int(batch.name))}")


def remedy(folder: Path, number: int) -> str:
    """Return how to repair a store whose batch of this number is broken."""
    undo = f"clickassay store forget {folder} --from {number}"
    return f"undo the batches from there on (`{undo}`), then run again over all files"


def undo_runs(folder: Path, number: int) -> str:
    """Return how to make the batches of a store again from this number on."""
    forget = f"`clickassay store forget {folder} --from {number}`"
    return f"{forget}, then run again over all files from then on"


def refuse_others(folder: Path) -> None:
    """Refuse a folder that is no store but holds something."""
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file; choose a folder as --store")
    names = [path.name for path in folder.iterdir()] if folder.exists() else []
    if any(name.isdigit() for name in names) and STORE_FILE not in names:
        raise broken(folder / STORE_FILE, FileNotFoundError())
    others = (name for name in names if name not in (STORE_FILE, JUDGED_FILE))
    if any(not name.startswith((".lock", f".{STORE_FILE}")) for name in others):
        raise StoreError(f"{folder} contains other files; choose an empty or new folder as --store")


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from changing a store; an error inside names the store if its disk is full."""
    with _full_disk_named(folder), (folder / ".lock").open("a+b", buffering=0) as lock:
        if locks(lock.fileno()) is False:
            lock.seek(0)
            raise StoreError(
                f"store {folder} is in use by another clickassay (process {lock.read().decode()}); "
                "wait until it ends, then run again"
            )
        with suppress(OSError):  # on a full disk batches can still be undone
            lock.truncate(0)
            lock.write(str(os.getpid()).encode())
        yield


@contextmanager
def _full_disk_named(folder: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not is_disk_full(error):
            raise
        raise StoreError(
            f"disk full while writing store {folder}; the batches in it are whole; "
            "free space, then run again, or choose another --store"
        ) from error


def replace_json(file: Path, value: Mapping[str, Any]) -> None:
    """Write JSON that appears whole or not at all."""
    work = file.with_name(f".{file.name}.new")
    try:
        write_json(work, value)
        write_through(work)
        work.replace(file)
    finally:
        work.unlink(missing_ok=True)


def write_through(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows writes names by itself, and opens no folder
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class KnownFiles:
    """The files of one half of a log that a store was made of, each path once."""

    def __init__(self, what: str, files: Sequence[FileFingerprint]) -> None:
        self._what = what
        self._by_path = {file.path: file for file in files}
        self._by_digest = {file.digest: file for file in files}
        self._older: defaultdict[int, list[FileFingerprint]] = defaultdict(list)
        for file in files:
            if file.kind == ENDS:
                self._older[file.bytes].append(file)

    def at(self, path: str) -> FileFingerprint | None:
        """Return the file that was read from a path."""
        return self._by_path.get(path)

    def like(self, file: FileFingerprint) -> FileFingerprint | None:
        """Return the known file of the same content, if any; InputError if its content is no longer known."""
        before = self.at(file.path)
        if before is not None and file.has_content_of(before):
            return before
        if (same := self._by_digest.get(file.digest)) is not None:
            return same
        for older in self._older[file.bytes]:
            if not file.has_content_of(older):
                continue
            if file.bytes <= 2 * END_BYTES:  # then its ends are all of it
                return older
            try:
                if content_digest(Path(older.path)) == file.digest:
                    return older
            except OSError as error:
                raise InputError(
                    f"{self._what}: {file.path} may be a copy of {older.path}, which is gone: size, start "
                    "and end are equal, but the older clickassay that read it stored no digest of the whole "
                    "file; put it back there (a link is enough), then run again"
                ) from error
        return None


_TABLES = ("closed", "open")
CARRIED = "carry_outcomes"
"""Frame of the outcomes of open sessions, of a store that counts outcomes."""
ASSIGNED = "assignments"
"""Frame of the digests of assignments that a store knows (id), sorted; of one that was given any."""
_FRAMES = ("carry_searches", "carry_clicks", "ids", "orphan_clicks", "ambiguous")


@dataclass(frozen=True)
class BatchContent:
    """What a batch adds to a store."""

    # closed, opened: Pattern tables of the sessions that can grow no more, and of sessions that may.
    closed: PatternTable | StagedTable
    opened: PatternTable | StagedTable
    # By name: ``carry_searches`` and ``carry_clicks`` (rows to be read again), ``ids`` (digests of new search
    # ids, sorted), ``orphan_clicks`` (search_id, clicks, is_open) and ``ambiguous`` (search_id, of this batch
    # and all before).
    frames: Mapping[str, pl.DataFrame | pl.LazyFrame]
    info: Mapping[str, Any]  # Run, times, files and counts; see `add_to_store`.


@dataclass(frozen=True)
class StoredBatch:
    """A published batch: its number, its folder, and the content of its batch.json."""

    number: int
    folder: Path
    info: Mapping[str, Any]

    @property
    def watermark_ms(self) -> int:
        """No row of a later batch is older (ms since 1970, UTC)."""
        return int(self.info["watermark_ms"])

    def frame(self, name: str, condition: pl.Expr | None = None) -> pl.DataFrame:
        """Return one of the frames of `BatchContent`, or a table as ``open/funnel``: all rows, or some."""
        return read_frame(self.folder / f"{name}.parquet", condition)

    def has(self, name: str) -> bool:
        """Return whether a frame was written."""
        return f"{name}.parquet" in self.info["digests"]

    def rows(self, name: str) -> int:
        """Return the number of rows of one of the frames of `BatchContent`."""
        return rows_of(self.folder / f"{name}.parquet")

    def table(self, kind: str) -> PatternTable:
        """Return the pattern table of ``closed`` or ``open`` sessions."""
        own = {name: form for name, form in OWN_TABLES.items() if self.has(f"{kind}/{name}")}
        forms = FOLDER_TABLES | own
        frames = {name: read_frame(self.folder / kind / f"{name}.parquet") for name in forms}
        try:
            checked = {name: forms[name].canonical(frame) for name, frame in frames.items()}
        except (pl.exceptions.PolarsError, ContractError) as error:
            raise broken(self.folder / kind, error) from error
        return PatternTable(**checked, info={})


def write_batch(content: BatchContent, folder: Path, number: int) -> None:
    """Write a batch into an empty folder, with the digests of its files."""
    for kind, table in zip(_TABLES, (content.closed, content.opened), strict=True):
        (folder / kind).mkdir()
        write_folder_tables(table, folder / kind)
    for name in (*_FRAMES, *(name for name in (CARRIED, ASSIGNED) if name in content.frames)):
        write = write_ids if name in ("ids", ASSIGNED) else write_table
        write(content.frames[name], folder / f"{name}.parquet")
    files = sorted(folder.rglob("*.parquet"))
    digests = {file.relative_to(folder).as_posix(): file_digest(file) for file in files}
    info = {**content.info, "number": number, "digests": digests}
    replace_json(folder / "batch.json", with_own_digest(info))
    for file in files:
        write_through(file)


def faults_of(folder: Path, *, has_data: bool) -> list[str]:
    """Return one line for each file of a batch that is not as it was written; its data may be dropped."""
    try:
        digests = read_record(folder / "batch.json")["digests"]
    except StoreError as error:
        return [str(error)]
    if not has_data:
        return []
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    others = sorted(there - {"batch.json", *digests})
    faults = [f"{folder / name} is not among the files that were written" for name in others]
    for name, digest in digests.items():
        file = folder / name
        if not file.is_file():
            faults.append(f"{file} is missing")
        elif file_digest(file) != digest:
            faults.append(f"{file} has changed since it was written: its digest differs")
    return faults


def drop_data(folder: Path) -> None:
    """Remove the data of a batch; the files that it was made of stay known."""
    for name in _TABLES:
        shutil.rmtree(folder / name, ignore_errors=True)
    for file in folder.glob("*.parquet"):
        file.unlink()
