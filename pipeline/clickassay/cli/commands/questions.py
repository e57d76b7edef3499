"""Questions about finished runs: `clickassay diff`, `check`, `power`, `audit` and `learn`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from clickassay.api import questions
from clickassay.cli.console import conclude, say, show, write_frame, write_json
from clickassay.cli.exit import ExitCode, command_line
from clickassay.cli.inputs import Given as Inputs
from clickassay.cli.inputs import ProjectRuns, inputs_of, project_runs
from clickassay.cli.options import FORCE, JSON, OF_STORE, QUIET, Format, TablesOut, asked, options_of
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import settings_of
from clickassay.core.errors import SettingsError
from clickassay.core.settings import PROJECT, Settings

Given = dict[str, Any]

LAST = "{last}"
"""In rules of a project: the run before the one that is checked."""


def diff(
    *,
    given: Annotated[Given, options_of(questions.diff)],
    form: Format,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for a page with tables, or FILE.html for the page alone (written atomically)."
        ),
    ] = None,
    force: FORCE = False,
    runs: Annotated[ProjectRuns, project_runs()],
    before: Annotated[
        Path | None,
        typer.Argument(metavar="RUN_A", help=f"The earlier run. [default: the last but one of {PROJECT}]"),
    ] = None,
    now: Annotated[
        Path | None,
        typer.Argument(metavar="RUN_B", help=f"The later run. [default: the last run of {PROJECT}]"),
    ] = None,
) -> None:
    """Show what changed between two runs, and whether a change is significant.

    Means of metrics and clicks come first, then correlations. With --fail-above, exit code 1 if a correlation
    changed by more.

    Examples
    --------
        clickassay diff reports/june reports/july

        clickassay diff reports/june reports/july --metric ERR --click-metric MeanRR --fail-above 0.05
        --beyond-noise

        clickassay diff reports/june reports/july --out june-july.html

        clickassay diff
    """
    if before is None:
        before, now = runs.last(2, "RUN_A")
    now = now or runs.last(1, "RUN_B")[0]
    if out is not None:
        from clickassay.studies.runs_compared.report import check_comparison_place

        check_comparison_place(out, (before, now), force=force)
    found = asked(questions.diff, given, before=before, now=now)
    page = None if out is None else found.write(out, force=force, command=command_line())
    if form.for_programs:
        write_frame(found.numbers, csv=form.csv)
        if found.watch is not None:
            from clickassay.studies.runs_compared.words import uneven_words

            uneven = uneven_words(found.comparison.sizes)
            say(*map(str, found.findings()), *filter(None, [uneven]), stderr=True)
    else:
        show(found.changes())
        say("All numbers: --csv or --json; as a page: --out FILE.html")
        show(found.findings())
    if page is not None:
        say(f"Page: {page}", stderr=form.for_programs)
    if found.is_finding:
        raise typer.Exit(ExitCode.FINDING)


def check(
    *,
    rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help='TOML with a list: rules = ["coverage >= 0.8", …].')
    ] = None,
    rule: Annotated[
        list[str] | None, typer.Option("--rule", metavar="TEXT", help="A rule; repeat for several.")
    ] = None,
    given: Annotated[Given, options_of(questions.check, but=("run",))],
    inputs: Annotated[Inputs, inputs_of("past_tests")],
    settings: Annotated[Settings, settings_of("column")],
    runs: Annotated[ProjectRuns, project_runs()],
    run_folder: Annotated[
        Path | None, typer.Argument(metavar="RUN", help=f"A run folder. [default: the last run of {PROJECT}]")
    ] = None,
    json: JSON = False,
) -> None:
    """Check a run against rules, and end with exit code 1 if one is broken.

    A rule about a correlation, a difference or a mean is broken only if its whole 95% CI breaks it.
    Examples of rules:

    `coverage >= 0.8`, `queries >= 500`, `health == "ok"`, `mean(ERR) >= 0.4`,
    `correlation(ERR, MeanRR) >= 0.3`, `difference(ERR, NDCG, MeanRR) >= 0`,
    `tests(NDCG) >= 0.6` (past A/B tests), `verdict(new_ranker) != "contradict"` (a test of the log),
    `preference(new_ranker) > 0` (an interleaved one), `not worse than reports/last`

    Without rules, here or in the project file: `health != "finding"` and `queries >= 50`.

    Examples
    --------
        clickassay check reports/today --rules rules.toml

        clickassay check reports/today --rule "not worse than reports/last in ERR, MeanRR"

        clickassay check
    """
    from clickassay.studies.runs_compared.gate.check import DEFAULT_RULES
    from clickassay.studies.runs_compared.gate.grammar import read_rules_file

    folder = run_folder or runs.last(1, "RUN")[0]
    of_project = () if runs.project is None else runs.project.rules
    texts = (*(() if rules is None else read_rules_file(rules)), *(rule or ())) or of_project or DEFAULT_RULES
    if any(LAST in text for text in texts):
        earlier = [run for run in runs.found if run.resolve() != folder.resolve() and run.name < folder.name]
        if not earlier:
            say(f"Note: rules with {LAST} were skipped: there is no run before {folder}", stderr=True)
        texts = tuple(
            text.replace(LAST, str(earlier[-1])) if earlier else text
            for text in texts
            if earlier or LAST not in text
        )
    past = {"past_tests": inputs.sources.get("past_tests"), "column": settings.column}
    found = asked(questions.check, given, run=folder, rules=texts, **past)
    write_json(found.facts) if json else show(found.parts())
    conclude(is_finding=not found.passed, stderr=json)


def power(given: Annotated[Given, options_of(questions.power)], json: JSON = False) -> None:
    """Compute how many judged queries and sessions it takes to detect a difference.

    The run serves as the pilot of this power analysis.

    Examples
    --------
        clickassay power reports/june --pair ERR,DCG --difference 0.05

        clickassay power reports/june --pair ERR,NDCG --click-metric UCTR --power 0.9 --comparisons 15

        clickassay power reports/june --question tests --difference 0.02
    """
    found = asked(questions.power, given)
    write_json(found.facts) if json else show(found.parts())


def audit(
    *,
    settings: Annotated[Settings, settings_of("max_grade", "relevant_grade", "persistence", success_grade=0)],
    sample: Annotated[Given, options_of(questions.audit, "market", "depth", "judge")],
    grades: Annotated[
        str | None,
        typer.Option(help="Instead of RUN: the grades of one ranking, top result first; - if not judged."),
    ] = None,
    others: Annotated[
        str, typer.Option(help="With --grades: grades of judged results outside the ranking.")
    ] = "",
    output: TablesOut,
    form: Format,
    given: Annotated[Given, options_of(questions.audit, "judgments", "click_metric", "value")],
    run_folder: Annotated[Path | None, typer.Argument(metavar="RUN", help="A run folder.")] = None,
    quiet: QUIET = False,
) -> None:
    """Explain why tools report different numbers for one metric, and whether a conclusion changes.

    A run has its own grades, relevance and persistence; options for these apply to --grades.

    Examples
    --------
        clickassay audit reports/june --judgments grades.csv

        clickassay audit reports/june --judgments grades.csv --click-metric UCTR --depth 10 --out june-audit

        clickassay audit --grades 3,-,4,0,1 --others 4,3,2,2,1,0 --value 0.46
    """
    if (run_folder is None) == (grades is None):
        raise SettingsError("give a run folder, or the grades of one ranking by --grades")
    if run_folder is None:
        if output.out is not None:
            raise SettingsError("--out needs a run; for one ranking, save the output of --csv")
        from clickassay.api.studies.audit import audit_grades
        from clickassay.studies.audit import read_grades

        one = {"depth": sample["depth"], "value": given["value"], "max_grade": settings.max_grade}
        listed = asked(
            audit_grades, one | {"relevant_grade": settings.relevant_grade},
            grades=read_grades("--grades", grades or ""),
            others=[grade for grade in read_grades("--others", others) if grade is not None],
            persistence=settings.persistence,
        )  # fmt: skip
        write_frame(listed.table, csv=form.csv) if form.for_programs else show(listed.parts())
        return
    output.check(run_folder)
    with shown_progress(quiet=quiet) as progress:
        found = asked(questions.audit, sample | given, run=run_folder, progress=progress)
        output.write(found)
    if form.for_programs:
        write_frame(found.shown, csv=form.csv)
        return
    show(found.parts())
    output.tell("Tables")


def experiments(
    *,
    inputs: Annotated[Inputs, inputs_of("past_tests", metavar="TESTS")],
    more: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Runs, and further sheets, to join."), OF_STORE
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="TEST", help="Show one A/B test of the run in full.")
    ] = None,
    settings: Annotated[Settings, settings_of("column", "current")],
    given: Annotated[Given, options_of(questions.experiments)],
    output: TablesOut,
    form: Format,
    quiet: QUIET = False,
) -> None:
    """Learn from past A/B tests whether an offline metric tells better changes from worse.

    A row for each test: experiment, difference and error (or ci_low and ci_high, or p_value) of what users
    did, and the difference of each offline metric; group: tests of one idea. Instead of a sheet, or beside
    it: runs whose logs have A/B tests. --out also writes a report.

    Examples
    --------
        clickassay experiments past_tests.csv --current NDCG

        clickassay experiments past_tests.csv --column past_tests.difference=purchases --out past-tests

        clickassay experiments past_tests.csv reports/june reports/july

        clickassay experiments reports/june --name new_ranker
    """
    sources = [inputs.needed("past_tests"), *(more or ())]
    if name is not None:
        _one_test(sources, name, form)
        return
    output.check(*(one for one in sources if isinstance(one, str)))
    with shown_progress(quiet=quiet) as progress:
        found = asked(
            questions.experiments, given, *sources, current=settings.current, column=settings.column,
            progress=progress,
        )  # fmt: skip
        output.write(found)
    if form.for_programs:
        write_frame(found.order, csv=True) if form.csv else write_json(found.facts)
        return
    show(found.parts())
    output.tell("Report", "report.html")


def _one_test(places: Sequence[object], name: str, form: Format) -> None:
    from clickassay.api.run import RunResult, open_run

    if len(places) > 1 or not isinstance(places[0], str):
        raise SettingsError(
            "--name shows a test of one run: name its folder, e.g. `experiments reports/june`"
        )
    found = asked(RunResult.test, {}, asked(open_run, {}, places[0]), name)
    if form.for_programs:
        write_frame(found.tables["experiments"], csv=True) if form.csv else write_json(found.facts)
        return
    show(found.parts())


def learn(
    given: Annotated[Given, options_of(questions.learn, but=("click_metric",))],
    settings: Annotated[Settings, settings_of("seed")],
    output: TablesOut,
    click_metric: Annotated[Given, options_of(questions.learn, "click_metric")],
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """Learn the probability of satisfaction of each grade with which ERR predicts clicks best.

    Examples
    --------
        clickassay learn reports/june

        clickassay learn reports/june --click-metric UCTR --objective rankers --utilities --out june-map
    """
    output.check(given["run"])
    with shown_progress(quiet=quiet) as progress:
        found = asked(questions.learn, given | click_metric, seed=settings.seed, progress=progress)
        output.write(found)
    if json:
        write_json(found.facts)
    else:
        show(found.told())
        output.tell("Tables")
        show(found.of_metric())
    if found.reason:
        raise typer.Exit(ExitCode.FINDING)
