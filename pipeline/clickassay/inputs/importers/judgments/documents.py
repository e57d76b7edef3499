"""Ratings in one JSON document: Search Relevance Workbench, Rated Ranking Evaluator, rank_eval."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clickassay.core.errors import InputError
from clickassay.core.progress import Progress
from clickassay.inputs.importers.judgments.rating import BLANK, UNRATED, FoundRating, ReadOptions
from clickassay.inputs.text.rows import json_document, objects_in

NAMED_BY_ID = "queries_named_by_id"
"""Count of requests whose query is not one text: they are called by their id."""


def _whole(file: Path, reading: ReadOptions, progress: Progress) -> object:
    return json_document(file, "\n".join(line for _, line in reading.lines(file, progress)))


def _unlike(place: str, found: object, expected: str) -> InputError:
    return InputError(f"{place}: found {str(found)[:80]!r}, expected {expected}; fix or remove it")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _rated(
    place: str, query: str, document: object, value: object, counts: dict[str, int], expected: str
) -> Iterator[FoundRating]:
    """Yield a rating after checks of its types; a blank one is counted."""
    if isinstance(document, bool) or not (_text(document) or isinstance(document, int)):
        raise _unlike(place, document, expected)
    if value is None or (isinstance(value, str) and not value.strip()):
        counts[BLANK] += 1
        return
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _unlike(place, value, "a rating as text or number")
    yield place, query, str(document), str(value).strip(), None


# ---- Search Relevance Workbench -------------------------------------------------------------------


def srw_ratings(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[FoundRating]:
    """Yield the ratings of an import request, of a stored list, or of a search response with stored lists."""
    for number, entry in enumerate(_judgment_ratings(file, _whole(file, reading, progress)), 1):
        place = f"{file}, query {number}"
        query = _text(entry.get("query")) if isinstance(entry, dict) else None
        if query is None:
            raise _unlike(place, entry, "an object with query and ratings")
        ratings = entry.get("ratings")
        if not isinstance(ratings, list):
            raise _unlike(place, entry, "a list of ratings")
        counts[UNRATED] += not ratings
        for position, rating in enumerate(ratings, 1):
            named = rating if isinstance(rating, dict) else {}
            where, expected = f"{place}, rating {position}", "an object with docId and rating"
            yield from _rated(where, query, named.get("docId"), named.get("rating"), counts, expected)


def _judgment_ratings(file: Path, document: object) -> list[Any]:
    """Return the queries with ratings of all lists in a document."""
    judged: list[Any] = []
    for stored in objects_in(document):
        within = stored.get("_source", stored) if isinstance(stored, dict) else None
        ratings = within.get("judgmentRatings") if isinstance(within, dict) else None
        if not isinstance(ratings, list):
            raise InputError(
                f'{file}: found JSON without a list judgmentRatings, expected {{"judgmentRatings": [{{"query'
                f'": …, "ratings": [{{"docId": …, "rating": …}}]}}]}}; export the list again'
            )
        judged += ratings
    return judged


# ---- Rated Ranking Evaluator ----------------------------------------------------------------------


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
            text = _rre_query(place, query, placeholder)
            for document, value in rated:
                yield from _rated(place, text, document, value, counts, "the id of a document")


def _list(place: object, found: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return a list of objects; an empty one if it is not there."""
    value = found.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise _unlike(str(place), value, f"{name}: a list of objects")
    return value


def _rre_query(place: str, query: Mapping[str, Any], placeholder: str) -> str:
    filled = query.get("placeholders")
    texts = filled if isinstance(filled, dict) else {}
    only = next(iter(texts.values())) if len(texts) == 1 else None
    found = _text(texts.get(placeholder, only))
    if found is None:
        raise _unlike(place, query, f"placeholders with the text of the query ({placeholder})")
    return found


def _rre_documents(place: str, found: object) -> Iterator[tuple[object, object]]:
    """Yield (document, rating): by document ``{"d1": {"gain": 3}}``, or by rating ``{"3": ["d1", "d2"]}``."""
    parts = found if isinstance(found, list) else [found]
    for part in parts:
        if not isinstance(part, dict):
            raise _unlike(place, found, 'relevant_documents: {"id": {"gain": 3}} or {"3": ["id", …]}')
        for name, value in part.items():
            if isinstance(value, list):
                yield from ((document, name) for document in value)
            elif isinstance(value, dict):
                yield name, value.get("gain", value.get("rating"))
            else:
                yield name, value


# ---- rank_eval of Elasticsearch and OpenSearch -----------------------------------------------------


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
        texts = _query_texts(request)
        counts[NAMED_BY_ID] += len(texts) != 1
        query = texts.pop() if len(texts) == 1 else _text(request.get("id"))
        if query is None:
            raise _unlike(place, request, "an id, or one text that is searched")
        ratings = _list(place, request, "ratings")
        counts[UNRATED] += not ratings
        for position, rating in enumerate(ratings, 1):
            where, expected = f"{place}, rating {position}", "an object with _id and rating"
            yield from _rated(where, query, rating.get("_id"), rating.get("rating"), counts, expected)


def _query_texts(request: Mapping[str, Any]) -> set[str]:
    """Return the texts that a request searches: of its parameters, or in its query."""
    if isinstance(request.get("params"), dict):
        params = request["params"]
        return {
            text for name in params if (text := _text(params[name])) and (len(params) == 1 or "query" in name)
        }
    inner = request.get("request")
    return set(_searched(inner.get("query") if isinstance(inner, dict) else None))


_CLAUSES = ("match", "match_phrase", "match_phrase_prefix", "match_bool_prefix")


def _searched(query: object) -> Iterator[str]:
    """Yield the texts in clauses of full text, wherever they are nested."""
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
