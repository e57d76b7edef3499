"""What benchmarks of cost measure and print, at small sizes: ratios, peaks, the log of the paper's size.

Figures are not looked at, only that they are there with the check values of the answers.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

from clickassay.inputs.simulate.simulation import simulate
from support.places import ROOT
from support.processes import ran

BENCHMARKS = "benchmarks"
CHECK = r"check [\d,]+ patterns, [\d,]+ sessions, [0-9a-f]{16}$"


def printed(scripts, module, *options, code=0):
    """Run a benchmark in a copy of the scripts; return what it printed."""
    return ran(sys.executable, "-m", f"benchmarks.{module}", *options, cwd=scripts, code=code).stdout


@pytest.fixture(scope="module")
def week(tmp_path_factory):
    """Return a simulated week of the world `web`."""
    folder = tmp_path_factory.mktemp("week") / "web"
    return simulate("web", n_searches=4200, n_queries=50, seed=2, out=folder)


def cost(benchmark_module, cpu, wall=1.0, peak_mb=1.0):
    return benchmark_module("lib.measuring").Cost(cpu, wall, peak_mb, "")


# ---- ratios -------------------------------------------------------------------------------------


def test_each_pair_has_a_ratio_and_the_median_is_that_of_the_ratios(benchmark_module):
    measuring = benchmark_module("lib.measuring")
    over = [cost(benchmark_module, cpu) for cpu in (6.0, 8.0, 30.0)]
    under = [cost(benchmark_module, cpu) for cpu in (2.0, 4.0, 3.0)]
    assert measuring.ratios(over, under, "cpu") == [3.0, 2.0, 10.0]
    assert measuring.spread([3.0, 2.0, 10.0]) == "3.00 (2.00 to 10.00: 3.00 2.00 10.00)"
    with pytest.raises(ValueError, match="shorter"):
        measuring.ratios(over, under[:2], "cpu")


def test_another_check_value_ends_the_benchmark(benchmark_module):
    the_one = benchmark_module("lib.patterns").the_one
    assert the_one(["a", "a"], "floor") == "a"
    with pytest.raises(SystemExit, match="answers differ: floor: a; b"):
        the_one(["b", "a", "b"], "floor")


def test_logs_of_20_million_have_the_queries_of_those_that_are_there(benchmark_module):
    usual_queries = benchmark_module("lib.patterns").usual_queries
    assert [usual_queries(world, 20_000_000) for world in ("web", "cascade")] == [100_000, 90_000]
    assert usual_queries("web", 5_000_000) == 25_000
    assert usual_queries("cascade", 100) == 50


def test_options_of_patterns_are_handed_on(benchmark_module):
    patterns = benchmark_module("lib.patterns")
    parser = argparse.ArgumentParser()
    patterns.add_size(parser)
    patterns.add_options(parser)
    given = parser.parse_args(["--engine", "duckdb", "--world", "web", "--", "--folds", "2"])
    assert patterns.options_of(given) == ["--engine", "duckdb", "--folds", "2"]
    assert given.world == ["web"]
    assert patterns.options_of(parser.parse_args([])) == []


@pytest.mark.thorough
def test_the_floor_and_patterns_are_measured_in_pairs_in_each_world(scripts):
    size = ("--searches", 2_000, "--runs", 2, "--engine", "duckdb", "--", "--folds", "2")
    told = printed(scripts, "cost.scan_ratio", *size)
    assert "clickassay patterns --engine duckdb --folds 2" in told
    assert re.findall(r"world (\w+), 2,000 searches", told) == ["web", "cascade"]
    assert len(re.findall(r"^floor .* CPU s .* MB   check [0-9a-f]{8}$", told, re.MULTILINE)) == 2
    assert len(re.findall(rf"^patterns .* CPU s .* s wall .* MB   {CHECK}", told, re.MULTILINE)) == 2
    line = r"^ratio    (CPU|wall) time \d+\.\d\d \([\d.]+ to [\d.]+: [\d.]+ [\d.]+\)$"
    assert re.findall(line, told, re.MULTILINE) == ["CPU", "wall"] * 2
    assert not (scripts / "benchmarks" / "work" / "scan-patterns").exists()


# ---- memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "expected"), [("4GB", 4_000_000_000), ("0.5gb", 500_000_000), ("512MiB", 536_870_912)]
)
def test_a_size_has_the_bytes_of_its_unit(benchmark_module, size, expected):
    assert benchmark_module("cost.memory").bytes_of(size) == expected


def test_what_is_no_size_is_refused(benchmark_module):
    with pytest.raises(argparse.ArgumentTypeError, match="'4 apples' is no size"):
        benchmark_module("cost.memory").bytes_of("4 apples")


def test_further_lists_cost_what_is_worked_by_hand(benchmark_module):
    memory = benchmark_module("cost.memory")
    few, many = (memory.Peak(mb, lists, "", fits=True) for mb, lists in ((500.0, 1_000), (900.0, 101_000)))
    # 400 MB for a hundred times as many: 200 MB for each tenfold, 4,000 bytes for each of 100,000 lists
    told = "1,000 to 101,000 lists: +400 MB, +200 MB for a tenfold, +4,000 bytes a further list"
    assert memory.growth(few, many) == told


@pytest.mark.thorough
def test_peaks_under_limits_are_told_for_fewer_and_for_more_lists(scripts):
    size = ("--world", "web", "--searches", 2_000, "--queries", 60, "--limits", "2GB", "4GB", "--lists")
    told = printed(scripts, "cost.memory", *size)
    row = r"^web-2000-(\d+) +(\dGB) .* CPU s .* of the limit, batches: 1, [\d,]+ lists$"
    assert re.findall(row, told, re.MULTILINE) == [
        ("60", "2GB"), ("60", "4GB"), ("600", "2GB"), ("600", "4GB")
    ]  # fmt: skip
    assert len(re.findall(rf"^web-2000-\d+: {CHECK}", told, re.MULTILINE)) == 2
    assert re.findall(r"^lists +(\dGB) .* bytes a further list$", told, re.MULTILINE) == ["2GB", "4GB"]


def test_a_peak_above_its_limit_ends_with_exit_code_1_after_all_rows(scripts, week):
    size = ("--log", week, "--limits", "100MB", "4GB", "--engine", "duckdb", "--", "--max-rejected", "0.1")
    done = ran(sys.executable, "-m", "benchmarks.cost.memory", *size, cwd=scripts, code=1)
    assert re.search(r"^web +100MB .* of the limit, ABOVE IT", done.stdout, re.MULTILINE)
    assert re.search(r"^web +4GB .*% of the limit, batches", done.stdout, re.MULTILINE)
    assert "1 peaks above their limit" in done.stderr


# ---- a log of the paper's size ------------------------------------------------------------------


def test_the_disk_needed_and_the_searches_that_fit_are_as_worked_by_hand(benchmark_module):
    room = benchmark_module("lib.room")
    disk = room.Disk(a_search=80.0, fixed=1_000, at_hand=1.6 * 81_000)
    assert disk.needed(1_000) == pytest.approx(1.6 * (1_000 + 80_000))
    assert disk.fitting(900) == 900
    assert disk.fitting(2_000) == 1_000
    assert room.Disk(80.0, 1_000, 1_600.0).fitting(2_000) == 0


def test_queries_grow_more_slowly_than_searches(benchmark_module):
    queries_for = benchmark_module("cost.paper_size").queries_for
    assert queries_for(20_000_000) == 90_000
    assert queries_for(2_000_000_000) == 1_795_736  # 100^0.65 = 10^1.3 = 19.9526231


def test_judged_queries_are_spread_evenly_over_popularity(benchmark_module, week, tmp_path):
    benchmark_module("cost.paper_size").judge(week, 10, tmp_path / "judged.parquet")
    judged = pl.read_parquet(tmp_path / "judged.parquet")
    queries = pl.read_parquet(week / "queries.parquet")["query"].to_list()
    assert set(judged["query"]) == set(queries[::5])
    expected = [
        row
        for row in pl.read_parquet(week / "judgments.parquet").rows(named=True)
        if row["query"] in queries[::5]
    ]
    assert judged.height == len(expected)


@pytest.fixture(scope="module")
def table(week, tmp_path_factory):
    """Return the pattern table of the week."""
    out = tmp_path_factory.mktemp("table") / "patterns"
    files = (part for name in ("searches", "clicks") for part in (f"--{name}", week / f"{name}.parquet"))
    ran(sys.executable, "-m", "clickassay", "patterns", *files, "--out", out, "--quiet")
    return out


def test_a_funnel_that_does_not_add_up_is_told(benchmark_module, week, table, tmp_path):
    wrong_sums = benchmark_module("cost.paper_size").wrong_sums
    searches = pl.read_parquet(week / "searches.parquet").height
    assert wrong_sums(table, searches, False) == []
    [told] = wrong_sums(table, searches + 1, False)
    assert told == f"{searches:,} searches in the funnel of {searches + 1:,}"
    [told] = wrong_sums(table, searches, True)
    assert told.endswith(f"sessions of {searches:,} searches, each of which is one")
    fewer = Path(shutil.copytree(table, tmp_path / "fewer"))
    rows = pl.read_parquet(fewer / "patterns.parquet")
    rows.tail(-1).write_parquet(fewer / "patterns.parquet")
    [told] = wrong_sums(fewer, searches, False)
    every = rows["sessions"].sum()
    assert told == f"{every - rows['sessions'][0]:,} sessions in the table, {every:,} in the funnel"


@pytest.mark.thorough
def test_a_log_too_large_for_the_disk_is_made_smaller_measured_and_removed(scripts):
    size = ("--searches", 40_000, "--reference", 2_000, "--judged", 50, "--most-disk", 0.002)
    told = printed(scripts, "cost.paper_size", "--world", "cascade", *size)
    searches = re.search(r"^SCALED +to ([\d,]+) searches", told, re.MULTILINE)[1]
    assert 1_000 < int(searches.replace(",", "")) < 40_000
    assert re.search(rf"patterns, {searches} sessions, [0-9a-f]{{16}}$", told, re.MULTILINE)
    assert re.findall(r"^ratio +(CPU|wall) time a search \d+\.\d\d \(", told, re.MULTILINE) == ["CPU", "wall"]
    assert re.search(r"^report .* judged queries, .* sessions of [\d,]+ at depth 10$", told, re.MULTILINE)
    left = [path.name for path in (scripts / "benchmarks" / "work").glob("cascade-40*")]
    left += [path.name for path in (scripts / "benchmarks" / "work").glob("cascade-1*")]
    assert left == []
    assert not list((scripts / "benchmarks" / "work").glob("paper-size*"))


@pytest.mark.thorough
def test_a_log_that_is_there_is_measured_and_left_and_a_billion_is_computed(scripts, benchmark_module):
    queries = benchmark_module("cost.paper_size").queries_for(4_000)
    work = scripts / "benchmarks" / "work"
    simulate("web", n_searches=4_000, n_queries=queries, seed=1, out=work / f"web-4000-{queries}")
    size = ("--searches", 4_000, "--reference", 2_000, "--judged", 50)
    told = printed(scripts, "cost.paper_size", "--world", "web", *size, "--", "--max-rejected", "0.1")
    assert "simulate" not in told
    assert "disk" not in told
    found = re.findall(r"^(?:patterns|report) .* ([\d,]+) MB", told, re.MULTILINE)
    peaks = [float(peak.replace(",", "")) for peak in found]
    most = re.search(r"^start to report: ([\d,]+) MB at most \(aim: under 4,000\)$", told, re.MULTILINE)[1]
    assert float(most.replace(",", "")) == max(peaks[1:3])  # of the log itself, between runs of the reference
    hours, million = re.search(
        r"^computed, not measured: .* in ([\d.]+) h on \d+ cores, at ([\d.]+) s wall a million",
        told,
        re.MULTILINE,
    ).groups()
    assert float(hours) == pytest.approx(float(million) * 1000 / 3600, abs=0.01)
    assert (work / f"web-4000-{queries}").exists()


def test_a_disk_without_room_for_any_log_is_said(scripts):
    size = ("--searches", 40_000, "--reference", 2_000, "--most-disk", 0.0001)
    done = ran(sys.executable, "-m", "benchmarks.cost.paper_size", *size, cwd=scripts, code=1)
    assert "no room for any log" in done.stderr


# ---- peers --------------------------------------------------------------------------------------


def test_rows_that_cannot_be_used_are_taken_out_and_no_others(week, tmp_path):
    command = (sys.executable, "-m", "benchmarks.peers.usable", week, tmp_path / "usable")
    ran(*command, cwd=ROOT)
    for name in ("searches", "clicks"):
        rows = pl.read_parquet(week / f"{name}.parquet").rows()
        kept = [row for row in rows if None not in row and [] not in row
                and not any(isinstance(cell, list) and None in cell for cell in row)]  # fmt: skip
        assert pl.read_parquet(tmp_path / "usable" / f"{name}.parquet").rows() == kept
        assert len(kept) < len(rows)


def test_ratios_stand_beside_their_aims(benchmark_module):
    lines = benchmark_module("peers.__main__").ratio_lines(
        [cost(benchmark_module, 8.0, 6.0, 300.0)], [cost(benchmark_module, 2.0, 3.0, 200.0)],
        {"cpu": 5, "peak_mb": 1},
    )  # fmt: skip
    assert lines == [
        "CPU time  4.00 (4.00 to 4.00: 4.00); aim: 5",
        "wall time 2.00 (2.00 to 2.00: 2.00)",
        "memory    1.50 (1.50 to 1.50: 1.50); aim: above 1",
    ]


@pytest.mark.thorough
def test_peers_are_measured_on_both_worlds_in_one_command(scripts):
    size = ("--searches", 2_000, "--queries", 50, "--runs", 1)
    told = printed(scripts, "peers", "--peer", "polars", "duckdb", *size)
    peers = re.findall(r"^(\w+): (\w+)-2000-50(?:-usable)?, 1 runs in turn$", told, re.MULTILINE)
    assert peers == [(peer, world) for peer in ("polars", "duckdb") for world in ("cascade", "web")]
    assert len(re.findall(r"^(?:polars|duckdb) .* MB   " + CHECK, told, re.MULTILINE)) == 4
    assert re.findall(r"^  CPU time .* aim: (\d+)$", told, re.MULTILINE) == ["4", "4", "5", "5"]


@pytest.mark.thorough
def test_pandas_is_set_against_a_run_with_and_without_click_models(scripts):
    pytest.importorskip("pandas")
    size = ("--world", "cascade", "--searches", 2_000, "--queries", 50, "--runs", 1)
    told = printed(scripts, "peers", "--peer", "pandas", *size)
    assert re.search(
        r"^pandas .* MB   check overall correlations sum to .*; differ by at most", told, re.MULTILINE
    )
    assert re.findall(r"^(run.*?)  .* MB$", told, re.MULTILINE) == ["run", "run, no click models"]
    assert re.findall(r"^  CPU time .* aim: (\d+)$", told, re.MULTILINE) == ["25", "25"]
