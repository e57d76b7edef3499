"""The command line does what its help says."""

import csv
import io
import json
import os
import re
import sys

import duckdb
import polars as pl
import pytest

from clickassay.core.contracts.run import RUN_TABLES
from clickassay.core.provenance import __version__, how_to_cite
from clickassay.core.settings import Settings
from clickassay.core.settings.project import INPUT_NAMES
from clickassay.core.text.words import MINUS
from clickassay.metrics.clicks import CLICK_METRICS
from clickassay.metrics.editorial import EDITORIAL_METRICS
from clickassay.report.verdict.sentences import BASELINE_MEANINGS
from clickassay.studies.questions import questions
from support.commands import ALL
from support.logs import tiny
from support.logs.small_logs import simulated
from support.logs.tiny import Outcome, inside, refusal, said_by
from support.places import IMPORTED
from support.processes import ran

RUN_FILES = {f"{table.name}.parquet" for table in RUN_TABLES} | {
    *("report.html", "report.md", "tables", "run.duckdb", "settings.json", "health.json"),
    *("summary.json", "summary.md", "summary.png"),
}
QUICK = ("--depth", "5", "--iterations", "20", "--quiet")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return simulated(tmp_path_factory.mktemp("cli") / "log", searches=1_000, queries=12)


def inputs_of(log, *names):
    return [part for name in names or log for part in (f"--{name}", log[name])]


@pytest.fixture(scope="module")
def finished(log, tmp_path_factory):
    """Return the folder of a finished run, and what the command printed."""
    out = tmp_path_factory.mktemp("cli") / "run"
    return out, said_by("run", *inputs_of(log), "--out", out, *QUICK)


@pytest.fixture(scope="module")
def run(finished):
    return finished[0]


# ---- help -------------------------------------------------------------------------------------
@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_help_shows_an_example(command):
    text = said_by(*command, "--help")
    assert "Example" in text
    assert f"clickassay {' '.join(command)} " in text


def test_the_version_is_told(monkeypatch):
    assert inside("--version") == Outcome(0, f"clickassay {__version__}\n", "")
    monkeypatch.setattr("sys.argv", ["clickassay", "--version", "--verbose"])
    told = said_by("--version", "--verbose").splitlines()
    assert (told[0], told[-1]) == (f"clickassay {__version__}", how_to_cite())
    assert told[1].startswith("Python 3.")
    assert any(line.startswith("polars ") for line in told)


