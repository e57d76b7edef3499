"""Ctrl-C and SIGTERM: one line, exit code 2, nothing left behind, wherever the work stands."""

import shutil
import signal
import subprocess
import sys
import time

import duckdb
import polars as pl
import pytest

from clickassay.cli.exit import run_command
from clickassay.core.files.tables import writing_tables
from support.logs import tiny

COPIES = 15_000
HEARD, IGNORED = "default_int_handler", "SIG_IGN"
"""What SIGINT does to a command of a shell, and to one that a script starts in the background."""
LONG = ("--iterations", "1000000")

# the command line, with a mark on stdout whenever a stage begins; the work itself is not touched
MARKED = """
import sys
import clickassay.cli.commands.run as commands
import clickassay.cli.progress as progress
from contextlib import contextmanager

@contextmanager
def marked(*, quiet):
    def mark(event):
        print(event.message, flush=True)
    with progress.interruptible():
        yield mark

from clickassay.cli.app import main
commands.shown_progress = marked
main()
"""


@pytest.fixture(scope="module")
def long_log(tmp_path_factory) -> tiny.Log:
    """Make a log of 360,000 searches: the good one many times, each copy with users and ids of its own."""
    copies = pl.DataFrame({"copy": range(COPIES)}, schema={"copy": pl.Int64})
    shift = 100_000 * pl.col("copy")
    searches = tiny.searches().join(copies, how="cross").with_columns(pl.col("search_id", "user_id") + shift)
    clicks = tiny.clicks().join(copies, how="cross").with_columns(pl.col("search_id") + shift)
    return tiny.write_log(
        tmp_path_factory.mktemp("long"), searches=searches.drop("copy"), clicks=clicks.drop("copy")
    )


def interrupted_at(
    log: tiny.Log, message: str, number: int, *, more: tuple[str, ...] = (), usual: str = HEARD
) -> tiny.Outcome:
    """Run the log and send a signal when progress first says `message`; `usual` handles SIGINT before."""
    signals = {"SIGHUP": "SIG_DFL", "SIGINT": usual}  # whatever this process was started with
    set_up = "; ".join(f"signal.signal(signal.{name}, signal.{how})" for name, how in signals.items())
    first_line = f"import signal; {set_up}"
    command = [sys.executable, "-c", f"{first_line}\n{MARKED}", *log.options(), *more]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=tiny.environment(), text=True
    )
    try:
        for line in process.stdout:
            if line.startswith(message):
                time.sleep(0.05)  # into the work itself
                process.send_signal(number)
                break
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    return tiny.Outcome(process.returncode, out, err)


def ended_in_one_line(log, *arguments, **options):
    """Hold that a run that is interrupted ends in one line and leaves nothing."""
    before = tiny.tree(log.folder)
    try:
        outcome = interrupted_at(log, *arguments, **options)
        assert tiny.one_line(outcome) == "clickassay: interrupted; nothing was left behind"
        assert tiny.tree(log.folder) == before
    finally:
        shutil.rmtree(log.out.parent, ignore_errors=True)


@pytest.mark.parametrize(
    ("message", "more"),
    [
        ("looking at the log", ()),
        ("batch 1 of 1", ()),
        ("forming sessions", ()),
        ("forming sessions", ("--engine", "duckdb")),
        ("correlating", LONG),
        ("writing tables", ()),
        ("drawing the report", ()),
    ],
)
def test_a_signal_ends_a_run_with_one_line_and_nothing_left(long_log, message, more):
    ended_in_one_line(long_log, message, signal.SIGINT, more=more)


def test_a_run_in_the_background_of_a_script_ends_with_sigterm(long_log):
    ended_in_one_line(long_log, "correlating", signal.SIGTERM, more=LONG, usual=IGNORED)


def test_a_lost_connection_ends_a_run_but_not_under_nohup(long_log):
    ended_in_one_line(long_log, "correlating", signal.SIGHUP, more=LONG)
    nohup = f"{HEARD}); signal.signal(signal.SIGHUP, signal.SIG_IGN"
    try:
        assert interrupted_at(long_log, "forming sessions", signal.SIGHUP, usual=nohup).code == 0
    finally:
        shutil.rmtree(long_log.out.parent, ignore_errors=True)


def test_a_killed_run_leaves_nothing_that_looks_like_a_result(long_log):
    try:
        outcome = interrupted_at(long_log, "drawing the report", signal.SIGKILL)
        assert outcome.code == -signal.SIGKILL
        assert not long_log.out.exists()
        (left,) = long_log.out.parent.iterdir()
        assert left.name.startswith(".run.")
        tiny.said_by(*long_log.options("patterns"), "--quiet")  # the next command that writes there
        assert not left.exists()
    finally:
        shutil.rmtree(long_log.out.parent, ignore_errors=True)


def test_an_interrupt_outside_the_stages_is_one_line_too(capsys):
    def pressed() -> None:
        raise KeyboardInterrupt

    assert run_command(pressed) == 2
    assert capsys.readouterr().err == "clickassay: interrupted; nothing was left behind\n"


@pytest.mark.parametrize(
    "met",
    [
        duckdb.InterruptException("Interrupted!"),
        duckdb.InvalidInputException("reading the schema of the Arrow source failed: KeyboardInterrupt:"),
    ],
)
def test_an_interrupt_that_duckdb_meets_while_tables_are_written_is_no_full_disk(met):
    with pytest.raises(KeyboardInterrupt), writing_tables():
        raise met


LIBRARY_THAT_SPEAKS = """
import os, signal, sys
from clickassay.cli.exit import end_on_signals, run_command, write_anything

def work():
    os.write(2, b"before\\n")
    try:
        os.kill(os.getpid(), signal.SIGINT)
        os.write(1, b"went on\\n")
    except KeyboardInterrupt:
        os.write(2, b"thread panicked: KeyboardInterrupt\\n")  # as Rust does where an interrupt meets it
        raise

signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background it is ignored
write_anything()
end_on_signals()
sys.exit(run_command(work))
"""


def test_what_a_library_says_of_an_interrupt_is_not_shown():
    done = subprocess.run(
        [sys.executable, "-c", LIBRARY_THAT_SPEAKS], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "before\nclickassay: interrupted; nothing was left behind\n"
