"""The rules of the house, held by tests: size of modules, where SQL lives, and which SQL is portable.

Between DuckDB and Spark, SQLGlot silently breaks ordered ``list()``, ``UNNEST WITH ORDINALITY``,
``epoch_ms``, ``hash()``, ``quantile_cont``, ``ASOF JOIN``, ``list_slice`` and ``list_position``; a fraction
becomes another whole number, a text from place 0 another text, the smallest list another list. So the steps
use only what is listed here; what engines spell differently has one name in ``sql/macros``. That engines
agree about what is listed, and what they make of the rest, is shown in ``spark/test_portable_subset.py``.
"""

import ast
import re
from functools import cache

import sqlglot
from sqlglot import exp

from support.places import ROOT
from support.sql_subset import (
    FINAL_ORDER,
    MACROS,
    PORTABLE_MACROS,
    UNCAST_SUM,
    complaints,
    complaints_about_order,
    macros_of,
)

PACKAGE = ROOT / "pipeline" / "clickassay"
MODULES = sorted(PACKAGE.rglob("*.py"))
SQL_FILES = sorted((ROOT / "sql").rglob("*.sql"))
STEPS = [file for file in SQL_FILES if not {"macros", "questions"} & set(file.relative_to(ROOT).parts)]
LONGEST_MODULE = 600


@cache
def text_of(file):
    return file.read_text(encoding="utf-8")


@cache
def tree_of(file):
    return ast.parse(text_of(file))


def offending(files, found):
    """Return what a function finds in files, by their paths from the root, where it finds anything."""
    return {file.relative_to(ROOT).as_posix(): words for file in files if (words := found(file))}


def test_a_module_fits_one_sitting():
    def too_long(module):
        lines = len(text_of(module).splitlines())
        return lines if lines > LONGEST_MODULE else None

    assert offending(MODULES, too_long) == {}, "split them along what their names say"


def test_test_modules_have_distinct_names():
    stems = [file.stem for file in sorted((ROOT / "tests").rglob("test_*.py"))]
    assert sorted({stem for stem in stems if stems.count(stem) > 1}) == []


LISTING = {"glob", "rglob", "iglob", "walk"}
OPENING = {"scan_parquet", "read_parquet", "read_parquet_schema", "scan_csv", "read_csv", "scan_ndjson",
           "read_ndjson"}  # fmt: skip

# (module, what it calls): why it may
ALLOWED_CALLS = {
    (
        "core/files/tables.py",
        "pl.scan_parquet",
    ): "the function that opens Parquet, whatever signs a name holds",
    ("inputs/sources/parts.py", "pl.scan_csv"): "the function that opens files of users",
    ("inputs/sources/parts.py", "pl.scan_ndjson"): "the function that opens files of users",
    ("core/files/sql.py", "glob"): "files of the package",
    ("core/files/output.py", "glob"): "work folders that a killed command left",
    ("core/files/sql.py", "rglob"): "files of the package",
    ("jobs/stores.py", "rglob"): "files of a batch, which a store wrote",
    ("patterns/batches.py", "rglob"): "files of a batch, which a store wrote",
    ("patterns/batches.py", "glob"): "files of a batch, which a store wrote",
    ("patterns/store.py", "glob"): "what a store left behind",
    ("inputs/staging/lakes.py", "glob"): "versions of a table of Iceberg",
}


def calls_to_files(tree):
    """Yield the calls of a module that list folders, or that open files by Polars."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            of_polars = isinstance(node.value, ast.Name) and node.value.id in ("pl", "polars")
            of_ast = isinstance(node.value, ast.Name) and node.value.id == "ast"
            if node.attr in LISTING and not of_ast:
                yield node.attr
            elif node.attr in OPENING and of_polars:
                yield f"pl.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module in ("glob", "os", "polars"):
            yield from (name.name for name in node.names if name.name in LISTING | OPENING)


def test_files_are_listed_by_one_walk_and_opened_by_one_function():
    found = {
        (module.relative_to(PACKAGE).as_posix(), call)
        for module in MODULES
        for call in calls_to_files(tree_of(module))
    }
    assert sorted(found - set(ALLOWED_CALLS)) == [], (
        "use inputs/sources/walk.py, parts.py or core/files/tables.py"
    )
    assert sorted(set(ALLOWED_CALLS) - found) == []


def writes_in_the_line_ends_of_the_system(tree):
    """Yield the calls that write text to a file and do not say how lines end."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        mode = next((arg.value for arg in call.args if isinstance(arg, ast.Constant)), "")
        opens = name == "open" and isinstance(mode, str) and mode[:1] in "wxa" and mode and "b" not in mode
        if (opens or name == "write_text") and not any(word.arg == "newline" for word in call.keywords):
            yield name


