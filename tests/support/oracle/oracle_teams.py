"""Interleaved lists in plain Python: which results each ranker gave, by the sessions of the other oracles.

Shares no code with the package.
"""

from collections import Counter, defaultdict
from itertools import combinations

from support.oracle.oracle_arms import day_of, key_of
from support.oracle.oracle_log import configuration_id, search_fault, to_search, user_digest, without_repeats
from support.oracle.oracle_signals import Event, counted_events, masks_of_sessions


def draft_of(row):
    """Return the experiment and rankers that a row names, and why they are of no use; None if it names none."""
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
    """Return the rows of the table by key, and counts of searches and of sessions by (source, step, reason)."""
    drafts, counts = defaultdict(list), Counter()
    for row in searches:
        if search_fault(row, settings) is None:
            draft, fault = draft_of(row)
            drafts[key_of(to_search(row, settings))].append(draft)
            if draft or fault:
                counts["teams", "read", ""] += 1
                counts["teams", "rejected" if fault else "kept", fault or ""] += 1
    usable, events, _, _ = counted_events(searches, clicks, settings)
    events += [Event(one, time, url, "click", None) for one in usable for time, url in one.clicks]
    named = {id(one): min(drafts[key_of(one)], key=as_text) for one in usable}
    members = defaultdict(list)
    for one in usable:
        members[one.user_id, one.visit, one.market, one.query].append(one)
    rows, depth = Counter(), max(settings["depth"])
    for begun, masks in masks_of_sessions(usable, events, settings):
        draft = named[id(begun)]
        if (
            draft is None
            or not is_kept(begun.market, begun.query)
            or not lasts(spans, draft[0], begun.timestamp)
        ):
            continue
        own = members[begun.user_id, begun.visit, begun.market, begun.query]
        shown = without_repeats(begun.results)
        if any(named[id(one)] != draft for one in own if one.page == 1):
            counts["interleaved", "left out", "searches differ in teams"] += 1
        elif len(shown) < len(begun.results):
            counts["interleaved", "left out", "a result is shown again"] += 1
        else:
            counts["interleaved", "kept", ""] += 1
            place = configuration_id(begun.market, begun.query, shown[:depth])
            fold = user_digest(begun.user_id) % settings["folds"]
            for pair in pairs_of(draft, depth):
                for signal, mask in {"click": 0, **masks}.items():
                    rows[(draft[0], *pair[:2], place, fold, *pair[2:], signal, mask)] += 1
    return dict(rows), counts


def pairs_of(draft, depth):
    """Return each two rankers of a draft, and the masks of their places; a ranker alone is with nobody."""
    masks = dict.fromkeys(sorted({*draft[1:]} - {None}), 0)
    for place, name in enumerate(draft[1 : depth + 1]):
        if name:
            masks[name] |= 1 << place
    if len(masks) == 1:
        return [(*masks, "", *masks.values(), 0)]
    return [(a, b, masks[a], masks[b]) for a, b in combinations(masks, 2)]
