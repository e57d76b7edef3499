"""`clickassay inspect`: what it says of a log is what a run makes of it, and plain loops count the same."""

import json
import re
import shlex
import shutil
from collections import Counter

import polars as pl
import pytest

from clickassay.core.settings import Settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.inspect import inspect_log
from clickassay.jobs.patterns import log_to_patterns
from support.logs import tiny
from support.places import IMPORTED, ROOT, SAMPLE
from support.runs import sample_run

DEPTH = ("--depth", "3", "--threads", "1", "--quiet")
SETTINGS = Settings(depth=(3,), threads=1)
REVERSED = tiny.judgments().with_columns(grade=4 - pl.col("grade"))


def folder(place, **tables):
    """Write the good log with some tables changed, one left away if None, as searches.parquet and so on."""
    place.mkdir()
    good = {"searches": tiny.searches(), "clicks": tiny.clicks(), "judgments": tiny.judgments()}
    for name, table in (good | tables).items():
        if table is not None:
            table.write_parquet(place / f"{name}.parquet")
    return place


def told(place, *options):
    ended = tiny.inside("inspect", place, "--json", *DEPTH, *options)
    assert ended.err == ""
    return json.loads(ended.out), ended.code


def paths(place):
    return {name: str(place / f"{name}.parquet") for name in ("searches", "clicks", "judgments")}


def test_a_good_log_is_told_as_plain_loops_count_it(tmp_path):
    log = folder(tmp_path / "log")
    found, code = told(log)
    assert (code, found["problems"], found["lost"]) == (0, [], [])
    options = [part for name, path in paths(log).items() for part in (f"--{name}", path)]
    assert json.loads(tiny.inside("inspect", *options, "--json", *DEPTH).out) == found
    assert len(tiny.tree(tmp_path)) == 4  # nothing is written
    clicked = Counter(
        place for row in range(tiny.ROWS) for place in set(tiny.CLICKED_PLACES[row // 3 % 2][row // 6])
    )
    assert found["positions"] == [
        {"position": place, "sessions": 24, "clicked": clicked[place], "ctr": clicked[place] / 24}
        for place in (1, 2, 3)
    ]
    assert (found["sessions"], found["queries"]) == (24, 3)
    assert found["log"] == {
        "searches": 24, "users": 24, "first_ms": tiny.NOON_MS, "last_ms": tiny.NOON_MS + 23 * tiny.STEP_MS,
    }  # fmt: skip
    assert [table["rows"] for table in found["tables"]] == [24, tiny.CLICKS, 9]
    assert found["tables"][0]["columns"]["results"] == "List(String)"


def test_the_share_judged_counts_results_as_often_as_they_are_shown(tmp_path):
    judged = tiny.judgments().filter(pl.col("url") != tiny.url_of("news", 1))
    found, _ = told(folder(tmp_path / "log", judgments=judged), "--depth", "1")
    shown = [tiny.results_of(row) for row in range(tiny.ROWS)]
    known = set(judged["url"])
    for one in found["judged"]:
        top = [urls[: one["depth"]] for urls in shown]
        assert one["results"] == sum(map(len, top))
        assert one["judged"] == sum(url in known for urls in top for url in urls)
        assert one["lists_judged"] == sum(set(urls) <= known for urls in top)
    assert [one["depth"] for one in found["judged"]] == [1, 3]
    assert found["judged"][0]["judged"] < found["judged"][0]["results"]


def test_lists_judged_in_full_are_the_sessions_that_the_sample_run_kept():
    kept = sample_run.table("statistics").group_by("depth")
    sums = dict(kept.agg(pl.col("n_sessions").sum()).iter_rows())
    found = inspect_log({name: SAMPLE[name] for name in paths(ROOT)}, Settings(threads=1))
    assert {one.depth: one.lists_judged for one in found.judged if one.depth in sums} == sums


def test_rows_left_out_are_those_of_the_funnel_of_a_run(tmp_path):
    searches = tiny.searches().with_columns(
        query=pl.when(pl.col("search_id") == 3).then(None).otherwise("query"),
        results=pl.when(pl.col("search_id") == 4).then(pl.lit([], pl.List(pl.String))).otherwise("results"),
    )
    clicks = tiny.clicks().with_columns(search_id=pl.col("search_id") + 2)
    log = folder(tmp_path / "log", searches=pl.concat([searches, searches.tail(1)]), clicks=clicks)
    found, code = told(log, "--max-rejected", "0.5")
    lost = {(one["source"], one["step"], one["reason"]): one["rows"] for one in found["lost"]}
    sources = Sources(str(log / "searches.parquet"), str(log / "clicks.parquet"))
    table = log_to_patterns(sources, Settings(depth=(3,), threads=1, max_rejected=0.5))
    of_run = {
        (row["source"], row["step"], row["reason"]): row["rows"]
        for row in table.funnel.iter_rows(named=True)
        if row["step"] in ("rejected", "repeated", "unmatched", "out of time")
        or (row["step"], row["depth"]) == ("elsewhere", 3)
    }
    assert lost == of_run
    assert lost["searches", "rejected", "null query"] == lost["searches", "rejected", "empty results"] == 1
    assert lost["searches", "repeated", "delivered again"] == 1
    # moved by two searches, no click is on a result of the other query that it now names
    assert (code, found["sessions"], found["health"][0]["check"]) == (1, 22, "clicks_elsewhere")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"searches": tiny.searches().with_columns(pl.col("timestamp").dt.epoch("s"))}, "are these seconds"),
        ({"searches": tiny.searches().clear()}, "the files contain no rows"),
        ({"clicks": tiny.clicks().with_columns(url=pl.lit(None, pl.String))}, "18 with null url"),
        ({"judgments": tiny.judgments().with_columns(grade=pl.lit(100))}, r"outside 0..4 (--max-grade)"),
        (
            {"judgments": pl.concat([tiny.judgments(), REVERSED])},
            "contradict each other",
        ),
        ({"judgments": tiny.judgments().with_columns(query=pl.lit("other"))}, "nothing to correlate"),
        (
            {"searches": tiny.searches().with_columns(pl.col("results").list.head(2))},
            "no ranking has 3 results; choose a smaller --depth",
        ),
    ],
    ids=["seconds", "empty", "null urls", "gains", "conflicts", "other queries", "short lists"],
)  # fmt: skip
def test_what_is_in_the_way_of_a_run_is_said_with_exit_code_1_and_all_numbers(changed, says, tmp_path):
    found, code = told(folder(tmp_path / "log", **changed))
    assert code == 1
    assert any(says in problem for problem in found["problems"])
    assert found["tables"]
    assert found["log"]["searches"] in (24, 0)


