"""Whether what is said of tests in a log keeps its promise, in worlds whose truth is known.

    python -m benchmarks.promises.tests [--worlds N] [--seed N] [--processes N] [--out FILE]

One row per promise and cell: in which share of the worlds it happens. `users`: the 95% CI of the effect on
users holds the truth (`cover`), or excludes 0 where nothing happened (`alarm`). `queries`: intervals of the
offline metric and of matched clicks hold the truth of other queries. `healthy`: a check or
`unequally_judged` speaks where nothing is wrong. `split`: 52:48 of the users is found. `verdict`: what is
said of whole tests from the tables of their arms: `contradict`, or falsely "no effect above 1%".
"""

from collections.abc import Callable
from datetime import date
from functools import partial

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.lib.tables import measure
from clickassay.core.contracts.form import Table
from clickassay.core.contracts.patterns import ARM_OUTCOMES, ARM_PATTERNS, ARM_USERS, ARMS
from clickassay.core.seeds import child
from clickassay.core.settings.of_tests import DeclaredTest
from clickassay.patterns.arms import CLICK, ArmTables
from clickassay.patterns.table import USERS_KEPT
from clickassay.studies.experiments.arms import Rankings
from clickassay.studies.experiments.checks import SURE, sample_ratio
from clickassay.studies.experiments.effects import Effects, by_days, by_queries
from clickassay.studies.experiments.log import LogOptions, experiments_of_log

REPORT = ROOT / "reports" / "calibration" / "tests.csv"
FOLDS, DAYS, EFFECT = 16, 7, 0.02
FIRST_DAY = date(2026, 1, 1)
Arrays = np.ndarray
Law = Callable[[int, np.random.Generator], Arrays]


# ---- laws ---------------------------------------------------------------------------------------


def pareto(index: float) -> Law:
    """Return sessions of users by a power law."""
    return lambda n, rng: np.ceil((1 - rng.random(n)) ** (-1 / index)).clip(max=1e6).astype(np.int64)


USERS: dict[str, Law] = {
    "one session": lambda n, _: np.ones(n, np.int64),
    "Poisson": lambda n, rng: 1 + rng.poisson(2, n),
    "lognormal 1.5": lambda n, rng: np.ceil(np.exp(1.5 * rng.standard_normal(n))).astype(np.int64),
    "Pareto 1.5": pareto(1.5),
    "Pareto 1.2": pareto(1.2),
}
QUERIES: dict[str, Law] = {
    "lognormal 1": lambda n, rng: np.exp(rng.standard_normal(n)),
    "lognormal 2": lambda n, rng: np.exp(2 * rng.standard_normal(n)),
    "Zipf": lambda n, rng: 1 / (1 - rng.random(n)),
}
OF_USERS = {  # law, users, share of treatment, whether treatment grows from day to day
    **{name: (name, 5_000, 0.5, False) for name in USERS},
    "10:90": ("Poisson", 5_000, 0.1, False),
    "10:90, Pareto 1.5": ("Pareto 1.5", 5_000, 0.1, False),
    "300 users": ("Poisson", 300, 0.5, False),
    "ramp-up": ("Poisson", 5_000, 0.5, True),
}


def of_users(
    law: str, users: int, share: float, ramp: bool, effect: float, rng: np.random.Generator
) -> Effects:
    """Return the effect on clicks of a test; in a ramp-up clicks drift, and treatment grows."""
    sessions = rng.multinomial(USERS[law](users, rng), np.full(DAYS, 1 / DAYS))
    arm, fold = (rng.random(users) < share).astype(np.int64), rng.integers(0, FOLDS, users)
    drift = np.linspace(0.9, 1.1, DAYS) if ramp else np.ones(DAYS)
    if ramp:
        enters = rng.integers(0, 5, users)
        sessions[(arm == 1)[:, None] & (np.arange(DAYS) < enters[:, None])] = 0
    chance = 0.9 * rng.beta(2, 3, users)[:, None] * drift + effect * arm[:, None]
    clicks = rng.binomial(sessions, chance.clip(0, 1))

    def cells(values: Arrays) -> Arrays:
        found = np.zeros((2 * FOLDS, DAYS))
        np.add.at(found, arm * FOLDS + fold, values)
        return np.moveaxis(found.reshape(2, FOLDS, DAYS), 1, 2)[..., None]

    return by_days(cells(sessions), cells(clicks))


