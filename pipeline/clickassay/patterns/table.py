"""The pattern table: a record, what it must obey, and its folder; nothing after it knows users or engines."""

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import polars as pl

from clickassay.core.contracts.form import ContractError, Table
from clickassay.core.contracts.patterns import (
    ARM_OUTCOMES,
    ARM_PATTERNS,
    ARM_USERS,
    ARMS,
    FUNNEL,
    HEALTH,
    INTERLEAVED,
    OUTCOMES,
    PATTERN_CONFIGURATIONS,
    PATTERN_QUERIES,
    PATTERNS,
    SHOWN,
    SIGNALS,
)
from clickassay.core.errors import PatternError
from clickassay.core.files.documents import read_json
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.core.files.output import SETTINGS_FILE, write_json
from clickassay.core.files.tables import scan_parquet, write_table
from clickassay.patterns.health import merged_counts
from clickassay.patterns.places import Place, place_of


def held_densely(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows without the memory of the frame that they were chosen from: texts would keep all of it."""
    old = pl.CompatLevel.oldest()
    columns = (pl.Series(one.name, one.rechunk().to_arrow(compat_level=old)) for one in rows)
    return pl.DataFrame(columns)


def give_back() -> None:
    """Give back memory that the C library (glibc, else nothing is done) keeps after many small arrays."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


IN_PIECES = {
    "configurations": PATTERN_CONFIGURATIONS,
    "patterns": PATTERNS,
    "queries": PATTERN_QUERIES,
    "shown": SHOWN,
    "arm_patterns": ARM_PATTERNS,
    "interleaved": INTERLEAVED,
}
"""Tables that may be too large for memory."""
FOLDER_TABLES = {
    "configurations": PATTERN_CONFIGURATIONS,
    "patterns": PATTERNS,
    "queries": PATTERN_QUERIES,
    "funnel": FUNNEL,
    "health": HEALTH,
}
ARM_TABLES = {
    "arms": ARMS,
    "arm_outcomes": ARM_OUTCOMES,
    "arm_patterns": ARM_PATTERNS,
    "arm_users": ARM_USERS,
}
OWN_TABLES = {
    "shown": SHOWN, "signals": SIGNALS, "outcomes": OUTCOMES, **ARM_TABLES, "interleaved": INTERLEAVED,
}  # fmt: skip
"""Tables that not every pattern table has: `shown` where times are known, the others beside clicks."""
USERS_KEPT = 65_536
"""Digests of users that are kept of a test, the smallest of them: enough to find a wrong split."""
_MERGED = ("patterns", "queries", "configurations", "funnel", "health")

Rows = TypeVar("Rows")


@dataclass(frozen=True)
class AnyTable(Generic[Rows]):
    """A whole log as counts: rows (configuration, click mask, sessions), and the texts that they refer to."""

    # configurations, patterns, queries: Rows in the form of `FOLDER_TABLES`.
    configurations: Rows
    patterns: Rows
    queries: Rows
    funnel: pl.DataFrame  # A frame in that form.
    # Settings, input fingerprints and versions it was made with; `stored_depth` bounds every cut.
    info: Mapping[str, Any]
    # market (null = every market), query: all that is kept; None when every query is.
    judged_queries: pl.DataFrame | None = None
    # A frame in the form of `FOLDER_TABLES`: counts of `clickassay.patterns.health`.
    health: pl.DataFrame = field(default_factory=HEALTH.empty)
    # Rows in the form of `contracts.patterns.SHOWN`; None where times are not known.
    shown: Rows | None = None
    # A frame in the form of `contracts.patterns.SIGNALS`; None where the clicks have no other action.
    signals: pl.DataFrame | None = None
    outcomes: pl.DataFrame | None = None  # Likewise in the form of `contracts.patterns.OUTCOMES`.
    # Frames in the form of `ARM_TABLES`; None where the log has no A/B test.
    arms: pl.DataFrame | None = None
    arm_outcomes: pl.DataFrame | None = None
    arm_patterns: Rows | None = None
    arm_users: pl.DataFrame | None = None
    # Rows in the form of `contracts.patterns.INTERLEAVED`; None where searches name no ranker.
    interleaved: Rows | None = None

    @property
    def stored_depth(self) -> int:
        """Positions kept of each list and mask."""
        return int(self.info["stored_depth"])


class PatternTable(AnyTable[pl.DataFrame]):
    """A pattern table in memory."""

    def staged(self) -> "StagedTable":
        """Return the table as one piece of each of its tables."""
        pieces = {
            name: None if (rows := getattr(self, name)) is None else Pieces.in_memory(form.canonical(rows))
            for name, form in IN_PIECES.items()
        }
        return StagedTable(**{**vars(self), **pieces})


@dataclass(frozen=True)
class Pieces:
    """The rows of a table in pieces, in the order of its key: read, or put together, each time anew."""

    make: Callable[[], Iterable[pl.DataFrame]]  # Returns the pieces.

    def __iter__(self) -> Iterator[pl.DataFrame]:
        return iter(self.make())

    @classmethod
    def of(cls, frame: pl.LazyFrame) -> "Pieces":
        """Return the rows of a frame that is sorted by its key."""
        return cls(lambda: frame.collect_batches(maintain_order=True))

    def filter(self, condition: pl.Expr) -> "Pieces":
        """Return the rows that fulfil a condition."""
        return Pieces(lambda: (piece.filter(condition) for piece in self))

    @classmethod
    def in_memory(cls, frame: pl.DataFrame) -> "Pieces":
        """Return the rows of a frame that is sorted by its key as one piece."""
        return cls(lambda: [frame])


class StagedTable(AnyTable[Pieces]):
    """A pattern table that is not held in memory: its tables come in pieces."""

    def collected(self) -> PatternTable:
        """Return the table in memory."""
        frames = {
            name: None if (pieces := getattr(self, name)) is None else pl.concat(form.in_order(pieces))
            for name, form in IN_PIECES.items()
        }
        return PatternTable(**{**vars(self), **frames})


def merge_tables(tables: Iterable[PatternTable]) -> PatternTable:
    """Add pattern tables of parts of a log: sessions and funnel rows by summing, users' buckets by or.

    The first table's `info` is kept. Tables are asked for one by one, and the texts of a list are held once.
    """
    parts = [*_each_list_once(tables)]
    first = parts[0]
    if len(parts) == 1:
        return first
    frames = {name: [getattr(part, name) for part in parts] for name in _MERGED}
    if all(part.shown is None for part in parts):
        frames["shown"] = []
    else:  # the sessions of a part without days have none
        undated = pl.lit(None, pl.Date).alias("day")
        frames["shown"] = [
            sum_by_key(part.patterns.select("configuration_id", undated, "sessions"), SHOWN)
            if part.shown is None
            else part.shown
            for part in parts
        ]
    for name in OWN_TABLES.keys() - {"shown"}:
        frames[name] = [rows for part in parts if (rows := getattr(part, name)) is not None]
    del parts  # what has been added up is not held any longer

    def stacked(name: str) -> pl.DataFrame:
        rows: pl.DataFrame = pl.concat(frames.pop(name))
        return rows

    return PatternTable(
        patterns=sum_by_key(stacked("patterns"), PATTERNS),
        queries=stacked("queries").group_by(PATTERN_QUERIES.key).agg(pl.col("user_buckets").bitwise_or()),
        configurations=stacked("configurations"),
        funnel=sum_by_key(stacked("funnel"), FUNNEL),
        info=first.info,
        judged_queries=first.judged_queries,
        health=merged_counts(stacked("health")),
        **{name: _added(stacked(name), form) if frames[name] else None for name, form in OWN_TABLES.items()},
    )


def _added(rows: pl.DataFrame, form: Table) -> pl.DataFrame:
    return smallest_digests(rows) if form is ARM_USERS else form.canonical(sum_by_key(rows, form))


def smallest_digests(users: pl.DataFrame) -> pl.DataFrame:
    """Return the users of tests with the smallest digests, each once, of users in the form of ARM_USERS."""
    rank = pl.col("digest").rank("dense").over("experiment")
    return ARM_USERS.canonical(users.unique().filter(rank <= USERS_KEPT))


def _each_list_once(tables: Iterable[PatternTable]) -> Iterator[PatternTable]:
    """Yield tables without the lists of those before: parts of a log show the same lists again and again."""
    known: set[str] = set()
    for table in tables:
        rows: pl.DataFrame = table.configurations
        ids = rows["configuration_id"].to_list()
        is_new = pl.Series([name not in known for name in ids], dtype=pl.Boolean)
        known.update(ids)
        yield table if is_new.all() else replace(table, configurations=held_densely(rows.filter(is_new)))  # type: ignore[arg-type]


def sum_by_key(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Return the sums of the other columns by the key of a table, in any order."""
    summed = frame.lazy().group_by(table.key).agg(pl.exclude(table.key).sum())
    return summed.collect(engine="streaming")  # half the memory and time of the other engine for 32 M rows


def check_judged(table: AnyTable[Any], judged: pl.DataFrame) -> None:
    """Refuse (PatternError) judged queries (market, null = every; query) that the stored table left out."""
    kept = table.judged_queries
    if kept is None:
        return
    everywhere = kept.filter(pl.col("market").is_null())
    others = judged.join(everywhere, on="query", how="anti")
    missing = others.join(kept, on=["market", "query"], how="anti", nulls_equal=True)
    if missing.height:
        raise PatternError(
            "the pattern table contains only queries that were judged when it was made; "
            f"{missing.height:,} more have judgments now, such as {missing['query'].min()!r:.60}; "
            "make it again with these judgments"
        )


def check_depths(table: AnyTable[Any], depths: tuple[int, ...]) -> None:
    """Refuse depths deeper than the stored table's (PatternError)."""
    if max(depths) > table.stored_depth:
        raise PatternError(
            f"the pattern table has {table.stored_depth} results per ranking, but depth {max(depths)} was "
            f"requested; make it again with `clickassay patterns --depth {max(depths)}`"
        )


JUDGED_FILE = "judged_queries.parquet"
"""File of the queries that are kept, in the folder of a table that keeps only queries with judgments."""


def write_patterns(table: PatternTable | StagedTable, folder: Path) -> None:
    """Write a pattern table into an existing folder."""
    write_folder_tables(table, folder)
    if table.judged_queries is not None:
        write_table(table.judged_queries, folder / JUDGED_FILE)
    write_json(folder / SETTINGS_FILE, table.info)


def write_folder_tables(table: PatternTable | StagedTable, folder: Path) -> None:
    """Write the tables of a pattern table in the form of their contracts."""
    for name, contract in (FOLDER_TABLES | OWN_TABLES).items():
        if (rows := getattr(table, name)) is not None:
            in_form = contract.canonical if isinstance(rows, pl.DataFrame) else contract.in_order
            write_table(in_form(rows), folder / f"{name}.parquet")


def read_patterns(folder: Path) -> PatternTable:
    """Read a stored pattern table; PatternError if the folder is none, or a file of it is broken."""
    return opened_patterns(folder).collected()


def opened_patterns(folder: Path) -> StagedTable:
    """Open a stored pattern table as `read_patterns` does; its large files are read later."""
    place = place_of(folder)
    if place is Place.RUN:
        raise PatternError(
            f"{folder} is the folder of a run, not a pattern table; `clickassay patterns` makes pattern "
            "tables"
        )
    if place is not Place.PATTERN_TABLE:
        raise PatternError(f"{folder} is not a pattern table; `clickassay patterns --out {folder}` makes one")
    with _broken(folder):
        info = read_json(folder / SETTINGS_FILE)
        used = info.get("settings")
        only_judged = isinstance(used, dict) and used.get("only_judged")
        judged = scan_parquet(folder / JUDGED_FILE).collect() if only_judged else None
        tables: dict[str, Any] = {
            name: form.canonical(scan_parquet(folder / f"{name}.parquet").collect())
            for name, form in (FOLDER_TABLES | OWN_TABLES).items()
            if name not in IN_PIECES and (name in FOLDER_TABLES or (folder / f"{name}.parquet").exists())
        }
    if "stored_depth" not in info:
        raise PatternError(f"{folder} is not a pattern table (its settings.json has no stored_depth)")
    for name, form in IN_PIECES.items():
        if name in FOLDER_TABLES or (folder / f"{name}.parquet").exists():
            tables[name] = Pieces(partial(_read, folder, name, form))
    return StagedTable(**tables, info=info, judged_queries=judged)


def _read(folder: Path, name: str, form: Table) -> Iterator[pl.DataFrame]:
    with _broken(folder):
        yield from form.in_order(
            scan_parquet(folder / f"{name}.parquet").collect_batches(maintain_order=True)
        )


@contextmanager
def _broken(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, pl.exceptions.PolarsError, ContractError) as error:
        refuse_machine_fault(folder, error)
        reason = str(error).splitlines()[0]
        raise PatternError(f"pattern table {folder} is broken: {reason}; make it again") from error
