"""Learning-to-rank files: by hand, by the command, and the real example where it is there."""

import json

import polars as pl
import pytest

from clickassay.inputs.importers.letor import import_letor
from support.logs import tiny
from support.places import DATA

REAL = DATA / "ltr_lightgbm_rank"
LETOR = """2 qid:10 1:0.5 2:1 46:-0.25 #docid = GX001 inc = 1
0 qid:10 1:0 # no name
\t
1 qid:9 3:1e-3
"""


def imported(tmp_path, text):
    (tmp_path / "in.txt").write_text(text)
    return import_letor(tmp_path / "in.txt", out=tmp_path / "out")


def test_documents_have_names_grades_and_features(tmp_path):
    found = imported(tmp_path, LETOR)
    assert pl.read_parquet(tmp_path / "out" / "judgments.parquet").rows() == [
        ("10", "GX001", 2), ("10", "10-2", 0), ("9", "9-1", 1),
    ]  # fmt: skip
    features = pl.read_parquet(tmp_path / "out" / "features.parquet")
    assert features["features"].to_list() == [[1, 2, 46], [1], [3]]
    assert features["values"].to_list() == [[0.5, 1.0, -0.25], [0.0], [pytest.approx(1e-3)]]
    assert found.counts == {
        "lines": 4, "blank_lines": 1, "queries": 2, "documents": 3, "without_features": 0,
        "comments_not_used": 1,
    }  # fmt: skip
    record = json.loads((tmp_path / "out" / "import.json").read_text())
    assert (record["importer"], record["counts"]) == ("letor", found.counts)


def test_the_last_feature_and_the_largest_values_are_kept_as_they_are(tmp_path):
    imported(tmp_path, "1 qid:1 0:3.4e38 2147483647:-3.4e38\n")
    features = pl.read_parquet(tmp_path / "out" / "features.parquet")
    assert features["features"].to_list() == [[0, 2_147_483_647]]
    assert features["values"].to_list() == [[pytest.approx(3.4e38), pytest.approx(-3.4e38)]]


def test_the_command_tells_what_it_read(tmp_path):
    (tmp_path / "in.txt").write_text(LETOR)
    ended = tiny.inside(
        "import", "letor", str(tmp_path / "in.txt"), "--out", str(tmp_path / "out"), "--quiet"
    )
    assert ended.code == 0, ended
    assert "clickassay plan" in ended.out


@pytest.mark.skipif(not REAL.exists(), reason="the real example is not here")
def test_the_real_example_is_read_whole(tmp_path):
    found = import_letor(REAL / "rank.train", sizes=REAL / "rank.train.query", out=tmp_path / "out")
    assert (found.counts["documents"], found.counts["queries"]) == (3_005, 201)
    judgments = pl.read_parquet(tmp_path / "out" / "judgments.parquet")
    assert judgments["grade"].min() == 0
    assert judgments["grade"].max() == 4
