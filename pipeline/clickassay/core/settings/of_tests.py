"""What is declared of A/B tests: texts such as ``ranker.control=old``, or sections ``[tests.ranker]``."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from clickassay.core.errors import SettingsError
from clickassay.core.text.words import did_you_mean, listed, visible

TESTS = "tests"
"""The section of tests in a file."""

NONE = "none"
"""Declares that a log has no test, whatever a column `variant` says."""

_KEYS = ("control", "from", "until", "group", "is_aa", "shares")
_FORM = re.compile(
    rf"(?P<test>.+?)\.((?P<key>{'|'.join(_KEYS[:-1])})|shares\.(?P<variant>[^=]+))=(?P<value>.*)"
)
_BARE = re.compile(r"[\w-]+", re.ASCII)
"""A name that TOML takes without quotes."""


@dataclass(frozen=True)
class DeclaredTest:
    """What is declared of a test."""

    control: str | None = None  # The variant that users had before; None = the one called control, off or 0.
    shares: Mapping[str, float] = field(default_factory=dict)  # Planned shares of variants; empty = equal.
    # start, until: First and last day (UTC), both included.
    start: date | None = None
    until: date | None = None
    group: str | None = None  # The idea that several tests are of; None = its own.
    is_aa: bool = False  # Whether the arms were the same on purpose.


CALLED_CONTROL = ("control", "off", "0")
"""Names of variants that are control unless another is declared."""


def control_of(name: str, variants: Sequence[str], told: DeclaredTest) -> str:
    """Return the control; SettingsError if it is not known, or declared variants are not those of the log."""
    where = f"[{TESTS}.{name if _BARE.fullmatch(name) else json.dumps(visible(name), ensure_ascii=False)}]"
    named = [told.control] if told.control else []
    for one in (*named, *told.shares):
        if one not in variants:
            raise SettingsError(f"{where}: no variant {one!r} in the log; {did_you_mean(one, variants)}")
    if told.shares and (missing := [one for one in variants if one not in told.shares]):
        raise SettingsError(f"{where}: shares lack {listed(map(visible, missing))}; add the planned share")
    called = named or [one for one in variants if one.strip().lower() in CALLED_CONTROL]
    if len(variants) == 1:  # there is nothing to compare
        return variants[0]
    if len(called) != 1:
        first = visible(variants[0])
        option = shlex.quote(f"{visible(name)}.control={first}")
        raise SettingsError(
            f"test “{visible(name)}” has the variants {listed(map(visible, variants))}, and it is not known "
            f"which is control; write {where} with control = {json.dumps(first, ensure_ascii=False)} (or "
            f"another) in clickassay.toml, or add --test {option}, or --test {NONE} if it is no A/B test"
        )
    return called[0]


def declared_tests(texts: Sequence[str]) -> dict[str, DeclaredTest]:
    """Return declared tests by name, of ``ranker.control=old``, ``ranker.shares.old=90`` … or `NONE` alone.

    Raises ValueError if a key is unknown, or a value of the wrong form.
    """
    named: dict[str, dict[str, Any]] = {}
    for text in () if tuple(texts) == (NONE,) else texts:
        match = _FORM.fullmatch(text)
        if match is None or not match["value"].strip():
            name, _, key = text.partition("=")[0].rpartition(".")
            if key == "shares":
                raise ValueError("shares have a number for each variant: new_ranker.shares.control=90")
            if name and text.partition("=")[2].strip():
                raise ValueError(f"unknown {key} of test {name}; {did_you_mean(key, _KEYS)}")
            raise ValueError("must be TEST.KEY=VALUE, such as new_ranker.control=old, or none alone")
        key, own = match["key"], named.setdefault(match["test"].strip(), {})
        value = match["value"].strip()
        if key is None:
            own.setdefault("shares", {})[match["variant"].strip()] = value
        elif own.setdefault(key, value) != value:
            raise ValueError(f"{key} of test {match['test']} occurs twice; give it once")
    return {name: _declared(name, own) for name, own in named.items()}


def _declared(name: str, own: Mapping[str, Any]) -> DeclaredTest:
    is_aa = own.get("is_aa", "false").lower()
    if is_aa not in ("true", "false"):
        raise ValueError(f"is_aa of test {name} must be true or false")
    start, until = (_day(own.get(key), f"{key} of test {name}") for key in ("from", "until"))
    if start and until and start > until:
        raise ValueError(f"test {name}: from {start} is after until {until}; exchange them")
    shares = _shares(own.get("shares", {}), name)
    return DeclaredTest(own.get("control"), shares, start, until, own.get("group"), is_aa == "true")


def _day(value: str | None, where: str) -> date | None:
    try:
        return None if value is None else date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{where} must be a day (UTC), such as 2026-01-05") from None


def _shares(texts: Mapping[str, str], name: str) -> Mapping[str, float]:
    try:
        shares = {variant: float(text) for variant, text in texts.items()}
    except ValueError:
        shares = {"": 0.0}
    if texts and (len(shares) < 2 or not all(0 < share < float("inf") for share in shares.values())):
        raise ValueError(
            f"shares of test {name} must be a number above 0 for each variant, such as control = 90 and "
            "treatment = 10"
        )
    return {variant: share / sum(shares.values()) for variant, share in shares.items()}
