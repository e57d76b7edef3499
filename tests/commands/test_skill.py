"""The page for programs and agents names commands, exit codes and fields that there are."""

import json
import re
from importlib.resources import files
from typing import get_args, get_type_hints

import pytest

from clickassay.cli.app import COMMANDS
from clickassay.cli.exit import ExitCode
from clickassay.findings.decision import Kind
from clickassay.findings.signals import Evidence
from clickassay.health.checks import Severity
from clickassay.report.verdict.summary import SCHEMA
from support.commands import ALL
from support.logs.tiny import said_by
from support.runs.sample_run import sample

TEXT = files("clickassay.cli").joinpath("SKILL.md").read_text(encoding="utf-8")
PARTS = dict(part.split("\n", 1) for part in TEXT.split("\n## ")[1:])
USED = [
    used for line in re.findall(r"^- .*\?.*$", TEXT, re.MULTILINE) for used in re.findall(r"`([^`]+)`", line)
]


def keys_in(value):
    """Yield every key of a JSON value."""
    for key, one in value.items() if isinstance(value, dict) else ():
        yield from (key, *keys_in(one))
    for one in value if isinstance(value, list) else ():
        yield from keys_in(one)


def test_it_is_printed_as_the_help_says_begins_with_its_name_and_is_short():
    assert said_by("--skill") == TEXT
    assert "clickassay --skill" in said_by("--help")
    assert re.match(r"---\nname: clickassay\ndescription: \S.*\n---\n", TEXT)
    assert len(TEXT.split()) <= 600


def test_it_names_every_command():
    assert {line.split()[0] for line in USED} == set(COMMANDS)


@pytest.mark.parametrize("line", USED)
def test_its_commands_have_these_options(line):
    words = tuple(line.split())
    command = ALL.get(words[:2]) or ALL.get(words[:1])  # none for a group, as `import`
    options = {option for one in command.params for option in one.opts} if command else set()
    assert {word for word in words if word.startswith("--")} <= options


def test_its_exit_codes_are_all():
    codes = re.findall(r"^- (\d): ", PARTS["Exit codes"], re.MULTILINE)
    assert list(map(int, codes)) == list(map(int, ExitCode))


def test_its_fields_are_those_of_a_summary():
    summary = json.loads((sample() / "summary.json").read_text(encoding="utf-8"))
    assert summary["schema"] == SCHEMA
    assert f"`schema` {SCHEMA}" in " ".join(PARTS["Fields to trust"].split())
    known = {
        *keys_in(summary),
        *get_args(Kind),
        *get_args(get_type_hints(Evidence.kind.fget)["return"]),
        *Severity,
    }
    known |= {"run --json", "null", "summary.json", "report.html"}
    named = re.findall(r"`([^`]+)`", PARTS["Fields to trust"] + PARTS["Never"])
    assert len(named) > 15
    assert [one for one in named if one not in known] == []
