"""Small logs for tests of click models."""

import numpy as np
import polars as pl

from clickassay.click_models.click_log import ClickLog


def documents(number):
    """Return a table of documents, all of one query."""
    return pl.DataFrame(
        {"market": ["all"] * number, "query": ["q"] * number, "url": [f"u{code}" for code in range(number)]}
    )


def random_lists(rng, *, number, pool, depth, shorter=0):
    """Return lists of distinct documents in random order, the first `shorter` of them cut."""
    lists = np.stack([rng.permutation(pool)[:depth] for _ in range(number)])
    for row in range(min(shorter, number)):
        lists[row, int(rng.integers(1, depth)) :] = -1
    return lists


def log_of(lists, sessions, pool):
    """Return a log from {(list, mask): sessions}."""
    keys = sorted(sessions)
    columns = (np.array(column, dtype=np.int64) for column in zip(*keys, strict=True))
    counts = np.array([sessions[key] for key in keys], dtype=np.int64)
    return ClickLog(np.asarray(lists, dtype=np.int64), *columns, counts, documents(pool))


def random_log(rng, *, number=6, pool=8, depth=4, shorter=2, patterns=30):
    """Return a log whose clicks follow no model at all."""
    lists = random_lists(rng, number=number, pool=pool, depth=depth, shorter=shorter)
    lengths = (lists >= 0).sum(axis=1)
    sessions = {}
    for _ in range(patterns):
        row = int(rng.integers(number))
        key = row, int(rng.integers(1 << lengths[row]))
        sessions[key] = sessions.get(key, 0) + int(rng.integers(1, 20))
    return log_of(lists, sessions, pool)


def as_sessions(log):
    """Return (documents, clicks, times) of each pattern, for the oracle."""
    found = []
    for row, mask, times in zip(log.rows, log.masks, log.sessions, strict=True):
        shown = [int(code) for code in log.lists[row] if code >= 0]
        found.append((tuple(shown), tuple(int(mask) >> place & 1 for place in range(len(shown))), int(times)))
    return found
