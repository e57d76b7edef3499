"""The page: what is shown of a run for a choice, read from its tables, and the files to take away.

Texts of a log reach it through `page.html.j2`, where every expression is escaped by `html`.
"""

import base64
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.run import HEALTH_CHECKS
from clickassay.core.errors import ClickassayError, ReportError
from clickassay.core.files.tables import as_csv, as_json
from clickassay.core.records import Integers, SampleKey
from clickassay.core.text.escape import html
from clickassay.core.text.privacy import MIN_USERS, QueryLabels
from clickassay.core.text.words import capital
from clickassay.findings.arrays import editorial_names
from clickassay.findings.run import Run, open_run
from clickassay.health.checks import fired
from clickassay.metrics.clicks import CLICK_METRICS, good_masks, null_success
from clickassay.studies.explorer.arithmetic import click_arithmetic, editorial_arithmetic, is_same, positions
from clickassay.studies.questions import MOST_ROWS, PageQuestions, cells, question, questions

NEEDED = ("statistics", "configurations", "patterns", "correlations")
"""Tables without which there is no page."""
MOST_POINTS = 3000
"""Configurations drawn as points: those with most sessions."""
MOST_FOUND = 50
"""Configurations listed of those that a search finds, or of a query."""
ROWS_SHOWN = 200
"""Rows of a table that are shown; downloads have all rows."""

_SCRIPT = """document.addEventListener("change", change => {
  if (change.target.matches("select")) change.target.form.requestSubmit();
});"""
_DIGEST = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; script-src 'sha256-{_DIGEST}'; style-src 'unsafe-inline'; form-action 'self'; "
    "img-src data:; base-uri 'none'; frame-ancestors 'none'"
)
"""What a browser may do for the page: nothing but draw it, and send forms back."""


@dataclass(frozen=True)
class ExploredRun:
    """A run folder that has been checked, and can be shown."""

    finished: Run  # The run.
    editorial_names: tuple[str, ...]  # Its offline metrics, in the order of the run.
    labels: QueryLabels  # The labels of its queries, which hide queries of few users.


def explored_run(folder: Path, min_users: int = MIN_USERS) -> ExploredRun:
    """Open a run folder and check it; ReportError if it is none, or a file of it is broken."""
    run, users = open_run(folder), None
    for name in NEEDED:
        run.columns(name)
    # a run of an earlier version has no such table
    if (run.folder / "queries.parquet").is_file() and "digest" in run.columns("queries"):
        users = run.collect(run.scan("queries").select("market", "query", "users_at_least", "digest"))
    names = editorial_names(run.columns("configurations"), run.outcomes)
    return ExploredRun(run, names, QueryLabels(users, min_users))


@dataclass(frozen=True)
class View:
    """What is looked at."""

    key: SampleKey
    click: str  # Name of the click metric.
    editorial: str  # Name of the offline metric.
    find: str = ""  # Part of a query, a digest, or the first digits of an id.
    identity: str = ""  # Id of a configuration; empty for the one with most sessions.

    @classmethod
    def of(cls, run: ExploredRun, asked: Mapping[str, str]) -> "View":
        """Return the choice that an address names; what it does not know is the first of its kind."""
        samples = {key.label: key for key in run.finished.samples}
        return cls(
            samples.get(asked.get("sample", ""), run.finished.samples[0]),
            _one_of(CLICK_METRICS, asked.get("click", "MeanRR"), "MeanRR"),
            _one_of(run.editorial_names, asked.get("editorial", ""), run.editorial_names[0]),
            asked.get("find", "").strip(),
            asked.get("id", ""),
        )

    def link(self, page: str = "./", identity: str | None = None) -> str:
        """Return the address of a page or file of this choice, or of another configuration."""
        names = {"sample": self.key.label, "click": self.click, "editorial": self.editorial}
        chosen = {"find": self.find, "id": self.identity if identity is None else identity}
        return f"{page}?{urlencode({**names, **chosen}, errors='replace')}"


def _one_of(names: Sequence[str], asked: str, otherwise: str) -> str:
    return asked if asked in names else otherwise


