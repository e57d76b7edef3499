"""A log as Spark sees it: Parquet anywhere, tables of a catalog, and what lies here, in canonical types.

What lies here is found and checked as for every engine (`clickassay.inputs`). What is text (CSV, JSON
lines) is small and hard to type: it is written as Parquet first, by the same code that reads it otherwise.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote, urlparse

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.text.paths import is_uri, without_patterns
from clickassay.inputs import types as input_types
from clickassay.inputs.columns import Wanted
from clickassay.inputs.files import FORMATS
from clickassay.inputs.sources.fingerprint import FileFingerprint
from clickassay.inputs.sources.mapping import OUR_NAMES, Names
from clickassay.inputs.sources.parts import NULL, Part
from clickassay.inputs.sources.values import contradiction, no_whole_number
from clickassay.inputs.sources.walk import MARKS, lake_table
from clickassay.inputs.tables import Input, read_input
from clickassay.logs.chunks import FileChunk
from clickassay.logs.log import LocalHalf, local_half
from clickassay.logs.spark.errors import text_error, translate_error
from clickassay.logs.spark.functions import F
from clickassay.logs.spark.remote import RemoteFiles

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
_TABLE = re.compile(r"[\w$-]+(\.[\w$-]+){0,3}|`[^`]+`(\.`[^`]+`)*")
_UNSIGNED = "decimal(20,0)"
_FLOATS = {"double": input_types.exact_below(pl.Float64()), "float": input_types.exact_below(pl.Float32())}
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_DIGITS_OF_BIGINT = 18


@dataclass(frozen=True)
class SparkHalf:
    """One `Half` of a log on Spark."""

    what: str  # ``searches`` or ``clicks``.
    source: str  # The path or the table's name that was given.
    columns: frozenset[str]  # Names of the columns that are really there.
    frame: "DataFrame"  # Rows in canonical types, lazily.
    # Gives the rows of some files in canonical types: all, or of one file from an offset on, so many.
    opened: Callable[[Sequence[str], tuple[int, int] | None], "DataFrame"]
    # Its files: as the default engine would read them where they lie here, or as Spark knows them.
    listing: LocalHalf | RemoteFiles

    def has_numbers(self, ids: str) -> bool:
        return dict(self.frame.dtypes)[ids] == "bigint"

    def with_text_ids(self) -> Self:
        def opened(files: Sequence[str], rows: tuple[int, int] | None) -> "DataFrame":
            return _with_text_ids(self.opened(files, rows))

        return replace(self, frame=_with_text_ids(self.frame), opened=opened)

    def fingerprints(self) -> dict[str, FileFingerprint]:
        return self.listing.fingerprints()

    def only(self, files: Sequence[str]) -> Self:
        listing = self.listing.only(files)
        if listing is self.listing:
            return self
        frame = self.opened(files, None) if files else self.frame.limit(0)
        return replace(self, frame=frame, listing=listing)

    def chunks(self, first_ms: int, end_ms: int) -> tuple[FileChunk, ...]:
        """Return row groups of files that lie here, else whole files."""
        return self.listing.chunks(first_ms, end_ms)

    def last_searches(self, chunk: FileChunk, end_ms: int) -> list[tuple[int, object]]:
        return self.listing.last_searches(chunk, end_ms)

    @property
    def made_of(self) -> Mapping[tuple[str, str], int]:
        return self.listing.made_of if isinstance(self.listing, LocalHalf) else {}


def _with_text_ids(rows: "DataFrame") -> "DataFrame":
    return rows.withColumn("search_id", F.col("search_id").cast("string"))


def read_for_spark(
    session: "SparkSession",
    what: str,
    source: LocalHalf | str | Path,
    wanted: Sequence[Wanted],
    staging: Callable[[str], str],
    time_zone: str = input_types.UTC,
    names: Names = OUR_NAMES,
) -> SparkHalf:
    """Give Spark one half of a log, which is opened unless it is open.

    source: an open half; a file, folder or glob here; a path with its scheme (``s3a://…``); or a table's
      name.
    staging: gives a new folder of Spark's, for what must be written as Parquet first.
    Raises InputError if nothing is there, a column is wrong, or only Spark reaches times that are not UTC.
    """
    if isinstance(source, LocalHalf):
        return _read_local(session, source, source.source, wanted, staging)
    text = str(source)
    if is_uri(text):
        return _read_whole(
            what, text, wanted, lambda: parquet_at(session, what, text, wanted), time_zone, names
        )
    if not lies_here(text):
        return _read_whole(what, text, wanted, lambda: session.table(text), time_zone, names)
    local = local_half(read_input(what, source, wanted, time_zone=time_zone, names=names))
    return _read_local(session, local, text, wanted, staging)


def lies_here(source: str | Path) -> bool:
    """Return whether a path of this machine is meant, and neither a path of Spark's nor a table."""
    text = str(source)
    if is_uri(text):
        return False
    is_name = _TABLE.fullmatch(text) is not None and Path(text).suffix not in FORMATS
    return Path(text).exists() or not is_name


def _read_local(
    session: "SparkSession",
    local: LocalHalf,
    source: str,
    wanted: Sequence[Wanted],
    staging: Callable[[str], str],
) -> SparkHalf:
    def opened(files: Sequence[str], rows: tuple[int, int] | None) -> "DataFrame":
        wanted_files = set(map(Path, files))
        kept = [
            replace(part, files=tuple(file for file in part.files if file in wanted_files))
            for part in local.parts
        ]
        read = [_read_part(session, local, part, wanted, staging, rows) for part in kept if part.files]
        return reduce(lambda one, other: one.unionByName(other), read)

    rows = opened([str(file) for file in local.files], None)
    return SparkHalf(local.what, source, local.columns, rows, opened, local)


def _read_whole(
    what: str,
    source: str,
    wanted: Sequence[Wanted],
    read: Callable[[], "DataFrame"],
    time_zone: str,
    names: Names,
) -> SparkHalf:
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - an extra

    def opened(files: Sequence[str], _rows: tuple[int, int] | None) -> "DataFrame":
        of_files = raw.where(F.col("_metadata.file_path").isin(list(files)))
        return _canonical(what, source, of_files, wanted)

    try:
        raw = read()
        for name, path in names.items():
            column = F.col(f"`{path}`" if path in raw.columns else path)
            try:
                raw = raw.withColumn(name, column)
                raw.schema  # noqa: B018 - Spark Connect resolves names when it is asked
            except AnalysisException as error:
                raise InputError(
                    f"{what}: no column {path} in {source}, which --column {what}.{name}={path} names; it "
                    f"has: {', '.join(raw.columns)}"
                ) from text_error(error)
        if time_zone != input_types.UTC and dict(raw.dtypes).get("timestamp") == "timestamp_ntz":
            raise InputError(
                f"{what}: timestamp of {source} has no zone, and --time-zone {time_zone} applies to "
                "local files only; write it with a zone first, for example by to_utc_timestamp"
            )
        rows = _canonical(what, source, raw, wanted)
        for want in wanted:
            dtype = dict(raw.dtypes).get(want.name, "")
            if dtype not in _FLOATS or want.kind in ("any", "texts"):
                continue
            value = F.col(want.name)
            is_exact = (F.abs(value) < _FLOATS[dtype]) & (F.floor(value) == value)
            odd = raw.select(value).where(value.isNotNull() & ~is_exact).limit(1).collect()
            if odd:
                raise no_whole_number(what, source, want, (dtype, _FLOATS[dtype]), odd[0][0], raw.columns)
        time = _column(what, source, dict(raw.dtypes), Wanted("timestamp", "time"), None)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what}: {translate_error(error)}") from text_error(error)
    files = RemoteFiles(what, source, raw, time, columns=names)
    return SparkHalf(what, source, frozenset(raw.columns), rows, opened, files)


