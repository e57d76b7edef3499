"""Interleaved lists in plain Python: which results each ranker gave, by the sessions of the other oracles.

Shares no code with the package.
"""

from collections import Counter, defaultdict
from itertools import combinations, product

from support.oracle.oracle_arms import day_of, key_of
from support.oracle.oracle_log import configuration_id, search_fault, to_search, user_digest, without_repeats
from support.oracle.oracle_signals import Event, counted_events, masks_of_sessions


def draft_of(row):
    """Return the experiment and rankers that a row names, or None; and why they are of no use."""
    teams = tuple(name or None for name in row.get("teams") or ())
    experiment = row.get("experiment", "variant")
    if not any(teams):
        return None, None
    if not experiment:
        return None, "null experiment"
    if len(teams) != len(row["results"]):
        return None, "another number than results"
    return (experiment, *teams), None


def as_text(draft):
    """Return a draft as the text by which deliveries of a search are put in order."""
    return "\x1f".join(name or "" for name in draft or ())


def lasts(spans, experiment, time):
    """Return whether a time lies between the declared ends of a test."""
    start, until = spans.get(experiment, (None, None))
    return (start is None or day_of(time) >= start) and (until is None or day_of(time) <= until)


def interleaved(searches, clicks, settings, spans, is_kept=lambda *_: True):
    """Return the rows of the table by key, and counts of searches and sessions by (source, step, reason)."""
    counts, rows, depth = Counter(), Counter(), max(settings["depth"])
    drafts = drafts_of(searches, settings, counts)
    usable, events, _, _ = counted_events(searches, clicks, settings)
    events += [Event(one, time, url, "click", None) for one in usable for time, url in one.clicks]
    named = {id(one): min(drafts[key_of(one)], key=as_text) for one in usable}
    of_session = defaultdict(set)
    for one in usable:
        if one.page == 1:
            of_session[session_of(one)].add(named[id(one)])
    for begun, masks in masks_of_sessions(usable, events, settings):
        draft, shown = named[id(begun)], without_repeats(begun.results)
        if not draft or not is_kept(begun.market, begun.query) or not lasts(spans, draft[0], begun.timestamp):
            continue
        fault = "a result is shown again" if len(shown) < len(begun.results) else ""
        fault = "searches differ in teams" if len(of_session[session_of(begun)]) > 1 else fault
        counts["interleaved", "left out" if fault else "kept", fault] += 1
        place = configuration_id(begun.market, begun.query, shown[:depth])
        fold = user_digest(begun.user_id) % settings["folds"]
        for pair, signal in product([] if fault else pairs_of(draft, depth), {"click", *masks}):
            rows[(draft[0], *pair[:2], place, fold, *pair[2:], signal, masks.get(signal, 0))] += 1
    return dict(rows), counts


def drafts_of(searches, settings, counts):
    """Return the drafts of all deliveries of a search by its key, and count the rows that name rankers."""
    drafts = defaultdict(list)
    for row in searches:
        if search_fault(row, settings) is None:
            draft, fault = draft_of(row)
            drafts[key_of(to_search(row, settings))].append(draft)
            if draft or fault:
                counts["teams", "read", ""] += 1
                counts["teams", "rejected" if fault else "kept", fault or ""] += 1
    return drafts


def session_of(search):
    """Return what tells the session of a search from others."""
    return search.user_id, search.visit, search.market, search.query


def pairs_of(draft, depth):
    """Return each two rankers of a draft, and the masks of their places; a ranker alone is with nobody."""
    masks = dict.fromkeys(sorted({*draft[1:]} - {None}), 0)
    for place, name in enumerate(draft[1 : depth + 1]):
        if name:
            masks[name] |= 1 << place
    if len(masks) == 1:
        return [(*masks, "", *masks.values(), 0)]
    return [(a, b, masks[a], masks[b]) for a, b in combinations(masks, 2)]
