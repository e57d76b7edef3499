"""Changes between two finished runs: inputs, settings, versions, sizes, every mean and correlation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.run import STATISTICS
from clickassay.core.records import SAMPLE_COLUMNS, SampleKey
from clickassay.core.text.words import visible
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.run import Run, largest_samples
from clickassay.studies.runs_compared.numbers import DiffOptions, compare_numbers
from clickassay.studies.runs_compared.read import RecordedPair, entries, read_for_comparison

REVERSED, GAINED, LOST = "reversed", "newly significant", "no longer significant"
"""How a comparison of two metrics changed."""

UNEVEN = 1.1
"""Factor above which sessions per configuration count as different: the noise of clicks differs then."""

MOST_OF_NAME = 40
"""Characters of a folder's name that stand for a run."""

Row = Mapping[str, Any]

_SIZES = ("n_queries", "n_configurations", "n_sessions", "n_all_sessions", "coverage")


@dataclass(frozen=True)
class RunComparison:
    """The differences between two runs."""

    # a, b: Their folders; empty where a run was not written.
    a: Path
    b: Path
    # The decision of each by its headline sample: the row of ``verdict``; None where nothing is judged.
    decisions: tuple[Row | None, Row | None]
    entries: tuple[RecordedPair, ...]  # All inputs; settings, versions and other records that differ.
    sizes: pl.DataFrame  # One row per market, depth, judge and quantity: a, b, change.
    # overlap, numbers: As `numbers.compare_numbers` returns them.
    overlap: pl.DataFrame
    numbers: pl.DataFrame
    # Pairs of offline metrics whose difference is significant (p_adjusted < 0.05) in one run, and in the
    # other not significant or of the other sign: one row per market, depth, judge, click metric and pair.
    flips: pl.DataFrame
    # Click metrics by which another metric or baseline is highest now; `significant` where each of the two is
    # significantly better than the other (p_adjusted < 0.05) in the run that it leads.
    highest: pl.DataFrame
    # samples, clicks: Samples of B, the largest first, and the click metrics that its verdict is about.
    samples: tuple[SampleKey, ...]
    clicks: tuple[str, ...]

    @property
    def names(self) -> tuple[str, str]:
        """What the runs are called: the ends of their paths that differ; of one and the same run A and B."""
        a, b = (folder.resolve().parts for folder in (self.a, self.b))
        least = next((n for n in range(1, max(len(a), len(b)) + 1) if a[-n:] != b[-n:]), None)
        if Path() in (self.a, self.b) or least is None:
            return "A", "B"
        one, two = (visible("/".join(parts[-least:]), limit=MOST_OF_NAME) for parts in (a, b))
        return one, two


def compare_runs(a: Run | Path, b: Run | Path, options: DiffOptions | None = None) -> RunComparison:
    """Compare two runs, or their folders; ReportError if broken, SettingsError if options fit neither."""
    options, runs = options or DiffOptions(), (read_for_comparison(a), read_for_comparison(b))
    # in full where a run has it
    named = [max({run.click_named(name) for run in runs}, key=len) for name in options.click_metrics]
    options = replace(options, click_metrics=tuple(named))
    options.check(runs)
    numbers, overlap = compare_numbers(runs, options)
    return RunComparison(
        a=runs[0].folder,
        b=runs[1].folder,
        decisions=(_decision(runs[0]), _decision(runs[1])),
        entries=entries(*runs),
        sizes=_sizes(*(options.rows(run.tables["statistics"]) for run in runs)),
        overlap=overlap,
        numbers=numbers,
        flips=_flips(*(options.rows(run.tables["comparisons"]) for run in runs)),
        highest=_highest(runs, options),
        samples=tuple(largest_samples(runs[1].tables[STATISTICS.name])),
        clicks=runs[1].settings.click_metric,
    )


def _decision(run: Run) -> Row | None:
    return next(run.tables["verdict"].filter(place=1).iter_rows(named=True), None)