def _read_part(
    session: "SparkSession",
    local: Input,
    part: Part,
    wanted: Sequence[Wanted],
    staging: Callable[[str], str],
    rows: tuple[int, int] | None,
) -> "DataFrame":
    # Parquet has types in forms that Spark does not read, and Spark looks at columns that nobody reads too
    inner = (
        dtype.inner if isinstance(dtype, (pl.List, pl.Array)) else dtype for dtype in part.schema.values()
    )
    is_foreign = any(dtype in (pl.Int128, pl.UInt128, pl.Float16, input_types.INTERVAL) for dtype in inner)
    time = part.schema.get("timestamp")  # or of the folder; Spark is told no zone
    is_local_time = local.time_zone != input_types.UTC and (
        input_types.has_no_zone(time) or isinstance(time, pl.String)
    )
    if part.format != "parquet" or part.renamed or is_foreign or is_local_time:
        return _written_first(session, local, part, staging, rows)
    paths = [without_patterns(f"file://{file.resolve()}") for file in part.files]
    read = session.read.option("recursiveFileLookup", value=True).parquet(*paths)
    if rows is not None:
        place = F.col("_metadata.row_index")
        read = read.where((place >= rows[0]) & (place < rows[0] + rows[1]))
    canonical = _canonical(local.what, str(part.files[0]), read, wanted, part=part)
    types = local.frame.collect_schema()  # whole numbers of one file are text where those of another are wide
    as_text = [want.name for want in wanted if want.kind == "id" and types[want.name] == pl.String]
    if not as_text:  # a client of Spark Connect takes no empty list of columns
        return canonical
    return canonical.withColumns({name: canonical[name].cast("string") for name in as_text})


