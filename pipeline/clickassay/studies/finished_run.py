"""A finished run read back from its folder: its tables, its judged configurations as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.contracts.form import ContractError, Table
from clickassay.core.contracts.patterns import PATTERNS
from clickassay.core.contracts.run import ANOTHER_LAYOUT, CONFIGURATIONS, LAYOUT, STATISTICS
from clickassay.core.errors import ReportError
from clickassay.core.files.documents import DocumentError, read_json
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.core.output import SETTINGS_FILE
from clickassay.core.records import (
    ANY_SAMPLE,
    SAMPLE_COLUMNS,
    Floats,
    Integers,
    Sample,
    SampleChoice,
    SampleKey,
)
from clickassay.core.settings import Settings
from clickassay.core.tables import scan_parquet
from clickassay.core.text import first_line
from clickassay.findings.samples import largest_samples
from clickassay.inputs.files import READ_ERRORS
from clickassay.metrics.clicks import CLICK_METRICS, click_values, good_masks
from clickassay.metrics.null_success import null_success

_PARTS = ("inputs", "settings", "versions")


@dataclass(frozen=True)
class GradedSample:
    """A sample of a finished run, and the (N, k) grades of its configurations.

    The click entropy of its queries is NaN, as no table of a run has it.
    """

    sample: Sample
    grades: Integers


class FinishedRun:
    """A folder that `clickassay run` or `clickassay report` made. Tables are read once and kept.

    Every method and attribute raises ReportError where the folder is no run, was made by a version that
    names things otherwise, or a file of it is broken; the message names the file.

    Parameters
    ----------
    folder
        Its path.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tables: dict[str, pl.DataFrame] = {}

    @cached_property
    def info(self) -> Mapping[str, Any]:
        """Its settings.json: an object with inputs, settings, versions and more."""
        file = self.folder / SETTINGS_FILE
        if not file.is_file():
            raise self._no_run(file.name)
        try:
            info = read_json(file)
        except (OSError, DocumentError) as error:
            refuse_machine_fault(file, error)
            raise broken(file, first_line(error)) from error
        if not all(isinstance(info.get(part), dict) for part in _PARTS):
            raise broken(file, f"expected an object with {', '.join(_PARTS)}")
        if "layout" not in info and not (self.folder / f"{CONFIGURATIONS.name}.parquet").is_file():
            raise self._no_run(f"{CONFIGURATIONS.name}.parquet")
        if info.get("layout") != LAYOUT:
            raise ReportError(f"{self.folder} {ANOTHER_LAYOUT}")
        return info

    @cached_property
    def settings(self) -> Settings:
        """The settings that it was made with; those that this version does not have are left out."""
        written = self.info["settings"]
        try:
            known = {name: written[name] for name in Settings.model_fields if name in written}
            if len(known["scale"]) != known["max_grade"] + 1:  # --max-grade alone: the scale has no labels
                del known["scale"]
            return Settings(**known)
        except (ValueError, KeyError, TypeError) as error:
            raise broken(self.folder / SETTINGS_FILE, first_line(error)) from error

    def table(self, contract: Table) -> pl.DataFrame:
        """Return a table in the form of its contract."""
        if contract.name not in self._tables:
            try:
                self._tables[contract.name] = contract.canonical(self.scan(contract.name).collect())
            except (*READ_ERRORS, ContractError) as error:
                refuse_machine_fault(self.file(contract.name), error)
                raise broken(self.file(contract.name), first_line(error)) from error
        return self._tables[contract.name]

    def file(self, table: str) -> Path:
        """Return the file of a table, which is there, in a run of this layout."""
        _ = self.info
        file = self.folder / f"{table}.parquet"
        if not file.is_file():
            raise self._no_run(file.name)
        return file

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as written, to read a part of it with `collect`."""
        return scan_parquet(self.file(table))

    def columns(self, table: str) -> list[str]:
        """Return the names of the columns of a table as written."""
        return self.collect(self.scan(table).limit(0)).columns

    def collect(self, rows: pl.LazyFrame) -> pl.DataFrame:
        """Read rows of a query on `scan`."""
        try:
            return rows.collect()
        except READ_ERRORS as error:
            refuse_machine_fault(self.folder, error)
            message = f"a table in {self.folder} is broken ({first_line(error)}); make the run again"
            raise ReportError(message) from error

    def _no_run(self, name: str) -> ReportError:
        return ReportError(f"no {name} in {self.folder}: give a folder that `clickassay run` made")

    def key(self, wanted: SampleChoice = ANY_SAMPLE) -> SampleKey:
        """Choose a sample that has judged configurations.

        What `wanted` leaves open is that of the largest such sample: see `largest_samples`.
        """
        kept = self.table(STATISTICS).filter(pl.col("n_sessions") > 0)
        found = wanted.rows(kept)
        if found.is_empty():
            has = "; ".join(str(row) for row in kept.select(SAMPLE_COLUMNS).head(8).iter_rows())
            raise ReportError(
                f"{self.folder} has no judged configurations of {wanted.label or 'any kind'}; it has: "
                f"{has or 'none'}"
            )
        return largest_samples(found)[0]

    def configurations(self, key: SampleKey) -> pl.DataFrame:
        """Return the judged configurations of a sample, by query and id."""
        return key.rows(self.table(CONFIGURATIONS)).sort("query", "configuration_id")

    def sample(self, key: SampleKey) -> GradedSample:
        """Return the judged configurations of a sample as arrays, in the order of `configurations`."""
        rows, patterns = self.configurations(key), self.table(PATTERNS)
        self._check_whole(rows, patterns, depth=key.depth)
        grades = np.array(rows["grades"].to_list(), dtype=np.int64).reshape(rows.height, key.depth)
        return GradedSample(_sample(key, rows, patterns, good_masks(grades, self.settings)), grades)

    @cached_property
    def folds(self) -> tuple[int, ...]:
        """The folds of users that its clicks are of, ascending."""
        return tuple(self.table(PATTERNS)["fold"].unique().sort())

    def sample_without(self, key: SampleKey, fold: int, of: int | None = None) -> Sample:
        """Return the sample without the users of a fold: the configurations that others were shown.

        With `of`, the folds are put together to so many, a divisor of their number.
        """
        own = pl.col("fold") if of is None else pl.col("fold") % of
        patterns = self.table(PATTERNS).filter(own != fold)
        rows = self.configurations(key).join(
            patterns, on="configuration_id", how="semi", maintain_order="left"
        )
        grades = np.array(rows["grades"].to_list(), dtype=np.int64).reshape(rows.height, key.depth)
        return _sample(key, rows, patterns, good_masks(grades, self.settings))

    def _check_whole(self, rows: pl.DataFrame, patterns: pl.DataFrame, *, depth: int) -> None:
        file = self.file("configurations")
        nulls = [name for name in rows.columns if rows[name].has_nulls()]
        if nulls:
            raise broken(file, f"null in {', '.join(nulls)}")
        if not (rows["grades"].list.drop_nulls().list.len() == depth).all():
            raise broken(file, f"not {depth} grades in every row")
        if rows.join(patterns, on="configuration_id", how="anti").height:
            raise broken(self.file("patterns"), "configurations without a click pattern")


def broken(file: Path, what: str) -> ReportError:
    """Return the error of a file of a run that cannot be used."""
    return ReportError(f"{file} is broken ({what}); make the run again")


def editorial_names(columns: list[str]) -> tuple[str, ...]:
    """Return the editorial metrics among the columns of `configurations`, in their order."""
    fixed = {column.name for column in CONFIGURATIONS.columns}
    return tuple(name for name in columns if name not in fixed and name not in CLICK_METRICS)


def _sample(key: SampleKey, rows: pl.DataFrame, patterns: pl.DataFrame, good: Integers) -> Sample:
    numbered = rows.select("configuration_id").with_row_index("n")
    own = patterns.join(numbered, on="configuration_id").sort("n", "click_mask")
    mask, sessions = (own[name].to_numpy() for name in ("click_mask", "sessions"))
    clicks = click_values(own["n"].to_numpy(), mask, sessions, good, depth=key.depth)
    names = editorial_names(rows.columns)
    queries = rows["query"].unique().sort()
    return Sample(
        key=key,
        queries=tuple(queries),
        query_index=_index(rows["query"]),
        sessions=clicks.sessions,
        click_names=CLICK_METRICS,
        click_values=clicks.means,
        click_variances=clicks.variances,
        null_success=null_success(good, mask, sessions),
        editorial_names=names,
        editorial_values=_values(rows, names),
        configuration_ids=rows["configuration_id"],
        click_entropy=np.full(len(queries), np.nan),  # not in the run's tables
    )


def _index(queries: pl.Series) -> Integers:
    index: Integers = queries.rle_id().to_numpy().astype(np.int64)
    return index


def _values(rows: pl.DataFrame, names: tuple[str, ...]) -> Floats:
    values: Floats = np.ascontiguousarray(rows.select(names).to_numpy(), dtype=np.float64)
    return values
