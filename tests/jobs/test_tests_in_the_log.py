"""A log with A/B tests to its report: tables, page, first screen, summary, exit code, and the command."""

import json
import re
from dataclasses import replace

import polars as pl
import pytest

import clickassay as ca
from clickassay.api.run import RunResult
from clickassay.core.contracts.patterns import INTERLEAVED
from clickassay.core.contracts.run import TABLES_OF_TESTS
from clickassay.core.errors import InputError, SettingsError
from clickassay.core.progress import silent
from clickassay.core.settings import load_settings
from clickassay.inputs.frames import Frame
from clickassay.jobs.inputs import Sources
from clickassay.jobs.run import make_run
from clickassay.patterns.arms import arms_of
from clickassay.patterns.table import ARM_TABLES, write_patterns
from support.logs import tiny
from support.logs.arm_world import FOLDS, K, Planted, arm_world
from support.places import ROOT

NAMES = [form.name for form in TABLES_OF_TESTS]
SHARES = ("ranker.shares.control=30", "ranker.shares.good=35", "ranker.shares.bad=35")
TOLD = {"depth": [K], "click_models": "none", "iterations": 10, "current": "NDCG", "threads": 1}
SHEET = ROOT / "data_samples" / "past_tests.csv"


def made(world, *, table=None, judgments=None, progress=silent, **settings):
    sources = world.sources() if judgments is None else Sources(judgments=judgments)
    return RunResult(
        *make_run(sources, load_settings(**TOLD | settings), patterns=table or world.table, progress=progress)
    )


@pytest.fixture(scope="module")
def world():
    """Two tests: a ranker of two treatments, one better; and one whose users are not split as planned."""
    return arm_world(
        Planted("ranker", ("control", "good", "bad"), (0.9, -0.9), shares=(0.3, 0.35, 0.35), users=1500),
        Planted("split", users=500, shares=(0.65, 0.35)), seed=4,
    )  # fmt: skip


@pytest.fixture(scope="module")
def run(world):
    return made(world, test=SHARES)


@pytest.fixture(scope="module")
def folder(world, tmp_path_factory):
    """The pattern table and the judgments of the world, as files."""
    place = tmp_path_factory.mktemp("world")
    (place / "patterns").mkdir()
    write_patterns(world.table, place / "patterns")
    world.judgments.write_csv(place / "grades.csv")
    return place


def verdicts(run):
    rows = run.experiments.filter(pl.col("verdict").is_not_null())
    return {(row["experiment"], row["variant"]): row["verdict"] for row in rows.to_dicts()}


def test_planted_tests_have_their_verdicts_and_a_wrong_split_has_none(run):
    assert verdicts(run) == {("ranker", "good"): "agree", ("ranker", "bad"): "agree"}
    rows = run.experiments.filter(metric="MeanRR", experiment="ranker").sort("variant")
    assert [value > 0 for value in rows["difference"]] == [False, True]
    wrong = run.experiment_checks.filter(experiment="split", status="finding")
    assert wrong["check"].to_list() == ["sample_ratio"]
    assert not run.is_finding  # nobody declared that test


def test_the_decision_is_the_same_with_and_without_tests(run, world):
    without = made(world, table=bare(world))
    assert without.decision == run.decision
    assert [without[name].height for name in NAMES] == [0] * len(NAMES)
    assert without.summary["experiments"] == []
    lines = repr(without).splitlines()
    assert [line for line in repr(run).splitlines() if line not in lines and "A/B test" not in line] == [
        "No verdict, since data checks found a problem: “split”."
    ]


