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
"""A smaller difference would take more queries than anyone has, and matter to nobody."""

MIN_ALPHA = 1e-12
"""The smallest alpha at which one comparison is tested."""


class PowerResult(Result):
    """How many judged queries it takes to detect a difference.

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
        return {"answer": self.answer, "run": self.name, **self.key.columns, **asdict(self.analysis)}

    @property
    def answer(self) -> str:
        """How many judged queries it takes, and how many there are; without a full stop."""
        analysis, have = self.analysis, self.analysis.pilot.queries
        takes = next(one.queries for one in analysis.required if one.factor == 1)
        what = (
            "judged queries" if analysis.question == "queries" else "queries with two fully judged rankings"
        )
        aim = f"a difference of {analysis.difference:.3g}"
        if takes <= have:
            return f"Your {have:,} {what} are enough to detect {aim} (about {takes:,} needed)"
        return f"Detecting {aim} takes about {takes:,} {what}; you have {have:,}"

    def parts(self) -> Iterator[Part]:
        """Yield the answer with its cautions, the sizes, and the pilot and test that they rest on."""
        analysis, pilot = self.analysis, self.analysis.pilot
        yield f"{self.answer}."
        if pilot.heavy_tail:
            yield "Other queries can need far more: a few frequent queries dominate the pilot."
        if pilot.queries < MIN_QUERIES:
            yield f"Unreliable: the pilot has {pilot.queries} queries, fewer than {MIN_QUERIES}."
        if min(need.queries for need in analysis.required) < MIN_QUERIES:
            yield f"Judge at least {MIN_QUERIES} queries: intervals are unreliable with fewer."
        if analysis.difference == abs(pilot.difference):
            yield (
                "The difference is the pilot's own, which is uncertain: 95% CI "
                f"{pilot.ci_low:.3g} to {pilot.ci_high:.3g}. Set the one that matters with --difference."
            )
        yield _sizes(analysis.required, pilot.sessions / pilot.queries)
        yield (
            "Judged queries: their average over the standard errors that are plausible; range: what would do "
            "if the error were known. A longer log also shows more rankings, which need judging too. "
            f"A sample like the pilot detects a difference of {analysis.smallest_difference:.3g}."
        )
        within = analysis.question == "rankings"
        (first, second), side = analysis.pair, "lower" if pilot.difference < 0 else "higher"
        yield (
            f"Pilot: {self.name}, {self.key.label}: "
            f"{pilot.queries:,} queries{' with two fully judged rankings' if within else ''}, "
            f"{pilot.configurations:,} configurations, {pilot.sessions:,} sessions. The "
            f"{'within-query ' if within else ''}correlation of {first} with {analysis.click_metric} is "
            f"{abs(pilot.difference):.3f} {side} than that of {second} (standard error {pilot.error:.3f}; "
            f"{pilot.noise_low:.0%} to {pilot.noise_high:.0%} of its variance comes from the number of "
            "sessions)."
        )
        test = f"one test at alpha {analysis.alpha:g}"
        if analysis.comparisons > 1:
            each = analysis.alpha / analysis.comparisons
            family = "" if analysis.family is None else f" ({analysis.family})"
            test = (
                f"one of {analysis.comparisons} comparisons{family}, each tested at "
                f"{analysis.alpha:g}/{analysis.comparisons} = {each:.2g}"
            )
        yield f"Test: power {analysis.power:g}, {test}."


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


def analysed(  # noqa: PLR0913 - one for each choice
    place: Run | Path,
    pair: tuple[str, str],
    choice: SampleChoice,
    *,
    click_metric: str,
    difference: float | None,
    power: float,
    alpha: float,
    comparisons: int | None,
    question: Question | None,
) -> tuple[SampleKey, PowerAnalysis]:
    """Return the pilot's sample, and what `power` says of it."""
    if difference is not None and not SMALLEST <= difference < 2:
        raise SettingsError(
            f"--difference {difference}: expected a number from {SMALLEST} to 2, e.g. 0.05: "
            "the size of the difference, whichever metric is ahead"
        )
    if not 0.5 <= power <= 0.999:
        raise SettingsError(f"--power {power}: expected a number between 0.5 and 0.999")
    if not 0 < alpha < 0.5:
        raise SettingsError(f"--alpha {alpha}: expected a number between 0 and 0.5")
    if comparisons is not None and comparisons < 1:
        raise SettingsError(f"--comparisons {comparisons}: expected a whole number, at least 1")
    if alpha / (comparisons or 1) < MIN_ALPHA:
        raise SettingsError(f"--alpha {alpha} / --comparisons {comparisons}: expected {MIN_ALPHA} or more")
    run = run_at(place)
    click = run.click_named(click_metric)
    if question is None:  # that of the run's decision
        decision = next(run.tables["verdict"].filter(place=1).iter_rows(named=True), None)
        question = "rankings" if decision is None else decision["question"]
    key = run.key(choice)
    if question == "rankings":
        key, samples = market_samples(run, key, together=choice.market is None)
        pilot, table = within_pilot(samples, click, *pair), "within_comparisons"
    else:
        chosen = graded_sample(run, key).sample
        key, pilot, table = chosen.key, pilot_of(chosen, click, *pair), "comparisons"
    family = None
    if comparisons is None:
        than = run.current if run.current in pair else None
        comparisons = family_size(run.tables[table], key, click, than)
        family = "all pairs" if than is None else f"all others against {than}"
    wanted = abs(pilot.difference if difference is None else difference)
    if wanted < SMALLEST:
        raise SettingsError(f"{pair[0]} and {pair[1]} do not differ in this run: give --difference")
    each = alpha / comparisons
    return key, PowerAnalysis(
        question=question,
        click_metric=click,
        pair=pair,
        pilot=pilot,
        difference=wanted,
        alpha=alpha,
        comparisons=comparisons,
        family=family,
        power=power,
        smallest_difference=smallest_difference(pilot, alpha=each, power=power),
        required=required_sizes(pilot, wanted, FACTORS, alpha=each, power=power),
    )


def _sizes(sizes: tuple[RequiredSize, ...], per_query: float) -> ShownTable:
    heads = ("sessions per query", "judged queries", "95% range", "configurations", "sessions")
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


def pair_of(given: str | tuple[str, str]) -> tuple[str, str]:
    """Return two metrics, perhaps from a text with a comma; SettingsError if they are not two."""
    text = given if isinstance(given, str) else ",".join(given)
    names = [name.strip() for name in re.split(r",(?![^()]*\))", text)]  # RBP(p=0.6,max_rel=4) is one name
    if len(names) != 2 or names[0] == names[1] or not all(names):
        raise SettingsError(f"--pair {text!r}: give two different metrics, e.g. ERR,DCG")
    return names[0], names[1]
