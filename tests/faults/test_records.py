"""Records of ours with another type at any place: a refusal in one line, or no matter; never a traceback."""

import copy
import json
import shutil

import pytest

from support.logs import tiny

ODD = (None, "x", [1], {"a": 1}, -1, 10**30)
GONE = object()
REPORT = ("--iterations=5", "--depth=3", "--click-models=none")


def places(value, path=()):
    """Yield the way to each value of a record; of lists, to the first items."""
    if path:
        yield path
    items = (
        value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    )
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(value, path, odd):
    value = copy.deepcopy(value)
    at = value
    for key in path[:-1]:
        at = at[key]
    if odd is GONE:
        del at[path[-1]]
    else:
        at[path[-1]] = odd
    return value


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder, and the records of a store and a plan in it, each with a quick and a whole reader."""
    folder = tmp_path_factory.mktemp("records")
    log = tiny.write_log(folder)
    store, plan, out = folder / "store", folder / "plan", folder / "out"
    inputs = ("--searches", log.searches, "--clicks", log.clicks, "--depth=3", "--threads=1")
    tiny.said_by("patterns", *inputs, "--store", store)
    rows = [(query, tiny.url_of(query, page), page + 1) for query in tiny.QUERIES for page in range(3)]
    lines = "\n".join(f"{query},{url},{rank}" for query, url, rank in rows)
    (folder / "ranking.csv").write_text(f"query,url,rank\n{lines}\n")
    (folder / "labels.csv").write_text(f"query,url,grade\n{lines}\n")
    tiny.said_by("plan", "--ranking", folder / "ranking.csv", "--budget=5", "--out", plan)
    told, again = ("store", "info", store), ("plan", "--continue", plan, "--budget=8", "--out", out)
    report = ("report", "--patterns", store, "--judgments", log.judgments, *REPORT, "--out", out)
    return folder, {
        "store.json": (store / "store.json", told, told),
        "batch.json": (store / "000001" / "batch.json", told, report),
        "plan": (plan / "settings.json", again, again),
    }


@pytest.mark.parametrize("name", ["store.json", "batch.json", "plan"])
def test_a_record_with_another_type_anywhere_ends_in_no_traceback(made, name):
    folder, records = made
    file, quick, whole = records[name]
    good = file.read_text(encoding="utf-8")
    record = json.loads(good)
    record.pop("own_digest", None)  # it would tell of every change
    ends = set()
    try:
        for number, path in enumerate(places(record)):
            odd = GONE if number % 3 == 0 else ODD[number % len(ODD)]
            file.write_text(json.dumps(changed(record, path, odd)), encoding="utf-8")
            outcome = tiny.inside(*(whole if number % 7 == 0 else quick))
            ends.add(outcome.code)
            assert outcome.code in {0, 1, 2}, (path, odd, outcome.err)
            shutil.rmtree(folder / "out", ignore_errors=True)
    finally:
        file.write_text(good, encoding="utf-8")
    assert 2 in ends
