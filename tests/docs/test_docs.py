"""The documents say what the code does: steps of the funnel; and links lead somewhere."""

import ast
import csv
import re
from typing import get_args

import polars as pl
import pytest

from clickassay.core.files.scratch import with_scratch
from clickassay.core.progress import silent
from clickassay.core.settings import load_settings
from clickassay.inputs.frames import Frame
from clickassay.jobs.analyse import analyse_tables
from clickassay.jobs.inputs import Inputs, Sources, with_judgments
from clickassay.jobs.patterns import log_to_patterns
from clickassay.judgments.prepare import prepare_judgments
from clickassay.studies.evaluation.evaluate import Conflicts
from support.pages import parts
from support.places import ROOT, SAMPLES

FOLDERS = ("", "docs/**", "pipeline", "sql", "reports", "benchmarks", "data_samples", "requirements")
DOCUMENTS = sorted(file for folder in FOLDERS for file in ROOT.glob(f"{folder}/*.md".lstrip("/")))
FUNNEL_MODULES = (
    *("patterns/funnel.py", "judgments/prepare.py", "metrics/scoring.py"),
    *("inputs/staging/impressions.py", "inputs/staging/lists.py", "judgments/scores.py"),
    *("logs/outcomes.py", "logs/assignments.py", "logs/grow.py", "logs/arrays/steps/signals.py"),
    "logs/arrays/steps/teams.py",
)


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def cells(text):
    """Return the rows of the pipe tables of a document, headers and rules left out."""
    rows = [line.strip().strip("|").split("|") for line in text.splitlines() if line.lstrip().startswith("|")]
    stripped = [[cell.strip() for cell in row] for row in rows]
    rules = [number for number, row in enumerate(stripped) if set("".join(row)) <= set("-:")]
    heads = {number - 1 for number in rules}
    return [row for number, row in enumerate(stripped) if number not in heads.union(rules)]


@pytest.fixture(scope="module")
def documented_steps():
    """Return the (source, step, reason) that the page on the funnel explains."""
    chapters = parts(text_of("docs/reference/funnel.md"))
    rows = [(title.lower(), row) for title, text in chapters.items() for row in cells(text)]
    assert all(len(row) == 3 and row[2] for _, row in rows)
    return {(source, row[0], row[1]) for source, row in rows}


@pytest.fixture(scope="module")
def words_of_the_code():
    """Return all string literals of the modules that count, and all literals of the SQL that rejects rows."""
    trees = [ast.parse(text_of(f"pipeline/clickassay/{name}")) for name in FUNNEL_MODULES]
    words = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return words | {reason for reasons in sql_reasons().values() for reason in reasons}


def sql_reasons():
    """Return the reasons that SQL gives for rejected rows, by source."""
    steps = {"searches": "1_read_searches/fingerprinted_searches", "clicks": "4_clicks/clicks_read"}
    texts = {source: text_of(f"sql/steps/{step}.sql") for source, step in steps.items()}
    return {source: set(re.findall(r"THEN '([^']+)'", text)) for source, text in texts.items()}


def test_the_page_on_the_funnel_has_every_reason_for_which_sql_rejects_rows(documented_steps):
    for source, reasons in sql_reasons().items():
        documented = {row[2] for row in documented_steps if row[:2] == (source, "rejected")}
        assert documented - {"ambiguous search_id"} == reasons


def test_every_step_and_reason_on_the_page_is_a_word_of_the_code(documented_steps, words_of_the_code):
    nulls = {reason for _, _, reason in documented_steps if reason.startswith("null ")}
    words = {word for _, step, reason in documented_steps for word in (step, reason)}
    used = words - nulls - {"", "its name"} - {f"another grade: {rule}" for rule in get_args(Conflicts)}
    assert sorted(used - words_of_the_code) == []


def test_the_page_has_every_reason_for_which_judgments_are_rejected(documented_steps):
    columns = ("query", "url", "grade", "judge", "market")
    whole = dict(zip(columns, ("q", "u", 1, "j", "m"), strict=True))
    rows = pl.DataFrame([whole | {column: None} for column in columns] + [whole])
    queries = pl.DataFrame({"market": ["m"], "query": ["q"]})
    funnel = prepare_judgments(rows, queries, load_settings(max_rejected=1), by_market=True).funnel
    found = set(funnel.select("source", "step", "reason").iter_rows())
    documented = {row for row in documented_steps if row[:2] == ("judgments", "rejected")}
    assert {row for row in found if row[1] == "rejected"} == documented
    assert found <= documented_steps


