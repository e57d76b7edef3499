"""Judgments that clicks make: against plain loops, in planted worlds, and read back by the importer."""

import shutil

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clickassay as ca
from clickassay.click_models.catalogue import CLICK_MODELS, click_models
from clickassay.core.errors import ClickassayError, ClickModelError, SettingsError
from clickassay.findings.run import largest_samples
from clickassay.inputs.importers.judgments import RatingOptions, import_judgments
from clickassay.jobs.click_models import ClickedLists, supported_model
from clickassay.jobs.from_clicks import (
    FAR,
    FEW_CLICKS,
    FORMATS,
    HARDLY,
    NO_FOLDS,
    NO_ORDER,
    files_for,
    judgments_from_clicks,
    model_for_judgments,
)
from clickassay.judgments.relevance import COEC
from support.logs import tiny
from support.places import ROOT

EXAMINED = (1.0, 0.6, 0.3)
KINDS = [kind for kind in CLICK_MODELS if kind.estimates_attraction]


def world(seed=0, *, queries=40, sessions=400, folds=16, depth=3):
    """Lists in which each document stands at each place, clicked as a position-based model says."""
    rng = np.random.default_rng(seed)
    lists, patterns, truth = [], [], {}
    for query in range(queries):
        urls = [f"u{query}/{n}" for n in range(depth)]
        attraction = rng.uniform(0.1, 0.9, depth)
        truth |= dict(zip(urls, attraction, strict=True))
        for turn in range(depth):
            order = [(turn + n) % depth for n in range(depth)]
            name = f"{query:03d}{turn}"
            lists.append((name, "all", f"q{query}", [urls[n] for n in order]))
            chance = attraction[order] * EXAMINED[:depth]
            masks = (rng.random((sessions, depth)) < chance) @ (1 << np.arange(depth))
            fold = rng.integers(0, folds, sessions)
            pairs, counts = np.unique(np.stack([fold, masks]), axis=1, return_counts=True)
            patterns += [(name, int(f), int(m), int(n)) for (f, m), n in zip(pairs.T, counts, strict=True)]
    configurations = pl.DataFrame(lists, ["configuration_id", "market", "query", "results"], orient="row")
    rows = pl.DataFrame(patterns, ["configuration_id", "fold", "click_mask", "sessions"], orient="row")
    return ClickedLists(configurations, rows, depth), truth


def coec(lists):
    """Clicks over expected clicks of each URL, row by row."""
    results = dict(lists.configurations.select("configuration_id", "results").rows())
    shown, clicked = np.zeros(lists.depth), np.zeros(lists.depth)
    for name, _, mask, n in lists.patterns.iter_rows():
        for place in range(len(results[name])):
            shown[place] += n
            clicked[place] += n * (mask >> place & 1)
    rate, own = clicked / shown, {}
    for name, _, mask, n in lists.patterns.iter_rows():
        for place, url in enumerate(results[name]):
            seen = own.setdefault(url, [0, 0.0])
            seen[0] += n * (mask >> place & 1)
            seen[1] += n * rate[place]
    return {url: clicks / expected for url, (clicks, expected) in own.items()}


def test_coec_and_its_interval_are_those_of_a_plain_loop():
    lists, _ = world(1, queries=4, sessions=100)
    found = judgments_from_clicks(lists, COEC, pseudo_count=1)
    whole = coec(lists)
    folds = sorted(set(lists.patterns["fold"]))
    without = [
        coec(ClickedLists(lists.configurations, lists.patterns.filter(pl.col("fold") != fold), lists.depth))
        for fold in folds
    ]
    for row in found.iter_rows(named=True):
        left = np.array([one[row["url"]] for one in without])
        error = np.sqrt((len(folds) - 1) / len(folds) * ((left - left.mean()) ** 2).sum())
        half = stats.t.ppf(0.975, len(folds) - 1) * error
        value = whole[row["url"]]
        assert row["relevance"] == pytest.approx(value)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((max(0, value - half), value + half))
        assert row["grade"] == sum(row["relevance"] >= limit for limit in (0.5, 1, 1.5, 2))
        assert row["coec"] == row["relevance"]
        assert row["ctr"] == row["clicks"] / row["sessions"]


