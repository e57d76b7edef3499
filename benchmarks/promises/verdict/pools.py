"""Whether correlations within queries, and decisions by them, keep their promises in worlds of known truth.

    python -m benchmarks.promises.verdict.pools [--worlds N] [--seed N] [--processes N] [--out FILE]

Queries are drawn from a large pool, so the truth is the value over the whole pool. One row per kind of log
and number of queries: how often 95% CIs hold the true value (`held`); how often the simultaneous
intervals of all ten differences of five metrics hold at once (`jointly`); pairs found significant by Holm, of
ten, with this correlation (`pairs`), with the closed form of Algorithm 3 and with the weighted correlation;
the share of `pairs` that have the wrong sign (`wrong`); and how often any pair is significant where metrics
are exchanged within each query, or clicks ignore the grades, so that none is better (`any_of_none`).

Each metric is taken for the metric in use in turn, with a second click metric, whose clicks are drawn anew:
the shares of decisions that are *switch* (`switch`), *switch* to a metric that is truly worse
(`switch_wrong`), *keep* (`keep`), *keep* where another metric is truly better by more than the margin
(`keep_wrong`), the same where *keep* is said for want of a significant difference (`keep_wrong_untested`),
and *depends on the click metric*, which it never does here (`depends_wrong`); and how often the truly best
metric is among the best, where any is (`best_among`). Of the *switch*, *keep*, *use* and *use any* sentences
alone, `switch_false` and its like are the shares that are false.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.lib.tables import measure
from benchmarks.promises.calibration.worlds import Nature, Pool, draw, exchanged, make_pool
from benchmarks.promises.verdict.decisions import SAID, decisions_of, false_share
from clickassay.core.records import Floats, Sample
from clickassay.core.seeds import child
from clickassay.correlation.comparisons import comparisons, difference_comparisons, within_comparisons
from clickassay.correlation.tables import within
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.correlation.weighted import precision_weights
from clickassay.correlation.within.groups import QueryGroups, all_markets, query_groups

REPORT = ROOT / "reports" / "calibration" / "verdict.csv"
SIZES = (60, 200, 1000)
AT_ONCE = 50
SESSIONS_OF_FEW = 3
MARKETS = 5
ALIKE = 5
CLICKS = ("UCTR", "MaxRR")
"""Two click metrics by name: both are drawn with the same chances."""
PER_LIST = ("sessions", "click_values", "click_variances", "null_success", "editorial_values")


@dataclass(frozen=True)
class Kind:
    """A kind of log: its sessions, and what else is special.

    ``thin``: lists have three sessions at most; ``null``: clicks ignore grades; ``reversed``: users prefer
    what metrics put last; ``markets``: queries are of five markets; ``alike``: five near-duplicates of each
    query, named as groups; ``cascade`` and ``first result``: users read a list from the top until they click,
    or its first result alone (see `read_pool`).
    """

    name: str
    nature: Nature
    special: str = ""

    def pool(self, seed: int) -> Pool:
        """Return the pool that its queries are drawn from."""
        pool, rng = make_pool(self.nature, seed), child(np.random.default_rng(seed), self.special)
        if self.special == "thin":
            return replace(pool, sessions=rng.integers(1, SESSIONS_OF_FEW + 1, len(pool.sessions)))
        if self.special in {"cascade", "first result"}:
            return read_pool(pool, rng, only_first=self.special == "first result")
        if self.special == "null":
            return replace(pool, chances=rng.permutation(pool.chances))
        return replace(pool, metrics=-pool.metrics) if self.special == "reversed" else pool

    def drawn(self, pool: Pool, queries: int, rng: np.random.Generator) -> Sample:
        """Draw a sample with two click metrics."""
        if self.special != "alike":
            return with_clicks(draw(pool, queries, rng), pool, rng)
        sample = draw(pool, queries // ALIKE, rng)
        rows, size = np.tile(np.arange(len(sample.sessions)), ALIKE), len(sample.queries)
        copies = replace(
            sample,
            queries=tuple(f"{copy} {query}" for copy in range(ALIKE) for query in sample.queries),
            query_index=np.concatenate([sample.query_index + copy * size for copy in range(ALIKE)]),
            configuration_ids=sample.configuration_ids.gather(rows),
            click_entropy=np.zeros(ALIKE * size),
            units=sample.queries * ALIKE,
            **{name: getattr(sample, name)[rows] for name in PER_LIST},
        )
        return with_clicks(copies, pool, rng)

    def place(self, sample: Sample) -> QueryGroups:
        """Return the groups of a sample: of one market, or of several together."""
        if self.special != "markets":
            return query_groups([sample])[0]
        return all_markets([_market(sample, number) for number in range(MARKETS)])


DOCUMENTS, DEPTH, TOP_GRADE = 8, 5, 4


def read_pool(pool: Pool, rng: np.random.Generator, *, only_first: bool) -> Pool:
    """Return the pool with lists of five of eight documents, which users read from the top.

    Documents have a relevance of 0..4; judges and each list's ranker see it with errors. A document that is
    read is clicked with a chance of 0.05 + 0.6 (2^relevance - 1)/16; the chance of a list is that of a click.
    """
    query = np.repeat(np.arange(len(pool.sizes)), pool.sizes)
    relevance = np.clip(np.round(rng.normal(1.3, 1.3, (len(pool.sizes), DOCUMENTS))), 0, TOP_GRADE)
    judged = np.clip(np.round(relevance + rng.normal(0, 0.8, relevance.shape)), 0, TOP_GRADE)
    order = np.argsort(-(relevance[query] + rng.normal(0, 1.5, (len(query), DOCUMENTS))), axis=1)[:, :DEPTH]
    seen, grades = (np.take_along_axis(of[query], order, axis=1) for of in (relevance, judged))
    clicked = 0.05 + 0.6 * (2**seen - 1) / 2**TOP_GRADE
    chances = clicked[:, 0] if only_first else 1 - np.prod(1 - clicked, axis=1)
    return replace(pool, chances=chances, **_metrics_of(grades, judged[query]))


def _metrics_of(grades: Floats, judged: Floats) -> dict[str, Any]:
    """Return names and values of metrics of (n, 5) grades, with (n, 8) grades of all documents."""
    ranks = np.arange(1, DEPTH + 1)
    discounts = 1 / np.log2(ranks + 1)
    stops = (2**grades - 1) / 2**TOP_GRADE
    reached = np.cumprod(np.hstack([np.ones((len(grades), 1)), 1 - stops[:, :-1]]), axis=1)
    dcg = (2**grades - 1) @ discounts
    best = (2 ** (-np.sort(-judged, axis=1)[:, :DEPTH]) - 1) @ discounts
    good = grades >= TOP_GRADE - 1
    metrics = {
        "ERR": (reached * stops) @ (1 / ranks),
        "DCG": dcg,
        "NDCG": np.divide(dcg, best, out=np.zeros(len(dcg)), where=best > 0),
        "RBP": stops @ (0.2 * 0.8 ** (ranks - 1)),
        "RR": np.where(good.any(axis=1), 1 / (good.argmax(axis=1) + 1), 0.0),
    }
    return {"names": tuple(metrics), "metrics": np.stack(list(metrics.values()), axis=1)}


def _market(sample: Sample, number: int) -> QueryGroups:
    """Return the groups of every fifth query as a market."""
    chosen = np.flatnonzero(sample.query_index % MARKETS == number)
    queries = sample.queries[number::MARKETS]
    part = replace(
        sample,
        key=replace(sample.key, market=f"m{number}"),
        queries=queries,
        query_index=sample.query_index[chosen] // MARKETS,
        configuration_ids=sample.configuration_ids.gather(chosen),
        click_entropy=np.zeros(len(queries)),
        **{name: getattr(sample, name)[chosen] for name in PER_LIST},
    )
    return query_groups([part])[0]


KINDS = (
    Kind("base", Nature("lognormal", 1.15, many=True)),
    Kind("few lists", Nature("lognormal", 1.15, many=False)),
    Kind("lognormal 1.5", Nature("lognormal", 1.5, many=True)),
    Kind("Pareto 1.5", Nature("pareto", 1.5, many=True)),
    Kind("Pareto 1.2", Nature("pareto", 1.2, many=True)),
    Kind("1 to 3 sessions a list", Nature("lognormal", 1.15, many=True), "thin"),
    Kind("null", Nature("lognormal", 1.15, many=True), "null"),
    Kind("reversed", Nature("lognormal", 1.15, many=True), "reversed"),
    Kind("five markets", Nature("lognormal", 1.15, many=True), "markets"),
    Kind("five near-duplicates", Nature("lognormal", 1.15, many=True), "alike"),
    Kind("read until a click", Nature("lognormal", 1.15, many=True), "cascade"),
    Kind("only the first result read", Nature("lognormal", 1.15, many=True), "first result"),
)


@dataclass(frozen=True)
class Task:
    """Samples of one kind and size, from one number on."""

    kind: Kind
    queries: int
    first: int
    number: int
    seed: int


def true_values(pool: Pool) -> Floats:
    """Return the (E,) correlations within queries of the pool, with the noise of its sessions.

    A mean of n sessions with chance c has the variance c (1 - c)/n; of it, centring leaves w (1 - w / W).
    """
    weights = precision_weights(pool.sessions)
    several = np.repeat(pool.sizes >= 2, pool.sizes)
    whole = np.repeat(np.add.reduceat(weights, pool.starts), pool.sizes)
    y, *x = (_centred(pool, weights, values) * several for values in (pool.chances, *pool.metrics.T))
    noise = weights * (1 - weights / whole) * pool.chances * (1 - pool.chances) / pool.sessions
    squares_y = weights @ y**2 + several @ noise
    return np.array([(weights * y) @ one / np.sqrt(squares_y * (weights @ one**2)) for one in x])


def _centred(pool: Pool, weights: Floats, values: Floats) -> Floats:
    means = np.add.reduceat(weights * values, pool.starts) / np.add.reduceat(weights, pool.starts)
    centred: Floats = values - np.repeat(means, pool.sizes)
    return centred


def of_task(task: Task) -> pl.DataFrame:
    """Return one row per sample."""
    pool = task.kind.pool(task.seed)
    truth = dict(zip(pool.names, true_values(pool), strict=True))
    names = "verdict", task.kind.name, str(task.queries)
    rows = []
    for number in range(task.first, task.first + task.number):
        rng = child(np.random.default_rng(task.seed), *names, str(number))
        sample = task.kind.drawn(pool, task.queries, rng)
        none = sample if task.kind.special == "null" else exchanged(sample, rng)
        any_of_none = {"any_of_none": float(_pairs_of(task.kind.place(none)).height > 0)}
        place = task.kind.place(sample)
        tables = {"within": within(place), "within_comparisons": within_comparisons(place)}
        decisions = decisions_of(place.key, tables, CLICKS, truth)
        rows.append(_of_sample(sample, tables, truth) | any_of_none | decisions)
    labels = (pl.lit(task.kind.name).alias("log"), pl.lit(task.queries, pl.Int64).alias("queries"))
    return pl.DataFrame(rows).select(*labels, pl.all())


def with_clicks(sample: Sample, pool: Pool, rng: np.random.Generator) -> Sample:
    """Return the sample with two click metrics: of the same chances, each with clicks of its own."""
    chances = pool.chances[sample.configuration_ids.cast(pl.Int64).to_numpy()]
    means = np.column_stack([rng.binomial(sample.sessions, chances) / sample.sessions for _ in CLICKS])
    unbiased = np.where(sample.sessions > 1, sample.sessions / np.maximum(sample.sessions - 1, 1), np.nan)
    return replace(
        sample,
        click_names=CLICKS,
        click_values=means,
        click_variances=unbiased[:, None] * means * (1 - means),
    )


def _of_sample(sample: Sample, tables: dict[str, pl.DataFrame], truth: dict[str, float]) -> dict[str, float]:
    true = pl.col("editorial_metric").replace_strict(truth, return_dtype=pl.Float64)
    first = tables["within"].filter(click_metric=CLICKS[0])
    held = first.select(true.is_between("ci_low", "ci_high").mean()).item()
    pairs = _with_truth(tables["within_comparisons"].filter(click_metric=CLICKS[0]), truth)
    jointly = pairs.select(pl.col("true").is_between("simultaneous_low", "simultaneous_high").all()).item()
    wrong = _significant(pairs).filter(pl.col("difference").sign() != pl.col("true").sign()).height
    others = {"closed_form": difference_comparisons(sample), "weighted": comparisons(sample)}
    counts = {f"pairs_{name}": _significant(table).height for name, table in others.items()}
    return {
        "held": held,
        "jointly": float(jointly),
        "pairs": _significant(pairs).height,
        **counts,
        "wrong": wrong,
    }


def _with_truth(pairs: pl.DataFrame, truth: dict[str, float]) -> pl.DataFrame:
    first, second = (
        pl.col(name).replace_strict(truth, return_dtype=pl.Float64) for name in ("metric_a", "metric_b")
    )
    return pairs.with_columns((first - second).alias("true"))


def _significant(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.filter(pl.col("p_adjusted") < ALPHA, click_metric=CLICKS[0])


def _pairs_of(place: QueryGroups) -> pl.DataFrame:
    return _significant(within_comparisons(place))


DECISIONS = ("switch", "switch_wrong", "keep", "keep_wrong", "keep_wrong_untested", "depends_wrong")


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return the table of the page: one row per kind of log and number of queries."""
    tasks = [
        Task(kind, queries, first, min(AT_ONCE, worlds - first), seed)
        for kind in KINDS
        for queries in SIZES
        for first in range(0, worlds, AT_ONCE)
    ]
    rows = in_processes(of_task, tasks, processes)
    found = pl.col("pairs").sum()
    return rows.group_by("log", "queries", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("samples"),
        pl.col("held", "jointly", "pairs", "pairs_closed_form", "pairs_weighted").cast(pl.Float64).mean(),
        pl.when(found > 0).then(pl.col("wrong").sum() / found).alias("wrong"),
        pl.col("any_of_none", *DECISIONS, "best_among").mean(),
        *(false_share(kind) for kind in SAID),
    )


if __name__ == "__main__":
    measure(measured, __doc__, REPORT, 500)
