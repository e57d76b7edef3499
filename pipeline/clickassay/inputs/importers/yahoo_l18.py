"""Yahoo's L18, "Anonymized Yahoo! Search Logs with Relevance Judgments", into canonical tables.

Log, a page a line, fields apart by white space::

    query cookie unixtime url1 ... url10 nc elapsed1 pos1 ... elapsed_nc pos_nc

docs/reference/formats.md says what is mapped, dropped and assumed, and what each count means.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from clickassay.core.errors import InputError
from clickassay.core.progress import Progress, silent
from clickassay.inputs import columns
from clickassay.inputs.arrow import arrow_schema
from clickassay.inputs.files import malformed
from clickassay.inputs.importers.base import (
    CLICKS,
    LAST_MS,
    Imported,
    TableWriter,
    count_judged_results,
    distinct_judgments,
    lines,
    publishing,
    whole_number,
    write_judgments,
    write_record,
)

_RESULTS = 10
_LAYOUT = "'query cookie unixtime url1 ... url10 nc' and nc times 'elapsed position'"
_JUDGMENT_LAYOUT = "'query url grade' with a grade from 0 to 4"
_GRADES = {str(grade): grade for grade in range(5)}
_FIRST_MS = int(datetime(1990, 1, 1, tzinfo=UTC).timestamp()) * 1000
_YEARS = "whole seconds that lie in 1990 to 2099"
_ELAPSED = re.compile(r"-?[0-9]{1,9}")
_PLACES = {str(place): place for place in range(1, _RESULTS + 1)}
# A result is a field without white space, so no result is ever called like these.
_ELSEWHERE = {"0": "above the results", "11": "below the results", "s": "search button", "o": "other click"}
_COUNT_OF = {
    "above the results": "clicks_above",
    "below the results": "clicks_below",
    "search button": "clicks_on_search_button",
    "other click": "clicks_on_other",
}
_POSITIONS = "a position from 1 to 10, 0 (above), 11 (below), s (search button) or o (other)"
_TEXT_USERS = arrow_schema(columns.SEARCHES, user_id=pa.string())
_COUNTS = (
    "lines",
    "blank_lines",
    "searches_repeating_a_result",
    "searches",
    "clicks_on_results",
    "clicks_above",
    "clicks_below",
    "clicks_on_search_button",
    "clicks_on_other",
    "clicks_before_their_search",
    "clicks",
    "judgments_read",
    "judgments_repeated",
    "judgments_conflicting",
    "judgments",
    "results_shown",
    "results_shown_judged",
)


def import_yahoo_l18(
    log: Path, *, judgments: Path | None = None, out: Path, progress: Progress = silent
) -> Imported:
    """Translate the log, and its judgments if they are given, into a folder of canonical tables.

    Parameters
    ----------
    log
        ``search_logs-v1.txt``: a page a line.
    judgments
        ``relevance_judgments-v1.txt``: ``query url grade``, grades 0 to 4.
    out
        Folder to write; must not exist.
    progress
        Called with what is done now and the part done.

    Raises
    ------
    InputError
        If a line is not in the layout (the message names file and line), or the log has no page.
    OutputError
        If `out` exists or cannot be written.
    """
    counts = dict.fromkeys(_COUNTS, 0)
    with publishing(out) as folder:
        if judgments:
            write_judgments(folder, _read_judgments(judgments, counts, progress))
        _translate(log, folder, counts, progress)
        counts.update(count_judged_results(folder))
        imported = Imported(out, counts, tuple(_notes(counts, judged=judgments is not None)))
        inputs = {"log": log, "judgments": judgments}
        write_record(folder, importer="yahoo-l18", inputs=inputs, settings={}, imported=imported)
    return imported


def _read_judgments(file: Path, counts: dict[str, int], progress: Progress) -> list[tuple[str, str, int]]:
    rows = []
    for number, text in lines(file, progress=progress):
        fields = text.split()
        if len(fields) != 3 or fields[2] not in _GRADES:
            raise malformed(file, number, text, expected=_JUDGMENT_LAYOUT)
        rows.append((fields[0], fields[1], _GRADES[fields[2]]))
    counts["judgments_read"] = len(rows)
    distinct = distinct_judgments(rows, counts=counts)
    counts["judgments"] = len(distinct)
    return distinct


def _translate(log: Path, folder: Path, counts: dict[str, int], progress: Progress) -> None:
    with (
        TableWriter(folder / "searches.parquet", _TEXT_USERS) as searches,
        TableWriter(folder / "clicks.parquet", CLICKS) as clicks,
    ):
        for number, text in lines(log, progress=progress):
            counts["lines"] += 1
            if not text.strip():
                counts["blank_lines"] += 1
                continue
            page = _page(log, number, text)
            searches.add(number, page.cookie, page.query, page.time_ms, page.results)
            for click_ms, url in page.clicks:
                clicks.add(number, click_ms, url)
            _count(page, counts)
    if not counts["searches"]:
        raise InputError(f"{log} has no page; expected lines {_LAYOUT}")


@dataclass(frozen=True)
class _Page:
    """One line of the log; clicks are (milliseconds, URL or a name of `_ELSEWHERE`)."""

    query: str
    cookie: str
    time_ms: int
    results: list[str]
    clicks: list[tuple[int, str]]


def _page(log: Path, number: int, text: str) -> _Page:
    fields = text.split()
    results, tail = fields[3 : _RESULTS + 3], fields[_RESULTS + 3 :]
    n_clicks = whole_number(tail[0]) if tail else None
    if n_clicks is None or len(tail) != 1 + 2 * n_clicks:
        raise malformed(log, number, text, expected=_LAYOUT)
    query, cookie, issued = fields[:3]
    time_ms = _milliseconds(log, number, issued, whole_number(issued))
    clicks = []
    for elapsed, position in zip(tail[1::2], tail[2::2], strict=True):
        after = int(elapsed) if _ELAPSED.fullmatch(elapsed) else None
        click_ms = _milliseconds(log, number, elapsed, None if after is None else time_ms // 1000 + after)
        clicks.append((click_ms, _clicked(log, number, position, results)))
    return _Page(query, cookie, time_ms, results, clicks)


def _milliseconds(log: Path, number: int, found: str, seconds: int | None) -> int:
    if seconds is None or not _FIRST_MS <= seconds * 1000 < LAST_MS:
        raise malformed(log, number, found, expected=_YEARS)
    return seconds * 1000


def _clicked(log: Path, number: int, position: str, results: list[str]) -> str:
    if position in _PLACES:
        return results[_PLACES[position] - 1]
    if position not in _ELSEWHERE:
        raise malformed(log, number, position, expected=_POSITIONS)
    return _ELSEWHERE[position]


def _count(page: _Page, counts: dict[str, int]) -> None:
    counts["searches"] += 1
    counts["searches_repeating_a_result"] += len(set(page.results)) < _RESULTS
    counts["clicks"] += len(page.clicks)
    for click_ms, url in page.clicks:
        counts[_COUNT_OF.get(url, "clicks_on_results")] += 1
        counts["clicks_before_their_search"] += click_ms < page.time_ms


def _notes(counts: dict[str, int], *, judged: bool) -> Iterable[str]:
    yield (
        "The set holds only pages of which three URLs or more are judged, at most 10,000 a query: "
        "coverage and shares of queries are those of this selection."
    )
    if not judged:
        yield "No judgments were given: add them before a run."
    if counts["judgments_conflicting"]:
        yield "Some pairs of query and URL have two grades: choose a rule (conflicts) for the run."
