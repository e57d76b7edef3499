"""Contents of a log, and what a run over it would count; nothing is written.

The rows are read, rejected and counted by the code of the run, so that the numbers are those of a run.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from clickassay.core.errors import ClickassayError, InputError
from clickassay.core.files.scratch import with_scratch
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.settings import Settings, options_of
from clickassay.health.checks import HealthCheck, fired, health_table
from clickassay.health.measures import time_numbers
from clickassay.inputs.columns import CANONICAL, TEAMS
from clickassay.inputs.files import FORMATS
from clickassay.inputs.frames import Frame
from clickassay.inputs.importers.baidu_ultr import import_baidu_ultr
from clickassay.inputs.importers.base import Imported
from clickassay.inputs.importers.judgments import import_judgments
from clickassay.inputs.importers.letor import import_letor
from clickassay.inputs.importers.pyclick import import_pyclick
from clickassay.inputs.importers.ratings import IMPORTED_LAYOUTS
from clickassay.inputs.importers.tiangong_st import import_tiangong_st
from clickassay.inputs.importers.ubi import import_ubi
from clickassay.inputs.importers.yahoo_l18 import import_yahoo_l18
from clickassay.inputs.importers.yandex import import_yandex
from clickassay.inputs.sources.mapping import names_of
from clickassay.inputs.sources.parts import first_part
from clickassay.inputs.sources.walk import files_below
from clickassay.inputs.staging.sources import Source, staged
from clickassay.inputs.staging.sql import InputSql
from clickassay.inputs.tables import Input, collected, files_named, mixed_times
from clickassay.inputs.text import detect
from clickassay.jobs.health import log_measures, whole_health
from clickassay.jobs.inputs import impressions, made_halves, opened
from clickassay.jobs.project import tests_told
from clickassay.judgments import prepare
from clickassay.judgments.join import clicks_by_position, results_shown
from clickassay.logs.arrays.job import counted_pattern_table
from clickassay.logs.log import LocalHalf, Log, checked_log
from clickassay.logs.sql.steps import FIRST_MS, end_of_times
from clickassay.patterns.funnel import check_log
from clickassay.patterns.lists import LogLists, log_lists
from clickassay.patterns.places import Place, place_of

MOST_FILES = 50
"""Most files of a folder that are examined."""

_DEPTHS = (1, 3, 5, 10)
_LOST = ("rejected", "repeated", "out of time", "unmatched", "left out", "no query")
"""Steps of the funnel at which rows leave, whatever the depth."""


@dataclass(frozen=True)
class TableFacts:
    """A canonical table as written; `left_out` counts files and hidden folders not read, by reason."""

    name: str
    path: str
    files: int
    folders: int
    left_out: dict[str, int]
    bytes: int
    rows: int
    columns: dict[str, str]


@dataclass(frozen=True)
class LogFacts:
    """Counts over all searches, and their first and last time in ms since 1970; None without usable times."""

    searches: int
    users: int
    first_ms: int | None
    last_ms: int | None


@dataclass(frozen=True)
class LostRows:
    """Number of rows that a run would leave out, by source, step and reason of its funnel."""

    source: str
    step: str
    reason: str
    rows: int


@dataclass(frozen=True)
class SignalFacts:
    """Number of sessions with a signal other than clicks, and of the distinct queries of these sessions."""

    signal: str
    sessions: int
    queries: int


@dataclass(frozen=True)
class PositionFacts:
    """How many sessions show a result at a position (1 = first), and click it; `ctr` is 0..1."""

    position: int
    sessions: int
    clicked: int
    ctr: float


@dataclass(frozen=True)
class JudgedFacts:
    """Over all sessions: results shown down to a depth, and those judged; lists, and those judged in full."""

    depth: int
    results: int
    judged: int
    lists: int
    lists_judged: int


@dataclass(frozen=True)
class Inspection:
    """Facts about a log before a run."""

    tables: tuple[TableFacts, ...]  # The tables that were given.
    command: str  # The command of a run over them; names in capitals stand for tables that were not given.
    log: LogFacts | None = None  # None without searches.
    # sessions, queries: Number of sessions that a run would form, and of their distinct normalised queries;
    # None if they were not counted.
    sessions: int | None = None
    queries: int | None = None
    lost: tuple[LostRows, ...] = ()  # Rows that a run would leave out.
    # signals, positions, judged: By signal, by position and by depth.
    signals: tuple[SignalFacts, ...] = ()
    positions: tuple[PositionFacts, ...] = ()
    judged: tuple[JudgedFacts, ...] = ()
    # Why a run would stop (its messages), or would have nothing to correlate; one line each.
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # Columns that are ignored and may be ours, and the like.
    health: tuple[HealthCheck, ...] = ()  # Checks of the log and its judgments that fire, findings first.


@with_scratch()
def inspect_log(
    paths: Mapping[str, Source], settings: Settings, *, count: bool = True, progress: Progress = silent
) -> Inspection:
    """Read canonical tables, by name, as a run would, and count.

    count: whether to form sessions and count their judged lists; else only types, rows, users and times.
    Raises InputError if no table can be opened; of others that can, why one cannot is a problem.
    """
    notes: list[str] = []

    def noting(event: Event) -> None:
        notes.append(event.message) if event.note else progress(event)

    given, tables, broken = _opened(paths, settings, noting)
    says = given["searches"].columns if "searches" in given else frozenset[str]()
    notes += [tests_told("searches", name) for name in ("variant", TEAMS, "team") if name in says]
    command = run_of(paths, settings, has_clicks="clicks" in tables)
    progress(Event("reading the tables"))
    with files_named(*given.values()):
        facts = tuple(_table_facts(table, str(paths[table.what])) for table in given.values())
        searches = tables.get("searches")
        log = None if searches is None else _log_facts(searches, end_of_times(settings))
    clicks = tables.get("clicks")
    if searches is None or clicks is None or not count:
        judgments = tables.get("judgments") if count else None
        problems = _judgment_problems(judgments, settings) if judgments is not None else ()
        return Inspection(facts, command, log, problems=(*broken, *problems), notes=tuple(notes))
    counted = _counted(checked_log(searches, clicks), tables.get("judgments"), settings, progress)
    problems = (*broken, *counted.problems)
    return replace(counted, tables=facts, command=command, log=log, problems=problems, notes=tuple(notes))


def _opened(
    paths: Mapping[str, Source], settings: Settings, progress: Progress
) -> tuple[dict[str, Input], dict[str, Input], list[str]]:
    """Return tables as given, as a run reads them (impressions are two), and why others cannot be opened."""
    given: dict[str, Input] = {}
    tables: dict[str, Input] = {}
    faults: list[InputError] = []
    for name, source in paths.items():
        try:
            path = staged(name, source, names_of(name, settings.column), progress)
            shown = impressions(path, settings, progress) if name == "searches" else None
            given[name] = opened(name, path, settings, progress) if shown is None else shown
            made = {name: given[name]} if shown is None else made_halves(shown, settings, progress=progress)
        except InputError as error:
            faults.append(error)
        else:
            tables |= made
    if faults and not given:
        raise faults[0]
    return given, tables, [str(error) for error in faults]


def _judgment_problems(judgments: Input, settings: Settings) -> tuple[str, ...]:
    """Return why a run would stop at judgments, whatever the log."""
    rows, by_market = collected(judgments), "market" in judgments.columns
    if not rows.height:
        return ("judgments: the files contain no rows",)
    try:
        prepare.check_labels("judgments", rows, settings)
        queries = prepare.judged_queries(rows, by_market=by_market)
        prepare.prepare_judgments(rows, queries, settings, by_market=by_market)
    except ClickassayError as error:
        return (str(error),)
    return ()


def tables_of(folder: Path) -> dict[str, str]:
    """Return canonical tables of a folder: ``searches.*`` or a folder ``searches``; InputError if both."""
    tables: dict[str, str] = {}
    for name in CANONICAL:
        files = sorted(file for file in folder.iterdir() if file.name.startswith(f"{name}."))
        places = [file for file in files if set(file.suffixes) & set(FORMATS)]
        places += [place for place in [folder / name] if place.is_dir()]
        if len(places) > 1:
            raise InputError(f"{folder} has {places[0].name} and {places[1].name}; choose one by --{name}")
        if places:
            tables[name] = str(places[0])
    # queries alone are attributes of no log: exports of other tools have files of this name
    return {} if tables.keys() == {"queries"} else tables


def run_of(paths: Mapping[str, Source], settings: Settings, *, has_clicks: bool = False) -> str:
    """Return the command of a run; names in capitals were not given (clicks may be in searches)."""
    needed = [name for name in CANONICAL if name != "queries" and not (name == "clicks" and has_clicks)]
    given = {name: f"--{name} {name.upper()}" for name in needed}
    databases = {}
    for name, source in paths.items():
        if isinstance(source, InputSql) and source.is_elsewhere:
            given[name] = "--project PROJECT"
        elif isinstance(source, InputSql):
            text = source.text if source.file is None else str(source.file)
            given[name] = f"--{name}-sql {shlex.quote(text)}"
            if source.database:
                databases[str(source.database)] = f"--database {shlex.quote(str(source.database))}"
        else:
            shown = name.upper() if isinstance(source, Frame) else shlex.quote(str(source))
            given[name] = f"--{name} {shown}"
    given |= databases
    options = " ".join(dict.fromkeys(given.values()))
    return " ".join(filter(None, (f"clickassay run {options}", options_of(settings), "--out RUN")))


def own_folder(folder: Path) -> tuple[str, str] | None:
    """Return the kind of a folder that clickassay wrote, and a command that reads it; None for others."""
    name, place = shlex.quote(str(folder)), place_of(folder)
    commands = {
        Place.STORE: f"clickassay store info {name}",
        Place.RUN: f"clickassay explore {name}",
        Place.PATTERN_TABLE: f"clickassay report --patterns {name} --judgments JUDGMENTS --out RUN",
    }
    return (place.value, commands[place]) if place in commands else None


def files_of(folder: Path) -> list[Path]:
    """Return the first files of a folder, none hidden, those in subfolders last; InputError if none."""
    files = files_below("inspect", folder)
    if not files:
        raise InputError(f"{folder} contains no file; give the folder of a log, or a file")
    return sorted(files, key=lambda file: (len(file.parts), file))[:MOST_FILES]


def columns_of(file: Path) -> tuple[pl.Schema, pl.LazyFrame] | None:
    """Return columns and types of a file that is a table, and its rows; None for any other."""
    try:
        part = first_part("inspect", file)
    except ClickassayError:
        return None
    return part.schema, part.frame


def _table_facts(table: Input, path: str) -> TableFacts:
    columns = {name: str(dtype) for part in table.parts for name, dtype in part.schema.items()}
    in_memory = {file: table.file_fingerprint(file).bytes for file in table.files if file in table.held}
    size = sum(in_memory[file] if file in in_memory else file.stat().st_size for file in table.files)
    rows = table.frame.select(pl.len()).collect(engine="streaming").item()
    files = table.found
    counts = (len(table.files), files.folders, dict(files.left_out), size, int(rows))
    return TableFacts(table.what, path, *counts, columns)


def _log_facts(searches: Input, end_ms: int) -> LogFacts:
    time = pl.col("timestamp").filter(pl.col("timestamp").is_between(FIRST_MS, end_ms, closed="left"))
    facts = searches.frame.select(
        pl.len().alias("searches"),
        pl.col("user_id").drop_nulls().n_unique().alias("users"),
        time.min().alias("first_ms"),
        time.max().alias("last_ms"),
    )
    return LogFacts(**facts.collect(engine="streaming").row(0, named=True))


def _counted(
    log: Log[LocalHalf], judgments: Input | None, settings: Settings, progress: Progress
) -> Inspection:
    with files_named(log.searches, log.clicks):
        table = counted_pattern_table(log, settings, progress=progress)
        table = replace(table, info={**table.info, "mixed_times": mixed_times(log.searches, log.clicks)})
    problems, funnel, lists = [], table.funnel, log_lists(table)
    queries = pl.concat(table.queries)
    try:
        with files_named(log.searches, log.clicks):
            check_log(funnel, settings.max_rejected)
        prepare.check_labels("searches", queries, settings)
        prepare.check_markets(queries["market"])
    except ClickassayError as error:
        problems.append(str(error))
    judged: list[JudgedFacts] = []
    usable: tuple[prepare.Judgments, pl.DataFrame] | None = None
    if judgments is not None and lists.configurations.height:
        rows, by_market = collected(judgments), "market" in judgments.columns
        judged = _judged(lists, queries, table.stored_depth, rows, settings, by_market=by_market)
        try:
            prepare.check_labels("judgments", rows, settings)
            graded = prepare.prepare_judgments(rows, queries, settings, by_market=by_market)
            usable = graded, prepare.judged_queries(rows, by_market=by_market)
            funnel = pl.concat([funnel, graded.funnel])
            problems += _nothing_to_measure(judged, settings)
        except ClickassayError as error:
            problems.append(str(error))
    usable_rows = log.searches.frame.drop_nulls("user_id").filter(
        pl.col("timestamp").is_between(FIRST_MS, end_of_times(settings), closed="left")
    )
    numbers = {**log_measures(table, settings, log), **time_numbers(usable_rows, settings.idle_ms)}
    return Inspection(
        (),
        "",
        sessions=int(funnel.filter(source="sessions", step="formed")["rows"].sum()),
        queries=queries["query"].n_unique(),
        lost=tuple(_lost(funnel, table.stored_depth)),
        signals=tuple(_signals(lists)),
        positions=tuple(
            PositionFacts(position, shown, clicked, clicked / shown)
            for position, (shown, clicked) in enumerate(clicks_by_position(lists, table.stored_depth), 1)
        ),
        judged=tuple(judged),
        problems=tuple(problems),
        health=fired(health_table(whole_health(numbers, table, lists, usable, settings))),
    )


def _signals(lists: LogLists) -> Iterator[SignalFacts]:
    if lists.signals is None:
        return
    query = lists.configurations.select("market", "query").with_row_index("list")
    rows = lists.signals.join(query.with_columns(pl.col("list").cast(lists.signals["list"].dtype)), on="list")
    counts = rows.group_by("signal").agg(
        pl.col("sessions").sum(), pl.col("query").n_unique().alias("queries")
    )
    for row in counts.sort("sessions", "signal", descending=[True, False]).iter_rows():
        yield SignalFacts(*row)


def _nothing_to_measure(judged: Sequence[JudgedFacts], settings: Settings) -> Iterator[str]:
    """Yield the reason if no list could be evaluated at any depth of the run."""
    depths = [one for one in judged if one.depth in settings.depth]
    if any(one.lists_judged for one in depths):
        return
    named = " or ".join(str(depth) for depth in settings.depth)
    if any(one.lists for one in depths):
        yield (
            f"no ranking is fully judged at depth {named}, so a run would have nothing to correlate; check "
            "that judgments and log use the same queries and URLs"
        )
    else:
        yield f"no ranking has {named} results; choose a smaller --depth"


def _lost(funnel: pl.DataFrame, depth: int) -> Iterator[LostRows]:
    """Yield what is left out, the largest first; clicks outside the list are those at the deepest cut."""
    outside = (pl.col("step") == "elsewhere") & (pl.col("depth") == depth)
    left = funnel.filter((pl.col("step").is_in(_LOST) & (pl.col("depth") == 0)) | outside)
    reasons = left.group_by("source", "step", "reason").agg(pl.col("rows").sum())
    ordered = reasons.sort("source", "rows", "reason", descending=[True, True, False])
    for row in ordered.iter_rows(named=True):
        yield LostRows(**row)


def _judged(
    lists: LogLists,
    queries: pl.DataFrame,
    deepest: int,
    rows: pl.DataFrame,
    settings: Settings,
    *,
    by_market: bool,
) -> list[JudgedFacts]:
    """Return how much of the lists shown is judged, by any judge and whatever the grade."""
    lenient = settings.model_copy(update={"max_rejected": 1.0, "conflicts": "max"})
    any_grade = pl.when(pl.col("grade").is_not_null()).then(0).alias("grade")
    graded = prepare.prepare_judgments(rows.with_columns(any_grade), queries, lenient, by_market=by_market)
    key = (*graded.query_key, "url")
    pairs = graded.grades.select(key).unique().with_columns(is_judged=pl.lit(True))
    known = lists.configurations.select("market", "query", "results", "sessions")
    results = results_shown(known, deepest).join(pairs, on=key, how="left")
    shown = results.with_columns(pl.col("is_judged").fill_null(False))
    longest = int(known["results"].list.len().max() or 0)  # type: ignore[arg-type]
    found = []
    for depth in sorted({min(depth, longest) for depth in (*_DEPTHS, *settings.depth)} - {0}):
        top = shown.filter(pl.col("place") < depth)
        lists_of = top.group_by("list").agg(
            pl.len().alias("length"), pl.col("is_judged").sum().alias("judged"), pl.col("sessions").first()
        )
        whole = lists_of.filter(pl.col("length") == depth)
        counts = (
            rows["sessions"].sum()
            for rows in (top, top.filter("is_judged"), whole, whole.filter(pl.col("judged") == depth))
        )
        found.append(JudgedFacts(depth, *map(int, counts)))
    return found


# ---- foreign logs: imported to a temporary folder and inspected there ------------------------------


IMPORTERS: dict[str, Callable[..., Imported]] = {
    detect.UBI.name: lambda file, **more: import_ubi([file], **more),
    detect.YANDEX.name: import_yandex,
    detect.PYCLICK.name: import_pyclick,
    detect.YAHOO.name: import_yahoo_l18,
    detect.TIANGONG.name: import_tiangong_st,
    detect.BAIDU.name: import_baidu_ultr,
}
"""Importers of logs that need only one file, by the name of the layout."""


JUDGMENTS: dict[str, Callable[..., Imported]] = {
    **{
        name: lambda file, **more: import_judgments([file], **more)
        for name in IMPORTED_LAYOUTS
        if name != detect.JUDGMENTS.name
    },
    detect.LETOR.name: import_letor,
}
"""Importers of judgments that need only one file, by the name of the layout."""


def foreign_judgments(file: Path, layout: str, progress: Progress) -> Imported:
    """Return counts and notes of an import of `JUDGMENTS`, which is not kept; InputError if it is refused."""
    with TemporaryDirectory(prefix="clickassay-inspect-") as place:
        return JUDGMENTS[layout](file, out=Path(place) / "judgments", progress=progress)


def foreign_log(
    file: Path, layout: str, judgments: Mapping[str, Source], settings: Settings, progress: Progress
) -> tuple[Imported, Inspection]:
    """Return the counts and notes of importing a file of `IMPORTERS`, and an inspection of the imported log.

    judgments: canonical ones by the name of their table, if any. Raises InputError if something is not
      readable.
    """
    with TemporaryDirectory(prefix="clickassay-inspect-") as place:
        out = Path(place) / "log"
        imported = IMPORTERS[layout](file, out=out, progress=progress)
        tables = {name: str(out / f"{name}.parquet") for name in ("searches", "clicks")}
        inspection = inspect_log({**tables, **judgments}, settings, progress=progress)
        facts = tuple(replace(table, path=_later(table.path, out)) for table in inspection.tables)
        return imported, replace(inspection, tables=facts, command=_later(inspection.command, out))


def _later(text: str, out: Path) -> str:
    """Put FOLDER in place of the temporary folder, as in the command that imports."""
    return text.replace(str(out), "FOLDER")
