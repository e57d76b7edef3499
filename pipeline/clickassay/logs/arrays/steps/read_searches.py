"""Searches as numbers: queries and lists are numbered while they are read (method 2)."""

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from clickassay.core.errors import EngineError
from clickassay.core.numbering import Rows, Small, first_rows
from clickassay.inputs.columns import OF_TESTS, TEAMS
from clickassay.logs.arrays.columns import Chunk, Searches, order_of_parts
from clickassay.logs.arrays.shown import QUERY, LogTexts, query_key
from clickassay.logs.arrays.steps.arms import ARM_KEY, ArmFinder
from clickassay.logs.arrays.steps.clean_searches import SEARCH_FAULTS, Codes, count_faults, faults_of_searches
from clickassay.logs.arrays.steps.teams import NO_DRAFT, TEAMS_KEY, NumberedDrafts
from clickassay.logs.arrays.workers import Workers
from clickassay.patterns.digests import digests_of_numbers, digests_of_texts
from clickassay.patterns.health import LogCounts

CHUNK_ROWS = 100_000
_EMPTY = 1 + SEARCH_FAULTS.index("empty results")
_LIST, _LEFT_OUT = 2, 4
"""Seeds: independent hashes, of other seeds than the queries'."""


class SearchReader:
    """Reads searches as numbers, and adds new queries, lists and URLs to `shown`.

    end_ms: the first time that is too late for a search.
    parts: into how many users are cut; a power of two, at most 64.
    arms: says which arms of A/B tests there are; None if there are none.
    drafts: where rankers that searches name are numbered; None if none does.
    """

    def __init__(
        self, shown: LogTexts, *, folds: int, end_ms: int, parts: int,
        arms: ArmFinder | None = None, drafts: NumberedDrafts | None = None,
    ) -> None:  # fmt: skip
        self._end_ms, self._parts, self._arms, self._drafts = end_ms, parts, arms, drafts
        self._empty: list[list[Searches]] = [[] for _ in range(parts)]  # since `take_empty`, by part
        self._shown, self._buckets = shown, 64 * folds
        self._rejected_ids: list[pl.Series] = []

    def rejected_ids(self, like: pl.Series) -> pl.Series:
        """Return the search_id of each search that was unusable; of the type of other ids."""
        return pl.concat([like.clear(), *self._rejected_ids])

    def read(
        self, rows: pl.LazyFrame, workers: Workers, report: Callable[[int], None]
    ) -> tuple[list[list[Searches]], Counter[str], LogCounts]:
        """Return the usable searches among rows by the part of their users, in pieces; and the counts of all.

        The counts are of unusable rows by reason, and of health. `report` is called now and then with the
        number of rows read since.
        """
        schema = rows.collect_schema()
        query, results = query_key(QUERY), pl.col("results")
        keys = [query.alias("query_key"), (results.hash(_LIST) ^ query.hash(_LIST)).alias("list_key")]
        keys += [
            pl.col(name).hash().alias(f"{name}_key")
            for name in ("search_id", "user_id")
            if schema[name] == pl.String
        ]
        if self._shown.queries.only_judged:
            keys.append(pl.col("market").hash(_LEFT_OUT).alias("market_key"))
        if self._arms is not None and self._arms.is_by_search and "variant" in schema:
            keys.append(ARM_KEY)
        has_teams = self._drafts is not None and TEAMS in schema
        keys += [TEAMS_KEY] if has_teams else []
        unread = OF_TESTS if has_teams else (*OF_TESTS, TEAMS)
        of_teams = ["experiment"] if has_teams else []
        wanted = rows.select(pl.exclude(unread), *of_teams, *keys)
        chunks = wanted.collect_batches(chunk_size=CHUNK_ROWS, maintain_order=False)
        pieces: list[list[Searches]] = [[] for _ in range(self._parts)]
        faults, health = Counter[str](), LogCounts()
        for cut, found, counts, read in workers.each(
            self._read_chunk, itertools.chain([wanted.clear().collect()], chunks)
        ):
            for of_part, piece in zip(pieces, cut, strict=True):
                of_part.append(piece)
            faults += found
            health.add(counts)
            report(read)
        return pieces, faults, health

    def _read_chunk(self, chunk: pl.DataFrame) -> tuple[list[Searches], Counter[str], LogCounts, int]:
        codes, health = faults_of_searches(chunk, self._end_ms), LogCounts()
        if codes is not None:
            self._rejected_ids.append(chunk["search_id"].gather(np.flatnonzero(codes)))
            self._keep_empty(chunk, codes)
        searches = self._numbered(Chunk.of(chunk, codes), health)
        cut = searches.cut(*order_of_parts(searches.bucket % self._parts, self._parts - 1))
        return cut, count_faults(codes, SEARCH_FAULTS), health, chunk.height

    def _numbered(self, chunk: Chunk, health: LogCounts) -> Searches:
        if self._shown.queries.only_judged:
            lists, query = self._judged_lists(chunk)
        else:  # a query is looked up for new lists alone
            lists = self._lists_of(chunk, np.arange(chunk.height))
            query = self._shown.lists.query.values.take(lists)
        return replace(self._searches(chunk, query, lists, health), draft=self._drafts_of(chunk))

    def _searches(self, chunk: Chunk, query: Small, lists: Small, health: LogCounts) -> Searches:
        user, texts, times = chunk.ids("user_id"), chunk.id_texts("user_id"), chunk.numbers("timestamp")
        if texts is None:
            digests = digests_of_numbers(user)
        else:
            _, first, place = np.unique(user, return_index=True, return_inverse=True)
            digests = digests_of_texts(texts.gather(first))[place]
        health.add_searches(times, digests)
        arm = None
        if self._arms is not None and self._arms.is_by_search:
            has_arms = "arm_key" in chunk.rows.columns  # rows that a store kept before had none
            keys = chunk.numbers("arm_key") if has_arms else np.zeros(len(user), np.uint64)
            arm = self._arms.arms_named(keys)
        return Searches(
            id=chunk.ids("search_id"),
            user=user,
            time=times,
            query=query,
            list=lists,
            page=chunk.numbers("page"),
            bucket=(digests % self._buckets).astype(np.uint16),
            carried=np.zeros(len(user), bool),
            id_text=chunk.id_texts("search_id"),
            user_text=texts,
            arm=arm,
        )

    def _drafts_of(self, chunk: Chunk) -> Small | None:
        if self._drafts is None:
            return None
        if TEAMS not in chunk.rows.columns:  # rows that a store kept before
            return np.full(chunk.height, NO_DRAFT, np.int32)
        return self._drafts.of_searches(
            chunk.numbers("teams_key"),
            lambda new: chunk.texts("experiment", TEAMS, rows=new),
            chunk.lengths("results"),
        )

    def _keep_empty(self, rows: pl.DataFrame, codes: Codes) -> None:
        """Keep searches without results on a first page: in an A/B test they are sessions without a click."""
        if self._arms is None:
            return
        queries = self._shown.queries
        is_first = rows["page"].fill_null(1) == 1
        if queries.only_judged:
            is_first &= rows["market"].is_not_null()
        chosen = np.flatnonzero((codes == _EMPTY) & is_first.to_numpy())
        if queries.only_judged and len(chosen):
            numbers = self._queries_of(Chunk(rows, chosen), np.arange(len(chosen)))
            chosen = chosen[queries.is_kept.values.take(numbers)]
        if len(chosen):
            none = np.full(len(chosen), -1, np.int32)
            empty = self._searches(Chunk(rows, chosen), none, none, LogCounts())
            cut = empty.cut(*order_of_parts(empty.bucket % self._parts, self._parts - 1))
            for pieces, piece in zip(self._empty, cut, strict=True):
                if len(piece):
                    pieces.append(piece)

    def take_empty(self) -> list[list[Searches]]:
        """Return the searches without results, by the part of their users, that were read since."""
        empty, self._empty = self._empty, [[] for _ in range(self._parts)]
        return empty

    def _judged_lists(self, chunk: Chunk) -> tuple[Small, Small]:
        """Return numbers of lists and queries: all searches in a market for those left out have one list."""
        query = self._queries_of(chunk, np.arange(chunk.height))
        is_kept = self._shown.queries.is_kept.values[query]
        rows, others = np.flatnonzero(is_kept), np.flatnonzero(~is_kept)
        numbers = np.empty(len(query), np.int32)
        numbers[rows] = self._lists_of(chunk, rows)
        markets = chunk.numbers("market_key")[others]

        def learn(new: Rows) -> None:
            self._shown.lists.keep_left_out(chunk.texts("market", rows=others[new])["market"].to_list())

        numbers[others] = self._shown.lists.numbers_of(markets, learn)
        return numbers, query

    def _lists_of(self, chunk: Chunk, rows: Rows) -> Small:
        lists, queries = self._shown.lists, self._shown.queries
        keys = chunk.numbers("list_key")[rows]
        numbers = lists.get(keys)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            new = first_rows(keys, unknown)
            fresh = rows[new]
            shown, query = self._shown, self._queries_of(chunk, fresh)
            shown.queries.check(query, chunk.texts("market", "query", rows=fresh))
            results = chunk.texts("results", rows=fresh)["results"]
            urls = shown.urls.numbers_of(results.explode().cast(pl.String))
            lengths = results.list.len().cast(pl.Int64).to_numpy()
            # most of the work is done before other threads have to wait
            shown.lists.add_new(keys[new], query, urls, lengths, shown.urls.normal.values)
            numbers[unknown] = lists.get(keys[unknown])
        if (
            queries.keys.values.take(lists.query.values.take(numbers)) != chunk.numbers("query_key")[rows]
        ).any():
            raise EngineError("the lists of two queries share a fingerprint; nothing was written")
        return numbers

    def _queries_of(self, chunk: Chunk, rows: Rows) -> Small:
        return self._shown.queries.numbers_of(
            chunk.numbers("query_key")[rows], lambda new: chunk.texts("market", "query", rows=rows[new])
        )
