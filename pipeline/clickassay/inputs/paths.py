"""Properties of a path by its text alone."""

import re
from pathlib import Path
from urllib.parse import unquote

_FILE_URL = re.compile(r"(?i)file:/+(?:localhost/+)?")


def is_uri(path: str) -> bool:
    """Return whether a path names its file system, as ``s3a://bucket/logs`` does."""
    return bool(re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:/", path))


def local_path(path: str | Path) -> str | Path:
    """Return the path of this machine that a URL ``file:///…`` names; any other path as it is.

    A `Path` has lost one of two slashes, so a host other than ``localhost`` cannot be told from a folder.
    """
    text = str(path)
    begin = _FILE_URL.match(text)
    return path if begin is None else type(path)(f"/{unquote(text[begin.end() :])}")


def without_patterns(path: str) -> str:
    """Return a path escaped for Spark, which reads characters such as * as patterns."""
    return re.sub(r"([][{}*?\\,])", r"\\\1", path)


def is_text(path: Path | str) -> bool:
    """Return whether a path or an option is text: names may be any bytes, but libraries accept text only."""
    return not any("\ud800" <= sign <= "\udfff" for sign in str(path))
