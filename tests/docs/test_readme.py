"""The README fits one sitting, and what it shows works, on the pages beside it too."""

import os
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest
import typer
from typer.testing import CliRunner

import clickassay as ca
from clickassay.cli.app import app
from clickassay.inputs.columns import CANONICAL, CLICKED, required
from support.logs import tiny
from support.pages import parts
from support.places import ROOT
from support.processes import ran
from support.runs.sample_run import shop

README = (ROOT / "README.md").read_text(encoding="utf-8")
PARTS = parts(README)
OWN_LOG = (ROOT / "docs" / "how-to" / "own-log-format.md").read_text(encoding="utf-8")
QUESTIONS = (ROOT / "docs" / "how-to" / "which-command.md").read_text(encoding="utf-8")
LONGEST = 150
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    (.+)$", re.MULTILINE)


def test_the_readme_is_read_in_one_sitting():
    assert len(README.splitlines()) <= LONGEST


def test_its_first_commands_are_the_two_of_make():
    assert INDENTED.findall(PARTS["Two commands"]) == ["make report", "make test"]
    assert INDENTED.findall(README)[:2] == ["make report", "make test"]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {"report", "test"} <= set(targets)


def test_what_it_installs_is_the_checkout_with_extras_that_there_are():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = re.findall(r"pip install (\S+)", README)
    assert installed == [".", "'.[spark]'", "'.[cloud,lake]'"]
    assert {"spark", "cloud", "lake"} <= set(extras["optional-dependencies"])


def words_of(lines):
    """Return the lines without white space at their ends, and without empty lines."""
    return [line.rstrip() for line in lines.splitlines() if line.strip()]


def test_it_shows_what_its_first_command_prints():
    ((_, _, shown),) = BLOCK.findall(PARTS["Two commands"])
    printed = words_of(repr(ca.open_run(shop())).replace("`click_metric`", "--click-metric"))
    first, last = (words_of(part) for part in shown.split("  …\n"))
    assert len(first) + len(last) <= 10
    assert printed[: len(first)] == first
    assert printed[-len(last) :] == last


def columns_of(name):
    line = next(line for line in OWN_LOG.splitlines() if line.startswith(f"| `--{name}`"))
    needed, optional = ([*re.findall(r"`(\w+)`", cell)] for cell in line.split("|")[2:4])
    return needed, optional


@pytest.mark.parametrize("name", CANONICAL)
def test_the_page_on_own_logs_has_every_column_of_the_canonical_tables(name):
    needed, optional = columns_of(name)
    known = [column.name for column in CANONICAL[name]]
    must = required(CANONICAL[name]) | (CLICKED if name == "clicks" else set())
    first = [one for one in known if one in must]
    assert needed[: len(first)] == first
    assert sorted(optional) == sorted(set(known) - set(first))
    assert all(column.meaning for column in CANONICAL[name])


def files_of(folder, below):
    """Write the files of the page on own logs that lie in a folder of that name."""
    (folder / below).mkdir()
    for _, name, text in BLOCK.findall(OWN_LOG):
        if name.startswith(f"{below}/"):
            (folder / name).write_text(text, encoding="utf-8")
    return folder / below


def typed(line):
    ended = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
    assert ended.exit_code == 0, ended.output
    return ended.output


