"""Whether what is said of interleaved tests keeps its promise, in worlds whose truth is known.

    python -m benchmarks.promises.interleaving [--worlds N] [--seed N] [--processes N] [--out FILE]

One row per promise and cell: in which share of the worlds it happens. `preference`: its 95% CI holds the
truth of these queries (`cover`), or excludes 0 although the rankers are identical (`alarm`). `first`: B
comes first in 55% of the sessions and that is `found`, or in half of them and the check speaks (`refused`).
`whole`: tests from their tables: verdicts, checks, whether the 95% CI of the parts of NDCG holds the truth of
other queries (`cover`), and by metric, whether the difference of the parts has the sign of the rankers' own
(`sign`); that over the worlds in which their own is one standard error or more, whose number is `worlds`.
"""

from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.lib.tables import measure
from benchmarks.promises.tests import LAST_DAY, QUERIES, USERS, holds
from clickassay.core.contracts.columns import EVERY
from clickassay.core.seeds import child
from clickassay.core.settings import load_settings
from clickassay.core.settings.of_tests import DeclaredTest
from clickassay.metrics.catalogue import editorial_values, named_measure
from clickassay.studies.experiments.arms import Rankings
from clickassay.studies.experiments.checks import checks_of_drafts
from clickassay.studies.experiments.effects import Effects, by_days
from clickassay.studies.experiments.interleaving import Drafts, by_place
from clickassay.studies.experiments.log import experiments_of_log
from clickassay.studies.experiments.parts import LogOptions

