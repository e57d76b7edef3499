"""Reads the inputs of a labelling plan: rankings, probabilities of grades, costs, frequencies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from clickassay.core.errors import ActiveError, InputError, NothingInCommonError
from clickassay.core.settings import Settings
from clickassay.core.text.escape import defused
from clickassay.core.text.words import count, plural
from clickassay.health.overlap import Side, names_apart, rank_findings
from clickassay.inputs.columns import JUDGMENTS, Wanted
from clickassay.inputs.files import FORMATS
from clickassay.inputs.normalise import normalise_query, normalise_url
from clickassay.inputs.sources.mapping import names_of
from clickassay.inputs.tables import collected, read_input
from clickassay.inputs.text.trec import ranked, read_run
from clickassay.judgments.prepare import prepare_judgments
from clickassay.studies.labelling.ordered_logit import fit_ordered_logit
from clickassay.studies.labelling.pool import Pool, RankedDocuments, pool_of

RANKING = (Wanted("query", "text"), Wanted("url", "text"), Wanted("rank", "integer"))
RELEVANCE = (Wanted("query", "text"), Wanted("url", "text"))
BY_QUERY = (Wanted("query", "text"), Wanted("url", "text", optional=True))

KEY = ["query", "url"]

_QUERY = pl.col("query").map_elements(normalise_query, pl.String)
"""Queries, and with `_URL` URLs, in the normal form that judgments have."""

_URL = pl.col("url").map_elements(normalise_url, pl.String)


@dataclass(frozen=True)
class PoolSources:
    """The files of a plan, with their columns."""

    # One file to evaluate a ranking, two to compare: query, url, rank; or a run file of TREC.
    rankings: tuple[Path, ...]
    # query, url, and p0, p1, ... for the probabilities of the grades, or `score`; None = all grades equally
    # likely.
    relevance: Path | None = None
    judgments: Path | None = None  # Judgments that scores are calibrated with.
    costs: Path | None = None  # query and a number, or query, url and a number; None = 1 for each document.
    # cost_column, log_cost: The column of costs, and whether the cost is the logarithm of 1 + its number.
    cost_column: str = "cost"
    log_cost: bool = False
    # query and `sessions`: how often users issue it; None = all queries equally often.
    frequencies: Path | None = None


def read_pool(
    sources: PoolSources, settings: Settings, *, depth: int | None
) -> tuple[Pool, pl.DataFrame, tuple[str, ...]]:
    """Read rankings with the grade probabilities, costs and frequencies of their documents and queries.

    Returns the pool, rankings cut to the depth; rows (query, url, rank_1 and, with two rankings, rank_2) in
    its order, null = not listed; sentences for the user about the inputs.
    Raises ActiveError if the files do not fit each other; InputError, JudgmentError if a file cannot be read,
    or a grade is off the scale.
    """
    read = [_ranking(path, number, depth) for number, path in enumerate(sources.rankings, start=1)]
    documents, *others = [ranking for ranking, _ in read]
    for other in others:
        _check_common("the second ranking", "the first ranking has", other.select("query"), documents)
        documents = documents.join(other, on=KEY, how="full", coalesce=True)
    documents = documents.sort(KEY)
    queries = documents["query"].unique().sort()
    offsets = np.searchsorted(documents["query"].rank("dense").to_numpy(), np.arange(1, len(queries) + 2))
    rankings = [places(documents, number, len(queries)) for number in range(1, len(read) + 1)]
    pool = pool_of(
        queries.to_list(),
        offsets,
        _probabilities(sources, documents, settings),
        rankings,
        costs=_costs(sources, documents, queries),
        weights=_weights(sources, queries),
    )
    notes = chain(*(contradictions for _, contradictions in read), _notes(documents) if others else ())
    return pool, documents, tuple(notes)


def _ranking(path: Path, number: int, depth: int | None) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return (query, url, rank_n), ranks from 1 without gaps, best first, cut to the depth; and notes."""
    if path.is_file() and path.suffix not in FORMATS:  # a run file, ordered by score as in trec_eval
        run = read_run(path, ranks=True)
        rows = ranked(run).select("query", url="doc", rank=pl.int_range(pl.len()))
        notes = tuple(rank_findings(path.name, run, decides="score"))
    else:  # a table, ordered by rank; a column score is compared with it
        given = collected(read_input("ranking", path, RANKING, keep_others=True))
        rows = given.select(*KEY, "rank")
        nulls = [name for name in rows.columns if rows[name].has_nulls()]
        if nulls:
            raise InputError(f"ranking {path}: null in {', '.join(nulls)}; remove or correct these rows")
        scores = pl.col("score").cast(pl.Float64, strict=False)
        scored = given.with_columns(scores).drop_nulls("score") if "score" in given.columns else rows.clear()
        notes = tuple(rank_findings(path.name, scored, decides="rank")) if scored.height else ()
    rows = rows.with_columns(_QUERY, _URL, written="url")
    again = rows.filter(pl.struct(KEY).is_duplicated())
    if again.height:
        query, url, written = again.select(*KEY, "written").row(0)
        same = again.filter(query=query, url=url)["written"].unique().sort()
        said = (
            f"{written!r:.120} more than once" if len(same) == 1 else f"{same[0]!r:.120} and {same[1]!r:.120}"
        )
        other = "" if len(same) == 1 else ", whose normal form is the same"
        raise ActiveError(f"{path}: query {query!r:.80} lists {said}{other}; keep its best rank")
    in_order = rows.sort("query", "rank", "url").with_columns(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query").alias(f"rank_{number}")
    )
    if in_order.is_empty():
        raise ActiveError(f"{path}: no ranking in it; give rows query, url, rank")
    kept = in_order if depth is None else in_order.filter(pl.col(f"rank_{number}") <= depth)
    return kept.select(*KEY, f"rank_{number}"), notes


