"""The steps from a log to its pattern table as data: every SELECT of the path that is SQL throughout.

``logs/duckdb`` and ``logs/spark`` run these steps; ``logs/arrays`` does what they say without SQL.
``sql/README.md``, generated from them, shows which step reads which.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import polars as pl

from clickassay.core.errors import EngineError
from clickassay.core.settings import Settings

Value = str | int | bool


R = TypeVar("R")
"""Rows of an engine's own, which it has not read yet."""


class SqlEngine(Protocol[R]):
    """Runs all of the declared steps, over rows that it reads itself."""

    def stage(self, name: str, step: str, **values: Value) -> None:
        """Store the rows of `step` as table `name`."""

    def view(self, name: str, step: str, **values: Value) -> None:
        """Give the SELECT of `step` a name, without running it."""

    def rows(self, step: str, **values: Value) -> list[tuple[Any, ...]]:
        """Return the few rows of `step`."""

    def is_empty(self, name: str) -> bool:
        """Return whether table `name` holds no row."""

    def show(self, name: str, rows: R, carried: R | None = None) -> None:
        """Let SQL see rows as table `name`, with a column ``carried``: true for those carried over."""

    def register(self, name: str, frame: pl.DataFrame) -> None:
        """Let SQL see a small frame as table `name`."""

    def put(self, file: Path | None, like: R) -> R:
        """Return the rows of a Parquet file of this machine; None = no rows, of the form of others."""

    def rows_of(self, *steps: str) -> list[list[tuple[Any, ...]]]:
        """Return the few rows of each of several steps."""

    def fetch(self, *steps: str, **values: Value) -> list[pl.LazyFrame]:
        """Return the rows of steps in their order, written to files of this machine."""

    def fetched(self, name: str) -> R:
        """Return the rows that `fetch` wrote last for a step of this name."""


FIRST_MS = 631_152_000_000  # 1990-01-01 UTC
END_MS = 4_133_980_800_000  # 2101-01-01 UTC: the year 2100 is the last one inside
MOST_BYTES = 200_000
"""Bytes of a query in UTF-8: nobody types a longer text, which would fill memory and tables."""
NEVER_MS = 2 * END_MS
"""The watermark after the last batch of a log that has ended: no row can come any more."""


def end_of_times(settings: Settings) -> int:
    """Return the first ms since 1970 UTC that is too late: after 2100, or the day after the run's clock."""
    return min(END_MS, settings.latest_ms + 1)


Property = Literal[
    "only_judged", "is_open", "periods", "has_number_ids", "signals", "satisfied", "actions_alone",
    "outcomes", "every_visit", "tests", "tests_of_clicks", "teams",
]  # fmt: skip
"""Properties of a run: only lists of queries with judgments are kept; the pattern table is of sessions
that may still grow; sessions are counted by day or week; search ids are whole numbers; signals are counted;
satisfied clicks are a signal; they are none, and actions are; outcomes of sessions are counted; visits of all
users are formed; sessions are counted by arms of A/B tests, or by interleaved rankers, and no signals are;
searches name rankers."""


@dataclass(frozen=True)
class If:
    """True if a run has a property; with `so` false, if it has not."""

    property: Property
    so: bool = True


@dataclass(frozen=True)
class IfRows:
    """True if a table, made by an earlier step, has a row; with `so` false, if it has none."""

    table: str
    so: bool = True


@dataclass(frozen=True)
class Step:
    """One SELECT, and how its result is used."""

    name: str  # The table that it makes; of a result, the table that leaves the engine.
    # ``view``: the SELECT is given its name; ``stage``: its rows are stored; ``check``: it must have no row;
    # ``result``: its rows leave the engine.
    kind: Literal["view", "stage", "check", "result"]
    folder: str  # Where in ``sql/`` its file lies.
    when: If | IfRows | None = None  # When it runs; None = always. Of steps of one name, one runs.
    stem: str | None = None  # Name of the file, if it differs from the table's.

    @property
    def file(self) -> str:
        """Folder and name of the file, as `sql_text` takes them."""
        return f"{self.folder}/{self.stem or self.name}"


GIVEN = {
    "searches_log": "one row per search, in canonical types; carried = already read with an earlier batch",
    "clicks_log": "one row per click or other action, in canonical types; carried = of an earlier batch",
    "judged_queries": "one row per query with judgments, if others are excluded; market null = every market",
    "outcomes_log": "one row per search_id and outcome that are given: its kind, value in thousandths, rows",
    "ambiguous_log": "one row per search_id that earlier parts of a log in batches found ambiguous",
    "assignments_log": "one row per user, A/B test and span of time: the arm, where searches do not say it",
    "users_in_two": "one row per user of several arms of an A/B test and such an arm",
    "test_spans": "one row per A/B test whose ends are declared: its first ms, and the first after it",
    "ranker_pairs": "one row per draft (test and ranker of each result) and two of its rankers: their places",
}
"""Tables that are there before the first step, and their rows."""

