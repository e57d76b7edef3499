"""Clicks of a batch: read, and placed on what their searches showed (method 3)."""

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.numbering import Rows, Small
from clickassay.logs.arrays.actions import CLICK, Actions
from clickassay.logs.arrays.columns import (
    NO_PLACE,
    NOT_GIVEN,
    UNKNOWN,
    Chunk,
    Clicks,
    Flags,
    ReadClicks,
    Searches,
    numbers_in,
)
from clickassay.logs.arrays.shown import LogTexts
from clickassay.logs.arrays.steps.clean_searches import count_faults, first_faults, nulls, out_of_range
from clickassay.logs.arrays.steps.normalise_urls import NO_URL, Urls, fingerprints
from clickassay.logs.arrays.steps.read_searches import CHUNK_ROWS
from clickassay.logs.arrays.workers import Workers
from clickassay.patterns.health import LogCounts

CLICK_FAULTS = (
    "null search_id", "null timestamp", "time out of range", "null url", "null position", "position below 1",
)  # fmt: skip
_PIECE = 1 << 14
_FIRST_BIT = np.array([0, *(9 - byte.bit_length() for byte in range(1, 256))], np.int8)
"""Place of the first bit of a byte that is set, from 1; 0 if none is."""


class ClickReader:
    """Reads clicks as numbers.

    urls, by_url: the URLs that lists show; whether clicks name a URL, or else a position.
    end_ms: the first time that is too late for a click.
    actions: the actions met; None where every row is a click.
    """

    def __init__(self, urls: Urls, *, by_url: bool, end_ms: int, actions: Actions | None = None) -> None:
        self._urls, self._by_url, self._end_ms = urls, by_url, end_ms
        self._actions = actions

    def read(
        self, rows: pl.LazyFrame, workers: Workers, report: Callable[[int], None]
    ) -> tuple[list[ReadClicks], tuple[int, int], tuple[Counter[str], Counter[str]], LogCounts]:
        """Return the usable clicks among rows, in pieces; how many they are; how many are not; health counts.

        Rows with another action are usable in the same way; both numbers, and those of unusable rows by
        reason, are of clicks, then of other actions. `report` is called now and then with the number of rows
        read since.
        """
        pieces, usable, health = [], [0, 0], LogCounts()
        faults = Counter[str](), Counter[str]()
        wanted = rows.select("search_id", "timestamp", *self._columns(rows.collect_schema()))
        chunks = wanted.collect_batches(chunk_size=CHUNK_ROWS, maintain_order=False)
        for piece, clicks, found, counts, read in workers.each(
            self._read_chunk, itertools.chain([wanted.clear().collect()], chunks)
        ):
            pieces.append(piece)
            usable = [usable[0] + clicks, usable[1] + len(piece.clicks) - clicks]
            for all_found, of_chunk in zip(faults, found, strict=True):
                all_found.update(of_chunk)
            health.add(counts)
            report(read)
        return pieces, (usable[0], usable[1]), faults, health

    def _read_chunk(
        self, chunk: pl.DataFrame
    ) -> tuple[ReadClicks, int, tuple[Counter[str], Counter[str]], LogCounts, int]:
        by_fault = {
            "null search_id": nulls(chunk["search_id"]),
            "null timestamp": nulls(chunk["timestamp"]),
            "time out of range": out_of_range(chunk["timestamp"], self._end_ms),
        }
        if self._by_url:
            by_fault["null url"] = nulls(chunk["url"])
        else:
            by_fault["null position"] = nulls(chunk["position"])
            by_fault["position below 1"] = numbers_in(chunk["position"], 1) < 1
        codes = first_faults(chunk.height, CLICK_FAULTS, by_fault)
        read = self._numbered(Chunk.of(chunk, codes))
        faults, health = (Counter[str](), Counter[str]()), LogCounts()
        is_click = self.are_clicks(read.clicks)
        health.add_clicks(read.clicks.time[is_click])
        if codes is not None:
            are_clicks = np.ones(chunk.height, bool)
            if self._actions is not None:
                are_clicks = self._actions.kinds_of(self._actions.codes_in(chunk)) == CLICK
            faults = (
                count_faults(codes[are_clicks], CLICK_FAULTS),
                count_faults(codes[~are_clicks], CLICK_FAULTS),
            )
        return read, int(is_click.sum()), faults, health, chunk.height

    def split(self, read: ReadClicks) -> tuple[ReadClicks, ReadClicks | None]:
        """Return clicks, and rows with other actions; None where every row is a click."""
        return (read, None) if self._actions is None else read.split(self.are_clicks(read.clicks))

    def are_clicks(self, clicks: Clicks) -> Flags:
        """Return which rows are clicks, not other actions."""
        if self._actions is None or clicks.action is None:
            return np.ones(len(clicks), bool)
        is_click: Flags = self._actions.kinds_of(clicks.action) == CLICK
        return is_click

    def _columns(self, schema: pl.Schema) -> list[pl.Expr]:
        columns = [pl.col("url"), pl.col("position")]
        columns += [pl.col("url").hash().alias("url_key")] if self._by_url else []
        if self._actions is not None:  # rows that were carried over from a run of clicks alone lack them
            absent = {"action": pl.lit(None, pl.String), "dwell_seconds": pl.lit(None, pl.Int64)}
            action = pl.col("action") if "action" in schema else absent["action"]
            given = pl.when(action.is_not_null()).then(action.hash())
            columns.append(given.fill_null(0).alias("action_key"))
            columns += [pl.col(name) if name in schema else none.alias(name) for name, none in absent.items()]
        is_text = schema["search_id"] == pl.String
        return [*columns, pl.col("search_id").hash().alias("search_id_key")] if is_text else columns

    def _numbered(self, chunk: Chunk) -> ReadClicks:
        ids = chunk.ids("search_id")
        urls, unknown = self._url_numbers(chunk)
        action = dwell = None
        if self._actions is not None:
            action = self._actions.codes_in(chunk.rows)
            action = action if chunk.usable is None else action[chunk.usable]
            dwell = chunk.numbers("dwell_seconds", NOT_GIVEN)
        clicks = Clicks(
            id=ids,
            time=chunk.numbers("timestamp"),
            url=urls,
            place=chunk.numbers("position", NO_PLACE),
            carried=np.zeros(len(ids), bool),
            id_text=chunk.id_texts("search_id"),
            action=action,
            dwell=dwell,
        )
        return ReadClicks(clicks, unknown)

    def _url_numbers(self, chunk: Chunk) -> tuple[Small, pl.Series]:
        if not self._by_url:
            return np.full(chunk.height, NO_URL, np.int32), pl.Series(dtype=pl.String)
        numbers = self._urls.known(chunk.numbers("url_key"))
        rows = np.flatnonzero(numbers == NO_URL)
        texts = chunk.texts("url", rows=rows)["url"]
        numbers[rows] = self._urls.known_by_normal_form(texts)
        unknown = np.flatnonzero(numbers[rows] == NO_URL)
        numbers[rows[unknown]] = UNKNOWN - np.arange(len(unknown), dtype=np.int32)
        return numbers, texts.gather(unknown)

    def resolved_again(self, carried: ReadClicks) -> ReadClicks:
        """Return carried clicks, whose URLs lists may show that were read since."""
        url = carried.clicks.url
        rows = np.flatnonzero(url <= UNKNOWN)
        texts = carried.unknown.gather(UNKNOWN - url[rows].astype(np.int64))
        numbers = self._urls.known(fingerprints(texts))
        others = np.flatnonzero(numbers == NO_URL)
        numbers[others] = self._urls.known_by_normal_form(texts.gather(others))
        url[rows] = np.where(numbers == NO_URL, url[rows], numbers)
        return carried


