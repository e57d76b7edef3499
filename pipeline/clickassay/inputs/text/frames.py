"""Judgments and runs as frames of a few columns: from tables in files, Polars or pandas frames, or dicts."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.errors import InputError
from clickassay.inputs.files import READ_ERRORS, malformed, unreadable_file
from clickassay.inputs.text import rows
from clickassay.inputs.text.lines import check_lines, lines
from clickassay.inputs.text.rows import column_key
from clickassay.inputs.types.integers import id_in_text
from clickassay.inputs.types.logical import scan_texts


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


def of_frame(source: Any, what: str, names: tuple[str, ...], *, ids: bool = False) -> pl.DataFrame:  # noqa: ANN401
    """Return the columns query, doc, and grade or score of a frame, whatever tools call them.

    Where it has texts and ids of queries, it is read by the texts, or with `ids` by the ids.
    """
    frame = _lazy(source, what)
    schema = frame.collect_schema()
    columns = frame.select(_column(schema, what, name, ids=ids) for name in names).collect()
    nameless = columns.filter(pl.any_horizontal(pl.col(names[0], names[1]).is_null()))
    if nameless.height:
        raise InputError(f"{what}: a row has no query or no document ({nameless.row(0)}); fix or remove it")
    return columns


def _lazy(source: Any, what: str) -> pl.LazyFrame:  # noqa: ANN401 - of any library
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return source.lazy()
    if any(name is not None for name in getattr(getattr(source, "index", None), "names", ())):
        source = source.reset_index()  # of pandas: names in its index are columns like others
    try:
        return pl.DataFrame(source).lazy()
    except (TypeError, ValueError, ImportError, pl.exceptions.PolarsError) as error:
        kinds = "a TREC file, a frame of Polars, pandas or Arrow, or a dict"
        raise InputError(f"{what}: found {type(source).__name__}, expected {kinds}") from error


def query_columns(source: Any) -> list[str]:  # noqa: ANN401 - a path or a frame
    """Return the columns that name queries in a table: of their texts, of their ids; none of what is none."""
    table = opened_table(Path(source), "table") if isinstance(source, str | Path) else source
    if table is None or isinstance(table, Mapping):
        return []
    given = _lazy(table, "table").collect_schema().names()
    found = [_first(given, keys) for keys in (rows.QUERY_TEXTS, rows.QUERY_IDS)]
    return [column for column in found if column is not None]


def _first(given: Sequence[str], keys: Sequence[str]) -> str | None:
    """Return the first column of a table that has one of these keys."""
    known = {column_key(column): column for column in reversed(given)}
    return next((known[key] for key in keys if key in known), None)


def _column(schema: pl.Schema, what: str, name: str, *, ids: bool) -> pl.Expr:
    given = schema.names()
    columns = {column_key(column): column for column in reversed(given)}
    usual = _names(what, name, columns)
    found = _first(given, (*rows.QUERY_IDS, *usual) if name == "query" and ids else usual)
    if name == "rank" and not (found and any(key in columns for key in rows.SCORE)):
        return pl.lit(None).alias("rank")
    if found is not None:
        if name not in ("query", "doc"):
            return pl.col(found).alias(name)
        names = pl.col(found).cast(pl.String)  # pandas makes floats of integers beside a null
        return (id_in_text(names) if schema[found].is_float() else names).alias(name)
    rank = _first(given, rows.RANK)
    if name == "score" and rank is not None:
        return (-pl.col(rank).cast(pl.Float64, strict=False)).alias("score")
    raise InputError(f"{what}: no column {' or '.join(usual)}; it has: {', '.join(given)}")


def _names(what: str, name: str, keys: Collection[str]) -> tuple[str, ...]:
    """Return the keys under which a column is recognised, ours first."""
    usual = {"query": rows.QUERY, "doc": ("doc", *rows.DOCUMENT), "score": rows.SCORE, "rank": rows.RANK}
    return usual[name] if name in usual else rows.grade_names(what, keys, "rename one to grade")


def of_table(file: Path, what: str, names: tuple[str, ...], *, ids: bool = False) -> pl.DataFrame | None:
    """Return the rows of a table or a dict in a file, whatever its name; None if it has no header."""
    table = opened_table(file, what, names)
    if table is None or isinstance(table, Mapping):
        return table if table is None else of_dict(table, what, names)
    try:
        return of_frame(table, what, names, ids=ids)
    except READ_ERRORS as error:
        raise unreadable_file(what, file, error) from error


def opened_table(
    file: Path, what: str, names: tuple[str, ...] = ("query", "doc")
) -> pl.LazyFrame | Mapping[Any, Any] | None:
    """Return the table or the dict in a file; None if its first line is no header with these columns."""
    first = check_lines(what, file)
    if first.startswith(b"PAR1"):
        try:
            return scan_texts(file)
        except READ_ERRORS as error:
            raise unreadable_file(what, file, error) from error
    if first.lstrip().startswith((b"{", b"[")):
        objects = [found for _, found in rows.json_objects(file, lines(file), Counter())]
        if len(objects) == 1 and (rows.is_by_query(objects[0]) or all(map(is_list, objects[0].values()))):
            return objects[0]
        return _as_texts({column for found in objects for column in found}, objects).lazy()
    header = rows.header_of(first.decode("utf-8", errors="replace"))
    keys = {column_key(name) for name in header}
    needed = [
        {*_names(f"{what}: {file}", name, keys), *(rows.RANK if name == "score" else ())}
        for name in names[:3]
    ]
    return _of_delimited(file).lazy() if all(keys & known for known in needed) else None


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
