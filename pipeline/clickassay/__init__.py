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
    from clickassay.api.run import RunResult as RunResult
    from clickassay.api.run import open_run as open_run
    from clickassay.api.run import run as run
    from clickassay.core.errors import ClickassayError as ClickassayError
    from clickassay.core.provenance import __version__ as __version__
    from clickassay.inputs.staging.sql import InputSql as InputSql
    from clickassay.studies.evaluation.evaluate import evaluate as evaluate

__all__ = ["ClickassayError", "InputSql", "RunResult", "__version__", "evaluate", "open_run", "run"]

_HOMES = {
    "ClickassayError": ("clickassay.core.errors", "ClickassayError"),
    "InputSql": ("clickassay.inputs.staging.sql", "InputSql"),
    "RunResult": ("clickassay.api.run", "RunResult"),
    "__version__": ("clickassay.core.provenance", "__version__"),
    "open_run": ("clickassay.api.run", "open_run"),
    "run": ("clickassay.api.run", "run"),
    "evaluate": ("clickassay.studies.evaluation.evaluate", "evaluate"),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attributes
    """Import a public name at its first use, so that the command line starts fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'clickassay' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - at its only use

    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*globals(), *__all__})
