"""What a parameter of a function means, said once: its option and its line in the docstring follow."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import wrap
from typing import Annotated, Any, get_args, get_origin


@dataclass(frozen=True)
class Help:
    """The meaning of a parameter, and how it is an option: ``Annotated[float, Help("…")]``."""

    meaning: str
    default: str = ""  # What leaving it out amounts to, where its default does not say so.
    also: str = ""  # What is true in Python alone.
    again: str = ""  # What follows the meaning on the command line alone.
    names: tuple[str, ...] = ()  # Its spellings there, where it is not spelled by its name alone.
    metavar: str | None = None  # What stands for its value there.
    typed: Any = None  # Its type there, where it is another than in Python.
    least: int | None = None
    most: int | None = None
    is_option: bool = True  # Else the command line gives it otherwise: by a setting, or not at all.


def helped(function: Callable[..., Any]) -> dict[str, tuple[Any, Help]]:
    """Return the type and the meaning of each parameter that has one."""
    found = {}
    hints: dict[str, Any] = function.__annotations__
    for name, hint in hints.items():
        if get_origin(hint) is Annotated:
            kind, *extras = get_args(hint)
            found[name] = kind, next(one for one in extras if isinstance(one, Help))
    return found


def explained(function: Callable[..., Any], spelled: Callable[[str], str]) -> str | None:
    """Return a docstring with a section of parameters; `spelled` says a meaning in the words of Python."""
    meanings = helped(function)
    if not meanings:
        return function.__doc__
    lines = ["Parameters", "----------"]
    for name, (_, one) in meanings.items():
        default = f" Default: {one.default}." if one.default else ""
        text = spelled(f"{one.meaning}{default}{one.also and f' {one.also}'}")
        lines += [name, *wrap(text, 100, initial_indent="    ", subsequent_indent="    ")]
    head, mark, rest = inspect.cleandoc(function.__doc__ or "").partition("\nRaises\n")
    return "\n".join([head, *lines, "", f"{mark.lstrip()}{rest}"])


def plain_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function without meanings, as a reader wants to see it."""
    signature, meanings = inspect.signature(function), helped(function)
    plain = (
        one.replace(annotation=meanings[name][0]) if name in meanings else one
        for name, one in signature.parameters.items()
    )
    return signature.replace(parameters=list(plain))
