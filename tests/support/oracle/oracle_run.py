"""The whole method in plain Python: from rows of logs and judgments to every number of a run."""

from collections import Counter
from typing import Any

from support.oracle.oracle_cascade_effects import cascade_effects
from support.oracle.oracle_classes import click_entropies, splits
from support.oracle.oracle_correlation import Rows, with_noise
from support.oracle.oracle_log import Funnel, Row, Session, Settings, log_to_sessions, pattern_table
from support.oracle.oracle_metrics import (
    CLICK_METRICS,
    Configuration,
    Grades,
    judged_configurations,
    metric_row,
    read_judgments,
)
from support.oracle.oracle_tables import comparisons, correlations, difference_comparisons, differences
from support.oracle.oracle_within import lists_of_groups, within, within_comparisons

Answer = dict[str, dict[Any, Any]]
"""Tables by name, each a dict from the key of a row to its values."""

Classes = dict[tuple[str, str], dict[str, str]]
"""By market and split, the class of each query."""

Place = tuple[Rows, list[str], Classes]
"""The lists of a market with their noise, the names of the editorial metrics, and the classes of queries."""

NOT_METRICS = ("query", "results", "grades", "n_sessions", *CLICK_METRICS)


def oracle(
    searches: list[Row],
    clicks: list[Row],
    judgments: list[Row],
    queries: list[Row] | None,
    settings: Settings,
) -> Answer:
    """Return every number of a run that does not depend on random draws.

    Parameters
    ----------
    searches, clicks, judgments, queries
        Rows as dicts; a column is there when rows have its key. `queries` None = not given.
    settings
        Settings by name; only `depth` must be given. Contradicting judgments need the rule `max`.

    Returns
    -------
    dict
        ``configurations`` {id: (market, query, results)}, ``patterns`` {(id, fold, mask): sessions} and
        ``queries`` {(market, query): user buckets} of the pattern table; ``funnel`` {(source, market,
        depth, judge, step, reason): rows}; and with keys that start with (market, depth, judge):
        ``statistics``, ``judged`` (… id), ``correlations`` (… split, class, click and editorial metric),
        ``differences`` (… click and editorial metric), ``comparisons`` and
        ``difference_comparisons`` (… click metric and two editorial metrics),
        ``cascade_effects`` (… rank), ``entropies`` (bits by query); ``run_shown`` {(id, day): sessions} of
        the judged configurations.
    """
    funnel: Funnel = Counter()
    sessions = log_to_sessions(searches, clicks, settings, funnel)
    grades = read_judgments(judgments, sessions, settings, funnel)
    answer: Answer = {
        **pattern_table(sessions, settings),
        **{name: {} for name in ("statistics", "judged", "entropies", "cascade_effects")},
        **{name: {} for name in ("correlations", "differences", "comparisons", "difference_comparisons")},
        "within": {},
        "run_shown": {},
        "within_comparisons": {},
    }
    places: dict[tuple[str, int, str], Place] = {}
    for market, depth, judge in samples(sessions, grades, settings):
        judged = judged_configurations(
            sessions, grades, settings, funnel, market=market, depth=depth, judge=judge
        )
        formed = funnel["sessions", market, 0, "all", "formed", ""]
        key = (market, depth, judge)
        if place := add_sample(answer, key, judged, queries, settings, formed):
            places[key] = place
    add_within(answer, places)
    answer["funnel"] = {key: rows for key, rows in funnel.items() if rows}
    return answer


def samples(sessions: list[Session], grades: Grades, settings: Settings) -> list[tuple[str, int, str]]:
    """Return every (market, depth, judge) of a run."""
    markets = sorted({session.market for session in sessions})
    return [
        (market, depth, judge)
        for market in markets
        for depth in sorted(set(settings["depth"]))
        for judge in grades.judges()
    ]


def add_sample(
    answer: Answer,
    key: tuple[str, int, str],
    judged: list[Configuration],
    queries: list[Row] | None,
    settings: Settings,
    formed: int,
) -> "Place | None":
    """Add the numbers of one market, depth and judge to the answer; return its lists and classes."""
    rows = [metric_row(configuration, settings) for configuration in judged]
    kept = sum(row["n_sessions"] for row in rows)
    answer["statistics"][key] = {
        "n_queries": len({row["query"] for row in rows}),
        "n_configurations": len(rows),
        "n_sessions": kept,
        "n_all_sessions": formed,
        "coverage": kept / formed,
    }
    answer["entropies"][key] = click_entropies(judged)
    answer["cascade_effects"] |= {(*key, rank): row for rank, row in cascade_effects(judged).items()}
    for configuration, row in zip(judged, rows, strict=True):
        answer["judged"][*key, configuration.name] = row
        answer["run_shown"] |= {
            (configuration.name, day): sessions for day, sessions in Counter(configuration.days).items()
        }
    if rows:
        widened, names = with_noise(rows, judged, settings), editorial_names(rows)
        by_split = splits(rows, judged, queries, key[0])
        for split, classes in by_split.items():
            add_classes(answer, (*key, split), widened, names, classes)
        for pair, values in differences(widened, names).items():
            answer["differences"][*key, *pair] = values
        for triple, values in comparisons(widened, names).items():
            answer["comparisons"][*key, *triple] = values
        for triple, values in difference_comparisons(widened, names).items():
            answer["difference_comparisons"][*key, *triple] = values
        with_market = [row | {"market": key[0]} for row in widened]
        return with_market, names, {(key[0], split): classes for split, classes in by_split.items()}
    return None


def add_within(answer: Answer, places: dict[tuple[str, int, str], Place]) -> None:
    """Add the correlations within queries of each market, and of several together."""
    for depth, judge in sorted({key[1:] for key in places}):
        own = {key[0]: place for key, place in places.items() if key[1:] == (depth, judge)}
        for market, (rows, names, classes) in own.items():
            add_place(answer, (market, depth, judge), lists_of_groups(rows), names, classes)
        if len(own) > 1:
            every = [row for rows, _, _ in own.values() for row in lists_of_groups(rows)]
            classes = {name: label for _, _, named in own.values() for name, label in named.items()}
            add_place(answer, ("all", depth, judge), every, next(iter(own.values()))[1], classes)


def add_place(
    answer: Answer, key: tuple[str, int, str], rows: Rows, names: list[str], classes: Classes
) -> None:
    """Add the correlations within queries of some groups, in every class that has one."""
    labels = {(split, label) for (_, split), named in classes.items() for label in named.values()}
    for split, label in labels:
        own = [row for row in rows if classes.get((row["market"], split), {}).get(row["query"]) == label]
        if own or split == "all":
            for pair, values in within(own, names).items():
                answer["within"][*key, split, label, *pair] = values
    for triple, values in within_comparisons(rows, names).items():
        answer["within_comparisons"][*key, *triple] = values


def editorial_names(rows: Rows) -> list[str]:
    """Return the names of the editorial metrics of some rows."""
    return [name for name in rows[0] if name not in NOT_METRICS]


def add_classes(
    answer: Answer, key: tuple[str, int, str, str], rows: Rows, names: list[str], classes: dict[str, str]
) -> None:
    """Add the correlations of one sample and split in every class that has a query."""
    for label in set(classes.values()):
        own = [row for row in rows if classes[row["query"]] == label]
        for pair, values in correlations(own, names).items():
            answer["correlations"][*key, label, *pair] = values
