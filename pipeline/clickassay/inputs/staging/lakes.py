"""Tables of Delta Lake and Iceberg: the rows of their present version, written into the scratch folder."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from clickassay.core.errors import InputError
from clickassay.core.files.scratch import scratch_file
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.text.paths import is_uri, local_path
from clickassay.core.text.words import first_line, without_secrets
from clickassay.inputs.sources.fingerprint import FileFingerprint, Made, Origin
from clickassay.inputs.sources.mapping import Names, needed_columns
from clickassay.inputs.sources.walk import DELTA, ICEBERG, kind_of

VERSION = "version"
"""Kind of digest: of a table's identity, version and files."""

_INSTALL = "install: pip install 'clickassay[lake]'"


def lake_rows(what: str, place: Path, names: Names, progress: Progress = silent) -> Made | None:
    """Write the rows of a table of Delta Lake or Iceberg; None where no such table lies.

    place: its folder; of Iceberg also a file ``….metadata.json``, which names its version.
    Raises InputError if the table cannot be read, or a package is missing.
    """
    kind = _kind_of(place)
    if kind == DELTA:
        return delta_rows(what, str(place), str(place), names, progress)
    return _iceberg_rows(what, place, names, progress) if kind == ICEBERG else None


def is_lake(place: Path) -> bool:
    """Tell whether a place is a table of Delta Lake or Iceberg."""
    return _kind_of(place) in {DELTA, ICEBERG}


def _kind_of(place: Path) -> str | None:
    is_version = place.name.endswith(".metadata.json") and place.is_file()
    return ICEBERG if is_version else kind_of(place)


def delta_rows(
    what: str,
    shown: str,
    place: str,
    names: Names,
    progress: Progress = silent,
    *,
    options: Mapping[str, str] | None = None,
) -> Made:
    """Write the rows of a table of Delta Lake, in a folder or a store; `shown` is its name in messages."""
    try:
        import deltalake  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InputError(f"{what}: {shown} is a table of {DELTA}; to read it, {_INSTALL}") from error
    progress(Event(f"reading the table of {what}"))
    try:
        table = deltalake.DeltaTable(place, storage_options=dict(options or {}))
        columns = [field.name for field in table.schema().fields]
        needed = needed_columns(what, columns, names)
        chosen = ", ".join(
            '"' + name.replace('"', '""') + '"' for name in columns if needed is None or name in needed
        )
        actions = pa.table(table.get_add_actions(flatten=True))
        _refuse_elsewhere(what, shown, actions["path"].to_pylist())
        rows = deltalake.QueryBuilder().register("given", table).execute(f"SELECT {chosen} FROM given")
        files = sorted(zip(actions["path"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True))
        origin = _identity(shown, f"{table.metadata().id} {table.version()}", files)
        return _written(what, shown, pa.RecordBatchReader.from_stream(rows), origin)
    except (deltalake.exceptions.DeltaError, OSError, pa.ArrowException) as error:
        raise _unreadable(what, shown, DELTA, error) from error


def _iceberg_rows(what: str, place: Path, names: Names, progress: Progress) -> Made:
    try:
        from pyiceberg.table import StaticTable  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InputError(f"{what}: {place} is a table of {ICEBERG}; to read it, {_INSTALL}") from error
    progress(Event(f"reading the table of {what}"))
    metadata = place if place.is_file() else _newest_metadata(what, place)
    try:
        table = StaticTable.from_metadata(str(metadata))
        snapshot = table.current_snapshot()
        lists = [] if snapshot is None else [snapshot.manifest_list]
        _refuse_elsewhere(what, place, lists)
        parts = [] if snapshot is None else snapshot.manifests(table.io)
        _refuse_elsewhere(what, place, [part.manifest_path for part in parts])
        needed = needed_columns(what, [field.name for field in table.schema().fields], names)
        scan = table.scan(selected_fields=("*",) if needed is None else tuple(needed))
        tasks = list(scan.plan_files())
        _refuse_elsewhere(
            what, place, [file.file_path for task in tasks for file in (task.file, *task.delete_files)]
        )
        files = sorted((task.file.file_path, task.file.file_size_in_bytes) for task in tasks)
        version = f"{table.metadata.table_uuid} {None if snapshot is None else snapshot.snapshot_id}"
        return _written(what, str(place), scan.to_arrow_batch_reader(), _identity(str(place), version, files))
    except InputError:
        raise
    except Exception as error:
        raise _unreadable(what, str(place), ICEBERG, error) from error


def _refuse_elsewhere(what: str, place: object, files: Iterable[str]) -> None:
    """Refuse a table here that has files elsewhere: whoever wrote its metadata would choose what is asked."""
    far = next((file for file in files if is_uri(str(local_path(file)))), None)
    if far is not None:
        raise InputError(
            f"{what}: the table {place} has files in another place, such as {without_secrets(far)}; use "
            "--engine spark with the table's name, or write its rows as Parquet"
        )


def _newest_metadata(what: str, place: Path) -> Path:
    folder = place / "metadata"
    hint = folder / "version-hint.text"
    if hint.is_file():
        version = hint.read_text(encoding="utf-8").strip()
        named = [folder / f"v{version}.metadata.json", folder / version, folder / f"{version}.metadata.json"]
        found = next((file for file in named if file.is_file()), None)
        if found is not None:
            return found
    numbers = ((re.match(r"v?(\d+)", file.name), file) for file in folder.glob("*.metadata.json"))
    numbered = [(int(match[1]) if match else -1, file) for match, file in numbers]
    highest = max(number for number, _ in numbered)
    newest = [file for number, file in numbered if number == highest]
    if len(newest) > 1:
        raise InputError(
            f"{what}: {folder} has {len(newest)} files of version {highest}, and only its catalogue "
            "knows which is current; give the file ….metadata.json itself"
        )
    return newest[0]


def _identity(shown: str, version: str, files: Iterable[tuple[str, int]]) -> FileFingerprint:
    files = list(files)
    digest = hashlib.sha256(repr((version, files)).encode()).hexdigest()
    name = f"{Path(shown).name} {version.rpartition(' ')[2]}"
    return FileFingerprint(name, f"{VERSION}:{digest}", sum(size for _, size in files), f"{VERSION}:{digest}")


def _written(what: str, shown: str, rows: Any, origin: FileFingerprint) -> Made:  # noqa: ANN401 - a reader
    file = scratch_file(shown, f"{what}.parquet")
    schema = pa.schema([field.with_type(_plain(field.type)) for field in rows.schema])
    with pq.ParquetWriter(file, schema) as writer:
        for batch in rows:
            writer.write_batch(batch.cast(schema))
    return Made(file, {file: Origin((origin,))})


def _plain(dtype: Any) -> Any:  # noqa: ANN401 - of pyarrow
    if pa.types.is_string_view(dtype):
        return pa.large_string()
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        return pa.large_list(_plain(dtype.value_type))
    if pa.types.is_struct(dtype):
        return pa.struct([field.with_type(_plain(field.type)) for field in dtype])
    return dtype


def _unreadable(what: str, shown: str, kind: str, error: BaseException) -> InputError:
    return InputError(
        f"{what}: cannot read the table of {kind} {shown}: {first_line(error)}; write its rows as Parquet "
        "with the program that made it"
    )
