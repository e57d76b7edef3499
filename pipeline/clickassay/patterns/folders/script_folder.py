"""The folder that the SQL of `clickassay sql` leaves, read as a pattern table.

Each table is a Parquet file, or a folder of part files as Spark writes them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.contracts.form import ContractError, DataType
from clickassay.core.contracts.patterns import (
    FUNNEL,
    PATTERN_CONFIGURATIONS,
    PATTERN_QUERIES,
    PATTERNS,
    SHOWN,
)
from clickassay.core.errors import EngineError, PatternError
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.core.files.tables import scan_parquet
from clickassay.core.settings import SQL_SETTINGS
from clickassay.inputs.sources.fingerprint import TABLES
from clickassay.patterns.counts import COUNT_FORMS, count_batch
from clickassay.patterns.folders.places import COUNTS_FOLDER
from clickassay.patterns.funnel import LogFunnel, orphan_click_rows
from clickassay.patterns.health import LogCounts
from clickassay.patterns.table import PatternTable

Counts = Mapping[str, Sequence[tuple[Any, ...]]]

_SETTINGS: Mapping[str, DataType] = {
    "stored_depth": pl.Int64,
    "idle_minutes": pl.Float64,
    "idle_scope": pl.String,
    "normalise_urls": pl.Boolean,
    "folds": pl.Int64,
    "clicks_by": pl.String,
    "searches": pl.String,
    "clicks": pl.String,
    "dialect": pl.String,
    "clickassay": pl.String,
    "clock_ms": pl.Int64,
    "faults": pl.Int64,
}
_UNFINISHED = "unfinished"
_OLD_COUNTS = "click_fates"
"""The count that is called ``attributed_clicks`` today."""
_UNKNOWN = "unknown"


def read_script_folder(folder: Path) -> PatternTable:
    """Read the folder of a script as a pattern table; its funnel is made of the counts.

    Raises PatternError if an older clickassay wrote the script, it has not ended, one of its checks found
    something, or a table is missing, broken, of another form, or does not fit the others.
    """
    _refuse_old_layout(folder)
    try:
        settings = _settings(folder)
        counts = {name: _rows(folder, f"{COUNTS_FOLDER}/{name}", form) for name, form in COUNT_FORMS.items()}
        tables = {
            "configurations": PATTERN_CONFIGURATIONS.canonical(_frame(folder, "configurations")),
            "patterns": PATTERNS.canonical(_frame(folder, "patterns")),
            "queries": PATTERN_QUERIES.canonical(_unsigned(_frame(folder, "queries"))),
        }
        if (folder / "shown.parquet").exists():  # else an older clickassay wrote the script
            tables["shown"] = SHOWN.canonical(_frame(folder, "shown"))
        _check_whole(tables, counts)
        funnel, health = _counted(counts, tables["patterns"], int(settings["stored_depth"]))
    except (OSError, ValueError, IndexError, EngineError, pl.exceptions.PolarsError, ContractError) as error:
        refuse_machine_fault(folder, error)
        reason = str(error).splitlines()[0].removesuffix("; nothing was written")
        raise _broken(folder, reason) from error
    return PatternTable(**tables, funnel=funnel, info=_info(settings, counts, tables), health=health)


def _refuse_old_layout(folder: Path) -> None:
    counts = folder / COUNTS_FOLDER
    is_renamed = (counts / f"{_OLD_COUNTS}.parquet").exists()
    is_renamed &= not (counts / "attributed_clicks.parquet").exists()
    added = {
        counts / "searches.parquet": ("usable", "merged"),
        counts / "attributed_clicks.parquet": ("in_time", "is_misplaced"),
        folder / "settings.parquet": ("faults", "clock_ms"),
    }
    if is_renamed or not all(_has_column(place, *pair) for place, pair in added.items()):
        raise PatternError(
            f"{folder} was left by the SQL of an older clickassay; "
            "print the SQL again with `clickassay sql` and run it"
        )


def _has_column(place: Path, old: str, new: str) -> bool:
    """Return whether a table that has the `old` column has the `new` one too; True if that cannot be seen."""
    try:
        files = sorted(filter(_is_data, place.iterdir())) if place.is_dir() else [place]
        names = scan_parquet(files[0]).collect_schema().names()
    except (OSError, IndexError, pl.exceptions.PolarsError):
        return True
    return old not in names or new in names


def _broken(folder: Path, reason: str) -> PatternError:
    return PatternError(
        f"pattern table {folder}, left by the SQL of `clickassay sql`, is broken: {reason}; run the SQL again"
    )


def _frame(folder: Path, name: str) -> pl.DataFrame:
    """Read a table: a file, or the data files of a folder.

    Raises PatternError if the script has not written it yet.
    """
    place = folder / f"{name}.parquet"
    files = sorted(file for file in place.iterdir() if _is_data(file)) if place.is_dir() else [place]
    if not files:
        raise FileNotFoundError(f"{place} holds no Parquet file")
    frame = scan_parquet(files).collect()
    if frame.columns == [_UNFINISHED]:
        raise PatternError(
            f"{folder} is unfinished: the SQL that fills it still runs, or ended before it wrote {name}; "
            "read its output, and run it to its end"
        )
    return frame


def _is_data(file: Path) -> bool:
    return file.suffix == ".parquet" and not file.name.startswith(("_", "."))


def _in_form(frame: pl.DataFrame, name: str, form: Mapping[str, DataType]) -> pl.DataFrame:
    if sorted(frame.columns) != sorted(form):
        raise ContractError(f"{name} has columns {', '.join(frame.columns)}; expected {', '.join(form)}")
    return frame.select(pl.col(column).cast(dtype) for column, dtype in form.items())


def _settings(folder: Path) -> dict[str, Any]:
    frame = _in_form(_frame(folder, "settings"), "settings", _SETTINGS)
    if frame.height != 1 or any(frame.null_count().row(0)):
        raise ContractError(f"settings has {frame.height} rows, expected one without nulls")
    settings: dict[str, Any] = frame.row(0, named=True)
    if settings["faults"]:
        raise PatternError(
            f"{folder} cannot be used: checks of the SQL that filled it found {settings['faults']} rows "
            "where there must be none; read the output of that run"
        )
    clock = datetime.fromtimestamp(settings["clock_ms"] / 1000, UTC)
    return {**settings, "clock": clock.isoformat(timespec="seconds")}


def _rows(folder: Path, name: str, form: Mapping[str, DataType]) -> list[tuple[Any, ...]]:
    return _in_form(_frame(folder, name), name, form).rows()


def _unsigned(queries: pl.DataFrame) -> pl.DataFrame:
    """Read signed 64 bits as unsigned: some engines have no unsigned integers."""
    return queries.with_columns(pl.col("user_buckets").cast(pl.UInt64, wrap_numerical=True))


def _check_whole(tables: Mapping[str, pl.DataFrame], counts: Counts) -> None:
    """Refuse tables that are not of one run of the script."""
    patterns, configurations = tables["patterns"], tables["configurations"]
    formed = sum(sessions for _, _, on_first_page, sessions in counts["sessions"] if on_first_page)
    for name in tables.keys() & {"patterns", "shown"}:
        kept = int(tables[name]["sessions"].sum())
        if kept != formed:
            raise ContractError(f"{name} hold {kept:,} sessions, but {formed:,} were counted")
    ids = patterns["configuration_id"].unique().sort()
    if not ids.equals(configurations["configuration_id"]):
        raise ContractError("patterns and configurations are of different configurations")
    unknown = configurations.join(tables["queries"], on=["market", "query"], how="anti").height
    if unknown:
        raise ContractError(f"queries lack those of {unknown:,} configurations")


def _counted(counts: Counts, patterns: pl.DataFrame, depth: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the funnel, and the counts of health."""
    funnel, health = LogFunnel(depth), LogCounts()
    count_batch(funnel, health, counts)
    rows = funnel.frame(patterns, counts["sessions"], is_open=False)
    unmatched = orphan_click_rows(
        ambiguous=0, out_of_time=0, unmatched=int(funnel.orphan_clicks()["clicks"].sum())
    )
    summed = pl.concat([rows, unmatched]).group_by(pl.exclude("rows")).agg(pl.col("rows").sum())
    return FUNNEL.canonical(summed), health.frame()