def test_three_commands_lead_from_a_folder_of_files_to_a_report(tmp_path, monkeypatch):
    logs = files_of(tmp_path, "logs")
    lines = INDENTED.findall(PARTS["Your own log"])
    assert [line.split()[1] for line in lines] == ["init", "inspect", "run"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLICKASSAY_DEPTH", "3")
    for line in lines:
        typed(line)
    assert {file.name for file in logs.iterdir()} == {"shown.csv", "labels.csv"}
    assert (tmp_path / "reports" / "june" / "report.html").is_file()
    shutil.copytree("reports/june", "reports/may")
    Path("rules.toml").write_text('rules = ["queries >= 1"]', encoding="utf-8")
    labels = [line.split(",") for line in Path("logs/labels.csv").read_text("utf-8").splitlines()[1:]]
    rows = "".join(f"{query},{url},{grade}\n" for query, url, grade in labels)
    for file in ("people.csv", "model.csv"):
        Path(file).write_text(f"query,url,grade\n{rows}", encoding="utf-8")
    shutil.copy(ROOT / "data_samples" / "past_tests.csv", "tests.csv")
    lists = [f"{query.replace(' ', '')} 0 {url} {grade}" for query, url, grade in labels]
    Path("judged.qrels").write_text("\n".join(lists), encoding="utf-8")
    Path("ours.run").write_text("\n".join(f"{one} 1 ours" for one in lists), encoding="utf-8")
    others = [code for row in rows_of_commands(PARTS["Eight commands"]) for code in row if " " in code]
    assert {code.split()[0] for code in others} == {
        "diff",
        "check",
        "evaluate",
        "judges",
        "experiments",
        "audit",
    }
    for code in others:
        words = [STANDS_FOR.get(word, word) for word in shlex.split(code)]
        ended = CliRunner().invoke(app, words)
        assert ended.exit_code in {0, 1}, ended.output  # 1: a finding


STANDS_FOR = {"QRELS": "judged.qrels", "RANKINGS": "ours.run", "FILE": "people.csv"}


def test_what_it_says_to_type_after_installing_works_and_so_does_every_option_before_a_command(tmp_path):
    said = {line.split()[1] for line in re.findall(r"`(?:uvx [^`]*)?(clickassay -[^`]+)`", PARTS["Install"])}
    root = typer.main.get_command(app)
    known = {name for one in root.params for name in one.opts} | {*root.context_settings["help_option_names"]}
    assert {"--help", "--install-completion"} == said < known
    command = tmp_path / "clickassay"
    installed = f"#!{sys.executable}\nfrom clickassay.__main__ import start\nstart()\n"  # as pip writes it
    command.write_text(installed, encoding="utf-8")
    command.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    home = tiny.environment() | {"HOME": str(tmp_path), "PATH": path}
    for option in sorted(known - {"--verbose"}):
        ended = ran("bash", "-c", f"clickassay {option}; exit $?", env=home)  # a shell that Typer can find
        assert (ended.stderr, bool(ended.stdout)) == ("", True), option
    typing = "COMP_WORDS=(clickassay ev) COMP_CWORD=1; _clickassay_completion clickassay; echo $COMPREPLY"
    assert ran("bash", "-c", f". ~/.bashrc; {typing}", env=home).stdout == "evaluate\n"


def test_a_shell_without_completion_is_refused(tmp_path):
    home = tiny.environment() | {"HOME": str(tmp_path)}
    line = f"{shlex.join(tiny.started_with('--install-completion'))}; exit $?"
    ended = ran("dash", "-c", line, env=home, code=2)
    assert (
        "no completion for this shell; start bash, zsh, fish or PowerShell, and type it there\n"
        in ended.stderr
    )


def test_the_plain_tables_are_read_whole_with_their_queries_and_labels(tmp_path, monkeypatch):
    monkeypatch.chdir(files_of(tmp_path, "plain"))
    inputs = "--searches searches.csv --clicks clicks.csv --judgments judgments.csv"
    typed(f"clickassay run {inputs} --scale Irrelevant,Complement,Substitute,Exact --depth 2 --out june")
    funnel = pl.read_parquet("june/funnel.parquet")
    assert set(funnel["step"]) == {"read", "kept", "in patterns", "formed"}
    kept = funnel.filter(pl.col("step") == "kept", pl.col("source") != "sessions").select("source", "rows")
    assert dict(kept.iter_rows()) == {"searches": 2, "clicks": 1, "judgments": 4}
    graded = pl.read_parquet("june/configurations.parquet").select("query", "grades").sort("query").rows()
    assert graded == [("größe 42 schuhe", [3, 0]), ("赤い靴", [2, 1])]


def test_its_code_runs_and_prints_the_decision(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    ((_, _, code),) = BLOCK.findall(PARTS["From Python"])
    exec(code, {})  # noqa: S102 - our own page
    assert capsys.readouterr().out.startswith("Switch from NDCG to ERR: ")


def rows_of_commands(text):
    """Return the code of each row of a table of commands: command lines, without `clickassay`."""
    rows = [line.split(" | ")[1] for line in text.splitlines() if line.startswith("| ")]
    return [re.findall(r"`([^`]+)`", row) for row in rows[1:]]


def found(words):
    """Return (path of the command, its options) that words begin with; the path is empty for none."""
    at, path = typer.main.get_command(app), []
    while words and words[0] in getattr(at, "commands", {}):
        at, path = at.commands[words[0]], [*path, words[0]]
        words = words[1:]
    return path, {name for one in at.params for name in one.opts}


def named_by(text):
    """Return the commands of a table, all of whose options exist."""
    named = set()
    for row in rows_of_commands(text):
        commands = [shlex.split(code) for code in row if not code.startswith("--")]
        assert commands
        for words in commands:
            path, options = found(words)
            assert path, words
            named.add(path[0])
            assert {word for word in words if word.startswith("--")} <= options, words
    return named


def test_every_question_has_a_command_with_options_that_exist():
    assert named_by(QUESTIONS) == set(typer.main.get_command(app).commands)


def test_the_readme_has_eight_of_these_rows():
    assert len(rows_of_commands(PARTS["Eight commands"])) == 8
    assert named_by(PARTS["Eight commands"]) < named_by(QUESTIONS)


def test_every_link_of_the_readme_is_relative_to_the_checkout():
    targets = re.findall(r"\]\(([^)#\s]+)", README)
    assert [target for target in targets if "://" in target or Path(target).is_absolute()] == []
    assert len(targets) >= 25
