"""How soon commands answer, and how much is installed.

    python -m benchmarks.cost.start_up [--runs N]

Prints the median, the least and the greatest CPU seconds of each command as a whole process on the sample,
most of which is importing, and the aim; the check value is the number of lines that it printed. Then the size
of what is installed without an extra, of its largest parts, and of what each extra adds.
"""

import argparse
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from statistics import median

from packaging.requirements import Requirement

from benchmarks.lib.measuring import ROOT, clickassay, machine, measured

TABLES = ("searches", "clicks", "judgments", "queries")
SAMPLE = [(f"--{name}", ROOT / "data_samples" / f"{name}.parquet") for name in TABLES]
QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 a 1\nq2 0 c 1\n"
RANKING = "q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\nq2 Q0 c 1 2 x\nq2 Q0 a 2 1 x\n"


def main() -> None:
    """Print one row for each command."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--runs", type=int, default=5, help="runs of each command")
    options = parser.parse_args()
    print(f"{machine()}; median of {options.runs} runs")
    with tempfile.TemporaryDirectory() as folder:
        for name, aim, command in commands(Path(folder)):
            print_row(name, aim, command, options.runs)
    print_sizes()


def commands(folder: Path) -> list[tuple[str, float | None, list[str]]]:
    """Return name, aim in CPU seconds and command line of each; the run comes before its query."""
    (folder / "qrels").write_text(QRELS, encoding="utf-8")
    (folder / "ranking").write_text(RANKING, encoding="utf-8")
    files = [part for pair in SAMPLE for part in pair]
    run = clickassay("run", *files, "--out", folder / "run", "--force", "--quiet")
    return [
        ("import clickassay", 0.3, [sys.executable, "-c", "import clickassay"]),
        ("--version", 0.3, clickassay("--version")),
        ("--help", 0.3, clickassay("--help")),
        ("run --help", None, clickassay("run", "--help")),
        ("evaluate, four lines", 0.8, clickassay("evaluate", folder / "qrels", folder / "ranking")),
        ("run on the sample", 3.5, run),
        ("the same without click models", None, [*run, "--click-models", "none"]),
        ("query", 0.5, clickassay("query", folder / "run", "SELECT count(*) FROM configurations")),
    ]


def print_row(name: str, aim: float | None, command: list[str], runs: int) -> None:
    """Measure one command and print its row."""
    costs = [measured(command) for _ in range(runs)]
    seconds = [cost.cpu for cost in costs]
    lines = len(costs[0].output.splitlines())
    wanted = "" if aim is None else f"  aim {aim:.1f}"
    spread = f"({min(seconds):.2f} to {max(seconds):.2f})"
    print(f"{name:32}{median(seconds):6.2f} CPU s {spread}{wanted}  {lines} lines")


def print_sizes() -> None:
    """Print the size of what is installed, in MB of 1,000,000 bytes."""
    base = {name: size_of(name) for name in needed("clickassay")}
    largest = sorted(base.items(), key=lambda part: -part[1])[:5]
    parts = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in largest)
    print(f"installed: {sum(base.values()) / 1e6:.0f} MB in {len(base)} packages, of which {parts}")
    for extra in distribution("clickassay").metadata.get_all("Provides-Extra"):
        added = needed("clickassay", extra) - set(base)
        print(f"[{extra}] adds {sum(map(size_of, added)) / 1e6:.0f} MB in {len(added)} packages")


def size_of(name: str) -> int:
    """Return the bytes of the files of a package, without what Python compiles."""
    files = (file.locate() for file in distribution(name).files or () if file.suffix != ".pyc")
    return sum(Path(file).stat().st_size for file in files if Path(file).is_file())


def needed(name: str, extra: str = "") -> set[str]:
    """Return a package, and all that it needs here, with an extra."""
    found, open_ends = {name}, [(name, extra)]
    while open_ends:
        of, extra = open_ends.pop()
        for text in distribution(of).requires or ():
            need = Requirement(text)
            if need.marker and not need.marker.evaluate({"extra": extra}):
                continue
            if need.name not in found and is_installed(need.name):
                open_ends += [(need.name, "")] + [(need.name, one) for one in need.extras]
                found.add(need.name)
    return found


def is_installed(name: str) -> bool:
    """Tell whether a package is here."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


if __name__ == "__main__":
    main()
