"""A project file made of what lies in a folder: its tables, the columns they call otherwise, their scale."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from clickassay.core.errors import ClickassayError, InputError
from clickassay.core.settings import Settings
from clickassay.core.settings.project import TABLES
from clickassay.core.text.words import visible
from clickassay.inputs.files import format_by_content, format_of
from clickassay.inputs.sources.mapping import likely_columns, likely_table, names_of
from clickassay.inputs.sources.parts import scan, schema_of
from clickassay.inputs.sources.walk import find_files
from clickassay.inputs.staging.impressions import look_like_impressions
from clickassay.inputs.tables import collected
from clickassay.inputs.text.detect import Recognised, recognise
from clickassay.inputs.types.canonical import has_no_zone
from clickassay.inputs.types.columns import CANONICAL
from clickassay.jobs.inputs import opened

_DEFAULT_GRADE = 4
_LONGEST = 300

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


@dataclass(frozen=True)
class FoundProject:
    """The tables of a folder, and what else was met there."""

    tables: tuple[FoundTable, ...]  # One of each name at most, in the order of `TABLES`.
    others: tuple[str, ...] = ()  # What further places are, one line each.

    @property
    def paths(self) -> dict[str, str]:
        """The path of each table by its name."""
        return {one.name: one.path for one in self.tables}

    @property
    def column(self) -> tuple[str, ...]:
        """The setting `column` that the tables need."""
        return tuple(f"{one.name}.{ours}={path}" for one in self.tables for ours, path in one.columns.items())

    @property
    def missing(self) -> tuple[str, ...]:
        """The tables that a run needs besides."""
        has_clicks = any(one.is_impressions for one in self.tables)
        needed = ("searches", *(() if has_clicks else ("clicks",)), "judgments")
        return tuple(name for name in needed if name not in self.paths)


def found_project(folder: Path) -> FoundProject:
    """Return the tables of a log in a folder, recognised by their columns, under likely names too.

    Raises
    ------
    InputError
        If the folder cannot be listed.
    """
    tables: dict[str, FoundTable] = {}
    others: list[str] = []
    for path in _candidates(folder):
        table = _recognised(path)
        if table is None:
            others += _other(path)
        elif table.name in tables and not _fits_better(table, tables[table.name]):
            others.append(f"{path}: {table.name} too")
        else:
            if table.name in tables:
                others.append(f"{tables[table.name].path}: {table.name} too")
            tables[table.name] = table
    return FoundProject(tuple(tables[name] for name in TABLES if name in tables), tuple(others))


def project_of(paths: Mapping[str, str], settings: Settings) -> FoundProject:
    """Return tables that were named as a project, with the columns that settings give other names."""
    tables = []
    for name, path in paths.items():
        file = find_files(name, path).files[0]
        schema = schema_of(name, file, format_of(file) or format_by_content(name, file))
        columns = names_of(name, settings.column)
        ours = {*columns, *schema} - set(columns.values())
        shows = name == "searches" and look_like_impressions(ours)
        tables.append(FoundTable(name, path, columns, schema, is_impressions=shows))
    return FoundProject(tuple(tables))


def _fits_better(table: FoundTable, other: FoundTable) -> bool:
    """Return whether a table has more columns under our names, or the name of the table."""
    mine, its = (one.name in Path(one.path).name for one in (table, other))
    return (mine, -len(table.columns)) > (its, -len(other.columns))


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
        file = find_files("init", path).files[0]
        schema = schema_of("init", file, format_of(file) or "parquet")
        rows = scan([file], format_of(file) or "parquet", schema)
        likely = likely_table(schema, rows, Path(path).name.lower())
        if likely is None and _is_imported(recognise(file)):
            return None
    except ClickassayError:
        return None
    if likely is not None:
        shows = likely.is_impressions
        return FoundTable(likely.name, path, likely.names, schema, is_impressions=shows)
    names = likely_columns("queries", [one for one in ("query", "market") if one not in schema], schema)
    has_query = "query" in {*schema, *names} and len(schema) > 1
    is_attributes = has_query and "quer" in Path(path).name.lower()
    return FoundTable("queries", path, names, schema) if is_attributes else None


def _is_imported(seen: Recognised) -> bool:
    """Tell whether an importer reads a file."""
    return bool(seen.command) and seen.layout.name not in CANONICAL


def _other(path: str) -> list[str]:
    """Return a line on a place that is no table: what reads it first; none on files of other things."""
    with suppress(ClickassayError):
        file = Path(path) if Path(path).is_file() else find_files("init", path).files[0]
        seen = recognise(file)
        if _is_imported(seen):
            return [f"{path}: {seen.layout.what}; first: {seen.command}"]
    is_table = format_of(Path(path)) is not None and not Path(path).is_dir()
    return [f"{path}: no table of a log"] if is_table else []


def project_text(found: FoundProject, folder: Path, settings: Settings) -> str:
    """Return the text of a project file for tables.

    Parameters
    ----------
    folder
        Where the file is to lie: paths count from there.
    settings
        Settings that were given; those that the tables need are added.
    """
    lines = [
        "# What `clickassay run` reads, and how. Options and variables win over it.",
        'out = "reports/{date}"  # a run of each day',
        "",
        "[inputs]  # files, folders or globs; with NAME_sql a SELECT or a FILE.sql instead",
    ]
    lines += [_input(one, folder) for one in found.tables]
    lines += [f'# {name} = "…"  # needed: nothing that looks like it was found' for name in found.missing]
    lines += [f"# {visible(other, limit=_LONGEST)}" for other in found.others]
    for one in found.tables:
        if one.columns:
            lines += ["", f"[columns.{one.name}]  # ours = yours"]
            lines += [f"{ours} = {_quoted(path)}" for ours, path in one.columns.items()]
    top = _settings_lines(found, settings)
    return "\n".join([*lines[:2], *top, *lines[2:]]) + "\n"


def _input(table: FoundTable, folder: Path) -> str:
    what = "  # one row for each result shown, clicks too" if table.is_impressions else ""
    return f"{table.name} = {_quoted(_relative(table.path, folder))}{what}"


def _relative(path: str, folder: Path) -> str:
    place, base = Path(path).absolute(), folder.absolute()
    return str(place.relative_to(base)) if place.is_relative_to(base) else str(place)


def _quoted(text: str) -> str:
    """Return a text as TOML has it: as JSON has it, but for the last sign of ASCII."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _settings_lines(found: FoundProject, settings: Settings) -> list[str]:
    """Return settings that the tables need: the shape, the zone of times, the scale."""
    lines = []
    by_name = {one.name: one for one in found.tables}
    searches = by_name.get("searches")
    if searches is not None and searches.is_impressions:
        lines.append('shape = "impressions"  # one row for each result shown')
    times = {name: one.schema.get(one.columns.get("timestamp", "timestamp")) for name, one in by_name.items()}
    if any(has_no_zone(dtype) for dtype in times.values()):
        lines.append(f"time_zone = {_quoted(settings.time_zone)}  # of times that have none")
    return lines + (_scale_lines(by_name["judgments"], found, settings) if "judgments" in by_name else [])


def _scale_lines(judgments: FoundTable, found: FoundProject, settings: Settings) -> list[str]:
    try:
        named = settings.model_copy(update={"column": found.column})
        grades = collected(opened("judgments", judgments.path, named))["grade"].drop_nulls()
    except ClickassayError:
        return []
    numbers = grades.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    if not len(grades):
        return []
    if numbers.null_count():
        labels = sorted({str(one).strip().lower() for one in grades.unique()})
        if set(labels) <= set(settings.scale):
            return []
        return [f"scale = [{', '.join(map(_quoted, labels[:20]))}]  # put them in order, the worst first"]
    highest = int(numbers.max() or 0)  # type: ignore[arg-type] # a number
    if highest < 1 or highest == _DEFAULT_GRADE:
        return []
    lines = [f"max_grade = {highest}  # the highest grade that was found: is the scale longer?"]
    if highest < settings.relevant_grade:
        lines.append(f"relevant_grade = {highest}")
    if highest < settings.success_grade:
        lines.append(f"success_grade = {highest}")
    return lines
