"""Judgments of other tools into ``judgments.parquet``; docs/reference/formats.md has the mapping."""

import codecs
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Literal

import polars as pl

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.progress import Progress, silent
from clickassay.core.text.paths import is_text
from clickassay.core.text.words import plural
from clickassay.inputs import columns
from clickassay.inputs.columns import arrow_schema
from clickassay.inputs.files import malformed
from clickassay.inputs.importers import base
from clickassay.inputs.importers.ratings import OF_TOPICS, JudgmentFile, ReadOptions, read_judgment_file
from clickassay.inputs.text import grades as scales

BY_JUDGE = arrow_schema(columns.JUDGMENTS, "judge")
"""One row per (query, url, grade, judge), where there are several judges."""

FINAL = "final"
"""The rater of a column ``final_rating``: the grade on which the raters agreed in the end."""

RULES = ("each", "majority", "median", FINAL)

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
) -> base.Imported:
    """Translate ratings of other tools, in one layout or several, into ``judgments.parquet``.

    Raises InputError if a file is missing or broken, or its ratings are no grades and there is no grade map;
    SettingsError if options contradict each other.
    """
    reading, options = read_options or ReadOptions(), rating_options or RatingOptions()
    if options.raters is not None and options.raters not in RULES:
        raise SettingsError(f"--raters: found {options.raters!r}, expected one of {', '.join(RULES)}")
    for name in options.judges:
        if not is_text(name):
            raise SettingsError(f"--judge: found {name!r}, expected a name in UTF-8")
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
    maps = _grade_maps(options, len(files))
    inputs = {f"file_{number}": file for number, file in enumerate(files, 1)}
    with base.importing(out, {**inputs, "query_map": options.query_map}, _COUNTS, progress) as folder:
        read = [read_judgment_file(file, reading, folder.counts, progress=progress) for file in files]
        names = _topic_queries(read, reading, options, progress)
        graded = list(_grade_ratings(read, names, maps, options, folder.counts))
        rated = pl.DataFrame(graded, _GRADED, orient="row")
        rows = combine_raters(rated, options.raters or "each", folder.counts)
        every: list[_Row] = rows.select("query", "url", "grade", "judge").rows()
        kept = every if options.repeats else base.distinct_judgments(every, folder.counts)
        if options.conflicts == "max":
            best: dict[tuple[str, str, str | None], int] = {}
            for query, url, grade, judge in kept:
                best[query, url, judge] = max(grade, best.get((query, url, judge), grade))
            kept = [(query, url, grade, judge) for (query, url, judge), grade in best.items()]
        folder.counts["judgments"] = len(kept)
        folder.counts["queries"] = len({query for query, *_ in kept})
        by_judge = any(judge is not None for *_, judge in kept)
        with folder.table("judgments", BY_JUDGE if by_judge else base.JUDGMENTS) as writer:
            for row in kept:
                writer.add(*(row if by_judge else row[:3]))
        settings = {
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
        return folder.finish("judgments", _notes(kept, read, options, folder.counts), settings)


def _grade_maps(options: RatingOptions, files: int) -> list[scales.GradeMap | None]:
    given = (options.grade_map,) if isinstance(options.grade_map, str) else options.grade_map or ()
    if options.cuts is not None and given:
        raise SettingsError("give either --grade-map or --cuts; a map may contain ranges, e.g. 0.25..0.5=1")
    if len(given) not in (0, 1, files):
        raise SettingsError(
            f"--grade-map: found {len(given)} maps for {files} files, expected one, or one for each file"
        )
    maps = [scales.parse_grade_map(text) if text.strip() else None for text in given]
    if options.cuts is not None:
        maps = [scales.parse_cuts(options.cuts)]
    for one in maps:
        if one is not None and options.max_grade is not None and one.highest > options.max_grade:
            raise SettingsError(
                f"--grade-map goes up to {one.highest}, but --max-grade is {options.max_grade}; change "
                "one of them"
            )
    return maps if len(maps) == files else (maps or [None]) * files


def _topic_queries(
    read: Sequence[JudgmentFile], reading: ReadOptions, options: RatingOptions, progress: Progress
) -> Mapping[str, str] | None:
    if options.query_map is None:
        return None
    if all(file.layout not in OF_TOPICS for file in read):
        raise InputError(
            f"{options.query_map} maps topics to queries, but no file contains TREC qrels; omit --query-map"
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


_GRADED = pl.Schema({
    "query": pl.String, "url": pl.String, "grade": pl.Int64, "judge": pl.String, "rater": pl.String,
    "file": pl.String,
})  # fmt: skip
"""Grades, with the judge as the user named it, the rater as the file has it, the file without its ending."""


def _grade_ratings(
    read: Sequence[JudgmentFile],
    names: Mapping[str, str] | None,
    maps: Sequence[scales.GradeMap | None],
    options: RatingOptions,
    counts: dict[str, int],
) -> Iterator[tuple[str | int | None, ...]]:
    keys = [_rating_keys(file, of_file, counts) for file, of_file in zip(read, maps, strict=True)]
    places: list[dict[str, str]] = [{} for _ in read]
    for found, file, by_value in zip(places, read, keys, strict=True):
        for rating in file.ratings:
            found.setdefault(by_value[rating.value], file.places[rating.value])
    grades = scales.grades_of_files(places, maps, options.max_grade)
    one_for_all = [next(iter(options.judges), None)] * len(read)
    judges = list(options.judges) if len(options.judges) > 1 else one_for_all
    if len(judges) != len(read):
        raise InputError(
            f"--judge: found {len(judges)} names for {len(read)} files, expected one, or one for each file"
        )
    for file, of_file, judge, by_value, by_key in zip(read, maps, judges, keys, grades, strict=True):
        query_of, stem = _query_names(file, names, counts), _as_text(file.file.stem)
        if all(by_key[key] == scales.NOT_JUDGED for key in by_key):
            raise InputError(
                f"{file.file} has no judgment: every rating is -1 or a word such as refused; give "
                "another file"
            )
        for rating in file.ratings:
            key = by_value[rating.value]
            if by_key[key] == scales.NOT_JUDGED:
                is_blank = key in scales.NULL_WORDS and not (of_file and key in of_file.values)
                counts["ratings_blank" if is_blank else "ratings_not_judged"] += 1
                continue
            query = query_of.get(rating.query, rating.query)
            yield query, rating.url, by_key[key], judge, rating.rater, stem


def _as_text(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()


def _rating_keys(
    file: JudgmentFile, grade_map: scales.GradeMap | None, counts: dict[str, int]
) -> dict[str, str]:
    counts["files"] += 1
    counts["ratings_read"] += len(file.ratings)
    keys = {value: scales.value_key(value) for value in {rating.value for rating in file.ratings}}
    if file.layout in OF_TOPICS:
        by_map = grade_map or scales.GradeMap({})
        below = {value: key for value, key in keys.items() if re.fullmatch(r"-\d+", key)}
        spam = [value for value, key in below.items() if by_map.grade(key) is None]
        counts["qrels_below_0"] += sum(rating.value in spam for rating in file.ratings)
        keys |= dict.fromkeys(spam, "0")
    return keys


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
    prefix = base.unmapped_prefix(names.values())
    return {topic: names.get(topic, prefix + topic) for topic in times}


# ---- several raters -----------------------------------------------------------------------------


def majority(grades: Sequence[int]) -> int:
    """Return the most frequent grade; of several, the one nearest to the median, or the lower of two such.

    >>> majority([0, 2, 3]), majority([0, 3]), majority([1, 3, 3])
    (2, 0, 3)
    """
    times = Counter(grades)
    middle, most = median_low(grades), max(times.values())
    tied = sorted(grade for grade, n in times.items() if n == most)
    return min(tied, key=lambda grade: abs(grade - middle))


COMBINED: dict[str, Callable[[Sequence[int]], int]] = {"majority": majority, "median": median_low}
"""Of an even number of grades, the median is the lower of the two in the middle."""


def combine_raters(rows: pl.DataFrame, rule: str, counts: dict[str, int]) -> pl.DataFrame:
    """Apply a rule of `RULES` to rows that name raters; rows that name none stay as they are.

    With ``each``, each rater becomes a judge, and a row without a rater gets a judge named after its file:
    a run does not accept judgments without a judge next to others with one. Otherwise a rater who gave the
    same grade of a result twice counts once.

    Raises InputError if the rule is ``final`` and there are no final ratings.
    """
    rated = rows.filter(pl.col("rater") != FINAL)
    once = rated.unique(["judge", "query", "url", "rater", "grade"], keep="first", maintain_order=True)
    results = once.group_by("judge", "query", "url", maintain_order=True).agg(
        "grade", raters=pl.col("rater").n_unique(), grades=pl.col("grade").n_unique()
    )
    counts["raters"] = once["rater"].n_unique()
    counts["results_rated_by_several"] += int((results["raters"] > 1).sum())
    counts["results_raters_differ"] += int((results["grades"] > 1).sum())
    counts["results_rated_twice_by_one"] += int((results["raters"] < results["grade"].list.len()).sum())
    is_plain = pl.col("rater").is_null()
    if rule == "each":
        who = pl.concat_str("judge", "rater", separator="/", ignore_nulls=True)
        named = pl.when(is_plain & pl.col("judge").is_null()).then("file").otherwise(who)
        return rows if rows["rater"].null_count() == rows.height else rows.with_columns(judge=named)
    agreed = rows.filter(rater=FINAL)
    if rule == FINAL:
        if agreed.is_empty():
            raise InputError(
                "--raters final: no file has a column final_rating; choose each, majority or median"
            )
        counts["ratings_left_aside"] += rated.height
        return rows.filter(is_plain | (pl.col("rater") == FINAL))
    counts["ratings_left_aside"] += agreed.height
    counts["judgments_repeated"] += rated.height - once.height
    grades = pl.Series([COMBINED[rule](some) for some in results["grade"].to_list()], dtype=pl.Int64)
    return pl.concat(
        [results.select("query", "url", "judge", grade=grades), rows.filter(is_plain)], how="diagonal"
    )


# ---- rows ---------------------------------------------------------------------------------------

_Row = tuple[str, str, int, str | None]


def _notes(
    rows: Sequence[_Row], read: Sequence[JudgmentFile], options: RatingOptions, counts: Mapping[str, int]
) -> Iterator[str]:
    highest = max(grade for _, _, grade, _ in rows)
    if highest != _USUAL_TOP:  # the defaults of a run do not fit
        top = max(1, highest)
        lower = [f" --{name}-grade {top}" for name, usual in (("relevant", 3), ("success", 2)) if top < usual]
        yield f"Grades go up to {highest}: run with --max-grade {top}{''.join(lower)}, or with --scale."
    judges = sorted({judge for *_, judge in rows if judge is not None})
    if judges and not options.judges and options.raters is None:
        yield (
            f"Each rater is a judge ({', '.join(judges[:5])}{', …' if len(judges) > 5 else ''}): the report "
            "shows each; --raters majority or median combines their grades."
        )
    if FINAL in judges and options.raters is None:
        yield "The judge 'final' is the column final_rating; --raters final uses only this column."
    if any(file.layout in OF_TOPICS for file in read) and options.query_map is None:
        yield "Queries are topic ids: if the log has texts, give --query-map, a TSV of topic and query."
    if counts["ratings_not_judged"]:
        yield "Ratings without a judgment (-1, refused, …) were dropped; --grade-map can give them grades."
    if counts["qrels_below_0"]:
        yield "Grades of qrels of -2 and less (spam) became 0."
    if counts["topics_not_in_file"]:
        yield "Some topics are missing from the query map: their queries are named unmapped:<topic>."
    if counts["queries_named_by_id"]:
        yield "Some requests search several texts or none: their queries are named by request id."
    if counts["results_rated_twice_by_one"] and options.raters in ("majority", "median"):
        twice = plural(counts["results_rated_twice_by_one"], "result")
        yield f"For {twice}, one rater gave two grades: both count (--raters {options.raters})."
    yield from _notes_on_conflicts(read, options, counts)


def _notes_on_conflicts(
    read: Sequence[JudgmentFile], options: RatingOptions, counts: Mapping[str, int]
) -> Iterator[str]:
    others = plural(counts["judgments_conflicting"], "grade")
    if options.conflicts == "max" and counts["judgments_conflicting"]:
        yield f"{others} dropped (--conflicts max): the same judge graded the result higher."
    elif options.conflicts is None and counts["qrels_of_subtopics"]:
        yield (
            "Column 2 of the qrels looks like a subtopic, as in diversity judgments: add --conflicts "
            "max, here or to the run, to use the highest grade of each result."
        )
    elif counts["judgments_conflicting"] and len(read) > 1 and not options.judges and not counts["raters"]:
        names = " ".join(f"--judge {shlex.quote(_as_text(file.file.stem))}" for file in read)
        yield (
            f"{others} in conflict with another grade of the result: the files name no judges, so all "
            f"count as one. {names} separates them."
        )
    elif counts["judgments_conflicting"]:
        yield (
            f"{others} in conflict with another grade by the same judge: choose a rule (--conflicts) "
            "when you run."
        )
