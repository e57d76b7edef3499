"""Metrics of the lists of a pattern table: by judge and depth, and by rule for unjudged results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.click_models.by_grade import grade_log
from clickassay.click_models.cascade_effects import cascade_effects
from clickassay.click_models.catalogue import PSEUDO_COUNT, click_models
from clickassay.click_models.click_log import click_log
from clickassay.click_models.expected import expected_mean_rr
from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.correlation import CORRELATIONS
from clickassay.core.contracts.form import Table
from clickassay.core.contracts.judgments import NEXT_JUDGMENTS, UNJUDGED
from clickassay.core.contracts.patterns import OUTCOMES, PATTERNS, SHOWN, SIGNALS
from clickassay.core.errors import ClickModelError, SettingsError
from clickassay.core.progress import Event, Progress
from clickassay.core.records import JudgedConfigurations, Sample, order_by_id
from clickassay.core.seeds import child
from clickassay.core.settings import Settings
from clickassay.correlation.classes import unsplit
from clickassay.correlation.conventions import conventions_table
from clickassay.correlation.held_out import BY_POSITION, CASCADES, HELD_OUT, held_out, position_premise
from clickassay.correlation.tables import correlations
from clickassay.judgments.ips import Biases, ips_clicks, position_biases
from clickassay.judgments.join import cut_to_depth, look_up_grades
from clickassay.judgments.next_to_judge import next_judgments
from clickassay.judgments.prepare import Judgments
from clickassay.judgments.scores import Scores
from clickassay.judgments.unjudged import (
    RULES,
    constant_grade,
    fill_unjudged,
    hot_deck_from_clicks,
    unjudged_results,
)
from clickassay.metrics.catalogue import MODEL_METRICS, Expectation, report_measures
from clickassay.metrics.clicks import wants_ips
from clickassay.metrics.scoring import FittingUsers, Measurements, compute_metrics, headline_clicks
from clickassay.patterns.lists import LogLists, log_lists, user_halves
from clickassay.patterns.sums import WordLayout, counted, packed_days, unpacked_days
from clickassay.patterns.table import StagedTable

DROP = "drop"


@dataclass(frozen=True)
class UserSplit:
    """The lists of a log split by users, as clicks that a model is fitted on must not evaluate it."""

    evaluation: LogLists  # Sessions that metrics are evaluated on.
    fitting: LogLists | None  # Sessions of the users of even folds, if models are fitted on them; else None.
    biases: Biases | None = None  # Position bias, if IPS is asked for; else None.

    @property
    def fitting_sessions(self) -> dict[str, int]:
        """Number of sessions of `fitting`, by market."""
        return {} if self.fitting is None else self.fitting.sessions_by_market()


def split_users(table: StagedTable, judged: pl.DataFrame | None, settings: Settings) -> UserSplit:
    """Hold out the users of even folds if the settings need clicks to fit a model of grades or of a metric.

    Raises SettingsError if one side has no sessions, or only the lists of judged queries were kept.
    """
    names = _model_names(settings)
    fitted = f"metric {names[0]}" if names else None  # on clicks, for messages
    if settings.click_judge is not None:
        fitted = "--click-judge"
    if settings.unjudged == "model":
        fitted = "--unjudged model"
    if fitted is None:
        halves = [log_lists(table, judged)]
    elif table.judged_queries is not None:
        raise SettingsError(
            f"{fitted} needs the rankings of every query: build the pattern table without --only-judged"
        )
    else:
        halves = [log_lists(table, judged, users=half) for half in user_halves()]
        if not all(half.sessions_by_market() for half in halves):
            raise SettingsError(
                f"{fitted} is fitted on half of the users and evaluated on the other half; this log has "
                "users of one half only: build the pattern table with --folds 2 or more (16 by default)"
            )
    biases = _tested_biases(halves, settings) if wants_ips(settings) else None
    return UserSplit(halves[-1], None if fitted is None else halves[0], biases)


def _tested_biases(halves: Sequence[LogLists], settings: Settings) -> Biases:
    """Return position bias, and by market whether rankings held out bear out that nothing else matters."""
    depth, premises = max(settings.depth), dict[str, str | None]()
    biases = position_biases(halves, depth)
    patterns = pl.concat([half.patterns_by_id for half in halves])
    lists = pl.concat([half.configurations for half in halves]).unique("configuration_id")
    for market in biases.by_market:
        own = lists.filter(market=market).join(patterns, on="configuration_id", how="semi")
        rng = child(np.random.default_rng(settings.seed), "premise of IPS", market)
        try:
            held = held_out(
                click_log(own.sort("configuration_id"), patterns, depth=depth),
                click_models((BY_POSITION, *CASCADES)),
                share=HELD_OUT, pseudo_count=PSEUDO_COUNT, click_metric="MeanRR", rng=rng,
            )  # fmt: skip
            premises[market] = position_premise(held)
        except ClickModelError as error:
            told = str(error).removeprefix("click models: ")
            premises[market] = f"whether examination depends on position alone is unknown: {told}"
    return replace(biases, premises=premises)


def _model_names(settings: Settings) -> list[str]:
    asked = {measure.metric.name for measure in report_measures(settings)}
    return [metric.name for metric in MODEL_METRICS if metric.name in asked]


def judgments_by_rule(split: UserSplit, graded: Judgments, settings: Settings) -> dict[str, Judgments]:
    """Return judgments by rule, with the unjudged results filled in; the setting `unjudged` has the rules."""
    by_rule, rules = {DROP: graded}, RULES[settings.unjudged]
    if not rules:
        return by_rule
    deepest = max(settings.depth)
    unjudged = unjudged_results(split.evaluation, graded, deepest=deepest)
    for rule in rules:
        if rule == "model" and split.fitting is not None:
            rng = child(np.random.default_rng(settings.seed), "unjudged")
            given = hot_deck_from_clicks(split.fitting, graded, deepest=deepest, rng=rng)
        else:
            given = constant_grade(settings.max_grade if rule == "best" else 0)
        by_rule[rule] = fill_unjudged(graded, unjudged, given)
    return by_rule


def main_rule(settings: Settings) -> str:
    """Return the rule that every table follows except `unjudged`, which has all rules."""
    return settings.unjudged if settings.unjudged in {"zero", "model"} else DROP


@dataclass(frozen=True)
class Strata:
    """The results of every judge and depth under one rule."""

    measurements: list[Measurements]  # The metrics.
    # cascade_effects, conventions: Rows of the tables of these names; of `conventions` only at the smallest
    # depth, and under the rule that the run follows.
    cascade_effects: list[pl.DataFrame]
    conventions: list[pl.DataFrame]

    @property
    def samples(self) -> list[Sample]:
        """The samples of all judges, depths and markets."""
        return [sample for stratum in self.measurements for sample in stratum.samples]

    @cached_property
    def configurations(self) -> pl.DataFrame:
        """Their rows of the table of this name."""
        return pl.concat([stratum.configurations for stratum in self.measurements])

    @cached_property
    def patterns(self) -> pl.DataFrame:
        """The table of this name: the patterns of a configuration once."""
        own = [stratum.patterns for stratum in self.measurements]
        names, (number, fold, mask, sessions) = _each_once(self.measurements, own)
        layout = WordLayout(int(mask.max(initial=0)).bit_length(), int(fold.max(initial=0)) + 1)
        sums = counted(layout.packed(number, fold, mask), sessions)  # sorts numbers, which is fast
        number, fold, mask = layout.unpacked(sums)
        columns = {"configuration_id": names.gather(number), "fold": fold, "click_mask": mask}
        return PATTERNS.canonical(pl.DataFrame({**columns, "sessions": sums.sessions}))

    @cached_property
    def shown(self) -> pl.DataFrame:
        """The table of this name: the days of a configuration once; no rows where times are not known."""
        known = [stratum for stratum in self.measurements if stratum.shown is not None]
        if not known:
            return SHOWN.empty()
        own = [
            stratum.shown.with_columns(pl.col("day").to_physical().fill_null(0))
            for stratum in known
            if stratum.shown is not None
        ]
        names, (number, day, sessions) = _each_once(known, own)
        sums = counted(packed_days(number, day), sessions)
        number, days = unpacked_days(sums)
        columns = {"configuration_id": names.gather(number), "day": days}
        return SHOWN.canonical(pl.DataFrame({**columns, "sessions": sums.sessions}))

    @cached_property
    def signals(self) -> pl.DataFrame:
        """The table of this name: the signals of a configuration once."""
        parts = [
            rows.with_columns(
                signal=pl.lit(name), configuration_id=stratum.configuration_ids.gather(rows["n"])
            )
            for stratum in self.measurements
            for name, rows in stratum.signals.items()
        ]
        return _once(SIGNALS, parts)

    @cached_property
    def outcomes(self) -> pl.DataFrame:
        """The table of this name: the outcomes of a configuration once."""
        parts = [
            stratum.outcomes.with_columns(
                configuration_id=stratum.configuration_ids.gather(stratum.outcomes["n"])
            )
            for stratum in self.measurements
            if stratum.outcomes is not None
        ]
        return _once(OUTCOMES, parts)


def _once(form: Table, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of several judges and depths in a form, equal ones once."""
    every = pl.concat([form.empty(), *parts], how="diagonal_relaxed")
    return form.canonical(every.select(form.empty().columns).unique())


