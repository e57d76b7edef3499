"""The whole method in plain Python: from rows of logs and judgments to every number of a run."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from support.oracle.oracle_cascade_effects import cascade_effects
from support.oracle.oracle_classes import click_entropies, splits
from support.oracle.oracle_correlation import Rows, with_noise
from support.oracle.oracle_log import (
    Funnel,
    Row,
    Session,
    Settings,
    log_to_sessions,
    normalise_query,
    pattern_table,
)
from support.oracle.oracle_metrics import (
    CLICK_METRICS,
    Configuration,
    Grades,
    judged_configurations,
    metric_row,
    read_judgments,
)
from support.oracle.oracle_tables import comparisons, correlations, difference_comparisons, differences
from support.oracle.oracle_within import (
    WithinLists,
    lists_of_groups,
    within,
    within_comparisons,
    within_influence,
)

Answer = dict[str, dict[Any, Any]]
"""Tables by name, each a dict from the key of a row to its values."""

Classes = dict[tuple[str, str], dict[str, str]]
"""By market and split, the class of each query."""

Place = tuple[Rows, list[str], Classes]
"""The lists of a market with their noise, the names of the offline metrics, and the classes of queries."""

Key = tuple[str, int, str]
"""A market, a depth and a judge."""

Places = dict[Key, Place]

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
        ``statistics``, ``judged`` (… id), ``correlations`` (… split, class, click and offline metric),
        ``differences`` (… click and offline metric), ``comparisons`` and
        ``difference_comparisons`` (… click metric and two offline metrics),
        ``cascade_effects`` (… rank), ``entropies`` (bits by query); ``run_shown`` {(id, day): sessions} of
        the judged configurations; and the tables of `within_tables`.
    """
    funnel: Funnel = Counter()
    sessions = log_to_sessions(searches, clicks, settings, funnel)
    grades = read_judgments(judgments, sessions, settings, funnel)
    answer: Answer = {
        **pattern_table(sessions, settings),
        **{name: {} for name in ("statistics", "judged", "entropies", "cascade_effects")},
        **{name: {} for name in ("correlations", "differences", "comparisons", "difference_comparisons")},
        "run_shown": {},
    }
    places: Places = {}
    for key in samples(sessions, grades, settings):
        judged = judged_lists(key, sessions, grades, settings, funnel)
        formed = funnel["sessions", key[0], 0, "all", "formed", ""]
        places[key] = place_of(key[0], judged, queries, settings)
        add_sample(answer, key, judged, places[key], formed)
    answer["funnel"] = {key: rows for key, rows in funnel.items() if rows}
    return answer | within_tables(places)


def judged_places(
    searches: list[Row],
    clicks: list[Row],
    judgments: list[Row],
    queries: list[Row] | None,
    settings: Settings,
) -> Places:
    """Return the judged lists of every market, depth and judge of a log."""
    funnel: Funnel = Counter()
    sessions = log_to_sessions(searches, clicks, settings, funnel)
    grades = read_judgments(judgments, sessions, settings, funnel)
    return {
        key: place_of(key[0], judged_lists(key, sessions, grades, settings, funnel), queries, settings)
        for key in samples(sessions, grades, settings)
    }


def samples(sessions: list[Session], grades: Grades, settings: Settings) -> list[Key]:
    """Return every (market, depth, judge) of a run."""
    markets = sorted({session.market for session in sessions})
    return [
        (market, depth, judge)
        for market in markets
        for depth in sorted(set(settings["depth"]))
        for judge in grades.judges()
    ]


def judged_lists(
    key: Key, sessions: list[Session], grades: Grades, settings: Settings, funnel: Funnel
) -> list[Configuration]:
    """Return the judged lists of a market, depth and judge."""
    market, depth, judge = key
    return judged_configurations(sessions, grades, settings, funnel, market=market, depth=depth, judge=judge)


