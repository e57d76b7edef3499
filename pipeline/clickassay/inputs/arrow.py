"""Canonical columns as Arrow writes them: for importers and the simulator."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from clickassay.inputs.columns import Wanted, required
from clickassay.inputs.types import Kind

TIME = pa.timestamp("ms", tz="UTC")

_TYPES: dict[Kind, Any] = {
    "id": pa.int64(),
    "text": pa.string(),
    "time": TIME,
    "texts": pa.list_(pa.string()),
    "integer": pa.int64(),
    "any": pa.int64(),
}


def arrow_schema(columns: Sequence[Wanted], *optional: str, **types: Any) -> Any:  # noqa: ANN401 - pyarrow
    """Return the schema of a table with its required columns and these `optional` ones.

    Parameters
    ----------
    columns
        The columns that the table may have.
    types
        Arrow types by column, where they are not the usual ones of their kind.
    """
    names = required(columns) | set(optional)
    return pa.schema(
        {one.name: types.get(one.name, _TYPES[one.kind]) for one in columns if one.name in names}
    )
