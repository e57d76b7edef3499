"""Inputs in object stores and on web servers: objects copied into the scratch folder, each as it was listed.

An object that is overwritten meanwhile is refused: every request names the entity tag that the listing gave.
Credentials come from the environment alone; where it has none, requests are not signed. Nothing but the named
address is asked: all goes through a gate that opens to no other.
"""

import hashlib
import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from http.client import HTTPException
from itertools import islice
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError

from clickassay.core.errors import InputError
from clickassay.core.files.scratch import scratch_folder, scratch_named
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.text.paths import STORES, address_fault
from clickassay.core.text.words import first_line, plural, visible, without_secrets
from clickassay.inputs.files import format_of
from clickassay.inputs.sources.fingerprint import FileFingerprint, Made, Origin
from clickassay.inputs.sources.mapping import Names
from clickassay.inputs.sources.walk import DELTA, MARKS, find_files
from clickassay.inputs.staging import keys
from clickassay.inputs.staging.gate import OPTION_OF, Gate, endpoint, is_of_store, is_signed
from clickassay.inputs.staging.keys import files_of, parts_of

T = TypeVar("T")

OBJECT = "object"
"""Kind of digest: of size, time of change and entity tag of an object."""

RANGE = 16 << 20
"""Bytes of one request."""
MOST_OBJECTS, LISTING = 1_000_000, 600.0
"""Objects of a list, and seconds until its end: a server may go on for ever."""
TRIES, CONNECT, READ = 4, timedelta(seconds=10), timedelta(seconds=30)
"""Requests for the same bytes; how long to wait for a connection, and for the next bytes of an answer."""

_AT_ONCE = 4
_A_MOMENT = 0.1
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and perhaps AWS_SESSION_TOKEN and AWS_REGION",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}


@dataclass(frozen=True)
class _Listed:
    key: str
    size: int
    changed: str
    tag: str | None

    @classmethod
    def of(cls, meta: Any) -> "_Listed":  # noqa: ANN401 - of obstore
        # a list has milliseconds of some servers, an answer never
        changed = meta["last_modified"].replace(microsecond=0)
        return cls(str(meta["path"]), int(meta["size"]), str(changed), meta.get("e_tag"))


def fetched(what: str, url: str, names: Names, progress: Progress = silent) -> Made:
    """Copy the objects behind an address into the scratch folder.

    url: ``s3://bucket/key``, a prefix for a folder, or a glob; ``gs://``, ``az://``; ``https://`` of one
      file.
    Raises InputError if nothing is there, it may not be read, or an object is changed meanwhile.
    """
    with _Place.of(what, url).opened() as place:
        made = _started(lambda: _fetched(place, names, progress))
        while not made.done():
            wait([made], _A_MOMENT)  # interrupts end no longer wait: libraries begin it again
        return made.result()


def _fetched(place: "_Place", names: Names, progress: Progress) -> Made:
    progress(Event(f"listing {place.what}"))
    try:
        listed = {one.key: one for one in _started(place.listed).result(LISTING)}
    except TimeoutError as error:
        raise InputError(
            f"{place.what}: the list of {place.address} did not end within {LISTING:,.0f} s; check the "
            "server, or give a prefix of fewer objects"
        ) from error
    if any(f"/{MARKS[DELTA][0]}/" in f"/{key}" for key in listed):
        from clickassay.inputs.staging.lakes import delta_rows  # noqa: PLC0415 - an extra

        table = f"{place.scheme}{place.address[place.address.index(':') :]}"
        with place.errors():
            return delta_rows(place.what, place.address, table, names, progress, options=place.lake_options())
    folder = scratch_folder(place.base)
    sizes = {key: one.size for key, one in listed.items()}
    is_one = [*listed] == [place.key] and (sizes[place.key] > 0 or format_of(Path(place.key)) is not None)
    address = place.key.rpartition("/")[0] if is_one else place.key
    keys = {folder / file: listed[key] for key, file in files_of(place.what, address, sizes)}
    path = next(iter(keys), folder) if is_one else folder
    for file, one in keys.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        scratch_named(file, f"{place.base}/{one.key}")
    scratch_named(path, place.address)
    files = find_files(place.what, path).files  # as if they lay here: the same are left out
    keys = {file: keys[file] for file in files}
    _copy(place, keys, progress)
    return Made(path, {file: Origin((place.fingerprint(one),)) for file, one in keys.items()})


