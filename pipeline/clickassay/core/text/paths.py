"""Properties of a path by its text alone."""

import os
import re
from pathlib import Path
from urllib.parse import unquote

_FILE_URL = re.compile(r"(?i)file:/+(?:localhost/+)?")
_ROOT = "" if os.name == "nt" else "/"  # a drive comes first on Windows


def is_uri(path: str) -> bool:
    """Return whether a path names its file system, as ``s3a://bucket/logs`` does."""
    return bool(re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:/", path))


STORES = {"s3": "s3", "s3a": "s3", "gs": "gs", "az": "az", "abfs": "az", "https": "https", "http": "https"}
"""Kinds of object stores by the scheme of an address."""


def address_fault(url: str) -> str | None:
    """Return why an address of an object store cannot be one, for a message; None if it can."""
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in STORES:
        known = ", ".join(f"{one}://" for one in ("s3", "gs", "az", "https"))
        return f"can be read only by Spark (known object stores: {known})"
    host = rest.partition("/")[0]
    if not host:
        return "names no bucket or host"
    if "@" in rest or "?" in rest or re.fullmatch(r"[\w.-]+(:\d{1,4}|:[1-5]\d{4})?", host) is None:
        return "has a user, a key or a query in it: credentials are taken from the environment"
    if {".", ".."} & set(rest.split("/")) or re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", rest):
        return "has a part . or .., or a control character, which no key of a store has"
    if ":" in host and STORES[scheme.lower()] != "https":
        return "has a port, but a bucket has none: name the server in AWS_ENDPOINT_URL"
    return None


def local_path(path: str | Path) -> str | Path:
    """Return the path of a URL ``file:///…``, any other path as it is; a `Path` has lost one slash."""
    text = str(path)
    begin = _FILE_URL.match(text)
    return path if begin is None else type(path)(_ROOT + unquote(text[begin.end() :]))


def without_patterns(path: str) -> str:
    """Return a path escaped for Spark, which reads characters such as * as patterns."""
    return re.sub(r"([][{}*?\\,])", r"\\\1", path)


def is_text(path: Path | str) -> bool:
    """Return whether a path or an option is text: names may be any bytes, but libraries accept text only."""
    return not any("\ud800" <= sign <= "\udfff" for sign in str(path))
