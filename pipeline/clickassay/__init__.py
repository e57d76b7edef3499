"""clickassay: checks offline search metrics against what users click.

Data flows one way: logs -> sessions -> pattern table (SQL on an engine), then
pattern table -> judged configurations -> metrics -> correlations -> report (Polars, NumPy).
"""

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clickassay.evaluation.evaluation import evaluate as evaluate

try:
    __version__ = version("clickassay")
except PackageNotFoundError:  # a bare checkout on the path, not installed
    __version__ = "0+checkout"


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attributes
    if name == "evaluate":  # only now, so that the command line starts without it
        from clickassay.evaluation.evaluation import evaluate  # noqa: PLC0415

        return evaluate
    raise AttributeError(f"module 'clickassay' has no attribute {name!r}")
