"""The subset of SQL that steps keep to, and what a SELECT has beyond it."""

import re

import sqlglot
from sqlglot import exp

from support.places import ROOT

MACROS = sorted((ROOT / "sql" / "macros").glob("*.sql"))


EXPRESSIONS = (
    *(exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Identifier, exp.Column, exp.Alias, exp.Star),
    *(exp.Join, exp.Where, exp.Group, exp.Having, exp.Distinct, exp.Union, exp.Subquery, exp.CTE, exp.With),
    *(exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.In),
    *(exp.Between, exp.Exists, exp.Null, exp.Boolean, exp.Literal, exp.Placeholder, exp.Case, exp.If),
    *(exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Neg, exp.Cast, exp.DataType, exp.Filter),
    *(exp.Window, exp.WindowSpec, exp.Order, exp.Ordered),
)
FUNCTIONS = (
    *(exp.Count, exp.Sum, exp.Min, exp.Max, exp.BitwiseOrAgg, exp.Coalesce, exp.Abs, exp.Greatest, exp.Least),
    *(exp.RowNumber, exp.FirstValue, exp.Lag, exp.Lead, exp.Rank, exp.DenseRank),
    exp.Explode,  # unnest of a list in a SELECT list
)
ORDERED_WINDOWS = (exp.RowNumber, exp.FirstValue, exp.Lag, exp.Lead, exp.Rank, exp.DenseRank)
TYPES = ("BIGINT", "INT")
WHOLE = (exp.Sum, exp.Count, exp.Min, exp.Max, exp.Coalesce, exp.Mod, exp.Literal, exp.Window, exp.Filter)
UNCAST_SUM = "sum without CAST: its type differs between engines"
ODD_CAST = "CAST of what may be text or a fraction: engines round and read differently"
FINAL_ORDER = "ORDER BY outside a window: rows of a table have no order"


def macros_of(file):
    """Return the functions that a macros file defines: the number of their parameters by name."""
    found = re.findall(r"\bMACRO\s+(\w+)\s*\(([^)]*)\)", file.read_text(encoding="utf-8"))
    return {name: len(parameters.split(",")) if parameters.strip() else 0 for name, parameters in found}


PORTABLE_MACROS = frozenset.intersection(*(frozenset(macros_of(file)) for file in MACROS))


def complaints(text):
    """Return what in a step's SQL is not portable: [] when all of it is."""
    statements = sqlglot.parse(text, dialect="duckdb")
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        return ["not exactly one SELECT"]
    return sorted({found for node in statements[0].walk() for found in complaints_about(node)})


def complaints_about(node):
    """Return what is wrong with one node of the syntax tree."""
    found = []
    if isinstance(node, exp.Anonymous):
        found += [] if node.name in PORTABLE_MACROS else [f"function {node.name}"]
    elif type(node) not in EXPRESSIONS + FUNCTIONS:
        found.append(f"expression {type(node).__name__}")
    if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
        found.append("SELECT * hides columns")
    if isinstance(node, exp.Group) and node.args.get("all"):
        found.append("GROUP BY ALL hides columns")
    if isinstance(node, exp.Distinct) and node.args.get("on"):
        found.append("DISTINCT ON takes any row")
    if isinstance(node, exp.Join) and node.args.get("method"):
        found.append(f"{node.args['method']} JOIN")
    if isinstance(node, exp.Group) and any(isinstance(one, exp.Literal) for one in node.expressions):
        found.append("GROUP BY a number hides columns")
    return found + complaints_about_types(node) + complaints_about_order(node)


def complaints_about_types(node):
    """Return what is of a type, or becomes one, about which engines do not agree."""
    if isinstance(node, exp.DataType) and node.sql("duckdb") not in TYPES:
        return [f"type {node.sql('duckdb')}"]
    if isinstance(node, exp.Cast) and (not isinstance(node.this, WHOLE) or node.this.is_string):
        return [ODD_CAST]
    if isinstance(node, exp.Literal) and not node.is_string and not node.this.isdigit():
        return [f"number {node.this} is not whole"]
    if isinstance(node, exp.Null) and isinstance(node.parent, (exp.Alias, exp.Select)):
        return ["a column of NULL alone has no type"]
    if isinstance(node, exp.Distinct) and isinstance(node.parent, exp.Count) and len(node.expressions) != 1:
        return ["count(DISTINCT) of several columns"]
    return []


def complaints_about_order(node):
    """Return what depends on an order of rows or a width of sums that engines choose for themselves."""
    if isinstance(node, exp.Window):
        ordered = node.args.get("order") is not None
        needed = type(node.this) in ORDERED_WINDOWS or node.args.get("spec") is not None
        return ["window without ORDER BY"] if needed and not ordered else []
    if isinstance(node, exp.Sum):
        cast = node.find_ancestor(exp.Cast, exp.Select)
        return [] if isinstance(cast, exp.Cast) else [UNCAST_SUM]
    if isinstance(node, exp.Order) and not isinstance(node.parent, exp.Window):
        return [FINAL_ORDER]
    return []
