"""Judgments of other tools into ``judgments.parquet``; docs/reference/formats.md has the mapping."""

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
    JudgmentFile,
    Rating,
    ReadOptions,
    read_judgment_file,
)
from clickassay.inputs.importers.judgments.raters import RULES, GradedRating, combine_raters, file_judges
from clickassay.inputs.importers.judgments.scales import grades_of, parse_grade_map, value_key
from clickassay.inputs.paths import is_text

BY_JUDGE = arrow_schema(columns.JUDGMENTS, "judge")
"""One row per (query, url, grade, judge), where there are several judges."""

_NOT_JUDGED = "-1"
_USUAL_TOP = 4
_COUNTS = (
    *("files", "blank_lines", "ratings_read", "ratings_blank", "queries_unrated"),
    *(
        "qrels_not_judged",
        "qrels_below_0",
        "qrels_of_subtopics",
        "topics_not_in_file",
        "ratings_of_topics_not_in_file",
    ),
    *("raters", "ratings_left_aside", "results_rated_by_several", "results_raters_differ"),
    *("judgments", "queries", "judgments_repeated", "judgments_conflicting"),
)


@dataclass(frozen=True)
class RatingOptions:
    """The user's options for ratings.

    Attributes
    ----------
    grade_map
        ``0=0,1=1,10=3,100=4``: the grade of every rating.
    max_grade
        Highest grade of the scale; ratings beyond are refused.
    raters
        One of `RULES`; None = each, where a file names raters.
    judges
        Names of the judges of the files: none, one for all, or one for each file.
    query_map
        Tab separated: topic of qrels, and its query.
    """

    grade_map: str | None = None
    max_grade: int | None = None
    raters: str | None = None
    judges: tuple[str, ...] = ()
    query_map: Path | None = None


def import_judgments(
    files: Sequence[Path],
    *,
    out: Path,
    read_options: ReadOptions | None = None,
    rating_options: RatingOptions | None = None,
    progress: Progress = silent,
) -> Imported:
    """Translate ratings of other tools into ``judgments.parquet``.

    Parameters
    ----------
    files
        One or more, of one layout or several.
    read_options, rating_options
        How to read the files, and what their ratings stand for.

    Raises
    ------
    InputError
        If a file is missing or broken, or its ratings are no grades and there is no grade map.
    SettingsError
        If options contradict each other.
    """
    reading, options = read_options or ReadOptions(), rating_options or RatingOptions()
    _check(reading, options)
    grade_map = None if options.grade_map is None else _grade_map(options.grade_map, options.max_grade)
    with importing(out, _COUNTS, progress) as folder:
        counts = folder.counts
        read = [read_judgment_file(file, reading, counts, progress=progress) for file in files]
        names = _topic_queries(read, reading, options, progress)
        graded = list(_grade_ratings(read, names, grade_map, options, counts))
        kept = _write_rows(combine_raters(graded, options.raters or "each", counts), folder)
        inputs = {f"file_{number}": file for number, file in enumerate(files, 1)}
        notes = _notes(kept, read, options, counts)
        settings = _settings(read, reading, options)
        return folder.finish("judgments", {**inputs, "query_map": options.query_map}, notes, settings)


def _check(reading: ReadOptions, options: RatingOptions) -> None:
    if options.raters is not None and options.raters not in RULES:
        raise SettingsError(f"--raters: found {options.raters!r}, expected one of {', '.join(RULES)}")
    for judge in options.judges:
        if not is_text(judge):
            raise SettingsError(f"--judge: found {judge!r}, expected a name in UTF-8")
    try:
        codecs.lookup(reading.encoding)
    except LookupError:
        raise SettingsError(
            f"--encoding: found {reading.encoding!r}, expected a name such as utf-8, gb18030 or latin-1"
        ) from None
    if "\n".encode(reading.encoding) != b"\n":
        raise SettingsError(
            f"--encoding {reading.encoding}: expected one in which a line ends with one byte; "
            f"write the file in UTF-8 first (iconv -f {reading.encoding} -t utf-8)"
        )


def _grade_map(text: str, max_grade: int | None) -> Mapping[str, int]:
    grade_map = parse_grade_map(text)
    highest = max(grade_map.values())
    if max_grade is not None and highest > max_grade:
        raise SettingsError(
            f"--grade-map goes up to {highest}, --max-grade says {max_grade}; fix one of them"
        )
    return grade_map


# ---- topics -------------------------------------------------------------------------------------


def _topic_queries(
    read: Sequence[JudgmentFile], reading: ReadOptions, options: RatingOptions, progress: Progress
) -> Mapping[str, str] | None:
    """Return the query of each topic; None without a query map."""
    if options.query_map is None:
        return None
    if all(file.layout != "qrels" for file in read):
        raise InputError(
            f"{options.query_map} names queries of topics, but no file has TREC qrels; omit --query-map"
        )
    names: dict[str, str] = {}
    for number, text in reading.lines(options.query_map, progress):
        topic, tab, query = text.partition("\t")
        if not text.strip():
            continue
        if not tab or not topic.strip() or not query.strip():
            raise malformed(options.query_map, number, text, expected="'topic TAB query'")
        if names.setdefault(topic.strip(), query.strip()) != query.strip():
            raise malformed(options.query_map, number, text, expected="each topic with one query")
    return names


# ---- grades -------------------------------------------------------------------------------------


