"""Documents of User Behavior Insights as they are exported, one by one, and the values of their fields.

Bulk (an action line, then a document), JSON lines (bare, or with ``_index`` and ``_source``), one array or
search response of JSON, Parquet, CSV.
Nested fields may be objects, JSON text, or columns whose names have dots.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from clickassay.core.errors import InputError
from clickassay.core.progress import Event, Progress
from clickassay.inputs.files import malformed
from clickassay.inputs.importers.base import LAST_MS
from clickassay.inputs.sources.walk import files_below
from clickassay.inputs.text.lines import head, lines
from clickassay.inputs.text.rows import delimited, json_objects

QUERY = "query"
EVENT = "event"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MS = int(datetime(1990, 1, 1, tzinfo=UTC).timestamp()) * 1000
_DIGITS = re.compile(r"-?[0-9]{1,18}")
_QUERY_FIELDS = ("user_query", "query_response_id", "query_response_hit_ids", "query_response_object_ids")
_HITS = ("query_response_hit_ids", "query_response_object_ids")  # the second until 2024
_ATTRIBUTES = "query_attributes"
_INDICES = {"ubi_queries": QUERY, "ubi_events": EVENT}
_OBJECT = "a JSON object on one line (bulk or JSON lines)"
_EITHER = "a document with action_name (an event) or user_query (a query), of UBI 1.2 or 1.3"
_TIME = "a time from 1990 to 2100: ISO 8601, or milliseconds since 1970"
_ROWS_AT_ONCE = 10_000
_FORMATS = (".ndjson", ".jsonl", ".json", ".csv", ".parquet", ".pq")


@dataclass(frozen=True)
class Document:
    """One query or event, as it stands in a file."""

    # file, line: Where it stands; in Parquet, or in one JSON document, its number from 1.
    file: Path
    line: int
    kind: str  # `QUERY` or `EVENT`.
    fields: Mapping[str, Any]  # Its fields as read.

    def fail(self, found: object, *, expected: str) -> NoReturn:
        """Raise an InputError that names file and line."""
        raise malformed(self.file, self.line, str(found), expected=expected)

    @property
    def has_attributes(self) -> bool:
        """Whether event_attributes has a value."""
        named = (value for name, value in self.fields.items() if name.partition(".")[0] == "event_attributes")
        return any(value not in (None, "", {}) for value in named)

    def text(self, *names: str) -> str | None:
        """Return the text or whole number in a field, nested by `names`; None where there is none."""
        value = self._at(self.fields, names)
        return None if value is None else self._as_text(value, ".".join(names))

    def _as_text(self, value: object, name: str) -> str | None:
        if isinstance(value, float) and value.is_integer():  # a column of integers that has nulls
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            self.fail(f"{name} {value!r}", expected="text or a whole number")
        text = str(value)
        if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
            self.fail(f"{name} {value!r}", expected="text without lone surrogates")
        return text or None

    def attribute(self, path: str, *names: str) -> str | None:
        """Return the text or whole number in the first attribute that has one; None where none has.

        path, names: where the attributes are, with dots, and what they are called.
        """
        for name in names:
            with suppress(InputError):  # they are as their users like them
                if found := self.text(*path.split("."), name):
                    return found
        return None

    def hits(self) -> list[str]:
        """Return the ids of the hits, in their order; none where the document names none."""
        for name in _HITS:
            value = self.fields.get(name)
            if isinstance(value, str) and value:
                value = self._json(name, value)
            if value:
                if not isinstance(value, list):
                    self.fail(f"{name} {value!r}", expected="a list of ids")
                ids = [None if hit is None else self._as_text(hit, name) for hit in value]
                return [
                    one or self.fail(f"{name} with {hit!r}", expected="an id for each hit")
                    for one, hit in zip(ids, value, strict=True)
                ]
        return []

    def number(self, *names: str) -> float | None:
        """Return the number in a field, nested by `names`; None where there is none, or another value."""
        value = self._at(self.fields, names)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number else None  # type: ignore[arg-type] # a number

    def ordinal(self) -> int | None:
        """Return the position on the page as it was written, from 0 or from 1; None where there is none."""
        path = ("event_attributes", "position", "ordinal")
        value = self._at(self.fields, path)
        if value is None or isinstance(value, dict):  # 1.2: {"index": 3}; 1.3: 3
            value = self._at(self.fields, (*path, "index"))
        if value is None:
            return None
        text = self._as_text(value, "ordinal") or ""
        if not _DIGITS.fullmatch(text.removesuffix(".0")):
            self.fail(f"ordinal {value!r}", expected="a whole number")
        return int(text.removesuffix(".0"))

    def time_ms(self) -> tuple[int | None, bool]:
        """Return milliseconds since 1970, and whether the time had no zone (it is then taken as UTC)."""
        value = self.fields.get("timestamp")
        if value is None or value == "":
            return None, False
        found, no_zone = self._time(value)
        if not _FIRST_MS <= found < LAST_MS:
            self.fail(f"timestamp {value!r}", expected=_TIME)
        return found, no_zone

    def _time(self, value: object) -> tuple[int, bool]:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value, False
        if not isinstance(value, str):
            self.fail(f"timestamp {value!r}", expected=_TIME)
        if _DIGITS.fullmatch(value):
            return int(value), False
        try:
            time = datetime.fromisoformat(value)
            no_zone = time.tzinfo is None
            since = (time.replace(tzinfo=UTC) if no_zone else time) - _EPOCH
            return since // timedelta(milliseconds=1), no_zone
        except (ValueError, OverflowError):
            self.fail(f"timestamp {value!r}", expected=_TIME)

    def _at(self, value: object, names: tuple[str, ...]) -> object:
        if names and isinstance(value, str) and value:
            value = self._json(names[0], value)
        if not names or not isinstance(value, Mapping):
            return None if names or value == "" else value
        for size in range(len(names), 0, -1):  # flattened names first: they come together with nested ones
            found = self._at(value.get(".".join(names[:size])), names[size:])
            if found is not None:
                return found
        return None

    def _json(self, name: str, text: str) -> object:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            self.fail(text, expected=f"JSON around {name}")


def documents(file: Path, counts: dict[str, int], progress: Progress) -> Iterator[Document]:
    """Yield the queries and events of a file, counting others; InputError, with line, for what is neither."""
    first = head(file, 64).lstrip()
    if first.startswith(b"PAR1"):
        rows = _parquet_rows(file, progress)
    elif first.startswith((b"{", b"[")):
        rows = _json_rows(file, counts, progress)
    else:
        rows = _csv_rows(file, counts, progress)
    for line, index, fields in rows:
        kind = _kind(file, line, index, fields)
        counts["documents_of_others"] += kind is None
        if kind is not None:
            yield Document(file, line, kind, fields)


_Row = tuple[int, str, Mapping[str, Any]]
"""Line, index (empty if the file has none), fields."""


def files_of(paths: list[Path]) -> list[Path]:
    """Return the files of paths, in a folder those that may be exports; InputError if it has none."""
    files: list[Path] = []
    for path in paths:
        inside = (
            [file for file in files_below("ubi", path) if file.suffix.lower() in _FORMATS]
            if path.is_dir()
            else [path]
        )
        if not inside:
            raise InputError(f"{path} has no file that ends in {', '.join(_FORMATS)}; give such files")
        files += inside
    return files


def _kind(file: Path, line: int, index: str, fields: Mapping[str, Any]) -> str | None:
    named = next((kind for name, kind in _INDICES.items() if name in index), None)
    if named == EVENT and not fields.get("action_name"):
        raise malformed(file, line, json.dumps(fields, default=str), expected="an event with action_name")
    if named is not None:
        return named
    if fields.get("action_name"):
        return EVENT
    if any(fields.get(name) for name in _QUERY_FIELDS):
        return QUERY
    if not index:
        raise malformed(file, line, json.dumps(fields, default=str), expected=_EITHER)
    return None


def _json_rows(file: Path, counts: dict[str, int], progress: Progress) -> Iterator[_Row]:
    index, number, awaited = "", 0, False
    for number, found in json_objects(file, lines(file, progress=progress), counts, _OBJECT):
        action = None if awaited else _action(file, number, found)
        awaited = action is not None
        if awaited:
            index = action or ""
            continue
        source = found.get("_source")
        fields = source if isinstance(source, dict) else found
        yield number, str(found.get("_index") or index) if fields is source else index, fields
        index = ""
    if awaited:
        raise malformed(file, number, "an action at the end", expected="its document in the line below")


def _action(file: Path, number: int, found: Mapping[str, Any]) -> str | None:
    """Return the index that an action line names, perhaps none (""); None for a line that is a document."""
    name, value = next(iter(found.items()), ("", None))
    if len(found) != 1 or not isinstance(value, dict) or name not in {"index", "create", "update", "delete"}:
        return None
    if name in {"update", "delete"}:
        raise malformed(
            file, number, json.dumps(found), expected="actions index or create: an export of whole documents"
        )
    return str(value.get("_index") or "")


def _csv_rows(file: Path, counts: dict[str, int], progress: Progress) -> Iterator[_Row]:
    found = delimited(file, lines(file, progress=progress), counts)
    _, header = next(found, (1, []))
    for number, row in found:
        if len(row) != len(header):
            raise malformed(file, number, ",".join(row), expected="as many fields as the header has")
        yield number, "", dict(zip(header, row, strict=True))


def _parquet_rows(file: Path, progress: Progress) -> Iterator[_Row]:
    number = 0
    try:
        with pq.ParquetFile(file) as table:
            rows = max(1, table.metadata.num_rows)
            for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE):
                for fields in _plain(batch).to_pylist():
                    number += 1
                    yield number, "", fields
                progress(Event(f"reading {file.name}", number / rows))
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"cannot read {file} as Parquet: {reason}; export it again") from error


def _plain(batch: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    table = pa.Table.from_batches([batch])
    own = [name for name in table.column_names if name.startswith(_ATTRIBUTES)]
    flat = table.select(own).flatten()
    table = table.select([name for name in table.column_names if name not in ("query", *own)])
    for field, column in zip(flat.schema, flat.columns, strict=True):
        if not (pa.types.is_nested(field.type) or pa.types.is_temporal(field.type)):
            table = table.append_column(field.name, column)
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            ms = table.column(place).cast(pa.timestamp("ms", field.type.tz), safe=False).cast(pa.int64())
            table = table.set_column(place, field.name, ms)
    return table
