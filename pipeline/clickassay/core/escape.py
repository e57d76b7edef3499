"""Foreign text made safe for what it is written into: terminal, CSV, JSON, Markdown, LaTeX.

HTML is escaped by markupsafe.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

from clickassay.core.text import visible

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_LATEX_MARKS = re.compile(r"[\\{}_^~%&#$<>]")
_MARKDOWN_MARKS = re.compile(r"([\\`*_\[\]|#~$])")
_LINE_START_MARKS = re.compile(r"^(\s*)([+\-=](?![\d.])|\d+[.)](?=\s|$))")
_AUTOLINKS = re.compile(r"(?i)\b(https?|ftp|mailto|www)([:.])")


_JOINERS = "\u200c\u200d"  # Persian, Indic scripts and emoji need them, and they move nothing on a line
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def script_json(value: Mapping[str, Any]) -> str:
    """Return `value` as JSON that cannot end a script element nor a line of JavaScript."""
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def latex(text: str) -> str:
    """Return `text` as LaTeX that prints this very text on one line."""
    return _LATEX_MARKS.sub(_latex_mark, text)


def _latex_mark(match: re.Match[str]) -> str:
    named = {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
    return named.get(match[0], "\\" + match[0])


def markdown(value: object) -> str:
    """Return `value` as Markdown that renders as this very text, on one line and inside table cells."""
    text = visible(value, limit=10_000)
    text = _MARKDOWN_MARKS.sub(r"\\\1", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _AUTOLINKS.sub(r"\1\\\2", text)
    return _LINE_START_MARKS.sub(_escaped_start, text)


def _escaped_start(match: re.Match[str]) -> str:
    # "1." would begin a list: the mark to escape is its last character
    blank, mark = match.groups()
    return f"{blank}{mark[:-1]}\\{mark[-1]}"


def as_csv(frame: pl.DataFrame) -> str:
    r"""Return `frame` as CSV that neither a spreadsheet nor a parser misreads.

    Texts that a spreadsheet would take for a formula (they start with ``= + - @``, tab or carriage
    return) get a leading apostrophe; lists and structs are JSON text; numbers have full precision;
    null is an empty cell, an empty text ``""``; lines end with ``\n``.
    """
    rows = [frame.columns, *frame.iter_rows()]
    return "".join(f"{_csv_line(row)}\n" for row in rows)


def _csv_line(row: Sequence[object]) -> str:
    # a line that is all empty would be skipped by readers
    return ",".join(_csv_cell(value) for value in row) or '""'


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, list, Mapping)):
        return _quoted(json_line(value))
    if isinstance(value, (int, float, Decimal)):
        return str(value)
    text = plain_text(value)
    return _quoted(f"'{text}" if text.startswith(FORMULA_STARTS) else text)


def _quoted(text: str) -> str:
    # an empty text is quoted, so that it is not null; csv.writer leaves a lone carriage return bare
    needed = not text or any(letter in text for letter in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if needed else text


def as_json(frame: pl.DataFrame) -> str:
    """Return `frame` as a JSON array of records, a record a line; what JSON lacks (NaN, infinity) is null."""
    records = (json_line(row) for row in frame.iter_rows(named=True))
    body = ",\n".join(f"  {record}" for record in records)
    return f"[\n{body}\n]\n" if body else "[]\n"


def json_line(value: object) -> str:
    """Return `value` as JSON on one line, without a character that a terminal obeys."""
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)
    # A terminal obeys these characters though JSON allows them raw; escaped, they stay what they are.
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _plain(value: object) -> object:
    """Return `value` in the types that JSON knows."""
    if isinstance(value, Mapping):
        return {plain_text(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if value is None or isinstance(value, (bool, int)) else plain_text(value)


def printable(text: str) -> str:
    r"""Return `text` with every character that would act on a terminal written out, e.g. ``\x1b``.

    These are the control characters (ANSI escapes, newlines, tabs), line and paragraph separators,
    and the invisible format characters that reorder text, such as U+202E.
    """
    return "".join(_written_out(letter) if _acts(letter) else letter for letter in text)


def _acts(letter: str) -> bool:
    return letter not in _JOINERS and unicodedata.category(letter) in _UNPRINTABLE


def _written_out(letter: str) -> str:
    code = ord(letter)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain_text(value: object) -> str:
    """Return a value as text: bytes in hexadecimal digits, times in ISO 8601, durations in seconds."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(value if not isinstance(value, timedelta) else value.total_seconds())
