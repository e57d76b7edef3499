"""The identity of files: a digest of their content, named by what it was taken of."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Self

import polars as pl

from clickassay.core.errors import InputError

CONTENT = "sha256"
"""Kind of digest: SHA-256 of the whole file; of an input, of the digests of its files."""
ENDS = "ends"
"""Of size, first and last MiB, as older versions recorded: a change between them was not seen."""
LISTING = "listing"
"""Of path, size and time of change, where only Spark reaches; of an input, of paths and sizes."""
ROWS = "rows"
"""Of the rows of a table in memory."""

END_BYTES = 1 << 20

State = tuple[int, int, int]


@dataclass(frozen=True)
class FileFingerprint:
    """Identity of a file: its name, place and size, and a digest ``kind:hexadecimal``."""

    name: str
    path: str
    bytes: int
    digest: str
    # The file as it was given, and its state before it was read for the digest; not recorded.
    seen: tuple[Path, State] | None = field(default=None, compare=False, repr=False)
    read: tuple[Self, ...] = field(default=(), compare=False, repr=False)  # The files that SQL read for it.

    @classmethod
    def recorded(cls, entry: Mapping[str, Any]) -> Self:
        """Return a fingerprint as a store recorded it; one without the kind of its digest is older."""
        path = entry["path"]
        is_here = PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()
        digest = entry.get("digest") or f"{ENDS if is_here else LISTING}:{entry['sha256']}"
        read = tuple(map(cls.recorded, entry.get("read", ())))
        return cls(entry["name"], path, entry["bytes"], digest, read=read)

    def read_as(self, names: Mapping[str, str]) -> Self:
        """Return the fingerprint of the file as it is read under these names of columns, if it has any."""
        if not names:
            return self
        digest = hashlib.sha256(repr((self.digest, sorted(names.items()))).encode()).hexdigest()
        return replace(self, digest=f"{self.kind}:{digest}")

    def entry(self) -> dict[str, Any]:
        """Return what is recorded."""
        own = {"name": self.name, "path": self.path, "bytes": self.bytes, "digest": self.digest}
        return own | ({"read": [one.entry() for one in self.read]} if self.read else {})

    @property
    def kind(self) -> str:
        """What the digest was taken of."""
        return self.digest.partition(":")[0]

    def has_content_of(self, known: Self) -> bool:
        """Return whether the file, which lies here, is the known one, as far as the latter's digest tells."""
        if self.bytes != known.bytes or self.kind == known.kind:
            return self.digest == known.digest
        return known.kind == ENDS and ends_digest(Path(self.path)) == known.digest


@dataclass(frozen=True)
class Origin:
    """The source of a file that was made on the way."""

    files: tuple[FileFingerprint, ...]  # What it was made of.
    # Rows by step and reason of the funnel, where rows could leave.
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def fingerprint(self) -> FileFingerprint:
        """One fingerprint of all."""
        if len(self.files) == 1:
            return self.files[0]
        first, whole = self.files[0], input_fingerprint(self.files)
        size = sum(file.bytes for file in self.files)
        return FileFingerprint(first.name, first.path, size, str(whole["digest"]))


def file_fingerprint(file: Path) -> FileFingerprint:
    """Read a whole file for its fingerprint: a second or less for a GB; OSError if it cannot be read."""
    state = _state(file)
    path, digest = str(file.resolve()), content_digest(file)
    return FileFingerprint(file.name, path, state[0], digest, (file, state))


def _state(file: Path) -> State:
    state = file.stat()
    return state.st_size, state.st_mtime_ns, state.st_ino


def refuse_changed(what: str, files: Sequence[FileFingerprint]) -> None:
    """Refuse files that differ from their fingerprints (InputError): what was read may be of either."""
    for fingerprint in files:
        if fingerprint.seen is None:
            continue
        file, state = fingerprint.seen
        try:
            is_changed = _state(file) != state and content_digest(file) != fingerprint.digest
        except FileNotFoundError:
            is_changed = True
        if is_changed:
            raise InputError(f"{what}: {file} was changed while it was read; run again")


@contextmanager
def unchanged(files: Mapping[str, Path | None]) -> Iterator[dict[str, dict[str, object] | None]]:
    """Yield name, size and SHA-256 of files before they are read (None: a pipe); None = not given.

    Raises InputError: at the end, if a file was changed meanwhile.
    """
    given = {what: file for what, file in files.items() if file is not None}
    seen = {what: file_fingerprint(file) for what, file in given.items() if file.is_file()}
    entries: dict[str, dict[str, object] | None] = dict.fromkeys(given)
    for what, one in seen.items():
        entries[what] = {"name": one.name, "bytes": one.bytes, CONTENT: one.digest.partition(":")[2]}
    with refusing_changes({what: [one] for what, one in seen.items()}):
        yield entries


@contextmanager
def refusing_changes(files: Mapping[str, Sequence[FileFingerprint]]) -> Iterator[None]:
    """Refuse files that are changed meanwhile, at the end: a change may be why another error came."""
    try:
        yield
    except Exception:
        _refuse_all_changed(files)
        raise
    _refuse_all_changed(files)


def _refuse_all_changed(files: Mapping[str, Sequence[FileFingerprint]]) -> None:
    for what, some in files.items():
        refuse_changed(what, some)


def copies(files: Sequence[FileFingerprint]) -> Iterator[tuple[FileFingerprint, FileFingerprint]]:
    """Yield each file that has the content of one before it, and that one."""
    first: dict[str, FileFingerprint] = {}
    for file in files:
        if first.setdefault(file.digest, file) is not file:
            yield file, first[file.digest]


def content_digest(file: Path) -> str:
    """Return the digest of a whole file."""
    with file.open("rb") as stream:
        return f"{CONTENT}:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def ends_digest(file: Path) -> str:
    """Return the digest by which older stores know a file."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        head = stream.read(END_BYTES)
        stream.seek(max(len(head), size - END_BYTES))
        ends = size.to_bytes(8, "big") + head + stream.read()
    return f"{ENDS}:{hashlib.sha256(ends).hexdigest()}"


def input_fingerprint(files: Sequence[FileFingerprint]) -> dict[str, object]:
    """Return the identity of files in any order, and of what SQL among them read: names, bytes, digest."""
    read = [one for file in files for one in file.read]
    kinds = {file.kind for file in files}
    values = sorted(file.digest.partition(":")[2] for file in files)
    digest = hashlib.sha256("".join(values).encode()).hexdigest()
    return {
        "names": sorted(file.name for file in files)[:3],
        "files": len(files),
        "bytes": sum(file.bytes for file in files),
        "digest": f"{'+'.join(sorted(kinds)) or CONTENT}:{digest}",
    } | ({"read": input_fingerprint(read)} if read else {})


def recorded_digest(entry: Mapping[str, Any]) -> str | None:
    """Return the digest of an input as a run or a pattern table recorded it; None if it has none."""
    older = entry.get("sha256")
    digest = entry.get("digest", older if older is None else f"{ENDS}:{older}")
    return None if digest is None else str(digest)


@dataclass(frozen=True)
class Made:
    """Ordinary files in place of an input."""

    path: Path  # A file or a folder.
    origins: Mapping[Path, Origin] = field(default_factory=dict)  # Of each file, what it was made of.
    # Of files without a row, the rows, which are in memory.
    held: Mapping[Path, pl.DataFrame] = field(default_factory=dict)
    # By column of the files that has numbers of lists, the lists by number.
    lists: Mapping[str, pl.Series] = field(default_factory=dict)
