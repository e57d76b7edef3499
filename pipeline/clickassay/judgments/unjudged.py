"""Results without a judgment: left out, or given a grade by a stated rule.

`zero` gives them the worst grade, `best` the highest. `model` draws: an unjudged result gets the grade of a
judged one with similar estimates of a click model (hot deck imputation). So grades keep their spread and
their relation to clicks; the mean grade of such results would lose the first and exaggerate the second.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from clickassay.click_models.cascade import fit_dbn
from clickassay.click_models.click_log import Floats
from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import JudgmentError
from clickassay.core.special import logit
from clickassay.judgments.join import results_shown
from clickassay.judgments.prepare import KEY, Judgments
from clickassay.judgments.relevance import clicks_on_judged
from clickassay.patterns.lists import LogLists

RULES = {"drop": (), "zero": ("zero",), "model": ("model",), "extremes": ("zero", "best")}
"""By setting: the rules that are computed besides leaving out lists with an unjudged result."""

NEIGHBOURS = 10
"""Judged results of which one, drawn at random, gives its grade to an unjudged one."""

MIN_DONORS = 50
"""With fewer judged results none is drawn."""

_CLIP = 1e-3  # attraction and relevance of 0 or 1 have no finite log-odds

GradeRule = Callable[[pl.DataFrame], pl.Series]
"""(judge, market, query, url) of unjudged results -> their grades."""


def fill_unjudged(judgments: Judgments, unjudged: pl.DataFrame, rule: GradeRule) -> Judgments:
    """Return judgments with grades of unjudged results (judge, market, query, url) too."""
    grades = unjudged.with_columns(rule(unjudged).cast(pl.Int8).alias("grade"))
    return replace(judgments, filled=grades.select(judgments.grades.columns))


def constant_grade(grade: int) -> GradeRule:
    """Return the rule that gives all of them one grade."""
    return lambda unjudged: pl.Series("grade", np.full(unjudged.height, grade), dtype=pl.Int8)


def unjudged_results(table: LogLists, judgments: Judgments, *, deepest: int) -> pl.DataFrame:
    """Return (judge, market, query, url), sorted, not judged down to `deepest` by a judge of the query."""
    market = "market" if judgments.by_market else pl.lit(EVERY).alias("market")
    lists = table.configurations.select(market, "query", "results")
    shown = results_shown(lists, deepest).select("market", "query", "url").unique()
    asked = judgments.grades.select("judge", "market", "query").unique()
    wanted = asked.join(shown, on=["market", "query"])
    return wanted.join(judgments.grades, on=KEY, how="anti").select(KEY).sort(KEY)


def hot_deck_from_clicks(
    fitting: LogLists, judgments: Judgments, *, deepest: int, rng: np.random.Generator
) -> GradeRule:
    """Return the rule `model`: grades drawn from judged results with similar clicks.

    fitting, deepest: sessions used for nothing else, and positions that the click model (DBN) looks at.
    rng: draws the donor of each grade among the `NEIGHBOURS` judged results of the same judge that are
      nearest in log-odds of attraction and relevance, and logarithm of impressions; among all judged results
      of the judge, if those users were never shown it.
    Raises JudgmentError if a judge has fewer than `MIN_DONORS` judged results that were shown.
    """
    log = clicks_on_judged(fitting, judgments, depth=deepest)
    model = fit_dbn(log).model
    documents = log.documents.with_columns(
        attraction=_log_odds(model.attraction),
        relevance=_log_odds(model.relevance),
        impressions=np.log1p(log.impressions()),
    )
    known = documents.filter(pl.col("impressions") > 0)
    donors = judgments.grades.join(known, on=["market", "query", "url"])

    def rule(unjudged: pl.DataFrame) -> pl.Series:
        rows = unjudged.with_row_index("row").join(
            known, on=["market", "query", "url"], how="left", maintain_order="left"
        )
        grades = np.zeros(unjudged.height, dtype=np.int8)
        for (judge,), own in rows.group_by("judge", maintain_order=True):
            of_judge = donors.filter(pl.col("judge") == judge).sort(KEY)
            if of_judge.height < MIN_DONORS:
                raise JudgmentError(
                    f"--unjudged model: judge {judge!r} judged {of_judge.height} results that users of even "
                    f"folds were shown; grades are drawn from at least {MIN_DONORS}: add judgments, or use "
                    "--unjudged drop"
                )
            grades[own["row"].to_numpy()] = _draw_grades(own, of_judge, rng)
        return pl.Series("grade", grades, dtype=pl.Int8)

    return rule


_FEATURES = ("attraction", "relevance", "impressions")


def _log_odds(chances: Floats) -> Floats:
    return np.asarray(logit(np.clip(chances, _CLIP, 1 - _CLIP)))


def _draw_grades(unjudged: pl.DataFrame, donors: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
    from scipy.spatial import KDTree  # noqa: PLC0415 - only this rule needs it

    features = donors.select(_FEATURES).to_numpy()
    scale = np.maximum(features.std(axis=0), 1e-9)
    seen = unjudged["attraction"].is_not_null().to_numpy()
    known = unjudged.filter(seen).select(_FEATURES).to_numpy()
    near = np.asarray(KDTree(features / scale).query(known / scale, NEIGHBOURS)[1])
    chosen = rng.integers(donors.height, size=unjudged.height)
    one = rng.integers(NEIGHBOURS, size=len(near))
    chosen[seen] = near[np.arange(len(near)), one]
    return donors["grade"].gather(chosen)
