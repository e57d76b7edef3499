"""The page in a browser: it shows, answers, refuses and downloads, and asks nobody but its own server."""

import csv
import http.client
import json
import re
import signal
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import polars as pl
import pytest

from clickassay.studies.questions import question
from support.runs.explorer_server import DETAILS, server, visited
from support.runs.sample_run import copied_run, hostile_run, table


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = copied_run(tmp_path_factory.mktemp("sample") / "run")
    with server(folder, tmp_path_factory.mktemp("home")) as (address, process):
        yield address, process


@pytest.fixture(scope="module")
def sample(chromium, served):
    with visited(chromium, served[0]) as visit:
        yield visit


@pytest.fixture(scope="module")
def hostile(chromium, tmp_path_factory):
    folder = hostile_run(tmp_path_factory.mktemp("hostile") / "run")
    home = tmp_path_factory.mktemp("home")
    with server(folder, home) as (address, _), visited(chromium, address) as visit:
        yield visit


def words(visit, part=DETAILS):
    return visit.page.inner_text(part)


def test_the_page_shows_the_correlation_of_the_run_and_a_drawn_chart(sample):
    row = table("correlations").filter(
        **{"market": "north", "depth": 5, "split": "all", "click_metric": "MeanRR", "editorial_metric": "DCG"}
    )
    assert f"{row['correlation'][0]:.3f}" in words(sample, "#sample")
    assert len(sample.marks()) > 1000


def test_a_click_on_a_point_shows_that_configuration(sample):
    sample.choose("offline metric", "DCG")
    x, y = max(sample.marks())  # the point that lies furthest to the right
    with sample.page.expect_navigation():
        sample.page.mouse.click(x, y)
    most = table("configurations").filter(market="north", depth=5)["DCG"].max()
    shown = words(sample)
    assert f"DCG {most:.4f}" in shown
    sample.choose("offline metric", "RBP")  # another metric, the same configuration
    assert re.search("id ([0-9a-f]{32})", words(sample))[1] == re.search("id ([0-9a-f]{32})", shown)[1]


def test_a_ready_question_runs_and_shows_its_rows(sample):
    sample.tab("SQL")
    coverage = question("coverage")
    sample.choose("ready question", coverage.name)
    assert coverage.answers in words(sample, "main")
    assert "run.duckdb is your own file" in words(sample, "main")
    assert sample.page.locator("textarea").input_value() == coverage.sql
    sample.page.get_by_role("button", name="Run").click()
    sample.page.wait_for_selector("#answer tbody tr")
    assert sample.page.locator("#answer tbody tr").count() >= 4


def test_an_own_question_is_answered_and_downloaded_whole(sample):
    said = sample.ask(
        "SELECT query, n_sessions\nFROM configurations ORDER BY configuration_id, depth LIMIT 300"
    )
    assert "300 rows" in said
    assert "100 more rows" in said
    assert len(list(csv.reader(sample.download("CSV").read_text("utf-8").splitlines()))) == 301


def test_a_statement_that_reads_no_table_of_the_run_is_refused_in_one_line(sample):
    said = sample.ask("SELECT * FROM read_csv('/etc/passwd')")
    assert "cannot be answered" in said
    assert "\n" not in said.strip()


def test_what_is_seen_can_be_taken_away(sample):
    sample.tab("Configurations")
    points = pl.read_csv(sample.download("CSV of all points"))
    assert points.height == table("statistics").filter(market="north", depth=5)["n_configurations"][0]
    assert sample.download("SVG").read_text("utf-8").startswith("<svg")
    (record,) = json.loads(sample.download("JSON").read_text("utf-8"))
    stored = table("configurations").filter(depth=5, configuration_id=record["configuration_id"])
    assert record["metrics"]["ERR"] == stored["ERR"][0]
    assert [row["result"] for row in record["results"]] == stored["results"][0].to_list()


@pytest.mark.parametrize("tab", ["Configurations", "SQL"])
def test_axe_finds_nothing_serious(sample, tab):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    sample.tab(tab)
    found = axe.Axe().run(sample.page).response["violations"]
    assert [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")] == []


def fetched(address, **headers):
    """Return the status and body of a plain request, without following it elsewhere."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


@pytest.mark.parametrize("path", ["", "?access_token=guess", "sql", "configurations.csv"])
def test_nothing_is_served_without_the_token(served, path):
    status, body = fetched(urljoin(served[0].partition("?")[0], path or "./"))
    assert status in (303, 401, 403)
    assert len(body) < 200


def test_the_token_opens_the_page_and_leaves_the_address(served):
    assert fetched(served[0])[0] == 303
    assert fetched(served[0], Host="evil.example")[0] == 403


def test_only_loopback_listens(served):
    port = urlsplit(served[0]).port
    sockets = [line.split() for kind in ("tcp", "tcp6") for line in lines_of(Path("/proc/net") / kind)]
    listening = {place for _, place, _, state, *_ in sockets if state == "0A"}
    assert {place for place in listening if place.endswith(f":{port:04X}")} == {f"0100007F:{port:04X}"}


def lines_of(file):
    return file.read_text().splitlines()[1:] if file.exists() else []


def test_hostile_texts_are_shown_as_text_and_do_nothing(hostile):
    for harm in ("<svg", "hyperlink", "![i]", "style>"):
        hostile.find(harm.upper())
        assert harm in words(hostile, "#found").lower()
    hostile.page.mouse.move(*max(hostile.marks()))
    hostile.page.mouse.click(*max(hostile.marks()))
    shown = hostile.ask("SELECT DISTINCT market, query, results FROM configurations ORDER BY query LIMIT 190")
    assert "190 rows" in shown
    assert "<script>alert(1)</script>" in shown
    assert "![i](http://evil.example/i.png)" in shown
    assert hostile.page.evaluate(FOREIGN) == []
    assert hostile.popups == []


FOREIGN = """() => {
  const found = [];
  const visit = root => root.querySelectorAll('*').forEach(node => {
    if (node.shadowRoot) visit(node.shadowRoot);
    for (const {name, value} of node.attributes)
      if (name.startsWith('on') && value.includes('alert') || ['src', 'href'].includes(name) &&
          /evil|^javascript|^x$/.test(value)) found.push(node.outerHTML.slice(0, 200));
    if (node.tagName === 'SCRIPT' && node.textContent.startsWith('alert')) found.push('script');
  });
  visit(document);
  return found;
}"""


def test_no_page_asked_another_address_or_complained(sample, hostile):
    for visit in (sample, hostile):
        assert visit.hosts() == {"127.0.0.1"}
        assert visit.complaints == []


def test_ctrl_c_ends_the_server_in_peace(tmp_path):
    with server(copied_run(tmp_path / "run"), tmp_path) as (address, process):
        assert fetched(address)[0] == 303
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 0
        assert process.stderr.read() == ""
