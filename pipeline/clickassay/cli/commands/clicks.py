"""`clickassay clicks`: click models fitted on a run, a pattern table or a store."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from clickassay.cli.console import CONSOLE, command_line, say, show, write_frame
from clickassay.cli.options import CSV, FORCE, JSON, QUIET
from clickassay.cli.progress import shown_progress
from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import SettingsError
from clickassay.core.progress import Event

if TYPE_CHECKING:
    import polars as pl

    from clickassay.click_models.comparison import Tried

clicks = typer.Typer(help="Click models: what readers examine, and what attracts them.", no_args_is_help=True)

BAR = 16
"""Characters of a bar that stands for 1."""

WIDE = 120
"""Columns from which on models are described."""

MOST_POSITIONS = 20
"""Positions that are shown; files have them all."""

Source = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="A run folder (judged lists), a pattern table or a store."),
]
Market = Annotated[str | None, typer.Option(help="Only this market. [default: all]")]
Depth = Annotated[int | None, typer.Option(help="Positions to look at. [default: all that are kept]")]
Smoothing = Annotated[
    float, typer.Option(help="So many clicks and so many skips are added to what each parameter rests on.")
]
Out = Annotated[Path | None, typer.Option(help="Folder for tables and picture; appears whole or not at all.")]


@clicks.command()
def compare(
    source: Source,
    models: Annotated[
        str | None, typer.Option(help="Names with commas, e.g. PBM,DBN. [default: all]")
    ] = None,
    market: Market = None,
    depth: Depth = None,
    smoothing: Smoothing = 1.0,
    held_out: Annotated[
        float,
        typer.Option(help="Share of sessions to try models on; users of the last fold, if any."),
    ] = 0.25,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same sessions held out.")] = 0,
    out: Out = None,
    force: FORCE = False,
    csv: CSV = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Tell which click model foretells clicks best, and how far down readers look.

    Examples
    --------
        clickassay clicks compare reports/june

        clickassay clicks compare june-patterns --models PBM,UBM,DBN --depth 10 --out models
    """
    from clickassay.click_models.catalogue import click_models
    from clickassay.core.output import check_place
    from clickassay.core.tables import write_tables
    from clickassay.jobs.click_models import compare_models, examination_picture, read_clicks

    _check(smoothing, held_out, csv=csv, json=json)
    kinds = click_models(models.split(",") if models is not None else ())
    if out is not None:
        check_place(out, source, force=force)
    with shown_progress(quiet=quiet) as progress:
        read = read_clicks(source, market=market, depth=depth)
        tried, tables = compare_models(
            read,
            kinds,
            smoothing=smoothing,
            held_out=held_out,
            seed=seed,
            market=market or EVERY,
            progress=progress,
        )
        if out is not None:
            names = [kind.name for kind in kinds]
            info = {"command": command_line(), "smoothing": smoothing, "held_out": held_out, "seed": seed,
                    "depth": read.depth, "market": market, "models": names}  # fmt: skip
            write_tables(out, tables, info, picture=examination_picture(tried), force=force)
    if csv or json:
        write_frame(tables["click_models"], csv=csv)
        return
    _show(tried, tables["click_models"])
    if out is not None:
        say(f"Tables: {out}")


@clicks.command()
def fit(
    source: Source,
    model: Annotated[str, typer.Option(help="Name of the model, e.g. DBN.")],
    out: Annotated[Path, typer.Option(help="Folder for its parameters; appears whole or not at all.")],
    market: Market = None,
    depth: Depth = None,
    smoothing: Smoothing = 1.0,
    force: FORCE = False,
    quiet: QUIET = False,
) -> None:
    """Fit one click model on all sessions and write what it says of documents and positions.

    Examples
    --------
        clickassay clicks fit june-patterns --model DBN --out june-dbn

        clickassay clicks fit reports/june --model PBM --market us --depth 5 --out us-pbm
    """
    from clickassay.click_models.catalogue import click_models
    from clickassay.core.output import check_place
    from clickassay.core.tables import write_tables
    from clickassay.jobs.click_models import fit_model, read_clicks

    _check(smoothing, 0.5, csv=False, json=False)
    kind = click_models([model])[0]
    check_place(out, source, force=force)
    with shown_progress(quiet=quiet) as progress:
        read = read_clicks(source, market=market, depth=depth)
        progress(Event(f"fitting {kind.name}"))
        found, tables = fit_model(read, kind, smoothing=smoothing)
        info = {"command": command_line(), "model": kind.name, "smoothing": smoothing, "depth": read.depth,
                "market": market, "rounds": len(found.objectives), "converged": found.converged}  # fmt: skip
        write_tables(out, tables, info, force=force)
    say(f"{kind.name} ({kind.source}): {kind.line}", _settled(len(found.objectives), found.converged))
    _show_parameters(tables["click_parameters"])
    say(f"Tables: {out} ({tables['click_documents'].height:,} documents)")


