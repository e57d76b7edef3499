"""Inputs in object stores and on web servers: objects copied into the scratch folder, each as it was listed.

An object that is overwritten meanwhile is refused: every request names the entity tag that the listing gave.
Credentials come from the environment alone; where it has none, requests are not signed, so that nothing but
the named address is asked.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from glob import has_magic
from io import RawIOBase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from clickassay.core.errors import InputError
from clickassay.core.files.scratch import scratch_folder
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.text.paths import STORES, address_fault
from clickassay.core.text.words import first_line, without_secrets
from clickassay.inputs.files import format_of
from clickassay.inputs.sources.fingerprint import FileFingerprint, Origin
from clickassay.inputs.sources.lakes import DELTA, MARKS
from clickassay.inputs.sources.mapping import Names, needed_columns
from clickassay.inputs.sources.walk import find_files
from clickassay.inputs.staging.made import Made

OBJECT = "object"
"""Kind of digest: of size, time of change and entity tag of an object."""

RANGE = 16 << 20
"""Bytes of one request."""
TRIES, CONNECT, READ = 4, timedelta(seconds=10), timedelta(seconds=30)
"""Requests for the same bytes; how long to wait for a connection, and for the next bytes of an answer."""

_AT_ONCE = 4
_WORTH_COLUMNS = 8 << 20
"""Smaller objects are copied whole."""

_CREDENTIALS = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
           "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    "gs": ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY",
           "GOOGLE_APPLICATION_CREDENTIALS"),
    "az": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY",
           "AZURE_STORAGE_CLIENT_ID", "AZURE_CLIENT_ID", "AZURE_STORAGE_TOKEN"),
}  # fmt: skip
"""Variables one of which has credentials."""


@dataclass(frozen=True)
class _Listed:
    """An object as it was listed: its key, size, time of change and entity tag."""

    key: str
    size: int
    changed: str
    tag: str | None

    @classmethod
    def of(cls, meta: Any) -> "_Listed":  # noqa: ANN401 - of obstore
        return cls(str(meta["path"]), int(meta["size"]), str(meta["last_modified"]), meta.get("e_tag"))


def fetched(what: str, url: str, names: Names, progress: Progress = silent) -> Made:
    """Copy the objects behind an address into the scratch folder.

    Parameters
    ----------
    what
        Name of the input.
    url
        ``s3://bucket/key``, a prefix that stands for a folder, or a glob; ``gs://``, ``az://``; or the
        ``https://`` address of one file.
    names
        The columns that it calls otherwise: of large Parquet objects only needed columns are copied.

    Raises
    ------
    InputError
        If nothing is there, it may not be read, or an object is changed meanwhile.
    """
    place = _Place.of(what, url)
    progress(Event(f"listing {what}"))
    listed = {one.key: one for one in place.listed()}
    if any(f"/{MARKS[DELTA][0]}/" in f"/{key}" for key in listed):
        from clickassay.inputs.staging.lakes import delta_rows  # noqa: PLC0415 - an extra

        address = f"{place.scheme}{url[url.index(':') :]}"
        return delta_rows(what, url, address, names, progress, options=lake_options(place.scheme))
    folder = scratch_folder(place.base)
    for key in listed:
        if ".." in Path(key).parts:
            raise InputError(f"{what}: the name of {place.base}/{key} has ..; rename it")
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).touch()
    path = folder / place.key
    files = find_files(what, path).files  # as if they lay here: the same are left out
    keys = {file: listed[str(file.relative_to(folder))] for file in files}
    _copy(place, keys, names, progress)
    return Made(path, {file: Origin((place.fingerprint(one),)) for file, one in keys.items()})


@dataclass(frozen=True)
class _Place:
    """An address: the input that lies there, its bucket or host, and the key below it."""

    what: str
    scheme: str
    base: str
    key: str
    store: Any

    @classmethod
    def of(cls, what: str, url: str) -> "_Place":
        fault = address_fault(url)
        if fault is not None:
            raise InputError(f"{what}: {without_secrets(url)} {fault}; add --engine spark, or copy it here")
        parts = urlsplit(url)
        scheme, key = STORES[parts.scheme.lower()], parts.path.strip("/")
        if scheme == "https" and not key:
            raise InputError(f"{what}: {url} is no file; give the address of one file")
        base = f"{parts.scheme}://{parts.netloc}"
        return cls(what, scheme, base, key, _store(what, scheme, parts.scheme, parts.netloc))

    def listed(self) -> Iterator[_Listed]:
        """Yield the objects that the address may mean."""
        obstore = _obstore(self.what)
        parts = Path(self.key).parts
        fixed = next((number for number, part in enumerate(parts) if has_magic(part)), None)
        with self.errors():
            if fixed is None and self.key:
                try:
                    yield _Listed.of(obstore.head(self.store, self.key))
                except (FileNotFoundError, obstore.exceptions.NotFoundError):
                    if self.scheme == "https":
                        raise
                else:
                    return
            prefix = "/".join(parts[: len(parts) if fixed is None else fixed])
            found = [
                _Listed.of(meta)
                for batch in obstore.list(self.store, prefix=prefix or None)
                for meta in batch
            ]
        if not found:
            raise InputError(f"{self.what}: nothing is at {self.base}/{self.key}; check bucket and key")
        yield from found

    def errors(self) -> "_Errors":
        """Return a context in which errors of the store become one line."""
        return _Errors(self.what, self.base, self.scheme)

    def fingerprint(self, one: _Listed) -> FileFingerprint:
        """Return the identity of an object as it was listed."""
        path = f"{self.base}/{one.key}"
        digest = hashlib.sha256(f"{one.size} {one.changed} {one.tag}".encode()).hexdigest()
        return FileFingerprint(Path(one.key).name, path, one.size, f"{OBJECT}:{digest}")

    def read(self, one: _Listed, start: int, end: int) -> bytes:
        """Return some bytes of an object, if it is the listed one."""
        obstore = _obstore(self.what)
        options: dict[str, Any] = {"range": (start, end)}
        if one.tag is not None:
            options["if_match"] = one.tag
        with self.errors():
            got = obstore.get(self.store, one.key, options=options)
            if _Listed.of(got.meta) != one:
                raise self.changed(one)
            return bytes(got.bytes())

    def whole(self, one: _Listed) -> Iterator[bytes]:
        """Yield an object from its beginning on, for a server that knows no parts of a file."""
        with self.errors():
            got = _obstore(self.what).get(self.store, one.key)
            if _Listed.of(got.meta) != one:
                raise self.changed(one)
            yield from map(bytes, got.stream(min_chunk_size=RANGE))

    def changed(self, one: _Listed) -> InputError:
        """Return the error for an object that is another by now."""
        return InputError(f"{self.what}: {self.base}/{one.key} was overwritten while it was read; run again")


def _obstore(what: str) -> Any:  # noqa: ANN401 - a module
    try:
        import obstore  # noqa: PLC0415 - an extra
        import obstore.exceptions  # noqa: PLC0415
        import obstore.store  # noqa: PLC0415
    except ImportError as error:
        raise InputError(
            f"{what}: to read object stores, install: pip install 'clickassay[cloud]'"
        ) from error
    return obstore


def _is_signed(kind: str) -> bool:
    """Tell whether the environment has credentials."""
    return any(os.environ.get(name) for name in _CREDENTIALS.get(kind, ()))


def _endpoint() -> str:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")


def lake_options(kind: str) -> dict[str, str]:
    """Return what another reader of a bucket is told, so that it asks no address but the bucket's."""
    options = {"connect_timeout": f"{CONNECT.seconds}s", "timeout": "600s"}
    if kind == "s3" and _endpoint():
        options |= {
            "aws_endpoint": _endpoint(),
            "aws_allow_http": str(_endpoint().startswith("http://")).lower(),
        }
    return options if _is_signed(kind) else options | {f"{_OPTION_OF[kind]}_skip_signature": "true"}


