"""Numbers, times, intervals, and text from logs and judgments, as words."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches

from clickassay.core.text.escape import terminal

MINUS = "\N{MINUS SIGN}"
MISSING = "\N{EN DASH}"
MAX_LABEL = 80


def visible(text: object, *, limit: int = MAX_LABEL) -> str:
    """Return `text` as one line without anything hidden (`escape.terminal`), cut to `limit` characters."""
    seen = terminal(str(text))
    return seen if len(seen) <= limit else seen[: limit - 1] + "…"


def number(value: float | None, decimals: int = 3, *, minus: str = MINUS) -> str:
    """Return `value` with `decimals` places, or a dash; a rounded zero has no sign."""
    if value is None:
        return MISSING
    text = f"{value:,.{decimals}f}"
    unsigned = text.lstrip("-")
    return minus + unsigned if text.startswith("-") and unsigned.strip("0.,") else unsigned


def signed(value: float, decimals: int = 3) -> str:
    """Return `value` with an explicit sign, for differences."""
    text = number(value, decimals)
    return text if value < 0 or not text.strip("0.,") else f"+{text}"


def count(value: int) -> str:
    """Return a whole number with thousands marked."""
    return f"{value:,}"


def percent(share: float | None, decimals: int = 1) -> str:
    """Return a share 0..1 in per cent, e.g. ``5.8%``."""
    return MISSING if share is None else f"{number(100 * share, decimals)}%"


def span(low: float | None, high: float | None) -> str:
    """Return ``low to high``, or that there is no interval."""
    if low is None or high is None:
        return "no interval"
    return f"{number(low)} to {number(high)}"


def plural(amount: int, noun: str, many: str | None = None) -> str:
    """Return e.g. ``1 market`` or ``2 markets``."""
    return f"{count(amount)} {noun if amount == 1 else many or noun + 's'}"


def listed(words: Iterable[str], joint: str = "and") -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    every: Sequence[str] = list(words)
    if len(every) < 2:
        return "".join(every)
    return f"{', '.join(every[:-1])} {joint} {every[-1]}"


def capital(text: str) -> str:
    """Return `text` starting with a capital; the rest stays as it is."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Return `text` starting with a capital and ending in a full stop."""
    return capital(text) + ("" if text.endswith((".", "!", "?")) else ".")


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, for one-line messages."""
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__


def utc_text(time_ms: int) -> str:
    """Return milliseconds since 1970 as date and time of day (UTC), e.g. 2026-06-01 12:00:00."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


_KEYS = r"token|secret|password|passwd|credential|signature|\bsig\b|access[._-]?key|api[._-]?key"
_URL = r"[a-z][a-z0-9+.-]+:/+"
_SECRETS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"({_URL})[^\s/@:'\"]*:(?!\d+(?:[/\s]|$))[^\s'\"]*(?=@)",  # USER:SECRET@; a port is none
        r"(https?:/+)[^\s/@:'\"]+(?=@)",
        r"(sc:/+[^\s;'\"]*;)[^\s'\"]+",  # parameters of Spark Connect
        rf"({_URL}[^\s?'\"]*\?)(?=[^\s'\"]*(?:{_KEYS}))[^\s'\"]+",  # a query that signs its URL
        rf"((?:[\w.-]*(?:{_KEYS})[\w.-]*)=)[^\s;&,'\"]+",
    )
)


def without_secrets(text: str) -> str:
    """Return a message with … in place of the secrets of URLs and settings in it.

    User and password of a host, signatures, parameters of Spark Connect, values of ``token`` and the like.
    """
    if ":/" in text or "=" in text:
        for secret in _SECRETS:
            text = secret.sub(r"\1…", text)
    return text


def did_you_mean(name: str, known: Iterable[str], spell: Callable[[str], str] = str) -> str:
    """Return the end of a message on an unknown name: those like it, as `spell` shows them, and all known."""
    every = tuple(known)
    by_case = {one.lower(): one for one in every}
    close = [spell(by_case[one]) for one in get_close_matches(name.lower(), by_case, n=3)]
    hint = f"did you mean {listed(close, 'or')}? " if close else ""
    return f"{hint}known are {', '.join(map(spell, every)) or 'none'}"
