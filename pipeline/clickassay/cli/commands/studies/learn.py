"""`clickassay learn`: values of grades and positions with which ERR predicts clicks best."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from clickassay.cli.console import command_line, say, show, write_json
from clickassay.cli.exit import ExitCode
from clickassay.cli.options import CLICK_METRIC, JSON, QUIET, RUN, SampleOptions, TablesOut
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import settings_of
from clickassay.core.settings import Settings


@dataclass(frozen=True)
class LearningOptions:
    """The map to learn, and how it is tried."""

    objective: Annotated[
        Literal["correlation", "rankers"],
        typer.Option(help="Weighted correlation, or two rankers (Algorithm 3)."),
    ] = "correlation"
    utilities: Annotated[
        bool, typer.Option("--utilities", help="Learn the utility of each position as well.")
    ] = False
    gamma: Annotated[
        bool, typer.Option("--gamma", help="Learn gamma: utilities are its powers, for users who give up.")
    ] = False
    cv_folds: Annotated[
        int,
        typer.Option(
            min=2, max=1000, metavar="N", help="Cross-validation folds of queries: each is left out once."
        ),
    ] = 20


def learn(
    run_folder: RUN,
    learning: LearningOptions,
    sample: SampleOptions,
    settings: Annotated[Settings, settings_of("seed")],
    output: TablesOut,
    click_metric: CLICK_METRIC = "MeanRR",
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Learn the chance of satisfaction of each grade with which ERR predicts clicks best.

    Examples
    --------
        clickassay learn reports/june

        clickassay learn reports/june --click-metric UCTR --objective rankers --utilities --out june-map

        clickassay learn reports/june --gamma
    """
    from clickassay.api.studies.learn import LearnResult, positions_of
    from clickassay.core.files.output import check_place
    from clickassay.studies.gain_learning.validation import LearnOptions

    positions = positions_of(learning.utilities, learning.gamma)
    options = LearnOptions(
        click_metric, learning.objective, positions=positions, cv_folds=learning.cv_folds, seed=settings.seed
    )
    if output.out is not None:
        check_place(output.out, run_folder, force=output.force)
    name = str(run_folder)
    with shown_progress(quiet=quiet) as progress:
        found = LearnResult.of(run_folder, options, sample.choice, name=name, progress=progress)
        if output.out is not None:
            found.write(output.out, force=output.force, command=command_line())
    if json:
        write_json(found.facts)
    else:
        show(found.told())
        if output.out is not None:
            say(f"Tables: {output.out}")
        show(found.of_metric())
    if found.reason:
        raise typer.Exit(ExitCode.FINDING)
