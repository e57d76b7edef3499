"""A project file: what it says, what wins over it, and the commands that it makes short."""

import hashlib
import json
import shlex
import tomllib
from datetime import UTC, datetime

import duckdb
import polars as pl
import pytest

from clickassay.core.files.scratch import scratch
from clickassay.core.settings import load_settings
from clickassay.inputs.tables import collected
from clickassay.jobs.inputs import opened
from clickassay.jobs.project import found_project
from support.logs import tiny

QUICK = 'depth = [3]\niterations = 10\nclick_models = "none"\nfolds = 1\nthreads = 1\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with the small log."""
    tiny.write_log(tmp_path / "log")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def today():
    return datetime.now(UTC).date().isoformat()


def project(folder, *, inputs="", top="", name="clickassay.toml", log="log"):
    given = "\n".join(f'{what} = "{log}/{what}.parquet"' for what in ("searches", "clicks", "judgments"))
    text = f'out = "reports/{{date}}"\n{QUICK}{top}\n[inputs]\n{inputs or given}\n'
    (folder / name).write_text(text, encoding="utf-8")


def test_run_alone_is_the_nightly_job_and_check_and_diff_take_its_runs(here):
    project(here, top='rules = ["queries >= 1", "not worse than {last} in ERR, MeanRR"]')
    assert "Project: clickassay.toml" in tiny.inside("run").err
    assert (here / "reports" / today() / "report.html").is_file()
    first = tiny.inside("check")
    assert "rules with {last} were skipped: there is no run before" in first.err
    assert first.out.startswith("The rule holds.\n")
    (here / "reports" / today()).rename(here / "reports" / "2026-01-01")
    tiny.said_by("run")
    assert " 2 rules " in tiny.inside("check").out.splitlines()[0]
    assert "2026-01-01" in tiny.said_by("diff")
    assert f"reports/{today()} exists already; choose another --out" in tiny.refusal("run")


def test_report_and_patterns_use_the_store_of_the_project(here):
    project(here, top='store = "patterns"')
    assert "Pattern store: patterns: 1 batch added" in tiny.said_by("patterns")
    tiny.said_by("report", "--out", "again")
    assert (here / "again" / "report.html").is_file()


def test_init_looks_into_a_folder_of_several_tables_but_not_of_days(here):
    for name in ("searches", "clicks"):
        for day in ("01", "02"):
            place = here / "logs" / name / "2026" / day
            place.mkdir(parents=True)
            (place / "part.parquet").write_bytes((here / "log" / f"{name}.parquet").read_bytes())
    (here / "logs" / "grades.parquet").write_bytes((here / "log" / "judgments.parquet").read_bytes())
    (here / "log").rename(here / ".log")
    said = tiny.said_by("init").splitlines()
    found = {"searches": "logs/searches", "clicks": "logs/clicks", "judgments": "logs/grades.parquet"}
    assert said[1:4] == [f"  {name}: {path}" for name, path in found.items()]


def test_paths_count_from_the_folder_of_the_file(here, monkeypatch):
    project(here)
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    tiny.said_by("run", "--project", "../clickassay.toml")
    assert (here / "reports" / today()).is_dir()
    project(here, name="more.toml")
    tiny.said_by("run", "--settings", "../more.toml", "--out", "own")
    assert (here / "elsewhere" / "own" / "report.html").is_file()


def test_options_win_over_variables_over_the_settings_file_over_the_project(here, monkeypatch):
    def seen(*options):
        rows = json.loads(tiny.said_by("settings", "--json", *options))
        return next((row["value"], row["source"]) for row in rows if row["name"] == "idle_minutes")

    assert seen() == (60.0, "default")
    project(here, top="idle_minutes = 10")
    assert seen() == (10.0, "project file clickassay.toml")
    (here / "s.toml").write_text("idle_minutes = 20")
    assert seen("--settings", "s.toml") == (20.0, "settings file s.toml")
    monkeypatch.setenv("CLICKASSAY_IDLE_MINUTES", "30")
    assert seen("--settings", "s.toml") == (30.0, "variable")
    tiny.said_by("run", "--idle-minutes", "40")
    info = json.loads((here / "reports" / today() / "settings.json").read_text())
    assert info["settings"]["idle_minutes"] == 40.0


