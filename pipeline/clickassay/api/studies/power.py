"""From Python: how much has to be judged and clicked to detect a difference of metrics, or in a test."""

import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import polars as pl

from clickassay.api.screen.parts import Part, ShownTable
from clickassay.api.screen.result import Result
from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import SettingsError
from clickassay.core.records import SampleChoice, SampleKey
from clickassay.core.text.words import count, visible
from clickassay.correlation.uncertainty.intervals import MIN_QUERIES
from clickassay.correlation.uncertainty.power import (
    Pilot,
    PilotOfTest,
    RequiredSize,
    family_size,
    pilot_of,
    pilot_of_rankings,
    pilot_of_users,
    required_sizes,
    smallest_difference,
    within_pilot,
)
from clickassay.findings.arrays import graded_sample, market_samples
from clickassay.findings.decision import USUAL
from clickassay.findings.ranking import Question
from clickassay.findings.run import Run, run_at
from clickassay.report.verdict.sentences import clicks_of

FACTORS = (0.5, 1.0, 2.0, 4.0)
"""Sessions per query that are shown, as multiples of the pilot's."""

SMALLEST = 1e-4
"""A smaller difference would take more queries than anyone has, and matter to nobody."""

MIN_ALPHA = 1e-12
"""The smallest alpha at which one comparison is tested."""


A = TypeVar("A", "PowerAnalysis", "AnalysisOfTest")