def _written_first(
    session: "SparkSession",
    local: Input,
    part: Part,
    staging: Callable[[str], str],
    rows: tuple[int, int] | None,
) -> "DataFrame":
    place = staging("log")
    folder = Path(unquote(urlparse(place).path)) if place.startswith("file:") else None
    if folder is None:
        raise InputError(
            f"{local.what}: Spark cannot read {part.files[0]} unchanged, and --spark-staging is not on this "
            "machine; first write the file as Parquet with 64-bit integers or text"
        )
    folder.mkdir(parents=True)
    local.opened(part.files, rows).sink_parquet(folder / "part-0.parquet")
    return session.read.parquet(without_patterns(place))


def _canonical(
    what: str, source: str, rows: "DataFrame", wanted: Iterable[Wanted], *, part: Part | None = None
) -> "DataFrame":
    types = dict(rows.dtypes)
    return rows.select([_column(what, source, types, want, part).alias(want.name) for want in wanted])


def _column(what: str, source: str, types: dict[str, str], want: Wanted, part: Part | None) -> "Column":
    partition = dict(part.partition) if part else {}
    if want.name in partition:
        return F.lit(input_types.from_folder(partition[want.name], want.kind)).cast(_TYPES[want.kind])
    if want.name not in types:
        if not want.optional:
            has = ", ".join(types)
            raise InputError(f"{what}: column {want.name} is missing in {source}; it has: {has}")
        return F.lit(want.absent).cast(_TYPES[want.kind])
    known = part.schema.get(want.name) if part else None
    if isinstance(known, pl.Null) or types[want.name] == "void":
        return F.lit(None).cast(_TYPES[want.kind])
    is_nanoseconds = isinstance(known, pl.Datetime) and known.time_unit == "ns"
    column = _converted(F.col(want.name), types[want.name], want.kind, is_nanoseconds)
    if column is None:
        has = ", ".join(types)
        raise InputError(
            f"{what}: column {want.name} of {source} is {types[want.name]}; expected "
            f"{input_types.EXPECTED[want.kind]}; convert it, or choose another column with --column "
            f"{what}.{want.name}=… (the columns are {has})"
        )
    return column


_TYPES: dict[input_types.Kind, str] = {
    "id": "bigint", "time": "bigint", "integer": "bigint", "seconds": "bigint", "text": "string",
    "any": "string", "texts": "array<string>",
}  # fmt: skip


def _converted(column: "Column", dtype: str, kind: input_types.Kind, nanoseconds: bool) -> "Column | None":
    if kind == "texts":
        inner = re.fullmatch(r"array<(\w+(?:\(\d+,0\))?)>", dtype)
        fits = inner is not None and (inner[1] in ("string", "void", *_WHOLE) or _digits(inner[1]))
        return column.cast("array<string>") if fits else None
    if kind == "time":
        return _time(column, dtype, nanoseconds)
    if kind in ("integer", "seconds"):
        return _signed(column, dtype) if kind == "integer" else _milliseconds(column, dtype)
    if dtype == "string" or dtype.startswith(("varchar", "char")):
        text = column.cast("string")
        return F.when(text != input_types.NO_VALUE, text)
    if not (dtype in _WHOLE or dtype in _FLOATS or _digits(dtype)):
        return None
    whole = column if _digits(dtype) else column.cast("bigint")
    return whole.cast("string" if kind == "text" or _digits(dtype) > _DIGITS_OF_BIGINT else "bigint")


def _digits(dtype: str) -> int:
    match = re.fullmatch(r"decimal\((\d+),0\)", dtype)
    return int(match[1]) if match else 0


def _signed(column: "Column", dtype: str) -> "Column | None":
    """Return whole numbers as 64 signed bits; those beyond their range as the nearest of them."""
    if _digits(dtype) > _DIGITS_OF_BIGINT:
        least, most = F.lit(-(2**63)), F.lit(2**63 - 1)
        return F.when(column > most, most).when(column < least, least).otherwise(column.cast("bigint"))
    return column.cast("bigint") if dtype in _WHOLE or dtype in _FLOATS or _digits(dtype) else None


