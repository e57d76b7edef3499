"""The README fits one sitting, and what it shows works: the log, the commands, the code."""

import re
import shlex
import tomllib
from pathlib import Path

import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from clickassay.cli.app import app
from clickassay.inputs.types.columns import CANONICAL, CLICKED, required
from support.pages import parts
from support.places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PARTS = parts(README)
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
    assert installed == [".", "'.[explore]'", "'.[spark]'", "'.[cloud,lake]'"]
    assert {"explore", "spark", "cloud", "lake"} <= set(extras["optional-dependencies"])


# ---- your own log -----------------------------------------------------------------------------


def columns_of_the_readme(name):
    line = next(line for line in README.splitlines() if line.startswith(f"| `--{name}`"))
    needed, optional = ([*re.findall(r"`(\w+)`", cell)] for cell in line.split("|")[2:4])
    return needed, optional


@pytest.mark.parametrize("name", CANONICAL)
def test_it_has_every_column_of_the_canonical_tables(name):
    needed, optional = columns_of_the_readme(name)
    known = [column.name for column in CANONICAL[name]]
    must = required(CANONICAL[name]) | (CLICKED if name == "clicks" else set())
    first = [one for one in known if one in must]
    assert needed[: len(first)] == first
    assert sorted(optional) == sorted(set(known) - set(first))
    assert all(column.meaning for column in CANONICAL[name])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with the log that the README shows, and what its commands make of it."""
    folder = tmp_path_factory.mktemp("readme")
    for language, name, text in BLOCK.findall(PARTS["Your own log"]):
        assert language == "csv"
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in INDENTED.findall(PARTS["Your own log"])[:2]:
            ended = CliRunner().invoke(app, shlex.split(line)[1:])
            assert ended.exit_code == 0, ended.output
    return folder


def test_the_log_is_read_whole_and_its_queries_and_labels_are_those_that_it_shows(place):
    run = place / "reports" / "june"
    funnel = pl.read_parquet(run / "funnel.parquet")
    assert set(funnel["step"]) == {"read", "kept", "in patterns", "formed"}
    kept = funnel.filter(pl.col("step") == "kept", pl.col("source") != "sessions").select("source", "rows")
    assert dict(kept.iter_rows()) == {"searches": 2, "clicks": 1, "judgments": 4}
    graded = pl.read_parquet(run / "configurations.parquet").select("query", "grades").sort("query").rows()
    assert graded == [("größe 42 schuhe", [3, 0]), ("赤い靴", [2, 1])]


def test_its_code_prints_what_it_shows(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (_, _, code), (_, _, shown) = BLOCK.findall(PARTS["From Python"])
    exec(code, {})  # noqa: S102 - our own page
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    first, last = (part.strip("\n").splitlines() for part in shown.split("  …\n"))
    assert printed[: len(first)] == first
    assert printed[-len(last) :] == last


# ---- which command ----------------------------------------------------------------------------


def rows_of_commands():
    """Return the code of each row of the table of commands: command lines, without `clickassay`."""
    rows = [line.split(" | ")[1] for line in PARTS["Which command"].splitlines() if line.startswith("| ")]
    return [re.findall(r"`([^`]+)`", row) for row in rows[1:]]


def found(words):
    """Return (path of the command, its options) that words begin with; the path is empty for none."""
    at, path = typer.main.get_command(app), []
    while words and words[0] in getattr(at, "commands", {}):
        at, path = at.commands[words[0]], [*path, words[0]]
        words = words[1:]
    return path, {name for one in at.params for name in one.opts}


def test_every_question_has_a_command_with_options_that_exist():
    named, rows = set(), rows_of_commands()
    for row in rows:
        commands = [shlex.split(code) for code in row if not code.startswith("--")]
        assert commands
        for words in commands:
            path, options = found(words)
            assert path, words
            named.add(path[0])
            assert {word for word in words if word.startswith("--")} <= options, words
    assert named == set(typer.main.get_command(app).commands)


def test_every_link_of_the_readme_is_relative_to_the_checkout():
    targets = re.findall(r"\]\(([^)#\s]+)", README)
    assert [target for target in targets if "://" in target or Path(target).is_absolute()] == []
    assert len(targets) >= 30
