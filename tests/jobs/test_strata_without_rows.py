"""A stratum without rows changes no column and no number of the others, whatever is asked for beside."""

import polars as pl
import pytest

import clickassay as ca
from support.logs import tiny

SETTINGS = {**tiny.PYTHON, "iterations": 10, "threads": 1, "max_rejected": 1.0, "folds": 2}
FIRST = pl.col("results").list.first()
OWN = {"name": pl.lit("own"), "value": FIRST.hash(1) % 7 * 1.0}
BUYERS = (1, 14)
"""Two users who click, one of each half of the users."""


def log(buyer=BUYERS[0]):
    """Return a log of one market and one judge, in which the user of one search bought something."""
    action = pl.when(pl.col("search_id") == buyer).then(pl.lit("purchase")).otherwise(pl.lit("click"))
    return {
        "searches": tiny.searches().with_columns(market=pl.lit("a")),
        "clicks": tiny.clicks().with_columns(action=action),
        "judgments": tiny.judgments().with_columns(judge=pl.lit("people")),
    }


def revenue(buyer=BUYERS[0]):
    return {"outcomes": pl.DataFrame({"search_id": [buyer], "name": ["revenue"], "value": [2.5]})}


def by_query(name):
    return {"queries": tiny.searches().select("query", pl.col("query").str.head(1).alias(name)).unique()}


FAMILIES = {
    "nothing": lambda _: {},
    "signals": lambda _: {"signal": "purchase", "click_metric": ["MeanRR", "UCTR(signal='purchase')"]},
    "outcomes": lambda _: revenue(),
    "ratings": lambda _: {**revenue(), "outcome_kind": "revenue=rating"},
    "derived outcomes": lambda _: {"outcome": ["abandoned", "reformulated"]},
    "scores by search": lambda searches: {"scores": searches.select("search_id", **OWN)},
    "scores by list": lambda searches: {"scores": searches.select("market", "query", "results", **OWN)},
    "IPS": lambda _: {"click_metric": ["MeanRR", "IPS"]},
    "model metrics": lambda _: {"metric": ["UBM", "DBN"]},
    "click judge": lambda _: {"click_judge": "PBM"},
    "groups": lambda _: by_query("query_group"),
    "classes": lambda _: by_query("kind"),
    "unjudged": lambda _: {"unjudged": "extremes"},
}


def with_market(tables):
    other = {"market": pl.lit("b"), "query": pl.lit("unjudged")}
    more = tables["searches"].with_columns(pl.col("search_id", "user_id") + 100, **other)
    return {**tables, "searches": pl.concat([tables["searches"], more])}


def with_judge(tables):
    lonely = tables["judgments"].head(1).with_columns(judge=pl.lit("someone"))
    return {**tables, "judgments": pl.concat([tables["judgments"], lonely])}


def with_lists(tables):
    """Add searches that show nothing, null, a list with null, and one result that nobody judged."""
    odd = pl.Series("results", [[], None, [None], ["http://one.example/"]], dtype=pl.List(pl.String))
    more = tables["searches"].head(4).with_columns(odd, pl.col("search_id", "user_id") + 200)
    return {**tables, "searches": pl.concat([tables["searches"], more])}


def run_of(family, *, is_full=True):
    """Return the run of the log, or of it with a market, a judge, lists and a depth without rows."""
    tables = log() if is_full else with_lists(with_judge(with_market(log())))
    more = FAMILIES[family](tables["searches"])
    return ca.run(**tables, **more, depth=(2, 3) if is_full else (2, 3, 9), **SETTINGS)


@pytest.mark.parametrize("family", FAMILIES)
def test_strata_without_rows_change_no_other(family):
    full, found = run_of(family), run_of(family, is_full=False)
    assert full.configurations.height == 12
    for name in ("configurations", "patterns", "signals", "outcomes"):
        rows, expected = found.tables[name], full.tables[name]
        rows = rows.filter(judge="people") if "judge" in rows.columns else rows
        assert rows.equals(expected), name


@pytest.mark.parametrize("family", ["signals", "outcomes"])
def test_what_only_users_that_a_model_is_fitted_on_did_is_zero_for_the_others(family):
    runs = []
    for buyer in BUYERS:
        more = revenue(buyer) if family == "outcomes" else {"signal": "purchase"}
        runs.append(ca.run(**log(buyer), **more, click_judge="PBM", depth=(2, 3), **SETTINGS))
    assert runs[0].configurations.columns == runs[1].configurations.columns
    column = "revenue" if family == "outcomes" else "UCTR(signal='purchase')"
    assert sorted(run.configurations[column].sum() > 0 for run in runs) == [False, True]
    for run in runs:
        assert column in set(run.correlations["click_metric"])
        assert column not in set(run.correlations["editorial_metric"])