_IDS, _READ, _URLS = "steps/0_search_ids", "steps/1_read_searches", "steps/2_normalise_urls"
_CLEAN, _CLICKS, _VISITS = "steps/3_clean_searches", "steps/4_clicks", "steps/5_visits"
_SESSIONS, _PATTERNS, _CARRY = "steps/6_sessions", "steps/7_patterns", "steps/8_carry_over"
_OF_SIGNALS, _OF_OUTCOMES, _OF_TESTS = "steps/9_signals", "steps/9_outcomes", "steps/9_tests"
_REPEATED, _NOT_REPEATED = IfRows("repeated_ids"), IfRows("repeated_ids", so=False)
_SHARED, _NOT_SHARED = IfRows("shared_configurations"), IfRows("shared_configurations", so=False)
_ONLY_JUDGED, _EVERY_QUERY = If("only_judged"), If("only_judged", so=False)
_SIGNALS, _NO_SIGNALS = If("signals"), If("signals", so=False)
_SATISFIED, _OUTCOMES = If("satisfied"), If("outcomes")
_DAYS, _TESTS, _TEAMS = If("periods"), If("tests"), If("teams")
_EVERY_VISIT, _SOME_VISITS = If("every_visit"), If("every_visit", so=False)

_REPEATED_IDS = (
    Step("repeated_ids", "stage", _IDS),
    Step("fingerprinted_searches", "view", _READ, _REPEATED),
    Step("searches_to_read", "view", _IDS, _REPEATED, "searches_of_repeated_ids"),
    Step("searches_read", "stage", _READ, _REPEATED),
)
_CHECK_IDS = (
    Step("search_id_fingerprints", "view", _IDS, _REPEATED),
    Step("search_id_fingerprint_collisions", "check", "checks", _REPEATED),
)
_AMBIGUOUS_IDS = (
    Step("ambiguous_ids", "stage", _IDS, _REPEATED),
    Step("ambiguous_ids", "view", _IDS, _NOT_REPEATED, "no_ids"),
)

SEARCH_IDS = (
    Step("log_search_ids", "view", _IDS),
    *_REPEATED_IDS,
    *_CHECK_IDS,
    Step("usable_searches", "view", _CLEAN, _REPEATED),
    *_AMBIGUOUS_IDS,
    Step("ambiguous_ids_before", "view", _IDS),
    Step("known_ambiguous_ids", "view", _IDS),
    Step("ambiguous_id_texts", "stage", _IDS),
    Step("carry_over_ambiguous_ids", "result", _IDS),
)
"""Over all of a log in batches: which search ids are ambiguous. A batch alone cannot know that."""

_IDS_READ = (
    Step("log_search_ids", "view", _IDS, stem="search_ids_read"),
    Step("repeated_ids", "stage", _IDS),
    *_CHECK_IDS,
)
_AMBIGUOUS_IDS_READ = (*_AMBIGUOUS_IDS, Step("known_ambiguous_ids", "view", _IDS, stem="ambiguous_ids_alone"))

READ = (
    Step("fingerprinted_searches", "view", _READ),
    Step("searches_to_read", "view", _READ, stem="all_searches"),
    Step("query_texts", "stage", _READ, _ONLY_JUDGED, "query_texts_of_searches"),
    Step("judged_queries_shown", "stage", _READ, _ONLY_JUDGED),
    Step("placeholder_lists", "stage", _READ, _ONLY_JUDGED),
    Step("searches_read", "stage", _READ, _ONLY_JUDGED, "judged_searches_read"),
    Step("searches_read", "stage", _READ, _EVERY_QUERY),
    Step("draft_texts", "stage", _READ, _TEAMS),
    Step("draft_texts", "view", _READ, If("teams", so=False), "no_drafts"),
)

NORMALISE_URLS = (
    Step("example_search_of_list", "stage", _URLS),  # stored, so that its size is known
    Step("list_texts", "stage", _URLS),
    Step("list_fingerprint_collisions", "check", "checks"),
    Step("query_texts", "stage", _URLS, _EVERY_QUERY),
    Step("query_fingerprint_collisions", "check", "checks"),
    Step("placeholder_lists", "view", _URLS, _EVERY_QUERY, "no_placeholder_lists"),
)