def test_a_saved_run_has_the_tables_the_page_and_the_summary(run, world, tmp_path):
    place = run.save(tmp_path / "run")
    again = ca.open_run(place)
    for name in NAMES[:2]:
        assert again[name].equals(run[name])
        assert again.query(f"SELECT count(*) AS n FROM {name}")["n"][0] == run[name].height
    assert not (place / f"{NAMES[2]}.parquet").exists()  # one judge
    page = (place / "report.html").read_text(encoding="utf-8")
    assert '<section id="tests">' in page
    assert page.index("3 A/B tests, NDCG against clicks: agree in 2") < page.index('<div class="first">')
    summary = json.loads((place / "summary.json").read_text(encoding="utf-8"))
    assert [one["verdict"] for one in summary["experiments"]] == ["agree", "agree", None]
    assert summary == json.loads(json.dumps(run.summary))
    described = (ROOT / "docs/reference/summary.md").read_text("utf-8").partition("## experiments\n")[2]
    keys = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]+) \|", described, flags=re.MULTILINE)))
    assert sorted(keys) == sorted(summary["experiments"][0])
    for file in ("report.md", "summary.md"):
        assert "3 A/B tests, NDCG against clicks" in (place / file).read_text(encoding="utf-8")
    assert (place / "tables" / "tests.tex").is_file()
    assert "ranker: good" in (place / "tables" / "tests.csv").read_text(encoding="utf-8")
    digests = {str(digest) for digest in arms_of(world.table).users["digest"]}
    assert not any(
        digest in file.read_text("utf-8") for file in place.rglob("*.[cjmh]*") for digest in list(digests)[:9]
    )


@pytest.mark.parametrize(("declared", "code"), [("split.control=control", 1), ("ranker.control=control", 0)])
def test_a_declared_test_with_a_wrong_split_ends_with_1(folder, tmp_path, declared, code):
    options = ["--patterns", folder / "patterns", "--judgments", folder / "grades.csv", "--depth", K,
               "--click-models", "none", "--out", tmp_path / "out", "--current", "NDCG", "-q"]  # fmt: skip
    outcome = tiny.inside("report", *options, *(f"--test={text}" for text in (*SHARES, declared)))
    assert outcome.code == code, outcome
    assert outcome.out.splitlines()[-1] == ("status: problem found" if code else "status: ok")
    assert "A/B test “split”: treatment has 3" in outcome.out


def test_the_command_joins_runs_and_sheets(run, tmp_path):
    place = run.save(tmp_path / "run")
    alone = json.loads(tiny.said_by("experiments", place, "-q", "--json"))
    assert [row["experiment"] for row in alone["experiments"]] == ["ranker: bad", "ranker: good"]
    assert alone["current"] == "NDCG"
    both = tiny.said_by("experiments", SHEET, place, "-q", "--current", "ERR")
    assert "(26 tests" in both
    assert "Caution: runs have differences of MeanRR as they are" in both
    assert "runs: differences of MeanRR, errors by groups of users" in both
    joined = (ca.experiments(*two, current="ERR").found.row for two in ((run, SHEET), (SHEET, place)))
    assert next(joined) == next(joined)
    assert ca.experiments(run, metric="ERR").order["editorial_metric"].to_list() == ["ERR", "changed"]
    with pytest.raises(SettingsError, match="no such metric in the run; did you mean ERR"):
        ca.experiments(run, metric="ERQ")
    with pytest.raises(SettingsError, match="is there twice"):
        ca.experiments(run, place)


def test_one_test_is_shown_in_full(run, tmp_path):
    place = run.save(tmp_path / "run")
    said = tiny.said_by("experiments", place, "--name", "split")
    assert said.splitlines()[0].startswith("No verdict on “split”: treatment has 3")
    assert "ranker" not in said
    told = json.loads(tiny.said_by("experiments", place, "--name", "ranker", "--json"))
    assert [one["variant"] for one in told["tests"]] == ["bad", "good"]
    assert len(told["experiments"]) == run.test("ranker").tables["experiments"].height
    assert tiny.said_by("experiments", place, "--name", "ranker", "--csv").startswith("experiment,variant,")
    assert "no test 'rank'; did you mean ranker" in tiny.refusal("experiments", place, "--name", "rank")
    assert "--name shows a test of one run" in tiny.refusal("experiments", place, place, "--name", "ranker")
    (place / "statistics.parquet").unlink()
    assert "folder that `clickassay run` made" in tiny.refusal("experiments", place, "--name", "ranker")


def test_a_run_without_tests_that_count_is_named(world):
    with pytest.raises(SettingsError, match="no test to compare metrics on; its log has no A/B test"):
        ca.experiments(made(world, table=bare(world)))


