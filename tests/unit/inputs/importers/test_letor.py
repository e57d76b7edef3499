"""Learning-to-rank files: by hand, by the command, and the real example where it is there."""

import json

import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.inputs.importers.letor import import_letor
from support.logs import tiny
from support.places import DATA

REAL = DATA / "ltr_lightgbm_rank"
LETOR = """2 qid:10 1:0.5 2:1 46:-0.25 #docid = GX001 inc = 1
0 qid:10 1:0 # no name
\t
1 qid:9 3:1e-3
"""


def imported(tmp_path, text, sizes=None):
    (tmp_path / "in.txt").write_text(text)
    if sizes is not None:
        (tmp_path / "in.query").write_text(sizes)
    given = None if sizes is None else tmp_path / "in.query"
    return import_letor(tmp_path / "in.txt", sizes=given, out=tmp_path / "out")


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
    }  # fmt: skip
    record = json.loads((tmp_path / "out" / "import.json").read_text())
    assert (record["importer"], record["counts"]) == ("letor", found.counts)


def test_the_last_feature_and_the_largest_values_are_kept_as_they_are(tmp_path):
    imported(tmp_path, "1 qid:1 0:3.4e38 2147483647:-3.4e38\n")
    features = pl.read_parquet(tmp_path / "out" / "features.parquet")
    assert features["features"].to_list() == [[0, 2_147_483_647]]
    assert features["values"].to_list() == [[pytest.approx(3.4e38), pytest.approx(-3.4e38)]]


def test_sizes_of_queries_take_the_place_of_qid(tmp_path):
    imported(tmp_path, "0 1:1\n3 1:2\n1\n", "2\n1\n")
    judgments = pl.read_parquet(tmp_path / "out" / "judgments.parquet")
    assert judgments.rows() == [("1", "1-1", 0), ("1", "1-2", 3), ("2", "2-1", 1)]


@pytest.mark.parametrize(
    ("text", "sizes", "message"),
    [
        ("", None, "has no document"),
        ("1 2:3\n", None, "line 1: found '1 2:3', expected 'grade qid:N"),
        ("1 qid:\n", None, "line 1"),
        ("1.5 qid:1 2:3\n", None, "a whole grade of 0 or more"),
        ("-1 qid:1 2:3\n", None, "a whole grade of 0 or more"),
        ("1 qid:1 2:x\n", None, "line 1"),
        ("1 qid:1 x:2\n", None, "line 1"),
        (
            "1 qid:1 99999999999:1\n",
            None,
            "line 1: found '99999999999:1', expected a feature from 0 to 2147483647",
        ),
        ("1 qid:1 1:1\n1 qid:1 2147483648:1\n", None, "line 2: found '2147483648:1'"),
        ("1 qid:1 -1:1\n", None, "line 1: found '-1:1'"),
        ("1 qid:1 1:1 2:nan\n", None, "line 1: found '2:nan', expected .* with a finite value"),
        ("1 qid:1 2:inf\n", None, "line 1: found '2:inf'"),
        ("1 qid:1 2:-Infinity\n", None, "line 1: found '2:-Infinity'"),
        ("1 qid:1 2:1e39\n", None, "line 1: found '2:1e39'"),
        (
            "1 qid:1\n1 qid:2\n1 qid:1\n",
            None,
            "line 3: found '1 qid:1', expected the lines of query 1 together",
        ),
        ("1 1:2\n1 1:2\n", "1\n", "no more lines than the sizes of queries add up to"),
        ("1 1:2\n", "2\n", "more lines than"),
        ("1 1:2\n", "0\n", "the number of lines of a query"),
        ("1 1:2\n", "x\n", "the number of lines of a query"),
    ],
)
def test_what_is_not_in_the_layout_is_refused_with_its_place(tmp_path, text, sizes, message):
    with pytest.raises(InputError, match=message.replace("(", "\\(")):
        imported(tmp_path, text, sizes)
    assert not (tmp_path / "out").exists()


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
