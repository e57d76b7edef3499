"""The benchmarks at small sizes: peers give the package's answers, and what is measured is what is said.

The peers share no code with the package. Their log is one of the world `web` with two markets, delivery
repeats, sessions of several searches, late clicks and clicks of no search; queries are also spelled in other
ways. Rows that cannot be used are taken out first, because the peers reject none.
"""

import ast
import shutil
import subprocess
import sys
from collections import Counter
from datetime import date, timedelta
from itertools import pairwise

import polars as pl
import pytest

from clickassay.inputs.simulate.simulation import simulate
from support.places import ROOT
from support.processes import ran

BENCHMARKS = "benchmarks"
PEERS = ROOT / "benchmarks" / "peers"
TABLES = ("searches", "clicks", "judgments", "queries")


def output_of(*command, code=0, cwd=ROOT):
    """Run Python from the root of the checkout, or of a copy of the scripts; return what it printed."""
    return ran(sys.executable, *command, cwd=cwd, code=code).stdout.strip()


def clickassay(command, log, out, *tables, options=()):
    """Run a command of clickassay on tables of a log."""
    files = [part for name in tables for part in (f"--{name}", log / f"{name}.parquet")]
    output_of("-m", "clickassay", command, *files, *options, "--out", out, "--quiet")
    return out


def peer(script, log, out):
    """Run a peer on a log."""
    output_of(PEERS / script, log, out)
    return out


def pattern_check(folder):
    """Return the check value of the pattern table in a folder."""
    return output_of(PEERS / "answers.py", "patterns", folder)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Return a log that the peers can read."""
    folder = tmp_path_factory.mktemp("log") / "web"
    simulate("web", n_searches=3000, n_queries=40, seed=5, out=folder)
    usable = folder.with_name("usable")
    output_of("-m", "benchmarks.peers.usable", folder, usable)
    searches = pl.read_parquet(usable / "searches.parquet")
    shouted = pl.col("query").str.to_uppercase().str.replace_all(" ", " \t ") + " "
    every_third = pl.col("search_id") % 3 == 0
    spelled = searches.with_columns(query=pl.when(every_third).then(shouted).otherwise("query"))
    spelled.write_parquet(usable / "searches.parquet")
    return usable


@pytest.fixture(scope="module")
def patterns(log, tmp_path_factory):
    """Return clickassay's pattern table of the log."""
    return clickassay("patterns", log, tmp_path_factory.mktemp("ours") / "patterns", "searches", "clicks")


def test_the_log_holds_what_the_peers_have_to_get_right(log, patterns):
    searches = pl.read_parquet(log / "searches.parquet")
    assert searches["search_id"].n_unique() < searches.height  # delivered again
    assert searches["market"].n_unique() == 2
    assert pl.read_parquet(patterns / "patterns.parquet")["sessions"].sum() < searches["search_id"].n_unique()
    normal = pl.read_parquet(patterns / "queries.parquet")["query"].n_unique()
    assert normal < searches["query"].n_unique()


@pytest.mark.parametrize("script", ["hand_polars.py", "hand_duckdb.py"])
def test_a_peer_counts_the_pattern_table_of_clickassay(script, log, patterns, tmp_path):
    assert pattern_check(peer(script, log, tmp_path / "peer")) == pattern_check(patterns)


@pytest.mark.thorough
def test_the_peer_in_pandas_finds_the_numbers_of_a_run(log, tmp_path):
    pytest.importorskip("pandas")
    few = ("--iterations", 20)  # what is compared does not depend on chance
    run = clickassay("run", log, tmp_path / "run", *TABLES, options=few)
    found = peer("pandas_scipy.py", log, tmp_path / "peer")
    assert "differ by at most" in output_of(PEERS / "answers.py", "numbers", found, run)
    table = pl.read_parquet(found / "differences.parquet")
    table.with_columns(pl.col("exact") + 2e-9).write_parquet(found / "differences.parquet")
    output_of(PEERS / "answers.py", "numbers", found, run, code=1)


