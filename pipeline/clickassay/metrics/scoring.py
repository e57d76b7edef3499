"""Click metrics and offline metrics of judged configurations, as arrays and as tables."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.form import Column
from clickassay.core.contracts.patterns import FUNNEL, names_known
from clickassay.core.contracts.run import CONFIGURATIONS, STATISTICS
from clickassay.core.records import (
    USER_FOLDS,
    ByFold,
    EstimatedClicks,
    Floats,
    Integers,
    JudgedConfigurations,
    Rated,
    Sample,
    SampleKey,
    Shown,
    first_digits,
)
from clickassay.core.settings import Settings
from clickassay.metrics.catalogue import Expectation, editorial_values
from clickassay.metrics.clicks import (
    CLICK_METRICS,
    IPS,
    ClickValues,
    PatternRows,
    click_entropy,
    click_values,
    counted_clicks,
    good_masks,
    null_success,
    outcome_values,
    signal_values,
    wants_ips,
)


@dataclass(frozen=True)
class Measurements:
    """The metrics of one depth and judge, and the rows that they add to a run's tables."""

    samples: tuple[Sample, ...]  # One for each market that has judged configurations.
    # By market: the share of the results of its sessions whose grade is filled in; 0..1.
    filled: Mapping[str, float]
    # configurations, statistics, funnel: Rows of the tables of the same names; the first in any order.
    configurations: pl.DataFrame
    # configuration_ids, patterns: (N,) ids of the judged configurations, and the rows (n, fold, click_mask,
    # sessions) of their patterns.
    configuration_ids: pl.Series
    patterns: pl.DataFrame
    shown: pl.DataFrame | None  # Rows (n, day, sessions); None where times are not known.
    signals: Mapping[str, pl.DataFrame]  # By name: such rows of sessions with the signal.
    # Rows (n, fold, outcome, sessions, total, total_of_squares); None where none are counted.
    outcomes: pl.DataFrame | None
    statistics: pl.DataFrame
    funnel: pl.DataFrame


@dataclass(frozen=True)
class FittingUsers:
    """Users whose sessions are not measured, since models were fitted on them."""

    sessions: Mapping[str, int]  # Their sessions, by market.
    models: Mapping[str, Expectation]  # By name: what a click model fitted on them expects of (N, k) grades.


NO_FITTING_USERS = FittingUsers({}, {})

Estimated = Mapping[str, Mapping[str, EstimatedClicks]]
"""Click metrics that rest on estimates: by market, then by name."""

NOT_ESTIMATED: Estimated = {}


def compute_metrics(
    judged: JudgedConfigurations,
    formed: dict[str, int],
    settings: Settings,
    *,
    judge: str,
    depth: int,
    fitting: FittingUsers = NO_FITTING_USERS,
    estimated: Estimated = NOT_ESTIMATED,
) -> Measurements:
    """Compute all metrics of judged configurations.

    formed: all sessions by market, for coverage; those set apart with them.
    fitting: what `judged` has not, and the models that were fitted on it.
    """
    good = good_masks(judged.grades, settings)
    clicks = measured_clicks(
        judged.patterns, judged.signals, judged.outcomes, good, settings.ratings, depth=depth
    )
    pool = judged.pool if settings.pool == "judged" else None
    names, editorial = editorial_values(judged.grades, pool, settings, click_models=fitting.models)
    if judged.scores is not None:
        names, editorial = (*names, *judged.score_names), np.hstack([editorial, judged.scores])
    samples = tuple(
        replace(
            _sample(judged, clicks, good, names, editorial, market, judge=judge, depth=depth),
            estimated=estimated.get(market, {}),
        )
        for market in sorted(judged.rows["market"].unique())
    )
    configurations = _configurations(judged, clicks, names, editorial, judge=judge, depth=depth)
    if wants_ips(settings):  # null where it has no value
        parts = [pl.DataFrame(schema={"configuration_id": pl.String, IPS: pl.Float64})]
        for sample in samples:
            found = sample.estimated[IPS]
            values = found.values if found.reason is None else np.full(len(found.values), np.nan)
            parts.append(pl.DataFrame({"configuration_id": sample.configuration_ids, IPS: values}))
        column = pl.concat(parts).fill_nan(None)
        configurations = configurations.join(column, on="configuration_id", how="left", maintain_order="left")
    by_market, statistics = {sample.key.market: sample for sample in samples}, []
    for market, every in formed.items():
        own = by_market.get(market)
        measured = every - fitting.sessions.get(market, 0)
        kept = int(own.sessions.sum()) if own else 0
        counts = (len(own.queries), len(own.sessions)) if own else (0, 0)
        share = kept / measured if measured else None
        statistics.append((market, depth, judge, *counts, kept, measured, share, None, None))
    shares = judged.rows.select("market").with_columns(
        sessions=clicks.sessions, filled=judged.filled.mean(axis=1, dtype=np.float64) * clicks.sessions
    )
    of_market = shares.group_by("market").agg(pl.col("filled").sum() / pl.col("sessions").sum())
    return Measurements(
        samples=samples,
        filled=dict(of_market.iter_rows()),
        configurations=configurations,
        configuration_ids=judged.rows["configuration_id"],
        patterns=judged.patterns,
        shown=judged.shown,
        signals=judged.signals,
        outcomes=judged.outcomes,
        statistics=STATISTICS.canonical(_frame(STATISTICS.columns, statistics)),
        funnel=_funnel(judged, samples, formed, fitting, judge=judge, depth=depth),
    )