_OPTION_OF = {"s3": "aws", "gs": "google", "az": "azure", "https": "http"}


def _store(what: str, kind: str, scheme: str, host: str) -> Any:  # noqa: ANN401 - of obstore
    obstore = _obstore(what)
    endpoint = _endpoint()
    client = {
        "connect_timeout": CONNECT,
        "read_timeout": READ,
        "timeout": timedelta(minutes=10),
        "allow_http": scheme == "http" or (kind == "s3" and endpoint.startswith("http://")),
    }
    retry = {"max_retries": TRIES - 1, "retry_timeout": timedelta(seconds=60)}
    options: dict[str, Any] = {"client_options": client, "retry_config": retry}
    if kind != "https" and not _is_signed(kind):
        options["skip_signature"] = True
    if kind == "s3" and endpoint:
        options["endpoint"] = endpoint
    with _Errors(what, f"{scheme}://{host}", kind):
        if kind == "https":
            return obstore.store.HTTPStore.from_url(f"{scheme}://{host}", **options)
        return obstore.store.from_url(f"{kind}://{host}", **options)


class _Errors:
    """A context that turns errors of an object store into one line with the remedy."""

    def __init__(self, what: str, base: str, kind: str) -> None:
        self._what, self._base, self._kind = what, base, kind

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        known = _obstore(self._what).exceptions
        if not isinstance(error, known.BaseError | FileNotFoundError):
            return
        if isinstance(error, known.PreconditionError):
            raise InputError(
                f"{self._what}: an object of {self._base} was overwritten while it was read; run again"
            ) from error
        remedies = {
            FileNotFoundError: "check bucket and key",
            known.NotFoundError: "check bucket and key",
            known.PermissionDeniedError: self._credentials(),
            known.UnauthenticatedError: self._credentials(),
        }
        remedy = next(
            (text for kind, text in remedies.items() if isinstance(error, kind)),
            "check address, region and network, and run again",
        )
        raise InputError(f"{self._what}: cannot read {self._base}: {_short(error)}; {remedy}") from error

    def _credentials(self) -> str:
        names = {
            "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and perhaps AWS_SESSION_TOKEN and AWS_REGION",
            "gs": "GOOGLE_APPLICATION_CREDENTIALS",
            "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
        }
        if self._kind not in names:
            return "the server wants a login; download the file"
        return f"set {names[self._kind]} in the environment, with the right to read and list"


