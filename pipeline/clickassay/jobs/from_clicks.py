"""Judgments from clicks: what users say of each result, with an interval, as grades for other tools."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import polars as pl

from clickassay.click_models.catalogue import CLICK_MODELS, ClickModelKind, click_models
from clickassay.click_models.click_log import ClickLog, Floats, check_clicked, click_log
from clickassay.click_models.em import divide
from clickassay.core.contracts.clicks import CLICK_JUDGMENTS
from clickassay.core.errors import ClickModelError
from clickassay.core.files.tables import as_csv
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.special import stdtrit
from clickassay.core.text import escape
from clickassay.correlation.uncertainty.intervals import CONFIDENCE
from clickassay.inputs.text.grades import parse_cuts
from clickassay.jobs.click_models import HEADLINE, ClickedLists, supported_model
from clickassay.judgments.relevance import (
    COEC,
    Estimate,
    clicks_over_expected,
    grades_of,
    relevance_by,
    usual_cuts,
)

FEWEST_FOLDS = 8
NO_FOLDS = f"no interval: fewer than {FEWEST_FOLDS} folds of users"
NO_SPREAD = "no interval: it does not vary with the users"
FEW_CLICKS = 5
"""An interval of fewer has a caution."""

FAR, WIDE = 0.25, 0.25
"""Satisfaction so far from attraction, with an interval so wide or without one, is hardly identified."""

HARDLY = "satisfaction is hardly identified: far from attraction, with a wide interval or none"
NO_ORDER = "satisfaction is not identified: no session has two clicks"

WITHOUT_CHOICE = "PBM"
"""The model of judgments where a log cannot tell which it supports: it identifies what it estimates."""


def model_for_judgments(
    clicks: ClickedLists, *, pseudo_count: float, progress: Progress = silent
) -> tuple[str, str | None]:
    """Return the model with a relevance that the log supports; and why, if it cannot tell."""
    kinds = [kind for kind in CLICK_MODELS if kind.estimates_attraction]
    try:
        found = supported_model(
            clicks, kinds, pseudo_count=pseudo_count, click_metric=HEADLINE, seed=0, progress=progress
        )
    except ClickModelError as error:
        return WITHOUT_CHOICE, str(error).removeprefix("click models: ")
    return found.model or WITHOUT_CHOICE, found.reason


def judgments_from_clicks(
    clicks: ClickedLists,
    model: str,
    *,
    pseudo_count: float,
    cuts: str | None = None,
    max_grade: int = 4,
    least_sessions: int = 10,
    progress: Progress = silent,
) -> pl.DataFrame:
    """Estimate how relevant each shown result is, free of its positions.

    model: name of a click model that estimates relevance (`click_models.catalogue`), or `COEC`.
    cuts: a grade is the number of these that the relevance reaches, as ``0.1,0.3,0.6``. None = of a click
      model, midway between the chances to satisfy that ERR gives to the grades; of COEC 0.5, 1, 1.5, 2.
    least_sessions: results that fewer sessions showed are left out.

    Returns rows of CLICK_JUDGMENTS. The interval leaves out one fold of users at a time (jackknife, Student's
    t).

    Raises ClickModelError, SettingsError if nothing is clicked, or the name or the cuts are none.
    """
    is_coec, relevance, log = model.upper() == COEC, relevance_by(model, pseudo_count), clicks.log()
    kind = None if is_coec else click_models([model])[0]
    estimate: Estimate = relevance
    if kind is not None and kind.estimates_satisfaction:
        estimate = partial(_satisfaction_beside, kind, pseudo_count)
    limits = usual_cuts(max_grade, of_coec=is_coec)
    check_clicked(log)
    progress(Event(f"fitting {model}"))
    value = np.atleast_2d(estimate(log))
    if cuts is not None:
        parse_cuts(cuts)
        limits = np.array([float(part) for part in cuts.split(",")])
    without = _without_folds(clicks, estimate, model, progress)
    low, high = _interval(value, [np.atleast_2d(one) for one in without])
    shown, clicked = (counts.sum(axis=1).astype(np.int64) for counts in log.by_document())
    rows = log.documents.with_columns(
        grade=grades_of(value[0], limits),
        relevance=value[0],
        ci_low=np.maximum(low[0], 0),
        ci_high=high[0] if is_coec else np.minimum(high[0], 1),
        ctr=clicked / np.maximum(shown, 1),
        coec=clicks_over_expected(log),
        sessions=shown,
        clicks=clicked,
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    why = NO_FOLDS if clicks.folds < FEWEST_FOLDS else NO_SPREAD
    few = pl.when(pl.col("clicks") < FEW_CLICKS).then(pl.lit(f"fewer than {FEW_CLICKS} clicks"))
    of_interval = pl.when(pl.col("ci_low").is_null()).then(pl.lit(why)).otherwise(few)
    hardly = pl.Series(_hardly_identified(log, value, low, high), dtype=pl.String)
    cautions = pl.concat_str(hardly, of_interval, separator="; ", ignore_nulls=True)
    rows = rows.with_columns(caution=pl.when(cautions != "").then(cautions))
    return CLICK_JUDGMENTS.canonical(rows.filter(pl.col("sessions") >= max(least_sessions, 1)))


def _satisfaction_beside(kind: ClickModelKind, pseudo_count: float, log: ClickLog) -> Floats:
    """Return the (3, D) relevance, satisfaction and attraction."""
    model = kind.fit(log, pseudo_count=pseudo_count).model
    satisfaction = divide(model.relevance, model.attraction)
    return np.stack([model.relevance, satisfaction, model.attraction])


def _hardly_identified(log: ClickLog, value: Floats, low: Floats, high: Floats) -> list[str | None]:
    """Return (D,) why satisfaction, the second of three rows, is not to be relied on; None where it is."""
    if len(value) == 1:
        return [None] * value.shape[1]
    if not (log.masks & (log.masks - 1)).any():
        return [NO_ORDER] * value.shape[1]
    _, satisfaction, attraction = value
    is_narrow = high[1] - low[1] < WIDE  # false for NaN
    return [HARDLY if one else None for one in (np.abs(satisfaction - attraction) > FAR) & ~is_narrow]


def _without_folds(clicks: ClickedLists, estimate: Estimate, model: str, progress: Progress) -> list[Floats]:
    """Return the (D,) estimates without each fold of users; none if there are too few."""
    folds = clicks.patterns["fold"].unique().sort().to_list()
    if len(folds) < FEWEST_FOLDS:
        return []
    found = []
    for place, fold in enumerate(folds):
        progress(Event(f"fitting {model} without some users", place / len(folds)))
        rest = clicks.patterns.filter(pl.col("fold") != fold)
        found.append(estimate(click_log(clicks.configurations, rest, depth=clicks.depth)))
    return found


def _interval(value: Floats, without: list[Floats]) -> tuple[Floats, Floats]:
    if not without:
        return np.full_like(value, np.nan), np.full_like(value, np.nan)
    left, number = np.stack(without), len(without)
    error = np.sqrt((number - 1) / number * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    error = np.where(error > 0, error, np.nan)  # not one user clicked it, or one fold alone saw it
    half = stdtrit(number - 1, (1 + CONFIDENCE) / 2) * error
    return value - half, value + half


def files_for(rows: pl.DataFrame, form: str) -> Mapping[str, str]:
    """Return the files of a format, by name.

    rows: rows of CLICK_JUDGMENTS, of one market.
    form: a name in `FORMATS`.

    Raises ClickModelError if there are no rows, or several markets.
    """
    if rows.is_empty():
        raise ClickModelError("no result was shown in that many sessions; lower --least-sessions")
    if form != "csv" and rows["market"].n_unique() > 1:
        raise ClickModelError(
            f"--to {form} has no markets, and there are {rows['market'].n_unique()}; give one by --market"
        )
    return FORMATS[form](rows)


def _qrels(rows: pl.DataFrame) -> Mapping[str, str]:
    odd = rows.filter(pl.col("url").str.contains(r"\s"))
    if odd.height:
        raise ClickModelError(
            f"--to qrels: {odd['url'][0]!r:.120} has white space, which qrels do not allow; give another "
            "format"
        )
    topics = rows.select("query").unique(maintain_order=True).with_row_index("topic", offset=1)
    named = rows.join(topics, on="query", maintain_order="left").select("topic", "url", "grade")
    lines = (f"{topic} 0 {url} {grade}\n" for topic, url, grade in named.iter_rows())
    names = (f"{topic}\t{' '.join(query.split())}\n" for topic, query in topics.iter_rows())
    return {"qrels.txt": "".join(lines), "topics.tsv": "".join(names)}


def _workbench(rows: pl.DataFrame) -> Mapping[str, str]:
    ratings = [
        {"query": query, "ratings": [{"docId": url, "rating": str(grade)} for url, grade in own.iter_rows()]}
        for query, own in _by_query(rows)
    ]
    whole = {"name": "judgments from clicks", "type": "IMPORT_JUDGMENT", "judgmentRatings": ratings}
    return {"workbench.json": escape.json(whole, indent=2) + "\n"}


def _rank_eval(rows: pl.DataFrame) -> Mapping[str, str]:
    requests = [
        {
            "id": query,
            "request": {"query": {"match": {"text": query}}},
            "ratings": [{"_index": "index", "_id": url, "rating": grade} for url, grade in own.iter_rows()],
        }
        for query, own in _by_query(rows)
    ]
    return {"rank_eval.json": escape.json({"requests": requests}, indent=2) + "\n"}


def _by_query(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for (query,), own in rows.group_by("query", maintain_order=True):
        yield str(query), own.select("url", "grade")


FORMATS: Mapping[str, Callable[[pl.DataFrame], Mapping[str, str]]] = {
    "csv": lambda rows: {
        "judgments.csv": as_csv(rows.drop("market") if rows["market"].n_unique() == 1 else rows)
    },
    "qrels": _qrels,
    "quepid": lambda rows: {"quepid.csv": as_csv(rows.select("query", docid="url", rating="grade"))},
    "workbench": _workbench,
    "rank-eval": _rank_eval,
}
"""Formats of judgments, by name; docs/reference/formats.md says what reads them."""
