"""The pages of docs/ that scripts write are what the scripts write today, and hold what they should."""

import re
import shutil

import polars as pl
import pytest
from typer.testing import CliRunner

from clickassay.cli.app import app
from clickassay.core.settings import Settings
from support.pages import parts, script
from support.places import ROOT
from support.runs.sample_run import sample

REFERENCE = ROOT / "docs" / "reference"
AGAIN = "make it again with `make pages` and commit it"
GROUPS = ("clicks", "import", "store")


def sections(name):
    """Return the parts of a committed page by their headings of the second level."""
    return parts((REFERENCE / name).read_text(encoding="utf-8"))


def rows_of(text):
    """Return the cells of the last pipe table of a text, its head first and its rule left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    last = max(number for number, line in enumerate(lines) if set(line) <= set("|-: "))
    kept = [lines[last - 1], *lines[last + 1 :]]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in kept]


MADE = {
    "audit": lambda made, page: made.with_table(page),
    "cli": lambda made, _: made.cli_page(),
    "health": lambda made, page: made.with_table(page),
    "questions": lambda made, _: made.questions_page(sample()),
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
    made = {script(name).PAGE for name in ("audit", "cli", "health", "questions", "settings", "tables")}
    says = {
        page
        for page in (ROOT / "docs").rglob("*.md")
        if page.read_text(encoding="utf-8").startswith("<!-- Made by `make pages`")
    }
    assert says == made


# ---- docs/reference/cli.md --------------------------------------------------------------------


@pytest.fixture(scope="module")
def helps():
    """Return what --help shows in a wide terminal, by command."""

    def shown(*words):
        environment = {"COLUMNS": "400", "TERMINAL_WIDTH": "400", "NO_COLOR": "1", "TERM": "dumb"}
        result = CliRunner().invoke(app, [*words, "--help"], env=environment)
        assert result.exit_code == 0
        return re.sub(r"\x1b\[[0-9;]*m", "", result.output)

    def listed(*words):
        return re.findall(r"^│ ([a-z][\w-]*)  ", shown(*words), flags=re.MULTILINE)

    inner = [(group, name) for group in GROUPS for name in listed(group)]
    outer = [(name,) for name in listed() if name not in GROUPS]
    return {" ".join(words): shown(*words) for words in [*outer, *inner]}


def test_the_reference_does_not_depend_on_the_terminal(monkeypatch):
    pages = set()
    for columns, force in (("40", "1"), ("300", "")):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("TERMINAL_WIDTH", columns)
        monkeypatch.setenv("FORCE_COLOR", force)
        pages.add(script("cli").cli_page())
    assert len(pages) == 1
    assert "\x1b" not in pages.pop()


def test_the_reference_has_every_command_that_help_lists(helps):
    assert len(helps) >= 13
    assert set(sections("cli.md")) == {*helps, "Shared options"}


def spelled(text):
    """Return how the options of the tables of a text are spelled: {first name: all its names}."""
    cells = re.findall(r"^\| (`-[^|]*)\|", text, re.MULTILINE)
    names = (re.findall(r"`(--?[a-z][\w-]*)`", cell) for cell in cells)
    return {first: {first, *others} for first, *others in names}


def groups_of_settings():
    """Return the options under each heading of the page of settings; --click is short for --click-metric."""
    text = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return {
        name: {f"--{one.replace('_', '-')}" for one in re.findall(r"^\| `(\w+)` ", part, re.MULTILINE)}
        | ({"--click"} if "`click_metric`" in part else set())
        for name, part in zip(parts[::2], parts[1::2], strict=True)
    }


def test_the_reference_has_every_option_and_argument_that_help_lists(helps):
    told, groups = sections("cli.md"), groups_of_settings()
    elsewhere = spelled(told.pop("Shared options"))
    elsewhere |= {
        f"--{name.replace('_', '-')}": {f"--{name.replace('_', '-')}", f"--no-{name.replace('_', '-')}"}
        for name, field in Settings.model_fields.items()
        if field.annotation is bool
    }
    for command, text in told.items():
        listed = re.findall(r"^│ .*", helps[command], flags=re.MULTILINE)
        # what stands before the type, or before the word in its place
        heads = [re.split(r"\s{2,}(?=<|[A-Z])", line.removeprefix("│ *"))[0] for line in listed]
        shown = {word for head in heads for word in re.findall(r"(?<![\w-])--?[a-z][\w-]*", head)}
        lines = "".join(re.findall(r"^\[S.*", text, re.MULTILINE))
        named = set(re.findall(r"`(--[a-z][\w-]*)`", lines))
        named = named.union(*(groups[name] for name in re.findall(r"all of \*([^*]+)\*", lines)))
        own = spelled(text)
        assert shown - {"--help", "-h"} == set().union(
            *own.values(), *(elsewhere.get(name, {name}) for name in named)
        ), command
        assert not named.intersection(own), command
        arguments = {words[0] for line in listed if (words := re.findall(r"^│ [* ]\s+([A-Z]\w*)  ", line))}
        assert arguments == set(re.findall(r"^\| `([A-Z]\w*)` ", text, re.MULTILINE)), command


def test_an_option_that_is_explained_elsewhere_is_explained_there():
    told = sections("cli.md")
    shared = set(spelled(told.pop("Shared options")))
    settings = {
        f"--{row[0].strip('`').replace('_', '-')}"
        for text in sections("settings.md").values()
        for row in rows_of(text)
    } | {"--click"}
    for command, text in told.items():
        for link, known in (("Shared", shared), ("Settings", settings)):
            lines = re.findall(rf"\[{link}\]\([^)]*\): ([^.]*)\.", text)
            assert set(re.findall(r"`(--[a-z][\w-]*)`", "".join(lines))) <= known, command


# ---- docs/reference/questions.md --------------------------------------------------------------


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


# ---- sql/README.md ------------------------------------------------------------------------------


def test_every_file_of_sql_is_a_step_told_in_words():
    made, folder = script("sql"), ROOT / "sql"
    files = {file.relative_to(folder).with_suffix("").as_posix() for file in folder.rglob("*.sql")}
    steps = {step.file for step in made.SEQUENCE}
    assert {file for file in files if not file.startswith(("macros/", "questions/"))} == steps
    assert {step.folder for step in made.SEQUENCE} == set(made.TITLES)
    conditions = {step.when.property for step in made.SEQUENCE if isinstance(step.when, made.If)}
    assert conditions == set(made.PROPERTIES)
