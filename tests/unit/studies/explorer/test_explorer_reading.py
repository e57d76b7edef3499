"""What a page shows of a run: the right rows, digests for queries of few users, and files to take away."""

import html
import json
from functools import cache
from hashlib import sha256

import polars as pl
import pytest

from clickassay.core.contracts.run import RUN_QUERIES
from clickassay.core.errors import ReportError
from clickassay.core.records import SampleKey
from clickassay.core.text.escape import terminal
from clickassay.core.text.privacy import with_digests
from clickassay.health.checks import HealthCheck, health_table
from clickassay.studies.explorer import page
from clickassay.studies.explorer.page import View, explored_run
from clickassay.studies.questions import PageQuestions
from support.reports.harmful import HARMS
from support.runs.sample_run import copied_run, hostile_run, sample, table

KEY = SampleKey("north", 5, "all")
CHOICE = View(KEY, "MaxRR", "AP(rel=2)")


@cache
def north():
    return table("configurations").filter(market="north", depth=5)


def shown(run, path="", **asked):
    """Return what lies at a path, as text, of the choice but for what is asked."""
    names = {"sample": KEY.label, "click": "MaxRR", "editorial": "AP(rel=2)"}
    return page.answer(run, path, names | asked, PageQuestions()).body.decode()


def digest(text, queries):
    """The digest that a run with these queries gives a text."""
    rows = queries.select("market", "query", "users_at_least").sort("market", "query").rows()
    key = sha256(repr(rows).encode()).hexdigest()
    return sha256(f"{key}\nnorth\n{text}".encode()).hexdigest()[:6]


def with_users(folder, users):
    """Copy the sample with a table `queries`: `users` of some queries, 9 of all others."""
    names = north()["query"].unique().sort()
    frame = pl.DataFrame({"market": ["north"] * len(names), "query": names})
    counts = [users.get(name, 9) for name in names]
    frame = frame.with_columns(users_at_least=pl.Series(counts, dtype=pl.Int32))
    digests = [digest(name, frame) for name in frame["query"]]
    return copied_run(folder, queries=frame.with_columns(digest=pl.Series(digests)))


def test_a_scatter_has_the_configurations_of_its_key_and_no_others():
    found = page.points(explored_run(sample()), CHOICE)
    expected = {row["configuration_id"]: (row["MaxRR"], row["AP(rel=2)"]) for row in north().to_dicts()}
    columns = found.select("configuration_id", "click", "editorial")
    assert {row[0]: row[1:] for row in columns.iter_rows()} == expected
    assert found["n_sessions"].is_sorted(descending=True)


def test_a_point_leads_to_its_configuration_with_its_sessions_as_area():
    run = explored_run(sample(), 1)
    rows = page.points(run, CHOICE)
    chart = page.scatter(rows, CHOICE)
    assert chart.count("<circle") == rows.height
    radii = [float(part.partition('"')[0]) for part in chart.split(' r="')[1:]]
    assert (radii[0] / radii[3]) ** 2 == pytest.approx(
        rows["n_sessions"][0] / rows["n_sessions"][3], rel=0.05
    )
    last = rows["configuration_id"][-1]
    assert html.escape(CHOICE.link(identity=last)) in chart
    assert f"id {last}" in shown(run, id=last)


def test_lists_of_the_same_query_stand_below_a_configuration():
    query = north().sort("n_sessions", "configuration_id", descending=[True, False])["query"][0]
    said = shown(explored_run(sample(), 1)).partition("Lists of this query")[2]
    assert said.count("<li>") == north().filter(query=query).height


def test_what_an_address_does_not_know_is_the_first_of_its_kind():
    run = explored_run(sample(), 1)
    odd = View.of(run, {"sample": "nowhere", "click": "CTR", "editorial": "MAP", "id": "none"})
    assert (odd.key, odd.click, odd.editorial) == (run.finished.samples[0], "MeanRR", run.editorial_names[0])
    assert shown(run, id="none") == shown(run)
    assert page.answer(run, "elsewhere", {}, PageQuestions()) is None


def test_a_query_of_few_users_and_its_results_are_digests_and_others_are_not(tmp_path):
    heaviest = north().sort("n_sessions", descending=True)
    rare, other = heaviest["query"][0], next(q for q in heaviest["query"] if q != heaviest["query"][0])
    folder = with_users(tmp_path / "run", {rare: 4, other: 5})
    run, queries = explored_run(folder), pl.read_parquet(folder / "queries.parquet")
    labels = dict(page.points(run, CHOICE).select("query", "label").iter_rows())
    assert labels[rare] == f"query {digest(rare, queries)}"
    assert labels[other] == other
    row = heaviest.row(0, named=True)
    hidden = page.configuration(run, KEY, row["configuration_id"])
    assert hidden.query == f"query {digest(rare, queries)}"
    assert hidden.results == tuple(f"result {digest(url, queries)}" for url in row["results"])