def test_quick_forms_no_sessions(tmp_path):
    found, code = told(folder(tmp_path / "log"), "--quick")
    assert (found["sessions"], found["positions"], code) == (None, [], 0)
    assert found["log"]["users"] == 24


def test_a_log_without_judgments_has_no_share_judged_and_its_command_names_what_is_missing(tmp_path):
    found, code = told(folder(tmp_path / "log", judgments=None))
    assert (found["judged"], code) == ([], 0)
    assert "--judgments JUDGMENTS" in found["command"]
    assert len(found["positions"]) == 3


def test_a_table_twice_in_a_folder_is_refused(tmp_path):
    log = folder(tmp_path / "log")
    (log / "clicks.csv").write_text("search_id,timestamp,url\n")
    assert "clicks.csv and clicks.parquet; choose one by --clicks" in tiny.refusal("inspect", log)


def test_a_market_of_judgments_counts_for_that_market_only(tmp_path):
    half = pl.when(pl.col("search_id") <= 12).then(pl.lit("uk")).otherwise(pl.lit("de")).alias("market")
    log = folder(
        tmp_path / "log",
        searches=tiny.searches().with_columns(half),
        judgments=tiny.judgments().with_columns(market=pl.lit("uk")),
    )
    found = inspect_log(paths(log), SETTINGS)
    assert [(one.results, one.judged) for one in found.judged] == [(24, 12), (72, 36)]


def test_the_screen_shows_bars_that_grow_with_clicks(tmp_path):
    ended = tiny.inside("inspect", str(folder(tmp_path / "log")), *DEPTH)
    bars = [line.count("█") for line in ended.out.splitlines() if "█" in line]
    assert bars == [20, 30, 10]
    assert any(line.startswith("clickassay run --searches ") for line in ended.out.splitlines())


def test_a_foreign_file_is_named_with_the_command_that_takes_it(tmp_path):
    (tmp_path / "it's.csv").write_text("query,docid,rating\nq,a,1\n")
    said = tiny.said_by("inspect", tmp_path / "it's.csv")
    assert "ratings exported by Quepid" in said
    command = said.splitlines()[1].strip()
    out = tmp_path / "out"
    arguments = [str(out) if part == "FOLDER" else part for part in shlex.split(command)[1:]]
    assert tiny.inside(*arguments, "--quiet").code == 0
    assert (out / "judgments.parquet").exists()


