"""The form of a table: columns with their types and meaning, what a row stands for, and its key.

Every table that is written is first put into its form: exactly these columns in this order, exactly these
types, sorted by the key. So the same content gives the same bytes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from clickassay.core.errors import ClickassayError

DataType = pl.DataType | type[pl.DataType]


class ContractError(ClickassayError):
    """A table does not have the form that its contract states."""


@dataclass(frozen=True)
class Column:
    """One column: its name, Polars type, and meaning with unit and range."""

    name: str
    dtype: DataType
    meaning: str


@dataclass(frozen=True, init=False)
class Table:
    """One table: what a row stands for, the key that is unique and sorts it, and its columns."""

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    more_floats: bool  # further Float64 columns may follow: one per metric

    def __init__(
        self, name: str, grain: str, key: tuple[str, ...], *columns: Column, more_floats: bool = False
    ) -> None:
        vars(self).update(name=name, grain=grain, key=key, columns=columns, more_floats=more_floats)

    def canonical(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Put `frame` into the contract's form and check it.

        Returns the frame with the contract's columns first (cast, in order), further metric columns after
        them where the contract admits them, sorted by the key.

        Raises ContractError if a column is missing, unknown or of a type that cannot be cast, or a key occurs
        twice.
        """
        self._check_names(frame.columns)
        known: dict[str, DataType] = {column.name: column.dtype for column in self.columns}
        form = known | {name: pl.Float64 for name in frame.columns if name not in known}
        in_form = list(frame.schema.items()) == list(form.items())
        result = frame if in_form else frame.select(pl.col(name).cast(form[name]) for name in form)
        if _ascends(result, self.key):
            return result
        result = result.sort(self.key, nulls_last=False)
        repeated = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift()) for name in self.key)
        # sorted: equal keys are neighbours
        if result.height > 1 and result.select(repeated.slice(1).any()).item():
            raise ContractError(f"table {self.name}: the key {', '.join(self.key)} is not unique")
        return result

    def in_order(self, pieces: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Put the pieces of a sorted table into the contract's form one by one, first an empty one.

        Raises ContractError if a column is missing or unknown, or the rows do not ascend strictly by the key.
        """
        yield self.empty()
        before = self.empty().select(self.key)
        for piece in pieces:
            self._check_names(piece.columns)
            rows = piece.select(pl.col(column.name).cast(column.dtype) for column in self.columns)
            keys = pl.concat([before, rows.select(self.key)])
            if not _ascends(keys, self.key):
                key = ", ".join(self.key)
                raise ContractError(f"table {self.name}: the key {key} is not unique, or rows out of order")
            before = keys.tail(1)
            yield rows

    def _check_names(self, columns: Iterable[str]) -> None:
        names, given = [column.name for column in self.columns], list(columns)
        missing = [name for name in names if name not in given]
        unknown = [] if self.more_floats else [name for name in given if name not in names]
        wrong = [
            f"{what} columns {', '.join(names)}"
            for what, names in (("missing", missing), ("unknown", unknown))
            if names
        ]
        if wrong:
            raise ContractError(f"table {self.name}: {'; '.join(wrong)}")

    def empty(self) -> pl.DataFrame:
        """Return a table of this form without rows."""
        return pl.DataFrame(schema={column.name: column.dtype for column in self.columns})


def _ascends(frame: pl.DataFrame, key: tuple[str, ...]) -> bool:
    if frame.height < 2:
        return True
    ascends: pl.Expr = pl.lit(False)
    for name in reversed(key):
        column, before = pl.col(name), pl.col(name).shift()
        is_less, is_same = before < column, before == column
        if frame[name].null_count():
            is_less = is_less.fill_null(before.is_null() & column.is_not_null())
            is_same = before.eq_missing(column)
        ascends = is_less | (is_same & ascends)
    return bool(frame.select(ascends.slice(1).fill_null(False).all()).item())