# ---- run --------------------------------------------------------------------------------------
def test_a_run_ends_with_the_decision_the_ranking_its_health_and_the_place_of_the_report(finished):
    out, printed = finished
    lines = printed.splitlines()
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    decision, first = summary["decision"], summary["findings"][0]
    assert lines[0] == f"{decision['sentence']}."
    assert lines[1] == decision["scope"] == "Market north, top 5, the sample with the most usable sessions."
    assert lines[2] == " ".join(filter(None, (decision["reason"], decision["caution"])))
    assert lines[-2:] == [f"Report: {out / 'report.html'}", "status: ok"]
    report = (out / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert report.startswith(f"# {decision['sentence']}\n")
    told = [line for line in lines if line.startswith("Caution: ")]
    assert [line for line in told if line.removeprefix("Caution: ") not in report] == []
    values = [
        (BASELINE_MEANINGS.get(one["metric"], one["metric"]), f"{one['value']:.3f}".replace("-", MINUS))
        for one in first["numbers"]
    ]
    table = lines[next(at for at, line in enumerate(lines) if "\u2500" in line) + 1 :][: len(values)]
    rows = [(line.split("(baseline)")[0].strip().split("  ")[0], line.split()[-1]) for line in table]
    assert rows == values


def test_a_metric_in_use_turns_the_decision_and_a_full_page_holds_more(log, run, tmp_path):
    more = ("--out", tmp_path / "run", "--current", "nDCG", "--full", "--json", *QUICK)
    ended = inside("run", *inputs_of(log), *more)
    assert json.loads(ended.out)["decision"]["current"] == "NDCG"
    plain, full = ((folder / "report.html").read_text("utf-8") for folder in (run, tmp_path / "run"))
    assert ("NDCG (your metric)" in full, "NDCG (your metric)" in plain) == (True, False)
    assert len(full) > len(plain)
    names = [{path.name for path in (folder / "tables").iterdir()} for folder in (run, tmp_path / "run")]
    assert names[0] == names[1]


def test_a_run_folder_holds_the_files_that_are_promised_and_no_others(run):
    assert {path.name for path in run.iterdir()} == RUN_FILES


def test_the_click_metrics_that_count_can_be_named_and_the_first_is_that_of_every_section(log, tmp_path):
    out = tmp_path / "run"
    named = ("--click-metric", "UCTR", "--click", "PLC")
    ended = inside("run", *inputs_of(log), *named, "--out", out, "--json", *QUICK)
    summary, settings = (
        json.loads((out / f"{name}.json").read_text(encoding="utf-8")) for name in ("summary", "settings")
    )
    assert json.loads(ended.out) == summary
    assert [one["click_metric"] for one in summary["verdict"]["by_click"]] == ["UCTR", "PLC"]
    assert {one["click_metric"] for one in summary["findings"][:2]} == {"UCTR"}
    assert summary["findings"][2]["click_metrics"] == ["UCTR", "PLC"]
    assert set(pl.read_parquet(out / "conventions.parquet")["click_metric"]) == {"UCTR"}
    assert settings["settings"]["click_metric"] == ["UCTR", "PLC"]
    report = (out / "report.md").read_text(encoding="utf-8")
    assert re.search(r"^- Clicks: UCTR\. ", report, re.MULTILINE)
    for words in ("Differences of correlations with", "Correlation of the baselines with"):
        assert f"{words} UCTR" in report
    assert "orrelation with MeanRR" not in report


def test_an_unknown_click_metric_is_refused_with_the_known_ones_before_the_log_is_counted(log, tmp_path):
    nowhere = tmp_path / "nothing"  # judgments are read before the log is counted, and after names are known
    given = (*inputs_of(log, "searches", "clicks"), "--judgments", nowhere, "--out", tmp_path / "run")
    line = refusal("run", *given, "--click-metric", "MeanR")
    assert "unknown click metric 'MeanR'; did you mean MeanRR" in line
    assert "known are UCTR, MaxRR, MeanRR, MinRR, PLC, SS, QCTR" in line


@pytest.mark.parametrize("table", RUN_TABLES, ids=lambda table: table.name)
def test_tables_have_the_columns_and_types_of_their_contract(run, table):
    schema = list(pl.read_parquet_schema(run / f"{table.name}.parquet").items())
    stated = [(column.name, column.dtype) for column in table.columns]
    assert schema[: len(stated)] == stated
    metrics = [name for name, dtype in schema[len(stated) :] if dtype == pl.Float64]
    assert len(metrics) == len(schema) - len(stated)
    if table.name in ("configurations", "draws"):
        assert metrics[: len(CLICK_METRICS) + len(EDITORIAL_METRICS)] == [*CLICK_METRICS, *EDITORIAL_METRICS]
    else:
        assert metrics == []


def test_the_database_holds_the_same_rows_as_the_parquet_files(run):
    with duckdb.connect(str(run / "run.duckdb"), read_only=True) as connection:
        names = {name for (name,) in connection.sql("SHOW TABLES").fetchall()}
        assert names == {table.name for table in RUN_TABLES}
        for name in names:
            stored = pl.read_parquet(run / f"{name}.parquet")
            assert connection.table(name).pl().equals(stored, null_equal=True)


def test_a_pattern_table_and_a_report_on_it_are_the_run(log, run, tmp_path):
    logged, more = inputs_of(log, "searches", "clicks"), inputs_of(log, "judgments", "queries")
    printed = said_by("patterns", *logged, "--out", tmp_path / "p", "--depth", 5, "-q")
    assert f"Pattern table: {tmp_path / 'p'}\nNext: clickassay report --patterns " in printed
    names = ("configurations", "patterns", "queries", "funnel", "health", "shown")
    assert {path.name for path in (tmp_path / "p").iterdir()} == {
        "settings.json",
        *(f"{name}.parquet" for name in names),
    }
    said_by("report", "--patterns", tmp_path / "p", *more, "--out", tmp_path / "r", *QUICK)
    for file in [path for path in sorted(run.rglob("*")) if path.suffix in (".parquet", ".csv", ".tex")]:
        assert (tmp_path / "r" / file.relative_to(run)).read_bytes() == file.read_bytes(), file.name


def test_every_option_of_a_run_is_a_setting_of_the_same_name():
    """What the command line cannot say, a settings file can, and the other way round."""
    options, of_patterns = ({one.name for one in ALL[(name,)].params} for name in ("run", "patterns"))
    paths = {*INPUT_NAMES, "out", "force", "json", "quiet", "settings", "project"}
    of_stores = of_patterns - options - {"store", "dry_run"}
    assert (options - paths) | of_stores == set(Settings.model_fields)


# ---- simulate and import ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "case", "arguments", "expected"),
    [
        ("yahoo-l18", "log_and_judgments", "log.txt --judgments judgments.txt", [0, 1, 513]),
        ("tiangong-st", "gb18030", "sessions.xml --encoding gb18030", [1]),
        ("baidu-ultr", "searches_and_labels", "part.txt --judgments labels.txt", [1, 1, 2, 2]),
        ("trec-session", "2012", "sessions.xml qrels.txt", [0, 0, 1, 2]),
    ],
)
def test_what_an_import_leaves_is_read_as_a_log(tmp_path, command, case, arguments, expected):
    folder = IMPORTED / command.replace("-", "_") / case
    given = [folder / word if "." in word else word for word in arguments.split()]
    lines = said_by("import", command, *given, "--out", tmp_path / "log").splitlines()
    places = {name: tmp_path / "log" / f"{name}.parquet" for name in ("searches", "clicks")}
    assert lines[0] == f"Canonical log: {tmp_path / 'log'}"
    assert {f"  {name}: {pl.read_parquet(file).height}" for name, file in places.items()} <= set(lines)
    assert any(line.startswith("Note: ") for line in lines)
    said_by("patterns", *inputs_of(places), "--depth", 10, "--out", tmp_path / "p")
    patterns = pl.read_parquet(tmp_path / "p" / "patterns.parquet")
    masks = patterns.select(pl.col("click_mask").repeat_by("sessions").explode())["click_mask"]
    assert sorted(masks.to_list()) == expected


