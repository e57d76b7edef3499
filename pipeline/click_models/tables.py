"""What is told of click models, as tables: their forms, and their rows."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from pipeline.click_models.click_log import NO_DOCUMENT, ClickLog
from pipeline.click_models.comparison import Tried
from pipeline.click_models.examination import best_persistence, examination
from pipeline.click_models.held_out import Halves
from pipeline.click_models.model import Fit
from pipeline.table_form import Column, Table

_MODEL = Column("model", pl.String, "short name of the click model")
_POSITION = Column("position", pl.Int32, "1 = first result")

CLICK_MODELS = Table(
    "click_models",
    "one row per click model: how well it foretells clicks that it was not fitted on",
    (
        _MODEL,
        Column("n_parameters", pl.Int64, "numbers that were fitted"),
        Column("rounds", pl.Int32, "rounds of expectation maximisation; 0 for closed forms"),
        Column("converged", pl.Boolean, "whether the last round gained less than the tolerance"),
        Column("n_fitted", pl.Int64, "sessions it was fitted on"),
        Column("n_sessions", pl.Int64, "sessions it was tried on"),
        Column("held_out", pl.String, "users: of other users; sessions: drawn"),
        Column("perplexity", pl.Float64, "average over positions; 1 = every click foretold, 2 = a coin"),
        Column("log_likelihood", pl.Float64, "of a session on average, natural logarithm"),
        Column("best_persistence", pl.Float64, "p of RBP whose discount is nearest to examination; 0..1"),
        Column("reason", pl.String, "why there is no log-likelihood, or what clicks do not tell; else null"),
    ),
    ("model",),
)

CLICK_POSITIONS = Table(
    "click_positions",
    "one row per click model and position",
    (
        _MODEL,
        _POSITION,
        Column("perplexity", pl.Float64, "on sessions held out; null where nothing is shown"),
        Column("examination", pl.Float64, "share of sessions in which it is examined; null if not told"),
    ),
    ("model", "position"),
)

CLICK_DOCUMENTS = Table(
    "click_documents",
    "one row per market, query and URL that was shown",
    (
        Column("market", pl.String, "market label, or 'all' when the log has none"),
        Column("query", pl.String, "normalised query"),
        Column("url", pl.String, "normalised URL"),
        Column("impressions", pl.Int64, "sessions that showed it"),
        Column("clicks", pl.Int64, "sessions that clicked it"),
        Column("attraction", pl.Float64, "chance of a click once it is examined; 0..1"),
        Column("relevance", pl.Float64, "chance that it gives what was sought once it is examined; 0..1"),
    ),
    ("market", "query", "url"),
)

CLICK_PARAMETERS = Table(
    "click_parameters",
    "one row per parameter that no document owns",
    (
        Column("number", pl.Int32, "place in the order of the model's paper, from 1"),
        Column("parameter", pl.String, "its name in the model's paper"),
        Column("value", pl.Float64, "0..1"),
        Column("reason", pl.String, "why it is not to be relied on; null when it is"),
    ),
    ("number",),
)

NOT_TOLD = "not told by the clicks but by smoothing"
MOST_NAMED = 3


def models_table(tried: Sequence[Tried], halves: Halves) -> pl.DataFrame:
    """Return a table of the form `CLICK_MODELS`."""
    return CLICK_MODELS.canonical(
        pl.DataFrame([_model_row(one, halves) for one in tried], infer_schema_length=None)
    )


def _model_row(one: Tried, halves: Halves) -> dict[str, object]:
    return {
        "model": one.kind.name,
        "n_parameters": one.fit.model.parameters,
        "rounds": len(one.fit.objectives),
        "converged": one.fit.converged,
        "n_fitted": int(halves.fit.sessions.sum()),
        "n_sessions": one.score.sessions,
        "held_out": "users" if halves.by_users else "sessions",
        "perplexity": one.score.perplexity,
        "log_likelihood": None if one.score.excluded else one.score.log_likelihood,
        "best_persistence": best_persistence(one.examined) if one.kind.tells_examination else None,
        "reason": _reason(one),
    }


def _reason(one: Tried) -> str | None:
    """Return why there is no log-likelihood, else which shared parameters the clicks do not tell."""
    if one.score.excluded:
        return f"{one.score.excluded:,} sessions are impossible to the model"
    names = [name for name in one.fit.model.shared if name in one.fit.untied]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{NOT_TOLD}: {', '.join(names[:MOST_NAMED])}{more}" if names else None


def positions_table(tried: Sequence[Tried]) -> pl.DataFrame:
    """Return a table of the form `CLICK_POSITIONS`."""
    rows = [
        {
            "model": one.kind.name,
            "position": place + 1,
            "perplexity": float(one.score.perplexities[place]),
            "examination": float(one.examined[place]) if one.kind.tells_examination else None,
        }
        for one in tried
        for place in range(len(one.examined))
    ]
    numbers = CLICK_POSITIONS.canonical(pl.DataFrame(rows, infer_schema_length=None))
    return numbers.with_columns(pl.col("perplexity", "examination").fill_nan(None))


def documents_table(fit: Fit, log: ClickLog) -> pl.DataFrame:
    """Return a table of the form `CLICK_DOCUMENTS`: of a model fitted on a log."""
    sessions, clicks = log.by_list()
    there = log.lists != NO_DOCUMENT
    spread = np.broadcast_to(sessions[:, None], there.shape)
    size = len(log.documents)
    shown = np.bincount(log.lists[there], spread[there], size).astype(np.int64)
    clicked = np.bincount(log.lists[there], clicks[there], size).astype(np.int64)
    found = log.documents.with_columns(
        impressions=shown, clicks=clicked, attraction=fit.model.attraction, relevance=fit.model.relevance
    )
    return CLICK_DOCUMENTS.canonical(found.filter(pl.col("impressions") > 0))


def parameters_table(fit: Fit, log: ClickLog) -> pl.DataFrame:
    """Return a table of the form `CLICK_PARAMETERS`, examination by position with them."""
    examined = examination(fit.model, log)
    named = {f"examination[{place}]": float(value) for place, value in enumerate(examined, 1)}
    rows = [
        {
            "number": number,
            "parameter": name,
            "value": value,
            "reason": NOT_TOLD if name in fit.untied else None,
        }
        for number, (name, value) in enumerate({**fit.model.shared, **named}.items(), 1)
    ]
    table = CLICK_PARAMETERS.canonical(pl.DataFrame(rows, infer_schema_length=None))
    return table.with_columns(pl.col("value").fill_nan(None))
