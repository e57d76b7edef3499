"""From Python: values of grades and positions with which ERR predicts clicks best, learned from a run."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from clickassay.api.screen.parts import Part, ShownTable
from clickassay.api.screen.result import SavedResult, attribute_of
from clickassay.core.records import Sample
from clickassay.core.text.words import capital, signed, span
from clickassay.studies.gain_learning.on_run import metric_of_map
from clickassay.studies.gain_learning.validation import LearnOptions, Study

AGREEMENT = {
    "correlation": "weighted correlation with {}",
    "rankers": "correlation of two rankers' differences (closed form of Algorithm 3) with {}",
}


class LearnResult(SavedResult):
    """Learned values, with the gain on queries that they were not learned from.

    Parameters
    ----------
    sample
        The configurations.
    study
        The learned map with its cross-validation.
    tables
        ``learned_values`` and ``learned_gain``.
    options
        How it was learned.
    name
        What the run is called.
    """

    def __init__(
        self,
        sample: Sample,
        study: Study,
        tables: Mapping[str, pl.DataFrame],
        options: LearnOptions,
        name: str,
    ) -> None:
        self.sample, self.study, self.options, self.name = sample, study, options, name
        self._tables = dict(tables)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """``learned_values`` and ``learned_gain`` (docs/reference/learn.md)."""
        return self._tables

    @property
    def values(self) -> pl.DataFrame:
        """A row for each learned value, with its interval."""
        return self._tables["learned_values"]

    @property
    def metric(self) -> str | None:
        """ERR with the learned values as the setting `metric` takes it; None where nothing is learned."""
        return None if self.study.reason else metric_of_map(self.study.map, self.options.positions)

    reason: str | None = attribute_of("study.reason", "Why nothing is learned; None if something is.")

    @property
    def facts(self) -> dict[str, Any]:
        """The content of the JSON document."""
        told = {
            "answer": self.answer,
            "metric": self.metric,
            "reason": self.study.reason,
            "warnings": list(self.study.warnings),
        }
        return told | {name: table.to_dicts() for name, table in self.tables.items()}

    @property
    def _recorded(self) -> Mapping[str, object]:
        seed, folds = self.options.seed, self.options.cv_folds
        return {"seed": seed, "cv_folds": folds, "metric": self.metric, **self.sample.key.columns}

    @property
    def answer(self) -> str:
        """Whether learned values predict clicks better than those of ERR; without a full stop."""
        gain = self.study.gain
        if self.metric is None:
            return f"Nothing could be learned: {self.study.reason}"
        ends = f"{signed(gain.value)} (95% CI {span(gain.low, gain.high)})"
        if gain.low <= 0 <= gain.high:
            return f"No significant gain from learned values on other queries: {ends}"
        return f"Learned values predict clicks {'better' if gain.low > 0 else 'worse'} than ERR's: {ends}"

    def parts(self) -> Iterator[Part]:
        """Yield the answer, the values, how well they agree with clicks, and the metric that they make."""
        yield from self.told()
        yield from self.of_metric()

    def told(self) -> Iterator[Part]:
        """Yield the answer, the values, and how well they agree with clicks."""
        sample, options, study = self.sample, self.options, self.study
        yield f"{self.answer}."
        if study.reason is None:
            numbers = ("learned", "95% CI", "ERR has", "configurations")
            rows = [
                (
                    row["what"] if row["what"] == "gamma" else f"{row['what']}({row['place']})",
                    f"{row['value']:.3f}",
                    "none" if row["ci_low"] is None else f"{row['ci_low']:.3f} to {row['ci_high']:.3f}",
                    "none" if row["fixed"] is None else f"{row['fixed']:.3f}",
                    f"{row['n_configurations']:,}",
                )
                for row in self.values.iter_rows(named=True)
                if row["what"] != "phi" or options.positions == "free"
            ]
            yield ShownTable(("value", *numbers), rows, numbers)
        agreement = AGREEMENT[options.objective].format(options.click_metric)
        yield (
            f"{capital(agreement)}: {study.held_out.value:.3f} with learned values, "
            f"{study.held_out_fixed:.3f} with ERR's, on queries that they were not learned from; "
            f"{study.fitted:.3f} and {study.fixed:.3f} on all queries."
        )
        yield from (f"Warning: {warning}" for warning in study.warnings)
        yield (
            f"{self.name}, {sample.key.label}: "
            f"{len(sample.queries):,} queries, {len(sample.sessions):,} configurations"
        )

    def of_metric(self) -> Iterator[Part]:
        """Yield the map as a metric."""
        if self.metric is None:
            yield "Next: use ERR's default gains, or a log with more queries."
            return
        yield f'Next: run on another log, or on other users, with --metric "{self.metric}"'
        yield "The values were learned on this log and look better here than they will on other logs."
