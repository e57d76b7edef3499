"""The tables of click models: scores, examination, shared parameters, and values of documents."""

from collections.abc import Sequence

import polars as pl

from clickassay.click_models.catalogue import ClickModelKind
from clickassay.click_models.click_log import ClickLog, summed
from clickassay.click_models.comparison import EvaluatedModel, TrainTestSplit, best_persistence, examination
from clickassay.click_models.model import Fit
from clickassay.core.contracts.clicks import CLICK_DOCUMENTS, CLICK_MODELS, CLICK_PARAMETERS, CLICK_POSITIONS

NOT_IDENTIFIED = "not identified by the clicks, set by the pseudo-counts"
MAX_NAMED = 3


def models_table(evaluated: Sequence[EvaluatedModel], split: TrainTestSplit, *, market: str) -> pl.DataFrame:
    """Return a table of the form `CLICK_MODELS`."""
    rows = []
    for one in evaluated:
        score, fit = one.score, one.fit
        loose = [name for name in fit.model.shared if name in fit.unidentified]
        more = f" and {len(loose) - MAX_NAMED} more" if len(loose) > MAX_NAMED else ""
        reason = f"{NOT_IDENTIFIED}: {', '.join(loose[:MAX_NAMED])}{more}" if loose else None
        if score.excluded:  # then there is no log-likelihood
            reason = f"{score.excluded:,} sessions are impossible under the model"
        examines = one.kind.estimates_examination
        rows.append(
            {
                "model": one.kind.name,
                "n_parameters": fit.model.parameters,
                "rounds": len(fit.objectives),
                "converged": fit.converged,
                "n_fitted": int(split.train.sessions.sum()),
                "n_sessions": score.sessions,
                "held_out": "users" if split.by_users else "sessions",
                "perplexity": score.perplexity,
                "log_likelihood": None if score.excluded else score.log_likelihood,
                "best_persistence": best_persistence(one.examined) if examines else None,
                "reason": reason,
            }
        )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return CLICK_MODELS.canonical(_of(frame, market, split.train.depth))


def no_models_table(kinds: Sequence[ClickModelKind], reason: str, *, market: str, depth: int) -> pl.DataFrame:
    """Return the same where no model can be fitted."""
    forms = {column.name: column.dtype for column in CLICK_MODELS.columns}
    rows = [{"market": market, "depth": depth, "model": kind.name, "reason": reason} for kind in kinds]
    return CLICK_MODELS.canonical(pl.DataFrame(rows, schema=forms))


def _of(rows: pl.DataFrame, market: str, depth: int) -> pl.DataFrame:
    return rows.with_columns(pl.lit(market).alias("market"), pl.lit(depth).alias("depth"))


def positions_table(evaluated: Sequence[EvaluatedModel], *, market: str) -> pl.DataFrame:
    """Return a table of the form `CLICK_POSITIONS`."""
    rows = [
        {
            "model": one.kind.name,
            "position": place + 1,
            "perplexity": float(one.score.perplexities[place]),
            "examination": float(one.examined[place]) if one.kind.estimates_examination else None,
        }
        for one in evaluated
        for place in range(len(one.examined))
    ]
    depth = len(evaluated[0].examined)
    numbers = CLICK_POSITIONS.canonical(_of(pl.DataFrame(rows, infer_schema_length=None), market, depth))
    return numbers.with_columns(pl.col("perplexity", "examination").fill_nan(None))


def documents_table(fit: Fit, log: ClickLog) -> pl.DataFrame:
    """Return a table of the form `CLICK_DOCUMENTS`: of a model fitted on a log."""
    _, clicks = log.by_list()
    clicked = summed(log.lists[log.shown], clicks[log.shown], len(log.documents))
    documents = log.documents.with_columns(
        impressions=log.impressions(),
        clicks=clicked,
        attraction=fit.model.attraction,
        relevance=fit.model.relevance,
    )
    return CLICK_DOCUMENTS.canonical(documents.filter(pl.col("impressions") > 0))


def parameters_table(fit: Fit, log: ClickLog) -> pl.DataFrame:
    """Return a table of the form `CLICK_PARAMETERS`, examination by position with them."""
    examined = examination(fit.model, log)
    named = {f"examination[{place}]": float(value) for place, value in enumerate(examined, 1)}
    rows = [
        {
            "number": number,
            "parameter": name,
            "value": value,
            "reason": NOT_IDENTIFIED if name in fit.unidentified else None,
        }
        for number, (name, value) in enumerate({**fit.model.shared, **named}.items(), 1)
    ]
    table = CLICK_PARAMETERS.canonical(pl.DataFrame(rows, infer_schema_length=None))
    return table.with_columns(pl.col("value").fill_nan(None))
