"""The pages of docs/ that scripts write are what the scripts write today, and hold what they should."""

import re
import shutil

import polars as pl
import pytest
from typer.testing import CliRunner

from clickassay.cli.app import app
from support.pages import parts, script
from support.places import ROOT
from support.runs.sample_run import sample, shop

REFERENCE = ROOT / "docs" / "reference"
GROUPS = ("clicks", "import", "store")


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


@pytest.fixture(scope="module")
def listed():
    """Return the commands that --help lists in a wide terminal."""

    def shown(*words):
        environment = {"COLUMNS": "400", "TERMINAL_WIDTH": "400", "NO_COLOR": "1", "TERM": "dumb"}
        result = CliRunner().invoke(app, [*words, "--help"], env=environment)
        assert result.exit_code == 0
        return re.findall(r"^│ ([a-z][\w-]*)  ", re.sub(r"\x1b\[[0-9;]*m", "", result.output), re.MULTILINE)

    outer = [name for name in shown() if name not in GROUPS]
    return {*outer, *(f"{group} {name}" for group in GROUPS for name in shown(group))}


def test_the_reference_does_not_depend_on_the_terminal(monkeypatch):
    pages = set()
    for columns, force in (("40", "1"), ("300", "")):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("TERMINAL_WIDTH", columns)
        monkeypatch.setenv("FORCE_COLOR", force)
        pages.add(script("cli").cli_page())
    assert len(pages) == 1
    assert "\x1b" not in pages.pop()


def test_the_reference_has_every_command_that_help_lists(listed):
    assert len(listed) >= 13
    assert set(parts((REFERENCE / "cli.md").read_text(encoding="utf-8"))) == {*listed, "Shared options"}


def test_a_cell_shows_its_text_and_nothing_else():
    cell = script("questions").markdown_cell
    assert cell("AP(rel=2) 0.12") == "AP(rel=2) 0.12"
    assert cell("a|b") == "`a\\|b`"
    assert cell("<b>") == "`<b>`"
    assert cell("https://a.example/1") == "`https://a.example/1`"
    assert cell("a`b") == "`` a`b ``"
    assert cell("x" * 61) == "`" + "x" * 59 + "…`"
    assert cell("x" * 60) == "x" * 60


def test_a_question_without_an_answer_says_so(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(sample(), run, ignore=shutil.ignore_patterns("tables", "report.*", "run.duckdb"))
    empty = pl.read_parquet(run / "statistics.parquet").clear()
    empty.write_parquet(run / "statistics.parquet")
    page = script("questions").questions_page(run)
    part = page.split("\n## coverage\n")[1].split("\n## ")[0]
    assert part.endswith(".sql).\n\nNo rows.\n")


def test_every_file_of_sql_is_a_step_told_in_words():
    made, folder = script("sql"), ROOT / "sql"
    files = {file.relative_to(folder).with_suffix("").as_posix() for file in folder.rglob("*.sql")}
    steps = {step.file for step in made.SEQUENCE}
    assert {file for file in files if not file.startswith(("macros/", "questions/"))} == steps
    assert {step.folder for step in made.SEQUENCE} == set(made.TITLES)
    conditions = {step.when.property for step in made.SEQUENCE if isinstance(step.when, made.If)}
    assert conditions == set(made.PROPERTIES)
