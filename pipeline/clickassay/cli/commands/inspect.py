"""`clickassay inspect` and `explore`: what a run would make of a log, and what it made of it."""

import os
import shlex
import sys
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clickassay.cli.console import say, show_table, speaker, write_json, write_out
from clickassay.cli.exit import ExitCode
from clickassay.cli.inputs import Given, inputs_of
from clickassay.cli.options import JSON, QUIET, RUN
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import GRADE_SETTINGS, MACHINE_SETTINGS, settings_of
from clickassay.core.errors import InputError
from clickassay.core.settings import PROJECT, Settings
from clickassay.core.text.words import capital, plural, utc_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from clickassay.inputs.importers.base import Imported
    from clickassay.inputs.staging.sources import Source
    from clickassay.inputs.text.detect import Recognised
    from clickassay.jobs.inspect import Inspection, TableFacts
    from clickassay.jobs.project import FoundProject

_BAR = 30


def inspect(
    inputs: Annotated[Given, inputs_of("searches", "clicks", "judgments")],
    settings: Annotated[
        Settings,
        settings_of(
            *(
                "depth",
                "normalise_urls",
                "column",
                "shape",
                "max_rejected",
                "max_markets",
                "time_zone",
                "health_limit",
            ),
            *(*GRADE_SETTINGS, *MACHINE_SETTINGS),
        ),
    ],
    path: Annotated[Path | None, typer.Argument(metavar="PATH", help="A file or folder.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Types, rows, users and times alone; form no sessions.")
    ] = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Show what a file or folder is, which command reads it, and what a run would reject; write nothing.

    Exit code 1: it is unknown, or a run would stop or have nothing to correlate.

    Examples
    --------
        clickassay inspect download/ratings.csv

        clickassay inspect logs

        clickassay inspect ubi_events.ndjson --judgments grades.parquet

        clickassay inspect --searches logs/searches --clicks logs/clicks --judgments grades.csv
    """
    options = {name: inputs.sources[name] for name in inputs.by_option}
    if path is not None and not options.keys() - {"judgments"} and _foreign_log(path) and not quick:
        _show_foreign_log(path, options, settings, json=json, quiet=quiet)
        return
    if path is not None and options:
        raise InputError("give a file or folder, or --searches, --clicks and --judgments; not both")
    if path is None and not inputs.sources:
        raise InputError(f"give a file or folder, or --searches, --clicks and --judgments, or a {PROJECT}")
    named = inputs.sources if path is None else _tables(path)
    if path is not None and not named:
        found = _guessed(path)
        if found is None:
            _show_place(path, json=json, quick=quick, quiet=quiet)
            return
        named, settings = found.paths, _with_columns(settings, found)
    _show_tables(named, settings, count=not quick, json=json, quiet=quiet)


def _with_columns(settings: Settings, found: "FoundProject") -> Settings:
    """Add the guessed names of columns that settings do not name."""
    given = {text.partition("=")[0] for text in settings.column}
    guessed = [text for text in found.column if text.partition("=")[0] not in given]
    return settings.model_copy(update={"column": (*settings.column, *guessed)})


def _show_tables(
    named: "Mapping[str, Source]", settings: Settings, *, count: bool, json: bool, quiet: bool
) -> None:
    """Show the tables of a log; exit code 1 if a run would stop at them."""
    from clickassay.jobs.inspect import inspect_log

    with shown_progress(quiet=quiet) as progress:
        inspection = inspect_log(named, settings, count=count, progress=progress)
    if json:
        write_json(inspection)
    else:
        _show(inspection)
        if not inspection.problems:
            _show_project(named, settings)
    if inspection.problems or any(one.is_finding for one in inspection.health):
        raise typer.Exit(ExitCode.FINDING)


def _guessed(path: Path) -> "FoundProject | None":
    """Return the tables of a folder whose columns have other names; None unless searches are among them."""
    from clickassay.jobs.inspect import own_folder
    from clickassay.jobs.project import found_project

    if not path.is_dir() or own_folder(path):
        return None
    found = found_project(path)
    return found if "searches" in found.paths and found.column else None


def _show_project(named: "Mapping[str, Source]", settings: Settings) -> None:
    """Print a project file for tables that are files or folders here, if a run needs no others."""
    from clickassay.jobs.project import project_of, project_text

    if any(not isinstance(source, str) for source in named.values()) or Path(PROJECT).exists():
        return
    found = project_of({name: str(source) for name, source in named.items()}, settings)
    if not found.missing:
        say("", f"As {PROJECT}, with which `clickassay run` is enough:", "")
        write_out(project_text(found, Path(), settings))


def _foreign_log(path: Path) -> str:
    """Return the layout of a file that an importer takes as it is; empty if none does."""
    from clickassay.inputs.text.detect import recognise
    from clickassay.jobs.preview import IMPORTERS

    layout = recognise(path).layout.name if path.is_file() else ""
    return layout if layout in IMPORTERS else ""


def _show_foreign_log(
    file: Path, judgments: "Mapping[str, Source]", settings: Settings, *, json: bool, quiet: bool
) -> None:
    from clickassay.inputs.text.detect import recognise
    from clickassay.jobs.preview import foreign_log

    taken = recognise(file)
    try:
        with shown_progress(quiet=quiet) as progress:
            imported, inspection = foreign_log(file, taken.layout.name, judgments, settings, progress)
    except InputError as error:
        _show_files([_Seen(file, replace(taken, command=""), problem=str(error))], json=json)
        return
    if json:
        summary = {**_Seen(file, taken, imported).plain(), "log": asdict(inspection)}
        write_json([summary])
    else:
        _Seen(file, taken, imported).show()
        _show(inspection)
    if inspection.problems or any(one.is_finding for one in inspection.health):
        raise typer.Exit(ExitCode.FINDING)


def _tables(path: Path) -> dict[str, str]:
    """Return the canonical tables of a folder, or the table that a file or all files are; none if neither."""
    from clickassay.inputs.text.detect import recognise
    from clickassay.inputs.types.columns import CANONICAL
    from clickassay.jobs.inspect import files_of, own_folder, tables_of

    if path.is_dir() and own_folder(path):
        return {}
    tables = tables_of(path) if path.is_dir() else {}
    if tables:
        return tables
    recognised = [recognise(file) for file in (files_of(path) if path.is_dir() else [path])]
    names = {one.layout.name for one in recognised}
    is_read = len(names) == 1 and not any(one.problem for one in recognised)
    return {name: str(path) for name in names & CANONICAL.keys()} if is_read else {}


# ---- files --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Seen:
    """A file: its layout, what its import counted if it was tried, and why nothing reads it as it is."""

    file: Path
    found: "Recognised"
    imported: "Imported | None" = None
    problem: str = ""

    @cached_property
    def columns(self) -> "pl.Schema | None":
        """Columns and types of a table of no known layout; None for any other file."""
        from clickassay.jobs.inspect import columns_of

        return columns_of(self.file) if self.found.layout.name == "unknown" else None

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

    def show(self) -> None:
        """Say it on the screen."""
        say(f"{self.file}: {self.found.layout.what}")
        if self.problem:
            say(f"  Problem: {self.problem}")
        elif self.found.command:
            say(f"  {self.found.command}")
        elif self.found.layout.name == "unknown":
            head = ("  It begins:", *(f"  {line}" for line in self.found.head)) if self.found.head else ()
            say(*head, *_likely(self.file, self.columns))
        if self.imported is not None:
            say(", ".join(f"{name} {rows:,}" for name, rows in self.imported.counts.items() if rows))
            say(*(f"Note: {note}" for note in self.imported.notes))


def _show_files(seen: "list[_Seen]", *, json: bool) -> None:
    if json:
        write_json([one.plain() for one in seen])
    else:
        for one, alike in _alike(seen):
            one.show()
            if alike:
                say(f"  The same columns have {plural(alike, 'more file')}.")
    if any(one.problem for one in seen) or all(one.found.layout.name == "unknown" for one in seen):
        raise typer.Exit(ExitCode.FINDING)


def _alike(seen: "list[_Seen]") -> "list[tuple[_Seen, int]]":
    """Return files, tables of the same unknown columns once, and how many more there are of each."""
    counted: dict[object, list[_Seen]] = {}
    for one in seen:
        key = one.file if one.columns is None else tuple(one.columns.items())
        counted.setdefault(key, []).append(one)
    return [(some[0], len(some) - 1) for some in counted.values()]


def _looked_at(files: list[Path], *, quick: bool, quiet: bool) -> list[_Seen]:
    """Recognise files, and try the import of judgments; events and queries of one log have one command."""
    from clickassay.inputs.text.detect import recognise

    recognised = [(file, recognise(file)) for file in files]
    of_ubi = [shlex.quote(str(file)) for file, one in recognised if one.layout.name == "ubi"]
    together = f"clickassay import ubi {' '.join(of_ubi)} --out FOLDER"
    seen = []
    for file, one in recognised:
        taken = replace(one, command=together) if one.layout.name == "ubi" and len(of_ubi) > 1 else one
        seen.append(_Seen(file, taken, problem=one.problem) if quick else _tried(file, taken, quiet=quiet))
    return seen


def _tried(file: Path, recognised: "Recognised", *, quiet: bool) -> _Seen:
    from clickassay.jobs.preview import JUDGMENTS, foreign_judgments

    if recognised.layout.name not in JUDGMENTS:
        return _Seen(file, recognised, problem=recognised.problem)
    try:
        with shown_progress(quiet=quiet) as progress:
            return _Seen(file, recognised, foreign_judgments(file, recognised.layout.name, progress))
    except InputError as error:
        return _Seen(file, replace(recognised, command=""), problem=str(error))


def _likely(file: Path, columns: "pl.Schema | None") -> list[str]:
    """Return what a file of no known layout may be, and what reads it."""
    from clickassay.inputs.sources.mapping import likely_table

    if columns is None:
        return _needed_columns()
    shown = ", ".join(f"{name} {dtype}" for name, dtype in list(columns.items())[:_MOST_COLUMNS])
    has = [f"  Columns: {shown}"]
    found = likely_table(columns)
    if found is not None:
        command = f"clickassay inspect --{found.name} {shlex.quote(str(file))} {found.options}".rstrip()
        rows = ", with a row for each result shown" if found.is_impressions else ""
        return [*has, f"  It may be a table of {found.name}{rows}. Try:", f"  {command}"]
    return [*has, *_needed_columns()]


_MOST_COLUMNS = 40
"""Columns of an unknown table that are shown."""


def _needed_columns() -> list[str]:
    """Return what the tables of a log are, for a file that is none of them yet."""
    from clickassay.inputs.types.columns import CANONICAL

    needed = {name: [want.name for want in wanted if not want.optional] for name, wanted in CANONICAL.items()}
    needed["clicks"].append("url or position")
    return [
        "  Tables of a log have these columns; rename yours, or make them (docs/how-to/own-log-format.md):",
        *(f"    {name}: {', '.join(columns)}" for name, columns in needed.items()),
    ]


def _show_place(folder: Path, *, json: bool, quick: bool, quiet: bool) -> None:
    from clickassay.jobs.inspect import MOST_FILES, files_of, own_folder

    own = own_folder(folder)
    if not folder.is_dir():
        _show_files(_looked_at([folder], quick=quick, quiet=quiet), json=json)
    elif own is None:
        files = files_of(folder)
        if len(files) == MOST_FILES and not json:
            say(f"Only {MOST_FILES} files are looked at.")
        _show_files(_looked_at(files, quick=quick, quiet=quiet), json=json)
    elif json:
        summary = {"folder": str(folder), "what": own[0], "command": own[1]}
        write_json(summary)
    else:
        say(f"{folder}: {own[0]}", f"  {own[1]}")


# ---- canonical tables ---------------------------------------------------------------------------


def _show(inspection: "Inspection") -> None:
    for table in inspection.tables:
        _show_table(table)
    log = inspection.log
    if log is not None:
        span = "no usable time"
        if log.first_ms is not None and log.last_ms is not None:
            span = f"{utc_text(log.first_ms)} to {utc_text(log.last_ms)} UTC"
        say(f"{log.searches:,} searches of {log.users:,} users, {span}")
    if inspection.sessions is not None:
        say(f"{inspection.sessions:,} sessions of {inspection.queries:,} distinct queries")
    _show_positions(inspection)
    _show_judged(inspection)
    _show_lost(inspection)
    for problem in inspection.problems:
        say(f"Problem: {problem}")
    for one in inspection.health:
        say(f"{capital(one.status)}: {one.text}")
    if not inspection.problems:
        say(inspection.command)


def _show_table(table: "TableFacts") -> None:
    files = f"{table.files:,} file{'s' if table.files > 1 else ''}"
    say(f"{table.name}: {table.path} ({files}, {table.bytes:,} bytes, {table.rows:,} rows)")
    say(f"  {', '.join(f'{name} {dtype}' for name, dtype in table.columns.items())}")


def _show_positions(inspection: "Inspection") -> None:
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
    show_table((*numbers, ""), rows, numbers=numbers)


def _show_judged(inspection: "Inspection") -> None:
    if not inspection.judged:
        return
    rows = [
        (
            *(str(one.depth), f"{one.results:,}", f"{one.judged:,}", _share(one.judged, one.results)),
            *(f"{one.lists:,}", f"{one.lists_judged:,}", _share(one.lists_judged, one.lists)),
        )
        for one in inspection.judged
    ]
    heads = ("depth", "results shown", "judged", "share", "lists", "judged in full", "share")
    show_table(heads, rows, numbers=heads)


def _show_lost(inspection: "Inspection") -> None:
    if inspection.lost:
        rows = [(one.source, f"{one.rows:,}", one.step, one.reason) for one in inspection.lost]
        show_table(("left out of", "rows", "step", "reason"), rows, numbers=("rows",))
    elif inspection.sessions is not None:
        say("No row is left out.")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "none"


# ---- a finished run --------------------------------------------------------------------------------


def explore(
    run_folder: RUN,
    settings: Annotated[Settings, settings_of("min_users")],
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of 127.0.0.1. [default: a free one]")
    ] = None,
    browser: Annotated[
        bool,
        typer.Option("--browser/--no-browser", help="Open the page. [default: open]", show_default=False),
    ] = True,
) -> None:
    """Look at a run's configurations, their clicks and the arithmetic of each metric, in a local page.

    Queries of fewer users than --min-users, and their URLs, appear as digests; 1 shows all.

    The page is served to this machine alone and ends with Ctrl-C. It needs the extra:
    pip install 'clickassay[explore]'

    Example:

        clickassay explore reports/june
    """
    from clickassay.studies.explorer.server import check_installed, serve

    check_installed()
    from clickassay.studies.explorer.read import explored_run

    explored_run(run_folder, settings.min_users)
    serve(run_folder, port=port, min_users=settings.min_users, open_browser=browser, tell=_show_address)
    sys.stdout.flush()
    os._exit(0)  # threads of pages that are still open would keep the process alive


def _show_address(address: str) -> None:
    speaker().print(f"Page: {address}")  # its token is the way in: no secret to whom it is shown
    say("Ctrl-C ends it.")
