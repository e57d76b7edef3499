"""Settings of a run: each declared once, with its type, default, range, group and meaning.

The options of the command line, the names in a TOML file, the variables of the environment, the page of
settings and the messages of errors all follow from the fields of `Settings`.
"""

import math
import re
from datetime import UTC, datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from clickassay.core.settings.texts import bytes_of, check_column, check_zone, items_of, utc_of

MAX_DEPTH = 62
"""A click mask is a signed 64-bit integer: 62 positions leave head room on every engine."""

SIGNAL_NAME = re.compile(r"(?=.{1,40}$)[\w.:/-]+( [\w.:/-]+)*")
"""What the name of a signal may be: of other actions metrics could not be written down."""

_COMMA = r","
_DAY_MS = 86_400_000
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


def _setting(group: str, default: Any, meaning: str, **more: Any) -> Any:  # noqa: ANN401 - as pydantic's Field
    """Declare a setting: where `--help` lists it, its default and what it means.

    `more` may have the limits of pydantic's `Field`, and ``unset`` (what None or an empty tuple amounts to),
    ``metavar`` (what stands for a value in `--help`), ``each`` (range of the items of a list), ``also``
    (a shorter option), ``of_log`` (see `declared.Setting`) and ``details`` (Markdown for the page of settings
    alone).
    """
    told = ("unset", "metavar", "each", "also", "of_log", "details")
    shown = {"group": group, **{name: more.pop(name) for name in told if name in more}}
    return Field(default=default, description=meaning, json_schema_extra=shown, **more)


