"""Text that means to do harm, in every place that holds text, comes through every output as plain text."""

import csv
import json
import re
from io import StringIO
from pathlib import Path

import duckdb
import polars as pl
import pytest
from rich.console import Console

import clickassay as ca
from clickassay.api.screen.progress import drawn_on
from clickassay.core.progress import Event
from support.logs import tiny
from support.reports.harmful import HARMS
from support.reports.report_runs import Page, page_of
from support.tiers import first

ATTRIBUTE = "<b>kind</b>\x1b[31m\u202e'\"=1"
MARKETS = (HARMS[0], HARMS[4], HARMS[10])
JUDGE = HARMS[5]
KINDS = (HARMS[1], HARMS[6], HARMS[9], HARMS[12])
OUT = "o b'c\"d[1]*$(x)\u202e <b>"
PLACES = ("a b'c\"d[1]*?$(x)", "ünï <b>&amp;\u202e=1")


def hostile_log(folder: Path) -> tuple[tiny.Log, Path]:
    """Make a log whose every query, URL, user, market, judge, attribute and folder is a harm."""
    searches, clicks, judgments = [], [], []
    number = 0
    for place, harm in enumerate(HARMS):
        urls = [f"{harm}{page}" for page in range(3)]
        judgments += [(harm, url, 4 - 2 * page, JUDGE) for page, url in enumerate(urls)]
        for copy in range(24):
            number += 1
            shown = urls if copy % 2 else [urls[1], urls[0], urls[2]]
            searches.append(
                (number, f"{harm}{number}", harm, tiny.NOON_MS + number, shown, MARKETS[place % 3])
            )
            if copy % 3 or place % 2:
                clicks.append((str(number), tiny.NOON_MS + number + 1, shown[copy % 2 if copy % 5 else 2]))
    deep = folder / PLACES[0]
    log = tiny.write_log(
        deep,
        searches=pl.DataFrame(
            searches, schema=["search_id", "user_id", "query", "timestamp", "results", "market"], orient="row"
        ),
        clicks=pl.DataFrame(clicks, schema=["search_id", "timestamp", "url"], orient="row"),
        judgments=pl.DataFrame(judgments, schema=["query", "url", "grade", "judge"], orient="row"),
    )
    queries = deep / f"{PLACES[1]}.parquet"
    kinds = [KINDS[place % 4] for place in range(len(HARMS))]
    pl.DataFrame({"query": HARMS, "navigational": [True, False] * 11, ATTRIBUTE: kinds}).write_parquet(
        queries
    )
    return log, queries


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """Make the run of the hostile log as a process of its own; beside it lies what the terminal saw."""
    folder = tmp_path_factory.mktemp("hostile")
    log, queries = hostile_log(folder)
    out = folder / OUT / "run"
    outcome = tiny.outside(*log.options(), "--queries", queries, "--out", out)
    assert outcome.code == 0, outcome
    (folder / OUT / "terminal.txt").write_text(outcome.out + outcome.err, encoding="utf-8")
    return out


@pytest.fixture(scope="module")
def page(run) -> Page:
    return page_of(run)


def test_the_report_has_only_the_elements_that_we_write_and_no_event_handlers(page):
    harmful = "iframe object embed base form input audio video frame applet template img link"
    assert set(page.tags).isdisjoint(harmful.split())
    assert {"title", "h1", "h2", "h3", "tr", "td", "p", "svg", "script", "style"} <= set(page.tags)
    assert page.tags.count("script") == 2
    assert [found for found in page.attributes if found[1].startswith("on")] == []


def test_the_report_shows_the_hostile_text_as_text(page):
    seen = "".join(page.seen)
    assert MARKETS[0] in seen
    assert MARKETS[1] in seen
    assert "\\x1b[31mred" in seen
    assert JUDGE in seen


