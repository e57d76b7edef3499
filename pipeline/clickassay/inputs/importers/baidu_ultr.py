"""Baidu-ULTR: searches with the text of their documents, and expert labels, into canonical tables.

Log, tab separated: a row per search, then one per document::

    Qid  Query  Reformulation
    Pos  URL_MD5  Title  Abstract  MediaType  Click  ...

Labels, tab separated, without URLs: ``Qid  Query  Title  Abstract  Label  Bucket``.
docs/reference/formats.md says what is mapped, dropped and assumed, and what each count means.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clickassay.core.errors import InputError
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

_SEARCH_FIELDS = 3
_DOCUMENT_FIELDS = 6  # up to Click; what follows is not used
_LAYOUT = "'Qid Query Reformulation' or 'Pos URL_MD5 Title Abstract MediaType Click ...', tab separated"
_LABEL_LAYOUT = "'Qid Query Title Abstract Label Bucket', tab separated, with a Label from 0 to 4"
_GRADES = {str(grade): grade for grade in range(5)}
_COUNTS = (
    "lines",
    "blank_lines",
    "searches_read",
    "searches_without_results",
    "searches_without_a_first_result",
    *RANK_COUNTS,
    "searches_repeating_a_result",
    "searches",
    "clicks_read",
    "clicks_of_dropped_searches",
    "clicks",
    "labels_read",
    "labels_of_queries_not_in_log",
    "labels_unmatched",
    "labels_ambiguous",
    "judgments_repeated",
    "judgments_conflicting",
    "judgments",
    "results_shown",
    "results_shown_judged",
)


def import_baidu_ultr(
    file: Path, *, labels: Path | None = None, out: Path, progress: Progress = silent
) -> Imported:
    """Translate searches, and the expert labels if they are given, into a folder of canonical tables.

    Parameters
    ----------
    file
        Searches, each followed by its documents.
    labels
        ``Qid Query Title Abstract Label Bucket``, joined to documents by query, title and abstract.
    out
        Folder to write; must not exist.
    progress
        Called with what is done now and the part done.

    Raises
    ------
    InputError
        If a line is not in the layout (the message names file and line), or there is no search.
    OutputError
        If `out` exists or cannot be written.
    """
    counts = dict.fromkeys(_COUNTS, 0)
    with publishing(out) as folder:
        texts = _read_labels(labels, counts, progress) if labels else _Texts()
        _translate(file, folder, texts, counts, progress)
        if labels:
            write_judgments(folder, _judgments(texts, counts))
        counts.update(count_judged_results(folder))
        imported = Imported(out, counts, tuple(_notes(counts, judged=labels is not None)))
        inputs = {"file": file, "labels": labels}
        write_record(folder, importer="baidu-ultr", inputs=inputs, settings={}, imported=imported)
    return imported


@dataclass
class _Texts:
    """Grades of each query's texts (digests of title and abstract), and where the log shows these."""

    grades: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    urls: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    shown: set[str] = field(default_factory=set)

    def see(self, query: str, documents: Iterable["_Document"]) -> None:
        """Remember under which URLs the texts of a labelled query were shown."""
        if query not in self.grades:
            return
        self.shown.add(query)
        for document in documents:
            text = _digest(document.title, document.abstract)
            if text in self.grades[query]:
                self.urls[query, text].add(document.url)


@dataclass(frozen=True)
class _Document:
    rank: int
    url: str
    title: str
    abstract: str
    clicked: bool


@dataclass(frozen=True)
class _Search:
    number: int
    query: str
    documents: list[_Document] = field(default_factory=list)


def _tokens(text: str) -> str:
    # Token ids are apart by \x01; a run counts words by white space.
    return text.replace("\x01", " ").strip()


def _digest(title: str, abstract: str) -> str:
    return hashlib.blake2b(f"{title}\t{abstract}".encode(), digest_size=16).hexdigest()


def _read_labels(file: Path, counts: dict[str, int], progress: Progress) -> _Texts:
    texts = _Texts()
    for number, line in lines(file, progress=progress):
        fields = line.split("\t")
        if len(fields) != 6 or fields[4] not in _GRADES or not _tokens(fields[1]):
            raise malformed(file, number, line, expected=_LABEL_LAYOUT)
        _, query, title, abstract, label, _ = fields
        # Different queries share a Qid in the published labels, so the text tells them apart.
        of_query = texts.grades.setdefault(_tokens(query), {})
        of_query.setdefault(_digest(title, abstract), []).append(_GRADES[label])
        counts["labels_read"] += 1
    return texts


