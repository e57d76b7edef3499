"""`clickassay sql`: the SQL of logs to a pattern table, for those who run it in a scheduler of their own."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from clickassay.cli_options import (
    DEPTH,
    FOLDS,
    IDLE_MINUTES,
    IDLE_SCOPE,
    NORMALISE_URLS,
    SETTINGS,
    chosen_settings,
)
from clickassay.errors import SettingsError


class DialectName(StrEnum):
    """Whose SQL is written."""

    spark = "spark"
    duckdb = "duckdb"


class ClickTarget(StrEnum):
    """What a click names."""

    url = "url"
    position = "position"


def sql(  # noqa: PLR0913, PLR0917 - one parameter for each option
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
    from clickassay.log_written import WrittenLog, written_script  # noqa: PLC0415 - keeps --help fast

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
