"""How a report lies on screens and on paper: nothing overflows, nothing is lost, of whatever log."""

import io
import re
import unicodedata

import polars as pl
import pytest
from pypdf import PdfReader

from clickassay.core.settings import load_settings
from clickassay.inputs.simulate.simulation import simulate
from clickassay.jobs.inputs import Sources
from clickassay.jobs.run import make_run
from support.logs.real_logs import real_log
from support.tiers import first

VIEWS = {
    "1280": {"viewport": {"width": 1280, "height": 900}},
    "390": {"viewport": {"width": 390, "height": 844}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
}
SCREEN = 900
"""Height of a screen in pixels."""

OUTSIDE = """() => {
    const edge = document.documentElement.clientWidth + 1;
    const parts = document.querySelectorAll('h1, h2, h3, p, li, dt, dd, figcaption, summary, .chart text');
    return [...parts].filter(part => !part.closest('.scroll') && part.checkVisibility()).filter(part => {
        const { left, right } = part.getBoundingClientRect();
        return left < -1 || right > edge;
    }).map(part => part.textContent.slice(0, 60));
}"""
BESIDE_ITS_PICTURE = """() => {
    const pictures = [...document.querySelectorAll('.chart svg')].filter(svg => svg.checkVisibility());
    return pictures.flatMap(svg => {
        const box = svg.getBoundingClientRect(), slack = 0.02 * box.width + 2;
        return [...svg.querySelectorAll('text')].filter(text => {
            const { left, right, top, bottom } = text.getBoundingClientRect();
            const wide = left < box.left - slack || right > box.right + slack;
            return wide || top < box.top - slack || bottom > box.bottom + slack;
        }).map(text => text.textContent);
    });
}"""
UNSEEN = """() => [...document.querySelectorAll('h1, .lead, dd, td')].filter(part => part.checkVisibility())
    .filter(part => getComputedStyle(part).color === getComputedStyle(document.body).backgroundColor)
    .map(part => part.textContent)"""
CELLS = """tables => tables.filter(one => one.checkVisibility()).map(
    one => [...one.rows].map(row => [...row.cells].map(cell => cell.textContent)))"""
TOO_WIDE = """() => [...document.querySelectorAll('.scroll')]
    .filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.getAttribute('aria-label'))"""


def simulated(world, **changes):
    """Return a function that writes a simulated log into a folder; `changes` rewrite tables."""

    def written(folder):
        simulate(world, n_searches=6000, n_queries=120, seed=5, out=folder / "log")
        files = [folder / "log" / f"{name}.parquet" for name in ("searches", "clicks", "judgments")]
        for file in files:
            if file.stem in changes:
                changes[file.stem](pl.read_parquet(file)).write_parquet(file)
        return files, {}

    return written


def few_judged(judgments):
    return judgments.filter(pl.col("query").is_in(judgments["query"].unique().sort().head(20).to_list()))


def four_markets(searches):
    half = pl.when(pl.col("user_id").cast(pl.Int64) % 2 == 0).then(pl.lit("-east")).otherwise(pl.lit("-west"))
    return searches.with_columns(market=pl.col("market") + half)


def of_users(folder):
    """Import a log of real users, where it lies next to the checkout."""
    (searches, clicks), given, _ = real_log("trec-2012", folder / "log")
    judgments = given.pop("judgments")
    top = int(pl.read_parquet(judgments)["grade"].max())
    scale = {"max_grade": top, "scale": tuple(map(str, range(top + 1)))}
    return [searches, clicks, judgments], given | scale


LOGS = {
    "null world": simulated("null"),
    "few judged": simulated("web", judgments=few_judged),
    "four markets": simulated("web", searches=four_markets),
    "trec-2012": of_users,
}
TITLES = {
    "sample": "No metric is significantly better than another at comparing two rankings",
    "null world": "This log cannot decide: no metric measurably predicts which of two rankings users "
    "prefer, on clicks (MeanRR)",
    "few judged": "This log cannot decide: no metric measurably predicts clicks (MeanRR)",
}


@pytest.fixture(scope="session")
def made(tmp_path_factory, sample_run):
    """Return a function that makes the run of a log once."""
    folders = {"sample": sample_run}

    def run(name):
        if name not in folders:
            folder = tmp_path_factory.mktemp("log")
            files, settings = LOGS[name](folder)
            make_run(Sources(*map(str, files)), load_settings(**settings), out=folder / "run")
            folders[name] = folder / "run"
        return folders[name]

    return run


@pytest.fixture(params=first(1, ["sample", *LOGS]))
def name(request):
    return request.param


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_overflows_or_is_cut_on_a_screen(opened, made, name, view):
    with opened(made(name), **VIEWS[view]) as page:
        assert (
            page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        )
        assert page.evaluate(OUTSIDE) == []
        assert page.evaluate(BESIDE_ITS_PICTURE) == []
        assert page.evaluate(UNSEEN) == []


def test_the_first_screen_has_the_decision_the_picture_and_the_health_of_the_log(opened, made, name):
    with opened(made(name), **VIEWS["1280"]) as page:
        title = page.inner_text("h1")
        assert title.replace("\u00a0", " ") == TITLES.get(name, title)
        assert page.locator("h1").bounding_box()["y"] < SCREEN
        picture = page.locator(".overview .chart.wide")
        assert picture.bounding_box()["y"] < SCREEN / 2
        assert picture.get_attribute("role") == "img"
        label = picture.get_attribute("aria-label")
        what = "(Picks the ranking users prefer|Correlation over all queries)"
        assert re.match(rf"{what}, on clicks \(MeanRR\), highest first: ", label)
        assert page.locator(".next").bounding_box()["y"] < SCREEN / 2
        assert re.search(r"Data checks\s+[\u2713\u2717]", page.inner_text(".facts"))


def test_what_a_reader_decides_by_takes_six_screens_and_little_room(opened, made, name):
    folder = made(name)
    with opened(folder, **VIEWS["1280"]) as page:
        assert page.evaluate("document.documentElement.scrollHeight") <= 6 * SCREEN * (
            1 if name == "sample" else 1.2
        )
        assert page.locator("#record details[open]").count() == 0
    assert (folder / "report.html").stat().st_size < 1_600_000


def test_print_loses_no_column_and_no_row_of_what_is_in_view(opened, made, name):
    with opened(made(name), **VIEWS["1280"]) as page:
        tables = page.locator("table").evaluate_all(CELLS)
        printed = pages_of(page)
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 672, "height": 900})  # the room on A4 between margins of 16 mm
        assert page.evaluate(TOO_WIDE) == []
    assert len(printed) <= 8
    text = squeezed("".join(printed))
    assert tables or name == "null world"  # where nothing predicts, all tables are folded
    assert {cell for rows in tables for row in rows for cell in row if squeezed(cell) not in text} == set()


def pages_of(page):
    """Return the texts of the pages that a page prints."""
    return [part.extract_text() for part in PdfReader(io.BytesIO(page.pdf(format="A4"))).pages]


def squeezed(text):
    """Return a text without white space and ligatures, which a PDF has its own way with."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))
