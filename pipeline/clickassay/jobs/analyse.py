"""From a pattern table and judgments to every table of a run: the order of the stages after the log."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from clickassay.core.contracts.correlation import (
    COMPARISONS,
    CORRELATIONS,
    DIFFERENCE_COMPARISONS,
    DIFFERENCES,
    DRAWS,
    INFLUENCE,
    WITHIN,
    WITHIN_COMPARISONS,
    WITHIN_INFLUENCE,
)
from clickassay.core.contracts.run import ANALYSED_TABLES, CONFIGURATIONS, RUN_QUERIES
from clickassay.core.errors import InputError, SettingsError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import Sample, Split
from clickassay.core.settings import OF_DWELL_TIMES, RATING, SUM, Settings, kinds_named
from clickassay.core.text.privacy import with_digests
from clickassay.core.text.words import did_you_mean, listed
from clickassay.correlation.agreement import judge_comparisons, judges_of_run
from clickassay.correlation.classes import groups_of, query_splits, unsplit, with_unit, with_units
from clickassay.correlation.comparisons import comparisons, difference_comparisons, within_comparisons
from clickassay.correlation.disagreements import judge_disagreements
from clickassay.correlation.influence import influence, within_influence
from clickassay.correlation.tables import correlations, differences, estimated_correlations, within
from clickassay.correlation.weighted import sample_moments
from clickassay.correlation.within.groups import QueryGroups, all_markets, query_groups
from clickassay.health.checks import STOP, Numbers, health_table
from clickassay.jobs.click_models import click_tables
from clickassay.jobs.health import in_order, judged_log, log_measures, run_health
from clickassay.jobs.inputs import Inputs, Sources, with_judgments
from clickassay.jobs.strata import (
    DROP,
    Strata,
    judgments_by_rule,
    main_rule,
    measure_strata,
    next_judgments_table,
    split_users,
    unjudged_table,
)
from clickassay.judgments import prepare
from clickassay.judgments.ips import bias_table
from clickassay.judgments.relevance import refuse_own_clicks, with_click_judge
from clickassay.judgments.scores import Scores, of_searches, prepare_scores
from clickassay.metrics.clicks import CLICK_METRICS, counted_clicks, named_click, signal_of
from clickassay.metrics.scoring import formed_sessions, headline_clicks
from clickassay.patterns.funnel import share_by_last_click, shows_both_ways
from clickassay.patterns.health import SEARCHES_BY_DAY
from clickassay.patterns.table import PatternTable, StagedTable, check_depths, check_judged

Frames = dict[str, pl.DataFrame]


def analyse(table: PatternTable, sources: Sources, settings: Settings, progress: Progress = silent) -> Frames:
    """Join a pattern table with judgments; return the run's `contracts.run.ANALYSED_TABLES` (method 10)."""
    inputs = with_judgments(Inputs(), sources, settings, progress)
    frames, _ = analyse_tables(table.staged(), inputs, settings, progress)
    return {table.name: table.canonical(frames[table.name]) for table in ANALYSED_TABLES}


