"""Results of lists by number: a number stands for one URL of one query, so texts are compared once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.form import Table
from clickassay.core.contracts.patterns import PATTERN_CONFIGURATIONS, PATTERNS, SHOWN
from clickassay.core.errors import PatternError
from clickassay.core.text.words import plural
from clickassay.patterns.table import Pieces, StagedTable, held_densely

Integers = NDArray[np.int64]
_WORD_BITS = 64


@dataclass(frozen=True)
class NumberedResults:
    """The results of lists by number."""

    # (lists, longest) the number of each result, best position first; -1 where a list has ended.
    numbers: NDArray[np.int32]
    # (results,) a list that shows the result of each number; numbers of a query are neighbours.
    lists: Integers
    urls: pl.Series  # Its URL.

    def top(self, depth: int) -> NDArray[np.int32]:
        """Return the (lists, depth) numbers of the first results; -1 where a list has ended."""
        numbers = np.full((len(self.numbers), depth), -1, np.int32)
        numbers[:, : self.numbers.shape[1]] = self.numbers[:, :depth]
        return numbers


def _hashed(texts: pl.Series) -> NDArray[np.uint64]:
    return texts.hash().to_numpy()


def number_results(
    results: pl.Series, query: Integers, fingerprints: Callable[[pl.Series], NDArray[np.uint64]] = _hashed
) -> NumberedResults:
    """Give results numbers, of lists (`query`: number of each list's query, from 0), best position first.

    fingerprints: 64 bits for each text; where URLs of a query share them, texts are put in order.
    """
    lengths = results.list.len().to_numpy()
    lists = np.repeat(np.arange(len(lengths)), lengths)
    texts = results.explode(empty_as_null=False)
    bits = max(int(query.max(initial=0)).bit_length(), 1)
    heads = query.astype(np.uint64) << np.uint64(_WORD_BITS - bits)
    number, first = numbered(heads[lists] | (fingerprints(texts) >> np.uint64(bits)))
    urls = texts.gather(first)
    if not (urls.gather(number) == texts).all():
        ranks = pl.DataFrame({"query": query[lists], "text": texts}).select(pl.struct(pl.all()).rank("dense"))
        number, first = numbered(ranks.to_series().to_numpy().astype(np.uint64))
        urls = texts.gather(first)
    numbers = np.full((len(lengths), int(lengths.max() or 0) if len(lengths) else 0), -1, np.int32)
    numbers[np.arange(numbers.shape[1]) < lengths[:, None]] = number
    return NumberedResults(numbers, lists[first], urls)


def repeating(numbers: NDArray[np.int32]) -> Integers:
    """Return the lists, rows of numbers as of `NumberedResults`, that show a result more than once."""
    in_order = np.sort(numbers, axis=1)
    again = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0)
    return np.flatnonzero(again.any(axis=1))


def numbered(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int32], Integers]:
    """Give distinct keys numbers, in their order; return each row's number, and each number's first row."""
    sort = pl.arg_sort_by("key", maintain_order=True)
    order = pl.DataFrame({"key": keys}).select(sort).to_series().to_numpy().astype(np.int64)
    in_order = keys[order]
    is_new = np.ones(len(keys), bool)
    is_new[1:] = in_order[1:] != in_order[:-1]
    numbers = np.empty(len(keys), np.int32)
    numbers[order] = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
    return numbers, order[is_new]


MOST_FREQUENT = 10_000
"""Queries of each market that a report looks at beside judged queries: it proposes some to judge."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class LogLists:
    """Lists of a log with the sessions that begin on them."""

    # configuration_id, market, query, results, sessions; in the order of their ids.
    configurations: pl.DataFrame
    query: Integers  # (configurations,) number of the query of each: in the order of markets, then of texts.
    # list (row of `configurations`), fold, click_mask, sessions; sorted by list. Those of lists that are
    # looked at for their frequency alone are missing.
    patterns: pl.DataFrame
    others: pl.DataFrame  # market, length, sessions: all other lists, by their number of results.
    # list, day, sessions: as `patterns`, of all users; None where times are not known.
    shown: pl.DataFrame | None = None
    # list, fold, signal, click_mask, sessions: of sessions with a signal, as `patterns`; None without any.
    # The type of `signal`, and of `outcome`, has every name of the log: parts without its rows know it too.
    signals: pl.DataFrame | None = None
    # list, fold, outcome, sessions, total, total_of_squares; None where none are counted.
    outcomes: pl.DataFrame | None = None

    @cached_property
    def results(self) -> NumberedResults:
        """Their results by number; PatternError if a list shows one twice: tables of older versions may."""
        numbered = number_results(self.configurations["results"], self.query)
        if len(lists := repeating(numbered.numbers)):
            raise PatternError(
                f"pattern table: {plural(len(lists), 'ranking')} of {len(self.query):,} show a result twice, "
                "so their metrics would be wrong: an older clickassay wrote this table; make the table or "
                "store again from its log (`clickassay patterns`)"
            )
        return numbered

    @property
    def patterns_by_id(self) -> pl.DataFrame:
        """The patterns with `configuration_id` in place of the number of the list."""
        ids = self.configurations["configuration_id"].gather(self.patterns["list"])
        return self.patterns.select(ids, "fold", "click_mask", "sessions")

    def sessions_by_market(self) -> dict[str, int]:
        """Return the sessions of all lists."""
        rows = (frame.select("market", "sessions") for frame in (self.configurations, self.others))
        return dict(pl.concat(rows).group_by("market").agg(pl.col("sessions").sum()).iter_rows())


def user_halves() -> tuple[pl.Expr, pl.Expr]:
    """Return which patterns are of one half of the users, even folds, and which of the other, odd folds.

    Models are fitted on the first and evaluated on the second. With one fold the second half is empty.
    """
    even = pl.col("fold") % 2 == 0
    return even, ~even


def log_lists(
    staged: StagedTable, judged: pl.DataFrame | None = None, *, users: pl.Expr | None = None
) -> LogLists:
    """Return the lists of a pattern table by number.

    judged: market (null = every market), query: lists of these and of the `MOST_FREQUENT` queries of each
      market are looked at, all others counted; None = all. `users`: which patterns count, by fold.
    Raises PatternError if configurations, queries and patterns do not belong together, or change meanwhile.
    """
    queries = pl.concat(staged.queries).select("market", "query")
    query, length, ids = _numbered(staged, queries)
    sessions = np.zeros(len(query), np.int64)
    for lists, rows in _numbered_rows(staged.patterns, ids, users):
        np.add.at(sessions, lists, rows["sessions"].to_numpy())
    is_judged = np.ones(len(queries), bool) if judged is None else are_judged(queries, judged)
    place = pl.col("sessions").rank("ordinal", descending=True).over("market")
    by_query = queries.with_columns(sessions=np.bincount(query, sessions, len(queries)))
    is_frequent = by_query.select(place <= MOST_FREQUENT).to_series().to_numpy()
    is_chosen = (is_judged | is_frequent)[query]
    is_kept, is_other = is_chosen & (sessions > 0), ~is_chosen & (sessions > 0)
    market = queries["market"].gather(query[is_other])
    others = pl.DataFrame({"market": market, "length": length[is_other], "sessions": sessions[is_other]})
    kept, first = [PATTERN_CONFIGURATIONS.empty()], 0
    for piece in staged.configurations:
        kept.append(held_densely(piece.filter(is_kept[first : first + piece.height])))
        first += piece.height
    configurations = pl.concat(kept)
    is_measured = is_judged[query]
    patterns = _kept_rows(PATTERNS, _numbered_rows(staged.patterns, ids, users), is_kept, is_measured)
    if patterns["sessions"].sum() != sessions[is_kept & is_measured].sum():
        raise PatternError("the pattern table was changed while it was read; try again")
    return LogLists(
        configurations=configurations.with_columns(pl.Series("sessions", sessions[is_kept])),
        query=query[is_kept],
        patterns=patterns,
        others=others.group_by("market", "length").agg(pl.col("sessions").sum()),
        shown=None
        if staged.shown is None
        else _kept_rows(SHOWN, _numbered_rows(staged.shown, ids), is_kept, is_measured),
        signals=_own_rows(staged.signals, "signal", configurations, is_measured[is_kept], users),
        outcomes=_own_rows(staged.outcomes, "outcome", configurations, is_measured[is_kept], users),
    )


def _own_rows(
    rows: pl.DataFrame | None,
    names: str,
    configurations: pl.DataFrame,
    is_measured: Flags,
    users: pl.Expr | None,
) -> pl.DataFrame | None:
    if rows is None:
        return None
    rows = rows.cast({names: pl.Enum(rows[names].unique().sort())})
    measured = configurations.select("configuration_id").with_row_index("list").filter(is_measured)
    own = (rows if users is None else rows.filter(users)).join(measured, on="configuration_id")
    return own.select("list", pl.exclude("list", "configuration_id")).sort(pl.all())


def _numbered(staged: StagedTable, queries: pl.DataFrame) -> tuple[Integers, Integers, NDArray[np.uint64]]:
    known = queries.with_row_index("row")
    parts = [pl.DataFrame(schema={"row": pl.UInt32, "length": pl.UInt32, "id": pl.UInt64})]
    for piece in staged.configurations:
        rows = piece.join(known, on=["market", "query"], how="left", maintain_order="left")
        hashed = pl.col("configuration_id").hash().alias("id")
        parts.append(rows.select("row", pl.col("results").list.len().alias("length"), hashed))
    every = pl.concat(parts)
    if every["row"].null_count():
        raise PatternError(
            "pattern table: configurations have queries that its table of queries lacks; make it again"
        )
    row, length = (every[name].to_numpy().astype(np.int64) for name in ("row", "length"))
    return row, length, every["id"].to_numpy()


def _numbered_rows(
    pieces: Pieces, ids: NDArray[np.uint64], users: pl.Expr | None = None
) -> Iterator[tuple[Integers, pl.DataFrame]]:
    """Yield rows by list, and for each the number of its list: both tables are in the order of ids."""
    count, last = 0, pl.Series([None], dtype=pl.String)
    for piece in pieces:
        named = pl.concat([last, piece["configuration_id"]])
        begins = named[1:].ne_missing(named[:-1])
        new = named[1:].filter(begins).hash().to_numpy()
        if not np.array_equal(ids[count : count + len(new)], new):
            break
        lists = count - 1 + np.cumsum(begins.to_numpy())
        count, last = count + len(new), named[-1:]
        chosen = np.ones(piece.height, bool) if users is None else piece.select(users).to_series().to_numpy()
        yield lists[chosen], piece.filter(chosen)
    if count != len(ids):
        raise PatternError("pattern table: patterns and configurations do not match; make it again")


def are_judged(queries: pl.DataFrame, judged: pl.DataFrame) -> Flags:
    """Return which queries (market, query) are among those with judgments; market null = every market."""
    everywhere = judged.filter(pl.col("market").is_null())["query"]
    here = judged.select(pl.struct("market", "query")).to_series()
    found = queries.select(
        pl.col("query").is_in(everywhere.implode()) | pl.struct("market", "query").is_in(here.implode())
    )
    return found.to_series().to_numpy()


def _kept_rows(
    form: Table, rows: Iterator[tuple[Integers, pl.DataFrame]], is_kept: Flags, is_judged: Flags
) -> pl.DataFrame:
    place, is_measured = np.cumsum(is_kept, dtype=np.uint32) - np.uint32(1), is_kept & is_judged
    own = pl.exclude("configuration_id")
    parts = [form.empty().select(pl.lit(0, pl.UInt32).alias("list"), own)]
    for lists, piece in rows:
        kept = is_measured[lists]
        numbers = pl.Series("list", place[lists[kept]])
        parts.append(piece.filter(kept).select(numbers, own))
    return pl.concat(parts)
