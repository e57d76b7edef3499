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
    from clickassay.api.inspect import InspectResult as InspectResult
    from clickassay.api.inspect import inspect as inspect
    from clickassay.api.patterns import PatternsResult as PatternsResult
    from clickassay.api.patterns import open_patterns as open_patterns
    from clickassay.api.patterns import pattern_table as pattern_table
    from clickassay.api.questions import audit as audit
    from clickassay.api.questions import check as check
    from clickassay.api.questions import compare_click_models as compare_click_models
    from clickassay.api.questions import diff as diff
    from clickassay.api.questions import experiments as experiments
    from clickassay.api.questions import learn as learn
    from clickassay.api.questions import power as power
    from clickassay.api.rankings import evaluate as evaluate
    from clickassay.api.rankings import judges as judges
    from clickassay.api.run import Chart as Chart
    from clickassay.api.run import RunResult as RunResult
    from clickassay.api.run import open_run as open_run
    from clickassay.api.run import run as run
    from clickassay.api.simulate import SimulatedLog as SimulatedLog
    from clickassay.api.simulate import simulate as simulate
    from clickassay.api.studies.audit import AuditResult as AuditResult
    from clickassay.api.studies.audit import ListAuditResult as ListAuditResult
    from clickassay.api.studies.audit import audit_grades as audit_grades
    from clickassay.api.studies.check import CheckResult as CheckResult
    from clickassay.api.studies.click_models import ClickModelsResult as ClickModelsResult
    from clickassay.api.studies.diff import DiffResult as DiffResult
    from clickassay.api.studies.evaluate import EvaluationResult as EvaluationResult
    from clickassay.api.studies.experiments import ExperimentsResult as ExperimentsResult
    from clickassay.api.studies.judges import JudgesResult as JudgesResult
    from clickassay.api.studies.learn import LearnResult as LearnResult
    from clickassay.api.studies.power import PowerResult as PowerResult
    from clickassay.core.errors import ClickassayError as ClickassayError
    from clickassay.core.errors import InputError as InputError
    from clickassay.core.errors import JudgmentError as JudgmentError
    from clickassay.core.errors import OutputError as OutputError
    from clickassay.core.errors import ReportError as ReportError
    from clickassay.core.errors import SettingsError as SettingsError
    from clickassay.core.provenance import __version__ as __version__
    from clickassay.inputs.staging.sql import InputSql as InputSql

_HOMES = {
    "SettingsError": "clickassay.core.errors",
    "ReportError": "clickassay.core.errors",
    "OutputError": "clickassay.core.errors",
    "JudgmentError": "clickassay.core.errors",
    "InputError": "clickassay.core.errors",
    "AuditResult": "clickassay.api.studies.audit",
    "Chart": "clickassay.api.run",
    "CheckResult": "clickassay.api.studies.check",
    "ClickModelsResult": "clickassay.api.studies.click_models",
    "ClickassayError": "clickassay.core.errors",
    "DiffResult": "clickassay.api.studies.diff",
    "EvaluationResult": "clickassay.api.studies.evaluate",
    "ExperimentsResult": "clickassay.api.studies.experiments",
    "InputSql": "clickassay.inputs.staging.sql",
    "InspectResult": "clickassay.api.inspect",
    "JudgesResult": "clickassay.api.studies.judges",
    "LearnResult": "clickassay.api.studies.learn",
    "ListAuditResult": "clickassay.api.studies.audit",
    "PatternsResult": "clickassay.api.patterns",
    "PowerResult": "clickassay.api.studies.power",
    "RunResult": "clickassay.api.run",
    "SimulatedLog": "clickassay.api.simulate",
    "__version__": "clickassay.core.provenance",
    "audit": "clickassay.api.questions",
    "audit_grades": "clickassay.api.studies.audit",
    "check": "clickassay.api.questions",
    "compare_click_models": "clickassay.api.questions",
    "diff": "clickassay.api.questions",
    "evaluate": "clickassay.api.rankings",
    "experiments": "clickassay.api.questions",
    "inspect": "clickassay.api.inspect",
    "judges": "clickassay.api.rankings",
    "learn": "clickassay.api.questions",
    "open_patterns": "clickassay.api.patterns",
    "open_run": "clickassay.api.run",
    "pattern_table": "clickassay.api.patterns",
    "power": "clickassay.api.questions",
    "run": "clickassay.api.run",
    "simulate": "clickassay.api.simulate",
}
"""Where each public name is."""

__all__ = sorted(_HOMES)  # noqa: PLE0605 - each name is also imported above, for type checkers


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attributes
    """Import a public name at its first use, so that the command line starts fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'clickassay' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - at its only use

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
