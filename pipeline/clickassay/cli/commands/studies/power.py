"""`clickassay power`: how much has to be judged and clicked to detect a difference."""

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clickassay.cli.console import say, show_table, write_json
from clickassay.cli.options import CLICK_METRIC, JSON, RUN, SampleOptions
from clickassay.core.errors import SettingsError

if TYPE_CHECKING:
    from clickassay.core.records import SampleKey
    from clickassay.correlation.uncertainty.power import Pilot, RequiredSize
    from clickassay.findings.ranking import Question
    from clickassay.findings.run import Run

FACTORS = (0.5, 1.0, 2.0, 4.0)
"""Sessions per query that are shown, as multiples of the pilot's."""

SMALLEST = 1e-4
"""A difference below this would take more queries than anyone has, and matter to nobody."""

MIN_ALPHA = 1e-12
"""The smallest alpha at which one comparison is tested."""


@dataclass(frozen=True)
class TestOptions:
    """The test that is to detect a difference."""

    difference: Annotated[
        float | None, typer.Option(help="Difference of correlations to detect. [default: the run's]")
    ] = None
    power: Annotated[float, typer.Option(help="Power: the chance to detect it, 0.5 to 0.999.")] = 0.8
    alpha: Annotated[float, typer.Option(help="Alpha: the chance of a false alarm that is accepted.")] = 0.05
    comparisons: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Comparisons of which this is one: each is tested at alpha / comparisons (Bonferroni). "
            "[default: the pairs of metrics of the run, as in its report]",
        ),
    ] = None

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
        if self.each(self.comparisons or 1) < MIN_ALPHA:
            raise SettingsError(
                f"--alpha {self.alpha} / --comparisons {self.comparisons}: expected {MIN_ALPHA} or more"
            )

    def each(self, comparisons: int) -> float:
        """Return alpha of one of so many comparisons."""
        return self.alpha / comparisons


def power(
    run_folder: RUN,
    test: TestOptions,
    sample: SampleOptions,
    pair: Annotated[str, typer.Option(help="Two editorial metrics with a comma.")] = "ERR,DCG",
    click_metric: CLICK_METRIC = "MeanRR",
    question: Annotated[
        Literal["rankings", "queries"] | None,
        typer.Option(
            help="rankings: correlations within queries, of all markets together unless --market names one; "
            "queries: over all queries. [default: the question of the run's decision]"
        ),
    ] = None,
    json: JSON = False,
) -> None:
    """Compute how many judged queries and sessions it takes to detect a difference.

    The run serves as the pilot of this power analysis.

    Examples
    --------
        clickassay power reports/june --pair ERR,DCG --difference 0.05

        clickassay power reports/june --pair ERR,NDCG --click-metric UCTR --power 0.9 --comparisons 15
    """
    from clickassay.correlation.uncertainty.power import family_size
    from clickassay.findings.run import open_run

    run = open_run(run_folder)
    asked = question or _question(run)
    key, pilot, table = _PILOTS[asked](run, sample, (click_metric, *_pair(pair)))
    tests = test.comparisons or family_size(run.tables[table], key, click_metric)
    analysis = _analyse(asked, pilot, (click_metric, *_pair(pair)), test, tests)
    if json:
        write_json({"run": str(run_folder), **key.columns, **asdict(analysis)})
    else:
        _show(f"{run_folder}, {key.label}", analysis)


Names = tuple[str, str, str]
"""A click metric and two editorial metrics."""


def _question(run: "Run") -> "Question":
    """Return what the decision of the run is about."""
    decision = next(run.tables["verdict"].filter(place=1).iter_rows(named=True), None)
    return "rankings" if decision is None else decision["question"]


def _over_queries(run: "Run", sample: SampleOptions, names: Names) -> "tuple[SampleKey, Pilot, str]":
    from clickassay.correlation.uncertainty.power import pilot_of
    from clickassay.findings.arrays import graded_sample

    chosen = graded_sample(run, run.key(sample.choice)).sample
    return chosen.key, pilot_of(chosen, *names), "comparisons"