CLEAN = (
    Step("usable_searches", "view", _CLEAN),
    Step("duplicate_deliveries", "stage", _CLEAN, _REPEATED),
    Step("duplicate_deliveries", "view", _CLEAN, _NOT_REPEATED, "no_duplicate_deliveries"),
    Step("searches", "view", _CLEAN),
)

CLICKS = (
    Step("normal_urls_of_clicks", "stage", _CLICKS),
    Step("clicks_read", "stage", _CLICKS, IfRows("normal_urls_of_clicks"), "clicks_read_with_normal_urls"),
    Step("clicks_read", "stage", _CLICKS, IfRows("normal_urls_of_clicks", so=False)),
    Step("usable_events", "view", _CLICKS),
    Step("usable_clicks", "view", _CLICKS),
    Step("attributed_events", "stage", _CLICKS),
    Step("attributed_clicks", "view", _CLICKS),
    Step("orphan_clicks", "view", _CLICKS),
)

VISITS = (
    Step("click_bits", "view", _VISITS),
    Step("click_masks", "view", _VISITS),
    Step("searches_with_masks", "view", _VISITS),
    Step("possible_repeats", "view", _VISITS),
    Step("repeated_user_queries", "stage", _VISITS),
    Step("user_queries_to_sessionise", "stage", _VISITS, _SOME_VISITS),
    Step("user_queries_to_sessionise", "stage", _VISITS, _EVERY_VISIT, "every_user_query"),
    Step("searches_to_sessionise", "stage", _VISITS),
    Step("searches_in_one_session", "view", _VISITS),
    Step("visits", "view", _VISITS, _SOME_VISITS),
    Step("visits", "stage", _VISITS, _EVERY_VISIT),
)

SESSIONS = (
    Step("session_searches", "stage", _SESSIONS),
    Step("clicks_of_sessions", "view", _SESSIONS),
    Step("session_clicks", "stage", _SESSIONS),
    Step("session_masks", "view", _SESSIONS),
    Step("sessions", "view", _SESSIONS),
    Step("session_patterns", "stage", _SESSIONS),
    Step("session_days", "stage", _SESSIONS, _DAYS),
    Step("searches_not_in_one_session", "check", "checks"),
)

SIGNALS = (
    Step("visit_events", "stage", _OF_SIGNALS, _SATISFIED),
    Step("visit_times", "stage", _OF_SIGNALS, _SATISFIED),
    Step("dwell_times", "stage", _OF_SIGNALS, _SATISFIED),
    Step("signal_actions", "stage", _OF_SIGNALS, _SIGNALS),
    Step("action_outcomes", "view", _OF_SIGNALS, _SIGNALS),
    Step("signal_events", "view", _OF_SIGNALS, _SATISFIED, "signal_events_and_satisfied_clicks"),
    Step("signal_events", "view", _OF_SIGNALS, If("actions_alone")),
    Step("signals_of_sessions", "view", _OF_SIGNALS, _SIGNALS),
    Step("session_signals", "stage", _OF_SIGNALS, _SIGNALS),
)
"""Signals beside clicks: other actions, and satisfied clicks. A log of clicks alone runs none of these."""

OUTCOMES = (
    Step("session_of_searches", "stage", _OF_OUTCOMES, _OUTCOMES),
    Step("session_events", "view", _OF_OUTCOMES, _OUTCOMES),
    Step("sessions_with_clicks", "view", _OF_OUTCOMES, _OUTCOMES),
    Step("given_outcomes", "stage", _OF_OUTCOMES, _OUTCOMES),
    Step("abandoned_sessions", "view", _OF_OUTCOMES, _OUTCOMES),
    Step("reformulated_sessions", "view", _OF_OUTCOMES, _OUTCOMES),
    Step("outcomes_of_sessions", "view", _OF_OUTCOMES, _OUTCOMES),
    Step("session_outcomes", "stage", _OF_OUTCOMES, _OUTCOMES),
)
"""Outcomes of sessions, given or derived. A log without any runs none of these."""

TESTS = (
    Step("begun_sessions", "stage", _OF_TESTS, _TESTS),
    Step("session_arms", "stage", _OF_TESTS, _TESTS),
    Step("signals_of_sessions", "view", _OF_TESTS, If("tests_of_clicks"), "no_signals"),
    Step("arm_sessions", "stage", _OF_TESTS, _TESTS),
    Step("drafted_sessions", "stage", _OF_TESTS, _TEAMS),
    Step("draft_sessions", "stage", _OF_TESTS, _TEAMS),
)
"""Sessions by the arms of A/B tests, and by interleaved rankers. A log without any runs none of these."""

