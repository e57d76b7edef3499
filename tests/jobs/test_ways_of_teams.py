"""Rankers of results of interleaved lists, by every way in: lists of each search, and rows of results."""

import json
import tomllib

import polars as pl
import pytest

import clickassay as ca
from clickassay.core.files.scratch import scratch
from clickassay.core.settings import load_settings
from clickassay.inputs.frames import Frame
from clickassay.jobs.inputs import Sources, open_log
from support.logs import tiny

TEAMS = (["new", "old", None], ["old", "new", "new"], [None, "", "old"], None)


def searches():
    """Return searches of a test `mix`; of each fourth no result has a ranker."""
    rows = tiny.searches()
    teams = [TEAMS[row % len(TEAMS)] for row in range(rows.height)]
    return rows.with_columns(pl.Series("teams", teams, dtype=pl.List(pl.String)), experiment=pl.lit("mix"))


def as_shown(rows):
    """Return a row for each result, in no order."""
    team = pl.col("teams").fill_null([None, None, None])
    shown = rows.with_columns(team).explode("results", "teams").rename({"results": "url", "teams": "team"})
    return shown.with_columns(position=pl.int_range(pl.len()).over("search_id") + 1).sort("position")


def in_cells(rows):
    """Return rows whose lists are JSON arrays in text."""
    return rows.with_columns(
        pl.col(name).map_elements(lambda some: json.dumps(some.to_list()), pl.String)
        for name in ("results", "teams")
    )


def written(frame, write, file):
    write(frame, file)
    return file


WAYS = {
    "parquet": lambda folder: written(searches(), pl.DataFrame.write_parquet, folder / "s.parquet"),
    "csv": lambda folder: written(in_cells(searches()), pl.DataFrame.write_csv, folder / "s.csv"),
    "json lines": lambda folder: written(searches(), pl.DataFrame.write_ndjson, folder / "s.jsonl"),
    "polars": lambda _: Frame(searches()), "lazy": lambda _: Frame(searches().lazy()),
    "arrow": lambda _: Frame(searches().to_arrow()), "pandas": lambda _: Frame(searches().to_pandas()),
    "categories": lambda _: Frame(searches().cast({"teams": pl.List(pl.Categorical)})),
    "enum": lambda _: Frame(searches().cast({"teams": pl.List(pl.Enum(["", "new", "old"]))})),
    "impressions": lambda folder: written(
        as_shown(searches()), pl.DataFrame.write_parquet, folder / "s.parquet"
    ),
    "impressions in csv": lambda folder: written(
        as_shown(searches()), pl.DataFrame.write_csv, folder / "s.csv"
    ),
    "impressions in a frame": lambda _: Frame(as_shown(searches())),
}  # fmt: skip


def names(teams):
    """Return teams, in which an empty name is none."""
    named = [one or None for one in teams or ()]
    return named if any(named) else None


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_same_teams(tmp_path, way):
    with scratch():
        half = open_log(
            Sources(WAYS[way](tmp_path), tiny.write_log(tmp_path).clicks), load_settings()
        ).searches
        found = half.frame.select(
            "search_id", "experiment", pl.col("teams").cast(pl.List(pl.String))
        ).collect()
    rows = sorted((int(id_), test, names(teams)) for id_, test, teams in found.iter_rows())
    given = searches().select("search_id", "experiment", "teams").iter_rows()
    assert rows == [(id_, test, names(teams)) for id_, test, teams in given]


def test_python_has_the_tables_of_tests():
    arms = ca.pattern_table(tiny.searches().with_columns(variant=pl.lit("a")), tiny.clicks(), progress=False)
    mixed = ca.pattern_table(searches(), tiny.clicks(), progress=False)
    assert arms.arms["sessions"].sum() == arms.arm_patterns["sessions"].sum() > 0
    assert set(mixed.interleaved["experiment"]) == {"mix"}
    assert "interleaved" not in arms.tables


# ---- from the command line to the table ------------------------------------------------------------


def interleaved(folder):
    """Return sessions of a pattern table by places of the rankers and clicks."""
    rows = pl.read_parquet(folder / "interleaved.parquet")
    assert set(rows["experiment"]) == {"mix"}
    key = ["ranker_a", "ranker_b", "team_a", "team_b", "click_mask"]
    return {row[:-1]: row[-1] for row in rows.group_by(key).agg(pl.col("sessions").sum()).iter_rows()}


