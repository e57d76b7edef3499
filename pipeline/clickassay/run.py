"""The only place that knows the order of the stages; each stage is one line."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from clickassay.contracts import (
    COMPARISONS,
    CONFIGURATIONS,
    CORRELATIONS,
    DIFFERENCES,
    DRAWS,
    FUNNEL,
    INFLUENCE,
    RUN_QUERIES,
    RUN_TABLES,
)
from clickassay.correlation.classes import left_out_columns, query_splits
from clickassay.correlation.comparisons import comparisons
from clickassay.correlation.influence import influence
from clickassay.correlation.judges import agreement, confusion, judge_comparisons
from clickassay.correlation.tables import correlations, differences_and_draws
from clickassay.correlation.weighted import sample_moments
from clickassay.database import write_database
from clickassay.digests import digest, run_key
from clickassay.errors import PatternError
from clickassay.inputs import (
    JUDGMENTS,
    QUERIES,
    Input,
    read_input,
)
from clickassay.judgments import judged_queries, prepare_judgments
from clickassay.log_funnel import check_log
from clickassay.measure import Measured
from clickassay.metrics.catalogue import report_measures
from clickassay.normalise import normalise_query
from clickassay.patterns import PatternTable, check_depths, check_judged, read_patterns, write_table
from clickassay.patterns_written import is_written
from clickassay.progress import Progress, silent
from clickassay.publish import check_apart, check_free, published_folder
from clickassay.run_measured import (
    DROP,
    judgments_by_rule,
    main_rule,
    measured_cells,
    parted,
    to_judge,
    unjudged_table,
)
from clickassay.run_models import click_tables, run_models
from clickassay.run_patterns import collected, log_to_patterns, plain_settings, versions, writing_tables
from clickassay.run_without_judgments import nothing_told, without_judgments
from clickassay.sample import Sample
from clickassay.settings import Settings
from clickassay.store import PatternStore
from clickassay.store_files import MARK

Frames = dict[str, pl.DataFrame]


@dataclass(frozen=True)
class Finished:
    """What a finished run has to say.

    Attributes
    ----------
    findings
        The main findings of the report.
    undecided
        Lines that say what there is where judgments are too few for any correlation; else empty.
    """

    findings: tuple[str, ...]
    undecided: tuple[str, ...]


def analyse(
    table: PatternTable,
    judgments: str | Path,
    queries: str | Path | None,
    settings: Settings,
    *,
    progress: Progress = silent,
) -> Frames:
    """Join a pattern table with judgments and compute every table of a run (contract 10).

    Parameters
    ----------
    table
        The pattern table of a log.
    judgments, queries
        A file, folder or glob each; `queries` holds attributes to split by and may be None.

    Returns
    -------
    Frames by table name, in the forms of `contracts.RUN_TABLES`.
    """
    return _analyse(
        table, read_input("judgments", judgments, JUDGMENTS), _attributes(queries), settings, progress
    )


def _analyse(
    table: PatternTable,
    judgments: Input,
    attributes: pl.DataFrame | None,
    settings: Settings,
    progress: Progress,
) -> Frames:
    check_depths(table, settings.depth)
    settings = _as_the_log(table, settings)
    progress("reading judgments", None)
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
        "collapses": pl.concat(passes[DROP].collapses),
        "agreement": agreement(graded.grades, max_grade=settings.max_grade),
        "confusion": confusion(graded.grades),
        "judge_comparisons": judge_comparisons(samples),
        **_clicked(passes[DROP].measured, settings, progress),
        "next_judgments": proposed,
        "conventions": pl.concat(passes[main_rule(settings)].conventions),
        "unjudged": unjudged_table({rule: cells.measured for rule, cells in passes.items()}),
    }
    return {table.name: table.canonical(frames[table.name]) for table in RUN_TABLES}


def _clicked(judged: list[Measured], settings: Settings, progress: Progress) -> Frames:
    """Fit click models on lists that were judged in full: no grade of them is made from clicks."""
    configurations = pl.concat([cell.configurations for cell in judged])
    return click_tables(configurations, _distinct([cell.patterns for cell in judged]), settings, progress)


def _queries(table: PatternTable, *told: pl.DataFrame) -> pl.DataFrame:
    """Return at least how many users issued each query that other tables tell of."""
    named = pl.concat(frame.select("market", "query") for frame in told).unique()
    judged = table.queries.join(named, on=["market", "query"], how="semi")
    users = pl.col("user_buckets").bitwise_count_ones().cast(pl.Int32)
    known = judged.select("market", "query", users.alias("users_at_least"))
    key = run_key(known)
    digests = [digest(key, *row) for row in known.select("market", "query").iter_rows()]
    return RUN_QUERIES.canonical(known.with_columns(pl.Series("digest", digests, dtype=pl.String)))


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
    found: dict[str, list[pl.DataFrame]] = {
        "correlations": [CORRELATIONS.empty()],
        "differences": [DIFFERENCES.empty()],
        "draws": [draws],
        "comparisons": [COMPARISONS.empty()],
        "influence": [INFLUENCE.empty()],
    }
    for number, sample in enumerate(samples):
        progress(f"correlating market {sample.market}, depth {sample.depth}", number / len(samples))
        splits, _ = query_splits(sample, attributes)
        moments = sample_moments(sample)
        found["correlations"].append(correlations(sample, splits, moments))
        ranked, drawn = differences_and_draws(sample, iterations=settings.iterations, rng=rng)
        found["differences"].append(ranked)
        found["draws"].append(drawn)
        found["comparisons"].append(comparisons(sample, moments))
        found["influence"].append(influence(sample, moments))
    return {name: pl.concat(frames) for name, frames in found.items()}


def _funnel(
    table: PatternTable, judgments: pl.DataFrame, measured: list[Measured], settings: Settings
) -> pl.DataFrame:
    log = table.funnel.filter(pl.col("depth").is_in([0, *settings.depth]))
    return FUNNEL.canonical(pl.concat([log, judgments, *(cell.funnel for cell in measured)]))


def _attributes(queries: str | Path | None) -> pl.DataFrame | None:
    """Read query attributes, normalised like the log's queries; rows that become the same collapse."""
    if queries is None:
        return None
    table = read_input("queries", queries, QUERIES, keep_others=True)
    rows = collected(table).drop_nulls("query")
    normal = pl.Series("query", [normalise_query(query) for query in rows["query"]], dtype=pl.String)
    rows = rows.with_columns(normal)
    return rows if "market" in table.columns else rows.drop("market")