def _check_common(what: str, others_have: str, given: pl.DataFrame, documents: pl.DataFrame) -> None:
    """Refuse tables that share no row: NothingInCommonError has one name of each side."""
    on = [name for name in KEY if name in given.columns]
    if given.is_empty() or given.join(documents, on=on, how="semi").height:
        return
    ours, theirs = (rows.select(*on[:-1], text=on[-1]) for rows in (given, documents))
    apart = names_apart(Side("it has", ours), Side(others_have, theirs), tuple(on[:-1]))
    noun = "document" if len(on) > 1 else "query"
    raise NothingInCommonError(f"{what} shares no {noun} with the others: {apart}; give the same names")


def _with_numbers(rows: pl.DataFrame, names: Sequence[str], what: str) -> pl.DataFrame:
    """Return the rows with some columns as numbers; null and NaN stay, as the callers refuse them."""
    for name in names:
        numbers = rows[name].cast(pl.Float64, strict=False)
        wrong = rows.filter(numbers.is_null() & rows[name].is_not_null())
        if wrong.height:
            raise ActiveError(f"{what}: {name} is {wrong[name][0]!r:.40}; give a number")
        rows = rows.with_columns(numbers.alias(name))
    return rows


def places(documents: pl.DataFrame, number: int, m: int) -> RankedDocuments:
    """Return a ranking of m queries from documents sorted by query and their column rank_n."""
    coded = documents.with_row_index("place").with_columns(code=pl.col("query").rank("dense") - 1)
    ordered = coded.filter(pl.col(f"rank_{number}").is_not_null()).sort("code", f"rank_{number}")
    sizes = np.bincount(ordered["code"].to_numpy(), minlength=m)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return RankedDocuments(ordered["place"].cast(pl.Int64).to_numpy(), offsets)