def _each_once(
    strata: Sequence[Measurements], rows: Sequence[pl.DataFrame]
) -> tuple[pl.Series, list[NDArray[Any]]]:
    """Return ids in order, and the columns of rows by configuration: its place among ids, for its number n.

    A configuration of several judges and depths has the same rows in each: those of one are taken.
    """
    ids = pl.concat([stratum.configuration_ids for stratum in strata])
    order = order_by_id(ids)
    is_new = ids.gather(order).ne_missing(ids.gather(order).shift()).to_numpy()
    ranks, names = np.empty(len(ids), np.int64), ids.gather(order[is_new])
    ranks[order] = np.cumsum(is_new) - 1
    ends = np.cumsum([len(stratum.configuration_ids) for stratum in strata])
    parts, is_new = [], np.ones(len(names), bool)
    for own, rank in zip(rows, np.split(ranks, ends[:-1]), strict=True):
        number, *others = (column.to_numpy() for column in own.iter_columns())
        kept = np.flatnonzero(is_new.take(rank).take(number))
        parts.append((rank.take(number.take(kept)), *(column.take(kept) for column in others)))
        is_new[rank] = False
    return names, [np.concatenate(column) for column in zip(*parts, strict=True)]


def measure_strata(
    split: UserSplit,
    formed: dict[str, int],
    graded: Judgments,
    settings: Settings,
    progress: Progress,
    *,
    rule: str,
    scores: Scores | None = None,
) -> Strata:
    """Compute metrics of fully graded lists by judge and depth; `formed` has all sessions by market."""
    fitting, names = split.fitting_sessions, _model_names(settings)
    strata = [(judge, depth) for judge in graded.judges or (EVERY,) for depth in settings.depth]
    measured = Strata([], [], [])
    for number, (judge, depth) in enumerate(strata):
        progress(Event(f"computing metrics, depth {depth}, judge {judge}", number / len(strata)))
        if number % len(settings.depth) == 0:
            look_up = partial(look_up_grades, judgments=graded, judge=judge, deepest=max(settings.depth))
            candidates = look_up(split.evaluation, scores=scores)
            to_fit = None if split.fitting is None or not names else look_up(split.fitting)
        judged = cut_to_depth(candidates, depth=depth, max_grade=settings.max_grade)
        models: dict[str, Expectation] = {}
        if to_fit is not None:  # models that are asked for as metrics, on lists of grades
            of_fitting = cut_to_depth(to_fit, depth=depth, max_grade=settings.max_grade)
            models = {name: _expectation(of_fitting, name, settings) for name in names}
        users, ips = FittingUsers(fitting, models), ips_clicks(judged, split.biases, depth=depth)
        measured.measurements.append(
            compute_metrics(judged, formed, settings, judge=judge, depth=depth, fitting=users, estimated=ips)
        )
        measured.cascade_effects.append(cascade_effects(judged, judge=judge, depth=depth))
        if rule == main_rule(settings) and depth == min(settings.depth):  # what the report shows
            samples = tuple(headline_clicks(one, settings) for one in measured.measurements[-1].samples)
            measured.conventions.append(conventions_table(judged, samples, settings))
    return measured