def test_inputs_by_options_and_variables_win_and_a_log_is_never_mixed(here, monkeypatch):
    project(here)
    refused = tiny.refusal("run", "--searches", "log/searches.parquet")
    assert "clicks are missing: give --clicks" in refused
    monkeypatch.setenv("CLICKASSAY_JUDGMENTS", "nowhere.csv")
    assert "judgments: nowhere.csv does not exist" in tiny.refusal("run")
    monkeypatch.setenv("CLICKASSAY_JUDGMENTS", "log/judgments.parquet")
    tiny.said_by("run")
    assert "are given both as files and as SQL" in tiny.refusal("run", "--clicks", "x", "--clicks-sql", "y")


def test_sql_of_a_project_reads_its_files_and_its_database(here):
    with duckdb.connect(str(here / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE judged AS FROM 'log/judgments.parquet'")
    (here / "clicks.sql").write_text("SELECT * FROM 'log/clicks.parquet'")
    lines = ('database = "shop.duckdb"', 'searches = "log/searches.parquet"', 'clicks_sql = "clicks.sql"')
    project(here, inputs="\n".join([*lines, 'judgments_sql = "FROM judged"']))
    tiny.said_by("run")
    tiny.said_by(
        "run", "--project", "clickassay.toml", "--judgments", "log/judgments.parquet", "--out", "plain"
    )
    made, plain = (
        pl.read_parquet(run / "correlations.parquet") for run in (here / "reports" / today(), here / "plain")
    )
    assert made.equals(plain)


SQL_OF_FILES = """searches_sql = "FROM 'log/searches.parquet'"
clicks_sql = "sql/clicks.sql"
judgments_sql = "FROM read_parquet(['log/judg*.parquet'])"
"""


def test_paths_in_sql_count_from_the_folder_of_the_file_that_has_it_and_are_recorded(here, monkeypatch):
    (here / "sql").mkdir()
    (here / "sql" / "clicks.sql").write_text("SELECT * FROM 'log/clicks.parquet'")
    project(here, inputs=SQL_OF_FILES)
    tiny.said_by("run", "--out", "home")
    (here / "away" / "log").mkdir(parents=True)
    tiny.judgments().head(5).write_parquet(here / "away" / "log" / "judgments.parquet")  # another project's
    monkeypatch.chdir(here / "away")
    tiny.said_by("run", "--project", "../clickassay.toml", "--out", "a")
    tiny.said_by("run", "--settings", "../clickassay.toml", "--out", "b")
    runs = [json.loads((here / run / "settings.json").read_text()) for run in ("home", "away/a", "away/b")]
    assert runs[0]["inputs"] == runs[1]["inputs"] == runs[2]["inputs"]
    for name in ("searches", "clicks", "judgments"):
        file = here / "log" / f"{name}.parquet"
        read = runs[0]["inputs"][name]["read"]
        own = hashlib.sha256(file.read_bytes()).hexdigest()  # of an input, the digest of its files' digests
        digest = f"sha256:{hashlib.sha256(own.encode()).hexdigest()}"
        assert read == {"names": [file.name], "files": 1, "bytes": file.stat().st_size, "digest": digest}
    assert "clickassay run --project PROJECT" in tiny.said_by("inspect", "--project", "../clickassay.toml")
    sql = ("--searches-sql", "FROM '../log/searches.parquet'", "--clicks-sql", "FROM 'log/clicks.parquet'")
    assert f"which counts from {here / 'away'}" in tiny.refusal(
        "run", "--project", "../clickassay.toml", *sql
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[inputs]\nserches = 'x'", "unknown input serches; did you mean searches"),
        ("[inputs]\nsearches = 3", "searches must be a text"),
        ("inputs = 3", "inputs must be a section"),
        ("rules = 'a'", "rules must be a list of texts"),
        ("out = 3", "out must be a text"),
        ("[inputs]\nsearches = ''", "searches must be a text"),
        ('out = "runs/{day}"', "braces may contain only {date}, and only in out"),
        ('store = "{date}"', "braces may contain only {date}, and only in out"),
        ("dept = 3", "unknown setting dept in project file clickassay.toml; did you mean depth"),
        ("depth = ", "project file clickassay.toml: "),
    ],
)
def test_a_mistake_in_the_file_is_one_line(here, text, message):
    (here / "clickassay.toml").write_text(text)
    assert message in tiny.refusal("run")


def test_what_nothing_names_is_said_with_both_remedies(here):
    line = tiny.refusal("run", "--out", "x")
    assert (
        "searches are missing: give --searches, or write searches = … under [inputs] of clickassay.toml"
        in line
    )
    assert "--out is missing" in tiny.refusal("run")
    assert "--patterns is missing" in tiny.refusal("report", "--judgments", "x", "--out", "y")
    assert "give either --out or --store, or store" in tiny.refusal(
        "patterns", "--searches", "log/searches.parquet"
    )
    assert "RUN is missing, and there is no clickassay.toml" in tiny.refusal("check")
    assert "RUN_A is missing" in tiny.refusal("diff")


# ---- init -------------------------------------------------------------------------------------


def test_init_names_the_zone_of_times_that_have_none(here):
    naive = tiny.searches().with_columns(pl.col("timestamp").dt.replace_time_zone(None))
    naive.write_parquet(here / "log" / "searches.parquet")
    assert tomllib.loads(tiny.said_by("init", "log", "--show"))["time_zone"] == "UTC"


def test_init_writes_what_inspect_shows_and_never_over_a_file(here):
    shown = tiny.said_by("init", "log", "--show")
    assert not (here / "clickassay.toml").exists()
    assert tiny.said_by("inspect", "log", "--depth", 3).endswith(shown)
    tiny.said_by("init", "log")
    assert (here / "clickassay.toml").read_text() == shown
    assert "clickassay.toml exists already" in tiny.refusal("init", "log")
    assert "Next: check own.toml, then type: clickassay run --project own.toml" in tiny.said_by(
        "init", "log", "--out", "own.toml"
    )


def test_init_names_what_is_missing_and_what_else_is_there(here):
    (here / "log" / "clicks.parquet").unlink()
    (here / "log" / "notes.csv").write_text("a,b\n1,2\n")
    ended = tiny.inside("init", "log")
    assert (ended.code, "Not found: clicks. Write clicks = … under [inputs] of " in ended.out) == (1, True)
    text = (here / "clickassay.toml").read_text()
    assert '# clicks = "…"  # required; no file was recognised' in text
    assert "# log/notes.csv: not a table of a log" in text
    tomllib.loads(text)


@pytest.mark.parametrize("name", ['a "b" \\ c', "a\nb\t\x7f", "größe 😀 [1]", "# x = 'y'"])
def test_names_of_files_are_quoted_in_the_file(here, name):
    (here / "log" / "searches.parquet").rename(here / "log" / f"{name}.parquet")
    tiny.said_by("init", "log")
    written = tomllib.loads((here / "clickassay.toml").read_text())
    assert written["inputs"]["searches"] == f"log/{name}.parquet"
    tiny.said_by("patterns", "--out", "patterns")


def test_init_maps_columns_that_a_run_could_do_without_and_every_door_names_them(here):
    log = here / "log"
    pages = pl.when(pl.col("search_id") > 12).then(2).otherwise(1)
    tiny.searches().with_columns(page=pages).write_parquet(here / "right.parquet")
    tiny.searches().with_columns(pages.alias("pageNumber")).write_parquet(log / "searches.parquet")
    said = (
        "searches: column pageNumber is ignored; if it is page (page of results, from 1), add --column "
        "searches.page=pageNumber"
    )
    inputs = tuple(
        word for name in ("clicks", "judgments") for word in (f"--{name}", log / f"{name}.parquet")
    )
    given = ("--searches", log / "searches.parquet", *inputs, *tiny.QUICK)
    quoted = ("--searches-sql", f"FROM '{log / 'searches.parquet'}'", *inputs, *tiny.QUICK)
    for name, options in {"file": given, "sql": quoted, "duck": (*given, "--engine", "duckdb")}.items():
        assert said in tiny.inside("run", *options, "--out", name).err, name
    assert f"Note: {said}" in tiny.said_by("inspect", "log", "--depth", 3)
    tiny.said_by("init", "log")
    tiny.said_by("run", *tiny.QUICK, "--out", "mapped")
    (here / "clickassay.toml").unlink()
    tiny.said_by("run", "--searches", "right.parquet", *inputs, *tiny.QUICK, "--out", "right")
    for table in ("configurations", "correlations"):
        mapped, right, file = (
            pl.read_parquet(here / run / f"{table}.parquet") for run in ("mapped", "right", "file")
        )
        assert mapped.equals(right)
        assert not file.equals(right)


LABELS = {0: "Irrelevant", 2: "Substitute", 4: "Exact"}
EMPTY = {"blank.csv": "\n \n", "empty.jsonl": "", "empty.txt": ""}


def newcomer(place):
    """Write the small log as a stranger's shop has it: rows of results shown, events, labels in words."""
    place.mkdir()
    time = pl.col("timestamp").dt.strftime("%Y-%m-%d %H:%M:%S").alias("ts")
    slot = pl.int_ranges(1, pl.col("results").list.len() + 1).alias("slot")
    shown = tiny.searches().with_columns(slot).explode("results", "slot")
    own = {"search_id": "request_id", "user_id": "visitor", "query": "q", "results": "sku", "url": "sku"}
    shown.select(
        pl.col("search_id", "user_id", "query", "results").name.map(own.get), time, "slot"
    ).write_csv(place / "served.csv")
    clicks = tiny.clicks().with_columns(event=pl.lit("click"))
    carts = clicks.head(6).with_columns(event=pl.lit("add_to_cart"))
    events = pl.concat([clicks, carts])
    events.select(pl.col("search_id", "url").name.map(own.get), time, "event").write_csv(place / "events.csv")
    judged = tiny.judgments().rename({"query": "q", "url": "sku", "grade": "label"})
    for name, worse in (("ann", False), ("model", True)):
        grade = pl.when(worse & (pl.col("label") == 4)).then(2).otherwise("label")
        rows = judged.with_columns(grade.replace_strict(LABELS).alias("label"), annotator=pl.lit(name))
        rows.write_ndjson(place / f"{name}.jsonl")
    for name, text in EMPTY.items():
        (place / name).write_text(text)


def test_from_init_to_a_run_nothing_is_changed(here):
    newcomer(here / "shop")
    said = tiny.said_by("init", "shop")
    assert "  judgments: shop/ann.jsonl, shop/model.jsonl\n" in said
    text = (here / "clickassay.toml").read_text()
    written = tomllib.loads(text)
    assert 'current = "NDCG"  # the metric you use' in text
    assert 'searches = "shop/served.csv"  # one row per result shown\n' in text
    assert written["scale"] == ["irrelevant", "complement", "substitute", "exact"]
    assert written["columns"]["clicks"]["action"] == "event"
    assert written["columns"]["searches"]["position"] == "slot"
    assert written["shape"] == "impressions"
    assert all(f"# shop/{name}: an empty file" in text for name in EMPTY)
    tiny.said_by("run", *tiny.QUICK, "--out", "own")
    (here / "clickassay.toml").unlink()
    # the same log under our names, the grades as numbers of the usual scale
    clicks, judged = tiny.clicks().with_columns(action=pl.lit("click")), tiny.judgments()
    carts = clicks.head(6).with_columns(action=pl.lit("add_to_cart"))
    ann = judged.with_columns(pl.col("grade").replace({2: 2, 4: 3}), judge=pl.lit("ann"))
    model = judged.with_columns(pl.col("grade").replace({4: 2}), judge=pl.lit("model"))
    log = tiny.write_log(here / "plain", clicks=pl.concat([clicks, carts]), judgments=pl.concat([ann, model]))
    tiny.said_by(*log.options(out="same"), *tiny.QUICK, "--current", "NDCG", "--max-grade", 3)
    for table in ("correlations", "comparisons", "statistics"):
        made, same = (pl.read_parquet(here / run / f"{table}.parquet") for run in ("own", "same"))
        assert made.equals(same), table
    # one look at the folder is enough too
    lines = tiny.said_by("inspect", "shop", "--depth", 3)
    assert lines.endswith(text)
    command = next(line for line in lines.splitlines() if line.startswith("clickassay run "))
    tiny.said_by(*shlex.split(command)[1:], *tiny.QUICK)
    (here / "shop" / "events.csv").unlink()
    assert "Not found: clicks." in tiny.inside("init", "shop").out


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (
            {"a.csv": "query,url,grade,judge\nq,007,1,x\n", "b.csv": "query,url,grade\nq,007,2\n"},
            [("x", "1"), ("b", "2")],
        ),
        (
            {"a.csv": "q,sku,label\nq,007,1\n", "b.csv": "query,url,grade\nr,007,2\n"},
            [("all", 1), ("all", 2)],
        ),
        (
            {"a-1.csv": "q,sku,label\nq,007,1\n", "a-2.csv": "q,sku,label\nq,007,2\n"},
            [("all", "1"), ("all", "2")],
        ),
        (
            {
                "a.jsonl": '{"doc": {"id": "007"}, "q": "q", "rating": 2}',
                "b.csv": "query,url,grade\nq,007,2\n",
            },
            [("a", "2"), ("b", "2")],
        ),
    ],
)
def test_every_file_of_judgments_is_taken_and_files_that_grade_the_same_are_judges(here, files, line):
    (here / "judged").mkdir()
    for name, text in files.items():
        (here / "judged" / name).write_text(text)
    found = found_project(here / "judged")
    settings = load_settings(column=found.column)
    with scratch():
        rows = collected(opened("judgments", found.sources["judgments"], settings))
    assert sorted(rows.select("judge", pl.col("grade").cast(pl.String)).rows()) == sorted(
        (judge, str(grade)) for judge, grade in line
    )
    assert set(rows["url"]) == {"007"}
    written = tomllib.loads(tiny.inside("init", "judged", "--show").out)["inputs"]
    assert set(written) == {"judgments_sql" if len(found.tables[0].parts) else "judgments"}


