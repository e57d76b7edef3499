"""All click metrics of configurations, of signals and outcomes too, and by fold of users."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from clickassay.core.contracts.patterns import names_known
from clickassay.core.records import USER_FOLDS, ByFold, Floats, Integers
from clickassay.metrics.clicks import ClickValues, PatternRows, click_values, outcome_values, signal_values


def measured_clicks(
    patterns: pl.DataFrame,
    signals: Mapping[str, pl.DataFrame],
    outcomes: pl.DataFrame | None,
    good: Integers,
    ratings: Collection[str],
    *,
    depth: int,
) -> ClickValues:
    """Compute all click metrics of N configurations, of signals and outcomes too, and by fold of users.

    patterns, signals: rows (n, fold, click_mask, sessions) of all sessions, sorted by the first three, and by
      name of those with a signal.
    outcomes: as `outcome_values` takes them, and fold; None = none.
    good: (N,) masks of the positions whose grade is at least the success grade.
    ratings: outcomes that are ratings.
    depth: k.
    """

    def measured(rows: pl.DataFrame, more: Mapping[str, pl.DataFrame], good: Integers) -> ClickValues:
        of = PatternRows.of(rows)
        clicks = click_values(of.configuration, of.masks, of.sessions, good, depth=depth)
        others = {name: PatternRows.of(own) for name, own in more.items()}
        of_signals = signal_values(others, of.configuration, of.sessions, size=len(good), depth=depth)
        return clicks.beside(of_signals)

    def celled(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(n=np.searchsorted(cells, _cell_keys(rows)))

    values = measured(patterns, signals, good)
    values = values.beside(outcome_values(outcomes, values.sessions, ratings))
    cells = np.unique(_cell_keys(patterns))
    own, fold = np.divmod(cells, USER_FOLDS)
    found = measured(celled(patterns), {name: celled(rows) for name, rows in signals.items()}, good[own])
    means, rated = _outcome_means(None if outcomes is None else celled(outcomes), found.sessions, ratings)
    by_fold = ByFold(own, fold, found.sessions, np.hstack([found.means, means]))
    parts = {}
    for name, (sessions, own_means) in rated.items():
        (at,) = sessions.nonzero()
        cells_of = ByFold(own[at], fold[at], sessions[at], own_means[at, None])
        parts[name] = replace(values.ratings[name], by_fold=cells_of)
    return replace(values, by_fold=by_fold, ratings=parts)


def _cell_keys(rows: pl.DataFrame) -> Integers:
    n, fold = (rows[name].to_numpy().astype(np.int64) for name in ("n", "fold"))
    keys: Integers = n * USER_FOLDS + fold % USER_FOLDS
    return keys


def _outcome_means(
    outcomes: pl.DataFrame | None, sessions: Integers, ratings: Collection[str]
) -> tuple[Floats, dict[str, tuple[Integers, Floats]]]:
    """Return (M, K) means of sums over the sessions of M cells; of ratings, who rated, and means of these."""
    sums, rated = [np.zeros((len(sessions), 0))], dict[str, tuple[Integers, Floats]]()
    if outcomes is None:
        return sums[0], rated
    for name in names_known(outcomes["outcome"]):
        rows = outcomes.filter(outcome=name)
        n = rows["n"].to_numpy()
        totals = np.bincount(n, rows["total"].cast(pl.Float64).to_numpy(), len(sessions)) / 1000
        if name in ratings:
            counts = np.bincount(n, rows["sessions"].to_numpy(), len(sessions)).astype(np.int64)
            rated[name] = counts, totals / np.maximum(counts, 1)
        else:
            sums.append((totals / sessions)[:, None])
    return np.hstack(sums), rated
