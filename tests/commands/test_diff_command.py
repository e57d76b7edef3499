"""`clickassay diff` as its users meet it: what it prints, exit codes, and what it refuses."""

import csv
import io
import json
import re
import shutil

import polars as pl
import pytest

from clickassay.studies.runs_compared.numbers import BEYOND, NO_VALUE, NOT_TESTED, WITHIN
from clickassay.studies.runs_compared.read import ONLY_A, ONLY_B, SAME
from clickassay.studies.runs_compared.words import status_words
from support.logs import tiny
from support.places import ROOT
from support.runs.given_runs import changed_info, changed_table, compared
from support.runs.sample_run import sample

HOSTILE = "\x1b[31mred\x1b[0m\u202e[bold]\n"
NUMBERS = ("a", "b", "change", "ci_low", "ci_high", "p_value", "p_adjusted")


def lowered(by, *, metric="ERR", click="MeanRR"):
    """Lower one overall correlation of market north."""

    def change(rows):
        own = (pl.col("market") == "north") & (pl.col("split") == "all")
        own &= (pl.col("editorial_metric") == metric) & (pl.col("click_metric") == click)
        columns = ("correlation", "ci_low", "ci_high")
        return rows.with_columns(
            pl.when(own).then(pl.col(name) - by).otherwise(name).alias(name) for name in columns
        )

    return change


def test_a_run_and_itself_pass_the_strictest_watch():
    ended = compared(sample(), sample(), "--splits", "--fail-above", "1e-9")
    rows = pl.read_parquet(sample() / "correlations.parquet").height
    rows += sum(pl.read_parquet(sample() / f"{name}.parquet").height for name in ("differences", "within"))
    assert (ended.code, ended.err) == (0, "")
    first, second, *_ = ended.out.splitlines()
    assert first == "The decision is the same: no metric beats the top result's grade."
    assert second.startswith("Nothing changed; ")
    assert f"No finding: none of {rows:,} correlations is gone or changed by more than 1e-09." in ended.out


def test_without_a_threshold_nothing_fails(whole, turned):
    ended = compared(whole, turned)
    assert ended.code == 0
    decision, first, *others = ended.out.splitlines()
    assert decision == "The decision changed: inconclusive \u2192 fix the log."
    assert first.startswith("Means of offline metrics: ")
    assert any(" compared. Clearest: the correlation within queries of " in one for one in others)
    assert "FINDING" not in ended.out


@pytest.mark.parametrize(("above", "code"), [("0.04", 1), ("0.06", 0)])
def test_a_fall_of_0_05_passes_a_threshold_below_and_not_one_above(whole, tmp_path, above, code):
    other = changed_table(whole, tmp_path / "other", "correlations", lowered(0.05))
    ended = compared(whole, other, "--fail-above", above)
    assert ended.code == code
    findings = [line for line in ended.out.splitlines() if line.startswith("FINDING")]
    assert len(findings) == code
    words = "FINDING the correlation of ERR with MeanRR (market north, top 5) fell from "
    assert all(line.startswith(words) and ", by 0.05 [" in line for line in findings)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--metric", "DCG", "--metric", "ERR"), 1),
        (("--metric", "DCG"), 0),
        (("--click-metric", "UCTR"), 0),
        (("--market", "south"), 0),
        (("--market", "north", "--depth", "5", "--judge", "all", "--click-metric", "MeanRR"), 1),
    ],
)
def test_options_narrow_what_is_watched(whole, tmp_path, options, code):
    other = changed_table(whole, tmp_path / "other", "correlations", lowered(0.3))
    assert compared(whole, other, "--fail-above", "0.2", *options).code == code


def test_a_class_of_queries_is_watched_only_when_asked_for(whole, tmp_path):
    def change(rows):
        own = (pl.col("split") == "length") & (pl.col("class") == "2")
        return rows.with_columns(pl.when(own).then(-0.9).otherwise("correlation").alias("correlation"))

    runs = str(whole), str(changed_table(whole, tmp_path / "other", "correlations", change))
    assert compared(*runs, "--fail-above", "0.5").code == 0
    ended = compared(*runs, "--fail-above", "0.5", "--splits", "--click-metric", "MeanRR", "--metric", "ERR")
    assert ended.code == 1
    assert "FINDING the correlation of ERR with MeanRR (market north, top 5, length 2) fell " in ended.out


def test_the_table_shows_values_change_and_verdict_of_what_changed_and_nothing_else(whole, tmp_path):
    other = changed_table(whole, tmp_path / "other", "correlations", lowered(0.25))
    ended = compared(whole, other)
    before = pl.read_parquet(whole / "correlations.parquet").filter(
        market="north", split="all", click_metric="MeanRR", editorial_metric="ERR"
    )["correlation"][0]
    (line,) = [line for line in ended.out.splitlines() if "MeanRR" in line and "-0.250 " in line]
    words = line.split()
    where = ["over", "all", "queries", "north", "5", "MeanRR", "ERR"]
    assert words[:9] == [*where, f"{before:.4f}", f"{before - 0.25:.4f}"]
    assert "significant (from intervals)" in line
    assert "Weighted correlations: 1 fell significantly of 154 compared. Clearest: " in ended.out
    assert "1 change tested from the intervals of both runs alone" in ended.out
    assert "Correlations of differences: no change (154 compared)." in ended.out
    assert "closed form" not in ended.out  # no row of a kind without a change


