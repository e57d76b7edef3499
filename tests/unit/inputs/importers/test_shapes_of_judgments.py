"""Judgments in the shapes that tools write them, small, with what must come of them worked out by hand."""

import gzip
import json

import polars as pl
import pytest

from clickassay.core.errors import InputError, SettingsError
from clickassay.inputs.importers.judgments import RatingOptions, import_judgments
from clickassay.inputs.importers.letor import import_letor
from clickassay.inputs.importers.ratings import ReadOptions
from clickassay.inputs.importers.ubi import import_ubi
from clickassay.inputs.sources.mapping import LIKELY, rival_grades
from clickassay.inputs.text import rows
from clickassay.inputs.text.detect import recognise
from clickassay.inputs.text.trec import read_qrels
from support.logs import tiny


def search_response(*documents):
    return json.dumps({"took": 2, "hits": {"total": {"value": len(documents)}, "hits": documents}})


LIST = {
    "judgmentRatings": [
        {"query": "usb hub", "ratings": [{"docId": "p1", "rating": "3"}, {"docId": 2, "rating": 0}]}
    ]
}


def group(relevant, *placeholders):
    """Return queries of Rated Ranking Evaluator, and their judged documents."""
    queries = [{"template": "q.json", "placeholders": one} for one in placeholders]
    return {"queries": queries, "relevant_documents": relevant}


def request(name, ratings, **how):
    """Return a request of rank_eval."""
    rated = [{"_index": "i", "_id": document, "rating": grade} for document, grade in ratings.items()]
    return {"id": name, **how, "ratings": rated}


SPOKEN = {"$query": "bass"}, {"$query": "Bass guitar", "$lang": "en"}
RRE = {"id_field": "id", "topics": [{"query_groups": [group({"1": {"gain": 3}, "2": {"gain": 1}}, *SPOKEN)]}]}
BY_GRADE = group({"3": ["a"], "0": ["b", "c"]}, {"$q": "bass", "$v": "[0.1]"})
RRE_BY_GRADE = {"query_placeholder": "$q", "query_groups": [BY_GRADE]}
MATCH = {"bool": {"must": [{"match": {"text": {"query": "amsterdam"}}}]}}
BERLIN = {"template_id": "t", "params": {"query_string": "berlin", "field": "text"}}
RANK_EVAL = {
    "requests": [
        request("amsterdam_query", {"d1": 0, "d2": 3}, request={"query": MATCH}),
        request("berlin_query", {"d1": 1}, **BERLIN),
        request("all", {"d1": 2}, request={"query": {"match_all": {}}}),
    ]
}
LAMP = [("lamp", "p1", 3), ("lamp", "p2", 0)]
BEIR = [("q1", "d7", 2), ("q1", "d9", 1)]

HUB = [("usb hub", "p1", 3), ("usb hub", "2", 0)]
BOTH = [
    (query, document, grade) for query in ("bass", "Bass guitar") for document, grade in (("1", 3), ("2", 1))
]
CITIES = [("amsterdam", "d1", 0), ("amsterdam", "d2", 3), ("berlin", "d1", 1), ("all", "d1", 2)]
BEIR_LINES = """{"query-id":"q1","corpus-id":"d7","score":2.0}
{"query-id":"q1","corpus-id":"d9","score":1}
"""
ARRAY = """[{"query":"lamp","url":"p1","grade":3},
{"query":"lamp","url":"p2","grade":0}]"""
NUMBERS = '{"query":7,"docid":12345678901234567890,"rating":1}\n'

