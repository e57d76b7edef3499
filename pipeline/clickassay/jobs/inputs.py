"""The inputs of a job: each is opened once, and handed on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.files.scratch import with_scratch
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.settings import Settings
from clickassay.inputs.columns import CANONICAL, IMPRESSIONS, OF_TESTS, SAYS_CLICKED, TABLE_COLUMNS, Wanted
from clickassay.inputs.files import format_by_content, format_of
from clickassay.inputs.normalise import normalise_queries
from clickassay.inputs.sources.fingerprint import Made
from clickassay.inputs.sources.mapping import advice, names_of, set_aside
from clickassay.inputs.sources.parts import schema_of
from clickassay.inputs.sources.walk import find_files
from clickassay.inputs.staging.impressions import halves_of, look_like_impressions
from clickassay.inputs.staging.sources import Source, is_plain, staged
from clickassay.inputs.tables import Input, WholeInput, read_input
from clickassay.judgments.alike import groups_of_queries
from clickassay.judgments.prepare import check_labels
from clickassay.logs.log import LocalHalf, Log, joined_log, local_half

NO_JUDGMENTS = "a run needs judgments: name their file, or give them as a frame"


@dataclass(frozen=True)
class Sources:
    """Where the inputs of a job lie: a file, folder, glob or address, SQL or a frame; None = not given.

    Searches and clicks may lie where only Spark reaches; searches with a row for each result have their
    clicks.
    """

    searches: Source | None = None
    clicks: Source | None = None
    judgments: Source | None = None
    queries: Source | None = None
    scores: Source | None = None
    outcomes: Source | None = None
    assignments: Source | None = None

    @property
    def given(self) -> dict[str, Source]:
        """Those that are given, by name."""
        return {name: source for name, source in vars(self).items() if source is not None}


@dataclass(frozen=True)
class Inputs:
    """The inputs of a job, open; None where one is not given."""

    # searches, clicks: The halves of a log: open, or the name of a half that only Spark reaches; empty where
    # a stored pattern table is in their place.
    searches: LocalHalf | str = ""
    clicks: LocalHalf | str = ""
    judgments: WholeInput | None = None
    queries: WholeInput | None = None  # Attributes of queries, whose texts are normalised as the log's are.
    scores: WholeInput | None = None  # Scores of lists that stand where offline metrics do.
    outcomes: WholeInput | None = None
    assignments: WholeInput | None = None  # Of users to the arms of A/B tests.

    @property
    def halves_here(self) -> tuple[LocalHalf, ...]:
        """The halves of the log that lie on this machine."""
        return tuple(half for half in (self.searches, self.clicks) if isinstance(half, LocalHalf))

    @property
    def log(self) -> Log[LocalHalf] | None:
        """The log; None unless both halves lie on this machine."""
        return Log(*self.halves_here) if len(self.halves_here) == len(("searches", "clicks")) else None

    def log_here(self) -> Log[LocalHalf]:
        """Return the log, for engines that open no half themselves: both lie on this machine."""
        return Log(*self.halves_here)

    def graded(self) -> WholeInput:
        """Return the judgments; SettingsError if there are none."""
        if self.judgments is None:
            raise SettingsError("a run needs judgments: give --judgments")
        return self.judgments

    @property
    def identities(self) -> dict[str, Any]:
        """Fingerprints of all but the log, by name."""
        return {name: one.identity for name, one in vars(self).items() if isinstance(one, WholeInput)}


def opened(
    what: str, source: Source, settings: Settings, progress: Progress = silent, wanted: Sequence[Wanted] = ()
) -> Input:
    """Open a table by its name, reading only schemas and values of text; what is no file here is written.

    wanted: its columns, where they are not those of its name.
    Raises InputError if a file is missing, cannot be read or lacks a column.
    """
    wanted = wanted or TABLE_COLUMNS[what]
    names, zone = names_of(what, settings.column), settings.time_zone
    if not settings.reads_tests:
        wanted = [replace(one, is_ignored=one.name in OF_TESTS and what == "searches") for one in wanted]
    # rows in memory are read there by one engine: others read files
    made = staged(what, source, names, progress, held=settings.engine == "arrays")
    given = made if isinstance(made, Made) else Made(Path(made))
    others = what == "queries"
    table = read_input(
        what, given.path, wanted, keep_others=others, time_zone=zone, names=names, held=given.held,
        lists=given.lists,
    )  # fmt: skip
    for told in set_aside(what, wanted, table.parts[0].schema, table.parts[0].frame):
        progress(Event(told, note=True))
    return replace(table, origins=made.origins) if isinstance(made, Made) else table


def _whole(what: str, source: Source, settings: Settings, progress: Progress) -> WholeInput:
    categories = OF_TESTS if what == "assignments" else ()  # a row for each user and test
    return WholeInput.of(opened(what, source, settings, progress), progress, categories=categories)


def open_log(
    sources: Sources, settings: Settings, *, by_file: bool = False, progress: Progress = silent
) -> Inputs:
    """Open a log, outcomes, assignments, and judgments if only judged queries count; `by_file`: for a store.

    Raises InputError if a file is missing, cannot be read or lacks a column, or clicks name no place.
    """
    inputs = Inputs(*_halves(sources, settings, by_file=by_file, progress=progress))
    if inputs.log is not None:
        log = joined_log(*inputs.halves_here)
        inputs = Inputs(log.searches, log.clicks)
    beside = ("outcomes", "assignments", *(("judgments",) if settings.only_judged else ()))
    whole: dict[str, Any] = {
        name: _whole(name, source, settings, progress)
        for name, source in sources.given.items()
        if name in beside
    }
    return replace(inputs, **whole)


def _halves(
    sources: Sources, settings: Settings, *, by_file: bool, progress: Progress
) -> tuple[LocalHalf | str, LocalHalf | str]:
    searches, clicks = sources.searches, sources.clicks
    if searches is None:
        raise SettingsError("a pattern table needs searches: a path, SQL or a frame")
    is_remote = _is_remote(searches, settings)
    if is_remote and settings.shape == "impressions":
        raise _made_here()
    if not is_remote:
        searches = _within_reach("searches", searches, settings, progress)
    table = None if is_remote else impressions(searches, settings, progress)
    if table is not None and _is_far(settings):
        raise _made_here()
    if table is None:
        shown = _half("searches", searches, settings, progress)
        if clicks is None:
            place = searches.path if isinstance(searches, Made) else searches
            raise SettingsError(
                f"clicks are missing: give --clicks; {place} has one row for each search, which has none"
            )
        return shown, _half("clicks", clicks, settings, progress)
    made = made_halves(table, settings, by_file=by_file, progress=progress)
    if clicks is not None:
        return made["searches"], _half("clicks", clicks, settings, progress)
    if "clicks" not in made:
        told = sorted(SAYS_CLICKED)
        hint = advice("searches", told, table.parts[0].schema, table.parts[0].frame)
        raise InputError(
            f"searches: {table.files[0]} has neither column clicked nor column clicked_at; give --clicks"
            f"{hint or ', or name the column by --column searches.clicked=…'}"
        )
    return made["searches"], made["clicks"]


def impressions(searches: Source, settings: Settings, progress: Progress = silent) -> Input | None:
    """Open searches with a row for each result shown, as declared or told by columns; else None."""
    names = names_of("searches", settings.column)
    searches = staged("searches", searches, names, progress, held=settings.engine == "arrays")
    is_shown = settings.shape == "impressions"
    if settings.shape == "auto":
        file = find_files("searches", searches.path if isinstance(searches, Made) else searches).files[0]
        schema = schema_of("searches", file, format_of(file) or format_by_content("searches", file))
        is_shown = look_like_impressions({*names, *schema} - set(names.values()))
    return opened("searches", searches, settings, progress, IMPRESSIONS) if is_shown else None


def made_halves(
    table: Input, settings: Settings, *, by_file: bool = False, progress: Progress = silent
) -> dict[str, LocalHalf]:
    """Make searches and clicks of impressions; no clicks where no column tells them."""
    halves = {}
    numbered = settings.engine == "arrays"
    for what, made in halves_of(table, by_file=by_file, numbered=numbered, progress=progress).items():
        half = read_input(what, made.path, CANONICAL[what], lists=made.lists)
        halves[what] = local_half(replace(half, found=table.found, origins=made.origins))
    return halves


def _is_far(settings: Settings) -> bool:
    """Tell whether the engine works on other machines, which do not see a folder of this one."""
    master = settings.spark_remote or settings.spark_master or "local"
    return settings.engine == "spark" and not master.startswith("local")


def _within_reach(what: str, source: Source, settings: Settings, progress: Progress) -> str | Path | Made:
    """Return the files of one half of a log, where the engine sees them."""
    if _is_far(settings) and not is_plain(source):
        raise _made_here()
    held = settings.engine == "arrays"
    return staged(what, source, names_of(what, settings.column), progress, held=held)


def _made_here() -> SettingsError:
    return SettingsError(
        "a remote Spark reads lists where they lie: impressions, SQL, frames and tables of lakes are "
        "written on this machine first; use another engine, or write searches and clicks as Parquet where it "
        "reads them"
    )


def _is_remote(place: Source, settings: Settings) -> bool:
    if settings.engine != "spark" or not isinstance(place, str | Path):
        return False
    from clickassay.logs.spark.read import lies_here  # noqa: PLC0415 - an extra

    return not lies_here(place)


def _half(what: str, source: Source, settings: Settings, progress: Progress) -> LocalHalf | str:
    if _is_remote(source, settings):
        return str(source)
    made = _within_reach(what, source, settings, progress)
    return local_half(opened(what, made, settings, progress))


def with_judgments(
    inputs: Inputs, sources: Sources, settings: Settings, progress: Progress = silent
) -> Inputs:
    """Add judgments, attributes of queries and scores of lists to inputs, which are read whole.

    Raises SettingsError if there are no judgments; InputError if one cannot be read, or judgments have more
    markets or judges than may be.
    """
    if sources.judgments is None:
        raise SettingsError(NO_JUDGMENTS)
    graded = inputs.judgments
    if graded is None:
        graded = _whole("judgments", sources.judgments, settings, progress)
    check_labels("judgments", graded.rows, settings)
    inputs = replace(inputs, judgments=graded)
    if sources.scores is not None:
        inputs = replace(inputs, scores=_whole("scores", sources.scores, settings, progress))
    if sources.queries is not None:
        inputs = replace(inputs, queries=_attributes(sources.queries, settings, progress))
    return inputs


@with_scratch()
def grouped_queries(sources: Sources, settings: Settings, progress: Progress = silent) -> pl.DataFrame:
    """Return the table of queries with a column `group` for near-duplicates; judged ones it lacks at its end.

    Raises InputError if an input cannot be read, or the table has a column `group` already.
    """
    inputs = with_judgments(Inputs(), sources, settings, progress)
    rows = inputs.graded().rows.select("query", "url").drop_nulls()
    judged = rows.with_columns(normalise_queries(rows["query"]))
    names = judged.select("query").unique().sort("query")
    given = names if inputs.queries is None else inputs.queries.rows
    if "group" in given.columns:
        raise InputError(
            f"{sources.queries} has a column group already; rename it, or give a table without it"
        )
    rest = names.join(given, on="query", how="anti")
    table = pl.concat([given, rest], how="diagonal")
    return table.join(groups_of_queries(judged), on="query", how="left", maintain_order="left")


@with_scratch()
def read_attributes(queries: Source, settings: Settings, progress: Progress = silent) -> pl.DataFrame:
    """Return a table of queries, their names normalised; InputError if it cannot be read."""
    return _attributes(queries, settings, progress).rows


def _attributes(source: Source, settings: Settings, progress: Progress) -> WholeInput:
    queries = _whole("queries", source, settings, progress)
    rows = queries.rows.drop_nulls("query")
    rows = rows.with_columns(normalise_queries(rows["query"]))
    return replace(queries, rows=rows if queries.by_market else rows.drop("market"))
