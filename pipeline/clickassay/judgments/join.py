"""Pattern table and judgments joined: results and their grades, judged configurations (method 1 and 4)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.patterns import names_known
from clickassay.core.records import Floats, Grades, Integers, JudgedConfigurations, order_by_id
from clickassay.judgments.prepare import Judgments
from clickassay.judgments.scores import Scores
from clickassay.patterns.digests import configuration_ids
from clickassay.patterns.lists import LogLists, NumberedResults
from clickassay.patterns.sums import WordLayout, counted, packed_days, unpacked_days


def results_shown(lists: pl.DataFrame, deepest: int) -> pl.DataFrame:
    """Return one row per result down to `deepest`, none of an empty list.

    The row of `lists` (from 0), its columns but `results`, `url`, and `place` (from 0).
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
    """Return the (results + 1,) row of `grades` of each result by number; -1 without a grade, and at the end.

    on: columns that identify a query, as in `Judgments.query_key`; grades have `url` too, each once.
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
    """Return (N, max_grade + 1) numbers of judged results of each list's query by grade.

    judged: rows (query, perhaps market, grade, len).
    """
    on = [name for name in ("market", "query") if name in judged.columns]
    runs = lists.select(run=pl.struct(on).rle_id())["run"]
    wide = lists.select(*on, runs).unique("run").join(judged, on=on)
    pool = np.zeros((runs.n_unique(), max_grade + 1), dtype=np.int64)
    pool[wide["run"].to_numpy(), wide["grade"].to_numpy()] = wide["len"].to_numpy()
    of_lists: NDArray[np.int64] = pool[runs.to_numpy()]
    return of_lists


@dataclass(frozen=True)
class GradedCandidates:
    """The lists of a pattern table with one judge's grades of their results: the same for every depth."""

    lengths: pl.DataFrame  # market, length, sessions: all lists of the log by their number of results.
    # Configurations whose query has a grade, with their `sessions`; in the order of their ids.
    candidates: pl.DataFrame
    # The number of the query of each candidate, in the order of markets, then of texts.
    query: NDArray[np.int64]
    # Rows (place, fold, click_mask, sessions) of the candidates; `place` is their row.
    patterns: pl.DataFrame
    # (candidates, deepest) number of each result, as of `LogLists.results`; -1 without a grade or a result.
    results: NDArray[np.int32]
    # grades, filled: By number: the grade of a result, and whether it is filled in by a rule.
    grades: Grades
    filled: NDArray[np.bool_]
    pools: pl.DataFrame  # Rows (query, perhaps market, grade, len): the judgments of each query by grade.
    # score_names, scores: Names of the S scores that users brought, and the (candidates, S) scores; NaN
    # without one.
    score_names: tuple[str, ...] = ()
    scores: Floats | None = None
    # Rows (place, day, sessions), of all users; None where times are not known.
    shown: pl.DataFrame | None = None
    # Rows (place, fold, signal, click_mask, sessions) of sessions with a signal; None without signals.
    signals: pl.DataFrame | None = None
    # Rows (place, fold, outcome, sessions, total, total_of_squares); None where none are counted.
    outcomes: pl.DataFrame | None = None


