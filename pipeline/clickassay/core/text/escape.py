r"""Escaping of text from logs and judgments for what it is written into, one function each.

One rule for every character: a character that acts on the text around it, or has no agreed form, is spelled
out, as ``\x1b``: control characters (ANSI escapes, line ends, tabs), separators of lines and paragraphs,
format characters that reorder or hide text, lone surrogates, private and unassigned code points. All others
are kept: blanks of any width, marks, and the two joiners, which Persian, Indic scripts and emoji need. CSV
alone keeps every character, since a program reads it back.
"""

import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from json import dumps
from typing import Any

import markupsafe

_JOINERS = "\u200c\u200d"
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_QUOTED_MARKS = re.compile('[,"\r\n]')
_LATEX_MARKS = re.compile(r"[\\{}_^~%&#$<>]")
_LATEX_NAMES = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}
_MARKDOWN_MARKS = re.compile(r"([\\`*_\[\]|#~$])")
_LINE_START_MARKS = re.compile(r"^(\s*)([+\-=](?![\d.])|\d+[.)](?=\s|$))")
_AUTOLINKS = re.compile(r"(?i)\b(https?|ftp|mailto|www)([:.])")


def terminal(text: str) -> str:
    r"""Return `text` as one line that cannot move, colour, reorder or hide anything where it is shown."""
    if text.isprintable():
        return text
    return "".join(_spelled_out(letter) if _is_hidden(letter) else letter for letter in text)


def _spelled_out(letter: str) -> str:
    code = ord(letter)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_hidden(letter: str) -> bool:
    return letter not in _JOINERS and unicodedata.category(letter) in _HIDDEN


def html(value: object) -> markupsafe.Markup:
    """Return `value` as HTML that shows this very text on one line, in an element or an attribute."""
    return markupsafe.escape(terminal(str(value)))


def latex(value: object) -> str:
    """Return `value` as LaTeX that prints this very text on one line."""
    return _LATEX_MARKS.sub(lambda match: _LATEX_NAMES.get(match[0], f"\\{match[0]}"), terminal(str(value)))


def markdown(value: object) -> str:
    """Return `value` as Markdown that renders as this very text, on one line and inside table cells."""
    text = _MARKDOWN_MARKS.sub(r"\\\1", terminal(str(value)))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _AUTOLINKS.sub(r"\1\\\2", text)
    # "1." would begin a list: the mark to escape is its last character
    return _LINE_START_MARKS.sub(lambda match: f"{match[1]}{match[2][:-1]}\\{match[2][-1]}", text)


def csv(value: object) -> str:
    """Return a cell of CSV in full precision that neither a spreadsheet nor a parser misreads.

    What looks like a formula (``= + - @``, tab, carriage return) gets an apostrophe; lists and structs are
    JSON; null is empty, an empty text ``""``.
    """
    if value is None:
        return ""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) and isinstance(value, (bool, list, Mapping)):
        return _quoted(json(value))
    return _quoted(defused(value))


def defused(value: object) -> str:
    """Return a text as a cell of CSV has it, before quotes: with an apostrophe before what is a formula."""
    text = plain_text(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def _quoted(text: str) -> str:
    # an empty text is quoted, so that it is not null; csv.writer leaves a lone carriage return bare
    needed = not text or _QUOTED_MARKS.search(text)
    return '"' + text.replace('"', '""') + '"' if needed else text


def json(value: object, **form: Any) -> str:  # noqa: ANN401 - as `json.dumps`
    """Return `value` as JSON that is safe to print, with the escapes of JSON; NaN and infinity are null.

    form: `indent`, `sort_keys` and `separators` as `json.dumps` takes them.
    """
    text = dumps(_plain(value), ensure_ascii=False, allow_nan=False, **form)
    if text.isprintable():
        return text
    # line ends of texts are escaped by now: what is left are those of an indent
    return "".join(_json_escape(sign) if sign != "\n" and _is_hidden(sign) else sign for sign in text)


def script_json(value: Mapping[str, object]) -> str:
    """Return `value` as JSON that cannot end a script element."""
    text = json(value, sort_keys=True, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _json_escape(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {plain_text(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return plain_text(value) if isinstance(value, (bytes, date, time, timedelta)) else value


def plain_text(value: object) -> str:
    """Return a value as text: bytes in hexadecimal digits, times in ISO 8601, durations in seconds."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(value if not isinstance(value, timedelta) else value.total_seconds())
