"""The files of a pattern store: locks, writes that reach the disk, digests, and errors for broken files."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.errors import StoreError
from clickassay.core.files.documents import DocumentError, check_form, read_json
from clickassay.core.files.locks import locks
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.core.files.output import is_disk_full, write_json
from clickassay.core.files.tables import scan_parquet
from clickassay.patterns.folders.places import STORE_FILE
from clickassay.patterns.folders.table_folder import JUDGED_FILE
from clickassay.patterns.store.records import BatchRecord

ID_ROW_GROUP = 1 << 15
"""Digests of search ids in a row group; a block of one in 64 of a day of four million has about as many."""


def read_frame(file: Path, condition: pl.Expr | None = None) -> pl.DataFrame:
    """Read a file of a store, or its rows that fulfil a condition.

    Raises StoreError if it is missing or broken.
    """
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
    """Read the batch.json of a batch.

    Raises StoreError if it is missing or broken.
    """
    try:
        value = check_form(read_json(file), BatchRecord)
    except (OSError, DocumentError) as error:
        raise broken(file, error) from error
    if OWN_DIGEST in value and value != with_own_digest(value):
        raise broken(file, ValueError("its content is not what was written"))
    return value


def broken(file: Path, error: Exception) -> StoreError:
    """Return the error that names a missing or broken file and how to repair the store.

    Raises MachineError if the file could not be read for a reason of the system: then nothing is to be
    repaired.
    """
    refuse_machine_fault(file, error)
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    fault = "is missing" if isinstance(error, FileNotFoundError) else f"is broken: {reason}"
    if file.name in (STORE_FILE, JUDGED_FILE):
        return StoreError(f"{file} {fault}; restore it, or make the store again in another folder")
    batch = next(folder for folder in file.parents if folder.name.isdigit())
    return StoreError(f"{file} {fault}; {remedy(batch.parent, int(batch.name))}")


def remedy(folder: Path, number: int) -> str:
    """Return how to repair a store whose batch of this number is broken."""
    undo = f"clickassay store forget {folder} --from {number}"
    return f"undo from there on: `{undo}`, then run again over all files"


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
        raise StoreError(f"{folder} holds other files; choose an empty or new folder as --store")


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
