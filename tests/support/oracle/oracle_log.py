"""The log half of the method in plain Python: rows to sessions to the pattern table.

Slow and simple on purpose: lists, dicts and loops, one rule of method 2 to 4 at a time. Shares
no code with the package, so an agreement of the two says something.
"""

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

Row = dict[str, Any]
Settings = dict[str, Any]
Funnel = Counter[tuple[str, str, int, str, str, str]]
"""Rows by (source, market, depth, judge, step, reason)."""

EVERY = "all"
FIRST_MS = 631_152_000_000  # 1990-01-01T00:00Z
END_MS = 4_133_980_800_000  # 2101-01-01T00:00Z, itself too late


@dataclass
class Search:
    """One usable search with normalised texts and, later, its clicks and visit."""

    search_id: Any
    user_id: Any
    timestamp: int
    market: str
    query: str
    results: tuple[str, ...]
    page: int
    as_read: list[str] = field(default_factory=list)
    clicks: list[tuple[int, str | None]] = field(default_factory=list)  # (time, URL; None = unknown URL)
    visit: int = 0


@dataclass(frozen=True)
class Session:
    """One user, one market and query, one visit."""

    user_id: Any
    market: str
    query: str
    results: tuple[str, ...]
    page: int
    clicked: tuple[str | None, ...]  # the URL of each click row, repeats included
    day: date  # of its first search (UTC)

    def places(self, depth: int) -> list[int]:
        """Return the positions of the distinct clicked results within `depth`, ascending."""
        found = {self.place(url) for url in self.clicked}
        return sorted(place for place in found if place is not None and place <= depth)

    def place(self, url: str | None) -> int | None:
        """Return the first place of `url` in the session's list, from 1, or None."""
        return self.results.index(url) + 1 if url is not None and url in self.results else None

    def fold(self, settings: Settings) -> int:
        return user_digest(self.user_id) % settings.get("folds", 2)


def lower_case(text: str) -> str:
    """Lower case with the two letters fixed whose lower case depends on the library or the context."""
    return text.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower()


def normalise_query(text: str) -> str:
    """White space collapsed and trimmed, lower case."""
    return lower_case(" ".join(text.split()))


def normalise_url(url: str) -> str:
    """Scheme and host lower case; default port, fragment (but #/ and #!) and one trailing slash dropped."""
    scheme_part = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", url)
    if scheme_part is None:
        return url
    scheme = scheme_part.group().removesuffix("://").lower()
    rest, sharp, fragment = url[scheme_part.end() :].partition("#")
    route = sharp + fragment if fragment[:1] in ("/", "!") else ""
    authority = re.split(r"[/?]", rest, maxsplit=1)[0]
    path, mark, query = rest[len(authority) :].partition("?")
    user, at, host = authority.rpartition("@")
    host = lower_case(host)
    if scheme in ("http", "https"):
        host = host.removesuffix(":80" if scheme == "http" else ":443")
    if not mark:
        path = path.removesuffix("/")
    return f"{scheme}://{user}{at}{host}{path}{mark}{query}{route}"


def url_form(url: str, settings: Settings) -> str:
    """Normalise a URL unless the settings switch that off."""
    return normalise_url(url) if settings.get("normalise_urls", True) else url


def configuration_id(market: str, query: str, results: tuple[str, ...]) -> str:
    """Content digest of a configuration: md5 of its escaped parts, joined by U+001F."""
    parts = [part.replace("\\", "\\\\").replace("\x1f", "\\u") for part in (market, query, *results)]
    return hashlib.md5("\x1f".join(parts).encode("utf-8")).hexdigest()  # noqa: S324 - a name, not a secret


def user_digest(user_id: object) -> int:
    """Digest of a user id: integers (or their text, up to 18 digits) by arithmetic, other text by md5."""
    text = str(user_id)
    if isinstance(user_id, int) or re.fullmatch("-?[0-9]{1,18}", text):
        return mixed_integer(int(text))
    return int(hashlib.md5(text.encode("utf-8")).hexdigest()[:15], 16)  # noqa: S324 - a bucket


def mixed_integer(number: int) -> int:
    """Two rounds of multiplication modulo the prime 2^31 - 1; the quotient is rounded towards zero."""
    prime = 2**31 - 1
    quotient = abs(number) // prime * (1 if number >= 0 else -1)
    first = (number % prime * 48271 + quotient % prime * 69621 + 11) % prime
    return (first * 1103515245 + 12345) % prime


def has_column(rows: list[Row], name: str) -> bool:
    """Tell whether the rows have a column at all (its values may still be None)."""
    return any(name in row for row in rows)


def idle_ms(settings: Settings) -> int:
    """Return the idle limit in milliseconds."""
    minutes: float = settings.get("idle_minutes", 60)
    return round(minutes * 60_000)


