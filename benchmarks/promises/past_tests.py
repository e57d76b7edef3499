"""Whether what is said of past tests keeps its promise, in worlds whose truth is known.

    python -m benchmarks.promises.past_tests [--worlds N] [--seed N] [--processes N] [--out FILE]

A world draws groups of tests (ideas) with true effects on users, errors of these, and five metrics that
follow users equally well or not at all. One row per kind of world and number of groups: how often the 95% CI
of pairs in order holds the truth (`cover`), and lies beside a coin (`beside_coin`: a false alarm where the
truth is 0.5); the share of tests said to have moved users that did not (`moved_falsely`); how often some
metric is said to differ from the current one, to which all are equal (`family`); and, of tests that moved,
the share that the current metric called rightly (`calls_right`), and that "always better" did.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.lib.tables import measure
from clickassay.core.seeds import child
from clickassay.core.special import ndtr
from clickassay.studies.experiments.order import PastTests, experiment_order, pairs_in_order

REPORT = ROOT / "reports" / "calibration" / "past_tests.csv"
GROUPS = (10, 20, 50)
METRICS = ("A", "B", "C", "D", "E")
SHARED = 0.7
"""Part of what metrics have and users do not that is common to all of them."""
TRUTHS = 4
"""The truth is the mean of so many times as many other worlds."""


@dataclass(frozen=True)
class Kind:
    """A kind of world; effects have standard deviation 1 before they are changed."""

    name: str
    relation: float = 0.0  # Correlation of each metric with the true effects.
    error: float = 0.4  # Standard error of the effects.
    gated: bool = False  # Only what the metrics like was tested, and tests help on average.
    idle: float = 0.0  # Share of tests without any effect.
    ideas: int = 1  # Tests of one idea: nine tenths of their variance are common.
    heavy: bool = False  # Errors that differ by factors (lognormal), and metrics with heavy tails.
    large: bool = False  # One test has ten times the effect.


KINDS = (
    Kind("related, small effects", 0.6, error=1.5),
    Kind("related, large effects", 0.9, error=0.3),
    Kind("unrelated"),
    Kind("gated", gated=True),
    Kind("idle", idle=0.7),
    Kind("idle, related", 0.6, idle=0.7),
    Kind("fours", ideas=4),
    Kind("fours, related", 0.6, ideas=4),
    Kind("heavy errors", heavy=True),
    Kind("heavy errors, related", 0.6, heavy=True),
    Kind("one large test", large=True),
    Kind("one large test, related", 0.6, large=True),
)


def drawn(kind: Kind, groups: int, rng: np.random.Generator) -> tuple[PastTests, np.ndarray]:
    """Return the tests of a world, and their true effects."""
    idea = np.repeat(np.arange(groups), kind.ideas)
    common = 1.0 if kind.ideas == 1 else 0.9
    of_idea, own = rng.standard_normal((2, len(idea), 2 + len(METRICS)))
    latent = np.sqrt(common) * of_idea[idea * kind.ideas] + np.sqrt(1 - common) * own
    effects, shared, apart = latent[:, 0], latent[:, [1]], latent[:, 2:]
    rest = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * apart
    values = kind.relation * effects[:, None] + np.sqrt(1 - kind.relation**2) * rest
    if kind.gated:
        values, effects = np.abs(values), effects + 1
    effects = np.where(rng.random(len(idea)) < kind.idle, 0.0, effects)
    error = kind.error * (np.exp(rng.standard_normal(len(idea))) if kind.heavy else np.ones(len(idea)))
    values += 0.3 * rng.standard_t(2, values.shape) if kind.heavy else 0.0
    if kind.large:
        effects[0], values[0] = 10 * effects[0], 10 * values[0]
    difference = effects + error * rng.standard_normal(len(idea))
    names = tuple(f"test {at}" for at in range(len(idea)))
    ideas = tuple(f"idea {at}" for at in idea)
    p = 2 * ndtr(-np.abs(difference / error))
    return PastTests(names, ideas, difference, error, p, METRICS, values), effects


def of_kind(worlds: int, seed: int, kind: Kind) -> pl.DataFrame:
    """Return the rows of a kind of world."""
    return pl.DataFrame([cell(kind, groups, worlds, seed) for groups in GROUPS])


def cell(kind: Kind, groups: int, worlds: int, seed: int) -> dict[str, object]:
    """Return the row of a kind of world and a number of groups."""
    rng = child(np.random.default_rng(seed), "past tests", kind.name, str(groups))
    others = [drawn(kind, groups, rng)[0] for _ in range(TRUTHS * worlds)]
    truth = np.mean([pairs_in_order(one.difference, one.values[:, :1], one.groups).value for one in others])
    found = []
    for _ in range(worlds):
        tests, effects = drawn(kind, groups, rng)
        order = experiment_order(tests, METRICS[0], margin=0.05)
        row = order.row(by_predicate=pl.col("editorial_metric") == METRICS[0], named=True)
        named = max(row["moved"], 1)
        found.append({
            "cover": row["ci_low"] <= truth <= row["ci_high"],
            "beside_coin": row["kind"] in ("follows", "opposes"),
            "moved_falsely": (tests.moved & (effects == 0)).sum() / named,
            "family": order["against"].is_in(["better", "worse"]).any(),
            "calls_right": (row["better_right"] + row["worse_right"]) / named if row["moved"] else None,
            "always_better": row["always_better"] / named if row["moved"] else None,
        })  # fmt: skip
    shares = pl.DataFrame(found).select(pl.all().cast(pl.Float64).mean()).row(0, named=True)
    return {"world": kind.name, "groups": groups, "worlds": worlds, "truth": float(truth), **shares}


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return the table."""
    return in_processes(partial(of_kind, worlds, seed), list(KINDS), processes)


if __name__ == "__main__":
    measure(measured, __doc__, REPORT, 1_000)