@pytest.mark.parametrize(
    ("what", "column"),
    [("searches", "team"), ("searches", "rankingId"), ("clicks", "variant"), ("clicks", "ARM")],
)
def test_arms_of_an_experiment_are_named_where_they_are_ignored(here, what, column):
    getattr(tiny, what)().with_columns(pl.lit("A").alias(column)).write_parquet(
        here / "log" / f"{what}.parquet"
    )
    note = f"{what}: column {column} is ignored; arms of an A/B test are compared if searches name them"
    assert f"Note: {note}" in tiny.said_by("init", "log")
    assert f"# {note}" in (here / "clickassay.toml").read_text()
    assert note in tiny.inside("patterns", "--out", "out").err
    assert f"Note: {note}" in tiny.inside("inspect", "--quick").out


@pytest.mark.parametrize(
    ("grades", "lines"),
    [
        ({0: "0", 2: "1.0", 4: "2"}, ["max_grade = 2"]),
        ({0: "-1", 2: "1", 4: "3"}, ["max_grade = 3"]),
        ({0: "refused", 2: "nan", 4: "2"}, ["max_grade = 2"]),
        ({0: "Refused", 2: " Partially  Relevant", 4: "relevant"}, ["scale = "]),
        ({0: "inf", 2: "1", 4: "2"}, ["# scale = "]),
        ({0: "refused", 2: "null", 4: ""}, []),
    ],
)
def test_the_scale_is_that_of_grades_and_not_of_what_nobody_judged(here, grades, lines):
    (here / "log" / "judgments.parquet").unlink()
    words = pl.col("grade").replace_strict(grades, return_dtype=pl.String)
    tiny.judgments().with_columns(words).write_csv(here / "log" / "j.csv")
    text = tiny.said_by("init", "log", "--show")
    found = [line for line in text.splitlines() if "max_grade =" in line or "scale =" in line]
    assert [line[: len(start)] for line, start in zip(found, lines, strict=True)] == lines
    assert not any(word in "".join(found).lower() for word in ("refused", "null", "nan"))


