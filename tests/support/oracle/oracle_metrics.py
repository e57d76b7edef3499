"""Judgments and metrics (method 5 and 6) in plain Python: sessions to judged configurations."""

import math
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from operator import itemgetter
from typing import Any

from support.oracle.oracle_log import (
    EVERY,
    Funnel,
    Row,
    Session,
    Settings,
    configuration_id,
    count,
    has_column,
    known_day,
    normalise_query,
    url_form,
)

SCALE = ("bad", "fair", "good", "excellent", "perfect")
CLICK_METRICS = ("UCTR", "MaxRR", "MeanRR", "MinRR", "PLC", "SS", "QCTR")


@dataclass(frozen=True)
class Grades:
    """The kept judgments: grade by (judge, market or None, query) and URL."""

    pools: dict[tuple[str, str | None, str], dict[str, int]]
    by_market: bool

    def pool(self, judge: str, market: str, query: str) -> dict[str, int]:
        """Return all judged URLs of a query with their grades."""
        return self.pools.get((judge, market if self.by_market else None, query), {})

    def judges(self) -> list[str]:
        """Return the judges with at least one kept judgment."""
        return sorted({judge for judge, _, _ in self.pools})


@dataclass(frozen=True)
class Configuration:
    """A judged configuration at one depth with the clicked places of each of its sessions."""

    market: str
    query: str
    results: tuple[str, ...]
    grades: tuple[int, ...]
    clicked: tuple[tuple[int, ...], ...]
    pool: tuple[int, ...]
    folds: tuple[int, ...] = ()  # of the user of each session
    days: tuple[date | None, ...] = ()  # of each session of all users

    @property
    def name(self) -> str:
        """The configuration's id."""
        return configuration_id(self.market, self.query, self.results)

    @property
    def sessions(self) -> int:
        """Number of sessions: the weight of the configuration."""
        return len(self.clicked)


def max_grade(settings: Settings) -> int:
    """Return the highest grade of the scale."""
    return int(settings.get("max_grade") or len(settings.get("scale", SCALE)) - 1)


def judgment_fault(row: Row) -> str | None:
    """Return the first reason for which a judgment cannot be used, or None."""
    for name in ("query", "url", "judge", "market"):
        if name in row and row[name] is None:
            return f"null {name}"
    return None


def read_judgments(rows: list[Row], sessions: list[Session], settings: Settings, funnel: Funnel) -> Grades:
    """Return the kept judgments; of contradicting grades the greatest, as the rule `max` says."""
    by_market = has_column(rows, "market")
    grades: dict[tuple[str, str | None, str, str], int] = {}
    met: set[tuple[str, str | None, str, str, int]] = set()
    for row in rows:
        count(funnel, "judgments", "read", "")
        if fault := judgment_fault(row):
            count(funnel, "judgments", "rejected", fault)
            continue
        if row["grade"] is None:
            count(funnel, "judgments", "not judged", "no grade, -1 or a refusal")
            continue
        market = row["market"] if by_market else None
        query, url = normalise_query(row["query"]), url_form(row["url"], settings)
        key = (row.get("judge", EVERY), market, query, url)
        grade = grade_number(row["grade"], settings)
        if key in grades:
            is_same = (*key, grade) in met
            count(funnel, "judgments", "repeated", "same judgment again" if is_same else "another grade: max")
        met.add((*key, grade))
        grades[key] = resolve(grades.get(key), grade, settings)
    in_log = {(session.market if by_market else None, session.query) for session in sessions}
    pools: dict[tuple[str, str | None, str], dict[str, int]] = defaultdict(dict)
    for (judge, market, query, url), grade in grades.items():
        if (market, query) not in in_log:
            count(funnel, "judgments", "no query", "its query is not in the log")
            continue
        count(funnel, "judgments", "kept", "")
        pools[judge, market, query][url] = grade
    return Grades(dict(pools), by_market)


def grade_number(grade: int | str, settings: Settings) -> int:
    """Return a grade as a number; a label counts by its place on the scale."""
    return settings.get("scale", SCALE).index(grade) if isinstance(grade, str) else grade


def resolve(earlier: int | None, grade: int, settings: Settings) -> int:
    """Return the grade of a URL that was judged before (None = it was not)."""
    if earlier is None or earlier == grade:
        return grade
    if settings.get("conflicts", "error") != "max":
        raise ValueError("contradicting judgments: the oracle knows only the rule max")
    return max(earlier, grade)


def judged_configurations(
    sessions: list[Session],
    grades: Grades,
    settings: Settings,
    funnel: Funnel,
    *,
    market: str,
    depth: int,
    judge: str,
) -> list[Configuration]:
    """Return the configurations of a market whose top results all have a grade of the judge, sorted."""
    begun: dict[tuple[str, tuple[str, ...]], list[Session]] = defaultdict(list)
    for session in sessions:
        if session.market != market or session.page != 1:
            continue
        if len(session.results) < depth:
            step, reason = "too short", "fewer results than the depth"
        elif any(url not in grades.pool(judge, market, session.query) for url in session.results[:depth]):
            step, reason = "not judged", "a result without a grade"
        else:
            step, reason = "kept", ""
            begun[session.query, session.results[:depth]].append(session)
        count(funnel, "sessions", step, reason, market=market, depth=depth, judge=judge)
    judged = []
    counts = settings.get("counted_folds")  # of the users whose clicks count; None = of all
    for (query, results), shown in sorted(begun.items(), key=itemgetter(0)):
        own = [one for one in shown if counts is None or one.fold(settings) in counts]
        if not own:
            continue
        pool = grades.pool(judge, market, query)
        of_list = tuple(pool[url] for url in results)
        whole = of_list if settings.get("pool", "judged") == "shown" else tuple(pool.values())
        clicked = tuple(tuple(one.places(depth)) for one in own)
        folds = tuple(one.fold(settings) for one in own)
        days = tuple(known_day(one, settings) for one in shown)
        judged.append(Configuration(market, query, results, of_list, clicked, whole, folds, days))
    return judged


