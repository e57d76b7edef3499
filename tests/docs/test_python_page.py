"""Functions for Python: their examples run, the page names all of them, the notebook shows what it says."""

import contextlib
import doctest
import inspect
import json
import re
import shutil
from pathlib import Path

import pytest

import clickassay as ca
from support.pages import script
from support.places import ROOT, SAMPLES
from support.runs.sample_run import sample

PAGE = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
FUNCTIONS = [name for name in ca.__all__ if inspect.isfunction(getattr(ca, name))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the sample log, a run and a pattern table of it."""
    place = tmp_path_factory.mktemp("examples")
    for file in SAMPLES.glob("*.parquet"):
        shutil.copy(file, place)
    shutil.copy(ROOT / "data_samples" / "past_tests.csv", place)
    shutil.copytree(sample(), place / "reports" / "june")
    for name, grade in (("people", 3), ("model", 2)):
        (place / f"{name}.csv").write_text(f"query,url,grade\nq,a,{grade}\nq,b,0\nr,a,1\nr,c,2\n")
    log = (SAMPLES / "searches.parquet", SAMPLES / "clicks.parquet")
    ca.pattern_table(*log, out=place / "june-patterns", progress=False)
    return place


@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_of_a_function_run(name, folder):
    names = {"ca": ca, "run": ca.open_run(sample())}
    (example,) = doctest.DocTestFinder(recurse=False).find(
        inspect.unwrap(getattr(ca, name)), name, module=False, globs=names
    )
    assert example.examples, "it has none"
    with contextlib.chdir(folder):
        assert doctest.DocTestRunner().run(example).failed == 0


def test_the_page_has_every_function_and_result():
    shown = set(re.findall(r"^\.\. auto\w+:: clickassay\.(\w+)$", PAGE, re.MULTILINE))
    errors = {name for name in ca.__all__ if name.endswith("Error")}
    assert shown == set(ca.__all__) - errors - {"__version__"}
    assert all(f"`{name}`" in PAGE for name in errors)


def test_parameters_of_a_function_are_explained():
    for name in FUNCTIONS:
        function = inspect.unwrap(getattr(ca, name))
        for parameter in inspect.signature(function).parameters:
            assert re.search(rf"\b{parameter}\b", function.__doc__), (name, parameter)


@pytest.mark.thorough
def test_the_notebook_shows_what_its_cells_show(tmp_path):
    maker = script("notebook")
    cells = json.loads(maker.NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    again = json.loads(json.dumps(cells))
    maker.run_cells(again, Path(tmp_path))
    assert sum(cell["cell_type"] == "code" for cell in cells) > 8
    for cell, now in zip(cells, again, strict=True):
        assert texts_of(now) == texts_of(cell), "".join(cell["source"])


def texts_of(cell):
    """Return the texts that a cell shows, and of what kinds its pages are; pictures differ with fonts."""
    shown = []
    for output in cell.get("outputs", []):
        data = output.get("data", {"text/plain": output.get("text")})
        shown.append(("".join(data["text/plain"]), sorted(data)))
    return shown
