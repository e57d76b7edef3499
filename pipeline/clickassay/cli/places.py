"""Paths of the command line: one check of every path that a user gives, the same for every command."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from clickassay.core.errors import SettingsError
from clickassay.core.text.paths import address_fault, is_text, is_uri, local_path


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
    """Return the value of an option or argument, a path of this machine in place of its ``file://`` URL.

    Raises SettingsError if it is no text in UTF-8, or a URL where none can be read or written.
    """
    if isinstance(value, list | tuple):
        return [checked(name, one, place, on_spark=on_spark) for one in value]
    if not isinstance(value, str | Path):
        return value
    if not is_text(value):
        advice = "give a text in UTF-8" if place is None else "rename it, or give a link to it"
        raise SettingsError(f"{name}: {value} is not UTF-8; {advice}")
    if place is None or (place.on_spark and on_spark):
        return value
    return _on_this_machine(name, value, place)


def _on_this_machine(name: str, value: str | Path, place: PathMark) -> str | Path:
    local = local_path(value)
    if not is_uri(str(local)):
        return local
    spark = "add --engine spark, or " if place.on_spark else ""
    if not place.on_store:
        raise SettingsError(
            f"{name}: {value} is a URL, and files are read and written on this machine alone; "
            f"{spark}give a path of this machine"
        )
    fault = address_fault(str(local))
    if fault is not None:
        raise SettingsError(f"{name}: {value} {fault}; {spark}give a path of this machine")
    return local
