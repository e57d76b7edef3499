"""`clickassay learn` on runs of logs whose map is planted by `simulate --gains`."""

import json
import re
import shlex

import numpy as np
import polars as pl
import pytest

from clickassay.metrics.catalogue import METRICS
from clickassay.metrics.names import parse
from clickassay.studies.gain_learning.gain_map import GainMap
from clickassay.studies.gain_learning.on_run import LEARNED_GAIN, LEARNED_VALUES, metric_of_map
from support.logs import tiny
from support.places import ROOT

PLANTED = (0.0, 0.1, 0.35, 0.4, 0.8)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Make the run of a log; beside it lie its pattern table and its judgments."""
    folder = tmp_path_factory.mktemp("learn")
    planted = ",".join(map(str, PLANTED))
    size = ("--n-searches", "400000", "--n-queries", "300", "--seed", "3")
    log = folder / "log"
    tiny.said_by("simulate", "--world", "cascade", *size, "--gains", planted, "--out", log, "--quiet")
    inputs = [f"--{name}={log / name}.parquet" for name in ("searches", "clicks")]
    tiny.said_by("patterns", *inputs, "--depth=5", f"--out={folder / 'patterns'}", "--quiet")
    assert json.loads((log / "truth.json").read_text())["parameters"] == {"gains": list(PLANTED)}
    return reported(folder, folder / "run")


def reported(folder, out, *asked):
    given = (f"--patterns={folder / 'patterns'}", f"--judgments={folder / 'log' / 'judgments.parquet'}")
    quick = ("--depth=5", "--iterations=10", "--click-models=none", "--quiet")
    tiny.said_by("report", *given, *quick, *asked, f"--out={out}")
    return out


@pytest.mark.parametrize("options", [(), ("--objective", "rankers"), ("--utilities",)], ids=" ".join)
def test_a_planted_map_is_found_again(run, tmp_path, options):
    out = tmp_path / "map"
    said = tiny.said_by("learn", run, *options, "--out", out, "--quiet")
    values = pl.read_parquet(out / "learned_values.parquet")
    assert values.equals(LEARNED_VALUES.canonical(values))
    probabilities = values.filter(pl.col("what") == "R").sort("place")
    utilities = values.filter(pl.col("what") == "phi").sort("place")
    assert probabilities["value"].to_list() == pytest.approx(PLANTED, abs=0.05)
    assert utilities["value"].to_list() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5], abs=0.05)
    gain = pl.read_parquet(out / "learned_gain.parquet")
    assert gain.equals(LEARNED_GAIN.canonical(gain))
    row = gain.row(0, named=True)
    assert row["ci_low"] > 0
    assert row["held_out"] > 0.9
    assert said.startswith("Learned values predict clicks better than ERR's: +0.")
    written = json.loads((out / "settings.json").read_text())
    assert written["depth"] == 5
    assert f'--metric "{written["metric"]}"' in said


def test_the_page_shows_the_map_of_this_log_and_utilities_are_shown_where_they_are_learned(run):
    said = tiny.inside("learn", run, "--quiet").out
    assert "phi(" not in said
    (name,) = re.findall(r'--metric "(.*?)"', said)
    page = (ROOT / "docs" / "reference" / "learn.md").read_text(encoding="utf-8")
    assert set(re.findall(r"ERR\(gains='[\d. ]+'\)", page)) == {name}
    assert "phi(2)" in tiny.inside("learn", run, "--utilities", "--quiet").out


def said_map(*arguments):
    """Learn, and return what is said of all queries and the metric's name that is printed."""
    said = tiny.said_by("learn", *arguments, "--quiet")
    assert "learned on this log and look better here" in said
    (agreement,) = re.findall(r"; (-?\d\.\d+) and -?\d\.\d+ on all queries", said)
    (option,) = re.findall(r"--metric .*", said)
    word, name = shlex.split(option)
    return float(agreement), word, name


@pytest.mark.parametrize(
    ("options", "table", "column", "name"),
    [
        ((), "correlations", "correlation", r"ERR\(gains='[^']+'\)"),
        (("--utilities",), "correlations", "correlation", r"ERR\(gains='0 [^']+',utilities='1 [^']+'\)@5"),
        (("--objective", "rankers"), "differences", "exact", r"ERR\(gains='[^']+'\)"),
        (("--gamma",), "correlations", "correlation", r"ERR\(gains='0 [^']+',gamma=0\.\d+\)"),
    ],
    ids=" ".join,
)
def test_the_printed_option_carries_the_map_into_a_run(run, tmp_path, options, table, column, name):
    agreement, *asked = said_map(run, *options)
    assert re.fullmatch(name, asked[1])
    out = reported(run.parent, tmp_path / "again", *asked)
    found = pl.read_parquet(out / f"{table}.parquet").filter(
        editorial_metric=asked[1], click_metric="MeanRR", market="all"
    )
    if table == "correlations":
        found = found.filter(split="all")
    assert found[column].to_list() == pytest.approx([agreement], abs=1e-3)


@pytest.mark.parametrize(
    ("probabilities", "utilities", "name"),
    [
        ((0.00004, 0.12344, 0.12345, 1.0), None, "ERR(gains='0 0.1234 0.1235 1')"),
        ((0.0, 0.00012344, 0.00056789, 0.0012), None, "ERR(gains='0 0.000123 0.000568 0.0012')"),
        ((0.0, 0.0, 0.0, 0.0), None, "ERR(gains='0 0 0 0')"),
        ((0.0, 0.1, 0.2, 0.9), (1, 0.33333, 0.00001), "ERR(gains='0 0.1 0.2 0.9',utilities='1 0.3333 0')@3"),
    ],
)
def test_a_map_is_named_with_four_digits(probabilities, utilities, name):
    told = GainMap(np.array(probabilities), np.array(utilities or (1.0, 0.5)))
    assert metric_of_map(told, "fixed" if utilities is None else "free") == name
    assert str(parse(name, METRICS)) == name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--gamma", "--utilities"), "give --utilities or --gamma, not both"),
        (("--click-metric", "CTR"), "unknown click metric 'CTR'; did you mean UCTR or QCTR? known are UCTR"),
        (("--depth", "7"), "has no judged configurations of depth 7"),
        (("--cv-folds", "900"), "are too few for 900 folds; give a smaller --cv-folds, or a larger run"),
    ],
)
def test_what_cannot_be_learned_is_one_line(run, arguments, message):
    assert message in tiny.refusal("learn", run, *arguments, "--quiet")


@pytest.mark.parametrize("gain_map", ["0,0.1", "0,0.5,0.2,0.3,0.4", "0,0.1,0.2,0.3,1.5", "a,b"])
def test_a_gain_map_that_is_none_is_refused(tmp_path, gain_map):
    asked = ("simulate", "--n-searches", 10, "--out", tmp_path / "log", "--gains")
    words = "expected numbers with commas" if gain_map == "a,b" else "expected five numbers of 0..1 in ascend"
    assert words in tiny.refusal(*asked, gain_map, "--world", "cascade")
    line = tiny.refusal(*asked, "0,0.1,0.2,0.3,0.4", "--world", "web")
    assert "gains are for the world cascade, not for web" in line
