"""Reads the inputs of a labelling plan: rankings, probabilities of grades, costs, frequencies."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from clickassay.core.errors import ActiveError, InputError
from clickassay.core.settings import Settings
from clickassay.inputs.columns import JUDGMENTS, Wanted
from clickassay.inputs.files import FORMATS
from clickassay.inputs.normalise import normalise_query, normalise_url
from clickassay.inputs.tables import collected, read_input
from clickassay.inputs.trec import ranked, read_run
from clickassay.judgments.prepare import prepare_judgments
from clickassay.studies.labelling.ordered_logit import fit_ordered_logit
from clickassay.studies.labelling.pool import Pool, Ranking, pool_of

RANKING = (Wanted("query", "text"), Wanted("url", "text"), Wanted("rank", "integer"))
RELEVANCE = (Wanted("query", "text"), Wanted("url", "text"))
BY_QUERY = (Wanted("query", "text"), Wanted("url", "text", optional=True))

KEY = ["query", "url"]

_QUERY = pl.col("query").map_elements(normalise_query, pl.String)
"""Queries, and with `_URL` URLs, in the normal form that judgments have."""

_URL = pl.col("url").map_elements(normalise_url, pl.String)


@dataclass(frozen=True)
class Sources:
    """The files of a plan, with their columns.

    Attributes
    ----------
    rankings
        One file to evaluate a ranking, two to compare: query, url, rank; or a run file of TREC.
    relevance
        query, url, and p0, p1, ... for the probabilities of the grades, or `score`; None = all grades equally
        likely.
    judgments
        Judgments that scores are calibrated with.
    costs
        query and a number, or query, url and a number; None = 1 for each document.
    cost_column, log_cost
        The column of costs, and whether the cost is the logarithm of 1 + its number.
    frequencies
        query and `sessions`: how often users issue it; None = all queries equally often.
    """

    rankings: tuple[Path, ...]
    relevance: Path | None = None
    judgments: Path | None = None
    costs: Path | None = None
    cost_column: str = "cost"
    log_cost: bool = False
    frequencies: Path | None = None


@dataclass(frozen=True)
class LabellingInputs:
    """A pool with the names of its documents.

    Attributes
    ----------
    pool
        The pool, rankings cut to the depth.
    documents
        Rows (query, url, rank_1 and, with two rankings, rank_2) in the order of the pool; null = not listed.
    notes
        Sentences for the user about the inputs.
    """

    pool: Pool
    documents: pl.DataFrame
    notes: tuple[str, ...]


def read_pool(sources: Sources, settings: Settings, *, depth: int | None) -> LabellingInputs:
    """Read rankings with the grade probabilities, costs and frequencies of their documents and queries.

    Raises
    ------
    ActiveError
        If the files do not fit each other.
    InputError, JudgmentError
        If a file cannot be read, or a grade is off the scale.
    """
    listed = [_ranking(path, number, depth) for number, path in enumerate(sources.rankings, start=1)]
    documents = (
        listed[0] if len(listed) == 1 else listed[0].join(listed[1], on=KEY, how="full", coalesce=True)
    )
    documents = documents.sort(KEY)
    queries = documents["query"].unique().sort()
    offsets = np.searchsorted(documents["query"].rank("dense").to_numpy(), np.arange(1, len(queries) + 2))
    rankings = [places(documents, number, len(queries)) for number in range(1, len(listed) + 1)]
    pool = pool_of(
        queries.to_list(),
        offsets,
        _probabilities(sources, documents, settings),
        rankings,
        costs=_costs(sources, documents, queries),
        weights=_weights(sources, queries),
    )
    return LabellingInputs(pool, documents, tuple(_notes(documents, len(listed))))


def _ranking(path: Path, number: int, depth: int | None) -> pl.DataFrame:
    """Return (query, url, rank_n), ranks from 1 without gaps, best first; cut to the depth."""
    rows = _trec_run(path) if path.is_file() and path.suffix not in FORMATS else _table(path)
    again = rows.filter(pl.struct(KEY).is_duplicated())
    if again.height:
        query, url = again.select(KEY).row(0)
        raise ActiveError(
            f"{path}: query {query!r:.80} lists {url!r:.120} more than once; keep its best rank"
        )
    ranked = rows.sort("query", "rank", "url").with_columns(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query").alias(f"rank_{number}")
    )
    if ranked.is_empty():
        raise ActiveError(f"{path}: no ranking in it; give rows query, url, rank")
    kept = ranked if depth is None else ranked.filter(pl.col(f"rank_{number}") <= depth)
    return kept.select(*KEY, f"rank_{number}")


def _table(path: Path) -> pl.DataFrame:
    rows = collected(read_input("ranking", path, RANKING)).select(*KEY, "rank")
    nulls = [name for name in rows.columns if rows[name].has_nulls()]
    if nulls:
        raise InputError(f"ranking {path}: null in {', '.join(nulls)}; remove or correct these rows")
    return rows.with_columns(_QUERY, _URL)


def _trec_run(path: Path) -> pl.DataFrame:
    """Read a run file, ordered by score as in trec_eval; its ranks are ignored."""
    run = ranked(read_run(path))
    return run.select("query", url="doc", rank=pl.int_range(pl.len())).with_columns(_QUERY, _URL)


def _with_numbers(rows: pl.DataFrame, names: Sequence[str], what: str) -> pl.DataFrame:
    """Return the rows with some columns as numbers; null and NaN stay, as the callers refuse them."""
    for name in names:
        numbers = rows[name].cast(pl.Float64, strict=False)
        wrong = rows.filter(numbers.is_null() & rows[name].is_not_null())
        if wrong.height:
            raise ActiveError(f"{what}: {name} is {wrong[name][0]!r:.40}; give a number")
        rows = rows.with_columns(numbers.alias(name))
    return rows


def places(documents: pl.DataFrame, number: int, m: int) -> Ranking:
    """Return a ranking of m queries from documents sorted by query and their column rank_n."""
    coded = documents.with_row_index("place").with_columns(code=pl.col("query").rank("dense") - 1)
    ordered = coded.filter(pl.col(f"rank_{number}").is_not_null()).sort("code", f"rank_{number}")
    sizes = np.bincount(ordered["code"].to_numpy(), minlength=m)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Ranking(ordered["place"].cast(pl.Int64).to_numpy(), offsets)


def _probabilities(sources: Sources, documents: pl.DataFrame, settings: Settings) -> np.ndarray:
    size = settings.max_grade + 1
    if sources.relevance is None:
        return np.full((documents.height, size), 1 / size)
    rows = collected(read_input("relevance", sources.relevance, RELEVANCE, keep_others=True))
    rows = rows.with_columns(_QUERY, _URL).unique(KEY, keep="first", maintain_order=True)
    names = [f"p{grade}" for grade in range(size)]
    if "score" in rows.columns and not set(names) <= set(rows.columns):
        rows = _calibrate(rows, sources, settings)
    missing = [name for name in names if name not in rows.columns]
    if missing:
        raise ActiveError(
            f"relevance {sources.relevance}: no column {', '.join(missing)}; give one probability for each "
            f"grade 0..{size - 1}, or a column score and --judgments"
        )
    rows = _with_numbers(rows, names, f"relevance {sources.relevance}")
    joined = documents.select(KEY).join(rows, on=KEY, how="left", maintain_order="left")
    unknown = joined.filter(pl.any_horizontal(pl.col(names).is_null()))
    if unknown.height:
        query, url = unknown.select(KEY).row(0)
        raise ActiveError(
            f"relevance {sources.relevance}: it lacks {unknown.height:,} of {documents.height:,} documents, "
            f"e.g. {url!r:.120} of query {query!r:.80}; add them"
        )
    return joined.select(names).to_numpy()


def _calibrate(rows: pl.DataFrame, sources: Sources, settings: Settings) -> pl.DataFrame:
    """Turn scores into probabilities of grades by ordered logit on judged documents."""
    if sources.judgments is None:
        raise ActiveError(
            f"relevance {sources.relevance}: it has scores, and judgments of some documents are needed to "
            "make probabilities of them; give --judgments"
        )
    rows = _with_numbers(rows, ["score"], f"relevance {sources.relevance}")
    graded = read_judgments(sources.judgments, rows.select("query").unique(), settings)
    known = rows.join(graded, on=KEY)
    model = fit_ordered_logit(
        known["score"].to_numpy(),
        known["grade"].to_numpy(),
        grades_of_scale=settings.max_grade + 1,
    )
    probabilities = model.probabilities(rows["score"].to_numpy())
    return rows.with_columns(pl.Series(f"p{grade}", column) for grade, column in enumerate(probabilities.T))


def read_judgments(
    path: Path, queries: pl.DataFrame, settings: Settings, *, sheet: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return (query, url, grade) of the judgments of these queries, each once; ungraded rows are dropped.

    Rows with a column `number` are joined with the `sheet` that they were made from by it: in a CSV file,
    texts that a spreadsheet would take for formulas have been changed.
    """
    table = read_input("judgments", path, JUDGMENTS, keep_others=True)
    rows = collected(table).drop_nulls("grade").with_columns(judge=pl.lit("all"), market=pl.lit("all"))
    if sheet is not None and "number" in rows.columns:
        numbers = pl.col("number").cast(pl.Int64, strict=False)
        rows = rows.drop(KEY).with_columns(numbers).join(sheet, on="number")
    log_queries = queries.select(pl.lit("all").alias("market"), "query")
    return prepare_judgments(rows, log_queries, settings, by_market=False).grades.select(*KEY, "grade")


