"""URLs as numbers: each that a list shows is kept once, with the number of its normal form (method 2)."""

from threading import Lock

import numpy as np
import polars as pl

from clickassay.core.numbering import Growing, Keys, Numbers, Rows, Small, first_rows
from clickassay.inputs.normalise import MAY_BE_UNNORMALISED, normalise_url
from clickassay.logs.arrays.columns import is_in
from clickassay.patterns.table import held_densely

NO_URL = -1
"""The number of a URL that no list shows."""


class Texts:
    """Texts by number, held densely: as read, each would keep a whole row group in memory."""

    def __init__(self, schema: pl.Schema) -> None:
        self._held, self._lock = [pl.DataFrame(schema=schema)], Lock()

    def append(self, texts: pl.DataFrame) -> None:
        """Keep texts at the end."""
        with self._lock:
            self._held.append(held_densely(texts))

    def all(self) -> pl.DataFrame:
        """Return all texts."""
        with self._lock:
            if len(self._held) > 1:
                self._held = [pl.concat(self._held, rechunk=True)]
            return self._held[0]


class Urls:
    """The URLs shown so far, numbered as read; each is its own normal form unless `normalise`."""

    def __init__(self, *, normalise: bool) -> None:
        self._normalise = normalise
        self._numbers = Numbers()
        self._texts = Texts(pl.Schema({"url": pl.String}))
        self.normal = Growing(np.int32)
        """The number of the normal form of each URL."""

    @property
    def texts(self) -> pl.Series:
        """Return the texts by number, as they were read."""
        return self._texts.all()["url"]

    def forget_keys(self) -> None:
        """Free what only new URLs would need."""
        self._numbers = Numbers()

    def known(self, keys: Keys) -> Small:
        """Return the number of each URL by its fingerprint; `NO_URL` where no list shows it."""
        return self._numbers.get(keys)

    def numbers_of(self, texts: pl.Series, keys: Keys | None = None) -> Small:
        """Return the number of each URL; new ones are kept, and their normal forms."""
        keys = fingerprints(texts) if keys is None else keys
        numbers = self.known(keys)
        unknown = np.flatnonzero(numbers == NO_URL)
        if len(unknown):
            new = first_rows(keys, unknown)
            self._learn(texts.gather(new), keys[new])
            numbers[unknown] = self.known(keys[unknown])
        return numbers

    def _learn(self, texts: pl.Series, keys: Keys) -> None:
        """Keep new texts; a normal form that is another text is kept before, with a number of its own."""
        rows = _may_be_unnormalised(texts) if self._normalise else np.zeros(0, np.int64)
        normal = normal_urls(texts.gather(rows))
        of_normal = fingerprints(normal)
        differs = of_normal != keys[rows]
        rows, of_normal = rows[differs], of_normal[differs]
        self.numbers_of(normal.filter(pl.Series(differs)), of_normal)

        def keep(new: Rows) -> None:
            numbers = np.arange(self.normal.count, self.normal.count + len(new), dtype=np.int32)
            own = is_in(new, rows)
            numbers[own] = self.known(of_normal[np.searchsorted(rows, new[own])])
            self._texts.append(texts.gather(new).alias("url").to_frame())
            self.normal.append(numbers)

        self._numbers.add_new(keys, keep)

    def known_by_normal_form(self, texts: pl.Series) -> Small:
        """Return the number of each URL that lists show in its normal form only; `NO_URL` for others."""
        numbers = np.full(len(texts), NO_URL, np.int32)
        rows = _may_be_unnormalised(texts) if self._normalise else np.zeros(0, np.int64)
        if len(rows):
            distinct = texts.gather(rows).unique()
            is_known = self.known(fingerprints(normal_urls(distinct))) != NO_URL
            self.numbers_of(distinct.filter(pl.Series(is_known)))
            numbers[rows] = self.known(fingerprints(texts.gather(rows)))
        return numbers


def fingerprints(texts: pl.Series) -> Keys:
    """Return the fingerprint of each text."""
    return texts.hash().to_numpy()


def normal_urls(texts: pl.Series) -> pl.Series:
    """Return the normal form of each URL."""
    return pl.Series([normalise_url(text) for text in texts], dtype=pl.String)


def _may_be_unnormalised(texts: pl.Series) -> Rows:
    return texts.str.contains(MAY_BE_UNNORMALISED).arg_true().cast(pl.Int64).to_numpy()
