"""Files of TREC are read by one rule in evaluation, in labelling plans and in importers."""

import json
from collections import Counter
from functools import partial

import pandas as pd
import polars as pl
import pytest

from clickassay.core.errors import InputError, NothingInCommonError
from clickassay.core.settings import Settings
from clickassay.inputs.importers.judgments import import_judgments
from clickassay.inputs.importers.ratings import ReadOptions, read_judgment_file
from clickassay.inputs.importers.trec_session import import_trec_session
from clickassay.inputs.text.detect import recognise
from clickassay.inputs.text.trec import ranked, read_qrels, read_run
from clickassay.studies.evaluation.evaluate import evaluate
from clickassay.studies.labelling.inputs import PoolSources, read_pool

SESSION = """<sessiontrack2013><session num="1" userid="1" starttime="00:00:01.0"><topic num="1"/>
<interaction num="1" starttime="00:00:02.0"><query>q</query><results>
<result rank="1"><clueweb12id>a</clueweb12id></result></results></interaction></session></sessiontrack2013>"""


def evaluated(file):
    return [(query, doc, str(grade)) for query, doc, grade in read_qrels(file).iter_rows()]


def imported(file):
    read = read_judgment_file(file, ReadOptions("qrels"), Counter())
    return [(one.query, one.url, one.value) for one in read.ratings]


def of_sessions(file):
    (file.parent / "sessions.xml").write_text(SESSION)
    out = import_trec_session(file.parent / "sessions.xml", file, out=file.parent / "out").folder
    rows = pl.read_parquet(out / "judgments.parquet").select("url", "grade")
    return [("1", url, str(grade)) for url, grade in rows.iter_rows()]


def planned(file):
    _, documents, _ = read_pool(PoolSources((file,)), Settings(), depth=None)
    return documents.sort("query", "rank_1").select("query", "url").rows()


def evaluated_run(file):
    return ranked(read_run(file)).select("query", "doc").rows()


OF_QRELS, OF_RUNS = (evaluated, imported, of_sessions), (evaluated_run, planned)


@pytest.mark.parametrize("read", OF_QRELS)
@pytest.mark.parametrize(
    "text",
    [
        "1 0 a 1\n1 0 b 2\n",
        "1\t0\t\ta\t1\n1\t0\tb\t2",
        "1 0 a 1\r\n1 0 b 2\r\n",
        "\n1 0 a 1\n  \n 1 0 b 2 \n\n",
        "1 0 a 1\n1 0 b 2\n\0\0\0",
        "\ufeff1 0 a 1\n1 0 b 2\n",
        "query_id iteration doc_id relevance\n1 0 a 1\n1 0 b 2\n",
    ],
    ids=["blanks", "tabs", "CRLF", "blank lines", "a tail of zeros", "a byte order mark", "a header"],
)
def test_what_all_readers_of_qrels_take(tmp_path, read, text):
    (tmp_path / "qrels").write_bytes(text.encode())
    assert read(tmp_path / "qrels") == [("1", "a", "1"), ("1", "b", "2")]


@pytest.mark.parametrize("read", OF_QRELS)
def test_fields_end_where_c_has_white_space_not_where_unicode_has_it(tmp_path, read):
    docs = ["a\u00a0b", "a\u3000b", "a\u0085b", "a\u2028b", "a\x1cb"]
    (tmp_path / "qrels").write_bytes("".join(f"1\v0\f{doc} 1\n" for doc in docs).encode())
    assert read(tmp_path / "qrels") == [("1", doc, "1") for doc in docs]


@pytest.mark.parametrize("read", OF_QRELS)
@pytest.mark.parametrize(
    "line", ["1 0 b", "1 0 b 1 x", "# 1", "1 0 b\vb 1", "1 0 b\0b 1"], ids=["3", "5", "#", "tab", "zero"]
)
def test_qrels_of_other_than_four_fields_are_refused_with_the_same_words(tmp_path, read, line):
    (tmp_path / "qrels").write_bytes(f"1 0 a 1\n\n{line}\n".encode())
    with pytest.raises(InputError) as caught:
        read(tmp_path / "qrels")
    expected = "expected 'query 0 doc grade' with white space between; fix or remove the line"
    assert str(caught.value) == f"{tmp_path / 'qrels'}, line 3: found {line!r}, {expected}"


