"""Options of all commands: where they come from, how many a command writes, what the shell completes."""

import contextlib
import io
import json
import os
import shutil
from unittest import mock

import pytest

from clickassay.cli.app import COMMANDS, app
from clickassay.core.settings import SETTINGS
from clickassay.core.settings.project import INPUT_NAMES
from support.commands import ALL
from support.logs import tiny

CHOOSING = {f"clicks {name}" for name in ("compare", "fit", "judgments")}
NARROWER = {
    "depth": {"check", "diff", "power", "audit", "learn", "plan", *CHOOSING},
    "metric": {"diff", "experiments", "plan"},
    "margin": {"experiments"},
    "click_metric": {"audit", "clicks compare", "diff", "learn", "power"},
    "click_models": {"clicks compare"},
    "max_grade": {"import judgments", "judges"},
    "question": {"power"},
    "conflicts": {"import judgments"},
    "column": {"import judgments"},
}
"""Options with the name and meaning of a setting that choose from a run, or have another default."""


def test_an_option_with_the_name_of_a_setting_is_made_from_the_setting():
    narrower = {}
    for words, command in ALL.items():
        for option in command.params:
            setting = SETTINGS.get(option.name)
            made = f"{setting.meaning}{setting.several} [{setting.limits_and_default}]" if setting else None
            if setting is not None and option.help != made:
                narrower.setdefault(option.name, set()).add(" ".join(words))
    assert narrower == NARROWER


def test_every_setting_is_an_option_of_some_command():
    offered = {option.name for command in ALL.values() for option in command.params if option.rich_help_panel}
    assert offered - set(INPUT_NAMES) == set(SETTINGS)


def test_help_has_the_commands_in_panels_and_minus_h_is_help():
    text = tiny.said_by("-h")
    assert text == tiny.said_by("--help")
    for panel in {entry.panel for entry in COMMANDS.values()}:
        assert f"─ {panel} ─" in text
    shown = tiny.said_by("run", "-h")
    for group in dict.fromkeys(setting.group for setting in SETTINGS.values()):
        assert f"─ {group} ─" in shown


def completed(*words):
    """Return what bash is offered for the last of `words`."""
    line = " ".join(("clickassay", *words))
    asked = {"_CLICKASSAY_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    offered = io.StringIO()
    with mock.patch.dict(os.environ, asked), contextlib.redirect_stdout(offered), pytest.raises(SystemExit):
        app(args=[], prog_name="clickassay")
    return offered.getvalue().split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("eva",), ["evaluate"]),
        (("run", "--idle-s"), ["--idle-scope"]),
        (("run", "--unjudged", "m"), ["model"]),
        (("power", "r", "--click-metric", "Me"), ["MeanRR"]),
        (("query", "r", "--name", "grade_inv"), ["grade_inversions"]),
        (("run", "--metric", "NDC"), ["NDCG"]),
    ],
    ids=" ".join,
)
def test_the_shell_completes_commands_options_and_values(words, offered):
    assert completed(*words) == offered


def test_what_is_no_option_is_answered_with_the_closest_one():
    shown = tiny.inside("run", "--idle-minute", "3")
    assert (shown.code, "--idle-minutes" in shown.err) == (2, True)
    assert "evaluate" in tiny.inside("evalute").err


def test_every_command_has_json():
    assert [
        words for words, command in ALL.items() if "json" not in {one.name for one in command.params}
    ] == []


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Return folders of a run, a pattern table, a store and rankings of the small log."""
    folder = tmp_path_factory.mktemp("json")
    log = tiny.write_log(folder / "log")
    inputs = ("--searches", log.searches, "--clicks", log.clicks)
    quick = ("--depth", "3", "--quiet")
    judged = ("--judgments", log.judgments, "--iterations", "10", "--click-models", "none")
    tiny.said_by("run", *inputs, *judged, *quick, "--out", folder / "run")
    tiny.said_by("patterns", *inputs, *quick, "--store", folder / "store")
    shutil.copytree(folder / "store", folder / "forgetting")
    (folder / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 2\n", encoding="utf-8")
    (folder / "ranks").write_text("1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n2 Q0 a 1 1 r\n", encoding="utf-8")
    return folder, inputs, (*judged, *quick)


COMMAND_LINES = {
    "run": lambda folder, inputs, judged: (*inputs, *judged, "--out", folder / "again"),
    "report": lambda folder, _, judged: ("--patterns", folder / "store", *judged, "--out", folder / "r"),
    "patterns": lambda folder, inputs, _: (*inputs, "--depth", "3", "-q", "--out", folder / "p"),
    "patterns --dry-run": lambda folder, inputs, _: (*inputs, "--depth", "3", "-q", "--out", folder / "d"),
    "store info": lambda folder, *_: (folder / "store",),
    "store verify": lambda folder, *_: (folder / "store",),
    "inspect": lambda folder, *_: (folder / "log", "--depth", "3"),
    "query --list": lambda *_: (),
    "query": lambda folder, *_: (folder / "run", "SELECT * FROM statistics"),
    "diff": lambda folder, *_: (folder / "run", folder / "run"),
    "audit": lambda folder, *_: (folder / "run", "-q"),
    "evaluate": lambda folder, *_: (folder / "qrels", folder / "ranks", "-q"),
    "clicks compare": lambda folder, *_: (folder / "store", "-q", "--click-models", "GCTR"),
    "clicks fit": lambda folder, *_: (folder / "store", "-q", "--click-model", "GCTR", "--out", folder / "f"),
    "init": lambda folder, *_: (folder / "log", "--out", folder / "new.toml"),
    "init --show": lambda folder, *_: (folder / "log",),
    "groups": lambda folder, _, judged: (*judged[:2], "--out", folder / "groups.parquet"),
    "simulate": lambda folder, *_: ("--n-searches", "10", "--out", folder / "simulated"),
    "store forget": lambda folder, *_: (folder / "forgetting", "--from", "1"),
    "plan": lambda at, *_: ("--ranking", at / "ranks", "--budget", "3", "--out", at / "plan", "-q"),
}


@pytest.mark.parametrize("words", COMMAND_LINES)
def test_json_is_all_that_stands_on_stdout(places, words):
    printed = tiny.inside(*words.split(), *COMMAND_LINES[words](*places), "--json")
    assert printed.code == 0, printed.err
    assert json.loads(printed.out)