@pytest.mark.parametrize("name", ["report.html", "report.md", "terminal"])
def test_no_control_character_and_no_mark_of_direction_reaches_a_reader(run, name):
    file = run.parent / "terminal.txt" if name == "terminal" else run / name
    text = re.sub('<script type="module">.*?</script>', "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    allowed = "\n\t\u200c\u200d\xa0\u2009\u202f"
    assert [sign for sign in set(text) if not sign.isprintable() and sign not in allowed] == []


def test_markdown_holds_no_html_and_no_links_of_others(run):
    text = (run / "report.md").read_text(encoding="utf-8")
    prose = re.sub(r"(?ms)^```.*?^```", "", text)
    assert re.findall(r"(?i)<\s*(script|img|svg|style|iframe|b)\b", prose) == []
    assert re.findall(r"(?<!\\)\]\((?:javascript|http://evil)", prose) == []


def test_no_csv_cell_is_a_formula(run):
    files = sorted((run / "tables").glob("*.csv"))
    assert files
    cells = [
        cell for file in files for row in csv.reader(file.open(newline="", encoding="utf-8")) for cell in row
    ]
    texts = [cell for cell in cells if not re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?|-inf|nan", cell)]
    assert f"'{MARKETS[1]}" in texts
    assert [cell for cell in texts if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == []


def test_latex_runs_no_command_of_others(run):
    texts = [file.read_text(encoding="utf-8") for file in (run / "tables").glob("*.tex")]
    assert texts
    harm = re.compile(r"(?<!\\textbackslash)\\input\b|\x1b")
    assert [text for text in texts if harm.search(text)] == []


def test_the_database_and_the_tables_hold_the_queries_as_they_were(run):
    spelled = {" ".join(harm.split()).lower() for harm in HARMS}
    stored = set(pl.read_parquet(run / "configurations.parquet", glob=False)["query"])
    assert stored == spelled
    with duckdb.connect(str(run / "run.duckdb"), read_only=True) as database:
        table = database.table("configurations")
        assert {row[0] for row in table.select("query").fetchall()} == spelled


def test_the_settings_are_json_that_names_the_inputs(run):
    info = json.loads((run / "settings.json").read_text(encoding="utf-8"))
    assert info["inputs"]["queries"]["names"] == [f"{PLACES[1]}.parquet"]
    assert PLACES[0] in info["command"].replace("'\"'\"'", "'")


def test_an_answer_to_a_question_is_harmless_on_the_terminal(run):
    outcome = tiny.outside("query", run, "SELECT DISTINCT query, market, judge FROM configurations")
    assert outcome.code == 0
    assert [sign for sign in set(outcome.out) if not sign.isprintable() and sign != "\n"] == []


def test_the_progress_bar_shows_hostile_text_as_text(tmp_path):
    searches = tiny.searches().with_columns(market=pl.lit("[bold]\x1b]0;title\x07\x1b[31m\u202e"))
    log = tiny.write_log(tmp_path, searches=searches)
    events: list[Event] = []
    inputs = {"searches": log.searches, "clicks": log.clicks, "judgments": log.judgments}
    ca.run(**inputs, depth=[3], iterations=100, progress=events.append)
    assert "correlating" in {event.message.split()[0] for event in events}
    shown = ""
    for event in events:
        terminal = Console(file=StringIO(), force_terminal=True, width=200)
        with drawn_on(terminal) as tell:
            tell(event)
        shown += terminal.file.getvalue()  # a bar draws what it was told last once more before it goes
    assert "correlating market [bold]\\x1b]0;title" in re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", shown)
    assert "\x1b]0;title" not in shown
    assert "\u202e" not in shown


NAMES = (
    *("a b'c\"d[1]*?$(x)", "*", "[a-z]", "日本語 ünï", "-leading", "per%20cent%", "new\nline"),
    *("semi;colon&amp", "\\back\\", "~"),
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ending", first(1, [".parquet", ".csv", ".jsonl"]))
def test_a_file_of_any_name_is_read_and_no_other(tmp_path, name, ending):
    inner = tmp_path / "in" / name
    inner.mkdir(parents=True)
    file = inner / f"{name}{ending}"
    clicks = tiny.clicks().with_columns(pl.col("timestamp").dt.epoch("ms"))
    kinds = {".parquet": clicks.write_parquet, ".csv": clicks.write_csv, ".jsonl": clicks.write_ndjson}
    kinds[ending](file)
    for other in ("x", "aab'cd1", "a"):  # what a glob of those names would match, too
        (inner / f"{other}{ending}").write_text("broken")
    log = tiny.write_log(tmp_path / name.replace("?", ""), clicks=file)
    assert tiny.counted(log)["clicks", "kept", ""] == tiny.CLICKS


@pytest.mark.parametrize("command", ["run", "patterns"])
@pytest.mark.parametrize(
    ("name", "why"), [("what?", "there is a ? in its path"), ("no\udcfftext", "is not UTF-8")]
)
def test_an_output_that_no_library_can_write_is_refused(tmp_path, command, name, why):
    log = tiny.write_log(tmp_path)
    before = tiny.tree(tmp_path)
    assert why in tiny.refusal(*log.options(command), "--out", tmp_path / name / "run")
    assert tiny.tree(tmp_path) == before


def test_a_name_that_is_no_text_is_read_or_refused_without_a_traceback(tmp_path):
    file = tmp_path / "in\udcff.parquet"
    try:
        tiny.clicks().write_parquet(tmp_path / "c.parquet")
        (tmp_path / "c.parquet").rename(file)
    except (OSError, UnicodeError):
        pytest.skip("the file system takes no such name")
    outcome = tiny.outside(*tiny.write_log(tmp_path, clicks=file).options("patterns"))
    assert outcome.code == 0 or tiny.one_line(outcome)