def _milliseconds(column: "Column", dtype: str) -> "Column | None":
    if not (dtype in _WHOLE or dtype in _FLOATS or dtype.startswith("decimal")):
        return None
    seconds = column.cast("double")
    is_usable = (seconds >= 0) & (seconds <= input_types.MOST_SECONDS) & ~F.isnan(seconds)
    known = F.when(is_usable, F.floor(seconds * 1000).cast("bigint")).otherwise(F.lit(-1))
    return F.when(column.isNotNull(), known)


def _time(column: "Column", dtype: str, nanoseconds: bool) -> "Column | None":
    if dtype in ("timestamp", "timestamp_ntz"):
        return F.unix_millis(column.cast("timestamp"))
    if nanoseconds and dtype in _WHOLE:
        return F.floor(column.cast(_UNSIGNED) / 1_000_000).cast("bigint")
    return _signed(column, dtype)


_WILDCARD = re.compile(r"[*?\[{]")
_MOST_FOLDERS = 100
"""Folders that are looked at for a table of a lake: each costs a question to the file system."""


def parquet_at(session: "SparkSession", what: str, uri: str, wanted: Sequence[Wanted]) -> "DataFrame":
    """Return the rows of Parquet files behind a URI, unread.

    Raises InputError for a table of a lake, or a folder whose name contradicts a wanted column.
    """
    parts = itertools.takewhile(lambda part: not _WILDCARD.search(part), uri.rstrip("/").split("/"))
    root = "/".join(parts)
    try:
        reader = session.read.option("basePath", root) if root != uri.rstrip("/") else session.read
        rows = reader.parquet(uri)
    except Exception:
        _check_no_lake(session, what, root, ["*", "*/*"])  # Spark cannot read folders of other folders
        raise
    files = rows.inputFiles()
    depth = urlparse(root).path.rstrip("/").count("/")
    of_files = (urlparse(file).path.split("/")[depth + 1 : -1] for file in files)
    below = {tuple(map(unquote, names)) for names in of_files}  # the folders between the root and each file
    # the first folders below the root that are no partitions may be tables of their own
    folders = {
        "/".join(map(without_patterns, names[:end]))
        for names in below
        for end in range(1, len(names) + 1)
        if "=" not in names[end - 1]
    }
    _check_no_lake(session, what, root, sorted(folders)[:_MOST_FOLDERS])
    partitions = {name.split("=", 1)[0] for names in below for name in names if "=" in name}
    names = partitions & {want.name for want in wanted}
    if names:
        own = session.read.option("recursiveFileLookup", value=True).parquet(uri)
        for name in sorted(names & set(own.columns)):
            _check_agrees(what, own, name)
    return rows


def _check_no_lake(session: "SparkSession", what: str, root: str, below: Sequence[str]) -> None:
    """Refuse a root that is, lies in or holds a table of a lake, by its marks at every level."""
    scheme, _, path = root.partition(":")
    parts = [part for part in path.split("/") if part]
    authority = f"//{parts.pop(0)}/" if path.startswith("//") and not path.startswith("///") else "///"
    levels = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    places = ",".join([*levels, *("/".join((*parts, folder)) for folder in below)])
    marks = ",".join(f"{folder}/{name}" for folder, name in MARKS.values())
    lakes: list[str] = []
    # where nothing matches, or what lies above may not be looked at, there is no sign of a lake
    with suppress(Exception):
        lakes = session.read.text(f"{scheme}:{authority}{{{places}}}/{{{marks}}}").inputFiles()
    for mark in lakes:
        folder, _, name = unquote(mark).rpartition("/")[0].rpartition("/")
        raise lake_table(what, folder, next(kind for kind, (log, _) in MARKS.items() if log == name))


def _check_agrees(what: str, own: "DataFrame", name: str) -> None:
    """Refuse a column whose values differ from the folders', but for leading zeros of numbers."""
    path = F.col("_metadata.file_path")  # a URL, in whose names of folders signs are spelled out once more
    folder = F.regexp_extract(path, f".*/{re.escape(name)}=([^/]*)/", 1)
    for _ in range(2):
        folder = F.url_decode(F.replace(folder, F.lit("+"), F.lit("%2B")))
    spelled = F.nullif(folder, F.lit(NULL))
    value = F.col(name).cast("string")
    odd = (
        own.where(~_plain(value).eqNullSafe(_plain(spelled))).select(path, spelled, value).limit(1).collect()
    )
    for file, text, other in odd:
        raise contradiction(what, unquote(file), name, text, other)


def _plain(text: "Column") -> "Column":
    return F.regexp_replace(text, r"^0+(?=\d)", "")
