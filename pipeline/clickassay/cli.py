"""The command line: options, progress, exit codes. No maths, no SQL.

Exit codes: 0 fine, 1 a finding, 2 something the user can mend (one line on stderr says what).
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from clickassay import __version__
from clickassay.cli_audit import audit
from clickassay.cli_clicks import clicks as click_models
from clickassay.cli_diff import diff
from clickassay.cli_evaluate import evaluate
from clickassay.cli_exit import end_on_sigterm, keep_memory, printable, run_command, write_anything
from clickassay.cli_explore import explore
from clickassay.cli_import import imports
from clickassay.cli_inspect import inspect
from clickassay.cli_label_plan import estimate, plan
from clickassay.cli_learn import learn
from clickassay.cli_options import (
    BATCH,
    BESIDE,
    CLICK_MODELS,
    CONFLICTS,
    CSV,
    DEPTH,
    ENGINE,
    FOLDS,
    FORCE,
    IDLE_MINUTES,
    IDLE_SCOPE,
    ITERATIONS,
    JSON,
    MAX_GRADE,
    MAX_REJECTED,
    MEMORY_LIMIT,
    METRIC,
    MIN_USERS,
    NORMALISE_URLS,
    ONLY_JUDGED,
    OUT,
    PERSISTENCE,
    POOL,
    QUIET,
    RELEVANT_GRADE,
    SCALE,
    SEED,
    SETTINGS,
    SPARK_CONF,
    SPARK_MASTER,
    SPARK_REMOTE,
    SPARK_STAGING,
    SUCCESS_GRADE,
    THREADS,
    UNJUDGED,
    chosen_settings,
)
from clickassay.cli_power import power
from clickassay.cli_progress import shown_progress
from clickassay.cli_said import command_line
from clickassay.cli_sql import sql as written_sql
from clickassay.cli_store import patterns, stores
from clickassay.errors import SettingsError

if TYPE_CHECKING:
    from clickassay.run import Finished

app = typer.Typer(
    name="clickassay",
    help="Does your offline metric tell what users feel? From raw click logs to an honest answer.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(imports, name="import")
app.add_typer(stores, name="store")
app.add_typer(click_models, name="clicks")

_OUT = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)


def main() -> None:
    """Run the command line; what a user can mend becomes one line and exit code 2."""
    keep_memory()
    write_anything()
    end_on_sigterm()
    sys.exit(run_command(app))


def _show_version(wanted: bool) -> None:
    if wanted:
        _say(f"clickassay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool | None,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = None,
) -> None:
    """Check offline search metrics against what users click."""


Searches = Annotated[str, typer.Option(help="Searches: a file, folder or glob (Parquet, CSV or JSON lines).")]
Clicks = Annotated[str, typer.Option(help="Clicks: a file, folder or glob.")]
JudgmentsPath = Annotated[str, typer.Option("--judgments", help="Judgments: a file, folder or glob.")]
QueriesPath = Annotated[
    str | None, typer.Option("--queries", help="Query attributes to split by: a file, folder or glob.")
]


@app.command()
def run(
    searches: Searches,
    clicks: Clicks,
    judgments: JudgmentsPath,
    out: OUT,
    queries: QueriesPath = None,
    only_judged: ONLY_JUDGED = None,
    depth: DEPTH = None,
    idle_minutes: IDLE_MINUTES = None,
    idle_scope: IDLE_SCOPE = None,
    normalise_urls: NORMALISE_URLS = None,
    max_rejected: MAX_REJECTED = None,
    batch: BATCH = None,
    max_grade: MAX_GRADE = None,
    scale: SCALE = None,
    relevant_grade: RELEVANT_GRADE = None,
    success_grade: SUCCESS_GRADE = None,
    persistence: PERSISTENCE = None,
    metric: METRIC = None,
    unjudged: UNJUDGED = None,
    click_models: CLICK_MODELS = None,
    pool: POOL = None,
    conflicts: CONFLICTS = None,
    iterations: ITERATIONS = None,
    min_users: MIN_USERS = None,
    beside: BESIDE = None,
    folds: FOLDS = None,
    seed: SEED = None,
    threads: THREADS = None,
    memory_limit: MEMORY_LIMIT = None,
    engine: ENGINE = None,
    spark_master: SPARK_MASTER = None,
    spark_remote: SPARK_REMOTE = None,
    spark_conf: SPARK_CONF = None,
    spark_staging: SPARK_STAGING = None,
    settings: SETTINGS = None,
    force: FORCE = False,
    quiet: QUIET = False,
) -> None:
    """Do the whole job: logs and judgments to a report.

    Exit code 1 if too little is judged for any correlation: it says what to judge first.

    Example:

        clickassay run --searches logs/searches --clicks logs/clicks --judgments grades.csv --out reports/june
    """
    from clickassay.run import make_run  # noqa: PLC0415 - keeps --help fast

    chosen = chosen_settings(settings, locals())
    with shown_progress(quiet=quiet) as progress:
        finished = make_run(
            searches,
            clicks,
            judgments,
            queries,
            out,
            chosen,
            command=command_line(),
            force=force,
            progress=progress,
        )
    _tell_findings(out, finished)


app.command()(inspect)
app.command()(patterns)
app.command("sql")(written_sql)
app.command()(power)
app.command()(evaluate)
app.command()(learn)
app.command()(audit)
app.command()(plan)
app.command()(estimate)
app.command()(diff)
app.command()(explore)


@app.command()
def report(
    patterns: Annotated[Path, typer.Option(help="Folder or store that `clickassay patterns` made.")],
    judgments: JudgmentsPath,
    out: OUT,
    queries: QueriesPath = None,
    depth: DEPTH = None,
    max_rejected: MAX_REJECTED = None,
    max_grade: MAX_GRADE = None,
    scale: SCALE = None,
    relevant_grade: RELEVANT_GRADE = None,
    success_grade: SUCCESS_GRADE = None,
    persistence: PERSISTENCE = None,
    metric: METRIC = None,
    unjudged: UNJUDGED = None,
    click_models: CLICK_MODELS = None,
    pool: POOL = None,
    conflicts: CONFLICTS = None,
    iterations: ITERATIONS = None,
    min_users: MIN_USERS = None,
    beside: BESIDE = None,
    seed: SEED = None,
    settings: SETTINGS = None,
    force: FORCE = False,
    quiet: QUIET = False,
) -> None:
    """Second half of `run`: a stored pattern table and judgments to a report, in seconds.

    Exit code 1 if too little is judged for any correlation: it says what to judge first.

    Example:

        clickassay report --patterns june-patterns --judgments grades.csv --relevant-grade 2 --out june-2
    """
    from clickassay.run import make_report  # noqa: PLC0415

    chosen = chosen_settings(settings, locals())
    with shown_progress(quiet=quiet) as progress:
        finished = make_report(
            patterns, judgments, queries, out, chosen, command=command_line(), force=force, progress=progress
        )
    _tell_findings(out, finished)


@app.command()
def simulate(
    searches: Annotated[int, typer.Option(help="Number of searches to write.")],
    out: OUT,
    world: Annotated[str, typer.Option(help="web, cascade, rbp, dcg, rr or null.")] = "web",
    queries: Annotated[
        int | None, typer.Option(help="Distinct queries; by default grows with the searches.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.")] = 0,
    gain_map: Annotated[
        str | None,
        typer.Option(help="World cascade: chances that grades 0 to 4 satisfy, e.g. 0,0.1,0.35,0.4,0.8."),
    ] = None,
    quiet: QUIET = False,
) -> None:
    """Write a log from a planted user model, with the truth beside it.

    Example:

        clickassay simulate --world cascade --searches 2000000 --queries 1000 --seed 1 --out cascade
    """
    from clickassay.simulate import simulate as write_world  # noqa: PLC0415

    with shown_progress(quiet=quiet) as progress:
        write_world(
            world,
            searches=searches,
            queries=queries,
            seed=seed,
            gain_map=_gain_map(gain_map),
            out=out,
            progress=progress,
        )
    _say(f"Simulated log: {out}")


def _gain_map(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(
            f"--gain-map {text!r}: expected numbers with commas, e.g. 0,0.1,0.35,0.4,0.8"
        ) from None


@app.command()
def query(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or its run.duckdb.")],
    sql: Annotated[str | None, typer.Argument(metavar="SQL", help="A SELECT over the run's tables.")] = None,
    name: Annotated[str | None, typer.Option(help="A ready question; `--list` shows them.")] = None,
    list_questions: Annotated[bool, typer.Option("--list", help="List the ready questions.")] = False,
    csv: CSV = False,
    json: JSON = False,
) -> None:
    """Ask a run a question in SQL.

    Examples
    --------
        clickassay query reports/june "SELECT * FROM statistics"

        clickassay query reports/june --name worst_disagreements --csv
    """
    from clickassay.cli_query import answer, list_all  # noqa: PLC0415

    if list_questions:
        list_all(_OUT)
    else:
        answer(_OUT, run_folder, sql, name, as_csv=csv, as_json=json)


def _say(text: str) -> None:
    _OUT.print(printable(text))


def _tell_findings(out: Path, finished: "Finished") -> None:
    _say(f"Report: {out / 'report.html'}")
    if finished.undecided:
        _say("\n".join(finished.undecided))
        raise typer.Exit(1)
    for number, finding in enumerate(finished.findings, start=1):
        _say(f"{number}. {finding}")


if __name__ == "__main__":
    main()