def time_fault(time: int | None, settings: Settings) -> str | None:
    """Return why a timestamp cannot be used, or None; a day after the clock (UTC) is the latest."""
    if time is None:
        return "null timestamp"
    since = datetime.fromisoformat(settings.get("clock", "2100-12-31")) - datetime(1970, 1, 1)
    latest = since // timedelta(milliseconds=1) + 24 * 3_600_000
    return None if FIRST_MS <= time < END_MS and time <= latest else "time out of range"


def search_fault(row: Row, settings: Settings) -> str | None:
    """Return the first reason for which a search cannot be used, or None."""
    for name in ("search_id", "user_id", "query"):
        if row[name] is None:
            return f"null {name}"
    if len(row["query"].encode()) > 200_000:
        return "query too long"
    if fault := time_fault(row["timestamp"], settings) or results_fault(row["results"]):
        return fault
    for name in ("market", "page"):
        if name in row and row[name] is None:
            return f"null {name}"
    return None


def results_fault(results: list[str | None] | None) -> str | None:
    """Return why a list of results cannot be used, or None."""
    if results is None:
        return "null results"
    if not results:
        return "empty results"
    return "null in results" if None in results else None


def to_search(row: Row, settings: Settings) -> Search:
    """Normalise the texts of a usable row."""
    results = tuple(url_form(url, settings) for url in row["results"])
    query, market, page = normalise_query(row["query"]), row.get("market", EVERY), row.get("page", 1)
    as_read = row["results"]
    return Search(row["search_id"], row["user_id"], row["timestamp"], market, query, results, page, as_read)


def read_searches(rows: list[Row], settings: Settings, funnel: Funnel) -> list[Search]:
    """Return the usable searches, each delivery once."""
    delivered: dict[tuple[Any, Any, int], list[Search]] = defaultdict(list)
    for row in rows:
        count(funnel, "searches", "read", "")
        if fault := search_fault(row, settings):
            count(funnel, "searches", "rejected", fault)
            continue
        search = to_search(row, settings)
        delivered[search.search_id, search.user_id, search.timestamp].append(search)
    kept = [
        min(same, key=lambda s: (s.market, s.query, s.results, s.page, s.as_read))
        for same in delivered.values()
    ]
    for same in delivered.values():
        count(funnel, "searches", "repeated", "delivered again", rows=len(same) - 1)
    count(funnel, "searches", "kept", "", rows=len(kept))
    for search in kept:
        distinct = len(without_repeats(search.results))
        if distinct < len(set(search.as_read)):
            count(funnel, "lists", "shortened", "URLs with one normal form")
        elif distinct < len(search.results):
            count(funnel, "lists", "shortened", "a result is shown again")
    return kept


def without_repeats(results: tuple[str, ...]) -> tuple[str, ...]:
    """Return the results of a list, each at its first place alone."""
    return tuple(dict.fromkeys(results))


def click_fault(row: Row, target: str, ambiguous: set[Any], settings: Settings) -> str | None:
    """Return the first reason for which a click cannot be used, or None; `target` is url or position."""
    if row["search_id"] is None:
        return "null search_id"
    if fault := time_fault(row["timestamp"], settings):
        return fault
    if row[target] is None:
        return f"null {target}"
    if target == "position" and row[target] < 1:
        return "position below 1"
    return "ambiguous search_id" if row["search_id"] in ambiguous else None


def clicked_url(row: Row, target: str, search: Search, settings: Settings) -> str | None:
    """Return the normalised URL of a click, or None for a position beyond its search's own list."""
    if target == "url":
        return url_form(row["url"], settings)
    return search.results[row["position"] - 1] if row["position"] <= len(search.results) else None


def names_another(place: int | None, url: str | None, results: tuple[str, ...]) -> bool:
    """Return whether a list, as it was delivered, shows another result than a URL at a place."""
    return place is not None and 1 <= place <= len(results) and results[place - 1] != url


def attach_clicks(rows: list[Row], searches: list[Search], settings: Settings, funnel: Funnel) -> None:
    """Give each search the clicks that lie within the idle limit of it."""
    uses = Counter(search.search_id for search in searches)
    ambiguous = {search_id for search_id, times in uses.items() if times > 1}
    by_id = {search.search_id: search for search in searches}
    target = "url" if has_column(rows, "url") else "position"
    for row in rows:
        count(funnel, "clicks", "read", "")
        if fault := click_fault(row, target, ambiguous, settings):
            count(funnel, "clicks", "rejected", fault)
        elif row["search_id"] not in by_id:
            count(funnel, "clicks", "unmatched", "no usable search")
        elif abs(row["timestamp"] - by_id[row["search_id"]].timestamp) > idle_ms(settings):
            count(funnel, "clicks", "out of time", "beyond the idle limit")
        else:
            count(funnel, "clicks", "kept", "")
            search = by_id[row["search_id"]]
            url = clicked_url(row, target, search, settings)
            search.clicks.append((row["timestamp"], url))
            if target == "url" and names_another(row.get("position"), url, search.results):
                count(funnel, "positions", "misplaced", "position names another result")


