"""`clickassay run` and `clickassay report`: logs, or a stored pattern table, to the report of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clickassay.cli.console import command_line, say
from clickassay.cli.options import (
    BATCH,
    BESIDE,
    CLICK_MODELS,
    CONFLICTS,
    DEPTH,
    ENGINE,
    FOLDS,
    FORCE,
    IDLE_MINUTES,
    IDLE_SCOPE,
    ITERATIONS,
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
from clickassay.cli.progress import shown_progress

if TYPE_CHECKING:
    from clickassay.jobs.run import Finished


Searches = Annotated[str, typer.Option(help="Searches: a file, folder or glob (Parquet, CSV or JSON lines).")]
Clicks = Annotated[str, typer.Option(help="Clicks: a file, folder or glob.")]
JudgmentsPath = Annotated[str, typer.Option("--judgments", help="Judgments: a file, folder or glob.")]
QueriesPath = Annotated[
    str | None, typer.Option("--queries", help="Query attributes to split by: a file, folder or glob.")
]


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
    from clickassay.jobs.run import make_run

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
    from clickassay.jobs.run import make_report

    chosen = chosen_settings(settings, locals())
    with shown_progress(quiet=quiet) as progress:
        finished = make_report(
            patterns, judgments, queries, out, chosen, command=command_line(), force=force, progress=progress
        )
    _tell_findings(out, finished)


def _tell_findings(out: Path, finished: "Finished") -> None:
    say(f"Report: {out / 'report.html'}")
    if finished.undecided:
        say(*finished.undecided)
        raise typer.Exit(1)
    for number, finding in enumerate(finished.findings, start=1):
        say(f"{number}. {finding}")
