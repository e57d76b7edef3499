"""Means and comparisons within classes of queries."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from clickassay.core.contracts.form import Table
from clickassay.core.records import Floats, Integers
from clickassay.correlation.uncertainty.intervals import half_width, holm, t_test
from clickassay.inputs.normalise import normalise_query
from clickassay.metrics.definition import Measure
from clickassay.studies.evaluation.comparing.compare import mean_with_interval, pairs_of_runs
from clickassay.studies.evaluation.forms import CLASS_COMPARISONS, CLASS_MEANS, in_form

UNKNOWN = "unknown"
"""The class of a query that the table of classes does not have."""


def by_class(
    measures: Sequence[Measure],
    values: Mapping[str, Floats],
    queries: Sequence[str],
    classes: pl.DataFrame,
    *,
    baseline: str | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute means, and differences of runs, within classes of queries.

    measures: the E measures.
    values: by run: (Q, E) values.
    queries: the Q queries.
    classes: columns query (normalised), and a text for each kind of classes.
    baseline: the run that each other one is compared with; None = every two.

    Returns rows of CLASS_MEANS and of CLASS_COMPARISONS, whose p_holm is corrected for all its rows.
    """
    names = [str(one) for one in measures]
    ends = np.array([(one.metric.low, one.metric.high) for one in measures], np.float64).T
    means, pairs = [CLASS_MEANS.empty()], [CLASS_COMPARISONS.empty()]
    for same, rows in _classes(queries, classes):
        for run, own in values.items():
            mean, low, high = mean_with_interval(own[rows], *ends)
            columns = {"measure": names, "mean": mean, "ci_low": low, "ci_high": high}
            means.append(_in(CLASS_MEANS, columns, run=run, n_queries=len(rows), **same))
        for one, two in pairs_of_runs(values, baseline):
            apart = (values[two] - values[one])[rows]
            half, mean = half_width(apart), apart.mean(axis=0)
            columns = {
                "measure": names, "difference": mean, "ci_low": mean - half, "ci_high": mean + half,
                "p_value": t_test(apart), "p_holm": np.full(len(names), np.nan),
            }  # fmt: skip
            of_pair = {"baseline": one, "run": two, "n_queries": len(rows)}
            pairs.append(_in(CLASS_COMPARISONS, columns, **of_pair, **same))
    compared = pl.concat(pairs)
    corrected = holm(compared["p_value"].fill_null(np.nan).to_numpy())
    return pl.concat(means), compared.with_columns(pl.Series("p_holm", corrected).fill_nan(None))


def _classes(queries: Sequence[str], classes: pl.DataFrame) -> Iterator[tuple[dict[str, str], Integers]]:
    """Yield the name of each class, and the places of its queries."""
    ours = pl.DataFrame({"query": [normalise_query(query) for query in queries]})
    joined = ours.join(classes, on="query", how="left", maintain_order="left").fill_null(UNKNOWN)
    for name in joined.columns[1:]:
        for part in joined[name].unique().sort():
            yield {"by": name, "class": part}, np.flatnonzero((joined[name] == part).to_numpy())


def _in(table: Table, columns: Mapping[str, object], **same: object) -> pl.DataFrame:
    frame = pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))
    return in_form(table, frame.with_columns(**{name: pl.lit(value) for name, value in same.items()}))
