"""Messy logs with A/B tests, by a column of searches or by assignments of users."""

import random
from datetime import timedelta

from support.oracle.messy_signals import signal_log
from support.oracle.oracle_arms import day_of
from support.oracle.oracle_log import search_fault

TESTS = {"ranker": ("control", "new"), "colours \u00e9": ("off", "red", "blue"), "variant": ("A", "B")}
NONE = (None, None, "")


def log_with_tests(seed):
    """Draw a log: searches, clicks, assignments (None = searches name arms), ends of tests, and settings.

    A row of assignments has user_id, experiment, variant, since and until (ms; None = always).
    """
    searches, clicks, judgments, settings = signal_log(seed)
    rng = random.Random(seed)  # noqa: S311 - test data, not a secret
    for row in rng.sample(searches, len(searches) // 12):
        row["results"] = []
    usable = [row for row in searches if search_fault(row, settings) is None]
    times = [row["timestamp"] for row in usable]
    users = sorted({row["user_id"] for row in searches if row["user_id"] is not None}, key=str)
    arm = {(user, test): rng.choice(names) for user in users for test, names in TESTS.items()}
    assignments = None
    if seed % 2:
        assignments = [*_assigned(users, arm, times, rng)]
    else:
        _name_arms(searches, arm, rng)
    searches += [dict(row, **_another(row, rng)) for row in rng.sample(searches, len(searches) // 12)]
    spans = {}
    for test in rng.sample(sorted(TESTS), rng.randrange(3)):
        first = day_of(rng.choice(times)) - timedelta(days=rng.randrange(2))
        spans[test] = rng.choice(((first, None), (None, first), (first, first + timedelta(days=1))))
    settings["folds"] = rng.choice((1, 2, 7, 16))
    return searches, clicks, judgments, assignments, spans, settings


def _name_arms(searches, arm, rng):
    """Let searches name arms: mostly that of their user, of one test or another; some name none."""
    tests = sorted(TESTS)
    has_experiment = rng.random() < 0.8
    for row in searches:
        test = rng.choice(tests) if has_experiment else "variant"
        own = arm.get((row["user_id"], test), "new")
        row["variant"] = rng.choices((own, rng.choice(NONE), rng.choice(TESTS[test])), (88, 10, 2))[0]
        if has_experiment:
            row["experiment"] = test if rng.random() < 0.97 else rng.choice(NONE)


def _another(row, rng):
    """Return what another delivery of a search has in its place."""
    changes = {}
    if "variant" in row and rng.random() < 0.5:
        changes["variant"] = rng.choice(NONE)
    if "experiment" in row and rng.random() < 0.3:
        changes["experiment"] = rng.choice(sorted(TESTS))
    return changes


def _assigned(users, arm, times, rng):
    """Yield assignments: from the beginning or later, for ever or for a while, some twice, some of no use."""
    number = isinstance(users[0], int)
    for user in [*users, 987_654 if number else "nobody's"]:
        for test, names in TESTS.items():
            for _ in range(rng.choices((0, 1, 2), (20, 60, 20))[0]):
                own = arm.get((user, test), names[0])
                since, until = (rng.choice((None, rng.choice(times) + rng.randrange(-1, 2))) for _ in "ab")
                yield {
                    "user_id": user if rng.random() < 0.97 else None,
                    "experiment": test if rng.random() < 0.98 else rng.choice(NONE),
                    "variant": rng.choices((own, rng.choice(names), rng.choice(NONE)), (93, 5, 2))[0],
                    "since": since,
                    "until": until,
                }
