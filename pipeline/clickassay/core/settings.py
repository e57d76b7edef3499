"""Settings of a run: frozen, validated once, from defaults, a TOML file and options.

Later sources win: defaults < TOML file < command-line options. Names are the same everywhere:
``--idle-minutes 30`` on the command line is ``idle_minutes = 30`` in TOML.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from clickassay.core.errors import SettingsError

MAX_DEPTH = 62
"""A click mask is a signed 64-bit integer: 62 positions leave head room on every engine."""

_OF_SPARK = ("spark_master", "spark_remote", "spark_conf", "spark_staging")


class Settings(BaseModel):
    """Every setting of a run, with its default; ``clickassay run --help`` says what each means."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    depth: tuple[int, ...] = (5, 10)
    idle_minutes: float = Field(default=60.0, gt=0, le=7 * 24 * 60)
    idle_scope: Literal["user", "query"] = "user"
    normalise_urls: bool = True
    folds: int = Field(default=1, ge=1, le=1024)
    max_rejected: float = Field(default=0.01, ge=0, le=1)
    batch: str = "auto"
    only_judged: bool = False
    late_minutes: float = Field(default=60.0, ge=0, le=7 * 24 * 60)
    scale: tuple[str, ...] = ("bad", "fair", "good", "excellent", "perfect")
    max_grade: int = Field(default=4, ge=1, le=30)
    relevant_grade: int = Field(default=3, ge=1)
    success_grade: int = Field(default=2, ge=0)
    persistence: float = Field(default=0.8, gt=0, lt=1)
    metric: tuple[str, ...] = ()
    unjudged: Literal["drop", "zero", "model", "bounds"] = "drop"
    click_models: tuple[str, ...] = ("PBM", "UBM", "DBN")
    pool: Literal["judged", "shown"] = "judged"
    conflicts: Literal["error", "max", "mean-rounded", "latest"] = "error"
    iterations: int = Field(default=1000, ge=2, le=1_000_000)
    min_users: int = Field(default=5, ge=1, le=64)
    beside: Literal["chapelle2009"] | None = None
    seed: int = Field(default=0, ge=0, lt=2**63)
    threads: int | None = Field(default=None, ge=1)
    memory_limit: str | None = None
    # where the work is done changes no number, and Spark's own settings may hold secrets: none is written
    engine: Literal["duckdb", "spark"] = Field(default="duckdb", exclude=True)
    spark_master: str | None = Field(default=None, exclude=True)
    spark_remote: str | None = Field(default=None, exclude=True)
    spark_conf: tuple[str, ...] = Field(default=(), exclude=True, repr=False)
    spark_staging: str | None = Field(default=None, exclude=True)

    @property
    def idle_ms(self) -> int:
        """Idle limit in milliseconds."""
        return round(self.idle_minutes * 60_000)

    @property
    def late_ms(self) -> int:
        """How far back, in milliseconds, the files of the next run into a store may reach."""
        return round(self.late_minutes * 60_000)

    @property
    def stored_depth(self) -> int:
        """Depth of the stored pattern table: the deepest that is asked for."""
        return max(self.depth)

    @field_validator("depth")
    @classmethod
    def _depths_in_range(cls, depths: tuple[int, ...]) -> tuple[int, ...]:
        if not depths or any(not 1 <= depth <= MAX_DEPTH for depth in depths):
            raise ValueError(f"depths must lie in 1..{MAX_DEPTH}")
        return tuple(sorted(set(depths)))

    @field_validator("batch")
    @classmethod
    def _batch_is_known(cls, batch: str) -> str:
        if not re.fullmatch(r"auto|day|file|[1-9][0-9]{0,14}", batch):
            raise ValueError("must be auto, day, file or a number of searches")
        return batch

    @field_validator("memory_limit")
    @classmethod
    def _memory_has_a_unit(cls, limit: str | None) -> str | None:
        if limit is not None and not re.fullmatch(r"(?i)\s*\d+(\.\d+)?\s*([KMGT]i?B|B)\s*", limit):
            raise ValueError("must be a number with its unit, as 4GB or 512MiB")
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
        if len(set(cleaned)) < max(2, len(cleaned)) or "" in cleaned:
            raise ValueError("needs at least two distinct labels, worst first")
        return cleaned

    @field_validator("click_models")
    @classmethod
    def _none_is_no_model(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        spelled = tuple(dict.fromkeys(name.strip().upper() for name in names))
        return () if spelled == ("NONE",) else spelled

    @model_validator(mode="before")
    @classmethod
    def _scale_sets_max_grade(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("scale") is not None and values.get("max_grade") is None:
            return {**values, "max_grade": len(values["scale"]) - 1}
        return values

    @model_validator(mode="after")
    def _spark_is_asked_for(self) -> Self:
        given = [name for name in _OF_SPARK if getattr(self, name)]
        if given and self.engine != "spark":
            raise ValueError(f"{given[0]} is used with engine spark only; add --engine spark")
        if self.spark_master and self.spark_remote:
            raise ValueError("spark_master and spark_remote exclude each other; give one of them")
        return self

    @model_validator(mode="after")
    def _grades_fit_scale(self) -> Self:
        if "scale" in self.model_fields_set and len(self.scale) != self.max_grade + 1:
            raise ValueError(f"scale has {len(self.scale)} labels but max_grade is {self.max_grade}")
        for name in ("relevant_grade", "success_grade"):
            if getattr(self, name) > self.max_grade:
                raise ValueError(f"{name} {getattr(self, name)} is above max_grade {self.max_grade}")
        return self


def memory_bytes() -> int:
    """Return the bytes of memory that this machine has: `memory_limit` is a part of them unless told."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def load_settings(file: Path | None = None, **options: object) -> Settings:
    """Merge defaults, a TOML `file` and `options` (None = not given) into frozen settings.

    Raises
    ------
    SettingsError
        If the file cannot be read, or a value is unknown, of the wrong type or out of range.
    """
    values = _from_toml(file) if file else {}
    values.update({name: value for name, value in options.items() if value is not None})
    try:
        return Settings(**values)
    except ValidationError as error:
        raise SettingsError("; ".join(_explain(item) for item in error.errors())) from error


def _from_toml(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            values = tomllib.load(stream)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {file}: {error}") from error
    named = {name.replace("-", "_"): value for name, value in values.items()}
    if isinstance(named.get("depth"), int):
        named["depth"] = [named["depth"]]
    if isinstance(named.get("metric"), str):
        named["metric"] = [named["metric"]]
    for name in ("scale", "click_models"):
        if isinstance(named.get(name), str):
            named[name] = named[name].split(",")
    return named


def _explain(item: Any) -> str:  # noqa: ANN401 - pydantic's ErrorDetails
    name = ".".join(str(part) for part in item["loc"]) or "settings"
    if item["type"] == "extra_forbidden":
        return f"unknown setting {name}; known are {', '.join(Settings.model_fields)}"
    message: str = item["msg"].removeprefix("Value error, ")
    if not item["loc"]:
        return message
    given = "" if name == "spark_conf" else f" (given: {item['input']!r})"  # it may hold a secret
    return f"setting {name}: {message}{given}"
