"""`clickassay power`: how much has to be judged and clicked to detect a difference."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from clickassay.cli.console import say, show
from clickassay.core.errors import SettingsError

if TYPE_CHECKING:
    from clickassay.correlation.power import Need, Pilot

FACTORS = (0.5, 1.0, 2.0, 4.0)
"""Sessions per configuration that are shown, as multiples of the pilot's."""

SMALLEST = 1e-4
"""A difference below this would take more queries than anyone has, and matter to nobody."""

STRICTEST = 1e-12
"""The smallest level at which one comparison is tested."""


def power(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder that serves as pilot.")],
    pair: Annotated[str, typer.Option(help="Two editorial metrics with a comma.")] = "ERR,DCG",
    click: Annotated[str, typer.Option(help="The click metric to predict.")] = "MeanRR",
    difference: Annotated[
        float | None, typer.Option(help="Difference of correlations to detect. [default: that of the run]")
    ] = None,
    chance: Annotated[float, typer.Option(help="Chance to detect it, 0.5 to 0.999.")] = 0.8,
    level: Annotated[float, typer.Option(help="Chance of a false alarm that is accepted.")] = 0.05,
    tests: Annotated[
        int, typer.Option(min=1, help="Comparisons among which this is one: each is tested at level / tests.")
    ] = 1,
    market: Annotated[str | None, typer.Option(help="[default: that with most sessions]")] = None,
    depth: Annotated[int | None, typer.Option(help="[default: the smallest]")] = None,
    judge: Annotated[str | None, typer.Option(help="[default: the first]")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise that is added to the pilot.")] = 0,
) -> None:
    """Tell how many judged queries, configurations and sessions it takes to detect a difference.

    Examples
    --------
        clickassay power reports/june --pair ERR,DCG --difference 0.05

        clickassay power reports/june --pair ERR,NDCG --click UCTR --chance 0.9 --tests 15
    """
    from clickassay.core.records import SampleChoice
    from clickassay.correlation.power import needs, pilot_of, smallest_difference
    from clickassay.studies.finished_run import FinishedRun

    first, second = _pair(pair)
    _check(difference, chance, level, tests)
    run = FinishedRun(run_folder)
    sample = run.sample(run.key(SampleChoice(market, depth, judge))).sample
    pilot = pilot_of(sample, click, first, second, seed=seed)
    wanted = abs(pilot.difference if difference is None else difference)
    if wanted < SMALLEST:
        raise SettingsError(f"{first} and {second} do not differ in this run: give --difference")
    each = level / tests
    say(
        f"Pilot: {run_folder}, {sample.key.label}: "
        f"{pilot.queries:,} queries, {pilot.configurations:,} configurations, {pilot.sessions:,} sessions",
        _pilot_words(pilot, first, second, click),
        f"To detect a difference of {wanted:.3g} {chance:.0%} of the time, testing at {each:.2g}:",
    )
    found = needs(pilot, wanted, FACTORS, level=each, power=chance)
    show(_table(found, pilot.sessions / pilot.configurations))
    say(
        f"A sample like the pilot detects a difference of "
        f"{smallest_difference(pilot, level=each, power=chance):.3g}. "
        "Further queries are taken to be like those of the pilot."
    )


def _pilot_words(pilot: "Pilot", first: str, second: str, click: str) -> str:
    side = "below" if pilot.difference < 0 else "above"
    share = "" if pilot.noise is None else f"; {pilot.noise:.0%} of its variance is the sampling of clicks"
    return (
        f"There the correlation of {first} with {click} is {abs(pilot.difference):.3f} {side} that of "
        f"{second} (standard error {pilot.error:.3f}){share}"
    )


def _table(found: "tuple[Need, ...]", per_configuration: float) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for head in ("sessions per configuration", "judged queries", "configurations", "sessions"):
        table.add_column(head, justify="right", no_wrap=True)
    for need in found:
        times = "as in the pilot" if need.factor == 1 else f"{need.factor:g} times"
        table.add_row(
            f"{per_configuration * need.factor:,.1f} ({times})",
            *(f"{number:,}" for number in (need.queries, need.configurations, need.sessions)),
        )
    return table


def _pair(text: str) -> tuple[str, str]:
    names = [name.strip() for name in re.split(r",(?![^()]*\))", text)]  # RBP(p=0.6,max_rel=4) is one name
    if len(names) != 2 or names[0] == names[1] or not all(names):
        raise SettingsError(f"--pair {text!r}: give two different editorial metrics, e.g. ERR,DCG")
    return names[0], names[1]


def _check(difference: float | None, chance: float, level: float, tests: int) -> None:
    if difference is not None and not SMALLEST <= abs(difference) < 2:
        raise SettingsError(f"--difference {difference}: expected a number from {SMALLEST} to 2, e.g. 0.05")
    if not 0.5 <= chance <= 0.999:
        raise SettingsError(f"--chance {chance}: expected a number between 0.5 and 0.999")
    if not 0 < level < 0.5:
        raise SettingsError(f"--level {level}: expected a number between 0 and 0.5")
    if level / tests < STRICTEST:
        raise SettingsError(f"--level {level} / --tests {tests}: expected {STRICTEST} or more")