# ---- query ------------------------------------------------------------------------------------


def test_query_answers_in_csv_and_json(run):
    sql = "SELECT market, depth, n_queries FROM statistics ORDER BY market"
    expected = pl.read_parquet(run / "statistics.parquet").select("market", "depth", "n_queries").rows()
    rows = list(csv.reader(io.StringIO(said_by("query", run, sql, "--csv"))))
    assert rows == [["market", "depth", "n_queries"], *[[str(cell) for cell in row] for row in expected]]
    assert [tuple(row.values()) for row in json.loads(said_by("query", run, sql, "--json"))] == expected


def test_a_long_table_is_cut_and_says_so_but_csv_has_all(run):
    sql = "SELECT range AS number FROM range(150)"
    assert "150 rows (first 100 shown; --csv gives all)" in said_by("query", run, sql)
    assert len(said_by("query", run, sql, "--csv").splitlines()) == 151


def test_query_lists_the_ready_questions_and_answers_each(run):
    listed = said_by("query", run, "--list")
    for known in questions():
        assert known.name in listed
        assert said_by("query", run, "--name", known.name, "--csv").splitlines()[0].count(",") >= 1
    assert said_by("query", run, known.name, "--csv") == said_by("query", run, "--name", known.name, "--csv")


# ---- exit codes -------------------------------------------------------------------------------
LOST = ("patterns", "--searches", "x", "--clicks", "y", "--out", "NOWHERE")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("query", "RUN"), "give either SQL or --name NAME"),
        (("query", "RUN", "SELECT 1", "--name", "coverage"), "give either SQL or --name NAME"),
        (("query", "RUN", "SELECT 1", "--csv", "--json"), "give --csv or --json, not both"),
        (("query", "RUN", "--name", "coverge"), "did you mean coverage"),
        (("query", "RUN", "SELEC 1"), "SELEC"),
        (("query", "RUN", "coverge"), "no question 'coverge'; did you mean coverage"),
        (
            ("query", "RUN", "FROM statistic"),
            "no table 'statistic'; did you mean statistics? known are agreem",
        ),
        (("query", "RUN", "SELECT * FROM nowhere.b"), "no table 'nowhere.b'; known are agreement, "),
        (("query", "NOWHERE", "SELECT 1"), "no run.duckdb at"),
        (("report", "--patterns", "RUN", "--judgments", "x.csv", "--out", "NOWHERE"), "RUN"),
        (
            ("simulate", "--n-searches", "10", "--world", "flat", "--out", "NOWHERE"),
            "world 'flat' is unknown",
        ),
        (("simulate", "--n-searches", "10", "--out", "RUN"), "exists already"),
        (LOST, "x does not exist"),
        ((*LOST, "--folds", "0"), "setting folds"),
    ],
)
def test_what_the_user_can_mend_is_one_line_and_exit_code_2(run, tmp_path, arguments, message):
    places = {"RUN": str(run), "NOWHERE": str(tmp_path / "nowhere")}
    line = refusal(*(places.get(argument, argument) for argument in arguments))
    assert places.get(message, message) in line
    assert not (tmp_path / "nowhere").exists()


