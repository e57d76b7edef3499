"""What only Spark reaches (``s3a://…``, ``hdfs://…``): the files of a log, and folders to write."""

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from clickassay.core.errors import InputError, OutputError
from clickassay.core.text.paths import is_uri
from clickassay.core.text.words import without_secrets
from clickassay.inputs.sources.fingerprint import LISTING, FileFingerprint
from clickassay.inputs.sources.mapping import Names
from clickassay.logs.chunks import DAY_MS, MANY_DAYS, FileChunk
from clickassay.logs.spark.errors import first_cause, text_error
from clickassay.logs.spark.functions import F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
_FILE = ("_metadata.file_path", "_metadata.file_size", "_metadata.file_modification_time")


@dataclass(frozen=True)
class RemoteFiles:
    """Files, or a table, behind one half of a log; contents are never read for a fingerprint."""

    what: str  # ``searches`` or ``clicks``.
    source: str  # The path or the table's name that was given.
    raw: "DataFrame"  # The rows as Spark reads them.
    time: "Column"  # Their time (ms since 1970, UTC).
    names: frozenset[str] | None = None  # The files that are meant; None = all.
    columns: Names = field(default_factory=dict)  # The columns that they call otherwise.

    def fingerprint(self) -> dict[str, object]:
        """Name the input: number of files and bytes (0 if hidden), digest of paths and sizes."""
        try:
            rows = self.raw.select(*_FILE[:2]).distinct().collect()
            files = sorted((str(path), int(size)) for path, size in rows)
        except Exception:
            files = sorted((file, 0) for file in self.raw.inputFiles())
        digest = hashlib.sha256(repr(files).encode()).hexdigest()
        size = sum(size for _, size in files)
        return {"names": [self.source], "files": len(files), "bytes": size, "digest": f"{LISTING}:{digest}"}

    def fingerprints(self) -> dict[str, FileFingerprint]:
        """Name each file by its path, size and time of change.

        Raises InputError if it is a table that does not name its files: a store must know what it has read.
        """
        every = self._every_file
        return {path: every[path] for path in every if self.names is None or path in self.names}

    @cached_property
    def _every_file(self) -> dict[str, FileFingerprint]:
        try:
            rows = self.raw.select(*_FILE).distinct().collect()
        except Exception as error:
            raise InputError(
                f"{self.what}: {self.source} does not name its files, so a store cannot tell which it "
                "has read; give a path of Parquet files, or use --out"
            ) from text_error(error)
        files: dict[str, FileFingerprint] = {}
        for path, size, modified in sorted(rows):
            kept = without_secrets(str(path))  # a store keeps it
            digest = hashlib.sha256(f"{kept}\n{int(size)}\n{modified}".encode()).hexdigest()
            file = FileFingerprint(kept.rpartition("/")[2], kept, int(size), f"{LISTING}:{digest}")
            files[kept] = file.read_as(self.columns)
        return files

    def only(self, files: Sequence[str]) -> Self:
        return replace(self, names=frozenset(files))

    def chunks(self, first_ms: int, end_ms: int) -> tuple[FileChunk, ...]:
        """Return the files, each a chunk, with the range of their times within first_ms to end_ms."""
        timed = self.raw.select(F.col("_metadata.file_path").alias("file"), self.time.alias("timestamp"))
        usable = timed.where((F.col("timestamp") >= first_ms) & (F.col("timestamp") < end_ms))
        days = F.collect_set((F.col("timestamp") / DAY_MS).cast("bigint") * DAY_MS)
        times = usable.groupBy("file").agg(F.min("timestamp"), F.max("timestamp"), days)
        known = {file: ranges for file, *ranges in times.collect()}
        chunks = []
        for file, rows in timed.groupBy("file").count().collect():
            if self.names is not None and file not in self.names:
                continue
            low, high, days_of = known.get(file, (None, None, ()))
            is_long = low is not None and high - low > MANY_DAYS * DAY_MS
            own_days = tuple(sorted(days_of)) if is_long else None
            chunks.append(FileChunk(str(file), 0, int(rows), low, high, own_days))
        return tuple(chunks)

    def last_searches(self, chunk: FileChunk, end_ms: int) -> list[tuple[int, object]]:
        timed = self.raw.where(F.col("_metadata.file_path") == chunk.file).select(
            self.time.alias("timestamp"), "search_id"
        )
        rows = timed.where(F.col("timestamp") < end_ms).orderBy(F.col("timestamp").desc()).limit(2)
        return [(int(time), id_) for time, id_ in rows.collect()]


class SparkFolder:
    """A folder by its path with a scheme; OutputError if Spark does not know it, or is Spark Connect's."""

    def __init__(self, session: "SparkSession", uri: str) -> None:
        self._uri = uri.rstrip("/")
        jvm: Any = getattr(session, "_jvm", None)
        if jvm is None:
            raise OutputError(f"Spark Connect cannot write files to {uri}; give a local folder")
        self._path = jvm.org.apache.hadoop.fs.Path
        try:
            conf = session._jsc.hadoopConfiguration()
            self._system: Any = self._path(self._uri).getFileSystem(conf)
        except Exception as error:
            raise OutputError(f"Spark cannot reach {uri}: {first_cause(error)}") from text_error(error)

    def names(self) -> set[str]:
        """Return the names in the folder; none if it is not there."""
        place = self._path(self._uri)
        if not self._system.exists(place):
            return set()
        return {str(entry.getPath().getName()) for entry in self._system.listStatus(place)}

    def fetch(self, here: Path, name: str) -> None:
        """Copy a file or folder of it into a folder of this machine."""
        self._system.copyToLocalFile(False, self._path(f"{self._uri}/{name}"), self._here(here / name), True)

    def put(self, here: Path, name: str) -> None:
        """Copy a file or folder of this machine into it, by way of a hidden name: it appears whole."""
        hidden = self._path(f"{self._uri}/.{name}.new")
        self._system.mkdirs(self._path(self._uri))
        self._system.delete(hidden, True)
        self._system.copyFromLocalFile(False, True, self._here(here / name), hidden)
        self.remove(name)
        if not self._system.rename(hidden, self._path(f"{self._uri}/{name}")):
            raise OutputError(f"cannot write {self._uri}/{name}: Spark's file system refused to rename it")

    def remove(self, name: str = "") -> bool:
        """Remove a file or folder of it, or the folder itself; return whether it was there."""
        return bool(self._system.delete(self._path(f"{self._uri}/{name}".rstrip("/")), True))

    def _here(self, place: Path) -> Any:  # noqa: ANN401 - Java's path
        return self._path(f"file://{place.resolve()}")


@contextmanager
def local_store(session: "SparkSession", place: Path | str) -> Iterator[Path]:
    """Yield a folder of this machine for a store: itself, or a copy that is written back when the block ends.

    Only whole batches are copied back, in their order; no other process may write there meanwhile.
    """
    if not is_uri(str(place)):
        yield Path(place)
        return
    remote = SparkFolder(session, str(place))
    with tempfile.TemporaryDirectory(prefix="clickassay-") as work:
        here, before = Path(work) / "store", remote.names()
        here.mkdir()
        for name in sorted(name for name in before if not name.startswith(".")):
            remote.fetch(here, name)
        try:
            yield here
        finally:
            names = sorted(path.name for path in here.iterdir() if not path.name.startswith("."))
            for name in sorted(names, key=lambda name: (name.isdigit(), name)):
                if name not in before:
                    remote.put(here, name)