def _grade_ratings(
    read: Sequence[JudgmentFile],
    names: Mapping[str, str] | None,
    grade_map: Mapping[str, int] | None,
    options: RatingOptions,
    counts: dict[str, int],
) -> Iterator[GradedRating]:
    """Yield the ratings of all files as grades of one scale."""
    judges = file_judges(len(read), options.judges)
    used = [
        (file, judge, list(_ratings_used(file, grade_map or {}, counts)))
        for file, judge in zip(read, judges, strict=True)
    ]
    places: dict[str, str] = {}
    for file, _, ratings in used:
        for rating, key in ratings:
            places.setdefault(key, file.places[rating.value])
    if not places:
        raise InputError(f"{read[0].file} has no judgment: every grade is -1, not judged; give other qrels")
    grades = grades_of(places, grade_map=grade_map, max_grade=options.max_grade)
    for file, judge, ratings in used:
        query_of, stem = _query_names(file, names, counts), _as_text(file.file.stem)
        for rating, key in ratings:
            query = query_of.get(rating.query, rating.query)
            yield GradedRating(query, rating.url, grades[key], judge, rating.rater, stem)


def _as_text(name: str) -> str:
    """Return the name of a file; bytes that are no text are escaped, as in import.json."""
    return name.encode("utf-8", "backslashreplace").decode()


def _ratings_used(
    file: JudgmentFile, grade_map: Mapping[str, int], counts: dict[str, int]
) -> Iterator[tuple[Rating, str]]:
    """Yield ratings and their keys; grades of qrels below 0 are no grades, unless the map names them.

    TREC writes -1 for a document that was pooled and not judged, and -2 (or less) for spam.
    """
    counts["files"] += 1
    counts["ratings_read"] += len(file.ratings)
    keys = {value: value_key(value) for value in {rating.value for rating in file.ratings}}
    for rating in file.ratings:
        key = keys[rating.value]
        is_below_0 = file.layout == "qrels" and key.startswith("-") and key[1:].isdigit()
        if key in grade_map or not is_below_0:
            yield rating, key
        elif key == _NOT_JUDGED:
            counts["qrels_not_judged"] += 1
        else:
            counts["qrels_below_0"] += 1
            yield rating, "0"


def _query_names(
    file: JudgmentFile, names: Mapping[str, str] | None, counts: dict[str, int]
) -> Mapping[str, str]:
    """Return the query of each topic of qrels; topics that the query map lacks are marked and counted."""
    if names is None or file.layout != "qrels":
        return {}
    times = Counter(rating.query for rating in file.ratings)
    missing = times.keys() - names.keys()
    counts["topics_not_in_file"] += len(missing)
    counts["ratings_of_topics_not_in_file"] += sum(times[topic] for topic in missing)
    prefix = unmapped_prefix(names.values())
    return {topic: names.get(topic, prefix + topic) for topic in times}


# ---- rows ---------------------------------------------------------------------------------------

_Row = tuple[str, str, int, str | None]


def _write_rows(rows: Sequence[GradedRating], folder: CanonicalFolder) -> list[_Row]:
    """Write the distinct rows, and return them; with a column for the judge if some row has one."""
    kept = distinct_judgments([(row.query, row.url, row.grade, row.judge) for row in rows], folder.counts)
    folder.counts["queries"] = len({query for query, *_ in kept})
    by_judge = any(judge is not None for *_, judge in kept)
    with folder.table("judgments", BY_JUDGE if by_judge else JUDGMENTS) as writer:
        for row in kept:
            writer.add(*(row if by_judge else row[:3]))
    return kept


def _settings(
    read: Sequence[JudgmentFile], reading: ReadOptions, options: RatingOptions
) -> dict[str, object]:
    return {
        "layouts": [file.layout for file in read],
        "encoding": reading.encoding,
        "rater_columns": list(reading.rater_columns),
        "grade_map": options.grade_map,
        "max_grade": options.max_grade,
        "raters": options.raters or "each",
        "judges": list(options.judges),
    }


def _scale_options(top: int) -> str:
    """Return the options of a run for grades 0..`top`, where the defaults do not fit."""
    lower = {"relevant": 3, "success": 2}
    more = [f"--{name}-grade {top}" for name, usual in lower.items() if top < usual]
    return " ".join([f"--max-grade {top}", *more])


def _notes(
    rows: Sequence[_Row], read: Sequence[JudgmentFile], options: RatingOptions, counts: Mapping[str, int]
) -> Iterator[str]:
    highest = max(grade for _, _, grade, _ in rows)
    if highest != _USUAL_TOP:
        yield f"Grades go up to {highest}: give a run {_scale_options(max(1, highest))}, or its scale."
    judges = sorted({judge for *_, judge in rows if judge is not None})
    if judges and not options.judges and options.raters is None:
        yield (
            f"Each rater is a judge ({', '.join(judges[:5])}{', …' if len(judges) > 5 else ''}): a run "
            "reports each; --raters majority or median combines their grades."
        )
    if FINAL in judges and options.raters is None:
        yield "The judge 'final' is the column final_rating; --raters final takes it alone."
    if any(file.layout == "qrels" for file in read) and options.query_map is None:
        yield "Queries are ids of topics: if the log has texts, give --query-map, a TSV of topic and query."
    if counts["qrels_not_judged"] or counts["qrels_below_0"]:
        yield "Grades of qrels below 0: -1 (not judged) was dropped, -2 and less (spam) became 0."
    if counts["topics_not_in_file"]:
        yield "Some topics are not in the query map: their queries are called unmapped:<topic>."
    if counts["qrels_of_subtopics"]:
        yield (
            "Column 2 of the qrels looks like a subtopic, as diversity judgments have it: give a run "
            "--conflicts max, which takes the highest grade of each result."
        )
    elif counts["judgments_conflicting"]:
        yield "Some results have two grades of one judge: choose a rule (--conflicts) for the run."
