"""From Python: what a file, folder or log is, and what a run would make of it; nothing is written."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from clickassay.api.given import Place, SettingsGiven, Table, Told, source_of
from clickassay.api.screen.parts import Part, ShownTable
from clickassay.api.screen.progress import progress_of
from clickassay.api.screen.python import for_python
from clickassay.api.screen.result import Result
from clickassay.core.errors import InputError
from clickassay.core.progress import Progress, silent
from clickassay.core.settings import PROJECT, Settings, load_settings
from clickassay.core.text.words import capital, plural, utc_text
from clickassay.inputs.columns import CANONICAL
from clickassay.inputs.files import check_path
from clickassay.inputs.importers.base import Imported
from clickassay.inputs.sources.mapping import likely_table
from clickassay.inputs.staging.sources import Source
from clickassay.inputs.text.detect import UNKNOWN, Recognised, recognise
from clickassay.jobs import inspect as job
from clickassay.jobs.project import found_project, guesses, project_of, project_text

_BAR = 30


@for_python
def inspect(
    path: Place | Table = None,
    *,
    searches: Table = None,
    clicks: Table = None,
    judgments: Table = None,
    quick: bool = False,
    progress: Told = True,
    **settings: Unpack[SettingsGiven],
) -> "InspectResult":
    """Show what a file or folder is, which command reads it, and what a run would reject; write nothing.

    Parameters
    ----------
    path
        A file or folder; a log of another tool may come with `judgments`.
    searches, clicks, judgments
        Instead of `path`: tables, as `run` takes them.
    quick
        Show types, rows, users and times only; form no sessions.
    progress, settings
        As `run` takes them.

    Raises
    ------
    InputError
        If nothing is given, or nothing can be read.

    Examples
    --------
    >>> found = ca.inspect(searches="searches.parquet", clicks="clicks.parquet", progress=False)
    >>> found.inspection.sessions
    18441
    """
    named = {"searches": searches, "clicks": clicks, "judgments": judgments}
    sources = {name: source for name, one in named.items() if (source := source_of(one)) is not None}
    if not isinstance(path, str | Path | None):
        raise InputError(
            f"path: found {type(path).__name__}, expected a file or folder; give tables by name: "
            "inspect(searches=…, clicks=…, judgments=…)"
        )
    place = None if path is None else Path(path)
    with progress_of(progress) as told:
        return InspectResult.of(place, sources, load_settings(**settings), quick=quick, progress=told)


class InspectResult(Result):
    """What was found: the facts of a log, or what files are.

    Parameters
    ----------
    inspection
        Tables, sessions, judged results and rejected rows of a log; None otherwise.
    files
        Files of other layouts.
    folder
        A folder that clickassay wrote: its path, its kind, the command that reads it.
    project
        The text of a project file for these tables; '' if they need none.
    """

    def __init__(
        self,
        inspection: job.Inspection | None = None,
        files: "Sequence[SeenFile]" = (),
        folder: tuple[Path, str, str] | None = None,
        project: str = "",
    ) -> None:
        self.inspection, self.files, self.folder, self.project = inspection, tuple(files), folder, project

    @classmethod
    def of(
        cls,
        path: Path | None,
        sources: Mapping[str, Source],
        settings: Settings,
        *,
        quick: bool = False,
        progress: Progress = silent,
    ) -> "InspectResult":
        """Look at what `inspect` says."""
        if path is not None:
            check_path(path)
        is_one_file = path is not None and path.is_file() and not sources.keys() - {"judgments"} and not quick
        if path is not None and is_one_file and recognise(path).layout.name in job.IMPORTERS:  # as it is
            return cls._of_foreign_log(path, sources, settings, progress)
        if path is not None and sources:
            raise InputError("give a file or folder, or --searches, --clicks and --judgments; not both")
        if path is None and not sources:
            raise InputError(
                f"give a file or folder, or --searches, --clicks and --judgments, or a {PROJECT}"
            )
        named = sources if path is None else _tables(path)
        if path is not None and not named:
            found = found_project(path) if path.is_dir() and not job.own_folder(path) else None
            if found is None or "searches" not in found.sources or not found.column:
                return cls._of_place(path, quick=quick, progress=progress)
            told = "" if found.missing or Path(PROJECT).exists() else project_text(found, Path(), settings)
            # add what is guessed of columns and of the scale, and what settings do not say
            said = settings.model_dump(include=settings.model_fields_set)
            given = {text.partition("=")[0] for text in settings.column}
            guessed = [text for text in found.column if text.partition("=")[0] not in given]
            grades = {"scale", "max_grade", "relevant_grade", "success_grade"}
            guessed_scale = () if grades & said.keys() else guesses(found, settings)
            scale = {one.name: one.value for one in guessed_scale if one.is_set and one.name in grades}
            settings = Settings(**said | scale | {"column": (*settings.column, *guessed)})
            inspection = job.inspect_log(found.sources, settings, count=not quick, progress=progress)
            return cls(inspection, project="" if inspection.problems else told)
        inspection = job.inspect_log(named, settings, count=not quick, progress=progress)
        return cls(inspection, project="" if inspection.problems else _project(named, settings))

    @classmethod
    def _of_foreign_log(
        cls, file: Path, judgments: Mapping[str, Source], settings: Settings, progress: Progress
    ) -> "InspectResult":
        taken = recognise(file)
        try:
            imported, inspection = job.foreign_log(file, taken.layout.name, judgments, settings, progress)
        except InputError as error:
            return cls(files=[SeenFile(file, replace(taken, command=""), problem=str(error))])
        return cls(inspection, [SeenFile(file, taken, imported)])

    @classmethod
    def _of_place(cls, place: Path, *, quick: bool, progress: Progress) -> "InspectResult":
        if not place.is_dir():
            return cls(files=_looked_at([place], quick=quick, progress=progress))
        own = job.own_folder(place)
        if own is not None:
            return cls(folder=(place, *own))
        return cls(files=_looked_at(job.files_of(place), quick=quick, progress=progress))

    @property
    def is_finding(self) -> bool:
        """Whether it is unknown, or a run would stop, or have nothing to correlate."""
        if self.inspection is not None:
            found = self.inspection
            return bool(found.problems) or any(one.is_finding for one in found.health)
        unknown = all(one.found.layout.name == "unknown" for one in self.files)
        return bool(self.files) and (unknown or any(one.problem for one in self.files))

    @property
    def facts(self) -> Any:  # noqa: ANN401 - a document of JSON
        """The content of the JSON document."""
        if self.folder is not None:
            place, what, command = self.folder
            return {"folder": str(place), "what": what, "command": command}
        if not self.files:
            return self.inspection
        log = {} if self.inspection is None else {"log": asdict(self.inspection)}
        return [{**one.plain(), **log} for one in self.files]

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Of a log: tables, signals, positions, judged, lost; of other files: files."""
        if self.inspection is None:
            files = [(str(one.file), one.found.layout.name) for one in self.files]
            schema = {"file": pl.String, "layout": pl.String}
            return {"files": pl.DataFrame(files, schema, orient="row")}
        facts = asdict(self.inspection)
        tables = [{**one, "columns": None, "left_out": None} for one in facts["tables"]]
        names = ("signals", "positions", "judged", "lost")
        return {"tables": pl.DataFrame(tables), **{name: pl.DataFrame(facts[name]) for name in names}}

    def parts(self) -> Iterator[Part]:
        """Yield what it is, and what a run would make of it."""
        if self.folder is not None:
            place, what, command = self.folder
            yield from (f"{place}: {what}", f"  {command}")
        if len(self.files) == job.MOST_FILES:
            yield f"Only the first {job.MOST_FILES} files were read."
        alike: dict[object, list[SeenFile]] = {}  # tables of the same unknown columns are shown once
        for one in self.files:
            key = one.file if one.columns is None else tuple(one.columns.items())
            alike.setdefault(key, []).append(one)
        for first, *others in alike.values():
            yield from first.parts()
            if others:
                yield f"  {plural(len(others), 'more file')} with the same columns."
        if self.inspection is not None:
            yield from _log_parts(self.inspection)


