"""clickassay: checks offline search metrics against what users click.

Data flows one way, through the folders of this package in this order:

1. ``inputs``: files → canonical tables.
2. ``logs``: raw log → sessions → pattern table, on an engine; the only package with engines.
3. ``patterns``: the pattern table, the only data of a log that later stages use.
4. ``judgments``: grades joined with the lists of the pattern table.
5. ``metrics`` (and ``click_models``): what a metric is, and its values.
6. ``correlation``: how well metrics predict clicks.
7. ``health``: whether the log and its judgments are sound.
8. ``findings``: what a run found, as records.
9. ``report``: findings and tables of a run → page, Markdown, CSV, LaTeX.

Above them are ``studies`` (analyses of a finished run, or without a run), ``jobs`` (a command from start to
end), ``api`` (functions for Python) and ``cli``; below them is ``core``. A package imports only from those
below it.

Where a docstring says "method 7.1", it means section 7.1 of docs/explanation/method.md.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clickassay.api.inspect import InspectResult, inspect
    from clickassay.api.patterns import PatternsResult, open_patterns, pattern_table
    from clickassay.api.questions import audit, check, compare_click_models, diff, experiments, learn, power
    from clickassay.api.rankings import evaluate, judges
    from clickassay.api.run import RunResult, open_run, run
    from clickassay.api.screen.charts import Chart
    from clickassay.api.simulate import SimulatedLog, simulate
    from clickassay.api.studies.audit import AuditResult, ListAuditResult, audit_grades
    from clickassay.api.studies.check import CheckResult
    from clickassay.api.studies.click_models import ClickModelsResult
    from clickassay.api.studies.diff import DiffResult
    from clickassay.api.studies.evaluate import EvaluationResult
    from clickassay.api.studies.experiments import ExperimentsResult
    from clickassay.api.studies.judges import JudgesResult
    from clickassay.api.studies.learn import LearnResult
    from clickassay.api.studies.power import PowerOfTest, PowerResult
    from clickassay.core.errors import (
        ClickassayError,
        InputError,
        JudgmentError,
        OutputError,
        ReportError,
        SettingsError,
    )
    from clickassay.core.provenance import __version__
    from clickassay.inputs.staging.sql import InputSql

_NAMES = {
    "api.inspect": "InspectResult inspect",
    "api.patterns": "PatternsResult open_patterns pattern_table",
    "api.questions": "audit check compare_click_models diff experiments learn power",
    "api.rankings": "evaluate judges",
    "api.run": "RunResult open_run run",
    "api.screen.charts": "Chart",
    "api.simulate": "SimulatedLog simulate",
    "api.studies.audit": "AuditResult ListAuditResult audit_grades",
    "api.studies.check": "CheckResult",
    "api.studies.click_models": "ClickModelsResult",
    "api.studies.diff": "DiffResult",
    "api.studies.evaluate": "EvaluationResult",
    "api.studies.experiments": "ExperimentsResult",
    "api.studies.judges": "JudgesResult",
    "api.studies.learn": "LearnResult",
    "api.studies.power": "PowerOfTest PowerResult",
    "core.errors": "ClickassayError InputError JudgmentError OutputError ReportError SettingsError",
    "core.provenance": "__version__",
    "inputs.staging.sql": "InputSql",
}
"""The public names of each module."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "AuditResult", "Chart", "CheckResult", "ClickModelsResult", "ClickassayError", "DiffResult",
    "EvaluationResult", "ExperimentsResult", "InputError", "InputSql", "InspectResult", "JudgesResult",
    "JudgmentError", "LearnResult", "ListAuditResult", "OutputError", "PatternsResult", "PowerOfTest",
    "PowerResult", "ReportError", "RunResult", "SettingsError", "SimulatedLog", "__version__", "audit",
    "audit_grades", "check", "compare_click_models", "diff", "evaluate", "experiments", "inspect",
    "judges", "learn", "open_patterns", "open_run", "pattern_table", "power", "run", "simulate",
]  # fmt: skip


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attributes
    """Import a public name at its first use, so that the command line starts fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'clickassay' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - at its only use

    return getattr(import_module(f"clickassay.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