def test_a_click_model_gives_its_relevance():
    lists, _ = world(2, queries=5)
    (kind,) = click_models(["DBN"])
    log = lists.log()
    relevance = dict(zip(log.documents["url"], kind.fit(log, pseudo_count=1.0).model.relevance, strict=True))
    found = judgments_from_clicks(lists, "DBN", pseudo_count=1.0)
    for url, value in found.select("url", "relevance").iter_rows():
        assert value == pytest.approx(relevance[url])


def test_position_makes_no_difference_where_users_follow_the_model():
    lists, truth = world(3)
    found = judgments_from_clicks(lists, "PBM", pseudo_count=1.0)
    planted = [truth[url] for url in found["url"]]
    assert np.corrcoef(planted, found["relevance"])[0, 1] > 0.98
    # of COEC what was planted is one scale: each document stands at each place as often
    ratio = judgments_from_clicks(lists, COEC, pseudo_count=1.0)
    assert np.corrcoef([truth[url] for url in ratio["url"]], ratio["relevance"])[0, 1] > 0.98


def test_intervals_hold_what_was_planted():
    held = []
    for seed in range(12):
        lists, truth = world(10 + seed, queries=20, sessions=300)
        found = judgments_from_clicks(lists, COEC, pseudo_count=1.0)
        mean = np.mean(list(truth.values()))  # the scale of the world: its own queries
        for row in found.iter_rows(named=True):
            held.append(row["ci_low"] <= truth[row["url"]] / mean <= row["ci_high"])
    assert 0.9 <= np.mean(held) <= 0.985


def test_grades_are_as_err_takes_them_or_by_cuts():
    lists, _ = world(4, queries=10)
    found = judgments_from_clicks(lists, "PBM", pseudo_count=1.0)
    chances = (2.0 ** np.arange(5) - 1) / 16
    for grade, relevance in found.select("grade", "relevance").iter_rows():
        assert grade == np.abs(chances - relevance).argmin()
    cut = judgments_from_clicks(lists, COEC, pseudo_count=1.0, cuts="0.5,1,1.5")
    for grade, relevance in cut.select("grade", "relevance").iter_rows():
        assert grade == sum(relevance >= limit for limit in (0.5, 1, 1.5))


def test_few_sessions_are_left_out_few_clicks_cautioned_and_few_folds_have_no_interval():
    lists, _ = world(5, queries=3, sessions=6)
    assert judgments_from_clicks(lists, COEC, pseudo_count=1.0, least_sessions=19).is_empty()
    found = judgments_from_clicks(lists, COEC, pseudo_count=1.0)
    few = found.filter(pl.col("clicks") < FEW_CLICKS)
    assert few.height
    assert few["caution"].null_count() == 0
    halves, _ = world(5, queries=3, folds=2)
    assert set(judgments_from_clicks(halves, COEC, pseudo_count=1.0)["caution"]) == {NO_FOLDS}


def test_what_cannot_be_is_refused():
    lists, _ = world(6, queries=2)
    with pytest.raises((ClickModelError, SettingsError), match="XYZ"):
        judgments_from_clicks(lists, "XYZ", pseudo_count=1.0)
    none = ClickedLists(lists.configurations, lists.patterns.with_columns(click_mask=pl.lit(0)), 3)
    with pytest.raises(ClickModelError, match="sessions to fit on but no click"):
        judgments_from_clicks(none, COEC, pseudo_count=1.0)
    found = judgments_from_clicks(lists, COEC, pseudo_count=1.0)
    two = pl.concat([found, found.with_columns(market=pl.lit("other"))])
    with pytest.raises(ClickModelError, match="has no markets, and there are 2; give one by --market"):
        files_for(two, "quepid")