def _started(function: Callable[[], T]) -> "Future[T]":
    """Begin something that may wait for a server; the process may end before it does."""
    context, done = copy_context(), Future[T]()

    def work() -> None:
        try:
            done.set_result(context.run(function))
        except BaseException as error:
            done.set_exception(error)

    Thread(target=work, daemon=True).start()
    return done


@dataclass(frozen=True)
class _Place:
    """An address: the input that lies there, its bucket or host, and the key below it."""

    what: str
    scheme: str
    base: str
    key: str
    gate: Gate
    store: Any = None
    stopped: Flag = field(default_factory=Flag)

    @classmethod
    def of(cls, what: str, url: str) -> "_Place":
        fault = address_fault(url)
        if fault is not None:
            shown = visible(without_secrets(url))
            raise InputError(f"{what}: {shown} {fault}; add --engine spark, or copy it to this machine")
        parts = urlsplit(url)
        scheme, key = STORES[parts.scheme.lower()], parts.path.strip("/")
        if scheme == "https" and not key:
            raise InputError(f"{what}: {url} is not a file; give the address of one file")
        base = f"{parts.scheme}://{parts.netloc}"
        return cls(what, scheme, base, key, Gate(lambda host, at: is_of_store(scheme, base, host, at)))

    @property
    def address(self) -> str:
        """The address as it was given."""
        return f"{self.base}/{self.key}"

    @contextmanager
    def opened(self) -> Iterator["_Place"]:
        """Open the way to the store; at the end, whatever still waits for it is cut off."""
        with self.gate:
            try:
                yield replace(self, store=self._store())
            finally:
                self.stopped.set()

    def listed(self) -> list[_Listed]:
        """Return the objects that the address may mean."""
        obstore = _obstore(self.what)
        root, wild = parts_of(self.key)
        if _is_odd("/".join(root)):
            return self._listed_by_hand("/".join(root))
        with self.errors():
            if self.key and not wild:
                try:
                    one = _Listed.of(obstore.head(self.store, self.key))
                    if self.scheme == "https" or one.size or format_of(Path(self.key)) is not None:
                        return [one]
                except (FileNotFoundError, obstore.exceptions.NotFoundError):
                    if self.scheme == "https":
                        raise
            try:
                batches = obstore.list(self.store, prefix="/".join(root) or None)
                return self._checked(_Listed.of(meta) for batch in batches for meta in batch)
            except obstore.exceptions.InvalidPathError as error:
                if self.scheme != "s3" or not (keys.has_keys() or not is_signed("s3")):
                    raise InputError(
                        f"{self.what}: {self.base} has an object that cannot be read: {_short(error)}; "
                        "rename it, or give a prefix without it"
                    ) from error
        return self._listed_by_hand("".join(f"{part}/" for part in root))

    def _listed_by_hand(self, prefix: str) -> list[_Listed]:
        """Return the same where a key is none for obstore."""
        with self.errors(), self._by_hand():
            found = self._checked(
                _Listed.of(
                    {
                        "path": one.findtext("{*}Key"),
                        "size": one.findtext("{*}Size"),
                        "last_modified": datetime.fromisoformat(one.findtext("{*}LastModified", "")),
                        "e_tag": one.findtext("{*}ETag"),
                    }
                )
                for one in keys.listed(self._server, urlsplit(self.base).netloc, prefix, READ.seconds)
            )
        return [one for one in found if one.key == self.key and one.size] or found

    def _checked(self, listed: Iterable[_Listed]) -> list[_Listed]:
        found = list(islice(listed, MOST_OBJECTS + 1))
        if not found:
            raise InputError(f"{self.what}: nothing was found at {self.address}; check bucket and key")
        if len(found) > MOST_OBJECTS:
            raise InputError(
                f"{self.what}: {self.address} has more than {plural(MOST_OBJECTS, 'object')}; give a prefix "
                "of fewer"
            )
        return found

    @property
    def _server(self) -> str:
        return endpoint().rstrip("/") or f"https://s3.{keys.region(os.environ)}.amazonaws.com"

    @contextmanager
    def _by_hand(self) -> Iterator[None]:
        """Turn errors of requests by hand into those of obstore."""
        known = _obstore(self.what).exceptions
        try:
            yield
        except HTTPError as error:
            kinds = {403: known.PermissionDeniedError, 404: known.NotFoundError, 412: known.PreconditionError}
            raise kinds.get(error.code, known.GenericError)(f"HTTP status {error.code}") from error
        except (OSError, HTTPException, ParseError, ValueError) as error:
            raise known.GenericError(first_line(error)) from error

    def _store(self) -> Any:  # noqa: ANN401 - of obstore
        obstore = _obstore(self.what)
        server = endpoint() if self.scheme == "s3" else ""
        is_plain = (server or self.base).startswith("http://")
        client = {
            "connect_timeout": CONNECT,
            "read_timeout": READ,
            "timeout": timedelta(minutes=10),
            "allow_http": is_plain,
            "proxy_url": self.gate.address,
        }
        if is_plain:
            client["pool_max_idle_per_host"] = "0"  # the gate looks at the beginning of a connection
        retry = {"max_retries": TRIES - 1, "retry_timeout": timedelta(seconds=60)}
        options: dict[str, Any] = {"client_options": client, "retry_config": retry}
        if self.scheme != "https" and not is_signed(self.scheme):
            options["skip_signature"] = True
        if server:
            options["endpoint"] = server
        with self.errors():
            if self.scheme == "https":
                return obstore.store.HTTPStore.from_url(self.base, **options)
            return obstore.store.from_url(f"{self.scheme}{self.base[self.base.index(':') :]}", **options)

    def lake_options(self) -> dict[str, str]:
        """Return what another reader of a bucket is told, so that it asks no address but the bucket's."""
        options = {
            "connect_timeout": f"{CONNECT.seconds}s",
            "timeout": "600s",
            "proxy_url": self.gate.address,
            "pool_max_idle_per_host": "0",
        }
        if self.scheme == "s3" and endpoint():
            options |= {
                "aws_endpoint": endpoint(),
                "aws_allow_http": str(endpoint().startswith("http://")).lower(),
            }
        if not is_signed(self.scheme):
            options[f"{OPTION_OF[self.scheme]}_skip_signature"] = "true"
        return options

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the store into one line."""
        try:
            yield
        except Exception as error:
            if self.gate.refused is not None:
                where = {
                    "https": "give the address there",
                    "s3": "name the server or region of the bucket by AWS_ENDPOINT_URL or AWS_REGION",
                }
                raise InputError(
                    f"{self.what}: {self.base} redirects to {self.gate.refused}, which was not "
                    f"contacted; {where.get(self.scheme, 'check the address')}"
                ) from error
            known = _obstore(self.what).exceptions
            if not isinstance(error, known.BaseError | FileNotFoundError):
                raise
            if isinstance(error, known.PreconditionError):
                raise InputError(
                    f"{self.what}: an object of {self.base} was overwritten while it was read; run again"
                ) from error
            login = "the server requires a login; download the file"
            if self.scheme in _CREDENTIALS:
                of_store = _CREDENTIALS[self.scheme]
                login = f"set {of_store} in the environment, with permission to read and list"
            remedies = {
                FileNotFoundError: "check bucket and key",
                known.NotFoundError: "check bucket and key",
                known.PermissionDeniedError: login,
                known.UnauthenticatedError: login,
            }
            remedy = next(
                (text for kind, text in remedies.items() if isinstance(error, kind)),
                "check address, region and network, and run again",
            )
            raise InputError(f"{self.what}: cannot read {self.base}: {_short(error)}; {remedy}") from error

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
        if _is_odd(one.key):
            headers = {"range": f"bytes={start}-{end - 1}", "if-match": one.tag or "*"}
            with self.errors(), self._by_hand():
                bucket = urlsplit(self.base).netloc
                return keys.part(self._server, bucket, one.key, headers, READ.seconds).read(end - start)
        with self.errors():
            return b"".join(self._pieces(one, obstore.get(self.store, one.key, options=options), end - start))

    def whole(self, one: _Listed) -> Iterator[bytes]:
        """Yield an object from its beginning on, for a server that knows no parts of a file."""
        with self.errors():
            yield from self._pieces(one, _obstore(self.what).get(self.store, one.key), one.size)

    def _pieces(self, one: _Listed, got: Any, most: int) -> Iterator[bytes]:  # noqa: ANN401 - of obstore
        if _Listed.of(got.meta) != one:
            raise InputError(
                f"{self.what}: {self.base}/{one.key} was overwritten while it was read; run again"
            )
        for piece in map(bytes, got.stream(min_chunk_size=RANGE)):
            most -= len(piece)
            if most < 0 or self.stopped.is_set():
                raise InputError(
                    f"{self.what}: {self.base}/{one.key} is longer than the server's listing says; check "
                    "the server"
                )
            yield piece


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


def _is_odd(key: str) -> bool:
    return bool({"", ".", ".."} & set(key.split("/"))) and key != ""


_MOST_SIGNS = 200


def _short(error: BaseException) -> str:
    text = without_secrets(first_line(error))
    return text if len(text) <= _MOST_SIGNS else f"{text[:_MOST_SIGNS]}…"


def _copy(place: _Place, keys: dict[Path, _Listed], progress: Progress) -> None:
    needed = sum(one.size for one in keys.values())
    free = shutil.disk_usage(next(iter(keys)).parent).free
    if needed > free:
        raise InputError(
            f"{place.what}: {place.address} has {needed / 1e9:,.1f} GB, but the disk for the copy "
            f"has only {free / 1e9:,.1f} GB free; free space, or choose another --out"
        )
    whole = needed or 1
    done = 0

    def count(size: int) -> None:
        nonlocal done
        done += size
        progress(
            Event(f"copying {place.what}: {done / 1e6:,.0f} of {whole / 1e6:,.0f} MB", min(done / whole, 1.0))
        )

    todo = deque(keys.items())

    def some() -> None:
        while not place.stopped.is_set():
            try:
                file, one = todo.popleft()
            except IndexError:
                return
            _copy_one(place, one, file, count)

    for one in [_started(some) for _ in range(_AT_ONCE)]:
        one.result()


def _copy_one(place: _Place, one: _Listed, file: Path, count: Callable[[int], None]) -> None:
    try:
        with file.open("wb") as stream:
            for start in range(0, one.size, RANGE):
                end = min(start + RANGE, one.size)
                stream.write(_again(place, one, start, end))
                count(end - start)
    except InputError as error:
        if not isinstance(error.__cause__, _obstore(place.what).exceptions.NotSupportedError):
            raise
        with file.open("wb") as stream:
            for part in place.whole(one):
                stream.write(part)
                count(len(part))
        if file.stat().st_size != one.size:
            raise InputError(f"{place.what}: {place.base}/{one.key} ended too early; run again") from None


def _again(place: _Place, one: _Listed, start: int, end: int) -> bytes:
    """Read bytes; where the connection is cut on the way, again."""
    for number in range(1, TRIES):
        try:
            read = place.read(one, start, end)
        except InputError as error:
            if not isinstance(error.__cause__, _obstore("").exceptions.GenericError):
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
