"""Digests of ids, as ``user_digest`` and ``id_digest`` of ``sql/macros``: the same on every engine."""

import hashlib
import re
from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

Rows = NDArray[np.int64]

MODULUS = 2_147_483_647  # prime: 2^31 - 1
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_DIGITS = 15


def digests_of_numbers(ids: Rows) -> Rows:
    """Return the digests of whole numbers, by arithmetic that never overflows."""
    mixed = _residues(ids) * 48_271 + 11
    if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= MODULUS):
        mixed += _residues(_quotients(ids)) * 69_621
    return _residues(_residues(mixed) * 1_103_515_245 + 12_345)


def _quotients(values: Rows) -> Rows:
    """Return the whole parts of quotients, towards zero."""
    floors = values // MODULUS
    quotients: Rows = floors + ((values < 0) & (floors * MODULUS != values))
    return quotients


def _residues(values: Rows) -> Rows:
    """Return the least residues; NumPy divides by a constant three times faster than it takes remainders."""
    return values - values // MODULUS * MODULUS


def digests_of_texts(ids: pl.Series) -> Rows:
    """Return the digests of texts: of texts that are numbers as of numbers, else the start of their md5."""
    return np.fromiter(_digests(ids), np.int64, len(ids))


def _digests(ids: Iterable[str]) -> Iterable[int]:
    for text in ids:
        if _NUMBER.fullmatch(text):
            yield int(digests_of_numbers(np.array([int(text)]))[0])
        else:
            yield int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:_DIGITS], 16)


def id_digests(ids: pl.Series) -> NDArray[np.uint64]:
    """Return the digests of search ids that are texts: the first 64 bits of their md5."""
    leading = b"".join(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:8] for text in ids)
    return np.frombuffer(leading, ">u8").astype(np.uint64)
