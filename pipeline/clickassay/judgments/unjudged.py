"""Results without a judgment: left out, or given a grade by a stated rule.

`zero` takes them for the worst grade, `best` for the highest. `model` draws: an unjudged result gets the
grade of a judged one that a click model finds alike (hot deck imputation). So grades keep their spread and
their relation to clicks; the mean grade of such results would lack the first and exaggerate the second.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
from scipy.spatial import KDTree
from scipy.special import logit

from clickassay.click_models.cascade.fit import fit_dbn
from clickassay.click_models.click_log import Floats, click_log
from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import JudgmentError
from clickassay.judgments.prepare import KEY, Judgments
from clickassay.judgments.shown import results_shown
from clickassay.patterns.table import PatternTable

RULES = {"drop": (), "zero": ("zero",), "model": ("model",), "bounds": ("zero", "best")}
"""By setting: the rules that are tried beside leaving lists with an unjudged result out."""

NEIGHBOURS = 10
"""Judged results among which one gives its grade to an unjudged one."""

FEWEST_DONORS = 50
"""With fewer judged results there is nothing to draw from."""

_SURE = 1e-3  # attraction and relevance of 0 or 1 have no finite log-odds

Graded = Callable[[pl.DataFrame], pl.Series]
"""(judge, market, query, url) of unjudged results -> their grades."""


def filled(judgments: Judgments, unjudged: pl.DataFrame, graded: Graded) -> Judgments:
    """Return judgments in which unjudged results have grades too.

    Parameters
    ----------
    unjudged
        Rows (judge, market, query, url), as `unjudged_results` gives them.
    graded
        Gives their grades.
    """
    grades = unjudged.with_columns(graded(unjudged).cast(pl.Int8).alias("grade"))
    return replace(judgments, filled=grades.select(judgments.grades.columns))


def always(grade: int) -> Graded:
    """Return the rule that gives one grade to all."""
    return lambda unjudged: pl.Series("grade", np.full(unjudged.height, grade), dtype=pl.Int8)


def unjudged_results(table: PatternTable, judgments: Judgments, *, deepest: int) -> pl.DataFrame:
    """Return the results down to `deepest` that a judge of their query has not judged.

    Returns
    -------
    Rows (judge, market, query, url), each once, sorted. Queries of which a judge has judged nothing are left
    out: there is nothing to go by.
    """
    shown = _shown(table.configurations, by_market=judgments.by_market, deepest=deepest)
    asked = judgments.grades.select("judge", "market", "query").unique()
    wanted = asked.join(shown, on=["market", "query"])
    return wanted.join(judgments.grades, on=KEY, how="anti").select(KEY).sort(KEY)


def _shown(configurations: pl.DataFrame, *, by_market: bool, deepest: int) -> pl.DataFrame:
    market = "market" if by_market else pl.lit(EVERY).alias("market")
    lists = configurations.select(market, "query", "results")
    return results_shown(lists, deepest).select("market", "query", "url").unique()


def drawn_from_clicks(
    fitting: PatternTable, judgments: Judgments, *, deepest: int, rng: np.random.Generator
) -> Graded:
    """Return the rule `model`: grades drawn from judged results that clicks show alike.

    Parameters
    ----------
    fitting
        Sessions of users whose clicks are used for nothing else.
    deepest
        Positions of a list that the click model (DBN) looks at.
    rng
        Draws the donor of each grade among the `NEIGHBOURS` judged results of the same judge that are nearest
        in log-odds of attraction and relevance, and logarithm of impressions.

    Results that those users were never shown get the grade of any judged result.

    Raises
    ------
    JudgmentError
        If a judge has fewer than `FEWEST_DONORS` judged results that were shown.
    """
    known = _features(fitting, judgments, deepest)
    donors = judgments.grades.join(known, on=["market", "query", "url"])

    def graded(unjudged: pl.DataFrame) -> pl.Series:
        rows = unjudged.with_row_index("row").join(
            known, on=["market", "query", "url"], how="left", maintain_order="left"
        )
        grades = np.zeros(unjudged.height, dtype=np.int8)
        for (judge,), own in rows.group_by("judge", maintain_order=True):
            grades[own["row"].to_numpy()] = _donated(own, _of_judge(donors, str(judge)), rng)
        return pl.Series("grade", grades, dtype=pl.Int8)

    return graded


_PLACES = ("attraction", "relevance", "impressions")


def _features(fitting: PatternTable, judgments: Judgments, deepest: int) -> pl.DataFrame:
    """Return what clicks say of each result of the queries that anybody judged."""
    on = judgments.query_key
    lists = fitting.configurations.join(judgments.grades.select(on).unique(), on=on, how="semi")
    if not judgments.by_market:
        lists = lists.with_columns(pl.lit(EVERY).alias("market"))
    log = click_log(lists.sort("configuration_id"), fitting.patterns, depth=deepest)
    model = fit_dbn(log).model
    found = log.documents.with_columns(
        attraction=_log_odds(model.attraction),
        relevance=_log_odds(model.relevance),
        impressions=np.log1p(log.impressions()),
    )
    return found.filter(pl.col("impressions") > 0)


def _log_odds(chances: Floats) -> Floats:
    return np.asarray(logit(np.clip(chances, _SURE, 1 - _SURE)))


def _of_judge(donors: pl.DataFrame, judge: str) -> pl.DataFrame:
    own = donors.filter(pl.col("judge") == judge).sort(KEY)
    if own.height < FEWEST_DONORS:
        raise JudgmentError(
            f"--unjudged model: judge {judge!r} judged {own.height} results that users of fold 0 were shown; "
            f"grades are drawn from {FEWEST_DONORS} or more: give more judgments, or --unjudged drop"
        )
    return own


def _donated(unjudged: pl.DataFrame, donors: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
    places = donors.select(_PLACES).to_numpy()
    scale = np.maximum(places.std(axis=0), 1e-9)
    seen = unjudged["attraction"].is_not_null().to_numpy()
    known = unjudged.filter(seen).select(_PLACES).to_numpy()
    near = np.asarray(KDTree(places / scale).query(known / scale, NEIGHBOURS)[1])
    chosen = rng.integers(donors.height, size=unjudged.height)
    one = rng.integers(NEIGHBOURS, size=len(near))
    chosen[seen] = near[np.arange(len(near)), one]
    return donors["grade"].gather(chosen)
