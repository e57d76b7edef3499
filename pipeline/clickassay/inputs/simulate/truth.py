"""``truth.json``: the world, its law and its parameters, and how much of everything was planted."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from clickassay.core.output import write_json
from clickassay.inputs.simulate.corpus import DEPTH, RANKERS
from clickassay.inputs.simulate.worlds import World


def write_truth(
    path: Path, world: World, *, searches: int, queries: int, seed: int, planted: Counter[str]
) -> None:
    """Write what is true of the simulated log; the same truth gives the same bytes.

    Parameters
    ----------
    path
        The file.
    world
        The world that was simulated.
    searches, queries, seed
        As asked for: they and the world's name make the same log again.
    planted
        Counts of what was planted; those that are 0 are left out.
    """
    truth = {
        "world": world.name,
        "summary": world.summary,
        "seed": seed,
        "searches": searches,
        "queries": queries,
        "markets": list(world.markets),
        "depth": DEPTH,
        "rankers": RANKERS,
        "law": asdict(world.law),
        "parameters": dict(world.parameters),
        "flaws": asdict(world.flaws),
        "planted": counts(planted),
    }
    write_json(path, truth, sort_keys=False)


def counts(planted: Counter[str]) -> Mapping[str, int]:
    """Return the counts that are not 0, by name."""
    return {name: planted[name] for name in sorted(planted) if planted[name]}
