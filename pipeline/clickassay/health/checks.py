"""The checks of a log's health: names, severities and thresholds; and what a check found."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Literal

import polars as pl

from clickassay.core.contracts.run import HEALTH_CHECKS
from clickassay.core.errors import InputError, SettingsError
from clickassay.core.text.words import count, did_you_mean, listed, plural

Side = Literal["above", "below"]


class Severity(StrEnum):
    """What a check that fires amounts to: nothing is published, exit code 1, or a sentence."""

    STOP = "stop"
    FINDING = "finding"
    CAUTION = "caution"


OK = "ok"
"""Status of a check that does not fire."""

TOO_FEW = "too few"
"""Status of a check that could not speak: there were too few rows."""


@dataclass(frozen=True)
class Check:
    """A check."""

    name: str  # As it is named in tables, settings and documents.
    severity: Severity  # What it amounts to if it fires.
    meaning: str  # What its number is.
    threshold: float  # It fires if the number is beyond it, on the side that `side` says.
    side: Side = "above"
    caution: float | None = None  # Where a caution begins; None = there is none, or it is all that there is.
    fault: str = ""  # What is wrong if it fires, as a clause without numbers: for titles and lists.

    def is_beyond(self, value: float, threshold: float) -> bool:
        """Return whether a number is beyond a threshold."""
        return value > threshold if self.side == "above" else value < threshold

    @property
    def first(self) -> float:
        """Where it begins to fire."""
        return self.threshold if self.caution is None else self.caution


STOP, FINDING, CAUTION = Severity

CHECKS = (
    Check("lost_clicks", STOP, "share of clicks that no search can be given", 0.9,
          fault="clicks have no search that they could belong to"),
    Check("no_clicks", FINDING, "clicks in the log", 1, "below",
          fault="there is no click"),
    Check("unmatched_clicks", FINDING, "share of clicks without a search", 0.25, caution=0.02,
          fault="clicks name searches that are not there"),
    Check("late_clicks", FINDING, "share of clicks beyond the idle limit", 0.25, caution=0.02,
          fault="clicks come after the idle limit of their search"),
    Check("clicks_elsewhere", FINDING, "share of clicks on no result kept", 0.5, caution=0.2,
          fault="clicks are on none of the first results of their search"),
    Check("ambiguous_clicks", FINDING, "share of clicks whose search_id is ambiguous", 0.05,
          fault="different searches have one search_id"),
    Check("positions_from_zero", FINDING, "share of clicks at a position below 1", 0.005,
          fault="positions of clicks do not count from 1"),
    Check("same_minute", CAUTION, "share of searches in one minute of the day", 0.5,
          fault="one minute of the day has a large part of the searches"),
    Check("busy_minute", CAUTION, "share of searches in the busiest minute of the day", 0.05,
          fault="one minute of the day has many searches"),
    Check("busy_user", CAUTION, "share of searches in the busiest of 4,096 groups of users", 0.01,
          fault="one user, or a few, have many searches"),
    Check("one_search_each", CAUTION, "searches for each user", 1.05, "below",
          fault="nearly every user has one search"),
    Check("missing_days", CAUTION, "days without a search between the first and the last", 0,
          fault="days have no search"),
    Check("double_days", CAUTION, "days with more than twice the searches of the median day", 0,
          fault="days have twice the usual searches"),
    Check("days_without_clicks", FINDING, "days with searches and no click", 0,
          fault="days have searches and no click"),
    Check("times_without_zone", CAUTION, "share of times without a zone among times with one", 0,
          fault="only some times have a zone"),
    Check("no_idle_gaps", CAUTION, "share of pauses beyond the idle limit", 0.001, "below",
          fault="nearly every user has one visit"),
    Check("standing_time", CAUTION, "share of pauses of 0 ms", 0.2,
          fault="searches of a user have the same time"),
    Check("silent_hours", CAUTION, "hours without a search that usually have some", 0,
          fault="hours have no search"),
    Check("busy_query", CAUTION, "share of sessions of the most frequent query", 0.2,
          fault="one query has many sessions"),
    Check("misplaced_clicks", CAUTION, "share of clicks whose position is of another URL", 0.01,
          fault="positions and URLs of clicks disagree"),
    Check("repeated_results", CAUTION, "share of lists that show a result again", 0.05,
          fault="lists show a result again"),
    Check("one_list_length", CAUTION, "lengths of lists, where all are below the depth", 2, "below",
          fault="all lists are equally short"),
    Check("many_markets", CAUTION, "markets of the log", 20,
          fault="there are many markets"),
    Check("flat_clicks", CAUTION, "clicks at position 1 over those at the best other", 1.1, "below",
          fault="the first position is hardly clicked more than another"),
    Check("queries_that_fold", CAUTION, "share of queries that differ in what Unicode folds", 0.005,
          fault="queries differ only in what Unicode folds"),
    Check("unseen_queries", CAUTION, "share of judged queries that the log does not have", 0.9,
          fault="judged queries are not in the log"),
    Check("no_judged_queries", FINDING, "judged queries that the log has", 1, "below",
          fault="no judged query is in the log"),
    Check("queries_alike", FINDING, "share of queries in another form", 0.25, caution=0.01,
          fault="log and judgments write queries in different forms"),
    Check("unjudged_queries", CAUTION, "share of sessions of queries without a judgment", 0.99,
          fault="sessions are of queries without a judgment"),
    Check("no_judged_results", FINDING, "judged results that a list shows", 1, "below",
          fault="no judged result is in a list of its query"),
    Check("urls_alike", FINDING, "share of results in another form", 0.1, caution=0.01,
          fault="log and judgments write results in different forms"),
    Check("unjudged_results", CAUTION, "share of results without a judgment", 0.95,
          fault="results have no judgment"),
    Check("unshown_results", CAUTION, "share of judged results in no list", 0.99,
          fault="judged results are in no list"),
    Check("no_query_attributes", FINDING, "queries with attributes in the log", 1, "below",
          fault="no query with attributes is in the log"),
    Check("one_grade", FINDING, "different grades in the judgments", 2, "below",
          fault="all judgments have one grade"),
    Check("top_grade_unused", CAUTION, "highest grade seen over the scale's highest", 1, "below",
          fault="no judgment has the highest grade"),
    Check("bottom_grade_unused", CAUTION, "lowest grade seen, where several are", 0,
          fault="no judgment has the lowest grade"),
    Check("near_duplicate_queries", CAUTION, "share of judged queries alike to another one", 0.1,
          fault="queries share most of their judged results with others"),
    Check("reversed_grades", FINDING, "correlation of the first grade with clicks", 0, "below",
          fault="the better the grade of the first result, the fewer clicks"),
)  # fmt: skip
"""All checks, in the order of reports."""

BY_NAME: Mapping[str, Check] = {check.name: check for check in CHECKS}


def checks_with(limits: Iterable[str]) -> dict[str, Check]:
    """Return the checks by name with thresholds as ``NAME=NUMBER`` in place of their own; ``NAME=off`` none.

    Raises SettingsError if a name is unknown, or a threshold no number.
    """
    checks = dict(BY_NAME)
    for limit in limits:
        name, _, number = limit.partition("=")
        if name not in BY_NAME:
            raise SettingsError(
                f"health_limit: no check has the name {name!r}; {did_you_mean(name, BY_NAME)}"
            )
        if number == "off":
            checks.pop(name, None)
            continue
        checks[name] = replace(BY_NAME[name], threshold=_number(name, number), caution=None)
    return checks


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SettingsError(
            f"health_limit {name}: {text!r} is no number; e.g. {name}=0.5, or {name}=off"
        ) from None


@dataclass(frozen=True)
class Measured:
    """The number of a check, and what would be said if it fires."""

    # name, value: The check and its number; None where there are too few rows to say it.
    name: str
    value: float | None
    # sentence, remedy: What is wrong, with numbers, or what there is too little of; what to do.
    sentence: str
    remedy: str
    example: str = ""  # Rows of the data that show it; '' where none is known.


def too_few(amount: int, least: int, rows: str, *names: str) -> Iterator[Measured]:
    """Yield checks that need at least so many rows, e.g. ``clicks``, where there are fewer."""
    for name in names:
        yield Measured(name, None, f"{count(amount)} of {count(least)} {rows}", "")


@dataclass(frozen=True)
class HealthCheck:
    """What became of a check."""

    # check, status: Its name; `OK`, `TOO_FEW`, or its severity if it fires.
    check: str
    status: str
    # value, threshold: Its number and its threshold; the number is on the wrong side if it fires.
    value: float | None
    threshold: float
    # sentence, remedy, example: As in `Measured`; '' if it is `OK`.
    sentence: str = ""
    remedy: str = ""
    example: str = ""

    @property
    def fires(self) -> bool:
        """Whether something is wrong."""
        return self.status not in {OK, TOO_FEW}

    @property
    def is_finding(self) -> bool:
        """Whether a job should stop at it."""
        return self.status in {FINDING, STOP}

    @property
    def fault(self) -> str:
        """What is wrong, as a clause without numbers."""
        return BY_NAME[self.check].fault

    @property
    def text(self) -> str:
        """What is wrong, an example and what to do, in one line."""
        return " ".join(filter(None, (self.sentence, self.example, self.remedy)))

    def as_entry(self) -> dict[str, Any]:
        """Return it as an entry of `health` in `summary.json`, which has only checks that fire."""
        entry = self.as_data()
        return {"check": self.check, "severity": entry.pop("status")} | entry

    def as_data(self) -> dict[str, Any]:
        """Return it as an object of `health.json`."""
        return asdict(self)


def compared(measured: Iterable[Measured], checks: Mapping[str, Check]) -> tuple[HealthCheck, ...]:
    """Compare numbers with the thresholds of their checks; those without a check are left out."""
    by_name = {one.name: one for one in measured}
    return tuple(
        _compared(by_name[name], checks[name]) for name in BY_NAME if name in by_name and name in checks
    )


def _compared(one: Measured, check: Check) -> HealthCheck:
    if one.value is None:
        return HealthCheck(check.name, TOO_FEW, None, check.first, one.sentence)
    for status, threshold in ((check.severity, check.threshold), (CAUTION, check.caution)):
        if threshold is not None and check.is_beyond(one.value, threshold):
            said = one.sentence, one.remedy, one.example
            return HealthCheck(check.name, str(status), one.value, threshold, *said)
    return HealthCheck(check.name, OK, one.value, check.first)


def refuse_stops(checks: Iterable[HealthCheck]) -> None:
    """Stop where a check says so.

    Raises InputError: with the sentences of the checks that stop.
    """
    stops = [one.text for one in checks if one.status == STOP]
    if stops:
        raise InputError("; ".join(stops))


def health_table(checks: Iterable[HealthCheck]) -> pl.DataFrame:
    """Return the checks in the form of `HEALTH_CHECKS`."""
    rows = [one.as_data() for one in checks]
    return HEALTH_CHECKS.canonical(pl.DataFrame(rows, schema=HEALTH_CHECKS.empty().schema))


def fired(table: pl.DataFrame) -> tuple[HealthCheck, ...]:
    """Return the checks that fire, of a table in the form of `HEALTH_CHECKS`: findings first."""
    checks = [HealthCheck(**row) for row in table.iter_rows(named=True)]
    order = {str(severity): place for place, severity in enumerate(Severity)}
    places = {name: place for place, name in enumerate(BY_NAME)}
    fires = [one for one in checks if one.fires]
    return tuple(sorted(fires, key=lambda one: (order[one.status], places[one.check])))


def well_text(table: pl.DataFrame) -> str:
    """Return, where no check fires, how many found no fault; and how many could not speak, and why."""
    spoke = plural(table.filter(status=OK).height, "check")
    silent = table.filter(status=TOO_FEW)
    if silent.is_empty():
        return f"no fault found by {spoke} of the log and its judgments"
    reasons = listed(silent["sentence"].unique(maintain_order=True))
    return f"{spoke} found no fault, {count(silent.height)} could not speak (they have {reasons})"
