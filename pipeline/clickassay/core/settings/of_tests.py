"""The sections `[tests.NAME]` of a project file: what a log does not say of its A/B tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from clickassay.core.errors import SettingsError
from clickassay.core.text.words import did_you_mean

TESTS = "tests"
"""The section of tests."""

_KEYS = ("control", "shares", "from", "until", "group", "is_aa")


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


def declared_tests(section: object, where: str) -> dict[str, DeclaredTest]:
    """Return the declared tests by name.

    section: what a file has under `TESTS`.
    where: the file in words, for messages.

    Raises SettingsError if a key is unknown, or a value of the wrong form.
    """
    form = f'sections such as [{TESTS}.new_ranker] with control = "old"'
    if not isinstance(section, Mapping) or not all(isinstance(one, Mapping) for one in section.values()):
        raise SettingsError(f"{where}: {TESTS} must have {form}")
    return {name: _declared(own, f"{where}: [{TESTS}.{name}]") for name, own in section.items()}


def _declared(own: Mapping[str, Any], where: str) -> DeclaredTest:
    for key in own:
        if key not in _KEYS:
            raise SettingsError(f"{where}: unknown {key}; {did_you_mean(key, _KEYS)}")
    for key in ("control", "group"):
        if key in own and not (isinstance(own[key], str) and own[key].strip()):
            raise SettingsError(f'{where}: {key} must be a text, such as {key} = "old"')
    if not isinstance(is_aa := own.get("is_aa", False), bool):
        raise SettingsError(f"{where}: is_aa must be true or false")
    start, until = (_day(own.get(key), f"{where}: {key}") for key in ("from", "until"))
    if start and until and start > until:
        raise SettingsError(f"{where}: from {start} is after until {until}; exchange them")
    return DeclaredTest(
        own.get("control"), _shares(own.get("shares"), where), start, until, own.get("group"), is_aa
    )


def _day(value: object, where: str) -> date | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise SettingsError(f"{where} must be a day (UTC), such as 2026-01-05")


def _shares(value: object, where: str) -> Mapping[str, float]:
    if value is None:
        return {}
    is_number = isinstance(value, Mapping) and all(
        isinstance(one, int | float) and not isinstance(one, bool) and 0 < one < float("inf")
        for one in value.values()
    )
    if not isinstance(value, Mapping) or not is_number or len(value) < 2:
        raise SettingsError(
            f"{where}: shares must give a number above 0 for each variant, such as "
            "shares = { control = 90, treatment = 10 }"
        )
    return {str(name): share / sum(value.values()) for name, share in value.items()}