def _sizes(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    long = [
        frame.select(*SAMPLE_COLUMNS, pl.col(_SIZES).cast(pl.Float64)).unpivot(
            index=SAMPLE_COLUMNS, variable_name="quantity"
        )
        for frame in (a, b)
    ]
    joined = long[0].join(long[1], on=[*SAMPLE_COLUMNS, "quantity"], how="full", suffix="_b", coalesce=True)
    order = pl.col("quantity").replace_strict({name: place for place, name in enumerate(_SIZES)})
    return joined.sort(*SAMPLE_COLUMNS, order).select(
        *SAMPLE_COLUMNS,
        "quantity",
        pl.col("value").alias("a"),
        pl.col("value_b").alias("b"),
        (pl.col("value_b") - pl.col("value")).alias("change"),
    )


def _flips(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    place = (*SAMPLE_COLUMNS, "click_metric", "metric_a", "metric_b")
    joined = _ordered(a).join(_ordered(b), on=place, suffix="_b")
    # 1 or -1 where the first or second metric is significantly better, else 0
    was, now = (
        pl.when((pl.col(f"p_adjusted{suffix}") < ALPHA).fill_null(False))
        .then(pl.col(f"difference{suffix}").sign())
        .otherwise(0.0)
        .fill_null(0.0)
        for suffix in ("", "_b")
    )
    what = (
        pl.when(was * now < 0).then(pl.lit(REVERSED))
        .when(was == 0).then(pl.lit(GAINED)).otherwise(pl.lit(LOST))
    )  # fmt: skip
    flipped = joined.filter(was != now).with_columns(what=what)
    return flipped.sort(pl.col("what") != REVERSED, *place).select(
        *place,
        pl.col("difference").alias("difference_a"),
        "difference_b",
        pl.col("p_adjusted").alias("p_adjusted_a"),
        "p_adjusted_b",
        "what",
    )


def _ordered(frame: pl.DataFrame) -> pl.DataFrame:
    """Name the pairs in alphabetical order: two runs may list their metrics in different orders."""
    turned = pl.col("metric_a") > pl.col("metric_b")
    return frame.select(
        *SAMPLE_COLUMNS,
        "click_metric",
        pl.min_horizontal("metric_a", "metric_b"),
        pl.max_horizontal("metric_a", "metric_b").alias("metric_b"),
        pl.when(turned).then(-pl.col("difference")).otherwise("difference").alias("difference"),
        "p_adjusted",
    )


def _highest(runs: Sequence[Run], options: DiffOptions) -> pl.DataFrame:
    """Return `RunComparison.highest`, over all metrics, not only the metrics of the options."""
    place = (*SAMPLE_COLUMNS, "click_metric")
    a, b = (
        run.tables["correlations"]
        .filter(pl.col("split") == EVERY, pl.col("correlation").is_not_null())
        .sort("correlation", "editorial_metric", descending=[True, False])
        .unique(place, keep="first", maintain_order=True)
        .select(*place, "editorial_metric", "correlation")
        for run in runs
    )
    joined = a.join(b, on=place, suffix="_b").sort(place)
    changed = joined.filter(pl.col("editorial_metric") != pl.col("editorial_metric_b"))
    if options.metrics:
        either = pl.col("editorial_metric", "editorial_metric_b").is_in(options.metrics)
        changed = changed.filter(pl.any_horizontal(either))
    reversals = _flips(*(run.tables["comparisons"] for run in runs)).filter(what=REVERSED)
    reversed_ = reversals.select(*place, "metric_a", "metric_b", significant=pl.lit(True))
    changed = (
        changed.with_columns(
            metric_a=pl.min_horizontal("editorial_metric", "editorial_metric_b"),
            metric_b=pl.max_horizontal("editorial_metric", "editorial_metric_b"),
        )
        .join(reversed_, on=[*place, "metric_a", "metric_b"], how="left", maintain_order="left")
        .with_columns(pl.col("significant").fill_null(False))
    )
    return (
        replace(options, metrics=())
        .rows(changed)
        .select(
            *place,
            pl.col("editorial_metric").alias("highest_a"),
            pl.col("correlation").alias("correlation_a"),
            pl.col("editorial_metric_b").alias("highest_b"),
            pl.col("correlation_b"),
            "significant",
        )
    )