def _info(settings: Mapping[str, Any], counts: Counts, tables: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """Return the `info` of the table: settings, inputs, versions; only the other engine saw the files."""
    digest = _digest(counts, tables)
    unknown = {"files": _UNKNOWN, "bytes": _UNKNOWN, "digest": f"{TABLES}:{digest}"}
    return {
        "stored_depth": settings["stored_depth"],
        "settings": {
            "depth": [settings["stored_depth"]],
            "only_judged": False,
            **{name: settings[name] for name in SQL_SETTINGS if name != "depth"},
        },
        "inputs": {half: {"names": [settings[half]], **unknown} for half in ("searches", "clicks")},
        "versions": {"clickassay": settings["clickassay"]},
    }


def _digest(counts: Counts, tables: Mapping[str, pl.DataFrame]) -> str:
    """Return a digest of counts and tables, in place of the digest of the log's files."""
    digest = hashlib.sha256(
        json.dumps({name: sorted(map(repr, rows)) for name, rows in counts.items()}).encode()
    )
    digest.update("".join(tables["configurations"]["configuration_id"]).encode())
    for column in ("fold", "click_mask", "sessions"):
        digest.update(tables["patterns"][column].to_numpy().tobytes())
    if "shown" in tables:
        for column in ("day", "sessions"):
            digest.update(tables["shown"][column].to_physical().to_numpy().tobytes())
    digest.update(tables["queries"]["user_buckets"].to_numpy().tobytes())
    return digest.hexdigest()
