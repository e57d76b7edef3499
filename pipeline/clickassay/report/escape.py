"""Foreign text in the languages that a report is written in, besides HTML, which markupsafe escapes."""

import json
import re
from collections.abc import Mapping
from typing import Any

from clickassay.report.words import visible

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_LATEX_MARKS = re.compile(r"[\\{}_^~%&#$<>]")
_MARKDOWN_MARKS = re.compile(r"([\\`*_\[\]|#~$])")
_LINE_START_MARKS = re.compile(r"^(\s*)([+\-=](?![\d.])|\d+[.)](?=\s|$))")
_AUTOLINKS = re.compile(r"(?i)\b(https?|ftp|mailto|www)([:.])")


def script_json(value: Mapping[str, Any]) -> str:
    """Return `value` as JSON that cannot end a script element nor a line of JavaScript."""
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def csv_cell(value: object) -> object:
    """Return a CSV cell: numbers as ``repr`` spells them, text that no spreadsheet takes for a formula."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return "'" + value
    return value


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
