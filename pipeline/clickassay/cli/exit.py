"""How a command ends: an exit code, and one line on stderr for what the user can mend."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from clickassay.core.errors import ClickassayError, Interrupted
from clickassay.core.escape import terminal

_INTERRUPTED = "interrupted; nothing was left behind"


def keep_memory() -> None:
    """Have Polars keep memory that it will need again: a tenth of a long run went into giving it back.

    Must come before Polars is imported; who sets the variable decides.
    """
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:60000,muzzy_decay_ms:60000")


def run_command(command: Callable[[], object]) -> int:
    """Run `command` and turn what it raises into an exit code."""
    try:
        command()
    except BrokenPipeError:
        drop_output(sys.stdout)
        return 0
    except (ClickassayError, MemoryError, OSError, RuntimeError, SystemExit, KeyboardInterrupt) as error:
        message = _message(error)
        if message is None:
            raise
        return _complain(message)
    return 0


def _message(error: BaseException) -> str | None:
    """Say what the user can mend; None for an error that is a fault of ours, or no error at all."""
    match error:
        case ClickassayError():
            return str(error)
        case MemoryError():
            return "out of memory; lower --memory-limit so that the engine spills to disk earlier"
        case OSError():
            found = f"{error.filename or 'the system'}: {error.strerror or error}"
            return f"{found}; check the path and its rights"
        case KeyboardInterrupt() | SystemExit(code=130) | RuntimeError(args=("Query interrupted",)):
            # Ctrl-C as Python, typer (before a command has begun its work) and DuckDB tell of it
            return _INTERRUPTED
    return None


@contextmanager
def interruptible() -> Iterator[None]:
    """Name Ctrl-C as one of our errors, once the block has cleaned up.

    Raises
    ------
    Interrupted
        When the user presses Ctrl-C.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(_INTERRUPTED) from None


def end_on_sigterm() -> None:
    """Let SIGTERM end a command as Ctrl-C does, so that it cleans up.

    Libraries look out for SIGINT while they compute, and for nothing else. Python runs its own handlers only
    between two steps of its main thread, but writes the number of a signal into a pipe at once: a thread that
    waits there passes SIGTERM on as SIGINT.
    """
    received, written = os.pipe()
    os.set_blocking(written, False)
    signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    threading.Thread(target=_pass_on, args=(received,), daemon=True).start()


def _pass_on(received: int) -> None:
    while number := os.read(received, 1):
        if number[0] == signal.SIGTERM:
            os.kill(os.getpid(), signal.SIGINT)


def write_anything() -> None:
    """Let the output streams spell what their encoding lacks instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by the shell
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _complain(message: str) -> int:
    line = terminal(" ".join(message.split()))
    sys.stderr.write(f"clickassay: {line}\n")
    return 2


def drop_output(stream: IO[str]) -> None:
    """Write what is left to nobody: its reader is gone, and Python must not flush it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
