"""Actions of clicks as numbers, and what each of them counts as (contract, section 11)."""

from collections.abc import Iterator
from threading import Lock

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.errors import InputError
from clickassay.core.numbering import Rows
from clickassay.core.settings import OF_DWELL_TIMES, Settings
from clickassay.inputs.normalise import normalise_query
from clickassay.logs.arrays.columns import numbers_in

CLICK, LEFT_OUT, SATISFIED, SATISFIED_IF_FOLLOWED = 0, 1, 2, 3
"""Kinds: a click, an action that is no signal, and satisfied clicks; others are signals of the log."""

Codes = NDArray[np.uint16]
_NEVER = ("impression", "view", "scroll")
_MOST_TEXTS = 1_000


class Actions:
    """The texts of actions that were met, by number, and the kind of each."""

    def __init__(self, settings: Settings) -> None:
        self._wanted = frozenset(settings.signal)
        self._texts: list[str | None] = [None]
        self._by_key: dict[int, int] = {}
        self._lock = Lock()
        self._kinds = [CLICK]
        self._signals = [*OF_DWELL_TIMES]

    @property
    def texts(self) -> pl.Series:
        """The texts by number, as they were read; 0 = none was given."""
        return pl.Series(self._texts, dtype=pl.String)

    def kinds_of(self, codes: Codes) -> NDArray[np.int64]:
        """Return the kind of each text by its number."""
        return np.array(self._kinds, np.int64).take(codes)

    def signal(self, kind: int) -> str:
        """Return the name of a signal by its kind."""
        return self._signals[kind - SATISFIED]

    def codes_in(self, rows: pl.DataFrame) -> Codes:
        """Return the number of each row's action, 0 = none; InputError if there are too many for actions."""
        keys, texts = numbers_in(rows["action_key"]), rows["action"]
        codes = np.zeros(len(keys), np.uint16)
        left = np.flatnonzero(keys != 0)
        for key, code in [*self._by_key.items()]:
            if not len(left):
                break
            is_it = keys[left] == key
            codes[left[is_it]] = code
            left = left[~is_it]
        while len(left):
            key = int(keys[left[0]])
            with self._lock:  # another thread may have met it too
                code = self._by_key[key] = self._by_key.get(key) or self._learn(texts[int(left[0])])
            is_it = keys[left] == key
            codes[left[is_it]] = code
            left = left[~is_it]
        return codes

    def _learn(self, text: str) -> int:
        if len(self._texts) > _MOST_TEXTS:
            raise InputError(
                f"clicks: column action has more than {_MOST_TEXTS:,} different texts, such as {text!r:.60}; "
                "does this column hold the action? Name another by --column clicks.action=…"
            )
        action, kind = normalise_query(text) or "click", LEFT_OUT
        is_wanted = action in self._wanted or ("auto" in self._wanted and action not in _NEVER)
        if action == "click":
            kind = CLICK
        elif is_wanted and action not in OF_DWELL_TIMES:
            if action not in self._signals:
                self._signals.append(action)
            kind = SATISFIED + self._signals.index(action)
        self._kinds.append(kind)
        self._texts.append(text)
        return len(self._texts) - 1


def masks_of_events(
    height: int, search: NDArray[np.int32], kind: NDArray[np.int64], place: NDArray[np.int8]
) -> Iterator[tuple[int, Rows, Rows]]:
    """Yield each kind of signal with the first searches of the sessions that have it, and their masks.

    search, kind, place: of events: first search of the session, kind, position (0 = in no top result).
    """
    there = np.flatnonzero(place > 0)
    search, kind = search.take(there), kind.take(there)
    bits = np.left_shift(np.int64(1), place.take(there).astype(np.int64) - 1)
    for one in np.flatnonzero(np.bincount(kind)).tolist():
        own = kind == one
        yield one, *_masks(height, search[own], bits[own])


def masks_of_one(height: int, search: NDArray[np.int32], place: NDArray[np.int8]) -> tuple[Rows, Rows]:
    """Return the same of events of one kind."""
    there = place > 0
    bits = np.left_shift(np.int64(1), place[there].astype(np.int64) - 1)
    return _masks(height, search[there], bits)


def _masks(height: int, search: NDArray[np.int32], bits: Rows) -> tuple[Rows, Rows]:
    masks = np.zeros(height, np.int64)
    np.bitwise_or.at(masks, search, bits)
    first = np.flatnonzero(masks)
    return first, masks.take(first)
