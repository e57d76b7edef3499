"""What every importer shares: reading lines, the canonical tables, one folder published by one rename."""

import hashlib
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from clickassay.core.errors import InputError, OutputError
from clickassay.core.output import write_json
from clickassay.core.progress import Event, Progress
from clickassay.inputs import columns
from clickassay.inputs.arrow import arrow_schema
from clickassay.inputs.files import malformed

BASE_DAY = datetime(2000, 1, 1, tzinfo=UTC)
"""Logs that give times without a date are put on this day."""

BASE_DAY_MS = int(BASE_DAY.timestamp()) * 1000
LAST_MS = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp()) * 1000

SEARCHES, JUDGMENTS = arrow_schema(columns.SEARCHES), arrow_schema(columns.JUDGMENTS)
CLICKS = arrow_schema(columns.CLICKS, "url")

_BATCH_ROWS = 100_000
_LINES_PER_REPORT = 100_000
_GZIP = b"\x1f\x8b"
_WHOLE_NUMBER = re.compile(r"[0-9]{1,18}")  # at most 18 digits: fits 64 bits


RANK_COUNTS = ("searches_out_of_order", "searches_cut_short", "results_not_placed")
"""What `placed` counts."""


@dataclass(frozen=True)
class Imported:
    """What an importer did.

    Attributes
    ----------
    folder
        The folder with the canonical tables and ``import.json``.
    counts
        Rows read, dropped, changed and written, by name (docs/reference/formats.md says what each counts).
    notes
        What the user should know before running on the folder, one sentence each.
    """

    folder: Path
    counts: dict[str, int]
    notes: tuple[str, ...]


def whole_number(text: str) -> int | None:
    """Return the non-negative integer of at most 18 digits that `text` spells, or None."""
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else None


