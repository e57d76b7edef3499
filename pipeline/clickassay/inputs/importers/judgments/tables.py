"""Ratings in tables: CSV of any separator, JSON lines or one JSON array, Parquet."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import InputError
from clickassay.core.progress import Progress
from clickassay.inputs.files import READ_ERRORS, malformed, unreadable_file
from clickassay.inputs.importers.judgments.rating import BLANK, UNRATED, FoundRating, ReadOptions
from clickassay.inputs.sources.mapping import GRADE_OPTION
from clickassay.inputs.text import rows
from clickassay.inputs.text.lines import head
from clickassay.inputs.text.rows import column_key, place
from clickassay.inputs.types.logical import scan_texts

RATER_COLUMN = "_rating"
"""The end of the name of a column with the ratings of one rater."""

_NO_MARKET = "no column market: a run reads such a table as it is (--judgments)"
_CHOOSE = f"rename one to grade, or import it with {GRADE_OPTION}{{}}"
_HEADER = "a header with query, docid and rating (or query, url, grade)"


@dataclass(frozen=True)
class _Columns:
    """Places of the columns; ratings as (place, rater or None), or the rater in a column of its own."""

    query: int
    document: int
    ratings: tuple[tuple[int, str | None], ...]
    rater: int | None
    market: int | None
    width: int


def table_ratings(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[FoundRating]:
    """Yield the ratings of a table of any form.

    Raises InputError if it has no column of queries, of documents or of ratings, or a row lacks one of the
    first two.
    """
    first = head(file, 64).lstrip()
    if first.startswith(b"PAR1"):
        yield from _of_rows(file, _parquet_rows(file, reading), reading, counts)
    elif first.startswith((b"{", b"[")):
        objects = rows.json_objects(file, reading.lines(file, progress), counts)
        yield from _of_rows(file, _by_row(objects), reading, counts)
    else:
        yield from _of_text(file, reading, counts, progress)


# ---- delimited text --------------------------------------------------------------------------------


def _of_text(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[FoundRating]:
    found = rows.delimited(file, reading.lines(file, progress))
    number, header = next(found, (1, []))
    columns = _columns(file, number, header, reading)
    for number, cells in found:
        if len(cells) > columns.width:
            raise malformed(file, number, ",".join(cells), expected=f"at most {columns.width} columns")
        row = [cell.strip() for cell in cells] + [""] * (columns.width - len(cells))
        yield from _ratings(file, number, row, columns, counts)


def _columns(file: Path, number: int, header: list[str], reading: ReadOptions) -> _Columns:
    keys = rows.keys_of(file, header, reading.names)
    query, document = place(keys, rows.QUERY), place(keys, rows.DOCUMENT)
    ratings = _rating_columns(file, keys, reading)
    if query is None or document is None or not ratings:
        raise malformed(file, number, ",".join(header), expected=_HEADER)
    named = [keys[query], keys[document], *(keys[where] for where, _ in ratings), *rows.JUDGE]
    if any(keys.count(name) > 1 for name in named):
        raise malformed(file, number, ",".join(header), expected="each column once")
    return _Columns(query, document, ratings, place(keys, rows.JUDGE), place(keys, ("market",)), len(header))


def _grade_names(what: object, keys: Collection[str], reading: ReadOptions) -> tuple[str, ...]:
    names = rows.grade_names(what, [key for key in keys if key not in reading.left_out], _CHOOSE)
    return tuple(name for name in names if name not in reading.left_out)


def _rating_columns(file: Path, keys: list[str], reading: ReadOptions) -> tuple[tuple[int, str | None], ...]:
    if reading.rater_columns:
        chosen = [column_key(name) for name in reading.rater_columns]
        missing = [name for name in chosen if name not in keys]
        if missing:
            has = ", ".join(keys)
            raise InputError(f"{file} has no column {missing[0]} (--rater-column); its columns are {has}")
        return tuple((keys.index(name), name.removesuffix(RATER_COLUMN)) for name in chosen)
    plain = place(keys, _grade_names(file, keys, reading))
    if plain is not None:
        return ((plain, None),)
    raters = [(where, name) for where, name in enumerate(keys) if name.endswith(RATER_COLUMN)]
    return tuple((where, name.removesuffix(RATER_COLUMN)) for where, name in raters)


def _ratings(
    file: Path, number: int, row: list[str], columns: _Columns, counts: dict[str, int]
) -> Iterator[FoundRating]:
    query, document = row[columns.query], row[columns.document]
    if columns.market is not None and row[columns.market] not in ("", EVERY):
        raise malformed(file, number, ",".join(row), expected=_NO_MARKET)
    values = [(row[where], rater) for where, rater in columns.ratings]
    if not document and not any(value for value, _ in values) and query:
        counts[UNRATED] += 1
        return
    if not query or not document:
        raise malformed(file, number, ",".join(row), expected="a query and a document")
    for value, rater in values:
        if not value:
            counts[BLANK] += 1
            continue
        own = row[columns.rater] or None if columns.rater is not None else rater
        yield f"{file}, line {number}", query, document, value, own


# ---- Parquet and JSON ------------------------------------------------------------------------------


def _parquet_rows(file: Path, reading: ReadOptions) -> Iterator[tuple[str, Mapping[str, object]]]:
    try:
        table = scan_texts(file)
        names = table.collect_schema().names()
        keys = rows.keys_of(file, names, reading.names)
        chosen = _rating_columns(file, keys, reading) if reading.rater_columns else ()
        grades = () if chosen else _grade_names(file, keys, reading)
        wanted = {*rows.QUERY, *rows.DOCUMENT, *grades, *rows.JUDGE, "market"}
        wanted |= {keys[where] for where, _ in chosen}
        taken = [name for name, key in zip(names, keys, strict=True) if key in wanted]
        frame = table.select(taken).collect()
    except READ_ERRORS as error:
        raise unreadable_file("judgments", file, error) from error
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        yield f"row {number}", row


def _by_row(objects: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the rows of JSON; of a dict ``{query: {doc: grade}}`` a row for each grade."""
    for number, found in objects:
        if not rows.is_by_query(found):
            yield f"row {number}", found
            continue
        graded = ((query, doc, grade) for query, docs in found.items() for doc, grade in docs.items())
        for query, doc, grade in graded:
            yield f"query {query}", {"query": query, "doc": doc, "grade": grade}


