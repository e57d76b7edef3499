"""The common ground of results: text as the command prints it, HTML in a notebook, equal by their tables."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.api.screen.parts import Part, ShownTable
from clickassay.api.screen.python import for_python, in_python
from clickassay.core.files.output import place_to_write


def attribute_of(path: str, meaning: str) -> Any:  # noqa: ANN401 - as the result annotates it
    """Return a property of a result that is an attribute of what it holds: ``found.agreement``."""
    return property(attrgetter(path), doc=meaning)


class Result(ABC):
    """What a function returns: its tables are frames of Polars, and it prints as the command prints."""

    @property
    @abstractmethod
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Its tables by their names."""

    @abstractmethod
    def parts(self) -> Iterable[Part]:
        """Yield the lines and tables that the command prints."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, its = self.tables, other.tables
        return mine.keys() == its.keys() and all(mine[name].equals(its[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment] # equality is of tables

    def __repr__(self) -> str:
        from clickassay.api.screen.text import text_of  # noqa: PLC0415 - rich takes a while to import

        return text_of(self._python_parts())

    def _repr_html_(self) -> str:
        from clickassay.api.screen.html import html_of  # noqa: PLC0415 - beside its use

        return html_of(self._python_parts())

    def _python_parts(self) -> Iterable[Part]:
        return (
            one.in_words(in_python) if isinstance(one, ShownTable) else in_python(one) for one in self.parts()
        )


class SavedResult(Result):
    """A result that is written into a folder of its own."""

    @property
    def _recorded(self) -> Mapping[str, object]:
        """What is recorded beside the command that made the tables."""
        return {}

    def write(self, out: Path, *, force: bool, command: str = "") -> Path:
        """Write as `save` does; `command` is recorded as what made them."""
        from clickassay.core.files.tables import write_tables  # noqa: PLC0415 - beside its use

        write_tables(out, self.tables, {"command": command, **self._recorded}, force=force)
        return out

    @for_python
    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the tables, and the report if there is one, into a new folder; return it.

        Raises
        ------
        OutputError
            If the folder exists (and `force` is not given, or it is not ours), or cannot be written.
        """
        return self.write(place_to_write(folder), force=force)
