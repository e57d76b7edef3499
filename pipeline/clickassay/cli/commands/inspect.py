"""`clickassay inspect`: what a file or folder is, and what a run would make of it."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from clickassay.cli.console import say, show, write_out
from clickassay.cli.options import (
    CONFLICTS,
    DEPTH,
    JSON,
    MAX_GRADE,
    MAX_REJECTED,
    MEMORY_LIMIT,
    NORMALISE_URLS,
    QUIET,
    RELEVANT_GRADE,
    SCALE,
    SETTINGS,
    SUCCESS_GRADE,
    THREADS,
    chosen_settings,
)
from clickassay.cli.progress import shown_progress
from clickassay.core import escape
from clickassay.core.errors import InputError
from clickassay.core.text import utc_text

if TYPE_CHECKING:
    from clickassay.core.settings import Settings
    from clickassay.inputs.detect import Recognised
    from clickassay.jobs.inspect import Inspection, TableFacts

_BAR = 30


def inspect(
    path: Annotated[Path | None, typer.Argument(metavar="PATH", help="A file or folder.")] = None,
    searches: Annotated[str | None, typer.Option(help="Searches: a file, folder or glob.")] = None,
    clicks: Annotated[str | None, typer.Option(help="Clicks: a file, folder or glob.")] = None,
    judgments: Annotated[str | None, typer.Option(help="Judgments: a file, folder or glob.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Types, rows, users and times alone; form no sessions.")
    ] = False,
    depth: DEPTH = None,
    normalise_urls: NORMALISE_URLS = None,
    max_rejected: MAX_REJECTED = None,
    max_grade: MAX_GRADE = None,
    scale: SCALE = None,
    relevant_grade: RELEVANT_GRADE = None,
    success_grade: SUCCESS_GRADE = None,
    conflicts: CONFLICTS = None,
    threads: THREADS = None,
    memory_limit: MEMORY_LIMIT = None,
    settings: SETTINGS = None,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Tell what a file or folder is, which command takes it in, and what a run would reject; write nothing.

    Exit code 1: it is unknown, or a run would stop or have nothing to correlate.

    Examples
    --------
        clickassay inspect download/ratings.csv

        clickassay inspect logs

        clickassay inspect ubi_events.ndjson --judgments grades.parquet

        clickassay inspect --searches logs/searches --clicks logs/clicks --judgments grades.csv
    """
    from clickassay.jobs.inspect import inspect_log

    given = {"searches": searches, "clicks": clicks, "judgments": judgments}
    tables = {name: table for name, table in given.items() if table is not None}
    chosen = chosen_settings(settings, locals())
    if path is not None and not tables.keys() - {"judgments"} and _foreign_log(path) and not quick:
        _tell_foreign_log(path, tables, chosen, json=json, quiet=quiet)
        return
    if (path is None) == (not tables):
        raise InputError("give a file or folder, or --searches, --clicks and --judgments; one of both")
    tables = tables if path is None else _tables(path)
    if path is not None and not tables:
        _tell_place(path, json=json)
        return
    with shown_progress(quiet=quiet) as progress:
        found = inspect_log(tables, chosen, count=not quick, progress=progress)
    if json:
        write_out(escape.json(asdict(found), indent=2) + "\n")
    else:
        _tell(found)
    if found.obstacles:
        raise typer.Exit(1)


def _foreign_log(path: Path) -> str:
    """Return the layout of a file that an importer takes as it is; empty if none does."""
    from clickassay.inputs.detect import recognise
    from clickassay.jobs.preview import IMPORTERS

    layout = recognise(path).layout.name if path.is_file() else ""
    return layout if layout in IMPORTERS else ""


def _tell_foreign_log(
    file: Path, judgments: dict[str, str], chosen: "Settings", *, json: bool, quiet: bool
) -> None:
    from clickassay.inputs.detect import recognise
    from clickassay.jobs.preview import foreign_log

    taken = recognise(file)
    with shown_progress(quiet=quiet) as progress:
        imported, found = foreign_log(file, taken.layout.name, judgments, chosen, progress)
    if json:
        told = {**_plain(file, taken), "imported": imported.counts, "log": asdict(found)}
        write_out(escape.json([told], indent=2) + "\n")
    else:
        _tell_file(file, taken)
        say(", ".join(f"{name} {rows:,}" for name, rows in imported.counts.items() if rows))
        say(*(f"Note: {note}" for note in imported.notes))
        _tell(found)
    if found.obstacles:
        raise typer.Exit(1)


def _tables(path: Path) -> dict[str, str]:
    """Return the canonical tables of a folder, or the table that a file or all files are; none if neither."""
    from clickassay.inputs.columns import CANONICAL
    from clickassay.inputs.detect import recognise
    from clickassay.jobs.inspect import files_of, own_folder, tables_of

    if path.is_dir() and own_folder(path):
        return {}
    tables = tables_of(path) if path.is_dir() else {}
    if tables:
        return tables
    names = {recognise(file).layout.name for file in (files_of(path) if path.is_dir() else [path])}
    return {name: str(path) for name in names & CANONICAL.keys()} if len(names) == 1 else {}


