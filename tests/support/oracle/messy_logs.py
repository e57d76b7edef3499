"""Small random logs in which everything that can go wrong goes wrong, from a `random.Random`.

A log is a *world* (who searches what, which lists are shown, which columns exist, which settings
hold) from which searches, clicks and judgments are drawn, then damaged. About half of the worlds
are *rich*: short depths, few configurations and nearly all results judged, so that correlations exist.
"""

import random
from collections import defaultdict
from typing import Any

from support.oracle.messy_judgments import draw_attributes, draw_judgments, settle_contradictions
from support.oracle.messy_worlds import World, make_nulls, make_world, respell_query, respell_url
from support.oracle.oracle_log import END_MS, FIRST_MS, Row, Settings, idle_ms, search_fault

MessyLog = tuple[list[Row], list[Row], list[Row], list[Row] | None, Settings]


def messy_log(rng: random.Random) -> MessyLog:
    """Draw a log: searches, clicks, judgments, query attributes (None = not given) and settings.

    Rows are dicts; a column exists when every row has its key. At least one search is usable and
    every judge has a judgment of it. Judgments contradict each other only under the rule `max`.
    """
    world = make_world(rng)
    searches, clicks = draw_histories(world)
    damage_log(world, searches, clicks)
    judgments = draw_judgments(world)
    add_anchor(world, searches, judgments)
    settle_contradictions(world, judgments)
    queries = draw_attributes(world)
    for rows in (searches, clicks, judgments, queries or []):
        rng.shuffle(rows)
    settings = world.settings
    if all(search_fault(row, settings) for row in searches):  # the clock stands before them all
        settings = settings | {"clock": "2100-12-31"}
    return searches, clicks, judgments, queries, settings


def seeded_log(seed: int) -> MessyLog:
    return messy_log(random.Random(seed))  # noqa: S311 - test data, not a secret


def draw_histories(world: World) -> tuple[list[Row], list[Row]]:
    """Draw every user's searches and their clicks."""
    rng = world.rng
    total = rng.randint(100, 240) if world.rich else rng.randint(30, 140)
    ids = iter(draw_search_ids(rng, total))
    lengths: dict[Any, int] = defaultdict(int)
    for _ in range(total):
        lengths[rng.choice(world.users)] += 1
    silent = world.chance(0.05)  # a log without a click
    searches: list[Row] = []
    clicks: list[Row] = []
    for user, length in lengths.items():
        time = latest = world.start + 1000 * rng.randrange(3)
        query = rng.choice(world.queries)
        for _ in range(length):
            search = draw_search(world, next(ids), user, query, time)
            own = [] if silent else draw_clicks(world, search)
            searches.append(search)
            clicks += own
            latest = max(
                [latest, time] + [click["timestamp"] for click in own if in_time(world, search, click)]
            )
            time = draw_next_time(world, time, latest)
            query = query if world.chance(0.4) else rng.choice(world.queries)
    return searches, clicks


def draw_search_ids(rng: random.Random, number: int) -> list[Any]:
    """Draw distinct search ids, all integers or all text, in no order."""
    numbers = rng.sample(range(-number, 3 * number), number)
    if rng.random() < 0.5:
        return [*numbers[:-1], 2**62]
    return [f"{rng.choice(('', 's', 'S', chr(0xFFEE), chr(0x1F600)))}{n}" for n in numbers]


def in_time(world: World, search: Row, click: Row) -> bool:
    """Tell whether a click lies within the idle limit of its search."""
    return bool(abs(click["timestamp"] - search["timestamp"]) <= idle_ms(world.settings))