def _probabilities(sources: PoolSources, documents: pl.DataFrame, settings: Settings) -> np.ndarray:
    size = settings.max_grade + 1
    if sources.relevance is None:
        return np.full((documents.height, size), 1 / size)
    rows = collected(read_input("relevance", sources.relevance, RELEVANCE, keep_others=True))
    rows = rows.with_columns(_QUERY, _URL).unique(KEY, keep="first", maintain_order=True)
    names = [f"p{grade}" for grade in range(size)]
    if not set(names) <= set(rows.columns) and (own := {"score", "grade"} & set(rows.columns)):
        rows = _calibrate(rows.rename({"grade": "score"} if own == {"grade"} else {}), sources, settings)
    missing = [name for name in names if name not in rows.columns]
    if missing:
        raise ActiveError(
            f"relevance {sources.relevance}: no column {', '.join(missing)}; give one probability for each "
            f"grade 0..{size - 1}, or a column score or grade and --judgments"
        )
    rows = _with_numbers(rows, names, f"relevance {sources.relevance}")
    _check_common(f"relevance {sources.relevance}", "rankings have", rows.select(KEY), documents)
    joined = documents.select(KEY).join(rows, on=KEY, how="left", maintain_order="left")
    unknown = joined.filter(pl.any_horizontal(pl.col(names).is_null()))
    if unknown.height:
        query, url = unknown.select(KEY).row(0)
        raise ActiveError(
            f"relevance {sources.relevance}: it lacks {unknown.height:,} of {documents.height:,} documents, "
            f"e.g. {url!r:.120} of query {query!r:.80}; add them"
        )
    return joined.select(names).to_numpy()


def _calibrate(rows: pl.DataFrame, sources: PoolSources, settings: Settings) -> pl.DataFrame:
    """Turn scores, or a model's grades, into probabilities of grades by ordered logit on judged documents."""
    if sources.judgments is None:
        raise ActiveError(
            f"relevance {sources.relevance}: it has scores or a model's grades, and judgments of some "
            "documents are needed to make probabilities of them; give --judgments"
        )
    rows = _with_numbers(rows, ["score"], f"relevance {sources.relevance}")
    graded, _ = read_judgments(sources.judgments, rows.select(KEY), settings)
    known = rows.join(graded, on=KEY)
    model = fit_ordered_logit(
        known["score"].to_numpy(), known["grade"].to_numpy(), grades_of_scale=settings.max_grade + 1
    )
    probabilities = model.probabilities(rows["score"].to_numpy())
    return rows.with_columns(pl.Series(f"p{grade}", column) for grade, column in enumerate(probabilities.T))


def read_judgments(
    path: Path, documents: pl.DataFrame, settings: Settings, *, sheet: pl.DataFrame | None = None
) -> tuple[pl.DataFrame, int]:
    """Return (query, url, grade) of the judgments of the documents' queries, each once, and the graded rows.

    Rows with a column `number` get the texts of the `sheet`, as CSV changes texts that look like formulas;
    ActiveError if that has another document there: they are of another sheet.
    """
    names = names_of("judgments", settings.column)
    table = read_input("judgments", path, JUDGMENTS, keep_others=True, names=names)
    rows = collected(table).drop_nulls("grade").with_columns(judge=pl.lit("all"), market=pl.lit("all"))
    if sheet is not None and "number" in rows.columns:
        rows = _with_texts_of_sheet(rows, sheet, path)
    if rows.height:
        _check_common(f"judgments {path}", "documents have", rows.select(_QUERY, _URL), documents)
    log_queries = documents.select(pl.lit("all").alias("market"), "query").unique()
    grades = prepare_judgments(rows, log_queries, settings, by_market=False).grades
    return grades.select(*KEY, "grade"), rows.height


