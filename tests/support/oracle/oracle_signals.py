"""Signals in plain Python, from section 11 of the contract: actions, dwell times, satisfied clicks.

Shares the searches, visits and sessions of `oracle_log`, and no code with the package.
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from support.oracle.oracle_log import (
    attach_clicks,
    click_fault,
    clicked_url,
    configuration_id,
    has_column,
    idle_ms,
    normalise_query,
    number_visits,
    read_searches,
    url_form,
    user_digest,
    without_repeats,
)

NEVER = ("impression", "view", "scroll")
FOLLOWED = "satisfied if followed"


@dataclass
class Event:
    """A click or other action in time, with its search."""

    search: object
    time: int
    url: str | None
    action: str
    dwell: float | None
    key: tuple = field(default=())


def action_of(row):
    given = row.get("action")
    return (normalise_query(given) if given is not None else "") or "click"


def usable_dwell(value):
    """Return a dwell time that was given and can be used, or None."""
    if value is None or math.isnan(value) or not 0 <= value <= 1e12:
        return None
    return value


def events_of(rows, searches, target, settings):
    """Return the clicks and actions in time of usable searches with unambiguous ids."""
    uses = Counter(search.search_id for search in searches)
    by_id = {search.search_id: search for search in searches if uses[search.search_id] == 1}
    events = []
    for row in rows:
        if click_fault(row, target, set(), settings) or row["search_id"] not in by_id:
            continue
        search = by_id[row["search_id"]]
        if abs(row["timestamp"] - search.timestamp) > idle_ms(settings):
            continue
        url = clicked_url(row, target, search, settings)
        named = url_form(row["url"], settings) if target == "url" else url
        events.append(
            Event(search, row["timestamp"], url, action_of(row), row.get("dwell_seconds"), (named,))
        )
    return events


def next_event(click, events):
    """Return the first time after a click at which its visit has another search or a click, or None."""
    later = [time for time, search in events if time > click.time and search is not click.search]
    return min(later, default=None)


def visit_of(search, settings):
    """Return what tells the visit of a search from others."""
    per_query = settings.get("idle_scope", "user") == "query"
    return (search.user_id, search.visit, *((search.market, search.query) if per_query else ()))


def is_satisfied(click, events, settings, dwell):
    """Return whether a click is satisfied, and count what decided it."""
    bound = settings.get("satisfied_seconds", 30)
    given = usable_dwell(click.dwell)
    if click.dwell is not None and given is None:
        dwell["of no use"] += 1
    if given is not None:
        dwell["given"] += 1
        return given >= bound
    following = next_event(click, events)
    if following is None:
        dwell["last click"] += 1
        return settings.get("last_click", "satisfied") == "satisfied"
    dwell["next event"] += 1
    return following - click.time >= 1000 * bound


def by_convention(click, events):
    """Return whether nothing but the convention tells that a click is satisfied."""
    return usable_dwell(click.dwell) is None and next_event(click, events) is None


def signals_of(searches, rows, settings):
    """Return the rows of the table `signals` by key, and the counts of actions and of dwell times."""
    usable, counted, names, dwell = counted_events(searches, rows, settings)
    return masks_of(usable, counted, settings), names, dwell


def counted_events(searches, rows, settings):
    """Return usable searches, the events that are signals, and the counts of actions and of dwell times."""
    asked = settings.get("signal", ("auto",))
    target = "url" if has_column(rows, "url") else "position"
    clicks = [row for row in rows if action_of(row) == "click"]
    usable = read_searches(searches, settings, Counter())
    with_target = [{**row, target: row.get(target)} for row in clicks]
    attach_clicks(with_target or [{"url": None, "search_id": None}], usable, settings, Counter())
    number_visits(usable, settings)
    events = events_of(rows, usable, target, settings)
    counted = [event for event in events if is_signal(event.action, asked)]
    dwell = Counter()
    if "satisfied" in asked:
        counted += satisfied_events(usable, events, settings, dwell)
    of_each = Counter(event.action for event in counted)
    names = {name: n for name, n in of_each.items() if name not in ("satisfied", FOLLOWED)}
    by_last = of_each["satisfied"] - of_each[FOLLOWED]
    if 2 * by_last <= of_each["satisfied"]:  # both ways only where more than half rest on a convention
        counted = [event for event in counted if event.action != FOLLOWED]
    return usable, counted, names, dwell


def is_signal(action, asked):
    if action in ("click", "satisfied", FOLLOWED):
        return False
    return action in asked or ("auto" in asked and action not in NEVER)


def satisfied_events(usable, events, settings, dwell):
    """Return the satisfied clicks as events of a signal."""
    clicks = [event for event in events if event.action == "click"]
    of_visit = defaultdict(list)
    for search in usable:
        of_visit[visit_of(search, settings)].append((search.timestamp, search))
    others = defaultdict(list)
    for click in clicks:
        others[visit_of(click.search, settings)].append((click.time, None))
    satisfied = []
    for click in clicks:
        visit = visit_of(click.search, settings)
        if is_satisfied(click, of_visit[visit] + others[visit], settings, dwell):
            satisfied.append(Event(click.search, click.time, click.url, "satisfied", None))
            if settings.get("last_click", "satisfied") == "satisfied" and not by_convention(
                click, of_visit[visit] + others[visit]
            ):
                satisfied.append(Event(click.search, click.time, click.url, FOLLOWED, None))
    count_times(usable, clicks, settings, dwell)
    return satisfied


def count_times(usable, clicks, settings, dwell):
    """Count distinct clicks, and the ones that share their time with another event of their visit."""
    happening = defaultdict(set)
    for search in usable:
        happening[visit_of(search, settings), search.timestamp].add(("search", id(search)))
    for click in clicks:
        happening[visit_of(click.search, settings), click.time].add(("click", id(click.search), click.key))
    for found in happening.values():
        own = sum(one[0] == "click" for one in found)
        dwell["distinct"] += own
        dwell["at one time"] += own if len(found) > 1 else 0


def masks_of(usable, events, settings):
    """Return sessions by (configuration, fold, signal, mask above 0)."""
    rows, depth = Counter(), max(settings["depth"])
    for begun, masks in masks_of_sessions(usable, events, settings):
        name = configuration_id(begun.market, begun.query, without_repeats(begun.results)[:depth])
        for signal, mask in masks.items():
            rows[name, user_digest(begun.user_id) % settings.get("folds", 16), signal, mask] += 1
    return dict(rows)


def masks_of_sessions(usable, events, settings):
    """Yield the first search of each session that begins on the first page, and masks above 0 by signal."""
    members = defaultdict(list)
    for search in sorted(usable, key=lambda s: (s.timestamp, s.search_id)):
        members[search.user_id, search.visit, search.market, search.query].append(search)
    first = {id(search): own[0] for own in members.values() for search in own}
    depth = max(settings["depth"])
    masks = defaultdict(lambda: defaultdict(int))
    for event in events:
        begun = first[id(event.search)]
        shown = without_repeats(begun.results)[:depth]
        if begun.page == 1 and event.url in shown:
            masks[id(begun)][event.action] |= 1 << shown.index(event.url)
    for own in members.values():
        if own[0].page == 1:
            yield own[0], masks[id(own[0])]
