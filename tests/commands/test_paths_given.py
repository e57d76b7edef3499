"""Paths on the command line: what is no text or no path of this machine is refused by every command alike."""

import ast
import inspect
import os
from pathlib import Path
from typing import get_args

import pytest

from clickassay.cli.options import place_of
from support.commands import ALL
from support.logs import tiny
from support.places import ROOT

PACKAGE = ROOT / "pipeline" / "clickassay"

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
        here = one.name == name
        if here or one.required:
            text = value if here else "1"
            arguments = [
                *arguments,
                *([] if one.param_type_name == "argument" else [max(one.opts, key=len)]),
                text,
            ]
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


MAKERS = {
    "cli/exit.py": "the null device, and the file that it has written",
    "cli/inputs.py": "places that `cli.options` or a project file has named",
    "cli/commands/project.py": "a file in the working folder",
    "core/files/scratch.py": "temporary folders",
    "core/settings/project.py": "what a project file names",
    "cli/commands/patterns.py": "a folder that `cli.options` has checked, for a job that wants a path",
    "core/files/output.py": "temporary folders; inputs, to be compared with an output",
    "core/files/sql.py": "files of the package",
}
"""Modules of the command line and of the core that call `Path`, and of what."""


def test_no_other_module_of_the_command_line_or_the_core_makes_a_path():
    found = {
        module.relative_to(PACKAGE).as_posix()
        for folder in ("cli", "core")
        for module in (PACKAGE / folder).rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Path"
    }
    assert found == set(MAKERS)


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
