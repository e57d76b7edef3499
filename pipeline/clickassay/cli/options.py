"""Options: those of a setting are made from its field, those that commands share stand here.

A command asks for a group of options by one parameter, whose annotation says which: settings by
``Annotated[Settings, settings_of("depth", ...)]``, others by a dataclass whose fields are options.
`with_options` puts the options in the place of that parameter, and builds the object when the command is
called.
"""

import copy
import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, get_args, get_origin, get_type_hints

import typer

from clickassay.core.errors import SettingsError
from clickassay.core.settings import SETTINGS, Setting, Settings, load_settings

if TYPE_CHECKING:
    from clickassay.core.records import SampleChoice

LOG_SETTINGS = ("depth", "idle_minutes", "idle_scope", "normalise_urls", "max_rejected")
"""Settings of sessions and configurations."""
BATCH_SETTINGS = ("only_judged", "batch", "folds")
GRADE_SETTINGS = ("scale", "max_grade", "relevant_grade", "success_grade", "conflicts")
METRIC_SETTINGS = ("metric", "click_metric", "persistence", "pool", "unjudged", "click_models")
REPORT_SETTINGS = ("current", "full", "health_limit", "iterations", "min_users", "published", "seed")
MACHINE_SETTINGS = ("threads", "memory_limit")
SPARK_SETTINGS = ("engine", "spark_master", "spark_remote", "spark_conf", "spark_staging")

OUT = Annotated[Path, typer.Option(help="Folder to write; appears whole or not at all.")]
FORCE = Annotated[bool, typer.Option("--force", help="Replace an output folder of clickassay that exists.")]
QUIET = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
JSON = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
RUN = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]

Parameters = tuple[inspect.Parameter, ...]


@dataclass(frozen=True)
class Format:
    """How results are printed: a table for people unless --csv or --json is given."""

    csv: Annotated[bool, typer.Option("--csv", help="Print the results as CSV.")] = False
    json: JSON = False

    def __post_init__(self) -> None:
        """Refuse both at once."""
        if self.csv and self.json:
            raise SettingsError("give --csv or --json, not both")

    @property
    def for_programs(self) -> bool:
        """Whether stdout is read by a program."""
        return self.csv or self.json


@dataclass(frozen=True)
class TablesOut:
    """Where tables are written, if anywhere."""

    out: Annotated[Path | None, typer.Option(help="Folder for tables; appears whole or not at all.")] = None
    force: FORCE = False


@dataclass(frozen=True)
class SampleOptions:
    """Which sample of a run: None is the default that `FinishedRun.key` goes by."""

    market: Annotated[str | None, typer.Option(help="Market. [default: that with most sessions]")] = None
    depth: Annotated[int | None, typer.Option(metavar="K", help="Cut k. [default: the smallest]")] = None
    judge: Annotated[str | None, typer.Option(help="Judge. [default: the first]")] = None

    @property
    def choice(self) -> "SampleChoice":
        """The same for the studies."""
        from clickassay.core.records import SampleChoice  # noqa: PLC0415 - NumPy takes a while to import

        return SampleChoice(self.market, self.depth, self.judge)


def click_metric_names(incomplete: str) -> list[str]:
    """Return the click metrics that begin so: the shell completes them."""
    from clickassay.metrics.clicks import CLICK_METRICS  # noqa: PLC0415 - NumPy takes a while to import

    return [name for name in CLICK_METRICS if name.lower().startswith(incomplete.lower())]


def metric_names(incomplete: str) -> list[str]:
    """Return the editorial metrics that begin so."""
    from clickassay.metrics.names import MEASURES  # noqa: PLC0415 - as above

    return [metric.name for metric in MEASURES if metric.name.lower().startswith(incomplete.lower())]


def click_model_names(incomplete: str) -> list[str]:
    """Return the click models that begin so."""
    from clickassay.click_models.catalogue import CLICK_MODELS  # noqa: PLC0415 - as above

    return [kind.name for kind in CLICK_MODELS if kind.name.startswith(incomplete.upper())]


_COMPLETIONS = {"metric": metric_names, "click_metric": click_metric_names, "click_models": click_model_names}

CLICK_METRIC = Annotated[
    str,
    typer.Option(metavar="NAME", help="Click metric to predict.", autocompletion=click_metric_names),
]


@dataclass(frozen=True)
class _Group:
    """Options that stand for one parameter of a command."""

    parameters: Parameters
    build: Callable[[Mapping[str, Any]], object]