# ---- files --------------------------------------------------------------------------------------


def _tell_files(files: list[Path], *, json: bool) -> None:
    from clickassay.inputs.detect import recognise

    found = {file: recognise(file) for file in files}
    if json:
        told = [_plain(file, one) for file, one in found.items()]
        write_out(escape.json(told, indent=2) + "\n")
    else:
        for file, one in found.items():
            _tell_file(file, one)
    if all(one.layout.name == "unknown" for one in found.values()):
        raise typer.Exit(1)


def _plain(file: Path, found: "Recognised") -> dict[str, object]:
    return {
        "file": str(file),
        "layout": found.layout.name,
        "what": found.layout.what,
        "command": found.command or None,
        "head": found.head,
    }


def _tell_file(file: Path, found: "Recognised") -> None:
    say(f"{file}: {found.layout.what}")
    if found.command:
        say(f"  {found.command}")
    elif found.head:
        say("  It begins:", *(f"  {line}" for line in found.head))


def _tell_place(folder: Path, *, json: bool) -> None:
    from clickassay.jobs.inspect import MOST_FILES, files_of, own_folder

    own = own_folder(folder)
    if not folder.is_dir():
        _tell_files([folder], json=json)
    elif own is None:
        files = files_of(folder)
        _tell_files(files, json=json)
        if len(files) == MOST_FILES and not json:
            say(f"Only {MOST_FILES} files were looked at.")
    elif json:
        told = {"folder": str(folder), "what": own[0], "command": own[1]}
        write_out(escape.json(told, indent=2) + "\n")
    else:
        say(f"{folder}: {own[0]}", f"  {own[1]}")


# ---- canonical tables ---------------------------------------------------------------------------


def _tell(found: "Inspection") -> None:
    for table in found.tables:
        _tell_table(table)
    log = found.log
    if log is not None:
        span = "no usable time"
        if log.first_ms is not None and log.last_ms is not None:
            span = f"{utc_text(log.first_ms)} to {utc_text(log.last_ms)} UTC"
        say(f"{log.searches:,} searches of {log.users:,} users, {span}")
    if found.sessions is not None:
        say(f"{found.sessions:,} sessions of {found.queries:,} distinct queries")
    _tell_positions(found)
    _tell_judged(found)
    _tell_lost(found)
    for obstacle in found.obstacles:
        say(f"In the way of a run: {obstacle}")
    if not found.obstacles:
        say(found.command)


def _tell_table(table: "TableFacts") -> None:
    files = f"{table.files:,} file{'s' if table.files > 1 else ''}"
    say(f"{table.name}: {table.path} ({files}, {table.bytes:,} bytes, {table.rows:,} rows)")
    say(f"  {', '.join(f'{name} {dtype}' for name, dtype in table.columns.items())}")


def _tell_positions(found: "Inspection") -> None:
    if not found.positions:
        return
    table = _grid("position", "sessions", "clicked", "CTR", "")
    highest = max(one.ctr for one in found.positions) or 1.0
    for one in found.positions:
        bar = "█" * round(_BAR * one.ctr / highest)
        table.add_row(str(one.position), f"{one.sessions:,}", f"{one.clicked:,}", f"{one.ctr:.4f}", bar)
    show(table)


def _tell_judged(found: "Inspection") -> None:
    if not found.judged:
        return
    table = _grid("depth", "results shown", "judged", "share", "lists", "judged in full", "share")
    for one in found.judged:
        table.add_row(
            *(str(one.depth), f"{one.results:,}", f"{one.judged:,}", _share(one.judged, one.results)),
            *(f"{one.lists:,}", f"{one.lists_judged:,}", _share(one.lists_judged, one.lists)),
        )
    show(table)


def _tell_lost(found: "Inspection") -> None:
    if not found.lost:
        if found.sessions is not None:
            say("No row is left out.")
        return
    table = _grid("left out of", "rows", "step", "reason", left=2)
    for one in found.lost:
        table.add_row(one.source, f"{one.rows:,}", one.step, one.reason)
    show(table)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "none"


def _grid(*heads: str, left: int = 1) -> Table:
    """Return a table whose columns after the first hold numbers; the last `left` ones hold text."""
    table = Table(box=box.SIMPLE_HEAD)
    for place, head in enumerate(heads):
        is_text = place >= len(heads) - left and left > 1
        justify = "left" if is_text or not head or (place == 0 and left > 1) else "right"
        table.add_column(head, justify=justify, no_wrap=not is_text)  # type: ignore[arg-type]
    return table
