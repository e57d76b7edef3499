"""The batches of a pattern store: written and read whole."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.contracts.form import ContractError, Table
from clickassay.core.errors import StoreError
from clickassay.core.files.tables import write_table
from clickassay.patterns.folders.table_folder import FOLDER_TABLES, OWN_TABLES, write_folder_tables
from clickassay.patterns.store.files import (
    broken,
    file_digest,
    read_frame,
    read_record,
    replace_json,
    rows_of,
    with_own_digest,
    write_ids,
    write_through,
)
from clickassay.patterns.table import PatternTable, StagedTable

_TABLES = ("closed", "open")
CARRIED = "carry_outcomes"
"""Frame of the outcomes of open sessions, of a store that counts outcomes."""
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
        forms = {**FOLDER_TABLES, **self._own_tables(kind)}
        frames = {name: read_frame(self.folder / kind / f"{name}.parquet") for name in forms}
        try:
            checked = {name: forms[name].canonical(frame) for name, frame in frames.items()}
        except (pl.exceptions.PolarsError, ContractError) as error:
            raise broken(self.folder / kind, error) from error
        return PatternTable(**checked, info={})

    def _own_tables(self, kind: str) -> dict[str, Table]:
        """Return the tables of more than clicks that were written, by their names."""
        names = (name for name in OWN_TABLES if f"{kind}/{name}.parquet" in self.info["digests"])
        return {name: OWN_TABLES[name] for name in names}


def write_batch(content: BatchContent, folder: Path, number: int) -> None:
    """Write a batch into an empty folder, with the digests of its files."""
    for kind, table in zip(_TABLES, (content.closed, content.opened), strict=True):
        (folder / kind).mkdir()
        write_folder_tables(table, folder / kind)
    for name in (*_FRAMES, *((CARRIED,) if CARRIED in content.frames else ())):
        write = write_ids if name == "ids" else write_table
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
    return _faults_of_files(folder, digests) if has_data else []


def _faults_of_files(folder: Path, digests: Mapping[str, str]) -> list[str]:
    faults = []
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in sorted(there - {"batch.json", *digests}):
        faults.append(f"{folder / name} is not among the files that were written")
    for name, digest in digests.items():
        file = folder / name
        if not file.is_file():
            faults.append(f"{file} is missing")
        elif file_digest(file) != digest:
            faults.append(f"{file} is not what was written: its digest differs")
    return faults


def drop_data(folder: Path) -> None:
    """Remove the data of a batch; the files that it was made of stay known."""
    for name in _TABLES:
        shutil.rmtree(folder / name, ignore_errors=True)
    for file in folder.glob("*.parquet"):
        file.unlink()
