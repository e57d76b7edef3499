"""Outcomes in plain Python, from section 11 of the contract."""

import math
from collections import Counter, defaultdict

from support.oracle.oracle_log import (
    attach_clicks,
    configuration_id,
    has_column,
    normalise_query,
    number_visits,
    read_searches,
    user_digest,
    without_repeats,
)
from support.oracle.oracle_signals import action_of


def thousandths(value):
    """Return a value in whole thousandths; None if it is none, or beyond a thousand million."""
    if value is None or not math.isfinite(value) or abs(value) > 1e9:
        return None
    return math.floor(value * 1000 + 0.5)


def outcomes_of(searches, clicks, given, settings):
    """Return the rows of the table `outcomes` by key: sessions, total, total of squares."""
    values = defaultdict(list)
    for begun, own in outcomes_of_sessions(searches, clicks, given, settings):
        shown = without_repeats(begun.results)[: max(settings["depth"])]
        key = configuration_id(begun.market, begun.query, shown)
        for name, value in own.items():
            values[key, user_digest(begun.user_id) % settings["folds"], name].append(value)
    return {key: (len(own), sum(own), sum(one * one for one in own)) for key, own in values.items()}


def outcomes_of_sessions(searches, clicks, given, settings):
    """Yield the first search of each session that begins on the first page, and its outcomes."""
    target = "url" if has_column(clicks, "url") else "position"
    plain = [{**row, target: row.get(target)} for row in clicks if action_of(row) == "click"]
    usable = read_searches(searches, settings, Counter())
    attach_clicks(plain or [{"url": None, "search_id": None}], usable, settings, Counter())
    number_visits(usable, settings)
    ordered = sorted(usable, key=lambda s: (s.timestamp, s.search_id))
    members, visits = defaultdict(list), defaultdict(list)
    for search in ordered:
        members[search.user_id, search.visit, search.market, search.query].append(search)
        visits[search.user_id, search.visit].append(search)
    by_id = given_values(given, usable)
    settings = settings | {"ratings": {row["name"] for row in given if row["kind"] is not None}}
    for own in members.values():
        if own[0].page == 1:
            yield own[0], session_values(own, visits, by_id, settings)


def given_values(given, usable):
    """Return the values that are given by search: each outcome_id once, ids of several searches left out."""
    uses = Counter(search.search_id for search in usable)
    seen, found = set(), defaultdict(list)
    for row in given:
        value = thousandths(row["value"])
        if value is None or row["search_id"] is None or row["name"] is None:
            continue
        if row["outcome_id"] is not None:
            if row["outcome_id"] in seen:
                continue
            seen.add(row["outcome_id"])
        if uses[row["search_id"]] == 1:
            found[row["search_id"]].append((normalise_query(row["name"]), value))
    return found


def session_values(own, visits, by_id, settings):
    """Return the outcomes of a session: its own searches, in order."""
    given = defaultdict(list)
    for search in own:
        for name, value in by_id.get(search.search_id, ()):
            given[name].append(value)
    values = {name: sum(rows) for name, rows in given.items()}
    for name in given.keys() & settings["ratings"]:  # several ratings of a session are averaged
        values[name] = math.floor(values[name] / len(given[name]) + 0.5)
    asked = settings.get("outcome", ())
    clicked = [time for search in own for time, _ in search.clicks]
    if "abandoned" in asked and not clicked:
        values["abandoned"] = 1000
    if "reformulated" in asked:
        last = own[-1]
        visit = visits[last.user_id, last.visit]
        after = visit[visit.index(last) + 1 :]
        limit = settings.get("reformulation_minutes", 5) * 60_000
        if after and after[0].timestamp - last.timestamp <= limit:
            between = [time for time in clicked if last.timestamp <= time <= after[0].timestamp]
            if not between:
                values["reformulated"] = 1000
    return values


def rated_place(place, outcomes, name):
    """Return the lists of a market that any session rated, with these sessions alone; of all, the days.

    `outcomes` are those of `outcomes_of`, of a log that is read at the depth of the lists.
    """
    rows, names, classes = place
    rated = []
    for row in rows:
        key = configuration_id(row["market"], row["query"], row["results"])
        own = {fold: found for (one, fold, what), found in outcomes.items() if (one, what) == (key, name)}
        n, total, squares = (sum(found[part] for found in own.values()) for part in range(3))
        if n:
            mean, spread = total / n / 1000, (squares - total * total / n) / 1e6
            values = {name: mean, f"variance {name}": spread / (n - 1) if n > 1 else None}
            by_fold = {f"by fold {name}": {fold: found[1] / 1000 for fold, found in own.items()}}
            counts = {"n_sessions": n, "by fold": {fold: found[0] for fold, found in own.items()}}
            rated.append(row | values | by_fold | counts)
    return rated, names, classes