@pytest.mark.parametrize("form", [*FORMATS, "table"])
@pytest.mark.parametrize("model", ["PBM", COEC])
def test_every_format_is_read_back_by_import_and_read_by_judges(form, model, tmp_path):
    lists, _ = world(7, queries=8)
    found = judgments_from_clicks(lists, model, pseudo_count=1.0).with_columns(
        query=pl.col("query").str.replace("q", 'shoes "red" '), url=pl.col("url").str.replace("/", "-")
    )
    found.write_parquet(tmp_path / "click_judgments.parquet")
    written = {} if form == "table" else files_for(found, form)
    for name, text in written.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="\n")
    file = tmp_path / next(iter(written), "click_judgments.parquet")
    topics = tmp_path / "topics.tsv"
    options = RatingOptions(query_map=topics) if form == "qrels" else RatingOptions()
    import_judgments([file], out=tmp_path / "read", rating_options=options)
    read = pl.read_parquet(tmp_path / "read" / "judgments.parquet").select("query", "url", "grade")
    wanted = found.select("query", "url", pl.col("grade").cast(read.schema["grade"]))
    assert sorted(read.rows()) == sorted(wanted.rows())
    read.write_csv(tmp_path / "again.csv")
    again = shutil.copy(file, tmp_path / "again.txt") if form == "qrels" else tmp_path / "again.csv"
    told = ca.judges([file, again])
    assert told.agreement.filter(measure="equal")["value"].item() == 1


def test_the_command_writes_a_folder(tmp_path):
    log = tiny.write_log(tmp_path)
    tiny.said_by(*log.options("patterns", out=tmp_path / "patterns"))
    asked = ("clicks", "judgments", tmp_path / "patterns", "--out", tmp_path / "out")
    said = tiny.said_by(*asked, "--least-sessions", 2, "-q").splitlines()
    assert said[0].startswith("This log cannot tell which click model it supports: no query has 3 rankings ")
    assert said[0].endswith(". PBM is used; or name another.")
    assert said[1].startswith("9 results of 3 queries: ")
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "click_judgments.parquet", "judgments.csv", "settings.json",
    }  # fmt: skip
    assert "exists already" in tiny.refusal(*asked)
    few = tiny.refusal(*asked[:3], "--out", tmp_path / "none", "--least-sessions", 10_000)
    assert "no result was shown in that many sessions; lower --least-sessions" in few
    assert not (tmp_path / "none").exists()


def test_the_model_is_the_one_that_the_log_supports():
    lists, _ = world(8, queries=20)
    chosen, why = model_for_judgments(lists, pseudo_count=1.0)
    assert (chosen in {"PBM", "UBM", "DBN", "CCM"}, why) == (True, None)
    found = supported_model(lists, KINDS, pseudo_count=1.0, click_metric="MeanRR", seed=0)
    assert chosen == found.model
    few, _ = world(8, queries=20, sessions=19)
    chosen, why = model_for_judgments(few, pseudo_count=1.0)
    assert (chosen, why[:31]) == ("PBM", "no query has 3 rankings with 20")


def test_satisfaction_that_clicks_hardly_identify_has_a_caution():
    lists, _ = world(9, queries=12)  # users of this world never stop: DBN takes few for satisfied
    found = judgments_from_clicks(lists, "DBN", pseudo_count=1.0)
    by_url = {row["url"]: row for row in found.iter_rows(named=True)}
    log = lists.log()
    model = click_models(["DBN"])[0].fit(log, pseudo_count=1.0).model
    for url, a, s in zip(log.documents["url"], model.attraction, model.satisfaction, strict=True):
        caution = by_url[url]["caution"] or ""
        if abs(a - s) <= FAR:
            assert HARDLY not in caution
    assert found["caution"].str.contains(HARDLY, literal=True).any()
    assert not judgments_from_clicks(lists, "PBM", pseudo_count=1.0)["caution"].str.contains(HARDLY).any()
    halves, _ = world(9, queries=12, folds=2)
    told = judgments_from_clicks(halves, "DBN", pseudo_count=1.0)["caution"]
    assert set(told) == {NO_FOLDS, f"{HARDLY}; {NO_FOLDS}"}
    single = lists.patterns.filter(pl.col("click_mask").bitwise_count_ones() < 2)
    alone = judgments_from_clicks(ClickedLists(lists.configurations, single, 3), "DBN", pseudo_count=1.0)
    assert alone["caution"].str.starts_with(NO_ORDER).all()


QUICK = {"depth": [5], "click_models": "none", "iterations": 50, "progress": False}
JUDGE = "clicks (DBN)"


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return ca.simulate(tmp_path_factory.mktemp("web") / "log", 20_000, n_queries=60, seed=3, progress=False)


@pytest.fixture(scope="module")
def run(log):
    return ca.run(log.searches, log.clicks, log.judgments, click_judge="dbn", **QUICK)