def draw_next_time(world: World, time: int, latest: int) -> int:
    """Draw the time of a user's next search: soon, or about one idle limit after the latest activity."""
    rng, idle = world.rng, idle_ms(world.settings)
    if world.chance(0.15):
        return time  # the order is up to the search ids
    if world.chance(0.25):
        return time + rng.randrange(1, idle // 2)
    return latest + rng.choice((idle, idle + 1, idle - 1, 2 * idle, 3 * idle, rng.randrange(1, idle)))


def draw_search(world: World, search_id: object, user: object, query: str, time: int) -> Row:
    rng = world.rng
    results = [respell_url(world, url) for url in rng.choice(world.lists[query])]
    row: Row = {
        "search_id": search_id,
        "user_id": user,
        "query": respell_query(world, query),
        "timestamp": time,
        "results": results,
    }
    if world.markets:
        row["market"] = world.markets[0] if world.chance(0.5) else rng.choice(world.markets)
    if world.pages:
        row["page"] = rng.choices((1, 2, 3, 0), (85, 10, 4, 1))[0]
    return row


def draw_clicks(world: World, search: Row) -> list[Row]:
    """Draw the clicks of a search: most near the top and soon, some far, unknown, late or early."""
    rng, idle = world.rng, idle_ms(world.settings)
    clicks = []
    for _ in range(rng.choices((0, 1, 2, 4), (40, 35, 15, 10))[0]):
        soon = rng.randrange(0, idle)
        delay = rng.choices((soon, rng.choice((0, -1, idle, idle + 1, -idle, -idle - 1, -soon))), (75, 25))[0]
        click: Row = {"search_id": search["search_id"], "timestamp": search["timestamp"] + delay}
        last = len(search["results"])
        position = min(rng.randint(1, last), rng.randint(1, last))
        if "url" in world.targets:
            known = world.chance(0.85)
            click["url"] = respell_url(
                world, search["results"][position - 1] if known else rng.choice(world.urls)
            )
        if "position" in world.targets:
            click["position"] = position if world.chance(0.9) else rng.choice((0, -1, last + 1, last + 2, 99))
        clicks += [click, dict(click)] if world.chance(0.05) else [click]
    return clicks


def damage_log(world: World, searches: list[Row], clicks: list[Row]) -> None:
    """Deliver searches twice, use ids twice, lose searches, shift times out of range, make cells null."""
    rng, often = world.rng, 0.3 if world.rich else 1.0
    for search in rng.sample(searches, int(len(searches) * rng.choice((0, 0.1)) * often)):
        searches += draw_deliveries(world, search)
    for search in rng.sample(searches, int(len(searches) * rng.choice((0, 0.04)) * often)):
        search["search_id"] = rng.choice(searches)["search_id"]
    if rng.random() < 0.5:
        for _ in range(rng.randint(1, 3)):
            searches.remove(rng.choice(searches))  # its clicks are orphans now
    too_early_or_late = (FIRST_MS - 1, END_MS, 0, -1, FIRST_MS, END_MS - 1)
    for rows in (searches, clicks):
        for row in rng.sample(rows, int(len(rows) * world.damage)):
            row["timestamp"] = rng.choice(too_early_or_late)
        make_nulls(world, rows)
    for search in searches:
        if search["results"] is not None and world.chance(world.damage):
            results = search["results"]
            search["results"] = rng.choice(([], [None], [*results, None], [None, *results]))


def draw_deliveries(world: World, search: Row) -> list[Row]:
    """Return one or two further deliveries of a search, the same or with something changed."""
    rng = world.rng
    copies = []
    for _ in range(rng.choice((1, 1, 2))):
        copy = dict(search)
        changes: dict[str, Any] = {
            "query": rng.choice((search["query"].upper(), rng.choice(world.queries))),
            "results": rng.choice((search["results"][::-1], search["results"][:1])),
        }
        if world.markets:
            changes["market"] = rng.choice(world.markets)
        if world.pages:
            changes["page"] = rng.choice((1, 2))
        differing = rng.choice((0, 1, 2, 4))
        copy |= {name: changes[name] for name in rng.sample(list(changes), min(differing, len(changes)))}
        copies.append(copy)
    return copies


def add_anchor(world: World, searches: list[Row], judgments: list[Row]) -> None:
    """Add one search that nothing is wrong with, and a judgment of it by every judge."""
    text_user = isinstance(world.users[0], str)
    text_id = any(isinstance(search["search_id"], str) for search in searches)
    anchor = draw_search(
        world,
        "the anchor" if text_id else 10**9,
        "the anchor" if text_user else 10**9,
        world.queries[0],
        world.start,
    )
    if world.markets:
        anchor["market"] = world.markets[0]
    if world.pages:
        anchor["page"] = 1
    searches.append(anchor)
    by_market = any("market" in row for row in judgments)
    for judge in world.judges or (None,):
        row: Row = {"query": anchor["query"], "url": anchor["results"][0], "grade": 0}
        if "scale" in world.settings:
            row["grade"] = world.settings["scale"][0]
        market = {"market": world.markets[0]} if by_market else {}
        judgments.append(row | ({"judge": judge} if judge else {}) | market)
