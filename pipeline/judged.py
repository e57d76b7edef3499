"""Pattern table and judgments joined: the judged configurations of one depth and judge (contract 1, 4)."""

import hashlib
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.judgments import Judgments
from pipeline.patterns import PatternTable

Grades = NDArray[np.int8]


@dataclass(frozen=True)
class Judged:
    """Configurations of one depth and judge whose top-k results all have a grade, over all markets.

    Attributes
    ----------
    rows
        One row per judged configuration, sorted by (market, query, configuration_id): these columns,
        and `results` (top k), `n` (row number).
    grades
        (N, k) grades of the results.
    pool
        (N, g_max + 1) the query's judged results by grade.
    patterns
        Rows (n, fold, click_mask, sessions) of these configurations, masks cut to k, sorted.
    too_short, not_judged
        Sessions by market that this depth leaves out.
    """

    rows: pl.DataFrame
    grades: Grades
    pool: NDArray[np.int64]
    patterns: pl.DataFrame
    too_short: dict[str, int]
    not_judged: dict[str, int]


def configuration_id(market: str, query: str, results: list[str]) -> str:
    """Return the content address of a configuration: md5 of its texts, joined so that no two look alike."""
    joined = "\x1f".join((market, query, *results))
    if "\\" in joined or joined.count("\x1f") > len(results) + 1:
        texts = (text.replace("\\", "\\\\").replace("\x1f", "\\u") for text in (market, query, *results))
        joined = "\x1f".join(texts)
    return hashlib.md5(joined.encode(), usedforsecurity=False).hexdigest()


def judge_configurations(
    table: PatternTable, judgments: Judgments, *, judge: str, depth: int, max_grade: int
) -> Judged:
    """Cut the pattern table to `depth` and keep the configurations that `judge` graded fully.

    Lists that become the same by the cut become one configuration; their patterns add up.
    """
    grades = judgments.grades.filter(pl.col("judge") == judge)
    on = ["market", "query"] if judgments.by_market else ["query"]
    sessions = table.patterns.group_by("configuration_id").agg(pl.col("sessions").sum())
    stored = table.configurations.join(sessions, on="configuration_id", maintain_order="left")
    long_enough = stored.filter(pl.col("results").list.len() >= depth)
    candidates = long_enough.join(grades.select(on).unique(), on=on, how="semi", maintain_order="left")
    matrix = _grade_matrix(candidates, grades, [*on, "url"], depth)
    full = (matrix >= 0).all(axis=1)
    kept = candidates.filter(pl.Series(full, dtype=pl.Boolean))
    cut, index = _cut(kept.with_row_index("place"), depth)
    first = _first_of_each(index, cut.height)
    return Judged(
        rows=cut,
        grades=matrix[full][first],
        pool=_pool(cut, grades, on, max_grade),
        patterns=_cut_patterns(table.patterns, kept["configuration_id"], index, depth),
        too_short=_sessions_by_market(stored.filter(pl.col("results").list.len() < depth)),
        not_judged=_missing(long_enough, kept),
    )


def _grade_matrix(candidates: pl.DataFrame, grades: pl.DataFrame, on: list[str], depth: int) -> Grades:
    """Look up the grade of each of the top results; -1 where there is none."""
    places = candidates.select("market", "query", pl.col("results").list.head(depth).alias("url")).explode(
        "url"
    )
    found = places.join(grades.select(*on, "grade"), on=on, how="left", maintain_order="left")
    matrix: Grades = found["grade"].fill_null(-1).to_numpy().reshape(candidates.height, depth)
    return matrix


def _cut(kept: pl.DataFrame, depth: int) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Cut lists to the depth; return the distinct configurations, and which of them each row became."""
    longer = pl.col("results").list.len() > depth
    top = kept.filter(longer).select("market", "query", pl.col("results").list.head(depth))
    ids = pl.Series([configuration_id(*row) for row in top.iter_rows()], dtype=pl.String)
    named = pl.concat(
        [
            kept.filter(~longer).select("market", "query", "results", "configuration_id", "place"),
            top.with_columns(ids.alias("configuration_id"), kept.filter(longer)["place"]),
        ]
    ).sort("place")
    distinct = (
        named.drop("place").unique("configuration_id", keep="any").sort("market", "query", "configuration_id")
    )
    numbered = distinct.with_columns(n=pl.int_range(pl.len(), dtype=pl.Int64))
    index = named.join(
        numbered.select("configuration_id", "n"), on="configuration_id", maintain_order="left"
    )["n"]
    return numbered, index.to_numpy()


def _first_of_each(index: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    first = np.zeros(size, dtype=np.int64)
    first[index[::-1]] = np.arange(len(index))[::-1]
    return first


def _pool(rows: pl.DataFrame, grades: pl.DataFrame, on: list[str], max_grade: int) -> NDArray[np.int64]:
    """Count the judged results of each row's query by grade."""
    counts = grades.group_by(*on, "grade").len()
    wide = rows.select("n", "market", "query").join(counts, on=on)
    pool = np.zeros((rows.height, max_grade + 1), dtype=np.int64)
    pool[wide["n"].to_numpy(), wide["grade"].to_numpy()] = wide["len"].to_numpy()
    return pool


def _cut_patterns(
    patterns: pl.DataFrame, ids: pl.Series, index: NDArray[np.int64], depth: int
) -> pl.DataFrame:
    numbers = pl.DataFrame({"configuration_id": ids, "n": index})
    mask = pl.col("click_mask") & ((1 << depth) - 1)
    cut = patterns.join(numbers, on="configuration_id").with_columns(mask)
    return (
        cut.group_by("n", "fold", "click_mask").agg(pl.col("sessions").sum()).sort("n", "fold", "click_mask")
    )


def _sessions_by_market(rows: pl.DataFrame) -> dict[str, int]:
    return dict(rows.group_by("market").agg(pl.col("sessions").sum()).iter_rows())


def _missing(long_enough: pl.DataFrame, kept: pl.DataFrame) -> dict[str, int]:
    every, judged = _sessions_by_market(long_enough), _sessions_by_market(kept)
    return {market: sessions - judged.get(market, 0) for market, sessions in every.items()}
