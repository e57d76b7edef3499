"""`clickassay learn`: values of grades and positions that make ERR agree with clicks."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from clickassay.cli.console import command_line, say, show
from clickassay.cli.options import FORCE, QUIET
from clickassay.cli.progress import shown_progress
from clickassay.core.errors import SettingsError

if TYPE_CHECKING:
    import polars as pl

    from clickassay.core.records import Sample
    from clickassay.studies.gain_learning.gain_map import Positions
    from clickassay.studies.gain_learning.validation import Study


class Aim(StrEnum):
    """What a map is learned for."""

    correlation = "correlation"
    rankers = "rankers"


AGREEMENT = {
    Aim.correlation: "weighted correlation with {}",
    Aim.rankers: "correlation of two rankers' differences (closed form of Algorithm 3) with {}",
}


def learn(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    click: Annotated[str, typer.Option(help="The click metric to agree with.")] = "MeanRR",
    aim: Annotated[
        Aim, typer.Option(help="Weighted correlation, or two rankers (Algorithm 3).")
    ] = Aim.correlation,
    utilities: Annotated[
        bool, typer.Option("--utilities", help="Learn the utility of each position as well.")
    ] = False,
    gamma: Annotated[
        bool, typer.Option("--gamma", help="Learn gamma: utilities are its powers, for readers who give up.")
    ] = False,
    parts: Annotated[
        int, typer.Option(min=2, max=1000, help="Parts of queries that are left out in turn.")
    ] = 20,
    market: Annotated[str | None, typer.Option(help="[default: that with most sessions]")] = None,
    depth: Annotated[int | None, typer.Option(help="[default: the smallest]")] = None,
    judge: Annotated[str | None, typer.Option(help="[default: the first]")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed by which queries are dealt to parts.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for tables; appears whole or not at all.")] = None,
    force: FORCE = False,
    quiet: QUIET = False,
) -> None:
    """Learn which chance of satisfaction each grade stands for, so that ERR agrees with clicks.

    Examples
    --------
        clickassay learn reports/june

        clickassay learn reports/june --click UCTR --aim rankers --utilities --out june-map

        clickassay learn reports/june --gamma
    """
    from clickassay.core.output import check_place
    from clickassay.core.records import SampleChoice
    from clickassay.core.tables import write_tables
    from clickassay.studies.gain_learning.on_run import learn_from_run, learned_tables, metric_of_map
    from clickassay.studies.gain_learning.validation import Wish

    if utilities and gamma:
        raise SettingsError("give --utilities or --gamma, not both")
    positions: Positions = "free" if utilities else "gamma" if gamma else "fixed"
    wish = Wish(click, aim.value, positions=positions, parts=parts, seed=seed)
    if out is not None:
        check_place(out, run_folder, force=force)
    with shown_progress(quiet=quiet) as progress:
        sample, found, fixed = learn_from_run(
            run_folder, wish, wanted=SampleChoice(market, depth, judge), progress=progress
        )
        tables = learned_tables(sample, found, fixed, wish)
        metric = metric_of_map(found.map, positions)
        if out is not None:
            info = {"command": command_line(), "seed": seed, "parts": parts, "metric": metric,
                    **sample.key.columns}  # fmt: skip
            write_tables(out, tables, info, force=force)
    _show(
        run_folder, sample, found, tables["learned_values"], AGREEMENT[aim].format(click), utilities=utilities
    )
    if out is not None:
        say(f"Tables: {out}")
    say(
        f'The map as a metric of a run: --metric "{metric}"',
        "Its values were learned on this log and flatter there: use them on another log, or on other users.",
    )


def _show(
    run: Path,
    sample: "Sample",
    found: "Study",
    values: "pl.DataFrame",
    agreement: str,
    *,
    utilities: bool,
) -> None:
    say(
        f"{run}, {sample.key.label}: {len(sample.queries):,} queries, {len(sample.sessions):,} configurations"
    )
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("value", no_wrap=True)
    for head in ("learned", "95 % interval", "ERR has", "configurations"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in values.iter_rows(named=True):
        if row["what"] == "phi" and not utilities:
            continue
        name = row["what"] if row["what"] == "gamma" else f"{row['what']}({row['place']})"
        table.add_row(
            name,
            f"{row['value']:.3f}",
            f"{row['ci_low']:.3f} to {row['ci_high']:.3f}",
            "none" if row["fixed"] is None else f"{row['fixed']:.3f}",
            f"{row['n_configurations']:,}",
        )
    show(table)
    gain = found.gain
    sure = "more than noise" if gain.low > 0 or gain.high < 0 else "within noise"
    say(
        f"On queries it was not learned from, the {agreement} is {found.held_out:.3f} with the learned "
        f"values and {found.held_out_fixed:.3f} with those of ERR: {gain.value:+.3f} "
        f"({gain.low:+.3f} to {gain.high:+.3f}), {sure}.",
        f"On all queries: {found.fitted:.3f} and {found.fixed:.3f}.",
        *(f"Warning: {warning}" for warning in found.warnings),
    )
