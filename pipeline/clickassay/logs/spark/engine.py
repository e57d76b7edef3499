"""The engine for logs that outgrow one machine: Spark 4 runs the steps where the log lies."""

import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlparse

import polars as pl
import pyarrow.parquet as pq

from clickassay.core.files.tables import scan_parquet
from clickassay.core.text.paths import without_patterns
from clickassay.logs.spark.errors import text_error, translate_error
from clickassay.logs.spark.functions import F
from clickassay.logs.sql.steps import Value
from clickassay.logs.sql.translate import translate_step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

T = TypeVar("T")

_DIALECT = "spark"
_SIDE_BY_SIDE = 4
_PARQUET: dict[str, Any] = {
    "compression": "zstd",
    "parquet.compression.codec.zstd.level": 1,  # three times as fast as the default, and hardly larger
    "parquet.enable.dictionary": False,  # most of what is staged are fingerprints, which hardly repeat
    "maxRecordsPerFile": 1_000_000,  # a file then needs some hundred megabytes of memory on this machine
}


class SparkEngine:
    """A `SqlEngine` on a Spark session (classic or Connect); large tables are staged where workers reach.

    staging, here: folder of Spark's for tables between steps, which the caller removes; one here to fetch.
    """

    def __init__(self, session: "SparkSession", staging: str, here: Path) -> None:
        self.session = session
        self._staging, self._here = staging.rstrip("/"), here
        self._numbers = itertools.count(1)
        self._fetched_from: dict[str, str] = {}

    def place(self, name: str) -> str:
        """Return the path of a new folder below the staging folder."""
        return f"{self._staging}/{next(self._numbers):04d}-{name}"

    def show(self, name: str, rows: "DataFrame", carried: "DataFrame | None" = None) -> None:
        with self._translated_errors():
            frame = _marked(rows, carried=False)
            if carried is not None:
                frame = frame.unionByName(_marked(carried, carried=True), allowMissingColumns=True)
            frame.createOrReplaceTempView(name)

    def fetched(self, name: str) -> "DataFrame":
        return self._read(self._fetched_from[name])

    def put(self, file: Path | None, like: "DataFrame") -> "DataFrame":
        if file is None:
            return like.limit(0)
        with self._translated_errors():
            place = self.place("put")
            if place.startswith("file:"):
                folder = Path(unquote(urlparse(place).path))
                folder.mkdir(parents=True)
                shutil.copyfile(file, folder / "part-0.parquet")
            else:
                self.session.createDataFrame(pq.read_table(file)).write.parquet(place)
            return self._read(place)

    def register(self, name: str, frame: pl.DataFrame) -> None:
        with self._translated_errors():
            self.session.createDataFrame(frame.to_arrow()).createOrReplaceTempView(name)

    def stage(self, name: str, step: str, **values: Value) -> None:
        with self._translated_errors():
            frame = self._select(step, values)
            place = self._written(name, frame)
            self._read(place, frame.schema).createOrReplaceTempView(name)

    def rows_of(self, *steps: str) -> list[list[tuple[Any, ...]]]:
        return self._side_by_side(self.rows, steps)

    def fetch(self, *steps: str, **values: Value) -> list[pl.LazyFrame]:
        return self._side_by_side(lambda step: self._fetched(step, values), steps)

    def _fetched(self, step: str, values: dict[str, Value]) -> pl.LazyFrame:
        with self._translated_errors():
            name = step.rpartition("/")[2]
            frame = self._select(step, values)
            place = self._fetched_from[name] = self._written(name, frame)
            return scan_parquet(self._files_here(place, frame.schema))

    @staticmethod
    def _side_by_side(work: Callable[[str], T], steps: Sequence[str]) -> list[T]:
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as threads:
            return list(threads.map(work, steps))

    def _written(self, name: str, frame: "DataFrame") -> str:
        place = self.place(name)
        frame.write.options(**_PARQUET).parquet(place)
        return place

    def _files_here(self, place: str, schema: "StructType") -> list[Path]:
        written = sorted(self._read(place, schema).inputFiles())
        lying = [Path(unquote(urlparse(file).path)) for file in written]
        if all(urlparse(file).scheme == "file" for file in written) and all(file.exists() for file in lying):
            return lying
        folder = self._here / place.rpartition("/")[2]
        folder.mkdir(parents=True)
        fetched = []
        for number, file in enumerate(written):
            fetched.append(folder / f"{number:06d}.parquet")
            pq.write_table(self._read(unquote(file), schema).toArrow(), fetched[-1])
        return fetched

    def _read(self, place: str, schema: "StructType | None" = None) -> "DataFrame":
        read = self.session.read if schema is None else self.session.read.schema(schema)
        return read.parquet(without_patterns(place))

    def view(self, name: str, step: str, **values: Value) -> None:
        with self._translated_errors():
            self._select(step, values).createOrReplaceTempView(name)

    def rows(self, step: str, **values: Value) -> list[tuple[Any, ...]]:
        with self._translated_errors():
            return [tuple(row) for row in self._select(step, values).collect()]

    def is_empty(self, name: str) -> bool:
        with self._translated_errors():
            return bool(self.session.table(name).isEmpty())

    def _select(self, step: str, values: dict[str, Value]) -> "DataFrame":
        return self.session.sql(translate_step(step, _DIALECT, values))

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise translate_error(error) from text_error(error)


def _marked(rows: "DataFrame", *, carried: bool) -> "DataFrame":
    return rows.withColumn("carried", F.lit(carried))