def halves(table):
    """The patterns of the users of even folds, and of odd ones."""
    even = pl.col("fold") % 2 == 0
    return table.filter(even), table.filter(~even)


def test_its_grades_are_those_of_the_clicks_of_half_of_the_users_and_the_others_are_measured(log, run):
    tables = ca.pattern_table(log.searches, log.clicks, progress=False).tables
    fitting, evaluation = halves(tables["patterns"])
    judged = pl.read_parquet(log.judgments)["query"].unique()
    lists = tables["configurations"].filter(pl.col("query").is_in(judged.implode()))
    kept = fitting.join(lists, on="configuration_id", how="semi")
    shown = lists.with_columns(market=pl.lit("all")).join(kept, on="configuration_id", how="semi")
    clicks = ClickedLists(shown.sort("configuration_id"), kept.sort("configuration_id"), 5)
    found = judgments_from_clicks(clicks, "DBN", pseudo_count=1.0, least_sessions=10)
    grades = {(query, url): grade for query, url, grade in found.select("query", "url", "grade").iter_rows()}
    own = run.configurations.filter(judge=JUDGE)
    assert own.height > 50
    for query, results, row in own.select("query", "results", "grades").iter_rows():
        assert [grades[query, url] for url in results[:5]] == row
    key = ("market", "query", "results")
    top = lists.with_columns(pl.col("results").list.head(5)).filter(pl.col("results").list.len() == 5)
    sessions = evaluation.join(top, on="configuration_id").group_by(key).agg(pl.col("sessions").sum())
    whole = {
        (market, query, tuple(results)): n
        for market, query, results, n in sessions.select(*key, "sessions").iter_rows()
        if all((query, url) in grades for url in results)
    }
    assert whole == {
        (market, query, tuple(results)): n
        for market, query, results, n in own.select(*key, "n_sessions").iter_rows()
    }


def test_people_stay_the_headline_and_are_asked_for_more_judgments(run):
    judges = run.statistics["judge"].unique().sort().to_list()
    assert judges == [JUDGE, "judgments"]
    assert largest_samples(run.statistics)[0].judge == "judgments"
    assert run.statistics.filter(judge=JUDGE)["n_sessions"].min() > 0
    assert set(run.tables["next_judgments"]["judge"]) <= {"judgments"}
    assert run.agreement.select("judge_a", "judge_b").unique().rows() == [(JUDGE, "judgments")]
    assert "set apart" in run.tables["funnel"]["step"]


def test_clicks_that_know_no_grades_agree_with_grades_of_their_own_users_only(tmp_path):
    log = ca.simulate(tmp_path / "log", 20_000, world="null", n_queries=300, seed=8, progress=False)
    quick, cell = {**QUICK, "depth": [3]}, {"split": "all", "click_metric": "UCTR", "editorial_metric": "DCG"}
    found = ca.run(log.searches, log.clicks, log.judgments, click_judge="DBN", **quick)
    honest = found.correlations.filter(judge=JUDGE, **cell).row(0, named=True)
    assert honest["ci_low"] < 0 < honest["ci_high"]
    tables = ca.pattern_table(log.searches, log.clicks, progress=False).tables
    lists = tables["configurations"].with_columns(market=pl.lit("all"))
    clicks = ClickedLists(lists.sort("configuration_id"), tables["patterns"].sort("configuration_id"), 3)
    of_all = judgments_from_clicks(clicks, "DBN", pseudo_count=1.0).drop_nulls("grade")
    circular = ca.run(log.searches, log.clicks, of_all.select("query", "url", "grade"), **quick)
    wrong = circular.correlations.filter(**cell).row(0, named=True)
    assert wrong["ci_low"] > 0.1
    page = (ROOT / "docs/reference/click-models.md").read_text(encoding="utf-8")
    found = (f"{one['correlation']:.2f}" for one in (wrong, honest))
    assert "its DCG has {} with UCTR, from other users {}".format(*found) in page


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("COEC", "COEC has no scale of grades"),
        ("RCTR", "does not estimate the relevance of a result"),
        ("DBM", "unknown click model 'DBM'"),
        ("", "a click model has an empty name"),
    ],
)
def test_what_can_be_no_judge_is_refused_before_a_log_is_read(model, says, tmp_path):
    """Else an hour of reading would come first."""
    with pytest.raises(ClickassayError, match=says):
        ca.run(tmp_path / "none", tmp_path / "none", tmp_path / "none", **QUICK, click_judge=model)