def test_the_checksum_of_a_pattern_table_depends_on_its_content_and_not_on_its_order(tmp_path):
    rows = pl.DataFrame(
        {
            "market": ["all", "all", "all"],
            "query": ["a", "a", "b"],
            "results": [["x", "y"], ["x", "y"], ["y", "x"]],
            "click_mask": [0, 2, 1],
            "sessions": [5, 3, 4],
        }
    )
    moved = rows.with_columns(sessions=pl.Series([4, 4, 4]))
    checks = []
    for name, table in {"first": rows, "second": rows.reverse(), "third": moved}.items():
        (tmp_path / name).mkdir()
        table.write_parquet(tmp_path / name / "patterns.parquet")
        checks.append(pattern_check(tmp_path / name))
    assert checks[0].startswith("3 patterns, 12 sessions, ")
    assert checks[0] == checks[1]
    assert checks[0] != checks[2]
    assert checks[2].startswith("3 patterns, 12 sessions, ")


# ---- what a process costs -----------------------------------------------------------------------


HOLDER = "import time; held = b'x' * {mb} * 2**20; time.sleep(2)"
PARENT = """
import subprocess, sys
started = [subprocess.Popen([sys.executable, '-c', sys.argv[1]]) for _ in range(2)]
print(sum(process.wait() for process in started))
"""


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="children are told by Linux only")
def test_the_peak_of_a_process_holds_what_its_children_hold_at_the_same_time():
    holder = HOLDER.format(mb=100)
    alone, _ = peak_of([sys.executable, "-c", holder])
    both, output = peak_of([sys.executable, "-c", PARENT, holder])
    assert 100 < alone < 200  # one of them: what the system tells of the largest process
    assert both > 200
    assert output == "0\n"


def peak_of(command):
    """Measure a command in a small process: that of the tests is large, and a child begins as its copy."""
    code = f"from benchmarks.lib.measuring import measured; cost = measured({command!r})"
    return ast.literal_eval(output_of("-c", f"{code}; print([cost.peak_mb, cost.output])"))


def test_a_process_that_fails_ends_the_benchmark(benchmark_module):
    with pytest.raises(SystemExit, match="failed with code 3"):
        benchmark_module("lib.measuring").measured([sys.executable, "-c", "raise SystemExit(3)"])


# ---- a log of one file a day --------------------------------------------------------------------


@pytest.fixture(scope="module")
def week(tmp_path_factory):
    """Return a simulated week of the world `web`."""
    folder = tmp_path_factory.mktemp("week") / "web"
    return simulate("web", n_searches=4200, n_queries=50, seed=2, out=folder)


def rows_of(log, table):
    """Return the rows of a log's table, whether a file or a folder."""
    whole = log / f"{table}.parquet"
    files = [whole] if whole.exists() else sorted((log / table).glob("*.parquet"))
    return pl.concat(pl.read_parquet(file) for file in files).rows(named=True)


def clicks_by_what_they_follow(log):
    """Count clicks by the search they are of, whose id and day are left aside, and by their delay."""
    shown = {row["search_id"]: row for row in rows_of(log, "searches")}
    found = Counter()
    for click in rows_of(log, "clicks"):
        search = shown.get(click["search_id"])
        if search is None:
            found["of no search", click["timestamp"].time(), click["url"]] += 1
        else:
            who = search["user_id"], search["query"], search["market"], search["timestamp"].time()
            found[who, click["timestamp"] - search["timestamp"], click["url"]] += 1
    return found


@pytest.mark.parametrize("ids", ["ascending", "random", "text"])
def test_a_week_dealt_out_to_days_keeps_every_search_and_its_clicks(benchmark_module, week, tmp_path, ids):
    benchmark_module("cost.increment").write_days(week, tmp_path / "log", 14, ids)
    assert len(list((tmp_path / "log" / "searches").iterdir())) == 14
    assert len(rows_of(tmp_path / "log", "searches")) == len(rows_of(week, "searches"))
    found = clicks_by_what_they_follow(tmp_path / "log")
    assert found == clicks_by_what_they_follow(week)
    assert any(key[0] == "of no search" for key in found)