@dataclass(frozen=True)
class _SettingsOf:
    names: tuple[str, ...]
    fixed: Mapping[str, object]

    def build(self, given: Mapping[str, Any]) -> Settings:
        """Return the settings: those that the command fixes, options, variables, the file, defaults."""
        options: dict[str, Any] = {
            name: value or None if isinstance(value, list) else value for name, value in given.items()
        }
        return load_settings(options.pop("settings"), os.environ, **{**options, **self.fixed})


def settings_of(*names: str, **fixed: object) -> _SettingsOf:
    """Ask for the options of these settings, and for --settings FILE.toml.

    A command that has no use for a setting may fix it, so that its default cannot contradict an option.
    """
    return _SettingsOf(names, fixed)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Put options in the place of each parameter of `command` that is a group of them."""
    hints = get_type_hints(command, include_extras=True)
    written = inspect.signature(command).parameters.values()
    groups = {one.name: group for one in written if (group := _group(hints[one.name])) is not None}
    parameters = [
        option
        for one in written
        for option in (
            groups[one.name].parameters
            if one.name in groups
            else (_option(one.name, hints[one.name], one.default),)
        )
    ]

    @functools.wraps(command)
    def called(**given: Any) -> None:  # noqa: ANN401 - the values of any option
        for name, group in groups.items():
            own = {option.name: given.pop(option.name) for option in group.parameters}
            given[name] = group.build(own)
        command(**given)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what typer reads
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _group(hint: Any) -> _Group | None:  # noqa: ANN401 - any annotation
    kind, *extras = (get_args(hint)) if get_origin(hint) is Annotated else (hint,)
    asked = next((extra for extra in extras if isinstance(extra, _SettingsOf)), None)
    if asked is not None:
        return _Group(_setting_options(asked.names), asked.build)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _Group(_fields_as_options(kind), lambda given: kind(**given))
    return None


def _fields_as_options(kind: Any) -> Parameters:  # noqa: ANN401 - a dataclass
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_option(one.name, hints[one.name], one.default) for one in dataclasses.fields(kind))


def _option(name: str, annotation: Any, default: object = None) -> inspect.Parameter:  # noqa: ANN401
    """Return a parameter for typer; a flag takes no value, so that `--help` shows none."""
    kind, *extras = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if bool in {kind, *get_args(kind)}:
        flags = [one for one in extras if isinstance(one, typer.models.OptionInfo)]
        annotation = Annotated[kind, *(_without_value(one) for one in flags)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _without_value(flag: typer.models.OptionInfo) -> typer.models.OptionInfo:
    bare = copy.copy(flag)
    bare.metavar = ""
    return bare


# ---- settings -----------------------------------------------------------------------------------

_FEW = 5
"""So many settings need no panels of their own in `--help`."""

_FILE = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help="Settings by their names, as depth = 5; options and variables (CLICKASSAY_DEPTH=5) win.",
    ),
]


def _setting_options(names: Sequence[str]) -> Parameters:
    in_panels = len(names) > _FEW
    declared = [_setting_option(SETTINGS[name], in_panels=in_panels) for name in names]
    return (*declared, _option("settings", _FILE))


def _setting_option(setting: Setting, *, in_panels: bool) -> inspect.Parameter:
    spelled = () if setting.also is None else (f"--{setting.name.replace('_', '-')}", setting.also)
    shown = typer.Option(
        *spelled,
        help=f"{setting.meaning}{setting.several} [{setting.limits_and_default}]",
        metavar=setting.metavar,
        rich_help_panel=setting.group if in_panels else None,
        autocompletion=_COMPLETIONS.get(setting.name),
    )
    return _option(setting.name, Annotated[_option_type(setting), shown])


def _option_type(setting: Setting) -> Any:  # noqa: ANN401 - a type
    """Return the type of the option: that of the setting or None, so that a settings file can fill it."""
    if setting.is_list:
        return list[str] | None
    return Optional[setting.type]  # noqa: UP045 - it may be None already


# ---- the command line as it is recorded -----------------------------------------------------------


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """Return arguments without what may be secret: values of Spark's settings, tokens in URLs."""
    shown, option = [], ""
    for argument in arguments:
        name, _, value = argument.partition("=") if argument.startswith("--") else (option, "", argument)
        if name == "--spark-conf" and value:
            key = f"{value.partition('=')[0]}=…"
            argument = f"{name}={key}" if argument.startswith("--") else key  # noqa: PLW2901
        if name == "--spark-remote" and ";" in value:
            argument = f"{argument.partition(';')[0]};…"  # noqa: PLW2901
        shown.append(argument)
        option = argument
    return shown
