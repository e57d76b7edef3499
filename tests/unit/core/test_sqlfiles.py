"""Where the SQL files lie."""

import shutil
import subprocess
import sys

import pytest

from clickassay.core.errors import QueryError
from clickassay.core.sqlfiles import sql_names, sql_text
from support.places import ROOT


def test_the_text_of_a_name_is_that_of_its_file():
    for folder in ("explore", "sessions", "patterns"):
        names = sql_names(folder)
        assert list(names) == sorted(file.stem for file in (ROOT / "sql" / folder).glob("*.sql"))
        for name in names:
            assert sql_text(f"{folder}/{name}") == (ROOT / "sql" / folder / f"{name}.sql").read_text("utf-8")


def test_an_unknown_name_is_answered_with_the_closest():
    with pytest.raises(QueryError, match=r"no SQL file 'explore/coverag'; did you mean 'coverage'\?"):
        sql_text("explore/coverag")


@pytest.mark.parametrize(
    "name", ["explore/../explore/coverage", "coverage", "", "/explore/coverage", "explore/"]
)
def test_only_files_directly_in_a_folder_have_names(name):
    with pytest.raises(QueryError):
        sql_text(name)


@pytest.mark.parametrize("folder", ["..", ".", "", "explor", "/", "explore/.."])
def test_an_unknown_folder_is_refused(folder):
    with pytest.raises(QueryError, match="no folder"):
        sql_names(folder)


def bare_package(place):
    """Copy what finds SQL files, and nothing else of the package; return its folder."""
    package = place / "clickassay"
    (package / "core").mkdir(parents=True)
    for file in ("__init__.py", "core/__init__.py", "core/errors.py", "core/sqlfiles.py"):
        shutil.copy(ROOT / "pipeline" / "clickassay" / file, package / file)
    return package


def test_an_installed_package_finds_the_files_inside_itself(tmp_path):
    package = bare_package(tmp_path)
    (package / "sql" / "checks").mkdir(parents=True)
    (package / "sql" / "checks" / "only_here.sql").write_text("-- in the wheel\n")
    code = "from clickassay.core.sqlfiles import *; print(sql_names('checks'), sql_text('checks/only_here'))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "('only_here',) -- in the wheel"


def test_a_broken_installation_says_so(tmp_path):
    bare_package(tmp_path)
    code = "from clickassay.core.sqlfiles import sql_names; sql_names('checks')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "EngineError: no folder sql in" in done.stderr