def analyse_tables(
    table: StagedTable, inputs: Inputs, settings: Settings, progress: Progress
) -> tuple[Frames, prepare.Judgments]:
    """Compute the tables of `analyse`, rows in any order, and the usable judgments, from open inputs.

    Raises InputError if a check of the log's health says that it is no use to go on.
    """
    measures, queries, settings = _checked(table, inputs, settings)
    progress(Event("joining judgments"))
    attributes = None if inputs.queries is None else inputs.queries.rows
    rows, by_market = inputs.graded().rows, inputs.graded().by_market
    graded = prepare.prepare_judgments(rows, queries, settings, by_market=by_market)
    judged = prepare.judged_queries(rows, by_market=by_market)
    check_judged(table, judged)
    progress(Event("reading the pattern table"))
    scores = _scores(inputs, table, settings)
    if scores is not None and settings.current in scores.names:  # it is there already
        settings = settings.model_copy(update={"current": None})
    split, formed = split_users(table, judged, settings), formed_sessions(table.funnel)
    lists = (split.evaluation, split.fitting)
    refuse_own_clicks(rows, lists, normalise_urls=settings.normalise_urls)
    people = graded
    if settings.click_judge is not None and split.fitting is not None:
        people, graded = with_click_judge(graded, split.fitting, settings)
    _check_clicks(table, settings)
    strata_by_rule = {
        rule: measure_strata(split, formed, judgments, settings, progress, rule=rule, scores=scores)
        for rule, judgments in judgments_by_rule(split, graded, settings).items()
    }
    main, in_full = strata_by_rule[main_rule(settings)], strata_by_rule[DROP]
    named = judged_log(table, split.evaluation, graded, judged)
    proposed = next_judgments_table(split, formed, people, named.in_other_form, settings, progress)
    groups = groups_of(queries, attributes)
    every = [with_units(sample, groups) for sample in main.samples]
    samples = [headline_clicks(sample, settings) for sample in every]
    days = table.health.filter(name=SEARCHES_BY_DAY)["key"]
    first_day, last_day = (pl.lit(day, pl.Int32).cast(pl.Date) for day in (days.min(), days.max()))
    statistics = pl.concat([one.statistics for one in main.measurements])
    funnels = [table.funnel.filter(pl.col("depth").is_in([0, *settings.depth])), graded.funnel]
    funnels += [] if scores is None else [scores.funnel(split.evaluation.configurations)]
    frames = {
        "statistics": statistics.with_columns(first_day=first_day, last_day=last_day),
        "funnel": pl.concat([*funnels, *(one.funnel for one in main.measurements)]),
        "configurations": main.configurations,
        "patterns": main.patterns,
        "shown": main.shown,
        "signals": main.signals,
        "outcomes": main.outcomes,
        "queries": _queries(queries, groups, main.configurations, proposed),
        **_correlate(every, main.configurations, attributes, settings, progress),
        "cascade_effects": pl.concat(in_full.cascade_effects),
        **_judges(samples, graded.grades, in_full, groups, settings),
        **click_tables(in_full.configurations, in_full.patterns, settings, progress),
        "next_judgments": proposed,
        "conventions": pl.concat(main.conventions),
        "position_bias": bias_table(split.biases),
        "unjudged": unjudged_table({rule: strata.measurements for rule, strata in strata_by_rule.items()}),
    }
    correlated = frames["correlations"]
    health = run_health(measures, table, split.evaluation, people, named, correlated, attributes, settings)
    frames["health"] = health_table(health)
    return frames, graded


def _checked(
    table: StagedTable, inputs: Inputs, settings: Settings
) -> tuple[Numbers, pl.DataFrame, Settings]:
    """Return the health of a log that is of use, its queries, and the settings as the log has them."""
    measures = log_measures(table, settings, inputs.log)
    stops = [one.text for one in in_order(measures, settings) if one.status == STOP]
    if stops:
        raise InputError("; ".join(stops))
    check_depths(table, settings.depth)
    settings = with_log_settings(table, settings)
    queries = pl.concat(table.queries)
    prepare.check_labels("searches", queries, settings)
    prepare.check_markets(queries["market"])
    return measures, queries, settings


def _check_clicks(table: StagedTable, settings: Settings) -> None:
    """Refuse click metrics of signals that the pattern table does not have, and a headline by convention."""
    has = [] if table.signals is None else table.signals["signal"].unique().sort().to_list()
    for name in counted_clicks(settings):
        signal = signal_of(name)
        if signal is not None and signal not in has:
            known = f"it has: {listed(has)}" if has else "it has only clicks"
            how = "request it by --signal when the log is read"
            if signal == OF_DWELL_TIMES[1]:
                how = "it is computed only where most satisfied clicks depend on --last-click satisfied"
            raise SettingsError(f"click metric {name}: the log has no signal {signal}; {known}; {how}")
    first = counted_clicks(settings)[0]
    if signal_of(first) == "satisfied" and shows_both_ways(table.funnel):
        share = share_by_last_click(table.funnel)
        raise SettingsError(
            f"click metric {first}: {share:.0%} of the satisfied clicks count as satisfied only because no "
            "later event follows; such a metric cannot be the headline; give column dwell_seconds, "
            "--last-click unsatisfied, or another --click-metric before it"
        )


