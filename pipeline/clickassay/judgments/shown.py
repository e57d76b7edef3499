"""Results that lists show, one row each, and the row of each result's grade."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.records import Integers
from clickassay.judgments.prepare import Judgments
from clickassay.patterns.lists import LogLists
from clickassay.patterns.results import NumberedResults


def results_shown(lists: pl.DataFrame, deepest: int) -> pl.DataFrame:
    """Return one row per result down to `deepest`: a list without results has none.

    lists: with a column `results`; the other columns stay.

    Returns `list` (row of `lists`, from 0), the other columns, `url`, and `place` (from 0).
    """
    cut = pl.col("results").list.head(deepest)
    rows = lists.with_row_index("list").with_columns(url=cut, place=pl.int_ranges(cut.list.len()))
    return rows.drop("results").explode("url", "place", empty_as_null=False)


def clicks_by_position(lists: LogLists, deepest: int) -> Iterator[tuple[int, int]]:
    """Yield the sessions that show a result at each position, and of these the sessions that click it.

    From the first position down to `deepest`, or to the last that any session shows.
    """
    lengths = lists.configurations["results"].list.len().alias("length")
    sessions = lists.patterns.with_columns(lengths.gather(lists.patterns["list"]))
    for place in range(deepest):
        shown = sessions.filter(pl.col("length") > place)
        if shown.is_empty():
            return
        clicked = shown.filter((pl.col("click_mask") & (1 << place)) != 0)
        yield int(shown["sessions"].sum()), int(clicked["sessions"].sum())


def rows_of_judge(lists: LogLists, judgments: Judgments, judge: str) -> Integers:
    """Return `rows_of_numbers` of `judgments.of_judge(judge)`, which are looked up once."""
    known, key = judgments.rows_by_lists, (judge, id(lists))
    if key not in known:
        grades, _ = judgments.of_judge(judge)
        rows = rows_of_numbers(lists.configurations, lists.results, grades, judgments.query_key)
        known[key] = lists, rows  # lists stay there, so that no others get their place in memory
    return known[key][1]


def rows_of_numbers(
    lists: pl.DataFrame, results: NumberedResults, grades: pl.DataFrame, on: tuple[str, ...]
) -> Integers:
    """Return the (results + 1,) row of `grades` of each result by number; -1 without a grade.

    The last is -1, so that the number -1 has no grade either.

    lists: lists: the columns `on`.
    results: their results.
    grades: one row per result of a query: the columns `on` and `url`.
    on: columns that identify a query, as in `Judgments.query_key`.
    """
    rows = grades.select(*on, "url", pl.int_range(pl.len(), dtype=pl.Int64).alias("row"))
    rows_of_results = named_results(lists, results, on).join(
        rows, on=[*on, "url"], how="left", maintain_order="left"
    )
    return np.append(rows_of_results["row"].fill_null(-1).to_numpy(), -1)


def named_results(lists: pl.DataFrame, results: NumberedResults, on: tuple[str, ...]) -> pl.DataFrame:
    """Return the columns `on` of `lists`, and `url`, of the result of each number."""
    return lists.select(pl.col(on).gather(results.lists)).with_columns(url=results.urls)


def judged_pool(lists: pl.DataFrame, judged: pl.DataFrame, max_grade: int) -> NDArray[np.int64]:
    """Count the judged results of each list's query by grade.

    lists: n lists; a query's lists stand together.
    judged: rows (query, perhaps market, grade, len): how many results of a query have a grade.

    Returns (N, max_grade + 1) counts.
    """
    on = [name for name in ("market", "query") if name in judged.columns]
    runs = lists.select(run=pl.struct(on).rle_id())["run"]
    wide = lists.select(*on, runs).unique("run").join(judged, on=on)
    pool = np.zeros((runs.n_unique(), max_grade + 1), dtype=np.int64)
    pool[wide["run"].to_numpy(), wide["grade"].to_numpy()] = wide["len"].to_numpy()
    of_lists: NDArray[np.int64] = pool[runs.to_numpy()]
    return of_lists
