"""Tables in memory: held as they are, or written as Parquet into the scratch folder, as files like others."""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.files.output import is_disk_full
from clickassay.core.files.scratch import scratch_file
from clickassay.core.files.tables import scan_parquet
from clickassay.inputs.columns import OTHERS_KEPT
from clickassay.inputs.files import READ_ERRORS, malformed, unreadable_file
from clickassay.inputs.sources.fingerprint import ROWS, FileFingerprint, Made, Origin
from clickassay.inputs.sources.mapping import Names, needed_columns, spelled_out
from clickassay.inputs.text import rows
from clickassay.inputs.text.lines import check_lines, lines
from clickassay.inputs.text.rows import column_key
from clickassay.inputs.types import id_in_text, scan_texts


class Frame:
    """A table in memory: of Polars, eager or lazy, pandas, PyArrow or DuckDB, or what gives Arrow columns."""

    def __init__(self, table: Any) -> None:  # noqa: ANN401 - of any library
        self._table = table

    def __str__(self) -> str:
        return "the given frame"

    @property
    def is_lazy(self) -> bool:
        """Whether its rows are not there yet."""
        return isinstance(self._table, pl.LazyFrame)

    def lazy(self, what: str) -> pl.LazyFrame:
        """Return its rows; InputError if it is no table."""
        if isinstance(self._table, pl.LazyFrame):
            return self._table
        if isinstance(self._table, list | tuple | set):
            path = next((str(one) for one in self._table if isinstance(one, str | Path)), None)
            if path is not None:
                raise InputError(
                    f"{what}: a list with {path!r:.80}; give several files as one folder or glob, such as "
                    '"logs/2024-*.parquet"'
                )
            if any(hasattr(one, "columns") for one in self._table):
                raise InputError(
                    f"{what}: a list of frames; combine them into one, such as pl.concat([a, b])"
                )
        try:
            # of a relation of DuckDB by its own way: a stream of Arrow with an INTERVAL ends the process
            of_duckdb = type(self._table).__name__ == "DuckDBPyRelation"
            return (self._table.pl() if of_duckdb else pl.DataFrame(self._table)).lazy()
        except Exception as error:
            kind = type(self._table).__name__
            raise InputError(
                f"{what}: {kind} is not a table; give a path, or a frame of Polars, pandas, Arrow or DuckDB"
            ) from error


def framed(what: str, frame: Frame, names: Names, *, held: bool = False) -> Made:
    """Put the needed columns of a frame (under `names`) where files are expected; InputError if it is none.

    held: whether rows may stay in memory: the file then has the columns alone. A lazy frame is written in
      pieces, since its rows may not fit.
    """
    try:
        rows = frame.lazy(what)
        schema = rows.collect_schema()
        needed = needed_columns(what, schema.names(), names)
        rows = rows if needed is None else rows.select(needed)
        if needed is None and what not in OTHERS_KEPT:
            # a column is missing: the message names those that there are
            lost = [name for name, dtype in schema.items() if dtype == pl.Object]
            rows = rows.head(_FEW).with_columns(pl.lit(None).alias(name) for name in lost)
        if texts := spelled_out(what, rows.collect_schema(), names):
            return _as_json(what, frame, rows, texts)
        file = scratch_file(f"{frame} of {what}", f"{what}.parquet")
        if held and not frame.is_lazy:
            eager = rows.collect()
            eager.clear().write_parquet(file)
            if scan_parquet(file).collect_schema() == eager.schema:
                # else its types are others once it was written
                return Made(file, {file: Origin((_fingerprint(file.name, eager),))}, {file: eager})
        rows.sink_parquet(file, compression="uncompressed")
        return Made(file)
    except READ_ERRORS as error:
        if is_disk_full(error):
            raise
        raise unreadable_file(what, frame, error) from error


_FEW = 1_000
"""Rows that are looked at where a table cannot be read."""


def _as_json(what: str, frame: Frame, rows: pl.LazyFrame, texts: Sequence[str]) -> Made:
    """Write rows as JSON lines, where times and numbers may be texts, as in a file of text."""
    columns = []
    for name, dtype in rows.collect_schema().items():
        if name in texts:
            columns.append(pl.col(name).cast(pl.String).str.strip_chars().replace("", None))
        elif isinstance(dtype, pl.Datetime):
            utc = pl.col(name) if dtype.time_zone is None else pl.col(name).dt.convert_time_zone("UTC")
            zone = "" if dtype.time_zone is None else "Z"
            columns.append(utc.dt.strftime(f"%Y-%m-%dT%H:%M:%S%.f{zone}"))
        else:
            columns.append(pl.col(name))
    file = scratch_file(f"{frame} of {what}", f"{what}.jsonl")
    rows.select(columns).sink_ndjson(file)
    if not file.stat().st_size:  # no rows, which have no types in JSON
        file = scratch_file(f"{frame} of {what}", f"{what}.parquet")
        rows.head(0).with_columns(pl.lit(None).alias(name) for name in texts).sink_parquet(file)
    return Made(file)


def _fingerprint(name: str, rows: pl.DataFrame) -> FileFingerprint:
    digest = hashlib.sha256(repr(rows.schema).encode())
    digest.update(rows.hash_rows(seed=0).to_numpy().tobytes())
    size = sum(map(_bytes, rows.get_columns()))
    return FileFingerprint(name, "", size, f"{ROWS}:{digest.hexdigest()}")


def _bytes(column: pl.Series) -> int:
    """Return the bytes of the values: of texts their letters, eight of each other value."""
    if isinstance(column.dtype, pl.List | pl.Array):
        return _bytes(column.explode())
    if isinstance(column.dtype, pl.Struct):
        return sum(map(_bytes, column.struct.unnest().get_columns()))
    return int(column.str.len_bytes().sum()) if column.dtype == pl.String else 8 * len(column)


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
    """Return query, doc, and grade or score of a frame by any tool's names; with `ids` by queries' ids."""
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
        columns = sorted({column for found in objects for column in found})
        values = {
            column: [None if found.get(column) is None else str(found[column]) for found in objects]
            for column in columns
        }
        return pl.LazyFrame(values, schema=dict.fromkeys(columns, pl.String))
    header = rows.header_of(first.decode("utf-8", errors="replace"))
    keys = {column_key(name) for name in header}
    needed = [
        {*_names(f"{what}: {file}", name, keys), *(rows.RANK if name == "score" else ())}
        for name in names[:3]
    ]
    if not all(keys & known for known in needed):
        return None
    (_, header), *table = rows.delimited(file, lines(file))
    for number, row in table:
        if len(row) != len(header):
            raise malformed(file, number, ",".join(row), expected=f"{len(header)} columns, as in its header")
    cells = {name.strip(): [row[place].strip() for _, row in table] for place, name in enumerate(header)}
    return pl.LazyFrame(cells, schema=dict.fromkeys(cells, pl.String))