@pytest.mark.parametrize(
    ("name", "has_tests", "words"),
    [
        ("rnaker", True, "no such test in the log; did you mean ranker?"),
        ("ranker", False, "no such test in the log; its searches have no column variant"),
    ],
)
def test_a_declared_test_that_the_log_lacks_is_told(world, name, has_tests, words):
    """It may not have begun."""
    told = []
    table = world.table if has_tests else bare(world)
    made(world, table=table, test=[f"{name}.control=control"], progress=lambda one: told.append(one.message))
    assert any(f"[tests.{name}]: {words}" in one for one in told)


def test_a_control_that_is_not_known_is_told_before_the_log_is_read(world, tmp_path):
    old = pl.col("variant").replace("control", "old")
    searches = world.searches.filter(experiment="ranker").with_columns(old)
    searches.write_parquet(tmp_path / "searches.parquet")
    (tmp_path / "clicks.csv").write_text("search_id,timestamp,url\n1,no time,u\n")  # is not looked at
    files = tmp_path / "searches.parquet", tmp_path / "clicks.csv"
    sources = Sources(*files, judgments=Frame(world.judgments))
    with pytest.raises(SettingsError, match=r"test “ranker” has the variants .*--test ranker.control="):
        make_run(sources, load_settings(depth=(K,)))
    with pytest.raises(InputError, match="clicks"):
        make_run(sources, load_settings(depth=(K,), test=["ranker.control=old"]))


def bare(world):
    """Return the pattern table of a log without tests."""
    return replace(world.table, **dict.fromkeys(ARM_TABLES))


def test_tests_of_a_log_that_nobody_judged_have_users_alone(world):
    rows = pl.DataFrame({"query": ["query 0"], "url": ["r0-0"], "grade": [1]})
    run = made(world, judgments=Frame(rows))
    assert set(run.experiments["kind"]) == {"click", "baseline"}
    assert any("no verdict: nothing is judged" in one["sentence"] for one in run.summary["experiments"])


def test_an_arm_that_lacks_judgments_has_a_list_to_judge():
    world = arm_world(Planted("ranker", better=(0.5,), users=1500, unjudged=0.4), seed=3)
    run = made(world)
    assert verdicts(run) == {("ranker", "new"): "unequally_judged"}
    rows = run.experiment_to_judge
    judged = set(world.judgments["url"])
    assert set(rows["variant"]) == {"new"}
    assert rows.height > 10
    shown = world.searches.filter(variant="new").group_by("results").len()
    sessions = dict(zip(map(tuple, shown["results"]), shown["len"], strict=True))
    for row in rows.to_dicts():  # nobody searches twice for a query in this world but by chance
        assert set(row["results"]) - judged
        assert 0 < row["sessions"] <= sessions[tuple(row["results"])]
    lines = [str(part) for part in run.test("ranker").parts()]
    assert any("Rankings to judge first" in line for line in lines)


def test_an_arm_of_few_users_shows_no_number(world, tmp_path):
    users = world.table.arm_users
    of_arm = (pl.col("experiment") == "split") & (pl.col("variant") == "new")
    few = pl.concat([users.filter(~of_arm), users.filter(of_arm).head(4)])
    run = made(world, table=replace(world.table, arm_users=few))
    hidden = run.experiments.filter(experiment="split").select(pl.col(pl.Float64, pl.Int64))
    assert hidden.null_count().row(0) == (hidden.height,) * hidden.width
    place = run.save(tmp_path / "run")
    row = next(
        line for line in (place / "tables" / "tests.csv").read_text("utf-8").splitlines() if "split" in line
    )
    assert row.replace("split", "").replace("problem", "").strip(",") == ""
    assert "“split”: an arm has fewer than 5 users." in (place / "report.html").read_text(encoding="utf-8")