def make_report(
    patterns: Path,
    judgments: str,
    queries: str | None,
    out: Path,
    settings: Settings,
    *,
    command: str = "",
    force: bool = False,
    progress: Progress = silent,
) -> Finished:
    """Turn a stored pattern table and judgments into a run folder; return what there is to say."""
    check_apart(out, patterns, judgments, queries)
    check_free(out, force=force)
    _check_names(settings)
    if (patterns / MARK).is_file():
        table = PatternStore(patterns).table()
        check_log(table.funnel, settings.max_rejected)
    else:
        table = read_patterns(patterns)
        _check_info(table, patterns)
        if is_written(patterns):
            check_log(table.funnel, settings.max_rejected)
    with published_folder(out, force=force) as folder:
        return _write_run(table, judgments, queries, folder, settings, command, progress)


def _check_names(settings: Settings) -> None:
    """Refuse misspelt metrics and click models: they should not cost the time of what follows."""
    report_measures(settings)
    run_models(settings)


def _check_info(table: PatternTable, folder: Path) -> None:
    """Refuse a pattern table whose settings.json was changed by hand to something else."""
    info = table.info
    whole = isinstance(info.get("stored_depth"), int) and isinstance(info.get("inputs"), dict)
    used = info.get("settings")
    if not whole or not isinstance(used, dict) or not used.keys() >= set(_OF_THE_LOG):
        raise PatternError(
            f"pattern table {folder} is broken: its settings.json lacks what `clickassay patterns` wrote; "
            "make it again"
        )


