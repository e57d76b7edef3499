"""The first and the last day of a log stand in its statistics, its summary and its report."""

import json

import polars as pl

from clickassay.core.settings import Settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.run import make_run
from support.places import ROOT

SAMPLE = ROOT / "data_samples"


def test_the_days_of_the_log_and_its_title_stand_where_readers_look(tmp_path):
    files = [str(SAMPLE / f"{name}.parquet") for name in ("searches", "clicks", "judgments", "queries")]
    times = pl.read_parquet(files[0])["timestamp"]
    days = [times.min().date(), times.max().date()]
    folder = tmp_path / "run"
    make_run(Sources(*files), Settings(title="Shoes <b>", depth=(5,), click_models=()), out=folder)
    statistics = pl.read_parquet(folder / "statistics.parquet")
    assert set(statistics.select("first_day", "last_day").rows()) == {tuple(days)}
    assert json.loads((folder / "summary.json").read_text("utf-8"))["days"] == [str(day) for day in days]
    page = (folder / "report.html").read_text("utf-8")
    period = f"{days[0].day}\u2013{days[1].day} {days[1]:%b %Y}"  # of one month
    assert f'<p class="eyebrow">Shoes &lt;b&gt; · {period} · clickassay</p>' in page
    assert f"<title>Shoes &lt;b&gt; · {period} · clickassay: " in page
