"""Texts that values of settings are written as."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any
from zoneinfo import available_timezones

from clickassay.core.settings.project import TABLES
from clickassay.core.text.words import listed

_BYTES = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(I?))?B\s*")


def bytes_of(text: str) -> int:
    """Return a size in bytes: GB are thousands of MB, GiB are 1024 MiB."""
    match = _BYTES.fullmatch(text.upper())
    if match is None:
        raise ValueError("must be a number with its unit, such as 4GB or 512MiB")
    number, unit, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** " KMGT".index(unit or " "))


def check_columns(texts: Sequence[str]) -> None:
    """Refuse what does not say which columns of a table have which names."""
    if not all(re.fullmatch(rf"({'|'.join(TABLES)})\.\w+=.+", text) for text in texts):
        raise ValueError(
            f"must be TABLE.COLUMN=NAME, such as searches.search_id=request_id; tables are {listed(TABLES)}"
        )


SUM, RATING = "sum", "rating"
"""Kinds of outcomes: a session without a row has 0, or no value."""


def check_kinds(texts: Sequence[str]) -> None:
    """Refuse what does not say which kinds outcomes have, of each once."""
    for name, _, kind in (text.rpartition("=") for text in texts):
        if not name.strip() or kind.strip().lower() not in (SUM, RATING):
            raise ValueError("must be NAME=KIND, such as stars=rating; kinds are sum and rating")
    if len(kinds_named(texts)) < len(texts):
        raise ValueError("names an outcome twice; give each one kind")


def kinds_named(texts: Sequence[str]) -> dict[str, str]:
    """Return the kinds of texts such as ``stars=rating`` by the name of the outcome in normal form."""
    pairs = (text.rpartition("=") for text in texts)
    return {" ".join(name.split()).lower(): kind.strip().lower() for name, _, kind in pairs}


def check_zone(zone: str) -> None:
    """Refuse a time zone that the IANA database does not have."""
    known = {"UTC"} if zone == "UTC" else available_timezones() - {"Factory", "localtime"}
    if zone not in known:
        close = get_close_matches(zone, known, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise ValueError(f"must be a zone of the IANA database, such as Europe/Berlin{hint}")


def utc_of(time: datetime) -> str:
    """Return a time as text in UTC, to the second; without a zone it is UTC."""
    zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="seconds")


def plain(value: Any) -> Any:  # noqa: ANN401 - of any library
    """Return a number of NumPy as one of Python, and what holds several values in a row as a list."""
    shape = getattr(value, "shape", None)
    if shape == () and hasattr(value, "item"):
        return value.item()
    of_library = getattr(value, "tolist", None) or getattr(value, "to_list", None)
    if shape is not None and len(shape) == 1 and of_library is not None:
        return of_library()
    return list(value) if isinstance(value, range | set | frozenset | tuple) else value


def labels_of(scale: Mapping[Any, Any]) -> list[Any]:
    """Return labels, worst first, of a dict by label or by grade; ValueError unless grades are 0, 1, 2 …."""
    by_label = not all(isinstance(one, int) for one in scale)
    labels = {grade: label for label, grade in scale.items()} if by_label else dict(scale)
    if sorted(map(str, labels)) != sorted(map(str, range(len(scale)))):
        raise ValueError('a dict needs the grades 0, 1, 2 …, each once, such as {"bad": 0, "good": 1}')
    return [labels[grade] for grade in range(len(scale))]


def items_of(given: object, between: str) -> list[Any]:
    """Return a list that may be written as one text, or hold texts of several items each."""
    given = plain(given)
    items = given if isinstance(given, list | tuple) else [given]
    split = [re.split(between, item.strip()) if isinstance(item, str) else [item] for item in items]
    return [part.strip() if isinstance(part, str) else part for parts in split for part in parts]
