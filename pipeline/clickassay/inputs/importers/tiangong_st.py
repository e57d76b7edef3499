"""TianGong-ST: sessions of a Chinese search engine as XML, and human labels, into canonical tables.

Sessions::

    session@num > interaction@num > query, query_id, results/result@rank/docid, clicked/click/rank
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clickassay.core.errors import SettingsError
from clickassay.core.progress import Progress, silent
from clickassay.inputs.files import malformed
from clickassay.inputs.importers import base
from clickassay.inputs.importers.session_xml import Session, SessionTree, sessions_of
from clickassay.inputs.normalise import normalise_query
from clickassay.inputs.text.lines import lines

ENCODINGS = ("utf-8", "gb18030")
"""GB18030 holds GB2312 and GBK, and its line ends are those of UTF-8."""

_HINTS = {"utf-8": "; for Chinese text in GB18030, GBK or GB2312 give --encoding gb18030"}
_STEP_MS = 1000
_LABEL_LAYOUT = "'id session query_id doc_id grade', separated by blanks or tabs, with a whole grade from 0"
_COUNTS = (
    *("sessions", "interactions", "interactions_without_results", "interactions_without_a_first_result"),
    *(*base.RANK_COUNTS, "searches_repeating_a_result", "searches"),
    *("clicks_read", "clicks_of_dropped_interactions", "clicks_of_unknown_rank", "clicks"),
    *("ampersands_escaped", "query_ids", "query_ids_without_text", "searches_with_another_text"),
    *("labels_read", "labels_of_queries_not_in_log", *base.JUDGMENT_COUNTS, *base.SHOWN_COUNTS),
)


def import_tiangong_st(
    xml: Path,
    *,
    judgments: Path | None = None,
    out: Path,
    encoding: str = "utf-8",
    progress: Progress = silent,
) -> base.Imported:
    """Translate sessions, and human labels if they are given, into a folder of canonical tables.

    encoding: of both, one of `ENCODINGS` (else SettingsError). Raises InputError if the XML is not well-
      formed, declares a DOCTYPE, is in another encoding, or lacks what a search needs; or for a label that is
      not ``id session query_id doc_id grade``.
    """
    if encoding not in ENCODINGS:
        raise SettingsError(f"encoding is {encoding!r}; expected one of {', '.join(ENCODINGS)}")
    with base.importing(out, {"xml": xml, "judgments": judgments}, _COUNTS, progress) as folder:
        names = _QueryNames(folder.counts)
        hint = _HINTS.get(encoding, "")
        with folder.log() as log:
            for session in sessions_of(_Session, SessionTree(xml), folder, encoding, hint):
                # The layout gives no times: steps of a second keep the order of the interactions.
                for step, (query_id, text, results, clicks) in enumerate(session.searches()):
                    search_id, time_ms = folder.counts["interactions"], base.BASE_DAY_MS + step * _STEP_MS
                    log.search(search_id, session.number, names.name(query_id, text), time_ms, results)
                    for document in clicks:
                        log.click(search_id, time_ms, document)
        graded = folder.judge(_read_labels(judgments, folder, names, encoding)) if judgments else None
        return folder.finish("tiangong-st", _notes(folder.counts, graded), {"encoding": encoding})


@dataclass
class _QueryNames:
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


class _Session(Session):
    KIND = "TianGong-ST"

    def searches(self) -> Iterator[tuple[str, str, list[str], list[str]]]:
        """Yield query's id and text, results, and clicks; count those without a first result, and clicks."""
        for interaction in self._interactions():
            ranked = [
                (self._place(result.get("rank"), "the rank of a result"), self._text(result, "docid"))
                for result in interaction.findall("results/result")
            ]
            results = base.rank_list(ranked, self._counts)
            clicks = interaction.findall("clicked/click")
            clicked = [self._place(self._text(click, "rank"), "the rank of a click") for click in clicks]
            self._counts["clicks_read"] += len(clicked)
            if not results:
                kind = "without_a_first_result" if ranked else "without_results"
                self._counts[f"interactions_{kind}"] += 1
                self._counts["clicks_of_dropped_interactions"] += len(clicked)
                continue
            held = [rank for rank, _ in ranked]
            shown = {rank: document for rank, document in ranked if held.count(rank) == 1}
            documents = [shown[rank] for rank in clicked if rank in shown]
            self._counts["clicks_of_unknown_rank"] += len(clicked) - len(documents)
            text = normalise_query(interaction.findtext("query") or "")
            yield self._text(interaction, "query_id"), text, results, documents

    def _place(self, text: str | None, what: str) -> int:
        # Ranks from 0 would be read one place too high.
        return self._whole(text, f"{what}, from 1") or self.fail(f"{text!r}", expected=f"{what}, from 1")

    def _text(self, element: ET.Element, tag: str) -> str:
        text = (element.findtext(tag) or "").strip()
        return text or self.fail(f"<{element.tag}> has no <{tag}> with text", expected="one")


def _read_labels(
    file: Path, folder: base.CanonicalFolder, names: _QueryNames, encoding: str
) -> list[tuple[str, str, int]]:
    rows, hint = [], _HINTS.get(encoding, "")
    for number, text in lines(file, progress=folder.progress, encoding=encoding, hint=hint):
        fields = text.split()
        grade = base.whole_number(fields[-1]) if len(fields) == 5 else None
        if grade is None:
            raise malformed(file, number, text, expected=_LABEL_LAYOUT)
        folder.counts["labels_read"] += 1
        if fields[2] in names.of_ids:
            rows.append((names.of_ids[fields[2]], fields[3], grade))
        else:
            folder.counts["labels_of_queries_not_in_log"] += 1
    return rows


def _notes(counts: dict[str, int], graded: list[tuple[str, str, int]] | None) -> Iterable[str]:
    yield "Each session counts as a user, all on one day: ignore counts of users and dates of this log."
    yield from base.cut_short_note(counts)
    if graded is None:
        yield base.UNJUDGED
        return
    yield base.highest_grade_note(graded)
    if counts["judgments_conflicting"]:
        yield "Some pairs of query and document have two grades: choose a rule (--conflicts) when you run."
