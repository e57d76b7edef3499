"""The declared steps: whatever holds of a run and of its data, each finds the tables that it reads."""

import re
from itertools import chain, combinations, product

import pytest

from clickassay.core.errors import EngineError
from clickassay.core.settings import load_settings
from clickassay.logs.sql.steps import (
    CARRY_OVER,
    DRAFTS,
    FORM_SESSIONS,
    FUNNEL,
    FUNNEL_OF_SESSIONS,
    FUNNEL_OF_SIGNALS,
    GIVEN,
    NEW_IDS,
    PATTERNS,
    PATTERNS_OF_DAYS,
    PATTERNS_OF_OUTCOMES,
    PATTERNS_OF_SIGNALS,
    PATTERNS_OF_TEAMS,
    PATTERNS_OF_TESTS,
    READ_BATCH,
    READ_LOG,
    SEARCH_IDS,
    SEQUENCE,
    If,
    IfRows,
    Step,
    counted_properties,
    results,
    run_steps,
)
from support.pages import script

tables_read = script("sql").tables_read
CONDITIONS = {step.when for step in SEQUENCE}
PROPERTIES = sorted({when.property for when in CONDITIONS if isinstance(when, If)})
LOOKED_AT = sorted({when.table for when in CONDITIONS if isinstance(when, IfRows)})
GIVEN_ONLY_IF = {
    "judged_queries": {"only_judged"}, "outcomes_log": {"outcomes"}, "assignments_log": {"tests"},
    "users_in_two": {"tests"}, "test_spans": {"tests", "teams"},
}  # fmt: skip
OF_BATCH = (
    *FORM_SESSIONS, *FUNNEL, *FUNNEL_OF_SIGNALS, *PATTERNS, *PATTERNS_OF_DAYS, *PATTERNS_OF_SIGNALS,
    *PATTERNS_OF_OUTCOMES, *PATTERNS_OF_TESTS, *DRAFTS, *PATTERNS_OF_TEAMS, *FUNNEL_OF_SESSIONS,
)  # fmt: skip
COUNTED = {
    "periods", "signals", "satisfied", "actions_alone", "outcomes", "every_visit", "tests", "teams",
    "tests_of_clicks",
}  # fmt: skip
TABLES_OF = {
    **dict.fromkeys(PATTERNS_OF_DAYS, "periods"),
    **dict.fromkeys(PATTERNS_OF_SIGNALS, "signals"),
    **dict.fromkeys(PATTERNS_OF_OUTCOMES, "outcomes"),
    **dict.fromkeys(PATTERNS_OF_TESTS, "tests"),
    **dict.fromkeys((*DRAFTS, *PATTERNS_OF_TEAMS), "teams"),
}
LOGS = {
    "in one batch": ((*READ_LOG, *OF_BATCH),),
    "in several": (SEARCH_IDS, (*READ_BATCH, *OF_BATCH, *CARRY_OVER, *NEW_IDS)),
}
"""What is done with a log; with one in several batches, with all of it and with each batch."""


def subsets(values):
    """Return all choices among values."""
    return list(chain.from_iterable(combinations(values, size) for size in range(len(values) + 1)))


def properties_of_runs():
    """Return the properties that runs may have: of what is counted beside patterns what settings give."""
    others = [name for name in PROPERTIES if name not in COUNTED]
    given = ({"signal": ["auto"]}, {"signal": ["satisfied"]}, {"periods": "none"})
    asked = [load_settings(**settings) for settings in given]
    counted = {
        tuple(
            sorted(
                counted_properties(
                    settings, has_signals=one, has_outcomes=other, has_tests=tests, has_teams=teams
                )
            )
        )
        for settings in asked
        for one, other, tests, teams in product((True, False), repeat=4)
    }
    return [(*some, *own) for some in subsets(others) for own in sorted(counted)]


def number_of(step):
    """Return the number of a step's folder; None for checks and counts."""
    found = re.match(r"steps/(\d)_", step)
    return int(found[1]) if found else None


class Reader:
    """An engine that looks whether what a step reads is there, and of its own number or a lower one."""

    def __init__(self, given, empty=()):
        self.makers, self.empty = dict.fromkeys(given, ""), empty
        self.made, self.looks, self.read = [], [], []

    def run(self, steps, properties):
        self.made = []
        steps = [one for one in steps if one not in TABLES_OF or TABLES_OF[one] in properties]
        run_steps(self, steps, {}, properties)
        for step in results(steps, properties):
            self.rows(step.file)
        assert len(self.made) == len(set(self.made)), "a table is made once"

    def stage(self, name, step, **values):
        self.rows(step)
        self.makers[name] = step
        self.made.append(name)

    view = stage

    def rows(self, step, **values):
        self.read.append(step)
        assert tables_read(step) <= set(self.makers), step
        before = {number_of(self.makers[table]) for table in tables_read(step)} - {None}
        if number_of(step):  # the pass over search ids, 0, runs steps of other folders
            assert max(before, default=0) <= number_of(step), step
        return []

    def is_empty(self, name):
        self.looks.append(name)
        assert name in self.makers
        return name in self.empty


@pytest.mark.slow
@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("properties", properties_of_runs(), ids="-".join)
def test_every_table_that_a_step_reads_is_given_or_made_before(properties, log):
    given = [name for name in GIVEN if name not in GIVEN_ONLY_IF or GIVEN_ONLY_IF[name] & {*properties}]
    for empty in subsets(LOOKED_AT):
        reader = Reader(given, empty)
        for steps in LOGS[log]:
            reader.run(steps, properties)


def test_every_step_is_one_of_a_log_in_one_batch_or_in_several():
    assert {step for parts in LOGS.values() for part in parts for step in part} == set(SEQUENCE)


def test_a_log_in_one_batch_is_read_once():
    reader = Reader(GIVEN)
    reader.run(LOGS["in one batch"][0], ())
    readers = [step for step in reader.read if "searches_log" in tables_read(step)]
    assert readers == ["steps/1_read_searches/fingerprinted_searches"]


def test_what_is_given_is_read_and_what_is_made_too():
    made = {step.name for step in SEQUENCE if step.kind in ("view", "stage")}
    assert set().union(*(tables_read(step.file) for step in SEQUENCE)) == made | set(GIVEN)


def test_the_data_is_looked_at_once_for_all_steps_that_depend_on_it():
    reader = Reader(GIVEN)
    reader.run(LOGS["in one batch"][0], ())
    assert reader.looks == ["repeated_ids", "normal_urls_of_clicks", "shared_configurations"]


def test_a_log_of_clicks_alone_runs_no_step_of_signals():
    reader = Reader(GIVEN)
    reader.run(LOGS["in one batch"][0], ())
    own = (
        "signal", "dwell", "satisfied", "visit_events", "visit_times", "action_", "every_user",
        "carry_over_events",
    )  # fmt: skip
    assert not [step for step in reader.read if any(word in step for word in own)]
    reader = Reader(GIVEN)
    settings = load_settings(signal=["satisfied"])
    reader.run(LOGS["in one batch"][0], counted_properties(settings, has_signals=True, has_outcomes=True))
    assert len([step for step in reader.read if any(word in step for word in own)]) > 10


def test_a_check_that_finds_rows_ends_the_run():
    class Finder(Reader):
        def rows(self, step, **values):
            return [(7,)]

    with pytest.raises(EngineError, match="check checks/any failed: it found rows, but must find none"):
        run_steps(Finder(GIVEN), [Step("any", "check", "checks")], {})