def _with_texts_of_sheet(rows: pl.DataFrame, sheet: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Return rows with the texts that the sheet has at their number; others keep their own."""
    numbers = pl.col("number").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    written = sheet.select("number", *(pl.col(name).alias(f"sheet_{name}") for name in KEY))
    joined = rows.with_columns(numbers).join(written, on="number", how="left", maintain_order="left")
    known = joined.filter(pl.col("sheet_query").is_not_null())
    apart = known.with_columns(same=pl.lit(True))
    for name, normalise in (("query", normalise_query), ("url", normalise_url)):
        same = [  # in the words of the sheet, or as a spreadsheet writes them
            own is None or normalise(str(own)) in {normalise(text), normalise(defused(text))}
            for own, text in known.select(name, f"sheet_{name}").iter_rows()
        ]
        apart = apart.with_columns(pl.col("same") & pl.Series(same, dtype=pl.Boolean))
    apart = apart.filter(~pl.col("same"))
    if apart.height:
        row = apart.row(0, named=True)
        raise ActiveError(
            f"judgments {path}: {count(apart.height)} of {plural(known.height, 'numbered row')} "
            f"{'names' if apart.height == 1 else 'name'} another document than this plan's sheet: number "
            f"{row['number']} is {row['url']!r:.120} of query {row['query']!r:.80}, on the sheet "
            f"{row['sheet_url']!r:.120} of {row['sheet_query']!r:.80}; give the sheet of this plan, or leave "
            "the column number out: then rows are joined by query and url"
        )
    return joined.with_columns(pl.coalesce(f"sheet_{name}", name).alias(name) for name in KEY)


def _costs(sources: PoolSources, documents: pl.DataFrame, queries: pl.Series) -> np.ndarray:
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
        _check_common(f"costs {sources.costs}", "rankings have", given.select(KEY), documents)
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
    _check_common(what, "rankings have", rows.select("query"), queries.to_frame("query"))
    known = rows.unique("query", keep="first", maintain_order=True)
    joined = queries.to_frame("query").join(known, on="query", how="left", maintain_order="left")
    if joined["cost"].has_nulls():
        missing = joined.filter(pl.col("cost").is_null())
        raise ActiveError(
            f"{what}: {missing.height:,} queries are missing, the first is {missing['query'][0]!r:.80}"
        )
    return joined["cost"].to_numpy()


def _weights(sources: PoolSources, queries: pl.Series) -> np.ndarray | None:
    if sources.frequencies is None:
        return None
    rows = collected(read_input("frequencies", sources.frequencies, BY_QUERY, keep_others=True))
    if "sessions" not in rows.columns:
        raise ActiveError(f"frequencies {sources.frequencies}: no column sessions; give query and sessions")
    rows = _with_numbers(rows, ["sessions"], f"frequencies {sources.frequencies}")
    summed = rows.group_by(_QUERY).agg(cost=pl.col("sessions").sum())
    return _of_queries(summed, queries, f"frequencies {sources.frequencies}")


def _notes(documents: pl.DataFrame) -> Iterator[str]:
    listed = documents.with_columns(both=pl.all_horizontal(pl.col("rank_1", "rank_2").is_not_null()))
    both = listed.group_by("query").agg(pl.col("rank_1", "rank_2").count(), pl.col("both").sum())
    alone = both.filter((pl.col("rank_1") == 0) | (pl.col("rank_2") == 0))
    yield (
        f"Both rankings have {count(both.height - alone.height)} of "
        f"{plural(both.height, 'query', 'queries')} and {count(int(listed['both'].sum()))} of "
        f"{plural(listed.height, 'document')}."
    )
    if not listed["both"].any():
        first, second = (listed.drop_nulls(name).select("query", text="url") for name in ("rank_1", "rank_2"))
        apart = names_apart(
            Side("the second has", second), Side("of the same queries, the first has", first), ("query",)
        )
        yield f"No document is in both rankings: {apart}. Are their names alike?"
    if alone.height:
        yield (
            f"{alone.height:,} of {both.height:,} queries are in one ranking only, the first "
            f"{alone.sort('query')['query'][0]!r:.80}: in the other their performance is 0."
        )
