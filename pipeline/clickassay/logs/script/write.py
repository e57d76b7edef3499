"""A script of SQL from a log to its pattern table: the same steps, to be run with another tool."""

import textwrap
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from clickassay.core.errors import SettingsError
from clickassay.core.files.sql import sql_text
from clickassay.core.provenance import __version__
from clickassay.core.settings import LOG_SETTINGS, SQL_SETTINGS, Settings
from clickassay.logs.engine import SqlText, Value
from clickassay.logs.script.dialects import Dialect, Sql, dialect, folder, source
from clickassay.logs.sql.steps import (
    END_MS,
    FORM_SESSIONS,
    FUNNEL,
    FUNNEL_OF_SESSIONS,
    NEVER_MS,
    PATTERNS,
    PATTERNS_OF_DAYS,
    READ_LOG,
    Step,
    counted_properties,
    results,
    run_steps,
    step_values,
)
from clickassay.logs.sql.translate import first_comment
from clickassay.patterns.folders.places import COUNTS_FOLDER

STEPS_FOLDER = "clickassay_steps"
"""Folder of a Spark script for tables between its steps, and nothing else."""

_TABLES = (*PATTERNS, *PATTERNS_OF_DAYS)
_LOG_VIEWS = ("searches_log", "clicks_log", "searches_source", "clicks_source", "check_columns")
_WIDTH = 107


@dataclass(frozen=True)
class ScriptLog:
    """What a script reads and where it writes."""

    # searches, clicks: A table, or a path, glob or URI of Parquet files.
    searches: str
    clicks: str
    out: str  # Folder of the result.
    # Folder for tables between the steps; None = inside `out` (Spark), or the engine's own (DuckDB).
    work: str | None = None
    by_url: bool = True  # Whether clicks name a URL, or else a position.
    # has_market, has_page: Whether searches have these columns.
    has_market: bool = True
    has_page: bool = True


@dataclass(frozen=True)
class ScriptStep:
    """One step of a script: its SELECT, its name, and its `kind` (view, stage, check or keep)."""

    kind: str
    name: Sql
    number: Sql
    source: Sql
    comment: tuple[Sql, ...]
    select: Sql
    complaint: Sql


class ScriptRecorder:
    """Stands in for an engine: it records the steps instead of running them.

    A script cannot look at its data: where a step depends on rows being there, it assumes that they are.
    """

    def __init__(self, engine: Dialect) -> None:
        self._engine = engine
        self.steps: list[ScriptStep] = []

    def stage(self, name: str, step: str, **values: Value) -> None:
        """Record that the rows of `step` are stored as table `name`."""
        self._add("stage", name, step, values)

    def view(self, name: str, step: str, **values: Value) -> None:
        """Record that the SELECT of `step` is a view."""
        self._add("view", name, step, values)

    def keep(self, file: str, step: str) -> None:
        """Record that the rows of `step` are a file of the result."""
        self._add("keep", file, step, {})

    def rows(self, step: str, **values: Value) -> list[tuple[Any, ...]]:
        """Record a check; no rows are known."""
        self._add("check", f"check_{step.rpartition('/')[2]}", step, values)
        return []

    def is_empty(self, name: str) -> bool:  # noqa: ARG002 - the script is for any data
        """Return False, so that the script covers the general case."""
        return False

    def checks(self) -> list[ScriptStep]:
        """Return the checks recorded so far."""
        return [step for step in self.steps if step.kind == "check"]

    def _add(self, kind: str, name: str, step: str, values: Mapping[str, Value]) -> None:
        complaint = f"check {step} found rows where there must be none"
        self.steps.append(
            ScriptStep(
                kind,
                Sql(name),
                Sql(f"{len(self.steps) + 1:02d}"),
                Sql(f"sql/{step}.sql"),
                tuple(Sql(line) for line in textwrap.wrap(_harmless(first_comment(step)), _WIDTH)),
                self._engine.select(step, values),
                self._engine.text(complaint),
            )
        )


def _harmless(comment: str) -> str:
    """Remove the characters from a comment at which some tools cut a script."""
    return comment.replace(";", ",").replace("'", "")


def record_steps(engine: Dialect, settings: Settings, *, by_url: bool) -> ScriptRecorder:
    """Record all steps of a log, as one batch that no other follows."""
    recorder = ScriptRecorder(engine)
    after = settings.latest_ms - settings.clock_ms + 1
    end_ms = SqlText(f"least({END_MS}, {engine.clock_ms} + {after})")  # end_of_times, of the script's clock
    values = step_values(settings, by_url=by_url) | {"watermark_ms": NEVER_MS, "end_ms": end_ms}
    properties = counted_properties(settings, has_signals=False, has_outcomes=False)
    run_steps(recorder, (*READ_LOG, *FORM_SESSIONS, *_TABLES), values, properties)
    for name, step in _results().items():
        recorder.keep(name, step.file)
    return recorder


def _results() -> dict[str, Step]:
    """Return the results of a script: names in its folder, and the steps that make them."""
    counts = {f"{COUNTS_FOLDER}/{step.name}": step for step in (*FUNNEL, *FUNNEL_OF_SESSIONS)}
    return {step.name: step for step in results(_TABLES)} | counts