def number_visits(searches: list[Search], settings: Settings) -> None:
    """Number the visits of each user, or of each (user, market, query) when idleness is per query."""
    scopes: dict[tuple[Any, ...], list[Search]] = defaultdict(list)
    for search in searches:
        per_query = settings.get("idle_scope", "user") == "query"
        scopes[(search.user_id, *((search.market, search.query) if per_query else ()))].append(search)
    for own in scopes.values():
        own.sort(key=lambda s: (s.timestamp, s.search_id))
        visit, latest = 0, own[0].timestamp
        for search in own:
            if search.timestamp - latest > idle_ms(settings):
                visit += 1
            search.visit = visit
            latest = max([latest, search.timestamp] + [time for time, _ in search.clicks])


def form_sessions(searches: list[Search]) -> list[Session]:
    """Gather searches of one user, visit, market and query; the first one gives list and page."""
    members: dict[tuple[Any, ...], list[Search]] = defaultdict(list)
    for search in sorted(searches, key=lambda s: (s.timestamp, s.search_id)):
        members[search.user_id, search.visit, search.market, search.query].append(search)
    sessions = []
    for own in members.values():
        first = own[0]
        clicked = tuple(url for search in own for _, url in search.clicks)
        shown = without_repeats(first.results)
        day = (datetime(1970, 1, 1) + timedelta(milliseconds=first.timestamp)).date()
        sessions.append(Session(first.user_id, first.market, first.query, shown, first.page, clicked, day))
    return sessions


def log_to_sessions(
    searches: list[Row], clicks: list[Row], settings: Settings, funnel: Funnel
) -> list[Session]:
    """Return every session that is formed, those that begin on a later page among them."""
    usable = read_searches(searches, settings, funnel)
    attach_clicks(clicks, usable, settings, funnel)
    number_visits(usable, settings)
    sessions = form_sessions(usable)
    for session in sessions:
        count(funnel, "sessions", "formed", "", market=session.market)
        if session.page != 1:
            count(funnel, "sessions", "left out", "begins on a later page", market=session.market)
    for depth in settings["depth"]:
        count_clicked_places(sessions, depth, funnel)
    return sessions


def count_clicked_places(sessions: list[Session], depth: int, funnel: Funnel) -> None:
    """Say of every kept click what became of it at a depth."""
    for session in sessions:
        seen: set[int] = set()
        for url in session.clicked:
            place = session.place(url)
            if session.page != 1:
                step, reason = "left out", "session begins on a later page"
            elif place is None or place > depth:
                step, reason = "elsewhere", "not in the top results"
            elif place in seen:
                step, reason = "again", "same result clicked again"
            else:
                step, reason = "in patterns", ""
                seen.add(place)
            count(funnel, "clicks", step, reason, depth=depth)


def pattern_table(sessions: list[Session], settings: Settings) -> dict[str, dict[Any, Any]]:
    """Return configurations, patterns, days and queries at the deepest depth, each keyed by its key."""
    configurations: dict[Any, Any] = {}
    patterns: Counter[Any] = Counter()
    shown: Counter[Any] = Counter()
    queries: dict[Any, int] = defaultdict(int)
    depth = max(settings["depth"])
    for session in sessions:
        queries[session.market, session.query] |= 1 << (user_digest(session.user_id) % 64)
        if session.page != 1:
            continue
        content = (session.market, session.query, session.results[:depth])
        name = configuration_id(*content)
        configurations[name] = content
        mask = sum(1 << (place - 1) for place in session.places(depth))
        patterns[name, session.fold(settings), mask] += 1
        if day := known_day(session, settings):
            shown[name, day] += 1
    tables = {"configurations": configurations, "patterns": dict(patterns), "queries": dict(queries)}
    return {**tables, "shown": dict(shown)}


def known_day(session: Session, settings: Settings) -> date | None:
    """Return the day that tables have for a session, its Monday or none by the setting `periods`."""
    monday = session.day - timedelta(days=session.day.weekday())
    day = {"day": session.day, "week": monday, "none": None}[settings.get("periods", "day")]
    return None if day is None or day.day in settings.get("unknown_days", ()) else day


def count(
    funnel: Funnel,
    source: str,
    step: str,
    reason: str,
    *,
    market: str = EVERY,
    depth: int = 0,
    judge: str = EVERY,
    rows: int = 1,
) -> None:
    funnel[source, market, depth, judge, step, reason] += rows
