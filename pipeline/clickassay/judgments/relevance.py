"""Judgments that are made of clicks, which are refused where they are held against the same clicks."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import polars as pl

from clickassay.click_models.catalogue import PSEUDO_COUNT, click_models
from clickassay.click_models.click_log import ClickLog, Floats, check_clicked, click_log, summed
from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import JudgmentError, SettingsError
from clickassay.core.records import CLICK_JUDGE
from clickassay.core.settings import Settings
from clickassay.core.text.words import visible
from clickassay.judgments.prepare import Judgments, normal_judgments
from clickassay.metrics.editorial import satisfaction
from clickassay.patterns.lists import LogLists

COEC = "COEC"
"""Clicks over expected clicks: each position has the click rate of its market (Zhang and Jones 2007)."""

PEOPLE = "judgments"
"""What a judge without a name is called beside a judge that is made of clicks."""

LEAST_SESSIONS = 10
"""A result that fewer sessions showed gets no grade."""

Estimate = Callable[[ClickLog], Floats]


def relevance_by(model: str, pseudo_count: float, *, option: str = "--click-model") -> Estimate:
    """Return what estimates the (D,) relevance of the documents of a log, by a click model or COEC.

    Raises ClickModelError, SettingsError if there is no such model, or it has no relevance.
    """
    if model.upper() == COEC:
        return clicks_over_expected
    (kind,) = click_models([model])
    if not kind.estimates_attraction:
        raise SettingsError(
            f"{option} {model}: this model does not estimate the relevance of a result; use DBN or PBM"
        )
    return lambda log: kind.fit(log, pseudo_count=pseudo_count).model.relevance


def clicks_over_expected(log: ClickLog) -> Floats:
    """Return (D,) clicks over the clicks that positions (of a market, with a result) have; NaN if unseen."""
    sessions, clicks = log.by_list()
    market = log.documents["market"].rank("dense").to_numpy().astype(np.int64)[log.lists[:, 0]] - 1
    shape = int(market.max()) + 1, log.depth
    shown = np.where(log.shown, sessions[:, None], 0)
    per_market = [np.zeros(shape) for _ in range(2)]
    for total, part in zip(per_market, (shown, clicks), strict=True):
        np.add.at(total, market, part)
    rate = np.divide(per_market[1], per_market[0], out=np.zeros(shape), where=per_market[0] > 0)
    expected = summed(log.lists[log.shown], (shown * rate[market])[log.shown], len(log.documents))
    clicked = summed(log.lists[log.shown], clicks[log.shown], len(log.documents))
    values: Floats = np.divide(clicked, expected, out=np.full(len(expected), np.nan), where=expected > 0)
    return values


def usual_cuts(max_grade: int, *, of_coec: bool = False) -> Floats:
    """Return (max_grade,) relevances midway between the chances to satisfy that ERR gives to the grades.

    COEC has no such scale: its cuts are half of the expected clicks to twice these, in equal steps.
    """
    if of_coec:
        return np.linspace(0.5, 2, max_grade)
    chances = satisfaction(np.arange(max_grade + 1), max_grade)
    return (chances[1:] + chances[:-1]) / 2


def grades_of(relevance: Floats, cuts: Floats | None) -> pl.Series:
    """Return how many cuts each relevance reaches; null where it is unknown, or there are no cuts."""
    if cuts is None:
        return pl.Series([None] * len(relevance), dtype=pl.Int8)
    known = np.isfinite(relevance)
    grades = np.searchsorted(cuts, np.where(known, relevance, 0), side="right")
    return pl.Series(np.where(known, grades, -1), dtype=pl.Int8).replace(-1, None)


def check_click_judge(model: str) -> Estimate:
    """Return what estimates relevance for the judge of a click model; SettingsError if it gives no grades."""
    if model.strip().upper() == COEC:
        raise SettingsError(
            "--click-judge COEC: COEC has no scale of grades; use DBN or PBM, or compute judgments from "
            "another month's clicks with `clickassay clicks judgments --cuts` and pass them as --judgments"
        )
    return relevance_by(model, PSEUDO_COUNT, option="--click-judge")


def clicks_on_judged(fitting: LogLists, judgments: Judgments, *, depth: int) -> ClickLog:
    """Return the clicks on the lists of queries that any judge judged; one market, if judgments have none."""
    on = judgments.query_key
    lists = fitting.configurations.join(judgments.grades.select(on).unique(), on=on, how="semi")
    if not judgments.by_market:
        lists = lists.with_columns(pl.lit(EVERY).alias("market"))
    return click_log(lists.sort("configuration_id"), fitting.patterns_by_id, depth=depth)


def with_click_judge(graded: Judgments, fitting: LogLists, settings: Settings) -> tuple[Judgments, Judgments]:
    """Return judgments with their judge named, and those of a further judge made of clicks (`click_judge`).

    It grades the results of queries that any judge judged.
    fitting: sessions of users whose clicks evaluate nothing.
    Raises JudgmentError, SettingsError, ClickModelError if a judge has its name, the model gives no grades,
    or nothing was clicked.
    """
    model = settings.click_judge or ""
    estimate = check_click_judge(model)
    name = f"{CLICK_JUDGE}{model.strip().upper()})"
    if name in graded.judges:
        raise JudgmentError(
            f"judgments: a judge is called {name!r}, the name of the judge of --click-judge; rename this "
            "judge"
        )
    log = clicks_on_judged(fitting, graded, depth=max(settings.depth))
    check_clicked(log)
    grades = grades_of(estimate(log), usual_cuts(settings.max_grade))
    found = log.documents.with_columns(judge=pl.lit(name), grade=grades)
    shown_enough = pl.Series(log.impressions() >= LEAST_SESSIONS)
    own = found.filter(shown_enough & found["grade"].is_not_null())
    people = graded.grades.with_columns(pl.col("judge").replace(EVERY, PEOPLE))
    every = pl.concat([people, own.select(people.columns)], how="vertical_relaxed")
    return replace(graded, grades=people), replace(graded, grades=every)


# ---- judgments of the same clicks ------------------------------------------------------------------


COUNTS = ("sessions", "clicks")
"""Columns that say how often a result was shown, and clicked, where clicks made its grade."""

LEAST_CLICKS, LEAST_RESULTS, LEAST_SHARE = 3, 5, 0.2
"""Results with fewer clicks have the same counts by chance; of fewer results nothing is concluded.

