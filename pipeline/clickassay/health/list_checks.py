"""Checks of what a log shows: its queries, the lengths of its lists, and clicks by position."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from clickassay.core.text.words import count, number, percent, plural, visible
from clickassay.health.checks import BY_NAME, Measured, too_few
from clickassay.patterns.lists import LogLists

_FEW_SESSIONS = 1000
_CLEAR = 3.0
"""Standard errors by which the first position is clicked less than it should be."""
_AT_LEAST = BY_NAME["flat_clicks"].threshold


def list_checks(lists: LogLists, positions: Sequence[tuple[int, int]], depth: int) -> Iterator[Measured]:
    """Yield the numbers of the checks of lists.

    lists: the lists of a log with their sessions.
    positions: by position from 1 on: sessions that show a result there, and of these the sessions that click
      it.
    depth: results that are kept of a list.
    """
    by_market = lists.sessions_by_market()
    yield _markets(by_market)
    sessions = sum(by_market.values())
    if sessions >= _FEW_SESSIONS:
        yield _busiest_query(lists.configurations, sessions)
        yield _lengths(lists, depth)
    else:
        yield from too_few(sessions, _FEW_SESSIONS, "sessions", "busy_query", "one_list_length")
    if len(positions) > 1:
        yield _flat(positions)


def _markets(sessions: Mapping[str, int]) -> Measured:
    first = ", ".join(f"'{visible(market)}'" for market in sorted(sessions)[:3])
    return Measured(
        "many_markets", len(sessions),
        f"The log has {plural(len(sessions), 'market')}, such as {first}.",
        "Check that the column market names countries or sites: each value is measured by itself.",
    )  # fmt: skip


def _busiest_query(configurations: pl.DataFrame, sessions: int) -> Measured:
    by_query = configurations.group_by("query").agg(pl.col("sessions").sum())
    most = int(by_query["sessions"].max() or 0)  # type: ignore[arg-type]
    return Measured(
        "busy_query", most / sessions,
        f"{percent(most / sessions)} of the sessions ({count(most)}) are of one query.",
        "If a program or a default sends it, leave it out of the log.",
    )  # fmt: skip


def _lengths(lists: LogLists, depth: int) -> Measured:
    lengths = pl.concat(
        [
            lists.configurations.select(pl.col("results").list.len().cast(pl.Int64).alias("length")),
            lists.others.select(pl.col("length").cast(pl.Int64)),
        ]
    )["length"].unique()
    longest = int(lengths.max() or 0)  # type: ignore[arg-type]
    return Measured(
        "one_list_length", len(lengths) if longest < depth else depth,
        f"Every list has {plural(longest, 'result')}.",
        "Check that results hold what was shown, and were not cut or read as one text.",
    )  # fmt: skip


def _flat(positions: Sequence[tuple[int, int]]) -> Measured:
    """Compare the first position with the most clicked other one; only what is clear is below the limit."""
    first, *others = [(clicked / shown, shown) for shown, clicked in positions]
    place, (best, shown) = max(enumerate(others, 2), key=lambda item: item[1][0])
    missing = _AT_LEAST * best - first[0]
    error = (first[0] * (1 - first[0]) / first[1] + _AT_LEAST**2 * best * (1 - best) / shown) ** 0.5
    ratio = first[0] / best if best else _AT_LEAST
    ratio = ratio if missing > _CLEAR * error else max(ratio, _AT_LEAST)
    return Measured(
        "flat_clicks", ratio,
        f"Position {place} is clicked in {percent(best)} of the sessions that show it, position 1 in "
        f"{percent(first[0])} ({number(ratio, 2)} times as often).",
        "Check the order of results, and that positions count from 1; or something else stands above them.",
    )  # fmt: skip
