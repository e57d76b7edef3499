"""The pages of docs/ that scripts write are what the scripts write today, and hold what they should."""

import pytest

from support.commands import ALL
from support.pages import parts, script
from support.places import ROOT
from support.runs.sample_run import shop

REFERENCE = ROOT / "docs" / "reference"


MADE = {
    "audit": lambda made, page: made.with_table(page),
    "cli": lambda made, _: made.cli_page(),
    "glossary": lambda made, _: made.glossary_page(),
    "health": lambda made, page: made.with_table(page),
    "questions": lambda made, _: made.questions_page(shop()),
    "settings": lambda made, _: made.settings_page(),
    "sql": lambda made, _: made.sql_page(),
    "tables": lambda made, page: made.with_tables(page),
}
"""Scripts of docs/make, and what each makes of its page."""


@pytest.mark.parametrize("name", MADE)
def test_a_page_is_what_its_script_makes_today(name):
    page = script(name).PAGE.read_text(encoding="utf-8")
    assert MADE[name](script(name), page) == page, "make it again with `make pages` and commit it"


def test_a_page_says_in_its_first_line_that_a_script_makes_it_and_only_then():
    pages = {page: page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")}
    says = {page for page, text in pages.items() if text.startswith("<!-- Made by `make pages`")}
    assert says == {script(name).PAGE for name in MADE if name != "sql"}


def test_the_reference_does_not_depend_on_the_terminal(monkeypatch):
    pages = set()
    for columns, force in (("40", "1"), ("300", "")):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("TERMINAL_WIDTH", columns)
        monkeypatch.setenv("FORCE_COLOR", force)
        pages.add(script("cli").cli_page())
    assert len(pages) == 1
    assert "\x1b" not in pages.pop()


def test_the_reference_has_every_command():
    shown = set(parts((REFERENCE / "cli.md").read_text(encoding="utf-8")))
    assert shown == {*map(" ".join, ALL), "Shared options"}


def test_every_file_of_sql_is_a_step_told_in_words():
    made, folder = script("sql"), ROOT / "sql"
    files = {file.relative_to(folder).with_suffix("").as_posix() for file in folder.rglob("*.sql")}
    steps = {step.file for step in made.SEQUENCE}
    assert {file for file in files if not file.startswith(("macros/", "questions/"))} == steps
    assert {step.folder for step in made.SEQUENCE} == set(made.TITLES)
    conditions = {step.when.property for step in made.SEQUENCE if isinstance(step.when, made.If)}
    assert conditions == set(made.PROPERTIES)