def test_texts_are_written_with_the_same_line_ends_on_every_system():
    ends = {("cli/exit.py", "open")}  # nothing is read of it: /dev/null
    found = {
        (module.relative_to(PACKAGE).as_posix(), call)
        for module in MODULES
        for call in writes_in_the_line_ends_of_the_system(tree_of(module))
    }
    assert found == ends


STATEMENT = re.compile(
    r"""
    ^[\s(]*SELECT\s | \bSELECT\s.+\sFROM\s | \bINSERT\s+INTO\s | \bDELETE\s+FROM\s | \bUPDATE\s+\S+\s+SET\s
    | \b(CREATE|ALTER|DROP)\s+(OR\s+REPLACE\s+)?((TEMP|TEMPORARY|GLOBAL|EXTERNAL)\s+)*
      (TABLE|VIEW|MACRO|FUNCTION|SCHEMA|INDEX)\b
    | \bCOPY\s+\S+\s+(TO|FROM)\b | \bATTACH\s+\S | \b(GROUP|ORDER|PARTITION)\s+BY\s | \bUNION\s+ALL\b
    | \b(INNER|LEFT|RIGHT|FULL|CROSS|SEMI|ANTI)\s+JOIN\s | \bWITH\s+\w+\s+AS\s*\( | ^\s*(PRAGMA|SET)\s+\w
    """,
    re.VERBOSE | re.DOTALL,
)
LOWER_CASE_STATEMENT = re.compile(
    r"^\s*(select\s[^;]+\sfrom\s|insert\s+into\s|delete\s+from\s|copy\s+\S+\s+to\s|"
    r"(create|drop)\s+(or\s+replace\s+)?(temp\s+)?(table|view|macro)\s)",
    re.DOTALL,
)

# (module, string with {} for what is filled in): why it may be there
ALLOWED_STATEMENTS = {
    (
        "inputs/foreign.py",
        "write a table of it: sqlite3 -header -csv {file} 'SELECT * FROM TABLE' > {stem}.csv",
    ): "a line for a user to type",
    ("inputs/staging/lakes.py", "SELECT {} FROM given"): "selects needed columns of a table of a lake",
    ("inputs/staging/sql.py", "CREATE TEMPORARY VIEW {} AS {}"): "names the SELECT of a user",
    ("inputs/staging/sql.py", "SELECT json_serialize_sql($1::VARCHAR)"): "finds the files that it names",
    ("inputs/staging/sql.py", "SET allowed_directories = $1"): "confines it to them",
    ("inputs/staging/sql.py", "SET allowed_paths = $1"): "confines it to them",
    ("inputs/staging/sql.py", "SET enable_external_access = false"): "confines it to them",
    ("inputs/staging/sql.py", "SET lock_configuration = true"): "confines it to them",
    ("inputs/staging/sql.py", "SET enable_progress_bar = false"): "DuckDB draws its own on stdout",
    ("jobs/project.py", "SELECT {}{}FROM {}"): "stands in a project file, for files of judgments",
    ("jobs/project.py", "{}UNION ALL{}"): "likewise",
    ("logs/duckdb.py", "CREATE OR REPLACE TEMP TABLE {} AS {}"): "names the SELECT of a step",
    ("logs/duckdb.py", "CREATE OR REPLACE TEMP VIEW {} AS {}"): "names the SELECT of a step",
    ("logs/duckdb.py", "DROP TABLE {}"): "lets go of a step's table",
    ("logs/duckdb.py", "DROP VIEW IF EXISTS {}"): "lets go of a step's view",
    (
        "logs/sql/translate.py",
        r"^CREATE OR REPLACE TEMP MACRO (\w+)\(([^)]*)\) AS\s+(.*?);$",
    ): "finds the macros of a file",
}


def looks_like_sql(text):
    """Tell whether `text` holds a statement, or a clause of one."""
    return bool(STATEMENT.search(text) or LOWER_CASE_STATEMENT.search(text))