def expected():
    """Return the same by a plain loop over the searches, each of which is a session."""
    sessions = {}
    for row, teams in enumerate(map(names, searches()["teams"].to_list())):
        if teams is None:
            continue
        mask = sum(1 << (place - 1) for place in tiny.CLICKED_PLACES[row // 3 % 2][row // 6])
        new, old = (
            sum(1 << place for place, one in enumerate(teams) if one == name) for name in ("new", "old")
        )
        key = ("new", "old", new, old, mask) if new else ("old", "", old, 0, mask)
        sessions[key] = sessions.get(key, 0) + 1
    return sessions


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("way", ["lists", "impressions", "sql", "project"])
def test_the_command_line_counts_sessions_by_ranker(tmp_path, monkeypatch, way, engine):
    monkeypatch.chdir(tmp_path)
    log = tiny.write_log(tmp_path)
    shown = as_shown(searches()).rename({"team": "ranker", "experiment": "test_id"})
    given = {
        "lists": ["--searches", WAYS["csv"](tmp_path)],
        "impressions": ["--searches", "shown.parquet"],
        "sql": [
            "--searches-sql",
            "SELECT * RENAME (ranker AS team, test_id AS experiment) FROM 'shown.parquet'",
        ],
        "project": [],
    }[way]
    shown.write_parquet("shown.parquet")
    given += ["--column", "searches.team=ranker", "--column", "searches.experiment=test_id"] * (
        way == "impressions"
    )
    if way == "project":
        (tmp_path / "clickassay.toml").write_text(
            f'depth = [3]\n[inputs]\nsearches = "shown.parquet"\nclicks = "{log.clicks}"\n'
            '[columns.searches]\nteam = "ranker"\nexperiment = "test_id"\n'
        )
    else:
        given += ["--clicks", log.clicks, "--depth", 3]
    tiny.said_by("patterns", *given, "--engine", engine, "--out", "table")
    assert interleaved(tmp_path / "table") == expected()


@pytest.mark.parametrize("rows", [searches, lambda: as_shown(searches())])
def test_python_takes_frames_with_teams(rows):
    more = {"depth": 3, "test": "mix.control=old", "progress": False, "iterations": 10}
    run = ca.run(rows(), tiny.clicks(), tiny.judgments(), **more)
    found = run.experiments.filter(metric="preference")
    assert found.select("experiment", "variant", "control", "sessions").rows() == [
        ("mix", "new", "old", sum(expected().values()))
    ]


def test_responses_of_opensearch_have_an_id_for_each_result(tmp_path):
    """As `POST /ab_tests/{id}/_search` answers: each hit has the id of the configuration that gave it."""
    rows = [
        {
            "query_id": row["search_id"], "client_id": row["user_id"], "query": row["query"],
            "test_id": "mix", "timestamp": row["timestamp"].isoformat(),
            "hits": [
                {"_id": url, "_score": 1.5, "_search_configuration_id": team}
                for url, team in zip(row["results"], row["teams"] or [None] * 3, strict=True)
            ],
        }
        for row in searches().iter_rows(named=True)
    ]  # fmt: skip
    log = tiny.write_log(tmp_path)
    (tmp_path / "responses.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    columns = {
        "search_id": "query_id", "user_id": "client_id", "experiment": "test_id", "results": "hits._id",
        "teams": "hits._search_configuration_id",
    }  # fmt: skip
    mapped = [word for ours, path in columns.items() for word in ("--column", f"searches.{ours}={path}")]
    files = ["--searches", tmp_path / "responses.jsonl", "--clicks", log.clicks]
    tiny.said_by("patterns", *files, *mapped, "--depth", 3, "--out", tmp_path / "table")
    assert interleaved(tmp_path / "table") == expected()


# ---- what commands say -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["lists", "impressions"])
def test_init_and_inspect_say_what_follows_from_teams(tmp_path, monkeypatch, shape):
    monkeypatch.chdir(tmp_path)
    rows = as_shown(searches()) if shape == "impressions" else searches()
    theirs = {"experiment": "test_id", "teams": "rankers", "team": "search_config"}
    rows = rows.rename({ours: one for ours, one in theirs.items() if ours in rows.columns})
    tiny.write_log(tmp_path / "log", searches=rows)
    tiny.said_by("init", "log")
    text = (tmp_path / "clickassay.toml").read_text()
    column = "team" if shape == "impressions" else "teams"
    note = f"searches: column {column}: its interleaved tests are reported; if control is not called control"
    assert f"# {note}" in text
    told = tomllib.loads(text)
    assert told["columns"]["searches"] == {"experiment": "test_id", column: theirs[column]}
    assert told["tests"] == {"mix": {}}
    assert '# control = "new"  # or is it "old"?' in text
    assert f"Note: {note}" in tiny.inside("inspect", "--quick").out


def test_a_run_asks_which_ranker_is_control(tmp_path):
    log = tiny.write_log(tmp_path, searches=searches())
    said = tiny.refusal(*log.options(), *tiny.QUICK)
    assert "has the variants new and old, and it is not known which is control; write [tests.mix]" in said
    outcome = tiny.inside(*log.options(), *tiny.QUICK, "--test", "mix.control=old")
    assert outcome.code in (0, 1), outcome
    rows = pl.read_parquet(log.out / "experiments.parquet")
    users = rows.filter(metric="preference").row(0, named=True)
    assert (users["experiment"], users["variant"], users["control"]) == ("mix", "new", "old")
    assert users["kind_of_test"] == "interleaved"
