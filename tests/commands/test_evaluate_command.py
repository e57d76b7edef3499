"""`clickassay evaluate` as its users meet it: formats, the folder, names that mean harm, what it refuses."""

import csv
import json
import re
from html import unescape

import polars as pl
import pytest
from typer.testing import CliRunner

from clickassay.api.rankings import MEASURES as BY_DEFAULT
from clickassay.cli.app import app
from clickassay.metrics.names import MEASURES
from clickassay.studies.evaluation.evaluate import DEFAULT_MEASURES, evaluate
from clickassay.studies.evaluation.forms import EVALUATION_TABLES, ONLY_IF_ASKED
from support.logs import tiny
from support.pages import parts
from support.reports.report_runs import page_of

MEASURE = "P@2 AP nDCG(dcg='log2')@3 DCG"
QRELS = {
    "q1": {"a": 3, "b": 0, "c": 1, "d": 2},
    "q2": {"a": 1, "b": 2},
    "q3": {"a": 0, "c": 4},
    "q4": {"d": 1},
}
RUNS = {
    "old": {
        "q1": {"b": 3, "a": 2, "c": 1},
        "q2": {"x": 2, "a": 1, "b": 0.5},
        "q3": {"a": 2, "c": 1},
        "q9": {"a": 1},
    },
    "new": {"q1": {"a": 3, "d": 2, "b": 1}, "q2": {"b": 2, "x": 1}, "q3": {"c": 1}, "q4": {"x": 2, "d": 1}},
}


def written(folder, qrels=QRELS, runs=RUNS):
    """Write TREC files; return the path of the judgments and those of the runs."""
    file = folder / "qrels.txt"
    lines = [f"{query} 0 {doc} {grade}\n" for query, own in qrels.items() for doc, grade in own.items()]
    file.write_text("".join(lines), encoding="utf-8")
    return file, [run_file(folder / f"{name}.txt", own) for name, own in runs.items()]


def run_file(file, rows):
    lines = [f"{query} Q0 {doc} 1 {score} tag\n" for query, own in rows.items() for doc, score in own.items()]
    file.write_text("".join(lines), encoding="utf-8")
    return file


def printed(*arguments):
    """Run the command, which must succeed; return what it prints."""
    return tiny.said_by("evaluate", *arguments)


def refused(*arguments):
    """Run the command, which must be refused; return its one line."""
    return tiny.refusal("evaluate", *arguments)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    qrels, runs = written(tmp_path_factory.mktemp("evaluate"))
    return [qrels, *runs, "-m", MEASURE]


@pytest.fixture(scope="module")
def numbers():
    return evaluate(QRELS, RUNS, MEASURE)


def means(numbers):
    return {(row["run"], row["measure"]): row["mean"] for row in numbers.means.iter_rows(named=True)}


# ---- numbers ----------------------------------------------------------------------------------


def test_options_for_grades_and_persistence_are_those_of_names(files):
    plain = files[:2]
    options = ("--rel", 2, "--max-grade", 5, "--persistence", 0.6)
    by_option = printed(*plain, "-m", "AP ERR RBP", *options, "--format", "tsv")
    by_name = printed(*plain, "-m", "AP(rel=2) ERR(max_rel=5) RBP(p=0.6,max_rel=5)", "--format", "tsv")
    assert by_option == by_name
    assert by_option != printed(*plain, "-m", "AP ERR RBP", "--format", "tsv")
    as_of_a_run = ("--relevant-grade", *options[1:])
    assert by_option == printed(*plain, "-m", "AP ERR RBP", *as_of_a_run, "--format", "tsv")


def test_what_users_know_and_expect_is_read(files, tmp_path):
    known, expected = tmp_path / "known", tmp_path / "expected"
    known.write_text("q1 a\nq1 c\nq2 b\n", encoding="utf-8")
    expected.write_text("q1 4\nq2 1\n", encoding="utf-8")
    told = ("--known", known, "--expected", expected, "--format", "tsv", "--per-query")
    lines = printed(*files[:2], "-m", "Novelty RelativeRecall", *told).splitlines()
    found = {tuple(line.split("\t")[:2]): float(line.split("\t")[2]) for line in lines[1:]}
    assert found["Novelty(rel=1)", "q2"] == 0.5  # of a and b the user knew b
    assert found["RelativeRecall(rel=1)", "q1"] == 0.5  # a and c of four


