"""Whether held-out rankings tell which click model users follow, in worlds whose users are known.

    python -m benchmarks.promises.held_out_rankings [--worlds N] [--seed N] [--processes N] [--out FILE]

Users go down the list until satisfied (DBN), examine each position with its own chance (PBM), look at the
first result alone, or follow no model (they look at neighbours, and compare). In dense logs a ranking has
about 100 sessions; in thin ones 25, and results of a query are alike. One row per kind of users, density and
number of queries (a half of the worlds with 100, a fifth with 500): how often the log is said not to tell
(`cannot_tell`); where it tells, how often the model that users follow is chosen, or one whose interval holds
the true correlation of that model, or a higher one (`right`; without such a model, the truly best one); how
often intervals hold the correlation and slope of all worlds together, over models and at worst (`worst_`),
and that of the `choice`; and how often IPS would have a value (`ips`).
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.lib.tables import measure
from clickassay.click_models.cascade import CascadeModel
from clickassay.click_models.catalogue import click_models
from clickassay.click_models.click_log import Bools, ClickLog, Floats, Ints
from clickassay.click_models.factorised import FactorisedModel
from clickassay.core.seeds import child
from clickassay.correlation.held_out import (
    BY_POSITION,
    CASCADES,
    HELD_OUT,
    PREDICTED,
    HeldOut,
    held_out,
    position_premise,
    support,
)

REPORT = ROOT / "reports" / "calibration" / "held_out_rankings.csv"
QUERIES = {20: 1, 100: 2, 500: 5}
"""Numbers of queries, and by how much fewer worlds they have."""
MODELS = ("DCTR", BY_POSITION, *CASCADES)
DEPTH, POOL, LISTS, SPLITS = 5, 8, 6, 4
EXAMINED = np.array([1.0, 0.65, 0.45, 0.35, 0.3])
AT = PREDICTED.index("MeanRR")


@dataclass(frozen=True)
class Kind:
    """Users, and how many sessions they leave."""

    users: str
    dense: bool
    model: str | None = None  # The model that they follow.


KINDS = tuple(
    Kind(users, dense, model)
    for users, model in (("cascade", "DBN"), ("positions", "PBM"), ("first result", None), ("no model", None))
    for dense in (True, False)
)


def drawn(kind: Kind, queries: int, rng: np.random.Generator) -> ClickLog:
    """Draw a log."""
    size = queries * POOL
    attraction = rng.beta(1.2, 2.5, size) if kind.dense else np.full(size, 0.3)
    satisfaction = np.clip(0.3 * rng.beta(1, 2, size) + 0.6 * attraction, 0, 1) if kind.dense else attraction
    shown = np.concatenate(
        [
            query * POOL + np.stack([rng.permutation(POOL)[:DEPTH] for _ in range(LISTS)])
            for query in range(queries)
        ]
    )
    sessions = (100 if kind.dense else 25) * rng.lognormal(0, 0.5 if kind.dense else 0.1, len(shown))
    rows = np.repeat(np.arange(len(shown)), np.maximum(1, sessions).astype(np.int64))
    masks = _masks(kind, shown[rows], attraction, satisfaction, rng)
    cells, counts = np.unique(rows << DEPTH | masks, return_counts=True)
    names = [f"q{code // POOL:04d}" for code in range(size)]
    documents = pl.DataFrame({"market": "all", "query": names, "url": [f"u{code}" for code in range(size)]})
    return ClickLog(shown, cells >> DEPTH, cells & ((1 << DEPTH) - 1), counts.astype(np.int64), documents)


def _masks(
    kind: Kind, shown: Ints, attraction: Floats, satisfaction: Floats, rng: np.random.Generator
) -> Ints:
    """Return the mask of each session, (N, K) documents shown."""
    own, bits = attraction[shown], 1 << np.arange(DEPTH)
    if kind.users == "first result":
        own = np.where(np.arange(DEPTH) == 0, own, 0.05)
    if kind.users == "no model":
        mood, start = rng.lognormal(0, 0.5, (len(shown), 1)), rng.integers(0, DEPTH, (len(shown), 1))
        against = own / (own + np.roll(own, 1, axis=1) + 0.1)
        own = np.clip(against * mood, 0, 0.95) * (np.abs(np.arange(DEPTH) - start) <= 1)
    if kind.model is None:
        return np.asarray((rng.random(own.shape) < own) @ bits)
    masks = np.zeros(len(shown), np.int64)

    def clicked(place: int, chances: Floats) -> Bools:
        drawn = np.asarray(rng.random(len(chances)) < chances)
        masks[drawn] |= 1 << place
        return drawn

    by_position = np.repeat(EXAMINED[:, None], DEPTH, axis=1)
    onward = (0.95 * (1 - satisfaction))[:, None]
    cascade = CascadeModel(attraction, satisfaction, onward, 0.95, {}, 0)
    model = cascade if kind.model == "DBN" else FactorisedModel(attraction, by_position, 0)
    model.conditional(shown, clicked)
    return masks


def of_kind(worlds: int, seed: int, task: tuple[Kind, int]) -> pl.DataFrame:
    """Return the row of a kind and a number of queries."""
    kind, queries = task
    worlds //= QUERIES[queries]
    rng = child(np.random.default_rng(seed), "held-out rankings", kind.users, str(kind.dense), str(queries))
    every = [
        held_out(
            drawn(kind, queries, rng), click_models(MODELS), share=HELD_OUT, splits=SPLITS, pseudo_count=1.0,
            click_metric="MeanRR", rng=rng,
        )
        for _ in range(worlds)
    ]  # fmt: skip
    found = [support(held, rng) for held in every]
    truth = every[0].terms(np.sum([held.values.sum(axis=0) / len(held.queries) for held in every], axis=0))
    best = kind.model or MODELS[int(np.nanargmax(truth.correlations[:, AT]))]
    telling, aim = [one for one in found if one.reason is None], truth.correlations[MODELS.index(best), AT]
    right = [one.numbers.correlation.high[one.best, AT] >= aim for one in telling]
    held = {
        name: np.mean([_holds(getattr(one.numbers, name), values) for one in found], axis=0)
        for name, values in (("correlation", truth.correlations), ("slope", truth.slopes))
    }
    chosen = _of_choices(every, [one.best for one in found])
    return pl.DataFrame([{
        "users": kind.users, "log": "dense" if kind.dense else "thin", "queries": queries, "worlds": worlds,
        "attainable": float(np.sqrt(max(0.0, truth.real[AT]))), "best": best,
        "best_correlation": float(aim),
        "cannot_tell": 1 - len(telling) / worlds,
        "right": float(np.mean(right)) if telling else None,
        "correlation": float(held["correlation"].mean()),
        "worst_correlation": float(held["correlation"].min()),
        "slope": float(held["slope"].mean()), "worst_slope": float(held["slope"].min()),
        "choice": float(np.mean([_holds(one.choice.correlation, chosen)[0] for one in found])),
        "ips": float(np.mean([position_premise(held) is None for held in every])),
    }])  # fmt: skip


def _holds(interval: tuple[Floats, Floats, Floats], truth: Floats) -> Bools:
    """Return (M,) whether the intervals of MeanRR hold the truth."""
    _, low, high = interval
    return np.asarray((low[:, AT] <= truth[:, AT]) & (truth[:, AT] <= high[:, AT]))


def _of_choices(every: list[HeldOut], best: list[int]) -> Floats:
    """Return (1, C) the correlation, over all other worlds, of the models that worlds choose."""
    total = np.sum([held.values.sum(axis=0) / len(held.queries) for held in every], axis=0)
    means = every[0].terms(total).correlations
    return np.asarray(means[best].mean(axis=0, keepdims=True))


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return the table."""
    tasks = [(kind, queries) for kind in KINDS for queries in QUERIES]
    return in_processes(partial(of_kind, worlds, seed), tasks, processes)


if __name__ == "__main__":
    measure(measured, __doc__, REPORT, 300)