def make_run(  # noqa: PLR0913 - the whole job has this many inputs
    searches: str,
    clicks: str,
    judgments: str,
    queries: str | None,
    out: Path,
    settings: Settings,
    *,
    command: str = "",
    force: bool = False,
    progress: Progress = silent,
) -> Finished:
    """Turn logs and judgments into a run folder; return what there is to say."""
    check_apart(out, searches, clicks, judgments, queries)
    read_input("judgments", judgments, JUDGMENTS)  # a misspelt path should not cost the time of the big step
    _check_names(settings)
    _attributes(queries)
    with published_folder(out, force=force) as folder:
        table = log_to_patterns(
            searches, clicks, settings, judgments=judgments, work=folder, progress=progress
        )
        return _write_run(table, judgments, queries, folder, settings, command, progress)


def _write_run(
    table: PatternTable,
    judgments: str,
    queries: str | None,
    folder: Path,
    settings: Settings,
    command: str,
    progress: Progress,
) -> Finished:
    graded, attributes = read_input("judgments", judgments, JUDGMENTS), _attributes(queries)
    frames = _analyse(table, graded, attributes, settings, progress)
    info = _info(table, graded, queries, attributes, settings, command)
    progress("writing tables", None)
    with writing_tables():
        for contract in RUN_TABLES:
            write_table(frames[contract.name], folder / f"{contract.name}.parquet")
        write_database(frames, folder / "run.duckdb")
        # backslashreplace: a path may hold bytes that are no text, and JSON spells them the same way
        (folder / "settings.json").write_text(_json(info), encoding="utf-8", errors="backslashreplace")
    progress("drawing the report", None)
    from clickassay.report.render import write_report  # noqa: PLC0415 - charts take a second to import

    return Finished(write_report(frames, info, folder), _undecided(table, graded, settings, frames))


def _undecided(table: PatternTable, judgments: Input, settings: Settings, frames: Frames) -> tuple[str, ...]:
    if not nothing_told(frames):
        return ()
    settings = _as_the_log(table, settings)
    by_market = "market" in judgments.columns
    graded = prepare_judgments(collected(judgments), table.queries, settings, by_market=by_market)
    return without_judgments(table, graded, settings, frames)


def _info(
    table: PatternTable,
    judgments: Input,
    queries: str | None,
    attributes: pl.DataFrame | None,
    settings: Settings,
    command: str,
) -> dict[str, Any]:
    inputs = {**table.info["inputs"], "judgments": judgments.fingerprint()}
    if queries is not None:
        inputs["queries"] = read_input("queries", queries, QUERIES, keep_others=True).fingerprint()
    log_settings = {name: table.info["settings"][name] for name in _OF_THE_LOG}
    return {
        "settings": {**plain_settings(settings), **log_settings},
        "stored_depth": table.stored_depth,
        "inputs": inputs,
        "versions": versions(),
        "command": command,
        "seed": settings.seed,
        "has_navigational": attributes is not None and "navigational" in attributes.columns,
        "skipped_attributes": [] if attributes is None else list(left_out_columns(attributes)),
        "notes": [],
    }


_OF_THE_LOG = ("idle_minutes", "idle_scope", "normalise_urls", "folds", "only_judged")
"""Settings that took effect when the pattern table was made."""


def _as_the_log(table: PatternTable, settings: Settings) -> Settings:
    """Bring judgments to the normal form that the log's texts have."""
    used = table.info.get("settings", {})
    return settings.model_copy(update={"normalise_urls": used.get("normalise_urls", settings.normalise_urls)})


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
