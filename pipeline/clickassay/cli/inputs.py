"""Options for the inputs of a job and its output, with a project file behind them.

An input is named by an option, else by a variable, else by the settings file, else by the project file. Who
names searches names their clicks too: a log is never put together of two.
"""

import inspect
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clickassay.cli.console import say
from clickassay.cli.options import OF_ENGINE, OF_STORE, Group, declared_option
from clickassay.core.errors import SettingsError
from clickassay.core.settings import PROJECT, ProjectFile, inputs_in, project_at_hand, read_project
from clickassay.core.settings.project import TABLES
from clickassay.core.text.paths import local_path
from clickassay.core.text.words import plural

if TYPE_CHECKING:
    from clickassay.inputs.staging.sources import Source
    from clickassay.jobs.inputs import Sources

_PANEL = "Inputs"

SETTINGS_FILE = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        metavar="FILE.toml",
        help="TOML file of settings (depth = 5) and inputs; options and variables override it.",
    ),
]
PROJECT_FILE = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help=f"Project file: inputs, columns, settings, output. [default: {PROJECT} of this folder, if any]",
    ),
]

_HELP = {
    "searches": "Searches: a file, folder, glob or address (Parquet, CSV, TSV or JSON lines), one row per "
    "search or per result shown.",
    "clicks": "Clicks; not needed if searches contain them.",
    "judgments": "Judgments: a file, folder, glob or address.",
    "queries": "Attributes of queries: a file, folder, glob or address.",
    "outcomes": "Numbers per search, such as revenue: search_id, name, value, optionally outcome_id.",
    "assignments": "Users by arm of A/B tests: user_id, variant, optionally experiment, timestamp, until.",
    "past_tests": "Past A/B tests, a row each: a file, folder, glob or address (CSV, Parquet, JSON lines).",
    "scores": "Your own scores of rankings, compared with the metrics: name, value, and configuration_id, "
    "search_id, or query and results.",
}


@dataclass(frozen=True)
class Given:
    """The inputs of a job, and where its output goes, as far as anything names them."""

    sources: "Mapping[str, Source]"  # Inputs by name.
    by_option: frozenset[str]  # Names of the inputs that options name.
    project: ProjectFile | None  # The project file; None if there is none.

    def needed(self, name: str) -> "Source":
        """Return an input; SettingsError if nothing names it."""
        if name not in self.sources:
            how = "name the file" if name == "past_tests" else f"give --{name}"
            raise SettingsError(
                f"{name} are missing: {how}, or write {name} = … under [inputs] of {PROJECT} "
                "(clickassay init writes the file)"
            )
        return self.sources[name]

    def needing(self, *names: str) -> "Sources":
        """Return the inputs; raises as `needed` does for those of these names."""
        from clickassay.jobs.inputs import Sources  # noqa: PLC0415 - beside its use

        for name in names:
            self.needed(name)
        return Sources(**self.sources)

    def tell(self, *, quiet: bool) -> None:
        """Say which project file was used, since nobody need have named it."""
        if self.project is not None and not quiet:
            say(f"Project: {self.project.file}", stderr=True)

    def patterns(self, given: Path | None) -> Path:
        """Return a pattern table or store: as an option says, else the project file; else SettingsError."""
        if given is not None:
            return given
        if self.project is None or not self.project.store:
            raise SettingsError(
                f'--patterns is missing: give a folder of `clickassay patterns`, or store = "…" in {PROJECT}'
            )
        return Path(self.project.place(self.project.store))

    def out(self, given: Path | None) -> Path:
        """Return where the run is written: as an option says, else the project file; else SettingsError."""
        place = given or (None if self.project is None else self.project.out_today())
        if place is None:
            raise SettingsError(
                f'--out is missing: give a folder to write, or out = "reports/{{date}}" in {PROJECT}'
            )
        return place


def project_options() -> tuple[inspect.Parameter, inspect.Parameter]:
    """Return the options --settings and --project."""
    return declared_option("settings", SETTINGS_FILE), declared_option("project", PROJECT_FILE)


def project_runs() -> Group:
    """Ask for --project, for commands on runs: they take the last runs that it wrote."""
    return Group((project_options()[1],), lambda given: ProjectRuns(project_at_hand(given["project"])))


