"""The checks of a log's health: rows of measure, limit, sentence and remedy, which one engine runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from string import Formatter
from typing import Any, Literal

import polars as pl

from clickassay.core.contracts.run import HEALTH_CHECKS
from clickassay.core.errors import SettingsError
from clickassay.core.text.words import count, did_you_mean, listed, number, percent, plural

Side = Literal["above", "below"]

Numbers = Mapping[str, Any]
"""What `health.measures` found, by name: numbers, and texts of sentences; what does not apply is missing."""


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
    """A check; its measure, sentence, remedy and example name what `health.measures` found."""

    name: str  # As it is named in tables, settings and documents.
    severity: Severity  # What it amounts to if it fires.
    meaning: str  # What its number is.
    threshold: float  # It fires if the number is beyond it, on the side that `side` says.
    side: Side = "above"
    caution: float | None = None  # Where a caution begins; None = there is none, or it is all that there is.
    fault: str = ""  # What is wrong if it fires, as a clause without numbers: for titles and lists.
    measure: str = ""  # Its number, by name; or a part and its whole, ``late/clicks``.
    # sentence, remedy: What is wrong, with numbers (see `_Words`), and what to do.
    sentence: str = ""
    remedy: str = ""
    example: str = ""  # Rows of the data that show it, by name; '' = none are looked for.
    # What there must be enough of for it to speak: the number, the fewest, and what is counted.
    least: tuple[tuple[str, int, str], ...] = ()

    def is_beyond(self, value: float, threshold: float) -> bool:
        """Return whether a number is beyond a threshold."""
        return value > threshold if self.side == "above" else value < threshold

    @property
    def first(self) -> float:
        """Where it begins to fire."""
        return self.threshold if self.caution is None else self.caution


STOP, FINDING, CAUTION = Severity

FEW_CLICKS = (("clicks", 50, "clicks"),)
"""Of fewer clicks, shares say little."""
_SEARCHES = 1000
"""Fewer searches say nothing about how they lie in time, or among users."""
_FEW_SESSIONS = (("sessions", 1000, "sessions"),)
_FEW_RESULTS = (("fewest_results", 20, "results"),)
"""Of fewer results, shares say little."""
_FEW_JUDGMENTS = (("judgments", 20, "judgments"),)
"""Fewer do not show which grades there are."""

CHECKS = (
    Check("lost_clicks", STOP, "share of clicks that match no search", 0.9,
          fault="clicks match no search",
          measure="lost/clicks", least=FEW_CLICKS, example="lost_example",
          sentence="Of {clicks:plural click}, {lost/clicks} match no search: "
          "{unmatched:count} name an unknown search_id, {late:count} come after its idle limit.",
          remedy="Check search_id and the time zone of both tables: `clickassay inspect` shows examples."),
    Check("no_clicks", FINDING, "clicks in the log", 1, "below",
          fault="there is no click",
          measure="clicks",
          sentence="{no_click}",
          remedy="{no_click_remedy}"),
    Check("unmatched_clicks", FINDING, "share of clicks without a search", 0.25, caution=0.02,
          fault="clicks name unknown searches",
          measure="unmatched/clicks", least=FEW_CLICKS, example="unmatched_example",
          sentence="{unmatched/clicks} of the clicks name an unknown search_id.",
          remedy="Write search_id the same way in both tables (case, spaces, prefix), and include the "
          "searches of all days."),
    Check("late_clicks", FINDING, "share of clicks after the idle limit", 0.25, caution=0.02,
          fault="clicks come after the idle limit of their search",
          measure="late/clicks", least=FEW_CLICKS, example="late_example",
          sentence="{late/clicks} of the clicks come after the idle limit of their search.",
          remedy="Give the times of both tables in UTC; if clicks really come so late, set --idle-minutes."),
    Check("clicks_elsewhere", FINDING, "share of clicks outside the top results", 0.5, caution=0.2,
          fault="clicks are outside the top results of their search",
          measure="elsewhere/in_time", least=FEW_CLICKS, example="elsewhere_example",
          sentence="{elsewhere/in_time} of the clicks are {where} of their search.",
          remedy="Write URLs the same way in clicks and results; if users click further down, set a larger "
          "--depth."),
    Check("ambiguous_clicks", FINDING, "share of clicks whose search_id is ambiguous", 0.05,
          fault="different searches share one search_id",
          measure="ambiguous/clicks", least=FEW_CLICKS,
          sentence="{ambiguous/clicks} of the clicks name a search_id that several different searches share.",
          remedy="Give each search its own search_id."),
    Check("positions_from_zero", FINDING, "share of clicks at a position below 1", 0.005,
          fault="positions of clicks do not count from 1",
          measure="below_1/clicks", least=FEW_CLICKS,
          sentence="{below_1/clicks} of the clicks are at a position below 1.",
          remedy="Positions count from 1: add 1 to those of a log that counts from 0."),
    Check("same_minute", CAUTION, "share of searches in one minute of the day", 0.5,
          fault="many searches share one minute of the day",
          measure="of_one_minute/timed", least=(("timed", _SEARCHES, "searches"),),
          sentence="{of_one_minute/timed:percent} of the searches ({of_one_minute:count}) are at {minute} "
          "of their day.",
          remedy="Provide times, not only dates: times put searches and clicks in order."),
    Check("busy_minute", CAUTION, "share of searches in the busiest minute of the day", 0.05,
          fault="one minute of the day has many searches",
          measure="of_busy_minute/timed", least=(("timed", _SEARCHES, "searches"),),
          sentence="{of_busy_minute/timed:percent} of the searches ({of_busy_minute:count}) are at {minute} "
          "of their day.",
          remedy="If a bot sends these searches, exclude the bot: bots do not click as people do."),
    Check("busy_user", CAUTION, "share of searches in the busiest of 4,096 groups of users", 0.01,
          fault="one user ID or a handful has many searches",
          measure="standing_out", least=(("of_users", _SEARCHES, "searches"),),
          sentence="{of_busy_user/of_users:percent} of the searches ({of_busy_user:count}) come from one "
          "user ID or a handful, out of {users_about:count}.",
          remedy="Exclude the ID if it is a bot or shared by many users."),
    Check("one_search_each", CAUTION, "searches for each user", 1.05, "below",
          fault="nearly every user has only one search",
          measure="of_users/users", least=(("of_users", _SEARCHES, "searches"),),
          sentence="{of_users:count} searches come from about {users_about:count} users: nearly all users "
                   "have only one.",
          remedy="Check that user_id names a person or a browser, not a request: otherwise visits cannot be "
          "detected."),
    Check("missing_days", CAUTION, "days without a search between the first and the last", 0,
          fault="days have no search",
          measure="missing_days",
          sentence="{missing_days:plural day} between the first and the last {missing_days:has/have} no "
          "search, {missing_dates}.",
          remedy="Check that the log contains every day, and that no timestamp is years off."),
    Check("double_days", CAUTION, "days with more than twice the searches of the median day", 0,
          fault="days have over twice the usual searches",
          measure="double_days", least=(("dated", _SEARCHES, "searches"), ("days", 3, "days")),
          sentence="{double_days:plural day} {double_days:has/have} more than twice the {usual_day:count} "
          "searches of the median day, {double_dates}.",
          remedy="Check these days for duplicate rows."),
    Check("days_without_clicks", FINDING, "days with searches and no click", 0,
          fault="days have searches and no click",
          measure="silent_days", least=(("expected_clicks", 20, "clicks a day"),),
          sentence="{silent_days:plural day} {silent_days:has/have} searches and no click, {silent_dates}.",
          remedy="Add the clicks of these days, or exclude the days: now their searches count as having no "
          "click."),
    Check("times_without_zone", CAUTION, "share of times without a zone among times with one", 0,
          fault="only some times have a zone",
          measure="local_times/mixed_times",
          sentence="There are {times_by_table}; times without a zone are read as UTC.",
          remedy="If these are local times, name their zone, e.g. --time-zone Europe/Berlin; if all are "
          "UTC, add --health-limit times_without_zone=off."),
    Check("no_idle_gaps", CAUTION, "share of pauses longer than the idle limit", 0.001, "below",
          fault="nearly every user has only one visit",
          measure="idle_pauses/long_log_pauses",
          sentence="Of {long_log_pauses:count} pauses between searches of a user, {idle_pauses:count} "
                   "{idle_pauses:is/are} longer than {idle_minutes} minutes, although the log covers "
                   "{covered_days} days: nearly every user has only one visit.",
          remedy="Check that user_id names a person or a browser, not a visit, and that timestamps are not "
          "truncated."),
    Check("standing_time", CAUTION, "share of pauses of 0 ms", 0.2,
          fault="searches of a user have the same time",
          measure="no_pauses/pauses",
          sentence="{no_pauses/pauses:percent} of the pauses between searches of a user ({no_pauses:count} "
                   "of {pauses:count}) last 0 ms.",
          remedy="Record the time of each search to the second or better; merge searches that one page "
          "sends together."),
    Check("silent_hours", CAUTION, "hours without a search that usually have searches", 0,
          fault="hours have no search",
          measure="silent_hours",
          sentence="{silent_hours:plural hour} {silent_hours:has/have} no search, although this hour of the "
          "day usually has {usual_searches} or more, {silent_hours:/the first }on {silent_from} UTC.",
          remedy="Check whether the clock jumped, or part of the log is missing."),
    Check("busy_query", CAUTION, "share of sessions of the most frequent query", 0.2,
          fault="one query has many sessions",
          measure="of_busy_query/sessions", least=_FEW_SESSIONS,
          sentence="{of_busy_query/sessions:percent} of the sessions ({of_busy_query:count}) have the same "
                   "query.",
          remedy="If a bot or a default search sends this query, exclude it from the log."),
    Check("misplaced_clicks", CAUTION, "share of clicks whose position shows another URL", 0.01,
          fault="positions and URLs of clicks disagree",
          measure="misplaced/kept_clicks", least=FEW_CLICKS,
          sentence="{misplaced/kept_clicks} of the clicks name a position where their ranking shows a "
                   "different URL; the URL is used.",
          remedy="Find out whether position or URL is right; if the position is, drop the column url."),
    Check("repeated_results", CAUTION, "share of rankings with a duplicate result", 0.05,
          fault="rankings contain a result twice",
          measure="repeating/lists", example="merged_example",
          sentence="{repeating/lists:percent} of the rankings ({repeating:count} of {lists:count}) contain "
                   "a result twice; only its first position counts.{merged}",
          remedy="{repeats_remedy}"),
    Check("one_list_length", CAUTION, "lengths of rankings, where all are shorter than the depth", 2, "below",
          fault="all rankings are equally short",
          measure="lengths", least=_FEW_SESSIONS,
          sentence="Every ranking has {longest:plural result}.",
          remedy="Check that the column results contains all results shown: not truncated, and not read as "
          "one text."),
    Check("many_markets", CAUTION, "markets of the log", 20,
          fault="there are many markets",
          measure="markets",
          sentence="The log has {markets:plural market}, such as {first_markets}.",
          remedy="Check that the column market names countries or sites: each market is measured "
          "separately."),
    Check("flat_clicks", CAUTION, "clicks at position 1 relative to the next best position", 1.1, "below",
          fault="position 1 gets hardly more clicks than another",
          measure="times_as_often",
          sentence="Position {best_place} is clicked in {best_rate:percent} of the sessions that show it, "
          "position 1 in {first_rate:percent} ({times_as_often:number 2} times as often).",
          remedy="Check the order of results, and that positions count from 1; or whether something else "
          "is shown above the results."),
    Check("queries_that_fold", CAUTION, "share of queries that Unicode normalisation would merge", 0.005,
          fault="queries differ only in Unicode form",
          measure="folding/queries", example="folding_example",
          sentence="{folding:plural query/queries} of {queries:count} would merge with another query under "
          "Unicode normalisation (NFKC and full case folding); here they are counted separately.",
          remedy="Normalise queries in log and judgments if users mean the same thing by these forms."),
    Check("unseen_queries", CAUTION, "share of judged queries that are not in the log", 0.9,
          fault="judged queries are not in the log",
          measure="unseen/judged_of_log", example="query_example",
          sentence="The log contains {in_log:none/count} of {judged:plural judged query/judged queries}.",
          remedy="Check that the judgments belong to this log, and that both write queries the same way."),
    Check("no_judged_queries", FINDING, "judged queries in the log", 1, "below",
          fault="no judged query is in the log",
          measure="in_log", example="query_example",
          sentence="The log contains {in_log:none/count} of {judged:plural judged query/judged queries}.",
          remedy="Check that the judgments belong to this log, and that both write queries the same way."),
    Check("queries_alike", FINDING, "share of queries spelled differently", 0.25, caution=0.01,
          fault="log and judgments spell queries differently",
          measure="alike/judged_of_log", example="query_example",
          sentence="{alike:count} of {judged:plural judged query/judged queries} {alike:is/are} in the log "
                   "only with a different spelling.",
          remedy="Write queries the same way in log and judgments, then judge what is still missing."),
    Check("unjudged_queries", CAUTION, "share of sessions whose query has no judgment", 0.99,
          fault="sessions have queries without a judgment",
          measure="share_unjudged",
          sentence="{share_unjudged:percent 2} of the {every_session:count} sessions have a query without "
                   "any judgment.",
          remedy="Judge queries that users ask often (`clickassay plan`), if the judgments belong to this "
          "log."),
    Check("no_judged_results", FINDING, "judged results that a ranking shows", 1, "below",
          fault="no judged result is in a ranking of its query",
          measure="in_lists", example="url_example",
          sentence="Rankings of their queries show {in_lists:none/count} of "
                   "{judged_results:plural judged result}.",
          remedy="Check that log and judgments name results the same way."),
    Check("urls_alike", FINDING, "share of results spelled differently", 0.1, caution=0.01,
          fault="log and judgments spell results differently",
          measure="urls_alike/shown", least=_FEW_RESULTS, example="url_example",
          sentence="{urls_alike/shown:percent} of the results shown for judged queries ({urls_alike:count} "
                   "of {shown:count}) have a judgment only under a different spelling.",
          remedy="Write URLs the same way in log and judgments, then judge what is still missing."),
    Check("unjudged_results", CAUTION, "share of results without a judgment", 0.95,
          fault="results have no judgment",
          measure="unjudged/shown", least=_FEW_RESULTS, example="url_example",
          sentence="{unjudged/shown:percent} of the results shown for judged queries ({unjudged:count} of "
          "{shown:count}) have no judgment.",
          remedy="Check that log and judgments name results the same way; if so, judge what users see."),
    Check("unshown_results", CAUTION, "share of judged results in no ranking", 0.99,
          fault="judged results are in no ranking",
          measure="unshown/judged_results", least=_FEW_RESULTS, example="url_example",
          sentence="{unshown/judged_results:percent} of the judged results ({unshown:count} of "
                   "{judged_results:count}) are in no ranking of their query.",
          remedy="Check that log and judgments name results the same way, and that both cover the same "
          "time."),
    Check("no_query_attributes", FINDING, "queries with attributes in the log", 1, "below",
          fault="no query with attributes is in the log",
          measure="attributed_in_log", example="attributes_example",
          sentence="The log contains {attributed_in_log:none/count} of {attributed:plural query/queries} "
                   "with attributes.",
          remedy="Check that --queries describes queries of this log, and that both write queries the same "
          "way."),
    Check("one_grade", FINDING, "different grades in the judgments", 2, "below",
          fault="all judgments have the same grade",
          measure="grades", least=_FEW_JUDGMENTS,
          sentence="Every judgment has the grade {lowest_grade}: no metric can tell results apart.",
          remedy="Check which column is read as grade."),
    Check("top_grade_unused", CAUTION, "highest grade seen over the scale's highest", 1, "below",
          fault="no judgment has the highest grade",
          measure="highest_grade/max_grade", least=_FEW_JUDGMENTS,
          sentence="The grades seen are {grades_seen}; the scale goes up to {max_grade}. ERR derives the "
                   "chance of satisfaction from the highest grade of the scale.",
          remedy="If {highest_grade} is the best grade, set --max-grade {highest_grade}."),
    Check("bottom_grade_unused", CAUTION, "lowest grade seen, where several are seen", 0,
          fault="no judgment has the lowest grade",
          measure="lowest_of_several",
          sentence="The grades seen are {grades_seen}; the scale begins at 0, the only grade without gain.",
          remedy="If {lowest_grade} is the worst grade, set --scale {scale_from_lowest}, or write grades "
          "from 0 by `import judgments --grade-map {grade_map}`."),
    Check("near_duplicate_queries", CAUTION, "share of judged queries that are near-duplicates", 0.1,
          fault="queries share most of their judged results with others",
          measure="near_duplicates/with_judgments", least=(("with_judgments", 20, "judged queries"),),
          sentence="{near_duplicates:count} of {with_judgments:count} judged queries "
          "({near_duplicates/with_judgments:percent}) are near-duplicates ({groups:plural group}). Intervals "
          "assume independent queries, so they are too narrow.",
          remedy="Run `clickassay groups` and pass its file as --queries."),
    Check("reversed_grades", FINDING, "correlation of the top result's grade with clicks", 0, "below",
          fault="better-graded top results get fewer clicks",
          measure="surely_reversed", least=(("correlated_queries", 20, "queries with a correlation"),),
          sentence="The top result's grade has a correlation of {first_grade} with clicks (95% CI "
          "{first_grade_interval}); {grades_in_order}.",
          remedy="If the scale is reversed, list its labels worst first in `--scale`, or renumber grades by "
          "`import judgments --grade-map`."),
)  # fmt: skip
"""All checks, in the order of reports."""

BY_NAME: Mapping[str, Check] = {check.name: check for check in CHECKS}


def checks_with(limits: Iterable[str]) -> dict[str, Check]:
    """Return checks with ``NAME=NUMBER`` in place of their thresholds, or ``off``; SettingsError if wrong."""
    checks = dict(BY_NAME)
    for limit in limits:
        name, _, number = limit.partition("=")
        if name not in BY_NAME:
            raise SettingsError(f"health_limit: unknown check {name!r}; {did_you_mean(name, BY_NAME)}")
        if number == "off":
            checks.pop(name, None)
            continue
        try:
            checks[name] = replace(BY_NAME[name], threshold=float(number), caution=None)
        except ValueError:
            raise SettingsError(
                f"health_limit {name}: {number!r} is not a number; write e.g. {name}=0.5, or {name}=off"
            ) from None
    return checks


@dataclass(frozen=True)
class HealthCheck:
    """What became of a check."""

    # check, status: Its name; `OK`, `TOO_FEW`, or its severity if it fires.
    check: str
    status: str
    # value, threshold: Its number and its threshold; the number is on the wrong side if it fires.
    value: float | None
    threshold: float
    # sentence, remedy, example: What is wrong, or too few; what to do; rows that show it. '' if it is `OK`.
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
        entry = asdict(self)
        return {"check": self.check, "severity": entry.pop("status")} | entry


_FORMS: Mapping[str, Callable[[Any, str], str]] = {
    "": lambda value, _: str(value),
    "count": lambda value, _: count(value),
    "none/count": lambda value, _: count(value) if value else "none",
    "number": lambda value, decimals: number(value, int(decimals)),
    "percent": lambda value, decimals: percent(value, int(decimals or 1)),
    "plural": lambda value, noun: plural(value, *noun.split("/")),
}


class _Words(Formatter):
    """Fills in sentences: ``{late/clicks}`` is a share and both numbers, ``{late/clicks:percent}`` that.

    ``{days:count}`` has thousands marked, ``{days:plural day}`` a noun; ``{days:has/have}`` is the word for
    one or for several, ``{days:none/count}`` a number or the word for 0.
    """

    def get_value(self, key: int | str, args: Sequence[Any], numbers: Mapping[str, Any]) -> Any:  # noqa: ANN401, ARG002
        """Return a number, or a part and its whole."""
        part, _, whole = str(key).partition("/")
        return (numbers[part], numbers[whole]) if whole else numbers[part]

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401
        """Return it in words."""
        form, _, rest = format_spec.partition(" ")
        if isinstance(value, tuple):
            share = percent(value[0] / value[1])
            return share if form else f"{share} ({count(value[0])} of {count(value[1])})"
        if form in _FORMS:
            return _FORMS[form](value, rest)
        one, _, several = format_spec.partition("/")
        return one if value == 1 else several


def checked(numbers: Numbers, checks: Mapping[str, Check] = BY_NAME) -> tuple[HealthCheck, ...]:
    """Run the checks whose measure is there, in the order of reports; `speaking` ones whatever the rows."""
    words, outcomes = _Words(), []
    for check in (checks[name] for name in BY_NAME if name in checks):
        part, _, whole = check.measure.partition("/")
        if part not in numbers or (whole and whole not in numbers):
            continue
        needs = () if check.name in numbers.get("speaking", ()) else check.least
        few = [(numbers[name], least, rows) for name, least, rows in needs if numbers[name] < least]
        if few:
            text = f"{count(few[0][0])} of {count(few[0][1])} {few[0][2]}"
            outcomes.append(HealthCheck(check.name, TOO_FEW, None, check.first, text))
            continue
        value = numbers[part] / numbers[whole] if whole else numbers[part]
        outcome = HealthCheck(check.name, OK, value, check.first)
        for status, threshold in ((CAUTION, check.caution), (check.severity, check.threshold)):
            if threshold is not None and check.is_beyond(value, threshold):
                outcome = HealthCheck(
                    check.name, str(status), value, threshold,
                    sentence=words.vformat(check.sentence, (), numbers),
                    remedy=words.vformat(check.remedy, (), numbers),
                    example=numbers.get(check.example, ""),
                )  # fmt: skip
        outcomes.append(outcome)
    return tuple(outcomes)


def health_table(checks: Iterable[HealthCheck]) -> pl.DataFrame:
    """Return the checks in the form of `HEALTH_CHECKS`."""
    rows = [asdict(one) for one in checks]
    return HEALTH_CHECKS.canonical(pl.DataFrame(rows, schema=HEALTH_CHECKS.empty().schema))


def fired(table: pl.DataFrame) -> tuple[HealthCheck, ...]:
    """Return the checks that fire, of a table in the form of `HEALTH_CHECKS`: findings first."""
    checks = [HealthCheck(**row) for row in table.iter_rows(named=True)]
    order = {str(severity): place for place, severity in enumerate(Severity)}
    places = {name: place for place, name in enumerate(BY_NAME)}
    fires = [one for one in checks if one.fires]
    return tuple(sorted(fires, key=lambda one: (order[one.status], places[one.check])))


def well_text(table: pl.DataFrame) -> str:
    """Return, where no check fires, how many passed; and how many were skipped, and why."""
    passed = table.filter(status=OK).height
    silent = table.filter(status=TOO_FEW)
    if silent.is_empty():
        return f"all {count(passed)} passed"
    reasons = listed(silent["sentence"].unique(maintain_order=True))
    return f"{count(passed)} passed, {count(silent.height)} skipped ({reasons})"
