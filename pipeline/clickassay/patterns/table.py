"""The pattern table: a record, what it must obey, and its folder; nothing after it knows users or engines."""

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import polars as pl

from clickassay.core.contracts.form import ContractError, Table
from clickassay.core.contracts.patterns import (
    FUNNEL,
    HEALTH,
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
    """Give back memory that the C library keeps for later: after many small arrays it is a lot.

    Does nothing where the C library is not glibc.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


Rows = TypeVar("Rows")

_MERGED = ("patterns", "queries", "configurations", "funnel", "health")


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

    @property
    def stored_depth(self) -> int:
        """Positions kept of each list and mask."""
        return int(self.info["stored_depth"])


class PatternTable(AnyTable[pl.DataFrame]):
    """A pattern table in memory."""

    def staged(self) -> "StagedTable":
        """Return the table as one piece of each of its tables."""
        return StagedTable(
            configurations=Pieces.in_memory(PATTERN_CONFIGURATIONS.canonical(self.configurations)),
            patterns=Pieces.in_memory(PATTERNS.canonical(self.patterns)),
            queries=Pieces.in_memory(PATTERN_QUERIES.canonical(self.queries)),
            funnel=self.funnel,
            info=self.info,
            judged_queries=self.judged_queries,
            health=self.health,
            shown=None if self.shown is None else Pieces.in_memory(SHOWN.canonical(self.shown)),
            signals=self.signals,
            outcomes=self.outcomes,
        )


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

    @classmethod
    def in_memory(cls, frame: pl.DataFrame) -> "Pieces":
        """Return the rows of a frame that is sorted by its key as one piece."""
        return cls(lambda: [frame])


class StagedTable(AnyTable[Pieces]):
    """A pattern table that is not held in memory: its tables come in pieces."""

    def collected(self) -> PatternTable:
        """Return the table in memory."""
        return PatternTable(
            configurations=pl.concat(PATTERN_CONFIGURATIONS.in_order(self.configurations)),
            patterns=pl.concat(PATTERNS.in_order(self.patterns)),
            queries=pl.concat(PATTERN_QUERIES.in_order(self.queries)),
            funnel=self.funnel,
            info=self.info,
            judged_queries=self.judged_queries,
            health=self.health,
            shown=None if self.shown is None else pl.concat(SHOWN.in_order(self.shown)),
            signals=self.signals,
            outcomes=self.outcomes,
        )


def merge_tables(tables: Iterable[PatternTable]) -> PatternTable:
    """Add pattern tables of parts of a log: sessions and funnel rows by summing, users' buckets by or.

    The first table's `info` is kept. Tables are asked for one by one, and the texts of a list are held once.
    """
    parts = [*_each_list_once(tables)]
    first = parts[0]
    if len(parts) == 1:
        return first
    frames = {name: [getattr(part, name) for part in parts] for name in _MERGED}
    shown = _shown(parts)
    signals = [part.signals for part in parts if part.signals is not None]
    outcomes = [part.outcomes for part in parts if part.outcomes is not None]
    del parts  # what has been added up is not held any longer

    def stacked(name: str) -> pl.DataFrame:
        rows: pl.DataFrame = pl.concat(frames.pop(name))
        return rows

    return PatternTable(
        patterns=_sum_by_key(stacked("patterns"), PATTERNS),
        queries=stacked("queries").group_by(PATTERN_QUERIES.key).agg(pl.col("user_buckets").bitwise_or()),
        configurations=stacked("configurations"),
        funnel=_sum_by_key(stacked("funnel"), FUNNEL),
        info=first.info,
        judged_queries=first.judged_queries,
        health=merged_counts(stacked("health")),
        shown=_merged(shown, SHOWN),
        signals=_merged(signals, SIGNALS),
        outcomes=_merged(outcomes, OUTCOMES),
    )


def _shown(parts: Sequence[PatternTable]) -> list[pl.DataFrame]:
    """Return the days of each part: sessions without a day where it has none; no parts if none has any."""
    if all(part.shown is None for part in parts):
        return []
    undated = pl.lit(None, pl.Date).alias("day")
    return [
        _sum_by_key(part.patterns.select("configuration_id", undated, "sessions"), SHOWN)
        if part.shown is None
        else part.shown
        for part in parts
    ]


def _merged(parts: Sequence[pl.DataFrame], form: Table) -> pl.DataFrame | None:
    """Add up a table of the parts that have it."""
    return form.canonical(_sum_by_key(pl.concat(parts), form)) if parts else None


def _each_list_once(tables: Iterable[PatternTable]) -> Iterator[PatternTable]:
    """Yield tables without the lists of those before: parts of a log show the same lists again and again."""
    known: set[str] = set()
    for table in tables:
        rows: pl.DataFrame = table.configurations
        ids = rows["configuration_id"].to_list()
        is_new = pl.Series([name not in known for name in ids], dtype=pl.Boolean)
        known.update(ids)
        yield table if is_new.all() else replace(table, configurations=_copied(rows.filter(is_new)))  # type: ignore[arg-type]


def _copied(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with texts of their own: a part of a frame keeps the texts of the whole frame in memory."""
    return pl.DataFrame(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))


