"""The classes of queries (method 9) in plain Python."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
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


def ranked_classes(values: dict[str, float], names: Sequence[str]) -> dict[str, str]:
    """Classes of queries of the same size by increasing values, ties by text."""
    ranked = sorted(values, key=lambda query: (values[query], query))
    return {query: names[len(names) * rank // len(ranked)] for rank, query in enumerate(ranked)}


def entropy_classes(configurations: list[Configuration]) -> dict[str, str]:
    """Thirds of the queries with a click by entropy, equal values in the third of their mean rank."""
    clicked = {one.query for one in configurations if any(one.clicked)}
    values = {query: round(bits, 9) for query, bits in click_entropies(configurations).items()}
    ranked = sorted(values[query] for query in clicked)
    found = dict.fromkeys(values, "no clicks")
    for query in clicked:
        ranks = [rank for rank, value in enumerate(ranked) if value == values[query]]
        found[query] = ("low", "middle", "high")[3 * (ranks[0] + ranks[-1]) // (2 * len(ranked))]
    return found


def frequency_classes(rows: Rows) -> dict[str, str]:
    """Ten classes of queries by increasing sessions."""
    sessions: Counter[str] = Counter()
    for row in rows:
        sessions[row["query"]] += row["n_sessions"]
    return ranked_classes(dict(sessions), [str(tenth) for tenth in range(1, 11)])


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
    names = [name for name in (queries[0] if queries else {}) if name not in ("market", "query", "group")]
    found = {
        "all": dict.fromkeys(texts, "all"),
        "length": {query: length_class(query) for query in texts},
        "frequency": frequency_classes(rows),
    }
    for name in names:
        found[name] = attribute_classes(queries or [], name, market, texts)
    if "navigational" not in names:
        found["click_entropy"] = entropy_classes(configurations)
    return found