@dataclass(frozen=True)
class AttributedClicks:
    """What became of the clicks of a part of the users."""

    # click, search: Rows of the clicks in time, and of their searches.
    click: Rows
    search: Small
    url: Small  # Numbers of the normal forms of their URLs; below 0 where no list shows it.
    # Their positions in the lists of their searches, from 1; 0 = not among the top results.
    place: NDArray[np.int8]
    misplaced: Flags  # Where a click also names a place at which its list shows another result.
    out_of_time: int  # Number of clicks beyond the idle limit of their search.


def attributed_clicks(
    clicks: Clicks, row: Small, searches: Searches, shown: LogTexts, idle_ms: int, *, by_url: bool
) -> AttributedClicks:
    """Place clicks on the lists of their searches, in rows `row`, if within `idle_ms` after them."""
    in_time = np.abs(clicks.time - searches.time.take(row)) <= idle_ms
    click = np.flatnonzero(in_time)
    search = row.take(click)
    lists = searches.list.take(search)
    given = clicks.place.take(click)
    url = _normal_urls(clicks.url.take(click) if by_url else shown.lists.at(lists, given), shown.urls)
    placed = np.flatnonzero(given >= 1)
    there = _normal_urls(shown.lists.at(lists[placed], given[placed]), shown.urls)
    misplaced = np.zeros(len(lists), bool)
    misplaced[placed] = (there >= 0) & (there != url[placed])
    return AttributedClicks(
        click=click,
        search=search,
        url=url,
        place=places(shown.lists.top.values, lists, url),
        misplaced=misplaced,
        out_of_time=len(clicks) - len(click),
    )


def _normal_urls(as_read: Small, urls: Urls) -> Small:
    if not urls.normal.count:
        return np.full(len(as_read), UNKNOWN, np.int32)
    return np.where(as_read >= 0, urls.normal.values.take(as_read, mode="clip"), np.int32(UNKNOWN))


def places(top: Small, lists: Small, urls: Small) -> NDArray[np.int8]:
    """Return the first place of each URL among the top results of a list, from 1; 0 if it is not there."""
    positions = np.zeros(len(lists), np.int8)
    for first in range(0, len(lists), _PIECE):
        piece = slice(first, first + _PIECE)
        is_it = np.packbits(np.take(top, lists[piece], axis=0) == urls[piece, None], axis=1)
        for byte in range(is_it.shape[1] - 1, -1, -1):
            place = _FIRST_BIT.take(is_it[:, byte])
            np.copyto(positions[piece], place + np.int8(8 * byte), where=place > 0)
    return positions
