"""Folders that appear whole or not at all: written beside their place, then renamed."""

import errno
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import OutputError

MARK = "settings.json"
"""The file by which a folder is known as one of ours; only such a folder is ever replaced."""


@contextmanager
def published_folder(place: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a temporary folder that becomes `place` when the block ends well, and is removed otherwise.

    Parameters
    ----------
    place
        Where the folder is to appear.
    force
        Replace a folder of ours that is there already.

    Raises
    ------
    OutputError
        If something is there already (or is not ours), or the disk is full or may not be written.
    """
    check_free(place, force=force)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    except OSError as error:
        raise OutputError(_cannot_write(place, error)) from error
    try:
        work.chmod(0o755)
        yield work
        _move(work, place)
    except OSError as error:
        raise OutputError(_cannot_write(place, error)) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def check_free(place: Path, *, force: bool = False) -> None:
    """Refuse to write over what is there; with `force`, over anything but a folder of ours.

    Raises
    ------
    OutputError
        If `place` is taken.
    """
    if not place.exists() and not place.is_symlink():
        return
    if place.is_dir() and not any(place.iterdir()):
        return
    if not force:
        raise OutputError(f"{place} exists already; choose another --out, or replace it with --force")
    if not place.is_dir() or not (place / MARK).is_file():
        raise OutputError(f"{place} was not made by clickassay (no {MARK} in it); --force does not replace it")


def _move(work: Path, place: Path) -> None:
    if not place.exists():
        work.rename(place)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    place.rename(old / "old")
    work.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def _cannot_write(place: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"disk full while writing {place}; nothing was left behind; free space or choose another --out"
    return f"cannot write {place}: {error.strerror or error}; choose another --out"