def _sum_by_key(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    summed = frame.lazy().group_by(table.key).agg(pl.exclude(table.key).sum())
    return summed.collect(engine="streaming")  # half the memory and time of the other engine for 32 M rows


def check_judged(table: AnyTable[Any], judged: pl.DataFrame) -> None:
    """Refuse judgments of queries that the stored table left out.

    judged: market (null = every market), query: queries with judgments now.

    Raises PatternError if one of them is not among those kept.
    """
    kept = table.judged_queries
    if kept is None:
        return
    everywhere = kept.filter(pl.col("market").is_null())
    others = judged.join(everywhere, on="query", how="anti")
    missing = others.join(kept, on=["market", "query"], how="anti", nulls_equal=True)
    if missing.height:
        raise PatternError(
            "the pattern table keeps only queries that were judged when it was made, but "
            f"{missing.height:,} have judgments now and were left out, "
            f"among them {missing['query'].min()!r:.60}; "
            "make it again with these judgments"
        )


def check_depths(table: AnyTable[Any], depths: tuple[int, ...]) -> None:
    """Refuse depths that the stored table does not reach.

    Raises PatternError if a depth is deeper than the stored one.
    """
    if max(depths) > table.stored_depth:
        raise PatternError(
            f"the pattern table holds {table.stored_depth} results a list, but depth {max(depths)} was "
            f"requested; make it again with `clickassay patterns --depth {max(depths)}`"
        )


FOLDER_TABLES = {
    "configurations": PATTERN_CONFIGURATIONS,
    "patterns": PATTERNS,
    "queries": PATTERN_QUERIES,
    "funnel": FUNNEL,
    "health": HEALTH,
}
_SMALL = ("funnel", "health")
OWN_TABLES = {"shown": SHOWN, "signals": SIGNALS, "outcomes": OUTCOMES}
"""Tables that not every pattern table has: `shown` where times are known, the others beside clicks."""
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
    """Read a stored pattern table.

    Raises PatternError if the folder is not one, or a file of it is missing, broken or of another form.
    """
    return opened_patterns(folder).collected()


def opened_patterns(folder: Path) -> StagedTable:
    """Open a stored pattern table, as `read_patterns` reads it; its large files are read later.

    Raises PatternError as there.
    """
    place = place_of(folder)
    if place is Place.RUN:
        raise PatternError(
            f"{folder} is the folder of a run, not a pattern table; `clickassay patterns` makes those"
        )
    if place is not Place.PATTERN_TABLE:
        raise PatternError(f"{folder} is not a pattern table; `clickassay patterns --out {folder}` makes one")
    with _broken(folder):
        info = read_json(folder / SETTINGS_FILE)
        used = info.get("settings")
        only_judged = isinstance(used, dict) and used.get("only_judged")
        judged = scan_parquet(folder / JUDGED_FILE).collect() if only_judged else None
        funnel, health = (
            FOLDER_TABLES[name].canonical(scan_parquet(folder / f"{name}.parquet").collect())
            for name in _SMALL
        )
        signals, outcomes = (_own(folder, name) for name in ("signals", "outcomes"))
    if "stored_depth" not in info:
        raise PatternError(f"{folder} holds no pattern table (its settings.json names no stored_depth)")
    large = [name for name in FOLDER_TABLES if name not in _SMALL]
    pieces = {name: Pieces(partial(_read, folder, name)) for name in (*large, "shown")}
    return StagedTable(
        configurations=pieces["configurations"],
        patterns=pieces["patterns"],
        queries=pieces["queries"],
        funnel=funnel,
        info=info,
        judged_queries=judged,
        health=health,
        shown=pieces["shown"] if (folder / "shown.parquet").exists() else None,
        signals=signals,
        outcomes=outcomes,
    )


def _own(folder: Path, name: str) -> pl.DataFrame | None:
    """Return one of `OWN_TABLES`; None where the table has none."""
    file = folder / f"{name}.parquet"
    return OWN_TABLES[name].canonical(scan_parquet(file).collect()) if file.exists() else None


def _read(folder: Path, name: str) -> Iterator[pl.DataFrame]:
    with _broken(folder):
        rows = scan_parquet(folder / f"{name}.parquet")
        yield from (FOLDER_TABLES | OWN_TABLES)[name].in_order(rows.collect_batches(maintain_order=True))


@contextmanager
def _broken(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, pl.exceptions.PolarsError, ContractError) as error:
        refuse_machine_fault(folder, error)
        reason = str(error).splitlines()[0]
        raise PatternError(f"pattern table {folder} is broken: {reason}; make it again") from error
