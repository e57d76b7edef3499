"""Properties of a path by its text alone."""

import re
from pathlib import Path


def is_uri(path: str) -> bool:
    """Return whether a path names its file system, as ``s3a://bucket/logs`` does."""
    return bool(re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:/", path))


def without_patterns(path: str) -> str:
    """Return a path escaped for Spark, which reads characters such as * as patterns."""
    return re.sub(r"([][{}*?\\,])", r"\\\1", path)


def is_text(path: Path | str) -> bool:
    """Return whether a path or an option is text: names may be any bytes, but libraries accept text only."""
    return not any("\ud800" <= sign <= "\udfff" for sign in str(path))
