"""Ratings of other tools as their files have them: by layout, recognised or named.

`text.grades` decides which grade a rating stands for, and `raters` what to do where raters differ.
docs/reference/formats.md describes each layout.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from sys import intern

from clickassay.core.errors import InputError
from clickassay.core.progress import Progress, silent
from clickassay.core.text.paths import is_text
from clickassay.inputs.importers.judgments.documents import rank_eval_ratings, rre_ratings, srw_ratings
from clickassay.inputs.importers.judgments.rating import FoundRating, Rating, Reader, ReadOptions
from clickassay.inputs.importers.judgments.tables import table_ratings
from clickassay.inputs.text import layouts, rows
from clickassay.inputs.text.detect import recognise
from clickassay.inputs.text.lines import head
from clickassay.inputs.text.trec import qrels_lines, subtopics

IMPORTED_LAYOUTS = {
    layouts.JUDGMENTS.name: "table",
    layouts.JUDGMENT_TABLE.name: "table",
    layouts.QUEPID.name: "quepid",
    layouts.QUEPID_RATERS.name: "quepid",
    layouts.SRW.name: "srw",
    layouts.QRELS.name: "qrels",
    layouts.BEIR.name: "beir",
    layouts.RRE.name: "rre",
    layouts.RANK_EVAL.name: "rank-eval",
}
LAYOUTS = tuple(dict.fromkeys(IMPORTED_LAYOUTS.values()))
"""The names that `--layout` takes; by what `detect` calls a layout: `IMPORTED_LAYOUTS`."""

OF_TOPICS = frozenset({"qrels", "beir"})
"""Layouts whose queries are ids of topics."""


@dataclass(frozen=True)
class JudgmentFile:
    """The ratings of one file."""

    # file, layout: The file, and the layout as which it was read.
    file: Path
    layout: str
    ratings: tuple[Rating, ...]  # In the order of the file.
    places: dict[str, str]  # File and line where each value occurs first.


def read_judgment_file(
    file: Path, reading: ReadOptions, counts: dict[str, int], *, progress: Progress = silent
) -> JudgmentFile:
    """Read the ratings of one file.

    Counts ``blank_lines``, ``queries_unrated``, ``queries_named_by_id`` and ``ratings_blank``.

    Raises InputError if the file is missing, in no known layout, broken, or holds no rating.
    """
    layout = reading.layout or ("quepid" if reading.rater_columns or reading.names else _layout_of(file))
    ratings: list[Rating] = []
    places: dict[str, str] = {}
    for place, query, url, value, rater in _READERS[layout](file, reading, counts, progress):
        _check_texts(place, query, url, value, rater or "")
        # queries and ratings recur in many rows: each text is kept once
        ratings.append(Rating(intern(query), url, intern(value), rater))
        places.setdefault(value, place)
    if not ratings and not reading.left_out and _READERS[layout] is table_ratings:
        # COEC of `clicks judgments` has no scale: its column grade is empty, beside what it measured
        without = replace(reading, layout=layout, left_out=("grade",))
        return read_judgment_file(file, without, Counter(counts), progress=progress)
    if not ratings:
        raise InputError(f"{file} has no rating; expected judgments in one of {', '.join(LAYOUTS)}")
    return JudgmentFile(file, layout, tuple(ratings), places)


def _check_texts(place: str, *texts: str) -> None:
    for text in texts:
        if not text.isascii() and not is_text(text):
            raise InputError(
                f"{place}: found {text!r}, expected text without lone surrogates; fix or remove it"
            )


def _layout_of(file: Path) -> str:
    recognised = recognise(file)
    if recognised.layout.name in IMPORTED_LAYOUTS:
        return IMPORTED_LAYOUTS[recognised.layout.name]
    if recognised.command:
        raise InputError(f"{file} is {recognised.layout.what}, not judgments; try: {recognised.command}")
    if recognised.problem:
        raise InputError(f"{file} is {recognised.layout.what}; {recognised.problem}")
    if wide := _rater_columns(file):
        options = " ".join(f"--rater-column {shlex.quote(name)}" for name in wide)
        raise InputError(
            f"{file} has no column of ratings; if {' and '.join(wide)} have the ratings of a judge each: "
            f"clickassay import judgments {shlex.quote(str(file))} {options} --out FOLDER, which writes "
            "FOLDER/judgments.parquet"
        )
    begins = f" (it begins {recognised.head[0]!r})" if recognised.head else ""
    raise InputError(
        f"{file} is {recognised.layout.what}{begins}; expected judgments in one of {', '.join(LAYOUTS)}, "
        "such as a table whose header has query, docid (or url) and rating (or grade): rename its columns so"
    )


def _rater_columns(file: Path) -> list[str]:
    """Return the columns of numbers of delimited text that has a query, a document and several of them."""
    lines = head(file, 1 << 16).decode("utf-8", errors="replace").split("\n")[:2]
    try:
        (_, names), (_, cells) = rows.delimited(file, enumerate(lines, 1))
    except (InputError, ValueError):
        return []
    keys = [rows.column_key(name) for name in names]
    if rows.place(keys, rows.QUERY) is None or rows.place(keys, rows.DOCUMENT) is None:
        return []
    others = [
        name.strip()
        for name, key, cell in zip(names, keys, cells, strict=False)
        if key not in {*rows.QUERY, *rows.DOCUMENT, *rows.RANK}
        and re.fullmatch(r"-?\d+([.,]\d+)?", cell.strip())
    ]
    return others if len(others) > 1 else []


def _qrels(
    file: Path, reading: ReadOptions, counts: dict[str, int], progress: Progress
) -> Iterator[FoundRating]:
    found = qrels_lines(file, reading.lines(file, progress), counts, short=True)
    counts["qrels_of_subtopics"] += found.height if subtopics(found) else 0
    for number, topic, document, grade in found.select("line", "query", "doc", "grade").iter_rows():
        yield f"{file}, line {number}", topic, document, grade, None


_READERS: dict[str, Reader] = {
    "table": table_ratings,
    "quepid": table_ratings,
    "beir": table_ratings,
    "srw": srw_ratings,
    "rre": rre_ratings,
    "rank-eval": rank_eval_ratings,
    "qrels": _qrels,
}