def look_up_grades(
    lists: LogLists, judgments: Judgments, *, judge: str, deepest: int, scores: Scores | None = None
) -> GradedCandidates:
    """Look up the grades of `judge` for the top results of every list, down to `deepest`, and its scores."""
    grades, n_judgments = judgments.of_judge(judge)
    on, stored = judgments.query_key, lists.configurations.with_row_index("list")
    candidates = stored.join(grades.select(on).unique(), on=on, how="semi", maintain_order="left")
    chosen = candidates["list"].to_numpy()
    rows = rows_of_judge(lists, judgments, judge)
    numbers = lists.results.top(deepest)[chosen]
    length = pl.col("results").list.len().cast(pl.Int64).alias("length")
    return GradedCandidates(
        lengths=pl.concat([lists.configurations.select("market", length, "sessions"), lists.others]),
        candidates=candidates.drop("list"),
        query=lists.query[chosen],
        patterns=_of_candidates(lists.patterns, chosen),
        results=np.where(rows[numbers] >= 0, numbers, np.int32(-1)),
        grades=np.append(grades["grade"].to_numpy(), np.int8(0))[rows],
        filled=rows >= n_judgments,
        pools=grades.group_by(*on, "grade").len(),
        score_names=() if scores is None else scores.names,
        scores=None if scores is None else scores.of_lists(lists.configurations)[chosen],
        shown=None if lists.shown is None else _of_candidates(lists.shown, chosen),
        signals=None if lists.signals is None else _of_candidates(lists.signals, chosen),
        outcomes=None if lists.outcomes is None else _of_candidates(lists.outcomes, chosen),
    )


def _of_candidates(rows: pl.DataFrame, chosen: NDArray[np.uint32]) -> pl.DataFrame:
    lists = rows["list"].to_numpy()
    place = np.full(1 + max(lists.max(initial=0), chosen.max(initial=0)), -1, np.int64)
    place[chosen] = np.arange(len(chosen))
    places = pl.Series("place", place[lists])
    return rows.select(places, pl.exclude("list")).filter(pl.col("place") >= 0)


def cut_to_depth(graded: GradedCandidates, *, depth: int, max_grade: int) -> JudgedConfigurations:
    """Cut lists to `depth`, to which their grades were graded up, and keep the lists that are graded fully.

    Lists that become the same by the cut become one configuration; their patterns add up.
    """
    results = graded.results[:, :depth]
    in_full = np.all(results >= 0, axis=1)
    full = in_full if graded.scores is None else in_full & ~np.isnan(graded.scores).any(axis=1)
    kept = graded.candidates.filter(pl.Series(full, dtype=pl.Boolean))
    judged = kept if graded.scores is None else graded.candidates.filter(pl.Series(in_full))
    cut, index = _cut(kept, graded.query[full], depth)
    first = np.zeros(cut.height, dtype=np.int64)
    first[index[::-1]] = np.arange(len(index))[::-1]
    urls = results[full][first]
    became = np.full(len(full), -1, dtype=np.int64)
    became[full] = index
    long_enough = pl.col("length") >= depth
    return JudgedConfigurations(
        rows=cut,
        grades=graded.grades[urls],
        urls=urls,
        filled=graded.filled[urls],
        pool=judged_pool(cut, graded.pools, max_grade),
        patterns=_cut_patterns(graded.patterns, became, depth),
        shown=None if graded.shown is None else _cut_shown(graded.shown, became),
        signals={} if graded.signals is None else _cut_signals(graded.signals, became, depth),
        outcomes=None if graded.outcomes is None else _cut_outcomes(graded.outcomes, became),
        too_short=_sessions_by_market(graded.lengths.filter(~long_enough)),
        not_judged=_missing(graded.lengths.filter(long_enough), judged),
        not_scored={} if graded.scores is None else _missing(judged, kept),
        score_names=graded.score_names,
        scores=None if graded.scores is None else _mean_scores(graded.scores[full], kept, index, cut.height),
    )


def _mean_scores(scores: Floats, kept: pl.DataFrame, index: NDArray[np.int64], size: int) -> Floats:
    """Return (size, S) means over the sessions of the lists that became one by the cut."""
    sessions = kept["sessions"].to_numpy()
    weight = np.bincount(index, sessions, size)
    sums = [np.bincount(index, sessions * column, size) for column in scores.T]
    means: Floats = np.stack(sums, axis=1) / weight[:, None]
    alone = np.bincount(index, minlength=size) == 1  # as given, to the last digit
    means[index[alone[index]]] = scores[alone[index]]
    return means


