"""The lowest and the newest versions that the project allows, each in an environment of its own.

    python tests/support/bounds.py        # make bounds

Runs the sample on both engines, a store, a report, questions and `evaluate`, and compares the tables with
those of the environment that runs it: whole numbers and texts exactly, others to 1e-5.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "data_samples"
LOG = ["--searches", str(SAMPLE / "searches.parquet"), "--clicks", str(SAMPLE / "clicks.parquet")]
JUDGED = ["--judgments", str(SAMPLE / "judgments.parquet"), "--queries", str(SAMPLE / "queries.parquet")]
JOBS = [
    ["run", *LOG, *JUDGED, "--out", "run"],
    ["run", *LOG, *JUDGED, "--out", "on-duckdb", "--engine", "duckdb"],
    ["patterns", *LOG, "--store", "store"],
    ["report", "--patterns", "store", *JUDGED, "--out", "of-store"],
    ["query", "run", "funnel_losses"],
    ["evaluate", "qrels.txt", "ranking.txt"],
]
NEAR = {"abs_tol": 1e-5, "rel_tol": 1e-5}


def main() -> None:
    """Make the environments, run the jobs in each, and compare."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run_jobs(sys.executable, place / "own")
        for resolution in ("lowest-direct", "highest"):
            python = environment(resolution, place / resolution / "venv")
            run_jobs(str(python), place / resolution)
            compare(place / "own" / "run", place / resolution)
            print(f"{resolution}: every job runs, every table is the same")  # noqa: T201


def environment(resolution: str, venv: Path) -> Path:
    """Return the Python of an environment with the project's needs, resolved this way, and its wheel."""
    uv = [sys.executable, "-m", "uv"]
    called(uv, "venv", "--quiet", "--python", sys.executable, venv)
    install = [*uv, "pip", "install", "--quiet", "--python", venv]
    called(install, "--resolution", resolution, "-r", ROOT / "pyproject.toml")
    called(install, "--no-deps", *sorted((ROOT / "dist").glob("*.whl")))
    return venv / "bin" / "python"


def run_jobs(python: str, place: Path) -> None:
    """Run every job in a folder."""
    place.mkdir(exist_ok=True)
    (place / "qrels.txt").write_text("q 0 a 3\nq 0 b 1\n")
    (place / "ranking.txt").write_text("q Q0 b 1 2.0 x\nq Q0 a 2 1.0 x\n")
    for job in JOBS:
        called([python, "-m", "clickassay"], *job, cwd=place)


def compare(own: Path, place: Path) -> None:
    """Compare the runs of a folder with one's own."""
    for run in ("run", "on-duckdb", "of-store"):
        for file in sorted(own.glob("*.parquet")):
            other = pl.read_parquet(place / run / file.name)
            assert_frame_equal(pl.read_parquet(file), other, check_row_order=True, **NEAR)


def called(command: list, *more: object, cwd: Path = ROOT) -> None:
    """Run a command; show what it says if it fails."""
    done = subprocess.run(
        [*map(str, command), *map(str, more)], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{command} {more}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


if __name__ == "__main__":
    main()
