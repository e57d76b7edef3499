"""Messy logs of the oracle, eighteen to a pack: one run of Spark takes seconds, however short the log is.

A pack is the logs of as many seeds that have the same types of ids and name clicks by the same columns,
written one after the other. Their users and their search ids are kept apart (each log's integers are moved,
its texts prefixed), so that no session and no click crosses from one log into another; queries, markets and
result lists are shared, and add up. A log without the column `market` or `page` gets the value that an
absent column stands for. The settings are those of the pack's first log. So the pack is one messy log
more, of eighteen worlds.
"""

import itertools
from dataclasses import dataclass
from typing import Any

from support.oracle.messy_logs import seeded_log

LOGS = 18
TARGETS = (("url",), ("position",), ("url", "position"))
IDS = ((int, str), (str, int))
IDLE_MINUTES = itertools.cycle((60, 30, 60, 1.5, 60))
SHAPES = tuple(
    (search_ids, user_ids, targets, next(IDLE_MINUTES))
    for (search_ids, user_ids), targets in itertools.product(IDS, TARGETS)
)
"""Types of ids, what names a click, and the idle limit at which the logs have their gaps, of each pack."""
APART = 10_000  # more than the search ids of a log span, but for the two that are far from all others
ABSENT = {"market": "all", "page": 1}


@dataclass(frozen=True)
class Pack:
    """The logs of some seeds as one log: rows as the oracle has them."""

    seeds: tuple[int, ...]
    searches: list[dict[str, Any]]
    clicks: list[dict[str, Any]]
    judgments: list[dict[str, Any]]
    settings: dict[str, Any]


def packs():
    """Return one pack of each of the `SHAPES`."""
    drawn = {shape: [] for shape in SHAPES}
    for seed in itertools.count():
        log = seeded_log(seed)
        own = drawn.get(shape_of(log), [])
        if len(own) < LOGS:
            own.append((seed, log))
        if all(len(logs) == LOGS for logs in drawn.values()):
            return [packed(logs) for logs in drawn.values()]
    raise AssertionError


def shape_of(log):
    """Return the shape of a log; one without a click has none."""
    searches, clicks, _, _, settings = log
    targets = tuple(name for name in ("url", "position") if clicks and name in clicks[0])
    return type_of(searches, "search_id"), type_of(searches, "user_id"), targets, settings["idle_minutes"]


def type_of(rows, column):
    return next(type(row[column]) for row in rows if row[column] is not None)


def packed(logs):
    """Put logs of one shape together."""
    searches, clicks = [], []
    for number, (_, log) in enumerate(logs):
        searches += [ABSENT | row | kept_apart(row, number) for row in log[0]]
        clicks += [row | kept_apart(row, number) for row in log[1]]
    _, (_, _, judgments, _, settings) = logs[0]
    return Pack(tuple(seed for seed, _ in logs), searches, clicks, judgments, settings)


def kept_apart(row, number):
    """Return the ids of a row of a log, by the log's number in its pack."""
    return {name: moved(row[name], number) for name in ("search_id", "user_id") if name in row}


def moved(value, number):
    """Return an id that no other log of the pack has; the first log keeps its own."""
    if value is None or number == 0:
        return value
    return value + APART * number if isinstance(value, int) else f"{number}|{value}"