SHAPES = {
    "a search response of lists": ("srw", search_response({"_source": LIST}, {"_source": LIST}), HUB),
    "a stored list over several lines": ("srw", json.dumps({"_source": LIST}, indent=1), HUB),
    "Rated Ranking Evaluator": ("rre", json.dumps(RRE, indent=2), BOTH),
    "Rated Ranking Evaluator, by grade": (
        "rre", json.dumps(RRE_BY_GRADE), [("bass", "a", 3), ("bass", "b", 0), ("bass", "c", 0)]
    ),
    "requests of rank_eval": ("rank-eval", json.dumps(RANK_EVAL), CITIES),
    "BEIR with tabs": ("beir", "query-id\tcorpus-id\tscore\nq1\td7\t2\nq1\td9\t1\n", BEIR),
    "BEIR as JSON lines": ("beir", BEIR_LINES, BEIR),
    "BEIR, not judged and spam": (
        "beir", "query-id\tcorpus-id\tscore\nq1\td7\t2\nq1\td8\t-1\nq1\td9\t-2\n",
        [("q1", "d7", 2), ("q1", "d9", 0)],
    ),
    "qrels with whole floats": ("qrels", "1 0 a 0.0\n1 0 b 2.0\n", [("1", "a", 0), ("1", "b", 2)]),
    "decimal commas": ("quepid", "query;docid;rating\nlamp;p1;3,0\nlamp;p2;0,00\n", LAMP),
    "blanks after commas": ("judgment-table", "query, url, grade\nlamp, p1, 3\nlamp , p2,0\n", LAMP),
    "other names and separator": ("judgment-table", '"Query"|Document|"Rel"\nlamp|p1|3\nlamp|p2|0\n', LAMP),
    "a blank line above the header": ("quepid", "\nquery,docid,rating\nlamp,p1,3\nlamp,p2,0\n", LAMP),
    "one array of JSON": ("judgment-table", ARRAY, LAMP),
    "JSON lines with numbers as ids": ("quepid", NUMBERS, [("7", "12345678901234567890", 1)]),
}  # fmt: skip


def rows_of(folder):
    return pl.read_parquet(folder / "judgments.parquet").rows()


@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("shape", SHAPES)
def test_judgments_are_recognised_and_read_in_every_shape(tmp_path, shape, packed):
    layout, text, expected = SHAPES[shape]
    (tmp_path / "in").write_bytes(packed(text.encode()))
    assert recognise(tmp_path / "in").layout.name == layout
    import_judgments([tmp_path / "in"], out=tmp_path / "out")
    assert rows_of(tmp_path / "out") == expected


def test_requests_that_search_no_single_text_are_counted(tmp_path):
    (tmp_path / "in.json").write_text(json.dumps(RANK_EVAL))
    found = import_judgments([tmp_path / "in.json"], out=tmp_path / "out")
    assert found.counts["queries_named_by_id"] == 1
    assert any("named by request id" in note for note in found.notes)


SURROGATES = {
    "a list of judgments": '{"judgmentRatings":[{"query":"\\ud800","ratings":[{"docId":"a","rating":1}]}]}',
    "JSON lines": '{"query":"q","url":"\\udfff","grade":1}\n',
    "an array": '[{"query":"q","url":"a","grade":1,"judge":"\\ud83d"}]',
    "Rated Ranking Evaluator": json.dumps(RRE_BY_GRADE).replace('"a"', '"\\udc00"'),
    "rank_eval": json.dumps(RANK_EVAL).replace('"d2"', '"\\ud800"'),
}


@pytest.mark.parametrize("shape", SURROGATES)
def test_a_lone_surrogate_is_refused_with_its_place(tmp_path, shape):
    (tmp_path / "in.json").write_text(SURROGATES[shape])
    with pytest.raises(InputError, match=r"in\.json, .*expected text without lone surrogates") as caught:
        import_judgments([tmp_path / "in.json"], out=tmp_path / "out")
    str(caught.value).encode()


# ---- grades -----------------------------------------------------------------------------------------
def imported(tmp_path, texts, **options):
    """Import texts as files, and return the rows."""
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"{number}.csv")
        files[-1].write_text(text)
    import_judgments(files, out=tmp_path / "out", rating_options=RatingOptions(**options))
    return rows_of(tmp_path / "out")


SCORES = "query,docid,rating\nq,a,0.24\nq,b,0.25\nq,c,0.7\nq,d,1\n"


@pytest.mark.parametrize(
    "options",
    [{"cuts": "0.25,0.5,0.75"}, {"grade_map": "..0.25=0,0.25..0.5=1,0.5..0.75=2,0.75..=3"},
     {"grade_map": "1=3,0..0.25=0,0.25..0.5=1,0.5..0.75=2"}],
)  # fmt: skip
def test_shares_become_grades_by_cuts_or_ranges(tmp_path, options):
    expected = [("q", "a", 0), ("q", "b", 1), ("q", "c", 2), ("q", "d", 3)]
    assert imported(tmp_path, [SCORES], **options) == expected


