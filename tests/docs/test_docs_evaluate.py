"""docs/reference/evaluate.md says what `clickassay evaluate` does: names, files, formats, and an example."""

import re
import sys
from typing import get_args

import pytest

from clickassay.cli.commands.rankings import FormatName
from clickassay.metrics.names import RULES, listing, parse_measure
from clickassay.studies.evaluation.evaluate import evaluate
from clickassay.studies.evaluation.forms import EVALUATION_TABLES
from support.pages import parts
from support.places import ROOT
from support.processes import ran

PAGE = (ROOT / "docs" / "reference" / "evaluate.md").read_text(encoding="utf-8")
PARTS = parts(PAGE)


def rows(part):
    lines = [line for line in PARTS[part].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def test_every_other_name_is_read_as_the_measure_beside_it():
    told = 0
    for name, *_, others, _ in listing()[1]:
        for other in others.split(", ") if others else []:
            example = other.removesuffix("K") + "7" if other.endswith("_K") else other.replace("_L", "_0.10")
            assert parse_measure(example).metric.name.lower() == name.lower()
            told += 1
    assert told >= 20


def test_less_is_better_of_the_measures_that_say_so():
    say_so = {name for name, line, *_ in listing()[1] if "less is better" in line}
    (told,) = re.findall(r"For ([^.]+), less is better\.", PARTS["Names"])
    assert set(re.split(r", | and ", told)) == say_so


def test_rules_formats_and_files_are_those_that_there_are():
    assert [rule.name for rule in RULES if f"`{rule.name}=" not in PARTS["Conventions"]] == []
    assert {form for row in rows("Output") for form in re.findall(r"`(\w+)`", row[0])} == set(
        get_args(FormatName)
    )
    told = {name for row in rows("The folder") for name in re.findall(r"`(\w+)\.parquet`", row[0])}
    assert told == {table.name for table in EVALUATION_TABLES}


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("DCG", "DCG(dcg='exp-log2')"), ("NDCG", "nDCG(dcg='exp-log2')"), ("RBP", "RBP(p=0.8,max_rel=4)"),
        ("AP", "AP(rel=1)"), ("ERR@10", "ERR(max_rel=4)@10"),
    ],
)  # fmt: skip
def test_bare_names_mean_what_the_page_says(name, spelled):
    assert [str(one) for one in evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, name).measures] == [spelled]


@pytest.mark.parametrize("measure", ["P", "E", "nDCG", "Inversions", "Judged", "RBP"])
def test_a_query_that_a_run_lacks_is_worth_0_or_1_for_e(measure):
    found = evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}}, measure)
    assert found.per_query["value"][1] == (1 if measure == "E" else 0)


def test_the_example_prints_what_the_page_shows(tmp_path):
    (commands,) = re.findall(r"For instance\n\n((?:    .+\n)+)", PARTS["Output"])
    (shown,) = re.findall(r"```text\n(.*?)```", PARTS["Output"], re.DOTALL)
    ours = commands.replace("clickassay ", f"{sys.executable} -m clickassay ")
    assert ran("bash", "-ec", ours, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}).stdout == shown


def test_the_block_of_python_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    (tmp_path / "qrels.txt").write_text("q 0 a 3\nq 0 b 1\nr 0 a 2\n")
    for run in ("run1", "run2"):
        (tmp_path / f"{run}.txt").write_text("q Q0 b 1 2.0 x\nq Q0 a 2 1.0 x\nr Q0 a 1 1.0 x\n")
    monkeypatch.chdir(tmp_path)
    block = PAGE.partition("```python\n")[2].partition("```")[0]
    names = {}
    exec(block, names)  # noqa: S102 - our own page
    assert names["found"].means.height == 6
    assert names["found"].comparisons.height == 3
    assert "gains and discounts" in capsys.readouterr().out
