"""Whether `power` says what a longer log needs: logs thinned to a part, beside the whole ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from benchmarks.lib.processes import in_processes
from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Floats, Integers, Sample, SampleKey
from clickassay.core.seeds import child
from clickassay.core.settings import Settings, load_settings
from clickassay.correlation.comparisons import queries_needed
from clickassay.correlation.uncertainty.power import Pilot, pilot_of, required_sizes
from clickassay.inputs.simulate.simulation import simulate
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.metrics.clicks import CLICK_METRICS, click_values, good_masks

DEPTH = 5
LOGS = (
    ("web", 60_000, 100), ("web", 120_000, 300), ("web", 30_000, 150), ("cascade", 60_000, 400),
    ("cascade", 60_000, 1500), ("rbp", 30_000, 300), ("dcg", 30_000, 300), ("null", 60_000, 300),
)  # fmt: skip
"""World, searches and queries."""

FACTORS = (2, 4, 16)
"""How many times as long the whole log is as the pilot."""

PAIRS = (("ERR", "DCG"), ("ERR", "NDCG"), ("RBP", "DCG"), ("DCG", "AP"), ("NDCG", "RR"))
CLICKS = ("MeanRR", "UCTR", "QCTR")
SMALL = 1e-3
"""A difference that takes so many queries that whole numbers do not matter."""


@dataclass(frozen=True)
class _Log:
    """Click patterns of the lists of the market that has most sessions, and what the lists are."""

    configuration: Integers
    mask: Integers
    sessions: Integers
    good: Integers
    query: Integers
    names: tuple[str, ...]
    editorial: Floats

    def sample(self, sessions: Integers) -> Sample:
        """Return the sample of so many sessions of each pattern."""
        some = sessions > 0
        lists, numbers = np.unique(self.configuration[some], return_inverse=True)
        clicks = click_values(numbers, self.mask[some], sessions[some], self.good[lists], depth=DEPTH)
        queries, index = np.unique(self.query[lists], return_inverse=True)
        return Sample(
            key=SampleKey(EVERY, DEPTH, EVERY),
            queries=tuple(f"{number:06}" for number in queries),
            query_index=index,
            sessions=clicks.sessions,
            click_names=CLICK_METRICS,
            click_values=clicks.means,
            click_variances=clicks.variances,
            null_success=np.zeros(len(lists)),
            editorial_names=self.names,
            editorial_values=self.editorial[lists],
            configuration_ids=pl.Series(lists).cast(pl.String),
            click_entropy=np.zeros(len(queries)),
        )


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return one row per kind of log and factor; logs are a hundredth as many as worlds."""
    tasks = [(*kind, max(worlds // 100, 2), seed) for kind in LOGS]
    return in_processes(of_kind, tasks, processes)


def of_kind(task: tuple[str, int, int, int, int]) -> pl.DataFrame:
    """Return one row per factor of logs of one kind."""
    world, searches, queries, logs, seed = task
    found = pl.concat(
        compared(made(world, searches, queries, seed * logs + number), number, seed) for number in range(logs)
    )
    return summary(found).select(
        pl.lit(world).alias("world"), pl.lit(searches).alias("searches"), pl.lit(queries).alias("queries"),
        pl.all(),
    )  # fmt: skip


def made(world: str, searches: int, queries: int, seed: int) -> _Log:
    """Simulate a log and join it with its judgments."""
    settings = load_settings(folds=1, depth=[DEPTH], click_models=["NONE"], iterations=2)
    with TemporaryDirectory() as place:
        out = Path(place) / "log"
        simulate(world, n_searches=searches, n_queries=queries, seed=seed, out=out)
        table = log_to_patterns(Sources(str(out / "searches.parquet"), str(out / "clicks.parquet")), settings)
        frames = analyse(table, Sources(judgments=str(out / "judgments.parquet")), settings)
    return _log(frames, settings)


def _log(frames: Mapping[str, pl.DataFrame], settings: Settings) -> _Log:
    market = frames["statistics"].sort("n_sessions", "market")["market"][-1]
    lists = frames["configurations"].filter(market=market).sort("query", "configuration_id")
    numbered = lists.select("configuration_id").with_row_index("n")
    patterns = frames["patterns"].join(numbered, on="configuration_id").sort("n", "click_mask")
    names = tuple(dict.fromkeys(name for pair in PAIRS for name in pair))
    return _Log(
        *(patterns[name].to_numpy() for name in ("n", "click_mask", "sessions")),
        good=good_masks(np.array(lists["grades"].to_list()), settings),
        query=lists["query"].rle_id().to_numpy(),
        names=names,
        editorial=np.ascontiguousarray(lists.select(names).to_numpy()),
    )


def compared(log: _Log, number: int, seed: int) -> pl.DataFrame:
    """Return one row per pair, click metric and factor: what the thin log promised, what the whole has."""
    rng = child(np.random.default_rng(seed), "power", str(number))
    whole = measures(log.sample(log.sessions))
    rows = []
    for factor in FACTORS:
        thin = log.sample(rng.binomial(log.sessions, 1 / factor))
        rows += [{"log": number, "factor": factor, **row} for row in promises(measures(thin), whole, factor)]
    return pl.DataFrame(rows)


Measured = dict[tuple[str, str, str], tuple[Pilot, float]]


def measures(sample: Sample) -> Measured:
    """Return each pair's pilot, and the variance of its difference of covariances.

    What it takes to detect a difference is in proportion to that: a longer log has the same difference of
    covariances, while the correlations rise as noise vanishes from the variance of the click metric.
    """
    found = {}
    for pair, click in product(PAIRS, CLICKS):
        pilot = pilot_of(sample, click, *pair)
        values = sample.click_values[:, sample.click_names.index(click)]
        mean = np.average(values, weights=sample.sessions)
        scale = np.average((values - mean) ** 2, weights=sample.sessions)
        found[(*pair, click)] = pilot, pilot.error**2 * float(scale)
    return found


def promises(thin: Measured, whole: Measured, factor: int) -> Iterator[dict[str, object]]:
    """Yield what a thin log promises of one that is `factor` times as long, as parts of its own need."""
    for key, (pilot, variance) in thin.items():
        wanted, one = np.array([[SMALL]]), np.array([1])
        now = queries_needed(wanted, pilot.spread, pilot.queries, tests=one, power=0.8).item()
        (longer,) = required_sizes(pilot, SMALL, (float(factor),), alpha=0.05, power=0.8)
        noise = min(1.0, pilot.noise)
        yield {
            "key": "|".join(key),
            "sessions": pilot.sessions / pilot.queries,
            "noise": noise,
            "queries": 1 - noise * (1 - 1 / factor),  # were the error of the pilot the true one
            "fewest": longer.fewest / now,
            "most": longer.most / now,
            "pilot": variance,
            "needed": whole[key][1],
        }


def summary(found: pl.DataFrame) -> pl.DataFrame:
    """Return one row per factor.

    Promises are set against what the same queries need in the whole log, and against the mean of the other
    logs of the kind, which have other queries.
    """
    same = pl.col("needed") / pl.col("pilot")
    logs = pl.col("log").n_unique().over("key", "factor")
    mean = pl.col("needed").mean().over("key", "factor")
    others = (mean * logs - pl.col("needed")) / (logs - 1) / pl.col("pilot")
    told = found.with_columns(same=same, others=others)
    return told.group_by("factor", maintain_order=True).agg(
        pl.col("log").n_unique().alias("logs"),
        pl.len().alias("differences"),
        pl.col("sessions").mean().alias("sessions_per_query"),
        pl.col("noise").mean(),
        *(_growth(name).alias(f"growth_{new}") for name, new in (("queries", "promised"), ("same", "found"))),
        pl.col("queries").mean().alias("needed_promised"),
        pl.col("same").mean().alias("needed_found"),
        *((pl.col(name) <= pl.col("most")).mean().alias(f"at_most_{name}") for name in ("same", "others")),
        *(
            pl.col(name).is_between("fewest", "most").mean().alias(f"in_range_{name}")
            for name in ("same", "others")
        ),
    )


def _growth(name: str) -> pl.Expr:
    """Return by how much the ratio of a difference to its error grows: geometric mean."""
    return (-pl.col(name).log() / 2).mean().exp()