@dataclass(frozen=True)
class ProjectRuns:
    """The runs that a project wrote; `project` is None where there is none."""

    project: ProjectFile | None

    def last(self, number: int, shown: str) -> list[Path]:
        """Return the last runs, the latest at the end; SettingsError, with `shown` for a run, if too few."""
        runs = self.found
        if len(runs) < number:
            where = (
                f"out of {self.project.file} has {len(runs)}" if self.project else f"there is no {PROJECT}"
            )
            raise SettingsError(f"{shown} is missing, and {where}; name {plural(number, 'run')}")
        return runs[-number:]

    @property
    def found(self) -> list[Path]:
        """All runs, the latest at the end."""
        from clickassay.patterns.places import Place, place_of  # noqa: PLC0415 - beside its use

        runs = () if self.project is None else self.project.runs()
        return [run for run in runs if place_of(run) is Place.RUN]


def inputs_of(*names: str, metavar: str = "") -> Group:
    """Ask for inputs: a path each (an argument with a `metavar`), SQL instead, and a database for it."""
    options = []
    for name in names:
        shown: Any = typer.Option(help=_HELP[name], rich_help_panel=_PANEL)
        if metavar:
            shown = typer.Argument(metavar=metavar, help=f"{_HELP[name]} [default: {name} of {PROJECT}]")
        place = OF_ENGINE if name in ("searches", "clicks") else OF_STORE
        options.append(declared_option(name, Annotated[str | None, shown, place]))
    for name in names:
        text = f"Instead of {metavar or '--' + name.replace('_', '-')}: a SELECT or FILE.sql."
        shown = typer.Option(metavar="SQL", help=text, rich_help_panel=_PANEL)
        options.append(declared_option(f"{name}_sql", Annotated[str | None, shown]))
    shown = typer.Option(metavar="FILE.duckdb", help="DuckDB database for the SQL.", rich_help_panel=_PANEL)
    options.append(declared_option("database", Annotated[Path | None, shown]))

    def build(given: Mapping[str, Any]) -> Given:
        """Return the inputs that something names."""
        project = project_at_hand(given["project"])
        file = None if given["settings"] is None else read_project(given["settings"], "settings file")
        levels = list(_levels(given, file, project))
        taken: dict[str, Source] = {}
        for name in TABLES:
            for level in levels:
                if name in level.inputs or f"{name}_sql" in level.inputs:
                    taken[name] = level.source(name)
                if name in taken or (name == "clicks" and "searches" in level.tables):
                    break
        if given["database"] is not None and all(isinstance(one, str) for one in taken.values()):
            raise SettingsError("--database requires SQL: add e.g. --searches-sql, or remove --database")
        wanted = {name: source for name, source in taken.items() if name in names}
        return Given(wanted, levels[0].tables, project)

    return Group((*options, *project_options()), build)


@dataclass(frozen=True)
class _Level:
    """Inputs that one place names, with the folder that their paths count from."""

    where: str
    inputs: Mapping[str, str]
    file: ProjectFile | None = None

    @property
    def tables(self) -> frozenset[str]:
        """The tables that it names, by path or by SQL."""
        return frozenset(name.removesuffix("_sql") for name in self.inputs) & set(TABLES)

    def source(self, name: str) -> "Source":
        """Return an input."""
        path, sql = self.inputs.get(name), self.inputs.get(f"{name}_sql")
        if path is not None and sql is not None:
            raise SettingsError(
                f"{self.where}: {name} are given both as files and as SQL; give one of the two"
            )
        if sql is None:
            if not str(path).strip():
                raise SettingsError(f"{self.where}: the path of {name} is empty; give a file or a folder")
            return self._placed(str(path))
        from clickassay.inputs.staging.sql import InputSql  # noqa: PLC0415 - DuckDB takes a while to import

        database = self.inputs.get("database")
        folder = None if self.file is None else self.file.file.parent
        return InputSql.of(sql, None if database is None else Path(self._placed(database)), folder)

    def _placed(self, path: str) -> str:
        return path if self.file is None else str(local_path(self.file.place(path)))


def _levels(
    given: Mapping[str, Any], file: ProjectFile | None, project: ProjectFile | None
) -> Iterator[_Level]:
    """Yield who names inputs, those first that win."""
    environment = inputs_in(os.environ)
    database = given["database"] or environment.get("database")
    common = {} if database is None else {"database": str(database)}
    options = {
        name: str(value)
        for name, value in given.items()
        if value is not None and name not in ("project", "settings")
    }
    yield _Level("options", common | options)
    yield _Level("variables", environment)
    for kind, one in (("settings file", file), ("project file", project)):
        if one is not None:
            yield _Level(f"{kind} {one.file}", {**one.inputs, **common}, one)