def in_json(text):
    return json.dumps(text)[1:-1]


def in_csv(text):
    return text.replace('"', '""')


FILES = ("configurations.csv", "chart.svg", "configuration.csv", "configuration.json")


def all_that_is_shown(run):
    """Yield every page and file of a run that queries can come into, but for answers in SQL."""
    for identity in page.points(run, CHOICE)["configuration_id"]:
        yield html.unescape(shown(run, id=identity, find=identity))
        yield from (shown(run, name, id=identity) for name in FILES[2:])
    yield from (html.unescape(shown(run, name)) for name in FILES[:2])


@pytest.mark.slow
@pytest.mark.parametrize("users", ["some", "none", "no table"])
def test_no_query_of_too_few_users_nor_a_result_of_it_is_shown_anywhere(tmp_path, users):
    heaviest = (
        north().group_by("query").agg(pl.sum("n_sessions")).sort("n_sessions", "query", descending=True)
    )
    kept = heaviest["query"].head(24)
    few = north().filter(pl.col("query").is_in(kept.implode()))
    names = dict(
        zip(kept, (f"{harm} of one {n}." for n, harm in enumerate([*HARMS, "plain", "é日本"])), strict=True)
    )
    urls = few["results"].explode().unique().sort()
    harms = {url: f"{HARMS[n % 22]} at one {n}." for n, url in enumerate(urls)}
    few = few.with_columns(
        pl.col("query").replace_strict(names), pl.col("results").list.eval(pl.element().replace_strict(harms))
    )
    enough = set(list(names.values())[::3]) if users == "some" else set()
    counts = [("north", query, 5 if query in enough else 4) for query in names.values() if users == "some"]
    schema = {"market": pl.String, "query": pl.String, "users_at_least": pl.Int32}
    queries = with_digests(pl.DataFrame(counts, schema=schema, orient="row"))
    queries = RUN_QUERIES.canonical(queries.with_columns(query_group=None))
    only = {"market": "north", "depth": 5}
    # one list of each query, for which every page and file is made
    few = few.sort("n_sessions", descending=True).unique("query", keep="first", maintain_order=True)
    folder = copied_run(
        tmp_path / "run",
        configurations=few,
        queries=queries,
        statistics=table("statistics").filter(**only),
        correlations=table("correlations").filter(**only),
    )
    if users == "no table":
        (folder / "queries.parquet").unlink()
    named = few.filter(pl.col("query").is_in(enough))
    allowed = enough | set(named["results"].explode())
    hidden = {*names.values(), *harms.values()} - allowed
    spelled = hidden | {form(text) for text in hidden for form in (terminal, in_json, in_csv)}
    texts = "\n".join(all_that_is_shown(explored_run(folder, 5)))
    assert [text for text in spelled if text in texts] == []
    assert all(terminal(text) in texts for text in allowed)


def test_without_counts_of_users_no_query_is_named_and_the_page_says_why(tmp_path):
    folder = copied_run(tmp_path / "run")
    (folder / "queries.parquet").unlink()
    run = explored_run(folder, 5)
    assert set(page.points(run, CHOICE)["label"]) == {"query unknown"}
    assert "does not say how many users" in shown(run)


def test_the_text_of_a_hidden_query_finds_nothing_but_its_digest_and_id_do():
    rows = page.points(explored_run(sample(), 64), CHOICE)
    rare = rows.filter(pl.col("label") != pl.col("query"))
    query, identity = rare["query"][0], rare["configuration_id"][0]
    assert page.search(rows, query).is_empty()
    name = table("queries").filter(market="north", query=query)["digest"][0]
    assert page.search(rows, name.upper())["configuration_id"][0] == identity
    assert page.search(rows, identity[:12])["configuration_id"].to_list() == [identity]


def test_a_search_is_for_text_not_for_a_pattern():
    run = explored_run(sample(), 1)
    rows = page.points(run, CHOICE)
    assert page.search(rows, ".*").is_empty()
    word = rows["query"][0].split()[0]
    found = page.search(rows, word.upper())
    assert found.height > 1
    assert all(word in query for query in found["query"])
    assert "Nothing found." in shown(run, find=".*")
    assert f"id {found['configuration_id'][0]}" in shown(run, find=word)