# ---- what is read ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Configuration:
    """One configuration with its clicks."""

    identity: str
    query: str  # As it may be shown.
    results: tuple[str, ...]  # Its k results, as they may be shown.
    grades: Integers  # (k,) grades.
    sessions: int
    # masks, mask_sessions: (M,) distinct click masks, ascending, and their sessions.
    masks: Integers
    mask_sessions: Integers
    values: dict[str, float]  # Every metric's value in the run.
    # (g_max + 1,) distinct results of the query by grade, in any judged configuration of the run.
    seen: Integers

    @property
    def rows(self) -> pl.DataFrame:
        """One row per result: rank, result, grade, clicks (sessions in which it was clicked), ctr."""
        bits = self.masks[:, None] >> np.arange(len(self.grades)) & 1
        clicks = self.mask_sessions @ bits
        columns = {
            "rank": np.arange(1, len(clicks) + 1),
            "result": pl.Series(self.results, dtype=pl.String),
            "grade": self.grades,
            "clicks": clicks,
            "ctr": clicks / self.sessions,
        }
        return pl.DataFrame(columns)


def points(run: ExploredRun, choice: View) -> pl.DataFrame:
    """Read the configurations of a sample, those with most sessions first.

    Returns columns configuration_id, query (raw), label (the query as it may be shown), n_sessions, click and
    editorial.
    """
    chosen = _rows(run, choice.key).select(
        "configuration_id", "market", "query", "n_sessions",
        click=pl.col(choice.click), editorial=pl.col(choice.editorial),
    )  # fmt: skip
    order = ("n_sessions", "configuration_id")
    rows = run.finished.collect(chosen).sort(order, descending=[True, False])
    labels = run.labels.label(rows.select("market", "query").unique()).select("query", "label")
    return rows.drop("market").join(labels, on="query", how="left", maintain_order="left")


def search(rows: pl.DataFrame, text: str) -> pl.DataFrame:
    """Find rows of `points` by part of the query or digest, or first digits of the id, in any letter case."""
    wanted = " ".join(text.split()).lower()
    of_query = pl.col("label").str.to_lowercase().str.contains(wanted, literal=True)
    return rows.filter(of_query | pl.col("configuration_id").str.starts_with(wanted))


def correlation(run: ExploredRun, choice: View) -> dict[str, Any] | None:
    """Read the row of `correlations` for all queries and two metrics; None if the run has none."""
    names = {"click_metric": choice.click, "editorial_metric": choice.editorial}
    wanted = {**choice.key.columns, "split": EVERY, "class": EVERY, **names}
    rows = run.finished.collect(run.finished.scan("correlations").filter(**wanted))
    return rows.row(0, named=True) if rows.height else None


def configuration(run: ExploredRun, key: SampleKey, identity: str) -> Configuration:
    """Read one configuration; ReportError if `key` has none of this id."""
    rows = run.finished.collect(_rows(run, key).filter(configuration_id=identity))
    if rows.height != 1:
        raise ReportError(f"no configuration {identity} at this market, depth and judge")
    row = rows.row(0, named=True)
    label = run.labels.label(rows.select("market", "query"))["label"][0]
    patterns = _patterns(run, run.finished.scan("patterns").filter(configuration_id=identity))
    of_query = run.finished.scan("configurations").filter(
        market=key.market, judge=key.judge, query=row["query"]
    )
    seen = of_query.select("results", "grades").explode("results", "grades").unique("results")
    grades = run.finished.collect(seen)["grades"].to_numpy()
    return Configuration(
        identity=identity,
        query=label,
        results=run.labels.result_labels(key.market, row["query"], row["results"]),
        grades=np.array(row["grades"], dtype=np.int64),
        sessions=row["n_sessions"],
        masks=patterns["click_mask"].to_numpy(),
        mask_sessions=patterns["sessions"].to_numpy(),
        values={name: row[name] for name in (*CLICK_METRICS, *run.editorial_names)},
        seen=np.bincount(grades, minlength=run.finished.settings.max_grade + 1).astype(np.int64),
    )


def random_success(run: ExploredRun, key: SampleKey, good: int) -> float:
    """Compute the SS of a configuration with good results at `good` if clicks did not depend on them."""
    ids = _rows(run, key).select("configuration_id")
    masks = _patterns(run, run.finished.scan("patterns").join(ids, on="configuration_id", how="semi"))
    drawn = null_success(
        np.array([good], dtype=np.int64), masks["click_mask"].to_numpy(), masks["sessions"].to_numpy()
    )
    return float(drawn[0])


def _patterns(run: ExploredRun, rows: pl.LazyFrame) -> pl.DataFrame:
    return run.finished.collect(rows.group_by("click_mask").agg(pl.sum("sessions")).sort("click_mask"))


def _rows(run: ExploredRun, key: SampleKey) -> pl.LazyFrame:
    return run.finished.scan("configurations").filter(**key.columns)


# ---- what is answered -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """A page, or a file to be kept."""

    body: bytes
    type: str = "text/html"
    file: str = ""  # The name under which it is kept; empty for a page.


