"""TREC Session Track 2012 and 2013 (NIST): session XML and qrels into canonical tables."""

import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from clickassay.core.progress import Progress, silent
from clickassay.inputs.files import malformed
from clickassay.inputs.importers import base
from clickassay.inputs.importers.session_xml import Session, SessionTree, sessions_of
from clickassay.inputs.normalise import normalise_query
from clickassay.inputs.text.grades import NOT_JUDGED, qrels_grade
from clickassay.inputs.text.lines import lines
from clickassay.inputs.text.trec import qrels_lines

GRADES = {
    # 2012: the labels are not in the order of relevance. The track scored 4 (highly relevant) as 2,
    # 2 (key) as 3 and 3 (navigational) as 4. Labels below 0 follow `qrels_grade`.
    "sessiontrack2012": {"0": 0, "1": 1, "4": 2, "2": 3, "3": 4},
    "sessiontrack2013": {"0": 0, "1": 1, "2": 2, "3": 3, "4": 4},
}
"""Root element of the XML -> label in the qrels -> grade (0..4)."""

_BELOW_0 = re.compile(r"-[1-9][0-9]?")
_DAY_MS = 24 * 60 * 60 * 1000
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9](?:\.[0-9]+)?)")
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]+)?")
_DOCUMENT_IDS = ("clueweb09id", "clueweb12id")
_COUNTS = (
    *("sessions", "topics", "interactions", "interactions_without_results", "current_queries"),
    *("searches_repeating_a_result", "searches", "clicks_read", "clicks_of_unknown_rank", "clicks"),
    *("ampersands_escaped", "times_past_midnight"),
    *("queries_split_by_topic", "searches_of_queries_split_by_topic"),
    *("blank_lines", "qrels_read", "qrels_of_topics_without_session", "qrels_not_judged"),
    *("qrels_below_0", "qrels_relabelled"),
    *("topics_without_judgments", "searches_of_topics_without_judgments"),
    *(*base.JUDGMENT_COUNTS, *base.SHOWN_COUNTS),
)


def import_trec_session(xml: Path, qrels: Path, *, out: Path, progress: Progress = silent) -> base.Imported:
    """Translate the sessions and qrels ``topic 0 document label`` of 2012 or 2013 into canonical tables.

    Raises InputError if the XML is not well-formed, declares a DOCTYPE, is of another kind or year, or lacks
    what a search needs; or if a line of the qrels is not in the layout.
    """
    with base.importing(out, {"xml": xml, "qrels": qrels}, _COUNTS, progress) as folder:
        target = SessionTree(xml, GRADES)
        sessions = sessions_of(_Session, target, folder)
        searches = [search for session in sessions for search in session.searches()]
        topics = _read_qrels(qrels, GRADES[target.root], folder)
        searches = _named_by_topic(searches, folder.counts)
        with folder.log(clicks=base.CLICKS_WITH_DWELL) as log:
            for search in searches:
                time_ms = base.BASE_DAY_MS + search.time_ms
                log.search(search.search_id, search.session, search.query, time_ms, search.results)
                for click_ms, document, dwell in search.clicks:
                    log.click(search.search_id, base.BASE_DAY_MS + click_ms, document, dwell)
        # Every query gets all graded documents of its topic: method 6 needs them all.
        counts = folder.counts
        used = {search.topic for search in searches}
        counts["topics"] = len(used)
        counts["topics_without_judgments"] = len(used - topics.keys())
        counts["searches_of_topics_without_judgments"] = sum(
            search.topic not in topics for search in searches
        )
        counts["qrels_of_topics_without_session"] = sum(len(topics[topic]) for topic in topics.keys() - used)
        queries = dict.fromkeys((search.query, search.topic) for search in searches)
        folder.judge([(query, *graded) for query, topic in queries for graded in topics.get(topic, ())])
        return folder.finish("trec-session", _notes(folder.counts))


@dataclass(frozen=True)
class _Search:
    """One interaction with results; `query` is normalised, clicks are (ms, document, dwell seconds)."""

    search_id: int
    session: int
    topic: str
    query: str
    time_ms: int
    results: tuple[str, ...]
    clicks: tuple[tuple[int, str, float | None], ...]


