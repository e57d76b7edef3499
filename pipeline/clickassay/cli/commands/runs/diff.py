"""`clickassay diff`: what changed between two runs, and whether a nightly job has to alert somebody."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clickassay.cli.console import command_line, say, show, write_frame
from clickassay.cli.exit import ExitCode
from clickassay.cli.inputs import ProjectRuns, project_runs
from clickassay.cli.options import FORCE, Format, click_metric_names, metric_names
from clickassay.core.settings import PROJECT

if TYPE_CHECKING:
    from clickassay.api.studies.diff import DiffResult
    from clickassay.studies.runs_compared.numbers import DiffOptions
    from clickassay.studies.runs_compared.watch import Watch

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

    @property
    def watch(self) -> "Watch | None":
        """The same for the study; None where nothing is watched."""
        from clickassay.api.studies.diff import watch_of

        return watch_of(self.fail_above, beyond_noise=self.beyond_noise)


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
    from clickassay.api.studies.diff import DiffResult

    run_a, run_b = _compared(before, now, runs)
    if output.out is not None:
        from clickassay.studies.runs_compared.report import check_comparison_place

        check_comparison_place(output.out, (run_a, run_b), force=output.force)
    found = DiffResult.of(run_a, run_b, only.choice, alert.watch)
    page = None
    if output.out is not None:
        page = found.write(output.out, force=output.force, command=command_line())
    _show(found, form)
    if page is not None:
        say(f"Page: {page}", stderr=form.for_programs)
    if found.is_finding:
        raise typer.Exit(ExitCode.FINDING)


def _show(found: "DiffResult", form: Format) -> None:
    """Print the changes; for a program its numbers, and what is said of them on stderr."""
    if not form.for_programs:
        show(found.changes())
        say("All numbers: --csv or --json; as a page: --out FILE.html")
        show(found.findings())
        return
    from clickassay.studies.runs_compared.words import uneven_words

    write_frame(found.numbers, csv=form.csv)
    if found.watch is not None:
        uneven = uneven_words(found.comparison.sizes)
        say(*map(str, found.findings()), *filter(None, [uneven]), stderr=True)


def _compared(before: Path | None, now: Path | None, runs: ProjectRuns) -> tuple[Path, Path]:
    """Return the two runs: those that were named, else the last two of the project."""
    if before is None:
        first, second = runs.last(2, "RUN_A")
        return first, second
    return before, now or runs.last(1, "RUN_B")[0]
