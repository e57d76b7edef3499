"""Values that types do not vouch for: floats that stand for whole numbers, columns that folders repeat."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.text.words import visible
from clickassay.inputs import types as input_types
from clickassay.inputs.columns import Wanted
from clickassay.inputs.files import READ_ERRORS, unreadable_file
from clickassay.inputs.sources.parts import Part


def times_by_zone(parts: Sequence[Part]) -> tuple[int, int]:
    """Return how many times have a zone and how many none, of texts and Parquet whose files differ."""
    of_type = [part for part in parts if isinstance(part.schema.get("timestamp"), pl.Datetime)]
    is_text = [
        part for part in parts if part.format != "parquet" and part.written.get("timestamp") == pl.String
    ]
    if not is_text and len({str(input_types.has_no_zone(part.schema["timestamp"])) for part in of_type}) < 2:
        return 0, 0
    time = pl.col("timestamp")
    counted = [part.frame.select(_counts(*input_types.zoned_and_local(time))) for part in is_text]
    for part in of_type:
        nothing = pl.lit(None, pl.Datetime("ms"))
        both = (nothing, time) if input_types.has_no_zone(part.schema["timestamp"]) else (time, nothing)
        counted.append(part.frame.select(_counts(*both)))
    counts = pl.concat(counted).sum().collect(engine="streaming")
    return int(counts["zoned"][0]), int(counts["local"][0])


def _counts(zoned: pl.Expr, local: pl.Expr) -> list[pl.Expr]:
    return [zoned.count().cast(pl.Int64).alias("zoned"), local.count().cast(pl.Int64).alias("local")]


def check_values(
    what: str, part: Part, wanted: Sequence[Wanted], *, keep_others: bool, time_zone: str
) -> None:
    """Refuse fractions where whole numbers are meant, and folders that a column contradicts (InputError)."""
    known = {want.name: want for want in wanted}
    written = part.written
    repeated = {name: value for name, value in part.partition if name in written}
    if not keep_others:
        repeated = {name: value for name, value in repeated.items() if name in known}
    whole = [want.name for want in wanted if want.kind not in ("any", "seconds")]
    floats = [
        name
        for name in whole
        if name in written and written[name].is_float() and name not in dict(part.partition)
    ]
    found = [input_types.odd_float(pl.col(name), written[name]).alias(f"float {name}") for name in floats]
    found += [
        _other(part, name, value, known.get(name), time_zone).alias(f"folder {name}")
        for name, value in repeated.items()
    ]
    for file in part.files if found else ():
        try:
            row = part.written_in([file]).select(found).collect().row(0, named=True)
        except READ_ERRORS as error:
            raise unreadable_file(what, file, error) from error
        for name in floats:
            if (value := row[f"float {name}"]) is not None:
                of_type = str(written[name]), input_types.exact_below(written[name])
                raise no_whole_number(what, file, known[name], of_type, value, list(part.schema))
        for name, value in repeated.items():
            if row[f"folder {name}"] is not None:
                raise contradiction(what, file, name, value, row[f"folder {name}"])


def _other(part: Part, name: str, value: str | None, want: Wanted | None, time_zone: str) -> pl.Expr:
    dtype, from_text = part.written[name], part.format != "parquet"
    own = None
    if want is not None:
        own = input_types.converted(pl.col(name), dtype, want.kind, from_text=from_text, time_zone=time_zone)
    if want is None or own is None:
        spelled = pl.lit(value, dtype=pl.String)
        spelled = spelled.cast(dtype, strict=False) if dtype.is_numeric() else spelled
        own = pl.col(name)
    else:
        spelled = pl.lit(input_types.from_folder(value, want.kind, time_zone))
    texts = own.cast(pl.String)
    return texts.fill_null("null").filter(texts.ne_missing(spelled.cast(pl.String))).first()


def no_whole_number(
    what: str, file: object, want: Wanted, floats: tuple[str, int], value: object, columns: Sequence[str]
) -> InputError:
    """Return the error for a float where whole numbers or text are meant; `floats`: its type, its bound."""
    dtype, bound = floats
    return InputError(
        f"{what}: column {want.name} of {file} is {dtype}; expected {input_types.EXPECTED[want.kind]}, or "
        f"whole numbers below {bound:,}, but it has {value}; pandas converts integer columns with nulls to "
        f'float: write it with astype("Int64"), or as text, or choose another column with --column '
        f"{what}.{want.name}=… (the columns are {', '.join(columns)})"
    )


def contradiction(what: str, file: object, name: str, value: str | None, other: object) -> InputError:
    """Return the error for a column whose value is not the one that its folder spells out."""
    return InputError(
        f"{what}: the folder of {file} says {name} “{visible(value or 'null')}”, but the column {name} "
        f"contains “{visible(other)}”; rename the folder or the column"
    )


_WRITE: Mapping[input_types.Kind, str] = {
    "time": "write times as 2026-10-03 14:05:00, with a zone or in UTC, or as milliseconds since 1970",
    "texts": 'write a list as a JSON array, e.g. ["a", "b"]',
    "integer": "write whole numbers",
    "id": rf"{input_types.NO_VALUE} is not a value; write the id, or remove the row",
    "text": rf"{input_types.NO_VALUE} is not a value; write the text, or remove the row",
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
    time_zone: str = input_types.UTC,
) -> Iterator[Unread]:
    """Yield the first value of each column that cannot be read; `parts`: files that are alike, as written."""
    for want in wanted:
        for files, format_, schema, frame in parts:
            is_text = schema.get(want.name) == pl.String
            is_text = is_text and (format_ != "parquet" or want.kind in ("id", "text"))
            if not is_text or want.kind not in _WRITE:
                continue
            value = unread_value(frame, want.name, want.kind, time_zone)
            if value is None:
                continue
            write = _WRITE[want.kind]
            if want.kind == "time" and time_zone != input_types.UTC:
                write = (
                    f"write times as 2026-10-03 14:05:00, with a zone or in local time of {time_zone} "
                    "(which skips an hour in spring), or as milliseconds since 1970"
                )
            yield Unread(want.name, value, files[0], write)
            break


def unread_value(frame: pl.LazyFrame, name: str, kind: input_types.Kind, time_zone: str) -> str | None:
    """Return the first text of a column that cannot be read as its kind; None if all can."""
    read = input_types.converted(pl.col(name), pl.String(), kind, from_text=True, time_zone=time_zone)
    if read is None:
        return None
    texts = frame.select(text=pl.col(name), read=read).filter(
        pl.col("text").is_not_null(), pl.col("text").str.strip_chars() != "", pl.col("read").is_null()
    )
    first = texts.select("text").head(1).collect()["text"]
    return str(first[0]) if len(first) else None