@pytest.mark.parametrize("case", ["ubi/bulk_with_hits", "yandex/clara", "pyclick/pages"])
def test_a_foreign_log_is_shown_as_its_import_and_a_look_at_that_would_show_it(case, tmp_path):
    place = IMPORTED / case
    (file,) = (file for file in place.iterdir() if file.stem in ("log", "pages"))
    expected = json.loads((place / "expected.json").read_text(encoding="utf-8"))
    ended = tiny.inside("inspect", file, "--json", "--max-rejected", "1", "--depth", "1")
    (told,) = json.loads(ended.out)
    assert told["command"].endswith("--out FOLDER")
    assert told["log"]["log"]["searches"] == len(expected["searches"])
    clicks = [click for click in expected["clicks"] if click.get("action", "click") == "click"]
    assert told["imported"]["clicks"] == len(clicks)
    assert str(tmp_path) not in ended.out
    screen = tiny.inside("inspect", file, "--max-rejected", "1", "--depth", "1")
    assert screen.code == ended.code
    assert "clickassay run --searches FOLDER/searches.parquet" in screen.out
    assert "/clickassay-inspect-" not in screen.out


def test_quick_names_the_layout_of_a_foreign_log_alone():
    file = IMPORTED / "yandex" / "clara" / "log.tsv"
    ended = tiny.inside("inspect", file, "--quick")
    assert len(ended.out.splitlines()) == 2


def test_an_unknown_file_is_shown_and_ends_with_code_1(tmp_path):
    (tmp_path / "x").write_text("one\n\x1b[31mtwo\nthree\nfour\n")
    ended = tiny.inside("inspect", tmp_path / "x")
    assert ended.code == 1
    assert "\x1b" not in ended.out
    shown = [line.strip() for line in ended.out.splitlines()[2:]]
    assert shown[:3] == ["one", "\\x1b[31mtwo", "three"]
    assert "searches: search_id, user_id, query, timestamp, results" in shown
    assert "clicks: search_id, timestamp, url or position" in shown


def test_a_folder_of_other_files_has_each_named(tmp_path):
    (tmp_path / "a").write_text("301 0 FR-1 1\n")
    (tmp_path / "b").write_text("what\n")
    ended = tiny.inside("inspect", tmp_path, "--json")
    assert [one["layout"] for one in json.loads(ended.out)] == ["qrels", "unknown"]
    assert ended.code == 0


def test_a_single_table_is_told_with_its_columns(tmp_path):
    log = folder(tmp_path / "log")
    ended = tiny.inside("inspect", log / "judgments.parquet")
    assert (ended.code, "query String, url String, grade Int64" in ended.out) == (0, True)


def test_a_folder_of_parts_of_one_table_is_that_table(tmp_path):
    for day, rows in enumerate(tiny.searches().iter_slices(12)):
        (tmp_path / "log" / f"day={day}").mkdir(parents=True)
        rows.write_parquet(tmp_path / "log" / f"day={day}" / "part.parquet")
    found, code = told(tmp_path / "log")
    assert (found["tables"][0]["name"], found["tables"][0]["files"], code) == ("searches", 2, 0)
    assert found["log"]["searches"] == 24