def test_each_file_may_have_a_map_of_its_own_or_none(tmp_path):
    editors = "query,docid,rating\nq,a,1\nq,b,4\n"
    rows = imported(tmp_path, [editors, SCORES], grade_map=("", "..0.5=0,0.5..=4"), judges=("ed", "llm"))
    assert [(url, grade) for _, url, grade, judge in rows if judge == "ed"] == [("a", 1), ("b", 4)]
    assert [grade for *_, grade, judge in rows if judge == "llm"] == [0, 0, 4, 4]
    with pytest.raises(SettingsError, match="2 maps for 1 files, expected one, or one for each file"):
        import_judgments(
            [tmp_path / "0.csv"], out=tmp_path / "x", rating_options=RatingOptions(grade_map=("", "1=1"))
        )


def test_of_subtopics_the_highest_grade_is_taken_on_demand(tmp_path):
    (tmp_path / "qrels").write_text("1 1 a 1\n1 2 a 0\n1 1 b 0\n1 2 b 2\n")
    found = import_judgments(
        [tmp_path / "qrels"], out=tmp_path / "out", rating_options=RatingOptions(conflicts="max")
    )
    assert rows_of(tmp_path / "out") == [("1", "a", 1), ("1", "b", 2)]
    assert (found.counts["judgments"], found.counts["judgments_conflicting"]) == (2, 2)


TABLE = "query,docid,rating\n"
SCALE = "q,a,3\nq,b,2\nr,c,1\n"


@pytest.mark.parametrize(
    ("rest", "options", "blank", "dropped"),
    [("r,d,-1\n", {}, 0, 1), ("r,d,-1.0\nr,e,Refused\n", {}, 0, 2),
     ("r,d,nan\nr,e,None\nr,f,NULL\nr,g,\\N\n", {}, 4, 0),
     ("r,d,can't say\n", {"grade_map": "can't say=none"}, 0, 1), ("r,d,\n", {"cuts": "1,2,3"}, 1, 0),
     ("r,d,-1\n", {"grade_map": "..1=0,1..2=1,2..3=2,3..=3"}, 0, 1)],
)  # fmt: skip
def test_what_nobody_judged_is_dropped_and_counted_and_grades_stay(tmp_path, rest, options, blank, dropped):
    (tmp_path / "in.csv").write_text(TABLE + SCALE + rest)
    found = import_judgments(
        [tmp_path / "in.csv"], out=tmp_path / "out", rating_options=RatingOptions(**options)
    )
    assert rows_of(tmp_path / "out") == [("q", "a", 3), ("q", "b", 2), ("r", "c", 1)]
    counts = found.counts
    assert (counts["ratings_blank"], counts["ratings_not_judged"], counts["judgments"]) == (blank, dropped, 3)


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_raters_in_columns_are_read_of_every_form(tmp_path, form):
    frame = pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "Human": [3, None], "llm": [2, 1]})
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[form](
        tmp_path / "in"
    )
    found = import_judgments(
        [tmp_path / "in"], out=tmp_path / "out", read_options=ReadOptions(rater_columns=("Human", "llm"))
    )
    assert sorted(rows_of(tmp_path / "out")) == [
        ("q", "a", 2, "llm"),
        ("q", "a", 3, "human"),
        ("q", "b", 1, "llm"),
    ]
    assert found.counts["ratings_blank"] == 1


def test_a_rating_of_nan_in_json_is_blank(tmp_path):
    ratings = [{"docId": "a", "rating": "2"}, {"docId": "b", "rating": "NaN"}, {"docId": "c", "rating": None}]
    (tmp_path / "in").write_text(json.dumps({"judgmentRatings": [{"query": "lamp", "ratings": ratings}]}))
    assert import_judgments([tmp_path / "in"], out=tmp_path / "out").counts["ratings_blank"] == 2
    assert rows_of(tmp_path / "out") == [("lamp", "a", 2)]


def test_files_of_one_scale_need_no_map_though_one_has_gaps(tmp_path):
    every, some = (TABLE + "".join(f"q,{n},{n}\n" for n in numbers) for numbers in (range(11), (0, 10)))
    assert len(imported(tmp_path, [every, some], judges=("a", "b"))) == 13


