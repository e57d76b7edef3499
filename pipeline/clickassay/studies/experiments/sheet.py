"""The sheet of past tests, read and checked: spreadsheets have percent signs, decimal commas and gaps."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.files.scratch import with_scratch
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Floats
from clickassay.core.special import ndtr, ndtri
from clickassay.core.text.words import MINUS, did_you_mean, listed, visible
from clickassay.inputs.columns import PAST_TESTS
from clickassay.inputs.sources.fingerprint import Made
from clickassay.inputs.sources.mapping import likely_columns, names_of, set_aside
from clickassay.inputs.staging.sources import Source, staged
from clickassay.inputs.tables import WholeInput, read_input
from clickassay.inputs.text.grades import spelled_number
from clickassay.inputs.types import NO_VALUE
from clickassay.studies.experiments.order import PastTests, joined

WHAT = "past_tests"

_OURS = tuple(want.name for want in PAST_TESTS)
_ENDS = ("ci_low", "ci_high")
_OF_USERS = ("difference", "error", *_ENDS)
_SIZES = frozenset({
    "users", "user", "sessions", "session", "searches", "visits", "days", "weeks", "year", "month", "id", "n",
    "size", "number", "total", "of", "control", "treatment", "variant",
})  # fmt: skip
"""A column of numbers whose name has these words alone is no metric."""

_ROW = " row"
"""Name of the column of row numbers, which no column of a text file can have."""


@dataclass(frozen=True)
class Sheet:
    """Past tests as they were given, and what became of the columns and rows."""

    tests: PastTests
    errors_from: str  # Columns that the errors come from; empty where there are none.
    ignored: tuple[str, ...]  # Columns that are not read.
    left_out: tuple[str, ...]  # Tests without a difference of users.
    click: str = ""  # What users are measured by in tests of runs; empty where there are none.

    @property
    def without_error(self) -> int:
        """Tests that count in the order alone: it is not known whether they moved users."""
        return int(np.isnan(self.tests.p_value).sum())


def joined_sheets(sheets: Sequence[Sheet]) -> Sheet:
    """Return the tests of several sheets and runs as one sheet.

    Raises SettingsError if two tests have the same name, or runs measure users by different metrics.
    """
    clicks = sorted({one.click for one in sheets if one.click})
    if len(clicks) > 1:
        raise SettingsError(
            f"runs measure users by {listed(map(visible, clicks))}; make them with the same --click-metric"
        )
    read, ignored, left_out = (
        tuple(dict.fromkeys(name for one in sheets for name in names(one)))
        for names in (
            lambda one: filter(None, [one.errors_from]), lambda one: one.ignored, lambda one: one.left_out
        )
    )  # fmt: skip
    return Sheet(joined([one.tests for one in sheets]), listed(read), ignored, left_out, "".join(clicks))


@with_scratch()
def read_sheet(
    source: Source,
    *,
    metrics: Sequence[str] = (),
    level: float = 0.95,
    column: Sequence[str] = (),
    progress: Progress = silent,
) -> Sheet:
    """Read past tests, a row each.

    metrics: columns of offline metrics; none = all other columns of numbers but those of sizes.
    level: confidence level of `ci_low` to `ci_high`.
    column: names of columns, as ``past_tests.difference=clicks_delta``.

    Raises InputError if a column is missing, a value cannot be read or contradicts another, or a test occurs
    twice; SettingsError if a metric is no column.
    """
    if not 0.5 <= level < 1:
        raise SettingsError(f"--level {level:g}: expected a confidence level from 0.5 to below 1, e.g. 0.95")
    names = names_of(WHAT, column)
    made = staged(WHAT, source, names, progress)
    given = made if isinstance(made, Made) else Made(Path(made))
    table = read_input(WHAT, given.path, PAST_TESTS, keep_others=True, names=names, held=given.held)
    for told in set_aside(WHAT, PAST_TESTS, table.parts[0].schema, table.parts[0].frame):
        progress(Event(told, note=True))
    rows = WholeInput.of(table, progress).rows.with_row_index(_ROW, offset=1)
    return _Reader(str(source), rows, table.columns).sheet(metrics, level)


class _Reader:
    """The rows of a sheet, numbered from 1 in the column `_ROW`; messages name file, row and test."""

    def __init__(self, file: str, rows: pl.DataFrame, there: frozenset[str]) -> None:
        is_filled = pl.any_horizontal(
            pl.col(name).str.strip_chars() != "" if dtype == pl.String else pl.col(name).is_not_null()
            for name, dtype in rows.schema.items()
            if name != _ROW
        )
        self.file, self.rows, self.there = file, rows.filter(is_filled), there

    def wrong(self, text: str) -> InputError:
        return InputError(f"{WHAT}: {self.file}: {text}")

    def wrong_row(self, place: int, text: str) -> InputError:
        name = visible(self.rows["experiment"][place])
        return self.wrong(f"row {self.rows[_ROW][place]} (test “{name}”): {text}")

    def sheet(self, wanted: Sequence[str], level: float) -> Sheet:
        if self.rows.is_empty():
            raise self.wrong("no tests; give a row for each test, with columns experiment and difference")
        self._check_names()
        others = [name for name in self.rows.columns if name not in (_ROW, *_OURS)]
        numeric = [name for name in others if self._is_numeric(name)]
        metrics = self._metrics(wanted, others, numeric)
        kinds = [(*_OF_USERS,), metrics, ("changed",), ("p_value",)]
        read = {name: one for kind in kinds for name, one in self._numbers(kind).items()}
        kept = np.isfinite(read["difference"])
        names = self.rows["experiment"].cast(pl.String)
        self._check_range(read, "p_value", "a p-value is 0 to 1")
        self._check_range(read, "changed", "a share is 0 to 1, or has a percent sign")
        error, p, errors_from = self._errors(read, level)
        ideas = self.rows["group"].cast(pl.String).fill_null(names).filter(kept)
        tests = PastTests(
            tuple(names.filter(kept)), tuple(ideas), read["difference"][kept], error[kept], p[kept],
            tuple(metrics), np.column_stack([read[name] for name in metrics])[kept],
            read["changed"][kept] if "changed" in read else None,
        )  # fmt: skip
        if not tests.names:
            raise self.wrong("column difference is empty; write what each test did to users")
        ignored = tuple(name for name in others if name not in metrics)
        return Sheet(tests, errors_from, ignored, tuple(names.filter(~kept)))

    def _check_names(self) -> None:
        names = self.rows["experiment"].cast(pl.String)
        if names.null_count():
            place = self.rows[_ROW].filter(names.is_null())[0]
            raise self.wrong(f"row {place} has no experiment; name the test, or remove the row")
        for name, times in Counter(names).items():
            if times > 1:
                twice = self.rows.filter(names == name).select(_ROW, "difference").rows()[:2]
                seen = " and ".join(f"row {row} (difference {visible(value)})" for row, value in twice)
                raise self.wrong(f"test “{visible(name)}” is there twice: {seen}; remove or rename one")

    def _is_numeric(self, name: str) -> bool:
        """Whether half the filled cells of a column are numbers: then each other one is a mistake."""
        column = self.rows[name]
        if column.dtype != pl.String:
            return column.dtype.is_numeric() and column.cast(pl.Float64).fill_nan(None).is_not_null().any()
        texts = _filled(column).drop_nulls()
        return 2 * sum(_number(text) is not None for text in texts) >= max(1, len(texts))

    def _metrics(self, wanted: Sequence[str], others: Sequence[str], numeric: Sequence[str]) -> list[str]:
        for name in wanted:
            if name not in others:
                raise SettingsError(f"--metric {name}: no such metric; {did_you_mean(name, numeric)}")
        if wanted:
            return list(dict.fromkeys(wanted))
        missing = [name for name in _OURS if name not in self.there]
        # what is probably ours under another name is proposed, and no metric
        likely = likely_columns(WHAT, missing, pl.Schema(dict.fromkeys(numeric, pl.Float64()))).values()
        found = [name for name in numeric if name not in likely and not _is_size(name)]
        if not found:
            raise self.wrong(
                "no offline metric: add a column of its differences, such as NDCG, or name one by --metric; "
                f"the columns are {', '.join(map(visible, sorted(self.there)))}"
            )
        return found

    def _numbers(self, kind: Sequence[str]) -> dict[str, Floats]:
        """Return columns of one kind as numbers, NaN where empty: all with percent signs, or none."""
        found, signs = {}, dict[bool, str]()
        for name in (one for one in kind if one in self.there):
            column = self.rows[name]
            if column.dtype != pl.String and not column.dtype.is_numeric() and column.dtype != pl.Null:
                raise self.wrong(f"column {name} is {column.dtype}, not numbers; convert it")
            cells = _filled(column) if column.dtype == pl.String else column.cast(pl.Float64).fill_nan(None)
            numbers = np.full(len(cells), np.nan)
            for place, cell in enumerate(cells):
                if cell is None:
                    continue
                number = _number(cell) if isinstance(cell, str) else cell
                if number is None or not np.isfinite(number):
                    raise self.wrong_row(
                        place, f"{name} “{visible(cell)}” is not a number; write one such as 0.02 or 2%, or "
                        "leave the cell empty"
                    )  # fmt: skip
                numbers[place] = number
                has_sign = isinstance(cell, str) and "%" in cell
                if has_sign not in signs:
                    signs[has_sign] = f"{name} “{visible(cell)}”"
            found[name] = numbers
        if len(signs) == 2:
            raise self.wrong(
                f"{signs[True]} has a percent sign and {signs[False]} none; write it in every cell of "
                f"{listed(map(visible, found))}, or in none (2% is 0.02)"
            )
        return found

    def _check_range(self, read: Mapping[str, Floats], name: str, range_: str) -> None:
        if name in read:
            wrong = np.flatnonzero((read[name] < 0) | (read[name] > 1))
            if len(wrong):
                raise self.wrong_row(int(wrong[0]), f"{name} is {read[name][wrong[0]]:g}; {range_}")

    def _errors(self, read: Mapping[str, Floats], level: float) -> tuple[Floats, Floats, str]:
        """Return errors, p-values, and the columns that they come from; NaN where there is no usable one."""
        difference = read["difference"]
        if "error" in read:
            error, errors_from = read["error"], "error"
        elif missing := [name for name in _ENDS if name not in read]:
            if len(missing) < len(_ENDS):
                raise self.wrong(f"an interval needs both ends, and column {missing[0]} is missing")
            p = read.get("p_value", np.full(len(difference), np.nan))
            with np.errstate(divide="ignore", invalid="ignore"):
                error = np.abs(difference) / -ndtri(p / 2)
            error = np.where(np.isfinite(error) & (error > 0), error, np.nan)
            return error, p, "p_value" if "p_value" in read else ""
        else:
            low, high = (read[name] for name in _ENDS)
            outside = np.flatnonzero((difference < low) | (difference > high))
            if len(outside):
                at = int(outside[0])
                raise self.wrong_row(
                    at, f"difference {difference[at]:g} is not within ci_low {low[at]:g} to ci_high "
                    f"{high[at]:g}; correct one of the three"
                )  # fmt: skip
            error = (high - low) / (2 * ndtri((1 + level) / 2))
            errors_from = f"ci_low and ci_high ({100 * level:g}%)"
        error = np.where(error > 0, error, np.nan)
        with np.errstate(over="ignore"):  # then the p-value is 0
            return error, 2 * ndtr(-np.abs(difference / error)), errors_from


def _filled(column: pl.Series) -> pl.Series:
    texts = column.str.strip_chars()
    return texts.set(texts.is_in(["", NO_VALUE]) | (texts.str.to_lowercase() == "nan"), None)


def _number(text: str) -> float | None:
    """Return the number that a cell spells: ``-0.02``, ``+2 %``, ``0,02``, with a minus sign of any kind."""
    plain = text.replace(MINUS, "-").strip()
    number = spelled_number(plain.removesuffix("%"))
    return number if number is None or not plain.endswith("%") else number / 100


def _is_size(name: str) -> bool:
    words = set(re.findall(r"[^\W\d_]+", name.lower()))
    return not name or (bool(words) and words <= _SIZES)
