"""Which results to judge next: results that complete most sessions, or narrow intervals most."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from clickassay.core.contracts.judgments import NEXT_JUDGMENTS
from clickassay.core.records import Floats
from clickassay.judgments.prepare import Judgments
from clickassay.judgments.shown import rows_of_judge
from clickassay.patterns.lists import LogLists
from clickassay.patterns.results import numbered
from clickassay.patterns.sums import order_of

MAX_QUERIES = 200
"""Queries that are kept for each market, depth and judge."""


def next_judgments(
    table: LogLists,
    judgments: Judgments,
    formed: Mapping[str, int],
    *,
    judge: str,
    depth: int,
    in_other_form: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Rank queries by what judging them would do, per label: to coverage, and to the width of intervals.

    Of each query the most frequent lists are taken, as many as complete most sessions per label; their
    results without a judgment are to be judged. Its effect on intervals assumes that queries differ in their
    sessions alone: then the squared width is proportional to sum w^2 / (sum w)^2 over judged queries, w being
    sessions. So a query with very many sessions widens them.

    table: lists of the log; its most frequent queries are among them.
    judgments: filled rows are ignored.
    formed: all sessions by market, for coverage.
    in_other_form: (query, url) of the log that are judged, but spelled otherwise there; a null url stands for
      all. Lists that show one are to be mended, not judged; None = there is none.

    Returns rows of `contracts.judgments.NEXT_JUDGMENTS`, at most `MAX_QUERIES` for each market and goal.
    """
    lists = _lists(table, depth)
    names = _names(table, lists)
    missing = _missing(table, lists, judgments, judge, depth)
    open_ = missing if in_other_form is None else _without(missing, names, in_other_form)
    wanted = _best_lists(lists, open_).join(names, on="q").sort("q")
    weights = _judged_weights(lists, missing).join(names, on="q").sort("q")
    ranked = [
        _rank_queries(part, weights.filter(market=part["market"][0]), formed[part["market"][0]])
        for part in wanted.partition_by("market", maintain_order=True)
    ]
    if not ranked:
        return NEXT_JUDGMENTS.empty()
    named = pl.concat(ranked).with_columns(
        pl.col("width").fill_nan(None), judge=pl.lit(judge), depth=pl.lit(depth)
    )
    return NEXT_JUDGMENTS.canonical(named)


def _lists(table: LogLists, depth: int) -> pl.DataFrame:
    """Return (list, q, row, sessions) of long enough lists, cut to the depth, each once.

    q is the number of the query, row the first configuration that the list was cut from. The lists
    of a query are in the order of their sessions, the most first, then of ids.
    """
    (rows,) = (table.configurations["results"].list.len() >= depth).to_numpy().nonzero()
    top = pl.DataFrame(table.results.top(depth)[rows])
    # hashed: of one query, no two share 64 bits by chance
    number, first = numbered(top.hash_rows().to_numpy())
    sessions = np.zeros(len(first), np.int64)
    np.add.at(sessions, number, table.configurations["sessions"].to_numpy()[rows])
    row = rows[first]  # of one list the smallest row: configurations are in the order of ids
    order = order_of(table.query[row], -sessions, row)
    columns = {"q": table.query[row], "row": row, "sessions": sessions}
    return pl.DataFrame({name: values[order] for name, values in columns.items()}).with_row_index("list")


def _names(table: LogLists, lists: pl.DataFrame) -> pl.DataFrame:
    """Return (q, market, query) of the queries of some lists."""
    each = lists.unique("q")
    named = table.configurations.select(pl.col("market", "query").gather(each["row"]))
    return named.with_columns(each["q"])


def _missing(
    table: LogLists, lists: pl.DataFrame, judgments: Judgments, judge: str, depth: int
) -> pl.DataFrame:
    """Return (list, q, url) of the results that the judge has not judged, each once a list."""
    rows = rows_of_judge(table, judgments, judge)
    judged = np.where(rows < judgments.of_judge(judge)[1], rows, -1)  # filled ones are no judgments
    numbers = table.results.top(depth)[lists["row"].to_numpy()]
    row, column = np.nonzero(judged[numbers] < 0)
    missing = pl.DataFrame({"list": lists["list"].gather(row), "number": numbers[row, column]}).unique()
    return missing.select(
        "list", lists["q"].gather(missing["list"]), table.results.urls.gather(missing["number"]).alias("url")
    )


def _without(missing: pl.DataFrame, names: pl.DataFrame, in_other_form: pl.DataFrame) -> pl.DataFrame:
    """Return what is missing without the lists that show a result that is judged in another form."""
    judged = in_other_form.join(names, on="query").select("q", "url")
    lists = missing.join(judged, on=["q", "url"]).select("list")
    queries = judged.filter(pl.col("url").is_null())
    return missing.join(lists, on="list", how="anti").join(queries, on="q", how="anti")