def test_a_download_of_hostile_texts_starts_no_formula_and_keeps_every_row(tmp_path):
    run = explored_run(hostile_run(tmp_path / "run"), 1)
    text = page.answer(run, "configurations.csv", {}, PageQuestions()).body
    back = pl.read_csv(text, infer_schema=False)
    assert back.height == page.points(run, View.of(run, {})).height
    assert not [query for query in back["query"] if query.startswith(("=", "+", "-", "@"))]


@pytest.mark.slow
@pytest.mark.parametrize("name", page.NEEDED)
def test_a_missing_table_is_named_and_a_broken_one_is_one_line(tmp_path, name):
    folder = copied_run(tmp_path / "run")
    (folder / f"{name}.parquet").unlink()
    with pytest.raises(ReportError, match=f"no {name}.parquet .*clickassay run"):
        explored_run(folder)
    (folder / f"{name}.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ReportError, match="broken") as raised:
        explored_run(folder)
    assert "\n" not in str(raised.value)


def with_settings(folder, **settings):
    file = copied_run(folder) / "settings.json"
    written = json.loads(file.read_text(encoding="utf-8"))
    written["settings"] |= settings
    file.write_text(json.dumps(written), encoding="utf-8")
    return folder


def test_settings_that_a_later_release_adds_do_not_matter(tmp_path):
    folder = with_settings(tmp_path / "run", later=True, persistence=0.7)
    assert explored_run(folder).finished.settings.persistence == 0.7


def test_a_run_without_judged_configurations_has_nothing_to_choose(tmp_path):
    nothing = table("statistics").with_columns(n_sessions=pl.lit(0, dtype=pl.Int64))
    run = explored_run(copied_run(tmp_path / "run", statistics=nothing))
    assert run.finished.samples == ()
    assert "No configuration of this run is judged in full" in shown(run)


@pytest.mark.slow
def test_a_correlation_is_shown_with_its_interval_and_a_missing_one_with_its_reason(tmp_path):
    rows = table("correlations")
    row = rows.filter(
        market="north", depth=5, split="all", click_metric="MaxRR", editorial_metric="AP(rel=2)"
    )
    said = shown(explored_run(sample()))
    assert f"<strong>{row['correlation'][0]:.3f}</strong>" in said
    assert f"{row['ci_low'][0]:.3f} to {row['ci_high'][0]:.3f}" in said
    assert f"{row['n_queries'][0]:,} queries" in said
    none = rows.with_columns(correlation=pl.lit(None, dtype=pl.Float64), reason=pl.lit("of <one> value"))
    said = shown(explored_run(copied_run(tmp_path / "none", correlations=none)))
    assert "No correlation: of &lt;one&gt; value." in said
    said = shown(explored_run(copied_run(tmp_path / "empty", correlations=rows.head(0))))
    assert "no correlation for this choice" in said


def test_steps_that_do_not_reach_the_run_are_pointed_out(tmp_path):
    assert "but the value in the run is" not in shown(explored_run(sample(), 1), editorial="DCG")
    moved = table("configurations").with_columns(pl.col("DCG") + 0.001)
    run = explored_run(copied_run(tmp_path / "run", configurations=moved), 1)
    assert "but the value in the run is" in shown(run, editorial="DCG")


def test_success_by_chance_is_the_share_of_all_sessions_that_would_meet_a_good_result():
    run = explored_run(sample(), 1)
    ids = north()["configuration_id"].implode()
    patterns = table("patterns").filter(pl.col("configuration_id").is_in(ids))
    met = sum(n for mask, n in patterns.select("click_mask", "sessions").iter_rows() if mask & 0b101)
    assert page.random_success(run, KEY, 0b101) == pytest.approx(met / patterns["sessions"].sum())
    assert "If clicks did not depend on the results" in shown(run, click="SS")


def test_a_run_with_a_highest_grade_and_no_labels_can_be_explored(tmp_path):
    assert "perfect" in shown(explored_run(sample(), 1))
    run = explored_run(with_settings(tmp_path / "run", max_grade=9), 1)
    assert run.finished.settings.max_grade == 9
    assert "perfect" not in shown(run)


def test_what_the_checks_found_is_said_without_examples_of_rows(tmp_path):
    words = ("50% are <late>.", "Give UTC.", "For example, “s1”.")
    checks = [
        HealthCheck("no_clicks", "ok", 9.0, 1.0),
        HealthCheck("late_clicks", "finding", 0.5, 0.25, *words),
    ]
    said = shown(explored_run(copied_run(tmp_path / "run", health=health_table(checks))))
    assert "Finding: 50% are &lt;late&gt;. Give UTC." in said
    assert "s1”" not in said
