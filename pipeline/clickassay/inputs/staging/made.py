"""Ordinary files that were made of an input."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from clickassay.inputs.sources.fingerprint import Origin


@dataclass(frozen=True)
class Made:
    """Ordinary files in place of an input."""

    path: Path  # A file or a folder.
    origins: Mapping[Path, Origin] = field(default_factory=dict)  # Of each file, what it was made of.
    # Of files without a row, the rows, which are in memory.
    held: Mapping[Path, pl.DataFrame] = field(default_factory=dict)
