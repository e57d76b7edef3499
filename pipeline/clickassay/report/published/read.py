"""Numbers that others published about other logs: one TOML file each, to be shown beside a run.

A further paper is a further file ``<name>.toml`` in this folder; nothing else has to change.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import ReportError
from clickassay.core.text import listed, visible

Measure = Literal["correlation", "difference"]

Key = tuple[str, str, str, str]
"""Which correlation of a sample it is: split, class, click metric, editorial metric."""


@dataclass(frozen=True)
class OtherCounts:
    """Size of one sample of the other log; `coverage` is a share, 0..1."""

    market: str
    depth: int
    queries: int
    configurations: int
    sessions: int
    coverage: float


@dataclass(frozen=True)
class OtherValue:
    """One published correlation, -1..1.

    Attributes
    ----------
    market, depth
        The sample of the other log.
    split, class_
        Class of queries, in the words of `contracts.correlation.CORRELATIONS`; ``all`` when not split.
    click_metric, editorial_metric
        In the words of this project; ``AP(rel=2)`` counts grades from 2 up as relevant.
    value
        As printed.
    """

    market: str
    depth: int
    split: str
    class_: str
    click_metric: str
    editorial_metric: str
    value: float

    @property
    def key(self) -> Key:
        """Which correlation of a sample it is."""
        return (self.split, self.class_, self.click_metric, self.editorial_metric)


@dataclass(frozen=True)
class OtherTable:
    """One published table of correlations.

    Attributes
    ----------
    number, title
        Its number there, and a title of ours.
    measures
        What of a run stands beside it: a ``correlation``, or a ``difference`` of two virtual rankers.
    words
        Words for editorial metrics whose names do not say enough.
    note
        A remark, or ''.
    values
        In the order of reports.
    """

    number: str
    title: str
    measures: Measure
    words: Mapping[str, str]
    note: str
    values: tuple[OtherValue, ...]


@dataclass(frozen=True)
class OtherLog:
    """What was published about another log.

    Attributes
    ----------
    name, label, source
        File stem, short citation, full citation.
    iterations
        Iterations behind the ``difference`` tables.
    settings
        Settings of this project that stand for the definitions used there.
    counts_number, counts_title, counts
        Number, title and rows of the table of sizes.
    tables
        The tables of correlations.
    """

    name: str
    label: str
    source: str
    iterations: int
    settings: Mapping[str, float]
    counts_number: str
    counts_title: str
    counts: tuple[OtherCounts, ...]
    tables: tuple[OtherTable, ...]


_Depth = Annotated[int, Field(ge=1)]
_Count = Annotated[int, Field(ge=0)]
_Correlation = Annotated[float, Field(ge=-1, le=1)]


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Size(_Form):
    market: str
    depth: _Depth
    queries: _Count
    configurations: _Count
    sessions: _Count
    coverage: Annotated[float, Field(ge=0, le=1)]


class _Sizes(_Form):
    number: str
    title: str
    rows: tuple[_Size, ...]


class _Block(_Form):
    market: str
    depth: _Depth
    split: str = EVERY
    class_: str = Field(default=EVERY, alias="class")
    editorial: tuple[str, ...]
    values: dict[str, tuple[_Correlation, ...]]

    @model_validator(mode="after")
    def _rows_fill_columns(self) -> "_Block":
        for click, row in self.values.items():
            if len(row) != len(self.editorial):
                raise ValueError(f"{click} has {len(row)} values for {len(self.editorial)} editorial metrics")
        return self


class _Correlations(_Form):
    number: str
    title: str
    measures: Measure
    words: dict[str, str] = Field(default_factory=dict)
    note: str = ""
    blocks: tuple[_Block, ...]


class _File(_Form):
    label: str
    source: str
    iterations: _Count
    settings: dict[str, float]
    counts: _Sizes
    tables: tuple[_Correlations, ...]


def known() -> tuple[str, ...]:
    """Return the names of the logs whose published numbers can be shown beside a run, sorted."""
    found = (entry.name for entry in files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


def other_log(name: str) -> OtherLog:
    """Return what was published about the log called `name`.

    Raises
    ------
    ReportError
        If there is no such log; the message names those that there are.
    """
    if name not in known():
        raise ReportError(
            f"no published numbers called {visible(name)!r} to show beside the run; known: {listed(known())}"
        )
    return read_log(name, files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def read_log(name: str, text: str) -> OtherLog:
    """Read the TOML `text` of a log called `name`.

    Raises
    ------
    ReportError
        If the text is not TOML or not of the form of this folder's files: an entry is missing, unknown or
        out of range, or a row has not one value per editorial metric.
    """
    try:
        form = _File.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ReportError(f"{name}.toml: {_told(error)}; write it as chapelle2009.toml is written") from error
    counts = tuple(OtherCounts(**row.model_dump()) for row in form.counts.rows)
    return OtherLog(
        name, form.label, form.source, form.iterations, MappingProxyType(form.settings),
        form.counts.number, form.counts.title, counts, tuple(_table(table) for table in form.tables),
    )  # fmt: skip


def _told(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg'].removeprefix('Value error, ')}"


def _table(form: _Correlations) -> OtherTable:
    values = tuple(
        OtherValue(block.market, block.depth, block.split, block.class_, click, editorial, value)
        for block in form.blocks
        for click, row in block.values.items()
        for editorial, value in zip(block.editorial, row, strict=True)
    )
    return OtherTable(form.number, form.title, form.measures, MappingProxyType(form.words), form.note, values)
