"""Folders that only Spark reaches (``s3a://…``, ``hdfs://…``), read and written by its file systems."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clickassay.core.errors import OutputError
from clickassay.core.text.paths import is_uri
from clickassay.logs.spark.errors import first_cause, text_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkFolder:
    """A folder by its path with a scheme.

    Raises
    ------
    OutputError
        If the session is Spark Connect's, which offers no file systems, or Spark does not know the scheme.
    """

    def __init__(self, session: "SparkSession", uri: str) -> None:
        self._uri = uri.rstrip("/")
        jvm: Any = getattr(session, "_jvm", None)
        if jvm is None:
            raise OutputError(f"Spark Connect cannot write files to {uri}; give a folder here")
        self._path = jvm.org.apache.hadoop.fs.Path
        try:
            conf = session._jsc.hadoopConfiguration()
            self._system: Any = self._path(self._uri).getFileSystem(conf)
        except Exception as error:
            raise OutputError(f"Spark does not reach {uri}: {first_cause(error)}") from text_error(error)

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