@pytest.mark.parametrize("read", OF_QRELS)
def test_qrels_without_a_line_are_refused(tmp_path, read):
    (tmp_path / "qrels").write_text(" \n")
    with pytest.raises(InputError, match="is empty; expected lines 'query 0 doc grade'"):
        read(tmp_path / "qrels")


@pytest.mark.parametrize("read", OF_RUNS)
def test_a_run_is_in_the_order_of_trec_eval_whatever_its_lines_and_ranks_say(tmp_path, read):
    # by hand: form_res_rels.c of trec_eval sorts by falling sim, then by falling docno as strcmp has it
    lines = (
        "r Q0 z 1 3 t\nq Q0 a 9 0.5 t\n\nq\tQ0  é x 5e-1 t\r\nr Q0 y 2 4 t\nq Q0 B 1 0.5 t\nq Q0 c 2 0.75 t"
    )
    (tmp_path / "a.run").write_bytes(lines.encode())
    assert read(tmp_path / "a.run") == [
        ("q", "c"),
        ("q", "é"),
        ("q", "a"),
        ("q", "B"),
        ("r", "y"),
        ("r", "z"),
    ]


@pytest.mark.parametrize("read", OF_RUNS)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("q Q0 b 1 1", "'query Q0 doc rank score tag' with white space between"),
        ("q Q0 b 1 1 t x", "'query Q0 doc rank score tag' with white space between"),
        ("q Q0 b 1 1 t\rq Q0 c 2 1 t", "'query Q0 doc rank score tag' with white space between"),
        *((f"q Q0 b 1 {score} t", "a finite number") for score in ("nan", "inf", "1e999", "x", "1_0", "٣")),
    ],
)
def test_a_line_that_is_none_of_a_run_is_refused_with_the_same_words(tmp_path, read, line, expected):
    (tmp_path / "a.run").write_bytes(f"q Q0 a 1 1 t\n{line}\n".encode())
    with pytest.raises(InputError) as caught:
        read(tmp_path / "a.run")
    said = f"{tmp_path / 'a.run'}, line 2: found {line!r}, expected {expected}; fix or remove the line"
    assert str(caught.value) == said


@pytest.mark.parametrize("read", OF_RUNS)
def test_a_line_that_names_the_columns_of_a_run_is_no_result(tmp_path, read):
    (tmp_path / "a.run").write_text("qid iter docno rank score run\nq Q0 a 1 2 t\n")
    assert read(tmp_path / "a.run") == [("q", "a")]


def test_short_files_with_a_header_are_recognised(tmp_path):
    texts = {
        "qrels": "query_id iteration doc_id relevance\nq 0 a 1\n",
        "trec-run": "qid iter docno rank score run\nq Q0 a 1 2 t\n",
    }
    for layout, text in texts.items():
        (tmp_path / layout).write_text(text)
        assert recognise(tmp_path / layout).layout.name == layout
    (tmp_path / "data").write_text("query 0 doc 1\n")
    assert evaluated(tmp_path / "data") == [("query", "doc", "1")]


@pytest.mark.parametrize("read", OF_RUNS)
def test_a_document_twice_in_a_list_is_refused(tmp_path, read):
    (tmp_path / "a.run").write_text("q Q0 a 1 2 t\nq Q0 a 2 1 t\n")
    with pytest.raises(InputError, match="'a' is retrieved twice for query 'q'"):
        read(tmp_path / "a.run")


# ---- fewer fields, and dicts ----------------------------------------------------------------------
@pytest.mark.parametrize("read", [evaluated, imported])
def test_judgments_of_three_fields_are_query_document_and_grade(tmp_path, read):
    (tmp_path / "three.qrels").write_text("1\ta\t1\n\n1 b 2\n")
    assert read(tmp_path / "three.qrels") == [("1", "a", "1"), ("1", "b", "2")]


@pytest.mark.parametrize("read", [evaluated, imported])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 0 a\n2 0 b\n", "line 1: found '1 0 a', expected 'query 0 doc grade'"),
        ("1 a 1\n1 0 b 1\n", "line 2: found '1 0 b 1', expected 'query doc grade'"),
        ("1 a\n", "line 1: found '1 a', expected 'query 0 doc grade'"),
    ],
    ids=["no grade", "three, then four", "two"],
)
def test_judgments_of_fewer_fields_whose_meaning_is_not_clear_are_refused(tmp_path, read, text, words):
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(InputError) as caught:
        read(tmp_path / "qrels")
    assert words in str(caught.value)


