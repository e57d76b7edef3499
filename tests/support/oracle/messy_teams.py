"""Messy logs of interleaved lists: searches name the ranker of each result."""

import random

from support.oracle.messy_tests import NONE, TESTS, log_with_tests

RANKERS = {
    "ranker": ("control", "new"),
    "colours \u00e9": ("off", "red", "blue \u00e9"),
    "variant": ("B", "A"),
}


def log_with_teams(seed):
    """Draw a log as `log_with_tests` does, whose searches name rankers too, some in a way of no use."""
    searches, *others = log_with_tests(seed)
    rng = random.Random(seed)  # noqa: S311 - test data, not a secret
    has_experiment = "experiment" in searches[0] or seed % 3 > 0
    own = rng.random()
    for row in searches:
        if has_experiment and "experiment" not in row:
            row["experiment"] = rng.choice(sorted(TESTS)) if rng.random() < 0.97 else rng.choice(NONE)
        if has_experiment and rng.random() < 0.8:  # else searches of a session are hardly ever of one test
            row["experiment"] = random.Random(f"{own} {row['user_id']}").choice(sorted(TESTS))  # noqa: S311
        row["teams"] = _teams(row, seed, rng)
    return searches, *others


def _teams(row, seed, rng):
    """Draw rankers: mostly those that the same user sees for the same query again."""
    length = len(row["results"] or ())
    if rng.random() < 0.05:
        return rng.choice((None, [None] * length, [], ["", *[None] * (length - 1)], ["only"] * (length + 1)))
    names = RANKERS.get(row.get("experiment"), ("B", "A"))
    own = random.Random(f"{seed} {row['user_id']} {row['query']}")  # noqa: S311
    some = own.choice((names, names, names[:2], names[:1]))
    teams = [own.choice((*some, None)) for _ in range(length)]
    if teams and rng.random() < 0.05:
        teams[rng.randrange(length)] = rng.choice((*names, None, ""))
    return teams
