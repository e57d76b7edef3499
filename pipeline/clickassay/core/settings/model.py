"""Settings of a run: each declared once; options, names in TOML, variables, pages, messages follow."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from clickassay.core.settings.of_log import SettingsOfLog, setting
from clickassay.core.settings.project import pairs_of
from clickassay.core.settings.texts import bytes_of, items_of, labels_of

_COMMA = r","
LISTS = {
    "depth": _COMMA,
    "scale": _COMMA,
    "metric": r"[,\s]+(?![^()]*\))",
    "click_metric": r",\s*(?![^()]*\))",
    "signal": _COMMA,
    "outcome": _COMMA,
    "click_models": _COMMA,
}
"""Settings that take several values, and what stands between them; the name of a metric may hold commas and
blanks of its own, in parentheses."""
_OF_SPARK = ("spark_master", "spark_remote", "spark_conf", "spark_staging")


class Settings(SettingsOfLog):
    """Every setting of a run, with its default; docs/reference/settings.md is made from it."""

    scale: tuple[str, ...] = setting(
        "Grades", ("bad", "fair", "good", "excellent", "perfect"),
        "Labels of the grades 0, 1, 2, ..., worst first.",
        metavar="LABELS",
    )  # fmt: skip
    max_grade: int = setting(
        "Grades", 4, "Highest grade of the scale.", ge=1, le=30, metavar="GRADE",
        details="Follows from `scale` when only that is given.",
    )  # fmt: skip
    relevant_grade: int = setting(
        "Grades", 3, "Lowest grade that AP and RR count as relevant.", ge=1, metavar="GRADE"
    )
    success_grade: int = setting(
        "Grades", 2, "Lowest grade whose click is a success (SS).", ge=0, metavar="GRADE"
    )
    conflicts: Literal["error", "max", "mean-rounded", "latest"] = setting(
        "Grades", "error",
        "What to do when judgments of a result contradict each other: error, max, mean-rounded or latest.",
        metavar="RULE",
        details="`error` stops and lists them; `mean-rounded` rounds halves up; `latest` takes the last row.",
    )  # fmt: skip
    metric: tuple[str, ...] = setting(
        "Metrics", (), "An additional offline metric, such as RBP(p=0.6)@3.", metavar="NAME", unset="none",
        details="Also `ERR(gamma=0.9)` or, with gains of your own, `ERR(gains='0 0.1 0.3 0.5 0.8')`: "
        "[names](metrics.md#what-holds-for-all), [gains](metrics.md#values-of-your-own).",
    )  # fmt: skip
    click_metric: tuple[str, ...] = setting(
        "Metrics", ("MeanRR",),
        "Click metric of the decision and the report. With several, the decision says where they disagree.",
        metavar="NAME", also="--click",
        details="The headline uses the first (not IPS). Chapelle et al. (2009) found the largest overall "
        "correlations with MeanRR. [Names](metrics.md#click-metrics).",
    )  # fmt: skip
    persistence: float = setting("Metrics", 0.8, "Persistence p of RBP.", gt=0, lt=1, metavar="P")
    pool: Literal["judged", "shown"] = setting(
        "Metrics", "judged",
        "Basis of the ideal ranking and of the number of relevant results: all judgments of the query, or "
        "only the results shown.",
    )  # fmt: skip
    unjudged: Literal["drop", "zero", "model", "extremes"] = setting(
        "Metrics", "drop",
        "How to treat rankings with an unjudged result: exclude them; use grade 0; predict the grade from "
        "other users' clicks; or exclude them, and compare with the lowest and the highest grade.",
        details="[How](unjudged.md).",
    )  # fmt: skip
    click_judge: str | None = setting(
        "Metrics", None,
        "Click model to add as a judge: its grades come from the clicks of half of the users, and every "
        "judge is evaluated on the other half.",
        unset="none", metavar="NAME",
        details="[How](click-models.md#judgments-from-clicks).",
    )  # fmt: skip
    click_models: tuple[str, ...] = setting(
        "Metrics", ("PBM", "UBM", "DBN"), "Click models to fit, or none.", metavar="NAMES",
        details="[Which](click-models.md#which-one).",
    )  # fmt: skip
    iterations: int = setting(
        "Report", 1000, "Number of pairs of virtual rankers to draw (Algorithm 3 of the paper).",
        ge=2, le=1_000_000, metavar="N",
    )  # fmt: skip
    min_users: int = setting(
        "Report", 5,
        "Fewest users of a query that a report may name; queries of fewer users appear as digests.",
        ge=1, le=64, metavar="N",
    )  # fmt: skip
    title: str | None = setting(
        "Report", None, "Title of the report, shown above the decision.", unset="none", metavar="TEXT"
    )
    current: str | None = setting(
        "Report", None, "The metric you use today. The run adds it, and the report says whether to keep it.",
        unset="unknown", metavar="NAME",
    )  # fmt: skip
    question: Literal["rankings", "queries"] = setting(
        "Report", "rankings",
        "What you use the metric for: comparing two rankings, or telling good queries from bad.",
    )  # fmt: skip
    margin: float = setting(
        "Report", 0.05, "Smallest difference in correlation that matters.", ge=0, le=1, metavar="NUMBER",
    )  # fmt: skip
    effect_margin: float = setting(
        "Report", 0.01, "Smallest change of users in an A/B test that matters, as a share.",
        ge=0, le=1, metavar="SHARE",
    )  # fmt: skip
    full: bool = setting("Report", False, "Open every section of the page, and include every table as CSV.")
    seed: int = setting("Report", 0, "Seed of every random draw.", ge=0, lt=2**63, metavar="N")
    threads: int | None = setting(
        "Engine", None, "Threads of the engine.", ge=1, unset="all cores", metavar="N",
        details="`POLARS_MAX_THREADS`, set before Polars is imported, limits threads that read files.",
    )  # fmt: skip
    memory_limit: str | None = setting(
        "Engine", None, "Memory of the engine, such as 4GB.",
        unset="batches of 1.5 million searches, about 2 GB", metavar="SIZE",
        details="`arrays` sizes its batches to fit, but reads each row group whole (1.7 GB for 5 million "
        "rows), and needs more for millions of distinct rankings. `duckdb` spills the rest to disk (unset = "
        "3GB, at most 80% of RAM). A local Spark gives it to Java (unset = 40% of RAM, 1 to 8 GB).",
    )  # fmt: skip
    # where the work is done changes no number, and Spark's own settings may hold secrets: none is written
    engine: Literal["arrays", "duckdb", "spark"] = setting(
        "Engine", "arrays",
        "Engine that reads the log: arrays, the fastest; SQL on DuckDB; or SQL on Spark (extra [spark]).",
        exclude=True,
        details="`duckdb` runs the steps of `sql/`, which you can inspect, and spills to disk: for unsorted "
        "logs larger than memory. `spark` runs them on a cluster. All give the same numbers.",
    )  # fmt: skip
    spark_master: str | None = setting(
        "Engine", None, "URL of Spark's master, such as spark://host:7077 or yarn.",
        unset="the current session, or local", metavar="URL", exclude=True,
    )  # fmt: skip
    spark_remote: str | None = setting(
        "Engine", None, "Instead of a master: URL of a Spark Connect server, such as sc://host:15002.",
        unset="none", metavar="URL", exclude=True,
    )  # fmt: skip
    spark_conf: tuple[str, ...] = setting(
        "Engine", (), "A Spark setting, such as spark.executor.memory=8g.",
        unset="none", metavar="KEY=VALUE", exclude=True, repr=False,
        details="In the environment: one per line.",
    )  # fmt: skip
    spark_staging: str | None = setting(
        "Engine", None, "Folder for intermediate tables, shared by all machines of Spark.",
        unset="next to the result", metavar="PATH", exclude=True,
    )  # fmt: skip

    @property
    def memory_limit_bytes(self) -> int | None:
        """Memory limit in bytes, the same number for every engine; None if there is none."""
        return None if self.memory_limit is None else bytes_of(self.memory_limit)

    @field_validator("click_metric")
    @classmethod
    def _a_click_metric_is_named(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names:
            raise ValueError("needs at least one click metric, such as MeanRR")
        return tuple(dict.fromkeys(names))

    @field_validator("memory_limit")
    @classmethod
    def _memory_has_a_unit(cls, limit: str | None) -> str | None:
        if limit is not None:
            bytes_of(limit)
        return limit

    @field_validator("spark_conf")
    @classmethod
    def _conf_is_named(cls, conf: tuple[str, ...]) -> tuple[str, ...]:
        for entry in conf:
            name, _, value = entry.partition("=")
            if not name.strip().startswith("spark.") or not value:
                raise ValueError("must be spark.NAME=VALUE")
        return conf

    @field_validator("scale")
    @classmethod
    def _labels_distinct(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        cleaned = tuple(label.strip().lower() for label in labels)
        repeated = next((label for label in cleaned if cleaned.count(label) > 1), None)
        if len(cleaned) < 2 or "" in cleaned or repeated is not None:
            twice = "" if repeated is None else f"; {repeated!r} occurs more than once"
            raise ValueError(f"needs at least two distinct labels, worst first{twice}")
        return cleaned

    @field_validator("click_models")
    @classmethod
    def _none_is_no_model(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        spelled = tuple(dict.fromkeys(name.strip().upper() for name in names))
        return () if spelled == ("NONE",) else spelled

    @model_validator(mode="before")
    @classmethod
    def _a_list_may_be_one_text(cls, values: dict[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = {
            name: items_of(values[name], by) for name, by in LISTS.items() if values.get(name) is not None
        }
        if isinstance(scale := values.get("scale"), Mapping):
            given["scale"] = labels_of(scale)
        for name in {"scale", "metric", "click_metric"} & given.keys():  # as they are written
            given[name] = [
                str(one)
                if type(one) is int or type(one).__module__.startswith("clickassay.")  # `clickassay.measures`
                else one
                for one in given[name]
            ]
        for name in ("spark_conf", "column", "outcome_kind", "health_limit", "test"):
            if isinstance(value := values.get(name), str):
                given[name] = value.splitlines()
            elif isinstance(value, Mapping):
                given[name] = pairs_of(value)
        if len(given.get("scale", ())) > 1 and values.get("max_grade") is None:
            given["max_grade"] = len(given["scale"]) - 1
        return {**values, **given}

    @model_validator(mode="after")
    def _spark_is_asked_for(self) -> Self:
        given = [name for name in _OF_SPARK if getattr(self, name)]
        if given and self.engine != "spark":
            raise ValueError(f"{given[0]} requires engine spark; add --engine spark")
        if self.spark_master and self.spark_remote:
            raise ValueError("spark_master and spark_remote exclude each other; give one of them")
        return self

    @model_validator(mode="after")
    def _grades_fit_scale(self) -> Self:
        if "scale" in self.model_fields_set and len(self.scale) != self.max_grade + 1:
            raise ValueError(f"scale has {len(self.scale)} labels but max_grade is {self.max_grade}")
        for name in ("relevant_grade", "success_grade"):
            if getattr(self, name) > self.max_grade:
                raise ValueError(
                    f"{name} {getattr(self, name)} is above max_grade {self.max_grade}; choose a lower one"
                )
        return self