class Settings(BaseModel):
    """Every setting of a run, with its default; docs/reference/settings.md is made from it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    depth: tuple[int, ...] = _setting(
        "Sessions",
        (5, 10),
        "Cut k of results and clicks.",
        each=f"1 to {MAX_DEPTH}",
        metavar="K",
        of_log="sql",
    )
    idle_minutes: float = _setting(
        "Sessions",
        60.0,
        "A longer gap without activity ends a visit.",
        gt=0,
        le=7 * 24 * 60,
        metavar="MINUTES",
        of_log="sql",
    )
    idle_scope: Literal["user", "query"] = _setting(
        "Sessions",
        "user",
        "Whose activity counts: the user's, or the user's with the same query.",
        of_log="sql",
    )
    normalise_urls: bool = _setting(
        "Sessions",
        True,
        "Bring URLs to a normal form.",
        details="Scheme and host in lower case, without default port, fragment and one trailing slash; "
        "ids that are no URLs are left alone.",
        of_log="sql",
    )
    signal: tuple[str, ...] = _setting(
        "Sessions",
        ("auto",),
        "What counts on results besides clicks: actions of the log, satisfied, auto (every action) or none.",
        metavar="NAMES",
        of_log="engine later",
        details="`satisfied`: clicks with a long dwell time. `auto` leaves out impression, view and scroll. "
        "[Signals](../how-to/signals.md).",
    )
    satisfied_seconds: float = _setting(
        "Sessions",
        30.0,
        "Dwell time from which a click is satisfied.",
        gt=0,
        le=24 * 3600,
        metavar="SECONDS",
        of_log="engine later",
    )
    last_click: Literal["satisfied", "unsatisfied"] = _setting(
        "Sessions",
        "satisfied",
        "What a click is after which nothing follows in its visit, where the log gives no dwell time.",
        of_log="engine later",
    )
    outcome: tuple[Literal["abandoned", "reformulated"], ...] = _setting(
        "Sessions",
        (),
        "Outcomes of sessions that follow from the log: abandoned, reformulated.",
        unset="none",
        metavar="NAMES",
        of_log="engine later",
        details="`abandoned`: no click. `reformulated`: soon another query, no click between. Numbers of "
        "your own come by `--outcomes`.",
    )
    reformulation_minutes: float = _setting(
        "Sessions",
        5.0,
        "How soon another query must follow for a session to be reformulated.",
        gt=0,
        le=24 * 60,
        metavar="MINUTES",
        of_log="engine later",
    )
    max_rejected: float = _setting(
        "Sessions",
        0.01,
        "Stop when a larger share of an input's rows is unusable.",
        ge=0,
        le=1,
        metavar="SHARE",
    )
    max_markets: int = _setting(
        "Log",
        100,
        "Stop when there are more markets in the log, or more markets or judges in the judgments.",
        ge=1,
        metavar="N",
        details="Each is measured by itself: a column of sessions, named so by mistake, would take hours.",
    )
    column: tuple[str, ...] = _setting(
        "Log",
        (),
        "A column that your files call otherwise, such as searches.search_id=request_id.",
        metavar="TABLE.COLUMN=NAME",
        unset="all have our names",
        details="Of searches, clicks, judgments, queries or scores; a dot goes into records: `item.id`. In "
        'TOML also sections: `[columns.clicks]` with `url = "item.id"`. In the environment: one a line.',
    )
    shape: Literal["auto", "lists", "impressions"] = _setting(
        "Log",
        "auto",
        "Searches: a row for each search with its list, or a row for each result shown (impressions).",
        details="`auto` goes by the columns: without `results`, but with `url` and `position`, rows are "
        "results shown.",
    )
    health_limit: tuple[str, ...] = _setting(
        "Log",
        (),
        "Where a check of the log's health begins to fire, such as unmatched_clicks=0.3 or busy_user=off.",
        metavar="CHECK=NUMBER",
        unset="each check's own",
        details="[Checks](health.md) and their thresholds.",
    )
    only_judged: bool = _setting(
        "Log",
        False,
        "Keep only the lists of queries that have judgments; count the sessions of all others.",
        details="Coverage stays exact.",
        of_log="engine",
    )
    batch: str = _setting(
        "Log",
        "auto",
        "How to cut the log in time: auto, day (UTC), file, or a number of searches.",
        details="No number depends on it.",
        metavar="SIZE",
    )
    late_minutes: float = _setting(
        "Log",
        60.0,
        "With a store: how far back from the last search of one run the files of the next may reach.",
        ge=0,
        le=7 * 24 * 60,
        metavar="MINUTES",
    )
    allow_gap: bool = _setting(
        "Log",
        False,
        "With a store: take files whose last search comes more than a day after the one before it.",
        details="One wrong clock would close the store for all that comes before it.",
    )
    clock: str | None = _setting(
        "Log",
        None,
        "The time of the run, such as 2026-06-30T04:00; rows of more than a day after it are rejected.",
        unset="now",
        metavar="TIME",
        details="UTC unless it has a zone. `settings.json` has the time that was used: with it a run can be "
        "repeated on another day.",
        of_log="sql later",
    )
    time_zone: str = _setting(
        "Log",
        "UTC",
        "Zone of searches' and clicks' times that have none, such as Europe/Berlin.",
        metavar="ZONE",
        details="Times with a zone keep theirs, and numbers are UTC. Of a local time that occurs twice (in "
        "autumn) the earlier is meant; one that does not exist (in spring) is rejected and counted as null "
        "timestamp.",
        of_log="engine later",
    )
    folds: int = _setting(
        "Log",
        16,
        "Folds of users that the pattern table keeps apart; 1 keeps none apart.",
        ge=1,
        le=1024,
        details="Models are fitted on clicks of even folds and evaluated on odd ones; `diff` needs 8 or "
        "more to know what users' habits add. A store keeps the number that it was made with.",
        metavar="N",
        of_log="sql",
    )
    scale: tuple[str, ...] = _setting(
        "Grades",
        ("bad", "fair", "good", "excellent", "perfect"),
        "Labels of the grades 0, 1, 2, ..., worst first.",
        metavar="LABELS",
    )
    max_grade: int = _setting(
        "Grades",
        4,
        "Highest grade of the scale.",
        ge=1,
        le=30,
        details="Follows from `scale` when only that is given.",
        metavar="GRADE",
    )
    relevant_grade: int = _setting(
        "Grades", 3, "Lowest grade that AP and RR count as relevant.", ge=1, metavar="GRADE"
    )
    success_grade: int = _setting(
        "Grades", 2, "Lowest grade whose click is a success (SS).", ge=0, metavar="GRADE"
    )
    conflicts: Literal["error", "max", "mean-rounded", "latest"] = _setting(
        "Grades",
        "error",
        "Rule for judgments of one result that contradict each other: error, max, mean-rounded or latest.",
        metavar="RULE",
        details="`error` stops and lists them; `mean-rounded` rounds halves up; `latest` takes the last row.",
    )
    metric: tuple[str, ...] = _setting(
        "Metrics",
        (),
        "A further editorial metric, such as RBP(p=0.6)@3.",
        metavar="NAME",
        unset="none",
        details="Also `ERR(gamma=0.9)` or, with gains of your own, `ERR(gains='0 0.1 0.3 0.5 0.8')`: "
        "[names](metrics.md#what-holds-for-all), [gains](metrics.md#values-of-your-own).",
    )
    click_metric: tuple[str, ...] = _setting(
        "Metrics",
        ("MeanRR",),
        "Click metric of verdict and report; with several, the verdict says where the winner depends on it.",
        metavar="NAME",
        also="--click",
        details="Headline numbers are of the first. MeanRR is the default as Chapelle et al. (2009) "
        "found the largest overall correlations with it. [Names](metrics.md#click-metrics).",
    )
    persistence: float = _setting("Metrics", 0.8, "Persistence p of RBP.", gt=0, lt=1, metavar="P")
    pool: Literal["judged", "shown"] = _setting(
        "Metrics",
        "judged",
        "Where the ideal list and the number of relevant results of a query come from: all its judgments, or "
        "the results shown.",
    )
    unjudged: Literal["drop", "zero", "model", "extremes"] = _setting(
        "Metrics",
        "drop",
        "Lists with an unjudged result: left out; filled with grade 0; filled with grades predicted from the "
        "clicks of other users; or left out, and next to it all with the worst, then the highest grade.",
        details="[How](unjudged.md).",
    )
    click_judge: str | None = _setting(
        "Metrics",
        None,
        "Click model that is a further judge: its grades come from clicks of half of the users, and all is "
        "evaluated on the others.",
        metavar="NAME",
        details="[How](click-models.md#judgments-from-clicks).",
    )
    click_models: tuple[str, ...] = _setting(
        "Metrics",
        ("PBM", "UBM", "DBN"),
        "Click models to fit, or none.",
        metavar="NAMES",
        details="[Which](click-models.md#which-one).",
    )
    iterations: int = _setting(
        "Report",
        1000,
        "Pairs of virtual rankers that are drawn (Algorithm 3 of the paper).",
        ge=2,
        le=1_000_000,
        metavar="N",
    )
    min_users: int = _setting(
        "Report",
        5,
        "A report names a query only if at least so many users issued it; others appear as digests.",
        ge=1,
        le=64,
        metavar="N",
    )
    title: str | None = _setting(
        "Report",
        None,
        "What the run is about, in a few words: it stands above the decision.",
        unset="none",
        metavar="TEXT",
    )
    current: str | None = _setting(
        "Report",
        None,
        "The metric in use: the run has it, and the report says whether to keep it.",
        unset="unknown",
        metavar="NAME",
    )
    question: Literal["rankings", "queries"] = _setting(
        "Report",
        "rankings",
        "What a metric is to be good for: comparing two rankings, or telling good queries from bad.",
    )
    margin: float = _setting(
        "Report",
        0.05,
        "A difference in correlation that nobody would act on.",
        ge=0,
        le=1,
        metavar="NUMBER",
    )
    full: bool = _setting(
        "Report", False, "Unfold every section of the page, and pack every table of it as CSV."
    )
    seed: int = _setting("Report", 0, "Seed of every random draw.", ge=0, lt=2**63, metavar="N")
    threads: int | None = _setting(
        "Engine", None, "Threads of the engine.", ge=1, unset="all cores", metavar="N"
    )
    memory_limit: str | None = _setting(
        "Engine",
        None,
        "Memory of the engine, such as 4GB.",
        unset="batches of 1.5 million searches, about 2 GB",
        details="arrays chooses its batches by it, but reads a row group whole (1.7 GB where one has "
        "5 million rows), and needs more where a log has millions of distinct lists; duckdb spills beyond "
        "it to disk (unset = 3GB, or 80 % of RAM if that is less); a local Spark gives it to Java "
        "(unset = 40 % of RAM, 1 to 8 GB).",
        metavar="SIZE",
    )
    # where the work is done changes no number, and Spark's own settings may hold secrets: none is written
    engine: Literal["arrays", "duckdb", "spark"] = _setting(
        "Engine",
        "arrays",
        "What works through the log: arrays, the fastest; SQL on DuckDB; or SQL on Spark (extra [spark]).",
        details="`duckdb` runs the steps of `sql/`, to look into them, and spills to disk what exceeds its "
        "memory: for logs in no order that outgrow it. `spark` runs them on a cluster. No number depends on "
        "it.",
        exclude=True,
    )
    spark_master: str | None = _setting(
        "Engine",
        None,
        "URL of Spark's master, such as spark://host:7077 or yarn.",
        unset="the session at hand, or local",
        metavar="URL",
        exclude=True,
    )
    spark_remote: str | None = _setting(
        "Engine",
        None,
        "Instead of a master: URL of a Spark Connect server, such as sc://host:15002.",
        unset="none",
        metavar="URL",
        exclude=True,
    )
    spark_conf: tuple[str, ...] = _setting(
        "Engine",
        (),
        "A setting of Spark's own, such as spark.executor.memory=8g.",
        unset="none",
        metavar="KEY=VALUE",
        details="In the environment: one a line.",
        exclude=True,
        repr=False,
    )
    spark_staging: str | None = _setting(
        "Engine",
        None,
        "Folder that all of Spark reaches, for the tables between steps.",
        unset="next to the result",
        metavar="PATH",
        exclude=True,
    )

    @property
    def idle_ms(self) -> int:
        """Idle limit in milliseconds."""
        return round(self.idle_minutes * 60_000)

    @property
    def satisfied_ms(self) -> int:
        """Dwell time from which a click is satisfied, in milliseconds, cut as those of a log are."""
        return math.floor(self.satisfied_seconds * 1000)

    @property
    def reformulation_ms(self) -> int:
        """How soon, in milliseconds, another query must follow a session that is reformulated."""
        return round(self.reformulation_minutes * 60_000)

    @property
    def late_ms(self) -> int:
        """How far back, in milliseconds, the files of the next run into a store may reach."""
        return round(self.late_minutes * 60_000)

    @property
    def clock_ms(self) -> int:
        """The clock in milliseconds since 1970 UTC."""
        return round(datetime.fromisoformat(str(self.clock)).timestamp() * 1000)

    @property
    def latest_ms(self) -> int:
        """Latest time, in milliseconds since 1970 UTC, that a row may have: a day after the clock."""
        return self.clock_ms + _DAY_MS

    @property
    def memory_limit_bytes(self) -> int | None:
        """Memory limit in bytes, the same number for every engine; None if there is none."""
        return None if self.memory_limit is None else bytes_of(self.memory_limit)

    @property
    def stored_depth(self) -> int:
        """Depth of the stored pattern table: the deepest that is asked for."""
        return max(self.depth)

    @field_validator("clock")
    @classmethod
    def _clock_is_a_time(cls, clock: str | None) -> str | None:
        if clock is None:
            return None
        try:
            return utc_of(datetime.fromisoformat(clock))
        except (ValueError, OverflowError) as error:
            raise ValueError("must be a time such as 2026-06-30 or 2026-06-30T04:00:00+02:00") from error

    @model_validator(mode="after")
    def _clock_is_now(self) -> Self:
        if self.clock is None:  # not as if it were given: messages repeat what a user gave
            self.__dict__["clock"] = utc_of(datetime.now(UTC))
        return self

    @field_validator("column")
    @classmethod
    def _columns_have_a_table(cls, columns: tuple[str, ...]) -> tuple[str, ...]:
        for text in columns:
            check_column(text)
        return columns

    @field_validator("time_zone")
    @classmethod
    def _zone_is_known(cls, zone: str) -> str:
        check_zone(zone)
        return zone

    @field_validator("depth")
    @classmethod
    def _depths_in_range(cls, depths: tuple[int, ...]) -> tuple[int, ...]:
        if not depths or any(not 1 <= depth <= MAX_DEPTH for depth in depths):
            raise ValueError(f"depths must lie in 1..{MAX_DEPTH}")
        return tuple(sorted(set(depths)))

    @field_validator("click_metric")
    @classmethod
    def _a_click_metric_is_named(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names:
            raise ValueError("needs at least one click metric, such as MeanRR")
        return tuple(dict.fromkeys(names))

    @field_validator("signal")
    @classmethod
    def _signals_are_named(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        spelled = tuple(dict.fromkeys(" ".join(name.split()).lower() for name in names)) or ("none",)
        if len(spelled) > 1 and "none" in spelled:
            raise ValueError("none stands alone, or name the actions that count")
        wrong = next((name for name in spelled if name == "click" or not SIGNAL_NAME.fullmatch(name)), None)
        if wrong is not None:
            what = "clicks count always" if wrong == "click" else "letters, digits and _ . : / - are allowed"
            raise ValueError(f"{wrong!r} is no signal: {what}")
        return spelled

    @field_validator("batch")
    @classmethod
    def _batch_is_known(cls, batch: str) -> str:
        if not re.fullmatch(r"auto|day|file|[1-9][0-9]{0,14}", batch):
            raise ValueError("must be auto, day, file or a number of searches")
        return batch

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
            twice = "" if repeated is None else f"; {repeated!r} is there more than once"
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
        for name in ("spark_conf", "column"):
            if isinstance(lines := values.get(name), str):
                given[name] = lines.splitlines()
        if len(given.get("scale", ())) > 1 and values.get("max_grade") is None:
            given["max_grade"] = len(given["scale"]) - 1
        return {**values, **given}

    @model_validator(mode="after")
    def _spark_is_asked_for(self) -> Self:
        given = [name for name in _OF_SPARK if getattr(self, name)]
        if given and self.engine != "spark":
            raise ValueError(f"{given[0]} is used with engine spark only; add --engine spark")
        if self.spark_master and self.spark_remote:
            raise ValueError("spark_master and spark_remote exclude each other; give one of them")
        return self

    @model_validator(mode="after")
    def _visits_are_of_users(self) -> Self:
        if "reformulated" in self.outcome and self.idle_scope == "query":
            raise ValueError("outcome reformulated needs the visits of users: use idle_scope user")
        return self

    @model_validator(mode="after")
    def _grades_fit_scale(self) -> Self:
        if "scale" in self.model_fields_set and len(self.scale) != self.max_grade + 1:
            raise ValueError(f"scale has {len(self.scale)} labels but max_grade is {self.max_grade}")
        for name in ("relevant_grade", "success_grade"):
            if getattr(self, name) > self.max_grade:
                raise ValueError(
                    f"{name} {getattr(self, name)} is above max_grade {self.max_grade}; choose one up to it"
                )
        return self
