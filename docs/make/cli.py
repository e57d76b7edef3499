"""Write docs/reference/cli.md, the command line from the texts of ``--help``: `make pages`."""

import re
import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from typer.main import get_command

from clickassay.cli.app import app

PAGE = Path(__file__).parents[1] / "reference" / "cli.md"
PROGRAM = "clickassay"
_ENDING = re.compile(r"\s*\[(?:(?P<limits>[^\]]+); )?default: (?P<default>.+)\]$")
"""How the help of an option ends that says its range and default."""

WORDS = {str: "text", Path: "path", int: "integer", float: "number", bool: "flag"}
"""What the reference calls a type."""

TOP = """<!-- Made by `make pages` from the texts of `--help`: do not edit by hand. -->
# The command line

    clickassay COMMAND [OPTIONS]

Every command has `--help` (or `-h`), which shows in the terminal what stands here. Options whose names are on
the page of [settings](settings.md) can be given by a file or the environment as well. How commands end:
[Exit codes](exit-codes.md).

A path is one of this machine, in UTF-8; `file:///…` is the path that it names. Other URLs are for logs,
pattern tables and stores on `--engine spark`.
"""

Parameter = Any
"""A parameter, command or group as Typer hands it out; its classes are not public."""


@dataclass(frozen=True)
class Help:
    """The help of a command, taken apart.

    Attributes
    ----------
    summary
        First paragraph.
    more
        Further paragraphs, possibly none.
    examples
        Whole command lines.
    """

    summary: str
    more: tuple[str, ...]
    examples: tuple[str, ...]


def cli_page() -> str:
    """Return the whole page as Markdown."""
    root = get_command(app)
    commands = list(_commands(root, PROGRAM))
    parts = [TOP, _overview(commands), *_root_options(root)]
    return "\n".join(parts + [_section(path, command) for path, command in commands])


def _commands(group: Parameter, path: str) -> Iterator[tuple[str, Parameter]]:
    """Yield every command below `group` that does something, with its words."""
    for name, command in group.commands.items():
        words = f"{path} {name}"
        if hasattr(command, "commands"):
            yield from _commands(command, words)
        else:
            yield words, command


def _overview(commands: list[tuple[str, Parameter]]) -> str:
    rows = [
        (f"[`{_short(path)}`](#{_anchor(_short(path))})", read_help(command.help).summary)
        for path, command in commands
    ]
    return _table(("command", "what it does"), rows)


def _root_options(root: Parameter) -> list[str]:
    return ["Options of `clickassay` itself:\n", _options(root.params, root)]


def _section(path: str, command: Parameter) -> str:
    read = read_help(command.help)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    parts = [
        f"## {_short(path)}",
        read.summary,
        *map(_marked, read.more),
        f"    {_usage(path, arguments, options)}",
    ]
    if read.examples:
        parts += ["Examples:" if len(read.examples) > 1 else "Example:"]
        parts += ["\n".join(f"    {example}" for example in read.examples)]
    if arguments:
        parts += [_arguments(arguments, command).rstrip("\n")]
    for panel in dict.fromkeys(one.rich_help_panel for one in options):
        own = [one for one in options if one.rich_help_panel == panel]
        parts += [f"**{panel}**"] if panel else []
        parts += [_options(own, command).rstrip("\n")]
    return "\n\n".join(parts) + "\n"


def read_help(text: str) -> Help:
    """Take the help of a command apart: paragraphs, and the indented lines below "Example"."""
    prose, _, below = re.sub(r"\nExamples\n-+\n", "\nExample:\n", text).partition("\nExample:\n")
    paragraphs = [" ".join(part.split()) for part in prose.split("\n\n") if part.strip()]
    examples = [line.strip() for line in below.splitlines() if line.strip()]
    return Help(paragraphs[0], tuple(paragraphs[1:]), tuple(examples))


def _usage(path: str, arguments: list[Parameter], options: list[Parameter]) -> str:
    words = [_argument_name(one) if one.required else f"[{_argument_name(one)}]" for one in arguments]
    needed = [f"{one.opts[0]} {_placeholder(one)}" for one in options if one.required]
    return " ".join([path, *words, *needed, *(["[OPTIONS]"] if len(options) > len(needed) else [])])


def _arguments(arguments: list[Parameter], command: Parameter) -> str:
    rows = [
        (f"`{_argument_name(one)}`", _type_words(one, command), _default(one), _meaning(one))
        for one in arguments
    ]
    return _table(("argument", "type", "default", "meaning"), rows)


def _options(options: list[Parameter], command: Parameter) -> str:
    rows = [(_spelling(one), _type_words(one, command), _default(one), _meaning(one)) for one in options]
    return _table(("option", "type", "default", "meaning"), rows)


def _spelling(option: Parameter) -> str:
    return ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))


def _argument_name(argument: Parameter) -> str:
    return str(argument.metavar or argument.name.upper())


def _placeholder(option: Parameter) -> str:
    return str(option.metavar or option.name.upper())


def _type_words(parameter: Parameter, command: Parameter) -> str:
    """Return the type and range in words, from the annotation of the function behind the command."""
    stated = _ENDING.search(parameter.help or "")
    kind = _kind(parameter, command)
    return f"{kind}, {stated['limits']}" if stated and stated["limits"] else kind


def _kind(parameter: Parameter, command: Parameter) -> str:
    hint = typing.get_type_hints(command.callback).get(parameter.name, bool)
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    (kind,) = (one for one in kinds if one is not type(None))
    if typing.get_origin(kind) is list:
        return f"{WORDS[typing.get_args(kind)[0]]}, repeatable"
    if typing.get_origin(kind) is typing.Literal:
        return _one_of(typing.get_args(kind))
    return _one_of(member.value for member in kind) if issubclass(kind, Enum) else WORDS[kind]


def _one_of(values: Iterable[str]) -> str:
    return "one of " + ", ".join(f"`{value}`" for value in values)


def _default(parameter: Parameter) -> str:
    """Return the default: what the parameter has, or what its help says of a setting."""
    if parameter.required:
        return "required"
    stated = _ENDING.search(parameter.help or "")
    if stated:
        value = stated["default"]
        return _marked(value) if re.search(r"[ %]", value) else f"`{value}`"
    if parameter.default is None or parameter.default is False:
        return ""
    if parameter.default is True:
        return f"`{parameter.opts[0]}`"
    return f"`{parameter.default:g}`" if isinstance(parameter.default, float) else f"`{parameter.default}`"


def _meaning(parameter: Parameter) -> str:
    return _marked(_ENDING.sub("", parameter.help or ""))


def _marked(text: str) -> str:
    """Return `text` with options and commands as code where it does not have them so."""
    return re.sub(
        r"(?<![`\w-])(--[a-z][\w-]*|pip install \S+)(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", r"`\1`", text
    )


def _short(path: str) -> str:
    return path.removeprefix(f"{PROGRAM} ")


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    cells = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in cells)


def main() -> None:
    """Write the page."""
    PAGE.write_text(cli_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
