"""Every command that stands indented in a document, and every example of `--help`, runs.

They run in the order of their page, in a folder that has the files which they name. The tutorial and the
pages of docs/how-to, which show what commands print, are run by test_docs_commands.py.
"""

import contextlib
import re
import shlex
import shutil

import pytest
from typer.testing import CliRunner

from clickassay.cli.app import app
from docs.test_docs_commands import parsed
from support.logs.stage import staged
from support.places import ROOT, tracked

NOT_RUN = {
    r"clickassay explore": "it serves a page until Ctrl-C",
    r"clickassay run \.\.\. ": "a part of a command",
    r"clickassay \w+.*\[OPTIONS\]|clickassay COMMAND": "a usage line",
    r"clickassay import (yandex|trec-session) data/": "it needs real logs; run with its page",
    r"clickassay (run|groups) .*(clara2|trec201[23])/": "it needs real logs; run with its page",
    r"clickassay simulate .*--n-searches 2000000": "benchmarks run it: it takes minutes",
}
"""Commands of documents that no test runs, by a pattern, with the reason."""

INSIDE = {
    "clickassay run": "project",
    "clickassay check": "project",
    "clickassay diff": "project",
    "clickassay init": "fresh",
}
"""Commands without options, and the folder of the stage where they are typed."""

FINDINGS = {"clickassay learn": "so small a log does not tell what grades are worth"}
"""Commands that may end with 1 here, with the reason."""

PAGES = sorted(
    name
    for name in tracked()
    if name.endswith(".md") and not name.startswith(("docs/how-to/", "tests/")) and name != "docs/tutorial.md"
)


def commands_of(name):
    """Return the indented lines of a document that call clickassay, continued lines joined."""
    text = re.sub(r" *\\\n *", " ", (ROOT / name).read_text(encoding="utf-8"))
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"^ {4}(?:remote)?(?:\$ )?(clickassay \S.*)$", text, re.MULTILINE)
    return [re.sub(r"\s+#.*$|\s+&& mv.*$| > \S+.*$", "", line) for line in found]


def reason_not_to_run(line):
    return next((why for pattern, why in NOT_RUN.items() if re.match(pattern, line)), None)


WITH_COMMANDS = [name for name in PAGES if any(not reason_not_to_run(line) for line in commands_of(name))]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    place = staged(tmp_path_factory.mktemp("stage") / "stage")
    shutil.copytree(ROOT / "data_samples", place / "data_samples", dirs_exist_ok=True)
    return place


def made_by(words):
    """Return the folder or file that a command makes."""
    return next((words[at + 1] for at, word in enumerate(words[:-1]) if word == "--out"), None)


@pytest.mark.thorough
@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_every_indented_command_of_a_page_runs(name, stage, tmp_path, monkeypatch):
    place = tmp_path / "stage"
    shutil.copytree(stage, place)
    monkeypatch.setenv("COLUMNS", "100")
    for line in commands_of(name):
        if reason_not_to_run(line):
            continue
        words = shlex.split(line)[1:]
        inside = place / INSIDE.get(line, ".")
        again = made_by(words)
        if again and (inside / again).exists():
            (shutil.rmtree if (inside / again).is_dir() else (inside / again).unlink)(inside / again)
        with contextlib.chdir(inside):
            ended = CliRunner().invoke(app, words)
        allowed = (0, 1) if line.startswith(tuple(FINDINGS)) else (0,)
        assert ended.exit_code in allowed, f"$ {line}\n{ended.output}"


def test_commands_that_are_not_run_are_few_and_each_has_a_reason():
    lines = [line for name in PAGES for line in commands_of(name)]
    kept = [line for line in lines if not reason_not_to_run(line)]
    assert len(kept) > 90
    for pattern in NOT_RUN:
        assert any(re.match(pattern, line) for line in lines), f"{pattern}: no document has it any more"


def test_commands_that_serve_a_page_have_options_that_exist():
    serving = [line for name in PAGES for line in commands_of(name) if "clickassay explore" in line]
    assert all(parsed(line) for line in serving if "[OPTIONS]" not in line)