def _costs(sources: Sources, documents: pl.DataFrame, queries: pl.Series) -> np.ndarray:
    """Return (m,) costs of labelling all documents of each query."""
    each = documents.select(*KEY, pl.lit(1.0).alias("cost"))
    if sources.costs is not None:
        table = read_input("costs", sources.costs, BY_QUERY, keep_others=True)
        rows = collected(table)
        if sources.cost_column not in rows.columns:
            raise ActiveError(
                f"costs {sources.costs}: no column {sources.cost_column}; name it by --cost-column"
            )
        numbers = pl.col(sources.cost_column).cast(pl.Float64, strict=False)
        rows = rows.with_columns(cost=numbers.log1p() if sources.log_cost else numbers)
        if "url" not in table.columns:
            return _of_queries(rows.select(_QUERY, "cost"), queries, f"costs {sources.costs}")
        given = rows.select(_QUERY, _URL, "cost").unique(KEY, keep="first", maintain_order=True)
        each = documents.select(KEY).join(given, on=KEY, how="left", maintain_order="left")
    wrong = each.filter(~(pl.col("cost") > 0).fill_null(value=False))
    if wrong.height:
        query, url = wrong.select(KEY).row(0)
        raise ActiveError(
            f"costs {sources.costs}: {url!r:.120} of query {query!r:.80} has the cost {wrong['cost'][0]}; "
            "give a number above 0"
        )
    return each.group_by("query").agg(pl.col("cost").sum()).sort("query")["cost"].to_numpy()


