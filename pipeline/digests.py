"""What stands for a text that is not to be shown: the same name wherever a rare query is hidden."""

import hashlib

DIGITS = 6
"""Hexadecimal digits of a digest: enough to find a query in its run, too few to prove a guessed one."""


def digest(kind: str, market: str, text: str) -> str:
    """Return what stands for a text, as ``query 3fa9c1``: digits of SHA-256 of market, line feed and text."""
    whole = f"{market}\n{text}".encode("utf-8", "surrogatepass")
    return f"{kind} {hashlib.sha256(whole).hexdigest()[:DIGITS]}"