def _best_lists(lists: pl.DataFrame, missing: pl.DataFrame) -> pl.DataFrame:
    """Return (q, urls, labels, sessions) of each query with something missing.

    The lists of a query are taken in turn, the most frequent first; each adds its results that no list before
    it had and that are not judged. A list is complete once all of its results are judged or added.
    """
    brought = missing.group_by("q", "url").agg(pl.col("list").min().alias("step"))
    steps = (
        brought.sort("step", "url")
        .group_by("q", "step", maintain_order=True)
        .agg(pl.col("url").alias("urls"))
    )
    complete = missing.join(brought, on=["q", "url"]).group_by("list").agg(pl.col("step").max())
    sessions = complete.join(lists.select("list", "sessions"), on="list")
    sessions = sessions.group_by("step").agg(pl.col("sessions").sum())
    counted = steps.join(sessions, on="step", how="left", maintain_order="left").with_columns(
        pl.col("urls").list.len().cast(pl.Int64).cum_sum().over("q").alias("labels"),
        pl.col("sessions").fill_null(0).cum_sum().over("q"),
    )
    ratio = pl.col("sessions") / pl.col("labels")
    best = pl.col("step") <= pl.col("step").get(ratio.arg_max()).over("q")
    return (
        counted.filter(best)
        .group_by("q", maintain_order=True)
        .agg(
            pl.col("urls").list.explode(keep_nulls=False, empty_as_null=False),
            pl.col("labels").last(),
            pl.col("sessions").last(),
        )
    )


def _judged_weights(lists: pl.DataFrame, missing: pl.DataFrame) -> pl.DataFrame:
    """Return (q, judged): sessions of the lists of each query whose results are all judged."""
    whole = lists.select("list", "q", "sessions").join(missing.select("list").unique(), on="list", how="anti")
    return whole.group_by("q").agg(pl.col("sessions").sum().alias("judged"))


def _rank_queries(wanted: pl.DataFrame, own: pl.DataFrame, every: int) -> pl.DataFrame:
    """Rank the queries of one market; add what judging all down to each does to coverage and intervals."""
    joined = wanted.join(own.select("query", "judged"), on="query", how="left").with_columns(
        pl.col("judged").fill_null(0)
    )
    start = own["judged"].to_numpy().astype(np.float64)
    worth = {
        "coverage": joined["sessions"].to_numpy().astype(np.float64),
        "interval": _narrowing(start, joined),
    }
    return pl.concat(_rank_for_goal(joined, goal, value, start, every) for goal, value in worth.items())


def _narrowing(start: Floats, joined: pl.DataFrame) -> Floats:
    """Return by how much the log of the squared width falls with each query alone; 0 if none is judged."""
    judged, added = (joined[name].to_numpy().astype(np.float64) for name in ("judged", "sessions"))
    total, squares = start.sum(), (start**2).sum()
    if not total:
        return np.zeros(len(added))
    after = np.log(squares + (judged + added) ** 2 - judged**2) - 2 * np.log(total + added)
    return np.asarray(np.log(squares) - 2 * np.log(total) - after)


def _rank_for_goal(joined: pl.DataFrame, goal: str, worth: Floats, start: Floats, every: int) -> pl.DataFrame:
    """Return the queries that gain most per label for one goal, with running totals."""
    valued = joined.with_columns(pl.Series("worth", worth) / pl.col("labels")).filter(pl.col("worth") > 0)
    top = valued.sort("worth", "sessions", "query", descending=[True, True, False]).head(MAX_QUERIES)
    return top.with_columns(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int32).alias("rank"),
        pl.col("labels").cum_sum().alias("labels_so_far"),
        ((pl.col("sessions").cum_sum() + int(start.sum())) / every).alias("coverage"),
        pl.Series(
            "width",
            _widths(start, *(top[name].to_numpy().astype(np.float64) for name in ("judged", "sessions"))),
        ),
        pl.lit(goal).alias("goal"),
    ).drop("judged", "worth", "q")


def _widths(start: Floats, judged: Floats, added: Floats) -> Floats:
    """Return the width of intervals, relative to now, after each query; NaN if nothing is judged now."""
    total, squares = start.sum(), (start**2).sum()
    if not total:
        return np.full(len(added), np.nan)
    totals = total + np.cumsum(added)
    after = squares + np.cumsum((judged + added) ** 2 - judged**2)
    return np.asarray(np.sqrt(after / totals**2 / (squares / total**2)))
