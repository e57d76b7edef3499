"""Values that types do not vouch for: floats that stand for whole numbers, columns that folders repeat."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.text.words import visible
from clickassay.inputs.files import READ_ERRORS, unreadable_file
from clickassay.inputs.sources.parts import Part
from clickassay.inputs.types.canonical import EXPECTED, converted, from_folder, has_no_zone, zoned_and_local
from clickassay.inputs.types.columns import Wanted
from clickassay.inputs.types.integers import exact_below, odd_float


def times_by_zone(parts: Sequence[Part]) -> tuple[int, int]:
    """Return how many times of a table have a zone, and how many have none, where both may occur.

    Texts are read for it; timestamps of Parquet only if they differ from file to file. Numbers are neither.
    """
    of_type = [part for part in parts if isinstance(part.schema.get("timestamp"), pl.Datetime)]
    is_text = [
        part for part in parts if part.format != "parquet" and part.written.get("timestamp") == pl.String
    ]
    if not is_text and len({str(has_no_zone(part.schema["timestamp"])) for part in of_type}) < 2:
        return 0, 0
    time = pl.col("timestamp")
    counted = [part.frame.select(_counts(*zoned_and_local(time))) for part in is_text]
    for part in of_type:
        nothing = pl.lit(None, pl.Datetime("ms"))
        both = (nothing, time) if has_no_zone(part.schema["timestamp"]) else (time, nothing)
        counted.append(part.frame.select(_counts(*both)))
    counts = pl.concat(counted).sum().collect(engine="streaming")
    return int(counts["zoned"][0]), int(counts["local"][0])


def _counts(zoned: pl.Expr, local: pl.Expr) -> list[pl.Expr]:
    return [zoned.count().cast(pl.Int64).alias("zoned"), local.count().cast(pl.Int64).alias("local")]


def check_values(
    what: str, part: Part, wanted: Sequence[Wanted], *, keep_others: bool, time_zone: str
) -> None:
    """Refuse floats that are no whole numbers where these are meant, and folders that a column contradicts.

    Raises InputError if a file has such a value.
    """
    known = {want.name: want for want in wanted}
    floats = [
        name for name, want in known.items() if want.kind not in ("any", "seconds") and _is_float(part, name)
    ]
    repeated = [
        (name, value)
        for name, value in part.partition
        if name in part.written and (keep_others or name in known)
    ]
    found = [odd_float(pl.col(name), part.written[name]).alias(f"float {name}") for name in floats]
    found += [
        _other(part, name, value, known.get(name), time_zone).alias(f"folder {name}")
        for name, value in repeated
    ]
    for file, row in _firsts(what, part, found):
        for name in floats:
            if (value := row[f"float {name}"]) is not None:
                raise no_whole_number(
                    what, file, known[name], _floats(part.written[name]), value, list(part.schema)
                )
        for name, value in repeated:
            if row[f"folder {name}"] is not None:
                raise contradiction(what, file, name, value, row[f"folder {name}"])


def _floats(dtype: pl.DataType) -> tuple[str, int]:
    return str(dtype), exact_below(dtype)


def _is_float(part: Part, name: str) -> bool:
    return name in part.written and part.written[name].is_float() and name not in dict(part.partition)


def _firsts(what: str, part: Part, expressions: list[pl.Expr]) -> Iterator[tuple[Path, dict[str, object]]]:
    for file in part.files if expressions else ():
        try:
            yield file, part.written_in([file]).select(expressions).collect().row(0, named=True)
        except READ_ERRORS as error:
            raise unreadable_file(what, file, error) from error


def _other(part: Part, name: str, value: str | None, want: Wanted | None, time_zone: str) -> pl.Expr:
    """Return the first value of a column that is not that of the folder, as text; null if there is none."""
    dtype, from_text = part.written[name], part.format != "parquet"
    own = (
        None
        if want is None
        else converted(pl.col(name), dtype, want.kind, from_text=from_text, time_zone=time_zone)
    )
    if want is None or own is None:
        spelled = pl.lit(value, dtype=pl.String)
        spelled = spelled.cast(dtype, strict=False) if dtype.is_numeric() else spelled
        own = pl.col(name)
    else:
        spelled = pl.lit(from_folder(value, want.kind, time_zone))
    texts = own.cast(pl.String)
    return texts.fill_null("null").filter(texts.ne_missing(spelled.cast(pl.String))).first()


def no_whole_number(
    what: str, file: object, want: Wanted, floats: tuple[str, int], value: object, columns: Sequence[str]
) -> InputError:
    """Return the error for a float where whole numbers or text are meant.

    floats: the name of its type, and the bound below which whole numbers are exact in it.
    """
    dtype, bound = floats
    return InputError(
        f"{what}: column {want.name} of {file} is {dtype}; expected {EXPECTED[want.kind]}, or whole numbers "
        f"below {bound:,}, but it has {value}; pandas makes floats of integers beside a null: "
        f'write it with astype("Int64"), or as text, or name another column {want.name} (the columns are '
        f"{', '.join(columns)})"
    )


def contradiction(what: str, file: object, name: str, value: str | None, other: object) -> InputError:
    """Return the error for a column whose value is not the one that its folder spells out."""
    return InputError(
        f"{what}: by its folder, {file} is of {name} “{visible(value or 'null')}”, but its column {name} has "
        f"“{visible(other)}”; rename the folder, or the column"
    )
