"""`clickassay clicks` on a run, a pattern table and a store of the sample log."""

import json
import re

import polars as pl
import pytest

import clickassay as ca
from clickassay.click_models.catalogue import CLICK_MODELS
from clickassay.core.contracts.clicks import CLICK_DOCUMENTS, CLICK_HELD_OUT, CLICK_POSITIONS
from clickassay.core.contracts.clicks import CLICK_MODELS as MODELS_FORM
from clickassay.core.errors import ReportError, SettingsError
from clickassay.patterns.table import read_patterns
from support.logs import tiny
from support.logs.position_world import position_world
from support.places import SAMPLE, SAMPLE_LOG
from support.runs.given_runs import changed_table

LOG = [f"--{name}={path}" for name, path in SAMPLE_LOG.items()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clicks")
    judged = ("run", f"--judgments={SAMPLE['judgments']}", "--iterations=10", "--out=run")
    tables = {"--out=patterns": 2, "--store=store": 2, "--out=folds": 3, "--out=sixteen": 16}
    commands = [judged, *(("patterns", f"--folds={folds}", place) for place, folds in tables.items())]
    for name, *given, place in commands:
        tiny.said_by(name, *LOG, *given, place.replace("=", f"={folder}/"), "--threads=1", "--quiet")
    return folder


def compared(*arguments, hold_out="sessions"):
    return tiny.said_by("clicks", "compare", *arguments, "--hold-out", hold_out, "--quiet")


def frame_of(*arguments):
    rows = json.loads(compared(*arguments, "--json"))
    return {row["model"]: row for row in rows}


def test_all_models_are_compared_on_sessions_held_out(folder):
    rows = frame_of(folder / "patterns")
    assert set(rows) == {kind.name for kind in CLICK_MODELS}
    total = read_patterns(folder / "patterns").patterns["sessions"].sum()
    for row in rows.values():
        assert row["held_out"] == "sessions"
        assert row["n_fitted"] + row["n_sessions"] == total
        assert row["n_sessions"] == pytest.approx(total / 4, rel=0.05)
        assert 1 < row["perplexity"] < 2
    assert rows["CM"]["log_likelihood"] is None
    assert rows["CM"]["reason"].endswith("sessions are impossible under the model")
    assert rows["DBN"]["log_likelihood"] > rows["GCTR"]["log_likelihood"]
    assert rows["DBN"]["perplexity"] < rows["DCTR"]["perplexity"] < rows["GCTR"]["perplexity"]


@pytest.mark.parametrize(
    ("table", "asked", "first"),
    [
        ("folds", (), 2),
        ("sixteen", (), 12),
        ("sixteen", ("--held-out", "0.5"), 8),
        ("sixteen", ("--held-out", "0.01"), 15),
    ],
)
def test_of_3_and_16_folds_of_users_a_share_is_held_out(folder, table, asked, first):
    row = frame_of(folder / table, "--click-models", "PBM", *asked)["PBM"]
    patterns = read_patterns(folder / table).patterns
    assert row["n_sessions"] == patterns.filter(pl.col("fold") >= first)["sessions"].sum()
    assert row["held_out"] == "users"


def test_a_store_says_what_its_pattern_table_says(folder):
    assert frame_of(folder / "store", "--click-models", "DCM") == frame_of(
        folder / "patterns", "--click-models", "DCM"
    )


def test_a_run_gives_its_judged_lists(folder):
    rows = frame_of(folder / "run", "--click-models", "pbm", "--depth", "5")
    configurations = pl.read_parquet(folder / "run" / "configurations.parquet").filter(pl.col("depth") == 5)
    total = rows["PBM"]["n_fitted"] + rows["PBM"]["n_sessions"]
    assert total == configurations["n_sessions"].sum()


def test_people_get_tables_with_examination_by_position(folder):
    said = compared(folder / "patterns", "--click-models", "PBM,DBN,CM", "--depth", "5")
    assert "Fitted on" in said
    assert "drawn at random" in said
    assert "CM: " in said
    assert "discounts most like the examination of" in said
    assert re.match(r"(PBM|DBN|CM) predicts clicks best: perplexity 1\.\d{4} on held-out", said)
    rows = [line.split() for line in said.splitlines() if line.strip()[:1] in tuple("12345")]
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5"]
    assert rows[0][1:5] == ["1.00"] * 4
    assert float(rows[4][1]) < 1


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Write the pattern table of users who look at positions, whatever stands there."""
    world = position_world(30_000, seed=1, theta=(1, 0.6, 0.4, 0.3, 0.25), queries=40, per_query=5)
    table = ca.pattern_table(world.searches, world.clicks, progress=False)
    return table.save(tmp_path_factory.mktemp("planted") / "patterns")


@pytest.fixture(scope="module")
def held_out(planted):
    """Return rows of the rankings that were held out."""
    said = compared(planted, "--click-models", "PBM,DCTR", "--depth", "5", "--json", hold_out="lists")
    return pl.DataFrame(json.loads(said), infer_schema_length=None)


def test_rankings_are_held_out_and_say_which_model_the_log_supports(planted, held_out, tmp_path):
    out = tmp_path / "models"
    asked = (planted, "--click-models", "PBM,DCTR", "--depth", "5")
    said = compared(*asked, "--out", out, hold_out="lists")
    best = held_out.filter("is_best", click_metric="MeanRR").row(0, named=True)
    assert said.startswith(
        f"This log supports {best['model']}: it predicts MeanRR of unseen rankings with a "
    )
    assert (
        f"correlation of {best['correlation']:.2f} within queries (95% CI {best['correlation_low']:.2f} to"
        in said
    )
    assert "of the variance of MeanRR between rankings of a query is noise of their sessions" in said
    assert "discounts most like the examination of PBM" in said
    table = pl.read_parquet(out / "click_held_out.parquet")
    assert table.equals(CLICK_HELD_OUT.canonical(table))
    assert table["correlation"].to_list() == held_out["correlation"].to_list()
    assert pl.read_parquet(out / "click_calibration.parquet")["model"].unique().to_list() == [best["model"]]
    assert (out / "predicted.svg").read_text().startswith("<svg")
    page = (out / "report.html").read_text()
    assert f"This log supports {best['model']}" in page
    assert "Predicted and observed MeanRR of unseen rankings" in page


def test_another_click_metric_may_choose(planted):
    asked = (planted, "--click-models", "PBM", "--depth", "5", "--click-metric", "UCTR")
    assert "predicts UCTR of unseen rankings" in compared(*asked, hold_out="lists")


def test_by_default_rankings_are_held_out_where_queries_have_them(planted):
    asked = (planted, "--click-models", "PBM", "--depth", "5", "--quiet", "--json")
    rows = json.loads(tiny.said_by("clicks", "compare", *asked))
    assert {row["click_metric"] for row in rows} > {"MeanRR", "UCTR"}


def test_a_log_without_rankings_to_hold_out_cannot_tell(tmp_path):
    log = tiny.write_log(tmp_path)
    tiny.said_by(*log.options("patterns", out=tmp_path / "patterns"))
    said = compared(tmp_path / "patterns", "--click-models", "PBM", hold_out="lists")
    assert said.startswith(
        "This log cannot tell which click model it supports: no query has 3 rankings with 20 "
    )
    assert "PBM predicts clicks best" in tiny.said_by(
        "clicks", "compare", tmp_path / "patterns", "--click-models", "PBM", "--quiet"
    )


def test_python_says_what_the_command_says(planted, held_out):
    found = ca.compare_click_models(
        planted, hold_out="lists", click_models=["PBM", "DCTR"], depth=5, progress=False
    )
    assert found.shown["slope"].to_list() == held_out["slope"].to_list()
    assert found.model == held_out.filter("is_best")["model"][0]
    assert found.facts["answer"] == found.answer
    assert repr(found).startswith(found.answer)
    assert found.chart().svg.startswith("<svg")
    with pytest.raises(ReportError, match="no chart 'x'"):
        found.chart("x")
    with pytest.raises(SettingsError, match="click_metric='SS'"):
        ca.compare_click_models(planted, click_metric="SS")


def test_out_takes_tables_in_their_forms(folder, tmp_path):
    out = tmp_path / "models"
    compared(folder / "patterns", "--click-models", "DBN,UBM", "--depth", "5", "--out", out)
    models = pl.read_parquet(out / "click_models.parquet")
    positions = pl.read_parquet(out / "click_positions.parquet")
    assert models.equals(MODELS_FORM.canonical(models))
    assert positions.equals(CLICK_POSITIONS.canonical(positions))
    assert positions.height == 10
    assert json.loads((out / "settings.json").read_text())["models"] == ["DBN", "UBM"]
    assert (out / "examination.svg").read_text().startswith("<svg")
    assert "--force" in tiny.refusal("clicks", "compare", folder / "patterns", "--out", out, "--quiet")


def test_fit_writes_what_a_model_says_of_documents(folder, tmp_path):
    out = tmp_path / "dbn"
    said = tiny.said_by("clicks", "fit", folder / "patterns", "--click-model", "DBN", "--out", out, "--quiet")
    assert "gamma" in said
    found = pl.read_parquet(out / "click_documents.parquet")
    assert found.equals(CLICK_DOCUMENTS.canonical(found))
    table = read_patterns(folder / "patterns")
    clicks = table.patterns.select(
        (pl.col("click_mask").bitwise_count_ones() * pl.col("sessions")).sum()
    ).item()
    assert found["clicks"].sum() == clicks
    assert (found["relevance"] <= found["attraction"]).all()
    parameters = pl.read_parquet(out / "click_parameters.parquet")
    assert parameters["parameter"][:2].to_list() == ["gamma", "examination[1]"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["patterns", "--click-models", "XYZ"], "unknown click model 'XYZ'; known are GCTR"),
        (["patterns", "--click-models", "PBM,"], "a click model has an empty name; choose from GCTR"),
        (["patterns", "--click-models", ""], "a click model has an empty name; choose from GCTR"),
        (["patterns", "--depth", "11"], "depth 11: the pattern table has 10 results per ranking"),
        (["run", "--depth", "7"], "has no rankings of depth 7; it has depths 5, 10"),
        (["patterns", "--market", "xx"], "no market 'xx'; known are"),
        (["patterns", "--pseudo-count", "-1"], "--pseudo-count -1.0: expected a number from 0"),
        (["patterns", "--held-out", "1"], "--held-out 1.0: expected a number between 0 and 1"),
        (["patterns", "--csv", "--json"], "give --csv or --json, not both"),
        (["nowhere"], "is not a pattern table"),
        (["patterns/patterns.parquet"], "is a file; give the folder of a run, a pattern table or"),
    ],
)
def test_what_cannot_be_done_is_one_line(folder, arguments, message):
    assert message in tiny.refusal("clicks", "compare", folder / arguments[0], *arguments[1:], "--quiet")


def unclicked(patterns):
    bare = patterns.with_columns(click_mask=pl.lit(0, pl.Int64))
    return bare.unique(["configuration_id", "fold"], maintain_order=True)


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_a_pattern_table_without_a_click_is_one_line(folder, tmp_path, command):
    place = changed_table(folder / "patterns", tmp_path / "table", "patterns", unclicked)
    more = ["--click-model", "DBN", "--out", str(tmp_path / "out")] if command == "fit" else []
    line = tiny.refusal("clicks", command, place, *more, "--quiet")
    assert "sessions to fit on but no click" in line
    assert not (tmp_path / "out").exists()


def test_what_the_clicks_do_not_tell_is_said(folder, tmp_path):
    most = pl.read_parquet(folder / "patterns" / "patterns.parquet")
    busiest = most.group_by("configuration_id").agg(pl.col("sessions").sum()).sort("sessions")
    kept = pl.col("configuration_id") == busiest["configuration_id"][-1]
    place = changed_table(
        folder / "patterns", tmp_path / "table", "patterns", lambda frame: frame.filter(kept)
    )
    wanted = "not identified by the clicks, set by the pseudo-counts: gamma[2], gamma[3], gamma[4] and 6 more"
    assert f"PBM: {wanted}" in compared(place, "--click-models", "PBM")
    rows = frame_of(place, "--click-models", "PBM,RCTR,CM")
    assert rows["PBM"]["reason"] == wanted
    assert rows["RCTR"]["reason"] is None
    assert rows["CM"]["reason"].endswith("sessions are impossible under the model")
