"""From Python: which click model a log supports, how well models predict clicks, and what users examine."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.api.screen.charts import Chart
from clickassay.api.screen.parts import Part, ShownTable, on_screen
from clickassay.api.screen.python import for_python
from clickassay.api.screen.result import SavedResult
from clickassay.click_models.comparison import EvaluatedModel, best_predictor, dcg_discount
from clickassay.core.errors import ReportError
from clickassay.core.files.tables import write_tables
from clickassay.core.text.words import did_you_mean, visible
from clickassay.jobs.click_models import Frames, examination_drawing
from clickassay.report.model import Figure, Section, StudyReport
from clickassay.report.sections.click_models import (
    held_out_answer,
    held_out_figure,
    held_out_sentences,
    held_out_table,
)
from clickassay.report.writers.page import write_study

BAR = 16
"""Characters of a bar that stands for 1."""

MOST_POSITIONS = 20
"""Positions that are shown; files have them all."""


class ClickModelsResult(SavedResult):
    """Click models of a log; prints which one it supports, how well they predict, and what users examine.

    Parameters
    ----------
    tried
        The models, fitted on some sessions and evaluated on others.
    tables
        By their names; ``click_held_out`` and ``click_calibration`` only if rankings were held out.
    click_metric
        The one by which a model is chosen.
    info
        How they were compared.
    """

    def __init__(
        self, tried: list[EvaluatedModel], tables: Frames, click_metric: str, info: Mapping[str, object]
    ) -> None:
        self.tried, self._tables, self.click_metric, self.info = tried, tables, click_metric, dict(info)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables by their names (docs/reference/click-models.md)."""
        return self._tables

    @property
    def shown(self) -> pl.DataFrame:
        """A row for each model, and for each click metric if rankings were held out."""
        return self._tables.get("click_held_out", self._tables["click_models"])

    @property
    def model(self) -> str | None:
        """The model that the log supports; None if it cannot tell, or no rankings were held out."""
        best = self._held_out.filter("is_best") if self.on_lists else self.shown.head(0)
        return None if best.is_empty() else str(best["model"].item())

    @property
    def on_lists(self) -> bool:
        """Whether rankings were held out, and not sessions alone."""
        return "click_held_out" in self._tables

    @property
    def _held_out(self) -> pl.DataFrame:
        return self.shown.filter(click_metric=self.click_metric)

    @property
    def answer(self) -> str:
        """Which model the log supports, or predicts sessions best; without a full stop."""
        if self.on_lists:
            return held_out_answer(self._held_out)
        models = self._tables["click_models"].sort("perplexity", nulls_last=True, maintain_order=True)
        model, perplexity = models.select("model", "perplexity").row(0)
        return f"{model} predicts clicks best: perplexity {perplexity:.4f} on held-out sessions"

    @property
    def facts(self) -> dict[str, Any]:
        """The answer, how the models were compared, and the tables."""
        return {"answer": self.answer, "model": self.model, **self.info} | {
            name: table.to_dicts() for name, table in self._tables.items()
        }

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Predicted against observed of the best model, and examination by position."""
        drawing = examination_drawing(self.tried)
        figures = held_out_figure(self._tables["click_calibration"]) if self.on_lists else ()
        if drawing is None:
            return figures
        title = "Share of sessions that examine a position, and discounts of metrics"
        return (*figures, Figure("examination", title, f"{title}.", drawing, "click_positions"))

    @for_python
    def chart(self, name: str = "predicted") -> Chart:
        """Return a picture: `predicted` (against observed, if rankings were held out) or `examination`.

        Raises
        ------
        ReportError
            If there is no such picture.
        """
        known = {one.name: one for one in self.figures}
        if name not in known:
            raise ReportError(f"no chart {name!r}; {did_you_mean(name, known)}")
        return Chart(name, known[name].title, known[name].alt, str(known[name].drawing.svg))

    def write(self, out: Path, *, force: bool, command: str = "") -> Path:
        """Write as `save` does; `command` is recorded as what made them."""
        figures = self.figures
        texts = {f"{one.name}.svg": str(one.drawing.svg) for one in figures}
        info, also = {"command": command, **self.info}, None
        if self.on_lists:
            rows = self._held_out
            section = Section(
                "held_out", "Predictions of unseen rankings", held_out_sentences(rows), figures[:1],
                tables=(held_out_table(rows),),
            )  # fmt: skip
            report = StudyReport(
                "Click models", self.answer, "", (), (section,), visible(command, limit=10_000)
            )
            also = partial(write_study, report)
        write_tables(out, self._tables, info, texts=texts, also=also, force=force)
        return out

    def parts(self) -> Iterator[Part]:
        """Yield the answer, what it rests on, and the models on held-out sessions."""
        yield f"{self.answer}."
        if self.on_lists:
            yield from held_out_sentences(self._held_out)
            if self._held_out["correlation"].count():
                yield from on_screen(held_out_table(self._held_out))
        yield from self._on_sessions()
        yield from self._examination()

    def _on_sessions(self) -> Iterator[Part]:
        rows = self._tables["click_models"].rows_by_key("model", named=True, unique=True)
        best, first = best_predictor(self.tried), self._tables["click_models"].row(0, named=True)
        numbers = ("perplexity", "log-likelihood", "parameters", "rounds")
        cells = []
        for one in self.tried:
            row = rows[one.kind.name]
            likelihood = row["log_likelihood"]
            cells.append(
                (
                    one.kind.name,
                    f"{row['perplexity']:.4f}",
                    "none" if likelihood is None else f"{likelihood:.4f}",
                    f"{row['n_parameters']:,}",
                    f"{row['rounds']}{'' if row['converged'] else ' (not converged)'}",
                )
            )
        yield ShownTable(
            ("model", *numbers), cells, numbers, title="On held-out sessions" if self.on_lists else None,
            bold=None if best is None else self.tried.index(best),
        )  # fmt: skip
        how = "of other users" if first["held_out"] == "users" else "drawn at random"
        yield f"Fitted on {first['n_fitted']:,} sessions, tested on {first['n_sessions']:,} {how}."
        yield from (f"{model}: {row['reason']}" for model, row in rows.items() if row["reason"])

    def _examination(self) -> Iterator[Part]:
        best = best_predictor(self.tried)
        if best is None:
            return
        shown = [one for one in self.tried if one.kind.estimates_examination]
        columns = ("position", *(one.kind.name for one in shown), "DCG")
        discounts, places = dcg_discount(len(best.examined)), []
        for place in range(min(len(best.examined), MOST_POSITIONS)):
            bar = "█" * round(BAR * float(best.examined[place])) if best.examined[place] > 0 else ""
            shares = [f"{one.examined[place]:.2f}" for one in shown]
            places.append((str(place + 1), *shares, f"{discounts[place]:.2f}", bar))
        yield "Share of sessions in which users examine a position, and the discount of DCG:"
        yield ShownTable((*columns, f"{best.kind.name}, drawn"), places, columns)
        persistence = self._tables["click_models"].filter(model=best.kind.name)["best_persistence"].item()
        if persistence is not None:
            yield (
                f"RBP with persistence {persistence:.2f} discounts most like the examination of "
                f"{best.kind.name}."
            )