def test_words_of_no_common_scale_are_put_in_order_by_the_user(here):
    words = tiny.judgments().with_columns(pl.col("grade").replace_strict({0: "meh", 2: "ok", 4: "wow"}))
    words.write_csv(here / "log" / "judgments.csv")
    (here / "log" / "judgments.parquet").unlink()
    tiny.said_by("init", "log")
    text = (here / "clickassay.toml").read_text()
    assert '# scale = ["meh", "ok", "wow"]  # sort them, worst first' in text
    assert "give all labels, worst first, with --scale" in tiny.refusal("run", *tiny.QUICK)


def test_init_knows_outcomes_and_scores_and_names_a_second_candidate(here):
    (here / "log" / "orders.csv").write_text("order_id,request_id,revenue,amount\n1,1,9.5,3\n")
    (here / "log" / "scores.csv").write_text("search_id,value,metric\n1,0.5,x\n")
    (here / "log" / "judgments.parquet").unlink()
    tiny.judgments().with_columns(rating=pl.lit(1), label="grade").drop("grade").write_csv(
        here / "log" / "j.csv"
    )
    text = tiny.inside("init", "log", "--show").out
    written = tomllib.loads(text)
    assert written["inputs"]["outcomes"] == "log/orders.csv"
    assert written["inputs"]["scores"] == "log/scores.csv"
    assert written["columns"]["outcomes"] == {
        "search_id": "request_id",
        "value": "amount",
        "outcome_id": "order_id",
    }
    assert 'value = "amount"  # or is it "revenue"?' in text
    assert "--column judgments.grade=label (label and rating could each be the grade)" in text


