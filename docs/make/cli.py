"""Write docs/reference/cli.md, the command line from the texts of ``--help``: `make pages`."""

import re
import types
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from pathlib import Path
from typing import Any

from typer.main import get_command

from clickassay.cli.app import app
from clickassay.core.settings import SETTINGS

PAGE = Path(__file__).parents[1] / "reference" / "cli.md"
PROGRAM = "clickassay"
_ENDING = re.compile(r"\s*\[(?:(?P<limits>[^\]]+); )?default: (?P<default>.+)\]$")
"""How the help of an option ends that says its range and default."""

WORDS = {str: "text", Path: "path", int: "integer", float: "number", bool: "flag"}
"""What the reference calls a type."""

TOP = """<!-- Made by `make pages` from the texts of `--help`: do not edit by hand. -->
# The command line

    clickassay COMMAND [OPTIONS]

`--help` (or `-h`) of a command shows all its options. This page lists options of a single
command below it; others are under [shared options](#shared-options) and [settings](settings.md), where a name
in italics is a whole group. [Exit codes](exit-codes.md).

Paths are local, in UTF-8; `file:///…` works too. Other URLs are for logs, pattern tables and stores with
`--engine spark`.
"""

SHARED = "Shared options"
SEVERAL = 2
"""So many commands make an option, or an argument, a shared one."""

Parameter = Any
"""A parameter, command or group as Typer hands it out; its classes are not public."""

Row = tuple[str, str]
"""How an argument or option is spelled, with its value, and its meaning."""


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
    shared = _shared(commands)
    own = _table([_row(one, root) for one in root.params])
    parts = [TOP, _overview(commands), f"Options of `clickassay` itself:\n\n{own}"]
    parts += [f"## {SHARED}\n\n{_table(shared)}"]
    return "\n".join(parts + [_section(path, command, shared) for path, command in commands])


def _commands(group: Parameter, path: str) -> Iterator[tuple[str, Parameter]]:
    """Yield every command below `group` that does something, with its words."""
    for name, command in group.commands.items():
        words = f"{path} {name}"
        if hasattr(command, "commands"):
            yield from _commands(command, words)
        else:
            yield words, command


def _shared(commands: list[tuple[str, Parameter]]) -> list[Row]:
    """Return the rows that several commands have alike; of a name, the most frequent row."""
    number = Counter(
        _row(one, command) for _, command in commands for one in command.params if not _is_setting(one)
    )
    best = {_name(row): row for row, times in reversed(number.most_common()) if times >= SEVERAL}
    return [row for row in number if best.get(_name(row)) == row]


def _name(row: Row) -> str:
    return row[0].split("`")[1]


def _overview(commands: list[tuple[str, Parameter]]) -> str:
    links = (f"[`{_short(path)}`](#{_anchor(_short(path))})" for path, _ in commands)
    return f"Commands: {', '.join(links)}.\n"


def _options(command: Parameter) -> list[Parameter]:
    return [one for one in command.params if one.param_type_name == "option"]


def _is_setting(option: Parameter) -> bool:
    """Tell whether an option is a setting, explained as on the page of settings."""
    setting = SETTINGS.get(option.name)
    return setting is not None and (option.help or "").startswith(setting.meaning)


def _section(path: str, command: Parameter, shared: list[Row]) -> str:
    read = read_help(command.help)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = _options(command)
    plain = [*arguments, *(one for one in options if not _is_setting(one))]
    own = [row for one in plain if (row := _row(one, command)) not in shared]
    lines = (_usage(path, arguments, options), *read.examples)
    parts = [f"## {_short(path)}", read.summary, *map(_marked, read.more)]
    parts += ["\n".join(f"    {line}" for line in lines)]
    parts += [_table(own).rstrip("\n")] if own else []
    elsewhere = {
        f"[Shared](#{_anchor(SHARED)})": [_first(one) for one in plain if _row(one, command) in shared],
        "[Settings](settings.md)": _settings([one for one in options if _is_setting(one)]),
    }
    others = (f"{link}: {', '.join(given)}." for link, given in elsewhere.items() if given)
    return "\n\n".join([*parts, " ".join(others)]).rstrip("\n") + "\n"


