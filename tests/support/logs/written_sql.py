"""Scripts of `clickassay sql` for tests: printed, edited as their readers would, and run."""

import re
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from clickassay.logs.script.write import ScriptLog, write_script
from clickassay.patterns.folders.table_folder import FOLDER_TABLES, OWN_TABLES
from support.logs import tiny

IN_MS = "CAST(timestamp AS BIGINT) AS timestamp"


def printed(*options):
    """Return what the command prints; hold that it succeeds."""
    return tiny.said_by("sql", *options)


def of_log(log, out, *options):
    """Return the script of a tiny log, which has neither markets nor pages."""
    places = ("--searches", log.searches, "--clicks", log.clicks, "--out", out)
    return printed("--dialect", "duckdb", *places, "--no-market", "--no-page", *options)


def statements(script):
    """Return the statements of a script, cut as a simple tool cuts: at semicolons that end a line."""
    pieces = re.split(r";$", script, flags=re.MULTILINE)
    bare = (re.sub(r"^--.*\n?", "", piece, flags=re.MULTILINE).strip() for piece in pieces)
    return [statement for statement in bare if statement]


def run_on_duckdb(script):
    """Run a script on a plain connection, which knows nothing of clickassay."""
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute(script)


def run_past_errors(script):
    """Run a script as a tool does that goes on after errors; return its error messages."""
    told = []
    with duckdb.connect(config={"threads": 2}) as connection:
        for statement in connection.extract_statements(script):
            try:
                connection.execute(statement)
            except duckdb.Error as error:
                told.append(str(error))
    return told


def script_for(dialect, paths, out, settings, **more):
    """Return the script for a log in Parquet files, its views edited to the columns that there are."""
    schemas = {half: schema_of(paths[half]) for half in ("searches", "clicks")}
    log = ScriptLog(
        str(paths["searches"]),
        str(paths["clicks"]),
        str(out),
        by_url="url" in schemas["clicks"].names,
        has_market="market" in schemas["searches"].names,
        has_page="page" in schemas["searches"].names,
        **more,
    )
    script = write_script(dialect, log, settings)
    for half, schema in schemas.items():
        if str(schema.field("timestamp").type) == "int64":
            script = edited(script, half, r"(epoch_ms|unix_millis)\(timestamp\) AS timestamp", IN_MS)
    return script


def edited(script, half, pattern, replacement):
    """Edit a line of the view of one half of the log, as its comments say."""
    parts = re.split(rf"(CREATE OR REPLACE TEMP\w* VIEW {half}_log AS\n.*?;\n)", script, flags=re.DOTALL)
    before, view, rest = parts
    assert len(re.findall(pattern, view)) == 1
    return before + re.sub(pattern, replacement, view) + rest


def schema_of(path):
    """Return the schema of a Parquet file, or of a file of a folder."""
    path = Path(path)
    return pq.read_schema(next(path.glob("*.parquet")) if path.is_dir() else path)


def differing(one, other):
    """Return the names of the tables that differ between two pattern tables, or that one of them has."""
    found, expected = map(in_form, (one, other))
    return [
        name
        for name in found | expected
        if name not in found or name not in expected or not found[name].equals(expected[name])
    ]


def in_form(table):
    """Return the tables that a pattern table has, in the form of their contracts."""
    forms = (FOLDER_TABLES | OWN_TABLES).items()
    return {
        name: form.canonical(getattr(table, name)) for name, form in forms if getattr(table, name) is not None
    }