@pytest.mark.parametrize("read", OF_RUNS)
@pytest.mark.parametrize(
    "text",
    ["q\tc\t1\nq\ta\t2\nr\tz\t1\n", "q c 0\nr z 0\nq a 1\n", "q Q0 a 2 1.5\nq Q0 c 1 2.5\nr Q0 z 1 3\n"],
    ids=["ranks from 1, as MS MARCO", "ranks from 0", "no tag"],
)
def test_runs_of_fewer_fields_are_ranked_where_their_meaning_is_clear(tmp_path, read, text):
    (tmp_path / "a.run").write_text(text)
    assert read(tmp_path / "a.run") == [("q", "c"), ("q", "a"), ("r", "z")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q a 0.9\nq b 0.8\n", ("line 1: found 'q a 0.9'", "with ranks from 1", '$2, 0, $3, "run"}\' ')),
        ("q a 2\nq b 1\n", ("line 1: found 'q a 2'", "if they are scores, write six fields: awk")),
        ("q a 1\nq b 1\n", ("line 2: found 'q b 1'",)),
        ("q a 1 0.9\n", ("line 1: found 'q a 1 0.9', expected 'query Q0 doc rank score tag'",)),
    ],
)
def test_runs_of_fewer_fields_that_may_be_scores_are_refused_with_the_line_that_writes_six(
    tmp_path, text, words
):
    (tmp_path / "a.run").write_text(text)
    with pytest.raises(InputError) as caught:
        read_run(tmp_path / "a.run")
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.parametrize("spelled", [json.dumps, partial(json.dumps, indent=2)], ids=["a line", "lines"])
def test_dicts_saved_as_json_are_read_as_from_python(tmp_path, spelled):
    qrels, run = {"q": {"0": 2, "b": 0}, "r": {"0": 1}}, {"q": {"b": 2.5, "0": 1.0}, "r": {"0": 3.5}}
    (tmp_path / "qrels.json").write_text(spelled(qrels))
    (tmp_path / "run.json").write_text(spelled(run))
    (tmp_path / "ranked.json").write_text(spelled({"q": ["b", "0"], "r": ["0"]}))
    for file in ("run.json", "ranked.json"):
        assert evaluate(tmp_path / "qrels.json", tmp_path / file, "RR")["RR"] == 0.75
    assert recognise(tmp_path / "qrels.json").layout.name == "judgment-table"
    assert recognise(tmp_path / "run.json").layout.name == "trec-run"
    out = import_judgments([tmp_path / "qrels.json"], out=tmp_path / "out").folder
    rows = pl.read_parquet(out / "judgments.parquet").select("query", "url", "grade").rows()
    assert sorted(rows) == [("q", "0", 2), ("q", "b", 0), ("r", "0", 1)]


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("q a 2\nq b 0\n", "qrels"),
        ("q a 1\nq b 2\nq c 3\nr d 1\n", "trec-run"),
        ("q Q0 a 1 2.5\n", "trec-run"),
    ],
)
def test_lines_of_fewer_fields_are_recognised(tmp_path, text, layout):
    (tmp_path / "file").write_text(text)
    assert recognise(tmp_path / "file").layout.name == layout


# ---- frames of other tools --------------------------------------------------------------------------
IDS, TEXTS = ["1", "1", "2"], ["lamp", "lamp", "chair"]
TERRIER_QRELS = pd.DataFrame({"qid": IDS, "docno": ["a", "b", "c"], "label": [1, 0, 1]})
TERRIER_RUN = pd.DataFrame(
    {"qid": IDS, "docid": [10, 11, 12], "docno": ["b", "a", "c"], "rank": [0, 1, 0], "score": [9.0, 8, 7],
     "query": TEXTS}
)  # fmt: skip
RANX_QRELS = pd.DataFrame({"q_id": IDS, "doc_id": ["a", "b", "c"], "score": [1, 0, 1]})
OURS = pd.DataFrame({"query": TEXTS, "doc": ["a", "b", "c"], "grade": [1, 0, 1]})


