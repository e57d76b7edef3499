"""The pages of docs/ that scripts write are what the scripts write today, and hold what they should."""

import re
import shutil

import duckdb
import polars as pl
import pytest
from typer.testing import CliRunner

from clickassay.cli.app import app
from clickassay.core.contracts.run import RUN_TABLES
from clickassay.core.settings import Settings
from support.pages import parts, script
from support.places import ROOT
from support.runs.sample_run import sample, table

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


def test_a_page_says_in_its_first_line_that_a_script_makes_it_and_only_then():
    made = {script(name).PAGE for name in ("audit", "cli", "health", "questions", "settings", "tables")}
    says = {
        page
        for page in (ROOT / "docs").rglob("*.md")
        if page.read_text(encoding="utf-8").startswith("<!-- Made by `make pages`")
    }
    assert says == made


def test_the_table_of_checks_is_that_of_the_code():
    page = script("health").PAGE.read_text(encoding="utf-8")
    assert script("health").with_table(page) == page, AGAIN


# ---- docs/reference/tables.md ------------------------------------------------------------------


def test_the_columns_of_tables_are_those_of_the_contracts():
    page = script("tables").PAGE.read_text(encoding="utf-8")
    assert script("tables").with_tables(page) == page, AGAIN


def test_the_page_on_tables_has_every_table_once_and_every_column_with_its_type():
    page = (REFERENCE / "tables.md").read_text(encoding="utf-8")
    marked = re.findall(r"<!-- columns of ([\w ]+) -->\n(.*?)<!-- end -->", page, flags=re.DOTALL)
    tables = script("tables").TABLES
    assert sorted(name for name, _ in marked) == sorted(["shared", *tables])
    assert {contract.name for contract in RUN_TABLES} <= {name.removeprefix("log ") for name in tables}
    told = {name: [row[0] for row in rows_of(text)] for name, text in marked}
    types = {
        (name, column): row[0].rpartition("`")[2].strip("* ")
        for name, text in marked
        for row in rows_of(text)[1:]
        for column in re.findall(r"`(\w+)`", row[0])
    }
    for name, contract in tables.items():
        named = re.findall(r"`(\w+)`", " ".join(told[name]))
        assert named == [column.name for column in contract.columns]
        for column in contract.columns:
            assert (types[name, column.name] or types["shared", column.name]) == str(column.dtype)


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


def test_the_committed_reference_of_the_command_line_is_that_of_today():
    page = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    assert page == script("cli").cli_page(), AGAIN


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


def test_every_example_is_one_whole_line():
    lines = re.findall(r"^    (.+)$", (REFERENCE / "cli.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) > 60
    assert [line for line in lines if not line.startswith("clickassay ")] == []


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


# ---- docs/reference/settings.md ----------------------------------------------------------------


def test_the_committed_page_of_settings_is_that_of_today():
    page = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    assert page == script("settings").settings_page(), AGAIN


def test_the_page_has_every_setting_once_with_its_default_and_every_choice():
    rows = {row[0].strip("`"): row for text in sections("settings.md").values() for row in rows_of(text)[1:]}
    assert list(rows) == list(Settings.model_fields)
    shown = {name: row[2] for name, row in rows.items()}
    assert (shown["depth"], shown["idle_minutes"], shown["only_judged"]) == ("5, 10", "60", "false")
    assert (shown["threads"], shown["metric"]) == ("all cores", "none")
    assert rows["conflicts"][1] == "one of error, max, mean-rounded, latest"


# ---- docs/reference/questions.md --------------------------------------------------------------


def test_the_committed_page_of_questions_is_that_of_today():
    page = (REFERENCE / "questions.md").read_text(encoding="utf-8")
    assert page == script("questions").questions_page(sample()), AGAIN


def test_the_page_has_every_question_with_its_words_and_a_link_to_its_sql():
    parts = sections("questions.md")
    files = sorted((ROOT / "sql" / "questions").rglob("*.sql"), key=lambda file: file.stem)
    assert list(parts) == [file.stem for file in files]
    for file in files:
        first, _, _ = file.read_text(encoding="utf-8").partition("\n")
        link = f"(../../{file.relative_to(ROOT).as_posix()})"
        assert f"{first.removeprefix('-- ')} [SQL]{link}." in parts[file.stem]


def test_the_answer_on_coverage_is_what_the_table_holds():
    text = sections("questions.md")["coverage"]
    head, *rows = rows_of(text)
    above = dict(re.findall(r"(market|depth|judge) (\w+)[,:]", text))
    statistics = table("statistics").sort("market", "depth", "judge")
    assert len(rows) == min(statistics.height, 2)
    for row, kept in zip(rows, statistics.iter_rows(named=True), strict=False):
        found = above | dict(zip(head, row, strict=True))
        assert (found["market"], int(found["depth"])) == (kept["market"], kept["depth"])
        assert int(found["n_sessions"]) == kept["n_sessions"]
        assert float(found["coverage"]) == pytest.approx(
            kept["n_sessions"] / kept["n_all_sessions"], abs=5e-5
        )


def test_a_cell_shows_its_text_and_nothing_else():
    cell = script("questions").markdown_cell
    assert cell("AP(rel=2) 0.12") == "AP(rel=2) 0.12"
    assert cell("a|b") == "`a\\|b`"
    assert cell("<b>") == "`<b>`"
    assert cell("https://a.example/1") == "`https://a.example/1`"
    assert cell("a`b") == "`` a`b ``"
    assert cell("x" * 61) == "`" + "x" * 59 + "…`"
    assert cell("x" * 60) == "x" * 60


def test_every_row_of_an_answer_has_as_many_cells_as_its_head():
    for name, text in sections("questions.md").items():
        if "\n|" in text:
            head, *rows = rows_of(text)
            assert {len(row) for row in rows} == {len(head)}, name
            assert 1 <= len(rows) <= 2, name


def test_a_question_without_an_answer_says_so(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(sample(), run, ignore=shutil.ignore_patterns("tables", "report.*", "run.duckdb"))
    empty = pl.read_parquet(run / "statistics.parquet").clear()
    empty.write_parquet(run / "statistics.parquet")
    page = script("questions").questions_page(run)
    part = page.split("\n## coverage\n")[1].split("\n## ")[0]
    assert part.endswith(".sql).\n\nNo rows.\n")


def test_the_answers_here_are_those_of_duckdb_alone():
    head, *rows = rows_of(sections("questions.md")["worst_disagreements"])
    with duckdb.connect() as connection:
        for name in ("configurations", "correlations", "patterns"):
            connection.read_parquet(str(sample() / f"{name}.parquet")).create_view(name)
        sql = (ROOT / "sql" / "questions" / "metrics" / "worst_disagreements.sql").read_text(encoding="utf-8")
        answer = connection.sql(sql)
        assert head == [name for name in answer.columns if name not in ("market", "depth", "judge")]
        for row, kept in zip(rows, answer.limit(2).fetchall(), strict=True):
            found, theirs = dict(zip(head, row, strict=True)), dict(zip(answer.columns, kept, strict=True))
            assert found["query"].strip("`") == theirs["query"]
            assert float(found["ERR"]) == pytest.approx(theirs["ERR"], rel=1e-3)
            assert float(found["rank_gap"]) == pytest.approx(theirs["rank_gap"], rel=1e-3)
