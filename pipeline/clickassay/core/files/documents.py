"""Documents of TOML and JSON: one reader of each, with one limit; errors of the system stay `OSError`."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

MOST_TOML_BYTES = 100_000
"""Files of settings and of rules have a few lines."""

MOST_JSON_BYTES = 200_000_000
"""The longest that are written list the files of a batch, some 250 bytes for each."""

_MOST_DOTS = 500
"""Dots of a line of TOML: reading a key takes the square of its parts."""


class DocumentError(ValueError):
    """A document is not of its form; the message is a part of a line."""


def read_toml(file: Path) -> dict[str, Any]:
    """Read TOML, perhaps with a byte order mark; DocumentError if it is none or too long, else OSError."""
    value: dict[str, Any] = _parsed(file, MOST_TOML_BYTES, "utf-8-sig", "TOML", _loads_toml)
    return value


def _loads_toml(text: str) -> Any:  # noqa: ANN401 - what it holds
    dots = max((line.count(".") for line in text.splitlines()), default=0)
    if dots > _MOST_DOTS:
        raise DocumentError(f"a line has {dots:,} dots; at most {_MOST_DOTS} are allowed")
    return tomllib.loads(text)


def read_json(file: Path) -> dict[str, Any]:
    """Read a file with an object of JSON; DocumentError if it is none or too long, OSError if unreadable."""
    value = _parsed(file, MOST_JSON_BYTES, "utf-8", "JSON", json.loads)
    if not isinstance(value, dict):
        raise DocumentError("it is not a JSON object")
    return value


def check_form(value: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Return what was read, if it has what the model says in exact types; else DocumentError, with place."""
    try:
        model.model_validate(value, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise DocumentError(f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}") from error
    return value


def _parsed(file: Path, most: int, encoding: str, form: str, loads: Callable[[str], Any]) -> Any:  # noqa: ANN401
    with file.open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise DocumentError(f"more than {most:,} bytes")
    try:
        return loads(content.decode(encoding))
    except DocumentError:
        raise
    except (ValueError, RecursionError) as error:  # text, syntax, numbers of thousands of digits, nesting
        raise DocumentError(f"not valid {form}: {error}") from error
