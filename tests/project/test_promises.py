"""What CONTRIBUTING.md promises of additions: each is made in one place, and a test finds it there.

A metric is one function and one record; a format is one module or folder and its cases; an engine is one
folder, and a file of macros if it runs SQL; a command is one module of `cli.commands`.
"""

import ast
import re
from collections import Counter
from typing import get_args

import numpy as np
import pytest

from clickassay.cli.app import COMMANDS, load
from clickassay.core.settings import Settings, load_settings
from clickassay.metrics import catalogue, editorial, names
from clickassay.metrics.catalogue import METRICS, editorial_values
from clickassay.metrics.clicks import CLICKS
from clickassay.metrics.definition import Metric
from clickassay.studies.evaluation import evaluate as evaluation
from support.places import IMPORTED, ROOT

PACKAGE = ROOT / "pipeline" / "clickassay"
MOST_ENTRIES = 16
TOP = 18  # the fifteen floors and stages, measures, __main__, py.typed


def entries(folder):
    """Return what lies in a folder of code, but its face."""
    return [path.name for path in folder.iterdir() if path.name not in ("__init__.py", "__pycache__")]


def folders():
    return sorted({file.parent for file in PACKAGE.rglob("*.py")})


def test_a_folder_of_code_has_about_sixteen_entries():
    sizes = {folder.relative_to(PACKAGE).as_posix(): len(entries(folder)) for folder in folders()}
    assert sizes.pop(".") <= TOP
    assert {name: size for name, size in sizes.items() if size > MOST_ENTRIES} == {}


def test_no_family_of_modules_is_told_by_a_prefix():
    """Three modules of a folder that begin with the same word are a folder of that name."""
    found = {}
    for folder in folders():
        firsts = Counter(name.split("_")[0] for name in entries(folder) if name.count("_"))
        found |= {f"{folder.name}/{word}_*": number for word, number in firsts.items() if number > 2}
    assert found == {}


def test_the_tests_that_the_makefile_names_are_there():
    named = re.findall(r"\b(tests/[\w/]+(?:\.py)?)(?:::(\w+))?", (ROOT / "Makefile").read_text("utf-8"))
    assert {"tests/commands/test_cli.py", "tests/unit"} <= {path for path, _ in named}
    assert [path for path, _ in named if not (ROOT / path).exists()] == []
    for path, name in named:
        assert not name or f"\ndef {name}(" in (ROOT / path).read_text("utf-8")


def exists(dotted):
    """Tell whether a dotted name below the package is a module, or a name of one."""
    path, name = PACKAGE.joinpath(*dotted.split(".")[:-1]), dotted.rpartition(".")[2]
    files = [path.with_suffix(".py"), path / "__init__.py"]
    defined = any(re.search(rf"\b{name}\b", file.read_text("utf-8")) for file in files if file.is_file())
    return defined or (path / name).is_dir() or (path / f"{name}.py").is_file()


def test_what_a_docstring_names_of_the_package_is_there():
    assert exists("core.contracts.correlation.DRAWS")
    assert not exists("core.contracts.correlation.NOWHERE")
    tops = "|".join(name.removesuffix(".py") for name in entries(PACKAGE))
    dotted = re.compile(rf"\b(?:clickassay\.|(?=contracts\.|(?:{tops})\.[a-z_]+\.))([a-z_]+(?:\.\w+)+)")
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        texts = (
            part.value
            for part in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(part, ast.Constant)
        )
        names = {
            name for text in texts if isinstance(text, str) and "\n" in text for name in dotted.findall(text)
        }
        names = {
            name.replace("contracts.", "core.contracts.", 1) if name.startswith("contracts.") else name
            for name in names
        }
        if missing := sorted(name for name in names if not exists(name)):
            found[file.relative_to(PACKAGE).as_posix()] = missing
    assert found == {}


