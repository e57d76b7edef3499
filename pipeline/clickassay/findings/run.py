"""One record of a run: its tables by contract, its settings, its headline; from frames or from a folder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
import polars.selectors as cs

from clickassay.core.contracts import run
from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.form import ContractError
from clickassay.core.contracts.form import Table as Contract
from clickassay.core.contracts.patterns import PATTERNS
from clickassay.core.errors import ReportError
from clickassay.core.files.documents import DocumentError, read_json
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.core.files.output import SETTINGS_FILE
from clickassay.core.files.tables import scan_parquet
from clickassay.core.records import ANY_SAMPLE, CLICK_JUDGE, SAMPLE_COLUMNS, SampleChoice, SampleKey
from clickassay.core.settings import Settings
from clickassay.core.text.privacy import QueryLabels, number_rare_classes
from clickassay.core.text.words import first_line, listed, visible
from clickassay.inputs.files import READ_ERRORS, check_path
from clickassay.metrics.catalogue import BASELINES, named_measure
from clickassay.metrics.clicks import (
    CLICK_METRICS,
    click_metric_named,
    counted_clicks,
    is_click_metric,
    named_click,
    refuse_ips,
    signal_of,
)
from clickassay.metrics.editorial import EDITORIAL_METRICS

OWN_SPLITS = (EVERY, "length", "navigational", "click_entropy", "frequency")
"""Splits whose classes are not values of an attribute that the user gave, but for yes and no."""

COMPETING = (
    "correlations", "comparisons", "differences", "difference_comparisons", "within", "within_comparisons"
)  # fmt: skip
"""Tables in which baselines compete with the other metrics."""

_PARTS = ("inputs", "settings", "versions")
_CONTRACTS = {table.name: table for table in (*run.RUN_TABLES, *run.TABLES_OF_TESTS)}
_LARGEST_FIRST = {"n_sessions": True, "depth": False, "n_queries": True, "market": False, "judge": False}
"""By which columns samples are ordered, and whether the larger value comes first."""


def largest_samples(rows: pl.DataFrame) -> tuple[SampleKey, ...]:
    """Return the samples of a run, the one with most sessions kept first: it is the headline.

    Of equal ones the smaller depth comes first, then more queries, then the name of market and judge. Since a
    list that is judged down to a depth is judged above it, the headline has the smallest depth of the run. A
    judge that is made of clicks is no headline while there is another.

    rows: rows of ``statistics``, or of another table that has `SAMPLE_COLUMNS`, n_sessions and n_queries.
    """
    of_people = (pl.col("n_sessions") > 0) & ~pl.col("judge").str.starts_with(CLICK_JUDGE)
    ordered = rows.sort(~of_people, *_LARGEST_FIRST, descending=[False, *_LARGEST_FIRST.values()])
    return tuple(SampleKey(*row) for row in ordered.select(SAMPLE_COLUMNS).iter_rows())


@dataclass(frozen=True)
class Run:
    """A run: every study, and the report, reads it through this record."""

    # The tables of `contracts.run.RUN_TABLES` by name, in the forms of their contracts; of a run before its
    # findings are drawn, the `ANALYSED_TABLES`.
    tables: Mapping[str, pl.DataFrame]
    info: Mapping[str, Any]  # The content of ``settings.json``: inputs, versions, command and more.
    settings: Settings  # The settings that it was made with.
    folder: Path = Path()  # Where it lies; empty for a run that has not been written.
    # Of a run that was just made: where judgments are too few for any correlation, lines on the reason and on
    # what to judge; and why its report has no pictures. Empty otherwise.
    undecided: tuple[str, ...] = ()
    undrawn: str = ""
    # What offline metrics say of past tests, as `contracts.experiments.EXPERIMENT_ORDER`; None = none given.
    past_tests: pl.DataFrame | None = None

    @property
    def called(self) -> str:
        """What messages call it: its folder, if it lies in one."""
        return "the run" if self.folder == Path() else str(self.folder)

    # ---- samples ----

    @cached_property
    def samples(self) -> tuple[SampleKey, ...]:
        """The samples with judged configurations, the headline first."""
        return largest_samples(self.tables["statistics"].filter(pl.col("n_sessions") > 0))

    @property
    def headline(self) -> SampleKey | None:
        """The sample of the headline; None where no session was kept anywhere."""
        return next(iter(self.samples), None)

    @cached_property
    def places(self) -> tuple[SampleKey, ...]:
        """The markets, and all markets together, that have correlations within queries."""
        known = self.tables["within"].filter(pl.col("n_queries") > 0)
        keys = known.select(SAMPLE_COLUMNS).unique().sort(SAMPLE_COLUMNS)
        return tuple(SampleKey(*row) for row in keys.iter_rows())

    @property
    def headline_place(self) -> SampleKey | None:
        """All markets together, or the only one, at depth and judge of the headline; None without a value."""
        if self.headline is None:
            return None
        together = replace(self.headline, market=EVERY)
        return next((key for key in (together, self.headline) if key in self.places), None)

    @property
    def headline_samples(self) -> tuple[SampleKey, ...]:
        """The headline sample, or none."""
        return self.samples[:1]

    @property
    def days(self) -> tuple[date, date] | None:
        """The first and the last day of its log; None where they are not known."""
        rows = self.tables["statistics"].select("first_day", "last_day").drop_nulls()
        return None if rows.is_empty() else rows.row(0)

    @property
    def n_samples(self) -> int:
        """All samples of the run, also those without a judged configuration."""
        return self.tables["statistics"].height

    def key(self, wanted: SampleChoice = ANY_SAMPLE) -> SampleKey:
        """Choose a sample that has judged configurations, the largest; ReportError if there is none."""
        kept = self.tables["statistics"].filter(pl.col("n_sessions") > 0)
        samples = wanted.rows(kept)
        if samples.is_empty():
            has = "; ".join(str(row) for row in kept.select(SAMPLE_COLUMNS).head(8).iter_rows())
            raise ReportError(
                f"{self.called} has no judged configurations of {wanted.label or 'any kind'}; it has: "
                f"{has or 'none'}"
            )
        return largest_samples(samples)[0]

    # ---- rows ----

    @cached_property
    def frames(self) -> Mapping[str, pl.DataFrame]:
        """The tables without rows that concern baselines; classes of few queries are numbered."""
        frames = {
            name: frame.filter(~_concerns_baseline(frame)) if _names_metrics(frame) else frame
            for name, frame in self.tables.items()
        }
        rare = number_rare_classes(frames["correlations"], OWN_SPLITS, self.settings.min_users)
        return MappingProxyType({**frames, "correlations": rare})

    def of_baselines(self, name: str) -> pl.DataFrame:
        """Rows of a table of `COMPETING` that concern baselines."""
        return self.tables[name].filter(_concerns_baseline(self.tables[name]))

    def competing(self, name: str) -> pl.DataFrame:
        """Rows of a table of `COMPETING`, with the rows that concern baselines at the end."""
        return self._competing[name]

    @cached_property
    def _competing(self) -> Mapping[str, pl.DataFrame]:
        tables = (name for name in COMPETING if name in self.tables)
        return {name: pl.concat([self.frames[name], self.of_baselines(name)]) for name in tables}

    def rows_about(self, name: str, sample: SampleKey, click: str) -> list[dict[str, Any]]:
        """Return the rows of `competing` about a sample and a click metric, over all queries."""
        if name not in self._by_click:
            rows = self.competing(name)
            every = rows.filter(split=EVERY) if "split" in rows.columns else rows
            key = [*SAMPLE_COLUMNS, "click_metric"]
            self._by_click[name] = dict(every.rows_by_key(key, named=True, include_key=True))
        return self._by_click[name].get((*sample.columns.values(), click), [])

    @cached_property
    def _by_click(self) -> dict[str, dict[tuple[Any, ...], list[dict[str, Any]]]]:
        return {}  # each table when it is first asked for

    def headline_rows(self, name: str) -> pl.DataFrame:
        """Rows of a table of the headline sample; no row when there is no such sample."""
        return self.frames[name].head(0) if self.headline is None else self.headline.rows(self.frames[name])

    def correlations(self, sample: SampleKey, *, split: str = EVERY) -> pl.DataFrame:
        """Rows of `correlations` of one sample and split."""
        return sample.rows(self.frames["correlations"]).filter(split=split)

    # ---- names ----

    @cached_property
    def editorial(self) -> tuple[str, ...]:
        """Offline metrics of the run in the order of reports, variants last."""
        return in_order(self._names("editorial_metric"), EDITORIAL_METRICS)

    @cached_property
    def clicks(self) -> tuple[str, ...]:
        """Click metrics of the run in the order of reports; of signals those that the verdict is about."""
        asked = [
            name for name in self._names("click_metric") if name in CLICK_METRICS or name in self.counted
        ]
        return in_order(asked, CLICK_METRICS)

    @cached_property
    def signals(self) -> tuple[str, ...]:
        """The signals of the run besides clicks, by name."""
        return tuple(sorted({signal for name in self._every_click if (signal := signal_of(name))}))

    @cached_property
    def outcomes(self) -> tuple[str, ...]:
        """The outcomes of the run, by name."""
        correlated = {name for name in self._every_click if not is_click_metric(name)}
        return tuple(sorted(correlated.union(self.tables["outcomes"]["outcome"])))

    @cached_property
    def _every_click(self) -> list[str]:
        # tables of rows lack a name that no judged list has
        return self.tables["correlations"]["click_metric"].unique().to_list()

    def of_click(self, lists: pl.DataFrame, click: str) -> pl.DataFrame:
        """Return `configurations` with a click metric's own n_sessions: of a rating, those that rated."""
        if click not in self.settings.ratings:
            return lists
        own = self.tables["outcomes"].filter(outcome=click).group_by("configuration_id")
        counted = own.agg(n_sessions=pl.col("sessions").sum())
        return lists.drop("n_sessions").join(counted, on="configuration_id", maintain_order="left")

    @property
    def counted(self) -> tuple[str, ...]:
        """Click metrics that the verdict is about; all headline numbers are of the first."""
        return counted_clicks(self.settings)

    @property
    def click(self) -> str:
        """The headline click metric."""
        return self.counted[0]

    @property
    def current(self) -> str | None:
        """The metric in use by its name in the run; None if the settings name none."""
        given = self.settings.current
        if given is None or given in self._names("editorial_metric"):  # also a score that users brought
            return given
        return str(named_measure(str(given)))

    def click_named(self, text: str) -> str:
        """Return a click metric, action or outcome as tables name it; SettingsError if none, both or IPS."""
        name = click_metric_named(text)
        refuse_ips(name)
        known = name in (*self.signals, *self.outcomes)
        return click_metric_named(named_click(text, self.signals, self.outcomes)) if known else name

    def _names(self, column: str) -> list[str]:
        columns = [self.frames[name][column] for name in ("correlations", "differences")]
        return pl.concat(columns).unique().to_list()

    @cached_property
    def labels(self) -> QueryLabels:
        """Names or digests of its queries."""
        return QueryLabels(self.tables["queries"], self.settings.min_users)

    def grade_label(self, grade: int) -> str:
        """Return the scale's label of a grade, or ``grade 2`` where the scale has none of its own."""
        scale = self.settings.scale
        if len(scale) != self.settings.max_grade + 1:
            scale = ()  # the labels are of another scale than --max-grade
        labels = [visible(label) for label in scale]  # cut: two long ones may look alike
        is_known = 0 <= grade < len(labels) and labels.count(labels[grade]) == 1
        return labels[grade] if is_known else f"grade {grade}"

    # ---- parts of a table ----

    def file(self, table: str) -> Path:
        """Return the file of a table of a run in a folder; ReportError if it is missing."""
        file = self.folder / f"{table}.parquet"
        if not file.is_file():
            raise _no_run(self.folder, file.name)
        return file

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as written, to read a part of it with `collect`."""
        is_written = isinstance(self.tables, _FolderTables)
        return scan_parquet(self.file(table)) if is_written else self.tables[table].lazy()

    def columns(self, table: str) -> list[str]:
        """Return the names of the columns of a table as written."""
        return self.collect(self.scan(table).limit(0)).columns

    def collect(self, rows: pl.LazyFrame) -> pl.DataFrame:
        """Read rows of a query on `scan`; ReportError if a file is broken."""
        try:
            return rows.collect()
        except READ_ERRORS as error:
            refuse_machine_fault(self.folder, error)
            message = f"a table in {self.called} is broken ({first_line(error)}); make the run again"
            raise ReportError(message) from error


def run_of(tables: Mapping[str, pl.DataFrame], info: Mapping[str, Any]) -> Run:
    """Return the run of these tables, which are put into the forms of their contracts.

    tables, info: `contracts.run.ANALYSED_TABLES` and findings, if drawn, by name; content of
      ``settings.json``.
    Raises ReportError if a table is missing; ContractError if one does not have the form of its contract.
    """
    expected = [table.name for table in run.ANALYSED_TABLES]
    missing = [name for name in expected if name not in tables]
    if missing:
        raise ReportError(f"no table {listed(missing)} to report; a run has {listed(expected)}: run it again")
    given = {table.name: table.empty() for table in run.TABLES_OF_TESTS} | dict(tables)
    frames = {name: _in_form(contract, given[name]) for name, contract in _CONTRACTS.items() if name in given}
    return Run(MappingProxyType(frames), info, settings_of(info))


def open_run(folder: Path) -> Run:
    """Return the run in a folder. A table is read when it is first asked for.

    Raises ReportError, with the file, if the folder is no run or of a version that names things otherwise, or
    settings.json is broken; then, if a table is.
    """
    check_path(folder)
    file = folder / SETTINGS_FILE
    if not file.is_file():
        raise _no_run(folder, file.name)
    try:
        info = read_json(file)
    except (OSError, DocumentError) as error:
        refuse_machine_fault(file, error)
        raise broken(file, first_line(error)) from error
    if not all(isinstance(info.get(part), dict) for part in _PARTS):
        raise broken(file, f"expected an object with {', '.join(_PARTS)}")
    if "layout" not in info and not (folder / f"{run.CONFIGURATIONS.name}.parquet").is_file():
        raise _no_run(folder, f"{run.CONFIGURATIONS.name}.parquet")
    if info.get("layout") != run.LAYOUT:
        raise ReportError(f"{folder} {run.ANOTHER_LAYOUT}")
    try:
        settings = settings_of(info)
    except (ValueError, TypeError) as error:
        raise broken(file, first_line(error)) from error
    return Run(_FolderTables(folder), info, settings, folder)


def run_at(place: Run | Path) -> Run:
    """Return a run that may be given by its folder, as `open_run` opens it."""
    return place if isinstance(place, Run) else open_run(place)


def settings_of(info: Mapping[str, Any]) -> Settings:
    """Return the settings of a ``settings.json`` that this version has."""
    written = info.get("settings") or {}
    known = {name: written[name] for name in Settings.model_fields if name in written}
    if "max_grade" in known and len(known.get("scale", ())) != known["max_grade"] + 1:
        known.pop("scale", None)  # --max-grade alone: the scale has no labels
    return Settings(**known)


class _FolderTables(Mapping[str, pl.DataFrame]):
    """The tables of a folder by name; each is read once, when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._read:
            contract, file = _CONTRACTS[name], self._folder / f"{name}.parquet"
            if not file.is_file() and contract in run.TABLES_OF_TESTS:
                return contract.empty()
            if not file.is_file():
                raise _no_run(self._folder, file.name)
            try:
                rows = contract.canonical(scan_parquet(file).collect())
            except (*READ_ERRORS, ContractError) as error:
                refuse_machine_fault(file, error)
                raise broken(file, first_line(error)) from error
            self._read[name] = rows.with_columns(cs.float().fill_nan(None))
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_CONTRACTS)

    def __len__(self) -> int:
        return len(_CONTRACTS)


def broken(file: Path, what: str) -> ReportError:
    """Return the error of a file of a run that cannot be used."""
    return ReportError(f"{file} is broken ({what}); make the run again")


def _no_run(folder: Path, name: str) -> ReportError:
    return ReportError(f"no {name} in {folder}: give a folder that `clickassay run` made")


def _in_form(contract: Contract, frame: pl.DataFrame) -> pl.DataFrame:
    # The pattern table may have millions of rows and is only summed: its order is no matter.
    if contract is PATTERNS:
        contract.canonical(frame.head(0))
        return frame
    return contract.canonical(frame).with_columns(cs.float().fill_nan(None))


def _names_metrics(frame: pl.DataFrame) -> list[str]:
    return [name for name in ("editorial_metric", "metric_a", "metric_b") if name in frame.columns]


def _concerns_baseline(frame: pl.DataFrame) -> pl.Expr:
    return pl.any_horizontal(pl.col(_names_metrics(frame)).is_in(BASELINES))


def in_order(names: Sequence[str], order: Sequence[str]) -> tuple[str, ...]:
    """Return the `names` names in the given order, unknown ones after them by name."""
    known = [name for name in order if name in names]
    return (*known, *sorted(set(names) - set(order)))
