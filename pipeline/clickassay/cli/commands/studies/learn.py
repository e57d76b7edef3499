"""`clickassay learn`: values of grades and positions with which ERR predicts clicks best."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clickassay.cli.console import command_line, say, show_table, write_json
from clickassay.cli.exit import ExitCode
from clickassay.cli.options import CLICK_METRIC, JSON, QUIET, RUN, SampleOptions, TablesOut
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import settings_of
from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings
from clickassay.core.text.words import sentence

if TYPE_CHECKING:
    import polars as pl

    from clickassay.core.records import Sample
    from clickassay.studies.gain_learning.gain_map import Positions
    from clickassay.studies.gain_learning.validation import Study

AGREEMENT = {
    "correlation": "weighted correlation with {}",
    "rankers": "correlation of two rankers' differences (closed form of Algorithm 3) with {}",
}


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

    def __post_init__(self) -> None:
        """Refuse both kinds of positions at once."""
        if self.utilities and self.gamma:
            raise SettingsError("give --utilities or --gamma, not both")

    @property
    def positions(self) -> "Positions":
        """The positions to learn."""
        return "free" if self.utilities else "gamma" if self.gamma else "fixed"


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
    learned, study, tables, metric = _learn(
        run_folder, (click_metric, learning, sample, settings.seed), output, quiet=quiet
    )
    if json:
        write_json(
            {"metric": metric, "reason": study.reason, "warnings": list(study.warnings)}
            | {name: table.to_dicts() for name, table in tables.items()}
        )
    else:
        say(
            f"{run_folder}, {learned.key.label}: "
            f"{len(learned.queries):,} queries, {len(learned.sessions):,} configurations"
        )
        agreement = AGREEMENT[learning.objective].format(click_metric)
        _show(study, tables["learned_values"], agreement, learning)
        if output.out is not None:
            say(f"Tables: {output.out}")
        _show_metric(metric)
    if study.reason:
        raise typer.Exit(ExitCode.FINDING)


def _show_metric(metric: str | None) -> None:
    if metric is None:
        say("No values are given, and no metric: use those of ERR, or a log with more queries.")
        return
    say(
        f'The map as a metric of a run: --metric "{metric}"',
        "Its values were learned on this log and look better there than elsewhere: use them on another log, "
        "or on other users.",
    )


def _learn(
    run: Path, asked: tuple[str, LearningOptions, SampleOptions, int], output: TablesOut, *, quiet: bool
) -> "tuple[Sample, Study, dict[str, pl.DataFrame], str | None]":
    """Return the sample, what was learned, its tables, and the map as the name of a metric."""
    from clickassay.core.files.output import check_place
    from clickassay.core.files.tables import write_tables
    from clickassay.studies.gain_learning.on_run import learn_from_run, learned_tables, metric_of_study
    from clickassay.studies.gain_learning.validation import LearnOptions

    click_metric, learning, sample, seed = asked
    positions, folds = learning.positions, learning.cv_folds
    options = LearnOptions(click_metric, learning.objective, positions=positions, cv_folds=folds, seed=seed)
    if output.out is not None:
        check_place(output.out, run, force=output.force)
    with shown_progress(quiet=quiet) as progress:
        learned, study, fixed = learn_from_run(run, options, wanted=sample.choice, progress=progress)
        tables = learned_tables(learned, study, fixed, options)
        metric = metric_of_study(study, positions)
        if output.out is not None:
            info = {"command": command_line(), "seed": seed, "cv_folds": folds, "metric": metric}
            write_tables(output.out, tables, {**info, **learned.key.columns}, force=output.force)
    return learned, study, tables, metric


def _show(study: "Study", values: "pl.DataFrame", agreement: str, learning: LearningOptions) -> None:
    if study.reason is None:
        _show_values(values, utilities=learning.utilities)
    gain = study.gain
    beyond = "more than noise" if gain.low > 0 or gain.high < 0 else "within noise"
    say(
        *([sentence(study.reason)] if study.reason else []),
        f"On queries it was not learned from, the {agreement} is {study.held_out.value:.3f} with the learned "
        f"values and {study.held_out_fixed:.3f} with those of ERR: {gain.value:+.3f} "
        f"({gain.low:+.3f} to {gain.high:+.3f}), {beyond}.",
        f"On all queries: {study.fitted:.3f} and {study.fixed:.3f}.",
        *(f"Warning: {warning}" for warning in study.warnings),
    )


def _show_values(values: "pl.DataFrame", *, utilities: bool) -> None:
    numbers = ("learned", "95 % interval", "ERR has", "configurations")
    rows = [
        (
            row["what"] if row["what"] == "gamma" else f"{row['what']}({row['place']})",
            f"{row['value']:.3f}",
            "none" if row["ci_low"] is None else f"{row['ci_low']:.3f} to {row['ci_high']:.3f}",
            "none" if row["fixed"] is None else f"{row['fixed']:.3f}",
            f"{row['n_configurations']:,}",
        )
        for row in values.iter_rows(named=True)
        if row["what"] != "phi" or utilities
    ]
    show_table(("value", *numbers), rows, numbers=numbers)