def answer(run: ExploredRun, path: str, asked: Mapping[str, str], asker: PageQuestions) -> Answer | None:
    """Return what lies at a path for values of an address or form, or None; `asker` answers SQL."""
    if path == "sql":
        return _sql(run, asked, asker)
    if not run.finished.samples:
        return _page("nothing", run=run, tab="") if path == "" else None
    choice = View.of(run, asked)
    rows = points(run, choice)
    found = search(rows, choice.find) if choice.find else rows.head(0)
    if choice.identity not in rows["configuration_id"]:
        first = [*found["configuration_id"].head(1), *rows["configuration_id"].head(1)][0]
        choice = replace(choice, identity=first)
    shown = configuration(run, choice.key, choice.identity)
    names = {"label": "query", "click": choice.click, "editorial": choice.editorial}
    files: dict[str, tuple[str, Callable[[], str]]] = {
        "configurations.csv": ("text/csv", lambda: as_csv(rows.drop("query").rename(names))),
        "chart.svg": ("image/svg+xml", lambda: scatter(rows, choice)),
        "configuration.csv": ("text/csv", lambda: as_csv(shown.rows)),
        "configuration.json": ("application/json", lambda: configuration_json(shown)),
    }
    if path in files:
        kind, text = files[path]
        return Answer(text().encode(), kind, path)
    return configurations_page(run, choice, rows, found, shown) if path == "" else None


def configurations_page(
    run: ExploredRun, choice: View, rows: pl.DataFrame, found: pl.DataFrame, shown: Configuration
) -> Answer:
    """Return the page of a configuration in the scatter of its sample, by `points` and those found."""
    settings = run.finished.settings
    (good,) = good_masks(shown.grades[None], settings)
    stored = shown.values[choice.editorial]
    query = rows.filter(configuration_id=choice.identity)["query"]
    arithmetic = (
        editorial_arithmetic(choice.editorial, shown.grades, shown.seen, stored, settings),
        click_arithmetic(choice.click, shown.masks, shown.mask_sessions, good),
    )
    return _page(
        "configurations",
        run=run,
        tab="Configurations",
        samples=[key.label for key in run.finished.samples],
        click_metrics=CLICK_METRICS,
        choice=choice,
        row=correlation(run, choice),
        chart=Markup(scatter(rows, choice)),  # noqa: S704 - it escapes its texts
        n_points=rows.height,
        found=found,
        shown=shown,
        scale=settings.scale if len(settings.scale) == settings.max_grade + 1 else (),
        lists_of_query=rows.filter(pl.col("query").is_in(query.implode())),
        arithmetic=[(one, shown.values[one.metric]) for one in arithmetic],
        chance=random_success(run, choice.key, good) if choice.click == "SS" else None,
    )


def configuration_json(shown: Configuration) -> str:
    """Return a configuration with its clicks and all its metrics as JSON."""
    record = {
        "configuration_id": shown.identity,
        "query": shown.query,
        "sessions": shown.sessions,
        "results": shown.rows.to_dicts(),
        "patterns": [
            {"clicked": positions(int(mask)), "sessions": int(count)}
            for mask, count in zip(shown.masks, shown.mask_sessions, strict=True)
        ],
        "metrics": shown.values,
    }
    return as_json(pl.DataFrame([record]))


def _sql(run: ExploredRun, asked: Mapping[str, str], asker: PageQuestions) -> Answer:
    """Answer a question in SQL with a page or a file; without one, return the text of a ready question."""
    ready = {one.name: one for one in questions()}
    name = _one_of(list(ready), asked.get("question", ""), next(iter(ready)))
    text, frame, refused = asked.get("sql", ""), None, ""
    if "sql" in asked:
        try:
            frame = asker.ask(run.finished.folder, text)
        except ClickassayError as error:
            refused = str(error)
    if frame is not None and asked.get("as") == "CSV":
        return Answer(as_csv(frame).encode(), "text/csv", "answer.csv")
    if frame is not None and asked.get("as") == "JSON":
        return Answer(as_json(frame).encode(), "application/json", "answer.json")
    text = text.replace("\r\n", "\n") or question(name).sql
    said = "" if frame is None else f"{frame.height:,} rows"
    if frame is not None and frame.height == MOST_ROWS:
        said = f"the first {MOST_ROWS:,} rows; clickassay query has all"
    return _page(
        "sql", run=run, tab="SQL", ready=ready.values(), name=name, text=Markup.escape(text), frame=frame,
        said=said, refused=refused,
    )  # fmt: skip


