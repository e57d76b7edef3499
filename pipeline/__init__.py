"""clickassay: checks offline search metrics against what users click.

Data flows one way: logs -> sessions -> pattern table (SQL on an engine), then
pattern table -> judged configurations -> metrics -> correlations -> report (Polars, NumPy).
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("clickassay")
except PackageNotFoundError:  # a bare checkout on the path, not installed
    __version__ = "0+checkout"