def _scores(inputs: Inputs, table: StagedTable, settings: Settings) -> Scores | None:
    if inputs.scores is None:
        return None
    searches = None if inputs.log is None else inputs.log.searches.frame
    rows, has_market, unknown = of_searches(inputs.scores.rows, searches)
    by_market = has_market or inputs.scores.by_market
    return prepare_scores(rows, settings, by_market=by_market, deepest=table.stored_depth, unknown=unknown)


def _judges(
    samples: Sequence[Sample], grades: pl.DataFrame, in_full: Strata, groups: pl.DataFrame, settings: Settings
) -> Frames:
    """Return the tables that compare judges; queries of one group are one unit."""
    # on lists that were judged in full: none of their grades is made from clicks
    judged = with_unit(in_full.configurations, groups)
    by_rating = [
        [rated for sample in samples for rated in sample.each_rating([name])]
        for name in counted_clicks(settings)
    ]
    agreement, confusion = judges_of_run(with_unit(grades, groups), max_grade=settings.max_grade)
    return {
        "agreement": agreement,
        "confusion": confusion,
        "judge_comparisons": pl.concat(judge_comparisons(own) for own in (samples, *by_rating)),
        "judge_disagreements": judge_disagreements(judged, in_full.patterns),
    }


def _queries(log: pl.DataFrame, groups: pl.DataFrame, *tables: pl.DataFrame) -> pl.DataFrame:
    """Return the table `queries`: the users, at least, and the group of each query that other tables have."""
    named = pl.concat(frame.select("market", "query") for frame in tables).unique()
    judged = log.join(named, on=["market", "query"], how="semi")
    users = pl.col("user_buckets").bitwise_count_ones().cast(pl.Int32)
    known = judged.select("market", "query", users.alias("users_at_least"))
    return RUN_QUERIES.canonical(with_digests(known).join(groups, on=["market", "query"], how="left"))


def _correlate(
    samples: Sequence[Sample],
    configurations: pl.DataFrame,
    attributes: pl.DataFrame | None,
    settings: Settings,
    progress: Progress,
) -> Frames:
    rng = np.random.default_rng(settings.seed)
    forms = (CORRELATIONS, DIFFERENCES, COMPARISONS, DIFFERENCE_COMPARISONS, INFLUENCE)
    # `draws` has a column for each metric of the configurations that is drawn
    beside = {name for sample in samples for name in sample.click_names if name not in CLICK_METRICS}
    never = {name for sample in samples for name in (*sample.estimated, *sample.ratings)}
    never |= beside - {*counted_clicks(settings)}
    drawn = [name for name in configurations.columns[len(CONFIGURATIONS.columns) :] if name not in never]
    draws = DRAWS.empty().with_columns(pl.lit(None, pl.Float64).alias(name) for name in drawn)
    parts = [{"draws": draws, **{form.name: form.empty() for form in forms}}]
    groups: list[_Split] = []
    of_signals: list[_Split] = []
    of_ratings: dict[str, list[_Split]] = {}
    for number, every in enumerate(samples):
        sample = headline_clicks(every, settings)
        what = f"correlating market {sample.key.market}, depth {sample.key.depth}"
        progress(Event(what, number / len(samples)))
        splits, _ = query_splits(every.narrowed(CLICK_METRICS, every.editorial_names), attributes)
        groups.append((sample, splits))
        parts.append(_in_full(sample, splits, settings, rng))
        parts += [{"correlations": estimated_correlations(every, name)} for name in every.estimated]
        others = [name for name in every.click_names if name not in sample.click_names]
        if others:
            rest = every.narrowed(others, every.editorial_names)
            of_signals.append((rest, ()))
            parts.append(_overall(rest, settings, rng))
        for rated in every.each_rating():
            (name,), own = rated.click_names, [unsplit(rated)]
            if name in counted_clicks(settings):
                place = {query: at for at, query in enumerate(sample.queries)}
                kept = [place[query] for query in rated.queries]
                own = [replace(split, labels=split.labels[kept]) for split in splits]
                found = _in_full(rated, own, settings, rng)
                parts.append({table: rows for table, rows in found.items() if table != "draws"})
            else:
                parts.append(_overall(rated, settings, rng))
            of_ratings.setdefault(name, []).append((rated, own))
    names = parts[0]
    tables = {name: pl.concat([part[name] for part in parts if name in part]) for name in names}
    within, *of_others = [_within(own) for own in (groups, of_signals, *of_ratings.values())]
    return tables | {
        name: pl.concat([rows, *(one[name] for one in of_others)]) for name, rows in within.items()
    }


