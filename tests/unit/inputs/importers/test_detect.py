"""Files are recognised by their content, whatever their names."""

import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.inputs.text.detect import recognise
from support.places import DATA

URLS = " ".join(f"u{n}" for n in range(1, 11))
WIDE = "\t".join(["1", "9e107d9d372bb6826bd81d3542a419d6", "t", "a", "3", "1", *["-"] * 20])
BEGINNINGS = {
    "judgment-table": "query\turl\tgrade\n" + "q\ta\t1\n" * 20,
    "queries": "query,navigational\nq,true\n",
    "searches": '{"search_id":1,"user_id":2,"query":"q","timestamp":0,"results":["a"]}\n',
    "clicks": "search_id,timestamp,position\n1,0,1\n",
    "quepid": "query,docid,rating\nq,a,1\n",
    "quepid-raters": 'query,docid,"a_rating",b_rating\nq,a,1,2\n',
    "srw": '{\n "name": "x",\n "judgmentRatings": [\n  {"query": "q"}\n]}\n',
    "qrels": "301 0 FR-1 -1\n301 0 FR-2 4\n",
    "trec-run": "301\tQ0\tFR-1\t1\t 2.5e-1\tX\n",
    "trec-session": '<?xml version="1.0"?>\n<sessiontrack2013>\n<session num="1">\n',
    "tiangong-st": '<sessions>\n<session num="1">\n<interaction num="1">\n<query_id>3</query_id>\n',
    "tiangong-st-labels": "1 2\t3  d4 2\n",
    "yandex": "1\t0\tQ\t5\t0.0\ta\tb\n1\t7\tC\ta\n",
    "yandex-judgments": "5\t1\t77\t1\n5\t2\t78\t0\n",
    "ubi": '{"index": {"_index": "ubi_queries"}}\n{"query_id": "1"}\n',
    "letor": "2 qid:1 1:0.5 2:-1e-3 #docid = X\n",
    "letor-without-qid": "2 1:0.5 2:3\n0 1:0 7:1\n",
    "pyclick": "98_1\t1,2,3 : 2 , 3; 98_1\t1,2,3 :;\n9_2\t4,5 :;\n",
    "yahoo-l18": f"q c 1237000000 {URLS} 1 12 3\nq c 1237000001 {URLS} 2 5 1 9 s\n",
    "baidu-ultr": f"12\t3\x014\t-\n{WIDE}\n",
    "baidu-ultr-labels": "12\t3\x014\tt\ta\t2\t7\n",
    "unknown": "dear diary\ntoday nothing happened\n",
}


ENDINGS = {"searches": ".jsonl", "clicks": ".csv", "queries": ".csv"}
"""Tables that only a run reads, which knows them by their names."""


@pytest.mark.parametrize("layout", BEGINNINGS)
def test_a_layout_is_recognised_by_its_first_lines(layout, tmp_path):
    file = tmp_path / "a name that says nothing"
    file.write_text(BEGINNINGS[layout], encoding="utf-8")
    found = recognise(file)
    assert found.layout.name == layout
    has_command = layout not in ("unknown", "trec-run", *ENDINGS)
    assert ("'" + str(file) + "'" in found.command) == has_command
    assert ("rename it to" in found.problem) == (layout in ENDINGS)
    assert found.head == tuple(BEGINNINGS[layout].splitlines()[:3])


@pytest.mark.parametrize("layout", ENDINGS)
def test_a_table_of_a_log_has_a_command_under_a_name_that_a_run_knows(layout, tmp_path):
    file = tmp_path / f"table{ENDINGS[layout]}"
    file.write_text(BEGINNINGS[layout], encoding="utf-8")
    found = recognise(file)
    assert (found.layout.name, found.problem) == (layout, "")
    assert f"--{layout} {file}" in found.command


def test_one_broken_line_of_ten_does_not_make_a_file_another_and_two_do(tmp_path):
    good = "301 0 FR-1 1\n" * 9
    (tmp_path / "one").write_text(good + "oops\n")
    (tmp_path / "two").write_text(good + "oops\noops\n")
    assert recognise(tmp_path / "one").layout.name == "qrels"
    assert recognise(tmp_path / "two").layout.name == "unknown"


def test_the_columns_of_parquet_tell_a_table(tmp_path):
    pl.DataFrame({"search_id": [1], "timestamp": [0], "url": ["a"]}).write_parquet(tmp_path / "x")
    found = recognise(tmp_path / "x")
    assert (found.layout.name, found.head) == ("clicks", ())
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "y")
    assert recognise(tmp_path / "y").layout.name == "unknown"


def test_a_file_longer_than_what_is_read_is_judged_by_whole_lines(tmp_path):
    (tmp_path / "long").write_text(("301 0 " + "d" * 200_000 + " 1\n") * 2)
    found = recognise(tmp_path / "long")
    assert found.layout.name == "qrels"
    assert max(map(len, found.head)) <= 101


@pytest.mark.parametrize(
    "content", [b"", b"\n \n", b"\xef\xbb\xbf", b"PAR1 and no more", b"\x1f\x8bnot gzip"]
)
def test_what_cannot_be_looked_at_is_refused_in_one_line(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InputError) as caught:
        recognise(tmp_path / "file")
    assert str(tmp_path / "file") in str(caught.value)
    assert "\n" not in str(caught.value)


REAL = {
    "chorus_esci_ubi/esci_us_judgments.json": "srw",
    "chorus_esci_ubi/ubi_queries_events.ndjson": "ubi",
    "clara2_naver/CLARA2QueryUrlRelevance_beta": "yandex-judgments",
    "clara2_naver/CLARA2SearchLog_beta": "yandex",
    "formats/clickmodels_click_log_sample.tsv": "unknown",
    "formats/quepid_basic_Broad_Query_Set_rated.csv": "quepid",
    "formats/quepid_individual_ratings.csv": "quepid-raters",
    "formats/srw_judgment-mapping.json": "unknown",
    "formats/srw_art_judgments_llm.json": "srw",
    "ltr_lightgbm_rank/rank.train": "letor-without-qid",
    "trec_eval_test/qrels.rel_level": "qrels",
    "trec_eval_test/results.test": "trec-run",
    "trec_session_2012_2013/qrels2012.txt": "qrels",
    "trec_session_2012_2013/sessiontrack2012.xml": "trec-session",
    "trec_session_2012_2013/sessiontrack2013.xml": "trec-session",
    "yandex_pyclick_sample/trainSample": "pyclick",
}


@pytest.mark.skipif(not DATA.exists(), reason="the files are not next to the checkout")
@pytest.mark.parametrize("name", REAL)
def test_files_that_people_have_are_recognised(name):
    assert recognise(DATA / name).layout.name == REAL[name]
