"""What a command costs with the code of the checkout, over what it costs with that of an earlier commit.

    python -m benchmarks.cost.pairs COMMIT [--runs N] -- COMMAND OPTION …

Both are run in turn, each a whole process with the same libraries, after one of each that does not count.
A command that writes needs `--force`.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.lib.measuring import ROOT, WORK, Cost, clickassay, figures, machine, measured, ratios, spread

CODE = ("pipeline", "sql")


def main() -> None:
    """Print what both cost, and the ratios of their pairs."""
    options = _options()
    print(f"{machine()}; clickassay {' '.join(options.command)}")
    before, now = code_of(options.commit), ROOT
    pairs = [(run(before, options.command), run(now, options.command)) for _ in range(options.runs + 1)][1:]
    old, new = zip(*pairs, strict=True)
    print(f"before  {figures(old)}\nnow     {figures(new)}")
    for what in ("cpu", "wall"):
        print(f"{what:7} {spread(ratios(new, old, what))}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", help="of the code that is compared with")
    parser.add_argument("--runs", type=int, default=5, help="pairs that count")
    parser.add_argument("command", nargs="+", help="of clickassay, with its options, after --")
    return parser.parse_args()


def code_of(commit: str) -> Path:
    """Return a folder with the code of a commit; an unknown one stops the benchmark."""
    name = _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", unknown=commit).decode().strip()
    folder = WORK / f"code-{name}"
    if not folder.exists():
        made = folder.with_suffix(".new")
        made.mkdir(parents=True, exist_ok=True)
        packed = _git("archive", "--format=tar", name, *CODE, unknown=commit)
        subprocess.run(["tar", "-xf", "-", "-C", made], input=packed, check=True)
        made.rename(folder)
    return folder


def _git(*command: str, unknown: str) -> bytes:
    told = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, check=False)
    if told.returncode:
        sys.exit(f"{unknown} is no commit of this checkout with the folders {' and '.join(CODE)}")
    return told.stdout


def run(code: Path, command: list[str]) -> Cost:
    """Run a command of clickassay with the code of a folder."""
    return measured(["env", f"PYTHONPATH={code / 'pipeline'}", *clickassay(*command)])


if __name__ == "__main__":
    main()
