"""The content of the page for a choice: sentences, tables, and downloads."""

import math
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.contracts.run import HEALTH_CHECKS
from clickassay.core.files.tables import as_csv, as_json
from clickassay.core.records import SampleKey
from clickassay.core.settings import Settings
from clickassay.core.text.escape import html
from clickassay.core.text.words import capital
from clickassay.health.checks import fired
from clickassay.metrics.clicks import good_masks
from clickassay.studies.explorer.arithmetic import (
    ROUNDING,
    Arithmetic,
    GradedConfiguration,
    click_arithmetic,
    editorial_arithmetic,
    positions,
)
from clickassay.studies.explorer.charts import MOST_POINTS
from clickassay.studies.explorer.classes import Splits
from clickassay.studies.explorer.markup import bar, frame_table, heading, line, table
from clickassay.studies.explorer.read import Configuration, ExploredRun, random_success

NOTHING_JUDGED = (
    "No configuration of this run is judged in full, so there is none to look at. Its report.md says why; "
    "the tab SQL has its funnel."
)


def hiding_words(run: ExploredRun) -> str:
    """Return a sentence on which queries are hidden."""
    rule = run.labels.rule
    return rule if run.labels.min_users == 1 else f"{rule} Their URLs likewise; --min-users 1 shows all."


def health_html(run: ExploredRun) -> str:
    """Return what the checks of the log and its judgments found, as the report says it; '' if nothing."""
    wrong = fired(run.finished.tables[HEALTH_CHECKS.name])
    return "".join(
        line(f"{capital(one.status)}: {one.sentence} {one.remedy}", style="ca-caution") for one in wrong
    )


def splits_words(splits: Splits) -> str:
    """Return a sentence on classes of the report that cannot be chosen; '' when all can."""
    if not splits.left_out:
        return ""
    names = ", ".join(splits.left_out)
    return f"Classes of the report that cannot be computed again from a run folder: {names}."


def correlation_html(
    row: dict[str, Any] | None, rows: pl.DataFrame, click_metric: str, editorial_metric: str
) -> str:
    """Show the correlation of the chosen configurations, its interval, and how many of them are drawn."""
    head = heading(f"{click_metric} against {editorial_metric}")
    if row is None:
        return head + line("The run has no correlation for this choice.")
    if row["correlation"] is None:
        return head + line(f"No correlation: {row['reason']}.") + line(_counts(row))
    value = f'<p class="ca-value"><strong>{row["correlation"]:.3f}</strong> {html(_interval(row))}</p>'
    caution = line(f"Caution: {row['caution']}.", style="ca-caution") if row["caution"] else ""
    return head + value + caution + line(_counts(row)) + line(_drawn(rows), style="ca-small")


def _interval(row: dict[str, Any]) -> str:
    if row["ci_low"] is None:
        return "weighted correlation; it has no interval"
    return f"weighted correlation, 95 % interval {row['ci_low']:.3f} to {row['ci_high']:.3f}"


def _counts(row: dict[str, Any]) -> str:
    return (
        f"{row['n_queries']:,} queries, {row['n_configurations']:,} configurations, "
        f"{row['n_sessions']:,} sessions."
    )


def _drawn(rows: pl.DataFrame) -> str:
    if rows.height <= MOST_POINTS:
        return "Each configuration is a point; its area grows with its sessions. Click one."
    return (
        f"Points: the {MOST_POINTS:,} configurations with most sessions of {rows.height:,}; the grey map "
        "below them is all sessions. Click a point, or search."
    )


def configuration_html(
    run: ExploredRun, key: SampleKey, shown: Configuration, click_metric: str, editorial_metric: str
) -> str:
    """Show a configuration: its results and clicks, and how both metrics get their value."""
    words = (
        f"{shown.sessions:,} sessions · {click_metric} {shown.values[click_metric]:.4f} · "
        f"{editorial_metric} {shown.values[editorial_metric]:.4f} · id {shown.identity}"
    )
    (good,) = good_masks(shown.grades[None], run.finished.settings)
    spelled = click_arithmetic(click_metric, shown.masks, shown.mask_sessions, good)
    parts = [
        heading(shown.query or "(empty query)"),
        line(words, style="ca-small"),
        results_table(shown, _labels(run.finished.settings)),
        arithmetic_html(editorial_of(run, shown, editorial_metric), shown.values[editorial_metric]),
        arithmetic_html(spelled, shown.values[click_metric]),
    ]
    if click_metric == "SS":
        parts.append(line(_null_words(random_success(run, key, good)), style="ca-small"))
    return "".join(parts)


