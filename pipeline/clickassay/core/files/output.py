"""Folders that appear whole or not at all: written beside their place, then renamed."""

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from clickassay.core.errors import OutputError
from clickassay.core.files.locks import locks
from clickassay.core.text import escape
from clickassay.core.text.paths import is_text, is_uri, local_path
from clickassay.core.text.words import visible

_LOCK = ".clickassay-work"
"""The file by which a work folder is known as one of ours, locked by the process that uses it."""

SETTINGS_FILE = "settings.json"
"""The file by which a folder is known as one of ours; only such a folder is ever replaced."""


def published_folder(place: Path, *, force: bool = False) -> AbstractContextManager[Path]:
    """Yield a temporary folder that becomes `place` when the block ends well, and is removed otherwise.

    Raises OutputError if something is there (with `force`: not ours), or the disk refuses.
    """
    return _new_or_replaced(place, lambda: check_free(place, force=force))


def new_folder(place: Path) -> AbstractContextManager[Path]:
    """Yield a temporary folder as `published_folder` does; OutputError also if an empty one is there."""
    return _new_or_replaced(place, lambda: _check_new(place))


@contextmanager
def _new_or_replaced(place: Path, check: Callable[[], None]) -> Iterator[Path]:
    check()
    with (
        writing_to(place),
        _parents(place) as parent,
        _held_folder(parent, f".{place.name[:_MAX_PREFIX]}.") as (work, let_go),
    ):
        yield work
        check()  # once more: the work took its time
        let_go()
        _move(work, place)


def new_folder_in(parent: Path, prefix: str) -> Path:
    """Make a folder of a name that is not taken, with the rights that the system gives to new folders."""
    while True:
        folder = parent / f"{prefix}{secrets.token_hex(4)}"
        with suppress(FileExistsError):
            folder.mkdir()
            return folder


@contextmanager
def work_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield a locked work folder, removed at the end or by the next; `prefix` (with its dot) begins names."""
    with _held_folder(parent, prefix) as (work, _):
        yield work


@contextmanager
def _held_folder(parent: Path, prefix: str) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Yield a folder to work in, and what ends its lock: from then on it is a folder like others."""
    for folder in (parent, *parent.absolute().parents):  # a scratch folder lies above what was not there yet
        if os.access(folder, os.W_OK):
            _sweep(folder)
    work, lock = _locked_folder(parent, prefix)
    held = [lock]

    def let_go() -> None:
        with suppress(PermissionError):  # on Windows, as long as it is open
            (work / _LOCK).unlink(missing_ok=True)
        os.close(held.pop())
        (work / _LOCK).unlink(missing_ok=True)

    try:
        yield work, let_go
    finally:
        for handle in held:
            os.close(handle)
        shutil.rmtree(work, ignore_errors=True)