# ---- formats ----------------------------------------------------------------------------------
def test_tsv_parses_back_to_the_very_numbers(files, numbers):
    run, found = "", {}
    for line in printed(*files, "--format", "tsv", "--per-query").splitlines():
        measure, query, value = line.split("\t")
        run = value if measure == "runid" else run
        found |= {} if measure == "runid" else {(run, measure, query): float(value)}
    expected = {(*key, "all"): value for key, value in means(numbers).items()}
    rows = numbers.per_query.select("run", "measure", "query", "value").iter_rows()
    assert found == expected | {tuple(key): value for *key, value in rows}


def test_json_lines_parse_back_to_the_very_numbers(files, numbers):
    records = [json.loads(line) for line in printed(*files, "--format", "jsonl", "--per-query").splitlines()]
    frames = {"run": "runs", "mean": "means", "comparison": "comparisons", "query": "per_query"}
    for kind, name in frames.items():
        rows = [{key: one[key] for key in one if key != "record"} for one in records if one["record"] == kind]
        assert rows == getattr(numbers, name).to_dicts()
    assert records[0]["record"] == "conventions"


def rows_of_markdown(text, title):
    lines = parts(text)[title].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if "|" in line]


def test_markdown_latex_and_text_have_the_numbers_to_four_places(files, numbers):
    markdown = rows_of_markdown(printed(*files, "--format", "markdown"), "Means over queries")[2:]
    latex = printed(*files, "--format", "latex").split(r"\caption{Means over queries}")[1].splitlines()
    text = printed(*files).split("Means over queries")[1].splitlines()
    read = {
        "markdown": [row[1] for row in markdown if row[1]],
        "latex": [row[1] for line in latex if (row := re.match(r"[A-Za-z]\S+ & ([\d.]+) & ", line))],
        "text": [line.split()[2] for line in text if re.match(r"  (old|new) +\S", line)],
    }
    expected = [f"{value:.4f}" for value in means(numbers).values()]
    assert {form: values[: len(expected)] for form, values in read.items()} == dict.fromkeys(read, expected)


def test_without_names_the_measures_are_those_that_help_and_the_library_tell(files):
    text = printed(*files[:2], "--format", "tsv")
    assert text == printed(*files[:2], "-m", DEFAULT_MEASURES, "--format", "tsv")
    assert BY_DEFAULT == DEFAULT_MEASURES


def test_counts_of_missing_and_unjudged_queries_are_shown(files):
    row = next(line for line in printed(*files).splitlines() if line.startswith("  old "))
    # judged q1 to q4, all averaged, q4 missing, q9 not judged; 3 + 3 + 2 results, of which x has no grade
    assert row.split() == ["old", "4", "4", "1", "1", "8", "7"]


def test_the_list_of_measures_has_all_of_them_and_needs_no_file():
    text = printed("--list-metrics")
    names = [metric.with_parameters or metric.name for metric in MEASURES]
    assert [name for name in names if f"\n  {name} " not in text] == []
    assert "ndcg_cut_K" in text
    assert "judged_only" in text


