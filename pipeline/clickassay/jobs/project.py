"""A project file made of what lies in a folder: its tables, the columns they call otherwise, their scale."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import ClickassayError, InputError
from clickassay.core.files.scratch import with_scratch
from clickassay.core.settings import Settings
from clickassay.core.settings.of_tests import CALLED_CONTROL, TESTS
from clickassay.core.settings.project import TABLES
from clickassay.core.text.words import visible
from clickassay.inputs.columns import CANONICAL, IMPRESSIONS, SAYS_CLICKED, TABLE_COLUMNS, TEAMS
from clickassay.inputs.files import format_of
from clickassay.inputs.sources import mapping
from clickassay.inputs.sources.parts import first_part
from clickassay.inputs.sources.walk import find_files
from clickassay.inputs.staging.impressions import look_like_impressions
from clickassay.inputs.staging.sql import InputSql
from clickassay.inputs.tables import collected
from clickassay.inputs.text.detect import Recognised, recognise
from clickassay.inputs.text.grades import is_not_judged, usual_scale, value_key
from clickassay.inputs.text.lines import head
from clickassay.inputs.types import has_no_zone
from clickassay.jobs.inputs import impressions, opened

_CURRENT, _DEFAULT_GRADE = "NDCG", 4
_LONGEST = 300

_HEAD_BYTES = 1 << 12
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_SOME_ROWS = 1_000_000
"""Rows in which tests are looked for."""

_FEW = 12
"""A folder with more entries is one table: its folders are days or parts."""


@dataclass(frozen=True)
class FoundTable:
    """A table of a folder."""

    name: str  # A table of `TABLES`.
    path: str  # A file, a folder, or a glob for files that are alike.
    columns: Mapping[str, str] = field(default_factory=dict)  # The columns that it calls otherwise, by ours.
    schema: pl.Schema = field(default_factory=pl.Schema)  # Columns and types of its first file.
    is_impressions: bool = False  # Whether it has one row for each result shown.
    # Of judgments: the several files that they lie in, and whether each of these is a judge.
    parts: tuple["FoundTable", ...] = ()
    are_judges: bool = False

    @property
    def has_clicks(self) -> bool:
        """Whether its rows are results shown that say whether they were clicked."""
        return self.is_impressions and not SAYS_CLICKED.isdisjoint({*self.schema, *self.columns})

    @property
    def team(self) -> str | None:
        """The column that says which ranker gave each result of an interleaved list; None without one."""
        name = "team" if self.is_impressions else TEAMS
        return name if self.name == "searches" and name in {*self.schema, *self.columns} else None

    @property
    def says_arms(self) -> bool:
        """Whether it says which arm of an A/B test a user was in."""
        return self.name in ("searches", "assignments") and "variant" in {*self.schema, *self.columns}

    def source(self, folder: Path) -> str | InputSql:
        """Return the path from a folder, or the SQL that puts the parts together."""
        return InputSql(_joined(self, folder)) if self.parts else _relative(self.path, folder)


@dataclass(frozen=True)
class FoundProject:
    """The tables of a folder, and what else was met there."""

    tables: tuple[FoundTable, ...]  # One of each name at most, in the order of `TABLES`.
    others: tuple[str, ...] = ()  # What further places are, one line each.

    @property
    def sources(self) -> dict[str, str | InputSql]:
        """Where each table lies, from the working folder, by its name."""
        return {one.name: one.source(Path()) for one in self.tables}

    @property
    def column(self) -> tuple[str, ...]:
        """The setting `column` that the tables need."""
        return tuple(f"{one.name}.{ours}={path}" for one in self.tables for ours, path in one.columns.items())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a run ignores and a user may miss, and what it makes of tests, one line each."""
        ignored = (
            told
            for one in self.tables
            for told in mapping.arms_told(
                one.name, IMPRESSIONS if one.is_impressions else TABLE_COLUMNS[one.name], one.schema
            )
        )
        arms = (tests_told(one.name, "variant") for one in self.tables if one.says_arms)
        return (*ignored, *arms, *(tests_told(one.name, one.team) for one in self.tables if one.team))

    @property
    def missing(self) -> tuple[str, ...]:
        """The tables that a run needs besides."""
        has_clicks = any(one.has_clicks for one in self.tables)
        needed = ("searches", *(() if has_clicks else ("clicks",)), "judgments")
        return tuple(name for name in needed if name not in self.sources)