def _project(named: Mapping[str, Source], settings: Settings) -> str:
    """Return a project file for tables that are files or folders here, if a run needs no others."""
    if any(not isinstance(source, str) for source in named.values()) or Path(PROJECT).exists():
        return ""
    found = project_of({name: str(source) for name, source in named.items()}, settings)
    return "" if found.missing else project_text(found, Path(), settings)


def _tables(path: Path) -> dict[str, str]:
    """Return the canonical tables of a folder, or the table that a file or all files are; none if neither."""
    if path.is_dir() and job.own_folder(path):
        return {}
    tables = job.tables_of(path) if path.is_dir() else {}
    if tables:
        return tables
    recognised = [one for _, one in _recognised(job.files_of(path) if path.is_dir() else [path])]
    names = {one.layout.name for one in recognised}
    is_read = len(names) == 1 and not any(one.problem for one in recognised)
    return {name: str(path) for name in names & CANONICAL.keys()} if is_read else {}


# ---- files --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SeenFile:
    """A file: its layout, what its import counted if it was tried, and why nothing reads it as it is."""

    file: Path
    found: Recognised
    imported: Imported | None = None
    problem: str = ""

    @cached_property
    def table(self) -> tuple[pl.Schema, pl.LazyFrame] | None:
        """Columns and types of a table of no known layout, and its rows; None for any other file."""
        return job.columns_of(self.file) if self.found.layout.name == "unknown" else None

    @property
    def columns(self) -> pl.Schema | None:
        """Columns and types of a table of no known layout; None for any other file."""
        return None if self.table is None else self.table[0]

    def plain(self) -> dict[str, object]:
        """Return what a script reads."""
        told: dict[str, object] = {
            "file": str(self.file),
            "layout": self.found.layout.name,
            "what": self.found.layout.what,
            "command": self.found.command or None,
            "head": self.found.head,
        }
        if self.columns is not None:
            told["columns"] = {name: str(dtype) for name, dtype in self.columns.items()}
        tried = {} if self.imported is None else {"imported": self.imported.counts}
        return told | tried | ({"problem": self.problem} if self.problem else {})

    def parts(self) -> Iterator[str]:
        """Yield it in lines."""
        yield f"{self.file}: {self.found.layout.what}"
        if self.problem:
            yield f"  Problem: {self.problem}"
        elif self.found.command:
            yield f"  {self.found.command}"
        elif self.found.layout.name == "unknown":
            if self.found.head:
                yield from ("  First lines:", *(f"  {line}" for line in self.found.head))
            yield from _likely(self.file, self.table)
        if self.imported is not None:
            yield ", ".join(f"{name} {rows:,}" for name, rows in self.imported.counts.items() if rows)
            yield from (f"Note: {note}" for note in self.imported.notes)


