"""Where the files lie that tests read."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

SAMPLES = ROOT / "data_samples"
SAMPLE = {name: str(SAMPLES / f"{name}.parquet") for name in ("searches", "clicks", "judgments", "queries")}
SAMPLE_LOG = {name: SAMPLE[name] for name in ("searches", "clicks")}

DATA = ROOT.parent / "shared" / "data"
"""Real logs and judgments; tests of them are skipped where there are none."""

IMPORTED = ROOT / "tests" / "unit" / "inputs" / "importers" / "cases"
"""Foreign files, and what importers make of them: a folder each."""
