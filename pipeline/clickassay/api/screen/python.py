"""Messages, written once with options and commands, as keywords and functions for callers from Python."""

import functools
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ParamSpec, TypeVar, get_args

from clickassay.api.screen.arguments import checked
from clickassay.core.errors import ClickassayError
from clickassay.core.help import explained, plain_signature
from clickassay.core.settings import SETTINGS
from clickassay.core.settings.project import TABLES

P = ParamSpec("P")
R = TypeVar("R")

_INTERRUPTED = "Query interrupted"

FUNCTIONS = {
    "audit": "audit", "check": "check", "diff": "diff", "evaluate": "evaluate",
    "experiments": "experiments", "inspect": "inspect",
    "judges": "judges", "learn": "learn", "patterns": "pattern_table", "power": "power", "run": "run",
    "simulate": "simulate",
}  # fmt: skip
"""Commands that are functions too."""

KEYWORDS = frozenset({
    "actions", "alpha", "assignments", "at_least", "average_over", "baseline", "beyond_noise", "bounds",
    "by", "changed", "clicks", "comparisons", "cv_folds", "difference", "expected", "experiments",
    "fail_above", "files", "force", "gains", "gamma", "grade_map", "grades", "held_out", "hold_out",
    "interleaved", "judge", "judgments", "known", "level", "market", "n_queries", "n_searches", "objective",
    "others", "out", "outcomes", "pair", "past_tests", "plan", "power", "pseudo_count", "queries",
    "rankings", "rel", "rules", "scores", "searches", "splits", "store", "strict", "tests", "utilities",
    "value", "world",
})  # fmt: skip
"""Keywords of functions that are no settings."""

_FLAGS = frozenset(
    {"actions", "beyond_noise", "bounds", "force", "gamma", "splits", "strict", "utilities"}
    | {name for name, one in SETTINGS.items() if one.type is bool}
)
_ELSEWHERE = " (on the command line)"

_INSTEAD = {f"--{name}-sql": f"{name} as InputSql" for name in TABLES}
_INSTEAD |= {"--past-tests-sql": "tests as InputSql", "--database": "a database to InputSql"}

_COMMAND = re.compile(r"`clickassay ([a-z]+)([^`]*)`")
_LAST_COMMAND = re.compile(r"(?:(?<=: )|(?<=^  )|^)clickassay ([a-z]+)((?: .*)?)$", re.MULTILINE)
_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*)(?:[ =](\"[^\"]*\"|'[^']*'|[^\s,;:)`]*[^\s,;:.)`]))?")
_PLACEHOLDER = re.compile(r"[A-Z_]+|…|-?\d+(?:\.\d+)?")
_QUOTES = frozenset({'"', "'"})


def in_python(text: str) -> str:
    """Return a message with keywords and functions in place of options and commands, where there are any."""
    text = _COMMAND.sub(lambda found: f"`{_call(found[1], found[2], found[0].strip('`'))}`", text)
    text = _LAST_COMMAND.sub(lambda found: f"`{_call(found[1], found[2], found[0])}`", text)
    text = text.replace(f"{_ELSEWHERE}`", f"`{_ELSEWHERE}")
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(_quoted(part) if part.startswith("`") else _OPTION.sub(_keyword, part) for part in parts)


def _quoted(part: str) -> str:
    """Return what is in backquotes: a call or a command as it is, an option as a keyword."""
    if part.startswith("`clickassay") or part == "`":
        return part
    return f"`{_OPTION.sub(lambda found: _keyword(found).replace('`', ''), part[1:-1])}`"


def _call(command: str, rest: str, whole: str) -> str:
    words = _words(rest)
    if command == "report":
        if "--patterns" not in words[:-1]:
            return "clickassay.open_patterns(…).report"
        at = words.index("--patterns")
        arguments = _arguments([*words[:at], *words[at + 2 :]])
        return f"clickassay.open_patterns({_literal(words[at + 1])}).report{arguments}"
    if command not in FUNCTIONS:
        return f"{whole}{_ELSEWHERE}"
    return f"clickassay.{FUNCTIONS[command]}{_arguments(words)}"


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _arguments(words: Sequence[str]) -> str:
    taken, place = [], 0
    while place < len(words):
        word, following = words[place], words[place + 1] if place + 1 < len(words) else "--"
        place += 1
        if not word.startswith("--"):
            taken.append(_literal(word))
        elif following.startswith("--"):
            taken.append(_flag(word))
        else:
            taken.append(f"{_name(word)}={_literal(following)}")
            place += 1
    return f"({', '.join(taken)})" if taken else ""


def _keyword(found: re.Match[str]) -> str:
    option, value = found[1], found[2]
    if option in _INSTEAD:
        is_placeholder = value is None or value[0].isupper()
        return _INSTEAD[option] if is_placeholder else f"{_INSTEAD[option]} {value}"
    name = _name(option)
    if name.removeprefix("no_") not in SETTINGS and name not in KEYWORDS:
        return found[0]
    if value is not None and _is_value(name, value):
        return f"`{name}={_literal(value)}`"
    return f"`{_flag(option)}`{'' if value is None else f' {value}'}"


def _flag(option: str) -> str:
    name = _name(option)
    if name.removeprefix("no_") in _FLAGS and name not in _FLAGS:
        return f"{name.removeprefix('no_')}=False"
    return f"{name}=True" if name in _FLAGS else name


def _is_value(name: str, value: str) -> bool:
    """Tell whether a word after an option is its value, and not the next word of a sentence."""
    if (
        value[0] in _QUOTES
        or _PLACEHOLDER.fullmatch(value)
        or (name in frozenset({"column", "scale", "health_limit", "spark_conf"}) and "=" in value)
    ):
        return True
    return name in SETTINGS and value in _choices(SETTINGS[name].type)


def _choices(kind: object) -> tuple[object, ...]:
    found = get_args(kind)
    return found if any(isinstance(one, str) for one in found) else sum(map(_choices, found), ())


def _literal(value: str) -> str:
    if _PLACEHOLDER.fullmatch(value):
        return value
    return value if value[0] in _QUOTES else f'"{value}"'


def _name(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def for_python(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of a public function, explain them, and let its errors speak of keywords."""
    function.__doc__ = explained(function, in_python)

    @functools.wraps(function)
    def told(*args: P.args, **more: P.kwargs) -> R:
        with python_errors():
            given = checked(function, args, more)
            return function(*given.args, **given.kwargs)

    told.__signature__ = plain_signature(function)  # type: ignore[attr-defined] # what `help` shows
    return told


@contextmanager
def python_errors() -> Iterator[None]:
    """Let errors of the block speak of keywords; Ctrl-C is `KeyboardInterrupt` everywhere."""
    try:
        yield
    except ClickassayError as error:
        error.args = tuple(in_python(one) if isinstance(one, str) else one for one in error.args)
        raise
    except RuntimeError as error:
        if error.args != (_INTERRUPTED,):
            raise
        raise KeyboardInterrupt from None
