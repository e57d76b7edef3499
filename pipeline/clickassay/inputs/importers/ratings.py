"""Ratings of other tools as their files have them, by layout (docs/reference/formats.md)."""

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import InputError
from clickassay.core.progress import Progress, silent
from clickassay.core.text.paths import is_text
from clickassay.inputs.files import READ_ERRORS, malformed, unreadable_file
from clickassay.inputs.sources.mapping import GRADE_OPTION, Names
from clickassay.inputs.text import detect, rows
from clickassay.inputs.text.lines import head, lines
from clickassay.inputs.text.trec import qrels_lines, subtopics
from clickassay.inputs.types import scan_texts

UNRATED, BLANK = "queries_unrated", "ratings_blank"
NAMED_BY_ID = "queries_named_by_id"
"""Names of counts; the last is of requests whose query is not one text: they are called by their id."""

RATER_COLUMN = "_rating"
"""The end of the name of a column with the ratings of one rater."""

_NO_MARKET = "no column market: give this table to a run directly (--judgments)"
_CHOOSE = f"rename one to grade, or import it with {GRADE_OPTION}{{}}"
_HEADER = "a header with query, docid and rating (or query, url, grade)"

FoundRating = tuple[str, str, str, str, str | None]
"""A rating as readers yield it: place for messages, query, URL, rating, rater."""

_NamedRows = Iterator[tuple[str, Mapping[str, object]]]


@dataclass(frozen=True, slots=True)
class Rating:
    """One rating, as a file has it."""

    # query, url: Text, not normalised.
    query: str
    url: str
    value: str  # The rating as it is written.
    rater: str | None  # Who gave it; None where the file does not say.


@dataclass(frozen=True)
class ReadOptions:
    """How files of judgments are to be read."""

    layout: str | None = None  # One of `LAYOUTS`; None = recognised by the content.
    encoding: str = "utf-8"  # Of text files.
    # Columns of a table that hold the ratings of one rater each; by default, of CSV, those of ``*_rating``.
    rater_columns: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # Columns of a table that hold nothing.
    names: Names = field(default_factory=dict)

    def lines(self, file: Path, progress: Progress) -> Iterator[tuple[int, str]]:
        """Yield the numbered lines of a text file."""
        hint = " (or say which with --encoding, e.g. gb18030)"
        return lines(file, progress=progress, encoding=self.encoding, hint=hint)


Reader = Callable[[Path, ReadOptions, dict[str, int], Progress], Iterator[FoundRating]]
"""Yields the ratings of a file, and counts what it leaves aside."""


# ---- one JSON document: Search Relevance Workbench, Rated Ranking Evaluator, rank_eval --------------


def _whole(file: Path, reading: ReadOptions, progress: Progress) -> object:
    return rows.json_document(file, "\n".join(line for _, line in reading.lines(file, progress)))


