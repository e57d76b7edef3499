"""What a file is, recognised by its first lines: the canonical tables, and every layout that importers read.

docs/reference/inspect.md has the table of layouts. A guess is made from at most the first 256 kB; nothing
else is read.
"""

import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.inputs import columns
from clickassay.inputs.files import READ_ERRORS
from clickassay.inputs.text.lines import head

_HEAD_BYTES = 1 << 18
_LINES = 50
_SHOWN_LINES = 3
_SHOWN_SIGNS = 100
_PARQUET, _XML = b"PAR1", "<"


@dataclass(frozen=True)
class Layout:
    """A layout that files come in.

    Attributes
    ----------
    name
        For programs, e.g. ``yandex``.
    what
        For people, e.g. "a log in Yandex's layout".
    command
        The command that reads it, with ``{file}`` for the file; empty if none does.
    """

    name: str
    what: str
    command: str


@dataclass(frozen=True)
class Recognised:
    """The layout that a file was recognised as.

    Attributes
    ----------
    layout
        The layout, or `UNKNOWN`.
    command
        The command line that would read the file; empty if none does.
    head
        Its first lines, cut to what fits a terminal; empty for a binary file.
    """

    layout: Layout
    command: str
    head: tuple[str, ...]


def _canonical(table: str) -> Layout:
    needed = dict.fromkeys(["searches", "clicks", "judgments", table])
    options = " ".join(f"--{name} {'{file}' if name == table else name.upper()}" for name in needed)
    return Layout(table, f"the canonical table of {table}", f"run {options} --out RUN")


def _imported(name: str, what: str, arguments: str) -> Layout:
    return Layout(name, what, f"import {arguments} --out FOLDER")


UNKNOWN = Layout("unknown", "not a layout that clickassay knows", "")
SEARCHES, CLICKS, JUDGMENTS, QUERIES = map(_canonical, columns.CANONICAL)
QUEPID = _imported("quepid", "ratings exported by Quepid", "judgments {file}")
QUEPID_RATERS = _imported(
    "quepid-raters", "ratings by several raters, exported by Quepid", "judgments {file}"
)
SRW = _imported("srw", "judgments of OpenSearch's Search Relevance Workbench", "judgments {file}")
QRELS = _imported("qrels", "TREC qrels", "judgments {file} --query-map QUERIES.tsv")
TREC_RUN = Layout("trec-run", "a TREC run: rankings, without clicks or grades", "")
TREC_SESSION = _imported("trec-session", "sessions of the TREC Session Track", "trec-session {file} QRELS")
TIANGONG = _imported("tiangong-st", "sessions of TianGong-ST", "tiangong-st {file}")
TIANGONG_LABELS = _imported(
    "tiangong-st-labels", "human labels of TianGong-ST", "tiangong-st XML --judgments {file}"
)
YANDEX = _imported("yandex", "a log in Yandex's layout", "yandex {file}")
YANDEX_JUDGMENTS = _imported(
    "yandex-judgments", "judgments in Yandex's or CLARA's layout", "yandex LOG --judgments {file}"
)
UBI = _imported("ubi", "OpenSearch User Behavior Insights", "ubi {file}")
LETOR = _imported("letor", "judged documents with features (LETOR)", "letor {file}")
LIGHTGBM = _imported(
    "letor-without-qid",
    "judged documents with features, without queries (LightGBM)",
    "letor {file} --sizes SIZES",
)
PYCLICK = _imported("pyclick", "PyClick's sample of Yandex's log", "pyclick {file}")
YAHOO = _imported("yahoo-l18", "a log in the layout of Yahoo L18", "yahoo-l18 {file}")
YAHOO_JUDGMENTS = _imported(
    "yahoo-l18-judgments", "judgments in the layout of Yahoo L18", "yahoo-l18 LOG --judgments {file}"
)
BAIDU = _imported("baidu-ultr", "a log in the layout of Baidu-ULTR", "baidu-ultr {file}")
BAIDU_LABELS = _imported(
    "baidu-ultr-labels", "expert labels of Baidu-ULTR", "baidu-ultr LOG --judgments {file}"
)


def recognise(file: Path) -> Recognised:
    """Guess what a file is from its beginning.

    Raises
    ------
    InputError
        If it is missing, no file, empty or unreadable.
    """
    raw = _head(file)
    if raw.startswith(_PARQUET):
        return _recognised(file, _of_columns(_parquet_columns(file)), ())
    lines = _whole_lines(raw)
    shown = tuple(_shown(line) for line in lines[:_SHOWN_LINES])
    return _recognised(file, _of_text(lines), () if b"\0" in raw else shown)


def _recognised(file: Path, layout: Layout, head: tuple[str, ...]) -> Recognised:
    command = layout.command.format(file=shlex.quote(str(file)))
    command = f"clickassay {command}" if command else ""
    return Recognised(layout, command, head)


def _head(file: Path) -> bytes:
    raw = head(file, _HEAD_BYTES)
    if not raw.strip():
        raise InputError(f"{file} is empty; expected a log or judgments")
    return raw


def _whole_lines(raw: bytes) -> list[str]:
    """Return the first lines that are not blank and end inside the head; bytes of any encoding are taken."""
    text = raw.decode("utf-8", errors="replace")
    lines = text.splitlines()
    whole = lines[:-1] if len(raw) == _HEAD_BYTES and len(lines) > 1 else lines
    return [line for line in whole if line.strip()][:_LINES]


def _shown(line: str) -> str:
    return line if len(line) <= _SHOWN_SIGNS else line[:_SHOWN_SIGNS] + "…"


def _parquet_columns(file: Path) -> Sequence[str]:
    try:
        return pl.read_parquet_schema(file).keys()  # type: ignore[return-value]
    except READ_ERRORS as error:
        refuse_machine_fault(file, error)
        raise InputError(f"cannot read {file}: {error}; is it complete? Write it again") from error