def test_the_page_has_every_step_of_the_cases_worked_out_by_hand(documented_steps):
    for file in sorted((ROOT / "tests" / "sql_cases" / "cases").glob("*/expected/funnel.csv")):
        with file.open(newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                assert (row["source"], row["step"], row["reason"]) in documented_steps, file


@pytest.fixture(scope="module")
def sample_funnel():
    chosen = load_settings(depth=[5, 10], iterations=2, click_models=("NONE",), signal=["purchase"])
    clicks = pl.read_parquet(SAMPLES / "clicks.parquet")
    others = [clicks.gather_every(9).with_columns(action=pl.lit(name)) for name in ("purchase", "view")]
    events = pl.concat([clicks.with_columns(action=pl.lit("click")), *others])
    ids = clicks.select("search_id").drop_nulls().gather_every(11)
    outcomes = ids.with_columns(value=pl.lit(1.5), outcome_id=pl.int_range(pl.len()) // 2)
    shown = SAMPLES / "searches.parquet"
    users = pl.read_parquet(shown, columns=["user_id"]).drop_nulls().unique().sort("user_id")
    arms = users.with_columns(
        variant=pl.when(pl.col("user_id") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    none = pl.DataFrame({"user_id": [users["user_id"].max() + 1], "variant": ["a"]})
    both = arms.head(3).with_columns(variant=pl.lit("c"))
    unnamed = arms.tail(2).with_columns(variant=pl.lit(None, pl.String))
    given = Frame(pl.concat([arms, none, both, unnamed]))
    sources = Sources(shown, Frame(events), outcomes=Frame(outcomes), assignments=given)
    table = log_to_patterns(sources, chosen)
    return analyse_tables(table.staged(), scored(table, chosen), chosen, silent)[0]["funnel"]


@with_scratch()
def scored(table, chosen):
    """Return the judgments, and scores of most lists: some twice, one of a list that nobody saw."""
    lists = table.configurations.select("configuration_id")
    some = pl.concat([lists.gather_every(2), lists.head(3), pl.DataFrame({"configuration_id": ["none"]})])
    rows = some.with_columns(name=pl.lit("mine"), value=pl.lit(1.0))
    judgments = str(SAMPLES / "judgments.parquet")
    return with_judgments(Inputs(), Sources(judgments=judgments, scores=Frame(rows)), chosen)


def test_the_page_has_every_step_of_the_sample_log(documented_steps, sample_funnel):
    named = pl.col("source").is_in(["actions", "outcomes"]) & (pl.col("step") == "kept")
    reason = pl.when(named).then(pl.lit("its name")).otherwise("reason").alias("reason")
    found = set(sample_funnel.select("source", "step", reason).unique().iter_rows())
    of_clicks = {row for row in documented_steps if row[:2] == ("clicks", "rejected")}
    documented_steps |= {("actions", *row[1:]) for row in of_clicks}  # "rejected as clicks are"
    assert sorted(found - documented_steps) == []


def test_the_sums_on_the_page_hold_in_the_sample_log(sample_funnel):
    rows = {}
    for source, _, depth, _, step, _, number in sample_funnel.iter_rows():
        rows[source, depth, step] = rows.get((source, depth, step), 0) + number

    def total(source, steps, *depths):
        return sum(rows.get((source, depth, step.strip()), 0) for step in steps for depth in depths)

    block = text_of("docs/reference/funnel.md").split("## What adds up")[1].split("## ")[0]
    sums = re.findall(r"^ +(\w+)? +(\w+) += (.+?)(  +at each.*)?$", block, flags=re.MULTILINE)
    assert len(sums) == 9
    source = ""
    for named, whole, steps, at_each in sums:
        source = named or source
        depths = (5, 10) if at_each else (0,)
        for depth in depths:
            levels = {0, depth} if source == "sessions" else {depth}
            assert total(source, [whole], 0) == total(source, steps.split("+"), *levels) > 0


def links_of(document):
    """Return the relative links and pictures of a document: (file, anchor)."""
    text = re.sub(r"`[^`\n]*`", "", document.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target.partition("#")[::2] for target in targets if "://" not in target]


def anchors(text):
    """Return the anchors of the headings of a document, as forges make them."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_to_a_file_and_to_a_heading(document):
    for path, anchor in links_of(document):
        target = document.parent / path if path else document
        assert target.exists(), path
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), f"{path}#{anchor}"


GUIDES = (
    "CONTRIBUTING.md", "README.md", "pipeline/README.md", "docs/explanation/architecture.md",
    "docs/explanation/decisions.md", "docs/explanation/trust.md",
)  # fmt: skip
PLACES = ("", "pipeline/", "pipeline/clickassay/", "tests/", "docs/")
PATH = re.compile(r"`([\w.*<>-]+(?:/[\w.*<>-]*)+|\w+\.(?:py|md|toml|json|csv))`")
MADE_UP = re.compile(r"(?:\bmy|<).*")
"""What an example adds, as mylog.py or <so>; the folder that it is added to is there."""
NOT_OURS = {
    "../shared/data": "real logs, beside the repository",
    ".venv/bin": "made by make",
    "reports/sample": "made by make report",
    "reports/sample/report.html": "made by make report",
    "tables/": "in the folder of a run",
    "settings.json": "in the folder of a run",
    "pipeline.py": "a user's own",
    "clickassay.toml": "a user's own",
    "clickassay/sql": "in the wheel",
}


def is_there(path):
    """Tell whether a path leads on from the root or the package, or ends so anywhere in the repository."""
    kept = MADE_UP.sub("", path).rstrip("/")
    if any(list(ROOT.glob(f"{place}{kept}")) for place in PLACES):
        return True
    return any(list((ROOT / folder).rglob(kept)) for folder in ("tests", "docs/sample"))


@pytest.mark.parametrize("guide", GUIDES)
def test_every_path_that_a_guide_names_is_there(guide):
    named = set(PATH.findall(text_of(guide)))
    assert [path for path in sorted(named - set(NOT_OURS)) if not is_there(path)] == []
    assert len(named) >= 2


def test_the_contents_of_the_site_have_every_page():
    contents = text_of("docs/index.md").split("{toctree}", 1)[1]
    pages = {file.relative_to(ROOT / "docs").with_suffix("").as_posix() for file in ROOT.glob("docs/*/*.md")}
    assert sorted(pages - set(re.findall(r"[\w-]+/[\w-]+", contents))) == []