def _recognised(files: list[Path]) -> list[tuple[Path, Recognised]]:
    """Recognise files; of several, one that cannot be read, such as an empty one, has a problem."""
    if len(files) == 1:
        return [(files[0], recognise(files[0]))]
    seen = []
    for file in files:
        try:
            seen.append((file, recognise(file)))
        except InputError as error:
            seen.append((file, Recognised(UNKNOWN, "", (), str(error))))
    return seen


def _looked_at(files: list[Path], *, quick: bool, progress: Progress) -> list[SeenFile]:
    """Recognise files, and try the import of judgments; events and queries of one log have one command."""
    recognised = _recognised(files)
    of_ubi = [shlex.quote(str(file)) for file, one in recognised if one.layout.name == "ubi"]
    together = f"clickassay import ubi {' '.join(of_ubi)} --out FOLDER"
    seen = []
    for file, one in recognised:
        taken = replace(one, command=together) if one.layout.name == "ubi" and len(of_ubi) > 1 else one
        if quick or one.layout.name not in job.JUDGMENTS:
            seen.append(SeenFile(file, taken, problem=one.problem))
            continue
        try:
            seen.append(SeenFile(file, taken, job.foreign_judgments(file, one.layout.name, progress)))
        except InputError as error:
            seen.append(SeenFile(file, replace(taken, command=""), problem=str(error)))
    return seen


