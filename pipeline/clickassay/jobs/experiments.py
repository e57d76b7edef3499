"""The A/B tests of a log, as tables of its run."""

from dataclasses import replace
from types import MappingProxyType

import polars as pl
import polars.selectors as cs

from clickassay.core.contracts.experiments import EXPERIMENT_TO_JUDGE
from clickassay.core.contracts.run import TABLES_OF_TESTS
from clickassay.core.progress import Event, Progress
from clickassay.core.settings.of_tests import TESTS
from clickassay.core.text.words import did_you_mean, visible
from clickassay.correlation.classes import with_unit
from clickassay.findings.draw import Findings
from clickassay.findings.run import Run
from clickassay.patterns.arms import ArmTables, arms_of
from clickassay.patterns.digests import configuration_ids
from clickassay.patterns.table import StagedTable
from clickassay.studies.experiments.arms import Rankings
from clickassay.studies.experiments.log import LogOptions, experiments_of_log
from clickassay.studies.experiments.of_run import depth_of_tests, metric_of_tests


def with_tests(run: Run, findings: Findings, table: StagedTable, progress: Progress) -> Run:
    """Return a run with what its metrics say of the tests of its log; the same run where it has none.

    Raises SettingsError if the control of a test is not known.
    """
    tables, settings = arms_of(table), run.settings
    known = () if tables is None else tables.experiments
    for name in settings.tests:
        if name not in known:  # it may not have begun
            remedy = did_you_mean(name, known) if known else "its searches have no column variant, and there "
            remedy += "" if known else "are no assignments"
            progress(Event(f"[{TESTS}.{visible(name)}]: no such test in the log; {remedy}", note=True))
    if tables is None:
        return run
    depth, metric = depth_of_tests(run), metric_of_tests(run, findings)
    progress(Event(f"comparing the arms of {len(tables.experiments)} A/B tests"))
    shown = _rankings(table, tables, depth)
    lists = with_unit(shown.drop("configuration_id").unique().sort("cut"), run.tables["queries"])
    values = run.tables["configurations"]
    metrics = [name for name in dict.fromkeys([*run.editorial, metric]) if name in values.columns]
    rankings = Rankings.of(lists.rename({"cut": "configuration_id"}), values, metrics, depth, settings)
    options = LogOptions(
        metric, run.click, settings.effect_margin, settings.min_users, tuple(sorted(settings.ratings)),
        every_ranking=table.judged_queries is None,
    )  # fmt: skip
    first = tables.at_depth(depth, shown.select("configuration_id", "cut"))
    found = experiments_of_log(first, rankings, settings.tests, options)
    frames = (found.experiments, found.checks, found.judges, _with_texts(found.to_judge, table, shown, depth))
    own = {
        form.name: rows.with_columns(cs.float().fill_nan(None))
        for form, rows in zip(TABLES_OF_TESTS, frames, strict=True)
    }
    return replace(run, tables=MappingProxyType({**run.tables, **own}))


def _with_texts(to_judge: pl.DataFrame, table: StagedTable, shown: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return the rankings to judge with their markets, queries and results."""
    ids = shown.join(to_judge, left_on="cut", right_on="configuration_id", how="semi").unique("cut")
    parts = [EXPERIMENT_TO_JUDGE.empty().select("configuration_id", "results")]
    for piece in table.configurations if ids.height else ():
        own = piece.join(ids, on="configuration_id").with_columns(pl.col("results").list.head(depth))
        parts.append(own.select(configuration_id="cut", results="results"))
    texts = pl.concat(parts).join(
        ids.select("market", "query", configuration_id="cut"), on="configuration_id"
    )
    return EXPERIMENT_TO_JUDGE.canonical(to_judge.join(texts, on="configuration_id"))


def _rankings(table: StagedTable, tables: ArmTables, depth: int) -> pl.DataFrame:
    """Return long enough rankings of tests, judged or not: configuration_id, market, query, `cut`."""
    ids = tables.patterns.select("configuration_id").unique()
    own = pl.col("configuration_id", "market", "query")
    parts = [pl.DataFrame(schema=dict.fromkeys(("configuration_id", "market", "query", "cut"), pl.String))]
    for piece in table.configurations:
        rows = piece.filter(pl.col("results").list.len() >= depth).join(
            ids, on="configuration_id", how="semi"
        )
        top = rows.select("market", "query", pl.col("results").list.head(depth))
        parts.append(rows.select(own, configuration_ids(top).alias("cut")))
    return pl.concat(parts)
