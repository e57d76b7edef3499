"""Where numbers come from: the version, the settings and the libraries that decided them."""

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


def plain_settings(settings: "Settings") -> dict[str, Any]:
    """Return settings as JSON can hold them."""
    return settings.model_dump(mode="json")


def versions() -> dict[str, str]:
    """Return the versions of clickassay and of the libraries that decide its numbers."""
    return {"clickassay": __version__, **{name: _version(name) for name in _LIBRARIES}}


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
