"""The folder of a pattern table: written, read back and checked."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl

from clickassay.core.contracts.form import ContractError
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
from clickassay.patterns.folders.places import Place, place_of
from clickassay.patterns.table import PatternTable, Pieces, StagedTable

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
