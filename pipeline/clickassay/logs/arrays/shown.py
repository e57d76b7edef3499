"""All that is kept of the texts of a log: queries, lists and URLs, each once, by number."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from clickassay.core.errors import EngineError
from clickassay.core.numbering import Growing, Keys, Numbers, Rows, Small
from clickassay.inputs.normalise import normalise_queries
from clickassay.logs.arrays.columns import Searches, as_arrow
from clickassay.logs.arrays.steps.normalise_urls import Texts, Urls
from clickassay.patterns.lists import are_judged

_QUERY = pl.Schema({"market": pl.String, "query": pl.String})
QUERY, _MARKET, _AGAIN = 0, 1, 3
"""Seeds: independent hashes, so that an XOR names a pair."""
_LONG = 256
"""Results of longer lists are put in order to find repeated ones; others are compared."""
LEFT_OUT = "left out"
"""Stands for the list of a query without judgments, when only judged queries are kept."""


class Queries:
    """The (market, query) pairs read so far, numbered as read and in normal form; if given, `judged` ones."""

    def __init__(self, judged: pl.DataFrame | None) -> None:
        self._judged = judged
        self._read, self._normal = Numbers(), Numbers()
        self._texts, self._normal_texts = Texts(_QUERY), Texts(_QUERY)
        # of each query as read: number of its normal form, whether it is kept, its key and another one
        self.pair, self.is_kept = Growing(np.int32), Growing(np.bool_)
        self.keys, self._again = Growing(np.uint64), Growing(np.uint64)

    @property
    def only_judged(self) -> bool:
        """Whether queries without judgments are left out."""
        return self._judged is not None

    @property
    def pairs(self) -> int:
        """How many (market, query) in normal form there are."""
        return self._normal.count

    @property
    def texts(self) -> pl.DataFrame:
        """Return market and query as read, by number."""
        return self._texts.all()

    @property
    def normal_texts(self) -> pl.DataFrame:
        """Return market and query in normal form, by number of the pair."""
        return self._normal_texts.all()

    def numbers_of(self, keys: Keys, texts: Callable[[Rows], pl.DataFrame]) -> Small:
        """Return the number of each query as read; `texts` gives market and query of rows."""
        return self._read.get_or_add(keys, lambda rows: self._learn(keys[rows], texts(rows)))

    def _learn(self, keys: Keys, read: pl.DataFrame) -> None:
        texts = read.select("market", "query")
        normal = texts.with_columns(normalise_queries(texts["query"]))
        pairs = self._normal.get_or_add(
            _keys(normal, QUERY), lambda rows: self._normal_texts.append(normal[rows])
        )
        self._texts.append(texts)
        self.pair.append(pairs)
        self.keys.append(keys)
        self._again.append(_keys(texts, _AGAIN))
        everything = np.ones(normal.height, bool)
        self.is_kept.append(everything if self._judged is None else are_judged(normal, self._judged))

    def check(self, numbers: Small, texts: pl.DataFrame) -> None:
        """Compare queries of equal number; EngineError if two different queries share a fingerprint."""
        if (self._again.values[numbers] != _keys(texts, _AGAIN)).any():
            raise EngineError("two queries share a fingerprint; nothing was written")


def _keys(texts: pl.DataFrame, seed: int) -> Keys:
    return texts.select(query_key(seed)).to_series().to_numpy()


def query_key(seed: int) -> pl.Expr:
    """Return the key of a (market, query)."""
    return pl.col("query").hash(seed) ^ pl.col("market").hash(_MARKET)


class ShownLists:
    """The result lists read so far, numbered, by query as read; clicks are looked for in `depth` results."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._numbers = Numbers()
        # of each list: number of its query as read, -1 for those left out; numbers of the normal forms of its
        # first distinct results, -1 after the last
        self.query, self.top = Growing(np.int32), Growing(np.int32, fill=-1)
        # whether it shows a result again, in normal form; whether that makes several results one
        self.repeats, self.merged, self.any_repeats = Growing(np.bool_), Growing(np.bool_), False
        self._ends, self._urls = Growing(np.int64), Growing(np.int32)
        """URLs as read, one list after the other: of lists that are longer than the depth, not in normal
        form, or show a result again."""
        self.left_out: dict[int, str] = {}
        """The lists that stand for lists of queries that are left out, each with its market."""

    def numbers_of(self, keys: Keys, learn: Callable[[Rows], None]) -> Small:
        """Return the number of each list; `learn` must keep the new ones, by rows."""
        return self._numbers.get_or_add(keys, learn)

    def get(self, keys: Keys) -> Small:
        """Return the number of each list; -1 where it has none yet."""
        return self._numbers.get(keys)

    def add_new(self, keys: Keys, queries: Small, urls: Small, lengths: Rows, normal: Small) -> None:
        """Keep the lists whose keys have no number yet; `queries` and the others as in `keep`."""

        def learn(rows: Rows) -> None:
            counts = lengths[rows]
            ends, own = np.cumsum(lengths), np.cumsum(counts)
            places = np.arange(int(counts.sum())) + np.repeat((ends - lengths)[rows] - (own - counts), counts)
            self.keep(queries[rows], urls[places], counts, normal)

        self._numbers.add_new(keys, learn)

    def forget_keys(self) -> None:
        """Free what only new lists would need."""
        self._numbers = Numbers()

    def keep(self, queries: Small, urls: Small, lengths: Rows, normal: Small) -> None:
        """Keep new lists: queries, URLs list after list, lengths; and `normal`, numbers of normal forms."""
        which = np.repeat(np.arange(len(queries)), lengths)
        results = normal[urls]
        longest = int(lengths.max(initial=0))
        again = _shown_again(which, results, longest)
        counts = np.bincount(which[again], minlength=len(queries))
        repeats, merged = counts > 0, np.zeros(len(queries), bool)
        if len(again) and (urls != results).any():
            as_read = _shown_again(which, urls, longest)
            merged = counts > np.bincount(which[as_read], minlength=len(queries))
        place = np.arange(len(urls)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        if len(again):
            shown_again = np.zeros(len(place) + 1, np.int64)
            shown_again[again + 1] = 1
            before = np.cumsum(shown_again)[:-1]
            place -= before - before[np.arange(len(place)) - place]  # those before it in its list
            place[again] = self._depth  # beyond the top
        wide = min(longest, self._depth)
        top = np.full((len(queries), wide), -1, np.int32)
        first = place < wide
        top[which[first], place[first]] = results[first]
        self.top.append(top)
        self.query.append(queries)
        self.repeats.append(repeats)
        self.merged.append(merged)
        self.any_repeats |= bool(len(again))
        differs = (lengths > wide) | repeats
        differs[which[urls != results]] = True
        self._ends.append(self._urls.count + np.cumsum(np.where(differs, lengths, 0)))
        self._urls.append(urls[differs[which]])

    def keep_left_out(self, markets: list[str]) -> None:
        """Keep new lists without results, one for each market."""
        self.left_out.update(enumerate(markets, self.query.count))
        none = np.zeros(0, np.int32)
        self.keep(np.full(len(markets), -1, np.int32), none, np.zeros(len(markets), np.int64), none)

    def at(self, lists: Small, places: Rows) -> Small:
        """Return the number of the URL at a place (from 1) of each list; -1 beyond its end."""
        positions = np.full(len(lists), -1, np.int32)
        top = self.top.values
        in_top = places <= top.shape[1]
        positions[in_top] = top[lists[in_top], places[in_top] - 1]
        begins, ends = self._as_read(lists)
        as_read = places <= ends - begins
        positions[as_read] = self._urls.values[(begins + places - 1)[as_read]]
        return positions

    def results(self, lists: Small, texts: pl.Series, normal: Small | None = None) -> pl.Series:
        """Return results of lists as read (`texts` of all URLs), or by `normal`, numbers of normal forms."""
        begins, ends = self._as_read(lists)
        top = self.top.values[lists[begins == ends]]
        lengths = ends - begins
        lengths[begins == ends] = (top >= 0).sum(axis=1)
        urls = np.empty(int(lengths.sum()), np.int32)
        is_as_read = np.repeat(ends > begins, lengths)
        counts = ends - begins
        shifts = np.repeat(begins - (np.cumsum(counts) - counts), counts)
        urls[is_as_read] = self._urls.values[
            np.arange(int(counts.sum())) + shifts
        ]  # of one list after another
        urls[~is_as_read] = top[top >= 0]
        return lists_of(texts, urls if normal is None else normal[urls], lengths)

    def _as_read(self, lists: Small) -> tuple[Rows, Rows]:
        """Return where the URLs of lists begin and end; equal for a list of its top results alone."""
        return np.where(lists > 0, self._ends.values[lists - 1], 0), self._ends.values[lists]


def _shown_again(which: Rows, results: Small, longest: int) -> Rows:
    """Return the rows of results that stand further up in their list, too; `which` are lists, in order."""
    if longest > _LONG:
        order = np.lexsort((results, which))
        same = (results[order[1:]] == results[order[:-1]]) & (which[order[1:]] == which[order[:-1]])
        return np.sort(order[1:][same])
    again = np.zeros(len(results), bool)
    for apart in range(1, longest):
        rows = np.flatnonzero(results[apart:] == results[:-apart])
        again[rows[which[rows] == which[rows + apart]] + apart] = True
    return np.flatnonzero(again)


def lists_of(texts: pl.Series, numbers: Small, lengths: Rows) -> pl.Series:
    """Return lists of the texts of `numbers`, one list after the other, each of its length."""
    values = texts.gather(numbers).rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    lists = pa.LargeListArray.from_arrays(as_arrow(pl.Series(ends)), values)
    return pl.Series("results", lists, dtype=pl.List(pl.String))


@dataclass(frozen=True)
class LogTexts:
    """All that is kept of texts: the queries, lists and URLs read so far."""

    queries: Queries
    lists: ShownLists
    urls: Urls

    def forget_keys(self) -> None:
        """Free what only new searches would need: after them, nothing may be read."""
        self.lists.forget_keys()
        self.urls.forget_keys()

    def pairs(self, searches: Searches) -> Small:
        """Return the numbers of the (market, query) in normal form of searches."""
        return self.queries.pair.values.take(searches.query)

    def rows(self, searches: Searches) -> pl.DataFrame:
        """Return market, query, results and page of searches as they were read, but for lists left out."""
        kept = self.lists.results(searches.list, self.urls.texts)
        is_left_out = pl.Series(self.lists.query.values[searches.list] < 0)
        texts = self.queries.texts[searches.query]
        return texts.with_columns(
            pl.when(is_left_out).then(pl.lit([LEFT_OUT])).otherwise(kept).alias("results"),
            pl.Series("page", searches.page),
        )

    def contents(self, searches: Searches) -> list[tuple[Any, ...]]:
        """Return what each of a few searches showed, to be compared: in normal form first, then as read."""
        normal = self.queries.normal_texts[self.pairs(searches)]
        results = self.lists.results(searches.list, self.urls.texts, self.urls.normal.values)
        normal = normal.with_columns(results.alias("results"), pl.Series("page", searches.page))
        as_read = self.rows(searches).select("results", "query")
        return [(*one, *other) for one, other in zip(normal.rows(), as_read.rows(), strict=True)]
