"""Judgments and query attributes of a messy world."""

from typing import Any

from support.oracle.messy_worlds import World, make_nulls, respell_query, respell_url
from support.oracle.oracle_log import Row, normalise_query, url_form


def draw_judgments(world: World) -> list[Row]:
    """Draw judgments of the queries' results and of other URLs, some twice, some of unknown queries."""
    rng = world.rng
    coverage = 0.98 if world.rich else rng.choice((0.6, 0.9, 1.0))
    highest = highest_grade(world)
    constant = rng.randint(0, highest) if world.chance(0.04) else None
    markets = world.markets if world.markets and world.chance(0.5) else (None,)
    only_shown = world.chance(0.3)  # a small pool makes a result that is shown twice count
    judgments = []
    for query in [*world.queries, *(["of no search"] if world.chance(0.5) else [])]:
        shown = dict.fromkeys(url for results in world.lists.get(query, []) for url in results)
        for judge in world.judges or (None,):
            for market in markets:
                for url in shown if only_shown else world.urls:
                    if world.chance(coverage):
                        grade = rng.randint(0, highest) if constant is None else constant
                        judgments += judgment_rows(world, query, url, grade, judge=judge, market=market)
    make_nulls(world, judgments)
    return judgments


def highest_grade(world: World) -> int:
    """Return the highest grade of the world's scale."""
    settings = world.settings
    return len(settings["scale"]) - 1 if "scale" in settings else int(settings.get("max_grade", 4))


def judgment_rows(
    world: World, query: str, url: str, grade: int, *, judge: str | None, market: str | None
) -> list[Row]:
    """Return a judgment, sometimes twice, in one of its spellings; labels when the scale has labels."""
    rows = []
    for _ in range(1 + world.chance(0.05)):
        row: Row = {"query": respell_query(world, query), "url": respell_url(world, url), "grade": grade}
        if world.settings["conflicts"] == "max" and world.chance(0.1):
            row["grade"] = world.rng.randint(0, highest_grade(world))
        if "scale" in world.settings:
            row["grade"] = world.settings["scale"][row["grade"]]
        rows.append(row | ({"judge": judge} if judge else {}) | ({"market": market} if market else {}))
    return rows


def settle_contradictions(world: World, judgments: list[Row]) -> None:
    """Give every judgment of one thing the grade of its first judgment, unless a rule settles them."""
    if world.settings["conflicts"] == "max":
        return
    first: dict[tuple[Any, ...], Any] = {}
    for row in judgments:
        if None not in row.values():
            query, url = normalise_query(row["query"]), url_form(row["url"], world.settings)
            row["grade"] = first.setdefault((row.get("judge"), row.get("market"), query, url), row["grade"])


def draw_attributes(world: World) -> list[Row] | None:
    """Draw the attributes of some queries: navigational mostly, a text and a number sometimes."""
    rng = world.rng
    if world.chance(0.15):
        return None
    markets = world.markets if world.markets and world.chance(0.5) else (None,)
    names = ["navigational"] if world.chance(0.85) else []
    names += [name for name in ("topic", "tier") if world.chance(0.4)] or (["topic"] if not names else [])
    values = {
        "navigational": (True, False, True, False, None),
        "topic": ("news", "it's \u65e5\u672c", None, "News"),
        "tier": (1, 2, None, -1),
    }
    rows = []
    for market in markets:
        texts = {normalise_query(query): query for query in world.queries if world.chance(0.85)}
        for query in [*texts.values(), "of no search", *([None] if world.chance(0.2) else [])]:
            row: Row = {"query": query} | ({"market": market} if market else {})
            rows.append(row | {name: rng.choice(values[name]) for name in names})
    return rows
