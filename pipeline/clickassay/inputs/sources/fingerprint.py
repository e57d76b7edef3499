"""The identity of files: a digest of their content, named by what it was taken of."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

CONTENT = "sha256"
"""Kind of digest: SHA-256 of the whole file; of an input, of the digests of its files."""
ENDS = "ends"
"""Of size, first and last MiB, as older versions recorded: a change between them was not seen."""
LISTING = "listing"
"""Of path, size and time of change, where only Spark reaches; of an input, of paths and sizes."""
TABLES = "tables"
"""Of the tables that were made, where another program read the files."""

END_BYTES = 1 << 20


@dataclass(frozen=True)
class FileFingerprint:
    """Identity of a file: its name, place and size, and a digest ``kind:hexadecimal``."""

    name: str
    path: str
    bytes: int
    digest: str

    @classmethod
    def recorded(cls, entry: Mapping[str, Any]) -> Self:
        """Return a fingerprint as a store recorded it; one without the kind of its digest is older."""
        digest = entry.get("digest") or f"{_older_kind(entry['path'])}:{entry['sha256']}"
        return cls(entry["name"], entry["path"], entry["bytes"], digest)

    @property
    def kind(self) -> str:
        """What the digest was taken of."""
        return self.digest.partition(":")[0]

    def has_content_of(self, known: Self) -> bool:
        """Return whether the file, which lies here, is the known one, as far as the latter's digest tells."""
        if self.bytes != known.bytes or self.kind == known.kind:
            return self.digest == known.digest
        return known.kind == ENDS and ends_digest(Path(self.path)) == known.digest


def _older_kind(path: str) -> str:
    return ENDS if path.startswith("/") else LISTING


def file_fingerprint(file: Path) -> FileFingerprint:
    """Read a whole file for its fingerprint: a second or less for a GB.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    return FileFingerprint(file.name, str(file.resolve()), file.stat().st_size, content_digest(file))


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
    """Return the identity of an input in whatever order of files: some names, number, bytes, one digest."""
    kinds = {file.kind for file in files}
    values = sorted(file.digest.partition(":")[2] for file in files)
    digest = hashlib.sha256("".join(values).encode()).hexdigest()
    return {
        "names": sorted(file.name for file in files)[:3],
        "files": len(files),
        "bytes": sum(file.bytes for file in files),
        "digest": f"{'+'.join(sorted(kinds)) or CONTENT}:{digest}",
    }


def recorded_digest(entry: Mapping[str, Any]) -> str | None:
    """Return the digest of an input as a run or a pattern table recorded it; None if it has none."""
    older = entry.get("sha256")
    digest = entry.get("digest", older if older is None else f"{ENDS}:{older}")
    return None if digest is None else str(digest)