Of another log about one result in 50 has the same counts. Of the same log not all have, if its lists were
looked at further down than here.
"""


def refuse_own_clicks(rows: pl.DataFrame, lists: Iterable[LogLists | None], *, normalise_urls: bool) -> None:
    """Refuse (JudgmentError) judgments made of this log: more than `LEAST_SHARE` have its own `COUNTS`."""
    if any(name not in rows.columns or rows[name].dtype.is_nested() for name in COUNTS):
        return
    numbers = rows.with_columns(pl.col(*COUNTS).cast(pl.Int64, strict=False))  # of a CSV file they are text
    usable = numbers.drop_nulls(["query", "url", *COUNTS]).filter(pl.col("clicks") >= LEAST_CLICKS)
    normal = normal_judgments(usable, normalise_urls=normalise_urls)
    told = normal.select("query", "url", *COUNTS).unique()
    if told.height < LEAST_RESULTS:
        return
    parts = [part for part in lists if part is not None]
    patterns, queries = pl.concat([part.patterns_by_id for part in parts]), told.select("query").unique()
    named = pl.concat([part.configurations.join(queries, on="query", how="semi") for part in parts])
    own = named.unique("configuration_id").join(patterns, on="configuration_id", how="semi")
    if own.is_empty():
        return
    deepest = int(own.select(pl.col("results").list.len().max()).item())
    log = click_log(own, patterns, depth=deepest)
    shown, clicked = (counts.cumsum(axis=1) for counts in log.by_document())
    results = log.documents.select("query", "url")
    each_depth = [results.with_columns(seen=shown[:, k], clicked=clicked[:, k]) for k in range(deepest)]
    both = told.join(pl.concat(each_depth), on=["query", "url"])
    is_same = (pl.col("seen") == pl.col("sessions")) & (pl.col("clicked") == pl.col("clicks"))
    same = both.filter(is_same).unique(["query", "url"]).height
    known = both.unique(["query", "url"]).height
    if same >= LEAST_RESULTS and same > LEAST_SHARE * known:
        first = both.filter(is_same).sort("query", "url").row(0, named=True)
        result, query = visible(first["url"])[:80], visible(first["query"])[:60]
        raise JudgmentError(
            f"judgments: {same:,} of {known:,} results have exactly the sessions and clicks of this log "
            f"({result!r} for {query!r}: {first['sessions']:,} and {first['clicks']:,}): they were computed "
            "from the same clicks they would be tested against; use judgments from the clicks of another "
            "period, or --click-judge DBN, which uses the clicks of other users; if people gave the "
            "grades, drop the columns sessions and clicks"
        )
