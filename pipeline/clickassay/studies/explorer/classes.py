"""Query classes of a run, computed again from its tables and compared with the counts in the run."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import Floats, Sample, SampleKey, Split
from clickassay.correlation.classes import query_splits
from clickassay.metrics.clicks import click_entropy
from clickassay.studies.explorer.read import ExploredRun, clicked_results, query_sessions, stored_classes


@dataclass(frozen=True)
class Splits:
    """The splits of the queries of a key that could be computed again."""

    queries: pl.Series  # (Q,) queries by code point.
    # Splits whose classes have as many queries, configurations and sessions as in the run.
    splits: tuple[Split, ...]
    # Names of the run's other splits: most are made from attributes, which a run does not keep.
    left_out: tuple[str, ...]

    def members(self, split: str, class_: str) -> pl.Series | None:
        """Return the queries of a class; None for all queries."""
        if split == EVERY:
            return None
        found = next(known for known in self.splits if known.name == split)
        return self.queries.filter(pl.Series(found.labels == found.classes.index(class_)))


def splits_of(run: ExploredRun, key: SampleKey) -> Splits:
    """Return the splits of the queries of `key` with the counts of the run's `correlations`."""
    queries, stored = query_sessions(run, key), stored_classes(run, key)
    names = stored["split"].unique().sort().to_list()
    clicks = _clicks(run, key, queries["query"]) if "click_entropy" in names else _Clicks.none(queries.height)
    made, _ = query_splits(_sample(key, queries, clicks))
    kept = tuple(split for split in made if _matches_stored(split, queries, stored))
    left_out = tuple(name for name in names if name not in {EVERY, *(split.name for split in kept)})
    return Splits(queries["query"], kept, left_out)


def _matches_stored(split: Split, queries: pl.DataFrame, stored: pl.DataFrame) -> bool:
    names = pl.Series("class", split.classes)
    made = (
        queries.with_columns(names.gather(split.labels))
        .group_by("class")
        .agg(
            pl.len().cast(pl.Int64).alias("n_queries"),
            pl.sum("n_configurations").cast(pl.Int64),
            pl.sum("n_sessions"),
        )
    )
    stored_rows = stored.filter(split=split.name).drop("split")
    return sorted(made.iter_rows()) == sorted(stored_rows.filter(pl.col("n_queries") > 0).iter_rows())


@dataclass(frozen=True)
class _Clicks:
    """(Q,) entropy of the clicked results of each query, and (Q, 1) whether it has any."""

    entropy: Floats
    any: Floats

    @classmethod
    def none(cls, queries: int) -> "_Clicks":
        """Return what stands for queries whose clicks are not looked at."""
        return cls(np.zeros(queries), np.zeros((queries, 1)))


def _clicks(run: ExploredRun, key: SampleKey, queries: pl.Series) -> _Clicks:
    numbers = queries.alias("query").to_frame().with_row_index("number")
    rows = clicked_results(run, key).join(numbers, on="query").with_row_index("url_number")
    columns = (rows[name].to_numpy() for name in ("number", "url_number", "clicks"))
    clicked = np.zeros((len(queries), 1))
    clicked[rows.filter(pl.col("clicks") > 0)["number"].to_numpy()] = 1.0
    return _Clicks(click_entropy(*columns, queries=len(queries)), clicked)


def _sample(key: SampleKey, queries: pl.DataFrame, clicks: _Clicks) -> Sample:
    """Make a sample with the inputs of classes alone: one row per query, no metric.

    `findings.arrays` would first read and compute every configuration, which is too slow for a page.
    """
    size = queries.height
    nothing = np.zeros((size, 0))
    return Sample(
        key=key,
        queries=tuple(queries["query"]),
        query_index=np.arange(size, dtype=np.int64),
        sessions=queries["n_sessions"].to_numpy(),
        click_names=("clicked",),
        click_values=clicks.any,
        click_variances=np.zeros((size, 1)),
        null_success=np.zeros(size),
        editorial_names=(),
        editorial_values=nothing,
        configuration_ids=pl.Series([""] * size, dtype=pl.String),
        click_entropy=clicks.entropy,
    )
