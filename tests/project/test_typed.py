"""What is public is typed: a user's project that calls all of it passes mypy's strictest checks."""

import re
import subprocess
import sys

import pytest

USER = """
import polars as pl

import clickassay as ca
from clickassay.measures import nDCG

searches, clicks = pl.read_parquet("searches.parquet"), pl.scan_parquet("clicks.parquet")
run: ca.RunResult = ca.run(searches, clicks, "judgments.csv", depth=[5, 10], current="NDCG", out="june")
rows: pl.DataFrame = run.correlations
kind: str = run.decision.kind
picture: str = run.chart("within").svg
table: ca.PatternsResult = ca.pattern_table(ca.InputSql("FROM 'searches.parquet'"), clicks, store="store")
again: ca.RunResult = table.report("judgments.csv", relevant_grade=2)
changes: pl.DataFrame = ca.diff(run, "june", metric=["AP"], fail_above=0.05).numbers
passed: bool = ca.check(run, "queries >= 50").passed
order: pl.DataFrame = ca.experiments("tests.csv").order
needed: pl.DataFrame = ca.power(run, pair=("ERR", "DCG")).required
metric: str | None = ca.learn(run, gamma=True).metric
audited: pl.DataFrame = ca.audit(run, "judgments.csv").conventions
looked: bool = ca.inspect("log").is_finding
log: ca.SimulatedLog = ca.simulate("log", 1000, world="cascade")
mean: float = ca.evaluate({"q": {"a": 1}}, {"q": ["a"]}, [nDCG @ 10, "ERR@10"])["nDCG@10"]
try:
    ca.open_run("missing")
except ca.ReportError as error:
    told: str = str(error)
"""

WRONG = """
import clickassay as ca

ca.run("searches.csv", dept=5)
"""


@pytest.mark.thorough
def test_mypy_is_content_with_a_users_project_and_finds_a_misspelt_setting(tmp_path):
    for name, code in (("user.py", USER), ("wrong.py", WRONG)):
        (tmp_path / name).write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "user.py", "wrong.py"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert re.search(r'^wrong\.py:4: error: .*Unexpected keyword argument "dept"', told, re.MULTILINE), told
    assert "(checked 2 source files)" in told
    assert "user.py:" not in told