@pytest.mark.parametrize(
    ("texts", "options", "count", "says"),
    [((TABLE + SCALE, TABLE + "q,a,2\n"), {}, 1, "1 grade in conflict with another grade of the result: the "
      "files name no judges, so all count as one. --judge 0 --judge 1 separates them."),
     ((TABLE + SCALE + "q,a,1\n",), {}, 1, "by the same judge: choose a rule (--conflicts) when you run."),
     ((TABLE + SCALE + "q,a,1\n",), {"conflicts": "max"}, 1, "1 grade dropped (--conflicts max): "
      "the same judge graded the result higher."),
     (("query,docid,rating,rater\nq,a,1,ann\nq,a,3,ann\nq,a,3,bob\n",), {"raters": "median"}, 0,
      "For 1 result, one rater gave two grades: both count (--raters median).")],
    ids=["files without judges", "no rule", "the highest", "a rater"],
)  # fmt: skip
def test_two_grades_of_one_result_are_counted_with_the_rule(tmp_path, texts, options, count, says):
    files = [tmp_path / f"{number}.csv" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    found = import_judgments(files, out=tmp_path / "out", rating_options=RatingOptions(**options))
    assert found.counts["judgments_conflicting"] == count
    assert found.counts["results_rated_twice_by_one"] == (count == 0)
    assert says in " ".join(found.notes)


# ---- names in comments ------------------------------------------------------------------------------
LISTS = {
    "titles behind, queries above": "# grade queryid docId title\n#\n# qid:1: lamp\n# qid:2: red chair\n"
    "4\tqid:1 #\tp1\tDesk lamp\n0\tqid:1 #\tp2\tBulb\n3\tqid:2 #\tp9\tRed chair\n",
    "queries behind": "4 qid:1 1:12.3 # p1 lamp\n0 qid:1 1:0.1 # p2 lamp\n3 qid:2 1:9 # p9 red chair\n",
    "weights of queries": "# qid:1: lamp*1\n# qid:2: red chair*2.5\n\n"
    "4\tqid:1\t # p1\tlamp\n0\tqid:1\t # p2\tlamp\n3\tqid:2\t # p9\tred chair\n",
}


@pytest.mark.parametrize("shape", LISTS)
def test_comments_name_documents_and_queries(tmp_path, shape):
    (tmp_path / "in").write_text(LISTS[shape])
    assert recognise(tmp_path / "in").layout.name == "letor"
    found = import_letor(tmp_path / "in", out=tmp_path / "out")
    assert rows_of(tmp_path / "out") == [("lamp", "p1", 4), ("lamp", "p2", 0), ("red chair", "p9", 3)]
    assert "Comments name the documents and the queries." in found.notes


@pytest.mark.parametrize(
    ("text", "expected", "unused"),
    [
        ("4 qid:1 # p1 Desk lamp\n0 qid:1 # p2 Bulb\n", [("1", "p1", 4), ("1", "p2", 0)], 0),
        ("4 qid:1 # same\n0 qid:1 # same\n", [("1", "1-1", 4), ("1", "1-2", 0)], 2),
        ("4 qid:1 # p1\n0 qid:1\n", [("1", "1-1", 4), ("1", "1-2", 0)], 1),
    ],
    ids=["titles alone", "no names", "one without"],
)
def test_comments_that_name_nothing_are_counted(tmp_path, text, expected, unused):
    (tmp_path / "in").write_text(text)
    found = import_letor(tmp_path / "in", out=tmp_path / "out")
    assert rows_of(tmp_path / "out") == expected
    assert found.counts["comments_not_used"] == unused
    assert any("comments were ignored" in note for note in found.notes) == bool(unused)


# ---- User Behavior Insights in one document -----------------------------------------------------------
QUERY = {"query_id": "q1", "user_query": "lamp", "client_id": "c", "timestamp": "2026-05-01T10:00:00.000Z",
         "query_response_hit_ids": ["p1", "p2"]}  # fmt: skip
CLICK = {"query_id": "q1", "action_name": "click", "client_id": "c", "timestamp": "2026-05-01T10:00:09.000Z",
         "event_attributes": {"object": {"object_id": "p2"}}}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([QUERY, CLICK]),
        json.dumps([QUERY, CLICK], indent=1),
        search_response(
            {"_index": "ubi_queries", "_source": QUERY}, {"_index": "ubi_events", "_source": CLICK}
        ),
    ],
    ids=["an array", "an array over lines", "a search response"],
)
def test_documents_of_ubi_may_stand_in_one(tmp_path, text):
    (tmp_path / "in").write_text(text)
    assert recognise(tmp_path / "in").layout.name == "ubi"
    found = import_ubi([tmp_path / "in"], out=tmp_path / "out")
    assert (found.counts["searches"], found.counts["clicks"], found.counts["results_shown"]) == (1, 1, 2)


