"""Runs and judgments as tables, from TREC files, Polars or pandas frames, or dicts; checked."""

import shlex
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.errors import InputError
from clickassay.core.records import Floats
from clickassay.inputs.files import malformed
from clickassay.inputs.frames import of_dict, of_frame, of_table
from clickassay.inputs.text.grades import NOT_JUDGED, NULL_WORDS, REFUSALS, qrels_grade, suggestion, value_key
from clickassay.inputs.text.lines import check_lines, opened
from clickassay.inputs.text.rows import are_names

Sizes = NDArray[np.int64]
Source = str | Path | Mapping[str, Mapping[str, float]] | Any
"""A TREC file, a table in a file, a frame, or a dict ``{query: {doc: number}}``, as pytrec_eval takes it."""

_QRELS = {"query": pl.String, "doc": pl.String, "grade": pl.Int16}
_RUN = {"query": pl.String, "doc": pl.String, "score": pl.Float64}
_RANKED_RUN = {**_RUN, "rank": pl.Float64}
LARGEST_GRADE, SMALLEST_GRADE = 30, -99

_FIELD = r"[^\x00\t-\r ]+"  # as isspace of C, so that an id may hold a no-break space; trec_eval stops at NUL
_QRELS_LINES = ("query 0 doc grade", "query doc grade")
_RUN_LINES = ("query Q0 doc rank score tag", "query Q0 doc rank score", "query doc rank")
"""Layouts of lines, the usual one first; the first line of a file says which."""


def read_qrels(
    source: Source,
    *,
    conflicts: str = "error",
    scale: Sequence[str] = (),
    counts: MutableMapping[str, int] | None = None,
    ids: bool = False,
) -> pl.DataFrame:
    """Return judgments: query, doc (text), grade (0..30, or -1 = pooled, but not judged).

    source: TREC qrels (``query 0 doc grade``, or ``query doc grade``), a table, a frame or a dict. Grades
      below -1 (spam) are judgments, of grade 0; null words and refusals are -1.
    conflicts: what a result judged more than once gets: ``error``, or a grade by a rule of the setting.
    scale: labels that stand for grades, the worst first, in lower case.
    counts: ``judged_again`` is set to judgments without a row of their own, ``not_judged`` to ratings of
      none.
    ids: whether queries of a table with their texts and ids are named by the ids.
    Raises InputError if a line, column or grade is wrong, or a result of a query is judged twice.
    """
    frame = _read(source, "qrels", _QRELS_LINES, ("query", "doc", "grade"), ids=ids)
    if scale and frame.schema["grade"] == pl.String:
        labels = {label: str(grade) for grade, label in enumerate(scale)}
        text = pl.col("grade").str.strip_chars().str.to_lowercase()
        frame = frame.with_columns(grade=text.replace_strict(labels, default=pl.col("grade")))
    given = _number(frame, "grade")
    says_none = given.is_null() | (given.cast(pl.String).str.to_lowercase().is_in([*NULL_WORDS, *REFUSALS]))
    number = pl.when(says_none).then(NOT_JUDGED).otherwise(given.cast(pl.Float64, strict=False))
    exact = frame.with_columns(grade=number)
    ({} if counts is None else counts)["not_judged"] = int(frame.select(says_none.sum()).item())
    odd = pl.col("grade").is_null() | (pl.col("grade") != pl.col("grade").floor()) | pl.col("grade").is_nan()
    _refuse(exact, frame, odd, "grade", source)
    off = ~pl.col("grade").is_between(SMALLEST_GRADE, LARGEST_GRADE)
    _refuse(exact, frame, off, "grade", source)
    whole = exact.select(pl.col(name).cast(kind) for name, kind in _QRELS.items())
    known = whole["grade"].unique().to_list()
    grades = whole.with_columns(pl.col("grade").replace({grade: qrels_grade(grade) for grade in known}))
    if (grades["grade"] == NOT_JUDGED).any():  # of a document that was judged elsewhere it says nothing
        is_judged = pl.col("grade") != NOT_JUDGED
        grades = grades.filter(is_judged | ~is_judged.any().over("query", "doc"))
    if conflicts != "error":
        kept = grades.group_by("query", "doc", maintain_order=True).agg(
            grade=_RULES[conflicts].cast(pl.Int16)
        )
        if counts is not None:
            counts["judged_again"] = grades.height - kept.height
        return kept
    of_subtopics = subtopics(frame) if "text" in frame.columns else None
    remedy = of_subtopics or "remove all but one, or choose a rule: --conflicts max"
    _refuse_repeats(grades, source, "judged", remedy)
    return grades