def lines(
    file: Path, *, progress: Progress, encoding: str = "utf-8", hint: str = ""
) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end) of a text file, reporting progress.

    Parameters
    ----------
    encoding
        One whose line ends are those of ASCII, as UTF-8 and GB18030.
    hint
        What the message says behind the encoding where a line is not in it.

    Raises
    ------
    InputError
        If the file is missing, unreadable, packed or not in this encoding.
    """
    done = 0
    try:
        with file.open("rb") as stream:
            size = max(1, os.fstat(stream.fileno()).st_size)
            for number, raw in enumerate(stream, 1):
                done += len(raw)
                if number % _LINES_PER_REPORT == 0:
                    progress(Event(f"reading {file.name}", min(1.0, done / size)))
                try:
                    text = raw.decode(encoding)
                except UnicodeDecodeError as error:
                    raise _undecodable(file, number, raw, encoding.upper() + " text" + hint) from error
                yield number, (text.removeprefix("\ufeff") if number == 1 else text).rstrip("\r\n")
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot read {file}: {reason}; expected a text file") from error


def _undecodable(file: Path, number: int, raw: bytes, expected: str) -> InputError:
    if number == 1 and raw.startswith(_GZIP):
        return InputError(f"{file} is packed with gzip; expected {expected}: unpack it first (gunzip)")
    return malformed(file, number, repr(raw[:20]), expected=expected)


class TableWriter:
    """Writes rows to one Parquet file, a batch at a time, so that memory does not grow with the log."""

    def __init__(self, file: Path, schema: Any) -> None:  # noqa: ANN401 - pyarrow has no types
        self._writer = pq.ParquetWriter(file, schema, compression="zstd")
        self._schema = schema
        self._rows: list[tuple[Any, ...]] = []

    def add(self, *row: object) -> None:
        """Add one row, its values in the order of the schema; times are integer milliseconds."""
        self._rows.append(row)
        if len(self._rows) >= _BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        values = zip(*self._rows, strict=True) if self._rows else [()] * len(self._schema)
        arrays = [pa.array(column, field.type) for column, field in zip(values, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._flush()
        finally:
            self._writer.close()


@contextmanager
def publishing(out: Path) -> Iterator[Path]:
    """Give a temporary sibling folder to write to; rename it to `out` at the end, or remove it on failure.

    Raises
    ------
    OutputError
        If `out` exists already or cannot be written.
    """
    _must_be_new(out)
    part = out.parent / f".{out.name}.{os.getpid()}.part"
    try:
        part.mkdir(parents=True)
        yield part
        _must_be_new(out)
        part.rename(out)
    except OSError as error:
        raise OutputError(f"cannot write {out}: {error.strerror or error}; give a writable place") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _must_be_new(out: Path) -> None:
    if os.path.lexists(out):
        raise OutputError(f"{out} exists already; give a folder that does not exist, or remove it first")


def distinct_judgments(
    rows: Sequence[tuple[str, str, int]], *, counts: dict[str, int]
) -> list[tuple[str, str, int]]:
    """Drop judgments that repeat an earlier one; keep contradictions, which a run's settings resolve.

    Counts ``judgments_repeated`` (dropped) and ``judgments_conflicting`` (kept, the second grade of a pair).
    """
    distinct = dict.fromkeys(rows)
    pairs = {(query, url) for query, url, _ in distinct}
    counts["judgments_repeated"] += len(rows) - len(distinct)
    counts["judgments_conflicting"] += len(distinct) - len(pairs)
    return list(distinct)


def write_judgments(folder: Path, rows: Sequence[tuple[str, str, int]]) -> None:
    """Write ``judgments.parquet``, one row per (query, url, grade)."""
    with TableWriter(folder / "judgments.parquet", JUDGMENTS) as writer:
        for row in rows:
            writer.add(*row)


def count_judged_results(folder: Path) -> dict[str, int]:
    """Count the results shown over all searches of `folder`, and those of them that have a grade."""
    shown = (
        pl.scan_parquet(folder / "searches.parquet")
        .select("query", pl.col("results").alias("url"))
        .explode("url", empty_as_null=False)
    )
    counts = {"results_shown": _height(shown)}
    if (folder / "judgments.parquet").exists():
        graded = pl.scan_parquet(folder / "judgments.parquet")
        counts["results_shown_judged"] = _height(shown.join(graded, on=["query", "url"], how="semi"))
    return counts


def _height(frame: pl.LazyFrame) -> int:
    return int(frame.select(pl.len()).collect(engine="streaming").item())


def write_record(
    folder: Path,
    *,
    importer: str,
    inputs: dict[str, Path | None],
    settings: dict[str, object],
    imported: Imported,
) -> None:
    """Write ``import.json``: what was read (name, size, digest), with which settings, counts and notes."""
    record = {
        "importer": importer,
        "inputs": {name: _fingerprint(file) for name, file in inputs.items() if file is not None},
        "settings": settings,
        "counts": imported.counts,
        "notes": imported.notes,
    }
    write_json(folder / "import.json", record, sort_keys=False)


def _fingerprint(file: Path) -> dict[str, object]:
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"name": file.name, "bytes": file.stat().st_size, "sha256": digest}


def placed(ranked: Sequence[tuple[int, str]], counts: dict[str, int]) -> list[str]:
    """Return results best first, up to the first rank that is missing or held twice.

    Which result stood there is not known, and a list that closed the hole would move all below it up. A run
    leaves out a list that is too short for its depth (method 3, rule 7), and counts it.

    Parameters
    ----------
    ranked
        (rank from 1, result), in the order of the log.
    counts
        ``searches_out_of_order`` grows by 1 where the log's order is not that of the ranks;
        ``searches_cut_short`` by 1, and ``results_not_placed`` by the results left out, at such a rank.
    """
    ranks = [rank for rank, _ in ranked]
    holders: defaultdict[int, list[str]] = defaultdict(list)
    for rank, result in ranked:
        holders[rank].append(result)
    results: list[str] = []
    while len(holders.get(len(results) + 1, ())) == 1:
        results += holders[len(results) + 1]
    counts["searches_out_of_order"] += ranks != sorted(ranks)
    counts["searches_cut_short"] += len(results) < len(ranked)
    counts["results_not_placed"] += len(ranked) - len(results)
    return results
