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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer

from clickassay.cli.console import say
from clickassay.cli.exit import command_line
from clickassay.core.errors import EngineError, SettingsError
from clickassay.core.help import Help, helped
from clickassay.core.text.paths import address_fault, is_text, is_uri, local_path

R = TypeVar("R")

OUT = Annotated[Path, typer.Option(help="Output folder (written atomically).")]
FORCE = Annotated[bool, typer.Option("--force", help="Replace an existing output folder of clickassay.")]
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
        if self.csv and self.json:
            raise SettingsError("give --csv or --json, not both")

    @property
    def for_programs(self) -> bool:
        """Whether stdout is read by a program."""
        return self.csv or self.json


@dataclass(frozen=True)
class TablesOut:
    """Where tables are written, if anywhere."""

    out: Annotated[Path | None, typer.Option(help="Output folder (written atomically).")] = None
    force: FORCE = False

    def check(self, *inputs: object) -> None:
        """Refuse the folder before any work is done, if it is taken or lies inside an input."""
        from clickassay.core.files.output import check_place  # noqa: PLC0415 - Polars takes a while to import

        if self.out is not None:
            check_place(self.out, *inputs, force=self.force)

    def write(self, found: Any) -> None:  # noqa: ANN401 - a result that has tables
        """Write the tables of a result."""
        if self.out is not None:
            found.write(self.out, force=self.force, command=command_line())

    def tell(self, what: str, file: str = "") -> None:
        """Say where they are."""
        if self.out is not None:
            say(f"{what}: {self.out / file}")


def click_metric_names(incomplete: str) -> list[str]:
    """Return the click metrics that begin so: the shell completes them."""
    from clickassay.metrics.clicks import CLICK_METRICS, IPS  # noqa: PLC0415 - NumPy takes a while to import

    return [name for name in (*CLICK_METRICS, IPS) if name.lower().startswith(incomplete.lower())]


def metric_names(incomplete: str) -> list[str]:
    """Return the offline metrics that begin so."""
    from clickassay.metrics.names import MEASURES  # noqa: PLC0415 - as above

    return [metric.name for metric in MEASURES if metric.name.lower().startswith(incomplete.lower())]


def click_model_names(incomplete: str) -> list[str]:
    """Return the click models that begin so."""
    from clickassay.click_models.catalogue import CLICK_MODELS  # noqa: PLC0415 - as above

    return [kind.name for kind in CLICK_MODELS if kind.name.startswith(incomplete.upper())]


_COMPLETED = {"click_metric": click_metric_names, "metric": metric_names, "measures": metric_names}


@dataclass(frozen=True)
class Group:
    """Options that stand for one parameter of a command."""

    parameters: Parameters
    build: Callable[[Mapping[str, Any]], object]
    # Whether the object has the engine of the command, on which it depends whether a path may be a URL.
    names_engine: bool = False


def options_of(function: Callable[..., Any], *names: str, but: Collection[str] = ()) -> Group:
    """Ask for the options that the parameters of a function make: all of them, some, or all but some."""
    function = inspect.unwrap(function)
    defaults, meanings = inspect.signature(function).parameters, helped(function)
    return Group(
        tuple(
            _option(name, kind, meaning, defaults[name].default)
            for name, (kind, meaning) in meanings.items()
            if meaning.is_option and name in (names or meanings) and name not in but
        ),
        dict,
    )


def _option(name: str, kind: Any, meaning: Help, default: object) -> inspect.Parameter:  # noqa: ANN401
    needed = default is inspect.Parameter.empty
    written, kind = kind, meaning.typed or _type_of(kind)
    text = f"{meaning.meaning}{meaning.again}{f' [default: {meaning.default}]' if meaning.default else ''}"
    if needed:
        shown = typer.Argument(help=text, metavar=meaning.metavar)
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, shown])
    names = meaning.names or ((f"--{name.replace('_', '-')}",) if kind is bool else ())
    option = typer.Option(
        *names, help=text, metavar=meaning.metavar, min=meaning.least, max=meaning.most,
        autocompletion=_COMPLETED.get(name),
    )  # fmt: skip
    is_said = meaning.default or get_origin(kind) is list or type(None) in get_args(kind)
    marks = (HERE,) if written is Any and not meaning.typed else ()
    return declared_option(name, Annotated[(kind, option, *marks)], None if is_said else default)