# ---- what is none of them -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    ["AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n1\tlamp\t2006-03-01 07:17:12\t\t\n",
     '{"query":"lamp","passage":"...","model":"m","judgment":2}\n', "query,clicked_url,session\nq,u,1\n"],
    ids=["AOL", "judgments of passages", "clicks without ids"],
)  # fmt: skip
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_tables_of_clicks_or_judgments_are_not_taken_for_one_of_queries(tmp_path, text, ending):
    (tmp_path / f"in.{ending}").write_text(text)
    assert recognise(tmp_path / f"in.{ending}").layout.name == "unknown"


# ---- which column is the grade -------------------------------------------------------------------
BOTH = [
    {"query": "lamp", "docid": "a", "relevance": 3, "label": 1},
    {"query": "lamp", "docid": "b", "relevance": 0, "label": 2},
]


def written(folder, form, rows):
    """Write rows as CSV, with semicolons, as JSON lines or as Parquet; return the file."""
    frame, file = pl.DataFrame(rows), folder / f"grades.{form}"
    if form == "parquet":
        frame.write_parquet(file)
    elif form == "jsonl":
        frame.write_ndjson(file)
    else:
        frame.write_csv(file, separator=";" if form == "txt" else ",")
    return file


@pytest.mark.parametrize("form", ["csv", "txt", "jsonl", "parquet"])
def test_of_two_columns_that_may_be_the_grade_one_is_chosen_by_the_user(tmp_path, form):
    file = written(tmp_path, form, BOTH)
    assert recognise(file).layout.name == "quepid"
    with pytest.raises(InputError, match="label and relevance could each be the grade") as caught:
        import_judgments([file], out=tmp_path / "none")
    option = str(caught.value).rsplit(" ", 1)[1]
    assert option == "judgments.grade=label"
    for name, grades in (("label", [1, 2]), ("relevance", [3, 0])):
        import_judgments([file], out=tmp_path / name, read_options=ReadOptions(names={"grade": name}))
        made = pl.read_parquet(tmp_path / name / "judgments.parquet").sort("url")
        assert made["grade"].to_list() == grades
    with pytest.raises(InputError, match=r"no column labl \(--column\); it has: query, docid, rel"):
        import_judgments([file], out=tmp_path / "none", read_options=ReadOptions(names={"grade": "labl"}))


def test_every_door_names_both_columns(tmp_path):
    file = written(tmp_path, "csv", BOTH)
    (tmp_path / "run.txt").write_text("lamp Q0 a 1 2.0 t\n", encoding="utf-8")
    log = tiny.write_log(tmp_path / "log", judgments=file)
    both = "label and relevance could each be the grade"
    lines = [
        tiny.refusal("import", "judgments", file, "--out", tmp_path / "none"),
        tiny.refusal(*log.options()),
        tiny.refusal("evaluate", file, tmp_path / "run.txt"),
        tiny.refusal("judges", file, written(tmp_path, "jsonl", BOTH)),
        tiny.inside("inspect", file).out,
    ]
    assert [both in line for line in lines] == [True] * len(lines)
    (tmp_path / "grades.jsonl").unlink()
    project = tiny.inside("init", tmp_path, "--show").out
    assert "import judgments" in project
    assert "grade =" not in project
    tiny.said_by("import", "judgments", file, "--column", "judgments.grade=label", "--out", tmp_path / "one")
    with pytest.raises(InputError, match=both):
        read_qrels(pl.DataFrame(BOTH))


@pytest.mark.parametrize(
    ("beside", "grades"),
    [
        ({"grade": 2, "label": 1, "rating": 0}, 2),
        ({"label": 1, "score": 0.7}, 1),
        ({"judgement": 4}, 4),
        ({"rel": 3}, 3),
    ],
)
def test_a_column_called_grade_is_the_grade_and_a_score_beside_one_is_none(tmp_path, beside, grades):
    file = written(tmp_path, "csv", [{"query": "lamp", "product_id": "a", "assessor": "ann", **beside}])
    import_judgments([file], out=tmp_path / "made")
    made = pl.read_parquet(tmp_path / "made" / "judgments.parquet")
    assert made.rows() == [("lamp", "a", grades, "ann")]
    assert rival_grades(["query", "url", *beside]) == []


def test_importers_recognise_each_name_that_is_proposed():
    known = {"query": rows.QUERY, "url": rows.DOCUMENT, "grade": rows.GRADE, "judge": rows.JUDGE}
    aside = {
        "query": {"text"},
        "grade": {"score"},
    }  # texts may be those of documents, scores those of rankings
    for ours, names in known.items():
        assert set(LIKELY[ours]) - set(names) == aside.get(ours, set())
        assert names[0] == ours
