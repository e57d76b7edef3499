"""Files of TREC are read by one rule in evaluation, in labelling plans and in importers."""

from collections import Counter

import polars as pl
import pytest

from clickassay.core.errors import InputError
from clickassay.core.settings import Settings
from clickassay.inputs.importers.judgments.files import read_judgment_file
from clickassay.inputs.importers.judgments.importer import import_judgments
from clickassay.inputs.importers.judgments.rating import ReadOptions
from clickassay.inputs.importers.trec_session import import_trec_session
from clickassay.inputs.text.detect import recognise
from clickassay.inputs.text.trec import ranked, read_qrels, read_run
from clickassay.studies.evaluation.evaluate import evaluate
from clickassay.studies.labelling.inputs import Sources, read_pool

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
    pool = read_pool(Sources((file,)), Settings(), depth=None)
    return pool.documents.sort("query", "rank_1").select("query", "url").rows()


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
    with pytest.raises(InputError, match="has no line; expected lines 'query 0 doc grade'"):
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
        InputError, match=r"import judgments \S+/q --layout qrels --grade-map 0\.4=0,1\.5=2,-1=none "
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


def test_a_run_may_be_a_table(tmp_path):
    (tmp_path / "r.tsv").write_text("qid\tdocno\trank\n1\ta\t2\n1\tb\t1\n")
    assert evaluated_run(tmp_path / "r.tsv") == [("1", "b"), ("1", "a")]


def test_names_that_a_frame_has_as_floats_are_whole_numbers():
    frame = pl.DataFrame({"qid": [1.0, 2.0], "docno": [10.0, 2.5], "label": [1, 0]})
    assert read_qrels(frame).rows() == [("1", "10", 1), ("2", "2.5", 0)]
