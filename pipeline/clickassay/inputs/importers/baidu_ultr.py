"""Baidu-ULTR: searches with the text of their documents, and expert labels, into canonical tables.

Log, tab separated: a row per search, then one per document::

    Qid  Query  Reformulation
    Pos  URL_MD5  Title  Abstract  MediaType  Click  ...

Labels, tab separated, without URLs: ``Qid  Query  Title  Abstract  Label  Bucket``.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clickassay.core.errors import InputError
from clickassay.core.progress import Progress, silent
from clickassay.inputs.files import malformed
from clickassay.inputs.importers import base
from clickassay.inputs.text.lines import lines

_SEARCH_FIELDS = 3
_DOCUMENT_FIELDS = 6  # up to Click; what follows is not used
_LAYOUT = "'Qid Query Reformulation' or 'Pos URL_MD5 Title Abstract MediaType Click ...', tab separated"
_LABEL_LAYOUT = "'Qid Query Title Abstract Label Bucket', tab separated, with a Label from 0 to 4"
_COUNTS = (
    *("lines", "blank_lines"),
    *("searches_read", "searches_without_results", "searches_without_a_first_result"),
    *(*base.RANK_COUNTS, "searches_repeating_a_result", "searches"),
    *("clicks_read", "clicks_of_dropped_searches", "clicks"),
    *("labels_read", "labels_of_queries_not_in_log", "labels_unmatched", "labels_ambiguous"),
    *(*base.JUDGMENT_COUNTS, *base.SHOWN_COUNTS),
)


def import_baidu_ultr(
    file: Path, *, judgments: Path | None = None, out: Path, progress: Progress = silent
) -> base.Imported:
    """Translate searches, and expert labels (joined by query and texts) if given, into canonical tables.

    Raises InputError for a line that is not in the layout (file and line are named), or without a search.
    """
    with base.importing(out, {"file": file, "judgments": judgments}, _COUNTS, progress) as folder:
        texts = _read_labels(judgments, folder) if judgments else _Texts()
        with folder.log() as log:
            for search in _searches(file, folder):
                texts.see(search.query, search.documents)
                _write(search, log)
        if not folder.counts["searches_read"]:
            raise InputError(f"{file} has no search; expected lines {_LAYOUT}")
        if judgments:
            # Labels of the queries in the log get the URL of their text if there is only one, or else a name
            # made of their text: the ideal list needs every judgment of a query (method 6).
            rows = []
            for query, graded in texts.grades.items():
                for text, grades in graded.items():
                    urls = texts.urls.get((query, text), set())
                    if query not in texts.shown:
                        folder.counts["labels_of_queries_not_in_log"] += len(grades)
                        continue
                    folder.counts["labels_unmatched"] += len(grades) * (not urls)
                    folder.counts["labels_ambiguous"] += len(grades) * (len(urls) > 1)
                    rows += [
                        (query, min(urls) if len(urls) == 1 else f"text:{text}", grade) for grade in grades
                    ]
            folder.judge(rows)
        notes = _notes(folder.counts, judged=judgments is not None)
        return folder.finish("baidu-ultr", notes)


@dataclass
class _Texts:
    grades: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    urls: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    shown: set[str] = field(default_factory=set)

    def see(self, query: str, documents: Iterable["_Document"]) -> None:
        """Keep the URLs under which the texts of a labelled query were shown."""
        if query not in self.grades:
            return
        self.shown.add(query)
        for _, url, title, abstract, _ in documents:
            text = _digest(title, abstract)
            if text in self.grades[query]:
                self.urls[query, text].add(url)


_Document = tuple[int, str, str, str, bool]
"""Rank, URL, title, abstract, whether it was clicked."""


@dataclass(frozen=True)
class _Search:
    number: int
    query: str
    documents: list[_Document] = field(default_factory=list)


def _tokens(text: str) -> str:
    # \x01 separates token ids; a run counts words by white space.
    return text.replace("\x01", " ").strip()


def _digest(title: str, abstract: str) -> str:
    return hashlib.blake2b(f"{title}\t{abstract}".encode(), digest_size=16).hexdigest()


def _read_labels(file: Path, folder: base.CanonicalFolder) -> _Texts:
    texts = _Texts()
    for number, line in lines(file, progress=folder.progress):
        fields = line.split("\t")
        if len(fields) != 6 or fields[4] not in base.GRADES_TO_4 or not _tokens(fields[1]):
            raise malformed(file, number, line, expected=_LABEL_LAYOUT)
        _, query, title, abstract, label, _ = fields
        # Different queries share a Qid in the published labels, so the text identifies them.
        of_query = texts.grades.setdefault(_tokens(query), {})
        of_query.setdefault(_digest(title, abstract), []).append(base.GRADES_TO_4[label])
        folder.counts["labels_read"] += 1
    return texts


def _searches(file: Path, folder: base.CanonicalFolder) -> Iterator[_Search]:
    search: _Search | None = None
    for number, text in lines(file, progress=folder.progress):
        folder.counts["lines"] += 1
        fields = text.split("\t")
        if not text.strip():
            folder.counts["blank_lines"] += 1
        elif len(fields) == _SEARCH_FIELDS and _tokens(fields[1]):
            if search is not None:
                yield search
            search = _Search(number, _tokens(fields[1]))
        elif len(fields) >= _DOCUMENT_FIELDS and search is not None:
            position, url, title, abstract, _, click = fields[:_DOCUMENT_FIELDS]
            rank, url = base.whole_number(position), url.strip()
            if not rank or not url or click not in ("0", "1"):
                expected = f"{_LAYOUT}, with a Pos from 1, a URL_MD5 and a Click of 0 or 1"
                raise malformed(file, number, text, expected=expected)
            search.documents.append((rank, url, title, abstract, click == "1"))
        else:
            raise malformed(file, number, text, expected=f"{_LAYOUT}, the search before its documents")
    if search is not None:
        yield search


def _write(search: _Search, log: base.LogWriter) -> None:
    counts = log.counts
    counts["searches_read"] += 1
    results = base.rank_list([(rank, url) for rank, url, *_ in search.documents], counts)
    clicked = [url for _, url, *_, is_clicked in search.documents if is_clicked]
    counts["clicks_read"] += len(clicked)
    if not results:
        kind = "without_a_first_result" if search.documents else "without_results"
        counts[f"searches_{kind}"] += 1
        counts["clicks_of_dropped_searches"] += len(clicked)
        return
    log.search(search.number, search.number, search.query, base.BASE_DAY_MS, results)
    for url in clicked:
        log.click(search.number, base.BASE_DAY_MS, url)


def _notes(counts: dict[str, int], *, judged: bool) -> Iterable[str]:
    yield "The log names no users: each search counts as its own user and session, so do not count users."
    yield "The log has no times: all searches are put on one day, so ignore dates."
    yield from base.cut_short_note(counts)
    if not judged:
        yield base.UNJUDGED
        return
    joined = counts["labels_read"] - sum(
        counts[kind] for kind in ("labels_of_queries_not_in_log", "labels_unmatched", "labels_ambiguous")
    )
    read = counts["labels_read"]
    yield f"{joined:,} of {read:,} labels match exactly one URL that shows their text."
    if counts["judgments_conflicting"]:
        yield base.CONFLICTING
