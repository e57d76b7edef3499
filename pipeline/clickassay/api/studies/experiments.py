"""From Python: whether an offline metric tells better past tests from worse; one test of a run in full."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from clickassay.api.screen.charts import Chart
from clickassay.api.screen.parts import Part, on_screen
from clickassay.api.screen.python import for_python
from clickassay.api.screen.result import Result, SavedResult, attribute_of
from clickassay.core.contracts.experiments import EXPERIMENT_ORDER, EXPERIMENTS
from clickassay.core.contracts.run import TABLES_OF_TESTS
from clickassay.core.errors import ReportError
from clickassay.core.files.tables import write_tables
from clickassay.core.provenance import versions
from clickassay.core.text.words import did_you_mean
from clickassay.findings.draw import draw_findings
from clickassay.findings.run import Run, run_at
from clickassay.patterns.places import Place, place_of
from clickassay.report.writers.page import write_study
from clickassay.studies.experiments.of_run import RunTests
from clickassay.studies.experiments.report import (
    build_experiments_report,
    order_figures,
    order_table,
    tests_figures,
)
from clickassay.studies.experiments.shown import tests_section
from clickassay.studies.experiments.words import Experiments, answer, read_sentence, sentences


def run_given(given: Any) -> Run | None:  # noqa: ANN401 - a run, a place or a table
    """Return a run that is given, or lies in a folder; None for all else."""
    if hasattr(given, "found_run"):
        return run_at(given.found_run)
    is_run = isinstance(given, str | Path) and Path(given).is_dir() and place_of(Path(given)) is Place.RUN
    return run_at(Path(given)) if is_run else None


def tests_in(run: Run) -> RunTests:
    """Return the A/B tests of the log of a run."""
    return RunTests.of(run, draw_findings(run, np.random.default_rng(0)))


class ExperimentsResult(SavedResult):
    """Past tests, and whether metrics tell the better ones from the worse; prints sentences and metrics.

    Parameters
    ----------
    found
        The numbers.
    """

    def __init__(self, found: Experiments) -> None:
        self.found = found

    @property
    def answer(self) -> str:
        """Whether the current metric tells better tests from worse; without a full stop."""
        return answer(self.found)

    @property
    def experiments(self) -> pl.DataFrame:
        """A row for each test and metric: the difference, and of what users did its interval and p-value."""
        return self.found.sheet.tests.experiments()

    order: pl.DataFrame = attribute_of(
        "found.order",
        "A row for each metric: pairs in order, calls, difference from the current one, kind of answer.",
    )

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables by their names: experiments and experiment_order."""
        return {EXPERIMENTS.name: self.experiments, EXPERIMENT_ORDER.name: self.order}

    @property
    def facts(self) -> dict[str, Any]:
        """The content of the JSON document: the answer in words, what users did, and the metrics."""
        told = {
            "answer": self.answer,
            "sentences": list(sentences(self.found)),
            "current": self.found.current,
        }
        sheet = self.found.sheet
        read = {"errors_from": sheet.errors_from, "ignored": sheet.ignored, "left_out": sheet.left_out}
        users = self.experiments.filter(kind="click")
        return told | read | {"experiments": users.to_dicts(), "experiment_order": self.order.to_dicts()}

    @for_python
    def chart(self, name: str = "tests") -> Chart:
        """Return a picture: `tests` (metric against users) or `order` (pairs in order by metric).

        Raises
        ------
        ReportError
            If there is no such picture.
        """
        known = {one.name: one for one in (*tests_figures(self.found), *order_figures(self.found))}
        if name not in known:
            raise ReportError(f"no chart {name!r}; {did_you_mean(name, known)}")
        found = known[name]
        return Chart(name, found.title, found.alt, str(found.drawing.svg))

    def write(self, out: Path, *, force: bool, command: str = "") -> Path:
        """Write as `save` does; `command` is recorded as what made them."""
        report = build_experiments_report(self.found, command=command)
        info = {"command": command, "versions": versions()}
        write_tables(out, self.tables, info, also=partial(write_study, report), force=force)
        return out

    def parts(self) -> Iterator[Part]:
        """Yield the answer, what the tests show, and the table of metrics."""
        yield self.answer if self.answer.endswith("?") else f"{self.answer}."
        yield from sentences(self.found)
        yield read_sentence(self.found)
        yield from on_screen(order_table(self.found))


class LogTestResult(Result):
    """One A/B test of a run in full: verdict, checks, and all metrics.

    Parameters
    ----------
    tests
        The test, with all its variants.
    """

    def __init__(self, tests: RunTests) -> None:
        self.tests = tests

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Its rows of the run's tables of tests."""
        return {form.name: self.tests.run.tables[form.name] for form in TABLES_OF_TESTS}

    @property
    def facts(self) -> dict[str, Any]:
        """The content of the JSON document: the verdicts in words, and the tables."""
        kinds = self.tests.kinds
        return {"tests": [one.entry for kind in kinds for one in kind.tests]} | {
            name: rows.to_dicts() for name, rows in self.tables.items()
        }

    def parts(self) -> Iterator[Part]:
        """Yield the verdicts, what to do about the data, and the tables."""
        for section in map(tests_section, self.tests.kinds):
            yield from (*section.reading, *section.folded_reading)
            for table in section.folded:
                yield from on_screen(table)
