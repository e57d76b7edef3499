"""The table of faults in `tests/faults/README.md` has every module with its number of tests."""

import subprocess
import sys
from collections import Counter

from support.places import ROOT

FAULTS = ROOT / "tests" / "faults"
PAGE = FAULTS / "README.md"


def rows():
    """Return the rows of the table as it should be: first words of the module, its name, its tests."""
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-o", "addopts=", "-q", str(FAULTS)],
        capture_output=True, text=True, check=True, cwd=ROOT,
    ).stdout  # fmt: skip
    counts = Counter(
        line.partition("::")[0].rpartition("/")[2] for line in listed.splitlines() if "::" in line
    )
    for name in sorted(counts):
        kind = (FAULTS / name).read_text(encoding="utf-8").partition('"""')[2].partition("\n")[0].rstrip('."')
        yield f"| {kind} | `{name}` | {counts[name]} |"


def table():
    text = PAGE.read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("| ") and "| ---" not in line][1:]


def test_the_table_of_faults_is_that_of_the_tests():
    made = list(rows())
    assert len(made) == len(list(FAULTS.glob("test_*.py")))
    assert table() == made


if __name__ == "__main__":
    head = PAGE.read_text(encoding="utf-8").partition("| --- |")[0]
    PAGE.write_text(f"{head}| --- | --- | --- |\n" + "\n".join(rows()) + "\n", encoding="utf-8")
