"""`clickassay check`: the gate of a nightly job."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clickassay.cli.console import conclude, say, show_table, write_json
from clickassay.cli.inputs import ProjectRuns, project_runs
from clickassay.cli.options import JSON, SampleOptions
from clickassay.core.settings import PROJECT
from clickassay.core.text.words import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clickassay.studies.runs_compared.gate.outcome import Outcome

SCHEMA = 1
"""Number of the form of the JSON document."""


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
    from clickassay.studies.runs_compared.gate.check import check_run
    from clickassay.studies.runs_compared.gate.grammar import parse_rules

    folder = run_folder or runs.last(1, "RUN")[0]
    texts = _without_last(rules.texts(() if runs.project is None else runs.project.rules), folder, runs)
    outcomes = check_run(folder, parse_rules(texts), sample.choice)
    fails = any(one.fails(strict=rules.strict) for one in outcomes)
    if json:
        write_json({
            "schema": SCHEMA, "run": str(folder), "passed": not fails, "strict": rules.strict,
            "rules": [one.as_data() for one in outcomes],
        })  # fmt: skip
    else:
        _show(outcomes, strict=rules.strict)
    conclude(is_finding=fails, stderr=json)


def _without_last(texts: tuple[str, ...], folder: Path, runs: ProjectRuns) -> tuple[str, ...]:
    """Return rules with the run before in place of `LAST`; without such rules where there is none."""
    if not any(LAST in text for text in texts):
        return texts
    before = [run for run in runs.found if run.resolve() != folder.resolve() and run.name < folder.name]
    if not before:
        say(f"Note: rules with {LAST} are passed over: there is no run before {folder}", stderr=True)
        return tuple(text for text in texts if LAST not in text)
    return tuple(text.replace(LAST, str(before[-1])) for text in texts)


def _show(outcomes: "Sequence[Outcome]", *, strict: bool) -> None:
    heads = ("rule", "", "about", "value", "95 % interval")
    rows = [
        (one.rule, str(one.state), "" if one.sample is None else one.sample.label, *_numbers(one))
        for one in outcomes
    ]
    show_table(heads, rows, numbers=heads[-2:])
    say(*(f"{str(one.state).upper()} {one.rule}: {one.reason}" for one in outcomes if one.needs_words))
    for caution in dict.fromkeys(one.found.caution for one in outcomes if one.found.caution):
        number = sum(one.found.caution == caution for one in outcomes)
        say(f"Caution, {plural(number, 'interval')}: {caution}")
    say(_summary(outcomes, strict=strict))


def _numbers(one: "Outcome") -> tuple[str, str]:
    quantity = one.found
    if quantity.value is None:
        return one.status or "", ""
    if quantity.is_exact:
        return f"{quantity.value:,.6g}" if quantity.value % 1 else f"{quantity.value:,.0f}", ""
    ends = (
        "" if quantity.low is None or quantity.high is None else f"{quantity.low:.3f} to {quantity.high:.3f}"
    )
    is_change = one.comparison is None
    return f"{'change ' if is_change else ''}{quantity.value:{'+' if is_change else ''}.4f}", ends


def _summary(outcomes: "Sequence[Outcome]", *, strict: bool) -> str:
    """Return the last line, e.g. ``3 rules: 1 broken, 1 open, 1 holds.``."""
    from clickassay.studies.runs_compared.gate.outcome import RuleState

    counts = {state: sum(one.state == state for one in outcomes) for state in RuleState}
    order = (RuleState.BROKEN, RuleState.UNDECIDED, RuleState.OPEN, RuleState.HOLDS)
    words = {RuleState.HOLDS: "kept"}
    parts = [f"{counts[state]} {words.get(state, state)}" for state in order if counts[state]]
    passed = not any(one.fails(strict=strict) for one in outcomes)
    end = (
        ""
        if not passed or not counts[RuleState.OPEN]
        else " Open rules pass; --strict takes them for broken."
    )
    return f"{plural(len(outcomes), 'rule')}: {', '.join(parts)}.{end}"