def _expectation(judged: JudgedConfigurations, name: str, settings: Settings) -> Expectation:
    (kind,) = click_models([name])
    if judged.patterns.is_empty():
        return lambda grades: np.zeros(len(grades))
    queries = np.zeros(len(judged.grades), dtype=np.int64)  # no query is left out here
    found = grade_log(judged.grades, queries, judged.patterns, max_grade=settings.max_grade)
    return partial(expected_mean_rr, kind.fit(found.log).model)


def next_judgments_table(
    split: UserSplit,
    formed: dict[str, int],
    graded: Judgments,
    in_other_form: pl.DataFrame,
    settings: Settings,
    progress: Progress,
) -> pl.DataFrame:
    """Return the rows of `contracts.judgments.NEXT_JUDGMENTS` for every judge and depth."""
    progress(Event("choosing results to judge next"))
    fitting = split.fitting_sessions
    evaluated = {market: sessions - fitting.get(market, 0) for market, sessions in formed.items()}
    tables = [
        next_judgments(
            split.evaluation, graded, evaluated, judge=judge, depth=depth, in_other_form=in_other_form
        )
        for judge in graded.judges or (EVERY,)
        for depth in settings.depth
    ]
    return pl.concat([NEXT_JUDGMENTS.empty(), *tables])


def unjudged_table(found: Mapping[str, Sequence[Measurements]]) -> pl.DataFrame:
    """Return the rows of `contracts.judgments.UNJUDGED`: none if leaving lists out is the only rule."""
    if len(found) == 1:
        return UNJUDGED.empty()
    rows = []
    for rule, strata in found.items():
        for stratum in strata:
            samples = [one for sample in stratum.samples for one in (sample, *sample.each_rating())]
            overall = [CORRELATIONS.empty(), *(correlations(one, [unsplit(one)]) for one in samples)]
            shares = pl.DataFrame(
                {"market": list(stratum.filled), "filled": list(stratum.filled.values())},
                schema={"market": pl.String, "filled": pl.Float64},
            )
            coverage = stratum.statistics.select("market", "coverage")
            joined = pl.concat(overall).join(coverage, on="market", how="left")
            joined = joined.join(shares, on="market", how="left").with_columns(rule=pl.lit(rule))
            rows.append(joined.select(column.name for column in UNJUDGED.columns))
    return UNJUDGED.canonical(pl.concat(rows))