def _unlike(place: str, found: object, expected: str) -> InputError:
    return InputError(f"{place}: found {str(found)[:80]!r}, expected {expected}; fix or remove it")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _list(place: object, found: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = found.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise _unlike(str(place), value, f"{name}: a list of objects")
    return value


def _rated(
    place: str, query: str, document: object, value: object, counts: dict[str, int], expected: str
) -> Iterator[FoundRating]:
    if isinstance(document, bool) or not (_text(document) or isinstance(document, int)):
        raise _unlike(place, document, expected)
    if value is None or (isinstance(value, str) and not value.strip()):
        counts[BLANK] += 1
        return
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _unlike(place, value, "a rating as text or number")
    yield place, query, str(document), str(value).strip(), None


def _rated_list(
    place: str, query: str, ratings: Sequence[Any], name: str, counts: dict[str, int]
) -> Iterator[FoundRating]:
    counts[UNRATED] += not ratings
    for position, rating in enumerate(ratings, 1):
        named = rating if isinstance(rating, dict) else {}
        where, expected = f"{place}, rating {position}", f"an object with {name} and rating"
        yield from _rated(where, query, named.get(name), named.get("rating"), counts, expected)


def srw_ratings(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[FoundRating]:
    """Yield the ratings of an import request, of a stored list, or of a search response with stored lists."""
    judged: list[Any] = []
    for stored in rows.objects_in(_whole(file, reading, progress)):
        within = stored.get("_source", stored) if isinstance(stored, dict) else None
        entries = within.get("judgmentRatings") if isinstance(within, dict) else None
        if not isinstance(entries, list):
            raise InputError(
                f'{file}: found JSON without a list judgmentRatings, expected {{"judgmentRatings": [{{"query'
                f'": …, "ratings": [{{"docId": …, "rating": …}}]}}]}}; export the list again'
            )
        judged += entries
    for number, entry in enumerate(judged, 1):
        place = f"{file}, query {number}"
        query = _text(entry.get("query")) if isinstance(entry, dict) else None
        if query is None:
            raise _unlike(place, entry, "an object with query and ratings")
        ratings = entry.get("ratings")
        if not isinstance(ratings, list):
            raise _unlike(place, entry, "a list of ratings")
        yield from _rated_list(place, query, ratings, "docId", counts)


def rre_ratings(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[FoundRating]:
    """Yield the ratings of ``ratings.json``: each query of a group has the documents of the group."""
    whole = _whole(file, reading, progress)
    if not isinstance(whole, dict):
        raise _unlike(str(file), whole, "an object with topics or query_groups")
    topics = [*_list(file, whole, "topics"), whole]
    groups = [group for topic in topics for group in _list(file, topic, "query_groups")]
    if not groups:
        raise _unlike(str(file), list(whole), "query_groups with queries and relevant_documents")
    placeholder = str(whole.get("query_placeholder", "$query"))
    for number, group in enumerate(groups, 1):
        place = f"{file}, query group {number}"
        rated = [*_rre_documents(place, group.get("relevant_documents"))]
        queries = _list(place, group, "queries")
        counts[UNRATED] += len(queries) * (not rated)
        for query in queries:
            filled = query.get("placeholders")
            texts = filled if isinstance(filled, dict) else {}
            only = next(iter(texts.values())) if len(texts) == 1 else None
            text = _text(texts.get(placeholder, only))
            if text is None:
                raise _unlike(place, query, f"placeholders with the text of the query ({placeholder})")
            for document, value in rated:
                yield from _rated(place, text, document, value, counts, "the id of a document")


def _rre_documents(place: str, found: object) -> Iterator[tuple[object, object]]:
    """Yield (document, rating): by document ``{"d1": {"gain": 3}}``, or by rating ``{"3": ["d1", "d2"]}``."""
    for part in found if isinstance(found, list) else [found]:
        if not isinstance(part, dict):
            raise _unlike(place, found, 'relevant_documents: {"id": {"gain": 3}} or {"3": ["id", …]}')
        for name, value in part.items():
            if isinstance(value, list):
                yield from ((document, name) for document in value)
            elif isinstance(value, dict):
                yield name, value.get("gain", value.get("rating"))
            else:
                yield name, value


def rank_eval_ratings(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[FoundRating]:
    """Yield the ratings of a request of the ranking evaluation API; documents are named by ``_id``."""
    whole = _whole(file, reading, progress)
    requests = _list(file, whole if isinstance(whole, dict) else {}, "requests")
    if not requests:
        raise _unlike(str(file), whole, "requests with ratings")
    for number, request in enumerate(requests, 1):
        place = f"{file}, request {number}"
        params, inner = request.get("params"), request.get("request")
        if isinstance(params, dict):  # the texts that it searches: of its parameters, or in its query
            named = {name: text for name in params if (text := _text(params[name]))}
            texts = {text for name, text in named.items() if len(params) == 1 or "query" in name}
        else:
            texts = set(_searched(inner.get("query") if isinstance(inner, dict) else None))
        counts[NAMED_BY_ID] += len(texts) != 1
        query = texts.pop() if len(texts) == 1 else _text(request.get("id"))
        if query is None:
            raise _unlike(place, request, "an id, or one text that is searched")
        yield from _rated_list(place, query, _list(place, request, "ratings"), "_id", counts)


_CLAUSES = ("match", "match_phrase", "match_phrase_prefix", "match_bool_prefix")


def _searched(query: object) -> Iterator[str]:
    if isinstance(query, list):
        for part in query:
            yield from _searched(part)
    elif isinstance(query, dict):
        for name, value in query.items():
            if name in _CLAUSES and isinstance(value, dict):
                asked = [one.get("query") if isinstance(one, dict) else one for one in value.values()]
                yield from (text for one in asked if (text := _text(one)))
            elif name in ("multi_match", "query_string", "simple_query_string", "combined_fields"):
                if isinstance(value, dict) and (text := _text(value.get("query"))):
                    yield text
            else:
                yield from _searched(value)


# ---- tables: CSV of any separator, JSON lines or one JSON array, Parquet ---------------------------


def table_ratings(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[FoundRating]:
    """Yield the ratings of a table; InputError if it has no such columns, or a row no query or document."""
    first = head(file, 64).lstrip()
    if first.startswith(b"PAR1"):
        yield from _of_rows(file, _parquet_rows(file, reading), reading, counts)
    elif first.startswith((b"{", b"[")):
        objects = rows.json_objects(file, reading.lines(file, progress), counts)
        yield from _of_rows(file, _json_rows(objects), reading, counts)
    else:
        yield from _of_text(file, reading, counts, progress)


def _of_text(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[FoundRating]:
    found = rows.delimited(file, reading.lines(file, progress))
    number, header = next(found, (1, []))
    keys = rows.keys_of(file, header, reading.names)
    query, document = rows.place(keys, rows.QUERY), rows.place(keys, rows.DOCUMENT)
    rater, market = rows.place(keys, rows.JUDGE), rows.place(keys, ("market",))
    rated = _rating_columns(file, keys, reading)
    if query is None or document is None or not rated:
        raise malformed(file, number, ",".join(header), expected=_HEADER)
    named = [keys[query], keys[document], *(keys[where] for where, _ in rated), *rows.JUDGE]
    if any(keys.count(name) > 1 for name in named):
        raise malformed(file, number, ",".join(header), expected="each column once")
    for number, cells in found:
        if len(cells) > len(header):
            raise malformed(file, number, ",".join(cells), expected=f"at most {len(header)} columns")
        row = [cell.strip() for cell in cells] + [""] * (len(header) - len(cells))
        if market is not None and row[market] not in ("", EVERY):
            raise malformed(file, number, ",".join(row), expected=_NO_MARKET)
        values = [(row[where], name) for where, name in rated]
        if row[query] and not row[document] and not any(value for value, _ in values):
            counts[UNRATED] += 1
            continue
        if not row[query] or not row[document]:
            raise malformed(file, number, ",".join(row), expected="a query and a document")
        for value, name in values:
            if not value:
                counts[BLANK] += 1
                continue
            own = row[rater] or None if rater is not None else name
            yield f"{file}, line {number}", row[query], row[document], value, own


def _grade_names(what: object, keys: Collection[str], reading: ReadOptions) -> tuple[str, ...]:
    names = rows.grade_names(what, [key for key in keys if key not in reading.left_out], _CHOOSE)
    return tuple(name for name in names if name not in reading.left_out)


def _rating_columns(file: Path, keys: list[str], reading: ReadOptions) -> list[tuple[int, str | None]]:
    """Return the places of ratings, each with its rater, or None where that is a column of its own."""
    if reading.rater_columns:
        chosen = [rows.column_key(name) for name in reading.rater_columns]
        missing = [name for name in chosen if name not in keys]
        if missing:
            has = ", ".join(keys)
            raise InputError(f"{file} has no column {missing[0]} (--rater-column); its columns are {has}")
        return [(keys.index(name), name.removesuffix(RATER_COLUMN)) for name in chosen]
    plain = rows.place(keys, _grade_names(file, keys, reading))
    if plain is not None:
        return [(plain, None)]
    ends = [(where, name) for where, name in enumerate(keys) if name.endswith(RATER_COLUMN)]
    return [(where, name.removesuffix(RATER_COLUMN)) for where, name in ends]


def _parquet_rows(file: Path, reading: ReadOptions) -> _NamedRows:
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


def _json_rows(objects: Iterator[tuple[int, dict[str, Any]]]) -> _NamedRows:
    for number, found in objects:
        if not rows.is_by_query(found):
            yield f"row {number}", found
            continue
        for query, docs in found.items():
            for doc, grade in docs.items():
                yield f"query {query}", {"query": query, "doc": doc, "grade": grade}


def _of_rows(
    file: Path, found: _NamedRows, reading: ReadOptions, counts: dict[str, int]
) -> Iterator[FoundRating]:
    chosen = [rows.column_key(name) for name in reading.rater_columns]
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
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value).strip() or None


# ---- files of any layout ----------------------------------------------------------------------------


def qrels_ratings(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[FoundRating]:
    """Yield the ratings of qrels of TREC, of which subtopics are counted."""
    found = qrels_lines(file, reading.lines(file, progress), counts, short=True)
    counts["qrels_of_subtopics"] += found.height if subtopics(found) else 0
    for number, topic, document, grade in found.select("line", "query", "doc", "grade").iter_rows():
        yield f"{file}, line {number}", topic, document, grade, None


_READERS: dict[str, Reader] = {
    "table": table_ratings,
    detect.QUEPID.name: table_ratings,
    detect.SRW.name: srw_ratings,
    detect.QRELS.name: qrels_ratings,
    detect.BEIR.name: table_ratings,
    detect.RRE.name: rre_ratings,
    detect.RANK_EVAL.name: rank_eval_ratings,
}
LAYOUTS = tuple(_READERS)
"""The names that `--layout` takes; by what `detect` calls a layout: `IMPORTED_LAYOUTS`."""
_OTHERS = {detect.JUDGMENTS: "table", detect.JUDGMENT_TABLE: "table", detect.QUEPID_RATERS: "quepid"}
IMPORTED_LAYOUTS = {name: name for name in LAYOUTS[1:]} | {one.name: name for one, name in _OTHERS.items()}

OF_TOPICS = frozenset({detect.QRELS.name, detect.BEIR.name})
"""Layouts whose queries are ids of topics."""


@dataclass(frozen=True)
class JudgmentFile:
    """The ratings of one file."""

    file: Path
    layout: str
    ratings: tuple[Rating, ...]  # In the order of the file.
    places: dict[str, str]  # File and line where each value occurs first.


def read_judgment_file(
    file: Path, reading: ReadOptions, counts: dict[str, int], *, progress: Progress = silent
) -> JudgmentFile:
    """Read and count the ratings of a file; InputError if it is missing, in no known layout, or has none."""
    layout = reading.layout or ("quepid" if reading.rater_columns or reading.names else _layout_of(file))
    ratings: list[Rating] = []
    places: dict[str, str] = {}
    for place, query, url, value, rater in _READERS[layout](file, reading, counts, progress):
        for text in (query, url, value, rater or ""):
            if not text.isascii() and not is_text(text):
                raise InputError(
                    f"{place}: found {text!r}, expected text without lone surrogates; fix or remove it"
                )
        # queries and ratings recur in many rows: each text is kept once
        ratings.append(Rating(intern(query), url, intern(value), rater))
        places.setdefault(value, place)
    if not ratings:
        raise InputError(f"{file} has no rating; expected judgments in one of {', '.join(LAYOUTS)}")
    return JudgmentFile(file, layout, tuple(ratings), places)


def _layout_of(file: Path) -> str:
    recognised = detect.recognise(file)
    if recognised.layout.name in IMPORTED_LAYOUTS:
        return IMPORTED_LAYOUTS[recognised.layout.name]
    if recognised.command:
        raise InputError(f"{file} is {recognised.layout.what}, not judgments; try: {recognised.command}")
    if recognised.problem:
        raise InputError(f"{file} is {recognised.layout.what}; {recognised.problem}")
    if wide := _rater_columns(file):
        options = " ".join(f"--rater-column {shlex.quote(name)}" for name in wide)
        raise InputError(
            f"{file} has no column of ratings; if {' and '.join(wide)} have the ratings of a judge each: "
            f"clickassay import judgments {shlex.quote(str(file))} {options} --out FOLDER, which writes "
            "FOLDER/judgments.parquet"
        )
    begins = f" (it begins {recognised.head[0]!r})" if recognised.head else ""
    raise InputError(
        f"{file} is {recognised.layout.what}{begins}; expected judgments in one of {', '.join(LAYOUTS)}, "
        "such as a table whose header has query, docid (or url) and rating (or grade): rename its columns so"
    )


def _rater_columns(file: Path) -> list[str]:
    first = head(file, 1 << 16).decode("utf-8", errors="replace").split("\n")[:2]
    try:
        (_, names), (_, cells) = rows.delimited(file, enumerate(first, 1))
    except (InputError, ValueError):
        return []
    keys = [rows.column_key(name) for name in names]
    if rows.place(keys, rows.QUERY) is None or rows.place(keys, rows.DOCUMENT) is None:
        return []
    others = [
        name.strip()
        for name, key, cell in zip(names, keys, cells, strict=False)
        if key not in {*rows.QUERY, *rows.DOCUMENT, *rows.RANK}
        and re.fullmatch(r"-?\d+([.,]\d+)?", cell.strip())
    ]
    return others if len(others) > 1 else []
