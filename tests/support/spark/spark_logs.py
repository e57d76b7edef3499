"""A log on several engines: what the default one leaves, and what another leaves, byte for byte."""

from pathlib import Path

from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import make_patterns

ENGINES = ("arrays", "duckdb", "spark")
"""The default first: what it leaves is what the others must leave."""

TABLES = ("configurations", "patterns", "shown", "queries", "funnel")


def made_by(engine, searches, clicks, out, *, judgments=None, file=None, **settings):
    """Make the pattern table of a log on an engine; return its folder.

    Tests that name ``spark`` here ask for the fixture of that name first, so that all share one session.
    """
    options = load_settings(file, engine=engine, **settings)
    given = None if judgments is None else str(judgments)
    return make_patterns(Sources(str(searches), str(clicks), judgments=given), Path(out), options)


def both_engines(searches, clicks, out, *, other, **more):
    """Make the pattern table of a log on the default engine and on another; return both folders."""
    return tuple(
        made_by(engine, searches, clicks, Path(out) / engine, **more) for engine in (ENGINES[0], other)
    )


def differing_tables(one, other):
    """Return the names of the tables whose files differ in a byte."""
    files = {name: f"{name}.parquet" for name in TABLES}
    return [name for name, file in files.items() if (one / file).read_bytes() != (other / file).read_bytes()]