_MOST_SIGNS = 200


def _short(error: BaseException) -> str:
    """Return the first line of an error of obstore, which goes on with what it was made of."""
    text = without_secrets(first_line(error))
    return text if len(text) <= _MOST_SIGNS else f"{text[:_MOST_SIGNS]}…"


def _copy(place: _Place, keys: dict[Path, _Listed], names: Names, progress: Progress) -> None:
    """Copy objects, several at once; progress is in bytes."""
    whole = sum(one.size for one in keys.values()) or 1
    done = 0

    def count(size: int) -> None:
        nonlocal done
        done += size
        progress(
            Event(f"copying {place.what}: {done / 1e6:,.0f} of {whole / 1e6:,.0f} MB", min(done / whole, 1.0))
        )

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        waiting = [pool.submit(_copy_one, place, one, file, names, count) for file, one in keys.items()]
        try:
            for one in waiting:
                one.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _copy_one(place: _Place, one: _Listed, file: Path, names: Names, count: Callable[[int], None]) -> None:
    is_large = format_of(file) == "parquet" and one.size > _WORTH_COLUMNS
    try:
        if is_large and _copy_columns(place, one, file, names):
            count(one.size)
        else:
            _copy_parts(place, one, file, count)
    except InputError as error:
        if not isinstance(error.__cause__, _obstore(place.what).exceptions.NotSupportedError):
            raise
        _copy_whole(place, one, file, count)


def _copy_parts(place: _Place, one: _Listed, file: Path, count: Callable[[int], None]) -> None:
    with file.open("wb") as stream:
        for start in range(0, one.size, RANGE):
            end = min(start + RANGE, one.size)
            stream.write(_again(place, one, start, end))
            count(end - start)


def _copy_whole(place: _Place, one: _Listed, file: Path, count: Callable[[int], None]) -> None:
    with file.open("wb") as stream:
        for part in place.whole(one):
            stream.write(part)
            count(len(part))
    if file.stat().st_size != one.size:
        raise InputError(f"{place.what}: {place.base}/{one.key} ended too early; run again")


def _again(place: _Place, one: _Listed, start: int, end: int) -> bytes:
    """Read bytes; where the connection is cut on the way, again."""
    for number in range(1, TRIES):
        try:
            read = place.read(one, start, end)
        except InputError as error:
            if not _may_pass(error):
                raise
        else:
            if len(read) == end - start:
                return read
        time.sleep(0.25 * 2**number)
    read = place.read(one, start, end)
    if len(read) != end - start:
        raise InputError(
            f"{place.what}: {place.base}/{one.key} ends after {start + len(read):,} bytes; run again"
        )
    return read


def _may_pass(error: InputError) -> bool:
    known = _obstore("").exceptions
    return isinstance(error.__cause__, known.GenericError)


def _copy_columns(place: _Place, one: _Listed, file: Path, names: Names) -> bool:
    """Copy the needed columns of a Parquet object, if they are less than half of it; tell whether so."""
    try:
        source = pq.ParquetFile(pa.PythonFile(_ObjectFile(place, one), mode="r"), pre_buffer=True)
        needed = needed_columns(place.what, source.schema_arrow.names, names)
        if needed is None or 2 * _bytes_of(source.metadata, needed) > one.size:
            return False
        with pq.ParquetWriter(
            file, pa.schema([source.schema_arrow.field(name) for name in needed])
        ) as writer:
            for batch in source.iter_batches(columns=needed):
                writer.write_batch(batch)
    except pa.ArrowException:
        return False  # it is copied whole, and refused by the reader of all files
    return True


def _bytes_of(footer: pq.FileMetaData, needed: Sequence[str]) -> int:
    chosen = set(needed)
    return sum(
        column.total_compressed_size
        for group in map(footer.row_group, range(footer.num_row_groups))
        for column in map(group.column, range(group.num_columns))
        if column.path_in_schema.partition(".")[0] in chosen
    )


class _ObjectFile(RawIOBase):
    """An object as a file that is read here and there."""

    def __init__(self, place: _Place, one: _Listed) -> None:
        self._place, self._one, self._at = place, one, 0

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that it has places."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._one.size}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - of the caller
        """Read as many bytes as there is room for."""
        end = min(self._at + len(buffer), self._one.size)
        if end <= self._at:
            return 0
        read = _again(self._place, self._one, self._at, end)
        buffer[: len(read)] = read
        self._at += len(read)
        return len(read)