_SUM, _NUMBER = pl.col("grade").cast(pl.Int64).sum(), pl.len().cast(pl.Int64)
_RULES = {
    "max": pl.col("grade").max(),
    "mean-rounded": (2 * _SUM + _NUMBER) // (2 * _NUMBER),
    "latest": pl.col("grade").last(),
}
"""Grade of a result judged more than once, by the setting `conflicts`; halves go up."""


def subtopics(rows: pl.DataFrame) -> str | None:
    """Say where rows of `qrels_lines` judged more than once differ in column 2 as subtopics do; else None."""
    repeated = rows.filter(pl.struct("query", "doc").is_duplicated())
    second = repeated.with_columns(second=pl.col("text").str.extract_all(_FIELD).list.get(1))
    values = second["second"].unique().sort()
    if len(values) < 2 or second.select("query", "doc", "second").is_duplicated().any():
        return None
    shown = ", ".join(values[:3]) + (", …" if len(values) > 3 else "")
    return (
        f"column 2 ({shown}) looks like a subtopic, as diversity judgments have it: "
        "--conflicts max takes the highest grade of each result"
    )


def read_run(source: Source, *, ranks: bool = False, ids: bool = False) -> pl.DataFrame:
    """Return a run as columns query, doc (text), score (finite number), one row per query and doc.

    source: a TREC run (``query Q0 doc rank score tag``, the score decides, as in trec_eval; ``query doc
      rank``), a table or frame with score or rank, a dict ``{query: {doc: score}}`` or ``{query: [doc,
      ...]}``.
    ranks: whether to add the column rank (number), null where the source has none beside the score.
    ids: as in `read_qrels`. Raises InputError if a line, column or score is wrong, or a doc comes twice.
    """
    frame = _read(source, "run", _RUN_LINES, tuple(_RANKED_RUN), ids=ids)
    if "line" in frame.columns and frame["score"].null_count() == frame.height:
        # lines 'query doc rank': ranks count from 1, or from 0, in the order of the lines; if they do not,
        # the number may be a score
        rank = pl.col("rank").cast(pl.Float64, strict=False)
        first = frame.select(rank.first()).item()
        place = pl.int_range(pl.len()).over("query") + (0 if first == 0 else 1)
        odd = frame.filter((rank != place).fill_null(True))
        if odd.height:
            row, given = odd.row(0, named=True), shlex.quote(str(source))
            as_scores = f"""awk '{{print $1, "Q0", $2, 0, $3, "run"}}' {given} > scores.run"""
            raise InputError(
                f"{source}, line {row['line']}: found {row['text']!r}, expected 'query doc rank' with ranks "
                f"from 1 in the order of the lines; if they are scores, write six fields: {as_scores}"
            )
        frame = frame.with_columns(score=-rank)
    scores = frame.with_columns(score=_number(frame, "score").cast(pl.Float64, strict=False))
    _refuse(scores, frame, pl.col("score").is_null() | ~pl.col("score").is_finite(), "score", source)
    _refuse_repeats(scores, source, "retrieved", "remove all but one of the rows")
    form = _RANKED_RUN if ranks else _RUN
    return scores.select(pl.col(name).cast(kind, strict=name != "rank") for name, kind in form.items())


def qrels_lines(
    file: Path, numbered: Iterable[tuple[int, str]], counts: MutableMapping[str, int], *, short: bool = False
) -> pl.DataFrame:
    """Return line (from 1), query, doc, grade as written, text of each line of qrels; blanks are counted.

    short: whether lines 'query doc grade' are read too. Raises InputError for other lines, or none.
    """
    lines = pl.DataFrame(list(numbered), {"line": pl.Int64, "text": pl.String}, orient="row")
    rows = _split(file, lines, "qrels", _QRELS_LINES[: 1 + short], ("query", "doc", "grade"))
    counts["blank_lines"] += int((~lines["text"].str.contains(_FIELD)).sum())
    return rows


