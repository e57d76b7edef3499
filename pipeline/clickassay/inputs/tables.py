"""Canonical input tables (method 2) as lazy Polars frames: found, typed and checked by schema."""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from clickassay.core.errors import InputError, RejectedRowsError
from clickassay.core.files.output import is_disk_full
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.text.words import sentence
from clickassay.inputs.columns import CANONICAL, IGNORED_BY, TEAMS, Wanted
from clickassay.inputs.files import READ_ERRORS, unreadable_file
from clickassay.inputs.sources import fingerprint
from clickassay.inputs.sources.mapping import OUR_NAMES, Names, advice
from clickassay.inputs.sources.parts import Part, parts_of
from clickassay.inputs.sources.values import Unread, check_values, first_unread, times_by_zone
from clickassay.inputs.sources.walk import Found, find_files
from clickassay.inputs.types import ABSENT, EXPECTED, INTERVAL, NO_VALUE, UTC, converted


@dataclass(frozen=True)
class Input:
    """One input table: its files, and its rows in canonical types, lazily."""

    what: str  # ``searches``, ``clicks``, ``judgments`` or ``queries``.
    files: tuple[Path, ...]  # The files behind it, sorted.
    columns: frozenset[str]  # Names of the columns that the files really have.
    frame: pl.LazyFrame  # Rows: ids are Int64 or String, texts String, times Int64 (ms since 1970, UTC).
    # Gives the same rows of some files: all, or those of one from an offset on, so many.
    opened: Callable[..., pl.LazyFrame]
    parts: tuple[Part, ...]  # The files by format and schema, and their rows as they were written.
    found: Found  # What lies behind the path, and what was left out of it.
    time_zone: str = UTC  # Zone of the times that have none.
    names: Names = field(default_factory=dict)  # Columns that have another name in the files.
    # Of files that were made on the way, what they were made of.
    origins: Mapping[Path, fingerprint.Origin] = field(default_factory=dict)

    def file_fingerprint(self, file: Path) -> fingerprint.FileFingerprint:
        """Return the fingerprint of a file, which is read whole; other names of columns make it another."""
        if file in self.origins:
            return self.origins[file].fingerprint.read_as(self.names)
        try:
            return fingerprint.file_fingerprint(file).read_as(self.names)
        except OSError as error:
            raise unreadable_file(self.what, file, error) from error

    def fingerprints_of(self, file: Path) -> tuple[fingerprint.FileFingerprint, ...]:
        """Return the fingerprints of a file, or of all that it was made of."""
        if file in self.origins:
            return tuple(one.read_as(self.names) for one in self.origins[file].files)
        return (self.file_fingerprint(file),)

    def unread(self, wanted: Sequence[Wanted]) -> Iterator[Unread]:
        """Yield the first value of each column of text files that cannot be read."""
        parts = [(part.files, part.format, part.schema, part.frame) for part in self.parts]
        return first_unread(wanted, parts, self.time_zone)

    @property
    def held(self) -> Mapping[Path, pl.DataFrame]:
        """Rows of files that are in memory."""
        return self.parts[0].held

    @property
    def made_of(self) -> Counter[tuple[str, str]]:
        """Rows that its files were made of, by step and reason of the funnel; empty where it was not."""
        return sum(
            (Counter(self.origins[file].counts) for file in self.files if file in self.origins), Counter()
        )


def read_input(
    what: str,
    path: str | Path,
    wanted: Sequence[Wanted],
    *,
    keep_others: bool = False,
    time_zone: str = UTC,
    names: Names = OUR_NAMES,
    held: Mapping[Path, pl.DataFrame] = MappingProxyType({}),
    lists: Mapping[str, pl.Series] = MappingProxyType({}),
) -> Input:
    """Find the files of an input and put them into canonical types, lazily (method 2).

    keep_others: keep all other columns too, as they are (attribute columns of `queries`).
    time_zone, names: zone of times that have none; columns that have another name in the files.
    Raises InputError if nothing is there, a file cannot be opened, or a column is missing or mistyped.
    """
    walked = find_files(what, path)
    if not Path(path).is_file():
        logging.getLogger(__name__).info("%s: %s", what, walked)
    ours = {want.name for want in wanted}
    ignored = {want.name for want in wanted if want.is_ignored}
    read = None if keep_others else ours - ignored
    parts = [part.without(ignored) for part in parts_of(what, walked, read, names, held, lists)]
    first = ours & set(parts[0].schema)
    for part in parts[1:]:
        if odd := ours & set(part.schema) ^ first:
            raise InputError(
                f"{what}: {parts[0].files[0]} and {part.files[0]} differ in column "
                f"{', '.join(sorted(odd))}; all files must have it"
            )
    wide = frozenset[str]().union(*(part.wide for part in parts))
    selected = [(part, _columns(what, part, wanted, wide, keep_others, time_zone)) for part in parts]
    for part in parts:
        check_values(what, part, wanted, keep_others=keep_others, time_zone=time_zone)
    frames = [part.frame.select(columns) for part, columns in selected]
    part_of = {file: place for place, part in enumerate(parts) for file in part.files}

    def opened(files: Sequence[Path], rows: tuple[int, int] | None = None) -> pl.LazyFrame:
        members: defaultdict[int, list[Path]] = defaultdict(list)
        for file in files:
            members[part_of[file]].append(file)
        alike = [(*selected[place], some) for place, some in members.items()]
        return pl.concat(part.rows_of(some, rows).select(columns) for part, columns, some in alike)

    columns = frozenset(parts[0].schema.names())
    frame = _stacked(what, frames, walked.files)
    return Input(what, walked.files, columns, frame, opened, tuple(parts), walked, time_zone, names)


