"""TianGong-ST: sessions of a Chinese search engine as XML, and human labels, into canonical tables.

    session@num > interaction@num > query, query_id, results/result@rank/docid, clicked/click/rank

docs/reference/formats.md says what is mapped, dropped and assumed, and what each count means.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.progress import Progress, silent
from clickassay.inputs.files import malformed
from clickassay.inputs.importers.base import (
    BASE_DAY_MS,
    CLICKS,
    RANK_COUNTS,
    SEARCHES,
    Imported,
    TableWriter,
    count_judged_results,
    distinct_judgments,
    lines,
    placed,
    publishing,
    whole_number,
    write_judgments,
    write_record,
)
from clickassay.inputs.importers.session_xml import SessionTree, sessions_of
from clickassay.inputs.normalise import normalise_query

ENCODINGS = ("utf-8", "gb18030")
"""GB18030 holds GB2312 and GBK, and its line ends are those of UTF-8."""

_HINTS = {"utf-8": "; for Chinese text in GB18030, GBK or GB2312 give --encoding gb18030"}
_STEP_MS = 1000
_LABEL_LAYOUT = "'id session query_id doc_id grade', apart by blanks or tabs, with a whole grade from 0"
_COUNTS = (
    "sessions",
    "interactions",
    "interactions_without_results",
    "interactions_without_a_first_result",
    *RANK_COUNTS,
    "searches_repeating_a_result",
    "searches",
    "clicks_read",
    "clicks_of_dropped_interactions",
    "clicks_of_unknown_rank",
    "clicks",
    "ampersands_escaped",
    "query_ids",
    "query_ids_without_text",
    "searches_with_another_text",
    "labels_read",
    "labels_of_queries_not_in_log",
    "judgments_repeated",
    "judgments_conflicting",
    "judgments",
    "results_shown",
    "results_shown_judged",
)


def import_tiangong_st(
    xml: Path,
    *,
    labels: Path | None = None,
    out: Path,
    encoding: str = "utf-8",
    progress: Progress = silent,
) -> Imported:
    """Translate the sessions, and the human labels if they are given, into a folder of canonical tables.

    Parameters
    ----------
    xml
        The sessions.
    labels
        ``id session query_id doc_id grade``.
    out
        Folder to write; must not exist.
    encoding
        Of both files: one of `ENCODINGS`.
    progress
        Called with what is done now and the part done.

    Raises
    ------
    InputError
        If the XML is not well-formed, declares a DOCTYPE, is in another encoding, or lacks what a search
        needs; or if a line of the labels is not in the layout.
    OutputError
        If `out` exists or cannot be written.
    SettingsError
        If `encoding` is unknown.
    """
    if encoding not in ENCODINGS:
        raise SettingsError(f"encoding is {encoding!r}; expected one of {', '.join(ENCODINGS)}")
    counts = dict.fromkeys(_COUNTS, 0)
    with publishing(out) as folder:
        names = _QueryNames(counts)
        _translate(xml, folder, names, encoding, counts, progress)
        graded = _read_labels(labels, names, encoding, counts, progress) if labels else []
        if labels:
            write_judgments(folder, graded)
        counts.update(count_judged_results(folder))
        imported = Imported(out, counts, tuple(_notes(counts, graded, judged=labels is not None)))
        inputs = {"xml": xml, "labels": labels}
        settings: dict[str, object] = {"encoding": encoding}
        write_record(folder, importer="tiangong-st", inputs=inputs, settings=settings, imported=imported)
    return imported


@dataclass
class _QueryNames:
    """Calls each query_id by its first text, which readers know, or by itself where it has none."""

    counts: dict[str, int]
    of_ids: dict[str, str] = field(default_factory=dict)

    def name(self, query_id: str, text: str) -> str:
        """Return the name of a query, which the first call for its id decides."""
        if query_id not in self.of_ids:
            self.counts["query_ids"] += 1
            self.counts["query_ids_without_text"] += not text
            self.of_ids[query_id] = text or query_id
        name = self.of_ids[query_id]
        self.counts["searches_with_another_text"] += text not in ("", name)
        return name


@dataclass(frozen=True)
class _Search:
    """One interaction with results; clicks are documents, in the order of the file."""

    query_id: str
    text: str
    results: list[str]
    clicks: list[str]


def _translate(
    xml: Path, folder: Path, names: _QueryNames, encoding: str, counts: dict[str, int], progress: Progress
) -> None:
    hint = _HINTS.get(encoding, "")
    seen: set[int] = set()
    with (
        TableWriter(folder / "searches.parquet", SEARCHES) as searches,
        TableWriter(folder / "clicks.parquet", CLICKS) as clicks,
    ):
        for element in sessions_of(SessionTree(xml), counts, progress, encoding=encoding, hint=hint):
            session = _Session(xml, element, counts)
            if session.number in seen:
                session.fail("occurs twice", expected="each session once")
            seen.add(session.number)
            # The layout gives no times: steps of a second keep the order of the interactions.
            for step, search in enumerate(session.searches()):
                search_id, time_ms = counts["interactions"], BASE_DAY_MS + step * _STEP_MS
                query = names.name(search.query_id, search.text)
                searches.add(search_id, session.number, query, time_ms, search.results)
                for document in search.clicks:
                    clicks.add(search_id, time_ms, document)
    if not counts["interactions"]:
        raise InputError(f"{xml} has no interaction; expected sessions of TianGong-ST")


class _Session:
    """Reads one ``<session>`` element."""

    def __init__(self, xml: Path, element: ET.Element, counts: dict[str, int]) -> None:
        self._xml = xml
        self._element = element
        self._counts = counts
        self._where = f"session {element.get('num')}"
        self.number = self._whole(element.get("num"), "a session number")
        counts["sessions"] += 1

    def fail(self, found: str, *, expected: str) -> NoReturn:
        """Raise an InputError that names the file, the session and the interaction."""
        raise InputError(f"{self._xml}, {self._where}: {found}; expected {expected}; mend or remove it")

    def searches(self) -> Iterator[_Search]:
        """Yield the interactions whose first result is known; count the others, and their clicks."""
        for interaction in self._element.findall("interaction"):
            self._where = f"session {self.number}, interaction {interaction.get('num')}"
            self._counts["interactions"] += 1
            ranked = [self._result(result) for result in interaction.findall("results/result")]
            results = placed(ranked, self._counts)
            clicks = interaction.findall("clicked/click")
            clicked = [self._place(self._text(click, "rank"), "the rank of a click") for click in clicks]
            self._counts["clicks_read"] += len(clicked)
            if results:
                yield self._search(interaction, ranked, results, clicked)
                continue
            kind = "without_a_first_result" if ranked else "without_results"
            self._counts[f"interactions_{kind}"] += 1
            self._counts["clicks_of_dropped_interactions"] += len(clicked)

    def _search(
        self, interaction: ET.Element, ranked: list[tuple[int, str]], results: list[str], clicked: list[int]
    ) -> _Search:
        held = [rank for rank, _ in ranked]
        shown = {rank: document for rank, document in ranked if held.count(rank) == 1}
        clicks = [shown[rank] for rank in clicked if rank in shown]
        self._counts["searches"] += 1
        self._counts["searches_repeating_a_result"] += len(set(results)) < len(results)
        self._counts["clicks"] += len(clicks)
        self._counts["clicks_of_unknown_rank"] += len(clicked) - len(clicks)
        text = normalise_query(interaction.findtext("query") or "")
        return _Search(self._text(interaction, "query_id"), text, results, clicks)

    def _result(self, result: ET.Element) -> tuple[int, str]:
        return self._place(result.get("rank"), "the rank of a result"), self._text(result, "docid")

    def _place(self, text: str | None, what: str) -> int:
        # Ranks from 0 would be read one place too high.
        return self._whole(text, f"{what}, from 1") or self.fail(f"{text!r}", expected=f"{what}, from 1")

    def _text(self, element: ET.Element, tag: str) -> str:
        text = (element.findtext(tag) or "").strip()
        return text or self.fail(f"<{element.tag}> has no <{tag}> with text", expected="one")

    def _whole(self, text: str | None, what: str) -> int:
        number = whole_number((text or "").strip())
        return self.fail(f"{text!r}", expected=what) if number is None else number


def _read_labels(
    file: Path, names: _QueryNames, encoding: str, counts: dict[str, int], progress: Progress
) -> list[tuple[str, str, int]]:
    rows = []
    for number, text in lines(file, progress=progress, encoding=encoding, hint=_HINTS.get(encoding, "")):
        fields = text.split()
        grade = whole_number(fields[-1]) if len(fields) == 5 else None
        if grade is None:
            raise malformed(file, number, text, expected=_LABEL_LAYOUT)
        counts["labels_read"] += 1
        if fields[2] in names.of_ids:
            rows.append((names.of_ids[fields[2]], fields[3], grade))
        else:
            counts["labels_of_queries_not_in_log"] += 1
    distinct = distinct_judgments(rows, counts=counts)
    counts["judgments"] = len(distinct)
    return distinct


def _notes(counts: dict[str, int], graded: list[tuple[str, str, int]], *, judged: bool) -> Iterable[str]:
    yield "Users are sessions, and all lie on one day: do not read counts of users or dates from this log."
    if counts["searches_cut_short"]:
        yield (
            f"{counts['searches_cut_short']:,} pages have a rank that is missing or held twice: their lists "
            "end above it, and runs leave them out where they are too short."
        )
    if not judged:
        yield "No labels were given: add judgments before a run."
        return
    highest = max((grade for _, _, grade in graded), default=0)
    yield f"Grades go up to {highest}: the scale of the run must reach it (max_grade)."
    if counts["judgments_conflicting"]:
        yield "Some pairs of query and document have two grades: choose a rule (conflicts) for the run."
