"""Plans from files to estimates: what is read, drawn, written, continued and concluded; what is refused."""

import csv
import json

import numpy as np
import polars as pl
import pytest

from clickassay.core.errors import ActiveError, InputError
from clickassay.core.settings import load_settings
from clickassay.studies.labelling.inputs import PoolSources, read_pool
from clickassay.studies.labelling.plan_folder import PLAN_DOCUMENTS, PLAN_DRAWS, PLAN_QUERIES, TO_LABEL
from support.logs import tiny
from support.oracle.oracle_metrics import err

SCALE = load_settings(relevant_grade=1, success_grade=0)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Return a folder with two rankings of 120 queries, scores, lengths, frequencies and the true grades."""
    folder, rng = tmp_path_factory.mktemp("labels"), np.random.default_rng(1)
    rows = []
    for query in range(120):
        size = int(rng.integers(2, 9))
        latent = rng.normal() + rng.normal(size=size)
        grades = np.clip(np.round(latent + 1.2 + rng.normal(0, 0.5, size)), 0, 4).astype(int)
        noisy = latent + rng.normal(0, 1.5, size)
        urls = [f"u{query}/{place}" for place in range(size)]
        names = [f"q {query}"] * size
        rows += zip(names, urls, latent, noisy, grades.tolist(), range(10, 10 + size), strict=True)
    schema = ["query", "url", "score", "other", "grade", "length"]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    for name, column in (("first", "score"), ("second", "other")):
        ranked = frame.with_columns(
            pl.col(column).rank("ordinal", descending=True).over("query").alias("rank")
        )
        ranked.select("query", "url", "rank").write_parquet(folder / f"{name}.parquet")
    lines = (f"{query} Q0 {url} 0 {other} r\n" for query, url, _, other, _, _ in rows)
    (folder / "second.run").write_text("".join(line.replace("q ", "q-") for line in lines))
    frame.select("query", "url", "score", "length").write_csv(folder / "scores.csv")
    frame.select("query", "url", "grade").write_parquet(folder / "labels.parquet")
    frame.select("query", "url", "grade").sample(200, seed=3).write_csv(folder / "judged.csv")
    asked = pl.DataFrame({"query": [f"q {n}" for n in range(120)], "sessions": range(1, 121)})
    asked.write_csv(folder / "asked.csv")
    return folder


def done(*arguments):
    """Run a command to its good end; return what it prints."""
    ended = tiny.inside(*map(str, arguments))
    assert ended.code == 0, ended
    return ended.out


def refused(*arguments):
    """Run a command that is refused; return what it says."""
    ended = tiny.inside(*map(str, arguments))
    assert ended.code == 2, ended
    return ended.err


def planned(world, out, *options, budget=60):
    rankings = (part for name in ("first", "second") for part in ("--ranking", world / f"{name}.parquet"))
    return done("plan", *rankings, "--budget", budget, "--out", out, "--quiet", *options)


def estimated(plan, labels, *options):
    return done("estimate", plan, "--judgments", labels, *options)


def errs(world, name, depth=None):
    """ERR of each query of a ranking, in plain Python."""
    grades = {(q, u): g for q, u, g in pl.read_parquet(world / "labels.parquet").iter_rows()}
    by_query = {}
    for query, url, _ in pl.read_parquet(world / f"{name}.parquet").sort("rank").iter_rows():
        by_query.setdefault(query, []).append(grades[query, url])
    return {query: err(shown[:depth], 4) for query, shown in by_query.items()}


def differences(world, depth):
    first, second = (errs(world, name, depth) for name in ("first", "second"))
    return {query: value - second[query] for query, value in first.items()}


def true_difference(world, depth, weights=None):
    """ERR of the first ranking minus that of the second, mean over queries."""
    values = differences(world, depth)
    share = weights or dict.fromkeys(values, 1 / len(values))
    return sum(share[query] * value for query, value in values.items())


# ---- from files to a sheet --------------------------------------------------------------------
def test_a_plan_is_written_in_its_forms_and_pays_for_each_query_once(world, tmp_path):
    said = planned(world, tmp_path / "plan", "--depth", "4")
    for form in (PLAN_QUERIES, PLAN_DOCUMENTS, PLAN_DRAWS, TO_LABEL):
        frame = pl.read_parquet(tmp_path / "plan" / f"{form.name}.parquet")
        assert frame.equals(form.canonical(frame)), form.name
    draws, queries, sheet = (
        pl.read_parquet(tmp_path / "plan" / f"{name}.parquet") for name in ("draws", "queries", "to_label")
    )
    paid = draws.filter("paid")
    assert paid["query"].n_unique() == paid.height == draws["query"].n_unique()
    cost = queries.join(paid, on="query", how="semi")["cost"].sum()
    assert cost == sheet.height <= 60  # a document costs 1
    assert said.startswith(
        f"Label {paid.height} queries ({sheet.height} documents): expected standard error "
    )
    assert f"queries, cost {cost:g} of 60." in said
    documents = pl.read_parquet(tmp_path / "plan" / "documents.parquet")
    assert documents["rank_1"].max() == documents["rank_2"].max() == 4
    assert sheet.select("query", "url").equals(
        documents.join(paid, on="query").sort("draw", "url").select("query", "url")
    )
    with (tmp_path / "plan" / "to_label.csv").open() as file:
        assert [row["url"] for row in csv.DictReader(file)] == sheet["url"].to_list()
    assert queries["draw_probability"].sum() == pytest.approx(1)
    assert json.loads((tmp_path / "plan" / "settings.json").read_text())["options"]["depth"] == 4


def test_scores_costs_and_frequencies_are_in_the_pool(world):
    sources = PoolSources(
        (world / "first.parquet", world / "second.parquet"), world / "scores.csv", world / "judged.csv",
        world / "scores.csv", "length", log_cost=True, frequencies=world / "asked.csv",
    )  # fmt: skip
    pool, documents, _ = read_pool(sources, SCALE, depth=None)
    scores = pl.read_csv(world / "scores.csv").sort("query", "url")
    costs = scores.group_by("query").agg((pl.col("length") + 1).log().sum()).sort("query")["length"]
    assert pool.costs == pytest.approx(costs.to_numpy())
    asked = pl.read_csv(world / "asked.csv").sort("query")["sessions"]
    assert pool.weights == pytest.approx((asked / asked.sum()).to_numpy())
    assert pool.probabilities.sum(axis=1) == pytest.approx(1)
    order = np.argsort(scores["score"].to_numpy())
    assert (np.diff(pool.probabilities[order, -1]) >= -1e-12).all()  # a higher score is more often perfect
    assert documents["query"].to_list() == scores["query"].to_list()


def test_a_run_file_is_in_the_order_of_falling_scores_and_ties_of_falling_names(tmp_path):
    (tmp_path / "a.run").write_text("q Q0 b 1 0.5 r\nq Q0 c 2 0.5 r\nq Q0 a 3 0.9 r\n\n")
    pool, documents, _ = read_pool(PoolSources((tmp_path / "a.run",)), SCALE, depth=None)
    ranked = documents.sort("rank_1")["url"].to_list()
    assert ranked == ["a", "c", "b"]
    assert pool.rankings[0].documents.tolist() == [0, 2, 1]


def test_queries_in_one_ranking_only_are_noted(world, tmp_path):
    first = pl.read_parquet(world / "first.parquet").filter(pl.col("query") != "q 7")
    first.write_parquet(tmp_path / "first.parquet")
    sources = PoolSources((tmp_path / "first.parquet", world / "second.parquet"))
    pool, documents, (both, alone) = read_pool(sources, SCALE, depth=3)
    shared = documents.drop_nulls().height
    assert both == f"Both rankings have 119 of 120 queries and {shared} of {documents.height} documents."
    assert alone == (
        "1 of 120 queries are in one ranking only, the first 'q 7': in the other their performance is 0."
    )
    assert len(pool.queries) == 120


# ---- on with a larger budget, and back with labels --------------------------------------------
def test_a_plan_that_goes_on_keeps_its_draws_and_pays_nothing_twice(world, tmp_path):
    planned(world, tmp_path / "one", "--seed", "5")
    done("plan", "--continue", tmp_path / "one", "--budget", 150, "--out", tmp_path / "two", "--quiet")
    planned(world, tmp_path / "whole", "--seed", "5", budget=150)
    one, two, whole = (pl.read_parquet(tmp_path / name / "draws.parquet") for name in ("one", "two", "whole"))
    assert two.head(one.height).equals(one)
    assert two.equals(whole)
    assert two.filter("paid")["query"].n_unique() == two.filter("paid").height
    errors = [
        json.loads((tmp_path / name / "settings.json").read_text())["expected"]["error"]
        for name in ("one", "two", "whole")
    ]
    assert errors[1] == pytest.approx(errors[2])
    assert errors[1] < errors[0]


def test_with_all_labels_nothing_is_estimated_and_frequencies_weigh_the_mean(world, tmp_path):
    asked = {f"q {n}": (n + 1) / sum(range(1, 121)) for n in range(120)}
    for name, options, weights in (
        ("plan", (), None),
        ("asked", ("--frequency", world / "asked.csv"), asked),
    ):
        planned(world, tmp_path / name, "--depth", "5", *options)
        found = json.loads(estimated(tmp_path / name, world / "labels.parquet", "--json"))
        assert found["exact"] == pytest.approx(true_difference(world, 5, weights), abs=1e-12)
        assert found["estimate"] is None


def of_the_sheet(world, plan, tmp_path, rows=None):
    sheet = pl.read_parquet(plan / "to_label.parquet")[:rows]
    labelled = sheet.join(pl.read_parquet(world / "labels.parquet"), on=["query", "url"], how="left")
    labelled.sort("number").write_csv(tmp_path / "labelled.csv")
    return tmp_path / "labelled.csv"


def test_the_labels_of_the_sheet_give_the_ratio_estimate(world, tmp_path):
    planned(world, tmp_path / "plan", "--depth", "5", budget=200)
    labelled = of_the_sheet(world, tmp_path / "plan", tmp_path)
    found = json.loads(estimated(tmp_path / "plan", labelled, "--json"))
    draws = pl.read_parquet(tmp_path / "plan" / "draws.parquet")
    assert found["draws"] == found["planned_draws"] == draws.height
    none = {f"q {n}": 0.0 for n in range(120)}
    values = {query: true_difference(world, 5, none | {query: 1.0}) for query in draws["query"].unique()}
    above = sum(
        ratio * values[query] for query, ratio in draws.select("query", "importance_weight").iter_rows()
    )
    assert found["estimate"]["value"] == pytest.approx(above / draws["importance_weight"].sum())
    assert found["estimate"]["ci_low"] < true_difference(world, 5) < found["estimate"]["ci_high"]
    said = estimated(tmp_path / "plan", labelled)
    assert said.startswith("The first ranking is better: difference in ERR@5 (first minus second) 0.0")
    assert "The first ranking is better with confidence" in said


def test_draws_count_up_to_the_first_gap_and_queries_labelled_in_part_are_named(world, tmp_path):
    planned(world, tmp_path / "plan", budget=200)
    plan = tmp_path / "plan"
    whole = pl.read_csv(of_the_sheet(world, plan, tmp_path))
    third = pl.read_parquet(plan / "draws.parquet").filter("paid")["query"][5]
    gap = whole.filter(
        (pl.col("query") != third) | (pl.col("number") != pl.col("number").max().over("query"))
    )
    gap.write_csv(tmp_path / "gap.csv")
    draws = pl.read_parquet(plan / "draws.parquet")
    upto = int((draws["query"] == third).arg_max())
    found = json.loads(estimated(plan, tmp_path / "gap.csv", "--json"))
    assert (found["draws"], found["first_missing"], found["in_part"]) == (upto, third, [third])
    assert found["waiting"] == (draws[upto:]["query"] != third).sum()
    said = estimated(plan, tmp_path / "gap.csv")
    assert f"Warning: 1 queries are partly labelled, e.g. '{third}'" in said
    assert f"Draw {upto + 1} (query '{third}') is not fully labelled" in said


# ---- what cannot be planned -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--budget", "0.5"), "buys no query"),
        (("--budget", "0"), "a budget of 0 buys no label"),
        (("--cost", "zero.csv"), "has the cost 0.0; give a number above 0"),
        (("--cost", "scores.csv"), "no column cost; name it by --cost-column"),
        (("--relevance", "wrong.csv"), "give one of 0 or more for each grade, with a sum of 1"),
        (("--relevance", "some.csv"), "it lacks"),
        (("--relevance", "scores.csv"), "give --judgments"),
        (("--relevance", "first.parquet"), "no column p0"),
        (("--ranking", "twice.csv"), "lists 'a' more than once; keep its best rank"),
        (
            ("--ranking", "anchors.csv"),
            "lists 'http://a/#1' and 'http://a/#2', whose normal form is the same",
        ),
        (("--ranking", "empty.csv"), "no ranking in it"),
        (("--ranking", "null.csv"), "null in rank"),
        (("--ranking", "broken.run"), "line 2: found 'q Q0 b', expected 'query Q0 doc rank score tag'"),
        (("--frequency", "scores.csv"), "no column sessions"),
        (("--frequency", "many.csv"), "sessions is 'many'; give a number"),
        (("--relevance", "words.csv"), "p0 is 'often'; give a number"),
        (("--defensive-share", "2"), "a defensive share of 2: give a number from 0 to 1"),
    ],
    ids=" ".join,
)
def test_what_does_not_fit_is_refused_in_one_line(world, tmp_path, options, message):
    scores = pl.read_csv(world / "scores.csv")
    scores.with_columns(cost=pl.when(pl.col("score") > 0).then(1).otherwise(0)).write_csv(
        tmp_path / "zero.csv"
    )
    probabilities = scores.select("query", "url", *(pl.lit(0.3).alias(f"p{grade}") for grade in range(5)))
    probabilities.write_csv(tmp_path / "wrong.csv")
    sound = probabilities.with_columns(pl.lit(0.2).alias(f"p{grade}") for grade in range(5))
    sound.head(9).write_csv(tmp_path / "some.csv")
    sound.with_columns(p0=pl.lit("often")).write_csv(tmp_path / "words.csv")
    (tmp_path / "many.csv").write_text("query,sessions\nq 1,many\n")
    (tmp_path / "twice.csv").write_text("query,url,rank\nq,a,1\nq,a,2\n")
    (tmp_path / "anchors.csv").write_text("query,url,rank\nq,http://a/#1,1\nq,http://a/#2,2\n")
    (tmp_path / "empty.csv").write_text("query,url,rank\n")
    (tmp_path / "null.csv").write_text("query,url,rank\nq,a,\n")
    (tmp_path / "broken.run").write_text("q Q0 a 1 0.5 r\nq Q0 b\n")
    given = dict(zip(options[::2], options[1::2], strict=True))
    found = {name: place(world, tmp_path, value) for name, value in given.items()}
    arguments = {"--ranking": world / "first.parquet", "--budget": 60, "--out": tmp_path / "plan"} | found
    assert message in refused("plan", *(part for pair in arguments.items() for part in pair), "--quiet")
    assert not (tmp_path / "plan").exists()


def place(world, tmp_path, value):
    return next((folder / value for folder in (tmp_path, world) if (folder / value).exists()), value)


def test_a_folder_that_is_no_plan_is_refused(world, tmp_path):
    (tmp_path / "none").mkdir()
    plan = tmp_path / "none"
    goes_on = ("plan", "--continue", plan, "--budget", 5, "--out", tmp_path / "x")
    for command in (("estimate", plan, "--judgments", world / "labels.parquet"), goes_on):
        assert "is not a plan, or is broken" in refused(*command)


def test_a_plan_of_an_earlier_version_is_refused_in_one_line_with_the_remedy(world, tmp_path):
    plan = tmp_path / "plan"
    planned(world, plan)
    record = json.loads((plan / "settings.json").read_text())
    record["aim"] = record.pop("options")
    (plan / "settings.json").write_text(json.dumps(record))
    goes_on = ("plan", "--continue", plan, "--budget", 90, "--out", tmp_path / "x")
    for command in (("estimate", plan, "--judgments", world / "labels.parquet"), goes_on):
        said = refused(*command)
        assert "is a plan of an earlier version; make it again with `clickassay plan`" in said
        assert said.count("\n") == 1


def test_a_smaller_budget_is_no_continuation_and_few_labels_no_estimate(world, tmp_path):
    planned(world, tmp_path / "plan")
    said = refused("plan", "--continue", tmp_path / "plan", "--budget", 60, "--out", tmp_path / "x")
    assert "is not above that of the plan, 60" in said
    labelled = of_the_sheet(world, tmp_path / "plan", tmp_path, rows=1)
    said = refused("estimate", tmp_path / "plan", "--judgments", labelled)
    assert "label the sheet from the top" in said


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_pool(PoolSources((tmp_path / "none.parquet",)), SCALE, depth=None)
    file = tmp_path / "all.parquet"
    pl.DataFrame({"query": ["q"], "url": ["a"], "rank": [1], "score": [0.5], "grade": [1]}).write_parquet(
        file
    )
    with pytest.raises(ActiveError, match="ordered logit needs 20"):
        read_pool(PoolSources((file,), file, file), SCALE, depth=3)


def test_formulas_in_names_are_defused_in_the_sheet_and_come_back_by_number(tmp_path):
    harm = "=1+1"
    rows = [(name, f"@sum{place}", place) for name in (harm, "q", "r") for place in range(1, 4)]
    pl.DataFrame(rows, schema=["query", "url", "rank"], orient="row").write_parquet(tmp_path / "r.parquet")
    done("plan", "--ranking", tmp_path / "r.parquet", "--budget", 9, "--out", tmp_path / "p")
    text = (tmp_path / "p" / "to_label.csv").read_text()
    assert "'=1+1" in text
    assert ",=1+1" not in text
    assert harm in pl.read_parquet(tmp_path / "p" / "to_label.parquet")["query"].to_list()
    filled = [f"{line}{number % 5}" for number, line in enumerate(text.splitlines()[1:])]
    (tmp_path / "filled.csv").write_text("\n".join([text.splitlines()[0], *filled]))
    found = json.loads(estimated(tmp_path / "p", tmp_path / "filled.csv", "--json"))
    assert found["in_part"] == []
    assert found["first_missing"] is None


@pytest.mark.parametrize(
    ("grade", "message"),
    [("7", "is outside 0..4"), ("2.5", "not a whole number"), ("superb", "not a label of the scale")],
)
def test_labels_off_the_scale_are_refused_with_their_row(world, tmp_path, grade, message):
    planned(world, tmp_path / "plan")
    (tmp_path / "odd.csv").write_text(f"query,url,grade\nq 1,u1/0,{grade}\n")
    said = refused("estimate", tmp_path / "plan", "--judgments", tmp_path / "odd.csv")
    assert message in said
    assert said.count("\n") == 1


# ---- tables that do not belong together -------------------------------------------------------
def found_apart(*arguments):
    """Run a command that finds that its inputs share no name; return what it says."""
    ended = tiny.inside(*map(str, arguments))
    assert (ended.code, ended.out) == (1, ""), ended
    return ended.err


def filled(sheet, file):
    """Write rows with grades of all kinds; return their file."""
    sheet.with_row_index("row").with_columns(grade=pl.col("row") % 5).drop("row").write_csv(file)
    return file


def test_the_sheet_of_another_plan_is_refused_with_counts_and_taken_by_its_texts_without_numbers(
    world, tmp_path
):
    planned(world, tmp_path / "one", "--seed", "1")
    planned(world, tmp_path / "other", "--seed", "2")
    mine, sheet = (pl.read_parquet(tmp_path / name / "to_label.parquet") for name in ("one", "other"))
    file = filled(sheet, tmp_path / "other.csv")
    numbers = min(mine.height, sheet.height)
    apart = sum(mine.row(number)[1:] != sheet.row(number)[1:] for number in range(numbers))
    said = refused("estimate", tmp_path / "one", "--judgments", file)
    assert (
        f"{apart} of {numbers} numbered rows name another document than this plan's sheet: number 1 is"
        in said
    )
    assert "leave the column number out" in said
    both = pl.concat([mine, sheet]).unique(["query", "url"], maintain_order=True).drop("number")
    said = estimated(tmp_path / "one", filled(both, file))
    assert f"{both.height} labels: " in said
    assert f"and {mine.height} of the {mine.height} to label." in said


def test_numbers_that_another_program_wrote_as_fractions_are_numbers(world, tmp_path):
    planned(world, tmp_path / "plan")
    sheet = pl.read_parquet(tmp_path / "plan" / "to_label.parquet")
    file = filled(sheet.with_columns(pl.col("number").cast(pl.Float64)), tmp_path / "floats.csv")
    assert f"and {sheet.height} of the {sheet.height} to label." in estimated(tmp_path / "plan", file)


def test_labels_of_other_documents_are_a_finding_with_one_name_of_each_side(world, tmp_path):
    planned(world, tmp_path / "plan")
    (tmp_path / "odd.csv").write_text("query,url,grade\nq 1,U1-0,2\n")
    said = found_apart("estimate", tmp_path / "plan", "--judgments", tmp_path / "odd.csv")
    assert "shares no document with the others: documents have 'u1/0', it has 'U1-0' (query 'q 1')" in said
    (tmp_path / "odd.csv").write_text("query,url,grade\nQ-1,u1/0,2\n")
    said = found_apart("estimate", tmp_path / "plan", "--judgments", tmp_path / "odd.csv")
    assert "it has 'q-1'" in said


@pytest.mark.parametrize(
    ("options", "text", "words"),
    [
        (("--ranking",), "query,url,rank\np 1,u1/0,1\n", "the second ranking shares no query"),
        (("--relevance",), "query,url,p0,p1,p2,p3,p4\nq 1,x,1,0,0,0,0\n", "shares no document"),
        (("--cost",), "query,url,cost\nq 1,x,1\n", "shares no document"),
        (("--cost",), "query,cost\nQ1,1\n", "shares no query"),
        (("--frequency",), "query,sessions\nQ1,1\n", "shares no query"),
    ],
)
def test_inputs_of_a_plan_that_share_no_name_are_a_finding(world, tmp_path, options, text, words):
    file = tmp_path / "odd.csv"
    file.write_text(text)
    plan = ("plan", "--ranking", world / "first.parquet", "--budget", 9, "--out", tmp_path / "p")
    assert words in found_apart(*plan, *options, file)
    assert not (tmp_path / "p").exists()


def test_rankings_whose_ranks_contradict_their_scores_are_noted(tmp_path):
    (tmp_path / "r.run").write_text("q Q0 a 1 0.1 x\nq Q0 b 2 0.9 x\nr Q0 a 1 0.9 x\nr Q0 b 2 0.1 x\n")
    (tmp_path / "r.csv").write_text("query,url,rank,score\nq,a,1,7\nq,b,2,7\n")
    for name, said in (
        ("r.run", "In 1 of 2 rankings of r.run, ranks contradict scores (query 'q': 0.1 at rank 1, "
         "0.9 at rank 2); the score is used."),
        ("r.csv", "In 1 of 1 ranking of r.csv, all scores are equal but ranks differ; the rank is used."),
    ):  # fmt: skip
        assert read_pool(PoolSources((tmp_path / name,)), SCALE, depth=None)[2] == (said,)


# ---- a model's grades, corrected by labels ----------------------------------------------------------
@pytest.fixture(scope="module")
def model(world):
    """A model's grades: one too generous now and then."""
    rng = np.random.default_rng(5)
    rows = pl.read_parquet(world / "labels.parquet")
    more = pl.Series(rng.choice([0, 0, 1, 2], rows.height))
    rows.with_columns(grade=(pl.col("grade") + more).clip(0, 4)).write_csv(world / "model.csv")
    return world / "model.csv"


