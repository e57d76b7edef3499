"""`clickassay patterns`, `store` and `sql`: logs to a pattern table, to a store that grows, as a script."""

import shlex
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from clickassay.cli.console import say, show
from clickassay.cli.options import (
    BATCH,
    DEPTH,
    DRY_RUN,
    ENGINE,
    FOLDS,
    FORCE,
    IDLE_MINUTES,
    IDLE_SCOPE,
    LATE_MINUTES,
    MAX_REJECTED,
    MEMORY_LIMIT,
    NORMALISE_URLS,
    ONLY_JUDGED,
    QUIET,
    SETTINGS,
    SPARK_CONF,
    SPARK_MASTER,
    SPARK_REMOTE,
    SPARK_STAGING,
    THREADS,
    chosen_settings,
)
from clickassay.cli.progress import shown_progress
from clickassay.core.errors import SettingsError
from clickassay.core.escape import terminal
from clickassay.core.progress import Event

if TYPE_CHECKING:
    from clickassay.logs.batches.estimate import RunPlan


stores = typer.Typer(help="Look at a pattern store, check it, drop batches.", no_args_is_help=True)


StoreFolder = Annotated[Path, typer.Argument(metavar="STORE", help="Folder of `patterns --store`.")]


def patterns(
    searches: Annotated[str, typer.Option(help="Searches: a file, folder or glob.")],
    clicks: Annotated[str, typer.Option(help="Clicks: a file, folder or glob.")],
    out: Annotated[str | None, typer.Option(help="Folder to write; appears whole or not at all.")] = None,
    store: Annotated[
        str | None, typer.Option(help="Instead of --out: a store; only what it lacks is read.")
    ] = None,
    only_judged: ONLY_JUDGED = None,
    judgments: Annotated[
        str | None, typer.Option(help="With --only-judged: a file, folder or glob of judgments.")
    ] = None,
    depth: DEPTH = None,
    idle_minutes: IDLE_MINUTES = None,
    idle_scope: IDLE_SCOPE = None,
    normalise_urls: NORMALISE_URLS = None,
    max_rejected: MAX_REJECTED = None,
    batch: BATCH = None,
    late_minutes: LATE_MINUTES = None,
    folds: FOLDS = None,
    threads: THREADS = None,
    memory_limit: MEMORY_LIMIT = None,
    engine: ENGINE = None,
    spark_master: SPARK_MASTER = None,
    spark_remote: SPARK_REMOTE = None,
    spark_conf: SPARK_CONF = None,
    spark_staging: SPARK_STAGING = None,
    settings: SETTINGS = None,
    force: FORCE = False,
    dry_run: DRY_RUN = False,
    quiet: QUIET = False,
) -> None:
    """First half of `run`: logs to a pattern table, the small sufficient statistic of the whole log.

    Examples
    --------
        clickassay patterns --searches logs/searches --clicks logs/clicks --out june-patterns

        clickassay patterns --searches logs/searches --clicks logs/clicks --store patterns-store

        clickassay patterns --searches logs/searches --clicks logs/clicks --out p --only-judged --judgments j

        clickassay patterns --searches logs/searches --clicks logs/clicks --store patterns-store --dry-run
    """
    from clickassay.jobs.dry_run import plan_store, plan_table
    from clickassay.jobs.patterns import make_patterns
    from clickassay.jobs.stores import grow_store

    if (out is None) == (store is None):
        raise typer.BadParameter("give either --out or --store")
    chosen = chosen_settings(settings, locals())
    if judgments is not None and not chosen.only_judged:
        raise SettingsError("--judgments is used with --only-judged only; add it, or leave --judgments out")
    if dry_run and chosen.engine == "spark":
        raise SettingsError("--dry-run tells what the embedded engine would need; leave out --engine spark")
    if dry_run:
        with shown_progress(quiet=quiet) as progress:
            progress(Event("looking at the log"))
            if store is not None:
                plan = plan_store(searches, clicks, Path(store), chosen, judgments=judgments)
            elif out is not None:
                plan = plan_table(searches, clicks, Path(out), chosen, judgments=judgments, force=force)
        _tell_plan(plan)
        return
    with shown_progress(quiet=quiet) as progress:
        if store is not None:
            grown = grow_store(searches, clicks, store, chosen, judgments=judgments, progress=progress)
            told = (
                f"Pattern store: {store}: {grown.batches} batches added; {grown.known_files} files were in it"
            )
        elif out is not None:
            make_patterns(searches, clicks, out, chosen, judgments=judgments, force=force, progress=progress)
            told = f"Pattern table: {out}"
    place = shlex.quote(str(store or out))
    say(told, f"Next: clickassay report --patterns {place} --judgments … --out …")


