"""From Python: a log to its pattern table, in memory, in a folder or in a store; and reports on it."""

import shlex
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from clickassay.api.given import Place, SettingsGiven, Table, Told, source_of
from clickassay.api.run import RunResult
from clickassay.api.screen.parts import Part
from clickassay.api.screen.progress import progress_of
from clickassay.api.screen.python import for_python, python_errors
from clickassay.api.screen.result import Result
from clickassay.core.errors import SettingsError
from clickassay.core.files.output import place_to_write, published_folder
from clickassay.core.files.tables import writing_tables
from clickassay.core.progress import Progress
from clickassay.core.settings import LOG_SETTINGS, Settings, load_settings
from clickassay.core.text.words import capital, listed, plural
from clickassay.health.checks import HealthCheck
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns, make_patterns, opened_table, reachable, stored_patterns
from clickassay.jobs.run import make_run
from clickassay.jobs.stores import StoreGrowth, grow_store
from clickassay.patterns.table import OWN_TABLES, PatternTable, write_patterns

_TABLES = ("configurations", "patterns", "queries", "funnel", "health", *OWN_TABLES)


@for_python
def pattern_table(  # noqa: PLR0913 - the job has this many inputs
    searches: Table,
    clicks: Table = None,
    judgments: Table = None,
    *,
    outcomes: Table = None,
    assignments: Table = None,
    out: Place | None = None,
    store: Place | None = None,
    force: bool = False,
    progress: Told = True,
    **settings: Unpack[SettingsGiven],
) -> "PatternsResult":
    """Summarise a log in a pattern table, from which reports are built; it contains no user ids.

    Parameters
    ----------
    searches, clicks
        As `run` takes them.
    judgments
        With ``only_judged=True``: sessions of unjudged queries are only counted.
    outcomes, assignments
        As `run` takes them.
    out
        Folder to write the table into; None = keep it in memory.
    store
        Instead of `out`: a store, to which new rows of the log are added.
    force
        Replace an existing table in `out`.
    progress
        As `run` takes it.
    settings
        Settings of the log by their names: ``depth=[5, 10]``, ``idle_minutes=30``.

    Raises
    ------
    ClickassayError
        If an input or a setting is invalid; the message says what to do.

    Examples
    --------
    >>> table = ca.pattern_table("searches.parquet", "clicks.parquet", progress=False)
    >>> table.report(judgments="judgments.parquet", progress=False).decision.kind
    'baseline_as_good'
    """
    if searches is None:
        raise SettingsError("searches are missing: give a path, SQL or a frame")
    given = load_settings(**settings)
    if judgments is not None and not given.only_judged:
        raise SettingsError("--judgments requires --only-judged; add it, or remove --judgments")
    if out is not None and store is not None:
        raise SettingsError("give either --out or --store")
    sources = Sources(
        searches=source_of(searches), clicks=source_of(clicks), judgments=source_of(judgments),
        outcomes=source_of(outcomes), assignments=source_of(assignments),
    )  # fmt: skip
    with progress_of(progress) as told:
        return PatternsResult.of(sources, given, out=out, store=store, force=force, progress=told)


@for_python
def open_patterns(folder: Place) -> "PatternsResult":
    """Open a pattern table or store that `pattern_table` or the command `patterns` wrote.

    Raises
    ------
    PatternError, StoreError
        If the folder is neither, or is broken.

    Examples
    --------
    >>> ca.open_patterns("june-patterns").configurations.height
    3974
    """
    place = Path(folder)
    opened_table(place)
    return PatternsResult(place)


