"""sql/README.md is what its script writes today, and names every file of sql/."""

import re

import pytest

from support import pages
from support.places import ROOT

SQL = ROOT / "sql"


@pytest.fixture(scope="module")
def script():
    return pages.script("sql")


def test_the_page_is_what_the_script_writes_today(script):
    page = (SQL / "README.md").read_text(encoding="utf-8")
    assert page == script.sql_page(), "make it again with `make pages` and commit it"


def test_every_file_is_a_step(script):
    used = {step.file for step in script.SEQUENCE}
    files = {file.relative_to(SQL).with_suffix("").as_posix() for file in SQL.rglob("*.sql")}
    assert {file for file in files if not file.startswith(("macros/", "questions/"))} == used
    linked = re.findall(r"^\| \[\w+\]\((\S+)\.sql\)", (SQL / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(linked) == sorted(used)


def test_every_condition_and_every_folder_is_told_in_words(script):
    assert {step.folder for step in script.SEQUENCE} == set(script.TITLES)
    properties = {step.when.property for step in script.SEQUENCE if isinstance(step.when, script.If)}
    assert properties == set(script.PROPERTIES)
