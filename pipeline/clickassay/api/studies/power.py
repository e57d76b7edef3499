"""From Python: how much has to be judged and clicked to detect a difference."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.api.screen.parts import Part, ShownTable
from clickassay.api.screen.result import Result
from clickassay.core.errors import SettingsError
from clickassay.core.records import SampleChoice, SampleKey
from clickassay.correlation.uncertainty.intervals import MIN_QUERIES
from clickassay.correlation.uncertainty.power import (
    Pilot,
    RequiredSize,
    family_size,
    pilot_of,
    required_sizes,
    smallest_difference,
    within_pilot,
)
from clickassay.findings.arrays import graded_sample, market_samples
from clickassay.findings.ranking import Question
from clickassay.findings.run import Run, run_at

FACTORS = (0.5, 1.0, 2.0, 4.0)
"""Sessions per query that are shown, as multiples of the pilot's."""

SMALLEST = 1e-4
"""A difference below this would take more queries than anyone has, and matter to nobody."""

MIN_ALPHA = 1e-12
"""The smallest alpha at which one comparison is tested."""


@dataclass(frozen=True)
class PowerTest:
    """The test that is to detect a difference; None: the run's difference, and the tests of its decision."""

    difference: float | None
    power: float
    alpha: float
    comparisons: int | None

    def __post_init__(self) -> None:
        """Refuse what no test can have."""
        if self.difference is not None and not SMALLEST <= self.difference < 2:
            raise SettingsError(
                f"--difference {self.difference}: expected a number from {SMALLEST} to 2, e.g. 0.05: "
                "the size of the difference, whichever metric is ahead"
            )
        if not 0.5 <= self.power <= 0.999:
            raise SettingsError(f"--power {self.power}: expected a number between 0.5 and 0.999")
        if not 0 < self.alpha < 0.5:
            raise SettingsError(f"--alpha {self.alpha}: expected a number between 0 and 0.5")
        if self.comparisons is not None and self.comparisons < 1:
            raise SettingsError(f"--comparisons {self.comparisons}: expected a whole number, at least 1")
        if self.each(self.comparisons or 1) < MIN_ALPHA:
            raise SettingsError(
                f"--alpha {self.alpha} / --comparisons {self.comparisons}: expected {MIN_ALPHA} or more"
            )

    def each(self, comparisons: int) -> float:
        """Return alpha of one of so many comparisons."""
        return self.alpha / comparisons


