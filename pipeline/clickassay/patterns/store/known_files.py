"""Which files a store holds: a file is known by its content, not by its place or name."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from clickassay.core.errors import InputError
from clickassay.inputs.sources.fingerprint import END_BYTES, ENDS, FileFingerprint, content_digest


class KnownFiles:
    """The files of one half of a log that a store was made of, each path once."""

    def __init__(self, what: str, files: Sequence[FileFingerprint]) -> None:
        self._what = what
        self._by_path = {file.path: file for file in files}
        self._by_digest = {file.digest: file for file in files}
        self._older: defaultdict[int, list[FileFingerprint]] = defaultdict(list)
        for file in files:
            if file.kind == ENDS:
                self._older[file.bytes].append(file)

    def at(self, path: str) -> FileFingerprint | None:
        """Return the file that was read from a path."""
        return self._by_path.get(path)

    def like(self, file: FileFingerprint) -> FileFingerprint | None:
        """Return the known file of the same content; None if the file is new.

        Raises InputError if all that is known of a file with the same size and ends is just these, and it is
        gone.
        """
        before = self.at(file.path)
        if before is not None and file.has_content_of(before):
            return before
        same = self._by_digest.get(file.digest)
        return same or next((one for one in self._older[file.bytes] if self._is_copy(file, one)), None)

    def _is_copy(self, file: FileFingerprint, older: FileFingerprint) -> bool:
        if not file.has_content_of(older):
            return False
        if file.bytes <= 2 * END_BYTES:  # then its ends are all of it
            return True
        try:
            return content_digest(Path(older.path)) == file.digest
        except OSError as error:
            raise InputError(
                f"{self._what}: {file.path} has the size and the ends of {older.path}, which is gone; an "
                "older clickassay, which read it, kept no digest of the whole file to compare with; put it "
                "back there (a link is enough), then run again"
            ) from error
