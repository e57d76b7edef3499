"""Scores that users bring stand where metrics do: ERR as a score is ERR, and what is missing is counted."""

import json

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import clickassay as ca
from clickassay.core.errors import (
    ClickassayError,
    InputError,
    NothingInCommonError,
    RejectedRowsError,
    SettingsError,
)
from clickassay.judgments.scores import prepare_scores
from support.logs import tiny
from support.places import SAMPLE
from support.runs.given_runs import SETTINGS

REPORT = {"depth": 5, "iterations": 10, "click_models": "NONE", "progress": False}
STATISTICS = {
    "correlations": ("click_metric", "split", "class"),
    "within": ("click_metric", "split", "class"),
    "differences": ("click_metric",),
}


@pytest.fixture(scope="module")
def table():
    return ca.pattern_table(SAMPLE["searches"], SAMPLE["clicks"], depth=5, progress=False)


def reported(table, scores=None):
    return table.report(SAMPLE["judgments"], SAMPLE["queries"], scores=scores, **REPORT)


@pytest.fixture(scope="module")
def plain(table):
    return reported(table)


@pytest.fixture(scope="module")
def with_err(table, plain):
    """The run with its ERR handed in again, by query and results."""
    own = plain.configurations.select("query", "results", "market", value="ERR")
    return reported(table, own.with_columns(name=pl.lit("my score")))


@pytest.mark.parametrize("name", STATISTICS)
def test_err_as_a_score_has_the_numbers_of_err_to_the_digit(with_err, name):
    rows, key = with_err.tables[name], STATISTICS[name]
    of_err, of_score = (
        rows.filter(editorial_metric=metric).drop("editorial_metric").sort("market", "depth", *key)
        for metric in ("ERR", "my score")
    )
    assert of_err.height
    # iterations of Algorithm 3 draw anew for each metric
    exact = [name for name in of_err.columns if not name.startswith("monte_carlo")]
    # a product of matrices may round the same numbers otherwise in another column
    assert_frame_equal(of_score.select(exact), of_err.select(exact), check_exact=False, rel_tol=1e-9)


def test_a_score_changes_no_other_number(plain, with_err):
    for name in ("correlations", "within"):
        rows = with_err.tables[name]
        others = rows.filter(pl.col("editorial_metric") != "my score")
        of_family = {"p_adjusted", "simultaneous_low", "simultaneous_high"}  # which has one member more
        same = [column for column in others.columns if column not in of_family]
        assert_frame_equal(others.select(same), plain.tables[name].select(same), abs_tol=1e-12)
    assert with_err.statistics.equals(plain.statistics)


def test_a_score_competes_and_can_be_asked_for(with_err, tmp_path):
    assert "my score" in set(with_err.comparisons["metric_a"]) | set(with_err.comparisons["metric_b"])
    folder = with_err.save(tmp_path / "run")
    assert "my score" in (folder / "report.html").read_text(encoding="utf-8")
    said = tiny.said_by("check", folder, "--rule", "correlation(my score, MeanRR) >= 0")
    assert "The rule holds." in said
    assert ca.diff(with_err, with_err).tables


def test_a_score_may_be_the_metric_in_use(table, plain, tmp_path):
    own = plain.configurations.select("query", "results", "market", value="MeanGrade")
    rows = own.with_columns(name=pl.lit("my score"))
    found = table.report(SAMPLE["judgments"], scores=rows, current="my score", **REPORT)
    same = table.report(SAMPLE["judgments"], scores=rows, current="MeanGrade", **REPORT)
    assert (found.decision.current, same.decision.current) == ("my score", "MeanGrade")
    assert found.decision.kind == same.decision.kind
    folder = found.save(tmp_path / "run")
    assert ca.open_run(folder).decision.current == "my score"
    with pytest.raises(SettingsError, match="other"):
        table.report(SAMPLE["judgments"], scores=rows, current="other", **REPORT)


def test_lists_without_a_score_are_left_out_and_counted(table, plain):
    own = plain.configurations.select("configuration_id", value="ERR").with_columns(name=pl.lit("mine"))
    some = own.unique("configuration_id").sort("configuration_id").gather_every(2)
    found = reported(table, some)
    assert set(found.configurations["configuration_id"]) == set(some["configuration_id"])
    counts = {
        (row["market"], row["step"]): row["rows"]
        for row in found.funnel.filter(source="sessions", depth=5).iter_rows(named=True)
    }
    before = dict(plain.statistics.select("market", "n_sessions").rows())
    for market, sessions in before.items():
        assert counts[market, "kept"] + counts[market, "not scored"] == sessions
    read = dict(found.funnel.filter(source="scores").select("step", "rows").rows())
    assert read == {"read": some.height, "kept": some.height}