class PowerResult(Result):
    """What it takes to detect a difference.

    Parameters
    ----------
    key
        Market, depth and judge of the pilot.
    analysis
        The pilot, the test, and the sizes.
    name
        What the run is called.
    """

    def __init__(self, key: SampleKey, analysis: "PowerAnalysis", name: str) -> None:
        self.key, self.analysis, self.name = key, analysis, name

    @classmethod
    def of(
        cls,
        place: Run | Path,
        names: "Names",
        test: PowerTest,
        choice: SampleChoice,
        question: Question | None,
        *,
        name: str,
    ) -> "PowerResult":
        """Compute, as `power` says."""
        run = run_at(place)
        names = (run.click_named(names[0]), *names[1:])
        asked = question or _question(run)
        key, pilot, table = _PILOTS[asked](run, choice, names)
        than = run.current if run.current in names[1:] else None
        size = family_size(run.tables[table], key, names[0], than)
        family = "all pairs" if than is None else f"all others against {than}"
        tests = (size, family) if test.comparisons is None else (test.comparisons, None)
        return cls(key, _analyse(asked, pilot, names, test, tests), name)

    @property
    def required(self) -> pl.DataFrame:
        """Queries, their range, configurations and sessions, a row for each number of sessions per query."""
        return pl.DataFrame([asdict(one) for one in self.analysis.required], infer_schema_length=None)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The required sizes."""
        return {"required": self.required}

    @property
    def facts(self) -> dict[str, Any]:
        """The content of the JSON document."""
        return {"run": self.name, **self.key.columns, **asdict(self.analysis)}

    def parts(self) -> Iterator[Part]:
        """Yield the pilot, the sizes, and what keeps them from being relied on."""
        analysis, pilot = self.analysis, self.analysis.pilot
        yield (
            f"Pilot: {self.name}, {self.key.label}: "
            f"{pilot.queries:,} queries{_TWO_LISTS[analysis.question]}, {pilot.configurations:,} "
            f"configurations, {pilot.sessions:,} sessions"
        )
        yield _describe(pilot, analysis)
        yield (
            f"To detect a difference of {analysis.difference:.3g} with power {analysis.power:g}, "
            f"{_test_text(analysis)}:"
        )
        yield _sizes(analysis.required, pilot.sessions / pilot.queries)
        yield (
            "Judged queries have this power on average over the errors that there may be; their range is "
            "what would do were the error known. A longer log also shows further lists, which are to be "
            "judged too. A sample like the pilot detects a difference of "
            f"{analysis.smallest_difference:.3g}."
        )
        yield from _cautions(analysis)


Names = tuple[str, str, str]
"""A click metric and two editorial metrics."""


def _question(run: Run) -> Question:
    """Return what the decision of the run is about."""
    decision = next(run.tables["verdict"].filter(place=1).iter_rows(named=True), None)
    return "rankings" if decision is None else decision["question"]


def _over_queries(run: Run, choice: SampleChoice, names: Names) -> tuple[SampleKey, Pilot, str]:
    chosen = graded_sample(run, run.key(choice)).sample
    return chosen.key, pilot_of(chosen, *names), "comparisons"


def _within_queries(run: Run, choice: SampleChoice, names: Names) -> tuple[SampleKey, Pilot, str]:
    key = run.key(choice)
    key, samples = market_samples(run, key, together=choice.market is None)
    return key, within_pilot(samples, *names), "within_comparisons"


_PILOTS = {"rankings": _within_queries, "queries": _over_queries}


@dataclass(frozen=True)
class PowerAnalysis:
    """What it takes to detect a difference, and what the pilot would detect."""

    question: Question
    click_metric: str
    pair: tuple[str, str]
    pilot: Pilot
    difference: float
    alpha: float
    comparisons: int
    family: str | None  # Which comparisons these are, of the run's decision; None where they were given.
    power: float
    smallest_difference: float
    required: tuple[RequiredSize, ...]


def _analyse(
    question: Question, pilot: Pilot, names: Names, test: PowerTest, tests: tuple[int, str | None]
) -> PowerAnalysis:
    click_metric, first, second = names
    alpha = test.each(tests[0])
    wanted = abs(pilot.difference if test.difference is None else test.difference)
    if wanted < SMALLEST:
        raise SettingsError(f"{first} and {second} do not differ in this run: give --difference")
    return PowerAnalysis(
        question,
        click_metric,
        (first, second),
        pilot,
        wanted,
        test.alpha,
        *tests,
        test.power,
        smallest_difference(pilot, alpha=alpha, power=test.power),
        required_sizes(pilot, wanted, FACTORS, alpha=alpha, power=test.power),
    )


def _cautions(analysis: PowerAnalysis) -> list[str]:
    """Return what keeps the table from being relied on, a sentence or two each."""
    pilot, said = analysis.pilot, []
    if analysis.difference == abs(pilot.difference):
        said.append(
            f"The difference of the pilot is uncertain itself, {pilot.ci_low:.3g} to {pilot.ci_high:.3g}: "
            "--difference sets the one that would matter."
        )
    if pilot.heavy_tail:
        said.append("Other queries can need far more: sessions are spread unevenly over the pilot's queries.")
    if pilot.queries < MIN_QUERIES:
        said.append(f"Do not rely on this: the pilot has {pilot.queries} queries, fewer than {MIN_QUERIES}.")
    if min(need.queries for need in analysis.required) < MIN_QUERIES:
        said.append(f"Judge at least {MIN_QUERIES} queries: with fewer, intervals have a caution.")
    return said


def _test_text(analysis: PowerAnalysis) -> str:
    if analysis.comparisons == 1:
        return f"in one test at alpha {analysis.alpha:g}"
    each = analysis.alpha / analysis.comparisons
    family = "" if analysis.family is None else f" ({analysis.family})"
    return (
        f"as one of {analysis.comparisons} comparisons{family}, each tested at "
        f"{analysis.alpha:g}/{analysis.comparisons} = {each:.2g}"
    )


_TWO_LISTS = {"rankings": " with two judged lists", "queries": ""}
_CORRELATION = {"rankings": "correlation within queries", "queries": "correlation"}


def _describe(pilot: Pilot, analysis: PowerAnalysis) -> str:
    side = "below" if pilot.difference < 0 else "above"
    first, second = analysis.pair
    what = f"{_CORRELATION[analysis.question]} of {first} with {analysis.click_metric}"
    due = f"{pilot.noise_low:.0%} to {pilot.noise_high:.0%}"
    return (
        f"There the {what} is {abs(pilot.difference):.3f} {side} that of {second} (standard error "
        f"{pilot.error:.3f}; of its square, {due} is due to the number of sessions)"
    )


def _sizes(sizes: tuple[RequiredSize, ...], per_query: float) -> ShownTable:
    heads = ("sessions per query", "judged queries", "95 % range", "configurations", "sessions")
    rows = []
    for need in sizes:
        if per_query * need.factor < 1:
            continue  # most queries would be gone
        times = "as in the pilot" if need.factor == 1 else f"{need.factor:g} times"
        span = f"{need.fewest:,} to {need.most:,}"
        lists = "" if need.configurations is None else f"{need.configurations:,}"
        rows.append(
            (
                f"{per_query * need.factor:,.1f} ({times})",
                f"{need.queries:,}",
                span,
                lists,
                f"{need.sessions:,}",
            )
        )
    return ShownTable(heads, rows, heads)


def pair_of(text: str) -> tuple[str, str]:
    """Return two metrics from a text with a comma.

    Raises
    ------
    SettingsError
        If it does not name two different metrics.
    """
    names = [name.strip() for name in re.split(r",(?![^()]*\))", text)]  # RBP(p=0.6,max_rel=4) is one name
    if len(names) != 2 or names[0] == names[1] or not all(names):
        raise SettingsError(f"--pair {text!r}: give two different editorial metrics, e.g. ERR,DCG")
    return names[0], names[1]
