"""Weighted correlation, the two virtual rankers' closed form and query classes in plain Python."""

import math
from collections import Counter, defaultdict
from typing import Any

from oracle.oracle_log import Row, Settings, normalise_query
from oracle.oracle_metrics import CLICK_METRICS, Configuration, session_values

Rows = list[dict[str, Any]]
"""Judged configurations of one market, depth and judge as rows of their metrics."""

ROUNDING = 1e-12  # values that differ by less than this part of the greatest are one value


def is_constant(values: list[float]) -> bool:
    """Tell whether the values are one value but for rounding."""
    return max(values) - min(values) <= ROUNDING * max(abs(value) for value in values)


def weighted_correlation(x: list[float], y: list[float], weights: list[int]) -> float | None:
    """Return the weighted Pearson correlation, or None where x or y does not vary."""
    if is_constant(x) or is_constant(y):
        return None
    total = sum(weights)
    mean_x = math.fsum(w * a for w, a in zip(weights, x, strict=True)) / total
    mean_y = math.fsum(w * b for w, b in zip(weights, y, strict=True)) / total
    s_xy = math.fsum(w * (a - mean_x) * (b - mean_y) for w, a, b in zip(weights, x, y, strict=True))
    s_xx = math.fsum(w * (a - mean_x) ** 2 for w, a in zip(weights, x, strict=True))
    s_yy = math.fsum(w * (b - mean_y) ** 2 for w, b in zip(weights, y, strict=True))
    return s_xy / math.sqrt(s_xx * s_yy)


def covariance(x: list[float], y: list[float]) -> float:
    """Unbiased sample covariance (divisor n - 1)."""
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    return math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / (len(x) - 1)


def by_query(rows: Rows) -> dict[str, Rows]:
    """Return the configurations of each query that has at least two of them."""
    queries: dict[str, Rows] = defaultdict(list)
    for row in rows:
        queries[row["query"]].append(row)
    return {query: own for query, own in queries.items() if len(own) >= 2}


def within_query(rows: Rows, a: str, b: str) -> float:
    """Sum over queries of the covariance of two metrics over the query's configurations."""
    queries = by_query(rows).values()
    return math.fsum(covariance([row[a] for row in own], [row[b] for row in own]) for own in queries)


def varies_within_query(rows: Rows, metric: str) -> bool:
    """Tell whether a metric differs between two configurations of one query."""
    return any(not is_constant([row[metric] for row in own]) for own in by_query(rows).values())


def closed_form(rows: Rows, click: str, editorial: str) -> float | None:
    """Sum_q S_ec / sqrt(sum_q S_ee * sum_q S_cc), or None where a metric does not vary within queries."""
    if not varies_within_query(rows, click) or not varies_within_query(rows, editorial):
        return None
    s_cc, s_ee = within_query(rows, click, click), within_query(rows, editorial, editorial)
    return within_query(rows, click, editorial) / math.sqrt(s_cc * s_ee)


def session_variances(
    configurations: list[Configuration], click: str, settings: Settings
) -> list[float] | None:
    """Return the variance between sessions of each configuration; pooled where there is one session."""
    values = [session_values(configuration, click, settings) for configuration in configurations]
    repeated = [own for own in values if len(own) >= 2]
    if not repeated:
        return None
    freedom = sum(len(own) - 1 for own in repeated)
    pooled = math.fsum((len(own) - 1) * covariance(own, own) for own in repeated) / freedom
    return [covariance(own, own) if len(own) >= 2 else pooled for own in values]


def sampling_noise(rows: Rows, click: str) -> float:
    """Sum over queries of the mean of s2_i / n_i: what sampling adds to S_cc."""
    queries = by_query(rows).values()
    return math.fsum(
        math.fsum(row[f"variance {click}"] / row["n_sessions"] for row in own) / len(own) for own in queries
    )


def noise_corrected(rows: Rows, click: str, editorial: str) -> float | None:
    """Return the closed form with the sampling noise taken out of S_cc, or None where nothing is left."""
    if closed_form(rows, click, editorial) is None or f"variance {click}" not in rows[0]:
        return None
    raw = within_query(rows, click, click)
    s_cc = raw - sampling_noise(rows, click)
    if s_cc <= ROUNDING * raw:
        return None
    return within_query(rows, click, editorial) / math.sqrt(s_cc * within_query(rows, editorial, editorial))


def sign_agreement(correlation: float | None) -> float | None:
    """1/2 + asin(rho) / pi."""
    if correlation is None:
        return None
    return 0.5 + math.asin(max(-1.0, min(1.0, correlation))) / math.pi


def with_variances(rows: Rows, configurations: list[Configuration], settings: Settings) -> Rows:
    """Add the variance between sessions of every click metric to the rows, where it is known."""
    widened = [dict(row) for row in rows]
    for click in CLICK_METRICS:
        variances = session_variances(configurations, click, settings)
        for row, variance in zip(widened, variances or [], strict=variances is not None):
            row[f"variance {click}"] = variance
    return widened


def differences(rows: Rows, editorial_names: list[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the closed form and what follows from it by (click metric, editorial metric)."""
    found = {}
    for click in CLICK_METRICS:
        for editorial in editorial_names:
            exact = closed_form(rows, click, editorial)
            found[click, editorial] = {
                "exact": exact,
                "noise_corrected": noise_corrected(rows, click, editorial),
                "sign_agreement": sign_agreement(exact),
                "n_queries": len(by_query(rows)),
            }
    return found


def correlations(rows: Rows, editorial_names: list[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the weighted correlation and what is behind it by (click metric, editorial metric)."""
    weights = [row["n_sessions"] for row in rows]
    behind = {
        "n_configurations": len(rows),
        "n_queries": len({row["query"] for row in rows}),
        "n_sessions": sum(weights),
    }
    return {
        (click, editorial): {
            "correlation": weighted_correlation(
                [row[click] for row in rows], [row[editorial] for row in rows], weights
            )
        }
        | behind
        for click in CLICK_METRICS
        for editorial in editorial_names
    }


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
