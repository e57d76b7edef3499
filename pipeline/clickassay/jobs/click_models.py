"""Click models of a run, a pattern table or a store: read, fitted, evaluated, written."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Required, TypedDict, Unpack

import numpy as np
import polars as pl

from clickassay.click_models.by_grade import grade_log, grade_values
from clickassay.click_models.catalogue import PSEUDO_COUNT, ClickModelKind, click_models
from clickassay.click_models.click_log import ClickLog, check_clicked, click_log
from clickassay.click_models.comparison import (
    EvaluatedModel,
    TrainTestSplit,
    best_persistence,
    best_predictor,
    compare,
    dcg_discount,
    rbp_discount,
    split_by_users,
    split_sessions,
)
from clickassay.click_models.held_out import MOST_LISTS
from clickassay.click_models.model import Fit
from clickassay.click_models.tables import (
    documents_table,
    models_table,
    no_models_table,
    parameters_table,
    positions_table,
)
from clickassay.core.contracts.clicks import (
    CLICK_CALIBRATION,
    CLICK_GRADES,
    CLICK_HELD_OUT,
    CLICK_MODELS,
    CLICK_POSITIONS,
)
from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.patterns import PATTERNS
from clickassay.core.contracts.run import CONFIGURATIONS
from clickassay.core.errors import ClickModelError, PatternError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import SampleKey
from clickassay.core.seeds import child
from clickassay.core.settings import Settings
from clickassay.correlation.held_out import (
    HELD_OUT,
    SPLITS,
    Support,
    calibration_table,
    comparable_lists,
    held_out,
    held_out_table,
    no_held_out_table,
    support,
)
from clickassay.findings.run import open_run
from clickassay.jobs.patterns import stored_patterns
from clickassay.metrics.editorial import satisfaction
from clickassay.patterns.places import Place, place_of
from clickassay.report.model import Drawing

FOLDS_TO_HOLD_OUT = 3
"""Fewest folds of users of which some are held out: of two, one would be half of the sessions."""

HEADLINE = "MeanRR"
"""The click metric by which runs, and judgments from clicks, choose a model."""

SPLITS_OF_RUNS = 4
"""How often a run holds out rankings: more would take longer than all its other work."""

QUERIES_TO_HOLD_OUT = 10
"""Fewest queries with three rankings in enough sessions where rankings are held out by default."""

Frames = dict[str, pl.DataFrame]

_FORMS = (CLICK_MODELS, CLICK_POSITIONS, CLICK_HELD_OUT, CLICK_CALIBRATION, CLICK_GRADES)


@dataclass(frozen=True)
class ClickedLists:
    """The lists and click patterns of one market, or of all, cut to a depth."""

    # configurations, patterns: In the forms of `contracts.patterns.PATTERN_CONFIGURATIONS` (more columns may
    # follow) and of `contracts.patterns.PATTERNS`.
    configurations: pl.DataFrame
    patterns: pl.DataFrame
    depth: int  # Number of positions that models use.

    @property
    def folds(self) -> int:
        """Number of folds of users."""
        return self.patterns["fold"].n_unique()

    def log(self) -> ClickLog:
        """Return all sessions."""
        return click_log(self.configurations, self.patterns, depth=self.depth)

    def split(self, *, share: float, seed: int) -> TrainTestSplit:
        """Hold out the users of this share of three folds or more, the last; else a sample of sessions."""
        if self.folds < FOLDS_TO_HOLD_OUT:
            return split_sessions(self.log(), share=share, seed=seed)
        held_out = min(max(1, round(share * self.folds)), self.folds - 1)
        last = pl.col("fold").is_in(self.patterns["fold"].unique().sort().tail(held_out).implode())
        parts = (self.patterns.filter(part) for part in (~last, last))
        return split_by_users(*(click_log(self.configurations, part, depth=self.depth) for part in parts))


class HoldOutOptions(TypedDict, total=False):
    """What `supported_model` takes."""

    pseudo_count: Required[float]
    click_metric: Required[str]
    seed: Required[int]
    share: float
    splits: int
    progress: Progress


def read_clicks(place: Path, *, market: str | None, depth: int | None) -> ClickedLists:
    """Read the click patterns of a run folder (judged lists only), a pattern table or a store (all lists).

    depth: number of positions to use, at most those that are kept; None = all that are kept.

    Raises ClickModelError if there is no such market or depth; PatternError, ReportError if the folder is
    none of these, or broken, or a file.
    """
    kind = place_of(place)
    if kind is Place.FILE:
        raise PatternError(
            f"{place} is a file; give the folder of a run, a pattern table or a store "
            "(`clickassay patterns` writes the latter two)"
        )
    if kind is not Place.RUN:
        table = stored_patterns(place)
        chosen = depth if depth is not None else table.stored_depth
        if not 1 <= chosen <= table.stored_depth:
            raise ClickModelError(
                f"depth {chosen}: the pattern table has {table.stored_depth} results per ranking"
            )
        # draws follow the order of rows, which a store does not keep
        ordered = _of_market(table.configurations, market).sort("configuration_id")
        return ClickedLists(ordered, table.patterns, chosen)
    run = open_run(place)
    configurations = run.tables[CONFIGURATIONS.name]
    depths = configurations["depth"].unique().sort().to_list()
    chosen = depth if depth is not None else max(depths, default=0)
    if chosen not in depths:
        raise ClickModelError(f"{place} has no rankings of depth {chosen}; it has depths {_listed(depths)}")
    kept = configurations.filter(pl.col("depth") == chosen).unique("configuration_id", maintain_order=True)
    return ClickedLists(_of_market(kept, market), run.tables[PATTERNS.name], chosen)


def _of_market(configurations: pl.DataFrame, market: str | None) -> pl.DataFrame:
    if market is None:
        return configurations
    kept = configurations.filter(pl.col("market") == market)
    if kept.is_empty():
        markets = configurations["market"].unique().sort().to_list()
        raise ClickModelError(f"no market {market!r}; known are {_listed(markets)}")
    return kept


def _listed(values: Sequence[object]) -> str:
    return ", ".join(str(value) for value in values[:20]) or "none"


def compare_models(
    clicks: ClickedLists,
    kinds: Sequence[ClickModelKind],
    *,
    pseudo_count: float,
    held_out: float,
    seed: int,
    market: str = EVERY,
    on_lists: str | None = None,
    progress: Progress = silent,
) -> tuple[list[EvaluatedModel], Frames]:
    """Fit models on some sessions and evaluate them on the others; return the models, also as tables.

    market: the value of the column `market` in the tables.
    on_lists: the click metric by which a model is chosen that predicts held-out lists; None = not done.

    Raises ClickModelError if nothing was clicked.
    """
    progress(Event("reading lists"))
    split = clicks.split(share=held_out, seed=seed)
    evaluated = compare(split, kinds, pseudo_count=pseudo_count, progress=progress)
    tables = {
        "click_models": models_table(evaluated, split, market=market),
        "click_positions": positions_table(evaluated, market=market),
    }
    if on_lists is not None:
        tables |= held_out_frames(
            clicks, kinds, pseudo_count=pseudo_count, share=held_out, click_metric=on_lists, seed=seed,
            market=market, progress=progress,
        )  # fmt: skip
    return evaluated, tables


def can_hold_out_lists(clicks: ClickedLists) -> bool:
    """Return whether enough queries have three rankings or more in enough sessions."""
    lists = comparable_lists(clicks.log(), np.random.default_rng(0))
    return len(lists.queries) >= QUERIES_TO_HOLD_OUT


def supported_model(
    clicks: ClickedLists,
    kinds: Sequence[ClickModelKind],
    *,
    pseudo_count: float,
    click_metric: str,
    seed: int,
    share: float = HELD_OUT,
    splits: int = SPLITS,
    progress: Progress = silent,
) -> Support:
    """Hold out this share of the lists of each query again and again; return which model predicts them best.

    Raises ClickModelError if no query has lists enough, or nothing is clicked.
    """
    rng = child(np.random.default_rng(seed), "held-out lists", str(clicks.depth))
    held = held_out(
        clicks.log(), kinds, share=share, pseudo_count=pseudo_count, click_metric=click_metric, rng=rng,
        splits=splits, progress=progress,
    )  # fmt: skip
    return support(held, rng)


def held_out_frames(
    clicks: ClickedLists, kinds: Sequence[ClickModelKind], *, market: str, **options: Unpack[HoldOutOptions]
) -> Frames:
    """Return what `supported_model` finds as tables, or why it finds nothing."""
    try:
        found = supported_model(clicks, kinds, **options)
    except ClickModelError as error:
        none = no_held_out_table(kinds, str(error), market=market, depth=clicks.depth)
        return {CLICK_HELD_OUT.name: none, CLICK_CALIBRATION.name: CLICK_CALIBRATION.empty()}
    return {
        CLICK_HELD_OUT.name: held_out_table(found, market=market, depth=clicks.depth),
        CLICK_CALIBRATION.name: calibration_table(found, market=market, depth=clicks.depth),
    }


def fit_model(clicks: ClickedLists, kind: ClickModelKind, *, pseudo_count: float) -> tuple[Fit, Frames]:
    """Fit one model on all sessions, at least one of which needs a click; return it, also as tables."""
    log = clicks.log()
    check_clicked(log)
    fit = kind.fit(log, pseudo_count=pseudo_count)
    return fit, {"click_parameters": parameters_table(fit, log), "click_documents": documents_table(fit, log)}


def examination_drawing(evaluated: Sequence[EvaluatedModel]) -> Drawing | None:
    """Draw examination by position with the discounts of DCG and of the closest RBP.

    None where no model estimates examination.
    """
    best = best_predictor(evaluated)
    if best is None:
        return None
    from clickassay.report.charts.lines import discount_lines  # noqa: PLC0415 - charts take a second to import

    depth, persistence = len(best.examined), best_persistence(best.examined)
    discounts = {"DCG": dcg_discount(depth)}
    if persistence is not None:
        discounts[f"RBP(p={persistence:.2f})"] = rbp_discount(persistence, depth)
    lines = {one.kind.name: one.examined.tolist() for one in evaluated if one.kind.estimates_examination}
    return discount_lines(lines, {name: one.tolist() for name, one in discounts.items()}, best.kind.name)


def run_models(settings: Settings) -> tuple[ClickModelKind, ...]:
    """Return the click models that a run fits.

    Raises SettingsError if the setting names an unknown click model.
    """
    return click_models(settings.click_models) if settings.click_models else ()


def click_tables(
    configurations: pl.DataFrame, patterns: pl.DataFrame, settings: Settings, progress: Progress
) -> Frames:
    """Fit click models on the judged lists of each market and depth.

    configurations, patterns: in the forms of `contracts.run.CONFIGURATIONS` and
      `contracts.patterns.PATTERNS`.

    Returns the tables of click models, without rows if the run has none; rankings are held out at the
    greatest depth of each market.
    """
    kinds, parts = run_models(settings), [{form.name: form.empty() for form in _FORMS}]
    if kinds:
        strata = configurations.group_by("market", "depth", maintain_order=True)
        for (market, depth), rows in strata:
            progress(Event(f"fitting click models, market {market}, depth {depth}"))
            some = _sample_queries(rows, settings.seed)
            own = patterns.join(some.select("configuration_id"), on="configuration_id", how="semi")
            deepest = configurations.filter(market=market)["depth"].max() == depth
            parts.append(_of_stratum(some, own, kinds, settings, on_lists=deepest))
    return {form.name: pl.concat([part[form.name] for part in parts]) for form in _FORMS}


def _of_stratum(
    rows: pl.DataFrame,
    patterns: pl.DataFrame,
    kinds: Sequence[ClickModelKind],
    settings: Settings,
    *,
    on_lists: bool,
) -> Frames:
    market, depth = rows.select("market", "depth").row(0)
    lists = rows.select("market", "configuration_id", "query", "results").unique("configuration_id")
    clicks = ClickedLists(lists.sort("configuration_id"), patterns, depth)
    try:
        _, tables = compare_models(
            clicks, kinds, pseudo_count=PSEUDO_COUNT, held_out=HELD_OUT, seed=settings.seed, market=market
        )
        if on_lists:
            tables |= held_out_frames(
                clicks, kinds, market=market, pseudo_count=PSEUDO_COUNT, click_metric=HEADLINE,
                seed=settings.seed, splits=SPLITS_OF_RUNS,
            )  # fmt: skip
    except ClickModelError as error:
        tables = {"click_models": no_models_table(kinds, str(error), market=market, depth=depth)}
    # models of grades: those that estimate satisfaction, if any
    of_grades = [kind for kind in kinds if kind.estimates_satisfaction] or [
        kind for kind in kinds if kind.estimates_attraction and kind.estimates_examination
    ]
    graded = [
        _grades(own, patterns, kind, settings)
        for _, own in rows.group_by("judge", maintain_order=True)
        for kind in of_grades
    ]
    none = {form.name: form.empty() for form in _FORMS}
    return {**none, **tables, "click_grades": pl.concat([none["click_grades"], *graded])}


def _sample_queries(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Keep the lists of a random sample of queries if there are more than `MOST_LISTS`."""
    if rows["configuration_id"].n_unique() <= MOST_LISTS:
        return rows
    sizes = rows.group_by("query").agg(pl.col("configuration_id").n_unique().alias("lists")).sort("query")
    rng = child(np.random.default_rng(seed), "click models", *map(str, rows.select("market", "depth").row(0)))
    order = sizes[rng.permutation(sizes.height)]
    some = order.filter((pl.col("lists").cum_sum() <= MOST_LISTS) | (pl.int_range(pl.len()) == 0))
    return rows.join(some, on="query", how="semi", maintain_order="left")