REPORT = ROOT / "reports" / "calibration" / "interleaving.csv"
Arrays = np.ndarray
FOLDS, K, POOL, TOP = 16, 5, 10, 4
COINS = np.array(list(product([False, True], repeat=(K + 1) // 2)))  # who picks first in each round
METRICS = ("DCG", "NDCG", "ERR", "RBP")
SETTINGS = load_settings()
OPTIONS = LogOptions("NDCG", "UCTR")
TOLD = {"t": DeclaredTest(control="A", until=LAST_DAY)}


# ---- rankers ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rankers:
    """Grades of Q queries, and the places (Q, POOL) that two rankers give the results; infinite = none."""

    grades: Arrays
    a: Arrays
    b: Arrays


def rankers(queries: int, kind: str, rng: np.random.Generator, *, short: bool = False) -> Rankers:
    """Return two rankers: B is `better`, both are `alike`, or the same (`identical`).

    short: A finds two results for each second query.
    """
    grades = rng.choice(TOP + 1, (queries, POOL), p=[0.4, 0.25, 0.15, 0.12, 0.08])
    noise = rng.standard_normal((2, queries, POOL))
    noise *= np.array([1.6, 1.6 if kind == "alike" else 1.1])[:, None, None]
    a, b = ((-(grades + one)).argsort(axis=1).argsort(axis=1).astype(np.float64) for one in noise)
    if short:
        a[::2] = np.where(a[::2] < 2, a[::2], np.inf)
    return Rankers(grades, a, a if kind == "identical" else b)


def drafted(found: Rankers) -> tuple[Arrays, Arrays]:
    """Return the (Q, C, K) results of all drafts, and whether B gave them.

    In each round both rankers pick their best result that is left, in the order of a coin. A ranker without
    one does not pick; -1 where both have none.
    """
    shape = (len(found.grades), len(COINS))
    chosen = np.zeros((*shape, POOL), bool)
    results, teams = np.full((*shape, K), -1), np.zeros((*shape, K), bool)
    place = np.zeros(shape, np.int64)
    rows, columns = np.indices(shape)
    for turn in range(2 * K):
        coin = COINS[:, min(turn // 2, COINS.shape[1] - 1)]
        is_b = np.broadcast_to(coin if turn % 2 == 0 else ~coin, shape)
        order = np.where(is_b[..., None], found.b[:, None], found.a[:, None])
        order = np.where(chosen, np.inf, order)
        best = order.argmin(axis=2)
        picks = np.isfinite(order.min(axis=2)) & (place < K)
        at = rows[picks], columns[picks]
        results[(*at, place[picks])], teams[(*at, place[picks])] = best[picks], is_b[picks]
        chosen[(*at, best[picks])] = True
        place += picks
    return results, teams


# ---- users --------------------------------------------------------------------------------------

TYPES = np.array([(0.6, 0.5), (0.6, 1.5), (1.4, 0.5), (1.4, 1.5)])
"""Users click less or more, and like good results less or more."""


def chances(found: Rankers, results: Arrays, clicks: float) -> Arrays:
    """Return the (types, Q, C, K) chances of clicks, which are independent.

    clicks: how often a result is clicked.
    """
    gains = np.take_along_axis(found.grades[:, None], results.clip(min=0), axis=2) / TOP
    examined = 1 / np.arange(1, K + 1) ** 0.7
    active, liking = TYPES.T[:, :, None, None, None]
    chance = clicks * active * examined * (0.2 + 0.8 * liking * gains)
    return np.where(results >= 0, chance.clip(max=0.97), 0.0)


MASKS = (np.arange(1 << K)[:, None] >> np.arange(K)) & 1


def true_preference(chance: Arrays, teams: Arrays, shares: Arrays) -> float:
    """Return what all users would prefer: over types, queries by their shares, and fair coins."""
    p = np.ones(chance.shape[:-1])[..., None]
    for place in range(K):  # chances of all masks, the first place being the lowest bit
        own = chance[..., place, None]
        p = np.concatenate([p * (1 - own), p * own], axis=-1)
    p = p.mean(axis=0)
    of_b = (teams[:, :, None] & (MASKS > 0)).sum(axis=-1)
    sign = np.sign(2 * of_b - MASKS.sum(axis=1))
    won = shares @ (p * sign).sum(axis=-1).mean(axis=1)
    return float(won / (shares @ (1 - p[..., 0]).mean(axis=1)))


@dataclass(frozen=True)
class Cell:
    """What a world is made of."""

    users: int = 5_000
    law: str = "Poisson"
    kind: str = "better"  # of `rankers`, and below
    short: bool = False
    clicks: float = 0.35
    queries: int = 200
    weights: str = "lognormal 1"
    b_first: float = 0.5  # share of drafts in which B picks first
    judged: str = "all"  # which results are judged: all, most, or few of those that A does not show
    likes: int = 1  # whether users like good results


@dataclass(frozen=True)
class World:
    """A world, and the truth of its users."""

    rankers: Rankers
    results: Arrays  # (Q, C, K) of the drafts.
    teams: Arrays  # (Q, C, K) whether B gave them.
    counts: Arrays  # (Q, C, FOLDS, masks) sessions.
    preference: float


def world(cell: Cell, rng: np.random.Generator) -> World:
    """Return one world."""
    found = rankers(cell.queries, cell.kind, rng, short=cell.short)
    results, teams = drafted(found)
    liked = {1: found.grades, 0: np.full_like(found.grades, TOP // 2)}[cell.likes]
    chance = chances(Rankers(liked, found.a, found.b), results, cell.clicks)
    weights = QUERIES[cell.weights](cell.queries, rng)
    shares = weights / weights.sum()
    user = np.repeat(np.arange(cell.users), USERS[cell.law](cell.users, rng))
    kind, fold = rng.integers(0, len(TYPES), cell.users)[user], rng.integers(0, FOLDS, cell.users)[user]
    query = np.searchsorted(shares.cumsum()[:-1], rng.random(len(user)))
    half = len(COINS) // 2  # drafts in which A picks first
    coin = rng.integers(0, half, len(user)) + half * (rng.random(len(user)) < cell.b_first)
    bits = rng.random((len(user), K)) < chance[kind, query, coin]
    axes, size = (query, coin, fold, bits @ (1 << np.arange(K))), (cell.queries, len(COINS), FOLDS, 1 << K)
    counts = np.bincount(np.ravel_multi_index(axes, size), minlength=int(np.prod(size))).reshape(size)
    return World(found, results, teams, counts, true_preference(chance, teams, shares))


def preferred(found: World) -> Effects:
    """Return what users prefer, by folds."""
    of_b = (found.teams[:, :, None] & (MASKS > 0)).sum(axis=-1)
    sign = np.sign(2 * of_b - MASKS.sum(axis=1))[:, :, None]
    lost, won = ((found.counts * (sign == side)).sum(axis=(0, 1, 3)) for side in (-1, 1))
    clicked = found.counts[..., 1:].sum(axis=(0, 1, 3))
    return by_days(np.stack([clicked, clicked])[:, None, :, None].astype(np.float64),
                   np.stack([lost, won])[:, None, :, None].astype(np.float64))  # fmt: skip


def tables(world: World, cell: Cell, rng: np.random.Generator) -> tuple[Drafts, Rankings]:
    """Return what analysis gets: sessions of each draft, and rankings with their grades and metrics."""
    found, results, teams, counts = world.rankers, world.results, world.teams, world.counts
    queries = np.arange(cell.queries)
    key = (results + 1) @ (POOL + 1) ** np.arange(K) + queries[:, None] * (POOL + 1) ** K
    known, first, code = np.unique(key.ravel(), return_index=True, return_inverse=True)
    code = code.reshape(key.shape)
    own, is_long = results.reshape(-1, K)[first], (results.reshape(-1, K)[first] >= 0).all(axis=1)
    query = first // len(COINS)
    grades = found.grades[query[:, None], own.clip(min=0)]
    ids = np.array([f"r{number:05d}" for number in range(len(known))])
    q, coin, fold, mask = np.nonzero(counts)
    of_b = teams @ (1 << np.arange(K))
    of_a = ((results >= 0) & ~teams) @ (1 << np.arange(K))
    rows = pl.DataFrame({
        "experiment": "t", "ranker_a": "A", "ranker_b": "B", "configuration_id": ids[code[q, coin]],
        "fold": fold, "team_a": of_a[q, coin], "team_b": of_b[q, coin], "signal": "click", "click_mask": mask,
        "sessions": counts[q, coin, fold, mask],
    })  # fmt: skip
    texts = np.array([f"q{number}" for number in queries])[query]
    shown = pl.DataFrame({"configuration_id": ids, "query": texts, "market": EVERY})
    shown = shown.with_columns(unit="query", cut=pl.when(pl.Series(is_long)).then("configuration_id"))
    is_judged = is_long & judged_of(found, own, query, cell, rng)
    pool = np.stack([(found.grades == grade).sum(axis=1) for grade in range(TOP + 1)], axis=1)[query]
    names, values = editorial_values(
        grades[is_judged], pool[is_judged], SETTINGS, tuple(map(named_measure, METRICS))
    )
    judged = pl.DataFrame({"configuration_id": ids[is_judged], "judge": EVERY, "depth": K})
    judged = judged.with_columns(
        grades=pl.Series(grades[is_judged].tolist(), dtype=pl.List(pl.Int8)),
        **dict(zip(names, values.T, strict=True)),
    )
    lists = shown.filter(pl.col("cut").is_not_null()).drop("cut")
    rankings = Rankings.of(lists, judged, names, K, SETTINGS)
    return Drafts.of(rows, shown, judged, names, K, SETTINGS), rankings


def judged_of(found: Rankers, own: Arrays, query: Arrays, cell: Cell, rng: np.random.Generator) -> Arrays:
    """Return whether each ranking is judged: all results are, or most, or few that A does not show."""
    if cell.judged == "all":
        return np.ones(len(own), bool)
    is_known = rng.random(found.grades.shape) < 0.95
    if cell.judged == "B unjudged":
        is_known &= (found.a < K) | (rng.random(found.grades.shape) < 0.5)
    return is_known[query[:, None], own.clip(min=0)].all(axis=1)


# ---- the table ----------------------------------------------------------------------------------


FIRST = {"55%, one session": ("one session", 0.55), "55%, Pareto 1.5": ("Pareto 1.5", 0.55),
         **{f"fair, {law}": (law, 0.5) for law in USERS}}  # fmt: skip
PREFERENCE = {
    **{law: Cell(law=law) for law in USERS},
    "300 users": Cell(users=300),
    "several clicks": Cell(clicks=0.9),
    "several clicks, Pareto 1.5": Cell(clicks=0.9, law="Pareto 1.5"),
    "few clicks": Cell(clicks=0.05),
    "A finds little": Cell(short=True),
    "A finds little, Pareto 1.5": Cell(short=True, law="Pareto 1.5"),
    "10 queries": Cell(queries=10),
}
WHOLE = {
    "identical": Cell(kind="identical"),
    "identical, partly judged": Cell(kind="identical", judged="most"),
    "alike": Cell(kind="alike"),
    "alike, 1,000 queries": Cell(kind="alike", queries=1_000),
    "alike, 60 queries": Cell(kind="alike", queries=60),
    "truth agrees, 2,000 users": Cell(users=2_000),
    "truth agrees, 20,000 users": Cell(users=20_000),
    "clicks do not move, 2,000 users": Cell(users=2_000, likes=0),
    "clicks do not move, 20,000 users": Cell(users=20_000, likes=0),
    "B unjudged, 20,000 users": Cell(users=20_000, judged="B unjudged"),
}


def own_difference(found: World, metric: str) -> tuple[float, float]:
    """Return the difference of the rankers' own lists, over sessions, and its standard error by queries."""
    pool = np.stack([(found.rankers.grades == grade).sum(axis=1) for grade in range(TOP + 1)], axis=1)
    values = [
        editorial_values(
            np.take_along_axis(found.rankers.grades, order.argsort(axis=1)[:, :K], axis=1), pool, SETTINGS,
            (named_measure(metric),),
        )[1][:, 0]
        for order in (found.rankers.a, found.rankers.b)
    ]  # fmt: skip
    n, difference = found.counts.sum(axis=(1, 2, 3)), values[1] - values[0]
    mean = float(n @ difference / n.sum())
    return mean, float(np.sqrt(((n * (difference - mean)) ** 2).sum()) / n.sum())


@cache
def true_parts(kind: str) -> float:
    """Return the mean difference of the parts of NDCG over all queries there may be."""
    found = rankers(40_000, kind, np.random.default_rng(0))
    results, teams = drafted(found)
    pool = np.stack([(found.grades == grade).sum(axis=1) for grade in range(TOP + 1)], axis=1)
    total = 0.0
    for coin in range(len(COINS)):
        grades = np.take_along_axis(found.grades, results[:, coin], axis=1)
        measure = named_measure("NDCG")
        values = editorial_values(grades, pool, SETTINGS, (measure,))[1][:, 0]
        parts = by_place(values, grades, measure, SETTINGS)
        total += float((np.where(teams[:, coin], parts, -parts)).sum(axis=1).mean())
    return total / len(COINS)


def of_preference(cell: Cell, rng: np.random.Generator) -> dict[str, bool]:
    """Return whether the interval holds the truth, and excludes 0 where the rankers are identical."""
    found = world(cell, rng)
    same = preferred(world(replace(cell, kind="identical"), rng))
    return {"cover": holds(preferred(found), found.preference), "alarm": not holds(same, 0.0)}


def of_first(law: str, share: float, rng: np.random.Generator) -> dict[str, bool]:
    """Return whether the check of first places speaks at 20,000 sessions."""
    each = USERS[law](20_000, rng)
    each = each[: max(np.searchsorted(each.cumsum(), 20_000), FOLDS)]
    ahead, fold = rng.binomial(each, share), rng.integers(0, FOLDS, len(each))
    n, of_b = (np.bincount(fold, values, FOLDS)[None, :, None] for values in (each, ahead))
    first = by_days(np.stack([n, n]), np.stack([n - of_b, of_b]))
    rows = checks_of_drafts(("A", "B"), first, first, 0.0, TOLD["t"])
    is_found = any(row["check"] == "first_places" and row["status"] == "finding" for row in rows)
    return {"refused" if share == 0.5 else "found": is_found}


def of_whole(cell: Cell, rng: np.random.Generator) -> dict[str, bool | None]:
    """Return what is said of a whole test."""
    found = world(cell, rng)
    drafts, lists = tables(found, cell, rng)
    said = experiments_of_log(None, lists, TOLD, OPTIONS, drafts)
    rows = {row["metric"]: row for row in said.experiments.iter_rows(named=True)}
    row, status = rows["NDCG"], said.checks["status"]
    low, high = row["ci_low"] or 0.0, row["ci_high"] or 0.0
    told: dict[str, bool | None] = {
        **{name: row["verdict"] == name for name in ("agree", "contradict", "unequally_judged")},
        "metric_clear": low > 0 or high < 0, "check": bool((status == "finding").any()),
        "caution": bool((status == "caution").any()),
    }  # fmt: skip
    if cell.judged == "all":
        truth = 0.0 if cell.kind in ("identical", "alike") else true_parts(cell.kind)
        told["cover"] = low <= truth <= high
    if cell.judged == "all" and cell.kind != "identical":
        for metric in METRICS:
            difference, error = own_difference(found, metric)
            is_right = rows[metric]["difference"] * difference > 0
            told[f"sign of {metric}"] = is_right if abs(difference) >= error else None
    return told


def one_world(promise: str, name: str, rng: np.random.Generator) -> dict[str, bool | None]:
    """Return what happens in one world of a cell."""
    if promise == "preference":
        return {**of_preference(PREFERENCE[name], rng)}
    return {**of_first(*FIRST[name], rng)} if promise == "first" else of_whole(WHOLE[name], rng)


def cells() -> list[tuple[str, str]]:
    """Return promise and cell of each part of the table."""
    parts = {"preference": PREFERENCE, "first": FIRST, "whole": WHOLE}
    return [(promise, name) for promise, part in parts.items() for name in part]


def of_cell(worlds: int, seed: int, cell: tuple[str, str]) -> pl.DataFrame:
    """Return the rows of a cell; `worlds` are those in which it is asked."""
    rng = child(np.random.default_rng(seed), "interleaving", *cell)
    found = pl.DataFrame([one_world(*cell, rng) for _ in range(worlds)], infer_schema_length=None)
    shares, counts = (found.select(part).unpivot(variable_name="what", value_name=name) for part, name in (
        (pl.all().mean(), "share"), (pl.all().count().cast(pl.Int64), "worlds")
    ))  # fmt: skip
    keys = (pl.lit(value).alias(key) for key, value in zip(("promise", "cell"), cell, strict=True))
    return shares.join(counts, on="what", maintain_order="left").select(*keys, "what", "worlds", "share")


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return the table."""
    return in_processes(partial(of_cell, worlds, seed), cells(), processes)


if __name__ == "__main__":
    measure(measured, __doc__, REPORT, 1_000)
