"""Read a simulated log into plain Python, and the formulas of method 5 and 6 as plain loops."""

import json
from collections import defaultdict
from dataclasses import dataclass
from math import log2
from pathlib import Path

import polars as pl


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


def err(grades):
    value, reached = 0.0, 1.0
    for position, grade in enumerate(grades, start=1):
        value += reached * satisfies(grade) / position
        reached *= 1 - satisfies(grade)
    return value


def rbp(grades, persistence=0.8):
    return (1 - persistence) * sum(satisfies(g) * persistence**i for i, g in enumerate(grades))


def dcg(grades):
    return sum((2**g - 1) / log2(i + 1) for i, g in enumerate(grades, start=1))


def reciprocal_rank(grades):
    return next((1 / i for i, g in enumerate(grades, start=1) if g >= 3), 0.0)


def qctr(positions):
    return len(positions)


def mean_rr(positions):
    return sum(1 / position for position in positions) / len(positions) if positions else 0.0


def max_rr(positions):
    return 1 / min(positions) if positions else 0.0


EDITORIAL = {"ERR": err, "RBP": rbp, "DCG": dcg, "RR": reciprocal_rank}
CLICKS = {"QCTR": qctr, "MeanRR": mean_rr, "MaxRR": max_rr}