def test_a_models_grades_are_calibrated_by_peoples(world, model):
    sources = PoolSources((world / "first.parquet",), model, judgments=world / "judged.csv")
    chances = read_pool(sources, SCALE, depth=None)[0].probabilities
    scored = pl.read_csv(model).rename({"grade": "score"})
    scored.write_csv(world / "as_scores.csv")
    same = PoolSources((world / "first.parquet",), world / "as_scores.csv", judgments=world / "judged.csv")
    assert (chances == read_pool(same, SCALE, depth=None)[0].probabilities).all()
    assert chances.sum(axis=1) == pytest.approx(1)
    words = refused("plan", "--ranking", world / "first.parquet", "--relevance", model, "--budget", 9,
                    "--out", world / "never")  # fmt: skip
    assert "it has scores or a model's grades, and judgments of some documents are needed" in words


def test_the_corrected_estimate_is_the_models_mean_plus_its_mean_error(world, model, tmp_path):
    known = ("--relevance", model, "--judgments", world / "judged.csv")
    planned(world, tmp_path / "plan", *known, "--depth", 3, "--variant", "corrected")
    drawn = pl.read_parquet(tmp_path / "plan" / "draws.parquet")
    labels = labels_of(world, drawn, tmp_path / "drawn.parquet")
    told = json.loads(estimated(tmp_path / "plan", labels, "--json"))
    queries = {row["query"]: row for row in pl.read_parquet(tmp_path / "plan" / "queries.parquet").to_dicts()}
    draws, truth = drawn.to_dicts(), differences(world, 3)
    model_mean = sum(row["weight"] * row["expected"] for row in queries.values())
    ratio = [row["importance_weight"] for row in draws]
    apart = [truth[row["query"]] - queries[row["query"]]["expected"] for row in draws]
    rest = sum(w * d for w, d in zip(ratio, apart, strict=True)) / sum(ratio)
    assert told["estimate"]["value"] == pytest.approx(model_mean + rest)
    assert told["estimate"]["ci_low"] < np.mean(list(truth.values())) < told["estimate"]["ci_high"]


def test_correction_needs_a_model(world, tmp_path):
    words = refused("plan", "--ranking", world / "first.parquet", "--variant", "corrected", "--budget", 9,
                    "--out", tmp_path / "plan")  # fmt: skip
    assert "labels correct a model's grades; give these with --relevance" in words


def labels_of(world, drawn, file):
    """Write the labels of the queries that were drawn; return the file."""
    pl.read_parquet(world / "labels.parquet").join(drawn, on="query", how="semi").write_parquet(file)
    return file