def test_all_of_it_is_at_most_60_lines_and_says_a_caution_once(whole, turned):
    ended = compared(whole, turned, "--fail-above", "0.01")
    assert len(ended.out.splitlines()) <= 60
    assert ended.out.count("a few very frequent queries dominate") == 1
    table = ended.out[ended.out.index("The clearest changes") :]
    kinds = ("mean", "within queries", "over all queries", "closed form")
    assert [sum(f"  {kind} " in line for line in table.splitlines()) for kind in kinds] == [4, 2, 2, 2]
    assert "of two metrics are significant in one run only, which is not evidence of a change." in ended.out


def test_runs_are_called_by_what_differs_in_their_paths(whole, tmp_path):
    other = changed_table(whole, tmp_path / "july", "correlations", lowered(0.25))
    out = compared(whole, other).out
    assert f"run: {whole}\njuly: {other}\n" in out
    assert re.search(r"editorial +run +july +change", out)
    assert f"A: {whole}\nB: {whole}\n" in compared(whole, whole).out


def test_csv_and_json_have_every_row_in_full_precision_and_findings_go_to_stderr(whole, turned):
    options = (str(whole), str(turned), "--metric", "ERR", "--fail-above", "0.1")
    as_csv, as_json = (compared(*options, form) for form in ("--csv", "--json"))
    assert as_csv.code == as_json.code == 1
    assert as_csv.err == as_json.err
    assert as_csv.err.count("FINDING the ") == min(5, sum(row["finding"] for row in json.loads(as_json.out)))
    rows = list(csv.DictReader(io.StringIO(as_csv.out)))
    parsed = json.loads(as_json.out)
    # means first, then correlations: of two markets, and within queries of both together
    assert len(rows) == len(parsed) == 2 * (1 + 7) + 3 * 7 + 2 * 2 * 7
    assert [row["table"] for row in parsed][: 2 * 8] == ["means"] * 16
    for text, row in zip(rows, parsed, strict=True):
        for name in NUMBERS:
            assert (float(text[name]) if text[name] else None) == row[name]
    stated = pl.read_parquet(turned / "correlations.parquet").filter(editorial_metric="ERR", split="all")
    values = {
        (row["market"], row["click_metric"]): row["correlation"] for row in stated.iter_rows(named=True)
    }
    for row in parsed:
        if row["table"] == "correlations":
            assert row["b"] == values[row["market"], row["click_metric"]]


