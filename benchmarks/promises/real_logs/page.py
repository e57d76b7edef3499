"""The page about runs on real logs: figures from their tables, statements that hold or stop it."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from clickassay.core.text.words import MINUS
from clickassay.metrics.catalogue import BASELINES

HERE = Path(__file__).parent
CLICK = "MeanRR"
METRICS = ("DCG", "NDCG", "AP", "RR", "ERR", "RBP", "AP(rel=2)", "RR(rel=2)", *BASELINES)


class StatementError(Exception):
    """A statement of the page does not hold for the runs."""


@dataclass(frozen=True)
class Found:
    """An imported log, and the run on it.

    Attributes
    ----------
    log, run
        The folder of the import, and of the run.
    """

    log: Path
    run: Path

    @cached_property
    def counts(self) -> dict[str, int]:
        """What the import counted."""
        counts: dict[str, int] = json.loads((self.log / "import.json").read_text(encoding="utf-8"))["counts"]
        return counts

    @cached_property
    def decision(self) -> dict[str, Any]:
        """The decision of the report."""
        told: dict[str, Any] = json.loads((self.run / "summary.json").read_text(encoding="utf-8"))
        decision: dict[str, Any] = told["decision"]
        return decision

    def table(self, name: str, **chosen: object) -> pl.DataFrame:
        """Return rows of a table of the run."""
        return pl.read_parquet(self.run / f"{name}.parquet").filter(**chosen)

    def statistics(self, depth: int) -> dict[str, Any]:
        """Return the row of a depth, with the share of configurations that have one session."""
        configurations = self.table("configurations", depth=depth)
        (row,) = self.table("statistics", depth=depth).iter_rows(named=True)
        sessions = configurations["n_sessions"]
        clicked = (configurations["UCTR"] * sessions).sum() / sessions.sum()
        return {**row, "single": (sessions == 1).mean(), "clicked": clicked}

    def rows(self, table: str, depth: int) -> dict[str, dict[str, Any]]:
        """Return the rows of a table of values for `CLICK`, by metric."""
        frame = self.table(table, depth=depth, click_metric=CLICK)
        frame = frame.filter(split="all") if "split" in frame.columns else frame
        return {row["editorial_metric"]: row for row in frame.iter_rows(named=True)}

    def highest(self, table: str, depth: int) -> str:
        """Return the metric or baseline with the highest correlation."""
        rows = self.rows(table, depth)
        return max(rows, key=lambda name: rows[name]["correlation"])

    def significant(self, table: str, depth: int) -> list[tuple[str, str]]:
        """Return pairs that differ significantly, the better one first."""
        rows = self.table(table, depth=depth, click_metric=CLICK).filter(pl.col("p_adjusted") < 0.05)
        pairs = rows.select("metric_a", "metric_b", "difference").rows()
        return [(a, b) if difference > 0 else (b, a) for a, b, difference in pairs]

    def by_grade(self) -> dict[int, dict[str, float]]:
        """Return for each grade at depth 10 how often it was shown and clicked, and its mean position."""
        keys = ["configuration_id", "click_mask"]
        patterns = self.table("patterns").group_by(keys).agg(pl.col("sessions").sum())
        lists = self.table("configurations", depth=10).select("configuration_id", "grades")
        shown = lists.join(patterns, on="configuration_id").with_columns(position=pl.lit(list(range(1, 11))))
        results = shown.explode("grades", "position").with_columns(
            clicked=pl.col("click_mask").cast(pl.Int64) // 2 ** (pl.col("position") - 1) % 2
        )
        mean = {name: (pl.col(name) * pl.col("sessions")).sum() / pl.col("sessions").sum()
                for name in ("clicked", "position")}  # fmt: skip
        grouped = results.group_by("grades").agg(shown=pl.col("sessions").sum(), **mean)
        return {row.pop("grades"): row for row in grouped.iter_rows(named=True)}

    def judged(self) -> dict[int, int]:
        """Return the number of judgments of each grade, as imported."""
        counted = pl.read_parquet(self.log / "judgments.parquet")["grade"].value_counts()
        return dict(counted.rows())

    @property
    def adds_up(self) -> bool:
        """Whether every row of searches, clicks and judgments that was read is in one other step."""
        ends = {"searches": ("rejected", "repeated", "kept"),
                "clicks": ("rejected", "unmatched", "out of time", "kept"),
                "judgments": ("rejected", "repeated", "no query", "kept")}  # fmt: skip
        funnel = self.table("funnel", depth=0)
        return all(
            funnel.filter(pl.col("step").is_in(steps), source=source)["rows"].sum()
            == funnel.filter(source=source, step="read")["rows"].sum()
            for source, steps in ends.items()
        )


def written(found: dict[str, Found], commands: str) -> str:
    """Return the page.

    Raises
    ------
    StatementError
        If a statement does not hold.
    """
    spaces = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    environment = Environment(loader=FileSystemLoader(HERE), undefined=StrictUndefined, **spaces)  # noqa: S701 - Markdown
    environment.filters.update(r=decimals, pct=percent, n=thousands, ci=interval)
    template = environment.get_template("page.md.j2")
    return template.render(found, commands=commands, holds=holds, METRICS=METRICS, BASELINES=BASELINES)


def holds(condition: bool, statement: str) -> str:
    """Return a statement that holds; refuse it otherwise."""
    if not condition:
        raise StatementError(f"it does not hold any more: {statement}")
    return statement


def decimals(value: float | None, digits: int = 3) -> str:
    """Return a number with its sign as a document shows it."""
    return "" if value is None else f"{value:z.{digits}f}".replace("-", MINUS)


def percent(value: float, digits: int = 1) -> str:
    """Return a share in percent."""
    return f"{100 * value:.{digits}f}%"


def thousands(value: float) -> str:
    """Return a count with separators."""
    return f"{value:,}"


def interval(row: dict[str, Any], value: str = "correlation", ends: str = "ci") -> str:
    """Return a value with its interval, and a star if it has a caution."""
    low, high = row[f"{ends}_low"], row[f"{ends}_high"]
    shown = "no bound" if low is None or high is None else f"{decimals(low)}, {decimals(high)}"
    return f"{decimals(row[value])} [{shown}]{'*' if row['caution'] else ''}"
