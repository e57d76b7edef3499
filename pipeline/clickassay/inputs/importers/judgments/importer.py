"""Judgments of other tools into ``judgments.parquet``; docs/reference/formats.md says what is mapped."""

import codecs
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.progress import Progress, silent
from clickassay.inputs import columns
from clickassay.inputs.arrow import arrow_schema
from clickassay.inputs.files import malformed
from clickassay.inputs.importers.base import (
    JUDGMENTS,
    CanonicalFolder,
    Imported,
    distinct_judgments,
    importing,
    unmapped_prefix,
)
from clickassay.inputs.importers.judgments.files import (
    FINAL,
    HowToRead,
    JudgmentFile,
    Rating,
    read_judgment_file,
)
from clickassay.inputs.importers.judgments.raters import RULES, Graded, file_judges, settled
from clickassay.inputs.importers.judgments.scales import grades_of, parse_gain_map, value_key
from clickassay.inputs.paths import is_text

BY_JUDGE = arrow_schema(columns.JUDGMENTS, "judge")
"""One row per (query, url, grade, judge), where there are several judges."""

_NOT_JUDGED = "-1"
_USUAL_TOP = 4
_COUNTS = (
    *("files", "blank_lines", "ratings_read", "ratings_blank", "queries_unrated"),
    *("qrels_not_judged", "qrels_below_0", "topics_not_in_file", "ratings_of_topics_not_in_file"),
    *("raters", "ratings_left_aside", "results_rated_by_several", "results_raters_differ"),
    *("judgments", "queries", "judgments_repeated", "judgments_conflicting"),
)


@dataclass(frozen=True)
class Choices:
    """What a user decides about ratings.

    Attributes
    ----------
    gain_map
        ``0=0,1=1,10=3,100=4``: the grade of every rating.
    max_grade
        Highest grade of the scale; ratings beyond are refused.
    raters
        One of `RULES`; None = each, where a file names raters.
    judges
        What the judgments of the files are to be called: no name, one, or one for each file.
    topics
        Tab separated: topic of qrels, and its query.
    """

    gain_map: str | None = None
    max_grade: int | None = None
    raters: str | None = None
    judges: tuple[str, ...] = ()
    topics: Path | None = None


def import_judgments(
    files: Sequence[Path],
    *,
    out: Path,
    how: HowToRead | None = None,
    choices: Choices | None = None,
    progress: Progress = silent,
) -> Imported:
    """Translate ratings of other tools into ``judgments.parquet``.

    Parameters
    ----------
    files
        One or more, of one layout or several.
    how, choices
        What the user says of the files, and decides about the ratings.

    Raises
    ------
    InputError
        If a file is missing or broken, or its ratings are no grades and no map says what they stand for.
    SettingsError
        If the choices contradict each other or themselves.
    """
    how, choices = how or HowToRead(), choices or Choices()
    _check(how, choices)
    gain_map = None if choices.gain_map is None else _gain_map(choices.gain_map, choices.max_grade)
    with importing(out, _COUNTS, progress) as folder:
        counts = folder.counts
        read = [read_judgment_file(file, how, counts, progress=progress) for file in files]
        names = _topic_names(read, how, choices, progress)
        graded = list(_graded(read, names, gain_map, choices, counts))
        kept = _written(settled(graded, choices.raters or "each", counts), folder)
        inputs = {f"file_{number}": file for number, file in enumerate(files, 1)}
        notes = _notes(kept, read, choices, counts)
        settings = _settings(read, how, choices)
        return folder.finish("judgments", {**inputs, "topics": choices.topics}, notes, settings)


def _check(how: HowToRead, choices: Choices) -> None:
    if choices.raters is not None and choices.raters not in RULES:
        raise SettingsError(f"--raters: found {choices.raters!r}, expected one of {', '.join(RULES)}")
    for judge in choices.judges:
        if not is_text(judge):
            raise SettingsError(f"--judge: found {judge!r}, expected a name in UTF-8")
    try:
        codecs.lookup(how.encoding)
    except LookupError:
        raise SettingsError(
            f"--encoding: found {how.encoding!r}, expected a name such as utf-8, gb18030 or latin-1"
        ) from None
    if "\n".encode(how.encoding) != b"\n":
        raise SettingsError(
            f"--encoding {how.encoding}: expected one in which a line ends with one byte; "
            f"write the file in UTF-8 first (iconv -f {how.encoding} -t utf-8)"
        )


def _gain_map(text: str, max_grade: int | None) -> Mapping[str, int]:
    gain_map = parse_gain_map(text)
    highest = max(gain_map.values())
    if max_grade is not None and highest > max_grade:
        raise SettingsError(
            f"--gain-map goes up to {highest}, --max-grade says {max_grade}; mend one of them"
        )
    return gain_map


# ---- topics -------------------------------------------------------------------------------------


def _topic_names(
    read: Sequence[JudgmentFile], how: HowToRead, choices: Choices, progress: Progress
) -> Mapping[str, str] | None:
    """Return the query of each topic; None when no file of topics is given."""
    if choices.topics is None:
        return None
    if all(file.format != "qrels" for file in read):
        raise InputError(f"{choices.topics} names topics, but no file is of TREC qrels; leave --topics away")
    names: dict[str, str] = {}
    for number, text in how.lines(choices.topics, progress):
        topic, tab, query = text.partition("\t")
        if not text.strip():
            continue
        if not tab or not topic.strip() or not query.strip():
            raise malformed(choices.topics, number, text, expected="'topic TAB query'")
        if names.setdefault(topic.strip(), query.strip()) != query.strip():
            raise malformed(choices.topics, number, text, expected="each topic with one query")
    return names


