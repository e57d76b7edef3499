"""How engines spell texts, names, and the SELECTs of steps in a script that another tool runs."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from clickassay.core.errors import SettingsError
from clickassay.inputs.files import FORMATS
from clickassay.logs.engine import Value
from clickassay.logs.sql.translate import filled_step, translate_step

_PART = r"""(?:[\w$-]+|`(?:[^`]|``)+`|"(?:[^"]|"")+")"""
_TABLE = re.compile(rf"{_PART}(?:\.{_PART}){{0,3}}")
_QUOTED = re.compile(r"""(["`])(.*)\1""", re.DOTALL)
_OTHER_FORMATS = tuple(ending for ending, kind in FORMATS.items() if kind != "parquet")


class Sql(Markup):
    """A text that is SQL, or a comment of it: templates fill in nothing else."""


@dataclass(frozen=True)
class Dialect:
    """The spelling of an engine."""

    name: str
    text: Callable[[str], Sql]  # Spells a text as a literal.
    identifier: Callable[[str], Sql]  # Spells one part of a name.
    # Gives the SELECT of a step with the values of its ``$`` parameters.
    select: Callable[[str, Mapping[str, Value]], Sql]
    # Schemas, in lower case, whose tables give way to a view of the script that has their name.
    own_place: tuple[str, ...]
    place: str  # What distinguishes a table from such a view, for messages.
    clock_ms: str  # Reads the variable in which a script keeps its clock, in milliseconds since 1970 UTC.
    no_folder: str = ""  # Characters that cannot be in the path of a folder that is written and read again.


@dataclass(frozen=True)
class Source:
    """Where one half of a log lies, as SQL: either `table` or `path` is given; `name` is it as text."""

    name: Sql
    table: Sql | None = None
    path: Sql | None = None


def dialect(name: str) -> Dialect:
    """Return the dialect of an engine: ``spark`` or ``duckdb``."""
    return _DIALECTS[name]


def source(what: str, given: str, engine: Dialect, taken: Collection[str]) -> Source:
    """Return a table or Parquet files by their name, quoted.

    what: name of the option, for messages.
    given: a table (``logs.searches``; parts with special characters in backticks or double quotes), or a
      path, glob or URI of Parquet files: any name with a slash in it or that ends in ``.parquet``.
    taken: names of the script's own views.

    Raises SettingsError if it is neither, or the script has a view of the same name.
    """
    _check_printable(what, given)
    if given.lower().removesuffix(".gz").removesuffix(".zst").endswith(_OTHER_FORMATS):
        raise SettingsError(
            f"{what} {given!r}: the SQL reads tables and Parquet; write it as Parquet, or give a table"
        )
    spelt = engine.text(given)
    if _TABLE.fullmatch(given) and not given.endswith((".parquet", ".pq")):
        parts = [_unquoted(part) for part in re.findall(_PART, given)]
        before = ".".join(parts[:-1]).lower()
        if parts[-1].lower() in taken and before in ("", *engine.own_place):
            raise SettingsError(
                f"{what} {given!r}: a step of the script has this name; give the table with its "
                f"{engine.place} in front"
            )
        return Source(spelt, table=Sql(".").join(map(engine.identifier, parts)))
    return Source(spelt, path=spelt)


def folder(what: str, given: str, engine: Dialect) -> str:
    """Return a folder's path without slashes at its end, if it can be written into a script.

    Raises SettingsError if it cannot.
    """
    _check_printable(what, given)
    patterns = sorted(set(given) & set(engine.no_folder))
    if patterns:
        raise SettingsError(
            f"{what} {given!r}: {engine.name} takes {' '.join(patterns)} in a path for a pattern; "
            "choose another"
        )
    return given.rstrip("/") or "/"


def _check_printable(what: str, given: str) -> None:
    if not given.strip() or not given.isprintable():
        raise SettingsError(f"{what} {given!r} cannot be written into a script; give a name in plain text")


def _unquoted(part: str) -> str:
    match = _QUOTED.fullmatch(part)
    return match[2].replace(match[1] * 2, match[1]) if match else part


def _spark_text(text: str) -> Sql:
    """Spell a text so that neither Spark nor a tool that cuts scripts at semicolons finds more in it."""
    for sign, spelt in (("\\", "\\\\"), ("'", "\\'"), ("$", "\\u0024"), (";", "\\u003b")):
        text = text.replace(sign, spelt)
    return Sql(f"'{_in_ascii(text)}'")


def _in_ascii(text: str) -> str:
    """Escape signs beyond ASCII in literals of Spark: a script is read in the encoding of the locale."""

    def spelt(sign: re.Match[str]) -> str:
        units = sign[0].encode("utf-16-be").hex()
        return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))

    return re.sub(r"[^\x00-\x7f]", spelt, text)


def _doubled(quote: str, text: str) -> Sql:
    return Sql(f"{quote}{text.replace(quote, quote * 2)}{quote}")


_DIALECTS = {
    "spark": Dialect(
        "spark",
        text=_spark_text,
        identifier=partial(_doubled, "`"),
        select=lambda step, values: Sql(_in_ascii(translate_step(step, "spark", values))),
        own_place=(),
        place="schema",
        clock_ms="session.clock_ms",
        no_folder="*?[]{}\\",
    ),
    "duckdb": Dialect(
        "duckdb",
        text=partial(_doubled, "'"),
        identifier=partial(_doubled, '"'),
        select=lambda step, values: Sql(filled_step(step, values)),
        own_place=("main", "temp", "temp.main"),
        place="catalog and schema",
        clock_ms="getvariable('clock_ms')",
    ),
}
