"""Where numbers come from: the version, the settings and the libraries that decided them."""

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clickassay.core.settings import Settings

try:
    __version__ = version("clickassay")
except PackageNotFoundError:  # a bare checkout on the path, not installed
    __version__ = "0+checkout"


_LIBRARIES = ("duckdb", "polars", "pyarrow", "numpy", "scipy", "vl-convert-python", "itables")


METHOD = "Chapelle, Metzler, Zhang and Grinspan, Expected Reciprocal Rank for Graded Relevance, CIKM 2009"
"""The paper of the method, and with the version all that CITATION.cff says of a reference in a text."""


def how_to_cite() -> str:
    """Return how a text cites clickassay and its method."""
    return f"To cite: The clickassay developers, clickassay {__version__} (software). Method: {METHOD}."


def plain_settings(settings: "Settings") -> dict[str, Any]:
    """Return settings as JSON can hold them."""
    return settings.model_dump(mode="json")


def versions() -> dict[str, str]:
    """Return the versions of clickassay and of the libraries that decide its numbers."""
    return {"clickassay": __version__, **{name: _version(name) for name in _LIBRARIES}}


_MORE = (
    "pydantic", "typer", "rich", "psutil", "threadpoolctl", "pandas", "pyspark", "sqlglot",
    "obstore", "deltalake", "pyiceberg",
)  # fmt: skip
"""Libraries whose versions are of interest where something fails, as far as they are installed."""


def of_a_report() -> list[str]:
    """Return what the report of a fault needs to say of this installation, in lines."""
    import psutil  # noqa: PLC0415 - beside its use

    memory = f"{psutil.virtual_memory().total / 1e9:.0f} GB"
    system = f"Python {platform.python_version()}, {platform.platform()}, {os.cpu_count()} cores, {memory}"
    more = {name: _version(name) for name in _MORE}
    told = versions() | {name: number for name, number in more.items() if number != "unknown"}
    first, *others = (f"{name} {number}" for name, number in told.items())
    return [first, system, *others]


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