def arms(user, *names):
    return pl.when(pl.col(user) % 2 == 0).then(pl.lit(names[0])).otherwise(pl.lit(names[1]))


@pytest.mark.parametrize("shape", ["lists", "impressions"])
def test_init_and_inspect_say_what_follows_from_arms_in_searches(here, shape):
    searches = tiny.searches().with_columns(arm=arms("user_id", "old", 'x "y"'), test_name=pl.lit("a b"))
    if shape == "impressions":
        shown = searches.explode("results").rename({"results": "url"})
        searches = shown.with_columns(position=pl.int_range(pl.len()).over("search_id") + 1)
    searches.write_parquet(here / "log" / "searches.parquet")
    tiny.said_by("init", "log")
    text = (here / "clickassay.toml").read_text()
    note = "searches: column variant: its A/B tests are reported; if control is not called control, off or 0"
    assert f"# {note}" in text
    assert tomllib.loads(text)["columns"]["searches"] == {"variant": "arm", "experiment": "test_name"}
    assert tomllib.loads(text)["tests"] == {"a b": {}}
    assert '# control = "old"  # or is it "x \\"y\\""?' in text
    assert f"Note: {note}" in tiny.inside("inspect", "--quick").out
    declared = text.replace("# control", "control")
    assert tomllib.loads(declared)["tests"] == {"a b": {"control": "old"}}


