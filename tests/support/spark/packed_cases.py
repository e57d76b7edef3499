"""SQL cases that differ in their rows alone, as one log: a run of Spark takes seconds, however few its rows.

Each case is a market of its own, and its users and search ids are kept apart, so that what it leaves can be
told from what the others leave.
"""

import csv
import json
from dataclasses import replace
from functools import cache

import polars as pl

from support.spark.packed_logs import kept_apart

SETTINGS = "depth = 3\n"
COLUMNS = {"query", "results", "search_id", "timestamp", "user_id"}
TARGETS = ("url", "position")


@cache
def target_of(case):
    """Return what names a click in a case, where the case can lie in a pack; else nothing."""
    if (case / "settings.toml").read_text(encoding="utf-8") != SETTINGS or (case / "clicks.jsonl").exists():
        return None
    searches, clicks = halves_of(case)
    named = [name for name in TARGETS if name in clicks[0]] if clicks else ["url"]
    return named[0] if {*searches[0]} == COLUMNS and len(named) == 1 else None


def halves_of(case):
    """Return the searches and the clicks of a case."""
    lines = (case / "searches.jsonl").read_text(encoding="utf-8").splitlines()
    with (case / "clicks.csv").open(newline="", encoding="utf-8") as stream:
        return [json.loads(line) for line in lines], list(csv.DictReader(stream))


def write_pack(cases, target, folder):
    """Write cases whose clicks name their target so as one log; return the paths of searches and clicks."""
    searches, clicks = [], []
    for number, case in enumerate(cases):
        shown, clicked = ([row | kept_apart(row, number) for row in rows] for rows in halves_of(case))
        searches += [row | {"market": case.name} for row in shown]
        clicks += clicked
    lines = "".join(json.dumps(row) + "\n" for row in searches)
    (folder / "searches.jsonl").write_text(lines, encoding="utf-8")
    with (folder / "clicks.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ["search_id", "timestamp", target])
        writer.writeheader()
        writer.writerows(clicks)
    return folder / "searches.jsonl", folder / "clicks.csv"


def of_case(table, case):
    """Return what the pattern table of a pack has of a case, as the table of the case alone has it."""
    lists = table.configurations.filter(market=case.name).with_columns(market=pl.lit("all"))
    own = {
        name: getattr(table, name).join(lists, on="configuration_id", how="semi")
        for name in ("patterns", "shown")
    }
    return replace(table, configurations=lists, **own)
