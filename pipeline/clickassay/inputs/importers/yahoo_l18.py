"""Yahoo's L18, "Anonymized Yahoo! Search Logs with Relevance Judgments", into canonical tables.

Log, a page a line, fields separated by white space::

    query cookie unixtime url1 ... url10 nc elapsed1 pos1 ... elapsed_nc pos_nc
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from clickassay.core.errors import InputError
from clickassay.core.progress import Progress, silent
from clickassay.inputs import columns
from clickassay.inputs.columns import arrow_schema
from clickassay.inputs.files import malformed
from clickassay.inputs.importers import base
from clickassay.inputs.text.lines import lines

_RESULTS = 10
_LAYOUT = "'query cookie unixtime url1 ... url10 nc' and nc times 'elapsed position'"
_JUDGMENT_LAYOUT = "'query url grade' with a grade from 0 to 4"
_FIRST_MS = int(datetime(1990, 1, 1, tzinfo=UTC).timestamp()) * 1000
_YEARS = "whole seconds that lie in 1990 to 2099"
_ELAPSED = re.compile(r"-?[0-9]{1,9}")
_PLACES = {str(place): place for place in range(1, _RESULTS + 1)}
# A result is a field without white space, so no result has such a name.
_OFF_LIST = {"0": "above the results", "11": "below the results", "s": "search button", "o": "other click"}
_COUNT_OF = {
    "above the results": "clicks_above",
    "below the results": "clicks_below",
    "search button": "clicks_on_search_button",
    "other click": "clicks_on_other",
}
_POSITIONS = "a position from 1 to 10, 0 (above), 11 (below), s (search button) or o (other)"
_TEXT_USERS = arrow_schema(columns.SEARCHES, user_id=pa.string())
_COUNTS = (
    *("lines", "blank_lines", "searches_repeating_a_result", "searches"),
    *("clicks_on_results", "clicks_above", "clicks_below", "clicks_on_search_button", "clicks_on_other"),
    *("clicks_before_their_search", "clicks"),
    *("judgments_read", *base.JUDGMENT_COUNTS, *base.SHOWN_COUNTS),
)


def import_yahoo_l18(
    log: Path, *, judgments: Path | None = None, out: Path, progress: Progress = silent
) -> base.Imported:
    """Translate the log, and its judgments ``query url grade`` (0 to 4) if given, into canonical tables.

    Raises InputError for a line that is not in the layout (file and line are named), or without a page.
    """
    with base.importing(out, {"log": log, "judgments": judgments}, _COUNTS, progress) as folder:
        if judgments:
            rows = []
            for number, text in lines(judgments, progress=folder.progress):
                fields = text.split()
                if len(fields) != 3 or fields[2] not in base.GRADES_TO_4:
                    raise malformed(judgments, number, text, expected=_JUDGMENT_LAYOUT)
                rows.append((fields[0], fields[1], base.GRADES_TO_4[fields[2]]))
            folder.counts["judgments_read"] = len(rows)
            folder.judge(rows)
        _translate(log, folder)
        notes = _notes(folder.counts, judged=judgments is not None)
        return folder.finish("yahoo-l18", notes)


def _translate(log: Path, folder: base.CanonicalFolder) -> None:
    with folder.log(_TEXT_USERS) as writer:
        for number, text in lines(log, progress=folder.progress):
            folder.counts["lines"] += 1
            if not text.strip():
                folder.counts["blank_lines"] += 1
                continue
            fields = text.split()
            results, tail = fields[3 : _RESULTS + 3], fields[_RESULTS + 3 :]
            n_clicks = base.whole_number(tail[0]) if tail else None
            if n_clicks is None or len(tail) != 1 + 2 * n_clicks:
                raise malformed(log, number, text, expected=_LAYOUT)
            query, cookie, issued = fields[:3]
            time_ms = _milliseconds(log, number, issued, base.whole_number(issued))
            writer.search(number, cookie, query, time_ms, results)
            for elapsed, position in zip(tail[1::2], tail[2::2], strict=True):
                after = int(elapsed) if _ELAPSED.fullmatch(elapsed) else None
                seconds = None if after is None else time_ms // 1000 + after
                click_ms = _milliseconds(log, number, elapsed, seconds)
                if position not in _PLACES and position not in _OFF_LIST:
                    raise malformed(log, number, position, expected=_POSITIONS)
                url = results[_PLACES[position] - 1] if position in _PLACES else _OFF_LIST[position]
                writer.click(number, click_ms, url)
                writer.counts[_COUNT_OF.get(url, "clicks_on_results")] += 1
                writer.counts["clicks_before_their_search"] += click_ms < time_ms
    if not folder.counts["searches"]:
        raise InputError(f"{log} has no page; expected lines {_LAYOUT}")


def _milliseconds(log: Path, number: int, found: str, seconds: int | None) -> int:
    if seconds is None or not _FIRST_MS <= seconds * 1000 < base.LAST_MS:
        raise malformed(log, number, found, expected=_YEARS)
    return seconds * 1000


def _notes(counts: dict[str, int], *, judged: bool) -> Iterable[str]:
    yield (
        "The data set contains only pages with three or more judged URLs, at most 10,000 per query: "
        "coverage and shares of queries apply to this selection."
    )
    if not judged:
        yield base.UNJUDGED
    if counts["judgments_conflicting"]:
        yield base.CONFLICTING