def _translate(file: Path, folder: Path, texts: _Texts, counts: dict[str, int], progress: Progress) -> None:
    with (
        TableWriter(folder / "searches.parquet", SEARCHES) as searches,
        TableWriter(folder / "clicks.parquet", CLICKS) as clicks,
    ):
        for search in _searches(file, counts, progress):
            texts.see(search.query, search.documents)
            _write(search, searches, clicks, counts)
    if not counts["searches_read"]:
        raise InputError(f"{file} has no search; expected lines {_LAYOUT}")


def _searches(file: Path, counts: dict[str, int], progress: Progress) -> Iterator[_Search]:
    search: _Search | None = None
    for number, text in lines(file, progress=progress):
        counts["lines"] += 1
        fields = text.split("\t")
        if not text.strip():
            counts["blank_lines"] += 1
        elif len(fields) == _SEARCH_FIELDS and _tokens(fields[1]):
            if search is not None:
                yield search
            search = _Search(number, _tokens(fields[1]))
        elif len(fields) >= _DOCUMENT_FIELDS and search is not None:
            search.documents.append(_document(file, number, text, fields))
        else:
            raise malformed(file, number, text, expected=f"{_LAYOUT}, the search before its documents")
    if search is not None:
        yield search


def _document(file: Path, number: int, text: str, fields: list[str]) -> _Document:
    position, url, title, abstract, _, click = fields[:_DOCUMENT_FIELDS]
    rank, url = whole_number(position), url.strip()
    if not rank or not url or click not in ("0", "1"):
        expected = f"{_LAYOUT}, with a Pos from 1, a URL_MD5 and a Click of 0 or 1"
        raise malformed(file, number, text, expected=expected)
    return _Document(rank, url, title, abstract, click == "1")


def _write(search: _Search, searches: TableWriter, clicks: TableWriter, counts: dict[str, int]) -> None:
    counts["searches_read"] += 1
    results = placed([(document.rank, document.url) for document in search.documents], counts)
    clicked = [document.url for document in search.documents if document.clicked]
    counts["clicks_read"] += len(clicked)
    if not results:
        kind = "without_a_first_result" if search.documents else "without_results"
        counts[f"searches_{kind}"] += 1
        counts["clicks_of_dropped_searches"] += len(clicked)
        return
    counts["searches"] += 1
    counts["searches_repeating_a_result"] += len(set(results)) < len(results)
    counts["clicks"] += len(clicked)
    searches.add(search.number, search.number, search.query, BASE_DAY_MS, results)
    for url in clicked:
        clicks.add(search.number, BASE_DAY_MS, url)


def _judgments(texts: _Texts, counts: dict[str, int]) -> list[tuple[str, str, int]]:
    """Return the labels of the queries in the log, under the URL that alone shows their text.

    Others stay under a name of their text: the ideal list needs every judgment of a query (method 6).
    """
    rows = []
    for query, graded in texts.grades.items():
        for text, grades in graded.items():
            urls = texts.urls.get((query, text), set())
            if query not in texts.shown:
                counts["labels_of_queries_not_in_log"] += len(grades)
                continue
            counts["labels_unmatched"] += len(grades) * (not urls)
            counts["labels_ambiguous"] += len(grades) * (len(urls) > 1)
            rows += [(query, min(urls) if len(urls) == 1 else f"text:{text}", grade) for grade in grades]
    distinct = distinct_judgments(rows, counts=counts)
    counts["judgments"] = len(distinct)
    return distinct


def _notes(counts: dict[str, int], *, judged: bool) -> Iterable[str]:
    yield "The log names no users: each search is a user, so sessions are searches; do not count users."
    yield "The log has no times: all searches lie on one day; do not read dates."
    if counts["searches_cut_short"]:
        yield (
            f"{counts['searches_cut_short']:,} pages have a rank that is missing or held twice: their lists "
            "end above it, and runs leave them out where they are too short."
        )
    if not judged:
        yield "No labels were given: add judgments before a run."
        return
    found = counts["labels_read"] - sum(
        counts[kind] for kind in ("labels_of_queries_not_in_log", "labels_unmatched", "labels_ambiguous")
    )
    yield f"{found:,} of {counts['labels_read']:,} labels found the one URL that shows their text."
    if counts["judgments_conflicting"]:
        yield "Some pairs of query and URL have two grades: choose a rule (conflicts) for the run."