def test_without_a_second_half_of_users_there_is_no_judge(log):
    with pytest.raises(ClickassayError, match="users of one half only"):
        ca.run(log.searches, log.clicks, log.judgments, **QUICK, click_judge="DBN", folds=1)


def test_of_a_market_of_its_own_it_is_a_judge_of_that_market(log):
    of_north = pl.read_parquet(log.judgments).with_columns(market=pl.lit("north"))
    found = ca.run(log.searches, log.clicks, of_north, click_judge="DBN", **QUICK)
    kept = found.statistics.filter(pl.col("n_sessions") > 0)
    assert set(kept.select("market", "judge").rows()) == {("north", JUDGE), ("north", "judgments")}


def test_a_judge_of_the_same_name_is_refused(log):
    named = pl.read_parquet(log.judgments).with_columns(judge=pl.lit(JUDGE))
    with pytest.raises(ClickassayError, match="rename this judge"):
        ca.run(log.searches, log.clicks, named, click_judge="DBN", **QUICK)


@pytest.fixture(scope="module")
def of_clicks(log):
    tables = ca.pattern_table(log.searches, log.clicks, progress=False).tables
    lists = ClickedLists(tables["configurations"], tables["patterns"], 10)
    return judgments_from_clicks(lists, "DBN", pseudo_count=1.0)


@pytest.mark.parametrize("depth", [10, 3])
@pytest.mark.parametrize("form", ["frame", "csv", "parquet", "markets"])
def test_judgments_of_the_same_clicks_are_refused_however_they_come(log, depth, form, tmp_path):
    tables = ca.pattern_table(log.searches, log.clicks, progress=False).tables
    lists = ClickedLists(tables["configurations"], tables["patterns"], depth)
    rows = judgments_from_clicks(lists, "PBM", pseudo_count=1.0, max_grade=4)
    rows = rows if form == "markets" else rows.filter(market="north").drop("market")
    given = rows if form in ("frame", "markets") else tmp_path / f"judgments.{form}"
    if form == "csv":
        rows.write_csv(given)
    elif form == "parquet":
        rows.write_parquet(given)
    quick = {**QUICK, "depth": [5, 10]}
    with pytest.raises(ClickassayError, match="computed from the same clicks they would be") as caught:
        ca.run(log.searches, log.clicks, given, **quick)
    assert "\n" not in str(caught.value)
    assert "if people gave the grades, drop the columns sessions and clicks" in str(caught.value)
    with pytest.raises(ClickassayError, match="computed from the same clicks"):
        ca.run(log.searches, log.clicks, given, click_judge="DBN", **quick)


def test_judgments_of_other_clicks_and_columns_of_another_meaning_are_taken(log, of_clicks):
    rows = of_clicks.filter(market="north").drop("market")
    own = pl.read_parquet(log.judgments)
    moved = own.select("query", "url", "grade").with_columns(
        sessions=pl.lit("several"), clicks=pl.lit(None, pl.Float64)
    )
    ca.run(log.searches, log.clicks, moved, **QUICK)
    nested = moved.with_columns(sessions=pl.lit([1, 2]), clicks=pl.lit(10**30, pl.Float64))
    ca.run(log.searches, log.clicks, nested, **QUICK)
    beyond = moved.with_columns(sessions=pl.lit(-4), clicks=pl.lit(float("nan")))
    ca.run(log.searches, log.clicks, beyond, **QUICK)
    other = rows.with_columns(pl.col("sessions") + 1)
    assert ca.run(log.searches, log.clicks, other, **QUICK).correlations.height
    half = pl.read_parquet(log.searches).filter(pl.col("user_id").hash() % 2 == 0)
    assert ca.run(half, log.clicks, rows, max_rejected=1.0, **QUICK).correlations.height


def test_a_few_results_with_the_same_counts_are_taken(log, of_clicks):
    rows = of_clicks.filter(market="north").drop("market").sort("clicks", descending=True)
    few = rows.head(4)
    rest = rows.tail(-4).with_columns(sessions=pl.lit(None, pl.Int64))
    found = ca.run(log.searches, log.clicks, pl.concat([few, rest]), **QUICK)
    assert found.correlations.height