def test_several_values_of_a_list_are_averaged_in_any_order(table, plain):
    ids = plain.configurations["configuration_id"].unique().sort()
    rng = np.random.default_rng(0)
    values = rng.random((3, len(ids)))
    rows = pl.concat(
        [pl.DataFrame({"configuration_id": ids, "name": "mine", "value": column}) for column in values]
    )
    found = reported(table, rows.sample(fraction=1, shuffle=True, seed=3))
    assert found == reported(table, rows)
    means = dict(zip(ids, np.sort(values, axis=0).mean(axis=0), strict=True))
    for name, value in found.configurations.select("configuration_id", "mine").iter_rows():
        assert value == pytest.approx(means[name])
    assert dict(found.funnel.filter(source="scores").select("step", "rows").rows())["averaged"] == 2 * len(
        ids
    )


def test_lists_that_are_the_same_at_a_smaller_depth_have_the_mean_over_their_sessions():
    table = ca.pattern_table(SAMPLE["searches"], SAMPLE["clicks"], depth=5, progress=False)
    lists = table.configurations
    scores = lists.select("configuration_id", value=pl.int_range(pl.len())).with_columns(name=pl.lit("n"))
    found = table.report(SAMPLE["judgments"], scores=scores, **{**REPORT, "depth": 2}).configurations
    sessions = table.patterns.group_by("configuration_id").agg(pl.col("sessions").sum())
    plain = {}
    graded = {(q, u) for q, u in pl.read_parquet(SAMPLE["judgments"]).select("query", "url").iter_rows()}
    joined = lists.join(sessions, on="configuration_id").join(scores, on="configuration_id")
    for row in joined.iter_rows(named=True):
        if len(row["results"]) >= 2 and all((row["query"], url) in graded for url in row["results"][:2]):
            plain.setdefault((row["market"], row["query"], tuple(row["results"][:2])), []).append(
                (row["sessions"], row["value"])
            )
    shown = {
        (row["market"], row["query"], tuple(row["results"])): row["n"] for row in found.iter_rows(named=True)
    }
    assert shown.keys() == plain.keys()
    for key, parts in plain.items():
        assert shown[key] == pytest.approx(sum(n * v for n, v in parts) / sum(n for n, _ in parts))


@pytest.mark.parametrize("as_text", [False, True])
def test_a_search_names_its_list(as_text, tmp_path):
    searches, clicks = tiny.searches(), tiny.clicks()
    if as_text:
        searches, clicks = (rows.cast({"search_id": pl.String}) for rows in (searches, clicks))
    value = pl.col("results").list.first().hash(1).cast(pl.Float64)
    by_search = searches.select("search_id", value=value, name=pl.lit("mine"))
    by_list = searches.select("query", "results", value=value, name=pl.lit("mine"))
    runs = [
        ca.run(searches, clicks, tiny.judgments(), scores=rows, **{**REPORT, "depth": 3})
        for rows in (by_search, by_list)
    ]
    assert runs[0].configurations.equals(runs[1].configurations)
    assert runs[0].correlations.equals(runs[1].correlations)
    unknown = pl.lit("no" if as_text else -5).cast(by_search["search_id"].dtype)
    others = by_search.head(5).with_columns(search_id=unknown)  # of other days: no fault
    more = {**REPORT, "depth": 3}
    found = ca.run(searches, clicks, tiny.judgments(), scores=pl.concat([by_search, others]), **more)
    assert found.configurations.equals(runs[0].configurations)
    counts = dict(found.funnel.filter(source="scores").select("step", "rows").rows())
    assert counts == {"read": 29, "averaged": 18, "no list": 5, "kept": 6}


@pytest.mark.parametrize("key", ["search_id", "query"])
def test_lists_that_the_log_leaves_out_have_no_score_to_give(key):
    odd = pl.Series("results", [[], [None], ["http://one.example/"]], dtype=pl.List(pl.String))
    more = tiny.searches().head(3).with_columns(odd, search_id=pl.int_range(100, 103))
    searches = pl.concat([tiny.searches(), more])
    names = ("search_id",) if key == "search_id" else ("query", "results")
    rows = searches.select(*names, name=pl.lit("mine"), value=pl.int_range(pl.len()) * 1.0)
    settings = {**REPORT, "depth": 3, "max_rejected": 0.2}
    found = ca.run(searches, tiny.clicks(), tiny.judgments(), scores=rows, **settings)
    plain = ca.run(tiny.searches(), tiny.clicks(), tiny.judgments(), scores=rows.head(24), **settings)
    assert found.configurations.equals(plain.configurations)
    counts = dict(found.funnel.filter(source="scores", step="no list").select("reason", "rows").rows())
    # a session has the list of its first search: the third of these searches is of one that was there
    assert counts == {"empty results": 1, "null in results": 1, "its ranking is not in the log": 1}