def _page(part: str, *, run: ExploredRun, **values: object) -> Answer:
    checks = [
        f"{capital(one.status)}: {one.sentence} {one.remedy}"
        for one in fired(run.finished.tables[HEALTH_CHECKS.name])
    ]
    rule = run.labels.rule
    text = _template().render(
        part=part,
        run=run,
        checks=checks,
        hiding=rule if run.labels.min_users == 1 else f"{rule} Their URLs likewise; --min-users 1 shows all.",
        **values,
    )
    return Answer(text.encode())


@cache
def _template() -> Template:
    # autoescape leaves characters that hide; `finalize` shows them, and every expression passes there
    environment = Environment(
        loader=PackageLoader("clickassay.studies.explorer", "."),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else html(value),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own = {
        "style": Markup((Path(__file__).parent / "page.css").read_text(encoding="utf-8")),  # noqa: S704 - ours
        "script": Markup(_SCRIPT),  # noqa: S704 - ours
        "total": lambda value: cells(pl.DataFrame({"value": [value]}))[0][0],
        "most_points": MOST_POINTS,
        "most_found": MOST_FOUND,
        "most_rows": ROWS_SHOWN,
    }
    environment.globals.update(own, cells=cells, is_same=is_same)
    return environment.get_template("page.html.j2")


# ---- the chart ------------------------------------------------------------------------------------

_SIDE, _LEFT, _BELOW = 440, 52, 40


def scatter(rows: pl.DataFrame, choice: View) -> str:
    """Draw the configurations with most sessions as SVG: linked points, areas in proportion to sessions."""
    drawn = rows.head(MOST_POINTS)
    high = {name: max(float(rows[name].max() or 0), 1e-9) for name in ("editorial", "click")}  # type: ignore[arg-type]
    across = _LEFT + drawn["editorial"].to_numpy() / high["editorial"] * _SIDE
    down = (1 - drawn["click"].to_numpy() / high["click"]) * _SIDE + 10
    radii = np.maximum(1.5, 11 * np.sqrt(drawn["n_sessions"].to_numpy() / drawn["n_sessions"].max()))
    parts = [*_axis(high["editorial"], choice.editorial, is_x=True)]
    parts += _axis(high["click"], choice.click, is_x=False)
    columns = drawn.select("configuration_id", "label", "n_sessions", "click", "editorial")
    for row, x, y, radius in zip(columns.iter_rows(), across, down, radii, strict=True):
        identity, label, sessions, click, editorial = row
        values = f"{choice.click} {click:.4f} · {choice.editorial} {editorial:.4f}"
        words = f"{label} · {sessions:,} sessions · {values}"
        mark = ' class="chosen"' if identity == choice.identity else ""
        parts.append(
            f'<a href="{html(choice.link(identity=identity))}" tabindex="-1" aria-label="{html(words)}">'
            f'<circle{mark} cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>{html(words)}</title>'
            "</circle></a>"
        )
    size = f"0 0 {_LEFT + _SIDE + 16} {_SIDE + 10 + _BELOW}"
    name = html(f"{choice.click} against {choice.editorial}: each configuration is a point")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" role="group" aria-label="{name}" '
        f'font-family="sans-serif" font-size="11" fill="#2b5f8a">{"".join(parts)}</svg>'
    )


def _axis(high: float, name: str, *, is_x: bool) -> list[str]:
    power = 10.0 ** math.floor(math.log10(high / 4))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= high / 5)
    bottom, parts = _SIDE + 10, []
    for number in range(int(high / step + 1e-9) + 1):
        at = number * step / high * _SIDE
        x, y = (_LEFT + at, bottom) if is_x else (_LEFT, bottom - at)
        line = f'x2="{x:.1f}" y2="10"' if is_x else f'x2="{_LEFT + _SIDE}" y2="{y:.1f}"'
        place = f'x="{x:.1f}" y="{y + 15}"' if is_x else f'x="{x - 6}" y="{y + 4:.1f}"'
        parts.append(
            f'<line x1="{x:.1f}" y1="{y:.1f}" {line} stroke="#e0e0e0"/>'
            f'<text {place} fill="#333" text-anchor="{"middle" if is_x else "end"}">{number * step:g}</text>'
        )
    middle = (
        f'x="{_LEFT + _SIDE / 2}" y="{bottom + 33}"'
        if is_x
        else f'x="12" y="{10 + _SIDE / 2}" transform="rotate(-90 12 {10 + _SIDE / 2})"'
    )
    return [*parts, f'<text {middle} fill="#111" text-anchor="middle">{html(name)}</text>']