def ranked(run: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a run query by query, each in the order of `ranking`."""
    rows = run.sort("query", maintain_order=True)
    sizes = rows["query"].rle().struct["len"].cast(pl.Int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return rows[ranking(rows["score"].to_numpy(), starts, rows["doc"].to_list)]


def ranking(score: Floats, starts: Sizes, docs: Callable[[], list[str]]) -> Sizes:
    """Return (rows,) places of the rows in trec_eval's order: by falling score, then falling doc (as bytes).

    score: (rows,) list after list from `starts` (Q + 1,); docs: gives (rows,) names if scores are equal.
    """
    counts = np.diff(starts)
    order = np.arange(len(score))
    for length in np.unique(counts[counts > 1]):
        rows = starts[:-1][counts == length, None] + np.arange(length)
        order[rows] = np.take_along_axis(rows, np.argsort(-score[rows], axis=1, kind="stable"), axis=1)
    sorted_scores, of = score[order], np.repeat(np.arange(len(counts)), counts)
    same = np.flatnonzero((sorted_scores[1:] == sorted_scores[:-1]) & (of[1:] == of[:-1]))
    named = docs() if len(same) else []
    for run in np.split(same, np.flatnonzero(np.diff(same) > 1) + 1) if len(same) else ():
        tied = slice(run[0], run[-1] + 2)  # places that are equal to the place after them, and the last
        order[tied] = sorted(order[tied].tolist(), key=lambda row: named[row].encode(), reverse=True)
    return order


def plain_dict(source: Source, kind: type[int] | type[float]) -> Mapping[str, Mapping[str, Any]] | None:
    """Return a dict ``{query: {doc: number}}`` that needs no reading (numbers finite, of `kind`), or None."""
    if not isinstance(source, Mapping) or not all(isinstance(docs, Mapping) for docs in source.values()):
        return None
    names = chain(source, chain.from_iterable(source.values()))
    size = sum(map(len, source.values()))
    if set(map(type, names)) != {str} or not size:
        return None
    try:
        values = np.fromiter(chain.from_iterable(docs.values() for docs in source.values()), np.float64, size)
    except (TypeError, ValueError):
        return None
    if kind is float:
        return source if np.isfinite(values).all() else None
    whole = (values == np.floor(values)) & (values >= NOT_JUDGED) & (values <= LARGEST_GRADE)
    return source if whole.all() else None


def read_numbers(source: Source) -> pl.DataFrame:
    """Return (query, number) of two columns or a dict; InputError if one is below 0, infinite, or twice."""
    if isinstance(source, Mapping):
        pairs = [(str(query), str(number)) for query, number in source.items()]
        rows = pl.DataFrame(pairs, {"query": pl.String, "number": pl.String}, orient="row")
    else:
        rows = _fields(Path(source), "expected results", ("query number",), ("query", "number"))
    numbers = rows.select("query", pl.col("number").str.strip_chars().cast(pl.Float64, strict=False))
    usable = (pl.col("number").is_finite() & (pl.col("number") >= 0)).fill_null(False)
    _refuse(numbers, rows, ~usable, "number", source)
    repeated = numbers.filter(pl.col("query").is_duplicated())
    if repeated.height:
        raise InputError(f"{source}: query {repeated['query'][0]!r} occurs twice; remove one of its numbers")
    return numbers


def read_pairs(source: Source) -> pl.DataFrame:
    """Return rows (query, doc) of a file of two columns, or of a dict ``{query: [doc, ...]}``."""
    if isinstance(source, Mapping):
        pairs = [(str(query), str(doc)) for query, docs in source.items() for doc in docs]
        return pl.DataFrame(pairs, {"query": pl.String, "doc": pl.String}, orient="row").unique()
    rows = _fields(Path(source), "known results", ("query doc",), ("query", "doc"))
    return rows.select("query", "doc").unique()


def _read(
    source: Source, what: str, layouts: Sequence[str], names: tuple[str, ...], *, ids: bool
) -> pl.DataFrame:
    if isinstance(source, str | Path):
        table = of_table(Path(source), what, names, ids=ids)
        return _fields(Path(source), what, layouts, names) if table is None else table
    if isinstance(source, Mapping):
        return of_dict(source, what, names)
    return of_frame(source, what, names, ids=ids)


def _fields(file: Path, what: str, layouts: Sequence[str], names: Sequence[str]) -> pl.DataFrame:
    check_lines(what, file)
    # the byte order mark of UTF-8 is no text; in trec_eval it becomes part of the first name
    unmarked = pl.when(line=1).then(pl.col("text").str.strip_prefix("\ufeff")).otherwise("text")
    try:
        # a name such as run[1].txt is no pattern
        rows = pl.scan_lines(file, name="text", row_index_name="line", row_index_offset=1, glob=False)
        with opened(file) as source:
            if source.line_end == "\r":
                rows = rows.select(pl.col("text").str.split("\r").explode()).with_row_index("line", 1)
        frame = rows.with_columns(text=unmarked).collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"{what}: cannot read {file}: {reason}; expected a UTF-8 text file") from error
    return _split(file, frame, what, layouts, names)


def _split(
    file: Path, lines: pl.DataFrame, what: str, layouts: Sequence[str], names: Sequence[str]
) -> pl.DataFrame:
    """Split rows (line, text) at white space into `names`, by the layout of the first; null if missing."""
    split = lines.lazy().with_columns(fields=pl.col("text").str.extract_all(_FIELD)).collect()
    split = split.filter(pl.col("fields").list.len() > 0)
    if not split.height:
        raise InputError(f"{what}: {file} is empty; expected lines '{layouts[0]}'")
    size, second = len(split["fields"][0]), pl.col("fields").list.get(1, null_on_oob=True)
    layout = next((one for one in layouts if len(one.split()) == size), layouts[0])
    places = layout.split()
    odd = pl.col("fields").list.len() != len(places)
    if layout in layouts[1:] and "Q0" in places:
        odd |= second != "Q0"
    if split.filter(odd).height:
        raise _malformed(file, split.filter(odd), f"'{layout}' with white space between")
    if are_names(split["fields"][0].to_list()):
        split = split[1:]
    if not split.height:
        raise InputError(f"{what}: {file} contains only a header; expected lines '{layout}'")
    if layout in layouts[1:] and "Q0" not in places and split.select(second.is_in(["0", "Q0"]).all()).item():
        raise _malformed(file, split, f"'{layouts[0]}', for column 2 is the same in all lines")
    columns = [
        pl.col("fields").list.get(places.index(name)) if name in places else pl.lit(None, pl.String)
        for name in names
    ]
    return split.select("line", *map(pl.Expr.alias, columns, names), "text")


def _malformed(file: object, rows: pl.DataFrame, expected: str) -> InputError:
    first = rows.row(0, named=True)
    return malformed(file, first["line"], first["text"], expected=expected)


def _number(frame: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name).str.strip_chars() if frame.schema[name] == pl.String else pl.col(name)


_EXPECTED = {"score": "a finite number", "number": "a number of 0 or more"}


def _expected_grade(frame: pl.DataFrame, source: Source) -> str:
    whole = f"a whole grade of {SMALLEST_GRADE}..{LARGEST_GRADE}"
    if not isinstance(source, str | Path):
        return f"{whole} (100 may be a gain: `clickassay import judgments` converts gains to grades)"
    keys = sorted({value_key(str(value)) for value in frame["grade"].unique().drop_nulls()})
    guess, file = suggestion(keys), shlex.quote(str(source))
    layout = " --layout qrels" if "line" in frame.columns else ""
    return (
        f"{whole}; convert all ratings to grades: clickassay import judgments {file}{layout} {guess.option} "
        f"--out FOLDER ({guess.guessed}), and evaluate FOLDER/judgments.parquet"
    )


def _refuse(values: pl.DataFrame, frame: pl.DataFrame, odd: pl.Expr, name: str, source: Source) -> None:
    wrong = values.select(odd.alias("odd"))["odd"]
    if not wrong.any():
        return
    row = frame.filter(wrong).row(0, named=True)
    expected = _expected_grade(frame, source) if name == "grade" else _EXPECTED[name]
    if "line" in row:
        raise _malformed(source, frame.filter(wrong), expected)
    where = ", ".join(f"{what} {row[what]!r}" for what in ("query", "doc") if what in row)
    raise InputError(f"{where}: {name} is {row[name]!r}, expected {expected}")


def _refuse_repeats(frame: pl.DataFrame, source: Source, done: str, remedy: str) -> None:
    # equal pairs have equal hashes: most tables need no closer look
    hashes = frame.select(pl.struct("query", "doc").hash())
    if hashes.to_series().n_unique() == frame.height or frame.select("query", "doc").is_unique().all():
        return
    row = frame.filter(pl.struct("query", "doc").is_duplicated()).row(0, named=True)
    where = source if isinstance(source, str | Path) else "the table"
    raise InputError(
        f"{where}: {row['doc']!r} is {done} twice for query {row['query']!r}, but counts only once; {remedy}"
    )
