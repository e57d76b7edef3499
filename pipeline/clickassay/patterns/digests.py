"""Digests, the same on every engine: of users and search ids (``sql/macros``), and ids of configurations."""

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
        floors = ids // MODULUS
        quotients = floors + ((ids < 0) & (floors * MODULUS != ids))  # towards zero
        mixed += _residues(quotients) * 69_621
    return _residues(_residues(mixed) * 1_103_515_245 + 12_345)


def _residues(values: Rows) -> Rows:
    """Return the least residues; NumPy divides by a constant three times faster than it takes remainders."""
    return values - values // MODULUS * MODULUS


def digests_of_texts(ids: pl.Series) -> Rows:
    """Return the digests of texts: of texts that are numbers as of numbers, else the start of their md5."""
    digests = np.empty(len(ids), np.int64)
    for row, text in enumerate(ids):
        if _NUMBER.fullmatch(text):
            digests[row] = digests_of_numbers(np.array([int(text)]))[0]
        else:
            digests[row] = int(_md5(text.encode()).hex()[:_DIGITS], 16)
    return digests


def id_digests(ids: pl.Series) -> NDArray[np.uint64]:
    """Return the digests of search ids that are texts: the first 64 bits of their md5."""
    leading = b"".join(_md5(text.encode())[:8] for text in ids)
    return np.frombuffer(leading, ">u8").astype(np.uint64)


_SEPARATOR = "\x1f"
_SALT = f"clickassay{_SEPARATOR}"
"""What stands before a user id in its digest: platforms assign users by the md5 of the id alone."""
_DIGEST_BYTES = 16


def salted_digests(ids: Iterable[object]) -> NDArray[np.uint64]:
    """Return the digests by which users of A/B tests are known: the first 64 bits of a salted md5."""
    leading = b"".join([_md5(f"{_SALT}{one}".encode())[:8] for one in ids])
    return np.frombuffer(leading, ">u8").astype(np.uint64)


def configuration_id(market: str, query: str, results: list[str]) -> str:
    """Return the content address of a configuration: md5 of its texts, joined so that no two look alike."""
    return _md5(_joined(market, query, results).encode()).hex()


def _joined(market: str, query: str, results: list[str]) -> str:
    joined = _SEPARATOR.join((market, query, *results))
    if "\\" in joined or joined.count(_SEPARATOR) > len(results) + 1:
        texts = (text.replace("\\", "\\\\").replace(_SEPARATOR, "\\u") for text in (market, query, *results))
        joined = _SEPARATOR.join(texts)
    return joined


def _md5(text: bytes) -> bytes:
    return hashlib.md5(text, usedforsecurity=False).digest()


def configuration_digests(rows: pl.DataFrame) -> NDArray[np.uint8]:
    """Compute `configuration_id` of each row (market, query, results) as 16 bytes: shape (rows, 16)."""
    parts = ("market", "query", pl.col("results").list.join(_SEPARATOR))
    joined = rows.select(pl.concat_str(*parts, separator=_SEPARATOR).alias("text"))["text"]
    most = rows["results"].list.len() + 1
    careful = joined.str.contains("\\", literal=True) | (
        joined.str.count_matches(_SEPARATOR, literal=True) > most
    )
    texts = joined.cast(pl.Binary).to_list()  # joined in bulk, but for those that need care
    for row in careful.arg_true():
        texts[row] = _joined(*rows.select("market", "query", "results").row(row)).encode()
    made = b"".join([hashlib.md5(text, usedforsecurity=False).digest() for text in texts])
    return np.frombuffer(made, np.uint8).reshape(-1, _DIGEST_BYTES)


def ids_of(digests: NDArray[np.uint8]) -> pl.Series:
    """Return digests as ids: 32 hexadecimal digits each."""
    digits = digests.tobytes().hex()
    width = 2 * _DIGEST_BYTES
    return pl.Series([digits[at : at + width] for at in range(0, len(digits), width)], dtype=pl.String)


def configuration_ids(rows: pl.DataFrame) -> pl.Series:
    """Compute `configuration_id` of each row (market, query, results)."""
    return ids_of(configuration_digests(rows))
