"""Arguments of public functions, checked by their annotations: a mistake is one line and no traceback."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from clickassay.core.errors import SettingsError
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
    """Return the arguments of a call as their annotations have them: a whole number may be written ``"5"``.

    What has an annotation of other types, as frames and settings, is checked where it is read.

    Raises
    ------
    SettingsError
        If an argument is of another kind; the message names it.
    TypeError
        If the function takes no argument of a name.
    """
    signature, adapters = _declared(function)
    bound = signature.bind(*args, **more)
    for name in bound.arguments.keys() & adapters.keys():
        value = bound.arguments[name]
        plain = value.item() if hasattr(value, "item") else value  # a number of NumPy
        hint, adapter = adapters[name]
        try:
            bound.arguments[name] = adapter.validate_python(plain)
        except ValidationError as error:
            raise SettingsError(f"{name}: found {value!r:.60}, expected {_in_words(hint)}") from error
    return bound


@cache
def _declared(
    function: Callable[..., Any],
) -> tuple[inspect.Signature, dict[str, tuple[Any, TypeAdapter[Any]]]]:
    hints = get_type_hints(function)
    plain = {name: (hint, TypeAdapter(hint)) for name, hint in hints.items() if _is_plain(hint)}
    return inspect.signature(function), plain


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
