"""The footer of a Parquet file: read, and written again for row groups that were encoded apart.

A footer is a struct of Thrift's compact protocol; the numbers of its fields are those of the Parquet format.
"""

from collections.abc import Collection
from typing import Any

MAGIC = b"PAR1"

Struct = dict[int, tuple[int, Any]]
"""Type and value of each field by its number, in their order."""

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_FIXED = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8}  # bytes; a flag has them in a list only

# Fields of the file, of a row group, of a column chunk and of its metadata.
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_ROWS, _GROUP_OFFSET = 1, 3, 5
_CHUNK_OFFSET, _CHUNK_METADATA = 2, 3
_PAGE_OFFSETS = (9, 10, 11)  # of data, of an index, of the dictionary


def split_file(file: memoryview) -> tuple[memoryview, Struct]:
    """Return the bytes of the row groups of a Parquet file, and its footer."""
    size = int.from_bytes(file[-8:-4], "little")
    return file[len(MAGIC) : -8 - size], _Reader(bytes(file[-8 - size : -8])).struct()


class Footer:
    """The footer of a file that is put together of the row groups of others."""

    def __init__(self, template: Struct) -> None:
        """Take the footer of a file of the same columns, without rows."""
        self._template = template
        self._groups: list[bytes] = []  # as they are written: a long log has many
        self._rows = 0

    def add(self, footer: Struct, by: int) -> None:
        """Add the row groups of a file; they lie `by` bytes further back than there."""
        for group in footer[_FILE_GROUPS][1][1]:
            self._groups.append(_written_struct(_moved(group, by)))
            self._rows += group[_GROUP_ROWS][1]

    def end(self) -> bytes:
        """Return the end of the file: the footer, its size, and the mark of Parquet."""
        groups = (_LIST, (_STRUCT, self._groups))
        written = _written_struct({**self._template, _FILE_ROWS: (_I64, self._rows), _FILE_GROUPS: groups})
        return written + len(written).to_bytes(4, "little") + MAGIC


def _moved(group: Struct, by: int) -> Struct:
    kind, (of, chunks) = group[_GROUP_COLUMNS]
    moved = [_moved_chunk(chunk, by) for chunk in chunks]
    return {**_added(group, (_GROUP_OFFSET,), by), _GROUP_COLUMNS: (kind, (of, moved))}


def _moved_chunk(chunk: Struct, by: int) -> Struct:
    kind, metadata = chunk[_CHUNK_METADATA]
    return {
        **_added(chunk, (_CHUNK_OFFSET,), by),
        _CHUNK_METADATA: (kind, _added(metadata, _PAGE_OFFSETS, by)),
    }


def _added(struct: Struct, offsets: Collection[int], by: int) -> Struct:
    """Add to the offsets of a struct; one of 0 stands for none."""
    added = {field: struct[field] for field in offsets if field in struct}
    return {**struct, **{field: (kind, at + by if at else at) for field, (kind, at) in added.items()}}


class _Reader:
    """Reads structs from bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while header := self._byte():
            step, kind = header >> 4, header & 15
            number = number + step if step else self._signed()
            fields[number] = (kind, kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind))
        return fields

    def _value(self, kind: int) -> Any:  # noqa: ANN401 - what the kind says
        if kind in _FIXED:
            return self._bytes(_FIXED[kind])
        if kind in (_I16, _I32, _I64):
            return self._signed()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_LIST, _SET):
            return self._list()
        if kind == _STRUCT:
            return self.struct()
        raise ValueError(
            f"a Parquet footer with a value of type {kind}; expected one of {_TRUE} to {_STRUCT}, no map"
        )

    def _list(self) -> tuple[int, list[Any]]:
        header = self._byte()
        size, kind = header >> 4, header & 15
        if size == 15:
            size = self._varint()
        return kind, [self._value(kind) for _ in range(size)]

    def _signed(self) -> int:
        zigzag = self._varint()
        return (zigzag >> 1) ^ -(zigzag & 1)

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) >= 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]


def _written_struct(fields: Struct) -> bytes:
    written, before = bytearray(), 0
    for number, (kind, value) in fields.items():
        step = number - before
        written += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _written_signed(number)
        written += b"" if kind in (_TRUE, _FALSE) else _written(kind, value)
        before = number
    return bytes(written + b"\0")


def _written(kind: int, value: Any) -> bytes:  # noqa: ANN401 - what the kind says
    if kind in (_I16, _I32, _I64):
        return _written_signed(value)
    if kind == _BINARY:
        return _varint(len(value)) + bytes(value)
    if kind == _STRUCT and not isinstance(value, bytes):
        return _written_struct(value)
    if kind in (_LIST, _SET):
        of, items = value
        size = len(items)
        header = bytes([size << 4 | of]) if size < 15 else bytes([0xF0 | of]) + _varint(size)
        return header + b"".join(_written(of, item) for item in items)
    return bytes(value)  # numbers of one and eight bytes; structs that are written already


def _written_signed(value: int) -> bytes:
    return _varint((value << 1) ^ (value >> 63))


def _varint(value: int) -> bytes:
    written = bytearray()
    while value >= 128:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes(written + bytes([value]))
