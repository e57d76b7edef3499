"""Judgments of other tools into ``judgments.parquet``; docs/reference/formats.md has the mapping."""

import codecs
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.progress import Progress, silent
from clickassay.core.text.paths import is_text
from clickassay.core.text.words import plural
from clickassay.inputs.files import malformed
from clickassay.inputs.importers.base import (
    JUDGMENTS,
    CanonicalFolder,
    Imported,
    distinct_judgments,
    importing,
    unmapped_prefix,
)
from clickassay.inputs.importers.judgments.files import OF_TOPICS, JudgmentFile, read_judgment_file
from clickassay.inputs.importers.judgments.raters import (
    FINAL,
    RULES,
    GradedRating,
    combine_raters,
    file_judges,
)
from clickassay.inputs.importers.judgments.rating import Rating, ReadOptions
from clickassay.inputs.text.grades import (
    NOT_JUDGED,
    NULL_WORDS,
    GradeMap,
    grades_of_files,
    parse_cuts,
    parse_grade_map,
    value_key,
)
from clickassay.inputs.types import columns
from clickassay.inputs.types.columns import arrow_schema

BY_JUDGE = arrow_schema(columns.JUDGMENTS, "judge")
"""One row per (query, url, grade, judge), where there are several judges."""

_USUAL_TOP = 4
_COUNTS = (
    *("files", "blank_lines", "ratings_read", "ratings_blank", "ratings_not_judged", "queries_unrated"),
    *("queries_named_by_id", "qrels_below_0", "qrels_of_subtopics"),
    *("topics_not_in_file", "ratings_of_topics_not_in_file"),
    *("raters", "ratings_left_aside", "results_rated_by_several", "results_raters_differ"),
    "results_rated_twice_by_one",
    *("judgments", "queries", "judgments_repeated", "judgments_conflicting"),
)


@dataclass(frozen=True)
class RatingOptions:
    """The user's options for ratings."""

    # ``0=0,1=1,10=3,100=4``, ``..0.5=0,0.5..=1``: the grade of every rating, none = not judged; one for all
    # files, or one for each, empty where the ratings of a file are grades.
    grade_map: str | tuple[str, ...] | None = None
    # ``0.25,0.5,0.75``: a rating has as its grade how many of them it reaches; in place of a grade map.
    cuts: str | None = None
    max_grade: int | None = None  # Highest grade of the scale; ratings beyond are refused.
    raters: str | None = None  # One of `RULES`; None = each, where a file names raters.
    judges: tuple[str, ...] = ()  # Names of the judges of the files: none, one for all, or one for each file.
    query_map: Path | None = None  # Tab separated: topic of qrels, and its query.
    # ``max``: of several grades of a result by one judge the highest is kept, as for subtopics; None = all
    # are, and a run has the rule.
    conflicts: Literal["max"] | None = None
    repeats: bool = False  # Whether equal grades of a result by one judge are all kept.


def import_judgments(
    files: Sequence[Path],
    *,
    out: Path,
    read_options: ReadOptions | None = None,
    rating_options: RatingOptions | None = None,
    progress: Progress = silent,
) -> Imported:
    """Translate ratings of other tools into ``judgments.parquet``.

    files: one or more, of one layout or several.
    read_options, rating_options: how to read the files, and what their ratings stand for.

    Raises InputError if a file is missing or broken, or its ratings are no grades and there is no grade map;
    SettingsError if options contradict each other.
    """
    reading, options = read_options or ReadOptions(), rating_options or RatingOptions()
    _check(reading, options)
    maps = _grade_maps(options, len(files))
    inputs = {f"file_{number}": file for number, file in enumerate(files, 1)}
    with importing(out, {**inputs, "query_map": options.query_map}, _COUNTS, progress) as folder:
        counts = folder.counts
        read = [read_judgment_file(file, reading, counts, progress=progress) for file in files]
        names = _topic_queries(read, reading, options, progress)
        graded = list(_grade_ratings(read, names, maps, options, counts))
        kept = _write_rows(combine_raters(graded, options.raters or "each", counts), folder, options)
        notes = _notes(kept, read, options, counts)
        settings = _settings(read, reading, options)
        return folder.finish("judgments", notes, settings)


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


