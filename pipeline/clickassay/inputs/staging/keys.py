"""Keys of objects as names of files: which objects an address means, and where each would lie on a disk.

Keys may be what no disk takes as a path: too long, with nothing between two slashes, or a file and a folder
at once, as the empty objects are that stand for folders. Such names are numbers, with the endings of the key.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from glob import has_magic
from itertools import count
from pathlib import Path

from clickassay.core.errors import InputError

_NO_NAMES = {"", ".", ".."}
_LONGEST_NAME = 255
_LONGEST_ENDING = 40


def parts_of(address: str) -> tuple[list[str], list[str]]:
    """Return the parts of a key before the first with a wildcard, and those from it on."""
    parts = address.split("/") if address else []
    fixed = next((number for number, part in enumerate(parts) if has_magic(part)), len(parts))
    return parts[:fixed], parts[fixed:]


def files_of(what: str, address: str, sizes: Mapping[str, int]) -> Iterator[tuple[str, Path]]:
    """Yield the keys that an address means, and the file of each, below the folder that the address means.

    Names are those of the keys where a disk takes them; the file of what stands for a folder has no ending.

    what: name of the input, for messages.
    address: a prefix that stands for a folder, or a glob, without the bucket; '' for the whole of it.
    sizes: by key, the size of the object.

    Raises InputError if the name of a folder is too long, and has the value of a column.
    """
    root, wild = parts_of(address)
    folders = {key[:at] for key in sizes for at, sign in enumerate(key) if sign == "/"}
    names = {name for key in sizes for name in key.split("/")}
    mark = next(signs for signs in ("%" * n for n in count(1)) if not any(signs in name for name in names))
    for number, key in enumerate(sorted(sizes)):
        parts = key.split("/")
        *above, name = parts[len(root) :] or [""]
        if parts[: len(root)] != root or not _matches(parts[len(root) :], wild):
            continue
        if key in folders or name in _NO_NAMES or _is_long(name):
            hidden = name[:1] if name.startswith((".", "_")) else ""
            endings = "" if not sizes[key] else "".join(Path(name).suffixes[-2:])
            name = f"{hidden}{mark}{number}{'' if len(endings) > _LONGEST_ENDING else endings}"
        yield key, Path(*(_folder(what, key, one, mark) for one in above), name)


def _matches(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    """Tell whether the first parts match a glob: what lies below a match belongs to it."""
    if not patterns:
        return True
    head, rest = patterns[0], patterns[1:]
    if head == "**":
        return not rest or any(_matches(parts[start:], rest) for start in range(len(parts)))
    return bool(parts) and fnmatchcase(parts[0], head) and _matches(parts[1:], rest)


def _folder(what: str, key: str, name: str, mark: str) -> str:
    if _is_long(name) and "=" in name:
        raise InputError(f"{what}: {key!r:.120}… is in a folder with too long a name; rename it")
    if _is_long(name):
        return f"{mark}{hashlib.sha256(name.encode()).hexdigest()}"
    return f"{mark}{name}" if name in _NO_NAMES else name


def _is_long(name: str) -> bool:
    return len(name.encode()) > _LONGEST_NAME
