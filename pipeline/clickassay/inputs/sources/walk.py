"""The files of an input: one walk for every reader, which says what it leaves out and why.

Links are followed, each folder and file is taken once, and a folder that cannot be listed is refused: what
lies in it would be missing without a word.
"""

import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import has_magic
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from clickassay.core.errors import InputError
from clickassay.core.text.paths import is_text, is_uri
from clickassay.core.text.words import plural
from clickassay.inputs.files import FORMATS, check_path, format_of

_COMPRESSED = (".gz", ".zst", ".bz2", ".xz", ".lz4", ".zip", ".br", ".snappy")
_HIDDEN, _LINK, _SPECIAL, _BARE = "hidden", "link seen before", "neither file nor folder", "without ending"


@dataclass(frozen=True)
class Found:
    """What lies behind a path: the files to read, and those left out."""

    # The folder from which on names of folders count as partitions: the given one, or the last before the
    # first wildcard.
    root: Path
    files: tuple[Path, ...]  # The files to read, sorted.
    # How many files, or hidden folders, were left out by reason: an ending, `hidden`, `link seen before`.
    left_out: tuple[tuple[str, int], ...] = ()

    @property
    def folders(self) -> int:
        """Number of folders that the files lie in."""
        return len({file.parent for file in self.files})

    def __str__(self) -> str:
        text = f"{plural(len(self.files), 'file')} in {plural(self.folders, 'folder')}"
        return text + _said(self.left_out)


def _said(left_out: Sequence[tuple[str, int]]) -> str:
    return "; ignored: " + ", ".join(f"{number:,} ({why})" for why, number in left_out) if left_out else ""


def find_files(what: str, path: str | Path) -> Found:
    """List the data files of a file, a folder, or a glob, which also matches folders.

    Names that start with . or _ below a folder or the first wildcard are hidden. Raises InputError if there
    is none, a folder cannot be listed, a link leads nowhere, or a folder is a table of a lake.
    """
    place = Path(path)
    check_path(place, what)
    if is_uri(str(path)) and not place.exists():
        raise InputError(
            f"{what}: only Spark can read {path}; add --engine spark, or copy it to this machine"
        )
    walk = _Walk(what)
    root, starts = _starts(what, place, walk)
    files = [place] if starts is None else walk.files_of(starts, root)
    left_out = tuple(sorted(Counter(walk.left_out.values()).items(), key=lambda one: (-one[1], one[0])))
    if not files:
        known = ", ".join(FORMATS)
        raise InputError(
            f"{what}: no data file in {path}{_said(left_out)}; expected files that end in {known}"
        )
    for file in files:
        if not is_text(file):
            raise InputError(f"{what}: the name of {file} is not UTF-8; rename the file")
    return Found(root, tuple(files), left_out)


def _starts(what: str, place: Path, walk: "_Walk") -> tuple[Path, Iterator[Path] | None]:
    if place.is_file() or place.is_dir():
        check_no_lake_above(what, place)
        return (place, iter([place])) if place.is_dir() else (place.parent, None)
    first = next((number for number, part in enumerate(place.parts) if has_magic(part)), None)
    if first is None:
        raise InputError(f"{what}: {place} does not exist; give a file, a folder or a glob")
    root = Path(*place.parts[:first])
    if not root.is_dir():
        raise InputError(f"{what}: {root} of {place} does not exist; give a file, a folder or a glob")
    check_no_lake_above(what, root)
    return root, walk.matches(root, place.parts[first:])


def files_below(what: str, folder: Path) -> list[Path]:
    """Return all files below a folder, whatever their endings, but hidden ones; sorted."""
    return _Walk(what, any_ending=True).files_of([folder], folder)