# ---- grades -------------------------------------------------------------------------------------


def _graded(
    read: Sequence[JudgmentFile],
    names: Mapping[str, str] | None,
    gain_map: Mapping[str, int] | None,
    choices: Choices,
    counts: dict[str, int],
) -> Iterator[Graded]:
    """Yield the ratings of all files as grades of one scale."""
    judges = file_judges(len(read), choices.judges)
    used = [
        (file, judge, list(_used(file, gain_map or {}, counts)))
        for file, judge in zip(read, judges, strict=True)
    ]
    places: dict[str, str] = {}
    for file, _, ratings in used:
        for rating, key in ratings:
            places.setdefault(key, file.places[rating.value])
    if not places:
        raise InputError(f"{read[0].file} has no judgment: every grade is -1, not judged; give other qrels")
    grades = grades_of(places, gain_map=gain_map, max_grade=choices.max_grade)
    for file, judge, ratings in used:
        query_of, stem = _query_names(file, names, counts), _as_text(file.file.stem)
        for rating, key in ratings:
            query = query_of.get(rating.query, rating.query)
            yield Graded(query, rating.url, grades[key], judge, rating.rater, stem)


def _as_text(name: str) -> str:
    """Return the name of a file with bytes that are no text spelled out, as import.json has them."""
    return name.encode("utf-8", "backslashreplace").decode()


def _used(
    file: JudgmentFile, gain_map: Mapping[str, int], counts: dict[str, int]
) -> Iterator[tuple[Rating, str]]:
    """Yield ratings and their keys; grades of qrels below 0 are no grades, unless the map names them.

    TREC writes -1 for a document that was pooled and not judged, and -2 (or less) for spam.
    """
    counts["files"] += 1
    counts["ratings_read"] += len(file.ratings)
    keys = {value: value_key(value) for value in {rating.value for rating in file.ratings}}
    for rating in file.ratings:
        key = keys[rating.value]
        is_below_0 = file.format == "qrels" and key.startswith("-") and key[1:].isdigit()
        if key in gain_map or not is_below_0:
            yield rating, key
        elif key == _NOT_JUDGED:
            counts["qrels_not_judged"] += 1
        else:
            counts["qrels_below_0"] += 1
            yield rating, "0"


def _query_names(
    file: JudgmentFile, names: Mapping[str, str] | None, counts: dict[str, int]
) -> Mapping[str, str]:
    """Return the query of each topic of qrels; what the file of topics lacks is marked and counted."""
    if names is None or file.format != "qrels":
        return {}
    times = Counter(rating.query for rating in file.ratings)
    missing = times.keys() - names.keys()
    counts["topics_not_in_file"] += len(missing)
    counts["ratings_of_topics_not_in_file"] += sum(times[topic] for topic in missing)
    prefix = unmapped_prefix(names.values())
    return {topic: names.get(topic, prefix + topic) for topic in times}


# ---- rows ---------------------------------------------------------------------------------------

_Row = tuple[str, str, int, str | None]


def _written(rows: Sequence[Graded], folder: CanonicalFolder) -> list[_Row]:
    """Write what is distinct, and return it; the judge is a column where some row has one."""
    kept = distinct_judgments([(row.query, row.url, row.grade, row.judge) for row in rows], folder.counts)
    folder.counts["queries"] = len({query for query, *_ in kept})
    by_judge = any(judge is not None for *_, judge in kept)
    with folder.table("judgments", BY_JUDGE if by_judge else JUDGMENTS) as writer:
        for row in kept:
            writer.add(*(row if by_judge else row[:3]))
    return kept


def _settings(read: Sequence[JudgmentFile], how: HowToRead, choices: Choices) -> dict[str, object]:
    return {
        "formats": [file.format for file in read],
        "encoding": how.encoding,
        "rater_columns": list(how.rater_columns),
        "gain_map": choices.gain_map,
        "max_grade": choices.max_grade,
        "raters": choices.raters or "each",
        "judges": list(choices.judges),
    }


def _scale_options(top: int) -> str:
    """Return the options of a run on a scale 0..`top`; its defaults are for 0..4."""
    lower = {"relevant": 3, "success": 2}
    more = [f"--{name}-grade {top}" for name, usual in lower.items() if top < usual]
    return " ".join([f"--max-grade {top}", *more])


def _notes(
    rows: Sequence[_Row], read: Sequence[JudgmentFile], choices: Choices, counts: Mapping[str, int]
) -> Iterator[str]:
    highest = max(grade for _, _, grade, _ in rows)
    if highest != _USUAL_TOP:
        yield f"Grades go up to {highest}: give a run {_scale_options(max(1, highest))}, or the scale's own."
    judges = sorted({judge for *_, judge in rows if judge is not None})
    if judges and not choices.judges and choices.raters is None:
        yield (
            f"Raters are kept apart as judges ({', '.join(judges[:5])}{', …' if len(judges) > 5 else ''}): a "
            "run reports each; --raters majority or median makes one grade of theirs."
        )
    if FINAL in judges and choices.raters is None:
        yield "The judge 'final' is what was agreed upon in the end; --raters final takes it alone."
    if any(file.format == "qrels" for file in read) and choices.topics is None:
        yield "Queries are the topics' ids: if the log has texts, give --topics, a TSV of topic and query."
    if counts["qrels_not_judged"] or counts["qrels_below_0"]:
        yield "Grades of qrels below 0: -1 (not judged) was dropped, -2 and less (spam) became 0."
    if counts["topics_not_in_file"]:
        yield "Some topics have no query in the file of topics: they are called unmapped:<topic>."
    if counts["judgments_conflicting"]:
        yield "Some results have two grades of one judge: choose a rule (--conflicts) for the run."
