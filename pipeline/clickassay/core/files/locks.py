"""Locks on open files, on any system: a lock goes with the process that holds it."""

import errno
import os
from importlib import import_module
from typing import Any

_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK, errno.EWOULDBLOCK)
"""What systems answer where another process holds a lock."""

_FAR = 1 << 30
"""Windows locks bytes, and nobody else may read them: a byte far behind the content."""


def locks(handle: int) -> bool | None:
    """Return whether an open file is locked for this process from now on; None where there are no locks."""
    for module, take in (("fcntl", _with_fcntl), ("msvcrt", _with_msvcrt)):
        try:
            take(import_module(module), handle)
        except ImportError:
            continue
        except OSError as error:
            return False if error.errno in _HELD else None
        return True
    return None


def _with_fcntl(fcntl: Any, handle: int) -> None:  # noqa: ANN401 - a module that Windows lacks
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _with_msvcrt(msvcrt: Any, handle: int) -> None:  # noqa: ANN401 - a module that only Windows has
    here = os.lseek(handle, 0, os.SEEK_CUR)
    try:
        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    finally:
        os.lseek(handle, here, os.SEEK_SET)
