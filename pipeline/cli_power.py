"""`clickassay power`: how much has to be judged and clicked to detect a difference."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from pipeline.cli_exit import printable
from pipeline.errors import SettingsError

if TYPE_CHECKING:
    from pipeline.correlation.power import Need

FACTORS = (0.5, 1.0, 2.0, 4.0)
"""Sessions per configuration that are shown, as multiples of the pilot's."""


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
    seed: Annotated[int, typer.Option(help="Seed of the noise that is added to the pilot.")] = 0,
) -> None:
    """Tell how many judged queries, configurations and sessions it takes to detect a difference.

    Examples
    --------
        clickassay power reports/june --pair ERR,DCG --difference 0.05

        clickassay power reports/june --pair ERR,NDCG --click UCTR --chance 0.9 --tests 15
    """
    from pipeline.correlation.power import needs, pilot_of, smallest_difference  # noqa: PLC0415
    from pipeline.run_sample import sample_of_run  # noqa: PLC0415 - keeps --help fast

    first, second = _pair(pair)
    _check(difference, chance, level)
    sample = sample_of_run(run_folder, market=market, depth=depth, judge=judge)
    pilot = pilot_of(sample, click, first, second, rng=np.random.default_rng(seed))
    wanted = pilot.difference if difference is None else difference
    if wanted == 0:
        raise SettingsError(f"{first} and {second} do not differ in this run: give --difference")
    each = level / tests
    found = needs(pilot, wanted, FACTORS, level=each, power=chance)
    smallest = smallest_difference(pilot, level=each, power=chance)
    share = "" if pilot.noise is None else f"; {pilot.noise:.0%} of its variance is the sampling of clicks"
    _say(
        f"Pilot: {run_folder}, market {sample.market}, depth {sample.depth}, judge {sample.judge}: "
        f"{pilot.queries:,} queries, {pilot.configurations:,} configurations, {pilot.sessions:,} sessions",
        f"There the correlation of {first} with {click} is {pilot.difference:.3f} above that of {second} "
        f"(standard error {pilot.error:.3f}){share}",
        f"To detect a difference of {abs(wanted):.3f} {chance:.0%} of the time, testing at {each:.2g}:",
    )
    Console(highlight=False).print(_table(found, pilot.sessions / pilot.configurations))
    _say(
        f"A sample like the pilot detects a difference of {smallest:.3f}. "
        "Further queries are taken to be like those of the pilot."
    )


def _say(*lines: str) -> None:
    console = Console(highlight=False, soft_wrap=True, markup=False)
    for line in lines:
        console.print(printable(line))


def _table(found: "tuple[Need, ...]", per_configuration: float) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for head in ("sessions per configuration", "judged queries", "configurations", "sessions"):
        table.add_column(head, justify="right")
    for need in found:
        times = "as in the pilot" if need.factor == 1 else f"{need.factor:g} times"
        table.add_row(
            f"{per_configuration * need.factor:,.1f} ({times})",
            *(f"{number:,}" for number in (need.queries, need.configurations, need.sessions)),
        )
    return table


def _pair(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or names[0] == names[1] or not all(names):
        raise SettingsError(f"--pair {text!r}: give two different editorial metrics, e.g. ERR,DCG")
    return names[0], names[1]


def _check(difference: float | None, chance: float, level: float) -> None:
    if difference is not None and not 0 < abs(difference) < 2:
        raise SettingsError(f"--difference {difference}: expected a number between 0 and 2, e.g. 0.05")
    if not 0.5 <= chance <= 0.999:
        raise SettingsError(f"--chance {chance}: expected a number between 0.5 and 0.999")
    if not 0 < level < 0.5:
        raise SettingsError(f"--level {level}: expected a number between 0 and 0.5")