def test_two_judges_have_rows_each_and_their_difference():
    world = arm_world(Planted("ranker", better=(0.9,), users=600), judges=("human", "model"), seed=2)
    run = made(world)
    assert set(run.experiments["judge"]) == {"human", "model"}
    row = run.experiment_judges.row(by_predicate=pl.col("editorial_metric") == "NDCG", named=True)
    own = {
        judge: run.experiments.filter(judge=judge, metric="NDCG")["difference"][0]
        for judge in ("human", "model")
    }
    assert (row["difference_a"], row["difference_b"]) == pytest.approx((own["human"], own["model"]))
    is_clear = row["favours_low"] > 0 or row["favours_high"] < 0
    assert any("more than judge" in str(part) for part in run.test("ranker").parts()) == is_clear


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_a_log_with_the_column_variant_gives_the_same_tests(world, run, engine):
    log = (world.searches, world.clicks, world.judgments)
    found = ca.run(*log, engine=engine, folds=FOLDS, test=SHARES, progress=False, **TOLD)
    for name in NAMES:
        assert found[name].equals(run[name])


def test_judges_of_different_queries_are_not_compared():
    world = arm_world(Planted("ranker", better=(0.9,), users=600), judges=("human", "model"), seed=2)
    is_even = pl.col("query").str.ends_with("0") | pl.col("query").str.ends_with("2")
    run = made(world, judgments=Frame(world.judgments.filter(is_even == (pl.col("judge") == "human"))))
    assert run.experiment_judges["favours_low"].null_count() == run.experiment_judges.height > 0
    assert not any("favours" in text for text in run.test("ranker").parts() if isinstance(text, str))


