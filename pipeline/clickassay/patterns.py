"""The seam: the pattern table, read, checked and written; nothing downstream knows of users or engines."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from clickassay.contracts import FUNNEL, PATTERN_CONFIGURATIONS, PATTERN_QUERIES, PATTERNS
from clickassay.errors import PatternError
from clickassay.table_form import ContractError, Table

FOLDER_TABLES = {
    "configurations": PATTERN_CONFIGURATIONS,
    "patterns": PATTERNS,
    "queries": PATTERN_QUERIES,
    "funnel": FUNNEL,
}
JUDGED_FILE = "judged_queries.parquet"
"""Beside a table that keeps only queries with judgments: which these were."""
ROW_GROUP = 1 << 17


@dataclass(frozen=True)
class PatternTable:
    """A whole log as counts: rows (configuration, click mask, sessions), and what they refer to.

    Attributes
    ----------
    configurations, patterns, queries, funnel
        Frames in the form of `FOLDER_TABLES`.
    info
        Settings, input fingerprints and versions it was made with; `stored_depth` bounds every cut.
    judged_queries
        market (null = every market), query: all that is kept; None when every query is.
    """

    configurations: pl.DataFrame
    patterns: pl.DataFrame
    queries: pl.DataFrame
    funnel: pl.DataFrame
    info: Mapping[str, Any]
    judged_queries: pl.DataFrame | None = None

    @property
    def stored_depth(self) -> int:
        """Positions kept of each list and mask."""
        return int(self.info["stored_depth"])


@dataclass(frozen=True)
class StagedTable:
    """A pattern table that is not held in memory: its large tables lie in files, sorted by their keys.

    The attributes are those of `PatternTable`.
    """

    configurations: pl.LazyFrame
    patterns: pl.LazyFrame
    queries: pl.LazyFrame
    funnel: pl.DataFrame
    info: Mapping[str, Any]
    judged_queries: pl.DataFrame | None = None


def merged(tables: Sequence[PatternTable]) -> PatternTable:
    """Add pattern tables of parts of a log: sessions and funnel rows by summing, users' buckets by or.

    The first table's `info` is kept.
    """
    first = tables[0]
    if len(tables) == 1:
        return first

    def stacked(name: str) -> pl.DataFrame:
        frames: list[pl.DataFrame] = [getattr(table, name) for table in tables]
        return pl.concat(frames)

    return PatternTable(
        configurations=stacked("configurations").unique("configuration_id"),
        patterns=_summed(stacked("patterns"), PATTERNS),
        queries=stacked("queries").group_by(PATTERN_QUERIES.key).agg(pl.col("user_buckets").bitwise_or()),
        funnel=_summed(stacked("funnel"), FUNNEL),
        info=first.info,
        judged_queries=first.judged_queries,
    )


def _summed(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    summed: pl.DataFrame = frame.group_by(table.key).agg(pl.exclude(table.key).sum())
    return summed


def write_table(frame: pl.DataFrame | pl.LazyFrame, file: Path) -> None:
    """Write a frame that is in its contract's form as Parquet: same rows, same bytes, in memory or not."""
    form: dict[str, Any] = {"compression": "zstd", "compression_level": 1, "row_group_size": ROW_GROUP}
    # level 1 costs a third less CPU than the default for files that are an eighth larger
    if isinstance(frame, pl.LazyFrame):
        _by_row_groups(frame).sink_parquet(file, statistics=True, **form)
        return
    starts = range(0, frame.height, ROW_GROUP)
    groups = [_copied(frame[first : first + ROW_GROUP]) for first in starts]
    pl.concat(groups or [frame], rechunk=False).write_parquet(file, statistics=True, **form)


def _by_row_groups(frame: pl.LazyFrame) -> pl.LazyFrame:
    def groups(
        _columns: list[str] | None, _predicate: pl.Expr | None, _rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        yield from map(_copied, frame.collect_batches(chunk_size=ROW_GROUP, maintain_order=True))

    return register_io_source(groups, schema=frame.collect_schema(), is_pure=True)


def _copied(group: pl.DataFrame) -> pl.DataFrame:
    """Return rows without what they are a slice of: a slice of lists carries along, and pages follow it."""
    return group[np.arange(group.height)]


def write_patterns(table: PatternTable | StagedTable, folder: Path) -> None:
    """Write a pattern table into an existing folder."""
    write_folder_tables(table, folder)
    if table.judged_queries is not None:
        write_table(table.judged_queries, folder / JUDGED_FILE)
    text = json.dumps(table.info, indent=2, sort_keys=True, ensure_ascii=False)
    (folder / "settings.json").write_text(text + "\n", encoding="utf-8")


def write_folder_tables(table: PatternTable | StagedTable, folder: Path) -> None:
    """Write the tables of a pattern table in the form of their contracts."""
    for name, contract in FOLDER_TABLES.items():
        frame = getattr(table, name)
        in_form = contract.canonical_lazy if isinstance(frame, pl.LazyFrame) else contract.canonical
        write_table(in_form(frame), folder / f"{name}.parquet")


def read_patterns(folder: Path) -> PatternTable:
    """Read a stored pattern table, or what the SQL of `clickassay sql` has left.

    Raises
    ------
    PatternError
        If the folder is not one, or a file of it is missing, broken or of another form.
    """
    from clickassay.patterns_written import is_written, read_written  # noqa: PLC0415 - it makes pattern tables

    if is_written(folder):
        return read_written(folder)
    if not (folder / "settings.json").is_file():
        raise PatternError(f"{folder} is not a pattern table; `clickassay patterns --out {folder}` makes one")
    if (folder / "run.duckdb").exists():
        raise PatternError(
            f"{folder} is the folder of a run, not a pattern table; `clickassay patterns` makes those"
        )
    try:
        info = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
        frames = {name: pl.read_parquet(folder / f"{name}.parquet", glob=False) for name in FOLDER_TABLES}
        checked = {name: FOLDER_TABLES[name].canonical(frame) for name, frame in frames.items()}
        used = info.get("settings") if isinstance(info, dict) else None
        only_judged = isinstance(used, dict) and used.get("only_judged")
        judged = pl.read_parquet(folder / JUDGED_FILE, glob=False) if only_judged else None
    except (OSError, ValueError, pl.exceptions.PolarsError, ContractError) as error:
        reason = str(error).splitlines()[0]
        raise PatternError(f"pattern table {folder} is broken: {reason}; make it again") from error
    if not isinstance(info, dict) or "stored_depth" not in info:
        raise PatternError(f"{folder} holds no pattern table (its settings.json names no stored_depth)")
    return PatternTable(**checked, info=info, judged_queries=judged)


def check_judged(table: PatternTable, judged: pl.DataFrame) -> None:
    """Refuse judgments of queries that the stored table left out.

    Parameters
    ----------
    judged
        market (null = every market), query: those with judgments now.

    Raises
    ------
    PatternError
        If one of them is not among those kept.
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


def check_depths(table: PatternTable, depths: tuple[int, ...]) -> None:
    """Refuse depths that the stored table does not reach.

    Raises
    ------
    PatternError
        If a depth is deeper than the stored one.
    """
    if max(depths) > table.stored_depth:
        raise PatternError(
            f"the pattern table holds {table.stored_depth} results a list, but depth {max(depths)} "
            "is asked for; "
            f"make it again with `clickassay patterns --depth {max(depths)}`"
        )
