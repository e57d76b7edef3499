"""`clickassay init` and `settings`: a project file of a folder, and where each setting comes from."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clickassay.cli.console import say, show_table, write_json, write_out
from clickassay.cli.exit import ExitCode
from clickassay.cli.inputs import PROJECT_FILE, SETTINGS_FILE
from clickassay.cli.options import JSON, QUIET
from clickassay.cli.progress import shown_progress
from clickassay.core.errors import OutputError
from clickassay.core.settings import (
    PREFIX,
    PROJECT,
    SETTINGS,
    Settings,
    inputs_in,
    origins_of,
    project_at_hand,
    read_project,
    settings_from,
)
from clickassay.core.text.words import listed

if TYPE_CHECKING:
    from clickassay.core.settings import ProjectFile


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the log.")] = Path(),
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help=f"New file to write. [default: {PROJECT}]")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the file; write nothing.")] = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Write a project file for the log in a folder: tables, columns, scale of grades.

    Then `clickassay run` needs no options. Tables are recognised by the names of their columns, or by similar
    names: check the file before the first run. Exit code 1 if a table that a run needs was not found.

    Examples
    --------
        clickassay init

        clickassay init logs --out search.toml
    """
    from clickassay.core.files.scratch import scratch
    from clickassay.jobs.project import found_project, project_text

    file = out or Path(PROJECT)
    if not show and file.exists():
        raise OutputError(f"{file} exists already; edit it, choose another --out, or add --show")
    with scratch(), shown_progress(quiet=quiet):
        found = found_project(folder)
        text = project_text(found, file.parent, Settings())
    if not show:
        try:
            with file.open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        except OSError as error:
            raise OutputError(f"cannot write {file}: {error.strerror}; choose another --out") from error
    if json:
        tables = {one.name: one.path for one in found.tables}
        facts = {"tables": tables, "missing": found.missing, "notes": found.notes, "text": text}
        write_json({"file": None if show else str(file), **facts})
    elif show:
        write_out(text)
    else:
        say(f"Written: {file}", *(f"  {one.name}: {one.path}" for one in found.tables))
        say(*(f"Note: {note}" for note in found.notes))
    if found.missing:
        lines = " and ".join(f"{name} = …" for name in found.missing)
        say(
            f"Not found: {listed(found.missing)}. Write {lines} under [inputs] of {file}.",
            stderr=show or json,
        )
        raise typer.Exit(ExitCode.FINDING)
    if not (show or json):
        named = "" if file == Path(PROJECT) else f" --project {shlex.quote(str(file))}"
        say(f"Next: check {file}, then type: clickassay run{named}")


def settings(settings_file: SETTINGS_FILE = None, project: PROJECT_FILE = None, json: JSON = False) -> None:
    """Show each setting, its value, and where the value comes from; inputs and output of a project too.

    Options of a command override variables; variables override a settings file, and a settings file overrides
    the project file.

    Example:

        clickassay settings --settings strict.toml
    """
    at_hand = project_at_hand(project)
    file = None if settings_file is None else read_project(settings_file, "settings file")
    origins = origins_of(at_hand, file, os.environ, {})
    values = settings_from(origins)
    rows = []
    for name in SETTINGS:
        value, source = getattr(values, name), origins.source.get(name)
        if name.startswith("spark_") and value:
            value = "…"  # it may be secret
        value = list(value) if isinstance(value, tuple) else value
        source = "default" if source is None else "variable" if source == PREFIX else source
        rows.append({"name": name, "value": value, "source": source})
    rows += _inputs(at_hand, file)
    if json:
        write_json(rows)
        return
    cells = []
    for row in rows:
        value = row["value"]
        shown = ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
        cells.append((row["name"], shown.lower() if isinstance(value, bool) else shown, row["source"]))
    show_table(("name", "value", "from"), cells)


def _inputs(project: "ProjectFile | None", file: "ProjectFile | None") -> Iterator[dict[str, Any]]:
    levels: list[tuple[str, dict[str, Any]]] = [("variable", inputs_in(os.environ))]
    for kind, one in (("settings file", file), ("project file", project)):
        if one is not None:
            told = {"out": one.out, "store": one.store, "rules": list(one.rules)}
            more = {name: has for name, has in told.items() if has}
            levels.append((f"{kind} {one.file}", {**one.inputs, **more}))
    seen: set[str] = set()
    for where, named in levels:
        for name, value in named.items():
            if name not in seen:
                seen.add(name)
                yield {"name": name, "value": value, "source": where}