def mixed_times(*tables: Input) -> dict[str, tuple[int, int]]:
    """Return how many times have a zone, and how many have none, by the names of tables that have both."""
    zones = {table.what: times_by_zone(table.parts) for table in tables}
    return {what: both for what, both in zones.items() if all(both)}


def _columns(
    what: str, part: Part, wanted: Sequence[Wanted], wide: frozenset[str], keep_others: bool, time_zone: str
) -> list[pl.Expr]:
    missing = [want.name for want in wanted if not want.optional and want.name not in part.schema]
    if missing:
        named = f"column {missing[0]} is" if len(missing) == 1 else f"columns {', '.join(missing)} are"
        hint = advice(what, missing, part.schema, part.frame)
        has = f"it has: {', '.join(part.schema)}{hint}"
        raise InputError(f"{what}: {named} missing in {part.files[0]}; {has}")
    columns = [_column(what, part, want, wide, time_zone) for want in wanted]
    if keep_others:
        others = [name for name in part.schema if name not in {want.name for want in wanted}]
        span = next((name for name in others if part.schema[name] == INTERVAL), None)
        if span is not None:
            raise InputError(
                f"{what}: column {span} of {part.files[0]} is an INTERVAL; remove it, or write it as text "
                f"(in SQL, CAST({span} AS VARCHAR))"
            )
        columns += [
            pl.when(pl.col(name) != NO_VALUE).then(name).alias(name)
            if part.schema[name] == pl.String
            else pl.col(name)
            for name in others
        ]
    return columns


def _column(what: str, part: Part, want: Wanted, wide: frozenset[str], time_zone: str) -> pl.Expr:
    if want.name not in part.schema:
        absent = pl.lit(want.absent, dtype=ABSENT.get(want.kind, pl.String))
        return absent.alias(want.name)
    dtype = part.schema[want.name]
    from_text = part.format != "parquet" or want.name in part.json or want.name in dict(part.partition)
    # cells and names alike may have blanks around them
    column = pl.col(want.name).str.strip_chars() if part.format in ("csv", "tsv") else pl.col(want.name)
    canonical = converted(column, dtype, want.kind, from_text=from_text, time_zone=time_zone)
    if canonical is None:
        cast = {"id": "VARCHAR", "text": "VARCHAR", "texts": "VARCHAR[]"}.get(want.kind)
        in_sql = f" (in SQL, CAST({want.name} AS {cast}))" if cast else ""
        raise InputError(
            f"{what}: column {want.name} of {part.files[0]} is {dtype}; expected {EXPECTED[want.kind]}; "
            f"convert it{in_sql}, or choose another column with --column {what}.{want.name}=… (the "
            f"columns are {', '.join(part.schema)}){IGNORED_BY.get(want.name, '')}"
        )
    if want.kind == "id" and want.name in wide:
        canonical = canonical.cast(pl.String)
    if want.name == TEAMS and dtype == pl.String:  # text that is no list has another number than results
        canonical = canonical.fill_null(pl.when(column != "").then(pl.concat_list(column)))
    return canonical.alias(want.name)


def _stacked(what: str, frames: Sequence[pl.LazyFrame], files: Sequence[Path]) -> pl.LazyFrame:
    if len(frames) == 1:
        return frames[0]
    schemas = [frame.collect_schema() for frame in frames]
    for schema in schemas[1:]:
        for name, dtype in schema.items():
            if dtype != schemas[0].get(name):
                raise InputError(
                    f"{what}: column {name} is {schemas[0].get(name)} in some files and {dtype} in others "
                    f"(first file: {files[0]}); write it with one type"
                )
    return pl.concat(frames)