def _sample(
    judged: JudgedConfigurations,
    clicks: ClickValues,
    good: NDArray[np.int64],
    names: tuple[str, ...],
    editorial: Floats,
    market: str,
    *,
    judge: str,
    depth: int,
) -> Sample:
    rows = judged.rows.filter(pl.col("market") == market)
    chosen = rows["n"].to_numpy()
    queries = tuple(rows["query"].unique().sort())
    numbered = pl.DataFrame({"query": pl.Series(queries, dtype=pl.String)}).with_columns(
        index=np.arange(len(queries), dtype=np.int64)
    )
    index = rows.join(numbered, on="query", how="left", maintain_order="left")["index"].to_numpy()
    place = np.full(judged.rows.height, -1, np.int64)
    place[chosen] = np.arange(len(chosen))
    # SS if clicks ignored grades, from the masks of all configurations of the market
    own = judged.patterns.filter(pl.Series(place[judged.patterns["n"].to_numpy()] >= 0, dtype=pl.Boolean))
    masks = own.group_by("click_mask").agg(pl.col("sessions").sum()).sort("click_mask")
    null = null_success(good[chosen], masks["click_mask"].to_numpy(), masks["sessions"].to_numpy())
    return Sample(
        key=SampleKey(market, depth, judge),
        queries=queries,
        query_index=index,
        sessions=clicks.sessions[chosen],
        click_names=clicks.names,
        click_values=clicks.means[chosen],
        click_variances=clicks.variances[chosen],
        null_success=null,
        editorial_names=names,
        editorial_values=editorial[chosen],
        configuration_ids=rows["configuration_id"],
        click_entropy=_entropy(judged, place, chosen, index, len(queries)),
        ratings={
            name: Rated(
                one.sessions[chosen], one.values[chosen], one.variances[chosen],
                one.by_fold and one.by_fold.of_rows(chosen),
            )
            for name, one in clicks.ratings.items()
        },
        shown=None if judged.shown is None else Shown.of(place[judged.shown["n"].to_numpy()], judged.shown),
        by_fold=clicks.by_fold and clicks.by_fold.of_rows(chosen),
    )  # fmt: skip


def _entropy(
    judged: JudgedConfigurations, place: Integers, chosen: Integers, query_index: Integers, n_queries: int
) -> Floats:
    """Entropy of the clicked URLs of each query; clicks on a repeated URL count at its first place.

    chosen, place: the configurations of the market, and (N,) the place of each of all among them; -1 = none.
    """
    code = judged.urls[chosen]
    row = place[judged.patterns["n"].to_numpy()]
    mine = row >= 0
    row, mask = row[mine], judged.patterns["click_mask"].to_numpy()[mine]
    sessions = judged.patterns["sessions"].to_numpy()[mine]
    clicks = np.zeros(code.max(initial=-1) + 1, dtype=np.int64)
    query = np.zeros_like(clicks)  # a code belongs to one query
    query[code] = query_index[:, None]
    for position in range(code.shape[1]):
        clicked = (mask >> position) & 1 == 1
        codes = code[:, position].take(row[clicked])
        clicks += np.bincount(codes, sessions[clicked], len(clicks)).astype(np.int64)
    (seen,) = clicks.nonzero()
    return click_entropy(query[seen], seen, clicks[seen], queries=n_queries)


def _configurations(
    judged: JudgedConfigurations,
    clicks: ClickValues,
    names: tuple[str, ...],
    editorial: Floats,
    *,
    judge: str,
    depth: int,
) -> pl.DataFrame:
    metrics = {name: clicks.means[:, i] for i, name in enumerate(clicks.names)}
    metrics |= {name: one.values for name, one in clicks.ratings.items()}
    metrics |= {name: editorial[:, i] for i, name in enumerate(names)}
    grades = pl.Series("grades", judged.grades, dtype=pl.Array(pl.Int8, depth)).cast(pl.List(pl.Int8))
    frame = judged.rows.drop("n").with_columns(
        pl.lit(depth).alias("depth"),
        pl.lit(judge).alias("judge"),
        grades,
        pl.Series("n_sessions", clicks.sessions),
    )
    whole = frame.select(
        *(pl.col(column.name).cast(column.dtype) for column in CONFIGURATIONS.columns),
        *(pl.Series(name, values, nan_to_null=name in clicks.ratings) for name, values in metrics.items()),
    )
    # by market and the first digits of the id: tables sorted so far are sorted fast
    first = first_digits(judged.rows["configuration_id"])
    return whole[np.lexsort((first, judged.rows["market"].rle_id().to_numpy()))]


