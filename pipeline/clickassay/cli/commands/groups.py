"""`clickassay groups`: which queries are near-duplicates, as a column of the table of queries."""

from pathlib import Path
from typing import Annotated

import typer

from clickassay.cli.console import say, write_json
from clickassay.cli.inputs import Given, inputs_of
from clickassay.cli.options import JSON, QUIET
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import settings_of
from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings
from clickassay.core.text.words import count, plural


def groups(
    inputs: Annotated[Given, inputs_of("judgments", "queries")],
    out: Annotated[Path, typer.Option(metavar="FILE.parquet", help="New file for the table of queries.")],
    settings: Annotated[Settings, settings_of("column", "max_markets")],
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Find near-duplicate queries, and write them as groups.

    Near-duplicates share at least 60% of their judged results, out of three or more; a group contains every
    near-duplicate of its queries. Intervals of a run treat a group as one unit.

    Example:

        clickassay groups --judgments grades.csv --queries queries.csv --out queries-grouped.parquet
    """
    if out.suffix != ".parquet":
        raise SettingsError(
            f"--out {out}: the table is written as Parquet; give a name that ends in .parquet"
        )
    from clickassay.core.files.output import published_file
    from clickassay.core.files.tables import write_table
    from clickassay.jobs.inputs import grouped_queries

    with shown_progress(quiet=quiet) as progress, published_file(out) as file:
        table = grouped_queries(inputs.needing("judgments"), settings, progress)
        write_table(table, file)
    named, n_queries = table["group"].drop_nulls(), table["query"].n_unique()
    if json:
        found = {"queries": n_queries, "near_duplicates": len(named), "groups": named.n_unique()}
        write_json({"file": str(out), **found})
        return
    say(
        f"{count(len(named))} of {plural(n_queries, 'query', 'queries')} are near-duplicates, "
        f"in {plural(named.n_unique(), 'group')}: {out}",
        f"Next: clickassay run … --queries {out}",
    )
