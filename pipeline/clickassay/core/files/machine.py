"""Errors of the system that are no fault of a file: it may not be read, or there is no room to read it."""

import errno
import os
import re

from clickassay.core.errors import MachineError
from clickassay.core.text.words import first_line

_REMEDIES = {
    errno.EACCES: "ask its owner for the right to read it",
    errno.EPERM: "ask its owner for the right to read it",
    errno.EIO: "the disk or the network failed: look at it, then run again",
    errno.ESTALE: "the network file system lost it: mount it again, then run again",
    errno.EMFILE: "raise the limit of open files (`ulimit -n`), then run again",
    errno.ENFILE: "the system has too many files open: run again later",
    errno.ENOMEM: "give the process more memory, then run again",
}
_NUMBER = re.compile(r"os error (\d+)|Os \{ code: (\d+)")
_VARIABLES = re.compile(r"POLARS_(?!VERBOSE)\w+|Worker threads cannot be set")


def refuse_machine_fault(path: object, error: BaseException) -> None:
    """Raise MachineError where the system is why a path cannot be read: nothing about the path is broken."""
    if _VARIABLES.search(str(error)):
        raise MachineError(
            f"cannot read {path}: {first_line(error)}; set POLARS_MAX_THREADS, or another variable "
            "POLARS_… is set, to a value that Polars takes"
        ) from error
    number = _number(error)
    if number in _REMEDIES:
        raise MachineError(f"cannot read {path}: {os.strerror(number)}; {_REMEDIES[number]}") from error


def _number(error: BaseException | None) -> int:
    """Return the number of the system's error; 0 if it is none. Polars has it in the text alone."""
    while error is not None:
        told = _NUMBER.search(str(error))
        number = getattr(error, "errno", None) or (int(told[1] or told[2]) if told else 0)
        if number in _REMEDIES:
            return int(number)
        error = error.__cause__
    return 0