FUNNEL = tuple(
    Step(name, "result", "funnel")
    for name in (
        *("rows_read", "searches", "rejected_searches", "rejected_clicks"),
        *("attributed_clicks", "orphan_clicks", "click_positions", "health"),
    )
)
"""Counts of what became of the rows of a batch, which `SqlSessioniser` puts into its funnel."""

FUNNEL_OF_SIGNALS = (
    Step("actions", "result", "funnel", _SIGNALS),
    Step("dwell_times", "result", "funnel", _SATISFIED),
    Step("outcomes", "result", "funnel", _OUTCOMES),
    Step("teams", "result", "funnel", _TEAMS),
)
"""The same for signals, outcomes and rankers, of logs that have them."""

PATTERNS = (
    Step("chosen_patterns", "view", _PATTERNS, If("is_open"), "open_patterns"),
    Step("chosen_patterns", "view", _PATTERNS, If("is_open", so=False), "closed_patterns"),
    Step("placeholder_collisions", "check", "checks", If("only_judged")),
    Step("list_configurations", "stage", _PATTERNS),
    Step("shared_configurations", "stage", _PATTERNS),
    Step("configuration_number_collisions", "check", "checks", _SHARED),
    Step("configurations", "view", _PATTERNS, _SHARED, "configurations_of_several_lists"),
    Step("configurations", "view", _PATTERNS, _NOT_SHARED),
    Step("patterns", "view", _PATTERNS, _SHARED, "patterns_of_several_lists"),
    Step("patterns", "view", _PATTERNS, _NOT_SHARED),
    Step("queries", "view", _PATTERNS),
    Step("configurations", "result", _PATTERNS, stem="result_configurations"),
    Step("patterns", "result", _PATTERNS, stem="result_patterns"),
    Step("queries", "result", _PATTERNS, stem="result_queries"),
)

PATTERNS_OF_DAYS = (
    Step("chosen_days", "view", _PATTERNS, If("is_open"), "open_days"),
    Step("chosen_days", "view", _PATTERNS, If("is_open", so=False), "closed_days"),
    Step("shown", "result", _PATTERNS, stem="result_shown"),
)

PATTERNS_OF_SIGNALS = (
    Step("chosen_signals", "view", _OF_SIGNALS, If("is_open"), "open_signals"),
    Step("chosen_signals", "view", _OF_SIGNALS, If("is_open", so=False), "closed_signals"),
    Step("signals", "result", _OF_SIGNALS, stem="result_signals"),
)

PATTERNS_OF_OUTCOMES = (
    Step("chosen_outcomes", "view", _OF_OUTCOMES, If("is_open"), "open_outcomes"),
    Step("chosen_outcomes", "view", _OF_OUTCOMES, If("is_open", so=False), "closed_outcomes"),
    Step("outcomes", "result", _OF_OUTCOMES, stem="result_outcomes"),
)
"""After `PATTERNS`, where outcomes are counted."""

PATTERNS_OF_TESTS = (
    Step("arms", "result", _OF_TESTS, _TESTS, "result_arms"),
    Step("arm_patterns", "result", _OF_TESTS, _TESTS, "result_arm_patterns"),
    Step("arm_users", "result", _OF_TESTS, _TESTS, "result_arm_users"),
    Step("arm_outcomes", "result", _OF_TESTS, _OUTCOMES, "result_arm_outcomes"),
)
"""After `PATTERNS`, where a log has A/B tests; with the value ``is_open``."""

DRAFTS = (Step("drafts", "result", _OF_TESTS, _TEAMS),)
PATTERNS_OF_TEAMS = (Step("interleaved", "result", _OF_TESTS, _TEAMS, "result_interleaved"),)
"""After `DRAFTS`, from which `ranker_pairs` are made, and `PATTERNS`; with the value ``is_open``."""

FUNNEL_OF_SESSIONS = (Step("sessions", "result", "funnel"),)

CARRY_OVER = (
    Step("open_searches", "view", _CARRY),
    Step("open_clicks", "view", _CARRY),
    Step("carry_over_searches", "result", _CARRY),
    Step("carry_over_clicks", "result", _CARRY, _NO_SIGNALS),
    Step("carry_over_clicks", "result", _CARRY, _SIGNALS, "carry_over_events"),
    Step("carry_over_orphan_clicks", "result", _CARRY),
)
"""The rows that the next batch reads again, and search ids that clicks name but no search has yet."""

