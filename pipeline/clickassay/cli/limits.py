"""What the system and libraries grant a command: more open files, and no talk of its own."""

import resource
import warnings
from contextlib import suppress


def raise_limits() -> None:
    """Raise the soft limit of open files to the hard one: a log may have thousands of files."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # where the system refuses, the usual limit stays
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def quiet_libraries() -> None:
    """Ignore a warning of Polars that many files at once cause: a deadlock it guesses at is none."""
    warnings.filterwarnings("ignore", message="POLARS_MAX_BLOCKING_THREAD_COUNT reached")
