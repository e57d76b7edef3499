"""The worlds that messy logs are drawn from: users, queries, lists, columns and settings."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from support.oracle.oracle_log import END_MS, FIRST_MS, Row, Settings, idle_ms

QUERIES = (
    "shoes",
    "running shoes",
    "red running shoes",
    "cheap red running shoes online",
    "\u0130stanbul I\u0307stanbul \u0131",  # three letters i of Turkish
    "\u039f\u0394\u039f\u03a3 \u03c3\u03c2",  # sigma, final or not
    "stra\u00dfe STRASSE \u1e9e",
    "caf\u00e9",
    "cafe\u0301",  # the same to the eye, not the same text
    "'; DROP TABLE searches; --",
    "back\\slash $name {x} %_",
    "",
    "\u65e5\u672c \u8a9e",
    "\U00010400 \u212a \u01c5 \U0001f600",  # letters whose lower case is far away, and one without
    "zero\u200bwidth nbsp\u00a0gap",
    "null",
    "\uff5e far",  # before the next as code points, after it as UTF-16
    "\U0001f600 far",
)

ODD_URLS = (
    "doc-1",
    "DOC-1",
    "",
    " ",
    "a",
    "b",
    "a\x1fb",
    "a\\u",
    "back\\slash",
    'it\'s "quoted"',
    "line\nbreak",
    "http://Host.example/line\nbreak/",
    "http://user:Pw@Host.example/Path",
    "http://Host.example",
    "http://Host.example/?",
    "http://Host.example//",
    "http://host/#/f/",
    "https://Host.example:80/x",
    "http://h:80:80/",
    "http://M\u00dcNCHEN.example/Stra\u00dfe",
    "http://\u0130\u03a3.example/\u0130\u03a3",
    "ftp://f.example:21/x",
    "x-y+z.1://Odd",
    "1http://Not.a.Scheme/",
    "mailto:Me@Example.com",
    "http://",
    "\U0001f600",
    "\uffee",
    "nul\x00byte",
)

MARKETS = ("us", "de", "\u65e5\u672c")
LABELS = ("poor", "fine", "great")


@dataclass(frozen=True)
class World:
    """What a log is drawn from."""

    rng: random.Random
    rich: bool
    settings: Settings
    start: int
    users: list[Any]
    queries: list[str]
    urls: list[str]
    lists: dict[str, list[list[str]]]
    markets: tuple[str, ...]  # () = the log has no such column
    pages: bool
    targets: tuple[str, ...]  # the columns that name what was clicked
    judges: tuple[str, ...]  # () = no such column
    damage: float  # part of the cells that become null
    respelt: float  # part of the texts that are spelt in another way

    def chance(self, part: float) -> bool:
        """Throw a coin that shows true in this part of all cases."""
        return self.rng.random() < part


def make_world(rng: random.Random) -> World:
    """Draw everything that a log is drawn from."""
    rich = rng.random() < 0.5
    settings = draw_settings(rng, rich=rich)
    queries = rng.sample(QUERIES, rng.randint(3, 8) if rich else rng.randint(1, 6))
    plain = [f"http://site{n}.example/page{n}" for n in range(6)] + [f"id{n}" for n in range(4)]
    urls = [*plain, *rng.sample(ODD_URLS, rng.randint(0, 6))]
    late = END_MS - 20 * idle_ms(settings)
    return World(
        rng=rng,
        rich=rich,
        settings=settings,
        start=rng.choices((1_236_000_000_000, FIRST_MS, late), (20, 1, 1))[0],
        users=draw_users(rng, rng.randint(5, 25) if rich else rng.randint(1, 8)),
        queries=queries,
        urls=urls,
        lists={query: draw_lists(rng, urls, max(settings["depth"]), rich=rich) for query in queries},
        markets=rng.choice(((), (), MARKETS[:1], MARKETS[:2], MARKETS)),
        pages=rng.random() < 0.4,
        targets=rng.choice((("url",), ("url",), ("position",), ("url", "position"))),
        judges=rng.choice(((), (), ("editor",), ("editor", "llm"))),
        damage=rng.choice((0.0, 0.002) if rich else (0.0, 0.01, 0.05)),
        respelt=rng.choice((0.0, 0.3)) if settings["normalise_urls"] or not rich else 0.0,
    )


def draw_settings(rng: random.Random, *, rich: bool) -> Settings:
    """Draw the settings of a run; rejected rows never stop it."""
    deepest = 5 if rich else 12
    settings: Settings = {
        "depth": tuple(rng.sample(range(1, deepest + 1), rng.randint(1, 3))),
        "idle_minutes": rng.choice((60, 60, 30, 1.5)),
        "idle_scope": rng.choice(("user", "user", "query")),
        "normalise_urls": rng.random() < 0.8,
        "folds": rng.choice((1, 1, 2, 7)),
        "max_rejected": 1.0,
        "pool": rng.choice(("judged", "shown")),
        "conflicts": rng.choice(("error", "max")),
        "persistence": rng.choice((0.8, 0.5, 0.95)),
        "iterations": 10,
        "seed": rng.randrange(1000),
    }
    scale: Settings = rng.choice(({}, {}, {"max_grade": 3}, {"max_grade": 1}, {"scale": LABELS}))
    highest = len(LABELS) - 1 if "scale" in scale else scale.get("max_grade", 4)
    relevant, success = rng.randint(1, highest), rng.randint(0, highest)
    if highest == 4 and rng.random() < 0.7:
        relevant, success = 3, 2
    # the clock of an eighth of the logs stands so that a day after it lies hours after their beginning
    clock = "2009-03-01T16:00:00" if settings["seed"] % 8 == 0 else "2100-12-31"
    return {**settings, **scale, "relevant_grade": relevant, "success_grade": success, "clock": clock}


def draw_users(rng: random.Random, number: int) -> list[Any]:
    """Draw user ids, all integers or all text."""
    if rng.random() < 0.5:
        return rng.sample([*range(-5, 60), 2**62, -(2**62)], number)
    return rng.sample(
        ["", " ", "u'1", "U'1", "\u00fc\\", "\U0001f600", *(f"u{n}" for n in range(40))], number
    )


def draw_lists(rng: random.Random, urls: list[str], depth: int, *, rich: bool) -> list[list[str]]:
    """Draw the lists that a query may show: related ones, some too short, some with a URL twice."""
    longest = min(len(urls), depth + 3)
    lists: list[list[str]] = []
    for _ in range(rng.randint(1, 5)):
        length = rng.randint(min(depth, longest), longest) if rich else rng.randint(1, longest)
        results = rng.sample(lists[-1] if lists and rng.random() < 0.6 else urls, 1)
        results = [*results, *rng.sample(urls, length)][:length]
        if rng.random() < (0.9 if rich else 0.8):
            results = list(dict.fromkeys(results))
        if rich and len(results) < depth and rng.random() < 0.9:
            results += [url for url in urls if url not in results][: depth - len(results)]
        lists.append(results)
    return lists


def respell_query(world: World, query: str) -> str:
    """Change case and white space of a query, which normalisation undoes (for most letters)."""
    if not world.chance(world.respelt):
        return query
    changes: tuple[Callable[[str], str], ...] = (
        str.upper,
        str.title,
        lambda text: f"  {text}\t",
        lambda text: text.replace(" ", "\u00a0\n "),
        lambda text: text.replace(" ", "\x1f"),
        lambda text: f"\u3000{text}\x85",
    )
    return world.rng.choice(changes)(query)


def respell_url(world: World, url: str) -> str:
    """Change the spelling of a URL in ways that normalisation undoes (for plain URLs)."""
    if "://" not in url or not world.chance(world.respelt):
        return url
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    changes = (
        f"{scheme.upper()}://{rest}",
        f"{scheme}://{host.upper()}{slash}{path}",
        f"{scheme}://{host}:{443 if scheme == 'https' else 80}{slash}{path}",
        f"{url}/",
        f"{url}#Part?x=/",
        f"{scheme.title()}://{host.title()}:80{slash}{path}/#",
    )
    return world.rng.choice(changes)


def make_nulls(world: World, rows: list[Row]) -> None:
    """Make some cells of every column null."""
    for row in rows:
        for name in row:
            if world.chance(world.damage):
                row[name] = None