def _check(smoothing: float, held_out: float, *, csv: bool, json: bool) -> None:
    if not 0 <= smoothing <= 1e6:
        raise SettingsError(f"--smoothing {smoothing}: expected a number from 0 to a million, e.g. 1")
    if not 0 < held_out < 1:
        raise SettingsError(f"--held-out {held_out}: expected a number between 0 and 1, e.g. 0.25")
    if csv and json:
        raise SettingsError("give --csv or --json, not both")


def _settled(rounds: int, converged: bool) -> str:
    if not rounds:
        return "A closed form: nothing to iterate."
    end = "settled" if converged else "did not settle: its numbers are rough"
    return f"Expectation maximisation {end} after {rounds} rounds."


def _show(tried: "Sequence[Tried]", models: "pl.DataFrame") -> None:
    rows = {row["model"]: row for row in models.iter_rows(named=True)}
    best, described = _best(tried), CONSOLE.width >= WIDE
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("model", no_wrap=True)
    for head in ("perplexity", "log-likelihood", "parameters", "rounds"):
        table.add_column(head, justify="right", no_wrap=True)
    if described:
        table.add_column("what it says")
    for one in tried:
        words = [one.kind.line] if described else []
        style = "bold" if one is best else ""
        table.add_row(one.kind.name, *_numbers(rows[one.kind.name]), *words, style=style)
    first = next(iter(rows.values()))
    how = "of other users" if first["held_out"] == "users" else "drawn at random"
    say(f"Fitted on {first['n_fitted']:,} sessions, tried on {first['n_sessions']:,} {how}:")
    show(table)
    for row in rows.values():
        if row["reason"]:
            say(f"{row['model']}: {row['reason']}")
    if best is not None:
        _show_examination(tried, best, rows[best.kind.name]["best_persistence"])


def _best(tried: "Sequence[Tried]") -> "Tried | None":
    """Return the model that tells examination and foretells whole sessions best."""
    from clickassay.click_models.comparison import foretells_best

    return foretells_best(tried)


def _numbers(row: Mapping[str, object]) -> list[str]:
    likelihood = row["log_likelihood"]
    rounds = f"{row['rounds']}" + ("" if row["converged"] else " (not settled)")
    return [
        f"{row['perplexity']:.4f}",
        "none" if likelihood is None else f"{likelihood:.4f}",
        f"{row['n_parameters']:,}",
        rounds,
    ]


def _show_examination(tried: "Sequence[Tried]", best: "Tried", persistence: float | None) -> None:
    """Show what share of readers looks at each position, the model that foretells best as bars."""
    from clickassay.click_models.examination import dcg_discount

    telling = [one for one in tried if one.kind.tells_examination]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("position", justify="right", no_wrap=True)
    for head in (*(one.kind.name for one in telling), "DCG"):
        table.add_column(head, justify="right", no_wrap=True, min_width=4)
    table.add_column(best.kind.name, no_wrap=True)
    discounts = dcg_discount(len(best.examined))
    for place in range(min(len(best.examined), MOST_POSITIONS)):
        bar = "█" * round(BAR * float(best.examined[place])) if best.examined[place] > 0 else ""
        shares = [f"{one.examined[place]:.2f}" for one in telling]
        table.add_row(str(place + 1), *shares, f"{discounts[place]:.2f}", Text(bar))
    say("Share of sessions in which a position is examined, and the discount of DCG:")
    show(table)
    if persistence is not None:
        say(f"The discount of RBP is nearest to what {best.kind.name} finds with p = {persistence:.2f}.")


def _show_parameters(parameters: "pl.DataFrame") -> None:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("parameter", no_wrap=True)
    table.add_column("value", justify="right")
    table.add_column("")
    for row in parameters.iter_rows(named=True):
        value = "none" if row["value"] is None else f"{row['value']:.4f}"
        table.add_row(Text(row["parameter"]), value, row["reason"] or "")
    show(table)
