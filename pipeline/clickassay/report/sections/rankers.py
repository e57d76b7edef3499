"""Two virtual rankers (Algorithm 3 of Chapelle et al. 2009): Table 6 in closed form, simulated, drawn."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.contracts.correlation import DIFFERENCE_COMPARISONS
from clickassay.core.records import Floats
from clickassay.core.text.words import count, listed, number, percent, plural, sentence, visible
from clickassay.findings.claims import Claim
from clickassay.findings.draw import Findings, nothing_kept_reason
from clickassay.findings.estimates import estimate
from clickassay.findings.ranking import Ranking
from clickassay.findings.run import Run, in_order
from clickassay.report import model, tables
from clickassay.report.charts.marks import IntervalHeads, common_domain, histogram_2d, intervals
from clickassay.report.sections.comparisons import pairs_table
from clickassay.report.verdict.sentences import interval_text, second_finding


def _why(column: str) -> Callable[[tables.Fields], str | None]:
    def reason(row: tables.Fields) -> str | None:
        return None if row[column] is not None else visible(row["reason"] or "no value", limit=160)

    return reason


EXACT = (
    tables.with_interval("Closed form", "exact"),
    tables.value("Monte Carlo", "monte_carlo", _why("monte_carlo")),
    tables.value("Its standard error", "monte_carlo_se", _why("monte_carlo_se")),
    tables.ShownColumn("Noise-corrected", model.noise_corrected),
    tables.share("Sign agreement", "sign_agreement"),
)
_MAX_ERRORS = 2.0
"""Standard errors within which a simulated value should lie about 95 times in 100."""


def differences_section(run: Run, findings: Findings) -> model.Section:
    """Table 6: the closed form with its interval, the simulation, noise correction, sign agreement."""
    own, every = run.headline_rows("differences"), run.frames["differences"]
    names = in_order(every["editorial_metric"].unique().to_list(), run.editorial)
    editorial = {name: at for at, name in enumerate(names)}
    clicks = {name: at for at, name in enumerate(run.clicks)}
    rows = sorted(
        own.iter_rows(named=True),
        key=lambda row: (clicks.get(row["click_metric"], 99), editorial.get(row["editorial_metric"], 99)),
    )
    beyond = own.filter(pl.col("noise_corrected").abs() > 1).height
    note = (
        f"{plural(beyond, 'noise-corrected value')} beyond 1: there, the log has too few sessions to "
        f"separate click noise from real differences."
    )
    exact = {sample.label: model.by_pair(sample.rows(every), "exact") for sample in model.shown_samples(run)}
    shown = (
        tables.shown_table(
            "table6_differences",
            f"Table 6. Differences of two virtual rankers{model.headline_suffix(run)}", rows,
            tables.field("Offline metric", "editorial_metric"), EXACT, group=lambda row: row["click_metric"],
            data=every, group_head="Click metric", notes=(note,) if beyond else (),
        ),
        tables.ReportTable(
            "table6_samples", f"Exact value with {run.click}", "Sample", run.editorial,
            tuple(
                tables.Row("", label, model.of_metrics(cells, run.click, run.editorial))
                for label, cells in exact.items()
            ),
        ),
        pairs_table(
            run, DIFFERENCE_COMPARISONS, "table6_comparisons",
            f"Differences between metrics in the exact value with {run.click}",
        ),
    )  # fmt: skip
    known = [row for row in rows if row["exact"] is not None]
    histograms = draw_histograms(run, findings.correlation.ranking)
    drawn = tuple(_draws_figure(place, one) for place, one in enumerate(histograms))
    figures = (*_figures(run, known), *(drawn if run.settings.full else ()))
    legend = (
        ("dot", "exact value, with 95% CI"),
        ("diamond", f"{count(run.settings.iterations)} random iterations"),
        *((("bar-on", "darker: more of these iterations"),) if run.settings.full else ()),
    )
    return model.Section(
        "differences", "Choosing between two rankings", _reading(run, own, findings.differences), figures,
        legend=legend if figures else (), folded=(*shown, draws_table(run, histograms)),
    )  # fmt: skip


def _figures(run: Run, known: Sequence[Mapping[str, Any]]) -> Iterator[model.Figure]:
    domain = common_domain([estimate(row, "exact") for row in known], [row["monte_carlo"] for row in known])
    there = [name for name in run.clicks if any(row["click_metric"] == name for row in known)]
    clicks = sorted(in_order(there, run.clicks), key=lambda click: click != run.click)
    for place, click in enumerate(clicks):
        rows = [row for row in known if row["click_metric"] == click]
        estimates = {row["editorial_metric"]: estimate(row, "exact") for row in rows}
        runs = {row["editorial_metric"]: row["monte_carlo"] for row in rows}
        values = ", ".join(f"{name} {number(one.value)}" for name, one in estimates.items())
        texts = IntervalHeads(f"Correlation of differences in {click}")
        drawing = intervals(tuple(estimates), estimates, texts, domain=domain, diamonds=runs)
        alt = f"Differences in {click}, exact value: {values}."
        yield model.Figure(f"differences-{place}", click, alt, drawing, "table6_differences")


def _reading(run: Run, own: pl.DataFrame, claim: Claim) -> tuple[str, ...]:
    known = own.filter(pl.col("exact").is_not_null())
    if known.is_empty():
        none = nothing_kept_reason(run) if run.headline is None else "nothing was computed"
        why = listed(sorted(map(visible, own["reason"].drop_nulls().unique()))) or none
        return (sentence(f"Nothing can be shown: {why}"),)
    noise = []
    subject = known.filter(click_metric=run.click, editorial_metric=claim.subject or "")
    for corrected in map(model.noise_corrected, subject.iter_rows(named=True)):
        if corrected.value is None or abs(corrected.value) > 1 or not corrected.has_interval:
            noise.append(
                f"How much higher the correlation of {claim.subject} would be with infinitely many sessions "
                "cannot be estimated: the log has too few sessions to separate click noise from real "
                "differences."
            )
        else:
            noise.append(
                f"With infinitely many sessions, the correlation of {claim.subject} would be "
                f"{number(corrected.value)} ({interval_text(corrected)}; as an estimate, it may be above 1)."
            )
    both = known.filter(pl.col("monte_carlo").is_not_null(), pl.col("monte_carlo_se") > 0)
    error = (pl.col("monte_carlo") - pl.col("exact")).abs()
    near = both.filter(error <= _MAX_ERRORS * pl.col("monte_carlo_se")).height
    simulation = (
        f"Algorithm 3 with {count(run.settings.iterations)} random iterations estimates the exact value: "
        f"it lies within two standard errors in {near} of {plural(both.height, 'case')}. All cases share "
        f"the same draws, so errors are correlated."
    )
    return (*second_finding(claim).reading, *noise, simulation)


N_BINS = 30
"""Bins along each side of a histogram."""

DRAWS = "table6_draws"


@dataclass(frozen=True)
class DrawHistogram:
    """Draws of one offline metric (across) and the headline click metric (upwards), counted in bins."""

    metric: str
    click: str
    points: Floats  # (iterations, 2) differences.
    # (N_BINS + 1,) edges of the bins, across and upwards; both are symmetric around 0.
    edges: tuple[Floats, Floats]
    draws: Floats  # (N_BINS, N_BINS) draws in each bin.


def draw_histograms(run: Run, ranking: Ranking) -> tuple[DrawHistogram, ...]:
    """Return the draws of the best and the worst offline metric of the headline sample."""
    draws = run.headline_rows("draws")
    if not ranking.values or run.click not in draws.columns:
        return ()
    histograms = []
    for name in dict.fromkeys((ranking.best, *ranking.metrics[-1:])):
        if name in draws.columns:
            points = draws.select(name, run.click).drop_nulls().to_numpy()
            if len(points) and np.ptp(points, axis=0).all():
                across, up = (np.linspace(-end, end, N_BINS + 1) for end in np.abs(points).max(axis=0))
                counts = np.histogram2d(points[:, 0], points[:, 1], bins=[across, up])[0]
                histograms.append(DrawHistogram(name, run.click, points, (across, up), counts))
    return tuple(histograms)


def _draws_figure(place: int, histogram: DrawHistogram) -> model.Figure:
    (across, up), drawn = histogram.edges, histogram.draws > 0
    places, numbers = np.argwhere(drawn).tolist(), histogram.draws[drawn].astype(int).tolist()
    values = [
        {
            "left": float(across[x]), "right": float(across[x + 1]),
            "low": float(up[y]), "high": float(up[y + 1]),
            "draws": draws, "count": count(draws), "across": _ends(across, x), "up": _ends(up, y),
        }
        for (x, y), draws in zip(places, numbers, strict=True)
    ]  # fmt: skip
    heads = (f"Difference in {histogram.metric}", f"Difference in {histogram.click}")
    same_sign = percent(float((histogram.points.prod(axis=1) > 0).mean()))
    total = count(len(histogram.points))
    alt = (
        f"Histogram of {total} draws of two rankers: difference in {histogram.metric} across, in "
        f"{histogram.click} upwards; both prefer the same ranker in {same_sign} of the draws."
    )
    domains = ((across[0], across[-1]), (up[0], up[-1]))
    titles = {"count": "Draws", "across": heads[0], "up": heads[1]}
    title = f"{total} draws: {histogram.metric} and {histogram.click}, {same_sign} with the same sign"
    drawing = histogram_2d(values, domains=domains, heads=heads, titles=titles)
    return model.Figure(f"draws-{place}", title, alt, drawing, DRAWS)


def _ends(edges: Floats, place: int) -> str:
    """Return a bin's ends with as many decimals as its width needs."""
    decimals = max(0, 2 - int(np.floor(np.log10(edges[1] - edges[0]))))
    low, high = (float(edges[place]), float(edges[place + 1]))
    return f"{number(low, decimals)} to {number(high, decimals)}"


def draws_table(run: Run, histograms: tuple[DrawHistogram, ...]) -> tables.ReportTable:
    """Return the number of draws in each quadrant of the pictures, and all draws for the CSV file."""
    rows = []
    for one in histograms:
        ahead = one.points > 0
        for sides in product((True, False), repeat=2):
            draws = int((ahead == np.array(sides)).all(axis=1).sum())
            pairs = zip((one.metric, one.click), sides, strict=True)
            name = ", ".join(f"{metric} {'higher' if side else 'not higher'}" for metric, side in pairs)
            part = tables.Share(draws / len(one.points))
            rows.append(tables.Row(f"{one.metric} and {one.click}", name, (draws, part)))
    return tables.ReportTable(
        DRAWS, f"Draws of two rankers by quadrant of the pictures{model.headline_suffix(run)}",
        "First ranker against the second", ("Draws", "Share"), tuple(rows),
        notes=("The CSV file has every draw, for every metric.",) if rows else (),
        data=run.headline_rows("draws"), for_papers=False, group_head="Picture",
    )  # fmt: skip
