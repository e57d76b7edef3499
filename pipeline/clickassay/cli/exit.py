"""Exit codes, and the line on stderr that says what the user can do.

Python ends with 1 whatever it cannot deal with, and 1 means a finding here: so nothing is left to it.
"""

import atexit
import os
import shlex
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import IO

from clickassay.core.errors import ClickassayError, Interrupted, NothingInCommonError
from clickassay.core.text.escape import terminal
from clickassay.core.text.words import without_secrets


class ExitCode(IntEnum):
    """What a command ends with; docs/reference/exit-codes.md says when."""

    FINE = 0
    FINDING = 1
    BAD_INPUT = 2
    FAULT = 3


_INTERRUPTED = "interrupted; nothing was left behind"
_CTRL_C = 130
"""The exit code that typer gives an interrupted command."""


def run_command(command: Callable[[], object]) -> int:
    """Run `command` and turn what it raises into an exit code."""
    try:
        command()
        sys.stdout.flush()
    except BrokenPipeError:
        return _reader_gone()
    except BaseException as error:  # Polars' panics are no `Exception`
        if isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError):
            return _reader_gone()  # libraries make an error of it: here, it is none
        if isinstance(error, SystemExit) and error.code != _CTRL_C and _is_our_end(error):
            raise
        code, message = ExitCode.BAD_INPUT, _message(error)
        if message is None:
            code = _report_fault(error)
        else:
            _tell(f"clickassay: {terminal(' '.join(message.split()))}\n")
        if isinstance(error, NothingInCommonError):
            code = ExitCode.FINDING
        _drop_what_cannot_be_written()
        return code
    return ExitCode.FINE


def _is_our_end(ended: SystemExit) -> bool:
    """Return whether a command chose its exit code: a library that gives up means something else by 0 or 1.

    Typer ends a process while it handles what it was told, which has the code too. Completion has none.
    """
    told = getattr(ended.__context__, "exit_code", None)
    return told == (ended.code or 0) or (told is None and "_CLICKASSAY_COMPLETE" in os.environ)


def _drop_what_cannot_be_written() -> None:
    """Discard output that a full disk refuses: Python would try once more at its end, and end with 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            drop_output(stream)


def _reader_gone() -> int:
    """End in good order when the reader of the output stops reading, as `head` does."""
    drop_output(sys.stdout)
    return ExitCode.FINE


def _report_fault(error: BaseException) -> ExitCode:
    """Say an error that no user causes, and ask for a report with the file of its places in the code."""
    shown = terminal(" ".join(f"{type(error).__name__}: {error}".split()))
    try:
        from clickassay.core.provenance import of_a_report  # noqa: PLC0415 - takes a while

        # messages of errors stay out of the file: a library may tell values of a log in them
        lines = [*of_a_report(), f"command: {command_line()}", "", *_places(error)]
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="clickassay-fault-", suffix=".txt", delete=False
        ) as file:
            file.write("\n".join(lines) + "\n")
    except OSError:
        _tell(traceback.format_exc())
        _tell("clickassay: this is a fault of clickassay; please report it with the lines above\n")
        return ExitCode.FAULT
    _tell(
        f"clickassay: this is a fault of clickassay ({shown}); please report it with {file.name}, which has "
        "versions, the command and places in the code, and no row of the log\n"
    )
    return ExitCode.FAULT


def _message(error: BaseException) -> str | None:
    """Say what the user can do; None for an error that is a fault of ours."""
    match error:
        case ClickassayError():
            return str(error)
        case MemoryError():
            return "out of memory; free some memory, or use a larger machine"
        case OSError():
            fault = f"{error.filename or 'the system'}: {error.strerror or error}"
            return f"{fault}; check the path and its permissions"
        case KeyboardInterrupt() | SystemExit(code=130) | RuntimeError(args=("Query interrupted",)):
            # Ctrl-C as Python, typer (before a command has begun its work) and DuckDB report it
            return _INTERRUPTED
    return None


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn Ctrl-C into `Interrupted`, one of our errors, once the block has cleaned up."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(_INTERRUPTED) from None


def end_on_signals() -> None:
    """Let SIGTERM, and SIGHUP of a lost connection, end a command as Ctrl-C does, so that it cleans up.

    A SIGHUP that is ignored, as under `nohup`, stays so.

    Libraries look out for SIGINT while they compute, and for nothing else. Python runs its own handlers only
    between two steps of its main thread, but writes the number of a signal into a pipe at once: a thread that
    waits there passes them on as SIGINT. A command that a script started in the background ignores SIGINT,
    so its main thread ends it at its next step.
    """
    if os.name == "nt":
        return  # there, Ctrl-C is the one signal, and Python raises it itself
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # our own lines on stderr have a file number of their own: then libraries can be silenced without us
        with suppress(OSError, ValueError):  # without a number to spare, libraries are heard too
            old, own = sys.stderr, os.dup(sys.stderr.fileno())
            sys.stderr = os.fdopen(own, "w", 1, encoding=old.encoding, errors=old.errors)
        signal.signal(signal.SIGINT, _interrupt)
    received, written = os.pipe()
    os.set_blocking(written, False)
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGTERM:
            signal.signal(number, _end_where_interrupts_are_ignored)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    threading.Thread(target=_pass_on, args=(received,), daemon=True).start()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, and discard what libraries print about it (Rust prints a backtrace)."""
    if sys.__stderr__ not in {None, sys.stderr}:
        drop_output(sys.__stderr__)
    raise KeyboardInterrupt


