"""What it costs to fit click models on a pattern table, beside fitting them session by session.

    python -m benchmarks.cost.click_models [--searches N] [--queries N] [--models NAME …] [--naive N]

Each fit is a whole process that reads the table and writes what it found. Beside it, for the models that
take expectation maximisation, the oracle of the tests goes through sessions one by one in plain Python: both
do the same rounds on `--naive` sessions of the log and must come to the same parameters; then each is timed
on its own log, and the ratio is that of sessions times rounds in a CPU second.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib.measuring import ROOT, WORK, clickassay, machine, made_log, measured

ROUNDS = 2


def main() -> None:
    """Print one line for each model."""
    options = _options()
    log = made_log(options.world, options.searches, options.queries)
    patterns = _patterns(log)
    print(f"{machine()}; world {options.world}, {options.searches:,} searches, {options.queries:,} queries")
    whole = _click_log(patterns)
    sessions = int(whole.sessions.sum())
    print(f"{sessions:,} sessions, {len(whole.lists):,} lists, {len(whole.rows):,} patterns, "
          f"{len(whole.documents):,} documents")  # fmt: skip
    for name in options.models:
        cost = measured(clickassay("clicks", "fit", patterns, "--click-model", name, "--out",
                                   WORK / "click-model", "--force", "--quiet"))  # fmt: skip
        told = "".join(line for line in cost.output.splitlines() if "rounds" in line)
        print(f"{name:5} {cost.cpu:7.2f} CPU s {cost.wall:7.2f} s wall {cost.peak_mb:6,.0f} MB   {told}")
    for name in options.models:
        if name in _em():
            _print_ratio(name, whole, options.naive)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = ["GCTR", "RCTR", "DCTR", "PBM", "CM", "DCM", "SDBN", "DBN", "UBM", "CCM"]
    parser.add_argument("--searches", type=int, default=14_000_000)
    parser.add_argument("--queries", type=int, default=5_000)
    parser.add_argument("--world", default="web")
    parser.add_argument("--models", nargs="*", choices=every, default=every, metavar="NAME")
    parser.add_argument("--naive", type=int, default=20_000, help="sessions that are taken one by one")
    return parser.parse_args()


def _patterns(log: Path) -> Path:
    folder = WORK / f"click-patterns-{log.name}"
    if not folder.exists():
        files = ("--searches", log / "searches.parquet", "--clicks", log / "clicks.parquet")
        measured(clickassay("patterns", *files, "--out", folder, "--max-rejected", 0.1, "--quiet"))
    return folder


def _click_log(patterns: Path) -> Any:
    from clickassay.jobs.click_models import read_clicks  # noqa: PLC0415

    return read_clicks(patterns, market=None, depth=None).log()


def _em() -> dict[str, tuple[Callable[..., Any], Callable[..., Any]]]:
    """Return (ours, session by session) of the models that take expectation maximisation."""
    sys.path.insert(0, str(ROOT / "tests"))
    from clickassay.click_models.cascade import fit_ccm, fit_dbn, fit_dcm, fit_sdbn  # noqa: PLC0415
    from clickassay.click_models.factorised import fit_factorised  # noqa: PLC0415
    from support.logs import click_oracle as oracle  # noqa: PLC0415

    return {
        "PBM": (lambda log, **more: fit_factorised(log, by_last_click=False, **more),
                lambda log, **more: oracle.factorised_em(log, by_last_click=False, **more)),
        "UBM": (lambda log, **more: fit_factorised(log, by_last_click=True, **more),
                lambda log, **more: oracle.factorised_em(log, by_last_click=True, **more)),
        "DCM": (fit_dcm, oracle.dcm_em),
        "SDBN": (fit_sdbn, oracle.sdbn_em),
        "DBN": (fit_dbn, oracle.dbn_em),
        "CCM": (fit_ccm, oracle.ccm_em),
    }  # fmt: skip


def _print_ratio(name: str, whole: Any, naive: int) -> None:
    ours, theirs = _em()[name]
    small, one_by_one = _drawn(whole, naive)
    start = time.process_time()
    found = theirs(one_by_one, rounds=ROUNDS, pseudo_count=1.0)
    slow = len(one_by_one) * ROUNDS / (time.process_time() - start)
    gap = _check(found, ours(small, rounds=ROUNDS, tolerance=-np.inf, accelerate=False).model)
    start = time.process_time()
    fit = ours(whole)
    rounds = len(fit.objectives)
    fast = int(whole.sessions.sum()) * rounds / (time.process_time() - start)
    print(f"{name:5} {slow:12,.0f} sessions a CPU s one by one, {fast:15,.0f} from patterns: "
          f"{fast / slow:8,.0f} times   (largest gap of attraction {gap:.1e})")  # fmt: skip


def _drawn(whole: Any, number: int) -> tuple[Any, list[tuple[tuple[int, ...], tuple[int, ...], int]]]:
    """Return a log of so many sessions of the whole, drawn, and the same sessions one by one."""
    from dataclasses import replace  # noqa: PLC0415

    rng = np.random.default_rng(0)
    drawn = rng.choice(len(whole.rows), number, p=whole.sessions / whole.sessions.sum())
    rows, sessions = np.unique(drawn, return_counts=True)
    small = replace(whole, rows=whole.rows[rows], masks=whole.masks[rows], sessions=sessions.astype(np.int64))
    one_by_one = []
    for pattern in drawn:
        shown = [int(code) for code in whole.lists[whole.rows[pattern]] if code >= 0]
        mask = int(whole.masks[pattern])
        one_by_one.append((tuple(shown), tuple(mask >> place & 1 for place in range(len(shown))), 1))
    return small, one_by_one


def _check(found: tuple[Any, ...], model: Any) -> float:
    """Return the largest difference of attraction between both fits; stop when it is one of method."""
    attraction: dict[int, float] = found[0]
    gap = max(abs(model.attraction[code] - value) for code, value in attraction.items())
    if gap > 1e-9:
        sys.exit(f"the fits differ: {gap}")
    return gap


if __name__ == "__main__":
    main()
