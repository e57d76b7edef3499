"""What a file is, recognised by its first 256 kB: canonical tables, and all layouts of importers."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clickassay.core.errors import InputError
from clickassay.core.files.tables import scan_parquet
from clickassay.inputs import columns
from clickassay.inputs.files import READ_ERRORS, format_of, unreadable_file
from clickassay.inputs.foreign import FIRST_BYTES, foreign_kind
from clickassay.inputs.text import rows
from clickassay.inputs.text.lines import head


@dataclass(frozen=True)
class Layout:
    """A layout that files come in."""

    name: str  # For programs, e.g. ``yandex``.
    what: str  # For people, e.g. "a log in Yandex's layout".
    command: str  # The command that reads it, with ``{file}`` for the file; empty if none does.


def _table(table: str) -> Layout:
    needed = dict.fromkeys(["searches", "clicks", "judgments", table])
    options = " ".join(f"--{name} {'{file}' if name == table else name.upper()}" for name in needed)
    return Layout(table, f"the canonical table of {table}", f"run {options} --out RUN")


def _imported(name: str, what: str, arguments: str = "judgments {file}") -> Layout:
    return Layout(name, what, f"import {arguments} --out FOLDER")


UNKNOWN = Layout("unknown", "not a layout that clickassay knows", "")
SEARCHES, CLICKS, JUDGMENTS, QUERIES = map(_table, columns.CANONICAL)
ASSIGNMENTS = replace(_table("assignments"), what="a table of assignments of users to arms of A/B tests")
PAST_TESTS = Layout("past_tests", "a table of past A/B tests", "experiments {file}")
QUEPID = _imported("quepid", "ratings exported by Quepid")
QUEPID_RATERS = _imported("quepid-raters", "ratings by several raters, exported by Quepid")
SRW = _imported("srw", "judgments of OpenSearch's Search Relevance Workbench")
QRELS = _imported("qrels", "TREC qrels")
BEIR = _imported("beir", "qrels of BEIR")
JUDGMENT_TABLE = _imported("judgment-table", "a table of judgments")
RRE = _imported("rre", "ratings of the Rated Ranking Evaluator")
RANK_EVAL = _imported("rank-eval", "a request of the ranking evaluation API, with ratings")
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
BAIDU = _imported("baidu-ultr", "a log in the layout of Baidu-ULTR", "baidu-ultr {file}")
BAIDU_LABELS = _imported(
    "baidu-ultr-labels", "expert labels of Baidu-ULTR", "baidu-ultr LOG --judgments {file}"
)


_HEAD_BYTES = 1 << 18
_LINES = 50
_SHOWN_LINES = 3
_SHOWN_SIGNS = 100
_PARQUET, _XML = b"PAR1", "<"
_NOT_OF_QUERIES = {
    *("label", "product", "item", "sku", "asin"),
    *("url", "doc", "document", "docid", "passage", "grade", "rating", "judgment", "judgement", "relevance"),
    *("score", "time", "timestamp", "click", "clicked", "rank", "position"),
    *("user", "session", "results", "hits"),
}
"""Words in names of columns that tell of documents, judgments or clicks: such a table has other rows."""


@dataclass(frozen=True)
class Recognised:
    """The layout that a file was recognised as."""

    layout: Layout  # The layout, or `UNKNOWN`.
    command: str  # The command line that would read the file; empty if none does.
    head: tuple[str, ...]  # Its first lines, cut to what fits a terminal; empty for a binary file.
    problem: str = ""  # Why a run would not read a table of its columns; empty if it would.


def recognise(file: Path) -> Recognised:
    """Guess what a file is from its beginning; InputError if it is missing, no file, empty or unreadable."""
    raw = head(file, _HEAD_BYTES)
    if not raw.strip():
        raise InputError(f"{file} is empty; expected a log or judgments")
    foreign = foreign_kind(file, raw[:FIRST_BYTES])
    if foreign is not None:
        return Recognised(Layout("no-table", foreign[0], ""), "", (), foreign[1])
    if raw.startswith(_PARQUET):
        try:
            names = scan_parquet(file).collect_schema().names()
        except READ_ERRORS as error:
            raise unreadable_file("Parquet", file, error) from error
        return _recognised(file, *_of_columns(file, names, "parquet"), ())
    lines = rows.split_lines(raw.decode("utf-8", errors="replace"))
    whole = lines[:-1] if len(raw) == _HEAD_BYTES and len(lines) > 1 else lines
    lines = [line for line in whole if line.strip()]
    shown = tuple(
        line if len(line) <= _SHOWN_SIGNS else line[:_SHOWN_SIGNS] + "…" for line in lines[:_SHOWN_LINES]
    )
    return _recognised(file, *_of_text(file, lines), () if b"\0" in raw else shown)


def _recognised(file: Path, layout: Layout, problem: str, head: tuple[str, ...]) -> Recognised:
    command = layout.command.format(file=shlex.quote(str(file)))
    command = f"clickassay {command}" if command and not problem else ""
    return Recognised(layout, command, head, problem)


def _of_columns(file: Path, names: Sequence[str], form: str) -> tuple[Layout, str]:
    """Return the layout of a table (parquet, csv, tsv, json or document), and why a run would not read it."""
    canonical = _canonical({name.strip() for name in names})
    keys = [rows.column_key(name) for name in names]
    has = set(keys)
    by_rater = sum(key.endswith("_rating") for key in keys) > 1 or bool(has & {*rows.JUDGE})
    judged = bool(has & {*rows.QUERY}) and bool(has & {*rows.DOCUMENT})
    graded = bool(has & {*rows.GRADE}) or {"score", "corpus_id"} <= has
    of_quepid = judged and bool(has & {"docid", "doc_id"})
    found = {
        UBI: bool(has & {"user_query", "action_name"}) and form in ("parquet", "csv", "json", "document"),
        YANDEX_JUDGMENTS: list(names) == ["query", "url", "relevance"] and form == "tsv",
        QUEPID_RATERS: of_quepid and by_rater and (graded or not has & {*rows.JUDGE[1:]}),
        QUEPID: of_quepid and graded,
        BEIR: judged and "corpus_id" in has and graded,
        JUDGMENT_TABLE: judged and graded and "market" not in has,
    }
    foreign = next((layout for layout, holds in found.items() if holds), UNKNOWN)
    problem = _unread_by_runs(file, form)
    if canonical is None or (problem and foreign is not UNKNOWN):
        return foreign, ""
    return canonical, problem


def _canonical(names: set[str]) -> Layout | None:
    words = {word.lower() for name in names for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}
    found = {
        SEARCHES: columns.required(columns.SEARCHES) <= names or columns.are_impressions(names),
        CLICKS: columns.required(columns.CLICKS) <= names and bool(names & columns.CLICKED),
        JUDGMENTS: columns.required(columns.JUDGMENTS) <= names,
        PAST_TESTS: columns.required(columns.PAST_TESTS) <= names,
        ASSIGNMENTS: columns.required(columns.ASSIGNMENTS) <= names and not names & {"query", "search_id"},
        QUERIES: "query" in names and len(names) > 1 and not words & _NOT_OF_QUERIES,
    }
    return next((layout for layout, holds in found.items() if holds), None)


def _unread_by_runs(file: Path, form: str) -> str:
    named = format_of(file) or ("parquet" if form == "parquet" else None)
    if named == form or {named, form} == {"csv", "tsv"}:
        return ""
    if form == "document":
        given = shlex.quote(str(file))
        return f"a run reads one object per line: convert it, jq -c '.[]' {given} > {file.stem}.jsonl"
    ending = {"parquet": ".parquet", "csv": ".csv", "tsv": ".tsv", "json": ".jsonl"}[form]
    return f"a run recognises a table by the ending of its name: rename it to {file.stem}{ending}"


def _of_text(file: Path, lines: Sequence[str]) -> tuple[Layout, str]:
    first = lines[0].lstrip()
    if first.startswith(_XML):
        text = "\n".join(lines[:_LINES])
        if re.search(r"<sessiontrack|<clueweb\d\did>", text):
            return TREC_SESSION, ""
        return TIANGONG if "<session" in text and "<query_id>" in text else UNKNOWN, ""
    if first.startswith(("{", "[")):
        return _of_json(file, "\n".join(lines))
    form, _ = rows.form_of(lines)
    named = _of_columns(
        file, rows.header_of("\n".join(lines[:2])), "tsv" if form.separator == "\t" else "csv"
    )
    if named[0] is not UNKNOWN:
        return named
    told = lines[1 if rows.are_names(first.split()) else 0 : _LINES]
    return next((layout for layout, fits in _LINE_LAYOUTS if fits(told)), UNKNOWN), ""


_DOCUMENTS = (
    (SRW, (r'"judgmentRatings"\s*:\s*\[',)),
    (RRE, (r'"query_groups"\s*:\s*\[', r'"relevant_documents"\s*:')),
    (RANK_EVAL, (r'"requests"\s*:\s*\[', r'"ratings"\s*:\s*\[')),
)
"""JSON documents by what is found in them."""


_BY_QUERY = re.compile(r'\s*\{\s*"[^"]*"\s*:\s*\{\s*"[^"]*"\s*:\s*-?\d+\s*([,}.eE])')
"""The beginning of a dict ``{query: {doc: number}}``, and what stands behind the first number."""


def _of_json(file: Path, text: str) -> tuple[Layout, str]:
    for layout, signs in _DOCUMENTS:
        if all(re.search(sign, text) for sign in signs):
            return layout, ""
    form, row = _first_object(text)
    action = row.get("index") or row.get("create")
    if isinstance(action, dict):
        return (UBI if "ubi" in str(action.get("_index", "ubi")) else UNKNOWN), ""
    if rows.is_by_query(row) or (not row and _BY_QUERY.match(text)):
        whole = _BY_QUERY.match(text)
        return (JUDGMENT_TABLE if whole and whole[1] in ",}" else TREC_RUN), ""
    source = row.get("_source", row)
    return _of_columns(file, list(source), form) if isinstance(source, dict) else (UNKNOWN, "")


def _first_object(text: str) -> tuple[str, dict[str, object]]:
    hits = re.search(r'"hits"\s*:\s*\[', text)
    start = hits.end() if hits else int(text.startswith("["))
    try:
        value, end = json.JSONDecoder().raw_decode(
            text, start + len(text[start:]) - len(text[start:].lstrip())
        )
    except (ValueError, RecursionError):
        return "json", {}
    by_line = start == 0 and "\n" not in text[:end].strip()
    return ("json" if by_line else "document"), (value if isinstance(value, dict) else {})


def _mostly(pattern: str, *, comments: str | None = None) -> Callable[[Sequence[str]], bool]:
    """Return whether nine lines of ten (no comments) are as the pattern says: importers name broken lines."""
    compiled = re.compile(pattern, re.ASCII)  # a no-break space divides nothing, as in `text.trec`

    def fits(lines: Sequence[str]) -> bool:
        told = [line for line in lines if comments is None or not line.lstrip().startswith(comments)]
        odd = sum(compiled.fullmatch(line.rstrip(" \t\r")) is None for line in told)
        return odd < len(told) and 10 * odd <= len(told)

    return fits


def _is_yahoo(lines: Sequence[str]) -> bool:
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
    rows = [line.split("\t") for line in lines]
    fits = all(len(row) == 4 and row[3] in ("0", "1") and row[2].isdigit() for row in rows)
    return fits and any(row[1] not in ("0", "Q0") for row in rows)


def _is_run_of_ranks(lines: Sequence[str]) -> bool:
    """Return whether lines are query, document and rank: 1, 2, 3 … within a query, which grades are not."""
    rows = [line.split() for line in lines]
    if any(len(row) != 3 for row in rows):
        return False
    places: Counter[str] = Counter()
    for row in rows:
        places[row[0]] += 1
        if row[2] != str(places[row[0]]):
            return False
    return max(places.values()) > 2


_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_COMMENT = r"(?:\s*#.*)?"
_PAIRS = rf"(?:\s+\d+:{_NUMBER})*"
_LINE_LAYOUTS: tuple[tuple[Layout, Callable[[Sequence[str]], bool]], ...] = (
    (LETOR, _mostly(rf"\d+\s+qid:\S+{_PAIRS}{_COMMENT}", comments="#")),
    (LIGHTGBM, _mostly(rf"\d+(?:\s+\d+:{_NUMBER})+{_COMMENT}", comments="#")),
    (YANDEX, _mostly(r"\d+\t\d+\t(?:Q\t[^\t]+\t[^\t]+(?:\t.*)?|C\t[^\t]+\t*)")),
    (PYCLICK, _mostly(r"[^\s;]+_\d+\t[^\s;]+\s+:.*")),
    (TREC_RUN, _mostly(rf"\S+\s+Q0\s+\S+\s+\d+\s+{_NUMBER}(?:\s+\S+)?")),
    (TREC_RUN, _is_run_of_ranks),
    (YAHOO, _is_yahoo),
    (BAIDU, _is_baidu),
    (BAIDU_LABELS, _mostly(r"[^\t]*\t[^\t]*\t[^\t]*\t[^\t]*\t[0-4]\t\d+")),
    (YANDEX_JUDGMENTS, _is_yandex_labels),
    (QRELS, _mostly(rf"\S+\s+\S+\s+\S+\s+{_NUMBER}")),
    (TIANGONG_LABELS, _mostly(r"\d+\s+\d+\s+\d+\s+\S+\s+\d")),
    (QRELS, _mostly(rf"\S+\s+\S+\s+{_NUMBER}")),
)
"""Layouts of lines without a header, the strictest first."""
