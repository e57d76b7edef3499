"""Judgments and runs as frames of a few columns: from tables in files, Polars or pandas frames, or dicts."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.files.tables import scan_parquet
from clickassay.inputs.files import READ_ERRORS, malformed, unreadable_file
from clickassay.inputs.text import rows
from clickassay.inputs.text.lines import check_lines, lines
from clickassay.inputs.text.rows import column_key
from clickassay.inputs.types.integers import id_in_text


def is_list(values: object) -> bool:
    """Return whether this is a ranking as a list of documents, best first."""
    return isinstance(values, list | tuple | np.ndarray | pl.Series)


def of_dict(source: Mapping[Any, Any], what: str, names: tuple[str, ...]) -> pl.DataFrame:
    """Return the rows of a dict ``{query: {doc: number}}``, or of lists of docs, under these names."""
    queries: list[str] = []
    docs: list[str] = []
    numbers: list[Any] = []
    for query, values in source.items():
        if isinstance(values, Mapping):
            shown, given = list(values), list(values.values())
        elif what == "run" and is_list(values):
            shown, given = list(values), list(range(0, -len(values), -1))
        else:
            lists = " or a list [doc, ...], best first" if what == "run" else ""
            raise InputError(
                f"{what}: {query!r} has {values!r:.80}, expected a dict {{query: {{doc: number}}}}{lists}"
            )
        queries += [str(query)] * len(shown)
        docs += map(str, shown)
        numbers += given
    columns = {names[0]: queries, names[1]: docs, names[2]: _as_series(numbers)}
    return pl.DataFrame(columns | {name: [None] * len(docs) for name in names[3:]}, strict=False)


def _as_series(numbers: list[Any]) -> pl.Series:
    try:
        return pl.Series(numbers, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        floats = pl.Series(numbers, dtype=pl.Float64, strict=False)
    if floats.null_count() == sum(number is None for number in numbers):
        return floats
    return pl.Series([None if number is None else str(number) for number in numbers], dtype=pl.String)


def of_frame(source: Any, what: str, names: tuple[str, ...]) -> pl.DataFrame:  # noqa: ANN401
    """Return the columns query, doc, and grade or score of a frame, whatever tools call them."""
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    try:
        frame = source if isinstance(source, pl.DataFrame) else pl.DataFrame(source)
    except (TypeError, ValueError, ImportError, pl.exceptions.PolarsError) as error:
        kinds = "a TREC file, a frame of Polars, pandas or Arrow, or a dict"
        raise InputError(f"{what}: found {type(source).__name__}, expected {kinds}") from error
    columns = frame.select(_column(frame, what, name) for name in names)
    nameless = columns.filter(pl.any_horizontal(pl.col(names[0], names[1]).is_null()))
    if nameless.height:
        raise InputError(f"{what}: a row has no query or no document ({nameless.row(0)}); fix or remove it")
    return columns


def _column(frame: pl.DataFrame, what: str, name: str) -> pl.Expr:
    columns = {column_key(column): column for column in reversed(frame.columns)}
    found = next((columns[key] for key in _names(what, name, columns) if key in columns), None)
    if name == "rank" and not (found and any(key in columns for key in rows.SCORE)):
        return pl.lit(None).alias("rank")
    if found is not None:
        if name not in ("query", "doc"):
            return pl.col(found).alias(name)
        names = pl.col(found).cast(pl.String)  # pandas makes floats of integers beside a null
        return (id_in_text(names) if frame.schema[found].is_float() else names).alias(name)
    rank = next((columns[key] for key in rows.RANK if key in columns), None)
    if name == "score" and rank is not None:
        return (-pl.col(rank).cast(pl.Float64, strict=False)).alias("score")
    expected = " or ".join(_names(what, name, columns))
    raise InputError(f"{what}: no column {expected}; it has: {', '.join(frame.columns)}")


def _names(what: str, name: str, keys: Collection[str]) -> tuple[str, ...]:
    """Return the keys under which a column is recognised, ours first."""
    usual = {"query": rows.QUERY, "doc": ("doc", *rows.DOCUMENT), "score": rows.SCORE, "rank": rows.RANK}
    return usual[name] if name in usual else rows.grade_names(what, keys, "rename one to grade")


def of_table(file: Path, what: str, names: tuple[str, ...]) -> pl.DataFrame | None:
    """Return the rows of a table in a file, whatever its name; None if its first line is no header."""
    first = check_lines(what, file)
    if first.startswith(b"PAR1"):
        try:
            return of_frame(scan_parquet(file).collect(), what, names)
        except READ_ERRORS as error:
            raise unreadable_file(what, file, error) from error
    if first.lstrip().startswith((b"{", b"[")):
        objects = [found for _, found in rows.json_objects(file, lines(file), Counter())]
        return of_frame(_as_texts({column for found in objects for column in found}, objects), what, names)
    header = rows.header_of(first.decode("utf-8", errors="replace"))
    keys = {column_key(name) for name in header}
    needed = [
        {*_names(f"{what}: {file}", name, keys), *(rows.RANK if name == "score" else ())}
        for name in names[:3]
    ]
    if all(keys & known for known in needed):
        return of_frame(_of_delimited(file), what, names)
    return None


def _of_delimited(file: Path) -> pl.DataFrame:
    (_, header), *found = rows.delimited(file, lines(file))
    for number, row in found:
        if len(row) != len(header):
            raise malformed(file, number, ",".join(row), expected=f"{len(header)} columns, as in its header")
    cells = {name.strip(): [row[place].strip() for _, row in found] for place, name in enumerate(header)}
    return pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.String))


def _as_texts(columns: Collection[str], objects: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    values = {
        column: [None if found.get(column) is None else str(found[column]) for found in objects]
        for column in sorted(columns)
    }
    return pl.DataFrame(values, schema=dict.fromkeys(values, pl.String))
