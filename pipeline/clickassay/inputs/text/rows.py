"""Rows with named columns in text files: delimited text, JSON lines, one JSON document; and names of columns.

What a column is called differs from tool to tool: blanks, quotes, hyphens and case do not matter.
"""

import csv
import json
import re
from collections.abc import Collection, Iterable, Iterator, MutableMapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from clickassay.core.errors import InputError
from clickassay.inputs.files import malformed

Numbered = Iterable[tuple[int, str]]
"""Lines with their numbers, from 1."""

QUERY_IDS = ("query_id", "qid", "topic")
QUERY = ("query", "query_text", *QUERY_IDS)
DOCUMENT = ("doc", "doc_id", "docno", "docid", "document", "document_id", "corpus_id", "url",
            "product_id", "item_id", "sku", "asin")  # fmt: skip
GRADE = ("grade", "rating", "relevance", "rel", "label")
SCORE, RANK = ("score", "sim"), ("rank", "position")
"""Names of columns that are recognised, ours first."""

_SEPARATORS = "\t;,|"
_DELIMITED = "a row of delimited text, quotes closed"


def column_key(name: str) -> str:
    """Return the key by which names are compared: ``query_id`` of ``Query-ID`` and ``query id``."""
    return re.sub(r"[\s-]+", "_", name.strip().strip("\"'").strip().lower())


def place(keys: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return the place of the first of `wanted` that is among the keys of columns; None if none is."""
    return next((keys.index(name) for name in wanted if name in keys), None)


def grade_names(keys: Collection[str]) -> tuple[str, ...]:
    """Return the names that a column of grades may have; beside BEIR's ``corpus-id`` also ``score``."""
    return (*GRADE, "score") if "corpus_id" in keys else GRADE


def are_names(fields: Sequence[str]) -> bool:
    """Return whether fields of a line of TREC name its columns: the first a query, the third a document."""
    keys = [column_key(field) for field in fields]
    is_named = len(keys) > 3 and keys[0] in QUERY and keys[2] in DOCUMENT
    return is_named and not any(key.lstrip("+-")[:1].isdigit() for key in keys[3:])


def separator_of(first: str) -> str:
    """Return what divides the names in the first line of delimited text."""
    return max(_SEPARATORS, key=first.count)


def header_of(first: str) -> list[str]:
    """Return the names in the first line of delimited text, as they are written."""
    try:
        return next(csv.reader([first], delimiter=separator_of(first)), [])
    except csv.Error:  # a field longer than any name
        return []


def delimited(file: Path, numbered: Numbered) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of its last line, cells) of each row that is not blank, the header first.

    Raises
    ------
    InputError
        If a quote is not closed.
    """
    texts = iter(numbered)
    start, first = next(((number, text) for number, text in texts if text.strip()), (1, ""))
    rest = (text + "\n" for text in chain([first], (text for _, text in texts)))
    reader = csv.reader(rest, delimiter=separator_of(first), strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num + start - 1, row
    except csv.Error as error:
        raise malformed(file, reader.line_num + start - 1, str(error), expected=_DELIMITED) from error


def json_objects(
    file: Path, numbered: Numbered, counts: MutableMapping[str, int], expected: str = "a JSON object a line"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number, object) of JSON lines; the objects of one document are numbered from 1.

    A document is an array of objects, a search response, whose hits are taken, or an object over several
    lines. Counts ``blank_lines``.

    Raises
    ------
    InputError
        For a line that is no object, or a document that is not JSON.
    """
    lines, is_first = iter(numbered), True
    for number, text in lines:
        if not text.strip():
            counts["blank_lines"] += 1
        elif is_first and _opens_a_document(text.strip()):
            yield from _of_document(file, "\n".join(chain([text], (more for _, more in lines))), expected)
        else:
            loaded = _loaded(text)
            if not isinstance(loaded, dict):
                raise malformed(file, number, text, expected=expected)
            yield from [(number, loaded)] if _hits(loaded) is None else enumerate(_hits(loaded) or [], 1)
            is_first = False


def json_document(file: Path, text: str) -> Any:  # noqa: ANN401 - JSON is anything
    """Return the JSON of a whole file.

    Raises
    ------
    InputError
        If it is none.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not JSON: {error}; is it complete? Export it again") from error


def objects_in(document: object) -> list[Any]:
    """Return the hits of a search response, the elements of an array, or the document itself."""
    if isinstance(document, list):
        return document
    hits = _hits(document)
    return [document] if hits is None else hits


def _opens_a_document(text: str) -> bool:
    return text.startswith("[") or (text.startswith("{") and not text.endswith("}"))


def _of_document(file: Path, text: str, expected: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, found in enumerate(objects_in(json_document(file, text)), 1):
        if not isinstance(found, dict):
            raise malformed(file, number, json.dumps(found), expected=expected)
        yield number, found


def _hits(found: object) -> list[Any] | None:
    """Return the documents of a search response of OpenSearch or Elasticsearch; None for anything else."""
    outer = found.get("hits") if isinstance(found, dict) else None
    inner = outer.get("hits") if isinstance(outer, dict) else None
    return inner if isinstance(inner, list) else None


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
