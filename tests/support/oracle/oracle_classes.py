"""The classes of queries (method 9) in plain Python."""

import math
from collections import Counter, defaultdict
from typing import Any

from support.oracle.oracle_log import Row, normalise_query
from support.oracle.oracle_metrics import Configuration

Rows = list[dict[str, Any]]


def click_entropies(configurations: list[Configuration]) -> dict[str, float]:
    """Entropy in bits of the clicked URLs of each query; 0 without a click."""
    clicks: dict[str, Counter[str]] = defaultdict(Counter)
    for configuration in configurations:
        clicks[configuration.query].update([])  # a query without a click has an entropy, too
        for places in configuration.clicked:
            clicks[configuration.query].update(configuration.results[place - 1] for place in places)
    return {query: entropy(sorted(counts.values())) for query, counts in clicks.items()}


def entropy(counts: list[int]) -> float:
    """Entropy in bits of the shares of some counts."""
    shares = [number / sum(counts) for number in counts]
    return math.fsum(-share * math.log2(share) for share in shares)


def length_class(query: str) -> str:
    """Return the class of a normalised query by its words."""
    words = max(1, len(query.split()))
    return str(words) if words < 4 else "4+"


def frequency_classes(rows: Rows) -> dict[str, str]:
    """Ten classes of queries by increasing sessions, ties by text."""
    sessions: Counter[str] = Counter()
    for row in rows:
        sessions[row["query"]] += row["n_sessions"]
    ranked = sorted(sessions, key=lambda query: (sessions[query], query))
    return {query: str(10 * rank // len(ranked) + 1) for rank, query in enumerate(ranked)}


def entropy_classes(entropies: dict[str, float]) -> dict[str, str]:
    """Three classes of queries by click entropy, ties by text."""
    ranked = sorted(entropies, key=lambda query: (entropies[query], query))
    names = ("low", "middle", "high")
    return {query: names[3 * rank // len(ranked)] for rank, query in enumerate(ranked)}


def class_name(value: object) -> str:
    """Return the class of an attribute value."""
    if value is None:
        return "unknown"
    return str(value).lower() if isinstance(value, bool) else str(value)


def attribute_classes(queries: list[Row], name: str, market: str, texts: set[str]) -> dict[str, str]:
    """Return the class of each query of a market by one attribute; 'unknown' where it has none."""
    known = {
        normalise_query(row["query"]): class_name(row[name])
        for row in queries
        if row.get("market", market) == market and row["query"] is not None
    }
    return {query: known.get(query, "unknown") for query in texts}


def splits(
    rows: Rows, configurations: list[Configuration], queries: list[Row] | None, market: str
) -> dict[str, dict[str, str]]:
    """Return the class of each query by split, `all` first."""
    texts = {row["query"] for row in rows}
    names = [name for name in (queries[0] if queries else {}) if name not in ("market", "query")]
    found = {
        "all": dict.fromkeys(texts, "all"),
        "length": {query: length_class(query) for query in texts},
        "frequency": frequency_classes(rows),
    }
    for name in names:
        found[name] = attribute_classes(queries or [], name, market, texts)
    if "navigational" not in names:
        found["click_entropy"] = entropy_classes(click_entropies(configurations))
    return found