def _cut(kept: pl.DataFrame, query: NDArray[np.int64], depth: int) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Cut lists to the depth; return the distinct configurations, and which of them each row became."""
    lists = kept["results"].list.head(depth)  # taken into their new order once: they are what is large
    longer = kept["results"].list.len() > depth
    top = pl.DataFrame([kept["market"], kept["query"], lists]).filter(longer)
    ids = kept["configuration_id"].set(longer, None)
    ids = ids.scatter(longer.arg_true(), configuration_ids(top))
    order = order_by_id(ids, query)
    new = ids.gather(order).ne_missing(ids.gather(order).shift()).to_numpy()  # equal ones are neighbours
    index = np.empty(len(ids), dtype=np.int64)
    index[order] = np.cumsum(new) - 1
    first = order[new]
    market, *others = (column.gather(first) for column in (kept["market"], kept["query"], lists, ids))
    number = pl.int_range(pl.len(), dtype=pl.Int64).alias("n")
    # groups of a column that is known to be sorted are added up faster, and in the order of rows
    return pl.DataFrame([market.set_sorted(), *others]).with_columns(number), index


def _cut_patterns(patterns: pl.DataFrame, became: NDArray[np.int64], depth: int) -> pl.DataFrame:
    """Cut the masks; `became` is the configuration that each candidate became, -1 for none."""
    place, folds, masks, sessions = (patterns[name].to_numpy() for name in patterns.columns)
    numbers = became[place]
    kept = np.flatnonzero(numbers >= 0)
    layout = WordLayout(depth, folds=int(folds.max(initial=0)) + 1)
    masks = masks[kept] & ((1 << depth) - 1)
    sums = counted(layout.packed(numbers[kept], folds[kept], masks), sessions[kept])
    columns = dict(zip(("n", "fold", "click_mask"), layout.unpacked(sums), strict=True))
    return pl.DataFrame({**columns, "sessions": sums.sessions})


def _cut_shown(shown: pl.DataFrame, became: NDArray[np.int64]) -> pl.DataFrame:
    numbers = became[shown["place"].to_numpy()]
    kept = np.flatnonzero(numbers >= 0)
    days = shown["day"].to_physical().fill_null(0).to_numpy()
    sums = counted(packed_days(numbers[kept], days[kept]), shown["sessions"].to_numpy()[kept])
    numbers, days_of_sums = unpacked_days(sums)
    return pl.DataFrame({"n": numbers, "day": days_of_sums, "sessions": sums.sessions})


def _cut_signals(signals: pl.DataFrame, became: NDArray[np.int64], depth: int) -> dict[str, pl.DataFrame]:
    """Cut the masks of each signal by name, as click masks are; masks without a result are left out."""
    by_name = signals.partition_by("signal", as_dict=True, include_key=False)
    none = signals.drop("signal").clear()
    names = names_known(signals["signal"])
    cut = {name: _cut_patterns(by_name.get((name,), none), became, depth) for name in names}
    return {name: rows.filter(pl.col("click_mask") > 0) for name, rows in cut.items()}


def _cut_outcomes(outcomes: pl.DataFrame, became: NDArray[np.int64]) -> pl.DataFrame:
    numbers = pl.Series("n", became[outcomes["place"].to_numpy()])
    rows = outcomes.select(numbers, pl.exclude("place")).filter(pl.col("n") >= 0)
    return rows.group_by("n", "fold", "outcome").agg(pl.all().sum()).sort("n", "fold", "outcome")


def _sessions_by_market(rows: pl.DataFrame) -> dict[str, int]:
    return dict(rows.group_by("market").agg(pl.col("sessions").sum()).iter_rows())


def _missing(long_enough: pl.DataFrame, kept: pl.DataFrame) -> dict[str, int]:
    every, judged = _sessions_by_market(long_enough), _sessions_by_market(kept)
    return {market: sessions - judged.get(market, 0) for market, sessions in every.items()}