def _of_columns(names: Sequence[str]) -> Layout:
    has = {re.sub(r"[\s-]+", "_", name.strip().lower()) for name in names}
    raters = [name for name in has if name.endswith("_rating")]
    document = bool(has & {"docid", "doc_id"})
    found = {
        SEARCHES: columns.required(columns.SEARCHES) <= has,
        CLICKS: columns.required(columns.CLICKS) <= has and bool(has & columns.CLICKED),
        JUDGMENTS: columns.required(columns.JUDGMENTS) <= has,
        UBI: bool(has & {"user_query", "action_name"}),
        YANDEX_JUDGMENTS: list(names) == ["query", "url", "relevance"],
        QUEPID_RATERS: document and (len(raters) > 1 or bool(has & {"rater", "judge"})),
        QUEPID: document and bool(has & {"rating", "grade"}),
        QUERIES: "query" in has and not document and "url" not in has and len(has) > 1,
    }
    return next((layout for layout, holds in found.items() if holds), UNKNOWN)


def _of_text(lines: Sequence[str]) -> Layout:
    first = lines[0].lstrip() if lines else ""
    if first.startswith(_XML):
        return _of_xml("\n".join(lines))
    if first.startswith(("{", "[")):
        return _of_json(first, "\n".join(lines))
    named = _of_header(first)
    if named is not UNKNOWN:
        return named
    return next((layout for layout, fits in _LINE_LAYOUTS if fits(lines)), UNKNOWN)


def _of_xml(text: str) -> Layout:
    if re.search(r"<sessiontrack|<clueweb\d\did>", text):
        return TREC_SESSION
    return TIANGONG if "<session" in text and "<query_id>" in text else UNKNOWN


def _of_json(first: str, text: str) -> Layout:
    if re.search(r'"judgmentRatings"\s*:\s*\[', text):
        return SRW
    try:
        row = json.loads(first)
    except ValueError:
        return UNKNOWN
    if not isinstance(row, dict):
        return UNKNOWN
    action = row.get("index") or row.get("create")
    if isinstance(action, dict):
        return UBI if "ubi" in str(action.get("_index", "ubi")) else UNKNOWN
    return _of_columns(list(row))


def _of_header(first: str) -> Layout:
    separator = max("\t;,", key=first.count)
    return _of_columns([name.strip('"') for name in first.split(separator)])


def _mostly(pattern: str) -> Callable[[Sequence[str]], bool]:
    """Return a test that holds when nine lines of ten are as the pattern says.

    A broken line does not change the layout: the importer names the line.
    """
    compiled = re.compile(pattern)

    def fits(lines: Sequence[str]) -> bool:
        odd = sum(compiled.fullmatch(line.rstrip()) is None for line in lines)
        return odd < len(lines) and 10 * odd <= len(lines)

    return fits


def _is_yahoo(lines: Sequence[str]) -> bool:
    """Return whether every line is: query cookie time, ten URLs, n, and n pairs."""
    rows = [line.split("\t" if "\t" in line else None) for line in lines]
    return bool(rows) and all(
        len(row) > 13 and row[2].isdigit() and row[13].isdigit() and len(row) == 14 + 2 * int(row[13])
        for row in rows
    )


def _is_baidu(lines: Sequence[str]) -> bool:
    """Return whether header rows of three fields are followed by wide rows: position, digest of a URL."""
    rows = [line.split("\t") for line in lines]
    wide = [row for row in rows if len(row) >= 20]
    return (
        bool(wide)
        and all(row[0].isdigit() for row in wide)
        and all(len(row) <= 3 or len(row) >= 20 for row in rows)
    )


def _is_yandex_labels(lines: Sequence[str]) -> bool:
    """Return whether lines are labels of Yandex: qrels of four numbers have 0 in the second place."""
    rows = [line.split("\t") for line in lines]
    fits = all(len(row) == 4 and row[3] in ("0", "1") and row[2].isdigit() for row in rows)
    return fits and any(row[1] not in ("0", "Q0") for row in rows)


_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_COMMENT = r"(?:\s*#.*)?"
_PAIRS = rf"(?:\s+\d+:{_NUMBER})*"
_LINE_LAYOUTS: tuple[tuple[Layout, Callable[[Sequence[str]], bool]], ...] = (
    (LETOR, _mostly(rf"\d+\s+qid:\S+{_PAIRS}{_COMMENT}")),
    (LIGHTGBM, _mostly(rf"\d+(?:\s+\d+:{_NUMBER})+{_COMMENT}")),
    (YANDEX, _mostly(r"\d+\t\d+\t(?:Q\t[^\t]+\t[^\t]+(?:\t.*)?|C\t[^\t]+\t*)")),
    (PYCLICK, _mostly(r"[^\s;]+_\d+\t[^\s;]+\s+:.*")),
    (TREC_RUN, _mostly(rf"\S+\s+Q0\s+\S+\s+\d+\s+{_NUMBER}\s+\S+")),
    (YAHOO, _is_yahoo),
    (BAIDU, _is_baidu),
    (BAIDU_LABELS, _mostly(r"[^\t]*\t[^\t]*\t[^\t]*\t[^\t]*\t[0-4]\t\d+")),
    (YANDEX_JUDGMENTS, _is_yandex_labels),
    (QRELS, _mostly(r"\S+\s+\S+\s+\S+\s+[-+]?\d+")),
    (TIANGONG_LABELS, _mostly(r"\d+\s+\d+\s+\d+\s+\S+\s+\d")),
    (YAHOO_JUDGMENTS, _mostly(r"\S+\s+\S+\s+[0-4]")),
)
"""Layouts of lines without a header, the strictest first."""
