"""Published results of other logs: one TOML file each, to be shown next to those of a run.

A further paper is a further file ``<name>.toml`` in this folder; nothing else has to change.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import ReportError
from clickassay.core.text import listed, visible


class CorrelationKey(NamedTuple):
    """Key of a correlation within a sample, as in `contracts.correlation.CORRELATIONS`."""

    split: str
    class_: str
    click_metric: str
    editorial_metric: str


_Depth = Annotated[int, Field(ge=1)]
_Count = Annotated[int, Field(ge=0)]
_Correlation = Annotated[float, Field(ge=-1, le=1)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedSize(_Record):
    """Size of one sample of the published log; `coverage` is a share, 0..1."""

    market: str
    depth: _Depth
    queries: _Count
    configurations: _Count
    sessions: _Count
    coverage: Annotated[float, Field(ge=0, le=1)]


class PublishedSizes(_Record):
    """The published table of sizes: its number in the paper, a title of ours, its rows."""

    number: str
    title: str
    rows: tuple[PublishedSize, ...]


@dataclass(frozen=True)
class PublishedValue:
    """One published correlation, -1..1.

    Attributes
    ----------
    market, depth
        The sample of the published log.
    key
        The correlation within the sample; ``AP(rel=2)`` counts grades from 2 up as relevant.
    value
        As printed.
    """

    market: str
    depth: int
    key: CorrelationKey
    value: float


class _Block(_Record):
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


class PublishedTable(_Record):
    """One published table of correlations.

    Attributes
    ----------
    number, title
        Its number in the paper, and a title of ours.
    measures
        What it corresponds to in a run: a ``correlation``, or a ``difference`` of two virtual rankers.
    descriptions
        Descriptions of editorial metrics, where the names are not clear.
    note
        A remark, or ''.
    blocks
        Its values, a block for each class of queries of a sample.
    """

    number: str
    title: str
    measures: Literal["correlation", "difference"]
    descriptions: Annotated[Mapping[str, str], AfterValidator(MappingProxyType)] = Field(
        {}, validate_default=True
    )
    note: str = ""
    blocks: tuple[_Block, ...]

    @cached_property
    def values(self) -> tuple[PublishedValue, ...]:
        """The values in the order of reports."""
        return tuple(
            PublishedValue(
                block.market, block.depth, CorrelationKey(block.split, block.class_, click, editorial), value
            )
            for block in self.blocks
            for click, row in block.values.items()
            for editorial, value in zip(block.editorial, row, strict=True)
        )


class PublishedLog(_Record):
    """The published results of another log.

    Attributes
    ----------
    name, label, source
        File stem, short citation, full citation.
    iterations
        Iterations behind the ``difference`` tables.
    settings
        Settings of this project that give the definitions of the paper.
    counts, tables
        The table of sizes, and the tables of correlations.
    """

    name: str
    label: str
    source: str
    iterations: _Count
    settings: Annotated[Mapping[str, float], AfterValidator(MappingProxyType)]
    counts: PublishedSizes
    tables: tuple[PublishedTable, ...]


def known() -> tuple[str, ...]:
    """Return the names of the published logs, sorted."""
    found = (entry.name for entry in files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


def published_log(name: str) -> PublishedLog:
    """Return the published results of the log called `name`.

    Raises
    ------
    ReportError
        If there is no such log; the message lists the known ones.
    """
    if name not in known():
        raise ReportError(f"no published results called {visible(name)!r}; known: {listed(known())}")
    return parse_log(name, files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def parse_log(name: str, text: str) -> PublishedLog:
    """Parse the TOML `text` of a published log called `name`.

    Raises
    ------
    ReportError
        If the text is not TOML or not of the form of this folder's files: an entry is missing, unknown or
        out of range, or a row has not one value per editorial metric.
    """
    try:
        return PublishedLog(name=name, **tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ReportError(
            f"{name}.toml: {_error_text(error)}; write it as chapelle2009.toml is written"
        ) from error


def _error_text(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg'].removeprefix('Value error, ')}"
