"""`clickassay simulate`: a log from a planted user model."""

from typing import Annotated

import typer

from clickassay.cli.console import say
from clickassay.cli.options import OUT, QUIET
from clickassay.cli.progress import shown_progress
from clickassay.core.errors import SettingsError


def simulate(
    searches: Annotated[int, typer.Option(help="Number of searches to write.")],
    out: OUT,
    world: Annotated[str, typer.Option(help="web, cascade, rbp, dcg, rr or null.")] = "web",
    queries: Annotated[
        int | None, typer.Option(help="Distinct queries; by default grows with the searches.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.")] = 0,
    gain_map: Annotated[
        str | None,
        typer.Option(help="World cascade: chances that grades 0 to 4 satisfy, e.g. 0,0.1,0.35,0.4,0.8."),
    ] = None,
    quiet: QUIET = False,
) -> None:
    """Write a log from a planted user model, with the truth beside it.

    Example:

        clickassay simulate --world cascade --searches 2000000 --queries 1000 --seed 1 --out cascade
    """
    from clickassay.inputs.simulate.simulation import simulate as write_world

    with shown_progress(quiet=quiet) as progress:
        write_world(
            world,
            searches=searches,
            queries=queries,
            seed=seed,
            gain_map=_gain_map(gain_map),
            out=out,
            progress=progress,
        )
    say(f"Simulated log: {out}")


def _gain_map(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(
            f"--gain-map {text!r}: expected numbers with commas, e.g. 0,0.1,0.35,0.4,0.8"
        ) from None