def _grades(
    rows: pl.DataFrame, patterns: pl.DataFrame, kind: ClickModelKind, settings: Settings
) -> pl.DataFrame:
    """Fit one model on the lists of grades of one market, depth and judge."""
    numbered = rows.select("configuration_id", pl.int_range(pl.len()).alias("n"))
    grades = np.array(rows["grades"].to_list(), dtype=np.int64)
    queries = rows["query"].rank("dense").to_numpy().astype(np.int64) - 1
    own = patterns.join(numbered, on="configuration_id")
    by_grade = grade_values(
        grade_log(grades, queries, own, max_grade=settings.max_grade),
        partial(kind.fit, pseudo_count=PSEUDO_COUNT),
    )
    key = SampleKey.of(rows.row(0, named=True))
    table = pl.DataFrame(
        {
            "grade": np.arange(settings.max_grade + 1),
            "attraction": by_grade.model.attraction,
            "relevance": by_grade.model.relevance,
            "ci_low": by_grade.low,
            "ci_high": by_grade.high,
            "assumed": satisfaction(np.arange(settings.max_grade + 1), settings.max_grade),
            "impressions": by_grade.impressions,
        }
    ).with_columns(model=pl.lit(kind.name), **{name: pl.lit(value) for name, value in key.columns.items()})
    seen, values = pl.col("impressions") > 0, pl.col("attraction", "relevance", "ci_low", "ci_high")
    return CLICK_GRADES.canonical(
        table.with_columns(
            pl.when(seen).then(values.fill_nan(None)),
            pl.when(~seen).then(pl.lit("no result of this grade is shown")).alias("reason"),
        )
    )