def _settings(options: Sequence[Parameter]) -> list[str]:
    """Return settings by name; of a group that is there as a whole, its heading on the page of settings."""
    given = {option.name: option for option in options}
    groups: dict[str, set[str]] = {}
    for one in SETTINGS.values():
        groups.setdefault(one.group, set()).add(one.name)
    whole = {group for group, names in groups.items() if names <= set(given)}
    single = [_first(one) for name, one in given.items() if SETTINGS[name].group not in whole]
    return [*(f"*{group}*" for group in groups if group in whole), *single]


def read_help(text: str) -> Help:
    """Take the help of a command apart: paragraphs, and the indented lines below "Example"."""
    prose, _, below = re.sub(r"\nExamples\n-+\n", "\nExample:\n", text).partition("\nExample:\n")
    paragraphs = [" ".join(part.split()) for part in prose.split("\n\n") if part.strip()]
    joined = re.sub(r"\n +(?=--)", " ", below)
    examples = [line.strip() for line in joined.splitlines() if line.strip()]
    return Help(paragraphs[0], tuple(paragraphs[1:]), tuple(examples))


def _usage(path: str, arguments: list[Parameter], options: list[Parameter]) -> str:
    words = [_argument_name(one) if one.required else f"[{_argument_name(one)}]" for one in arguments]
    needed = [f"{one.opts[0]} {_placeholder(one)}" for one in options if one.required]
    return " ".join([path, *words, *needed, *(["[OPTIONS]"] if len(options) > len(needed) else [])])


def _row(parameter: Parameter, command: Parameter) -> Row:
    """Return the cells of an argument or option."""
    kind, default = _type_words(parameter, command), _default(parameter)
    value = ", ".join(filter(None, ("" if kind == "flag" else kind, default and f"default {default}")))
    after = value and f" {value}"
    is_argument = parameter.param_type_name == "argument"
    name = f"`{_argument_name(parameter)}`" if is_argument else _spelling(parameter)
    return f"{name}{after}", _meaning(parameter)


def _spelling(option: Parameter) -> str:
    return ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))


def _first(option: Parameter) -> str:
    """Return the long names of an option; that a flag has an opposite is explained with it."""
    if option.param_type_name == "argument":
        return f"`{_argument_name(option)}`"
    return ", ".join(f"`{name}`" for name in option.opts if name.startswith("--"))


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
    """Return the default: of the parameter, or in its help. Usage shows whether it is required."""
    if parameter.required or parameter.default == "":
        return ""
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
    text = _ENDING.sub("", parameter.help or "")
    return _marked(
        re.sub(r"^Instead of --[\w-]+: a SELECT", "Instead of the option without `-sql`: a SELECT", text)
    )


def _marked(text: str) -> str:
    """Return `text` with options and commands as code where it does not have them so."""
    return re.sub(
        r"(?<![`\w-])(--[a-z][\w-]*|pip install \S+)(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", r"`\1`", text
    )


def _short(path: str) -> str:
    return path.removeprefix(f"{PROGRAM} ")


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def _table(rows: Sequence[Row]) -> str:
    """Return a table of the rows; neighbours that differ in their name alone share a line."""
    alike = groupby(rows, key=lambda row: (row[0].rpartition("`")[2], row[1]))
    joined = ((", ".join(name.rpartition("`")[0] + "`" for name, _ in same) + kind, meaning)
              for (kind, meaning), same in alike)  # fmt: skip
    lines = ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in joined)
    return "".join(("| name | meaning |\n|---|---|\n", *lines))


def main() -> None:
    """Write the page."""
    PAGE.write_text(cli_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
