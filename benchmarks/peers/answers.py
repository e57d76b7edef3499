"""Check values of answers, in a process of their own: what one process used shows in the next one it starts.

    python benchmarks/peers/answers.py patterns FOLDER        sizes and checksum of a pattern table
    python benchmarks/peers/answers.py numbers PEER RUN       pandas_scipy.py's tables against a run's

The second ends with exit code 1 and says what differs when a number differs by more than 1e-9.
"""

import sys
from pathlib import Path

import duckdb
import polars as pl

HERE = Path(__file__).parent
TOLERANCE = 1e-9

COMPARED = {  # table: its key, what must be equal, what must be close
    "statistics": (
        ["market", "depth"],
        ["n_queries", "n_configurations", "n_sessions", "n_all_sessions"],
        [],
    ),
    "correlations": (
        ["market", "depth", "split", "class", "click_metric", "editorial_metric"],
        ["n_queries", "n_configurations", "n_sessions"],
        ["correlation"],
    ),
    "differences": (
        ["market", "depth", "click_metric", "editorial_metric"],
        ["n_queries", "n_configurations"],
        ["exact", "noise_corrected", "sign_agreement"],
    ),
    "comparisons": (["market", "depth", "click_metric", "metric_a", "metric_b"], [], ["difference"]),
}


def patterns(folder: Path) -> str:
    """Return sizes and checksum of the pattern table of a peer, or of clickassay, in `folder`."""
    database = duckdb.connect()
    rows = database.read_parquet(_file(folder / "patterns.parquet"))
    if "configuration_id" in rows.columns:
        rows.create_view("patterns")
        database.read_parquet(str(folder / "configurations.parquet")).create_view("configurations")
        rows = database.sql((HERE / "clickassay_patterns.sql").read_text())
    rows.create_view("pattern_rows")
    [(size, sessions, checksum)] = database.execute((HERE / "checksum.sql").read_text()).fetchall()
    return f"{size:,} patterns, {sessions:,} sessions, {checksum:016x}"


def _file(path: Path) -> str:
    return str(path / "*.parquet" if path.is_dir() else path)  # Spark writes a folder


def numbers(peer: Path, run: Path) -> str:
    """Compare a peer's tables with those of a run; return a check value of the peer's, or exit."""
    worst = max(
        _difference(table, _read(peer, table), _read(run, table), key, equal, close)
        for table, (key, equal, close) in COMPARED.items()
    )
    overall = _read(peer, "correlations").filter(split="all")["correlation"].sum()
    exact = _read(peer, "differences")["exact"].sum()
    return f"overall correlations sum to {overall:.9f}, exact to {exact:.9f}; differ by at most {worst:.0e}"


def _read(folder: Path, table: str) -> pl.DataFrame:
    return pl.read_parquet(folder / f"{table}.parquet")


def _difference(
    table: str, ours: pl.DataFrame, theirs: pl.DataFrame, key: list[str], equal: list[str], close: list[str]
) -> float:
    both = ours.join(theirs, on=key, how="full", coalesce=True, suffix="_run")
    wrong = [pl.col(name).ne_missing(pl.col(f"{name}_run")) for name in equal]
    gaps = [(pl.col(name) - pl.col(f"{name}_run")).abs() for name in close]
    wrong += [pl.col(name).is_null() != pl.col(f"{name}_run").is_null() for name in close]
    wrong += [gap > TOLERANCE for gap in gaps]
    found = both.filter(pl.any_horizontal(wrong))
    if len(found) or len(both) != len(theirs):
        sys.exit(f"{table}: {len(found)} of {len(both)} rows differ:\n{found}")
    return max((both.select(gap.max()).item() or 0.0 for gap in gaps), default=0.0)


if __name__ == "__main__":
    print({"patterns": patterns, "numbers": numbers}[sys.argv[1]](*map(Path, sys.argv[2:])))
