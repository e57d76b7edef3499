"""What the field of a setting declares: options, the page of settings and messages are made from it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from clickassay.core.settings.model import LISTS, Settings


@dataclass(frozen=True)
class Setting:
    """A setting as it is declared: what options, the page of settings and messages are made from."""

    # name, group, meaning: Its name in Python and TOML, the heading that it stands under, a sentence.
    name: str
    group: str
    meaning: str
    type: Any  # The annotation of its field.
    # default, limits: In words; the limits are empty where the type says all.
    default: str
    limits: str
    # metavar, details, also: What stands for a value in `--help`, if anything; more, as Markdown; a shorter
    # option, if any.
    metavar: str | None = None
    details: str = ""
    also: str | None = None
    # Empty unless it decides the pattern table of a log. ``first``: every table names it; ``later``: the
    # first tables, which were made with its default, do not.
    of_log: Literal["", "first", "later"] = ""

    @property
    def is_list(self) -> bool:
        """Whether it takes several values."""
        return get_origin(self.type) is tuple

    @property
    def several(self) -> str:
        """How several values are given, as a sentence after the meaning."""
        if not self.is_list:
            return ""
        return " Several with commas." if self.name in LISTS else " Repeat it for several."

    @property
    def expected(self) -> str:
        """What a value has to be, for messages: ``a number, above 0, below 1``."""
        return ", ".join(filter(None, (type_in_words(self.type), self.limits)))

    @property
    def limits_and_default(self) -> str:
        """What a line of `--help` ends with."""
        return f"{self.limits}; default: {self.default}" if self.limits else f"default: {self.default}"


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def type_in_words(kind: Any) -> str:  # noqa: ANN401 - an annotation
    """Return what a value of a type is: for a list, what each item is."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    return _KINDS[kind] if kind in _KINDS else type_in_words(get_args(kind)[0])


_LIMITS = {"gt": "above {}", "ge": "at least {}", "lt": "below {}", "le": "at most {}"}


def _declared(name: str, field: FieldInfo) -> Setting:
    more: dict[str, Any] = {**field.json_schema_extra} if isinstance(field.json_schema_extra, dict) else {}
    unset, each = more.pop("unset", ""), more.pop("each", None)
    default = unset if field.default in {None, ()} else _in_words(field.default)
    # the range of a number in words; a limit that stands for the width of an integer is none
    marks = {mark: getattr(one, mark) for one in field.metadata for mark in _LIMITS if hasattr(one, mark)}
    marks = {mark: value for mark, value in marks.items() if value < 2**53}
    limits = ", ".join(words.format(marks[mark]) for mark, words in _LIMITS.items() if mark in marks)
    if marks.keys() == {"ge", "le"}:
        limits = f"{marks['ge']} to {marks['le']}"
    meaning, group = str(field.description), more.pop("group")
    return Setting(name, group, meaning, field.annotation, default, each or limits, **more)


def _in_words(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def options_of(settings: Settings) -> str:
    """Return the settings that were given, as options, but for settings that say where the work is done."""
    given = settings.model_dump(exclude_unset=True)
    if "scale" in given:
        given.pop("max_grade", None)  # follows from it
    return " ".join(
        _option(name, one)
        for name, value in given.items()
        for one in (value if isinstance(value, tuple) and name not in LISTS else [value])
    )


def _option(name: str, value: object) -> str:
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{option}" if value else f"--no-{option}"
    return f"--{option} {shlex.quote(_in_words(value).replace(', ', ','))}"


SETTINGS: Mapping[str, Setting] = {
    name: _declared(name, field) for name, field in Settings.model_fields.items()
}

LOG_SETTINGS = tuple(name for name, one in SETTINGS.items() if one.of_log)
"""Settings that decide the pattern table of a log."""
NAMED_SETTINGS = tuple(name for name in LOG_SETTINGS if SETTINGS[name].of_log == "first")
"""Settings that every pattern table names."""


def log_settings(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `LOG_SETTINGS` but the depth (a run may ask for less) of a table's named settings."""
    fields = {name: Settings.model_fields[name].default for name in LOG_SETTINGS}
    # as JSON has them, which tables and stores are written in
    defaults = {name: list(one) if isinstance(one, tuple) else one for name, one in fields.items()}
    return {name: named.get(name, defaults[name]) for name in LOG_SETTINGS if name != "depth"}
