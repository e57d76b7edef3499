"""Peer: logs to pattern table in SQL written by hand for DuckDB (hand_duckdb.sql).

python benchmarks/peers/hand_duckdb.py LOG OUT
"""

import sys
from pathlib import Path

import duckdb


def main(log: Path, out: Path) -> None:
    """Read the log's Parquet files, write `out`/patterns.parquet."""
    database = duckdb.connect()
    searches = database.read_parquet(str(log / "searches.parquet"))
    if "market" not in searches.columns:
        searches = searches.project("*, 'all' AS market")
    searches.create_view("searches")
    database.read_parquet(str(log / "clicks.parquet")).create_view("clicks")
    patterns = database.sql((Path(__file__).parent / "hand_duckdb.sql").read_text())
    out.mkdir(parents=True, exist_ok=True)
    patterns.write_parquet(str(out / "patterns.parquet"), compression="zstd")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
