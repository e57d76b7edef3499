"""Arguments of public functions, checked by their annotations: a mistake is one line and no traceback."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from clickassay.core.errors import SettingsError
from clickassay.core.settings import SETTINGS
from clickassay.core.settings.texts import plain
from clickassay.core.text.words import listed

_WORDS = {
    int: "a whole number", float: "a number", bool: "True or False", str: "a text", Path: "a path",
    NoneType: "None", Callable: "a function",
}  # fmt: skip
_GROUPS = (Sequence, tuple, list)
_UNIONS = (Union, UnionType)


def checked(
    function: Callable[..., Any], args: Sequence[Any], more: Mapping[str, Any]
) -> inspect.BoundArguments:
    """Return a call's arguments as annotated, tables and settings unread; SettingsError for other kinds."""
    signature, adapters = _declared(function)
    name = function.__name__
    names = [one for one, of in signature.parameters.items() if of.kind not in _STARRED and one != "self"]
    known = (*names, *(SETTINGS if "settings" in signature.parameters else ()))
    for given in more:
        if given not in known:
            instead = next((one for one in _INSTEAD.get(given, ()) if one in known), None)
            close = [instead] if instead else get_close_matches(given, known, n=2, cutoff=0.7)
            hint = f"did you mean {listed(close, 'or')}? " if close else ""
            rest = ", and settings by their names" if len(known) > len(names) else ""
            if rest:
                raise SettingsError(
                    f"{name}(): unknown setting {given}; {hint}it has {', '.join(names)}{rest}"
                )
            raise TypeError(f"{name}() has no argument {given}; {hint}it has {', '.join(names)}")
    try:
        bound = signature.bind(*args, **more)
    except TypeError as error:
        shown = ", ".join(
            f"{one}=…" if of.kind is of.KEYWORD_ONLY else str(of).partition(":")[0].partition(" =")[0]
            for one, of in signature.parameters.items()
        )
        raise TypeError(f"{name}(): {error}; write {name}({shown})") from None
    for name in bound.arguments.keys() & adapters.keys():
        value = bound.arguments[name]
        hint, adapter = adapters[name]
        try:
            bound.arguments[name] = adapter.validate_python(plain(value))
        except ValidationError as error:
            text = repr(value)
            found = type(value).__name__ if "\n" in text else text[:60]  # of a table or a result its type
            raise SettingsError(f"{name}: found {found}, expected {_in_words(hint)}") from error
    return bound


_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_INSTEAD = {
    "qrels": ("judgments",), "judgments": ("qrels", "files"), "run": ("runs",), "k": ("depth",),
    "metrics": ("measures", "metric"), "columns": ("column",), "folder": ("out",), "path": ("out",),
}  # fmt: skip
"""What other functions and tools call an argument."""


@cache
def _declared(
    function: Callable[..., Any],
) -> tuple[inspect.Signature, dict[str, tuple[Any, TypeAdapter[Any]]]]:
    written = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    hints = {
        name: get_args(hint)[0] if get_origin(hint) is Annotated else hint for name, hint in written.items()
    }
    known = {name: (hint, TypeAdapter(hint)) for name, hint in hints.items() if _is_plain(hint)}
    return inspect.signature(function), known


def _is_plain(hint: Any) -> bool:  # noqa: ANN401 - an annotation
    origin = get_origin(hint)
    if origin in (*_UNIONS, *_GROUPS):
        return all(map(_is_plain, get_args(hint)))
    return hint in _WORDS or origin in (Literal, get_origin(Callable[..., Any]))


def _in_words(hint: Any) -> str:  # noqa: ANN401 - as above
    origin = get_origin(hint)
    if origin is Literal:
        return listed(map(repr, get_args(hint)), "or")
    if origin in _UNIONS:
        return listed(dict.fromkeys(map(_in_words, get_args(hint))), "or")
    if origin in _GROUPS:
        return f"a list ({_in_words(get_args(hint)[0])} each)"
    return _WORDS.get(hint, "a function")
