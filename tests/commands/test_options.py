"""Options of all commands: where they come from, how many a command writes, what the shell completes."""

import contextlib
import inspect
import io
import json
import os
import shutil
from pathlib import Path
from typing import get_args
from unittest import mock

import pytest

from clickassay.cli.app import COMMANDS, app
from clickassay.cli.options import place_of
from clickassay.core.settings import SETTINGS
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


# ---- paths --------------------------------------------------------------------------------------

WORDS_OF_PLACES = ("file", "folder", "glob", "path", "plan")
"""One of these stands in the help of whatever names a place."""


def declared(words):
    """Return the parameters of a command as they are declared, by name."""
    return inspect.signature(ALL[words].callback).parameters


PLACES = [
    (words, one.name)
    for words in ALL
    for one in declared(words).values()
    if place_of(one.annotation) is not None
]
NO_PLACES = {"batch", "spark_staging"}
"""Options whose help has such a word: one names no place, one a place of Spark alone."""


def test_whatever_has_a_place_in_its_help_is_a_place():
    missed = {
        (words, one.name)
        for words in ALL
        for one in declared(words).values()
        if place_of(one.annotation) is None
        and {str} & set(flat(one.annotation))
        and any(word in WORDS_OF_PLACES for word in words_of(ALL[words], one.name))
    }
    assert {name for _, name in missed} == NO_PLACES


def flat(annotation):
    inner = get_args(annotation)
    return [annotation, *(part for one in inner for part in flat(one))] if inner else [annotation]


def words_of(command, name):
    shown = next(one for one in command.params if one.name == name)
    return [word.strip(".,:;()").lower() for word in (shown.help or "").split()]


def test_every_command_but_simulate_reads_a_place_and_all_paths_are_places():
    with_places = {words for words, _ in PLACES}
    assert with_places == set(ALL)
    paths = {(words, p.name) for words in ALL for p in declared(words).values() if Path in flat(p.annotation)}
    assert paths <= set(PLACES)


def given(words, name, value):
    """Return the command line of a command with one place given, and what else it needs as it comes."""
    arguments = ["--out", "out"] if words == ("patterns",) and name not in {"out", "store"} else []
    for one in ALL[words].params:
        if one.name == name or one.required:
            flag = [] if one.param_type_name == "argument" else [max(one.opts, key=len)]
            arguments += [*flag, value if one.name == name else "1"]
    return [*words, *arguments]


def ids(case):
    return f"{' '.join(case[0])}-{case[1]}"


@pytest.mark.parametrize("case", PLACES, ids=ids)
def test_a_name_that_is_not_utf_8_is_refused_in_one_line(case):
    line = tiny.refusal(*given(*case, os.fsdecode(b"no\xfftext")))
    assert r"no\udcfftext is not UTF-8" in line


@pytest.mark.parametrize("case", PLACES, ids=ids)
def test_a_url_is_refused_before_any_work_where_nothing_reads_or_writes_it(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for url in ("s3://KEY:HU/SH@bucket/logs", "https://shop.example/run?X-Amz-Signature=HU", "hdfs:/logs"):
        line = tiny.refusal(*given(*case, url))
        assert "HU" not in line
        kind = place_of(declared(case[0])[case[1]].annotation)
        if not kind.on_store:
            assert " is a URL, but must be local; " in line
        elif url.startswith("hdfs"):
            assert " can be read only by Spark" in line
        else:
            assert " has a user, a key or a query in it: credentials are taken from the environment" in line
        assert ("--engine spark" in line) == kind.on_spark
    assert tiny.tree(tmp_path) == []


@pytest.mark.parametrize("begin", ["file://", "file:", "FILE://localhost"])
def test_a_file_url_is_the_path_that_it_names(tmp_path, begin, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    log = tiny.write_log(tmp_path / "a log")
    urls = [f"{begin}{log.folder}/{name}.parquet".replace(" ", "%20") for name in ("searches", "clicks")]
    patterns = tmp_path / "patterns"
    tiny.said_by("patterns", "--searches", urls[0], "--clicks", urls[1], "--out", f"{begin}{patterns}")
    judgments = f"{begin}{log.judgments}".replace(" ", "%20")
    run = f"{begin}{tmp_path}/run"
    tiny.inside("report", "--patterns", f"{begin}{patterns}", "--judgments", judgments, *tiny.QUICK[:4],
                "--out", run)  # fmt: skip
    assert "1" in tiny.said_by("query", run, "SELECT 1")
    assert tiny.tree(tmp_path / "elsewhere") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a log", "elsewhere", "patterns", "run"]


def test_spark_is_handed_a_url_as_it_is(tmp_path):
    log = tiny.write_log(tmp_path, searches="s3a://bucket/searches")
    line = tiny.inside(*log.options("patterns"), "--engine", "spark", "--spark-master", "no such master").err
    assert "is a URL" not in line


@pytest.mark.parametrize("words", [("check", "run", "--market"), ("query", "run"), ("run", "--metric")])
def test_any_other_text_that_is_not_utf_8_is_refused_too(words):
    needed = (
        ["--searches", "s", "--clicks", "c", "--judgments", "j", "--out", "o"] if words[0] == "run" else []
    )
    line = tiny.refusal(words[0], *needed, *words[1:], os.fsdecode(b"\xff"))
    assert "is not UTF-8; give a text in UTF-8" in line


@pytest.mark.parametrize(
    ("words", "advice"),
    [(("patterns",), "use a smaller --batch"), (("evaluate",), "free some memory, or use a larger machine")],
)
def test_advice_for_too_little_memory_is_of_options_that_the_command_has(
    tmp_path, monkeypatch, words, advice
):
    def short(*_, **__):
        raise MemoryError

    module = {"patterns": "clickassay.api.patterns.make_patterns"}
    monkeypatch.setattr(module.get(words[0], "clickassay.studies.evaluation.job.evaluate_files"), short)
    log = tiny.write_log(tmp_path)
    command = (
        log.options("patterns") if words == ("patterns",) else ["evaluate", log.judgments, log.judgments]
    )
    line = tiny.refusal(*command)
    assert advice in line
    assert ("--batch" in line) == any(one.name == "batch" for one in ALL[words].params)
