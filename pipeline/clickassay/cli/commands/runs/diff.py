"""`clickassay diff`: what changed between two runs, and whether a nightly job has to alert somebody."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clickassay.cli.console import command_line, say, write_frame
from clickassay.cli.exit import ExitCode
from clickassay.cli.inputs import ProjectRuns, project_runs
from clickassay.cli.options import FORCE, Format, click_metric_names, metric_names
from clickassay.core.errors import SettingsError
from clickassay.core.settings import PROJECT

if TYPE_CHECKING:
    import polars as pl

    from clickassay.studies.runs_compared.compare import RunComparison
    from clickassay.studies.runs_compared.numbers import DiffOptions
    from clickassay.studies.runs_compared.watch import Watch

MOST_FINDINGS = 5
"""Findings that are spelled out."""

RunFolder = Annotated[
    Path | None,
    typer.Argument(
        metavar="RUN_A",
        help=f"The run before, or to compare with. [default: the last but one of {PROJECT}]",
    ),
]
OtherFolder = Annotated[
    Path | None,
    typer.Argument(metavar="RUN_B", help=f"The run now. [default: the last run of {PROJECT}]"),
]


@dataclass(frozen=True)
class Only:
    """Which numbers are compared."""

    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="Only this editorial metric; repeat it for several.",
            autocompletion=metric_names,
        ),
    ] = None
    click_metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this click metric; repeat it for several.",
            autocompletion=click_metric_names,
        ),
    ] = None
    depth: Annotated[
        list[int] | None, typer.Option(metavar="K", help="Only this cut k; repeat it for several.")
    ] = None
    market: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this market; repeat it for several.")
    ] = None
    judge: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this judge; repeat it for several.")
    ] = None
    splits: Annotated[bool, typer.Option("--splits", help="Also by classes of queries.")] = False

    @property
    def choice(self) -> "DiffOptions":
        """The same for the study."""
        from clickassay.studies.runs_compared.numbers import DiffOptions

        return DiffOptions(
            metrics=tuple(self.metric or ()),
            click_metrics=tuple(self.click_metric or ()),
            depths=tuple(self.depth or ()),
            markets=tuple(self.market or ()),
            judges=tuple(self.judge or ()),
            splits=self.splits,
        )


@dataclass(frozen=True)
class Alert:
    """What makes a difference a finding."""

    fail_above: Annotated[
        float | None,
        typer.Option(help="Exit code 1 when a correlation changed by more than this, or is gone from B."),
    ] = None
    beyond_noise: Annotated[
        bool, typer.Option("--beyond-noise", help="With --fail-above: not for changes within noise.")
    ] = False

    def __post_init__(self) -> None:
        """Refuse what no change can be above."""
        if self.fail_above is not None and not 0 < self.fail_above <= 2:
            raise SettingsError(
                f"--fail-above {self.fail_above}: expected a number above 0, at most 2, e.g. 0.05"
            )
        if self.beyond_noise and self.fail_above is None:
            raise SettingsError(
                "--beyond-noise is used with --fail-above only; add it, e.g. --fail-above 0.05"
            )

    @property
    def watch(self) -> "Watch | None":
        """The same for the study; None where nothing is watched."""
        from clickassay.studies.runs_compared.watch import Watch

        return None if self.fail_above is None else Watch(self.fail_above, self.beyond_noise)


@dataclass(frozen=True)
class PageOut:
    """Where the page is written, if anywhere."""

    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for a page with its tables, or FILE.html for the page alone; whole or not."
        ),
    ] = None
    force: FORCE = False


def diff(
    only: Only,
    alert: Alert,
    form: Format,
    output: PageOut,
    runs: Annotated[ProjectRuns, project_runs()],
    before: RunFolder = None,
    now: OtherFolder = None,
) -> None:
    """Show what changed between two runs, and whether a change is within noise.

    Means of metrics and clicks first, then correlations. Exit code 1 with --fail-above if a correlation
    changed by more.

    Examples
    --------
        clickassay diff reports/june reports/july

        clickassay diff reports/june reports/july --metric ERR --click-metric MeanRR --fail-above 0.05
        --beyond-noise

        clickassay diff reports/june reports/july --out june-july.html

        clickassay diff
    """
    from clickassay.studies.runs_compared.compare import compare_runs
    from clickassay.studies.runs_compared.watch import check_watch, flag_findings
    from clickassay.studies.runs_compared.words import uneven_words

    run_a, run_b = _compared(before, now, runs)
    if output.out is not None:
        from clickassay.studies.runs_compared.report.page import check_comparison_place

        check_comparison_place(output.out, (run_a, run_b), force=output.force)
    comparison, watch = compare_runs(run_a, run_b, only.choice), alert.watch
    if watch is not None:
        check_watch(comparison.numbers, watch, only.choice)
    numbers = flag_findings(comparison.numbers, watch)
    page = _write_page(comparison, output)
    if form.for_programs:
        write_frame(numbers, csv=form.csv)
    else:
        from clickassay.cli.changes import show_changes

        show_changes(comparison)
    if watch is not None:
        _show_findings(numbers, watch, stderr=form.for_programs)
        if form.for_programs and (uneven := uneven_words(comparison.sizes)):
            say(uneven, stderr=True)
    if page is not None:
        say(f"Page: {page}", stderr=form.for_programs)
    if numbers["finding"].any():
        raise typer.Exit(ExitCode.FINDING)


def _compared(before: Path | None, now: Path | None, runs: ProjectRuns) -> tuple[Path, Path]:
    """Return the two runs: those that were named, else the last two of the project."""
    if before is None:
        first, second = runs.last(2, "RUN_A")
        return first, second
    return before, now or runs.last(1, "RUN_B")[0]


def _write_page(comparison: "RunComparison", output: PageOut) -> Path | None:
    if output.out is None:
        return None
    from clickassay.studies.runs_compared.report.page import build_comparison, write_comparison

    return write_comparison(build_comparison(comparison, command_line()), output.out, force=output.force)


def _show_findings(numbers: "pl.DataFrame", watch: "Watch", *, stderr: bool) -> None:
    """Show the findings: below the tables, or on stderr where stdout is for a program."""
    import polars as pl

    from clickassay.studies.runs_compared.numbers import BEYOND
    from clickassay.studies.runs_compared.read import ONLY_A
    from clickassay.studies.runs_compared.words import alone_words, change_words, not_computed

    numbers, above = numbers.filter(watch.watched), watch.above
    findings, height = numbers.filter("finding"), numbers.filter(pl.col("a").is_not_null()).height
    if findings.is_empty():
        say(
            f"No finding: none of {height:,} correlations is gone or changed by more than {above:g}.",
            stderr=stderr,
        )
        return
    say(
        f"{findings.height:,} of {height:,} correlations are gone or changed by more than {above:g}:",
        stderr=stderr,
    )
    gone = alone_words(numbers, ONLY_A)
    each = findings.filter(~not_computed(ONLY_A)).sort(
        pl.col("status") != BEYOND,
        pl.col("change").abs(),
        descending=[False, True],
        nulls_last=False,
        maintain_order=True,
    )
    changes = [change_words(row) for row in each.head(MOST_FINDINGS).iter_rows(named=True)]
    say(*(f"FINDING {words}" for words in (*([gone] if gone else []), *changes)), stderr=stderr)
    if each.height > MOST_FINDINGS:
        say(f"and {each.height - MOST_FINDINGS:,} more; --csv gives all", stderr=stderr)
