"""Click models of a run: what foretells clicks, how far down readers look, what a grade is worth to them."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

from clickassay.click_models.by_grade import grade_log, grade_values
from clickassay.click_models.catalogue import ClickModelKind, click_models
from clickassay.click_models.tables import no_models_table
from clickassay.contracts_clicks import CLICK_GRADES, CLICK_MODELS, CLICK_POSITIONS
from clickassay.correlation.draws import child
from clickassay.errors import ClickModelError
from clickassay.metrics.editorial import satisfaction
from clickassay.progress import Progress
from clickassay.run_clicks import Clicks, compare_models
from clickassay.settings import Settings

MOST_LISTS = 5_000
"""Lists of a market and depth that models are fitted on: queries are drawn until there are so many."""

HELD_OUT = 0.25
SMOOTHING = 1.0

Frames = dict[str, pl.DataFrame]

_FORMS = (CLICK_MODELS, CLICK_POSITIONS, CLICK_GRADES)
_KEY = ("market", "depth", "judge")


def run_models(settings: Settings) -> tuple[ClickModelKind, ...]:
    """Return the click models that a run fits.

    Raises
    ------
    SettingsError
        If the setting names what is no click model.
    """
    return click_models(settings.click_models) if settings.click_models else ()


def click_tables(
    configurations: pl.DataFrame, patterns: pl.DataFrame, settings: Settings, progress: Progress
) -> Frames:
    """Fit click models on the judged lists of each market and depth.

    Parameters
    ----------
    configurations, patterns
        In the forms of `contracts.CONFIGURATIONS` and `contracts.PATTERNS`.

    Returns
    -------
    The tables click_models, click_positions, click_grades; without rows if the run has no click models.
    """
    kinds, found = run_models(settings), [{form.name: form.empty() for form in _FORMS}]
    if kinds:
        cells = configurations.group_by("market", "depth", maintain_order=True)
        for (market, depth), rows in cells:
            progress(f"fitting click models, market {market}, depth {depth}", None)
            found.append(_of_cell(_drawn(rows, settings.seed), patterns, kinds, settings))
    return {form.name: pl.concat([part[form.name] for part in found]) for form in _FORMS}


def _of_cell(
    rows: pl.DataFrame, patterns: pl.DataFrame, kinds: Sequence[ClickModelKind], settings: Settings
) -> Frames:
    market, depth = rows.select("market", "depth").row(0)
    lists = rows.select("market", "configuration_id", "query", "results").unique("configuration_id")
    clicks = Clicks(lists.sort("configuration_id"), patterns, depth)
    try:
        _, tables = compare_models(
            clicks, kinds, smoothing=SMOOTHING, held_out=HELD_OUT, seed=settings.seed, market=market
        )
    except ClickModelError as error:
        tables = {"click_models": no_models_table(kinds, str(error), market=market, depth=depth)}
    graded = [
        _grades(own, patterns, kind, settings)
        for _, own in rows.group_by("judge", maintain_order=True)
        for kind in _of_grades(kinds)
    ]
    none = {form.name: form.empty() for form in _FORMS}
    return {**none, **tables, "click_grades": pl.concat([none["click_grades"], *graded])}


def _of_grades(kinds: Sequence[ClickModelKind]) -> list[ClickModelKind]:
    """Return the models that are asked what a grade is worth: those that know satisfaction, if any."""
    satisfying = [kind for kind in kinds if kind.tells_satisfaction]
    return satisfying or [kind for kind in kinds if kind.tells_documents and kind.tells_examination]


def _drawn(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Keep the lists of drawn queries where there are many."""
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
    found = grade_values(
        grade_log(grades, queries, own, max_grade=settings.max_grade),
        partial(kind.fit, smoothing=SMOOTHING),
    )
    key = dict(zip(_KEY, rows.select(_KEY).row(0), strict=True))
    table = pl.DataFrame(
        {
            "grade": np.arange(settings.max_grade + 1),
            "attraction": found.model.attraction,
            "relevance": found.model.relevance,
            "ci_low": found.low,
            "ci_high": found.high,
            "assumed": satisfaction(np.arange(settings.max_grade + 1), settings.max_grade),
            "impressions": found.impressions,
        }
    ).with_columns(model=pl.lit(kind.name), **{name: pl.lit(value) for name, value in key.items()})
    return CLICK_GRADES.canonical(_without_the_unseen(table))


def _without_the_unseen(table: pl.DataFrame) -> pl.DataFrame:
    seen, values = pl.col("impressions") > 0, pl.col("attraction", "relevance", "ci_low", "ci_high")
    return table.with_columns(
        pl.when(seen).then(values.fill_nan(None)),
        pl.when(~seen).then(pl.lit("no result of this grade is shown")).alias("reason"),
    )