@pytest.mark.parametrize(
    "qrels",
    [
        TERRIER_QRELS, RANX_QRELS, OURS, OURS.assign(qid=IDS), TERRIER_QRELS.set_index(["qid", "docno"]),
        TERRIER_QRELS.set_index("qid"), TERRIER_QRELS.set_index(["qid", "docno"])["label"],
        pl.from_pandas(TERRIER_QRELS).lazy(), pl.from_pandas(TERRIER_QRELS).to_arrow(),
        {"1": {"a": 1, "b": 0}, "2": {"c": 1}}, {"lamp": {"a": 1, "b": 0}, "chair": {"c": 1}},
    ],
    ids=[
        "pyterrier", "ranx", "texts", "both", "index", "half an index", "series", "lazy", "arrow", "ids",
        "dict",
    ],
)  # fmt: skip
def test_queries_are_named_by_text_or_by_id_as_the_other_side_names_them(tmp_path, qrels):
    # by hand: query 1 shows b, then a, which is relevant; query 2 shows c, which is
    TERRIER_RUN.to_csv(tmp_path / "run.csv", index=False)
    TERRIER_RUN.to_parquet(tmp_path / "run.parquet")
    for run in (TERRIER_RUN, tmp_path / "run.csv", tmp_path / "run.parquet"):
        assert evaluate(qrels, run, "RR")["RR"] == 0.75


def test_ids_of_judgments_with_texts_are_taken_where_runs_have_ids_alone():
    run, told = TERRIER_RUN.drop(columns="query"), []
    found = evaluate(OURS.assign(qid=IDS), {"a": run, "b": run}, "RR", progress=told.append)
    assert found.means["mean"].to_list() == [0.75, 0.75]
    notes = [event.message for event in told if event.note]
    assert notes == ["the judgments: queries by column qid, not query, as on the other side"]


def test_where_no_query_is_common_the_columns_that_were_read_are_named():
    with pytest.raises(NothingInCommonError) as caught:
        evaluate(TERRIER_QRELS.assign(qid="7"), TERRIER_RUN, "RR")
    assert "run (queries by column query or qid) and the judgments (queries by column qid)" in str(
        caught.value
    )


# ---- below 0, and tables ----------------------------------------------------------------------------
BELOW = "1 0 a -2\n1 0 b 1\n1 0 d -1\n"
JUDGED = {"a": -2, "b": 1, "d": -1}
SHOWN = {"1": {"a": 9.0, "b": 8.0, "c": 7.0}}
SOURCES = {
    "qrels": lambda file: file.write_text(BELOW),
    "CSV": lambda file: file.write_text("query,url,grade\n1,a,-2\n1,b,1\n1,d,-1\n"),
    "BEIR": lambda file: file.write_text("query-id\tcorpus-id\tscore\n1\ta\t-2\n1\tb\t1\n1\td\t-1\n"),
    "JSON lines": lambda file: file.write_text(
        "".join(f'{{"query-id":1,"corpus-id":"{doc}","score":{grade}}}\n' for doc, grade in JUDGED.items())
    ),
    "Parquet": lambda file: pl.DataFrame(
        {"query": ["1"] * 3, "url": list(JUDGED), "grade": list(JUDGED.values())}
    ).write_parquet(file),
}


def given(how, tmp_path):
    """Return the same judgments as a file, a frame or a dict."""
    if how == "a dict":
        return {"1": JUDGED}
    if how == "a frame of BEIR":
        return pl.DataFrame(
            {"query-id": ["1"] * 3, "corpus-id": list(JUDGED), "score": list(JUDGED.values())}
        )
    SOURCES[how](tmp_path / "judged")
    return tmp_path / "judged"


@pytest.mark.parametrize("how", [*SOURCES, "a dict", "a frame of BEIR"])
def test_spam_is_judged_grade_0_and_minus_1_is_not_judged(tmp_path, how):
    found = evaluate(given(how, tmp_path), SHOWN, "Judged@3 ERR@3", bounds=True)
    values = {row["measure"]: row for row in found.means.iter_rows(named=True)}
    assert values["Judged@3"]["mean"] == pytest.approx(2 / 3)
    # c may have any grade to 4: 1/2 * R(1) + 1/3 * (1 - R(1)) * R(4), R(1) = 1/16, R(4) = 15/16
    assert values["ERR(max_rel=4)@3"]["high"] == pytest.approx(1 / 32 + 15 / 16 * 15 / 16 / 3)
    assert values["ERR(max_rel=4)@3"]["low"] == pytest.approx(1 / 32)