def test_a_pattern_table_has_no_searches(table):
    by_search = pl.DataFrame({"search_id": [1], "name": ["mine"], "value": [1.0]})
    with pytest.raises(InputError, match="scores by search_id need the log"):
        reported(table, by_search)


def rows(**changed):
    base = {"query": ["maps"] * 4, "results": [["a", "b"]] * 4, "name": ["x"] * 4, "value": [1.0, 2, 3, 4]}
    base |= changed
    types = {"configuration_id": pl.String, "market": pl.String}
    frame = pl.DataFrame(base)
    return frame.with_columns(pl.lit(None, dtype).alias(n) for n, dtype in types.items() if n not in base)


def prepared(**changed):
    return prepare_scores(rows(**changed), SETTINGS, by_market=False, deepest=5)


@pytest.mark.parametrize("name", ["ERR", "meanrr", "query", "a,b", "", "x(y)", "<b>", "\x1b[31m"])
def test_a_name_that_something_else_has_or_no_rule_could_hold_is_refused(name):
    with pytest.raises(InputError, match="is not a valid name of a score"):
        prepared(name=[name] * 4)


def test_values_that_are_no_numbers_are_counted_and_too_many_stop_the_run():
    odd = {"value": [1.0, float("nan"), float("inf"), None], "name": ["x", "x", "x", "x"]}
    with pytest.raises(RejectedRowsError, match=r"scores: 3 of 4 rows are unusable .3 with no finite"):
        prepared(**odd)
    lax = SETTINGS.model_copy(update={"max_rejected": 0.9})
    found = prepare_scores(rows(**odd), lax, by_market=False, deepest=5)
    assert found.counts["rejected", "no finite number"] == 3
    text = prepare_scores(rows(value=["1", "2", "3", "many"]), lax, by_market=False, deepest=5)
    assert text.counts["rejected", "no finite number"] == 1


def test_scores_that_nothing_joins_to_lists_are_refused():
    with pytest.raises(InputError, match="which ranking each score belongs to; add config"):
        prepared(results=[None] * 4)
    with pytest.raises(InputError, match="9 names, such as n0, n1 and n2; at most 8 can be compared"):
        prepare_scores(
            pl.concat([rows(name=[f"n{n}"] * 4) for n in range(9)]), SETTINGS, by_market=False, deepest=5
        )


def test_scores_of_other_lists_are_refused_in_one_line(table):
    other = pl.DataFrame({"query": ["no such"], "results": [["x"]], "name": ["mine"], "value": [1.0]})
    with pytest.raises(NothingInCommonError, match="no ranking of the log has a score"):
        reported(table, other)
    with pytest.raises(ClickassayError, match="column value is missing"):
        reported(table, other.drop("value"))


def test_texts_are_brought_into_the_forms_of_the_log():
    log = tiny.searches().with_columns(pl.col("results"))
    table = ca.pattern_table(log, tiny.clicks(), depth=3, progress=False)
    lists = table.configurations
    spelled = lists.select(
        pl.col("query").str.to_uppercase(),
        pl.col("results").list.eval(pl.element().str.replace("http://", "HTTP://")),
        value=pl.int_range(pl.len()).cast(pl.Float64),
        name=pl.lit("x"),
        configuration_id=pl.lit(None, pl.String),
        market=pl.lit("all"),
    )
    found = prepare_scores(spelled, SETTINGS, by_market=False, deepest=5).of_lists(lists)
    assert found[:, 0].tolist() == list(range(lists.height))


def test_the_command_takes_a_file_sql_or_a_project_file_and_records_it(tmp_path, monkeypatch):
    log = tiny.write_log(tmp_path)
    lists = tiny.searches().select("query", "results").unique(maintain_order=True)
    scored = lists.with_columns(name=pl.lit("faithfulness"), value=pl.int_range(pl.len()))
    scored.write_parquet(tmp_path / "scores.parquet")
    monkeypatch.chdir(tmp_path)
    tiny.inside(*log.options(), "--scores", "scores.parquet")
    info = json.loads((log.out / "settings.json").read_text())
    assert info["inputs"]["scores"]["names"] == ["scores.parquet"]
    by_file = pl.read_parquet(log.out / "correlations.parquet")
    assert "faithfulness" in set(by_file["editorial_metric"])
    wrong = tiny.inside(*log.options(out=tmp_path / "never"), "--scores", tmp_path / "missing.parquet")
    assert wrong.code == 2
    assert "missing.parquet" in wrong.err
    assert not (tmp_path / "never").exists()
    tiny.inside(*log.options(out=tmp_path / "sql"), "--scores-sql", "SELECT * FROM 'scores.parquet'")
    (tmp_path / "clickassay.toml").write_text('[inputs]\nscores = "scores.parquet"\n')
    tiny.inside(*log.options(out=tmp_path / "project"))
    for way in ("sql", "project"):
        assert pl.read_parquet(tmp_path / way / "correlations.parquet").equals(by_file)
