"""A run joined with judgments: ranked lists with their grades."""

from collections.abc import Callable, Mapping
from itertools import chain, repeat

import numpy as np
import polars as pl

from clickassay.core.records import Floats
from clickassay.inputs.text.trec import Sizes, ranking
from clickassay.metrics.lists import NO_GRADE, Grades, Lists, SinglePrecision


def ranked_lists(
    run: pl.DataFrame, qrels: pl.DataFrame, queries: tuple[str, ...], *, max_grade: int
) -> Lists:
    """Join a run with judgments.

    run: columns query, doc (text), score (number); one row per query and doc.
    qrels: columns query, doc (text), grade (whole number); one row per query and doc.
    queries: the queries to take, sorted; a query that the run lacks has an empty list.
    max_grade: largest grade that the pool has a place for; not below the grades of `qrels`.

    Results are in the order of `inputs.text.trec.ranking`.
    """
    numbers = pl.DataFrame({"query": queries}, schema={"query": pl.String}).with_row_index("q")
    graded = qrels.join(numbers, on="query").select("q", "doc", "grade")
    lists = (
        run.join(numbers, on="query")
        .join(graded, on=["q", "doc"], how="left", maintain_order="left")
        .select("q", "doc", "score", pl.col("grade").fill_null(NO_GRADE).cast(pl.Int16))
    )
    if not lists["q"].is_sorted():
        lists = lists.sort("q", maintain_order=True)
    starts = _starts(np.bincount(lists["q"].to_numpy(), minlength=len(queries)))
    pool = _pool(graded["q"].to_numpy(), graded["grade"].to_numpy(), len(queries), max_grade)
    ordered = _ordered(lists["grade"].to_numpy(), lists["score"].to_numpy(), starts, lists["doc"].to_list)
    return Lists(queries, ordered[0], starts, pool, ordered[1])


def lists_of_dicts(
    run: Mapping[str, Mapping[str, float]],
    qrels: Mapping[str, Mapping[str, int]],
    queries: tuple[str, ...],
    *,
    max_grade: int,
) -> Lists:
    """Join a run and judgments given as dicts ``{query: {doc: number}}``, without making tables.

    Everything else is as in `ranked_lists`.
    """
    shown = [run.get(query, {}) for query in queries]
    judged = [qrels[query] for query in queries]
    counts = np.array(list(map(len, shown)), dtype=np.int64)
    starts = _starts(counts)
    score = np.fromiter(chain.from_iterable(one.values() for one in shown), np.float64, starts[-1])
    rows = (map(grades.get, docs, repeat(NO_GRADE)) for docs, grades in zip(shown, judged, strict=True))
    grade = np.fromiter(chain.from_iterable(rows), np.int16, starts[-1])
    sizes = np.array(list(map(len, judged)), dtype=np.int64)
    graded = np.fromiter(chain.from_iterable(one.values() for one in judged), np.int64, sizes.sum())
    pool = _pool(np.repeat(np.arange(len(queries)), sizes), graded, len(queries), max_grade)
    ordered = _ordered(grade, score, starts, lambda: list(chain.from_iterable(shown)))
    return Lists(queries, ordered[0], starts, pool, ordered[1])


def _ordered(
    grade: Grades, score: Floats, starts: Sizes, docs: Callable[[], list[str]]
) -> tuple[Grades, SinglePrecision | None]:
    """Return the grades in the order of `ranking`, and what single precision of the scores would change."""
    order = ranking(score, starts, docs)
    grades, exact = grade[order], score[order]
    with np.errstate(over="ignore"):
        single = exact.astype(np.float32)
    of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    tied = (single[1:] == single[:-1]) & (exact[1:] != exact[:-1]) & (of[1:] == of[:-1])
    if not tied.any():
        return grades, None
    with np.errstate(over="ignore"):
        other = grade[ranking(score.astype(np.float32).astype(np.float64), starts, docs)]
    changed = np.unique(of[other != grades])
    if not len(changed):
        return grades, None
    place = np.flatnonzero(tied & (of[1:] == changed[0]))[0]
    return grades, SinglePrecision(other, len(changed), (float(exact[place]), float(exact[place + 1])))


def _starts(counts: Sizes) -> Sizes:
    return np.concatenate([[0], np.cumsum(counts)])


def _pool(query: Sizes, grade: Sizes, number: int, max_grade: int) -> Sizes:
    judged = grade >= 0
    cells = query[judged].astype(np.int64) * (max_grade + 1) + grade[judged]
    return np.bincount(cells, minlength=number * (max_grade + 1)).reshape(number, max_grade + 1)
