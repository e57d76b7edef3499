"""The judgments that people have, against figures counted from the files by other means."""

import csv
import json
from collections import Counter

import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.inputs.importers.judgments import RatingOptions, import_judgments
from support.places import DATA

FORMATS = DATA / "formats"
ESCI = DATA / "chorus_esci_ubi" / "esci_us_judgments.json"
QRELS = DATA / "trec_eval_test" / "qrels.rel_level"

pytestmark = pytest.mark.skipif(not FORMATS.exists(), reason="the files are not next to the checkout")


def imported(tmp_path, file, **rating_options):
    found = import_judgments([file], out=tmp_path / "out", rating_options=RatingOptions(**rating_options))
    return found, pl.read_parquet(tmp_path / "out" / "judgments.parquet")


def csv_rows(name):
    with (FORMATS / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_quepid_has_every_rating_of_its_file(tmp_path):
    rows = csv_rows("quepid_basic_Broad_Query_Set_rated.csv")
    _, frame = imported(tmp_path, FORMATS / "quepid_basic_Broad_Query_Set_rated.csv")
    assert frame.rows() == [(row["query"], row["docid"], int(row["rating"])) for row in rows]
    assert frame.height == 3_668


def test_quepid_keeps_three_raters_and_the_final_word_apart(tmp_path):
    rows = csv_rows("quepid_individual_ratings.csv")
    _, frame = imported(tmp_path, FORMATS / "quepid_individual_ratings.csv")
    for judge in ("agent_1", "agent_2", "agent_3", "final"):
        theirs = frame.filter(pl.col("judge") == judge)["grade"].to_list()
        assert theirs == [int(row[f"{judge}_rating"]) for row in rows]


def test_the_median_of_three_raters_is_the_one_in_the_middle(tmp_path):
    rows = csv_rows("quepid_individual_ratings.csv")
    found, frame = imported(tmp_path, FORMATS / "quepid_individual_ratings.csv", raters="median")
    middle = [sorted(int(row[f"agent_{n}_rating"]) for n in (1, 2, 3))[1] for row in rows]
    assert frame["grade"].to_list() == middle
    assert found.counts["results_raters_differ"] == sum(
        len({row[f"agent_{n}_rating"] for n in (1, 2, 3)}) > 1 for row in rows
    )


def test_gains_are_refused_with_a_map_and_taken_with_one(tmp_path):
    with pytest.raises(InputError, match="--grade-map 0=0,1=1,10=2,100=3"):
        imported(tmp_path, ESCI)
    found, frame = imported(tmp_path, ESCI, grade_map="0=0,1=1,10=3,100=4")
    lists = json.loads(ESCI.read_text(encoding="utf-8"))["judgmentRatings"]
    ratings = Counter(rating["rating"] for one in lists for rating in one["ratings"])
    grades = Counter(frame["grade"].to_list())
    assert [grades[g] for g in (0, 1, 3, 4)] == [ratings[r] for r in ("0.000", "1.000", "10.000", "100.000")]
    assert (found.counts["judgments"], found.counts["queries"]) == (6_678, 150)


def test_fractions_are_refused_and_ratings_by_a_model_are_taken(tmp_path):
    with pytest.raises(InputError, match=r"query 1, rating 2: found the rating '0\.9', a fraction"):
        imported(tmp_path, FORMATS / "srw_ImportJudgments.json")
    found, frame = imported(tmp_path, FORMATS / "srw_art_judgments_llm.json")
    assert found.counts["judgments"] == 1_080
    assert Counter(frame["grade"].to_list()) == {3: 419, 0: 301, 1: 223, 2: 137}


def test_qrels_lose_what_was_not_judged_and_nothing_else(tmp_path):
    found, frame = imported(tmp_path, QRELS)
    lines = [line.split() for line in QRELS.read_text(encoding="utf-8").splitlines()]
    assert frame.rows() == [(topic, doc, int(grade)) for topic, _, doc, grade in lines if grade != "-1"]
    assert found.counts["ratings_not_judged"] == sum(grade == "-1" for *_, grade in lines) == 304
