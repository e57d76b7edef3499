"""A finished run read back from its folder: its tables, its judged configurations as arrays."""

import json
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.form import ContractError, Table
from clickassay.core.contracts.patterns import PATTERNS
from clickassay.core.contracts.run import CONFIGURATIONS, STATISTICS
from clickassay.core.errors import ReportError
from clickassay.core.records import Floats, Integers, Sample
from clickassay.core.settings import Settings
from clickassay.core.text import first_line
from clickassay.inputs.files import READ_ERRORS
from clickassay.metrics.clicks import CLICK_METRICS, click_values
from clickassay.metrics.null_success import null_success

_FIXED = {"market", "depth", "judge", "configuration_id", "query", "results", "grades", "n_sessions"}


def sample_of_run(run: Path, *, market: str | None, depth: int | None, judge: str | None) -> Sample:
    """Read the judged configurations of one market, depth and judge of a run folder.

    Parameters
    ----------
    run
        Folder that `clickassay run` or `clickassay report` made.
    market, depth, judge
        Which; when None the smallest depth, the market with most sessions, the first judge.

    Raises
    ------
    ReportError
        If there is no run, a file of it is broken, or it holds no such configurations.

    The click entropy of queries is NaN: it is not written.
    """
    return graded_sample_of_run(run, market=market, depth=depth, judge=judge)[0]


def graded_sample_of_run(
    run: Path, *, market: str | None, depth: int | None, judge: str | None
) -> tuple[Sample, NDArray[np.int64]]:
    """Return the same, and the (N, k) grades of the configurations."""
    tables = {table.name: read_table(run, table) for table in (STATISTICS, CONFIGURATIONS, PATTERNS)}
    key = _chosen(run, tables["statistics"], market=market, depth=depth, judge=judge)
    rows = tables["configurations"].filter(market=key[0], depth=key[1], judge=key[2])
    rows = rows.sort("query", "configuration_id")
    _check_whole(run, rows, tables["patterns"], depth=key[1])
    grades = np.array(rows["grades"].to_list(), dtype=np.int64).reshape(rows.height, key[1])
    good = (grades >= _success_grade(run)).astype(np.int64) @ (1 << np.arange(key[1], dtype=np.int64))
    numbered = rows.select("configuration_id").with_row_index("n")
    patterns = tables["patterns"].join(numbered, on="configuration_id").sort("n", "click_mask")
    mask, sessions = (patterns[name].to_numpy() for name in ("click_mask", "sessions"))
    clicks = click_values(patterns["n"].to_numpy(), mask, sessions, good, depth=key[1])
    names = tuple(name for name in rows.columns if name not in _FIXED and name not in CLICK_METRICS)
    queries = rows["query"].unique().sort()
    sample = Sample(
        market=key[0],
        depth=key[1],
        judge=key[2],
        queries=tuple(queries),
        query_index=_index(rows["query"]),
        sessions=clicks.sessions,
        click_names=clicks.names,
        click_values=clicks.means,
        click_variances=clicks.variances,
        null_success=null_success(good, mask, sessions),
        editorial_names=names,
        editorial_values=_values(rows, names),
        configuration_ids=rows["configuration_id"],
        click_entropy=np.full(len(queries), np.nan),  # not in the run's tables
    )
    return sample, grades


def _check_whole(run: Path, rows: pl.DataFrame, patterns: pl.DataFrame, *, depth: int) -> None:
    file = run / "configurations.parquet"
    holes = [name for name in rows.columns if rows[name].has_nulls()]
    if holes:
        raise broken(file, f"null in {', '.join(holes)}")
    if not (rows["grades"].list.drop_nulls().list.len() == depth).all():
        raise broken(file, f"not {depth} grades in every row")
    if rows.join(patterns, on="configuration_id", how="anti").height:
        raise broken(run / "patterns.parquet", "configurations without a click pattern")


def _index(queries: pl.Series) -> Integers:
    index: Integers = queries.rle_id().to_numpy().astype(np.int64)
    return index


def _values(rows: pl.DataFrame, names: tuple[str, ...]) -> Floats:
    values: Floats = np.ascontiguousarray(rows.select(names).to_numpy(), dtype=np.float64)
    return values


def _chosen(
    run: Path, statistics: pl.DataFrame, *, market: str | None, depth: int | None, judge: str | None
) -> tuple[str, int, str]:
    wanted = {"market": market, "depth": depth, "judge": judge}
    kept = statistics.filter(pl.col("n_sessions") > 0)
    found = kept.filter(*(pl.col(name) == value for name, value in wanted.items() if value is not None))
    if found.is_empty():
        asked = ", ".join(f"{name} {value}" for name, value in wanted.items() if value is not None)
        has = "; ".join(str(row) for row in kept.select("market", "depth", "judge").head(8).iter_rows())
        raise ReportError(
            f"{run} has no judged configurations of {asked or 'any kind'}; it has: {has or 'none'}"
        )
    ordered = found.sort(["depth", "n_sessions", "market", "judge"], descending=[False, True, False, False])
    return ordered.select("market", "depth", "judge").row(0)


def _success_grade(run: Path) -> int:
    return setting_of_run(run, "success_grade")


def setting_of_run(run: Path, name: str) -> int:
    """Return a whole number among the settings of a run.

    Raises
    ------
    ReportError
        If its settings.json is missing or broken.
    """
    try:
        return int(json.loads((run / "settings.json").read_text(encoding="utf-8"))["settings"][name])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReportError(f"{run / 'settings.json'} is missing or broken; make the run again") from error


def read_table(run: Path, contract: Table) -> pl.DataFrame:
    """Read one table of a run folder.

    Raises
    ------
    ReportError
        If its file is missing, broken or of another form; the message names it.
    """
    file = run / f"{contract.name}.parquet"
    if not file.is_file():
        raise no_run(run, file.name)
    try:
        return contract.canonical(pl.read_parquet(file, glob=False))
    except (*READ_ERRORS, ContractError) as error:
        raise broken(file, first_line(error)) from error


def settings_of_run(folder: Path) -> Settings:
    """Return the settings of a run.

    Raises
    ------
    ReportError
        If its settings.json is missing or broken.
    """
    try:
        written = json.loads((folder / "settings.json").read_text(encoding="utf-8"))["settings"]
        known = {name: written[name] for name in Settings.model_fields if name in written}
        if len(known["scale"]) != known["max_grade"] + 1:  # --max-grade alone: the scale has no labels
            del known["scale"]
        return Settings(**known)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReportError(f"{folder / 'settings.json'} is missing or broken; make the run again") from error


def no_run(folder: Path, name: str) -> ReportError:
    """Return the error of a folder that lacks a file of a run."""
    return ReportError(f"no {name} in {folder}: give a folder that `clickassay run` made")


def broken(file: Path, what: str) -> ReportError:
    """Return the error of a file of a run that cannot be used."""
    return ReportError(f"{file} is broken ({what}); make the run again")
