"""What functions are given: settings as keywords, tables of any library, runs or their folders."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

from clickassay.core.errors import SettingsError
from clickassay.core.progress import Progress
from clickassay.core.settings.texts import plain

if TYPE_CHECKING:
    from clickassay.findings.run import Run
    from clickassay.inputs.staging.sources import Source

Table = Any
"""A path, glob or address, SQL as `InputSql`, or a frame: Polars (lazy too), pandas, Arrow, DuckDB."""

Place = str | Path

Told = bool | Progress
"""True: a bar in a terminal or a notebook; False: none; or a function that is called with what is done."""

Names = str | Sequence[str]


class SettingsGiven(TypedDict, total=False):
    """Every setting that may be given, by its name; docs/reference/settings.md says what each means."""

    depth: Collection[int] | int | str
    idle_minutes: float
    idle_scope: Literal["user", "query"]
    normalise_urls: bool
    signal: Sequence[str] | str
    satisfied_seconds: float
    last_click: Literal["satisfied", "unsatisfied"]
    outcome: Sequence[str] | str
    outcome_kind: Mapping[str, str] | Sequence[str] | str
    test: Mapping[str, Any] | Sequence[str] | str
    reformulation_minutes: float
    max_rejected: float
    max_markets: int
    column: Mapping[str, Any] | Sequence[str] | str
    shape: Literal["auto", "lists", "impressions"]
    health_limit: Mapping[str, Any] | Sequence[str] | str
    only_judged: bool
    batch: str
    late_minutes: float
    allow_gap: bool
    clock: str | None
    time_zone: str
    folds: int
    periods: Literal["day", "week", "none"]
    scale: Mapping[Any, Any] | Sequence[str | int] | str
    max_grade: int
    relevant_grade: int
    success_grade: int
    conflicts: Literal["error", "max", "mean-rounded", "latest"]
    metric: Sequence[str] | str
    click_metric: Sequence[str] | str
    persistence: float
    pool: Literal["judged", "shown"]
    unjudged: Literal["drop", "zero", "model", "extremes"]
    click_judge: str | None
    click_models: Sequence[str] | str
    iterations: int
    min_users: int
    title: str | None
    current: str | None
    question: Literal["rankings", "queries"]
    margin: float
    effect_margin: float
    full: bool
    seed: int
    threads: int | None
    memory_limit: str | None
    engine: Literal["arrays", "duckdb", "spark"]
    spark_master: str | None
    spark_remote: str | None
    spark_conf: Sequence[str] | str
    spark_staging: str | None


class HasRun(Protocol):
    """A `RunResult`: to know it by name, studies would have to import all that makes one."""

    @property
    def found_run(self) -> "Run":
        """Its tables and settings."""


def run_or_folder(given: HasRun | Place) -> "Run | Path":
    """Return a run as studies take it.

    Raises
    ------
    SettingsError
        If it is neither a result nor a path.
    """
    if isinstance(given, str | Path):
        return Path(given)
    if not hasattr(given, "found_run"):
        found = None if given is None else type(given).__name__
        raise SettingsError(f"a run: found {found}, expected the result of `run`, or a folder")
    return given.found_run


def saved(given: HasRun | Place | None) -> Path | None:
    """Return the folder of a run, or of another result that lies in one.

    Raises
    ------
    SettingsError
        If it lies in none.
    """
    if given is None or isinstance(given, str | Path):
        return None if given is None else Path(given)
    place = given.found_run.folder if hasattr(given, "found_run") else getattr(given, "place", None)
    if not isinstance(place, str | Path) or Path(place) == Path():
        what = type(given).__name__
        raise SettingsError(f"found {what} in memory, expected a folder: save it first, as run.save(FOLDER)")
    return Path(place)


def named_run(given: HasRun | Place) -> str:
    """Return what a run is called on the screen."""
    return str(given) if isinstance(given, str | Path) else given.found_run.called


def source_of(given: Table) -> "Source | None":
    """Return an input as jobs take it; None where none is given."""
    from clickassay.inputs.frames import Frame  # noqa: PLC0415 - DuckDB takes a while to import
    from clickassay.inputs.sources.fingerprint import Made  # noqa: PLC0415 - as above
    from clickassay.inputs.staging.sql import InputSql  # noqa: PLC0415 - as above

    if given is None or isinstance(given, str | Path | InputSql | Made | Frame):
        return given
    return Frame(given)


def several(given: Any) -> tuple[Any, ...]:  # noqa: ANN401 - one value or several
    """Return one value, or several, as a tuple."""
    if given is None:
        return ()
    given = plain(given)
    return tuple(given) if isinstance(given, list | tuple | set | frozenset) else (given,)
