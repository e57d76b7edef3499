"""`clickassay patterns` as benchmarks run it: which logs, its options, its command line, its table."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from benchmarks.lib.measuring import answers, clickassay, elsewhere, measured

REFERENCE_SEARCHES = 20_000_000
REFERENCE_QUERIES = {"web": 100_000, "cascade": 90_000}
"""Distinct queries of the logs of 20 million searches, by world."""


def usual_queries(world: str, searches: int) -> int:
    """Return how many queries a log has unless told: those of the log of 20 million, in proportion."""
    return max(50, round(REFERENCE_QUERIES[world] * searches / REFERENCE_SEARCHES))


def add_size(parser: argparse.ArgumentParser) -> None:
    """Let one choose the simulated logs."""
    parser.add_argument("--world", nargs="+", choices=REFERENCE_QUERIES, default=[*REFERENCE_QUERIES])
    parser.add_argument("--searches", type=int, default=REFERENCE_SEARCHES)
    usual = "default: 100,000 for 20 million searches, in the world cascade 90,000"
    parser.add_argument("--queries", type=int, default=None, help=usual)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let a benchmark hand options on to `clickassay patterns`."""
    parser.add_argument("--engine", default=None, help="engine of clickassay patterns; default: its own")
    further = "after --: further options of clickassay patterns"
    parser.add_argument("further", nargs="*", metavar="-- OPTION", help=further)


def options_of(given: argparse.Namespace) -> list[str]:
    """Return the options that are handed on."""
    return [*(("--engine", given.engine) if given.engine else ()), *given.further]


def patterns_of(log: Path, out: Path, *options: object) -> list[str]:
    """Return the command line that makes the pattern table of a log."""
    files = (part for name in ("searches", "clicks") for part in (f"--{name}", log / f"{name}.parquet"))
    return clickassay("patterns", *files, "--out", out, "--force", "--quiet", *options)


def pattern_check(out: Path) -> str:
    """Return number of patterns, sessions and an order-free checksum of a pattern table."""
    return measured(answers("patterns", out)).output.strip()


def the_one(found: Iterable[str], of_what: str) -> str:
    """Return the check value that all runs have; another one ends the benchmark with exit code 1."""
    distinct = sorted(set(found))
    if len(distinct) > 1:
        sys.exit(f"answers differ: {of_what}: {'; '.join(distinct)}")
    return distinct[0]


def rows_of(file: Path) -> int:
    """Return the rows of a Parquet file."""
    return elsewhere(_rows, file)


def _rows(file: Path) -> int:
    return int(pl.scan_parquet(file).select(pl.len()).collect().item())
