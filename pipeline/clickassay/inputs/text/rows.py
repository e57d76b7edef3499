"""Rows with named columns in text files: delimited text, JSON lines, one JSON document; and their names."""

import csv
import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from clickassay.core.errors import InputError
from clickassay.inputs.files import malformed
from clickassay.inputs.sources.mapping import LIKELY, OUR_NAMES, Names, may_be_grades, rival_grades
from clickassay.inputs.text.lines import opened

Numbered = Iterable[tuple[int, str]]

QUERY_IDS = ("query_id", "qid", "q_id", "topic")
QUERY_TEXTS = ("query", *(name for name in LIKELY["query"] if name != "text"))
QUERY = (*QUERY_TEXTS, *QUERY_IDS)
DOCUMENT = ("url", *LIKELY["url"])
GRADE = ("grade", *(name for name in LIKELY["grade"] if name != "score"))
JUDGE = ("judge", *LIKELY["judge"])
SCORE, RANK = ("score", "sim"), ("rank", "position")
"""Names of columns that are recognised, ours first."""

_SEPARATORS = "\t;,|"
_SAID = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_HEADER_BYTES = 4096
_DELIMITED = "a row of CSV, quotes closed"


def column_key(name: str) -> str:
    """Return the key by which names are compared: ``query_id`` of ``Query-ID`` and ``query id``."""
    return re.sub(r"[\s-]+", "_", name.strip().strip("\"'").strip().lower())


def keys_of(what: object, names: Sequence[str], ours: Names = OUR_NAMES) -> list[str]:
    """Return the keys of columns; one that users named has ours alone, InputError if it is not there."""
    chosen, keys = {column_key(path): name for name, path in ours.items()}, [column_key(one) for one in names]
    missing = next((path for path in ours.values() if column_key(path) not in keys), None)
    if missing is not None:
        raise InputError(f"{what}: no column {missing} (--column); it has: {', '.join(names)}")
    return [chosen.get(key, "" if key in ours else key) for key in keys]


