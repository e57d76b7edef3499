"""Options that commands share, and groups of options that one parameter stands for.

A command asks for a group of options by one parameter, whose annotation says which: a dataclass whose fields
are options, or settings (`cli.settings`).
`with_options` puts the options in the place of that parameter, and builds the object when the command is
called.
"""

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from clickassay.cli.places import checked, place_of
from clickassay.core.errors import EngineError, SettingsError
from clickassay.core.text.words import without_secrets

if TYPE_CHECKING:
    from clickassay.core.records import SampleChoice

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
    """Which sample of a run: None is the default that `Run.key` goes by."""

    market: Annotated[str | None, typer.Option(help="Market. [default: the report's]")] = None
    depth: Annotated[int | None, typer.Option(metavar="K", help="Cut. [default: the report's]")] = None
    judge: Annotated[str | None, typer.Option(help="Judge. [default: the report's]")] = None

    @property
    def choice(self) -> "SampleChoice":
        """The same for the studies."""
        from clickassay.core.records import SampleChoice  # noqa: PLC0415 - NumPy takes a while to import

        return SampleChoice(self.market, self.depth, self.judge)


def click_metric_names(incomplete: str) -> list[str]:
    """Return the click metrics that begin so: the shell completes them."""
    from clickassay.metrics.clicks import CLICK_METRICS, IPS  # noqa: PLC0415 - NumPy takes a while to import

    return [name for name in (*CLICK_METRICS, IPS) if name.lower().startswith(incomplete.lower())]


def metric_names(incomplete: str) -> list[str]:
    """Return the editorial metrics that begin so."""
    from clickassay.metrics.names import MEASURES  # noqa: PLC0415 - as above

    return [metric.name for metric in MEASURES if metric.name.lower().startswith(incomplete.lower())]


def click_model_names(incomplete: str) -> list[str]:
    """Return the click models that begin so."""
    from clickassay.click_models.catalogue import CLICK_MODELS  # noqa: PLC0415 - as above

    return [kind.name for kind in CLICK_MODELS if kind.name.startswith(incomplete.upper())]


CLICK_METRIC = Annotated[
    str,
    typer.Option(metavar="NAME", help="Click metric to predict.", autocompletion=click_metric_names),
]


@dataclass(frozen=True)
class Group:
    """Options that stand for one parameter of a command."""

    # parameters, build: The options, and what makes the object of their values.
    parameters: Parameters
    build: Callable[[Mapping[str, Any]], object]
    # Whether the object has the engine of the command, on which it depends whether a path may be a URL.
    names_engine: bool = False


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Put options in the place of each parameter of `command` that is a group of them, and check paths."""
    hints = get_type_hints(command, include_extras=True)
    written = inspect.signature(command).parameters.values()
    groups = {one.name: group for one in written if (group := _group(hints[one.name])) is not None}
    single = {
        one.name: declared_option(one.name, hints[one.name], one.default)
        for one in written
        if one.name not in groups
    }
    parameters = [
        option
        for one in written
        for option in (groups[one.name].parameters if one.name in groups else (single[one.name],))
    ]
    parameters = list({one.name: one for one in parameters}.values())  # groups may share an option

    @functools.wraps(command)
    def called(**given: Any) -> None:  # noqa: ANN401 - the values of any option
        built: dict[str, Any] = {}
        on_spark = False
        for name, group in sorted(groups.items(), key=lambda item: not item[1].names_engine):
            built[name] = group.build(_checked(group.parameters, given, on_spark=on_spark))
            on_spark = on_spark or (group.names_engine and built[name].engine == "spark")
        try:
            command(**_checked(single.values(), given, on_spark=on_spark), **built)
        except MemoryError as error:
            if not {"batch", "engine"} <= {one.name for one in parameters}:
                raise  # advice is of options that the command has
            advice = "use a smaller --batch, or --engine duckdb, which spills to disk"
            raise EngineError(f"out of memory; {advice}") from error

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what typer reads
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _checked(
    options: Iterable[inspect.Parameter], given: Mapping[str, Any], *, on_spark: bool
) -> dict[str, Any]:
    return {
        one.name: checked(_spelled(one), given[one.name], place_of(one.annotation), on_spark=on_spark)
        for one in options
    }


def _spelled(option: inspect.Parameter) -> str:
    """Return the name of an option or argument as a user writes it."""
    shown = next(one for one in get_args(option.annotation) if isinstance(one, typer.models.ParameterInfo))
    if isinstance(shown, typer.models.ArgumentInfo):
        return str(shown.metavar or option.name.upper())
    return next(
        (one for one in shown.param_decls or () if one.startswith("--")),
        f"--{option.name.replace('_', '-')}",
    )


def _group(hint: Any) -> Group | None:  # noqa: ANN401 - any annotation
    kind, *extras = (get_args(hint)) if get_origin(hint) is Annotated else (hint,)
    asked = next((extra for extra in extras if isinstance(extra, Group)), None)
    if asked is not None:
        return asked
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return Group(_fields_as_options(kind), lambda given: kind(**given))
    return None


def _fields_as_options(kind: Any) -> Parameters:  # noqa: ANN401 - a dataclass
    hints = get_type_hints(kind, include_extras=True)
    return tuple(declared_option(one.name, hints[one.name], one.default) for one in dataclasses.fields(kind))


def declared_option(name: str, annotation: Any, default: object = None) -> inspect.Parameter:  # noqa: ANN401
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


# ---- the command line as it is recorded -----------------------------------------------------------


def arguments_told(arguments: Sequence[str]) -> list[str]:
    """Return arguments without what may be secret: values of Spark's settings, secrets in URLs."""
    shown, option = [], ""
    for argument in arguments:
        name, _, value = argument.partition("=") if argument.startswith("--") else (option, "", argument)
        if name == "--spark-conf" and value:
            key = f"{value.partition('=')[0]}=…"
            argument = f"{name}={key}" if argument.startswith("--") else key  # noqa: PLW2901
        shown.append(without_secrets(argument))
        option = argument
    return shown
