"""A promise is measured into one table: its options, and where it is written."""

import argparse
from collections.abc import Callable
from pathlib import Path

import polars as pl


def measure(measured: Callable[[int, int, int], pl.DataFrame], meaning: str, out: Path, worlds: int) -> None:
    """Measure a promise by the options of the command line, write its table and print it.

    Parameters
    ----------
    measured
        Takes numbers of worlds, seed and processes, and returns the table.
    meaning
        The documentation of the module.
    out
        Where the table is written by default.
    worlds
        Samples of a cell by default.
    """
    parser = argparse.ArgumentParser(description=meaning.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--worlds", type=int, default=worlds)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args()
    table = measured(options.worlds, options.seed, options.processes)
    table.write_csv(options.out, float_precision=4)
    print(table)