def _within_queries(run: "Run", sample: SampleOptions, names: Names) -> "tuple[SampleKey, Pilot, str]":
    from clickassay.correlation.uncertainty.power import within_pilot
    from clickassay.findings.arrays import market_samples

    key = run.key(sample.choice)
    key, samples = market_samples(run, key, together=sample.choice.market is None)
    return key, within_pilot(samples, *names), "within_comparisons"


_PILOTS = {"rankings": _within_queries, "queries": _over_queries}


@dataclass(frozen=True)
class PowerAnalysis:
    """What it takes to detect a difference, and what the pilot would detect."""

    question: "Question"
    click_metric: str
    pair: tuple[str, str]
    pilot: "Pilot"
    difference: float
    alpha: float
    comparisons: int
    power: float
    smallest_difference: float
    required: "tuple[RequiredSize, ...]"


def _analyse(
    question: "Question", pilot: "Pilot", names: Names, test: TestOptions, tests: int
) -> PowerAnalysis:
    from clickassay.correlation.uncertainty.power import required_sizes, smallest_difference

    click_metric, first, second = names
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
        tests,
        test.power,
        smallest_difference(pilot, alpha=test.each(tests), power=test.power),
        required_sizes(pilot, wanted, FACTORS, alpha=test.each(tests), power=test.power),
    )


def _show(source: str, analysis: PowerAnalysis) -> None:
    pilot = analysis.pilot
    say(
        f"Pilot: {source}: "
        f"{pilot.queries:,} queries{_TWO_LISTS[analysis.question]}, {pilot.configurations:,} configurations, "
        f"{pilot.sessions:,} sessions",
        _describe(pilot, analysis),
        f"To detect a difference of {analysis.difference:.3g} with power {analysis.power:g}, "
        f"{_test_text(analysis)}:",
    )
    _show_sizes(analysis.required, pilot.sessions / pilot.queries)
    say(
        "Judged queries have this power on average over the errors that there may be; their range is what "
        "would do were the error known. A longer log also shows further lists, which are to be judged too. "
        f"A sample like the pilot detects a difference of {analysis.smallest_difference:.3g}.",
        *_cautions(analysis),
    )


def _cautions(analysis: PowerAnalysis) -> list[str]:
    """Return what keeps the table from being relied on, a sentence or two each."""
    from clickassay.correlation.uncertainty.jackknife import MIN_QUERIES

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
    return (
        f"as one of {analysis.comparisons} comparisons, each tested at "
        f"{analysis.alpha:g}/{analysis.comparisons} = {each:.2g}"
    )


_TWO_LISTS = {"rankings": " with two judged lists", "queries": ""}
_CORRELATION = {"rankings": "correlation within queries", "queries": "correlation"}


def _describe(pilot: "Pilot", analysis: PowerAnalysis) -> str:
    side = "below" if pilot.difference < 0 else "above"
    first, second = analysis.pair
    what = f"{_CORRELATION[analysis.question]} of {first} with {analysis.click_metric}"
    due = f"{pilot.noise_low:.0%} to {pilot.noise_high:.0%}"
    return (
        f"There the {what} is {abs(pilot.difference):.3f} {side} that of {second} (standard error "
        f"{pilot.error:.3f}; of its square, {due} is due to the number of sessions)"
    )


def _show_sizes(sizes: "tuple[RequiredSize, ...]", per_query: float) -> None:
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
    show_table(heads, rows, numbers=heads)


def _pair(text: str) -> tuple[str, str]:
    names = [name.strip() for name in re.split(r",(?![^()]*\))", text)]  # RBP(p=0.6,max_rel=4) is one name
    if len(names) != 2 or names[0] == names[1] or not all(names):
        raise SettingsError(f"--pair {text!r}: give two different editorial metrics, e.g. ERR,DCG")
    return names[0], names[1]
