"""A pattern table and judgments to every table of a run: the order of the stages after the log."""

from pathlib import Path

import numpy as np
import polars as pl

from clickassay.core.contracts.correlation import COMPARISONS, CORRELATIONS, DIFFERENCES, DRAWS, INFLUENCE
from clickassay.core.contracts.patterns import FUNNEL
from clickassay.core.contracts.run import CONFIGURATIONS, RUN_QUERIES, RUN_TABLES
from clickassay.core.privacy import with_digests
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Sample
from clickassay.core.settings import Settings
from clickassay.correlation.classes import query_splits
from clickassay.correlation.comparisons import comparisons
from clickassay.correlation.influence import influence
from clickassay.correlation.judges import agreement, confusion, judge_comparisons
from clickassay.correlation.tables import correlations, differences
from clickassay.correlation.weighted import sample_moments
from clickassay.inputs.columns import JUDGMENTS, QUERIES
from clickassay.inputs.normalise import normalise_query
from clickassay.inputs.tables import Input, collected, read_input
from clickassay.jobs.click_models import click_tables
from clickassay.jobs.strata import (
    DROP,
    judgments_by_rule,
    main_rule,
    measured_cells,
    parted,
    to_judge,
    unjudged_table,
)
from clickassay.judgments.prepare import judged_queries, prepare_judgments
from clickassay.metrics.scoring import Measurements
from clickassay.patterns.table import PatternTable, check_depths, check_judged

Frames = dict[str, pl.DataFrame]


OF_THE_LOG = ("idle_minutes", "idle_scope", "normalise_urls", "folds", "only_judged")
"""Settings that took effect when the pattern table was made."""


def analyse(
    table: PatternTable,
    judgments: str | Path,
    queries: str | Path | None,
    settings: Settings,
    *,
    progress: Progress = silent,
) -> Frames:
    """Join a pattern table with judgments and compute every table of a run (method 10).

    Parameters
    ----------
    table
        The pattern table of a log.
    judgments, queries
        A file, folder or glob each; `queries` holds attributes to split by and may be None.

    Returns
    -------
    Frames by table name, in the forms of `contracts.run.RUN_TABLES`.
    """
    return analyse_tables(
        table, read_input("judgments", judgments, JUDGMENTS), query_attributes(queries), settings, progress
    )


def analyse_tables(
    table: PatternTable,
    judgments: Input,
    attributes: pl.DataFrame | None,
    settings: Settings,
    progress: Progress,
) -> Frames:
    """Do what `analyse` does with judgments that are open and attributes that are read."""
    check_depths(table, settings.depth)
    settings = as_the_log(table, settings)
    progress(Event("reading judgments"))
    rows, by_market = collected(judgments), "market" in judgments.columns
    graded = prepare_judgments(rows, table.queries, settings, by_market=by_market)
    check_judged(table, judged_queries(rows, by_market=by_market))
    parts = parted(table, settings)
    passes = {
        rule: measured_cells(parts, judgments, settings, progress, rule=rule)
        for rule, judgments in judgments_by_rule(parts, graded, settings).items()
    }
    measured = passes[main_rule(settings)].measured
    samples = [sample for cell in measured for sample in cell.samples]
    configurations = pl.concat([cell.configurations for cell in measured])
    proposed = to_judge(parts, graded, settings, progress)
    frames = {
        "statistics": pl.concat([cell.statistics for cell in measured]),
        "funnel": _funnel(table, graded.funnel, measured, settings),
        "configurations": configurations,
        "patterns": _distinct([cell.patterns for cell in measured]),
        "queries": _queries(table, configurations, proposed),
        **_correlated(samples, attributes, settings, progress, draws=_no_draws(configurations)),
        "cascade_effects": pl.concat(passes[DROP].cascade_effects),
        "agreement": agreement(graded.grades, max_grade=settings.max_grade),
        "confusion": confusion(graded.grades),
        "judge_comparisons": judge_comparisons(samples),
        **_clicked(passes[DROP].measured, settings, progress),
        "next_judgments": proposed,
        "conventions": pl.concat(passes[main_rule(settings)].conventions),
        "unjudged": unjudged_table({rule: cells.measured for rule, cells in passes.items()}),
    }
    return {table.name: table.canonical(frames[table.name]) for table in RUN_TABLES}


