"""Ratings of other tools as their files have them: Quepid, Search Relevance Workbench, TREC qrels, tables.

`scales` decides which grade a rating stands for, and `raters` what to do where raters differ.
docs/reference/formats.md describes each layout.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Any

from clickassay.core.errors import InputError
from clickassay.core.progress import Progress, silent
from clickassay.inputs import detect as layouts
from clickassay.inputs.columns import JUDGMENTS
from clickassay.inputs.files import malformed
from clickassay.inputs.importers.base import lines
from clickassay.inputs.tables import collected, read_input
from clickassay.inputs.trec import qrels_lines, subtopics

FINAL = "final"
"""The rater of a column ``final_rating``: the grade on which the raters agreed in the end."""

_LAYOUTS = {
    layouts.JUDGMENTS.name: "table",
    layouts.QUEPID.name: "quepid",
    layouts.QUEPID_RATERS.name: "quepid",
    layouts.SRW.name: "srw",
    layouts.QRELS.name: "qrels",
}
LAYOUTS = tuple(dict.fromkeys(_LAYOUTS.values()))

_QUERY = ("query", "query_text")
_DOCUMENT = ("url", "docid", "doc_id")
_RATING = ("grade", "rating")
_RATER = ("judge", "rater")
_RATER_COLUMN = "_rating"
_UNRATED = "queries_unrated"
_BLANK = "ratings_blank"


@dataclass(frozen=True, slots=True)
class Rating:
    """One rating, as a file has it.

    Attributes
    ----------
    query, url
        Text, not normalised.
    value
        The rating as it is written.
    rater
        Who gave it; None where the file does not say.
    """

    query: str
    url: str
    value: str
    rater: str | None


_FoundRating = tuple[str, str, str, str, str | None]
"""A rating as readers yield it: place for messages, query, URL, rating, rater."""


@dataclass(frozen=True)
class JudgmentFile:
    """The ratings of one file.

    Attributes
    ----------
    file, layout
        The file, and the one of `LAYOUTS` as which it was read.
    ratings
        In the order of the file.
    places
        File and line where each value occurs first.
    """

    file: Path
    layout: str
    ratings: tuple[Rating, ...]
    places: dict[str, str]


@dataclass(frozen=True)
class ReadOptions:
    """How files of judgments are to be read.

    Attributes
    ----------
    layout
        One of `LAYOUTS`; None = recognised by the content.
    encoding
        Of text files.
    rater_columns
        Columns of a CSV file that hold the ratings of one rater each; by default those named ``*_rating``.
    """

    layout: str | None = None
    encoding: str = "utf-8"
    rater_columns: tuple[str, ...] = ()

    def lines(self, file: Path, progress: Progress) -> Iterator[tuple[int, str]]:
        """Yield the numbered lines of a text file."""
        hint = " (or say which with --encoding, e.g. gb18030)"
        return lines(file, progress=progress, encoding=self.encoding, hint=hint)


def read_judgment_file(
    file: Path, reading: ReadOptions, counts: dict[str, int], *, progress: Progress = silent
) -> JudgmentFile:
    """Read the ratings of one file.

    Counts ``blank_lines``, ``queries_unrated`` and ``ratings_blank``.

    Raises
    ------
    InputError
        If the file is missing, in no known layout, broken, or holds no rating.
    """
    layout = reading.layout or ("quepid" if reading.rater_columns else _layout_of(file))
    ratings: list[Rating] = []
    places: dict[str, str] = {}
    for place, query, url, value, rater in _READERS[layout](file, reading, counts, progress):
        # queries and ratings recur in many rows: each text is kept once
        ratings.append(Rating(intern(query), url, intern(value), rater))
        places.setdefault(value, place)
    if not ratings:
        raise InputError(f"{file} has no rating; expected judgments in one of {', '.join(LAYOUTS)}")
    return JudgmentFile(file, layout, tuple(ratings), places)


def _layout_of(file: Path) -> str:
    found = layouts.recognise(file)
    if found.layout.name in _LAYOUTS:
        return _LAYOUTS[found.layout.name]
    known = ", ".join(LAYOUTS)
    hint = f"try: {found.command}" if found.command else f"say which of {known} it is with --layout"
    raise InputError(f"{file} is {found.layout.what}, not judgments of {known}; {hint}")


# ---- CSV: Quepid, and tables --------------------------------------------------------------------


@dataclass(frozen=True)
class _Columns:
    """Places of the columns; ratings as (place, rater or None), or the rater in a column of its own."""

    query: int
    document: int
    ratings: tuple[tuple[int, str | None], ...]
    rater: int | None
    width: int


def _csv(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[_FoundRating]:
    rows = _csv_rows(file, reading, progress)
    number, head = next(rows, (1, []))
    columns = _columns(file, number, head, reading)
    for number, cells in rows:
        if len(cells) > columns.width:
            raise malformed(file, number, ",".join(cells), expected=f"at most {columns.width} columns")
        row = [*cells, *[""] * (columns.width - len(cells))]
        yield from _csv_ratings(file, number, row, columns, counts)


def _csv_rows(file: Path, reading: ReadOptions, progress: Progress) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of its last line, cells) of each row that is not blank."""
    numbered = reading.lines(file, progress)
    first = next(numbered, (1, ""))[1]
    texts = (text + "\n" for text in chain([first], (text for _, text in numbered)))
    reader = csv.reader(texts, delimiter=max(",\t;", key=first.count), strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise malformed(file, reader.line_num, str(error), expected="a row of CSV, quotes closed") from error


def _columns(file: Path, number: int, head: list[str], reading: ReadOptions) -> _Columns:
    names = [re.sub(r"[\s-]+", "_", name.strip().lower()) for name in head]
    query, document = _place(names, _QUERY), _place(names, _DOCUMENT)
    ratings = _rating_columns(file, names, reading)
    if query is None or document is None or not ratings:
        expected = "a header with query, docid and rating (or query, url, grade)"
        raise malformed(file, number, ",".join(head), expected=expected)
    named = [name for name in names if name in (*_QUERY, *_DOCUMENT, *_RATING, *_RATER)]
    if len(named) > len(set(named)):
        raise malformed(file, number, ",".join(head), expected="each column once")
    if "market" in names:
        raise malformed(file, number, ",".join(head), expected=_NO_MARKET)
    return _Columns(query, document, ratings, _place(names, _RATER), len(head))


_NO_MARKET = "no column market: a run reads such a table as it is (--judgments)"


def _place(names: Sequence[str], wanted: Sequence[str]) -> int | None:
    return next((names.index(name) for name in wanted if name in names), None)


def _rating_columns(file: Path, names: list[str], reading: ReadOptions) -> tuple[tuple[int, str | None], ...]:
    plain = _place(names, _RATING)
    if reading.rater_columns:
        chosen = [re.sub(r"[\s-]+", "_", name.strip().lower()) for name in reading.rater_columns]
        missing = [name for name in chosen if name not in names]
        if missing:
            has = ", ".join(names)
            raise InputError(f"{file} has no column {missing[0]} (--rater-column); its columns are {has}")
        return tuple((names.index(name), name.removesuffix(_RATER_COLUMN)) for name in chosen)
    if plain is not None:
        return ((plain, None),)
    raters = [(place, name) for place, name in enumerate(names) if name.endswith(_RATER_COLUMN)]
    return tuple((place, name.removesuffix(_RATER_COLUMN)) for place, name in raters)


def _csv_ratings(
    file: Path, number: int, row: list[str], columns: _Columns, counts: dict[str, int]
) -> Iterator[_FoundRating]:
    query, document = row[columns.query], row[columns.document]
    values = [(row[place].strip(), rater) for place, rater in columns.ratings]
    if not document.strip() and not any(value for value, _ in values) and query.strip():
        counts[_UNRATED] += 1
        return
    if not query.strip() or not document.strip():
        raise malformed(file, number, ",".join(row), expected="a query and a document")
    for value, rater in values:
        if not value:
            counts[_BLANK] += 1
            continue
        own = row[columns.rater].strip() or None if columns.rater is not None else rater
        yield f"{file}, line {number}", query, document, value, own


# ---- Parquet and JSON lines ---------------------------------------------------------------------


def _table(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[_FoundRating]:
    if not _is_rows(file):
        yield from _csv(file, reading, counts, progress)
        return
    table = read_input("judgments", file, JUDGMENTS)
    if "market" in table.columns:
        raise InputError(f"{file} has a column market; expected {_NO_MARKET}")
    by_judge = "judge" in table.columns
    for number, row in enumerate(collected(table).iter_rows(named=True), 1):
        place = f"{file}, row {number}"
        if row["query"] is None or row["url"] is None:
            raise InputError(f"{place}: found no query or no url, expected both; fix or remove the row")
        if row["grade"] is None or str(row["grade"]).strip() == "":
            counts[_BLANK] += 1
            continue
        rater = row["judge"] if by_judge else None
        yield place, row["query"], row["url"], str(row["grade"]).strip(), rater


def _is_rows(file: Path) -> bool:
    """Return whether a file is Parquet or JSON lines, not delimited text."""
    try:
        with file.open("rb") as stream:
            head = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}; expected judgments") from error
    return head.startswith((b"PAR1", b"{"))


# ---- Search Relevance Workbench -----------------------------------------------------------------


def _srw(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[_FoundRating]:
    text = "\n".join(line for _, line in reading.lines(file, progress))
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not JSON: {error}; is it complete? Export it again") from error
    for number, entry in enumerate(_judgment_ratings(file, found), 1):
        place = f"{file}, query {number}"
        if not isinstance(entry, dict) or not _is_text(entry.get("query")):
            raise _not_srw(place, entry, "an object with query and ratings")
        ratings = entry.get("ratings")
        if not isinstance(ratings, list):
            raise _not_srw(place, entry, "a list of ratings")
        counts[_UNRATED] += not ratings
        for position, rating in enumerate(ratings, 1):
            yield from _srw_rating(f"{place}, rating {position}", entry["query"], rating, counts)


def _judgment_ratings(file: Path, found: object) -> list[Any]:
    """Return the list of queries with ratings: of an import request, or of a stored judgment list."""
    if isinstance(found, dict):
        within = found.get("_source")
        found = within if isinstance(within, dict) else found
        if isinstance(found.get("judgmentRatings"), list):
            ratings: list[Any] = found["judgmentRatings"]
            return ratings
    raise InputError(
        f'{file}: found JSON without a list judgmentRatings, expected {{"judgmentRatings": [{{"query": …, '
        f'"ratings": [{{"docId": …, "rating": …}}]}}]}}; export the judgment list again'
    )


def _srw_rating(place: str, query: str, rating: object, counts: dict[str, int]) -> Iterator[_FoundRating]:
    found = rating if isinstance(rating, dict) else {}
    document, value = found.get("docId"), found.get("rating")
    if isinstance(document, bool) or not (_is_text(document) or isinstance(document, int)):
        raise _not_srw(place, rating, "an object with docId and rating")
    if value is None or (isinstance(value, str) and not value.strip()):
        counts[_BLANK] += 1
        return
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _not_srw(place, rating, "a rating as text or number")
    yield place, query, str(document), str(value).strip(), None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _not_srw(place: str, found: object, expected: str) -> InputError:
    return InputError(f"{place}: found {str(found)[:80]!r}, expected {expected}; fix or remove it")


# ---- TREC qrels ---------------------------------------------------------------------------------


def _qrels(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[_FoundRating]:
    rows = qrels_lines(file, reading.lines(file, progress), counts)
    counts["qrels_of_subtopics"] += rows.height if subtopics(rows) else 0
    for number, topic, document, grade in rows.select("line", "query", "doc", "grade").iter_rows():
        yield f"{file}, line {number}", topic, document, grade, None


_Reader = Callable[[Path, ReadOptions, dict[str, int], Progress], Iterator[_FoundRating]]
_READERS: dict[str, _Reader] = {"table": _table, "quepid": _csv, "srw": _srw, "qrels": _qrels}
