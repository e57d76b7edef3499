"""Pages in the layout of the sample that came with PyClick: a query, its results, its clicks, no more.

Pages are apart by semicolons and line ends::

    QueryID_k TAB url,url,... : click , click ; QueryID_k TAB ...

docs/reference/formats.md says what is mapped, dropped and assumed, and what each count means.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clickassay.core.errors import InputError
from clickassay.core.progress import Progress, silent
from clickassay.inputs.files import malformed
from clickassay.inputs.importers.base import (
    BASE_DAY_MS,
    CLICKS,
    SEARCHES,
    Imported,
    TableWriter,
    lines,
    publishing,
    write_record,
)

_LAYOUT = "'QueryID, tab, url,url,... : click , click ;', with blanks around the colon"
# URLs may hold colons, so the one before the clicks is known by its blanks.
_PAGE = re.compile(r"(\S+)\t(\S+)\s+:(?:\s+(\S.*))?", re.DOTALL)
_CLICK_MS = 1000
_COUNTS = (
    "lines",
    "blank_parts",
    "searches_repeating_a_result",
    "searches",
    "clicks_elsewhere",
    "clicks_repeated",
    "clicks",
    "results_shown",
)
_NOTES = (
    "The log names no users: each page is a user, so sessions are pages; do not count users.",
    "The log has no times: all pages lie on one day; do not read dates.",
    "No judgments belong to this log: add them before a run.",
)


def import_pyclick(file: Path, *, out: Path, progress: Progress = silent) -> Imported:
    """Translate a file of pages into a folder of canonical searches and clicks.

    Parameters
    ----------
    file
        Pages, apart by semicolons or line ends.
    out
        Folder to write; must not exist.
    progress
        Called with what is done now and the part done.

    Raises
    ------
    InputError
        If a page is not in the layout (the message names file and line), or there is none.
    OutputError
        If `out` exists or cannot be written.
    """
    counts = dict.fromkeys(_COUNTS, 0)
    with publishing(out) as folder:
        with (
            TableWriter(folder / "searches.parquet", SEARCHES) as searches,
            TableWriter(folder / "clicks.parquet", CLICKS) as clicks,
        ):
            for page in _pages(file, counts, progress):
                _write(page, searches, clicks, counts)
        if not counts["searches"]:
            raise InputError(f"{file} has no page; expected pages {_LAYOUT}")
        imported = Imported(out, counts, _NOTES)
        write_record(folder, importer="pyclick", inputs={"file": file}, settings={}, imported=imported)
    return imported


@dataclass(frozen=True)
class _Page:
    query: str
    results: list[str]
    clicks: list[str]


def _pages(file: Path, counts: dict[str, int], progress: Progress) -> Iterator[_Page]:
    for number, text in lines(file, progress=progress):
        counts["lines"] += 1
        for part in text.split(";"):
            if part.strip():
                yield _page(file, number, part.strip())
            else:
                counts["blank_parts"] += 1


def _page(file: Path, number: int, text: str) -> _Page:
    match = _PAGE.fullmatch(text)
    if match is None:
        raise malformed(file, number, text, expected=_LAYOUT)
    query, results, clicks = match[1], match[2].split(","), match[3]
    clicked = [click.strip() for click in clicks.split(",")] if clicks else []
    if "" in results or any(len(click.split()) != 1 for click in clicked):
        raise malformed(file, number, text, expected=_LAYOUT)
    return _Page(query, results, clicked)


def _write(page: _Page, searches: TableWriter, clicks: TableWriter, counts: dict[str, int]) -> None:
    counts["searches"] += 1
    number = counts["searches"]
    searches.add(number, number, page.query, BASE_DAY_MS, page.results)
    for place, url in enumerate(page.clicks, 1):
        clicks.add(number, BASE_DAY_MS + place * _CLICK_MS, url)
    counts["results_shown"] += len(page.results)
    counts["searches_repeating_a_result"] += len(set(page.results)) < len(page.results)
    counts["clicks"] += len(page.clicks)
    counts["clicks_repeated"] += len(page.clicks) - len(set(page.clicks))
    counts["clicks_elsewhere"] += sum(url not in page.results for url in page.clicks)