def strings_of(tree):
    """Yield the string literals of a module but its docstrings; {} stands for what an f-string fills in."""
    inside = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
    }
    skipped = inside | {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.value


@cache
def statements_in(module):
    """Return the strings of a module that look like SQL."""
    return [text for text in strings_of(tree_of(module)) if looks_like_sql(text)]


def test_python_holds_no_sql():
    def not_allowed(module):
        name = module.relative_to(PACKAGE).as_posix()
        return [text for text in statements_in(module) if (name, text) not in ALLOWED_STATEMENTS]

    found = offending(MODULES, not_allowed)
    assert found == {}, "move it to sql/, or allow it in ALLOWED_STATEMENTS with the reason"


def test_every_allowed_statement_is_still_there():
    found = {(file.relative_to(PACKAGE).as_posix(), text) for file in MODULES for text in statements_in(file)}
    assert sorted(set(ALLOWED_STATEMENTS) - found) == []


# step: why its rows must come in an order
ORDERED_STEPS = {
    "steps/7_patterns/result_configurations": "written in this order, file after file, never held in memory",
    "steps/7_patterns/result_patterns": "written in this order, file after file, never held in memory",
    "steps/7_patterns/result_queries": "written in this order, file after file, never held in memory",
    "steps/9_signals/result_signals": "written in this order: same rows, same bytes",
    "steps/7_patterns/result_shown": "written in this order: same rows, same bytes",
    "steps/9_outcomes/result_outcomes": "written in this order: same rows, same bytes",
    "steps/9_tests/result_arm_patterns": "sorted here in half the time of a sort of the frame",
    "steps/9_tests/result_interleaved": "likewise",
    "steps/8_carry_over/carry_over_events": "written in this order into a store: same rows, same bytes",
    "steps/0_search_ids/carry_over_ambiguous_ids": "written in this order into a store: same ids, same bytes",
    "steps/8_carry_over/carry_over_clicks": "written in this order into a store: same rows, same bytes",
    "steps/8_carry_over/carry_over_searches": "written in this order into a store: same rows, same bytes",
    "steps/8_carry_over/new_id_digests": "written in this order into a store: same ids, same bytes",
    "steps/8_carry_over/new_id_numbers": "written in this order into a store: same ids, same bytes",
    "steps/8_carry_over/carry_over_orphan_clicks": "written in this order into a store: same ids, same bytes",
    "steps/8_carry_over/open_clicks": "the reader takes the texts of these rows in the order of its own",
    "steps/8_carry_over/open_searches": "the reader takes the texts of these rows in the order of its own",
}


def test_an_sql_file_begins_with_a_comment_that_says_what_it_is():
    assert offending(SQL_FILES, lambda file: not re.match(r"-- \S+ \S+", text_of(file))) == {}


def name_of(file):
    """Return the name of a step: its folder in ``sql/`` and its file without ending."""
    return file.relative_to(ROOT / "sql").with_suffix("").as_posix()


def test_a_step_is_one_select_in_the_portable_subset():
    def not_portable(file):
        excused = [UNCAST_SUM] if file.parent.name == "checks" else []  # a check only compares its sums
        excused += [FINAL_ORDER] if name_of(file) in ORDERED_STEPS else []
        return [text for text in complaints(text_of(file)) if text not in excused]

    advice = "spell it as a macro of sql/macros, or list it above when every engine agrees on it"
    assert offending(STEPS, not_portable) == {}, advice


def test_a_step_whose_rows_have_an_order_is_ordered_at_its_end_and_nowhere_else():
    def ordered(file):
        tree = sqlglot.parse_one(text_of(file), dialect="duckdb")
        inside = [node for node in tree.find_all(exp.Order) if FINAL_ORDER in complaints_about_order(node)]
        assert all(node.parent is tree for node in inside), file
        return bool(inside)

    assert {name_of(file) for file in STEPS if ordered(file)} == set(ORDERED_STEPS)


def test_every_engine_has_the_same_macros():
    assert {file.stem: sorted(macros_of(file).keys() - PORTABLE_MACROS) for file in MACROS} == {
        file.stem: [] for file in MACROS
    }


def test_a_macro_has_as_many_parameters_on_every_engine():
    parameters = {macro: {macros_of(file)[macro] for file in MACROS} for macro in PORTABLE_MACROS}
    assert {macro: found for macro, found in parameters.items() if len(found) != 1} == {}


def test_a_public_class_has_a_name_of_its_own():
    homes: dict[str, list[str]] = {}
    for file in sorted((ROOT / "pipeline").rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
