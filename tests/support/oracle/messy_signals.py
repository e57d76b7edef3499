"""Actions and dwell times put into messy logs, in which all that can go wrong with them does."""

import random

from support.oracle.messy_logs import seeded_log

ACTIONS = (
    None, None, None, "click", "Click ", "add_to_cart", "ADD_TO_CART", "purchase", "view", "scroll", "",
)  # fmt: skip
DWELL = (None, None, 0.0, 29.999, 30.0, 31.5, -1.0, 1e9, float("nan"), float("inf"), 5.0)
ASKED = (
    ("auto",), ("satisfied",), ("auto", "satisfied"), ("purchase", "satisfied"), ("none",), ("purchase",),
)  # fmt: skip


def signal_log(seed):
    """Draw a log whose clicks have actions, or dwell times, or both: its tables and settings."""
    searches, clicks, judgments, _, settings = seeded_log(seed)
    rng = random.Random(seed)  # noqa: S311 - test data, not a secret
    has_actions, has_dwell = rng.choice(((True, True), (True, False), (False, True), (False, False)))
    rows = [dict(row) for row in clicks]
    for row in rng.sample(rows, len(rows) // 3):
        rows.append(_moved(row, rng))
    for row in rows:
        if has_actions:
            row["action"] = rng.choice(ACTIONS)
        if has_dwell:
            row["dwell_seconds"] = rng.choice(DWELL)
    rng.shuffle(rows)
    asked = rng.choice(ASKED) if has_actions else ("satisfied",)
    own = {"signal": asked, "last_click": rng.choice(("satisfied", "unsatisfied"))}
    own["satisfied_seconds"] = rng.choice((30.0, 5.0, 0.5, 600.0))
    return searches, rows, judgments, settings | own


def _moved(row, rng):
    """Return another event near a click: at its time, a little later, or before its search."""
    if row["timestamp"] is None:
        return dict(row)
    return {**row, "timestamp": row["timestamp"] + rng.choice((0, 1, 400, 5_000, 30_000, -1, -40_000))}
