"""A folder that has every file which the examples of the documents name."""

import json
import shutil
from itertools import product

import polars as pl

from clickassay.inputs.simulate.simulation import simulate
from clickassay.inputs.simulate.tests import PlanOfTests
from support.logs import tiny
from support.places import IMPORTED, ROOT

QUICK = ("--iterations", "20", "--click-models", "none", "-q")
GRADES, RESULTS, QUERIES = 5, 12, 40
FOREIGN = {
    "yandex/clara/log.tsv": "CLARA2SearchLog_beta",
    "yandex/clara/judgments.tsv": "CLARA2QueryUrlRelevance_beta",
    "trec_session/2012/sessions.xml": "sessiontrack2012.xml",
    "trec_session/2012/qrels.txt": "qrels2012.txt",
    "yahoo_l18/log_and_judgments/log.txt": "search_logs-v1.txt",
    "yahoo_l18/log_and_judgments/judgments.txt": "relevance_judgments-v1.txt",
    "tiangong_st/sessions_and_labels/sessions.xml": "sessions.xml",
    "tiangong_st/sessions_and_labels/labels.txt": "human_labels.txt",
    "baidu_ultr/searches_and_labels/part.txt": "part-00000",
    "baidu_ultr/searches_and_labels/labels.txt": "annotation_data_0522.txt",
}
"""Files of the cases of importers, and their names in the examples."""


def staged(place):
    """Fill a folder; return it."""
    place.mkdir()
    _log(place)
    _runs(place)
    _rankings(place)
    _plans(place)
    _foreign(place)
    past = pl.read_csv(ROOT / "data_samples" / "past_tests.csv")
    past.with_columns(purchases="difference").write_csv(place / "past_tests.csv")
    (place / "rules.toml").write_text('rules = ["queries >= 10", "coverage >= 0.5"]\n')
    (place / "strict.toml").write_text("depth = [5]\n")
    return place


def _log(place):
    simulate("web", n_searches=4000, n_queries=QUERIES, seed=3, tests=PlanOfTests(1), out=place / "log")
    tables = {name: pl.read_parquet(place / "log" / f"{name}.parquet") for name in
              ("searches", "clicks", "judgments", "queries")}  # fmt: skip
    arms = pl.read_parquet(place / "log" / "assignments.parquet", columns=["user_id", "variant"])
    named = tables["searches"].join(arms, "user_id", "left").with_columns(experiment=pl.lit("new_ranker"))
    tables["searches"] = named.cast({"variant": pl.String})
    for name in ("searches", "clicks"):
        (place / "logs" / name).mkdir(parents=True)
        for (day,), rows in tables[name].group_by(pl.col("timestamp").dt.date()):
            rows.write_parquet(place / "logs" / name / f"{day}.parquet")
    for name, table in (("july", "searches"), ("july-clicks", "clicks"), ("judgments", "judgments"),
                        ("grades", "judgments")):  # fmt: skip
        tables[table].write_parquet(place / f"{name}.parquet")
    for name in ("grades", "judgments", "judged"):
        tables["judgments"].write_csv(place / f"{name}.csv")
    tables["queries"].write_csv(place / "queries.csv")
    (place / "data_samples").mkdir()
    for name, table in tables.items():
        table.write_parquet(place / "data_samples" / f"{name}.parquet")


def _runs(place):
    log = ("--searches", place / "logs" / "searches", "--clicks", place / "logs" / "clicks")
    judged = ("--judgments", place / "grades.csv")
    tiny.said_by("run", *log, *judged, *QUICK, "--out", place / "reports" / "june")
    tables = [one for name in ("searches", "clicks", "assignments") for one in
              (f"--{name}", place / "log" / f"{name}.parquet")]  # fmt: skip
    tiny.said_by("run", *tables, *judged, *QUICK, "--out", place / "reports" / "july")
    for name in ("may", "today", "last"):
        shutil.copytree(place / "reports" / "june", place / "reports" / name)
    tiny.said_by("patterns", *log, "-q", "--out", place / "june-patterns")
    tiny.said_by("patterns", *log, "-q", "--batch", "day", "--store", place / "patterns-store")
    project = place / "project"
    project.mkdir()
    (project / "clickassay.toml").write_text(
        'out = "runs/{date}"\nrules = ["queries >= 10"]\n\n[inputs]\nsearches = "../logs/searches"\n'
        'clicks = "../logs/clicks"\njudgments = "../grades.csv"\n'
    )
    for day in ("2026-01-01", "2026-01-02"):
        shutil.copytree(place / "reports" / "june", project / "runs" / day)
    (place / "fresh").mkdir()
    shutil.copytree(place / "logs", place / "fresh" / "logs")
    shutil.copy(place / "grades.csv", place / "fresh" / "grades.csv")
    shutil.copy(place / "grades.csv", place / "logs" / "grades.csv")