def _funnel(
    judged: JudgedConfigurations,
    samples: tuple[Sample, ...],
    formed: dict[str, int],
    fitting: FittingUsers,
    *,
    judge: str,
    depth: int,
) -> pl.DataFrame:
    kept = {sample.key.market: int(sample.sessions.sum()) for sample in samples}
    steps = [
        ("sessions", "set apart", "users of even folds: models are fitted on their clicks", fitting.sessions),
        ("sessions", "too short", "fewer results than the depth", judged.too_short),
        ("sessions", "not judged", "a result without a grade", judged.not_judged),
        ("sessions", "not scored", "a list without a score", judged.not_scored),
        ("sessions", "kept", "", kept),
    ]
    for name in sorted({name for sample in samples for name in sample.ratings}):
        rated = {sample.key.market: int(sample.ratings[name].sessions.sum()) for sample in samples}
        steps.append(("ratings", "rated", name, rated))
        steps.append(("ratings", "not rated", name, {at: kept[at] - own for at, own in rated.items()}))
    rows = [
        (source, market, depth, judge, step, reason, counts[market])
        for source, step, reason, counts in steps
        for market in formed
        if counts.get(market)
    ]
    return FUNNEL.canonical(_frame(FUNNEL.columns, rows))


def _frame(columns: tuple[Column, ...], rows: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    schema = {column.name: column.dtype for column in columns}
    return pl.DataFrame(rows, schema=schema, orient="row")


def headline_clicks(sample: Sample, settings: Settings) -> Sample:
    """Return a sample with the metrics of clicks, and of other signals those that the verdict is about."""
    counted = counted_clicks(settings)
    kept = [name for name in sample.click_names if name in CLICK_METRICS or name in counted]
    return sample if len(kept) == len(sample.click_names) else sample.narrowed(kept, sample.editorial_names)


def formed_sessions(funnel: pl.DataFrame) -> dict[str, int]:
    """Return all sessions by market (or under 'all') from a log's funnel."""
    formed = funnel.filter((pl.col("source") == "sessions") & (pl.col("step") == "formed"))
    return dict(formed.group_by("market").agg(pl.col("rows").sum()).sort("market").iter_rows()) or {EVERY: 0}


# ---- click metrics, of signals and outcomes too ----------------------------------------------------


def measured_clicks(
    patterns: pl.DataFrame,
    signals: Mapping[str, pl.DataFrame],
    outcomes: pl.DataFrame | None,
    good: Integers,
    ratings: Collection[str],
    *,
    depth: int,
    folds: int = USER_FOLDS,
) -> ClickValues:
    """Compute all click metrics of N configurations, of signals and outcomes too, and by fold of users.

    patterns, signals: rows (n, fold, click_mask, sessions), sorted; of all sessions, and by name of signals.
    outcomes, good: as `outcome_values` takes them, and fold; (N,) masks of positions of a good grade.
    folds: how many folds of users are told apart; others are joined by number.
    """

    def measured(rows: pl.DataFrame, more: Mapping[str, pl.DataFrame], good: Integers) -> ClickValues:
        of = PatternRows.of(rows)
        clicks = click_values(of.configuration, of.masks, of.sessions, good, depth=depth)
        others = {name: PatternRows.of(own) for name, own in more.items()}
        of_signals = signal_values(others, of.configuration, of.sessions, size=len(good), depth=depth)
        return clicks.beside(of_signals)

    def celled(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(n=np.searchsorted(cells, _cell_keys(rows, folds)))

    values = measured(patterns, signals, good)
    values = values.beside(outcome_values(outcomes, values.sessions, ratings))
    cells = np.unique(_cell_keys(patterns, folds))
    own, fold = np.divmod(cells, folds)
    found = measured(celled(patterns), {name: celled(rows) for name, rows in signals.items()}, good[own])
    # of outcomes: sums over all sessions of a cell; of ratings, means over those who rated
    means, parts, size = [found.means], {}, len(found.sessions)
    if outcomes is None:
        return replace(values, by_fold=ByFold(own, fold, found.sessions, found.means))
    for name in names_known(outcomes["outcome"]):
        rows = celled(outcomes.filter(outcome=name))
        n = rows["n"].to_numpy()
        totals = np.bincount(n, rows["total"].cast(pl.Float64).to_numpy(), size) / 1000
        if name not in ratings:
            means.append((totals / found.sessions)[:, None])
            continue
        counts = np.bincount(n, rows["sessions"].to_numpy(), size).astype(np.int64)
        (at,) = counts.nonzero()
        of_cells = ByFold(own[at], fold[at], counts[at], (totals / np.maximum(counts, 1))[at, None])
        parts[name] = replace(values.ratings[name], by_fold=of_cells)
    by_fold = ByFold(own, fold, found.sessions, np.hstack(means))
    return replace(values, by_fold=by_fold, ratings=parts)


def _cell_keys(rows: pl.DataFrame, folds: int) -> Integers:
    n, fold = (rows[name].to_numpy().astype(np.int64) for name in ("n", "fold"))
    return n * folds + fold % folds