def test_each_file_holds_the_searches_of_its_day_in_order_and_a_user_comes_in_one_week(
    benchmark_module, week, tmp_path
):
    benchmark_module("cost.increment").write_days(week, tmp_path / "log", 9, "ascending")
    weeks_of_users, last_id = {}, 0
    files = sorted((tmp_path / "log" / "searches").iterdir())
    for number, file in enumerate(files):
        rows = pl.read_parquet(file).rows(named=True)
        assert {row["timestamp"].date() for row in rows} == {date(2026, 1, 5) + timedelta(days=number)}
        assert [row["timestamp"] for row in rows] == sorted(row["timestamp"] for row in rows)
        assert min(row["search_id"] for row in rows) > last_id
        last_id = max(row["search_id"] for row in rows)
        for row in rows:
            weeks_of_users.setdefault(row["user_id"], set()).add(number // 7)
    assert [file.name for file in files] == [f"day-{day:03}.parquet" for day in range(1, 10)]
    weeks_of_users.pop(None, None)  # searches without a user
    assert all(len(weeks) == 1 for weeks in weeks_of_users.values())
    clicked = {row["search_id"] for row in rows_of(tmp_path / "log", "clicks")}
    shown = {row["search_id"] for row in rows_of(tmp_path / "log", "searches")}
    assert len(clicked - shown) < 0.02 * len(clicked)  # clicks of days that were left out would be a third


def test_mixed_ids_are_distinct_out_of_order_and_spread_over_63_bits(benchmark_module):
    named = benchmark_module("cost.increment").named
    numbers = pl.Series(range(1, 10_001), dtype=pl.Int64).to_numpy()
    mixed = named(numbers, "random").to_list()
    assert len(set(mixed)) == 10_000
    assert all(0 <= number < 2**63 for number in mixed)
    ascents = sum(one < other for one, other in pairwise(mixed))
    assert 4_500 < ascents < 5_500
    eighths = Counter(number >> 60 for number in mixed)
    assert len(eighths) == 8
    assert all(1_000 < count < 1_500 for count in eighths.values())
    assert named(numbers, "text").to_list() == [str(number) for number in mixed]


def test_growth_is_the_slope_of_a_line_without_the_first_day(benchmark_module):
    growth = benchmark_module("cost.increment").growth
    assert growth([9.0, 1.0, 1.25, 1.5, 1.75]) == pytest.approx(0.25)
    assert growth([9.0, 1.0]) == 0


@pytest.mark.thorough
def test_a_store_grown_day_by_day_holds_what_one_run_over_all_days_does(scripts):
    size = ("--days", 3, "--searches-a-day", 200, "--ids", "text", "--runs", 1)
    printed = output_of("-m", "benchmarks.cost.increment", *size, cwd=scripts)
    assert [line for line in printed.splitlines() if line.startswith("ids")] == [
        "ids text, given the day",
        "ids text, given the folder",
    ]
    assert printed.count("mean of 2 days") == 2
    assert "the stores hold the same as one run over all days" in printed
    assert not list((scripts / "benchmarks" / "work").glob("increment-*"))


def test_a_pattern_table_with_another_count_differs_from_the_store(benchmark_module, week, tmp_path):
    files = [part for name in ("searches", "clicks") for part in (f"--{name}", week / f"{name}.parquet")]
    store, out = tmp_path / "store", tmp_path / "patterns"
    for where in (("--store", store), ("--out", out)):
        output_of("-m", "clickassay", "patterns", *files, *where, "--quiet")
    differing = benchmark_module("cost.increment").differing
    assert differing(store, out) == []
    table = pl.read_parquet(out / "patterns.parquet")
    first = pl.int_range(pl.len()) == 0
    table.with_columns(pl.col("sessions") + first.cast(pl.Int64)).write_parquet(out / "patterns.parquet")
    assert differing(store, out) == ["patterns"]


def test_a_command_runs_in_turn_with_the_code_of_a_commit_and_with_that_of_the_checkout(scripts, tmp_path):
    checkout = tmp_path / "checkout"
    shutil.copytree(scripts / "benchmarks", checkout / "benchmarks")
    for folder in ("pipeline", "sql"):
        shutil.copytree(ROOT / folder, checkout / folder)
    names = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "before")):
        subprocess.run(["git", *names, *command], cwd=checkout, check=True)
    app = checkout / "pipeline" / "clickassay" / "__main__.py"
    app.write_text("raise SystemExit(3)", encoding="utf-8")
    measure = ("-m", "benchmarks.cost.pairs", "HEAD", "--runs", 1, "--", "--version")
    assert "failed with code 3" in ran(sys.executable, *measure, cwd=checkout, code=1).stderr
    app.write_text("print('other code')", encoding="utf-8")
    lines = output_of(*measure, cwd=checkout).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["before", "now", "cpu", "wall"]
    wrong = ("-m", "benchmarks.cost.pairs", "nothing", "--", "--version")
    assert ran(sys.executable, *wrong, cwd=checkout, code=1).stderr.startswith("nothing is no commit")
