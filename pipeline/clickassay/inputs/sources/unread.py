"""Values of text files that could not be read: the first of each column, beside the form that is expected."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from clickassay.core.text.words import visible
from clickassay.inputs.types.canonical import NO_VALUE, UTC, Kind, converted
from clickassay.inputs.types.columns import Wanted

_WRITE: Mapping[Kind, str] = {
    "time": "write times as 2026-10-03 14:05:00, with a zone or in UTC, or as milliseconds since 1970",
    "texts": 'write a list as a JSON array, e.g. ["a", "b"]',
    "integer": "write whole numbers",
    "id": rf"{NO_VALUE} is no value; write the id, or leave the row out",
    "text": rf"{NO_VALUE} is no value; write the text, or leave the row out",
}


@dataclass(frozen=True)
class Unread:
    """The first value of a column that is there and cannot be read, and how it is written instead."""

    column: str
    value: str
    file: Path
    write: str

    def __str__(self) -> str:
        return f"{self.column} “{visible(self.value)}” of {self.file} cannot be read: {self.write}."


def first_unread(
    wanted: Sequence[Wanted],
    parts: Sequence[tuple[Sequence[Path], str, pl.Schema, pl.LazyFrame]],
    time_zone: str = UTC,
) -> Iterator[Unread]:
    """Yield the first value of each column that cannot be read.

    wanted: columns of the table.
    parts: files, format, schema and rows as written, of files that are alike.
    time_zone: zone of the times that have none.
    """
    for want in wanted:
        for files, format_, schema, frame in parts:
            is_text = schema.get(want.name) == pl.String
            is_text = is_text and (format_ != "parquet" or want.kind in ("id", "text"))
            value = (
                unread_value(frame, want.name, want.kind, time_zone)
                if is_text and want.kind in _WRITE
                else None
            )
            if value is not None:
                yield Unread(want.name, value, files[0], _how_to_write(want.kind, time_zone))
                break


def _how_to_write(kind: Kind, time_zone: str) -> str:
    if kind != "time" or time_zone == UTC:
        return _WRITE[kind]
    return (
        f"write times as 2026-10-03 14:05:00, with a zone or as clocks of {time_zone} show them (they leave "
        "out an hour in spring), or as milliseconds since 1970"
    )


def unread_value(frame: pl.LazyFrame, name: str, kind: Kind, time_zone: str) -> str | None:
    """Return the first text of a column that cannot be read as its kind; None if all can."""
    read = converted(pl.col(name), pl.String(), kind, from_text=True, time_zone=time_zone)
    if read is None:
        return None
    texts = frame.select(text=pl.col(name), read=read).filter(
        pl.col("text").is_not_null(), pl.col("text").str.strip_chars() != "", pl.col("read").is_null()
    )
    first = texts.select("text").head(1).collect()["text"]
    return str(first[0]) if len(first) else None
