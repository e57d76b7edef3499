"""Lists held out: models are fitted on some lists of each query, and say what to expect of the others."""

from dataclasses import dataclass, replace

import numpy as np

from clickassay.click_models.click_log import Bools, ClickLog, Floats, Ints, summed
from clickassay.click_models.model import ClickModel, marginal

LEAST_LISTS = 3
"""Fewest lists of a query of which some are held out: two to compare, and one to learn from."""

MOST_LISTS = 5_000
"""Most lists of a market and depth that models are fitted on: queries are sampled until there are as many."""


@dataclass(frozen=True)
class ListLog:
    """A log in which no two lists show the same, and the query of each list."""

    log: ClickLog
    sessions: Ints  # (L,) sessions of each list.
    clicks: Ints  # (L, K) clicks on each position.
    group: Ints  # (L,) code of market and query, from 0 in the order of `queries`.
    queries: tuple[tuple[str, str], ...]  # Market and query.


def list_log(log: ClickLog) -> ListLog:
    """Put lists together that show the same results, down to the depth: what one tells, the other has seen.

    Lists without a session are left out.
    """
    used = np.unique(log.rows)
    lists, which = np.unique(log.lists[used], axis=0, return_inverse=True)
    row = which.ravel()[np.searchsorted(used, log.rows)]
    cells, place = np.unique(np.column_stack([row, log.masks]), axis=0, return_inverse=True)
    sessions = summed(place.ravel(), log.sessions, len(cells)).astype(np.int64)
    whole = replace(log, lists=lists, rows=cells[:, 0], masks=cells[:, 1], sessions=sessions)
    names = log.documents.select("market", "query").rows()
    of_lists = [names[first] for first in lists[:, 0]]
    queries = tuple(sorted(set(of_lists)))
    code = {name: number for number, name in enumerate(queries)}
    group = np.array([code[name] for name in of_lists], np.int64)
    return ListLog(whole, *whole.by_list(), group, queries)


def lists_to_compare(lists: ListLog, *, least_sessions: int, most: int, rng: np.random.Generator) -> ListLog:
    """Return the lists of queries with `LEAST_LISTS` lists or more that enough sessions saw.

    most: lists; if there are more, queries are sampled.
    """
    seen = lists.group[lists.sessions >= least_sessions]
    groups = rng.permutation(np.flatnonzero(np.bincount(seen, minlength=len(lists.queries)) >= LEAST_LISTS))
    sizes = np.bincount(lists.group, minlength=len(lists.queries))[groups].cumsum()
    groups = np.sort(groups[(sizes <= most) | (np.arange(len(groups)) == 0)])
    kept = np.isin(lists.group, groups)
    place, of_rows = np.cumsum(kept) - 1, kept[lists.log.rows]
    log = lists.log.some(of_rows)
    return ListLog(
        replace(log, lists=log.lists[kept], rows=place[log.rows]),
        lists.sessions[kept],
        lists.clicks[kept],
        np.searchsorted(groups, lists.group[kept]),
        tuple(lists.queries[group] for group in groups),
    )


def drawn_lists(lists: ListLog, may_judge: Bools, share: float, rng: np.random.Generator) -> Bools:
    """Draw lists to hold out of each query, all of which have `LEAST_LISTS` lists or more that may judge.

    may_judge: (L,) lists that can be held out; the others are always learned from.
    share: part of these lists that is held out, but two at least, and all but one at most.

    Returns (L,) whether a list is held out.
    """
    order = rng.permutation(np.flatnonzero(may_judge))
    order = order[np.argsort(lists.group[order], kind="stable")]
    sizes = np.bincount(lists.group[order], minlength=len(lists.queries))
    rank = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[lists.group[order]]
    number = np.clip(np.round(share * sizes), 2, sizes - 1)
    held = np.zeros(len(may_judge), bool)
    held[order] = rank < number[lists.group[order]]
    return held


def surprise(model: ClickModel, lists: ListLog, some: Ints) -> Floats:
    """Return the (n,) bits by which the clicks and skips of some lists surprise a model, over positions.

    Each position by itself, whatever is clicked above: what the model says of its chance of a click.
    """
    log, shows, clicks = lists.log, lists.sessions[some, None], lists.clicks[some]
    chances = marginal(model, log.lists[some])
    skips = np.where(log.shown[some], shows - clicks, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_clicks = np.where(clicks > 0, clicks * np.log2(chances), 0.0)
        of_skips = np.where(skips > 0, skips * np.log2(1 - chances), 0.0)
    return np.asarray(-(of_clicks + of_skips).sum(axis=1))
