"""Where the files lie that tests read."""

import subprocess
from pathlib import Path

from pathspec import GitIgnoreSpec

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

SHOP = ROOT / "data_samples"
"""The sample that `make report` runs."""
SAMPLES = SHOP / "inconclusive"
SAMPLE = {name: str(SAMPLES / f"{name}.parquet") for name in ("searches", "clicks", "judgments", "queries")}
SAMPLE_LOG = {name: SAMPLE[name] for name in ("searches", "clicks")}

DATA = ROOT.parent / "shared" / "data"
"""Real logs and judgments; tests of them are skipped where there are none."""


def tracked():
    """Return the files of the checkout, or of an unpacked source distribution, by their paths from ROOT."""
    if (ROOT / ".git").exists():
        told = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
        return set(told.stdout.decode().split("\0")) - {""}
    ignored = GitIgnoreSpec.from_lines((ROOT / ".gitignore").read_text(encoding="utf-8").splitlines())
    return set(ignored.match_tree_files(ROOT, negate=True)) - {"PKG-INFO"}


IMPORTED = ROOT / "tests" / "unit" / "inputs" / "importers" / "cases"
"""Foreign files, and what importers make of them: a folder each."""
