"""Pages in the layout of the sample that came with PyClick: a query, its results, its clicks.

Pages are separated by semicolons and line ends::

    QueryID_k TAB url,url,... : click , click ; QueryID_k TAB ...
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clickassay.core.errors import InputError
from clickassay.core.progress import Progress, silent
from clickassay.inputs.files import malformed
from clickassay.inputs.importers import base
from clickassay.inputs.text.lines import lines

_LAYOUT = "'QueryID, tab, url,url,... : click , click ;', with blanks around the colon"
# URLs may hold colons: the one before the clicks has blanks around it.
_PAGE = re.compile(r"(\S+)\t(\S+)\s+:(?:\s+(\S.*))?", re.DOTALL)
_CLICK_MS = 1000
_COUNTS = (
    *("lines", "blank_parts", "searches_repeating_a_result", "searches"),
    *("clicks_elsewhere", "clicks_repeated", "clicks", "results_shown"),
)
_NOTES = (
    "The log names no users: each page counts as a user, and is a session; do not count users.",
    "The log has no times: all pages lie on one day; do not read dates.",
    "No judgments belong to this log: add them before a run.",
)


def import_pyclick(file: Path, *, out: Path, progress: Progress = silent) -> base.Imported:
    """Translate a file of pages into a folder of canonical searches and clicks.

    file: pages, separated by semicolons or line ends.

    Raises InputError if a page is not in the layout (the message names file and line), or there is none.
    """
    with base.importing(out, {"file": file}, _COUNTS, progress) as folder:
        with folder.log() as log:
            for page in _pages(file, folder):
                _write(page, log)
        if not folder.counts["searches"]:
            raise InputError(f"{file} has no page; expected pages {_LAYOUT}")
        return folder.finish("pyclick", _NOTES)


@dataclass(frozen=True)
class _Page:
    query: str
    results: list[str]
    clicks: list[str]


def _pages(file: Path, folder: base.CanonicalFolder) -> Iterator[_Page]:
    for number, text in lines(file, progress=folder.progress):
        folder.counts["lines"] += 1
        for part in text.split(";"):
            if part.strip():
                yield _page(file, number, part.strip())
            else:
                folder.counts["blank_parts"] += 1


def _page(file: Path, number: int, text: str) -> _Page:
    match = _PAGE.fullmatch(text)
    if match is None:
        raise malformed(file, number, text, expected=_LAYOUT)
    query, results, clicks = match[1], match[2].split(","), match[3]
    clicked = [click.strip() for click in clicks.split(",")] if clicks else []
    if "" in results or any(len(click.split()) != 1 for click in clicked):
        raise malformed(file, number, text, expected=_LAYOUT)
    return _Page(query, results, clicked)


def _write(page: _Page, log: base.LogWriter) -> None:
    number = log.counts["searches"] + 1
    log.search(number, number, page.query, base.BASE_DAY_MS, page.results)
    for place, url in enumerate(page.clicks, 1):
        log.click(number, base.BASE_DAY_MS + place * _CLICK_MS, url)
    log.counts["clicks_repeated"] += len(page.clicks) - len(set(page.clicks))
    log.counts["clicks_elsewhere"] += sum(url not in page.results for url in page.clicks)