def test_folders_that_clickassay_wrote_are_named(tmp_path):
    log = paths(folder(tmp_path / "log"))
    inputs = ["--searches", log["searches"], "--clicks", log["clicks"], "--threads", "1", "--quiet"]
    patterns, store = tmp_path / "patterns", tmp_path / "store"
    assert tiny.inside("patterns", *inputs, "--out", patterns).code == 0
    assert tiny.inside("patterns", *inputs, "--store", store).code == 0
    run = tmp_path / "run"
    shutil.copytree(patterns, run)
    (run / "statistics.parquet").touch()
    told_of = {place: tiny.inside("inspect", place).out for place in (patterns, store, run)}
    assert "clickassay report --patterns" in told_of[patterns]
    assert "clickassay store info" in told_of[store]
    assert "clickassay explore" in told_of[run]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "give a file or folder"),
        (("x", "--clicks", "y"), "not both"),
        (("nowhere",), "cannot read"),
        ((".",), "contains no file"),
    ],
)
def test_a_question_about_nothing_is_refused(arguments, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = tiny.inside("inspect", *arguments)
    assert (ended.code, says in ended.err) == (2, True)


def shop(folder):
    """The tables of a shop's log, each in a file of its own."""
    named = {
        "searches": tiny.searches().rename({"search_id": "request_id", "timestamp": "ts", "query": "q"}),
        "clicks": tiny.clicks().rename({"search_id": "request_id", "timestamp": "ts", "url": "product_id"}),
        "judgments": tiny.judgments().rename({"query": "q", "url": "product_id", "grade": "label"}),
    }
    for number, frame in enumerate(named.values()):
        frame.write_parquet(folder / f"{number}.parquet")
    return dict(zip(named, sorted(folder.iterdir()), strict=True))


def test_a_table_of_other_names_is_guessed_with_a_command_that_works(tmp_path):
    tables, options = shop(tmp_path), []
    judged = tables.pop("judgments")  # importers know these names
    command = tiny.said_by("inspect", judged).splitlines()[1].split()[1:-1]
    tiny.said_by(*command, tmp_path / "imported")
    options += ["--judgments", str(tmp_path / "imported" / "judgments.parquet")]
    for name, file in tables.items():
        ended = tiny.inside("inspect", file)
        assert ended.code == 1
        assert "Columns: " in ended.out
        assert f"It may be a table of {name}. Try:" in ended.out
        command = ended.out.splitlines()[-1].split()
        assert command[:2] == ["clickassay", "inspect"]
        options += command[2:]
    together = tiny.inside("inspect", *options, "--depth", "3")
    assert (together.code, "Problem" in together.out) == (0, False)
    assert re.search(r"\d+ sessions of \d+ distinct queries", together.out)


def test_a_guess_is_no_table_of_clicks_where_a_column_says_whether_a_result_was_clicked(tmp_path):
    file = tmp_path / "shown.csv"
    file.write_text("request_id,ts,uid,q,rank,product_id,clicked\n1,2026-01-01 10:00:00,u,a,0,p,1\n")
    ended = tiny.inside("inspect", file)
    assert "It may be a table of searches with one row per result shown. Try:" in ended.out
    assert "table of clicks" not in ended.out
    pasted = tiny.inside(*ended.out.splitlines()[-1].split()[1:], "--depth", "1")
    assert "1 session of 1 distinct query" in pasted.out or "1 sessions of 1 distinct queries" in pasted.out


def test_an_unknown_table_shows_its_columns_for_programs_too(tmp_path):
    pl.DataFrame({"a": [1], "b": ["x"]}).write_parquet(tmp_path / "t.parquet")
    (told,) = json.loads(tiny.inside("inspect", tmp_path / "t.parquet", "--json").out)
    assert (told["layout"], told["columns"]) == ("unknown", {"a": "Int64", "b": "String"})
    assert "searches: search_id" in tiny.inside("inspect", tmp_path / "t.parquet").out


def test_what_cannot_be_opened_is_a_problem_beside_what_can(tmp_path):
    log = tiny.write_log(tmp_path)
    pl.DataFrame({"query": ["a"], "label": [1]}).write_parquet(log.judgments)
    ended = tiny.inside("inspect", *log.options()[1:7], "--depth", "3")
    assert ended.code == 1
    assert "sessions of" in ended.out
    assert "Problem: judgments: columns url, grade are missing" in ended.out


def test_days_of_an_unknown_table_are_shown_once(tmp_path):
    for day in range(22):
        (tmp_path / "log" / f"{day:02d}").mkdir(parents=True)
        pl.DataFrame({"a": [day]}).write_parquet(tmp_path / "log" / f"{day:02d}" / "part.parquet")
    said = tiny.inside("inspect", tmp_path / "log").out
    assert said.count("Columns: a Int64") == 1
    assert "21 more files with the same columns." in said


def test_a_table_of_days_compressed_by_zstd_is_inspected_as_one(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    for number, rows in enumerate((tiny.searches().head(9), tiny.searches().slice(9))):
        text = rows.with_columns(pl.col("timestamp").dt.epoch("ms")).write_ndjson()
        (tmp_path / f"s-{number}.jsonl.zst").write_bytes(zstandard.compress(text.encode()))
    said = tiny.said_by("inspect", tmp_path)
    assert f"{tiny.searches().height} searches of" in said


def test_signals_are_those_that_a_run_counts(tmp_path):
    log = tmp_path / "log"
    assert (
        tiny.inside("simulate", "--n-searches", 3000, "--n-queries", 50, "--actions", "--out", log).code == 0
    )
    asked = ("--signal", "auto,satisfied", "--depth", "5")
    ended = tiny.inside("inspect", log, "--json", *asked)
    found = json.loads(ended.out)
    inputs = [part for name, file in paths(log).items() for part in (f"--{name}", file)]
    assert tiny.inside("patterns", *inputs[:4], *asked, "--out", tmp_path / "patterns").code == 0
    signals, lists = (
        pl.read_parquet(tmp_path / "patterns" / f"{name}.parquet") for name in ("signals", "configurations")
    )
    rows = signals.join(lists.select("configuration_id", "query"), on="configuration_id")
    wanted = {
        name: (some["sessions"].sum(), some["query"].n_unique())
        for (name,), some in rows.partition_by("signal", as_dict=True).items()
    }
    assert {one["signal"]: (one["sessions"], one["queries"]) for one in found["signals"]} == wanted
    # more than half of the satisfied clicks are the last of their visit: they are shown both ways
    assert set(wanted) == {"add_to_cart", "purchase", "satisfied", "satisfied if followed"}
    assert found["command"].endswith("--depth 5 --signal auto,satisfied --out RUN")
    assert "signal beside clicks" in tiny.inside("inspect", log, *asked).out