@pytest.mark.parametrize(("names", "sections"), [(("Off", "v2"), 0), (("v1", "v2"), 1), (("off", "0"), 1)])
def test_init_takes_a_table_of_assignments_and_asks_for_controls_that_nobody_can_know(here, names, sections):
    users = tiny.searches().select(uid="user_id").unique(maintain_order=True)
    users.with_columns(group=arms("uid", *names)).write_csv(here / "log" / "users.csv")
    text = tiny.inside("init", "log", "--show").out
    written = tomllib.loads(text)
    assert written["inputs"]["assignments"] == "log/users.csv"
    assert written["columns"]["assignments"] == {"user_id": "uid", "variant": "group"}
    assert len(written.get("tests", {})) == sections
    said = tiny.inside("inspect", "log/users.csv").out
    assert "--judgments JUDGMENTS --out RUN --assignments log/users.csv" in said
    searches = tiny.searches().with_columns(variant=pl.lit("a"))
    searches.write_parquet(here / "log" / "searches.parquet")
    text = tiny.inside("init", "log", "--show").out
    assert "# log/users.csv: assignments too, not needed: searches have a column variant" in text
    assert "assignments" not in tomllib.loads(text)["inputs"]


def test_inspect_knows_a_canonical_table_of_assignments(here):
    pl.DataFrame({"user_id": [1], "variant": ["a"]}).write_csv(here / "a.csv")
    said = tiny.said_by("inspect", "a.csv")
    assert said.startswith("a.csv: a table of assignments of users to arms of A/B tests")
    assert "--judgments JUDGMENTS --assignments a.csv --out RUN" in said
    pl.DataFrame({"user_id": [1], "variant": ["a"], "query": ["q"]}).write_csv(here / "b.csv")
    assert "assignments" not in tiny.inside("inspect", "b.csv").out


