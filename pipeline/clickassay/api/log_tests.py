"""From Python: one A/B test of a run in full."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from clickassay.api.screen.parts import Part, on_screen
from clickassay.api.screen.result import Result
from clickassay.core.contracts.run import TABLES_OF_TESTS
from clickassay.studies.experiments.of_run import RunTests
from clickassay.studies.experiments.shown import tests_section


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