def _of_rows(
    file: Path,
    found: Iterator[tuple[str, Mapping[str, object]]],
    reading: ReadOptions,
    counts: dict[str, int],
) -> Iterator[FoundRating]:
    chosen = [column_key(name) for name in reading.rater_columns]
    known: dict[tuple[str, ...], tuple[list[str], tuple[str, ...]]] = {}  # rows have few sets of columns
    for where, named in found:
        at, names = f"{file}, {where}", tuple(named)
        if names not in known:
            keys = rows.keys_of(at, names, reading.names)
            known[names] = keys, () if chosen else _grade_names(at, keys, reading)
        keys, of_grade = known[names]
        row = dict(zip(keys, named.values(), strict=True))
        if row.get("market") not in (None, EVERY):
            raise InputError(f"{file} has a column market; expected {_NO_MARKET}")
        query, document = _name(_value(row, rows.QUERY)), _name(_value(row, rows.DOCUMENT))
        if query is None or document is None:
            raise InputError(f"{at}: found no query or no url, expected both; fix or remove the row")
        grades = [(_value(row, of_grade), _name(_value(row, rows.JUDGE)))]
        if chosen:
            grades = [(row.get(name), name.removesuffix(RATER_COLUMN)) for name in chosen]
        for grade, rater in grades:
            if grade is None or not str(grade).strip():
                counts[BLANK] += 1
                continue
            yield at, query, document, str(grade).strip(), rater


def _value(row: Mapping[str, object], names: tuple[str, ...]) -> object:
    return next((row[name] for name in names if name in row), None)


def _name(value: object) -> str | None:
    """Return the text or whole number that names a query, a document or a rater; None for anything else."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value).strip() or None
