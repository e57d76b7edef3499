"""The judged configurations of a sample of a run as arrays."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.run import CONFIGURATIONS
from clickassay.core.records import USER_FOLDS, Integers, Sample, SampleKey, Shown
from clickassay.correlation.classes import with_units
from clickassay.findings.run import Run, broken
from clickassay.metrics.clicks import IPS, good_masks, is_click_metric, null_success
from clickassay.metrics.scoring import measured_clicks


@dataclass(frozen=True)
class GradedSample:
    """A run's sample, and its (N, k) grades; click entropy is NaN, as no table of a run has it."""

    sample: Sample
    grades: Integers


def configurations_of(run: Run, key: SampleKey) -> pl.DataFrame:
    """Return the judged configurations of a sample, by query and id."""
    return key.rows(run.tables["configurations"]).sort("query", "configuration_id")


def graded_sample(run: Run, key: SampleKey, folds: int = USER_FOLDS) -> GradedSample:
    """Return the judged configurations of a sample as arrays, in the order of `configurations_of`.

    folds: into how many `by_fold` joins those of the run. Raises ReportError, with the file, if values are
      missing.
    """
    rows, patterns = configurations_of(run, key), run.tables["patterns"]
    may_be_null = (IPS, *run.settings.ratings)
    nulls = [name for name in rows.columns if name not in may_be_null and rows[name].has_nulls()]
    if nulls:
        raise broken(run.file("configurations"), f"null in {', '.join(nulls)}")
    if not (rows["grades"].list.drop_nulls().list.len() == key.depth).all():
        raise broken(run.file("configurations"), f"not {key.depth} grades in every row")
    if rows.join(patterns, on="configuration_id", how="anti").height:
        raise broken(run.file("patterns"), "configurations without a click pattern")
    grades = np.array(rows["grades"].to_list(), dtype=np.int64).reshape(rows.height, key.depth)
    return GradedSample(_sample(run, key, rows, grades, folds), grades)


def market_samples(run: Run, key: SampleKey, *, together: bool) -> tuple[SampleKey, list[Sample]]:
    """Return the sample of a key, or of all markets at its depth and judge, and the key of the whole."""
    kept = run.tables["statistics"].filter(pl.col("n_configurations") > 0)
    markets = kept.filter(depth=key.depth, judge=key.judge)["market"].sort()
    if not together or len(markets) < 2:
        return key, [graded_sample(run, key).sample]
    samples = [graded_sample(run, replace(key, market=market)).sample for market in markets]
    return replace(key, market=EVERY), samples


def folds_of(run: Run) -> tuple[int, ...]:
    """Return the folds of users that the clicks of a run are of, ascending."""
    return tuple(run.tables["patterns"]["fold"].unique().sort())


def without_fold(sample: Sample, fold: int) -> Sample:
    """Return a sample without the users of a fold: the configurations that others were shown.

    A mean v of n sessions becomes v + (n - n')/n' (v - v of the fold), n' of them being left. What patterns
    of clicks alone tell is NaN.
    """
    assert sample.by_fold is not None  # noqa: S101 - the samples of a run have it
    cells = sample.by_fold.chosen(sample.by_fold.folds == fold)
    sessions, values = sample.sessions.copy(), sample.click_values.copy()
    sessions[cells.rows] -= cells.sessions
    ratio = cells.sessions / np.maximum(sessions[cells.rows], 1)
    values[cells.rows] += ratio[:, None] * (values[cells.rows] - cells.values)
    return replace(
        sample, sessions=sessions, click_values=values, click_variances=np.full(values.shape, np.nan),
        null_success=np.full(len(sessions), np.nan), shown=None, by_fold=None,
    ).of_rows(np.flatnonzero(sessions))  # fmt: skip


def editorial_names(columns: list[str], outcomes: Collection[str]) -> tuple[str, ...]:
    """Return the offline metrics among the columns of `configurations`, in their order."""
    fixed = {column.name for column in CONFIGURATIONS.columns} | set(outcomes)
    return tuple(name for name in columns if name not in fixed and not is_click_metric(name))


def _sample(run: Run, key: SampleKey, rows: pl.DataFrame, grades: Integers, folds: int) -> Sample:
    good, tables = good_masks(grades, run.settings), run.tables
    numbered = rows.select("configuration_id").with_row_index("n")
    own = tables["patterns"].join(numbered, on="configuration_id").sort("n", "fold", "click_mask")
    found = tables["signals"].join(numbered, on="configuration_id")
    signals = {name: found.filter(signal=name) for name in run.signals}
    outcomes = tables["outcomes"].join(numbered, on="configuration_id")
    outcomes = outcomes.cast({"outcome": pl.Enum(run.outcomes)})
    clicks = measured_clicks(own, signals, outcomes, good, run.settings.ratings, depth=key.depth, folds=folds)
    names = editorial_names(rows.columns, run.outcomes)
    queries = rows["query"].unique().sort()
    shown = tables["shown"].join(numbered, on="configuration_id")
    sample = Sample(
        key=key,
        queries=tuple(queries),
        query_index=rows["query"].rle_id().to_numpy().astype(np.int64),
        sessions=clicks.sessions,
        click_names=clicks.names,
        click_values=clicks.means,
        click_variances=clicks.variances,
        null_success=null_success(good, *(own[name].to_numpy() for name in ("click_mask", "sessions"))),
        editorial_names=names,
        editorial_values=np.ascontiguousarray(rows.select(names).to_numpy(), dtype=np.float64),
        configuration_ids=rows["configuration_id"],
        click_entropy=np.full(len(queries), np.nan),  # not in the run's tables
        ratings=clicks.ratings,
        shown=None if shown.is_empty() else Shown.of(shown["n"].to_numpy().astype(np.int64), shown),
        by_fold=clicks.by_fold,
    )
    return with_units(sample, tables["queries"])
