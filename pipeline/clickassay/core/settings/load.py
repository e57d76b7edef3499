"""Settings from where a user writes them: defaults < TOML file < environment < options, the later wins.

Names are the same everywhere: ``--idle-minutes 30`` on the command line is ``idle_minutes = 30`` in TOML and
``CLICKASSAY_IDLE_MINUTES=30`` in the environment.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from clickassay.core.errors import SettingsError
from clickassay.core.files.documents import DocumentError, read_toml
from clickassay.core.settings.declared import SETTINGS
from clickassay.core.settings.model import Settings
from clickassay.core.text.words import did_you_mean

COLUMNS = "columns"
"""Section of a settings file that says which columns the files of a table call otherwise."""

PREFIX = "CLICKASSAY_"
"""What the name of an environment variable begins with: the name of the setting in capitals follows."""


def memory_bytes() -> int:
    """Return the bytes of memory that this machine has: `memory_limit` is a part of them unless told."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def load_settings(
    file: Path | None = None, environment: Mapping[str, str] | None = None, **options: object
) -> Settings:
    """Merge defaults, a TOML `file`, variables of `environment` and `options` (None = not given).

    Raises
    ------
    SettingsError
        If the file cannot be read, or a value is unknown, of the wrong type or out of range; the message
        names the setting and, unless it is an option, where the value comes from.
    """
    sources = {
        f"settings file {file}": _from_toml(file) if file else {},
        PREFIX: _from_environment(environment or {}),
        "": {name: value for name, value in options.items() if value is not None},
    }
    values = {name: value for given in sources.values() for name, value in given.items()}
    source = {name: where for where, given in sources.items() for name in given}
    try:
        return Settings(**values)
    except ValidationError as error:
        raise SettingsError("; ".join(_explain(item, source) for item in error.errors())) from error


def _from_toml(file: Path) -> dict[str, Any]:
    try:
        values = read_toml(file)
    except (OSError, DocumentError) as error:
        raise SettingsError(f"settings file {file}: {error}") from error
    columns = _columns(values.pop(COLUMNS, {}), file)
    section = next((name for name, value in values.items() if isinstance(value, dict)), None)
    if section is not None:
        raise SettingsError(
            f"settings file {file}: section [{section}]; settings stand without sections, but for "
            f"[{COLUMNS}.searches] and the like for other tables"
        )
    named = {name.replace("-", "_"): value for name, value in values.items()}
    if len(named) < len(values):
        twice = next(name for name in values if "-" in name and name.replace("-", "_") in values)
        raise SettingsError(f"settings file {file}: {twice} is there twice, with - and with _; give it once")
    return named | {"column": [*named.get("column", []), *columns]} if columns else named


def _columns(sections: object, file: Path) -> list[str]:
    """Return the columns of sections such as ``[columns.searches]`` as the setting `column` has them."""
    if not isinstance(sections, dict) or not all(isinstance(one, dict) for one in sections.values()):
        raise SettingsError(
            f"settings file {file}: {COLUMNS} has a section for each table, as [{COLUMNS}.searches] with "
            'search_id = "request_id"'
        )
    return [f"{table}.{name}={path}" for table, own in sections.items() for name, path in own.items()]


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings among variables; one that is set to nothing is not given."""
    return {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and value.strip()
    }


def _explain(item: Any, source: Mapping[str, str]) -> str:  # noqa: ANN401 - pydantic's ErrorDetails
    message: str = item["msg"].removeprefix("Value error, ")
    if not item["loc"]:
        return message
    name = str(item["loc"][0])
    where = source.get(name, "")  # a highest grade may follow from a scale
    shown = _spelled(name, where)
    if item["type"] == "extra_forbidden":
        spell = _variable if where == PREFIX else str
        return f"unknown {shown}; {did_you_mean(name, Settings.model_fields, spell)}"
    whole = len(item["loc"]) == 1
    secret = name.startswith("spark_")  # URLs and settings of Spark may hold tokens
    given = "" if secret else f"found {_in_words(item['input'], whole=whole)}, "
    expected = message if item["type"] == "value_error" else f"expected {SETTINGS[name].expected}"
    return f"{shown}: {given}{expected}"


def _spelled(name: str, where: str) -> str:
    """Return a setting as it is spelled where its value comes from."""
    if where == PREFIX:
        return f"variable {_variable(name)}"
    return f"setting {name} in {where}" if where else f"setting {name}"


def _variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _in_words(value: object, *, whole: bool) -> str:
    """Return a value as it is written; the items of a list one by one, where it is the `whole` value."""
    if whole and isinstance(value, list | tuple) and value:
        return ", ".join(_in_words(one, whole=False) for one in value)
    return repr(value) if isinstance(value, str | list | tuple) else str(value)
