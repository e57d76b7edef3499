"""One row for each result shown, made a row for each search and a row for each click.

The rows of a search need not lie together. They are collected from batch to batch, as far apart as `_REACH`
rows; what lies farther apart is sorted first, on disk.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from clickassay.core.errors import InputError
from clickassay.core.files.scratch import scratch_folder
from clickassay.core.files.tables import scan_parquet
from clickassay.core.progress import Event, Progress, silent
from clickassay.inputs.columns import IMPRESSIONS, OF_TESTS, SAYS_CLICKED, Wanted
from clickassay.inputs.sources.fingerprint import Made, Origin, refusing_changes
from clickassay.inputs.sources.parts import texts_of_lists
from clickassay.inputs.sources.values import unread_value
from clickassay.inputs.staging.lists import NO_COPY, DistinctLists, ShownRows, are_distinct, keys_of
from clickassay.inputs.staging.sql import QUIET
from clickassay.inputs.tables import Input, files_named

BATCH, _REACH = 1_000_000, 200_000
_MOST_RESULTS = 100_000
"""Rows that no search has: a column of searches is misread then."""

_OF_SEARCH = ("user_id", "query", "market", *OF_TESTS)
"""What all rows of a search agree in."""

_TEXTS = ("id", "text")
"""Kinds of columns that hold any text."""

_OF_FIRST = "position below the first"

Rows = Counter[tuple[str, str]]


def look_like_impressions(columns: Collection[str]) -> bool:
    """Tell whether searches with these columns have one row for each result shown."""
    return "results" not in columns and {"url", "position"} <= set(columns)


def halves_of(
    table: Input, *, by_file: bool = False, numbered: bool = False, progress: Progress = silent
) -> dict[str, Made]:
    """Write searches and clicks of impressions as Parquet into the scratch folder of the job.

    by_file: whether each file becomes a file, by which a store knows it; else all become one.
    numbered: whether the files of searches may have numbers of lists, and the lists stay in memory.
    Returns files of ``searches``, whose origins count the rows; and of ``clicks``, if a column tells them.
    Raises InputError if positions begin neither at 0 nor at 1, a click is spelled in a way that is not known,
    or a search lies in several files that are not read together.
    """
    folder = scratch_folder(table.files[0] if len(table.files) == 1 else table.found.root)
    groups = [(file,) for file in table.files] if by_file else [table.files]
    known = {file: table.fingerprints_of(file) for file in table.files}
    origins: dict[str, dict[Path, Origin]] = {"searches": {}, "clicks": {}}
    lists = DistinctLists()
    watched = refusing_changes({"searches": [one for some in known.values() for one in some]})
    with watched, files_named(table):
        _check_flags(table)
        _note_unread(table, (want for want in IMPRESSIONS if want.kind not in _TEXTS), progress)
        first = _first_position(table)
        nulls: set[str] = set()
        for number, files in enumerate(groups, 1):
            name = f"{number:06d}-{files[0].stem}.parquet"
            halves = _Halves(table, folder, name, first, lists)
            counts = _write(halves, table.opened(files), progress)
            nulls |= halves.nulls
            of_files = tuple(one for file in files for one in known[file])
            origins["searches"][folder / "searches" / name] = Origin(of_files, counts)
            origins["clicks"][folder / "clicks" / name] = Origin(of_files)
        # texts are read a second time only where one may be none
        texts = (want for want in IMPRESSIONS if want.kind in _TEXTS and want.name in nulls)
        _note_unread(table, texts, progress)
    _refuse_split(table, origins["searches"])
    if not SAYS_CLICKED & table.columns:
        del origins["clicks"]
    made = {
        what: Made(next(iter(files)) if len(files) == 1 else folder / what, files)
        for what, files in origins.items()
    }
    if numbered:
        return made | {"searches": replace(made["searches"], lists={"results": lists.lists})}
    for file in origins["searches"]:
        whole = file.with_suffix(".whole")
        results = texts_of_lists("results", lists.lists).cast(pl.List(pl.String))
        rows = scan_parquet(file).with_columns(results)
        rows.sink_parquet(whole, compression="uncompressed")
        whole.replace(file)
    return made


def _note_unread(table: Input, wanted: Iterable[Wanted], progress: Progress) -> None:
    for unread in table.unread(tuple(wanted)):
        progress(Event(f"searches: {unread}", note=True))


def _refuse_split(table: Input, files: Collection[Path]) -> None:
    if len(files) < 2:
        return
    ids = pl.concat([scan_parquet(file).select("search_id").unique() for file in sorted(files)])
    twice = ids.filter(pl.len().over("search_id") > 1).select("search_id").head(1).collect()
    if twice.height:
        raise InputError(
            f"searches: search_id {twice.item()} has rows in several files of {table.found.root}, but a "
            "store reads each file separately; write all rows of a search into one file"
        )


def _write(halves: "_Halves", rows: pl.LazyFrame, progress: Progress) -> Rows:
    if halves.collect(rows, progress):
        return halves.counts
    progress(Event("sorting the rows by search"))
    given, place = halves.folder / "rows.parquet", halves.folder / "sorted.parquet"
    rows.sink_parquet(given, compression="lz4")
    config: dict[str, Any] = {"temp_directory": str(halves.folder / "spilled"), "memory_limit": "2GB"}
    with duckdb.connect(config=config) as connection:
        connection.execute(QUIET)
        shown = connection.read_parquet(str(given))
        shown.order("search_id").write_parquet(str(place))
    given.unlink()
    halves.collect(scan_parquet(place), progress)
    place.unlink()
    return halves.counts


def _check_flags(table: Input) -> None:
    """Refuse (InputError) a text of clicks or actions that cannot be read: it would count as none."""
    told = [
        (want.name, want.kind) for want in IMPRESSIONS if want.kind == "flag" or want.name in SAYS_CLICKED
    ]
    for name, kind in told:
        for part in table.parts:
            if part.schema.get(name) != pl.String:
                continue
            value = unread_value(part.frame, name, kind, table.time_zone)
            if value is not None:
                how = "true or false, or 1 or 0" if kind == "flag" else "times of ISO 8601"
                raise InputError(f"searches: {name} {value!r} in {part.files[0]} cannot be read; write {how}")


def _first_position(table: Input) -> int:
    """Return 0 or 1, from which positions of first pages count; a few zeros do not make it 0."""
    place, page = pl.col("position"), pl.col("page").fill_null(1)
    counted = table.frame.filter(page <= 1).select(zeros=(place == 0).sum(), ones=(place == 1).sum())
    zeros, ones = counted.collect(engine="streaming").row(0)
    if zeros or ones:
        return 0 if 2 * zeros > ones else 1
    least = table.frame.select(place.min()).collect(engine="streaming").item()
    if least is None:
        raise InputError(f"searches: the files have no row with a position: {table.files[0]}")
    raise InputError(
        f"searches: positions in {table.files[0]} begin at {least}, expected 1 or 0; "
        "if positions continue across pages, map the column page as well"
    )


def _batches(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    batch = None
    for batch in rows.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming"):
        yield batch
    if batch is None:
        yield rows.head(0).collect()


class _Halves:
    """Collects searches and clicks of rows in batches, and writes them to files of `folder`.

    first, lists: the first position, and the lists met so far, to which new ones are added.
    """

    def __init__(self, table: Input, folder: Path, name: str, first: int, lists: DistinctLists) -> None:
        self._has_pages = "page" in table.columns
        self._shared = [one for one in _OF_SEARCH if one in table.columns]
        self._places = {what: folder / what / name for what in ("searches", "clicks")}
        self._columns, self._first, self._lists = table.columns, first, lists
        self.folder = folder
        self.nulls: set[str] = set()
        """Columns in which a null was met."""

    def collect(self, rows: pl.LazyFrame, progress: Progress) -> bool:
        """Write the searches and clicks of rows; return whether the rows of each search were met together."""
        self.counts: Rows = Counter()
        self._writers: dict[str, pq.ParquetWriter] = {}
        rows = rows.drop(one for one in (*OF_TESTS, "team") if one not in self._columns)
        keys = keys_of(rows.collect_schema(), ("search_id", "url", *self._shared))
        left: pl.DataFrame | None = None
        try:
            for batch in _batches(rows.with_columns(keys)):
                usable = self._usable(batch)
                read = self.counts["read", ""]
                progress(Event(f"collecting the results of each search: {read:,} rows"))
                left = self._write(usable if left is None else pl.concat([left, usable]), _REACH)
                if left.height > _MOST_RESULTS:
                    counted = left["search_id"].value_counts().sort("count", descending=True).row(0)
                    if counted[1] > _MOST_RESULTS:
                        raise InputError(
                            f"searches: search_id {counted[0]} has more than {_MOST_RESULTS:,} rows; "
                            "check that search_id is the id of a search"
                        )
            if left is not None:
                self._write(left, 0)
        finally:
            for writer in self._writers.values():
                writer.close()
        ids = scan_parquet(self._places["searches"]).select("search_id").collect().to_series()
        return are_distinct((ids.hash() if ids.dtype == pl.String else ids).to_numpy())

    def _usable(self, rows: pl.DataFrame) -> pl.DataFrame:
        self.counts["read", ""] += rows.height
        self.nulls |= {name for name in rows.columns if rows[name].null_count()}
        for name in ("search_id", "url", "position"):
            self.counts["rejected", f"null {name}"] += rows[name].null_count()
            rows = rows.drop_nulls(name)
        below = int((rows["position"] < self._first).sum())
        self.counts["rejected", _OF_FIRST] += below
        return rows.filter(pl.col("position") >= self._first) if below else rows

    def _write(self, rows: pl.DataFrame, reach: int) -> pl.DataFrame:
        """Write the searches that have ended, and return the rows of all others."""
        shown, left = ShownRows.of(rows, reach)
        searches, counted = shown.searches(
            self._first,
            self._lists,
            has_pages=self._has_pages,
            has_teams="team" in self._columns,
            shared=self._shared,
        )
        self.counts.update(counted)
        self._append("searches", searches)
        self._append("clicks", shown.clicks(self._columns).to_arrow(compat_level=NO_COPY))
        return left

    def _append(self, what: str, table: pa.Table) -> None:
        if what not in self._writers:
            self._places[what].parent.mkdir(exist_ok=True)
            # it is read once and thrown away: to compress it takes longer than all else
            how = {"compression": "none", "use_dictionary": False, "write_statistics": ["timestamp"]}
            self._writers[what] = pq.ParquetWriter(self._places[what], table.schema, **how)
        self._writers[what].write_table(table)