def _grade_maps(options: RatingOptions, files: int) -> list[GradeMap | None]:
    """Return the map of each file; None where its ratings are grades."""
    given = (options.grade_map,) if isinstance(options.grade_map, str) else options.grade_map or ()
    if options.cuts is not None:
        if given:
            raise SettingsError(
                "give --grade-map or --cuts, not both; a map may have ranges, e.g. 0.25..0.5=1"
            )
        return [_within(parse_cuts(options.cuts), options.max_grade)] * files
    if len(given) not in (0, 1, files):
        raise SettingsError(
            f"--grade-map: found {len(given)} maps for {files} files, expected one, or one for each file"
        )
    maps = [_within(parse_grade_map(text), options.max_grade) if text.strip() else None for text in given]
    return maps if len(maps) == files else (maps or [None]) * files


def _within(grade_map: GradeMap, max_grade: int | None) -> GradeMap:
    if max_grade is not None and grade_map.highest > max_grade:
        raise SettingsError(
            f"--grade-map goes up to {grade_map.highest}, --max-grade says {max_grade}; fix one of them"
        )
    return grade_map


# ---- topics -------------------------------------------------------------------------------------


def _topic_queries(
    read: Sequence[JudgmentFile], reading: ReadOptions, options: RatingOptions, progress: Progress
) -> Mapping[str, str] | None:
    """Return the query of each topic; None without a query map."""
    if options.query_map is None:
        return None
    if all(file.layout not in OF_TOPICS for file in read):
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
    maps: Sequence[GradeMap | None],
    options: RatingOptions,
    counts: dict[str, int],
) -> Iterator[GradedRating]:
    """Yield the ratings of all files as grades of one scale."""
    used = [list(_ratings_used(file, of_file, counts)) for file, of_file in zip(read, maps, strict=True)]
    places: list[dict[str, str]] = [{} for _ in read]
    for found, file, ratings in zip(places, read, used, strict=True):
        for rating, key in ratings:
            found.setdefault(key, file.places[rating.value])
    grades = grades_of_files(places, maps, options.max_grade)
    judges = file_judges(len(read), options.judges)
    for file, of_file, judge, ratings, by_key in zip(read, maps, judges, used, grades, strict=True):
        query_of, stem = _query_names(file, names, counts), _as_text(file.file.stem)
        if all(by_key[key] == NOT_JUDGED for key in by_key):
            raise InputError(
                f"{file.file} has no judgment: every rating is -1, or a word that says so; give others"
            )
        for rating, key in ratings:
            if by_key[key] == NOT_JUDGED:
                is_blank = key in NULL_WORDS and not (of_file and key in of_file.values)
                counts["ratings_blank" if is_blank else "ratings_not_judged"] += 1
                continue
            query = query_of.get(rating.query, rating.query)
            yield GradedRating(query, rating.url, by_key[key], judge, rating.rater, stem)


def _as_text(name: str) -> str:
    """Return the name of a file; bytes that are no text are escaped, as in import.json."""
    return name.encode("utf-8", "backslashreplace").decode()


def _ratings_used(
    file: JudgmentFile, grade_map: GradeMap | None, counts: dict[str, int]
) -> Iterator[tuple[Rating, str]]:
    """Yield ratings and keys; spam of qrels is 0, unless the map names it."""
    counts["files"] += 1
    counts["ratings_read"] += len(file.ratings)
    by_map = grade_map or GradeMap({})
    keys = {value: value_key(value) for value in {rating.value for rating in file.ratings}}
    if file.layout in OF_TOPICS:
        spam = [
            value for value, key in keys.items() if re.fullmatch(r"-\d+", key) and by_map.grade(key) is None
        ]
        counts["qrels_below_0"] += sum(rating.value in spam for rating in file.ratings)
        keys |= dict.fromkeys(spam, "0")
    yield from ((rating, keys[rating.value]) for rating in file.ratings)


