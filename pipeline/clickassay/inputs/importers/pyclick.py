"""Pages of PyClick's sample, up to ; or line end: ``QueryID_k TAB url,url,... : click , click ;``."""

import re
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
    "The log names no users: each page counts as its own user and session, so do not count users.",
    "The log has no times: all pages are put on one day, so ignore dates.",
    "This log has no judgments: add some before you run.",
)


def import_pyclick(file: Path, *, out: Path, progress: Progress = silent) -> base.Imported:
    """Translate pages into canonical searches and clicks; InputError, with line, for one that is none."""
    with base.importing(out, {"file": file}, _COUNTS, progress) as folder:
        counts = folder.counts
        with folder.log() as log:
            for number, text in lines(file, progress=progress):
                counts["lines"] += 1
                for part in map(str.strip, text.split(";")):
                    if not part:
                        counts["blank_parts"] += 1
                        continue
                    match = _PAGE.fullmatch(part)
                    if match is None:
                        raise malformed(file, number, part, expected=_LAYOUT)
                    results = match[2].split(",")
                    clicks = [click.strip() for click in match[3].split(",")] if match[3] else []
                    if "" in results or any(len(click.split()) != 1 for click in clicks):
                        raise malformed(file, number, part, expected=_LAYOUT)
                    page = counts["searches"] + 1
                    log.search(page, page, match[1], base.BASE_DAY_MS, results)
                    for place, url in enumerate(clicks, 1):
                        log.click(page, base.BASE_DAY_MS + place * _CLICK_MS, url)
                    counts["clicks_repeated"] += len(clicks) - len(set(clicks))
                    counts["clicks_elsewhere"] += sum(url not in results for url in clicks)
        if not counts["searches"]:
            raise InputError(f"{file} has no page; expected pages {_LAYOUT}")
        return folder.finish("pyclick", _NOTES)
