"""Results of lists by number: a number stands for one URL of one query, so texts are compared once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
    hashes: NDArray[np.uint64] = texts.hash().to_numpy()
    return hashes


def number_results(
    results: pl.Series,
    query: Integers,
    fingerprints: Callable[[pl.Series], NDArray[np.uint64]] = _hashed,
) -> NumberedResults:
    """Give the results of lists numbers.

    results: URLs of each list, best position first.
    query: the number of each list's query, from 0.
    fingerprints: 64 bits for each text. Where two URLs of a query share them, texts are put in order instead.
    """
    lengths = results.list.len().to_numpy()
    lists = np.repeat(np.arange(len(lengths)), lengths)
    texts = results.explode(empty_as_null=False)
    bits = max(int(query.max(initial=0)).bit_length(), 1)
    heads = query.astype(np.uint64) << np.uint64(_WORD_BITS - bits)
    number, first = numbered(heads[lists] | (fingerprints(texts) >> np.uint64(bits)))
    urls = texts.gather(first)
    if not (urls.gather(number) == texts).all():
        number, first = numbered(_ranks(query[lists], texts))
        urls = texts.gather(first)
    numbers = np.full((len(lengths), int(lengths.max() or 0) if len(lengths) else 0), -1, np.int32)
    numbers[np.arange(numbers.shape[1]) < lengths[:, None]] = number
    return NumberedResults(numbers, lists[first], urls)


def repeating(numbers: NDArray[np.int32]) -> Integers:
    """Return the lists, rows of numbers as of `NumberedResults`, that show a result more than once."""
    in_order = np.sort(numbers, axis=1)
    again = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0)
    return np.flatnonzero(again.any(axis=1))


def _ranks(query: Integers, texts: pl.Series) -> NDArray[np.uint64]:
    rows = pl.DataFrame({"query": query, "text": texts})
    ranks: NDArray[np.uint64] = rows.select(pl.struct("query", "text").rank("dense")).to_series().to_numpy()
    return ranks.astype(np.uint64)


def numbered(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int32], Integers]:
    """Give distinct keys numbers, in their order.

    Returns the number of each row, and of each number its first row.
    """
    sort = pl.arg_sort_by("key", maintain_order=True)
    order = pl.DataFrame({"key": keys}).select(sort).to_series().to_numpy().astype(np.int64)
    in_order = keys[order]
    is_new = np.ones(len(keys), bool)
    is_new[1:] = in_order[1:] != in_order[:-1]
    numbers = np.empty(len(keys), np.int32)
    numbers[order] = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
    return numbers, order[is_new]