class _Power(Result, Generic[A]):
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

    def __init__(self, key: SampleKey, analysis: A, name: str) -> None:
        self.key, self.name = key, name
        self.analysis: A = analysis

    @property
    @abstractmethod
    def answer(self) -> str:
        """The answer as a sentence, without a full stop."""

    @property
    def required(self) -> pl.DataFrame:
        """The required sizes, a row each."""
        return pl.DataFrame([asdict(one) for one in self.analysis.required], infer_schema_length=None)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The required sizes."""
        return {"required": self.required}

    @property
    def facts(self) -> dict[str, Any]:
        """The content of the JSON document."""
        return {"answer": self.answer, "run": self.name, **self.key.columns, **asdict(self.analysis)}


class PowerResult(_Power["PowerAnalysis"]):
    """How many judged queries, configurations and sessions it takes to detect a difference of metrics.

    `required` has a row for each number of sessions per query.
    """

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


def check_test(power: float, alpha: float, comparisons: int | None) -> None:
    """Raise SettingsError if a number of the test is out of range."""
    if not 0.5 <= power <= 0.999:
        raise SettingsError(f"--power {power}: expected a number between 0.5 and 0.999")
    if not 0 < alpha < 0.5:
        raise SettingsError(f"--alpha {alpha}: expected a number between 0 and 0.5")
    if comparisons is not None and comparisons < 1:
        raise SettingsError(f"--comparisons {comparisons}: expected a whole number, at least 1")
    if alpha / (comparisons or 1) < MIN_ALPHA:
        raise SettingsError(f"--alpha {alpha} / --comparisons {comparisons}: expected {MIN_ALPHA} or more")


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
    check_test(power, alpha, comparisons)
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


@dataclass(frozen=True)
class SizeOfTest:
    """What detects a change of one metric in a test."""

    units: str  # users (in each arm), or queries (judged).
    metric: str
    # change, difference: The change to detect: a share of the mean, and as it is.
    change: float
    difference: float
    # needed, fewest, most: As in `RequiredSize`.
    needed: int
    fewest: int
    most: int
    sessions: int  # Of these users or queries, in a log as long as the pilot's.


@dataclass(frozen=True)
class AnalysisOfTest:
    """What it takes to detect changes in a test that is planned."""

    metric: str  # The offline metric of the answer.
    change: float  # The change of the answer, a share of the mean.
    users: PilotOfTest
    queries: tuple[PilotOfTest, ...]  # By offline metric; none where rankings do not differ.
    changed: float  # Share of the queries whose ranking the test changes.
    alpha: float  # At which each metric is tested.
    power: float
    required: tuple[SizeOfTest, ...]


class PowerOfTest(_Power[AnalysisOfTest]):
    """How many users of each arm and judged queries a test needs.

    `required` has a row for each metric and change.
    """

    @property
    def answer(self) -> str:
        """How many users and judged queries a test needs; without a full stop."""
        own = self.analysis
        users, *queries = (
            one
            for one in own.required
            if one.change == own.change and one.metric in (own.users.metric, own.metric)
        )
        told = f"Detecting a change of {_percent(own.change)} takes about {count(users.needed)} "
        told += f"users in each arm for {clicks_of(own.users.metric)}"
        return told + "".join(f", and {count(one.needed)} judged queries for {one.metric}" for one in queries)

    def parts(self) -> Iterator[Part]:
        """Yield the answer with its cautions, the sizes, and the pilot and test that they rest on."""
        own = self.analysis
        yield f"{self.answer}."
        if not own.queries:
            yield "Judged queries are unknown: no two queries have two fully judged rankings that differ."
        elif own.queries[0].heavy_tail:
            yield "Other queries can need far more: a few frequent queries dominate the pilot."
        heads = ("users in each arm", "change", "needed", "95% range", "sessions of an arm")
        rows = [one for one in own.required if one.units == "users"]
        yield ShownTable(heads, [_told(one, count(one.sessions)) for one in rows], heads[1:])
        if own.queries:
            heads = ("judged queries", "change", "needed", "95% range", "difference")
            rows = [one for one in own.required if one.units == "queries"]
            yield ShownTable(heads, [_told(one, f"{one.difference:.3g}") for one in rows], heads[1:])
        yield (
            "Changes are shares of the mean. Users are those of a log as long as the pilot's; twice the days "
            "need fewer. Judged queries: the rankings of both arms are judged, and differ as two rankings of "
            f"a query do in the pilot, for {_percent(own.changed)} of the queries (--changed). If they "
            "differ less, fewer queries are enough."
        )
        pilot = f"{count(round(own.users.units))} users, {count(own.users.sessions)} sessions"
        if own.queries:
            pilot += f", {own.queries[0].units:,.0f} queries with two fully judged rankings"
        yield f"Pilot: {self.name}, {self.key.label}: about {pilot}."
        yield f"Test: power {own.power:g}, alpha {own.alpha:.2g} for each metric."


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _told(one: SizeOfTest, last: str) -> tuple[str, ...]:
    span = f"{count(one.fewest)} to {count(one.most)}"
    return visible(one.metric), _percent(one.change), count(one.needed), span, last


TIMES = (0.5, 1.0, 2.0, 5.0)
"""Changes that are shown, as multiples of the one that is asked for."""


def analysed_for_test(
    place: Run | Path,
    choice: SampleChoice,
    *,
    click_metric: str,
    change: float | None,
    changed: float,
    power: float,
    alpha: float,
) -> tuple[SampleKey, AnalysisOfTest]:
    """Return the pilot's sample, and what `power` says of a test that is planned."""
    run = run_at(place)
    change = run.settings.effect_margin if change is None else change
    if not SMALLEST <= change <= 1:
        raise SettingsError(
            f"--difference {change:g}: expected a share of the mean from {SMALLEST} to 1, e.g. 0.01"
        )
    if not 0 < changed <= 1:
        raise SettingsError(f"--changed {changed:g}: expected a share of the queries, above 0, at most 1")
    key, samples = market_samples(run, run.key(choice), together=choice.market is None)
    every = run.tables["statistics"].filter(depth=key.depth, judge=key.judge)
    own = every if key.market == EVERY else every.filter(market=key.market)
    sessions = int(own["n_all_sessions"].sum())
    users = pilot_of_users(samples, run.click_named(click_metric), sessions, sessions / _sessions_each(run))
    names = [name for name in run.editorial if all(name in one.editorial_names for one in samples)]
    found = (pilot_of_rankings(samples, name, changed) for name in names)
    queries = tuple(one for one in found if one is not None)
    known = [one.metric for one in queries]
    metric = next((name for name in (run.current, USUAL) if name in known), next(iter(known), ""))
    if not users.mean:
        raise SettingsError(f"{users.metric} is 0 in this run, so there is no share of it to detect")
    sizes = []
    for units, pilots in (("users", (users,)), ("queries", queries)):
        for pilot in pilots:
            for times in TIMES if pilot.metric in (users.metric, metric) else (1.0,):
                difference = times * change * abs(pilot.mean)
                needed = pilot.needed(difference, alpha=alpha, power=power)
                of_units = math.ceil(needed[0] / pilot.units * pilot.sessions)
                sizes.append(SizeOfTest(units, pilot.metric, times * change, difference, *needed, of_units))
    return key, AnalysisOfTest(metric, change, users, queries, changed, alpha, power, tuple(sizes))


def _sessions_each(run: Run) -> float:
    """Return the sessions of a user on average, by the data checks' searches of a user."""
    searches = run.tables["funnel"].filter(source="searches", step="kept")["rows"].sum()
    each = run.tables["health"].filter(check="one_search_each")["value"].drop_nulls()
    sessions = run.tables["statistics"].unique("market")["n_all_sessions"].sum()
    if each.is_empty() or not searches:
        raise SettingsError(
            f"{run.called} does not tell how many users its log has: it has too few searches of users; make "
            "the run of a longer log"
        )
    return float(each[0] * sessions / searches)


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