def _in_full(sample: Sample, splits: Sequence[Split], settings: Settings, rng: np.random.Generator) -> Frames:
    """Return all rows of a sample but within queries: with classes, draws and influences."""
    moments = sample_moments(sample)
    ranked, drawn = differences(sample, iterations=settings.iterations, rng=rng)
    return {
        "correlations": correlations(sample, splits, moments),
        "differences": ranked,
        "draws": drawn,
        "comparisons": comparisons(sample, moments),
        "difference_comparisons": difference_comparisons(sample),
        "influence": influence(sample, moments),
    }


def _overall(sample: Sample, settings: Settings, rng: np.random.Generator) -> Frames:
    """Return the overall rows of click metrics that no verdict is about: no classes, draws and influences."""
    return {
        "correlations": correlations(sample, [unsplit(sample)]),
        "differences": differences(sample, iterations=settings.iterations, rng=rng)[0],
        "comparisons": comparisons(sample),
        "difference_comparisons": difference_comparisons(sample),
    }


_Split = tuple[Sample, Sequence[Split]]
"""A sample, and the splits of its queries."""


def _within(samples: Sequence[_Split]) -> Frames:
    """Return the tables of correlations within queries: by market, and of several together."""
    by_judge: dict[tuple[int, str], list[_Split]] = {}
    for one in samples:
        by_judge.setdefault((one[0].key.depth, one[0].key.judge), []).append(one)
    places: list[QueryGroups] = []
    for own in by_judge.values():
        groups = query_groups(*zip(*own, strict=True))
        places += [*groups, *([all_markets(groups)] if len(groups) > 1 else ())]
    makers = {WITHIN: within, WITHIN_COMPARISONS: within_comparisons, WITHIN_INFLUENCE: within_influence}
    tables = {form: map(maker, places) for form, maker in makers.items()}
    return {form.name: pl.concat([form.empty(), *rows]) for form, rows in tables.items()}


def with_log_settings(table: StagedTable, settings: Settings) -> Settings:
    """Return the settings as a log has them: its form of URLs, its kinds of outcomes, full click names.

    Raises SettingsError if a click metric is unknown, or an outcome, or its kind is another one.
    """
    used = table.info.get("settings", {})
    signals, outcomes = (
        [] if rows is None else rows[name].unique().to_list()
        for rows, name in ((table.signals, "signal"), (table.outcomes, "outcome"))
    )
    kinds = {**dict.fromkeys(outcomes, SUM), **table.info.get("outcome_kinds", {})}
    for name, kind in kinds_named(settings.outcome_kind).items():
        if outcomes and name not in kinds:
            raise SettingsError(
                f"--outcome-kind {name}={kind}: no outcome {name}; {did_you_mean(name, kinds)}"
            )
        if kinds.get(name, kind) != kind:
            raise SettingsError(
                f"--outcome-kind {name}={kind}: the pattern table has {name} as a {kinds[name]}; build "
                "it again with this option, or remove the option"
            )
    clicks = tuple(named_click(name, signals, outcomes) for name in settings.click_metric)
    update = {
        "normalise_urls": used.get("normalise_urls", settings.normalise_urls),
        "outcome_kind": tuple(f"{name}={RATING}" for name in sorted(kinds) if kinds[name] == RATING),
        "click_metric": tuple(dict.fromkeys(clicks)),
    }
    return settings.model_copy(update=update)