class _Session(Session):
    KIND = "the TREC Session Track"

    def __init__(self, source: Path, element: ET.Element, counts: dict[str, int]) -> None:
        super().__init__(source, element, counts)
        self.topic = self._needed(element, "topic").get("num") or self.fail(
            "has no topic num", expected="one"
        )
        self._start_ms = self._milliseconds(element, since=0)

    def searches(self) -> Iterator[_Search]:
        """Yield the interactions that have results; the current query, which has none, is counted."""
        self._counts["current_queries"] += len(self._element.findall("currentquery"))
        for interaction in self._interactions():
            search_id = self._counts["interactions"]
            shown = interaction.findall("results/result")
            ranks = [result.get("rank") for result in shown]
            if ranks != [str(rank) for rank in range(1, len(ranks) + 1)]:
                self.fail(f"ranks of results are {ranks[:12]}", expected="1, 2, 3, ... in this order")
            results = tuple(self._document(result) for result in shown)
            clicks = self._clicks(interaction, results)
            time_ms = self._milliseconds(interaction, since=self._start_ms)
            query = normalise_query(self._text(interaction, "query"))
            if results:
                yield _Search(search_id, self.number, self.topic, query, time_ms, results, clicks)
            else:
                self._counts["interactions_without_results"] += 1

    def _document(self, result: ET.Element) -> str:
        texts = (result.findtext(tag, "").strip().lower() for tag in _DOCUMENT_IDS)
        return next(filter(None, texts), "") or self.fail("a result without id", expected="a ClueWeb id")

    def _clicks(
        self, interaction: ET.Element, results: tuple[str, ...]
    ) -> tuple[tuple[int, str, float | None], ...]:
        clicks = []
        for click in interaction.findall("clicked/click"):
            self._counts["clicks_read"] += 1
            rank = self._whole(self._text(click, "rank"), "the rank of a result")
            if 1 <= rank <= len(results):
                time_ms = self._milliseconds(click, since=self._start_ms)
                end, dwell = click.get("endtime", ""), None
                if _CLOCK.fullmatch(end) or _SECONDS.fullmatch(end):
                    dwell = (self._milliseconds(click, since=time_ms, name="endtime") - time_ms) / 1000
                clicks.append((time_ms, results[rank - 1], dwell))
            else:
                self._counts["clicks_of_unknown_rank"] += 1
        return tuple(clicks)

    def _milliseconds(self, element: ET.Element, *, since: int, name: str = "starttime") -> int:
        text = element.get(name, "")
        if clock := _CLOCK.fullmatch(text):
            hours, minutes, seconds = clock.groups()
            time_ms = round((int(hours) * 3600 + int(minutes) * 60 + float(seconds)) * 1000)
            # A wall clock begins again at midnight: half a day back can only mean the next day.
            next_day = time_ms < since - _DAY_MS // 2
            self._counts["times_past_midnight"] += next_day and name == "starttime"
            return time_ms + next_day * _DAY_MS
        if not _SECONDS.fullmatch(text):
            self.fail(f"<{element.tag}> starts at {text!r}", expected="HH:MM:SS.ffffff or seconds")
        return round(float(text) * 1000)

    def _needed(self, element: ET.Element, tag: str) -> ET.Element:
        child = element.find(tag)
        return self.fail(f"<{element.tag}> has no <{tag}>", expected="one") if child is None else child

    def _text(self, element: ET.Element, tag: str) -> str:
        text = (self._needed(element, tag).text or "").strip()
        return text or self.fail(f"<{tag}> is empty", expected="text")


def _read_qrels(
    qrels: Path, grades: dict[str, int], folder: base.CanonicalFolder
) -> dict[str, list[tuple[str, int]]]:
    topics: dict[str, list[tuple[str, int]]] = defaultdict(list)
    counts = folder.counts
    rows = qrels_lines(qrels, lines(qrels, progress=folder.progress), counts)
    for topic, document, label, number, text in rows.select(
        "query", "doc", "grade", "line", "text"
    ).iter_rows():
        below_0 = _BELOW_0.fullmatch(label) is not None
        if not below_0 and label not in grades:
            raise malformed(
                qrels, number, text, expected=f"a grade of the track ({', '.join(grades)}), or below 0"
            )
        grade = qrels_grade(int(label)) if below_0 else grades[label]
        counts["qrels_read"] += 1
        if grade == NOT_JUDGED:
            counts["qrels_not_judged"] += 1
            continue
        counts["qrels_below_0"] += below_0
        counts["qrels_relabelled"] += not below_0 and grade != int(label)
        topics[topic].append((document.lower(), grade))
    return topics


def _named_by_topic(searches: list[_Search], counts: dict[str, int]) -> list[_Search]:
    """Give queries that were issued under several topics a name for each: grades are the topic's."""
    topics: dict[str, set[str]] = defaultdict(set)
    for search in searches:
        topics[search.query].add(search.topic)
    shared = {query for query, of in topics.items() if len(of) > 1}
    mark = "#"  # without white space: the query keeps its number of words
    while any(f"{query}{mark}{topic}" in topics for query in shared for topic in topics[query]):
        mark += "#"
    counts["queries_split_by_topic"] = len(shared)
    named = []
    for search in searches:
        split = search.query in shared
        counts["searches_of_queries_split_by_topic"] += split
        named.append(replace(search, query=f"{search.query}{mark}{search.topic}") if split else search)
    return named


def _notes(counts: dict[str, int]) -> Iterable[str]:
    yield "Each session counts as a user, all on one day: ignore counts of users and dates of this log."
    yield "Judgments belong to topics, not to queries: every query of a topic has the topic's grades."
    if counts["qrels_relabelled"]:
        yield "The labels 2, 3 and 4 of the qrels of 2012 became grades 3, 4 and 2, as the track scored them."
    if counts["queries_split_by_topic"]:
        yield "Queries issued under several topics have the topic in their name, such as 'text#12'."
    if counts["judgments_conflicting"]:
        yield "Some documents have two grades for a topic: choose a rule (--conflicts) when you run."