def _of_queries(rows: pl.DataFrame, queries: pl.Series, what: str) -> np.ndarray:
    known = rows.unique("query", keep="first", maintain_order=True)
    joined = queries.to_frame("query").join(known, on="query", how="left", maintain_order="left")
    if joined["cost"].has_nulls():
        missing = joined.filter(pl.col("cost").is_null())
        raise ActiveError(
            f"{what}: {missing.height:,} queries are missing, the first is {missing['query'][0]!r:.80}"
        )
    return joined["cost"].to_numpy()


def _weights(sources: Sources, queries: pl.Series) -> np.ndarray | None:
    if sources.frequencies is None:
        return None
    rows = collected(read_input("frequencies", sources.frequencies, BY_QUERY, keep_others=True))
    if "sessions" not in rows.columns:
        raise ActiveError(f"frequencies {sources.frequencies}: no column sessions; give query and sessions")
    rows = _with_numbers(rows, ["sessions"], f"frequencies {sources.frequencies}")
    summed = rows.group_by(_QUERY).agg(cost=pl.col("sessions").sum())
    return _of_queries(summed, queries, f"frequencies {sources.frequencies}")


def _notes(documents: pl.DataFrame, rankings: int) -> Sequence[str]:
    if rankings == 1:
        return ()
    both = documents.group_by("query").agg(pl.col("rank_1", "rank_2").count())
    alone = both.filter((pl.col("rank_1") == 0) | (pl.col("rank_2") == 0))
    if alone.is_empty():
        return ()
    return (
        f"{alone.height:,} of {both.height:,} queries are in one ranking only, the first "
        f"{alone.sort('query')['query'][0]!r:.80}: in the other their performance is 0.",
    )
