"""Searches as numbers: queries and lists are numbered while they are read (method 2)."""

import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.errors import EngineError
from clickassay.logs.arrays.clean_searches import SEARCH_FAULTS, count_faults, faults_of_searches
from clickassay.logs.arrays.columns import Chunk, Searches
from clickassay.logs.arrays.numbers import Rows, Small
from clickassay.logs.arrays.shown import QUERY, Shown, query_key
from clickassay.patterns.digests import digests_of_numbers, digests_of_texts

CHUNK_ROWS = 100_000
_LIST, _LEFT_OUT = 2, 4
"""Seeds: independent hashes, of other seeds than those of queries."""


class SearchReader:
    """Reads searches as numbers.

    Parameters
    ----------
    shown
        What was read so far; new queries, lists and URLs are added.
    folds
        Folds of users.
    only_judged
        Whether queries without judgments are left out.
    """

    def __init__(self, shown: Shown, *, folds: int, only_judged: bool) -> None:
        self._shown, self._buckets, self._only_judged = shown, 64 * folds, only_judged
        self._rejected_ids: list[pl.Series] = []

    def rejected_ids(self, like: pl.Series) -> pl.Series:
        """Return the search_id of each search that was unusable; of the type of other ids."""
        return pl.concat([like.clear(), *self._rejected_ids])

    def read(
        self, rows: pl.LazyFrame, report: Callable[[int], None], carried: Searches | None = None
    ) -> tuple[Searches, Counter[str]]:
        """Return the usable searches among rows after those carried over, and by reason how many are not.

        `report` is called now and then with the number of rows read since.
        """
        parts, faults = [] if carried is None else [carried], Counter[str]()
        schema = rows.collect_schema()
        wanted = rows.select(*schema.names(), *self._keys(schema))
        chunks = wanted.collect_batches(chunk_size=CHUNK_ROWS, maintain_order=False)
        for chunk in itertools.chain([wanted.clear().collect()], chunks):
            codes = faults_of_searches(chunk)
            faults += count_faults(codes, SEARCH_FAULTS)
            if codes is not None:
                self._rejected_ids.append(chunk["search_id"].gather(np.flatnonzero(codes)))
            parts.append(self._numbered(Chunk.of(chunk, codes)))
            report(chunk.height)
        return Searches.concat(parts), faults

    def _keys(self, schema: pl.Schema) -> list[pl.Expr]:
        query, results = query_key(QUERY), pl.col("results")
        keys = [query.alias("query_key"), (results.hash(_LIST) ^ query.hash(_LIST)).alias("list_key")]
        keys += [
            pl.col(name).hash().alias(f"{name}_key")
            for name in ("search_id", "user_id")
            if schema[name] == pl.String
        ]
        return [*keys, pl.col("market").hash(_LEFT_OUT).alias("market_key")] if self._only_judged else keys

    def _numbered(self, chunk: Chunk) -> Searches:
        query = self._shown.queries.numbers_of(
            chunk.numbers("query_key"), lambda rows: chunk.texts("market", "query", rows=rows)
        )
        user, id_ = chunk.ids("user_id"), chunk.ids("search_id")
        return Searches(
            id=id_,
            user=user,
            time=chunk.numbers("timestamp"),
            query=query,
            list=self._lists(chunk, query),
            page=chunk.numbers("page"),
            bucket=self._buckets_of(chunk, user),
            carried=np.zeros(len(user), bool),
            id_text=chunk.id_texts("search_id"),
            user_text=chunk.id_texts("user_id"),
        )

    def _buckets_of(self, chunk: Chunk, user: Rows) -> NDArray[np.uint16]:
        texts = chunk.id_texts("user_id")
        if texts is None:
            digests = digests_of_numbers(user)
        else:
            _, first, place = np.unique(user, return_index=True, return_inverse=True)
            digests = digests_of_texts(texts.gather(first))[place]
        return (digests % self._buckets).astype(np.uint16)

    def _lists(self, chunk: Chunk, query: Small) -> Small:
        lists, keys = self._shown.lists, chunk.numbers("list_key")
        if not self._only_judged:
            found = lists.numbers_of(keys, lambda rows: self._learn(chunk, query, rows))
            self._check(found, query)
            return found
        is_kept = self._shown.queries.is_kept[query]
        rows, others = np.flatnonzero(is_kept), np.flatnonzero(~is_kept)
        found = np.empty(len(keys), np.int32)
        found[rows] = lists.numbers_of(keys[rows], lambda new: self._learn(chunk, query, rows[new]))
        markets = chunk.numbers("market_key")[others]
        found[others] = lists.numbers_of(markets, lambda new: self._learn_left_out(chunk, others[new]))
        self._check(found[rows], query[rows])
        return found

    def _learn(self, chunk: Chunk, query: Small, rows: Rows) -> None:
        shown = self._shown
        shown.queries.check(query[rows], chunk.texts("market", "query", rows=rows))
        results = chunk.texts("results", rows=rows)["results"]
        urls = shown.urls.numbers_of(results.explode())
        lengths = results.list.len().cast(pl.Int64).to_numpy()
        shown.lists.keep(query[rows], urls, lengths, shown.urls.normal)

    def _learn_left_out(self, chunk: Chunk, rows: Rows) -> None:
        self._shown.lists.keep_left_out(chunk.texts("market", rows=rows)["market"].to_list())

    def _check(self, lists: Small, query: Small) -> None:
        if (self._shown.lists.query[lists] != query).any():
            raise EngineError("the lists of two queries share a fingerprint; nothing was written")
