"""URLs as numbers: each that a list shows is kept once, with the number of its normal form (method 2)."""

import numpy as np
import polars as pl

from clickassay.inputs.normalise import MAY_BE_UNNORMALISED, normalise_url
from clickassay.logs.arrays.columns import Growing, Keys, Numbers, Rows, Small
from clickassay.patterns.table import held_densely

NO_URL = -1
"""The number of a URL that no list shows."""


class Texts:
    """Texts by number, held densely: as read, each would keep a whole row group in memory."""

    def __init__(self) -> None:
        self._held: list[pl.Series] = []
        self._all: pl.Series | None = None

    def append(self, texts: pl.Series) -> None:
        """Keep texts at the end."""
        self._all = None
        self._held.append(held_densely(texts.to_frame()).to_series())

    def all(self) -> pl.Series:
        """Return all texts."""
        if self._all is None:
            self._all = pl.concat([pl.Series(dtype=pl.String), *self._held]).rechunk()
        return self._all


class Urls:
    """The URLs shown so far: their texts as they were read, numbered, and their normal forms.

    normalise: whether URLs are normalised; if not, each is its own normal form.
    """

    def __init__(self, *, normalise: bool) -> None:
        self._normalise = normalise
        self._numbers = Numbers()
        self._texts = Texts()
        self.normal = Growing(np.int32)
        """The number of the normal form of each URL."""

    @property
    def texts(self) -> pl.Series:
        """Return the texts by number, as they were read."""
        return self._texts.all()

    def forget_keys(self) -> None:
        """Free what only new URLs would need."""
        self._numbers = Numbers()

    def known(self, keys: Keys) -> Small:
        """Return the number of each URL by its fingerprint; `NO_URL` where no list shows it."""
        return self._numbers.get(keys)

    def numbers_of(self, texts: pl.Series) -> Small:
        """Return the number of each URL; new ones are kept, and their normal forms."""
        keys = fingerprints(texts)
        return self._numbers.get_or_add(keys, lambda rows: self._learn(texts.gather(rows)))

    def _learn(self, texts: pl.Series) -> None:
        """Keep new texts; a normal form that is another text has a number of its own."""
        first = self.normal.count
        self._texts.append(texts)
        self.normal.append(np.arange(first, first + len(texts), dtype=np.int32))
        rows = _may_be_unnormalised(texts) if self._normalise else np.zeros(0, np.int64)
        if len(rows):
            numbers = self.numbers_of(normal_urls(texts.gather(rows)))
            self.normal.values[first + rows] = numbers

    def known_by_normal_form(self, texts: pl.Series) -> Small:
        """Return the number of each URL that no list shows as it was read, but in its normal form.

        `NO_URL` for all others.
        """
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