def _rankings(place):
    """Write judgments and rankings as TREC has them, and their tables for plans."""
    pairs = list(product(range(QUERIES), range(RESULTS)))
    grades = {"qrels": (QUERIES, 2), "model": (QUERIES, 3), "people": (30, 2)}
    for name, (queries, step) in grades.items():
        own = (f"q{q} 0 d{n} {(q + step * n) % GRADES}\n" for q, n in pairs if q < queries)
        text = "".join(own)
        (place / f"{name}.txt").write_text(text)
        (place / f"{name}.csv").write_text("query,url,grade\n" + text.replace(" 0 ", ",").replace(" ", ","))
    for name, step in (("old", 1), ("new", 5), ("run", 7)):
        lines = (f"q{q} Q0 d{n * step % RESULTS} {n + 1} {RESULTS - n} {name}\n" for q, n in pairs)
        text = "".join(lines)
        for ending in ("txt", "run"):
            (place / f"{name}.{ending}").write_text(text)


def _plans(place):
    rows = [(f"q{q}", f"d{n}", n + 1) for q, n in product(range(QUERIES), range(RESULTS))]
    ranking = pl.DataFrame(rows, schema=["query", "url", "rank"], orient="row")
    ranking.write_parquet(place / "new.parquet")
    number = pl.int_range(pl.len())
    pairs = ranking.select("query", "url")
    grade = (number * 7 % GRADES).cast(pl.Int32)
    pairs.with_columns(grade=grade).write_csv(place / "labelled.csv")
    pairs.with_columns(grade=grade).write_parquet(place / "labels.parquet")
    pairs.with_columns(grade=grade).write_csv(place / "judged.csv")
    pairs.with_columns(length=number % 50 + 1).write_csv(place / "lengths.csv")
    pairs.with_columns(score=grade + (number % 3) / 3).write_parquet(place / "scores.parquet")
    chances = {f"p{one}": pl.lit(1 / GRADES) for one in range(GRADES)}
    pairs.with_columns(**chances).write_parquet(place / "model.parquet")


def _foreign(place):
    """Write small files of other tools under the names of the examples."""
    for file, name in FOREIGN.items():
        shutil.copy(IMPORTED / file, place / name)
    _ubi(place)
    (place / "Fold1").mkdir()
    lines = (f"{n % 3} qid:{q} 1:{n / 10} 110:{n}\n" for q, n in product((1, 2), range(4)))
    (place / "Fold1" / "test.txt").write_text("".join(lines))
    (place / "rank.train").write_text("0 1:0.5\n1 1:0.7\n2 1:0.1\n")
    (place / "rank.train.query").write_text("2\n1\n")
    (place / "trainSample").write_text("7_0\td1,d2,d3 : d1 ; 7_1\td2,d1,d3 : d2\n")
    (place / "ratings.csv").write_text("query,docid,rating\nblue shoes,d1,3\nblue shoes,d2,0\n")
    (place / "download").mkdir()
    shutil.copy(place / "ratings.csv", place / "download")
    (place / "llm-scores.csv").write_text("query,url,rating\nblue shoes,d1,0.8\nblue shoes,d2,0.1\n")
    (place / "editors.csv").write_text("query,url,grade\nblue shoes,d1,3\n")
    (place / "llm.json").write_text(json.dumps([{"query": "blue shoes", "url": "d1", "grade": 2}]))
    gains = [{"query": "shoes", "url": f"d{gain}", "rating": gain} for gain in (0, 1, 10, 100)]
    (place / "esci.json").write_text(json.dumps(gains))


def _ubi(place):
    """Write a log of User Behavior Insights, whose clicks are called `click` and `open`."""
    (place / "exports").mkdir()
    queries, events = [], []
    for number in range(1200):
        about = {"query_id": f"id-{number}", "client_id": f"c{number}"}
        about["timestamp"] = 1_767_571_200_000 + number
        hits = [f"d{(number + n) % 6}" for n in range(6)]
        queries.append({**about, "user_query": f"query {number % 3}", "query_response_hit_ids": hits})
        about["user_query"] = f"query {number % 3}"
        for place_of, url in enumerate(hits, start=1):
            shown = {"object": {"object_id": url}, "position": {"ordinal": place_of}}
            events.append({**about, "action_name": "impression", "event_attributes": shown})
        for action in ("click", "open"):
            clicked = {"object": {"object_id": hits[number % 4]}}
            events.append({**about, "action_name": action, "event_attributes": clicked})
    for name, rows in (("ubi_queries", queries), ("ubi_events", events)):
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        for folder in (place, place / "exports"):
            (folder / f"{name}.ndjson").write_text(text)
    rated = [(f"query {q}", f"d{n}", (q + n) % GRADES) for q, n in product(range(3), range(6))]
    grades = pl.read_parquet(place / "grades.parquet").select("query", "url", "grade")
    more = pl.DataFrame(rated, schema=grades.schema, orient="row")
    pl.concat([grades, more]).write_parquet(place / "grades.parquet")
