"""Settings from where users write them; the later wins of defaults, project, file, environment, options.

Names are the same everywhere: ``--idle-minutes 30`` is ``idle_minutes = 30`` in TOML and
``CLICKASSAY_IDLE_MINUTES=30`` in the environment.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from clickassay.core.errors import SettingsError
from clickassay.core.settings.declared import SETTINGS
from clickassay.core.settings.model import Settings
from clickassay.core.settings.project import INPUT_NAMES, ProjectFile, read_project
from clickassay.core.text.words import did_you_mean

PREFIX = "CLICKASSAY_"
"""What the name of an environment variable begins with: the name of the setting in capitals follows."""


def memory_bytes() -> int:
    """Return the bytes of memory that this machine has: `memory_limit` is a part of them unless told."""
    import psutil  # noqa: PLC0415 - beside its use

    return int(psutil.virtual_memory().total)


@dataclass(frozen=True)
class Origins:
    """Values of settings as they were given, by where they come from; the last that has one wins."""

    # Names and values by source: a project file, a settings file, `PREFIX` for the environment, '' for
    # options.
    given: Mapping[str, Mapping[str, Any]]

    @property
    def values(self) -> dict[str, Any]:
        """The value of each setting that was given."""
        return {name: value for given in self.given.values() for name, value in given.items()}

    @property
    def source(self) -> dict[str, str]:
        """Where the value of each setting that was given comes from."""
        return {name: where for where, given in self.given.items() for name in given}


def origins_of(
    project: ProjectFile | None,
    file: ProjectFile | None,
    environment: Mapping[str, str],
    options: Mapping[str, object],
) -> Origins:
    """Return the settings that a project, a settings file, variables and options (None = not given) name."""
    of_files = {"project file": project, "settings file": file}
    of_inputs = {_variable(name) for name in INPUT_NAMES}
    variables = {  # one that is set to nothing is not given
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and value.strip() and name not in of_inputs
    }
    return Origins(
        {f"{kind} {one.file}": one.settings for kind, one in of_files.items() if one is not None}
        | {PREFIX: variables, "": {name: value for name, value in options.items() if value is not None}}
    )


def load_settings(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    project: ProjectFile | None = None,
    **options: object,
) -> Settings:
    """Merge defaults, a project, a TOML `file`, variables of `environment` and `options` (None = not given).

    Raises SettingsError, with setting and place, for an unreadable file or a value that is none.
    """
    read = None if file is None else read_project(file, "settings file")
    return settings_from(origins_of(project, read, environment or {}, options))


def settings_from(origins: Origins) -> Settings:
    """Return the settings that were given, and defaults for all others; see `load_settings`."""
    try:
        return Settings(**origins.values)
    except ValidationError as error:
        raise SettingsError("; ".join(_explain(item, origins.source) for item in error.errors())) from error


def inputs_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the inputs among variables, by their names in a project file."""
    named = {_variable(name): name for name in INPUT_NAMES}
    return {named[name]: value for name, value in environment.items() if name in named and value.strip()}


def _explain(item: Any, source: Mapping[str, str]) -> str:  # noqa: ANN401 - pydantic's ErrorDetails
    message: str = item["msg"].removeprefix("Value error, ")
    if not item["loc"]:
        return message
    name = str(item["loc"][0])
    where = source.get(name, "")  # a highest grade may follow from a scale
    shown = f"setting {name} in {where}" if where else f"setting {name}"  # as it is spelled there
    if where == PREFIX:
        shown = f"variable {_variable(name)}"
    if item["type"] == "extra_forbidden":
        spell = _variable if where == PREFIX else str
        return f"unknown {shown}; {did_you_mean(name, Settings.model_fields, spell)}"
    whole = len(item["loc"]) == 1
    secret = name.startswith("spark_")  # URLs and settings of Spark may hold tokens
    given = "" if secret else f"found {_in_words(item['input'], whole=whole)}, "
    expected = message if item["type"] == "value_error" else f"expected {SETTINGS[name].expected}"
    return f"{shown}: {given}{expected}"


def _variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _in_words(value: object, *, whole: bool) -> str:
    if whole and isinstance(value, list | tuple) and value:
        return ", ".join(_in_words(one, whole=False) for one in value)
    return repr(value) if isinstance(value, str | list | tuple) else str(value)
