"""A run joined with judgments: ranked lists with their grades, and what both sides have in common."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.errors import InputError, NothingInCommonError
from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.core.text.words import number, plural, visible
from clickassay.health.overlap import Side, names_apart
from clickassay.inputs.text.trec import Sizes, ranking
from clickassay.metrics.definition import Measure
from clickassay.metrics.lists import NO_GRADE, Grades, Lists, SinglePrecision, measure_values


def ranked_lists(
    run: pl.DataFrame, qrels: pl.DataFrame, queries: tuple[str, ...], *, max_grade: int
) -> Lists:
    """Join a run with judgments, in the order of `inputs.text.trec.ranking`.

    run, qrels: query, doc (text), and score (number) or grade (whole number); one row per query and doc.
    queries: those to take, sorted; one that the run lacks has an empty list.
    max_grade: largest grade that the pool has a place for; not below the grades of `qrels`.
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
    grade, score = lists["grade"].to_numpy(), lists["score"].to_numpy()
    grades, single = _ordered(grade, score, starts, lists["doc"].to_list)
    return Lists(queries, grades, starts, pool, single)


def lists_of_dicts(
    run: Mapping[str, Mapping[str, float]],
    qrels: Mapping[str, Mapping[str, int]],
    queries: tuple[str, ...],
    *,
    max_grade: int,
) -> Lists:
    """Join a run and judgments given as dicts ``{query: {doc: number}}``: `ranked_lists` without tables."""
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
    ordered, single = _ordered(grade, score, starts, lambda: list(chain.from_iterable(shown)))
    return Lists(queries, ordered, starts, pool, single)


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


def _pool(query: Sizes, grade: Sizes, queries: int, max_grade: int) -> Sizes:
    judged = grade >= 0
    cells = query[judged].astype(np.int64) * (max_grade + 1) + grade[judged]
    return np.bincount(cells, minlength=queries * (max_grade + 1)).reshape(queries, max_grade + 1)


Pairs = pl.DataFrame | Mapping[str, Mapping[str, Any]]
"""Rows query, doc, …, or a dict ``{query: {doc: number}}``."""

_PLACES = 4
_RULES = {"max": "the highest of its grades", "mean-rounded": "their rounded mean", "latest": "the last"}


def check_queries(run: str, there: set[str], judged: set[str], judgments: str) -> None:
    """Refuse a run without a judged query: NothingInCommonError has one name of each side."""
    if there & judged:
        return
    ours, theirs = (
        Side(who, pl.DataFrame({"text": sorted(names)}, {"text": pl.String}))
        for who, names in (("the run has", there), ("judgments have", judged))
    )
    raise NothingInCommonError(
        f"{visible(run)} and {judgments} have no query in common: {names_apart(ours, theirs)}; "
        "give files that use the same query ids"
    )


def refuse_different_queries(answered: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse to compare runs over different queries, which average_over = both can give."""
    (first, one), *others = answered.items()
    for name, queries in others:
        if queries != one:
            raise InputError(
                f"runs {first} and {name} answer different queries ({len(one)} and {len(queries)} judged "
                "ones); average over all judged queries"
            )


def documents_apart(named: tuple[str, Pairs], judged: Pairs, lists: Lists, judgments: str) -> Iterator[str]:
    """Yield a sentence with one name of each side if no result of a run is named in the judgments."""
    if (lists.grades != NO_GRADE).any():
        return
    sides = []
    for who, pairs in (("the run has", named[1]), ("judgments have", judged)):
        if isinstance(pairs, pl.DataFrame):
            texts = pairs.filter(pl.col("query").is_in(lists.queries)).select("query", text="doc")
        else:
            rows = [(query, doc) for query in lists.queries for doc in pairs.get(query, {})]
            texts = pl.DataFrame(rows, {"query": pl.String, "text": pl.String}, orient="row")
        sides.append(Side(who, texts))
    ours, theirs = sides
    apart = names_apart(ours, theirs, ("query",))
    yield (
        f"no result of {visible(named[0])} has a grade in {judgments}: {apart}; "
        "give files that use the same document names"
    )


def overlap(runs: pl.DataFrame) -> str:
    """Say what each run has in common with the judgments, in the form of `forms.RUNS`, in one line."""
    told = []
    for row in runs.iter_rows(named=True):
        both = plural(row["queries_judged"] - row["queries_missing"], "query", "queries")
        alone = f"{row['queries_missing']:,} judged only, {row['queries_unjudged']:,} in the run only"
        graded = f"{row['results_judged']:,} of {plural(row['results'], 'result')} with a grade"
        told.append(f"{visible(row['run'])}: {both} in both, {alone}; {graded}")
    return "; ".join(told)


def judgment_cautions(counts: Mapping[str, int], rule: str, who: str = "") -> Iterator[str]:
    """Yield which documents were judged again, and which ratings are none, by counts of `read_qrels`."""
    if counts.get("judged_again"):
        again = plural(counts["judged_again"], "judgment")
        grade = f"{_RULES[rule]} (--conflicts {rule})"
        yield f"{again}{who} of documents that have one already: each gets {grade}."
    if counts.get("not_judged"):
        yield f"{plural(counts['not_judged'], 'rating')}{who} without a grade (null, refused …): not judged."


def precision_caution(
    run: str, lists: Lists, measures: tuple[Measure, ...], settings: Settings
) -> Iterator[str]:
    """Yield a sentence if scores differ only beyond single precision, and a mean depends on that."""
    single = lists.single
    if single is None or lists.known is not None:
        return
    tied = replace(lists, grades=single.grades, single=None)
    for measure in measures:
        ours, theirs = (float(measure_values(measure, one, settings).mean()) for one in (lists, tied))
        if ours != theirs:
            yield (
                f"In {plural(single.lists, 'list')} of {visible(run)} scores differ beyond single precision "
                f"alone, as {single.scores[0]!r} and {single.scores[1]!r}: tools that read them so "
                "(trec_eval before it had double precision, pytrec_eval-terrier 0.5.11) tie them and have "
                f"{measure} {number(theirs, _PLACES)} in place of {number(ours, _PLACES)}."
            )
            return
