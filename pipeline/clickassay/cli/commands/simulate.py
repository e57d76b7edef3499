"""`clickassay simulate`: a log from a planted user model."""

import shlex
from typing import Annotated

import typer

from clickassay.cli.console import say, write_json
from clickassay.cli.options import JSON, OUT, QUIET
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import settings_of
from clickassay.core.errors import SettingsError
from clickassay.core.settings import PROJECT, Settings


def simulate(
    out: OUT,
    settings: Annotated[Settings, settings_of("seed")],
    n_searches: Annotated[int, typer.Option(metavar="N", help="Number of searches to write.")],
    world: Annotated[str, typer.Option(help="User model: web, cascade, rbp, dcg, rr or null.")] = "web",
    n_queries: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of distinct queries. [default: grows with the number of searches]"
        ),
    ] = None,
    gains: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="World cascade: probability that grades 0 to 4 satisfy, e.g. 0,0.1,0.35,0.4,0.8.",
        ),
    ] = None,
    actions: Annotated[
        bool, typer.Option("--actions", help="Also simulate carts and purchases, with revenue as an outcome.")
    ] = False,
    experiments: Annotated[
        int, typer.Option(metavar="N", help="Number of A/B tests that users take part in, one each.")
    ] = 0,
    interleaved: Annotated[int, typer.Option(metavar="N", help="Number of interleaved tests, likewise.")] = 0,
    tests: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="Whether users like what the grades say: related, unrelated, or gated (unrelated, but only "
            "rankings that the grades like are tested).",
        ),
    ] = "related",
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Write a log of simulated users, and the truth behind it. Same seed, same bytes.

    Example:

        clickassay simulate --world cascade --n-searches 2000000 --n-queries 1000 --seed 1 --out cascade

        clickassay simulate --n-searches 1000000 --experiments 20 --interleaved 3 --out tests
    """
    from clickassay.inputs.simulate.simulation import simulate as write_world
    from clickassay.inputs.simulate.tests import PlanOfTests

    try:
        chances = None if gains is None else tuple(float(part) for part in gains.split(","))
    except ValueError:
        raise SettingsError(
            f"--gains {gains!r}: expected numbers with commas, e.g. 0,0.1,0.35,0.4,0.8"
        ) from None
    with shown_progress(quiet=quiet) as progress:
        write_world(
            world,
            n_searches=n_searches,
            n_queries=n_queries,
            seed=settings.seed,
            gains=chances,
            actions=actions,
            tests=PlanOfTests(experiments, interleaved, tests),
            out=out,
            progress=progress,
        )
    if json:
        write_json({"folder": str(out), "files": sorted(file.name for file in out.iterdir())})
        return
    say(f"Simulated log: {out}")
    if experiments or interleaved:
        say(f"Next: clickassay run --project {shlex.quote(str(out / PROJECT))}")
