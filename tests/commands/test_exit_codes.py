"""How commands end: 0 fine, 1 a finding, 2 bad input or usage, 3 a fault of ours; a closed pipe is fine."""

import json
import re
import shlex
import subprocess
import sys
import tempfile

import polars as pl
import pytest

from clickassay.cli.exit import ExitCode, run_command
from clickassay.core.errors import SettingsError
from clickassay.studies import questions
from support.logs import tiny
from support.places import ROOT
from support.processes import ran


@pytest.mark.parametrize(
    "arguments",
    [*(("--help",), ("--version",), ("query", "--list", "--csv"), ("settings", "--json"))],
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


def broken():
    try:
        raise KeyError("secret query of the log")
    except KeyError as error:
        raise ZeroDivisionError("secret url\x1b[31m") from error


def test_a_fault_of_ours_is_3_in_a_line_that_names_a_file_to_report(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert run_command(broken) == ExitCode.FAULT == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("clickassay: this is a fault of clickassay (ZeroDivisionError: secret url\\x1b")
    (file,) = tmp_path.iterdir()
    assert f"please report it with {file}, which has" in line
    assert file.stat().st_mode & 0o077 == 0
    told = file.read_text(encoding="utf-8")
    for part in ("clickassay ", "polars ", "command: clickassay", "in broken", "builtins.KeyError"):
        assert part in told
    assert told.count("secret") == told.count('Error("secret')  # lines of code, as they stand in a file


def test_where_no_file_can_be_written_the_traceback_is_shown(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    assert run_command(broken) == ExitCode.FAULT
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback")
    assert shown.splitlines()[-1].startswith("clickassay: this is a fault of clickassay; please report it")


@pytest.mark.parametrize("error", [MemoryError(), PermissionError(13, "Permission denied", "grades.csv")])
def test_what_the_machine_refuses_is_2_in_one_line(capsys, error):
    assert run_command(gives_up(error)) == ExitCode.BAD_INPUT == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_page_has_the_codes_and_its_script_takes_a_crash_for_no_broken_rule(asked, tmp_path):
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    codes = [int(code) for code in re.findall(r"^\| (\d) \|", page, flags=re.MULTILINE)]
    assert codes == [code.value for code in ExitCode]
    script = "\n".join(line[4:] for line in page.splitlines() if line.startswith("    "))
    kept, broken = (shlex.join(tiny.started_with(*asked[code][2])) for code in (0, 1))
    crash = "python -c 'raise SystemExit(1)'"
    ends = {kept: (0, ""), broken: (0, "a rule is broken\n"), crash: (2, "the job failed\n")}
    for call, (code, said) in ends.items():
        changed = script.replace("clickassay check reports/today --rules rules.toml", call)
        assert changed != script
        assert ran("sh", "-c", changed, code=code, cwd=tmp_path, env=tiny.environment()).stdout == said


ENDING = """
import atexit, sys, threading, time
class Held:
    def __del__(self):
        print("taken apart")
held = Held()
atexit.register(print, "registered")
threading.Thread(target=lambda: (time.sleep(0.3), print("waited for"))).start()
from clickassay.__main__ import start
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


FULL = r"clickassay: .*No space left.*\n"


@pytest.mark.parametrize(
    ("line", "code", "complaint"),
    [
        ("--version >&-", 0, ""),
        ("query --list --json >&-", 0, ""),
        ("query nowhere 'SELECT 1' 2>&-", 2, ""),
        ("--version >/dev/full", 2, FULL),
        ("--help >/dev/full", 2, FULL),
        ("--version >/dev/full 2>&1", 2, ""),
        ("--unknown 2>/dev/full", 2, ""),
        ("query nowhere 'SELECT 1' 2>/dev/full", 2, ""),
        ("evaluate --list-metrics >/dev/full 2>&1", 2, ""),
    ],
)
def test_closed_outputs_are_no_error_and_full_disks_are_one_that_the_code_says(line, code, complaint):
    unbuffered = "1" if line.startswith("--help") else ""  # empty: as if it were not there
    env = {**tiny.environment(), "PYTHONUNBUFFERED": unbuffered}
    line = f"{shlex.join(tiny.started_with())} {line}"
    ended = subprocess.run(["sh", "-c", line], check=False, capture_output=True, env=env, text=True)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert re.fullmatch(complaint, ended.stderr)


class Panic(BaseException):
    """As Polars' panics: no `Exception`."""


def gives_up(error):
    def given_up():
        raise error

    return given_up


def test_control_signs_in_a_message_cannot_reach_the_terminal(capsys):
    assert run_command(gives_up(SettingsError("a\n\x1b[31mred\u202e"))) == 2
    assert capsys.readouterr().err == "clickassay: a \\x1b[31mred\\u202e\n"


GIVING_UP = [
    *(Panic("called `Option::unwrap()`"), SystemExit(0), SystemExit(1), SystemExit("no licence"), EOFError())
]


@pytest.mark.parametrize("error", GIVING_UP, ids=repr)
def test_a_library_that_gives_up_is_3_whatever_it_says_itself(monkeypatch, error):
    monkeypatch.setattr(questions, "questions", gives_up(error))
    outcome = tiny.inside("query", "--list")
    assert outcome.code == 3
    assert "please report it" in outcome.err


def test_a_panic_of_polars_is_3():
    assert not issubclass(pl.exceptions.PanicException, Exception)
    assert run_command(gives_up(pl.exceptions.PanicException("unreachable"))) == 3


@pytest.mark.parametrize("missing", ["typer", "polars"])
def test_an_installation_that_is_broken_is_3(tmp_path, missing):
    (tmp_path / f"{missing}.py").write_text("raise ImportError('libgone.so: cannot open shared object file')")
    env = tiny.environment()
    env["PYTHONPATH"] = f"{tmp_path}:{env.get('PYTHONPATH', '')}"
    done = ran(*tiny.started_with("query", "--list"), code=3, env=env)
    assert done.stderr.splitlines()[-1].startswith("clickassay: ")


LAST = {0: "status: ok", 1: "status: problem found"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Return commands that answer a question, by the code that they end with; `OUT` is a new place."""
    folder = tmp_path_factory.mktemp("asked")
    log = tiny.write_log(folder)
    worthless = tiny.write_log(folder / "worthless", judgments=tiny.judgments().head(1))
    tiny.said_by(*log.options())
    tiny.said_by(*log.options("patterns", out=folder / "patterns"))
    report = ("report", "--patterns", folder / "patterns", *tiny.QUICK[:6], "--out=OUT", "--judgments")
    return {
        code: (
            judged.options(out="OUT"),
            (*report, judged.judgments),
            ("check", log.out, "--rule", f"queries >= {least}"),
        )
        for code, judged, least in ((0, log, 1), (1, worthless, 1000))
    }


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("which", ["run", "report", "check"])
def test_an_answer_ends_with_a_line_that_a_crash_has_not(asked, which, code, tmp_path):
    command = next(one for one in asked[code] if one[0] == which)
    quiet = () if which == "check" else ("--quiet",)  # it has nothing to be quiet about
    as_text, as_json = (
        tiny.inside(*(str(word).replace("OUT", str(tmp_path / form[-1])) for word in command), *form[:-1])
        for form in ((*quiet, "text"), ("--json", "json"))
    )
    assert (as_text.code, as_text.out.splitlines()[-1]) == (code, LAST[code])
    assert (as_json.code, as_json.err.splitlines()[-1]) == (code, LAST[code])
    json.loads(as_json.out)
