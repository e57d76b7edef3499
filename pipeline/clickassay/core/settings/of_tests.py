"""What is declared of A/B tests: texts such as ``ranker.control=old``, or sections ``[tests.ranker]``."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from clickassay.core.errors import SettingsError
from clickassay.core.text.words import did_you_mean, listed, visible

TESTS = "tests"
"""The section of tests in a file."""

_KEYS = ("control", "from", "until", "group", "is_aa", "shares")
_FORM = re.compile(r"(?P<test>.+?)\.(?P<key>[a-z_]+)(\.(?P<variant>[^=]+))?=(?P<value>.*)")


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
    """Return the control of a test.

    Raises SettingsError if it is not known, or variants that are declared are not those of the log.
    """
    where = f"[{TESTS}.{name}]"
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
        raise SettingsError(
            f"test “{visible(name)}” has the variants {listed(map(visible, variants))}, and it is not known "
            f'which is control; write {where} with control = "{visible(variants[0])}" (or another) in '
            f"clickassay.toml, or add --test {visible(name)}.control={visible(variants[0])}"
        )
    return called[0]


def declared_tests(texts: Sequence[str]) -> dict[str, DeclaredTest]:
    """Return the declared tests by name.

    texts: as ``ranker.control=old``, or ``ranker.shares.old=90``.

    Raises ValueError if a key is unknown, or a value of the wrong form.
    """
    named: dict[str, dict[str, Any]] = {}
    for text in texts:
        match = _FORM.fullmatch(text)
        if match is None or not match["value"].strip():
            raise ValueError("must be TEST.KEY=VALUE, such as new_ranker.control=old")
        key, own = match["key"], named.setdefault(match["test"].strip(), {})
        if key not in _KEYS:
            raise ValueError(f"unknown {key} of test {match['test']}; {did_you_mean(key, _KEYS)}")
        if (key == "shares") != (match["variant"] is not None):
            raise ValueError("shares have a number for each variant, such as new_ranker.shares.control=90")
        value = match["value"].strip()
        if key == "shares":
            own.setdefault(key, {})[match["variant"].strip()] = value
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