def test_names_of_a_log_are_data_on_every_face(tmp_path):
    name = "<script>alert(1)</script>{0}\x1b[31m"
    run = made(arm_world(Planted(name, ("control", "=1+1"), better=(0.9,), users=400)))
    place = run.save(tmp_path / "run")
    page = (place / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page + run._repr_html_()
    assert "\x1b" not in page + repr(run) + repr(run.test(name))
    cells = (place / "tables" / "experiments.csv").read_text(encoding="utf-8").replace("\n", ",").split(",")
    assert not any(cell.startswith(("=", '"=')) for cell in cells)


def test_what_matters_is_a_share_of_controls_mean():
    idle = arm_world(Planted("idle", users=900), seed=3)
    few, enough = (
        made(idle, effect_margin=margin).test("idle").tests.tests[0].offline for margin in (0.01, 0.9)
    )
    assert (few["verdict"], enough["verdict"]) == ("neither", "neither")
    assert "times the users would show an effect of 1%" in few["reason"]
    assert enough["reason"] == "no effect on users above 90%"


def test_rankings_are_cut_to_the_depth_of_the_headline(world, run):
    found = made(world, depth=[3, K], test=SHARES).experiments
    assert set(found["depth"]) == {3}
    assert set(found["judged_share"]) == {1.0}  # the first three results are graded, as those of the run are
    means = ("mean_control", "mean")
    whole, cut = (
        rows.filter(metric="UCTR", variant="good").select(means).row(0) for rows in (run.experiments, found)
    )
    assert all(0 < first < every for first, every in zip(cut, whole, strict=True))


def mixed(table):
    """Return the table with an interleaved test: of each session, either ranker has the odd places."""
    odd = sum(1 << place for place in range(0, table.stored_depth, 2))
    teams = pl.DataFrame({"team_a": [odd, odd << 1], "team_b": [odd << 1, odd], "at": [0, 1]})
    patterns = table.patterns.with_row_index("row")
    rows = patterns.join(teams, how="cross").with_columns(
        experiment=pl.lit("mixed"), ranker_a=pl.lit("new"), ranker_b=pl.lit("old"), signal=pl.lit("click"),
        sessions=(pl.col("sessions") + (pl.col("row") + pl.col("at")) % 2) // 2,
    )  # fmt: skip
    return replace(
        table, interleaved=INTERLEAVED.canonical(rows.filter(pl.col("sessions") > 0).drop("at", "row"))
    )


@pytest.mark.parametrize("is_alone", [True, False])
def test_an_interleaved_test_stands_beside_a_b_tests(world, tmp_path, is_alone):
    table = mixed(bare(world) if is_alone else world.table)
    run = made(world, table=table, test=(*(() if is_alone else SHARES), "mixed.control=old"))
    rows = run.experiments.filter(kind_of_test="interleaved")
    sums = run.experiment_preferences.filter(split="all")
    assert sums["sessions"].to_list() == [
        table.interleaved.filter((pl.col("click_mask") & ((1 << K) - 1)) > 0)["sessions"].sum()
    ]
    assert rows.filter(metric="preference")["difference"].to_list() == sums["preference"].to_list()
    assert rows.filter(kind="editorial", metric="NDCG")["difference"].is_not_null().all()
    assert run.experiments["kind_of_test"].n_unique() == (1 if is_alone else 2)
    place = run.save(tmp_path / "run")
    page = (place / "report.html").read_text(encoding="utf-8")
    assert '<section id="interleaved">' in page
    assert ('<section id="tests">' in page) is not is_alone
    assert "1 interleaved test (“mixed”): Users " in page
    summary = json.loads((place / "summary.json").read_text(encoding="utf-8"))
    assert [one["experiment"] for one in summary["experiments"]][-1] == "mixed"
    said = tiny.said_by("experiments", place, "--name", "mixed")
    assert said.startswith("“mixed”: Users ")
    assert "Preference by class of queries" in said
    again = ca.open_run(place)
    assert again["experiment_preferences"].equals(run["experiment_preferences"])


@pytest.mark.parametrize(
    ("rule", "state", "words"),
    [
        ('verdict(ranker) != "contradict"', "holds", "bad: agree, "),
        ('verdict("ranker: good") == "agree"', "holds", "good: agree, "),
        ('verdict(ranker) == "neither"', "broken", "good: agree, "),
        ('verdict(split) != "contradict"', "undecided", "no verdict: treatment has 3"),
        ("preference(mixed) > -0.5", "holds", "the whole 95% CI satisfies the rule"),
        ("preference(mixed) > 0.9", "broken", "the whole 95% CI breaks the rule"),
        ("preference(skewed) > -1", "undecided", "comes first in 100.0%"),
    ],
)
def test_a_rule_on_a_test_of_the_log(ruled, rule, state, words):
    found = ca.check(ruled, [rule])
    assert [one.state for one in found.outcomes] == [state]
    assert words in found.outcomes[0].reason
    assert found.passed == (state == "holds")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ('verdict(rankr) != "contradict"', "has no test rankr; did you mean ranker"),
        ("preference(ranker) > 0", "has no interleaved test ranker; known are mixed, skewed"),
        ('verdict(ranker) != "worse"', 'expected verdict(TEST) == or != "agree", "contradict"'),
        ('verdict != "contradict"', "expected verdict(TEST)"),
        ('verdict(ranker) != "contradict" for depth 5', "only a judge can follow `for`"),
        ('verdict(ranker) != "contradict" for judge Ann', "has no judge Ann; known are all"),
        ("preference(mixed) > 0 for depth 5", "tests belong to no sample"),
        ("preference(mixed) > 2", "preference(TEST) is -1 to 1"),
        ("preference > 0", "expected preference(TEST)"),
    ],
)
def test_a_rule_on_a_test_that_cannot_be_is_refused_with_the_names_there_are(ruled, rule, words):
    with pytest.raises(SettingsError, match=re.escape(words)):
        ca.check(ruled, [rule])


def test_a_rule_on_the_order_of_tests_takes_those_of_the_log(ruled):
    found = ca.check(ruled, ["tests(NDCG) >= 0.6"])
    assert [one.state for one in found.outcomes] == ["undecided"]
    assert "fewer than 10 groups of tests" in found.outcomes[0].reason


@pytest.fixture(scope="module")
def ruled(world):
    """A run with two A/B tests, an interleaved one, and one in which a ranker is always first."""
    table = mixed(world.table)
    first = pl.lit(0b00101, pl.Int64)
    skewed = table.interleaved.with_columns(experiment=pl.lit("skewed"), team_a=first, team_b=2 * first)
    summed = skewed.group_by(INTERLEAVED.key).agg(pl.col("sessions").sum())
    rows = pl.concat([table.interleaved, INTERLEAVED.canonical(summed)])
    table = replace(table, interleaved=INTERLEAVED.canonical(rows))
    return made(world, table=table, test=(*SHARES, "mixed.control=old", "skewed.control=old"))