def write_script(name: str, log: ScriptLog, settings: Settings) -> str:
    """Return the whole script, with comments, as one text of statements that end with a semicolon.

    name: ``spark`` or ``duckdb``.
    log: the inputs, and where to write.
    settings: depth, idle limit and scope, folds, normalisation; the clock, by default of the script's run.

    Raises SettingsError if a name cannot be written into a script, or nor can a setting of the log that is
    given; EngineError if SQLGlot, which translates the steps to Spark, is not installed.
    """
    _refuse_unwritten(settings)
    engine = dialect(name)
    recorder = record_steps(engine, settings, by_url=log.by_url)
    names = [name for step in recorder.steps for name in (step.name, f"{step.name}_{step.number}")]
    environment = _environment()
    forms = environment.get_template(f"{name}.sql.j2").module
    context = _Context(engine, log, settings, {*_LOG_VIEWS, *names})
    script = environment.get_template("script.sql.j2")
    text = script.render(form=forms, log=context, steps=recorder.steps, checks=_checks(context, recorder))
    return text.strip() + "\n"


_INSTEAD = {
    "column": "and name the columns in the two views of the script",
    "time_zone": "times without a zone are UTC: convert timestamp in the two views of the script",
}


def _refuse_unwritten(settings: Settings) -> None:
    for name in (*sorted(set(LOG_SETTINGS) - set(SQL_SETTINGS)), "column"):
        value = getattr(settings, name)
        if name in settings.model_fields_set and value != Settings.model_fields[name].default:
            advice = _INSTEAD.get(name, "make the table with `clickassay patterns`")
            shown = ", ".join(value) if isinstance(value, tuple) else value
            raise SettingsError(f"{name} = {shown} cannot be written as SQL; leave it out, {advice}")


def _checks(context: "_Context", recorder: ScriptRecorder) -> list[ScriptStep]:
    return [context.columns_check, *recorder.checks()]


class _Context:
    """Values for the templates, all of them SQL already, so that no name can break out of its place."""

    def __init__(self, engine: Dialect, log: ScriptLog, settings: Settings, taken: Collection[str]) -> None:
        self._text = engine.text
        self._out = folder("--out", log.out, engine)
        self._steps = folder("--work", log.work, engine) if log.work is not None else self._out
        self.dialect, self.version = Sql(engine.name), Sql(__version__)
        self.version_text = self._text(__version__)
        self.searches = source("--searches", log.searches, engine, taken)
        self.clicks = source("--clicks", log.clicks, engine, taken)
        self.work = None if log.work is None else self._text(self._steps)
        self.by_url, self.has_market, self.has_page = log.by_url, log.has_market, log.has_page
        self.clicks_by = self._text("url" if log.by_url else "position")
        self.depth, self.folds = settings.stored_depth, settings.folds
        self.idle_minutes = settings.idle_minutes
        self.idle_scope, self.idle_scope_name = self._text(settings.idle_scope), Sql(settings.idle_scope)
        is_given = "clock" in settings.model_fields_set
        self.clock_ms = settings.clock_ms if is_given else None
        self.clock = Sql(settings.clock if is_given else "the time when the script runs")
        self.normalise_urls = settings.normalise_urls
        self.normal_urls = Sql(str(settings.normalise_urls).upper())
        self.macros = Sql(sql_text("macros/duckdb").strip())

    @property
    def columns_check(self) -> ScriptStep:
        """The check that the views of the log have the right types."""
        empty = Sql()
        return ScriptStep("check", Sql("check_columns"), Sql("00"), empty, (), empty, empty)

    @property
    def files(self) -> list[Sql]:
        """The places of all results."""
        return [self.result(name) for name in ("settings", *_results())]

    @property
    def folders(self) -> list[tuple[Sql, Sql]]:
        """Folders of the result, and a line of explanation for each."""
        return [(self._text(f"{self._out}{below}"), self._text(note)) for below, note in _NOTES]

    @property
    def steps_folder(self) -> Sql:
        """The place of all tables between the steps."""
        return self._text(f"{self._steps}/{STEPS_FOLDER}")

    def staged(self, step: ScriptStep) -> Sql:
        """Return the place of a table between steps."""
        return self._text(f"{self._steps}/{STEPS_FOLDER}/{step.number}_{step.name}")

    def result(self, name: str) -> Sql:
        """Return the place of a table of the result."""
        return self._text(f"{self._out}/{name}.parquet")


_NOTES = (
    ("", "A pattern table of a search log. Read it with: clickassay report --patterns FOLDER"),
    (f"/{COUNTS_FOLDER}", "What became of every row of the log: the funnel of a report is made of this."),
)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("clickassay.logs.script"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_only_sql,
        trim_blocks=False,
    )
    environment.filters["sql"] = Sql
    return environment


def _only_sql(value: object) -> object:
    """Refuse texts that were not quoted as SQL."""
    if isinstance(value, (Markup, int, float)):  # a macro of a template gives Markup
        return value
    raise TypeError(f"a template fills in {value!r}, which is not quoted as SQL")