def _clicked(judged: list[Measurements], settings: Settings, progress: Progress) -> Frames:
    """Fit click models on lists that were judged in full: no grade of them is made from clicks."""
    configurations = pl.concat([cell.configurations for cell in judged])
    return click_tables(configurations, _distinct([cell.patterns for cell in judged]), settings, progress)


def _queries(table: PatternTable, *told: pl.DataFrame) -> pl.DataFrame:
    """Return at least how many users issued each query that other tables tell of."""
    named = pl.concat(frame.select("market", "query") for frame in told).unique()
    judged = table.queries.join(named, on=["market", "query"], how="semi")
    users = pl.col("user_buckets").bitwise_count_ones().cast(pl.Int32)
    known = judged.select("market", "query", users.alias("users_at_least"))
    return RUN_QUERIES.canonical(with_digests(known))


def _no_draws(configurations: pl.DataFrame) -> pl.DataFrame:
    """Return `draws` without rows, with a column for each metric of the configurations."""
    metrics = configurations.columns[len(CONFIGURATIONS.columns) :]
    return DRAWS.empty().with_columns(pl.lit(None, pl.Float64).alias(name) for name in metrics)


def _distinct(cells: list[pl.DataFrame]) -> pl.DataFrame:
    """Put the patterns of all depths and judges together, those of a configuration once."""
    whole = cells[0]
    for cell in cells[1:]:
        new = cell.join(whole.select("configuration_id").unique(), on="configuration_id", how="anti")
        whole = pl.concat([whole, new])
    return whole


def _correlated(
    samples: list[Sample],
    attributes: pl.DataFrame | None,
    settings: Settings,
    progress: Progress,
    *,
    draws: pl.DataFrame,
) -> Frames:
    rng = np.random.default_rng(settings.seed)
    forms = (CORRELATIONS, DIFFERENCES, COMPARISONS, INFLUENCE)
    found = [{"draws": draws, **{form.name: form.empty() for form in forms}}]
    for number, sample in enumerate(samples):
        progress(
            Event(f"correlating market {sample.key.market}, depth {sample.key.depth}", number / len(samples))
        )
        splits, _ = query_splits(sample, attributes)
        moments = sample_moments(sample)
        ranked, drawn = differences(sample, iterations=settings.iterations, rng=rng)
        found.append(
            {
                "correlations": correlations(sample, splits, moments),
                "differences": ranked,
                "draws": drawn,
                "comparisons": comparisons(sample, moments),
                "influence": influence(sample, moments),
            }
        )
    return {name: pl.concat([part[name] for part in found]) for name in found[0]}


def _funnel(
    table: PatternTable, judgments: pl.DataFrame, measured: list[Measurements], settings: Settings
) -> pl.DataFrame:
    log = table.funnel.filter(pl.col("depth").is_in([0, *settings.depth]))
    return FUNNEL.canonical(pl.concat([log, judgments, *(cell.funnel for cell in measured)]))


def query_attributes(queries: str | Path | None) -> pl.DataFrame | None:
    """Read query attributes, normalised like the log's queries; rows that become the same collapse."""
    if queries is None:
        return None
    table = read_input("queries", queries, QUERIES, keep_others=True)
    rows = collected(table).drop_nulls("query")
    normal = pl.Series("query", [normalise_query(query) for query in rows["query"]], dtype=pl.String)
    rows = rows.with_columns(normal)
    return rows if "market" in table.columns else rows.drop("market")


def as_the_log(table: PatternTable, settings: Settings) -> Settings:
    """Bring judgments to the normal form that the log's texts have."""
    used = table.info.get("settings", {})
    return settings.model_copy(update={"normalise_urls": used.get("normalise_urls", settings.normalise_urls)})