class PatternsResult(Result):
    """A pattern table: configurations, patterns, queries, funnel and health, frames of Polars.

    Parameters
    ----------
    place
        Its folder, or the table in memory.
    grown
        What was added to a store; None for a single table.
    findings
        Problems that the data checks found while it was built; `health` has the counts behind them.
    """

    def __init__(
        self,
        place: Place | PatternTable,
        grown: StoreGrowth | None = None,
        findings: tuple[HealthCheck, ...] = (),
    ) -> None:
        self.place, self.grown, self.findings = place, grown, findings

    @classmethod
    def of(
        cls, sources: Sources, settings: Settings, *, out: Place | None, store: Place | None, force: bool,
        progress: Progress,
    ) -> "PatternsResult":  # fmt: skip
        """Make a table, as `pattern_table` says."""
        found: list[HealthCheck] = []
        more: dict[str, Any] = {"checked": found.extend, "progress": progress}
        place: Place | PatternTable
        grown = None
        if store is not None:
            place = reachable(str(store), settings)
            grown = grow_store(sources, place, settings, **more)
        elif out is None:
            place = log_to_patterns(sources, settings, **more)
        else:
            place = make_patterns(sources, str(out), settings, force=force, **more)
        return cls(place, grown, tuple(found))

    @cached_property
    def _table(self) -> PatternTable:
        if isinstance(self.place, PatternTable):
            return self.place
        with python_errors():
            return stored_patterns(Path(self.place))

    def __getattr__(self, name: str) -> pl.DataFrame:
        if name not in _TABLES:
            raise AttributeError(f"a pattern table has no {name}; its tables are {', '.join(_TABLES)}")
        if name not in self.tables:
            raise AttributeError(
                f"this pattern table has no {name}: the log has no {name}, or they were not requested"
            )
        return self.tables[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.tables})

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Every table by its name; those of days, signals, outcomes and tests where there are any."""
        every = {name: getattr(self._table, name) for name in _TABLES}
        return {name: table for name, table in every.items() if table is not None}

    @property
    def facts(self) -> dict[str, Any]:
        """Its folder, what was added to a store, and the problems that data checks found."""
        place = None if isinstance(self.place, PatternTable) else str(self.place)
        facts = {"folder": place, "health": [one.as_entry() for one in self.findings]}
        if self.grown is None:
            return facts
        return facts | {"batches_added": self.grown.batches, "files_known": self.grown.known_files}

    @for_python
    def report(
        self,
        judgments: Table = None,
        queries: Table = None,
        *,
        scores: Table = None,
        out: Place | None = None,
        force: bool = False,
        progress: Told = True,
        **settings: Unpack[SettingsGiven],
    ) -> RunResult:
        """Compute a run of the table and judgments, in seconds.

        Parameters
        ----------
        judgments, queries, scores, out, force, progress
            As `run` takes them.
        settings
            Settings of judgments, metrics and the report; those of the log were fixed with the table.

        Raises
        ------
        ClickassayError
            If an input or a setting is invalid; the message says what to do.
        """
        decided = [name for name in settings if name in LOG_SETTINGS and name != "depth"]
        if decided:
            raise SettingsError(
                f"{listed(decided)} is fixed when the pattern table is built; give it to "
                "`clickassay patterns`"
            )
        sources = Sources(
            judgments=source_of(judgments), queries=source_of(queries), scores=source_of(scores)
        )
        more: dict[str, Any] = {"patterns": self.place, "out": out, "force": force}
        with progress_of(progress) as told:
            return RunResult(*make_run(sources, load_settings(**settings), progress=told, **more))

    @for_python
    def save(self, folder: Place, *, force: bool = False) -> Path:
        """Write the table into a new folder, as the command `patterns` does; return it.

        Raises
        ------
        OutputError
            If the folder exists (without `force`, or not ours), or cannot be written.
        """
        place = place_to_write(folder)
        with published_folder(place, force=force) as work, writing_tables():
            write_patterns(self._table, work)
        return place

    def parts(self) -> Iterator[Part]:
        """Yield what the command prints: problems of the log, the folder, and the next step."""
        for one in self.findings:
            yield f"{capital(one.status)}: {one.text}"
        if isinstance(self.place, PatternTable):
            lists, sessions = self.configurations.height, int(self.patterns["sessions"].sum())
            yield f"Pattern table in memory: {plural(lists, 'ranking')}, {plural(sessions, 'session')}"
            yield "Next: its report(judgments=…)"
            return
        if self.grown is None:
            yield f"Pattern table: {self.place}"
        else:
            added = plural(self.grown.batches, "batch", "batches")
            known = plural(self.grown.known_files, "file")
            yield f"Pattern store: {self.place}: {added} added; {known} already read"
        yield f"Next: clickassay report --patterns {shlex.quote(str(self.place))} --judgments … --out …"