# ---- progress ---------------------------------------------------------------------------------


POLARS_OWN = "dirty_decay_ms:500,muzzy_decay_ms:1000"


@pytest.mark.parametrize(
    ("inherited", "set_before"),
    [
        (None, "dirty_decay_ms:10000,muzzy_decay_ms:10000,narenas:2"),
        (POLARS_OWN, "dirty_decay_ms:10000,muzzy_decay_ms:10000,narenas:2"),
        ("dirty_decay_ms:7", "dirty_decay_ms:7"),
    ],
)
def test_what_polars_reads_when_it_is_loaded_is_set_before(tmp_path, inherited, set_before):
    """Its allocator takes no settings later; a process that loads Polars passes its own settings on."""
    seen = (
        "import os, sys\n"
        "sys.addaudithook(lambda event, of: event == 'import' and of[0] == 'polars._plr' and "
        "print(os.environ['_RJEM_MALLOC_CONF']))\n"
        "import clickassay.cli.app, polars\n"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith(("POLARS_", "_RJEM_"))}
    if inherited:
        env["_RJEM_MALLOC_CONF"] = inherited
    said = ran(sys.executable, "-c", seen, cwd=tmp_path, env=env).stdout.split()[0]
    assert said == f"{POLARS_OWN},{set_before}"


@pytest.mark.parametrize(("table", "column"), [("searches", "market"), ("judgments", "judge")])
def test_columns_with_more_values_than_markets_or_judges_may_be_are_refused_before_the_work(
    tmp_path, table, column
):
    named = pl.format(f"{column}-{{}}", pl.int_range(pl.len()) % 3).alias(column)
    log = tiny.write_log(tmp_path, **{table: getattr(tiny, table)().with_columns(named)})
    three = f"'{column}-0', '{column}-1', '{column}-2'"
    words = (f"{table}: column {column} has 3 different values ({three}", "add --max-markets 3")
    tiny.refused(log, *words, more=("--max-markets", "2"))
    looked_at = inside("inspect", log.folder, "--depth", "3", "--max-markets", "2")
    assert looked_at.code == 1
    assert words[1] in looked_at.out + looked_at.err