def test_texts_of_a_run_cannot_act_on_the_terminal_or_the_layout(whole, tmp_path):
    def change(info):
        info["settings"][f"odd {HOSTILE}"] = HOSTILE
        odd = {"names": [HOSTILE], "files": HOSTILE, "bytes": None, "digest": [HOSTILE]}
        info["inputs"]["searches"] = odd

    other = changed_info(whole, tmp_path / "other", change)
    file = other / "correlations.parquet"
    pl.read_parquet(file).with_columns(market=pl.lit(HOSTILE) + pl.col("market")).write_parquet(file)
    for form in ((), ("--json",), ("--csv",)):
        ended = compared(whole, other, "--fail-above", "0.5", *form)
        assert ended.code == 1
        shown = ended.err + ("" if form == ("--csv",) else ended.out)  # a CSV has its cells as they are
        assert not {"\x1b", "\u202e"} & set(shown)
    assert "[bold]" in compared(whole, other).out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--fail-above", "0"], "expected a number above 0, at most 2"),
        (["--fail-above", "nan"], "expected a number above 0, at most 2"),
        (["--beyond-noise"], "--beyond-noise requires --fail-above"),
        (["--csv", "--json"], "--csv or --json, not both"),
        (["--metric", "XYZ"], "--metric XYZ is in neither run; they have: AP, AP(rel=2), DCG"),
        (["--click-metric", "dwell"], "--click-metric dwell is in neither run; they have: MaxRR"),
        (["--depth", "7"], "--depth 7 is in neither run; they have: 5"),
        (["--market", HOSTILE], "is in neither run; they have: all, north, south"),
        (["--judge", "me"], "--judge me is in neither run; they have: all"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(whole, more, words):
    assert words in tiny.refusal("diff", whole, whole, *more)


def test_a_watch_over_nothing_is_refused(whole, tmp_path):
    none = shutil.copytree(whole, tmp_path / "none")
    for name in ("correlations", "differences", "comparisons", "within"):
        file = none / f"{name}.parquet"
        pl.read_parquet(file).clear().write_parquet(file)
    assert compared(none, none).code == 0
    for runs in ((none, none), (none, whole)):
        line = tiny.refusal("diff", *runs, "--fail-above", "0.1")
        assert (
            "--fail-above has nothing to watch: the run to compare with, A, has no such correlation" in line
        )


@pytest.mark.parametrize(
    ("column", "value", "option", "other"),
    [("editorial_metric", "ERR", "--metric", "DCG"), ("market", "north", "--market", "south")],
)
def test_a_watch_over_what_only_b_has_is_refused_since_it_could_never_fire(
    whole, tmp_path, column, value, option, other
):
    less = shutil.copytree(whole, tmp_path / "less")
    for name in ("correlations", "differences", "within"):
        file = less / f"{name}.parquet"
        pl.read_parquet(file).filter(pl.col(column) != value).write_parquet(file)
    watch = (option, value, "--fail-above", "0.1")
    line = tiny.refusal("diff", less, whole, *watch, option, other)
    assert f"--fail-above cannot watch {option} {value}: the run to compare with" in line
    assert compared(whole, less, *watch).code == 1  # it is gone from B: that is a finding
    assert compared(less, whole, option, value).code == 0  # without a watch, a look


@pytest.mark.parametrize(
    ("place", "name"),
    [*((1, name) for name in ("statistics", "correlations", "differences", "comparisons")),
     (0, "configurations"), (0, "patterns")],
)  # fmt: skip
def test_a_table_that_is_missing_or_broken_is_named(whole, tmp_path, name, place):
    broken = shutil.copytree(whole, tmp_path / "broken")
    runs = [str(whole), str(whole)]
    runs[place] = str(broken)
    file = broken / f"{name}.parquet"
    file.write_bytes(b"PAR1")
    assert f"{file} is broken (" in tiny.refusal("diff", *runs)
    file.unlink()
    assert f"no {name}.parquet in {broken}: give a folder that" in tiny.refusal("diff", *runs)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("correlations", lambda rows: rows.with_columns(correlation=pl.lit(1.5)), "relation outside -1..1"),
        ("differences", lambda rows: rows.with_columns(exact=pl.lit(float("inf"))), "exact outside -1..1"),
        ("statistics", lambda rows: rows.with_columns(judge=pl.lit(None, pl.String)), "null in judge"),
        ("comparisons", lambda rows: rows.drop("p_adjusted"), "missing columns p_adjusted)"),
        ("correlations", lambda rows: pl.concat([rows, rows]), "is not unique"),
    ],
)
def test_tables_that_were_changed_by_hand_are_named_with_what_is_wrong(whole, tmp_path, name, change, words):
    line = tiny.refusal("diff", whole, changed_table(whole, tmp_path / "other", name, change))
    assert f"{name}.parquet is broken (" in line
    assert words in line


def test_the_page_names_every_option_and_every_verdict(whole, turned):
    page = (ROOT / "docs" / "reference" / "diff.md").read_text(encoding="utf-8")
    ended = compared("--help")
    options = set(re.findall(r"--[a-z][a-z-]+", ended.out))
    assert "--fail-above" in options
    assert sorted(option for option in options - {"--help"} if f"`{option}" not in page) == []
    columns = compared(whole, turned, "--csv").out.splitlines()[0].split(",")
    assert [column for column in columns if f"`{column}`" not in page] == []
    verdicts = (SAME, WITHIN, BEYOND, NOT_TESTED, ONLY_A, ONLY_B, NO_VALUE)
    rows = page.partition("| verdict |")[2].partition("\n\n")[0].splitlines()[2:]
    words = [status_words({"status": verdict}) for verdict in verdicts]
    assert [word for row in rows for word in row.split("|")[1].strip().split(", ")] == words


def test_out_writes_a_page_or_a_folder_and_says_where(whole, turned, tmp_path):
    page = tmp_path / "deep" / "page.html"
    ended = compared(whole, turned, "--out", page)
    assert (ended.code, ended.out.splitlines()[-1]) == (0, f"Page: {page}")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert f"clickassay diff {whole} {turned}" not in text  # the command line is that of the process
    folder = tmp_path / "folder"
    ended = compared(whole, turned, "--out", folder, "--csv", "--fail-above", "0.1")
    assert ended.code == 1
    assert f"Page: {folder / 'report.html'}" in ended.err
    assert (folder / "report.md").is_file()


def test_a_page_that_exists_is_replaced_only_with_force_and_before_anything_is_compared(whole, tmp_path):
    page = tmp_path / "page.html"
    compared(whole, whole, "--out", page)
    assert "exists already; choose another --out" in tiny.refusal("diff", "nowhere", whole, "--out", page)
    assert compared(whole, whole, "--out", page, "--force").code == 0
    assert "is inside" in tiny.refusal("diff", whole, whole, "--out", whole / "page.html")
