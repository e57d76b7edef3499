"""`clickassay check`: the gate of a nightly job."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from clickassay.cli.console import conclude, say, show, write_json
from clickassay.cli.inputs import ProjectRuns, project_runs
from clickassay.cli.options import JSON, SampleOptions
from clickassay.core.settings import PROJECT


@dataclass(frozen=True)
class Rules:
    """Which rules are checked, and how."""

    rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help='TOML with a list: rules = ["coverage >= 0.8", …].')
    ] = None
    rule: Annotated[
        list[str] | None, typer.Option("--rule", metavar="TEXT", help="One rule; repeat it for several.")
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Also exit code 1 for rules whose interval leaves them open.")
    ] = False

    def texts(self, of_project: tuple[str, ...]) -> tuple[str, ...]:
        """Return the rules as they were written, else the rules of a project, else the default rules."""
        from clickassay.studies.runs_compared.gate.check import DEFAULT_RULES
        from clickassay.studies.runs_compared.gate.rules_file import read_rules_file

        given = (*(() if self.rules is None else read_rules_file(self.rules)), *(self.rule or ()))
        return given or of_project or DEFAULT_RULES


RUN_OR_LAST = Annotated[
    Path | None, typer.Argument(metavar="RUN", help=f"A run folder. [default: the last run of {PROJECT}]")
]

LAST = "{last}"
"""In rules of a project: the run before the one that is checked."""


def check(
    rules: Rules,
    sample: SampleOptions,
    runs: Annotated[ProjectRuns, project_runs()],
    run_folder: RUN_OR_LAST = None,
    json: JSON = False,
) -> None:
    """Check rules that a run must keep, and end with exit code 1 if one is broken.

    A rule about a correlation, a difference or a mean is broken only if its whole 95 % interval breaks it.
    Rules are such as:

    `coverage >= 0.8`, `queries >= 500`, `health == "ok"`, `mean(ERR) >= 0.4`,
    `correlation(ERR, MeanRR) >= 0.3`, `difference(ERR, NDCG, MeanRR) >= 0`,
    `not worse than reports/last`

    Without rules, here or in the project file: `health != "finding"` and `queries >= 50`.

    Examples
    --------
        clickassay check reports/today --rules rules.toml

        clickassay check reports/today --rule "not worse than reports/last in ERR, MeanRR"

        clickassay check
    """
    from clickassay.api.studies.check import CheckResult

    folder = run_folder or runs.last(1, "RUN")[0]
    texts = _without_last(rules.texts(() if runs.project is None else runs.project.rules), folder, runs)
    found = CheckResult.of(folder, texts, sample.choice, strict=rules.strict, name=str(folder))
    write_json(found.facts) if json else show(found.parts())
    conclude(is_finding=not found.passed, stderr=json)


def _without_last(texts: tuple[str, ...], folder: Path, runs: ProjectRuns) -> tuple[str, ...]:
    """Return rules with the run before in place of `LAST`; without such rules where there is none."""
    if not any(LAST in text for text in texts):
        return texts
    before = [run for run in runs.found if run.resolve() != folder.resolve() and run.name < folder.name]
    if not before:
        say(f"Note: rules with {LAST} are passed over: there is no run before {folder}", stderr=True)
        return tuple(text for text in texts if LAST not in text)
    return tuple(text.replace(LAST, str(before[-1])) for text in texts)