def editorial_of(run: ExploredRun, shown: Configuration, editorial_metric: str) -> Arithmetic:
    """Spell out the editorial metric of a configuration."""
    return editorial_arithmetic(
        editorial_metric, GradedConfiguration(shown.grades, shown.seen, shown.values), run.finished.settings
    )


def _null_words(value: float) -> str:
    return (
        "If clicks did not depend on the results (click patterns drawn from all sessions of this market), SS "
        f"of this configuration would be {value:.4f}."
    )


def _labels(settings: Settings) -> tuple[str, ...]:
    """Return the labels of the grades; none where the run has a highest grade without labels."""
    return settings.scale if len(settings.scale) == settings.max_grade + 1 else ()


def results_table(shown: Configuration, scale: tuple[str, ...]) -> str:
    """Return the results with their grades and the share of sessions that clicked each."""
    rows = []
    for rank, result, grade, clicks, ctr in results_frame(shown).iter_rows():
        word = f" {scale[grade]}" if grade < len(scale) else ""
        rows.append(
            f'<tr><td class="ca-number">{rank}</td><td class="ca-result">{html(result)}</td>'
            f'<td class="ca-grade">{grade}{html(word)}</td><td class="ca-number">{clicks:,}</td>'
            f'<td class="ca-number">{ctr:.3f}{bar(ctr)}</td></tr>'
        )
    heads = ("rank", "result", "grade", "clicks", "CTR")
    return table(heads, rows, (), "Results, and their clicks", (True, False, False, True, True))


def results_frame(shown: Configuration) -> pl.DataFrame:
    """Return one row per result: rank, result (as it may be shown), grade, clicks, ctr."""
    clicks = shown.clicks()
    return pl.DataFrame(
        {
            "rank": np.arange(1, len(clicks) + 1),
            "result": shown.results,
            "grade": shown.grades,
            "clicks": clicks,
            "ctr": clicks / shown.sessions,
        },
        schema_overrides={"result": pl.String},
    )


def arithmetic_html(spelled: Arithmetic, stored: float) -> str:
    """Show the steps of a value, and a caution where they do not give the run's value."""
    caption = f"{spelled.metric} = {spelled.formula}"
    note = line(spelled.note, style="ca-small") if spelled.note else ""
    if not math.isclose(spelled.value, stored, rel_tol=ROUNDING, abs_tol=ROUNDING):
        note += line(
            f"These steps give {spelled.value:.6g}, but the value in the run is {stored:.6g}.",
            style="ca-caution",
        )
    return frame_table(spelled.steps, caption, spelled.totals) + note


def match_words(query: str, sessions: int, identity: str) -> str:
    """Return the text of a configuration in the list of search results."""
    return f"{query} · {sessions:,} sessions · {identity[:8]}"


def points_csv(rows: pl.DataFrame, click_metric: str, editorial_metric: str) -> bytes:
    """Return the rows of the scatter as CSV."""
    return as_csv(rows.rename({"click": click_metric, "editorial": editorial_metric})).encode()


def configuration_csv(shown: Configuration) -> bytes:
    """Return the results of a configuration as CSV."""
    return as_csv(results_frame(shown)).encode()


def configuration_json(shown: Configuration) -> bytes:
    """Return a configuration with its clicks and all its metrics as JSON."""
    record = {
        "configuration_id": shown.identity,
        "query": shown.query,
        "sessions": shown.sessions,
        "results": results_frame(shown).to_dicts(),
        "patterns": [
            {"clicked": positions(int(mask)), "sessions": int(count)}
            for mask, count in zip(shown.masks, shown.mask_sessions, strict=True)
        ],
        "metrics": shown.values,
    }
    return as_json(pl.DataFrame([record])).encode()