@with_scratch()
def found_project(folder: Path) -> FoundProject:
    """Return a folder's tables of a log, all its judgments, by their columns; InputError if not listed."""
    tables: dict[str, FoundTable] = {}
    others: list[str] = []
    judged: list[FoundTable] = []
    for path in _candidates(folder):
        table = _recognised(path)
        if table is None:
            others += _other(path)
        elif table.name == "judgments" and format_of(Path(path)) is not None:
            judged.append(table)
        elif table.name in tables and not _fits_better(table, tables[table.name]):
            others.append(f"{path}: {table.name} too")
        else:
            if table.name in tables:
                others.append(f"{tables[table.name].path}: {table.name} too")
            tables[table.name] = table
    if judged and "judgments" not in tables:
        tables["judgments"] = _together(judged)
    else:
        others += [f"{one.path}: judgments too" for one in judged]
    if "assignments" in tables and "searches" in tables and tables["searches"].says_arms:
        path = tables.pop("assignments").path
        others.append(f"{path}: assignments too, not needed: searches have a column variant")
    return FoundProject(tuple(tables[name] for name in TABLES if name in tables), tuple(others))


def tests_told(name: str, column: str) -> str:
    """Return what a column `variant`, or of rankers, of a table of this name leads to."""
    *some, last = CALLED_CONTROL
    kind = "A/B" if column == "variant" else "interleaved"
    return (
        f"{name}: column {column}: its {kind} tests are reported; if control is not called "
        f"{', '.join(some)} or {last}, write [{TESTS}.NAME] with control = … in the project file, or add "
        "--test NAME.control=…"
    )


def _together(judged: Sequence[FoundTable]) -> FoundTable:
    """Return files of judgments as one table; those that name no judge are judges if they grade the same."""
    if len(judged) == 1:
        return judged[0]
    nameless = [one for one in judged if "judge" not in {*one.schema, *one.columns}]
    rows = []
    for one in nameless:
        with suppress(ClickassayError):
            named = Settings(column=FoundProject((one,)).column)
            rows.append(collected(opened("judgments", one.path, named)).select("query", "url").unique())
    are_judges = 0 < len(nameless) < len(judged) or (len(rows) > 1 and pl.concat(rows).is_duplicated().any())
    paths = ", ".join(one.path for one in judged)
    return FoundTable("judgments", paths, parts=tuple(judged), are_judges=are_judges)


def _joined(table: FoundTable, folder: Path, by: str = " ") -> str:
    """Return the SQL of judgments in several files; all is text there, for 007 is no number."""
    there = {name for one in table.parts for name in (*one.schema, *one.columns)}
    there |= {"judge"} if table.are_judges else set()
    selects = []
    for part in table.parts:
        absent = {"judge": Path(part.path).name.partition(".")[0], "market": EVERY}
        columns = []
        for name in [name for name in ("query", "url", "grade", "judge", "market") if name in there]:
            source = part.columns.get(name, name if name in part.schema else None)
            taken = _sql_text(absent[name]) if source is None else ""
            if source is not None:  # a column, or a field of records
                names = [source] if source in part.schema else source.split(".")
                taken = ".".join('"' + one.replace('"', '""') + '"' for one in names) + "::TEXT"
            columns.append(f"{taken} AS {name}")
        reader = _READERS[format_of(Path(part.path)) or ""]
        selects.append(
            f"SELECT {', '.join(columns)}{by}FROM {reader.format(_sql_text(_relative(part.path, folder)))}"
        )
    return f"{by}UNION ALL{by}".join(selects)


_READERS = {
    **dict.fromkeys(("csv", "tsv"), "read_csv({}, header = true, all_varchar = true)"),
    "json": "read_json({}, format = 'newline_delimited')",
    "parquet": "read_parquet({})",
}


def _sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def project_of(paths: Mapping[str, str], settings: Settings) -> FoundProject:
    """Return tables that were named as a project, with the columns that settings give other names."""
    tables = []
    for name, path in paths.items():
        schema = first_part(name, path).schema
        columns = mapping.names_of(name, settings.column)
        ours = {*columns, *schema} - set(columns.values())
        shows = name == "searches" and look_like_impressions(ours)
        tables.append(FoundTable(name, path, columns, schema, is_impressions=shows))
    return FoundProject(tuple(tables))


def _fits_better(table: FoundTable, other: FoundTable) -> bool:
    """Return whether a table has the name of the table, or more of our columns, or more under our names."""
    mine, its = (
        (one.name in Path(one.path).name, len(ours & {*one.schema, *one.columns}), -len(one.columns))
        for one in (table, other)
        for ours in [{want.name for want in CANONICAL.get(one.name, ())}]
    )
    return mine > its


