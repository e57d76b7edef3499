"""A log: its two halves, checked to belong together, on this machine or where only an engine reaches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.files.tables import scan_parquet
from clickassay.core.settings import Settings
from clickassay.inputs.columns import CLICKED
from clickassay.inputs.sources.fingerprint import FileFingerprint
from clickassay.inputs.sources.mapping import advice
from clickassay.inputs.tables import Input
from clickassay.logs.chunks import FileChunk, chunks_of, scan_rows


class Half(Protocol):
    """One half of a log, ``searches`` or ``clicks``, unread; a file goes by the path that opens it."""

    @property
    def what(self) -> str:
        """Name of the half."""

    @property
    def source(self) -> str:
        """Where it lies, for messages."""

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns that are really there."""

    def has_numbers(self, ids: str) -> bool:
        """Return whether the ids of a column are whole numbers, or else text."""

    def with_text_ids(self) -> Self:
        """Return the half with search ids as text."""

    def fingerprints(self) -> Mapping[str, FileFingerprint]:
        """Return a fingerprint of each file, which distinguishes it from others."""

    def only(self, files: Sequence[str]) -> Self:
        """Return the half with some of its files."""

    def chunks(self, first_ms: int, end_ms: int) -> tuple[FileChunk, ...]:
        """Return its chunks, with the range of their times within first_ms to end_ms."""

    def last_searches(self, chunk: FileChunk, end_ms: int) -> list[tuple[int, object]]:
        """Return time and id of the last two searches of a chunk before `end_ms`, the last first."""

    @property
    def made_of(self) -> Mapping[tuple[str, str], int]:
        """Rows that its files were made of, by step and reason of the funnel; empty where it was not."""


H = TypeVar("H", bound=Half)


@dataclass(frozen=True)
class Log(Generic[H]):
    """Searches and clicks that belong together: both name searches by ids of one type."""

    searches: H
    clicks: H

    @property
    def by_url(self) -> bool:
        """Whether clicks name a URL, or else a position."""
        return "url" in self.clicks.columns

    @property
    def halves(self) -> dict[str, H]:
        """Both halves by name."""
        return {"searches": self.searches, "clicks": self.clicks}


def has_signals(log: Log[H], settings: Settings) -> bool:
    """Return whether clicks of a log have actions, or their dwell times count."""
    return "action" in log.clicks.columns or "satisfied" in settings.signal


def carries_column(file: Path | None, name: str) -> bool:
    """Return whether the rows that an earlier batch left, in a Parquet file, have a column."""
    return file is not None and name in scan_parquet(file).collect_schema()


def joined_log(searches: H, clicks: H) -> Log[H]:
    """Put both halves of a log together; InputError if clicks name neither URL nor position."""
    if not CLICKED & clicks.columns:
        has = sorted(clicks.columns)
        schema, rows = pl.Schema(dict.fromkeys(has, pl.String())), None
        if isinstance(clicks, Input):
            schema, rows = clicks.parts[0].schema, clicks.parts[0].frame
        hint = advice("clicks", sorted(CLICKED, reverse=True), schema, rows)
        raise InputError(
            f"clicks: neither column url nor column position in {clicks.source}; it has: "
            f"{', '.join(has)}{hint}"
        )
    if searches.has_numbers("search_id") == clicks.has_numbers("search_id"):
        return Log(searches, clicks)
    return Log(searches.with_text_ids(), clicks.with_text_ids())


@dataclass(frozen=True)
class LocalHalf(Input):
    """One `Half` of a log in files of this machine."""

    @property
    def source(self) -> str:
        """The first file."""
        return str(self.files[0])

    def has_numbers(self, ids: str) -> bool:
        return self.frame.collect_schema()[ids].is_integer()

    def with_text_ids(self) -> Self:
        text = pl.col("search_id").cast(pl.String)
        return replace(
            self,
            frame=self.frame.with_columns(text),
            opened=lambda *rows: self.opened(*rows).with_columns(text),
        )

    def fingerprints(self) -> dict[str, FileFingerprint]:
        """Return a fingerprint of each file, which is read whole."""
        return {str(file): self.file_fingerprint(file) for file in self.files}

    def only(self, files: Sequence[str]) -> Self:
        if len(files) == len(self.files):
            return self
        kept = tuple(Path(file) for file in files)
        frame = self.opened(kept) if kept else self.frame.clear().lazy()
        return replace(self, files=kept, frame=frame)

    def chunks(self, first_ms: int, end_ms: int) -> tuple[FileChunk, ...]:
        """Return row groups, or whole files of text."""
        return chunks_of(self, first_ms, end_ms)

    def last_searches(self, chunk: FileChunk, end_ms: int) -> list[tuple[int, object]]:
        rows = scan_rows(self, [chunk.file], (chunk.offset, chunk.rows)).select("timestamp", "search_id")
        return rows.filter(pl.col("timestamp") < end_ms).top_k(2, by="timestamp").collect().rows()


def local_half(table: Input) -> LocalHalf:
    """Return an input of searches or clicks as one half of a log."""
    return LocalHalf(**vars(table))


def checked_log(searches: Input, clicks: Input) -> Log[LocalHalf]:
    """Put both halves of a log of this machine together; see `joined_log`."""
    return joined_log(local_half(searches), local_half(clicks))