def _likely(file: Path, table: tuple[pl.Schema, pl.LazyFrame] | None) -> list[str]:
    """Return what a file of no known layout may be, and what reads it."""
    if table is None:
        return _needed_columns()
    columns, held = table
    shown = ", ".join(f"{name} {dtype}" for name, dtype in list(columns.items())[:_MOST_COLUMNS])
    has = [f"  Columns: {shown}"]
    found = likely_table(columns, held, file.name.lower())
    if found is not None:
        what = "inspect" if found.name in CANONICAL else f"run {_LOG} --out RUN"
        what = "experiments" if found.name == "past_tests" else f"{what} --{found.name}"
        command = f"clickassay {what} {shlex.quote(str(file))} {found.options}".rstrip()
        rows = " with one row per result shown" if found.is_impressions else ""
        return [*has, f"  It may be a table of {found.name}{rows}. Try:", f"  {command}"]
    return [*has, *_needed_columns()]


_LOG = "--searches SEARCHES --clicks CLICKS --judgments JUDGMENTS"
_MOST_COLUMNS = 40
"""Columns of an unknown table that are shown."""


def _needed_columns() -> list[str]:
    """Return what the tables of a log are, for a file that is none of them yet."""
    needed = {name: [want.name for want in wanted if not want.optional] for name, wanted in CANONICAL.items()}
    needed["clicks"].append("url or position")
    return [
        "  Tables of a log need these columns; rename yours, or create them (docs/how-to/own-log-format.md):",
        *(f"    {name}: {', '.join(columns)}" for name, columns in needed.items()),
    ]


# ---- canonical tables ---------------------------------------------------------------------------


def _log_parts(inspection: job.Inspection) -> Iterator[Part]:
    for table in inspection.tables:
        files = f"{table.files:,} file{'s' if table.files > 1 else ''}"
        yield f"{table.name}: {table.path} ({files}, {table.bytes:,} bytes, {table.rows:,} rows)"
        yield f"  {', '.join(f'{name} {dtype}' for name, dtype in table.columns.items())}"
    log = inspection.log
    if log is not None:
        span = "no usable time"
        if log.first_ms is not None and log.last_ms is not None:
            span = f"{utc_text(log.first_ms)} to {utc_text(log.last_ms)} UTC"
        yield f"{log.searches:,} searches of {log.users:,} users, {span}"
    if inspection.sessions is not None:
        yield f"{inspection.sessions:,} sessions of {inspection.queries:,} distinct queries"
    yield from _signals(inspection)
    yield from _positions(inspection)
    yield from _judged(inspection)
    if inspection.lost:
        rows = [(one.source, f"{one.rows:,}", one.step, one.reason) for one in inspection.lost]
        yield ShownTable(("excluded from", "rows", "step", "reason"), rows, ("rows",))
    elif inspection.sessions is not None:
        yield "No row is excluded."
    yield from (f"Note: {note}" for note in inspection.notes)
    yield from (f"Problem: {problem}" for problem in inspection.problems)
    yield from (f"{capital(one.status)}: {one.text}" for one in inspection.health)
    if not inspection.problems:
        yield inspection.command


def _signals(inspection: job.Inspection) -> Iterator[Part]:
    if inspection.signals:
        every = inspection.sessions or 0
        rows = [
            (one.signal, f"{one.sessions:,}", _share(one.sessions, every), f"{one.queries:,}")
            for one in inspection.signals
        ]
        heads = ("signal beside clicks", "sessions", "share", "queries")
        yield ShownTable(heads, rows, heads[1:])


def _positions(inspection: job.Inspection) -> Iterator[Part]:
    if not inspection.positions:
        return
    highest = max(one.ctr for one in inspection.positions) or 1.0
    rows = [
        (
            *(str(one.position), f"{one.sessions:,}", f"{one.clicked:,}", f"{one.ctr:.4f}"),
            "█" * round(_BAR * one.ctr / highest),
        )
        for one in inspection.positions
    ]
    numbers = ("position", "sessions", "clicked", "CTR")
    yield ShownTable((*numbers, ""), rows, numbers)


def _judged(inspection: job.Inspection) -> Iterator[Part]:
    if not inspection.judged:
        return
    rows = [
        (
            *(str(one.depth), f"{one.results:,}", f"{one.judged:,}", _share(one.judged, one.results)),
            *(f"{one.lists:,}", f"{one.lists_judged:,}", _share(one.lists_judged, one.lists)),
        )
        for one in inspection.judged
    ]
    heads = ("depth", "results shown", "judged", "share", "rankings", "fully judged", "share")
    yield ShownTable(heads, rows, heads)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "none"