def place(keys: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return the place of the first of `wanted` that is among the keys of columns; None if none is."""
    return next((keys.index(name) for name in wanted if name in keys), None)


def grade_names(what: object, keys: Collection[str], choose: str) -> tuple[str, ...]:
    """Return the names of a column of grades; with BEIR's ``corpus-id`` or ranx's ``q_id`` also ``score``.

    Raises InputError if several of the keys may be the grade; the message begins with `what`, and ends with
    `choose`, how to name one.
    """
    if rivals := rival_grades(keys):
        raise InputError(f"{what}: {may_be_grades(rivals)}: {choose.format(rivals[0])}")
    return (*GRADE, "score") if {"corpus_id", "q_id"} & {*keys} else GRADE


def is_by_query(found: object) -> bool:
    """Return whether JSON is a dict ``{query: {doc: number}}``, as pytrec_eval and ranx write it."""
    if not isinstance(found, dict) or not all(isinstance(docs, dict) for docs in found.values()):
        return False
    numbers = [number for docs in found.values() for number in docs.values()]
    return bool(numbers) and all(isinstance(number, int | float) for number in numbers)


def are_names(fields: Sequence[str]) -> bool:
    """Return whether fields of a line of TREC name its columns: the first a query, a later one a document."""
    keys = [column_key(field) for field in fields]
    at = 2 if len(keys) > 3 else 1
    is_named = len(keys) > 2 and keys[0] in QUERY and keys[at] in DOCUMENT
    return is_named and not any(key.lstrip("+-")[:1].isdigit() for key in keys[at + 1 :])


@dataclass(frozen=True)
class Form:
    """How a file of delimited text is written; every other file has the form of plain commas."""

    separator: str = ","  # What divides cells.
    skipped: int = 0  # Lines above the header: the line ``sep=;``, in which Excel says what divides cells.
    line_end: str = "\n"


PLAIN = Form()


def split_lines(text: str) -> list[str]:
    """Return the lines of a text: only a line feed ends one, as `lines` reads them."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def form_of(lines: Iterable[str], usual: str = ",") -> tuple[Form, str]:
    """Return form and header of text: its separator is most often there outside quotes, or is `usual`."""
    filled = (line for line in lines if line.strip())
    first = next(filled, "")
    if said := _SAID.fullmatch(first.rstrip()):
        return Form(said[1], skipped=1), next(filled, "")
    bare = _QUOTED.sub("", first)
    return Form(max((usual, *_SEPARATORS), key=bare.count)), first


def form_in(file: Path, format_: str) -> Form:
    """Return the form of a file for an engine; InputError if it is unreadable, or JSON with lone CRs."""
    if format_ == "parquet":
        return PLAIN
    with opened(file) as source:
        text = source.stream.read(_HEADER_BYTES).decode("utf-8-sig", errors="replace")
    if format_ != "json":
        form, _ = form_of(split_lines(text), "\t" if format_ == "tsv" else ",")
        return replace(form, line_end=source.line_end)
    if source.line_end == "\r":
        given, other = shlex.quote(str(file)), shlex.quote(f"lines-{file.name}")
        raise InputError(
            f"lines of {file} end with carriage returns alone, expected line feeds; convert it: "
            f"tr '\\r' '\\n' < {given} > {other}"
        )
    return PLAIN


def header_of(text: str) -> list[str]:
    """Return the names in the header of delimited text, as they are written, from its beginning."""
    form, header = form_of(split_lines(text))
    try:
        return next(csv.reader([header], delimiter=form.separator), [])
    except csv.Error:  # a field longer than any name
        return []


def delimited(
    file: Path, numbered: Numbered, counts: MutableMapping[str, int] | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yield (last line, cells) of each row, the header first, counting blanks; InputError: an open quote."""
    start = 1

    def texts() -> Iterator[str]:
        nonlocal start
        for start, text in numbered:  # noqa: B007 - the number of the header is kept
            yield text + "\n"

    rest = texts()
    form, header = form_of(rest)
    first = start
    reader = csv.reader(chain([header], rest), delimiter=form.separator, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num + first - 1, row
            elif counts is not None:
                counts["blank_lines"] += 1
    except csv.Error as error:
        raise malformed(file, reader.line_num + first - 1, str(error), expected=_DELIMITED) from error


def json_objects(
    file: Path, numbered: Numbered, counts: dict[str, int], expected: str = "one JSON object per line"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number, object) of JSON lines; the objects of one document are numbered from 1.

    A document is an array of objects, a search response (its hits), or an object over several lines. Raises
    InputError for a line that is no object, or a document that is not JSON.
    """
    lines, is_first = iter(numbered), True
    for number, text in lines:
        bare = text.strip()
        if not bare:
            counts["blank_lines"] += 1
        elif is_first and (bare.startswith("[") or (bare.startswith("{") and not bare.endswith("}"))):
            document = json_document(file, "\n".join(chain([text], (more for _, more in lines))))
            for place, found in enumerate(objects_in(document), 1):
                if not isinstance(found, dict):
                    raise malformed(file, place, json.dumps(found), expected=expected)
                yield place, found
        else:
            try:
                loaded = json.loads(text)
            except (ValueError, RecursionError):
                loaded = None
            if not isinstance(loaded, dict):
                raise malformed(file, number, text, expected=expected)
            yield from [(number, loaded)] if _hits(loaded) is None else enumerate(_hits(loaded) or [], 1)
            is_first = False


def json_document(file: Path, text: str) -> Any:  # noqa: ANN401 - JSON is anything
    """Return the JSON of a whole file; InputError if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{file}: not JSON: {error}; check that it is complete, or export it again"
        ) from error


def objects_in(document: object) -> list[Any]:
    """Return the hits of a search response, the elements of an array, or the document itself."""
    if isinstance(document, list):
        return document
    hits = _hits(document)
    return [document] if hits is None else hits


def _hits(found: object) -> list[Any] | None:
    outer = found.get("hits") if isinstance(found, dict) else None
    inner = outer.get("hits") if isinstance(outer, dict) else None
    return inner if isinstance(inner, list) else None