_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def _end_where_interrupts_are_ignored(_number: int, _frame: FrameType | None) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        raise KeyboardInterrupt


def _pass_on(received: int) -> None:
    while number := os.read(received, 1):
        if number[0] in _ENDING:
            os.kill(os.getpid(), signal.SIGINT)


def end_at_once(code: int) -> None:
    """End the process, once all is written and what other modules registered for the end is done.

    Python would first take apart all objects, one by one, for memory that the system takes back at once: a
    twentieth of the time of a small run. Returns, for an end in the usual way, if a profiler or debugger,
    which speak at the end, watch. Output that cannot be written is an error, as in `run_command`.
    """
    if sys.gettrace() or sys.getprofile():
        return
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # the rest of the usual end
    written = run_command(sys.stdout.flush)
    _drop_what_cannot_be_written()
    os._exit(written or code)


def write_anything() -> None:
    """Let the output streams spell what their encoding lacks instead of failing.

    A stream that the shell has closed is None: what goes there is discarded, and no file takes its number.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - until the end
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _tell(text: str) -> None:
    """Write to stderr without secrets; where it lies on a full disk, the exit code has to say it all."""
    with suppress(OSError):
        sys.stderr.write(without_secrets(text))


def drop_output(stream: IO[str]) -> None:
    """Discard the rest of the output: its reader is gone, and Python would flush it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _places(error: BaseException | None) -> Iterator[str]:
    """Yield the places in the code that an error went through, and those of what caused it, first."""
    if error is None:
        return
    yield from _places(error.__cause__ or error.__context__)
    yield "Traceback:"
    yield from "".join(traceback.format_tb(error.__traceback__)).splitlines()
    yield f"{type(error).__module__}.{type(error).__qualname__}"


def arguments_told(arguments: Sequence[str]) -> list[str]:
    """Return arguments without what may be secret: values of Spark's settings, secrets in URLs."""
    shown, option = [], ""
    for argument in arguments:
        name, _, value = argument.partition("=") if argument.startswith("--") else (option, "", argument)
        if name == "--spark-conf" and value:
            key = f"{value.partition('=')[0]}=…"
            argument = f"{name}={key}" if argument.startswith("--") else key  # noqa: PLW2901
        shown.append(without_secrets(argument))
        option = argument
    return shown


def command_line() -> str:
    """Return the command as a shell would take it, without secrets."""
    return shlex.join(["clickassay", *arguments_told(sys.argv[1:])])
