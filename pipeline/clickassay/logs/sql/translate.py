"""The steps of ``sql/`` with their values filled in, in their own dialect or in another engine's.

Steps are written in DuckDB's dialect inside a portable subset (``tests/support/sql_subset.py`` lists it);
what engines spell differently has one name in ``sql/macros/<engine>.sql``, whose bodies take the place of
the calls.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from clickassay.core.errors import EngineError
from clickassay.core.files.sql import sql_text
from clickassay.logs.sql.steps import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    Rewrite = Callable[[exp.Expr], exp.Expr]
    # functions that engines spell differently, by name: their parameters, and what each stands for
    Macros = Mapping[str, tuple[list[str], exp.Expr]]

_MACRO = re.compile(r"^CREATE OR REPLACE TEMP MACRO (\w+)\(([^)]*)\) AS\s+(.*?);$", re.MULTILINE | re.DOTALL)
_PARAMETER = re.compile(r"\$([a-z_]+)")
_LINT = re.compile(r"[ \t]*-- noqa.*$", re.MULTILINE)
_FIRST_COMMENT = re.compile(r"(?:--.*\n)+")
_WRITTEN_IN = "duckdb"


def filled_step(step: str, values: Mapping[str, Value]) -> str:
    """Return a step's SELECT for DuckDB, uncommented, its ``$`` filled; EngineError if a value is missing."""

    def filled(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise EngineError(f"step {step} needs a value for ${match[1]}")
        value = values[match[1]]
        if isinstance(value, bool):
            return str(value).upper()
        return str(value) if isinstance(value, int) else "'{}'".format(value.replace("'", "''"))

    text = _FIRST_COMMENT.sub("", sql_text(step), count=1)
    return _PARAMETER.sub(filled, _LINT.sub("", text)).strip()


def translate_step(step: str, dialect: str, values: Mapping[str, Value]) -> str:
    """Return the SELECT of a step, as ``steps/5_visits/visits``, in the dialect (and macros) of an engine.

    values: for the ``$`` parameters; others are ignored.
    Raises EngineError if SQLGlot is not installed, or the step names a value that is not given.
    """
    named = set(_PARAMETER.findall(sql_text(step)))
    return _translate(step, dialect, tuple(sorted(item for item in values.items() if item[0] in named)))


@cache
def _translate(step: str, dialect: str, values: tuple[tuple[str, Value], ...]) -> str:
    sqlglot = _sqlglot()
    from sqlglot import exp  # noqa: PLC0415

    given = dict(values)

    def with_value(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, (exp.Placeholder, exp.Parameter)):
            return node
        if node.name not in given:
            raise EngineError(f"step {step} needs a value for ${node.name}")
        return exp.convert(given[node.name])

    tree = sqlglot.parse_one(sql_text(step), dialect=_WRITTEN_IN)
    tree = tree.transform(with_value).transform(_with_macros(_macros(dialect)))
    text: str = tree.sql(dialect, pretty=True, comments=False, unsupported_level=sqlglot.ErrorLevel.RAISE)
    return text


@cache
def _macros(dialect: str) -> "Macros":
    sqlglot = _sqlglot()
    return {
        name: (
            [part.strip() for part in parameters.split(",") if part.strip()],
            sqlglot.parse_one(body, dialect=dialect),
        )
        for name, parameters, body in _MACRO.findall(sql_text(f"macros/{dialect}"))
    }


def _with_macros(macros: "Macros") -> "Rewrite":
    """Return a function that puts the body of a macro in the place of a call, innermost macros too."""
    from sqlglot import exp  # noqa: PLC0415

    def in_parentheses(node: exp.Expr) -> exp.Expr:
        return exp.paren(node) if isinstance(node, (exp.Binary, exp.Not, exp.Between)) else node

    def expand(node: exp.Expr) -> exp.Expr:
        macro = macros.get(node.name.lower()) if isinstance(node, exp.Anonymous) else None
        if macro is None:
            return node
        parameters, body = macro
        given = dict(zip(parameters, node.expressions, strict=True))

        def fill(part: exp.Expr) -> exp.Expr:
            is_given = isinstance(part, exp.Column) and not part.table and part.name in given
            return in_parentheses(given[part.name].copy()) if is_given else part

        return in_parentheses(body.copy().transform(fill).transform(expand))

    return expand


def _sqlglot() -> Any:  # noqa: ANN401 - a module
    try:
        import sqlglot  # noqa: PLC0415 - only for engines other than the default
    except ImportError as error:
        raise EngineError(
            "SQLGlot is not installed; install it with: pip install 'clickassay[spark]'"
        ) from error
    return sqlglot
