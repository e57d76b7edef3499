"""Logs in the layout of Yandex Relevance Prediction, and its CLARA variant, into canonical tables.

Log, tab separated, grouped by session::

    SessionID  TimePassed  Q  QueryID  RegionID  URL ...
    SessionID  TimePassed  C  URL
"""

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.progress import Progress, silent
from clickassay.inputs.files import malformed
from clickassay.inputs.importers import base
from clickassay.inputs.normalise import normalise_query
from clickassay.inputs.text.lines import lines

NO_SEARCH = 0
"""search_id of clicks that come before any search of their session: no search has it, lines count from 1."""

_HEADER = ["query", "url", "relevance"]
_LAYOUT = "'SessionID TimePassed Q QueryID RegionID URL...' or 'SessionID TimePassed C URL', tab separated"
_JUDGMENT_LAYOUT = "'query url relevance' (CLARA) or 'QueryID RegionID URLID label' (Yandex), tab separated"
_MAP_LAYOUT = "'QueryID of the log', tab, 'query of the judgments'"
_FEW_JUDGED = 0.5
_COUNTS = (
    *("lines", "blank_lines", "sessions"),
    *("searches_read", "searches_without_results", "searches_repeating_a_result", "searches"),
    *("clicks", "clicks_elsewhere", "clicks_before_any_search", "times_going_back"),
    *("queries_not_in_map", "searches_of_queries_not_in_map"),
    *("judgments_read", *base.JUDGMENT_COUNTS, *base.SHOWN_COUNTS),
)


def import_yandex(
    log: Path,
    *,
    judgments: Path | None = None,
    query_map: Path | None = None,
    out: Path,
    time_unit_ms: float = 1.0,
    progress: Progress = silent,
) -> base.Imported:
    """Translate a log, and its judgments if there are any, into a folder of canonical tables.

    judgments: of CLARA, with a header, or Yandex; query_map: QueryID of the log, tab, query of the judgments.
    time_unit_ms: milliseconds in one unit of TimePassed; SettingsError unless positive.
    Raises InputError if a line is not in the layout (file and line are named), a session comes back after
    another began, or a time leaves the years 2000 to 2100.
    """
    if not (math.isfinite(time_unit_ms) and time_unit_ms > 0):
        raise SettingsError(f"time_unit_ms is {time_unit_ms}; expected milliseconds per unit, above 0")
    inputs = {"log": log, "judgments": judgments, "query_map": query_map}
    with base.importing(out, inputs, _COUNTS, progress) as folder:
        graded, regions = _read_judgments(judgments, folder) if judgments else ([], False)
        mapping = _read_map(query_map, progress) if query_map else None
        taken = {normalise_query(query) for query, _, _ in graded}
        taken |= {normalise_query(query) for query in (mapping or {}).values()}
        names = _QueryNames(mapping, base.unmapped_prefix(taken), regions)
        with folder.log() as writer:
            _translate(log, names, time_unit_ms, writer, progress)
        folder.counts["queries_not_in_map"] = len(names.missing)
        if not folder.counts["searches_read"]:
            raise InputError(f"{log} has no search; expected lines {_LAYOUT}")
        notes = _notes(folder.counts, graded, judged=judgments is not None)
        return folder.finish("yandex", notes, {"time_unit_ms": time_unit_ms})


def _with_region(query: str, region: str) -> str:
    # CLARA writes regions as "0.0". No white space: the name must stay one word (method 9).
    return f"{query}@{region.removesuffix('.0')}"


def _read_judgments(file: Path, folder: base.CanonicalFolder) -> tuple[list[tuple[str, str, int]], bool]:
    """Return judgments (query, URL, grade), and whether their queries have regions."""
    numbered_lines = lines(file, progress=folder.progress)
    numbered = ((number, text.split("\t")) for number, text in numbered_lines if text.strip())
    first = next(numbered, None)
    if first is None:
        raise InputError(f"{file} is empty; expected {_JUDGMENT_LAYOUT}")
    regions = [name.strip().lower() for name in first[1]] != _HEADER
    rest = chain([first], numbered) if regions else numbered
    rows = []
    for number, fields in rest:
        grade = base.whole_number(fields[-1])
        if len(fields) != (4 if regions else 3) or grade is None or "" in fields:
            raise malformed(file, number, "\t".join(fields), expected=_JUDGMENT_LAYOUT)
        query = _with_region(fields[0], fields[1]) if regions else fields[0]
        rows.append((query, fields[-2], grade))
    folder.counts["judgments_read"] = len(rows)
    return folder.judge(rows), regions