def _type_of(kind: Any) -> Any:  # noqa: ANN401 - a type
    """Return the type on the command line: several values are a list, tables and places are paths."""
    kinds = {one if get_origin(one) is None else get_origin(one): get_args(one) for one in get_args(kind)}
    if Sequence in kinds:
        return list[kinds[Sequence][0]] | None  # type: ignore[misc] # a type that is found here
    if kind is Any:
        return str | None  # a table: a file, folder, glob or address
    return Path | None if {Any, Path} & kinds.keys() else kind


def asked(function: Callable[..., R], given: Mapping[str, Any], *first: Any, **more: Any) -> R:  # noqa: ANN401
    """Call a function of Python with its first arguments and what options gave; the rest has its defaults."""
    plain: Callable[..., R] = inspect.unwrap(function)
    return plain(*first, **{name: one for name, one in given.items() if one is not None}, **more)


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
    values = {}
    for one in options:
        shown = next(
            mark for mark in get_args(one.annotation) if isinstance(mark, typer.models.ParameterInfo)
        )
        name = next(
            (name for name in shown.param_decls or () if name.startswith("--")),
            f"--{one.name.replace('_', '-')}",
        )
        if isinstance(shown, typer.models.ArgumentInfo):
            name = str(shown.metavar or one.name.upper())
        values[one.name] = checked(name, given[one.name], place_of(one.annotation), on_spark=on_spark)
    return values


def _group(hint: Any) -> Group | None:  # noqa: ANN401 - any annotation
    kind, *extras = (get_args(hint)) if get_origin(hint) is Annotated else (hint,)
    asked = next((extra for extra in extras if isinstance(extra, Group)), None)
    if asked is not None or not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        return asked
    hints = get_type_hints(kind, include_extras=True)
    fields = [declared_option(one.name, hints[one.name], one.default) for one in dataclasses.fields(kind)]
    return Group(tuple(fields), lambda given: kind(**given))


def declared_option(name: str, annotation: Any, default: object = None) -> inspect.Parameter:  # noqa: ANN401
    """Return a parameter for typer; a flag takes no value, so that `--help` shows none."""
    kind, *extras = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if bool in {kind, *get_args(kind)}:
        flags = [copy.copy(one) for one in extras if isinstance(one, typer.models.OptionInfo)]
        for flag in flags:
            flag.metavar = ""
        annotation = Annotated[kind, *flags]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


# ---- paths: one check of every path that a user gives, the same for every command -----------------------


@dataclass(frozen=True)
class PathMark:
    """Marks a text of the command line as a path; what is typed as `Path` needs no mark."""

    on_spark: bool = False  # Engine Spark reads or writes it, so that it may be a URL there.
    on_store: bool = False  # It may be an address of an object store.


HERE = PathMark()
OF_STORE, OF_ENGINE = PathMark(on_store=True), PathMark(on_store=True, on_spark=True)
OF_SPARK = PathMark(on_spark=True)


def place_of(annotation: Any) -> PathMark | None:  # noqa: ANN401 - any annotation
    """Return how an option or argument of this type is a path; None if it is none."""
    kind, *extras = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    marked = next((extra for extra in extras if isinstance(extra, PathMark)), None)
    return HERE if marked is None and Path in _inner_types(kind) else marked


def _inner_types(kind: Any) -> set[Any]:  # noqa: ANN401 - as above
    inner = get_args(kind)
    return {kind}.union(*map(_inner_types, inner)) if inner else {kind}


def checked(name: str, value: Any, place: PathMark | None, *, on_spark: bool) -> Any:  # noqa: ANN401
    """Return a value, paths of ``file://`` as local ones; SettingsError if not UTF-8, or a URL elsewhere."""
    if isinstance(value, list | tuple):
        return [checked(name, one, place, on_spark=on_spark) for one in value]
    if not isinstance(value, str | Path):
        return value
    if not is_text(value):
        advice = "give a text in UTF-8" if place is None else "rename it, or give a link to it"
        raise SettingsError(f"{name}: {value} is not UTF-8; {advice}")
    if place is None or (place.on_spark and on_spark):
        return value
    local = local_path(value)
    if not is_uri(str(local)):
        return local
    spark = "add --engine spark, or " if place.on_spark else ""
    if not place.on_store:
        raise SettingsError(
            f"{name}: {value} is a URL, but must be local; {spark}give a path of this machine"
        )
    fault = address_fault(str(local))
    if fault is not None:
        raise SettingsError(f"{name}: {value} {fault}; {spark}give a path of this machine")
    return local