def unreadable(tables: Sequence[Input]) -> InputError | None:
    """Return an error for the first file that cannot be read to its end; None if all can."""
    for table in tables:
        for file in table.files:
            rows = next(part for part in table.parts if file in part.files).written_in([file])
            try:
                needed = table.frame.collect_schema().names()
                columns = [name for name in rows.collect_schema() if name in needed]
                rows.select(columns).sink_batches(lambda _rows: None)
            except READ_ERRORS as error:
                return unreadable_file(table.what, file, error)
    return None


@contextmanager
def files_named(*tables: Input) -> Iterator[None]:
    """Add the file to an error of reading, and to one of too many unusable rows values that were not read."""
    try:
        yield
    except RejectedRowsError as error:
        raise with_unread(error, tables) from error
    except (InputError, *READ_ERRORS) as error:
        met = error.__cause__ if isinstance(error, InputError) else error
        named = unreadable(tables) if isinstance(met, READ_ERRORS) and not is_disk_full(met) else None
        if named is None and isinstance(error, pl.exceptions.PolarsError) and len(tables) == 1:
            # a damage that only some ways of reading meet
            place = tables[0].found.root if len(tables[0].files) > 1 else tables[0].files[0]
            named = unreadable_file(tables[0].what, place, error)
        if named is None:
            raise
        raise named from error


@contextmanager
def watched(*tables: Input, progress: Progress = silent) -> Iterator[dict[str, Any]]:
    """Yield the identity of inputs by name, taken before they are read; errors are as in `files_named`.

    Raises InputError: at the end, if a file was changed meanwhile.
    """
    with ThreadPoolExecutor() as pool:  # threads: a digest lets others run
        taken = {table.what: pool.map(table.fingerprints_of, table.files) for table in tables}
        files = {what: [one for of_file in some for one in of_file] for what, some in taken.items()}
    for table in tables:
        for note in copy_notes(table, files[table.what], "its rows are read twice, so remove it"):
            progress(Event(note, note=True))
    with fingerprint.refusing_changes(files), files_named(*tables):
        yield {
            table.what: fingerprint.input_fingerprint(files[table.what])
            | {"folders": table.found.folders, "left_out": dict(table.found.left_out)}
            for table in tables
        }


@dataclass(frozen=True)
class WholeInput:
    """A small input that was read whole, once."""

    rows: pl.DataFrame  # Its rows, in canonical types.
    columns: frozenset[str]  # Names of the columns that the files really have.
    identity: Mapping[str, Any]  # Of its files, as `watched` yields it.

    @classmethod
    def of(cls, table: Input, progress: Progress = silent, *, categories: Sequence[str] = ()) -> "WholeInput":
        """Read an input; raises InputError as `collected`, or if it was changed meanwhile.

        categories: columns of few texts in many rows, held as numbers.
        """
        with watched(table, progress=progress) as identities:
            rows = collected(table, categories)
        return cls(rows, table.columns, identities[table.what])

    @property
    def by_market(self) -> bool:
        """Whether its column market means something."""
        return "market" in self.columns


def copy_notes(table: Input, files: Sequence[fingerprint.FileFingerprint], end: str) -> Iterator[str]:
    """Yield a sentence for each of the files of an input that is a copy of another and has rows."""
    for copy, first in fingerprint.copies(files):
        if table.origins:  # rows that repeat are counted where they are collected
            return
        if copy.seen is None or first.seen is None:
            continue
        with files_named(table):
            has_rows = table.opened([copy.seen[0]]).head(1).collect().height > 0
        if has_rows:
            yield f"{table.what}: {copy.seen[0]} is a copy of {first.seen[0]}; {end}"


def with_unread(error: RejectedRowsError, tables: Sequence[Input]) -> RejectedRowsError:
    """Return the error with the first value of each column that could not be read, if it is about them."""
    text = str(error)
    source = text.partition(":")[0]
    for table in tables:
        wanted = CANONICAL.get(table.what, ())
        if source not in (table.what, *(want.name for want in wanted if want.name == TEAMS)):
            continue
        for unread in table.unread([want for want in wanted if (want.name == TEAMS) == (source == TEAMS)]):
            text = text.replace(f"with null {unread.column}", f"with {unread.column} that cannot be read")
            text = f"{text} {sentence(str(unread))}"
    return RejectedRowsError(text)


def collected(table: Input, categories: Sequence[str] = ()) -> pl.DataFrame:
    """Read a small input whole, some columns as categories.

    Raises InputError if a file of it is truncated or does not match its schema.
    """
    with files_named(table):
        return table.frame.cast(dict.fromkeys(categories, pl.Categorical)).collect()