def click_metric(name: str, places: tuple[int, ...], grades: tuple[int, ...], success_grade: int) -> float:
    """Return a click metric of one session with clicks at `places` (ascending): method 5."""
    if not places:
        return 0.0
    values = {
        "UCTR": 1.0,
        "MaxRR": 1 / places[0],
        "MeanRR": math.fsum(1 / place for place in places) / len(places),
        "MinRR": 1 / places[-1],
        "PLC": len(places) / places[-1],
        "SS": float(any(grades[place - 1] >= success_grade for place in places)),
        "QCTR": float(len(places)),
    }
    return values[name]


def session_values(configuration: Configuration, name: str, settings: Settings) -> list[float]:
    """Return a click metric of every session of a configuration."""
    success_grade = settings.get("success_grade", 2)
    return [
        click_metric(name, places, configuration.grades, success_grade) for places in configuration.clicked
    ]


def dcg(grades: tuple[int, ...]) -> float:
    """DCG = sum (2^g - 1) / log2(i + 1)."""
    return math.fsum((2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def ndcg(grades: tuple[int, ...], pool: tuple[int, ...]) -> float:
    """DCG by the DCG of the best k grades of the pool; 0 when that is 0."""
    ideal = dcg(tuple(sorted(pool, reverse=True)[: len(grades)]))
    return dcg(grades) / ideal if ideal > 0 else 0.0


def average_precision(grades: tuple[int, ...], pool: tuple[int, ...], relevant_grade: int) -> float:
    """AP = sum of the precisions at the relevant ranks / relevant results of the pool; 0 without any."""
    relevant_in_pool = sum(grade >= relevant_grade for grade in pool)
    found, total = 0, 0.0
    for rank, grade in enumerate(grades, start=1):
        if grade >= relevant_grade:
            found += 1
            total += found / rank
    return total / relevant_in_pool if relevant_in_pool else 0.0


def reciprocal_rank(grades: tuple[int, ...], relevant_grade: int) -> float:
    """RR = 1 / rank of the first relevant result; 0 without one."""
    for rank, grade in enumerate(grades, start=1):
        if grade >= relevant_grade:
            return 1 / rank
    return 0.0


def err(grades: tuple[int, ...], highest: int) -> float:
    """ERR = sum_r (1/r) R(g_r) prod_{i<r} (1 - R(g_i)), R(g) = (2^g - 1) / 2^g_max."""
    total, still_looking = 0.0, 1.0
    for rank, grade in enumerate(grades, start=1):
        satisfied = (2**grade - 1) / 2**highest
        total += still_looking * satisfied / rank
        still_looking *= 1 - satisfied
    return total


def rbp(grades: tuple[int, ...], highest: int, persistence: float) -> float:
    """RBP(p) = (1 - p) sum_i R(g_i) p^(i-1)."""
    gains = [(2**grade - 1) / 2**highest for grade in grades]
    return (1 - persistence) * math.fsum(gain * persistence**below for below, gain in enumerate(gains))


def editorial_metrics(configuration: Configuration, settings: Settings) -> dict[str, float]:
    """Return every offline metric by name, in the order of reports."""
    grades, pool = configuration.grades, configuration.pool
    relevant, highest = settings.get("relevant_grade", 3), max_grade(settings)
    values = {
        "DCG": dcg(grades),
        "NDCG": ndcg(grades, pool),
        "AP": average_precision(grades, pool, relevant),
        "RR": reciprocal_rank(grades, relevant),
        "ERR": err(grades, highest),
        "RBP": rbp(grades, highest, settings.get("persistence", 0.8)),
    }
    if relevant - 1 >= 1:
        values[f"AP(rel={relevant - 1})"] = average_precision(grades, pool, relevant - 1)
        values[f"RR(rel={relevant - 1})"] = reciprocal_rank(grades, relevant - 1)
    values["MeanGrade"] = math.fsum(grades) / len(grades)
    values["MeanGrade@1"] = float(grades[0])
    values["P@1"] = float(grades[0] >= relevant)
    return values


def metric_row(configuration: Configuration, settings: Settings) -> dict[str, Any]:
    """Return the row of a judged configuration: its content, weight and every metric."""
    row: dict[str, Any] = {
        "query": configuration.query,
        "results": configuration.results,
        "grades": configuration.grades,
        "n_sessions": configuration.sessions,
    }
    for name in CLICK_METRICS:
        values = session_values(configuration, name, settings)
        row[name] = math.fsum(values) / len(values)
    return row | editorial_metrics(configuration, settings)
