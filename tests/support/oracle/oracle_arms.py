"""The arms of A/B tests in plain Python: rows, dicts and loops, over the sessions of the other oracles.

Shares no code with the package.
"""

import hashlib
from collections import Counter, defaultdict
from datetime import datetime, timedelta

from support.oracle.oracle_log import (
    EVERY,
    configuration_id,
    normalise_query,
    search_fault,
    to_search,
    user_digest,
    without_repeats,
)
from support.oracle.oracle_outcomes import outcomes_of_sessions
from support.oracle.oracle_signals import Event, counted_events, masks_of_sessions

NEVER = (-(2**62), 2**62)
NO_ARM = ("", "")


class Arms:
    """Who is in which arm: by the rows of searches, or by assignments if there are any."""

    def __init__(self, searches, assignments, spans, settings):
        self.spans, self.by_search, self.by_user = spans, assignments is None, defaultdict(list)
        self.named = defaultdict(list)
        variants = defaultdict(set)
        for row in searches if self.by_search else assignments:
            user, arm = row["user_id"], arm_of(row)
            start, end = row.get("since"), row.get("until")
            span = NEVER[0] if start is None else start, NEVER[1] if end is None else end
            if user is not None and arm is not None and span[0] < span[1]:
                variants[user, arm[0]].add(arm[1])
                self.by_user[user].append((arm, span))
            if self.by_search and search_fault(row, settings) is None:
                self.named[key_of(to_search(row, settings))].append(arm or NO_ARM)
        self.in_two = {key: names for key, names in variants.items() if len(names) > 1}

    def of(self, user, time, named):
        """Return the arms of a user at a time: the one that the search names, or those assigned then."""
        found = {named} - {NO_ARM}
        if not self.by_search:
            found = {arm for arm, (start, end) in self.by_user[user] if start <= time < end}
        return {arm for arm in found if (user, arm[0]) not in self.in_two and self.lasts(arm[0], time)}

    def both(self, user, time):
        """Return the arms of a user of several variants of a test."""
        own = [(test, names) for (one, test), names in self.in_two.items() if one == user]
        return {(test, name) for test, names in own for name in names if self.lasts(test, time)}

    def lasts(self, test, time):
        """Return whether a time lies between the declared ends of a test."""
        start, until = self.spans.get(test, (None, None))
        day = day_of(time)
        return (start is None or day >= start) and (until is None or day <= until)


def arm_of(row):
    """Return the experiment and variant of a row; None if it names none."""
    arm = (row.get("experiment", "variant"), row.get("variant"))
    return arm if all(arm) else None


def key_of(search):
    """Return all that tells a search from others, its content included."""
    content = (search.market, search.query, search.results, search.page, tuple(search.as_read))
    return (search.search_id, search.user_id, search.timestamp, *content)


def day_of(time):
    """Return the day (UTC) of a time in ms."""
    return (datetime(1970, 1, 1) + timedelta(milliseconds=time)).date()


def salted_digest(user):
    """Return the digest by which a user of a test is known: the first 64 bits of an md5."""
    return int(hashlib.md5(f"clickassay\x1f{user}".encode()).hexdigest()[:16], 16)  # noqa: S324


def empty_searches(rows, settings, is_kept):
    """Return (user, time, arm) of searches on a first page whose only fault is that they found nothing."""
    found = defaultdict(list)
    for row in rows:
        is_empty = search_fault(row, settings) == "empty results" and row.get("page") in (None, 1)
        if is_empty and is_kept(row.get("market", EVERY), normalise_query(row["query"])):
            found[row["search_id"], row["user_id"], row["timestamp"]].append(arm_of(row) or NO_ARM)
    return [(user, time, min(arms)) for (_, user, time), arms in found.items()]


def kept_sessions(searches, clicks, outcomes, settings, arms, is_kept):
    """Yield user, time, arm named, configuration, masks by signal and values by outcome of each session.

    A search without results is one too, of no configuration.
    """
    usable, events, _, _ = counted_events(searches, clicks, settings)
    events += [Event(one, time, url, "click", None) for one in usable for time, url in one.clicks]
    values = {}
    if outcomes is not None:
        found = outcomes_of_sessions(searches, clicks, outcomes, settings)
        values = {key_of(begun): own for begun, own in found}
    for begun, masks in masks_of_sessions(usable, events, settings):
        if is_kept(begun.market, begun.query):
            shown, key = without_repeats(begun.results)[: max(settings["depth"])], key_of(begun)
            name, named = (
                configuration_id(begun.market, begun.query, shown),
                min(arms.named.get(key, [NO_ARM])),
            )
            yield begun.user_id, begun.timestamp, named, name, {"click": 0, **masks}, values.get(key, {})
    for user, time, named in empty_searches(searches, settings, is_kept):
        yield user, time, named, None, {"click": 0}, {}


def arm_tables(searches, clicks, settings, assignments, spans, *, outcomes=None, is_kept=lambda *_: True):
    """Return the four tables of arms by name, each as rows by key; users are a set.

    assignments: user_id, experiment, variant, since, until (ms); None = searches name arms.
    spans: first and last day by test.
    is_kept: tells of a market and query whether it is kept.
    """
    arms = Arms(searches, assignments, spans, settings)
    rows, patterns, values, users = Counter(), Counter(), defaultdict(list), set()
    sessions = kept_sessions(searches, clicks, outcomes, settings, arms, is_kept)
    for user, time, named, name, masks, found in sessions:
        own, fold = arms.of(user, time, named), user_digest(user) % settings["folds"]
        users |= {(*arm, salted_digest(user)) for arm in own | arms.both(user, time)}
        for arm in own:
            for signal, mask in masks.items():
                rows[*arm, day_of(time), fold, signal, mask] += 1
                if name is not None:
                    patterns[*arm, name, fold, signal, mask] += 1
            for outcome, value in found.items():
                values[*arm, day_of(time), fold, outcome].append(value)
    sums = {key: (len(own), sum(own), sum(one * one for one in own)) for key, own in values.items()}
    return {"arms": dict(rows), "arm_patterns": dict(patterns), "arm_outcomes": sums, "arm_users": users}
