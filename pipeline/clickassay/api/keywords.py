"""The settings as keywords, for type checkers; a test compares them with the fields of `Settings`."""

from collections.abc import Sequence
from typing import Literal, TypedDict


class SettingsGiven(TypedDict, total=False):
    """Every setting that may be given, by its name; docs/reference/settings.md says what each means."""

    depth: Sequence[int] | int | str
    idle_minutes: float
    idle_scope: Literal["user", "query"]
    normalise_urls: bool
    max_rejected: float
    max_markets: int
    column: Sequence[str] | str
    shape: Literal["auto", "lists", "impressions"]
    health_limit: Sequence[str] | str
    only_judged: bool
    batch: str
    late_minutes: float
    allow_gap: bool
    clock: str | None
    time_zone: str
    folds: int
    scale: Sequence[str] | str
    max_grade: int
    relevant_grade: int
    success_grade: int
    conflicts: Literal["error", "max", "mean-rounded", "latest"]
    metric: Sequence[str] | str
    click_metric: Sequence[str] | str
    persistence: float
    pool: Literal["judged", "shown"]
    unjudged: Literal["drop", "zero", "model", "extremes"]
    click_models: Sequence[str] | str
    iterations: int
    min_users: int
    title: str | None
    current: str | None
    question: Literal["rankings", "queries"]
    margin: float
    full: bool
    seed: int
    threads: int | None
    memory_limit: str | None
    engine: Literal["arrays", "duckdb", "spark"]
    spark_master: str | None
    spark_remote: str | None
    spark_conf: Sequence[str] | str
    spark_staging: str | None
