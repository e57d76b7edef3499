"""What runs and judgments have in common, and where what they say twice does not agree."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from clickassay.core.errors import InputError, NothingInCommonError
from clickassay.core.settings import Settings
from clickassay.core.text.words import number, plural, visible
from clickassay.health.overlap import Side, names_apart, rank_findings
from clickassay.metrics.definition import Measure
from clickassay.metrics.lists import NO_GRADE, Lists, measure_values

Pairs = pl.DataFrame | Mapping[str, Mapping[str, Any]]
"""Rows query, doc, …, or a dict ``{query: {doc: number}}``."""

_PLACES = 4
_RULES = {"max": "the highest of its grades", "mean-rounded": "their rounded mean", "latest": "the last"}


def check_queries(run: str, there: set[str], judged: set[str], judgments: str) -> None:
    """Refuse a run that has no query of the judgments, which messages call so.

    Raises NothingInCommonError: with one name of each side.
    """
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
    name, run = named
    ours, theirs = (
        Side(who, _texts(pairs, lists.queries))
        for who, pairs in (("the run has", run), ("judgments have", judged))
    )
    yield (
        f"no result of {visible(name)} has a grade in {judgments}: {names_apart(ours, theirs, ('query',))}; "
        "give files that use the same document names"
    )


def _texts(pairs: Pairs, queries: tuple[str, ...]) -> pl.DataFrame:
    if isinstance(pairs, pl.DataFrame):
        return pairs.filter(pl.col("query").is_in(queries)).select("query", text="doc")
    rows = [(query, doc) for query in queries for doc in pairs.get(query, {})]
    return pl.DataFrame(rows, {"query": pl.String, "text": pl.String}, orient="row")


def overlap(runs: pl.DataFrame) -> str:
    """Say what each run has in common with the judgments, in the form of `forms.RUNS`, in one line."""
    return "; ".join(map(_overlap_of_run, runs.iter_rows(named=True)))


def _overlap_of_run(row: dict[str, Any]) -> str:
    both = plural(row["queries_judged"] - row["queries_missing"], "query", "queries")
    alone = f"{row['queries_missing']:,} judged only, {row['queries_unjudged']:,} in the run only"
    graded = f"{row['results_judged']:,} of {plural(row['results'], 'result')} with a grade"
    return f"{visible(row['run'])}: {both} in both, {alone}; {graded}"


def contradictions(run: str, pairs: Pairs) -> Iterator[str]:
    """Yield sentences where the ranks of a run contradict its scores."""
    if isinstance(pairs, pl.DataFrame):
        yield from rank_findings(run, pairs, decides="score")


def judgment_cautions(counts: Mapping[str, int], rule: str, who: str = "") -> Iterator[str]:
    """Yield sentences on documents judged more than once, and on ratings that are no judgments.

    `counts` are those of `read_qrels`, of the judgments of `who`.
    """
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
