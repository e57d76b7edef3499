"""The A/B tests of a log, as tables of its run."""

from collections.abc import Sequence
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
from clickassay.patterns.arms import arms_of, interleaved_of
from clickassay.patterns.digests import configuration_ids
from clickassay.patterns.table import StagedTable
from clickassay.studies.experiments.arms import Rankings
from clickassay.studies.experiments.interleaving import Drafts
from clickassay.studies.experiments.log import experiments_of_log
from clickassay.studies.experiments.of_run import depth_of_tests, metric_of_tests
from clickassay.studies.experiments.parts import LogOptions


def with_tests(run: Run, findings: Findings, table: StagedTable, progress: Progress) -> Run:
    """Return a run with what its metrics say of the tests of its log; the same run where it has none.

    Raises SettingsError if the control of a test is not known.
    """
    tables, drafted, settings = arms_of(table), interleaved_of(table), run.settings
    known = () if tables is None else tables.experiments
    known += () if drafted is None else tuple(drafted["experiment"].unique().sort())
    for name in settings.tests:
        if name not in known:  # it may not have begun
            remedy = did_you_mean(name, known) if known else "its searches have no column variant, and there "
            remedy += "" if known else "are no assignments"
            progress(Event(f"[{TESTS}.{visible(name)}]: no such test in the log; {remedy}", note=True))
    if tables is None and drafted is None:
        return run
    depth, metric = depth_of_tests(run), metric_of_tests(run, findings)
    progress(Event(f"comparing the arms of {len(known)} tests"))
    parts = (None if tables is None else tables.patterns, drafted)
    shown = _rankings(table, [rows["configuration_id"] for rows in parts if rows is not None], depth)
    full = shown.drop_nulls("cut")
    lists = with_unit(full.drop("configuration_id").unique().sort("cut"), run.tables["queries"])
    values = run.tables["configurations"]
    metrics = [name for name in dict.fromkeys([*run.editorial, metric]) if name in values.columns]
    rankings = Rankings.of(lists.rename({"cut": "configuration_id"}), values, metrics, depth, settings)
    options = LogOptions(
        metric, run.click, settings.effect_margin, settings.min_users, tuple(sorted(settings.ratings)),
        every_ranking=table.judged_queries is None,
    )  # fmt: skip
    first = None if tables is None else tables.at_depth(depth, full.select("configuration_id", "cut"))
    drafts = None if drafted is None else Drafts.of(drafted, shown, values, metrics, depth, settings)
    found = experiments_of_log(first, rankings, settings.tests, options, drafts)
    to_judge = _with_texts(found.to_judge, table, full, depth)
    frames = (found.experiments, found.checks, found.judges, to_judge, found.preferences)
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


def _rankings(table: StagedTable, ids: Sequence[pl.Series], depth: int) -> pl.DataFrame:
    """Return rankings of tests, judged or not: configuration_id, market, query, `cut` (null if too short)."""
    wanted = pl.concat(ids).unique().alias("configuration_id").to_frame()
    own = pl.col("configuration_id", "market", "query")
    parts = [pl.DataFrame(schema=dict.fromkeys(("configuration_id", "market", "query", "cut"), pl.String))]
    for piece in table.configurations:
        rows = piece.join(wanted, on="configuration_id", how="semi")
        top = rows.select("market", "query", pl.col("results").list.head(depth))
        is_long = rows["results"].list.len() >= depth
        parts.append(rows.select(own, cut=pl.when(is_long).then(configuration_ids(top))))
    return pl.concat(parts)