def _query_names(
    file: JudgmentFile, names: Mapping[str, str] | None, counts: dict[str, int]
) -> Mapping[str, str]:
    """Return the query of each topic of qrels; topics that the query map lacks are marked and counted."""
    if names is None or file.layout not in OF_TOPICS:
        return {}
    times = Counter(rating.query for rating in file.ratings)
    missing = times.keys() - names.keys()
    counts["topics_not_in_file"] += len(missing)
    counts["ratings_of_topics_not_in_file"] += sum(times[topic] for topic in missing)
    prefix = unmapped_prefix(names.values())
    return {topic: names.get(topic, prefix + topic) for topic in times}


# ---- rows ---------------------------------------------------------------------------------------

_Row = tuple[str, str, int, str | None]


def _write_rows(rows: Sequence[GradedRating], folder: CanonicalFolder, options: RatingOptions) -> list[_Row]:
    """Write the distinct rows, and return them; with a column for the judge if some row has one."""
    every = [(row.query, row.url, row.grade, row.judge) for row in rows]
    kept = every if options.repeats else distinct_judgments(every, folder.counts)
    if options.conflicts == "max":
        kept = _highest(kept)
    folder.counts["judgments"] = len(kept)
    folder.counts["queries"] = len({query for query, *_ in kept})
    by_judge = any(judge is not None for *_, judge in kept)
    with folder.table("judgments", BY_JUDGE if by_judge else JUDGMENTS) as writer:
        for row in kept:
            writer.add(*(row if by_judge else row[:3]))
    return kept


def _highest(rows: Sequence[_Row]) -> list[_Row]:
    """Return one row of each result and judge, with its highest grade."""
    best: dict[tuple[str, str, str | None], int] = {}
    for query, url, grade, judge in rows:
        best[query, url, judge] = max(grade, best.get((query, url, judge), grade))
    return [(query, url, grade, judge) for (query, url, judge), grade in best.items()]


def _settings(
    read: Sequence[JudgmentFile], reading: ReadOptions, options: RatingOptions
) -> dict[str, object]:
    return {
        "layouts": [file.layout for file in read],
        "encoding": reading.encoding,
        "rater_columns": list(reading.rater_columns),
        "columns": dict(reading.names),
        "grade_map": options.grade_map,
        "cuts": options.cuts,
        "conflicts": options.conflicts,
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
    if any(file.layout in OF_TOPICS for file in read) and options.query_map is None:
        yield "Queries are ids of topics: if the log has texts, give --query-map, a TSV of topic and query."
    if counts["ratings_not_judged"]:
        yield "Ratings that say that nobody judged (-1, refused, …) were dropped; --grade-map can grade them."
    if counts["qrels_below_0"]:
        yield "Grades of qrels of -2 and less (spam) became 0."
    if counts["topics_not_in_file"]:
        yield "Some topics are not in the query map: their queries are called unmapped:<topic>."
    if counts["queries_named_by_id"]:
        yield "Some requests search more than one text, or none: their queries are called by their ids."
    if counts["results_rated_twice_by_one"] and options.raters in ("majority", "median"):
        twice = plural(counts["results_rated_twice_by_one"], "result")
        yield f"Of {twice}, one rater gave two grades: both count (--raters {options.raters})."
    yield from _notes_on_conflicts(read, options, counts)


def _notes_on_conflicts(
    read: Sequence[JudgmentFile], options: RatingOptions, counts: Mapping[str, int]
) -> Iterator[str]:
    others = plural(counts["judgments_conflicting"], "grade")
    if options.conflicts == "max" and counts["judgments_conflicting"]:
        yield f"{others} of results that have a higher one of the same judge are dropped (--conflicts max)."
    elif options.conflicts is None and counts["qrels_of_subtopics"]:
        yield (
            "Column 2 of the qrels looks like a subtopic, as diversity judgments have it: give --conflicts "
            "max, here or to a run, which takes the highest grade of each result."
        )
    elif counts["judgments_conflicting"] and len(read) > 1 and not options.judges and not counts["raters"]:
        names = " ".join(f"--judge {shlex.quote(_as_text(file.file.stem))}" for file in read)
        yield (
            f"{others} of results that have another one: the files name no judges, so all count as one. "
            f"{names} keeps them apart."
        )
    elif counts["judgments_conflicting"]:
        yield (
            f"{others} of results that have another one of the same judge: choose a rule (--conflicts) for "
            "the run."
        )
