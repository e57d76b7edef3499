"""The digest of a user id, as ``user_digest`` of ``sql/macros``: the same on every engine."""

import hashlib
import re
from collections.abc import Iterable

import numpy as np
import polars as pl

from clickassay.logs.arrays.numbers import Rows

_MODULUS = 2_147_483_647  # prime: 2^31 - 1
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_DIGITS = 15


def digests_of_numbers(ids: Rows) -> Rows:
    """Return the digests of whole numbers, by arithmetic that never overflows."""
    quotients = np.where(ids < 0, -_divided(-ids), _divided(ids)) if _is_wide(ids) else np.int64(0)
    mixed: Rows = _residues(ids) * 48_271 + (_residues(quotients) * 69_621 + 11)
    return _residues(_residues(mixed) * 1_103_515_245 + 12_345)


def _is_wide(ids: Rows) -> bool:
    return bool(len(ids)) and (int(ids.min()) < 0 or int(ids.max()) >= _MODULUS)


def _divided(values: Rows) -> Rows:
    return values // _MODULUS


def _residues(values: Rows) -> Rows:
    """Return the residues, by a division whose divisor is known: NumPy's own is four times slower."""
    return values - values // _MODULUS * _MODULUS


def digests_of_texts(ids: pl.Series) -> Rows:
    """Return the digests of texts: of those that are numbers as of numbers, else the start of their md5."""
    return np.fromiter(_digests(ids), np.int64, len(ids))


def _digests(ids: Iterable[str]) -> Iterable[int]:
    for text in ids:
        if _NUMBER.fullmatch(text):
            yield int(digests_of_numbers(np.array([int(text)]))[0])
        else:
            yield int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:_DIGITS], 16)


def id_digests(ids: pl.Series) -> np.ndarray:
    """Return the digests of search ids that are texts: the first 64 bits of their md5."""
    leading = b"".join(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:8] for text in ids)
    return np.frombuffer(leading, ">u8").astype(np.uint64)