def _locked_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        work = new_folder_in(parent, prefix)
        try:
            lock = os.open(work / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:  # a full disk
            work.rmdir()
            raise
        if locks(lock) is not False and os.fstat(lock).st_nlink:
            return work, lock
        os.close(lock)  # another process took it for a leftover just now


def _sweep(parent: Path) -> None:
    for leftover in parent.glob(f".*.????????/{_LOCK}"):
        with suppress(OSError):  # it may be another user's, or gone by now
            handle = os.open(leftover, os.O_RDWR)
            try:
                is_left = locks(handle)
            finally:
                os.close(handle)  # Windows removes no file that is open
            if is_left:
                shutil.rmtree(leftover.parent, ignore_errors=True)


def _check_new(place: Path) -> None:
    _check_place(place)
    if os.path.lexists(place):
        raise OutputError(f"{place} exists already; choose another --out, or remove it first")


@contextmanager
def writing_to(place: Path) -> Iterator[None]:
    """Turn an error of writing `place` into one line."""
    try:
        yield
    except OSError as error:
        raise OutputError(_cannot_write(place, error)) from error
    except Exception as error:
        if isinstance(error, OutputError) or not is_disk_full(error):
            raise
        raise OutputError(_disk_full(place)) from error


@contextmanager
def _parents(place: Path) -> Iterator[Path]:
    missing = [folder for folder in place.parents if not folder.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield place.parent
    except BaseException:
        for folder in missing:
            with suppress(OSError):  # not made yet, or in use by another program
                folder.rmdir()
        raise


def check_apart(place: Path, *inputs: object) -> None:
    """Refuse a place inside a folder that is an input (OutputError): the next run would read it as a part."""
    for path in inputs:
        if (
            isinstance(path, str | Path)
            and Path(path).is_dir()
            and place.resolve().is_relative_to(Path(path).resolve())
        ):
            raise OutputError(f"{place} is inside {path}, which is an input; choose a folder outside {path}")


def check_free(place: Path, *, force: bool = False) -> None:
    """Refuse (OutputError) to write over a file or folder; with `force`, over anything but ours."""
    _check_place(place)
    if "?" in str(place):  # DuckDB would put its write-ahead log in another folder
        raise OutputError(
            f"DuckDB cannot write a database to {place}: there is a ? in its path; choose another --out"
        )
    try:
        taken = place.is_symlink() or (place.exists() and not (place.is_dir() and not any(place.iterdir())))
    except OSError as error:
        raise OutputError(_cannot_write(place, error)) from error
    if not taken:
        return
    if not force:
        raise OutputError(f"{place} exists already; choose another --out, or replace it with --force")
    if place.is_symlink() or not place.is_dir() or not (place / SETTINGS_FILE).is_file():
        raise OutputError(
            f"{place} was not made by clickassay (it is not a folder with {SETTINGS_FILE}); "
            "--force does not replace it; choose another --out"
        )


def place_to_write(place: str | Path, of: str = "") -> Path:
    """Return a place as a path of this machine, which may be ``file:///…``; OutputError names it `of`."""
    here = local_path(place)
    _check_place(here, of)
    return Path(here)


def _check_place(place: str | Path, of: str = "") -> None:
    if is_uri(str(place)):
        raise OutputError(
            f"{of}{place} is a URL, and files are written only to this machine; give a local path"
        )
    if "\0" in str(place):
        raise OutputError(f"{visible(str(place))}: a file name cannot contain NUL; choose another --out")
    if not is_text(place):
        raise OutputError(f"the name of {place} is not UTF-8; choose another --out")


def _move(work: Path, place: Path) -> None:
    if not place.exists():
        work.rename(place)
        return
    old = new_folder_in(place.parent, f".{place.name[:_MAX_PREFIX]}.")  # without a lock: no other sweeps it
    try:
        place.rename(old / "old")
        try:
            work.rename(place)
        except BaseException:
            (old / "old").rename(place)  # what was there before is better than nothing
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether an error means a full disk or a quota; DuckDB and Polars put the system's into text."""
    while error is not None:
        text = str(error).lower()
        if getattr(error, "errno", None) in _FULL or any(phrase in text for phrase in _FULL_PHRASES):
            return True
        error = error.__cause__
    return False


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_PHRASES = tuple(os.strerror(number).lower() for number in _FULL)
_MAX_PREFIX = 100  # characters of the place's name; a file name has 255 bytes at most


def _cannot_write(place: Path, error: OSError) -> str:
    if is_disk_full(error):
        return _disk_full(place)
    return f"cannot write {place}: {error.strerror or error}; choose another --out"


def _disk_full(place: Path) -> str:
    return f"disk full while writing {place}; nothing was left behind; free space or choose another --out"


def write_json(file: Path, value: object, *, sort_keys: bool = True) -> None:
    r"""Write JSON, indented, in UTF-8; bytes of paths that are no text are ``\udcff``, as read back."""
    text = escape.json(value, indent=2, sort_keys=sort_keys)
    file.write_text(f"{text}\n", encoding="utf-8", newline="\n")


@contextmanager
def published_file(place: Path, *, force: bool = False, ours: str | None = None) -> Iterator[Path]:
    """Yield a temporary path for a file that becomes `place` when the block ends well.

    ours: text by whose beginning a replaceable file is known; None: none is replaced. Raises OutputError if
      something is there (or not ours), or the disk refuses.
    """
    check_free_file(place, force=force, ours=ours)
    with (
        writing_to(place),
        _parents(place) as parent,
        work_folder(parent, f".{place.name[:_MAX_PREFIX]}.") as work,
    ):
        yield work / place.name
        check_free_file(place, force=force, ours=ours)  # once more: the work took its time
        (work / place.name).replace(place)


def check_free_file(place: Path, *, force: bool, ours: str | None) -> None:
    """Refuse to write over a file or folder; with `force`, over anything but a file of ours."""
    _check_place(place)
    if not os.path.lexists(place):
        return
    if ours is None:
        raise OutputError(f"{place} exists already; choose another --out")
    if not force:
        raise OutputError(f"{place} exists already; choose another --out, or replace it with --force")
    if place.is_symlink() or not place.is_file() or not _begins_with(place, ours):
        raise OutputError(
            f"{place} was not made by clickassay; --force does not replace it; choose another --out"
        )


def _begins_with(place: Path, ours: str) -> bool:
    try:
        with place.open("rb") as file:
            return ours.encode() in file.read(_HEAD_BYTES)
    except OSError as error:
        raise OutputError(_cannot_write(place, error)) from error


_HEAD_BYTES = 2_000


def check_place(out: Path, *inputs: object, force: bool) -> None:
    """Refuse a place for results before any work is done."""
    check_apart(out, *inputs)
    check_free(out, force=force)
