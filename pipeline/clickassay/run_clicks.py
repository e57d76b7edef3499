"""Click models of a run, a pattern table or a store: read, fitted, tried, written."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from clickassay.click_models.catalogue import ClickModelKind
from clickassay.click_models.click_log import ClickLog, check_clicked, click_log
from clickassay.click_models.comparison import Tried, compare, foretells_best
from clickassay.click_models.examination import best_persistence, dcg_discount, rbp_discount
from clickassay.click_models.held_out import Halves, drawn_halves, halves_by_users
from clickassay.click_models.model import Fit
from clickassay.click_models.tables import documents_table, models_table, parameters_table, positions_table
from clickassay.contracts import CONFIGURATIONS, EVERY, PATTERNS
from clickassay.errors import ClickModelError, PatternError
from clickassay.patterns import PatternTable, read_patterns, write_table
from clickassay.progress import Progress, silent
from clickassay.publish import MARK, check_apart, check_free, published_folder
from clickassay.run_folder import read_table
from clickassay.run_patterns import writing_tables
from clickassay.store import PatternStore
from clickassay.store_files import MARK as STORE_MARK

Tables = dict[str, pl.DataFrame]


@dataclass(frozen=True)
class Clicks:
    """Lists and click patterns of one market, or of all, cut to a depth.

    Attributes
    ----------
    configurations, patterns
        In the forms of `contracts.PATTERN_CONFIGURATIONS` (more columns may follow) and `contracts.PATTERNS`.
    depth
        Positions that models look at.
    """

    configurations: pl.DataFrame
    patterns: pl.DataFrame
    depth: int

    @property
    def folds(self) -> int:
        """Into how many parts users are told apart."""
        return self.patterns["fold"].n_unique()

    def log(self) -> ClickLog:
        """Return all sessions."""
        return click_log(self.configurations, self.patterns, depth=self.depth)

    def halves(self, *, share: float, seed: int) -> Halves:
        """Hold out the users of the last fold; where the table keeps no folds, drawn sessions."""
        if self.folds < 2:
            return drawn_halves(self.log(), share=share, seed=seed)
        last = pl.col("fold") == pl.col("fold").max()
        parts = (self.patterns.filter(part) for part in (~last, last))
        return halves_by_users(*(click_log(self.configurations, part, depth=self.depth) for part in parts))


def read_clicks(place: Path, *, market: str | None, depth: int | None) -> Clicks:
    """Read the click patterns of a run folder (judged lists only), a pattern table or a store (all lists).

    Parameters
    ----------
    place
        The folder.
    market
        One market; None = all.
    depth
        Positions to look at, not more than are kept; None = all that are kept.

    Raises
    ------
    ClickModelError
        If there is no such market or depth.
    PatternError, ReportError
        If the folder is neither, or broken, or a file.
    """
    if place.is_file():
        raise PatternError(
            f"{place} is a file; expected the folder of a run, a pattern table or a store "
            "(`clickassay patterns` makes the latter two)"
        )
    if (place / "run.duckdb").exists():
        return _of_run(place, market, depth)
    table = PatternStore(place).table() if (place / STORE_MARK).is_file() else read_patterns(place)
    return _of_table(table, market, depth)


def _of_run(run: Path, market: str | None, depth: int | None) -> Clicks:
    configurations = read_table(run, CONFIGURATIONS)
    depths = configurations["depth"].unique().sort().to_list()
    chosen = depth if depth is not None else max(depths, default=0)
    if chosen not in depths:
        raise ClickModelError(f"{run} has no lists of depth {chosen}; it has depths {_listed(depths)}")
    kept = configurations.filter(pl.col("depth") == chosen).unique("configuration_id", maintain_order=True)
    return Clicks(_of_market(kept, market), read_table(run, PATTERNS), chosen)


def _of_table(table: PatternTable, market: str | None, depth: int | None) -> Clicks:
    chosen = depth if depth is not None else table.stored_depth
    if not 1 <= chosen <= table.stored_depth:
        raise ClickModelError(f"depth {chosen}: the pattern table keeps {table.stored_depth} results a list")
    # draws follow the order of rows, which a store does not keep
    ordered = _of_market(table.configurations, market).sort("configuration_id")
    return Clicks(ordered, table.patterns, chosen)


def _of_market(configurations: pl.DataFrame, market: str | None) -> pl.DataFrame:
    if market is None:
        return configurations
    kept = configurations.filter(pl.col("market") == market)
    if kept.is_empty():
        markets = configurations["market"].unique().sort().to_list()
        raise ClickModelError(f"there is no market {market!r}; there are {_listed(markets)}")
    return kept


def _listed(values: Sequence[object]) -> str:
    return ", ".join(str(value) for value in values[:20]) or "none"


def compare_models(
    clicks: Clicks,
    kinds: Sequence[ClickModelKind],
    *,
    smoothing: float,
    held_out: float,
    seed: int,
    market: str = EVERY,
    progress: Progress = silent,
) -> tuple[list[Tried], Tables]:
    """Fit models on a part of the sessions, try them on the others; return what came out, also as tables.

    `market` is what the tables call the lists.
    """
    progress("reading lists", None)
    halves = clicks.halves(share=held_out, seed=seed)
    tried = compare(halves, kinds, smoothing=smoothing, progress=progress)
    return tried, {
        "click_models": models_table(tried, halves, market=market),
        "click_positions": positions_table(tried, market=market),
    }


def fit_model(clicks: Clicks, kind: ClickModelKind, *, smoothing: float) -> tuple[Fit, Tables]:
    """Fit one model on all sessions, of which at least one has a click; return it, also as tables."""
    log = clicks.log()
    check_clicked(log)
    fit = kind.fit(log, smoothing=smoothing)
    return fit, {"click_parameters": parameters_table(fit, log), "click_documents": documents_table(fit, log)}


def check_place(out: Path, source: Path, *, force: bool) -> None:
    """Refuse a place for results before the work is done."""
    check_apart(out, source)
    check_free(out, force=force)


def examination_picture(tried: Sequence[Tried]) -> str | None:
    """Return examination by position beside the discounts of DCG and of the nearest RBP, as SVG.

    None where no model tells examination.
    """
    best = foretells_best(tried)
    if best is None:
        return None
    from clickassay.report.discounts import discount_lines  # noqa: PLC0415 - charts take a second to import

    depth, persistence = len(best.examined), best_persistence(best.examined)
    discounts = {"DCG": dcg_discount(depth)}
    if persistence is not None:
        discounts[f"RBP(p={persistence:.2f})"] = rbp_discount(persistence, depth)
    lines = {one.kind.name: one.examined.tolist() for one in tried if one.kind.tells_examination}
    drawn = discount_lines(lines, {name: one.tolist() for name, one in discounts.items()}, best.kind.name)
    return str(drawn.svg)


def write_tables(
    out: Path,
    tables: Mapping[str, pl.DataFrame],
    info: Mapping[str, object],
    *,
    picture: str | None = None,
    force: bool,
) -> None:
    """Write tables as Parquet, a picture, and how they were made into a folder, whole or not at all."""
    with published_folder(out, force=force) as folder, writing_tables():
        for name, frame in tables.items():
            write_table(frame, folder / f"{name}.parquet")
        if picture is not None:
            (folder / "examination.svg").write_text(picture, encoding="utf-8")
        text = json.dumps(info, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        (folder / MARK).write_text(text, encoding="utf-8", errors="backslashreplace")
