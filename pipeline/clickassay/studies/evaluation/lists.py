"""Ranked lists with their grades: a run joined with judgments, as arrays."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, repeat

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.records import Floats
from clickassay.inputs.trec import Sizes, ranking

Grades = NDArray[np.int16]

NO_GRADE = -100
"""Grade of a result that the judgments lack; other negative grades: selected to judge, but not judged."""

MOST_CELLS = 20_000_000
"""Most array elements of a block of lists: limits the memory of what is computed at once."""


@dataclass(frozen=True)
class Lists:
    """Ranked lists of Q queries, best result first.

    Attributes
    ----------
    queries
        (Q,) names of the queries, sorted.
    grades
        (rows,) grade of each result, list after list: 0 or more; `NO_GRADE` for a result that the judgments
        lack; another negative number for one that was selected to judge, but not judged.
    starts
        (Q + 1,) first row of each list; a query without results has none.
    pool
        (Q, g_max + 1) number of judged results of the query by grade.
    single
        The same lists where scores are read in single precision; None if their grades are the same.
    known, known_relevant, expected
        (rows,) whether the user knew the result; by lowest relevant grade, (Q,) relevant results that the
        user knew; (Q,) relevant results that the user expects. None where the input was not given.
    """

    queries: tuple[str, ...]
    grades: Grades
    starts: Sizes
    pool: Sizes
    single: "SinglePrecision | None" = None
    known: NDArray[np.bool_] | None = None
    known_relevant: dict[int, Sizes] | None = None
    expected: Sizes | None = None

    @property
    def returned(self) -> Sizes:
        """(Q,) number of results of each list."""
        return np.diff(self.starts)

    @property
    def max_grade(self) -> int:
        """The largest grade that the pool counts."""
        return int(self.pool.shape[1]) - 1

    def judged_only(self) -> "Lists":
        """Return the lists without the results that have no grade."""
        kept = self.grades >= 0
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        known = None if self.known is None else self.known[kept]
        return replace(self, grades=self.grades[kept], starts=starts, known=known, single=None)

    def with_unjudged(self, grade: int) -> "Lists":
        """Return the lists with this grade for results that have none; the pool stays."""
        filled = np.where(self.grades < 0, np.int16(grade), self.grades).astype(np.int16)
        return replace(self, grades=filled)

    def blocks(self, cut: int | None, *, exact: bool) -> Iterator["Block"]:
        """Yield the lists as arrays, some queries at a time; `exact`: lists of a block have equal length."""
        returned = self.returned if cut is None else np.minimum(self.returned, cut)
        length = int(self.returned.max(initial=0))
        if len(self.grades) == length * len(self.queries) <= MOST_CELLS and self.known is None:
            side_by_side = self.grades.reshape(len(self.queries), length)[:, :cut]
            yield Block(np.arange(len(self.queries)), _never_empty(side_by_side), returned, cut, None)
            return
        order = np.argsort(returned, kind="stable")
        sorted_lengths = returned[order]
        first = 0
        while first < len(order):
            last = _block_end(sorted_lengths, first, exact=exact)
            yield self._block(order[first:last], returned, cut)
            first = last

    def _block(self, rows: Sizes, returned: Sizes, cut: int | None) -> "Block":
        length = int(returned[rows].max(initial=0))
        places = self.starts[rows, None] + np.arange(length)
        there = np.arange(length) < returned[rows, None]
        if there.all():
            grades = self.grades[places]
        else:
            places = np.where(there, places, 0)
            grades = np.where(there, self.grades[places] if self.grades.size else 0, np.int16(NO_GRADE))
        known = None if self.known is None else there & self.known[places]
        return Block(rows, _never_empty(grades.astype(np.int16, copy=False)), returned[rows], cut, known)


def _never_empty(grades: Grades) -> Grades:
    """Return the grades, or one column without results where no list has any: measures read the first."""
    if grades.shape[1]:
        return grades
    return np.full((len(grades), 1), NO_GRADE, dtype=np.int16)


def _block_end(lengths: Sizes, first: int, *, exact: bool) -> int:
    if exact:
        return int(np.searchsorted(lengths, lengths[first], side="right"))
    # lengths rise: the last list of a block is its longest
    last = first + 1
    step = len(lengths) - first
    while step:
        if last + step <= len(lengths) and (last + step - first) * lengths[last + step - 1] <= MOST_CELLS:
            last += step
        else:
            step //= 2
    return last


@dataclass(frozen=True)
class SinglePrecision:
    """Lists whose order is another one where scores are read in single precision, as older tools do.

    Attributes
    ----------
    grades
        (rows,) grades in that order.
    lists
        How many lists have other grades at some rank.
    scores
        Two scores of one list that differ, and are equal there.
    """

    grades: Grades
    lists: int
    scores: tuple[float, float]


@dataclass(frozen=True)
class Block:
    """Lists of n queries side by side.

    Attributes
    ----------
    rows
        (n,) places of the queries in `Lists.queries`.
    grades
        (n, k) grades as in `Lists`, `NO_GRADE` where a list has ended.
    returned
        (n,) results of each list, to the cut.
    cut
        The cut; None = none.
    known
        (n, k) whether the user knew the result; None where that input was not given.
    """

    rows: Sizes
    grades: Grades
    returned: Sizes
    cut: int | None
    known: NDArray[np.bool_] | None


def ranked_lists(
    run: pl.DataFrame, qrels: pl.DataFrame, queries: tuple[str, ...], *, max_grade: int
) -> Lists:
    """Join a run with judgments.

    Parameters
    ----------
    run
        Columns query, doc (text), score (number); one row per query and doc.
    qrels
        Columns query, doc (text), grade (whole number); one row per query and doc.
    queries
        The queries to take, sorted; a query that the run lacks has an empty list.
    max_grade
        Largest grade that the pool has a place for; not below the grades of `qrels`.

    Results are in the order of `inputs.trec.ranking`.
    """
    numbers = pl.DataFrame({"query": queries}, schema={"query": pl.String}).with_row_index("q")
    graded = qrels.join(numbers, on="query").select("q", "doc", "grade")
    found = (
        run.join(numbers, on="query")
        .join(graded, on=["q", "doc"], how="left", maintain_order="left")
        .select("q", "doc", "score", pl.col("grade").fill_null(NO_GRADE).cast(pl.Int16))
    )
    if not found["q"].is_sorted():
        found = found.sort("q", maintain_order=True)
    starts = _starts(np.bincount(found["q"].to_numpy(), minlength=len(queries)))
    pool = _pool(graded["q"].to_numpy(), graded["grade"].to_numpy(), len(queries), max_grade)
    ordered = _ordered(found["grade"].to_numpy(), found["score"].to_numpy(), starts, found["doc"].to_list)
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
    found = (map(grades.get, docs, repeat(NO_GRADE)) for docs, grades in zip(shown, judged, strict=True))
    grade = np.fromiter(chain.from_iterable(found), np.int16, starts[-1])
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
