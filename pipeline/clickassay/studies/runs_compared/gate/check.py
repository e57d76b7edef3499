"""Whether a run keeps its rules: a rule about a number is broken only if the whole interval breaks it."""

from collections.abc import Sequence
from pathlib import Path

from clickassay.core.contracts.run import HEALTH_CHECKS, STATISTICS
from clickassay.core.errors import ReportError, SettingsError
from clickassay.core.records import ANY_SAMPLE, SAMPLE_COLUMNS, SampleChoice, SampleKey
from clickassay.correlation.jackknife import MIN_QUERIES
from clickassay.findings.run import Run, open_run
from clickassay.findings.samples import largest_samples
from clickassay.health.checks import OK, fired
from clickassay.studies.runs_compared.gate.another_run import not_worse
from clickassay.studies.runs_compared.gate.grammar import Health, Limit, NotWorse, Rule
from clickassay.studies.runs_compared.gate.outcome import Outcome, RuleState
from clickassay.studies.runs_compared.gate.quantities import RunQuantity, read_quantity

DEFAULT_RULES = ('health != "finding"', f"queries >= {MIN_QUERIES}")
"""What is checked where no rule is given: the log is sound, and intervals can be relied on."""


def check_run(folder: Path, rules: Sequence[Rule], choice: SampleChoice = ANY_SAMPLE) -> tuple[Outcome, ...]:
    """Check rules against a finished run.

    Parameters
    ----------
    folder
        The run.
    rules
        The rules, as `grammar.parse_rules` returns them.
    choice
        The sample of rules that do not name one; what is open is that of the report's headline.

    Raises
    ------
    ReportError
        If a folder is no run, or a table of it is missing or broken.
    SettingsError
        If a rule names what the run does not have.
    """
    run = open_run(folder)
    return tuple(_outcome(run, rule, choice) for rule in rules)


def _outcome(run: Run, rule: Rule, choice: SampleChoice) -> Outcome:
    if isinstance(rule, Health):
        return _health(run, rule)
    try:
        key = _sample(run, rule, choice)
        return _limit(run, rule, key) if isinstance(rule, Limit) else not_worse(run, rule, key)
    except (SettingsError, ReportError) as error:
        raise type(error)(f"rule {rule.text!r}: {error}") from error


def _sample(run: Run, rule: Limit | NotWorse, choice: SampleChoice) -> SampleKey:
    """Return the sample of a rule; one without a judged list where the run has no other."""
    own = rule.place
    wanted = SampleChoice(
        *(getattr(own if getattr(own, name) is not None else choice, name) for name in SAMPLE_COLUMNS)
    )
    rows = wanted.rows(run.tables[STATISTICS.name])
    if rows.is_empty() or rows["n_sessions"].sum():
        return run.key(wanted)
    return largest_samples(rows)[0]


# ---- health -------------------------------------------------------------------------------------------


def _health(run: Run, rule: Health) -> Outcome:
    checks = fired(run.tables[HEALTH_CHECKS.name])
    status = checks[0].status if checks else OK
    kept = (status == rule.status) == rule.is_equal
    worst = [one.check for one in checks if one.status == status]
    reason = f"{status}: {', '.join(worst)}" if worst else "no check of the log fires"
    return Outcome(rule.text, RuleState.HOLDS if kept else RuleState.BROKEN, reason, status=status)


# ---- numbers ------------------------------------------------------------------------------------------


def _limit(run: Run, rule: Limit, key: SampleKey) -> Outcome:
    found = read_quantity(rule.quantity, run, key, rule.names)
    state = state_of(found, rule.comparison, rule.limit)
    return Outcome(
        rule.text, state, _reason(found, state, rule), key, found, rule.comparison, rule.limit
    )  # fmt: skip


def state_of(found: RunQuantity, comparison: str, limit: float) -> RuleState:
    """Return the state of a rule about a number: it is broken only if every value of its interval breaks it.

    Parameters
    ----------
    found
        The number; an exact one is its own interval.
    comparison, limit
        One of `grammar.COMPARISONS`, and what the number is compared with.
    """
    ends = [_is_kept(end, comparison, limit) for end in found.ends]
    if not ends:
        return RuleState.UNDECIDED
    if all(ends):
        return RuleState.HOLDS
    return RuleState.OPEN if any(ends) else RuleState.BROKEN


def _is_kept(value: float, comparison: str, limit: float) -> bool:
    if comparison.startswith(">"):
        return value > limit or (value == limit and comparison == ">=")
    return value < limit or (value == limit and comparison == "<=")


def _reason(found: RunQuantity, state: RuleState, rule: Limit) -> str:
    if found.value is None:
        return f"no value: {found.reason}"
    if not found.ends:
        return f"no interval to decide by: {found.caution or 'the run has none'}"
    value = f"{found.value:.6g}"
    if found.is_exact:
        return f"{value} is {'' if state == RuleState.HOLDS else 'not '}{rule.comparison} {rule.limit:g}"
    span = f"the interval {found.low:.3g} to {found.high:.3g}"
    whole = {
        RuleState.HOLDS: f"{span} keeps it",
        RuleState.BROKEN: f"{span} breaks it as a whole",
        RuleState.OPEN: f"{span} has values that keep it and values that break it",
    }
    return whole[state]
