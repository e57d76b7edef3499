"""What the documents tell a reader to type works, and prints what they say it prints.

Blocks of docs/tutorial.md and docs/how-to/ are run in order, page by page, each page in a folder of its own:

- ```console: lines that begin with "$ " are run by the shell, the lines below them are what they print;
  "…" alone stands for lines left out. A command ends with code 0, or with what "$ echo $?" below it shows.
- ```python NAME, ```sql NAME, ```sh NAME, ...: the block is the file NAME.
- ```yaml: the commands of its lines "- run: ..." are run.

Of a command that serves a page or needs a cluster only the options are read.
"""

import os
import re
import shlex
import subprocess
import sys

import pytest
import typer

from clickassay.cli.app import app
from support.places import ROOT

PAGES = [ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
SERVING = {"clickassay explore": "it serves a page until Ctrl-C; its options are read, and no more"}
ELSEWHERE = re.compile(r"\.example[:/]|--master yarn|cluster\.toml")
"""Signs of a cluster that is not there: of such a command options are read, and no more."""
SUBMITTED = re.compile(r"\bspark-submit .*?\bjob\.py\b", re.DOTALL)
"""What stands for `clickassay` where spark-submit runs it."""
CUT = "…"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"clickassay (?:[^|&;<>'\"\n]|'[^']*'|\"[^\"]*\"|<[^<>]*>)+")


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def steps(text):
    """Return what a block of a console shows: (command, lines that it prints)."""
    pieces = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    found = []
    for piece in pieces:
        command, rest = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", piece, re.DOTALL).groups()
        found.append((command, rest.splitlines()))
    return found


def expected_codes(found):
    """Return (command, printed lines, exit code), with what `echo $?` says moved to the command above it."""
    told = []
    for command, lines in found:
        if command == "echo $?":
            told[-1] = (*told[-1][:2], int(lines[0]))
        else:
            told.append((command, lines, 0))
    return told


def pattern(lines):
    """Return a pattern of the lines; blanks at their ends do not count."""
    parts = [r"(?:.*\n)*?" if line.strip() == CUT else re.escape(line.rstrip()) + r"\n" for line in lines]
    return re.compile("".join(parts))


@pytest.fixture
def shell(tmp_path):
    """Return a function that runs a line in the page's folder, where `clickassay` is this checkout's."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, module in (("clickassay", "-m clickassay"), ("python", "")):
        tool = tools / name
        tool.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module} "$@"\n', encoding="utf-8")
        tool.chmod(0o755)
    (tmp_path / "page").mkdir()
    environment = os.environ | {
        "PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "110", "TERM": "dumb", "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8", "POLARS_MAX_THREADS": "2",
    }  # fmt: skip

    def run(line):
        ended = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path / "page", env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, encoding="utf-8", timeout=600, check=False,
        )  # fmt: skip
        return ended.returncode, "".join(f"{line.rstrip()}\n" for line in ended.stdout.splitlines())

    run.folder = tmp_path / "page"
    return run


def parsed(line):
    """Read the options of each `clickassay ...` in a line as the command line does, and run nothing."""
    known = typer.main.get_command(app)
    line = SUBMITTED.sub("clickassay", line.replace("\\\n", " "))
    commands = [shlex.split(found.group(), comments=True)[1:] for found in COMMAND.finditer(line)]
    for arguments in commands:
        at, rest, context = known, arguments, None
        while rest and rest[0] in getattr(at, "commands", {}):
            at, rest = at.commands[rest[0]], rest[1:]
        # a command keeps the help option of its first context: other tests ask for -h, as users do
        context = at.make_context("clickassay", list(rest), help_option_names=["-h", "--help"])
        assert context.params is not None
    return len(commands)


def check(shell, command, lines, code):
    if ELSEWHERE.search(command) or command.startswith(tuple(SERVING)):
        assert parsed(command) == 1
        return
    ended, said = shell(command)
    assert ended == code, f"$ {command}\n{said}"
    if lines:
        assert pattern(lines).fullmatch(said), f"$ {command}\n{said}"


LONG = (
    *(
        "spark.md",
        "nightly-run.md",
        "spend-labels.md",
        "opensearch.md",
        "own-log-format.md",
        "coming-from.md",
    ),
    *("llm-judges.md", "own-scores.md", "signals.md"),
)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.thorough if page.name in LONG else ()) for page in PAGES],
    ids=name_of,
)
def test_every_block_of_a_page_runs_and_prints_what_the_page_says(page, shell):
    for language, name, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "console":
            for command, lines, code in expected_codes(steps(text)):
                check(shell, command, lines, code)
        elif name:
            (shell.folder / name).parent.mkdir(exist_ok=True)
            (shell.folder / name).write_text(text, encoding="utf-8")
        elif language == "yaml":
            for command in re.findall(r"- run: (.+)", text):
                check(shell, command, [], 0)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_command_of_a_page_stands_in_a_block_that_is_not_run(page):
    text = page.read_text(encoding="utf-8")
    run = BLOCK.sub(lambda block: "" if block[1] in ("console", "yaml") or block[2] else block[0], text)
    blocks = re.findall(r"^```.*?^```$|^ {4}[^\n]+$", run, re.MULTILINE | re.DOTALL)
    assert [block for block in blocks if "clickassay " in block] == []
