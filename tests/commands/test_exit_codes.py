"""How commands end: 0 fine, 1 a finding, 2 bad input or usage, 3 a fault of ours; a closed pipe is fine."""

import re
import shlex
import subprocess
import sys

import pytest

from clickassay.cli.exit import ExitCode, run_command
from support.logs import tiny
from support.places import ROOT
from support.processes import ran


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("run", "-h"),
        ("query", "--list"),
        ("query", "--list", "--csv"),
        ("evaluate", "--list-metrics"),
        ("sql", "--dialect", "duckdb"),
        ("--version",),
    ],
    ids=" ".join,
)
def test_a_reader_that_leaves_early_is_no_error(arguments):
    command = subprocess.Popen(
        tiny.started_with(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=tiny.environment() | {"PYTHONUNBUFFERED": "1"},
    )
    command.stdout.close()  # before the command has written anything
    complaint = command.stderr.read().decode()
    assert (command.wait(timeout=60), complaint) == (0, "")


@pytest.mark.parametrize(
    "arguments", [("--version",), ("query", "--list", "--json"), ("sql", "--dialect", "duckdb")], ids=" ".join
)
def test_an_output_that_the_shell_has_closed_is_no_error(arguments):
    line = f"{shlex.join(tiny.started_with(*arguments))} >&-"
    ended = subprocess.run(["sh", "-c", line], check=False, capture_output=True, env=tiny.environment())
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_refusal_keeps_its_code_where_nobody_can_read_it():
    line = f"{shlex.join(tiny.started_with('query', 'nowhere', 'SELECT 1'))} 2>&-"
    assert subprocess.run(["sh", "-c", line], check=False, env=tiny.environment()).returncode == 2


def test_a_fault_of_ours_is_3_with_its_traceback_and_a_request(capsys):
    def broken():
        raise ZeroDivisionError("of ours")

    assert run_command(broken) == ExitCode.FAULT == 3
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback")
    assert shown.splitlines()[-1].startswith("clickassay: this is a fault of clickassay; please report it")


@pytest.mark.parametrize("error", [MemoryError(), PermissionError(13, "Permission denied", "grades.csv")])
def test_what_the_machine_refuses_is_2_in_one_line(capsys, error):
    def refused():
        raise error

    assert run_command(refused) == ExitCode.BAD_INPUT == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_page_has_the_codes_and_no_other():
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    codes = [int(code) for code in re.findall(r"^\| (\d) \|", page, flags=re.MULTILINE)]
    assert codes == [code.value for code in ExitCode]


ENDING = """
import atexit, sys, threading, time
class Held:
    def __del__(self):
        print("taken apart")
held = Held()
atexit.register(print, "registered")
threading.Thread(target=lambda: (time.sleep(0.3), print("waited for"))).start()
from clickassay.cli.app import start
start()
"""


@pytest.mark.parametrize(("argument", "code"), [("--version", 0), ("--unknown", 2)])
def test_a_process_ends_with_its_code_once_threads_and_what_is_registered_are_done(argument, code):
    done = ran(sys.executable, "-c", ENDING, argument, code=code, env=tiny.environment())
    lines = done.stdout.splitlines()
    assert lines[-1] == "registered"
    assert "waited for" in lines
    assert "taken apart" not in lines  # objects are left to the system


def test_a_profiler_can_still_say_what_it_found():
    done = ran(sys.executable, "-m", "cProfile", "-m", "clickassay", "--version", env=tiny.environment())
    assert "function calls" in done.stdout


@pytest.mark.parametrize("argument", ["--version", "--help"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_cannot_be_written_at_the_end_is_still_an_error(argument, unbuffered):
    line = f"{shlex.join(tiny.started_with(argument))} >/dev/full"
    env = {**tiny.environment(), "PYTHONUNBUFFERED": unbuffered}  # empty: as if it were not there
    ended = subprocess.run(["sh", "-c", line], check=False, capture_output=True, env=env, text=True)
    assert ended.returncode == 2
    assert re.fullmatch(r"clickassay: .*No space left.*\n", ended.stderr)


@pytest.mark.parametrize(
    "line",
    [
        "--version >/dev/full 2>&1",
        "--unknown 2>/dev/full",
        "query nowhere 'SELECT 1' 2>/dev/full",
        "evaluate --list-metrics >/dev/full 2>&1",
    ],
)
def test_a_log_file_on_a_full_disk_leaves_the_exit_code_to_say_it(line):
    env = {**tiny.environment(), "PYTHONUNBUFFERED": ""}
    started = shlex.join(tiny.started_with())
    ended = subprocess.run(["sh", "-c", f"{started} {line}"], check=False, capture_output=True, env=env)
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, b"", b"")