def _tell_plan(plan: "RunPlan") -> None:
    names, rows = plan.table()
    _print_table(names, rows, right=names[1:])
    for name, text in plan.lines():
        say(f"{name:8} {text}")
    if (note := plan.note()) is not None:
        say(f"Note: {note}")
    say("Nothing was written.")


@stores.command()
def info(store: StoreFolder) -> None:
    """Show the batches of a store.

    Example:

        clickassay store info patterns-store
    """
    from clickassay.jobs.stores import batch_rows

    names, rows = batch_rows(store)
    _print_table(names, rows)


@stores.command()
def verify(store: StoreFolder) -> None:
    """Compare every file of a store with the digest it was written with, and counts with their sums.

    Exit code 1 if something differs.

    Example:

        clickassay store verify patterns-store
    """
    from clickassay.patterns.store.store import PatternStore

    damage = PatternStore(store).damage()
    for fault in damage:
        say(fault)
    if damage:
        say(
            f"Undo from the first broken batch on: clickassay store forget {shlex.quote(str(store))} --from …"
        )
        raise typer.Exit(1)
    say(f"{store}: every file is as it was written, and the counts add up")


@stores.command()
def forget(
    store: StoreFolder,
    first: Annotated[
        int | None, typer.Option("--from", min=1, help="Undo this batch and all later ones.")
    ] = None,
    before: Annotated[
        int | None, typer.Option(min=2, help="Drop the sessions of all batches before this one.")
    ] = None,
) -> None:
    """Drop batches: the last ones to make them again, or the first ones for good.

    Examples
    --------
        clickassay store forget patterns-store --from 12

        clickassay store forget patterns-store --before 3
    """
    from clickassay.patterns.store.store import PatternStore

    if (first is None) == (before is None):
        raise typer.BadParameter("give either --from or --before")
    kept = PatternStore(store)
    with kept.locked():
        dropped = kept.forget_from(first) if first is not None else kept.forget_before(before or 0)
    say(f"{store}: {dropped} batches dropped")


def _print_table(names: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    table = Table()
    for name in names:
        table.add_column(name, justify="right" if name in right else "left")
    for row in rows:
        table.add_row(*(Text(terminal(cell)) for cell in row))
    show(table)


class DialectName(StrEnum):
    """Whose SQL is written."""

    spark = "spark"
    duckdb = "duckdb"


class ClickTarget(StrEnum):
    """What a click names."""

    url = "url"
    position = "position"


def sql(
    dialect: Annotated[DialectName, typer.Option(help="Whose SQL: spark (extra [spark]) or duckdb.")],
    searches: Annotated[
        str, typer.Option(help="A table, or Parquet: a path, glob or URI (with a slash, or .parquet).")
    ] = "logs.searches",
    clicks: Annotated[str, typer.Option(help="The same of clicks.")] = "logs.clicks",
    out: Annotated[
        str, typer.Option(help="Folder, or URI for Spark, that the script writes its result into.")
    ] = "patterns",
    work: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Where tables between steps lie (Spark: on storage of all workers) or spill (DuckDB). "
            "[default: --out for Spark]",
        ),
    ] = None,
    clicks_by: Annotated[ClickTarget, typer.Option(help="What a click names.")] = ClickTarget.url,
    market: Annotated[bool, typer.Option(help="Whether searches have a column market.")] = True,
    page: Annotated[bool, typer.Option(help="Whether searches have a column page.")] = True,
    depth: DEPTH = None,
    idle_minutes: IDLE_MINUTES = None,
    idle_scope: IDLE_SCOPE = None,
    normalise_urls: NORMALISE_URLS = None,
    folds: FOLDS = None,
    settings: SETTINGS = None,
) -> None:
    """Print the SQL that turns logs into a pattern table, commented, to run where the logs are.

    Edit its two views where your columns have other names; `clickassay report --patterns` takes the result.

    Examples
    --------
        clickassay sql --dialect spark --searches logs.searches --clicks logs.clicks --out s3a://lab/june

        clickassay sql --dialect duckdb --searches log/s --clicks log/c --out june | duckdb -bail
    """
    from clickassay.logs.script.write import WrittenLog, written_script

    chosen = chosen_settings(settings, locals())
    if chosen.only_judged:
        raise SettingsError("only_judged cannot be written as SQL; leave it out of the settings file")
    log = WrittenLog(
        searches,
        clicks,
        out,
        work,
        by_url=clicks_by is ClickTarget.url,
        has_market=market,
        has_page=page,
    )
    sys.stdout.write(written_script(dialect.value, log, chosen))