@pytest.mark.parametrize("how", list(SOURCES))
def test_import_and_evaluation_have_the_same_judgments(tmp_path, how):
    if how not in ("qrels", "BEIR"):
        pytest.skip("import refuses grades below 0 of other layouts, and asks for a map")
    file = given(how, tmp_path)
    out = import_judgments([file], out=tmp_path / "out").folder
    evaluated_rows = [row for row in read_qrels(file).sort("doc").rows() if row[2] >= 0]
    assert pl.read_parquet(out / "judgments.parquet").sort("url").rows() == evaluated_rows


def test_a_grade_that_is_none_names_the_command_for_all(tmp_path):
    (tmp_path / "q").write_text("1 0 a 0.4\n1 0 b 1.5\n1 0 c -1\n")
    with pytest.raises(
        InputError, match=r"judgments \S+/q --layout qrels --grade-map 0\.4=0,1\.5=2,-1=none "
    ):
        read_qrels(tmp_path / "q")


UNJUDGED = ("nan", "None", "NULL", "\\N", "refused", "", -1, None, float("nan"))


@pytest.mark.parametrize("form", ["CSV", "a dict", "a frame"])
def test_ratings_without_a_grade_are_not_judged_in_every_form(tmp_path, form):
    words = [value for value in UNJUDGED if form == "a dict" or isinstance(value, str)]
    docs = [f"d{number}" for number in range(len(words))]
    (tmp_path / "q.csv").write_text(
        "query,doc,grade\nq,a,3\n"
        + "".join(f"q,{doc},{word}\n" for doc, word in zip(docs, words, strict=True))
    )
    sources = {
        "CSV": tmp_path / "q.csv",
        "a dict": {"q": {"a": 3, **dict(zip(docs, words, strict=True))}},
        "a frame": pl.DataFrame({"query": "q", "doc": ["a", *docs], "grade": ["3", *map(str, words)]}),
    }
    counts = {}
    rows = read_qrels(sources[form], counts=counts).rows()
    assert rows == [("q", "a", 3), *(("q", doc, -1) for doc in docs)]
    assert counts["not_judged"] == len(words) - (-1 in words)


def test_a_word_in_a_dict_is_no_null():
    with pytest.raises(InputError, match="grade is 'meh', expected a whole grade"):
        read_qrels({"q": {"a": 3, "b": "meh"}})


@pytest.mark.parametrize(("rule", "grade"), [("error", 2), ("max", 2), ("mean-rounded", 2), ("latest", 2)])
def test_a_failure_beside_a_grade_changes_nothing(tmp_path, rule, grade):
    (tmp_path / "q.csv").write_text("query,url,grade\n1,a,2\n1,a,-1\n1,a,refused\n1,b,-1\n")
    assert read_qrels(tmp_path / "q.csv", conflicts=rule).rows() == [("1", "a", grade), ("1", "b", -1)]


def test_an_evaluation_counts_second_grades_and_missing_ones_of_both_judges(tmp_path):
    (tmp_path / "people.csv").write_text("query,url,grade\n1,a,2\n1,a,1\n1,b,nan\n1,c,0\n")
    (tmp_path / "model.csv").write_text("query,url,grade\n1,a,2\n1,a,1\n1,a,0\n1,b,0\n1,c,refused\n2,a,1\n")
    run = {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}}
    people, model = tmp_path / "people.csv", tmp_path / "model.csv"
    said = " ".join(evaluate(people, run, "RR", judge=model, conflicts="max").cautions)
    for words in (
        "1 judgment of documents that have one already: each gets the highest of its grades (--conflicts",
        "2 judgments by the judge of documents that have one already",
        "1 rating without a grade", "1 rating by the judge without a grade",
    ):  # fmt: skip
        assert words in said


def test_a_table_of_repeated_judgments_follows_the_rule_too(tmp_path):
    (tmp_path / "q.csv").write_text("query,url,grade\n1,a,1\n1,a,3\n")
    with pytest.raises(InputError, match=r"judged twice .* --conflicts max"):
        read_qrels(tmp_path / "q.csv")
    assert read_qrels(tmp_path / "q.csv", conflicts="max").rows() == [("1", "a", 3)]


def test_names_that_a_frame_has_as_floats_are_whole_numbers():
    frame = pl.DataFrame({"qid": [1.0, 2.0], "docno": [10.0, 2.5], "label": [1, 0]})
    assert read_qrels(frame).rows() == [("1", "10", 1), ("2", "2.5", 0)]