class _Walk:
    """Lists folders, each once, and remembers what it leaves out and why."""

    def __init__(self, what: str, *, any_ending: bool = False) -> None:
        self.left_out: dict[Path, str] = {}
        self._what = what
        self._any_ending = any_ending

    def files_of(self, starts: Iterable[Path], root: Path) -> list[Path]:
        """Return the files among some places below a root, and below those that are folders; sorted."""
        places = dict.fromkeys(starts)
        folders = [place for place in places if self._is_folder(place)]
        candidates = dict.fromkeys(places.keys() - set(folders))
        for _, entries in self._below(folders):
            candidates |= dict.fromkeys(entry for entry in entries if not self._is_folder(entry))
        files: list[Path] = []
        for file in candidates:
            suffixes = [suffix.lower() for suffix in file.suffixes]
            if not S_ISREG(self._mode(file)):
                self.left_out[file] = _SPECIAL
            elif self._any_ending or format_of(file) is not None:
                files.append(file)
            elif not suffixes:
                self.left_out[file] = _BARE
            else:
                self.left_out[file] = "".join(suffixes[-1 - (suffixes[-1] in _COMPRESSED) :])
        # others by way of a link are left out: what lies in the folder itself comes before what a link to a
        # folder repeats, and files before links
        base, taken = root.resolve(), dict[Path, Path]()
        parents = {file.parent for file in files}
        linked = {folder: folder.resolve() != base / folder.relative_to(root) for folder in parents}
        for file in sorted(files, key=lambda file: (linked[file.parent], file.is_symlink(), file)):
            if taken.setdefault(file.resolve(), file) is not file:
                self.left_out[file] = _LINK
        return sorted(taken.values())

    def matches(self, folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
        """Yield the places below a folder that match the parts of a glob."""
        if not patterns:
            yield folder
            return
        head, rest = patterns[0], patterns[1:]
        if head == "**":
            below = [(folder, [])] if not rest else self._below([folder])
            for place, _ in below:
                yield from self.matches(place, rest)
            return
        for entry in self._list(folder):
            if fnmatchcase(entry.name, head) if has_magic(head) else entry.name == head:
                if self._is_hidden(entry):
                    continue
                if not rest or self._is_folder(entry):
                    yield from self.matches(entry, rest)

    def _below(self, folders: Sequence[Path]) -> Iterator[tuple[Path, list[Path]]]:
        seen: set[tuple[int, int]] = set()
        own = deque(folder for folder in folders if not folder.is_symlink())
        links = deque(folder for folder in folders if folder.is_symlink())
        while own or links:
            folder = own.popleft() if own else links.popleft()
            status = folder.stat()
            if (identity := (status.st_dev, status.st_ino)) in seen:
                if folder.is_symlink():
                    self.left_out[folder] = _LINK
                continue
            seen.add(identity)
            if folder.is_symlink():
                check_no_lake_above(self._what, folder)
            visible = [entry for entry in self._list(folder) if not self._is_hidden(entry)]
            for entry in visible:
                if self._is_folder(entry):
                    (links if entry.is_symlink() else own).append(entry)
            yield folder, visible

    def _list(self, folder: Path) -> list[Path]:
        try:
            names = sorted(entry.name for entry in folder.iterdir())
        except OSError as error:
            raise self._lost("cannot list", folder, error) from error
        check_no_lake(self._what, folder, names)
        return [folder / name for name in names]

    def _is_hidden(self, entry: Path) -> bool:
        if entry.name.startswith((".", "_")):
            self.left_out[entry] = _HIDDEN
            return True
        return False

    def _mode(self, place: Path) -> int:
        try:
            return place.stat().st_mode
        except OSError as error:
            raise self._lost(
                "cannot follow the link" if place.is_symlink() else "cannot open", place, error
            ) from error

    def _is_folder(self, place: Path) -> bool:
        return S_ISDIR(self._mode(place))

    def _lost(self, cannot: str, place: Path, error: OSError) -> InputError:
        message = f"{self._what}: {cannot} {place}: {error.strerror}"
        return InputError(f"{message}; its rows would be missing: repair or remove the file")


DELTA, ICEBERG, HUDI = "Delta Lake", "Iceberg", "Hudi"
MARKS = {
    DELTA: ("_delta_log", "*.json"),
    ICEBERG: ("metadata", "*.metadata.json"),
    HUDI: (".hoodie", "hoodie.properties"),
}
"""The folder in a table by which it is known, and the files in it, as a glob."""

_READERS = {
    DELTA: "give the folder of the table itself (extra [lake])",
    ICEBERG: "give the folder of the table itself (extra [lake])",
    HUDI: "export its rows as Parquet",
}


def lake_table(what: str, folder: object, kind: str) -> InputError:
    """Return the error for a folder that is a table of a lake."""
    return InputError(
        f"{what}: {folder} is a table of {kind} (it has {MARKS[kind][0]}), and its Parquet files contain "
        f"rows that the table no longer has; {_READERS[kind]}, or give --engine spark the table's name"
    )


def kind_of(folder: Path) -> str | None:
    """Return the kind of lake that a folder is a table of; None if it is none."""
    return next((kind for kind, (mark, files) in MARKS.items() if _has(folder / mark, files)), None)


def check_no_lake(what: str, folder: Path, names: Iterable[str]) -> None:
    """Refuse a folder that is a table of a lake, by the names of what lies in it."""
    there = set(names)
    for kind, (mark, files) in MARKS.items():
        if mark in there and (kind != ICEBERG or _has(folder / mark, files)):
            raise lake_table(what, folder, kind)


def check_no_lake_above(what: str, place: Path) -> None:
    """Refuse a file or folder that is a part of a table of a lake; see `check_no_lake`."""
    marks = [mark for mark, _ in MARKS.values()]
    for folder in place.resolve().parents:
        check_no_lake(what, folder, [mark for mark in marks if os.path.isdir(folder / mark)])  # noqa: PTH112


def _has(folder: Path, files: str) -> bool:
    with suppress(OSError):
        return any(path.match(files) for path in folder.iterdir())
    return False
