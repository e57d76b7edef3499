"""Clicks weighted by the inverse of examination (IPS): which results are clicked, wherever they stand."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from clickassay.click_models.click_log import click_log
from clickassay.click_models.position_bias import PositionBias, position_bias
from clickassay.core.contracts.clicks import POSITION_BIAS
from clickassay.core.records import EstimatedClicks, Floats, JudgedConfigurations
from clickassay.metrics.clicks import IPS
from clickassay.patterns.lists import LogLists, user_halves

LEAST_EXAMINATION = 0.05
"""A position that is examined less often counts as if it were: few clicks would decide."""

HALVES = ("even", "odd")
"""Folds of the users whose clicks examination is estimated from."""

ONE_HALF = (
    "the log has users of one half only: build the pattern table with --folds 2 or more (16 by default)"
)


@dataclass(frozen=True)
class Biases:
    """Position bias by market, as the clicks of the users of even folds tell it, and of odd folds.

    A half that is not there has none.
    """

    by_market: Mapping[str, Mapping[str, PositionBias]]
    # By market: why examination may depend on more than the position; None where it does not.
    premises: Mapping[str, str | None] = field(default_factory=dict)

    def needed(self, market: str, parities: Iterable[int]) -> dict[int, PositionBias | None]:
        """Return for the folds 2 i and 2 i + 1 what the clicks of the other users tell."""
        known = self.by_market.get(market, {})
        return {parity: known.get(HALVES[1 - parity]) for parity in parities}


def position_biases(lists: Iterable[LogLists], depth: int) -> Biases:
    """Estimate position bias from judged queries, of each market and half of the users."""
    found: dict[str, dict[str, PositionBias]] = {}
    for part in lists:
        patterns = part.patterns_by_id
        for half, users in zip(HALVES, user_halves(), strict=True):
            own = patterns.filter(users)
            clicked = part.configurations.join(own, on="configuration_id", how="semi")
            by_market = clicked.sort("configuration_id").partition_by("market", as_dict=True)
            for (market,), shown in by_market.items():
                found.setdefault(market, {})[half] = position_bias(click_log(shown, own, depth=depth))
    return Biases(found)


def bias_table(biases: Biases | None) -> pl.DataFrame:
    """Return the rows of `contracts.clicks.POSITION_BIAS`."""
    if biases is None:
        return POSITION_BIAS.empty()
    rows = [
        (market, half, place, theta, error, bias.pairs, bias.queries, bias.sessions, why)
        for market, halves in biases.by_market.items()
        for half, bias in halves.items()
        for place, (theta, error) in enumerate(zip(bias.examination, bias.errors, strict=True), 1)
        for why in [bias.missing(place) or biases.premises.get(market)]
    ]
    schema = {column.name: column.dtype for column in POSITION_BIAS.columns}
    return POSITION_BIAS.canonical(pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None))


def ips_clicks(
    judged: JudgedConfigurations, biases: Biases | None, *, depth: int
) -> dict[str, dict[str, EstimatedClicks]]:
    """Compute IPS of the configurations of each market: the mean over sessions of Σ 1/θ of clicked positions.

    θ is at least `LEAST_EXAMINATION`, and of the clicks of other users: of odd folds for even ones, and of
    even folds for odd ones (Joachims, Swaminathan and Schnabel 2017).

    judged: configurations of one depth, over all markets.
    biases: position bias of each market; None if IPS is not asked for: then there are none.

    Returns by market and name: values and variances of its configurations, (N,) in their order, and shifted
    values.
    """
    if biases is None:
        return {}
    return {
        market: {IPS: _ips_of_market(judged, biases, market, depth)}
        for market in judged.rows["market"].unique().sort()
    }


def _ips_of_market(judged: JudgedConfigurations, biases: Biases, market: str, depth: int) -> EstimatedClicks:
    own = judged.rows.filter(market=market).select("n").with_row_index("own")
    size = own.height
    rows = (
        judged.patterns.with_columns(parity=pl.col("fold") % 2)
        .join(own, on="n")
        .group_by("own", "parity", "click_mask")
        .agg(pl.col("sessions").sum())
        .sort("own", "parity", "click_mask")
    )
    index, parities, masks, sessions = (rows[name].to_numpy().astype(np.int64) for name in rows.columns)
    needed = biases.needed(market, np.unique(parities).tolist())
    missing = {parity: ONE_HALF if bias is None else bias.missing(depth) for parity, bias in needed.items()}
    reason = next((why for why in (*missing.values(), biases.premises.get(market)) if why is not None), None)
    if reason is not None:
        return EstimatedClicks(np.zeros(size), np.full(size, np.nan), np.zeros((size, 0, 2)), reason)
    logs = np.zeros((2, depth))
    moves: list[tuple[int, Floats]] = []  # independent ones of log θ, whose squares add up to its variance
    for parity, bias in needed.items():
        if bias is not None:
            logs[parity] = np.log(bias.examination[:depth])
            spread, vectors = np.linalg.eigh(bias.covariance[:depth, :depth])
            lengths = np.sqrt(np.maximum(spread, 0))
            moves += [(parity, one) for one in (vectors * lengths).T[lengths > 0]]
    clicks = (masks[:, None] >> np.arange(depth) & 1).astype(np.float64)
    values = (clicks * _weights(logs)[parities]).sum(axis=1)
    totals = np.bincount(index, sessions, size)
    means = np.bincount(index, sessions * values, size) / totals
    squares = np.bincount(index, sessions * (values - means[index]) ** 2, size)
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = np.where(totals > 1, squares / (totals - 1), np.nan)
    # clicks of the users of even folds and of odd folds, a session of either
    rates = np.zeros((size, 2, depth))
    np.add.at(rates, (index, parities), clicks * sessions[:, None])
    rates /= totals[:, None, None]
    shifted = np.empty((size, len(moves), 2))
    for at, (parity, move) in enumerate(moves):
        for side, sign in enumerate((-1, 1)):
            moved = logs.copy()
            moved[parity] += sign * move
            shifted[:, at, side] = (rates * _weights(moved)).sum(axis=(1, 2))
    return EstimatedClicks(means, variances, shifted, None)


def _weights(logs: Floats) -> Floats:
    """Return 1 / θ of log θ, θ being at least `LEAST_EXAMINATION`."""
    return np.asarray(1 / np.maximum(np.exp(logs), LEAST_EXAMINATION))