def test_settings_shows_no_secret(here, monkeypatch):
    monkeypatch.setenv("CLICKASSAY_ENGINE", "spark")
    monkeypatch.setenv("CLICKASSAY_SPARK_CONF", "spark.hadoop.fs.s3a.secret.key=HUSH")
    assert "HUSH" not in tiny.said_by("settings") + tiny.said_by("settings", "--json")


def test_init_names_the_command_that_reads_a_file_of_another_tool(here):
    (here / "other").mkdir()
    event = {"action_name": "click", "query_id": "q", "event_attributes": {"object": {"object_id": "d"}}}
    lines = [json.dumps({"query_id": "q", "user_query": "x"}), json.dumps(event)]
    (here / "other" / "ubi_queries.ndjson").write_text("\n".join(lines) + "\n")
    (here / "other" / "qrels.txt").write_text("q 0 d 1\nq 0 e 0\n")
    (here / "other" / "NOTE.md").write_text("about it\n")
    text = tiny.inside("init", "other", "--show").out
    assert (
        "# other/ubi_queries.ndjson: OpenSearch User Behavior Insights; first: clickassay import ubi" in text
    )
    assert "# other/qrels.txt: TREC qrels; first: clickassay import judgments other/qrels.txt" in text
    assert "NOTE.md" not in text
    assert "queries =" not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--searches", ""], "options: the path of searches is empty"),
        (["--searches", "s", "--database", "x.duckdb"], "--database requires SQL"),
        (["--searches", "s3://"], "--searches: s3:// names no bucket or host"),
        (["--project", "."], "project file .: Is a directory; give a TOML file"),
    ],
)
def test_a_place_that_cannot_be_one_is_one_line(here, options, message):
    assert message in tiny.refusal("run", *options)