@dataclass
class _QueryNames:
    mapping: dict[str, str] | None
    prefix: str  # of queries that the mapping lacks; begins no judged query
    regions: bool
    missing: set[str] = field(default_factory=set)

    def name(self, query_id: str, region: str) -> tuple[str, bool]:
        """Return the name, and whether the mapping has it."""
        query = query_id if self.mapping is None else self.mapping.get(query_id)
        known = query is not None
        if query is None:
            self.missing.add(query_id)
            query = self.prefix + query_id
        return (_with_region(query, region) if self.regions else query), known


def _read_map(file: Path, progress: Progress) -> dict[str, str]:
    mapping: dict[str, str] = {}
    for number, text in lines(file, progress=progress):
        fields = text.split("\t")
        if len(fields) != 2 or "" in fields:
            raise malformed(file, number, text, expected=_MAP_LAYOUT)
        if mapping.setdefault(fields[0], fields[1]) != fields[1]:
            expected = f"{fields[0]} to be mapped once (so far to {mapping[fields[0]]!r})"
            raise malformed(file, number, text, expected=expected)
    return mapping


def _translate(
    log: Path, names: _QueryNames, unit: float, writer: base.LogWriter, progress: Progress
) -> None:
    """Turn lines into rows; only the current session is remembered, so a log of any length fits."""
    counts, sessions = writer.counts, array("q")  # 8 bytes a session
    latest_ms, latest, latest_with = 0, NO_SEARCH, dict[str, int]()
    for number, text in lines(log, progress=progress):
        counts["lines"] += 1
        fields = text.rstrip("\t ").split("\t")
        if fields == [""]:
            counts["blank_lines"] += 1
            continue
        kind = fields[2] if len(fields) > 2 else ""
        fits = len(fields) >= 5 if kind == "Q" else kind == "C" and len(fields) == 4
        session, time = (base.whole_number(value) for value in [*fields, ""][:2])
        if not fits or session is None or time is None or "" in fields:
            raise malformed(log, number, text, expected=_LAYOUT)
        time = base.BASE_DAY_MS + round(time * unit)
        if time >= base.LAST_MS:
            expected = f"a time before 2100 counted from 2000-01-01 in units of {unit} ms (time_unit_ms)"
            raise malformed(log, number, text, expected=expected)
        if not sessions or session != sessions[-1]:
            sessions.append(session)
            counts["sessions"] += 1
            latest_ms, latest, latest_with = 0, NO_SEARCH, {}
        counts["times_going_back"] += time < latest_ms
        latest_ms = time
        if kind == "C":
            search = latest_with.get(fields[3], latest)
            counts["clicks_before_any_search"] += search == NO_SEARCH
            counts["clicks_elsewhere"] += search != NO_SEARCH and fields[3] not in latest_with
            writer.click(search, time, fields[3])
            continue
        counts["searches_read"] += 1
        results = fields[5:]
        if not results:
            counts["searches_without_results"] += 1
            continue
        query, known = names.name(fields[3], fields[4])
        counts["searches_of_queries_not_in_map"] += not known
        latest = number
        latest_with.update(dict.fromkeys(results, number))
        writer.search(number, session, query, time, results)
    # clicks of a session that comes back after another began would find no search
    ids, times = np.unique(np.frombuffer(sessions, dtype=np.int64), return_counts=True)
    if (times > 1).any():
        raise InputError(
            f"{log}: {int((times > 1).sum())} sessions, the first of them {ids[times > 1][0]}, "
            "continue after another session began; expected all lines of a session together: "
            "sort the log by session and keep the order within (sort -s -n -k1,1)"
        )


def _notes(counts: dict[str, int], judgments: list[tuple[str, str, int]], *, judged: bool) -> Iterable[str]:
    if not judged:
        yield base.UNJUDGED
        return
    share = counts["results_shown_judged"] / max(1, counts["results_shown"])
    if share < _FEW_JUDGED:
        yield (
            f"Only {share:.1%} of the results shown have a grade: the query ids of the log and of the "
            "judgments may differ; give --query-map."
        )
    yield base.highest_grade_note(judgments)
    if counts["judgments_conflicting"]:
        yield base.CONFLICTING
    if counts["times_going_back"]:
        yield "Times go back within sessions, so clicks were matched to searches by the order of lines."
