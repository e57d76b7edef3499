"""Read a simulated log into plain Python, and some formulas of method 5 and 6 for grades up to 4."""

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

import polars as pl

from support.oracle.oracle_metrics import dcg, err, rbp, reciprocal_rank


def rows(file):
    """Rows as dicts; times as integer milliseconds."""
    return pl.read_parquet(file).with_columns(pl.col(pl.Datetime).dt.epoch("ms")).to_dicts()


def truth_of(folder: Path) -> dict:
    return json.loads((folder / "truth.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Shown:
    """A configuration of a clean log: its grades, and for each of its searches the clicked positions."""

    query: str
    grades: tuple[int, ...]
    clicks: list[list[int]]


def shown_pages(folder: Path) -> list[Shown]:
    """The configurations of a log in which every search is a session and every result is judged."""
    grade = {(row["query"], row["url"]): row["grade"] for row in rows(folder / "judgments.parquet")}
    clicked = defaultdict(set)
    for click in rows(folder / "clicks.parquet"):
        clicked[click["search_id"]].add(click["url"])
    searches = defaultdict(list)
    for search in rows(folder / "searches.parquet"):
        urls = clicked[search["search_id"]]
        positions = [place for place, url in enumerate(search["results"], start=1) if url in urls]
        searches[search["query"], tuple(search["results"])].append(positions)
    return [
        Shown(query, tuple(grade[query, url] for url in results), clicks)
        for (query, results), clicks in searches.items()
    ]


def satisfies(grade: int) -> float:
    """R(g) = (2^g - 1) / 2^4."""
    return (2**grade - 1) / 16


EDITORIAL = {
    "ERR": partial(err, highest=4),
    "RBP": partial(rbp, highest=4, persistence=0.8),
    "DCG": dcg,
    "RR": partial(reciprocal_rank, relevant_grade=3),
}
CLICKS = {
    "QCTR": len,
    "MeanRR": lambda positions: fmean(1 / p for p in positions) if positions else 0.0,
    "MaxRR": lambda positions: 1 / min(positions) if positions else 0.0,
}