def _candidates(folder: Path) -> list[str]:
    """Return the places of a folder that may be tables: folders, files, globs for files that are alike."""
    if folder.is_file():
        return [str(folder)]
    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    except OSError as error:
        raise InputError(f"cannot list {folder}: {error.strerror}") from error
    if any("=" in entry.name and entry.is_dir() for entry in entries):
        return [str(folder)]  # its folders are days or markets of one table
    files = [entry for entry in entries if entry.is_file()]
    alike: dict[str, list[Path]] = {}
    for file in files:
        name = re.sub(r"\d+", "*", file.name) if format_of(file) is not None else file.name
        alike.setdefault(name, []).append(file)
    found = [str(folder / name) if len(some) > 1 else str(some[0]) for name, some in alike.items()]
    folders = (entry for entry in entries if entry.is_dir())
    return found + [place for entry in folders for place in _of_folder(entry)]


def _of_folder(folder: Path) -> list[str]:
    """Return a folder as one table; or what is in it, where that is several tables."""
    try:
        inside = list(folder.iterdir())
    except OSError:
        return [str(folder)]
    if len(inside) > _FEW or not any(entry.is_dir() for entry in inside):
        return [str(folder)]
    places = _candidates(folder)
    names = {table.name for table in map(_recognised, places) if table}
    return places if len(names) > 1 else [str(folder)]


def _recognised(path: str) -> FoundTable | None:
    """Return the table that a place is; None if it is none."""
    try:
        part = first_part("init", path)
        schema = part.schema
        likely = mapping.likely_table(schema, part.frame, Path(path).name.lower())
        if likely is None and _is_imported(recognise(part.files[0])):
            return None
    except ClickassayError:
        return None
    if likely is not None:
        shows = likely.is_impressions
        return FoundTable(likely.name, path, likely.names, schema, is_impressions=shows)
    names = mapping.likely_columns(
        "queries", [one for one in ("query", "market") if one not in schema], schema
    )
    has_query = "query" in {*schema, *names} and len(schema) > 1
    is_attributes = has_query and "quer" in Path(path).name.lower()
    return FoundTable("queries", path, names, schema) if is_attributes else None


def _is_imported(seen: Recognised) -> bool:
    return bool(seen.command) and seen.layout.name not in CANONICAL


def _other(path: str) -> list[str]:
    """Return a line on a place that is no table: what reads it first; none on files of other things."""
    with suppress(ClickassayError):
        file = Path(path) if Path(path).is_file() else find_files("init", path).files[0]
        if not head(file, _HEAD_BYTES).strip():
            return [f"{path}: an empty file"]
        seen = recognise(file)
        if _is_imported(seen):
            grades = mapping.rival_grades(first_part("init", path).schema) if format_of(file) else []
            choice = f" {mapping.GRADE_OPTION}{grades[0]} ({mapping.may_be_grades(grades)})" if grades else ""
            return [f"{path}: {seen.layout.what}; first: {seen.command}{choice}"]
        if seen.problem:
            return [f"{path}: {seen.layout.what}; {seen.problem}"]
    is_table = format_of(Path(path)) is not None and not Path(path).is_dir()
    return [f"{path}: not a table of a log"] if is_table else []


def project_text(found: FoundProject, folder: Path, settings: Settings) -> str:
    """Return the text of a project file, which is to lie in `folder`, with given and needed settings."""
    lines = [
        "# What `clickassay run` reads, and how. Options and variables override it.",
        'out = "reports/{date}"  # one run per day',
        "",
        "[inputs]  # files, folders or globs; NAME_sql takes a SELECT or a FILE.sql instead",
    ]
    lines += [_input(one, folder) for one in found.tables]
    lines += [f'# {name} = "…"  # required; no file was recognised' for name in found.missing]
    lines += [f"# {visible(told, limit=_LONGEST)}" for told in (*found.others, *found.notes)]
    for one in found.tables:
        if one.columns:
            lines += ["", f"[columns.{one.name}]  # ours = yours"]
        for ours, path in one.columns.items():
            others = " or ".join(map(_quoted, mapping.rivals(ours, one.columns, one.schema)))
            lines.append(f"{ours} = {_quoted(path)}" + (f"  # or is it {visible(others)}?" if others else ""))
    for test, (variant, *rest) in _without_control(found, settings).items():
        name = test if re.fullmatch(r"[\w-]+", test, re.ASCII) else _quoted(test)
        too = visible(" or ".join(map(_quoted, rest[:_FEW])))
        lines += ["", f"[{TESTS}.{name}]", f"# control = {_quoted(variant)}  # or is it {too}?"]
    top = [one.line for one in guesses(found, settings)]
    return "\n".join([*lines[:2], *top, *lines[2:]]) + "\n"


