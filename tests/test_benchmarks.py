"""The peers of the benchmarks, which share no code with the package, give its answers on an unclean log.

The log is one of the world `web` with two markets, delivery repeats, sessions of several searches, late
clicks and clicks of no search; queries are also spelled in other ways. Rows that cannot be used are
taken out first, because the peers reject none.
"""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

PEERS = Path(__file__).parents[1] / "benchmarks" / "peers"
TABLES = ("searches", "clicks", "judgments", "queries")


def output_of(*command, code=0):
    """Run Python where no package lies, so that the installed one is used; return what it printed."""
    process = subprocess.run(
        [sys.executable, *map(str, command)], cwd=PEERS, capture_output=True, text=True, check=False
    )
    assert process.returncode == code, process.stderr
    return process.stdout.strip()


def clickassay(command, log, out, *tables, options=()):
    """Run a command of clickassay on tables of a log."""
    files = [part for name in tables for part in (f"--{name}", log / f"{name}.parquet")]
    output_of("-m", "pipeline.cli", command, *files, *options, "--out", out, "--quiet")
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
    size = ("--searches", 3000, "--queries", 40, "--seed", 5)
    output_of("-m", "pipeline.cli", "simulate", "--world", "web", *size, "--out", folder, "--quiet")
    searches, clicks = (pl.read_parquet(folder / f"{name}.parquet") for name in ("searches", "clicks"))
    holds_null = pl.col("results").list.eval(pl.element().is_null()).list.any()
    usable = searches.drop_nulls().filter(pl.col("results").list.len() > 0, ~holds_null)
    shouted = pl.col("query").str.to_uppercase().str.replace_all(" ", " \t ") + " "
    every_third = pl.col("search_id") % 3 == 0
    spelled = usable.with_columns(query=pl.when(every_third).then(shouted).otherwise("query"))
    spelled.write_parquet(folder / "searches.parquet")
    clicks.drop_nulls().write_parquet(folder / "clicks.parquet")
    return folder


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


def test_the_peer_in_pandas_finds_the_numbers_of_a_run(log, tmp_path):
    pytest.importorskip("pandas")
    few = ("--resamples", 20, "--iterations", 20)  # what is compared does not depend on chance
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