def test_runs_of_one_file_name_go_by_their_paths(files, tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    runs = [run_file(tmp_path / name / "run.txt", RUNS["old"]) for name in "ab"]
    lines = printed(files[0], *runs, "-m", "P@1", "--format", "tsv").splitlines()
    assert [line.split("\t")[2] for line in lines[::2]] == [str(run) for run in runs]


# ---- the folder -------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def folder(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("evaluated") / "report"
    text = printed(*files, "--out", out, "--per-query", "--bounds")
    assert f"Report: {out / 'report.html'}" in text
    return out


OF_A_JUDGE = {"corrected_means", "corrected_comparisons"}
ASKED = {table.name for group in ONLY_IF_ASKED for table in group}
TABLES = {table.name for table in EVALUATION_TABLES} - ASKED


def test_the_folder_has_the_report_and_every_table(folder):
    assert {file.name for file in folder.iterdir()} == {
        "report.html", "report.md", "tables", "settings.json", *(f"{name}.parquet" for name in TABLES),
    }  # fmt: skip
    assert {file.name for file in (folder / "tables").glob("*.csv")} == {f"{name}.csv" for name in TABLES}
    assert (folder / "tables" / "means.tex").is_file()


def test_a_judge_of_more_queries_is_corrected_in_the_text_and_in_the_folder(tmp_path):
    people = {f"q{n:02d}": {"a": n % 3, "b": 1 + n % 2} for n in range(24)}
    judge = {f"q{n:02d}": {"a": (n + 1) % 4, "b": 2} for n in range(60)}
    runs = {name: {query: {"a": one, "b": 1.5} for query in judge} for name, one in (("old", 1), ("new", 2))}
    qrels, files = written(tmp_path, people, runs)
    (tmp_path / "model").mkdir()
    model, _ = written(tmp_path / "model", judge, {})
    out = tmp_path / "out"
    said = printed(qrels, *files, "--judge", model, "-m", "nDCG@2", "--out", out, "-q")
    for words in ("means of 60 queries by the judge, corrected by the 24 of them that people judged",
                  "Means corrected by people", "Differences corrected by people"):  # fmt: skip
        assert words in said
    found = {name: pl.read_parquet(out / f"{name}.parquet") for name in OF_A_JUDGE}
    assert found["corrected_means"].select("n_queries", "n_both").unique().row(0) == (60, 24)
    assert {f"{name}.csv" for name in OF_A_JUDGE} <= {file.name for file in (out / "tables").iterdir()}
    assert "Corrected by people" in (out / "report.html").read_text(encoding="utf-8")
    for form in ("json", "jsonl", "markdown", "latex", "tsv"):
        assert printed(qrels, *files, "--judge", model, "-m", "RR", "--format", form)
    assert "give --judge a file" in refused(qrels, *files, "--judge", "-")


def test_people_who_judge_what_a_plan_drew_count_by_its_chances(tmp_path):
    everything = {f"q{n:02d}": {doc: (n * k) % 5 for k, doc in enumerate("abcd", 1)} for n in range(60)}
    runs = {"old": {query: dict(zip("abcd", (4, 3, 2, 1), strict=True)) for query in everything}}
    model, (old,) = written(tmp_path, everything, runs)
    plan, people = tmp_path / "plan", tmp_path / "people"
    tiny.said_by("plan", "--ranking", old, "--budget", 160, "--seed", 4, "--out", plan, "-q")
    drawn = pl.read_parquet(plan / "draws.parquet")["query"]
    people.mkdir()
    qrels, _ = written(people, {query: everything[query] for query in drawn}, {})
    given = (qrels, old, "--judge", model, "-m", "RR(rel=3)", "--plan", plan)
    assert "each counts by its chance in the plan that drew them" in printed(*given, "-q")
    row = json.loads(printed(*given, "--json"))["corrected_means"][0]
    assert row["n_both"] == drawn.n_unique()
    assert "give --judge" in refused(qrels, old, "--plan", plan)


def test_three_rankings_have_a_leaderboard_and_classes_their_own_means(tmp_path):
    judged = {f"Q{n:02d}": {"a": 3, "b": 1, "c": 0} for n in range(40)}
    order = {"best": "abc", "good": "bac", "poor": "cba"}
    runs = {
        name: {q: {doc: -k - (n % 5 == 0) * (doc == "a") * 9 for k, doc in enumerate(docs)}
               for n, q in enumerate(judged)}
        for name, docs in order.items()
    }  # fmt: skip
    qrels, files = written(tmp_path, judged, runs)
    kinds = "".join(f"q{n:02d},{'head' if n < 10 else 'tail'}\n" for n in range(39))
    (tmp_path / "queries.csv").write_text(f"query,kind\n{kinds}")
    given = (qrels, *files, "-m", "nDCG@3 P(rel=3)@1", "--queries", tmp_path / "queries.csv", "--by", "kind")
    said = printed(*given, "--out", tmp_path / "out", "-q")
    assert "Leaderboard" in said
    assert "Means by class of queries" in said
    told = json.loads(printed(*given, "--json"))
    places = [(row["run"], row["group"]) for row in told["leaderboard_places"][:3]]
    assert places == [("best", "a"), ("good", "b"), ("poor", "c")]
    assert {row["class"] for row in told["class_means"]} == {"head", "tail", "unknown"}
    measure = told["leaderboard_places"][0]["measure"]
    sentence = f"best has the highest mean {measure}; all other runs are significantly different."
    page = unescape((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    for text in (page, said, printed(*given, "--format", "markdown")):
        assert sentence in " ".join(text.replace("\\", "").split())
    assert "no column size; known are kind" in refused(*given[:-1], "size")
    assert "give it by --queries" in refused(qrels, *files, "--by", "kind")


def words_of(text):
    return text.replace("\u2500", "").split()


def test_one_of_the_files_may_come_by_standard_input(tmp_path):
    qrels, (old, new) = written(tmp_path)
    by_name = printed(qrels, old, new, "-q")
    for given, file in (((qrels, old, "-"), new), (("-", old, new), qrels)):
        ended = CliRunner().invoke(
            app, ["evaluate", *map(str, given), "-q"], input=file.read_text(encoding="utf-8")
        )
        assert ended.exit_code == 0, ended.output
        assert words_of(ended.output.replace("stdin", "new")) == words_of(by_name)
    assert "named twice" in refused(qrels, "-", "-")


def test_a_broken_line_of_standard_input_is_named_so(tmp_path):
    qrels, _ = written(tmp_path)
    ended = CliRunner().invoke(app, ["evaluate", str(qrels), "-"], input="one two\n")
    assert "standard input, line 1: found 'one two'" in str(ended.exception)


def test_labels_stand_for_grades(tmp_path):
    qrels, files = written(tmp_path)
    labels = ("Bad", "so so", "GOOD", "better", "best")
    table = [(query, doc, labels[grade]) for query, own in QRELS.items() for doc, grade in own.items()]
    file = tmp_path / "labels.csv"
    pl.DataFrame(table, schema=["query", "url", "grade"], orient="row").write_csv(file)
    by_grades = json.loads(printed(qrels, *files, "--max-grade", 4, "--json"))["means"]
    found = printed(file, *files, "--scale", "bad,so so,good,better,best", "--json")
    assert json.loads(found)["means"] == by_grades
    assert "expected a whole grade" in refused(file, *files, "--scale", "a,b,c,d,e")


def test_with_a_baseline_each_run_is_compared_with_it_alone(tmp_path):
    third = {query: dict(reversed(docs.items())) for query, docs in RUNS["new"].items()}
    qrels, files = written(tmp_path, runs={**RUNS, "third": third})
    told = json.loads(printed(qrels, *files, "-m", "AP", "--baseline", "new", "--json"))["comparisons"]
    assert [(row["baseline"], row["run"]) for row in told] == [("new", "old"), ("new", "third")]
    assert len(json.loads(printed(qrels, *files, "-m", "AP", "--json"))["comparisons"]) == 3
    line = refused(qrels, *files, "--baseline", "neu")
    assert "--baseline: no run is called 'neu'; there are old, new and third" in line


def test_parquet_and_csv_have_the_very_numbers(folder, numbers):
    frame = pl.read_parquet(folder / "means.parquet")
    assert frame.select("run", "measure", "mean").equals(numbers.means.select("run", "measure", "mean"))
    with (folder / "tables" / "means.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["run"], row["measure"]): float(row["mean"]) for row in rows} == means(numbers)


def test_the_page_needs_nothing_else_and_says_each_picture_in_words(folder):
    page = page_of(folder)
    links = [value for _, key, value in page.attributes if key in ("href", "src")]
    assert all(link.startswith("#") and link[1:] in page.ids for link in links)
    labels = [value for tag, key, value in page.attributes if (tag, key) == ("div", "aria-label")]
    pictures = [words for words in labels if words.endswith(".")]  # labels of tables are no sentences
    assert len(pictures) == page.attributes.count(("div", "role", "img")) == 4 + 1 + 3 + 1
    assert all(len(words) > 30 for words in pictures)


def test_a_folder_that_is_there_is_kept_without_force_and_replaced_with_it(files, tmp_path):
    asked = (*files[:2], "--out", tmp_path / "report", "-m")
    printed(*asked, "P@1")
    assert "exists already" in refused(*asked, "P@2")
    printed(*asked, "P@2", "--force")
    means = pl.read_parquet(tmp_path / "report" / "means.parquet")
    assert means["measure"].to_list() == ["P(rel=1)@2"]


# ---- names that mean harm ---------------------------------------------------------------------
HARM = (
    *("=1+1", "@SUM(A1)", "a|b", "<b>bold</b>", "</script><script>x", r"\input{x}", "$x_1&%#", "\x1b[31m"),
    *("\u202egpj", "**x**", "{{7*7}}", "all", "'q'", '"q"', "[bold]"),
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Return arguments with names of queries, documents and runs that mean harm."""
    folder = tmp_path_factory.mktemp("hostile")
    qrels = {name: {doc: place % 3 for place, doc in enumerate(HARM)} for name in HARM}
    runs = {
        name: {query: {doc: seed * place % 7 for place, doc in enumerate(HARM)} for query in HARM}
        for seed, name in ((3, "=cmd|<b>"), (5, "-\\x{y}_$z\x1b[1m"))
    }
    file, runs = written(folder, qrels, runs)
    return [file, *runs, "-m", "P@3 AP", "--per-query"]


def test_json_lines_keep_every_name_and_tsv_three_fields(hostile):
    text = printed(*hostile, "--format", "jsonl")
    records = [json.loads(line) for line in text.splitlines()]
    assert {record["query"] for record in records if record["record"] == "query"} == set(HARM)
    assert not set("\x1b\u202e") & set(text)
    lines = printed(*hostile, "--format", "tsv").splitlines()
    assert {line.count("\t") for line in lines} == {2}
    assert len(lines) == 2 * (1 + 2 * len(HARM) + 2)


@pytest.mark.parametrize("form", ["text", "tsv", "markdown", "latex"])
def test_no_name_reaches_the_terminal_as_a_command_of_it(hostile, form):
    text = printed(*hostile, "--format", form)
    assert not set("\x1b\u202e") & set(text)
    assert "\\x1b" in text.replace("\\textbackslash{}", "\\").replace("\\\\", "\\")


def test_the_folder_has_names_as_text(hostile, tmp_path):
    out = tmp_path / "report"
    printed(*hostile, "--out", out)
    page = page_of(out)
    assert (page.tags.count("script"), page.tags.count("b")) == (2, 0)
    markdown = (out / "report.md").read_text(encoding="utf-8")
    assert "<" not in markdown.replace("max(1, log2", "")
    assert not set("\x1b\u202e") & set(markdown + (out / "report.html").read_text(encoding="utf-8"))
    assert set(pl.read_parquet(out / "per_query.parquet")["query"]) == set(HARM)


# ---- what is refused --------------------------------------------------------------------------
def test_nothing_in_common_is_a_finding_and_no_number(files, tmp_path):
    (tmp_path / "run.txt").write_text("r1 Q0 a 1 2.0 tag\n", encoding="utf-8")
    ended = tiny.inside("evaluate", files[0], tmp_path / "run.txt")
    assert (ended.code, ended.out) == (1, "")
    assert "no query in common: judgments have 'q1', the run has 'r1'" in ended.err


def test_judgments_of_subtopics_are_named_as_such_and_their_maximum_is_offered(tmp_path):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("1 1 a 1\n1 2 a 0\n1 1 b 0\n1 2 b 2\n", encoding="utf-8")
    run.write_text("1 Q0 b 1 2.0 r\n1 Q0 a 2 1.0 r\n", encoding="utf-8")
    said = refused(qrels, run)
    assert "column 2 (1, 2) looks like a subtopic" in said
    assert "--conflicts max" in said
    found = tiny.inside("evaluate", str(qrels), str(run), "-m", "CG", "--conflicts", "max", "--json")
    assert json.loads(found.out)["means"][0]["mean"] == 3
    qrels.write_text("1 0 a 1\n1 0 a 0\n", encoding="utf-8")
    assert "looks like a subtopic" not in refused(qrels, run)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-m", "NDGC@10"), "unknown metric NDGC"),
        (("-m", "Novelty"), "--known"),
        (("-m", "ERR", "--max-grade", "3"), "--max-grade 4"),
        (("--rel", "0"), "relevant_grade"),
        (("--persistence", "1"), "persistence"),
        (("--known", "/no/such/file", "-m", "Novelty"), "/no/such/file"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_in_one_line(files, options, words):
    assert words in refused(*files[:2], *options)


def test_runs_that_cannot_be_compared_are_refused(files, tmp_path):
    assert "given twice" in refused(files[0], files[1], files[1])
    assert "different queries" in refused(*files, "--average-over", "both")
    run_file(tmp_path / "run.txt", RUNS["old"])
    assert str(tmp_path) in refused(files[0], tmp_path)


def test_a_name_of_a_file_is_no_pattern(files, tmp_path):
    run, other = run_file(tmp_path / "run[12].txt", RUNS["old"]), run_file(tmp_path / "run1.txt", RUNS["new"])
    as_tsv = ("-m", "AP", "--format", "tsv")
    lines = [printed(files[0], one, *as_tsv).splitlines()[1] for one in (files[1], run, other)]
    assert lines[0] == lines[1] != lines[2]