@with_scratch()
def _without_control(found: FoundProject, settings: Settings) -> dict[str, list[str]]:
    """Return the variants, or rankers, of tests of which none, or several, are called as control is."""
    named = settings.model_copy(update={"column": found.column})
    arms: dict[str, list[str]] = {}
    for table in found.tables:
        for column in filter(None, ("variant" if table.says_arms else None, table.team)):
            with suppress(ClickassayError):
                shown = impressions(table.path, named) if table.is_impressions else None
                frame = (shown or opened(table.name, table.path, named)).frame.head(_SOME_ROWS)
                rows = frame.select("experiment", arm=pl.col(column))
                rows = rows.explode("arm") if column == TEAMS else rows
                is_named = (pl.col("arm") != "") & (pl.col("experiment") != "")
                some = rows.filter(is_named).unique().sort("experiment", "arm").collect()
                for test, arm in some.iter_rows():
                    arms.setdefault(test, []).append(arm)
    return {
        test: own
        for test, own in list(arms.items())[:_FEW]
        if len(own) > 1 and sum(one.strip().lower() in CALLED_CONTROL for one in own) != 1
    }


def _input(table: FoundTable, folder: Path) -> str:
    if table.parts:
        sql = _joined(table, folder, by="\n")
        is_plain = "'''" not in sql and sql.replace("\n", "").isprintable()
        text = f"'''\n{sql}'''" if is_plain else _quoted(sql)
        return f"{table.name}_sql = {text}" + (
            "  # each file without judges is one judge" if table.are_judges else ""
        )
    what = "  # one row per result shown" if table.is_impressions else ""
    what += ", clicks too" if table.has_clicks else ""
    what += "  # for `clickassay experiments` and rules on tests" if table.name == "past_tests" else ""
    return f"{table.name} = {_quoted(_relative(table.path, folder))}{what}"


def _relative(path: str, folder: Path) -> str:
    place, base = Path(path).absolute(), folder.absolute()
    return str(place.relative_to(base)) if place.is_relative_to(base) else str(place)


def _quoted(text: str) -> str:
    """Return a text as TOML has it: as JSON has it, but for the last sign of ASCII."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass(frozen=True)
class Guess:
    """A setting that tables need, or that only the user knows."""

    name: str
    value: str | int | tuple[str, ...]
    why: str = ""
    is_set: bool = True  # Whether it is used; else the user is to correct it first.

    @property
    def line(self) -> str:
        """The line of a project file."""
        mark, why = "" if self.is_set else "# ", f"  # {self.why}" if self.why else ""
        return f"{mark}{self.name} = {json.dumps(self.value, ensure_ascii=False)}{why}".replace(
            "\x7f", "\\u007f"
        )


@with_scratch()
def guesses(found: FoundProject, settings: Settings) -> list[Guess]:
    """Return settings that the tables need: the metric in use, the shape, the zone of times, the scale."""
    some = [Guess("current", _CURRENT, "the metric you use")]
    by_name = {one.name: one for one in found.tables}
    searches = by_name.get("searches")
    if searches is not None and searches.is_impressions:
        some.append(Guess("shape", "impressions", "one row for each result shown"))
    times = {name: one.schema.get(one.columns.get("timestamp", "timestamp")) for name, one in by_name.items()}
    if any(has_no_zone(dtype) for dtype in times.values()):
        some.append(Guess("time_zone", settings.time_zone, "for times without a zone"))
    if "judgments" not in by_name:
        return some
    try:
        named = settings.model_copy(update={"column": found.column})
        rows = collected(opened("judgments", by_name["judgments"].source(Path()), named))
    except ClickassayError:
        return some
    keys = {value_key(str(one)) for one in rows["grade"].drop_nulls().unique()}
    labels = sorted(key for key in keys if key in settings.scale or not is_not_judged(key))
    if any(_NUMBER.fullmatch(label) is None for label in labels):
        if set(labels) <= set(settings.scale):
            return some
        scale = usual_scale(labels)
        if not scale:
            why = "sort them, worst first, and remove the first #"
            return [*some, Guess("scale", tuple(labels[:20]), why, is_set=False)]
        highest = len(scale) - 1
        some.append(Guess("scale", scale, "worst first"))
    else:
        highest = int(max(map(float, labels), default=0))
        if highest < 1 or highest == _DEFAULT_GRADE:
            return some
        some.append(Guess("max_grade", highest, "the highest grade found; does the scale go higher?"))
    lowest = {"relevant_grade": settings.relevant_grade, "success_grade": settings.success_grade}
    return some + [Guess(name, highest) for name, grade in lowest.items() if highest < grade]
