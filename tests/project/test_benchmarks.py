"""The benchmarks at small sizes: peers give the package's answers, and every script runs and prints its rows.

The peers share no code with the package. Their log is one of the world `web` with two markets, delivery
repeats, sessions of several searches, late clicks and clicks of no search; queries are also spelled in other
ways. Rows that cannot be used are taken out first, because the peers reject none.
"""

import re
import shutil
import subprocess
import sys

import polars as pl
import pytest

from clickassay.inputs.simulate.simulation import simulate
from support.places import ROOT
from support.processes import ran
from support.runs.sample_run import sample

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


CHECK = r"check [\d,]+ patterns, [\d,]+ sessions, [0-9a-f]{16}$"
SMALL = ("--searches", 2_000, "--queries", 50)
FEW = ("--searches", 40_000, "--reference", 2_000, "--judged", 50, "--most-disk", 0.002)
SCRIPTS = {
    "cost.scan_ratio": ((*SMALL, "--runs", 2, "--", "--folds", "2"), r"^ratio    (?:CPU|wall) time \d"),
    "cost.memory": (("--world", "web", *SMALL, "--limits", "2GB"), rf"^web-2000-50: {CHECK}"),
    "cost.paper_size": (("--world", "cascade", *FEW), r"^ratio +(?:CPU|wall) time a search \d"),
    "cost.increment": (
        ("--days", 3, "--searches-a-day", 200, "--ids", "text", "--runs", 1),
        r"; the stores hold the same as one run over all days",
    ),
    "peers": (("--peer", "polars", "duckdb", *SMALL, "--runs", 1), rf"^(?:polars|duckdb) .* MB   {CHECK}"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_prints_its_rows_with_the_check_value_of_its_answers(scripts, script):
    options, row = SCRIPTS[script]
    printed = output_of("-m", f"benchmarks.{script}", *options, cwd=scripts)
    assert re.search(row, printed, re.MULTILINE), printed


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
    app.write_text("print('code of another length')", encoding="utf-8")  # or its bytecode stays
    lines = output_of(*measure, cwd=checkout).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["before", "now", "cpu", "wall"]
    wrong = ("-m", "benchmarks.cost.pairs", "nothing", "--", "--version")
    assert ran(sys.executable, *wrong, cwd=checkout, code=1).stderr.startswith("nothing is no commit")


def test_the_cost_of_a_decision_has_a_line_for_each_piece_of_work():
    lines = output_of(
        "-m", "benchmarks.cost.decision", "--run", sample(), "--configurations", 4000, "--runs", 1
    )
    assert re.fullmatch(
        r"tables of 4 samples: [\d.]+ CPU s\nfindings: [\d.]+ CPU s\n"
        r"tables of [45],\d+ configurations: [\d.]+ CPU s",
        lines,
    )