NEW_IDS = (
    Step("new_search_ids", "view", _CARRY),
    Step("new_id_numbers", "result", _CARRY, If("has_number_ids")),
    Step("new_id_digests", "result", _CARRY, If("has_number_ids", so=False)),
)
"""The search ids that are new in a batch, in the form in which a store keeps them."""

READ_BATCH = (*READ, *NORMALISE_URLS, *CLEAN, *CLICKS)
READ_LOG = (*READ, *_IDS_READ, *NORMALISE_URLS, *CLEAN, *_AMBIGUOUS_IDS_READ, *CLICKS)
"""The same for a log in one batch, which knows its search ids when it has been read."""

FORM_SESSIONS = (*VISITS, *SESSIONS, *SIGNALS, *OUTCOMES, *TESTS)
SEQUENCE = (
    *(*SEARCH_IDS, *READ_LOG, *FORM_SESSIONS, *FUNNEL, *FUNNEL_OF_SIGNALS, *PATTERNS, *PATTERNS_OF_DAYS),
    *(*PATTERNS_OF_SIGNALS, *PATTERNS_OF_OUTCOMES, *PATTERNS_OF_TESTS, *DRAFTS, *PATTERNS_OF_TEAMS),
    *(*FUNNEL_OF_SESSIONS, *CARRY_OVER, *NEW_IDS),
)
"""All steps, of a log in one batch and of one in several, in an order in which each finds what it reads."""


def step_values(
    settings: Settings, *, by_url: bool, arms_by_search: bool = False, has_teams: bool = False
) -> dict[str, Value]:
    """Return the values of the steps' ``$`` parameters, but for ``watermark_ms`` and ``is_open``."""
    return {
        "first_ms": FIRST_MS,
        "most_bytes": MOST_BYTES,
        "end_ms": end_of_times(settings),
        "idle_ms": settings.idle_ms,
        "per_query": settings.idle_scope == "query",
        "depth": settings.stored_depth,
        "folds": settings.folds,
        "period_days": 7 if settings.periods == "week" else 1,
        "normalise_urls": settings.normalise_urls,
        "by_url": by_url,
        "arms_by_search": arms_by_search,
        "has_teams": has_teams,
        "signals": ",".join(settings.signal),
        "every_action": "auto" in settings.signal,
        "satisfied_ms": settings.satisfied_ms,
        "last_click_counts": settings.last_click == "satisfied",
        "outcomes": ",".join(settings.outcome),
        "reformulation_ms": settings.reformulation_ms,
    }


def counted_properties(
    settings: Settings,
    *,
    has_signals: bool,
    has_outcomes: bool,
    has_tests: bool = False,
    has_teams: bool = False,
) -> set[Property]:
    """Return the properties of a run by what it counts beside patterns of clicks."""
    properties: set[Property] = set() if settings.periods == "none" else {"periods"}
    properties |= {"outcomes", "every_visit"} if has_outcomes else set()
    properties |= {"tests"} if has_tests else set()
    properties |= {"teams"} if has_teams else set()
    if not has_signals:
        return properties | {"tests_of_clicks"} if has_tests or has_teams else properties
    if "satisfied" in settings.signal:
        return properties | {"signals", "satisfied", "every_visit"}
    return properties | {"signals", "actions_alone"}


def run_steps(
    engine: SqlEngine[Any],
    steps: Iterable[Step],
    values: Mapping[str, Value],
    properties: Collection[Property] = (),
) -> None:
    """Run the views, stages and checks of steps that apply; EngineError if a check finds rows."""
    is_empty = cache(engine.is_empty)  # a look at the data is a job of its own on some engines
    for step in steps:
        if step.kind == "result" or not _holds(step.when, properties, is_empty):
            continue
        if step.kind == "stage":
            engine.stage(step.name, step.file, **values)
        elif step.kind == "view":
            engine.view(step.name, step.file, **values)
        elif engine.rows(step.file, **values):
            raise EngineError(
                f"check {step.file} failed: it found rows, but must find none; nothing was written"
            )


def results(steps: Iterable[Step], properties: Collection[Property] = ()) -> tuple[Step, ...]:
    """Return the results among the steps that apply to a run."""
    return tuple(
        step for step in steps if step.kind == "result" and _holds(step.when, properties, lambda _: False)
    )


def _holds(
    when: If | IfRows | None, properties: Collection[Property], is_empty: Callable[[str], bool]
) -> bool:
    if isinstance(when, IfRows):
        return is_empty(when.table) != when.so
    return when is None or (when.property in properties) == when.so