def test_a_new_metric_is_computed_by_its_name_in_runs_and_in_evaluations(monkeypatch):
    """The function and the record below are all that is added; nothing else knows the name."""

    def worst_grade(grades):
        return grades.min(axis=1).astype(np.float64)

    record = Metric("WorstGrade", "lowest grade of the results", 0, 30, "a test", worst_grade, ("grades",))
    monkeypatch.setattr(catalogue, "METRICS", (*METRICS, record))
    monkeypatch.setattr(names, "MEASURES", (*names.MEASURES, record))
    settings = load_settings(metric=("WorstGrade", "WorstGrade@2"), pool="shown")
    found, values = editorial_values(
        np.array([[3, 1, 0], [4, 2, 2]]), None, settings.model_copy(update={"depth": (3,)})
    )
    assert values[:, found.index("WorstGrade")].tolist() == [0, 2]
    assert values[:, found.index("WorstGrade@2")].tolist() == [1, 2]
    grades = {"q": {"a": 3, "b": 1}}
    run = {"q": {"a": 2.0, "b": 1.0}}
    table = evaluation.evaluate(grades, run, ["WorstGrade@2"]).per_query
    assert table["value"].to_list() == [1]


def test_each_metric_has_a_function_of_this_package_and_a_name_of_its_own():
    records = (*CLICKS, *METRICS)
    assert len({record.name for record in records}) == len(records)
    for record in records:
        function = getattr(record.function, "func", record.function)  # a click model is a parameter of it
        assert function.__module__.startswith("clickassay.metrics."), record.name


def test_the_metrics_of_reports_are_listed_nowhere_but_in_their_records():
    """A tuple, list or set of three names or more elsewhere would have to be changed with the records."""
    known = {metric.name for metric in (*CLICKS, *editorial.EDITORIAL)}
    lists = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Tuple | ast.List | ast.Set):
                texts = [part.value for part in node.elts if isinstance(part, ast.Constant)]
                if len(known.intersection(text for text in texts if isinstance(text, str))) > 2:
                    lists[file.relative_to(PACKAGE).as_posix()] = texts
    # measures that a better grade never makes worse: their bounds; and sums that are split between rankers
    allowed = {"studies/evaluation/bounds.py", "studies/experiments/interleaving.py"}
    assert {name: texts for name, texts in lists.items() if name not in allowed} == {}


def commands_of(name):
    return getattr(load(name), "commands", {})


def test_a_format_is_a_command_a_module_or_folder_and_a_folder_of_cases():
    formats = {name.replace("-", "_") for name in commands_of("import")}
    importers = {name.removesuffix(".py") for name in entries(PACKAGE / "inputs" / "importers")}
    assert importers - {"base", "session_xml", "ratings", "ubi_documents"} == formats
    assert {path.name for path in IMPORTED.iterdir()} == formats
    for name in formats:
        assert any(path.is_dir() for path in (IMPORTED / name).iterdir()), f"{name} has no good case"
        assert (IMPORTED / name / "refusals.toml").is_file(), name


def test_an_engine_that_runs_sql_is_a_module_or_folder_of_the_log_stage_and_a_file_of_macros():
    default, *of_sql = get_args(Settings.model_fields["engine"].annotation)
    assert default == Settings().engine
    for engine in of_sql:
        places = (PACKAGE / "logs" / f"{engine}.py", PACKAGE / "logs" / engine / "engine.py")
        assert any(place.is_file() for place in places)
    assert {file.stem for file in (ROOT / "sql" / "macros").glob("*.sql")} == set(of_sql)


def callbacks(name):
    yield from (command.callback for command in (commands_of(name) or {name: load(name)}).values())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_a_function_of_a_module_of_commands(name):
    homes = {callback.__module__ for callback in callbacks(name)}
    assert all(home.startswith("clickassay.cli.commands.") for home in homes)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_a_command_with_the_first_paragraph_of_its_own_help(name):
    first = load(name).help.split("\n\n")[0]
    assert " ".join(first.replace("`", "").split()) == COMMANDS[name].summary


def test_a_module_of_commands_has_one():
    homes = {callback.__module__ for name in COMMANDS for callback in callbacks(name)}
    folder = PACKAGE / "cli" / "commands"
    modules = {
        ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
        for file in folder.rglob("*.py")
        if file.name != "__init__.py"
    }
    assert homes == modules