def place_of(
    market: str, judged: list[Configuration], queries: list[Row] | None, settings: Settings
) -> Place:
    """Return the rows of judged lists of a market, their metrics, and the classes of their queries."""
    metrics = [metric_row(one, settings) for one in judged]
    rows = with_noise(metrics, judged, settings)
    groups = {normalise_query(row["query"]): row["group"] for row in queries or () if "group" in row}
    named = [row | {"market": market, "group": groups.get(row["query"])} for row in rows]
    by_split = splits(named, judged, queries, market) if named else {}
    classes = {(market, split): labels for split, labels in by_split.items()}
    return named, [name for one in metrics[:1] for name in one if name not in NOT_METRICS], classes


def add_sample(answer: Answer, key: Key, judged: list[Configuration], place: Place, formed: int) -> None:
    """Add the numbers of one market, depth and judge to the answer."""
    rows, names, classes = place
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
    columns = ("query", "results", "grades", "n_sessions", *CLICK_METRICS, *names)
    for configuration, row in zip(judged, rows, strict=True):
        answer["judged"][*key, configuration.name] = {name: row[name] for name in columns}
        answer["run_shown"] |= {
            (configuration.name, day): sessions
            for day, sessions in Counter(configuration.days).items()
            if day is not None
        }
    if rows:
        for (_, split), labels in classes.items():
            add_classes(answer, (*key, split), rows, names, labels)
        for name, make in OVERALL.items():
            answer[name] |= {(*key, *metrics): values for metrics, values in make(rows, names).items()}


OVERALL = {
    "differences": differences,
    "comparisons": comparisons,
    "difference_comparisons": difference_comparisons,
}


def within_tables(places: Places, clicks: Sequence[str] = CLICK_METRICS) -> Answer:
    """Return the correlations within queries of each market, and of several together.

    ``within`` (market, depth, judge, split, class, click and offline metric), ``within_comparisons`` (…
    click metric and two offline metrics), ``within_influence`` (… click and offline metric, side, rank).
    """
    answer: Answer = {"within": {}, "within_comparisons": {}, "within_influence": {}}
    known = {key: place for key, place in places.items() if place[0]}
    for depth, judge in sorted({key[1:] for key in known}):
        own = {key[0]: place for key, place in known.items() if key[1:] == (depth, judge)}
        names = next(iter(own.values()))[1]
        every = lists_of_groups([row for rows, _, _ in own.values() for row in rows], clicks, names)
        lists = WithinLists(every, clicks, names)
        classes = {name: label for _, _, named in own.values() for name, label in named.items()}
        for market in own:
            here = [row for row in every if row["market"] == market]
            labels = {name: label for name, label in classes.items() if name[0] == market}
            add_place(answer, (market, depth, judge), lists, here, labels)
        if len(own) > 1:
            add_place(answer, ("all", depth, judge), lists, every, classes)
    return answer


def add_place(answer: Answer, key: Key, lists: WithinLists, rows: Rows, classes: Classes) -> None:
    """Add the correlations within queries of some groups, in every class that has one."""
    labels = {(split, label) for (_, split), named in classes.items() for label in named.values()}
    for split, label in labels:
        own = [row for row in rows if classes.get((row["market"], split), {}).get(row["query"]) == label]
        if own or split == "all":
            for pair, values in within(lists, own, rows).items():
                answer["within"][*key, split, label, *pair] = values
    for name, of_place in (
        ("within_comparisons", within_comparisons),
        ("within_influence", within_influence),
    ):
        answer[name] |= {(*key, *names): values for names, values in of_place(lists, rows).items()}


def add_classes(
    answer: Answer, key: tuple[str, int, str, str], rows: Rows, names: list[str], classes: dict[str, str]
) -> None:
    """Add the correlations of one sample and split in every class that has a query."""
    for label in set(classes.values()):
        own = [row for row in rows if classes[row["query"]] == label]
        for pair, values in correlations(own, names).items():
            answer["correlations"][*key, label, *pair] = values
