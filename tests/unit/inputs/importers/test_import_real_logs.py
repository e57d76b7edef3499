"""The logs that these importers are for, against figures counted from the files by other means."""

import re
from collections import Counter

import polars as pl
import pytest

from clickassay.inputs.importers.base import Imported
from clickassay.inputs.importers.pyclick import import_pyclick
from clickassay.inputs.importers.yandex import import_yandex
from support.logs import real_logs
from support.logs.real_logs import CLARA, TREC
from support.places import DATA

PYCLICK = DATA / "yandex_pyclick_sample"
needs_clara, needs_pyclick, needs_trec = (
    pytest.mark.skipif(not folder.exists(), reason=f"{folder.name} is not next to the checkout")
    for folder in (CLARA, PYCLICK, TREC)
)


@pytest.fixture(scope="module")
def clara(tmp_path_factory):
    return real_logs.clara(tmp_path_factory.mktemp("clara") / "out")


@pytest.fixture(scope="module", params=["trainSample", "testSample"])
def sample(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("pyclick") / "out"
    return PYCLICK / request.param, import_pyclick(PYCLICK / request.param, out=out)


@pytest.fixture(scope="module", params=[2012, 2013])
def track(request, tmp_path_factory):
    year: int = request.param
    imported = real_logs.track(year)(tmp_path_factory.mktemp("trec") / "out")
    return year, (TREC / f"sessiontrack{year}.xml").read_text(encoding="utf-8"), imported


def _table(imported: Imported, name: str) -> pl.DataFrame:
    return pl.read_parquet(imported.folder / f"{name}.parquet")


@needs_clara
def test_clara_has_the_searches_clicks_oddities_grades_and_days_that_its_note_counts(clara):
    counts, times = clara.counts, _table(clara, "searches")["timestamp"]
    assert (counts["searches"], counts["clicks"]) == (31_564, 11_613)
    assert counts["clicks_elsewhere"] + counts["clicks_before_any_search"] == 720
    assert counts["searches_repeating_a_result"] == 90
    assert counts["judgments"] == 48_691
    assert (len(times), _table(clara, "clicks").height) == (31_564, 11_613)
    grades = Counter(_table(clara, "judgments")["grade"].to_list())
    assert grades == {0: 3, 1: 47, 2: 31_577, 3: 13_434, 4: 2_820, 5: 810}
    assert ((times.max() - times.min()).days, times.min().year) == (82, 2000)


@needs_clara
def test_clara_is_judged_only_through_the_query_map(clara, tmp_path):
    assert clara.counts["queries_not_in_map"] == 0
    assert round(100 * clara.counts["results_shown_judged"] / clara.counts["results_shown"], 1) == 100.0
    unmapped = import_yandex(
        CLARA / "CLARA2SearchLog_beta", judgments=CLARA / "CLARA2QueryUrlRelevance_beta", out=tmp_path / "out"
    )
    share = unmapped.counts["results_shown_judged"] / unmapped.counts["results_shown"]
    assert round(100 * share, 1) == 1.0
    assert any("--query-map" in note for note in unmapped.notes)


@pytest.mark.slow
@needs_trec
def test_the_track_has_the_sessions_pages_and_clicks_of_its_xml(track):
    _, text, imported = track
    counts = imported.counts
    assert counts["sessions"] == text.count("<session num=")
    assert counts["interactions"] == text.count("<interaction num=")
    assert counts["clicks_read"] == text.count("<click num=")
    assert counts["results_shown"] == text.count("<result rank=")
    assert counts["searches"] + counts["interactions_without_results"] == counts["interactions"]
    assert counts["clicks"] + counts["clicks_of_unknown_rank"] == counts["clicks_read"]


@needs_trec
def test_the_track_shows_its_documents_in_the_order_of_the_xml(track):
    _, text, imported = track
    documents = re.findall(r"<clueweb\d\did>(.*?)</clueweb\d\did>", text)
    assert _table(imported, "searches")["results"].explode().to_list() == documents


@needs_trec
def test_a_query_of_the_track_has_every_graded_document_of_its_topic_and_no_other(track):
    year, text, imported = track
    pool = Counter(line.split()[0] for line in (TREC / f"qrels{year}.txt").read_text().splitlines())
    topics = dict(re.findall(r'<session num="(\d+)".*?<topic num="(\d+)"', text, flags=re.DOTALL))
    graded = Counter(_table(imported, "judgments")["query"].to_list())
    for session, query in _table(imported, "searches").select("user_id", "query").iter_rows():
        assert graded[query] == pool[topics[str(session)]]
    assert _table(imported, "judgments").select("query", "url").is_unique().all()


@needs_trec
def test_grades_of_2012_rise_with_the_labels_in_the_order_of_the_track(tmp_path):
    imported = real_logs.track(2012)(tmp_path / "out")
    # The query is of topic 1.
    labels = Counter(
        line.split()[3] for line in (TREC / "qrels2012.txt").read_text().splitlines() if line.startswith("1 ")
    )
    grades = Counter(
        _table(imported, "judgments").filter(pl.col("query") == "us tax code 403 (b)")["grade"].to_list()
    )
    expected = {0: labels["0"] + labels["-2"], 1: labels["1"], 2: labels["4"], 3: labels["2"], 4: labels["3"]}
    assert grades == +Counter(expected)
    assert grades[2] > 0


@pytest.mark.slow
@needs_pyclick
def test_the_sample_of_pyclick_has_the_pages_and_clicks_of_its_text(sample):
    file, imported = sample
    text = file.read_text(encoding="utf-8")
    pages, clicks = {"trainSample": (35_064, 50_321), "testSample": (21_413, 35_853)}[file.name]
    assert imported.counts["searches"] == text.count("\t") == pages
    assert imported.counts["clicks"] == len(re.findall(r"[:,] \d", text)) == clicks
    assert _table(imported, "searches")["query"].n_unique() == 20
    assert set(_table(imported, "searches")["results"].list.len()) == {10}


@needs_pyclick
def test_the_sample_of_pyclick_keeps_its_pages_in_order_with_all_their_clicks(sample):
    file, imported = sample
    pages = re.findall(r"(\d+_\d+)\t([\d,]+) :([ \d,]*)", file.read_text(encoding="utf-8"))
    searches = _table(imported, "searches").select("query", pl.col("results").list.join(",")).rows()
    assert searches == [(query, results) for query, results, _ in pages]
    clicked = [
        (number, url) for number, (_, _, urls) in enumerate(pages, 1) for url in re.findall(r"\d+", urls)
    ]
    assert _table(imported, "clicks").select("search_id", "url").rows() == clicked
    shown = [set(results.split(",")) for _, results, _ in pages]
    assert imported.counts["clicks_elsewhere"] == sum(url not in shown[number - 1] for number, url in clicked)