# ---- queries ------------------------------------------------------------------------------------

GAIN, PER_QUERY = 0.05, 50
"""Mean gain of the rankings that changed, one of two; sessions for each query."""


def of_queries(law: str, users: str, queries: int, rng: np.random.Generator) -> tuple[Effects, Effects]:
    """Return what the metric said, and matched clicks: half of a ranking's gain is a gain in clicks."""
    weights = QUERIES[law](queries, rng)
    gain = np.where(rng.random(queries) < 0.5, 0.0, GAIN + 0.1 * rng.standard_normal(queries))
    before = 0.5 * rng.random(queries)
    number = queries * PER_QUERY // (1 if users == "one session" else 3)
    each = np.minimum(USERS[users](number, rng), queries * PER_QUERY // 10)
    user = np.repeat(np.arange(number), each)
    arm, fold = rng.integers(0, 2, number)[user], rng.integers(0, FOLDS, number)[user]
    query = rng.choice(queries, len(user), p=weights / weights.sum())
    chance = 0.2 + 0.5 * rng.beta(2, 3, number)[user] + 0.5 * arm * gain[query]
    cell = (arm * queries + query) * FOLDS + fold
    shape, size = (2, queries, FOLDS), 2 * queries * FOLDS
    sessions = np.bincount(cell, minlength=size).reshape(shape).astype(np.float64)
    clicks = np.bincount(cell, rng.random(len(user)) < chance, minlength=size).reshape(shape)
    said = sessions.sum(axis=2) * np.stack([before, before + gain])
    units = np.arange(queries)
    offline = by_queries(sessions.sum(axis=2)[..., None], said[..., None, None], units, users=False)
    return offline, by_queries(sessions, clicks[..., None], units, users=True)


def holds(effects: Effects, truth: float) -> bool:
    """Return whether an interval holds the truth."""
    return bool(effects.low[0] <= truth <= effects.high[0])


# ---- whole tests --------------------------------------------------------------------------------

TREATED = 500
WHOLE = {  # mean gain of changed rankings, clicks for each gain, unjudged if better
    "truth agrees": (0.05, 0.5, False),
    "clicks do not move": (0.05, 0.0, False),
    "better rankings unjudged": (0.05, 0.5, True),
    "A/A": (0.0, 0.0, False),
}
OPTIONS = LogOptions("M", "UCTR")
LAST_DAY = date(2026, 1, DAYS)


def whole_test(world: str, users: int, law: str, rng: np.random.Generator) -> tuple[ArmTables, Rankings]:
    """Return the tables of a test: half of the queries have another ranking in treatment, some unjudged."""
    gain, slope, hides = WHOLE[world]
    weights = QUERIES["lognormal 1"](TREATED, rng)
    changes = (rng.random(TREATED) < 0.5) & (world != "A/A")
    gains = np.where(changes, gain + 0.15 * rng.standard_normal(TREATED), 0.0)
    values = 0.5 * rng.random(TREATED)
    base = 0.3 + 0.2 * rng.random(TREATED)
    is_judged = rng.random((2, TREATED)) < 0.8
    if hides:
        is_judged[1] &= gains <= 0.1
    arm_of, fold_of = rng.integers(0, 2, users), rng.integers(0, FOLDS, users)
    mean = np.stack([base, base + slope * gains]).clip(0, 1)
    share = weights / weights.sum()
    if law == "one session":  # users do not matter then: cells are drawn
        n = rng.poisson(users * share / (2 * FOLDS), (FOLDS, 2, TREATED))
        clicks = rng.binomial(n, mean)
        fold, arm, query = (np.tile(axis.ravel(), 2) for axis in np.indices(n.shape))
        clicked, sessions = np.repeat([0, 1], n.size), np.hstack([(n - clicks).ravel(), clicks.ravel()])
    else:
        user = np.repeat(np.arange(users), USERS[law](users, rng))
        arm, fold, sessions = arm_of[user], fold_of[user], np.ones(len(user), np.int64)
        query = np.searchsorted(share.cumsum()[:-1], rng.random(len(user)))
        chance = mean[arm, query] + rng.normal(0, 0.1, users)[user]
        clicked = (rng.random(len(user)) < chance).astype(np.int64)
    ranking = query + TREATED * arm * changes[query]
    if world == "A/A":  # both arms show two rankings of each query, by chance
        gains = 0.15 * rng.standard_normal(TREATED)
        ranking = query + TREATED * rng.integers(0, 2, len(query))
    digests = rng.integers(0, 2**64, users, dtype=np.uint64)
    if users > USERS_KEPT:
        kept = np.argpartition(digests, USERS_KEPT)[:USERS_KEPT]
        digests, arm_of = digests[kept], arm_of[kept]
    of_users = pl.DataFrame({"experiment": "t", "variant": VARIANTS[arm_of], "digest": digests})
    cell = np.ravel_multi_index((arm, fold, clicked), (2, FOLDS, 2))
    by_day = rng.multinomial(np.bincount(cell, sessions, 4 * FOLDS).astype(np.int64), np.full(DAYS, 1 / DAYS))
    axes = np.indices(by_day.shape)
    arms = counted(ARMS, "day", axes[1].ravel(), axes[0].ravel(), by_day.ravel())
    arms = arms.with_columns(day=pl.lit(FIRST_DAY).dt.offset_by(pl.format("{}d", "day")))
    patterns = counted(ARM_PATTERNS, "configuration_id", ranking, cell, sessions)
    names = RANKINGS["configuration_id"][patterns["configuration_id"]]
    patterns = patterns.with_columns(configuration_id=names)
    tables = ArmTables(
        ARMS.canonical(arms),
        ARM_OUTCOMES.empty(),
        ARM_PATTERNS.canonical(patterns),
        ARM_USERS.canonical(of_users),
    )
    judged = RANKINGS.select(
        "configuration_id", good=pl.lit(1), M=pl.Series(np.hstack([values, values + gains]))
    )
    return tables, Rankings(1, RANKINGS, {"all": judged.filter(pl.Series(is_judged.ravel()))})


VARIANTS = np.array(["control", "new"])
RANKINGS = pl.DataFrame({"n": np.arange(2 * TREATED), "unit": np.tile(np.arange(TREATED), 2)}).select(
    pl.format("r{}", 1000 + pl.col("n")).alias("configuration_id"), pl.format("q{}", "unit").alias("query"),
    "unit", market=pl.lit("all"),
)  # fmt: skip


def counted(form: Table, name: str, numbers: Arrays, cell: Arrays, sessions: Arrays) -> pl.DataFrame:
    """Return sessions by arm, a further number, fold and click, in the columns of a table.

    cell: number of arm, fold and click.
    """
    arm, fold, clicked = np.unravel_index(cell, (2, FOLDS, 2))
    sizes = (2, int(numbers.max()) + 1, FOLDS, 2)
    sums = np.bincount(np.ravel_multi_index((arm, numbers, fold, clicked), sizes), sessions).astype(np.int64)
    arm, numbers, fold, clicked = np.unravel_index(np.flatnonzero(sums), sizes)
    columns = {"experiment": "t", "variant": VARIANTS[arm], name: numbers, "fold": fold, "signal": CLICK}
    found = pl.DataFrame(columns | {"click_mask": clicked, "sessions": sums[sums > 0]})
    return found.select(one.name for one in form.columns)


def said_of(world: str, users: int, law: str, rng: np.random.Generator) -> dict[str, bool]:
    """Return what is said of one test."""
    tables, rankings = whole_test(world, users, law, rng)
    told = {"t": DeclaredTest(until=LAST_DAY)}
    found = experiments_of_log(tables, rankings, told, OPTIONS)
    row = found.experiments.row(by_predicate=pl.col("kind") == "editorial", named=True)
    low, high = row["ci_low"] or 0.0, row["ci_high"] or 0.0
    return {
        "agree": row["verdict"] == "agree",
        "contradict": row["verdict"] == "contradict",
        "unequally_judged": row["verdict"] == "unequally_judged",
        "metric_clear": low > 0 or high < 0,
        "check": bool((found.checks["status"] == "finding").any()),
        "caution": bool((found.checks["status"] == "caution").any()),
    }


def no_effect_above(sessions: int, rng: np.random.Generator) -> bool:
    """Return whether an interval lies within 1% of control's mean, where the effect is just above that."""
    n = rng.poisson(sessions / (2 * DAYS * FOLDS), (2, DAYS, FOLDS))
    clicks = rng.binomial(n, np.array([0.4, 0.4 * (1 + 1.001 * OPTIONS.effect_margin)])[:, None, None])
    found = by_days(n[..., None].astype(np.float64), clicks[..., None].astype(np.float64))
    margin = OPTIONS.effect_margin * found.control[0]
    return bool(-margin <= found.low[0] and found.high[0] <= margin)


# ---- the table ----------------------------------------------------------------------------------

SIZES, LARGE = (2_000, 20_000), 200_000


def cells() -> list[tuple[str, str, int]]:
    """Return promise, cell and size of each part of the table."""
    found = [("users", name, of[1]) for name, of in OF_USERS.items()]
    both = [f"{law}, {users}" for law in QUERIES for users in ("one session", "Pareto 1.5")]
    found += [("queries", name, size) for size in (60, 200, 1_000) for name in both]
    found += [("split", "52:48", 20_000)]
    found += [("bound", "effect of 1%", size) for size in (300_000, 1_000_000, 10_000_000)]
    found += [("healthy", law, 5_000) for law in USERS]
    return found + [("verdict", world, size) for size in (*SIZES, LARGE) for world in list(WHOLE)[:3]]


def one_world(promise: str, name: str, size: int, rng: np.random.Generator) -> dict[str, bool]:
    """Return what happens in one world of a cell."""
    if promise == "users":
        cover = holds(of_users(*OF_USERS[name], EFFECT, rng), EFFECT)
        return {"cover": cover, "alarm": not holds(of_users(*OF_USERS[name], 0.0, rng), 0.0)}
    if promise == "queries":
        law, users = name.split(", ")
        offline, matched = of_queries(law, users, size, rng)
        return {"cover": holds(offline, GAIN / 2), "cover_matched": holds(matched, GAIN / 4)}
    if promise == "split":
        treated = int(rng.binomial(size, 0.48))
        return {"found": sample_ratio((size - treated, treated), 0.5) < SURE}
    if promise == "bound":
        return {"no_effect_above": no_effect_above(size, rng)}
    if promise == "healthy":
        return said_of("A/A", size, name, rng)
    return said_of(name, size, "one session" if size == LARGE else "Poisson", rng)


def of_cell(worlds: int, seed: int, cell: tuple[str, str, int]) -> pl.DataFrame:
    """Return the rows of a cell."""
    rng = child(np.random.default_rng(seed), "tests", *map(str, cell))
    found = pl.DataFrame([one_world(*cell, rng) for _ in range(worlds)]).select(pl.all().mean())
    rows = found.unpivot(variable_name="what", value_name="share")
    keys = (pl.lit(value).alias(key) for key, value in zip(("promise", "cell", "size"), cell, strict=True))
    return rows.select(*keys, pl.lit(worlds).alias("worlds"), "what", "share")


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return the table."""
    return in_processes(partial(of_cell, worlds, seed), cells(), processes)


if __name__ == "__main__":
    measure(measured, __doc__, REPORT, 1_000)
