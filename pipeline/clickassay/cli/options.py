"""The options that commands share; each is None unless given, so that a settings file can fill it."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from clickassay.core.settings import MAX_DEPTH, Settings, load_settings


class IdleScope(StrEnum):
    """Whose idleness ends a visit."""

    user = "user"
    query = "query"


class Pool(StrEnum):
    """Where the ideal list and the number of relevant results come from."""

    judged = "judged"
    shown = "shown"


class Conflicts(StrEnum):
    """What to do with judgments of the same result that differ."""

    error = "error"
    max = "max"
    mean_rounded = "mean-rounded"
    latest = "latest"


class Unjudged(StrEnum):
    """What becomes of lists with a result that nobody judged."""

    drop = "drop"
    zero = "zero"
    model = "model"
    bounds = "bounds"


class EngineName(StrEnum):
    """What runs the SQL of the big step."""

    duckdb = "duckdb"
    spark = "spark"


class Beside(StrEnum):
    """Whose published numbers stand beside those of the run."""

    chapelle2009 = "chapelle2009"


def _default(name: str) -> str:
    value: Any = Settings.model_fields[name].default
    text = ",".join(str(item) for item in value) if isinstance(value, tuple) else str(value)
    return f" [default: {text}]"


def chosen_settings(file: Path | None, options: Mapping[str, Any]) -> Settings:
    """Merge defaults, a settings file and those arguments of a command that are settings by their names."""
    given = {name: options[name] for name in Settings.model_fields if name in options}
    values = {name: value.value if isinstance(value, StrEnum) else value for name, value in given.items()}
    for name in ("scale", "click_models"):
        if values.get(name) is not None:
            values[name] = values[name].split(",")
    for name in ("depth", "metric", "spark_conf"):
        values[name] = values.get(name) or None
    return load_settings(file, **values)


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """Return arguments without what may be secret: values of Spark's settings, tokens in URLs."""
    told, option = [], ""
    for argument in arguments:
        name, _, value = argument.partition("=") if argument.startswith("--") else (option, "", argument)
        if name == "--spark-conf" and value:
            key = f"{value.partition('=')[0]}=…"
            argument = f"{name}={key}" if argument.startswith("--") else key  # noqa: PLW2901
        if name == "--spark-remote" and ";" in value:
            argument = f"{argument.partition(';')[0]};…"  # noqa: PLW2901
        told.append(argument)
        option = argument
    return told


OUT = Annotated[Path, typer.Option(help="Folder to write; appears whole or not at all.")]
FORCE = Annotated[bool, typer.Option("--force", help="Replace an output folder of clickassay that exists.")]
DRY_RUN = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done and what it needs; write nothing.")
]
QUIET = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
SETTINGS = Annotated[
    Path | None,
    typer.Option(metavar="FILE.toml", help="Settings by the names of these options; options win."),
]
DEPTH = Annotated[
    list[int] | None,
    typer.Option(help=f"Cut of results and clicks, 1..{MAX_DEPTH}; repeat for several.{_default('depth')}"),
]
IDLE_MINUTES = Annotated[
    float | None, typer.Option(help=f"A longer gap ends a visit.{_default('idle_minutes')}")
]
IDLE_SCOPE = Annotated[
    IdleScope | None, typer.Option(help=f"Idleness per user, or per user and query.{_default('idle_scope')}")
]
NORMALISE_URLS = Annotated[
    bool | None,
    typer.Option("--normalise-urls/--raw-urls", help="Bring URLs to a normal form. [default: normalise]"),
]
MAX_REJECTED = Annotated[
    float | None,
    typer.Option(help=f"Stop when a larger part of an input is unusable.{_default('max_rejected')}"),
]
ONLY_JUDGED = Annotated[
    bool | None,
    typer.Option(
        "--only-judged/--every-query",
        help="Keep the lists of queries with judgments only; count the rest. [default: every query]",
    ),
]
BATCH = Annotated[
    str | None,
    typer.Option(help=f"How to cut the log: auto, day, file, or a number of searches.{_default('batch')}"),
]
LATE_MINUTES = Annotated[
    float | None,
    typer.Option(help=f"How far back files of a store's next run may reach.{_default('late_minutes')}"),
]
FOLDS = Annotated[
    int | None, typer.Option(help=f"Parts of users to keep apart in the patterns.{_default('folds')}")
]
THREADS = Annotated[int | None, typer.Option(help="Threads of the engine. [default: all cores]")]
MEMORY_LIMIT = Annotated[
    str | None,
    typer.Option(
        help="Memory of the engine, e.g. 4GB; beyond it, disk. [default: 3GB, or 80 % of RAM if less]"
    ),
]
ENGINE = Annotated[
    EngineName | None,
    typer.Option(help=f"What works through the log: here, or Spark (extra [spark]).{_default('engine')}"),
]
SPARK_MASTER = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Spark's master, e.g. spark://host:7077, yarn. [default: local]"),
]
SPARK_REMOTE = Annotated[
    str | None, typer.Option(metavar="URL", help="Instead: a Spark Connect server, e.g. sc://host:15002.")
]
SPARK_CONF = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark; repeat for several.")
]
SPARK_STAGING = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Folder that all of Spark reaches, for tables between steps. [default: beside the result]",
    ),
]
MAX_GRADE = Annotated[int | None, typer.Option(help=f"Highest grade of the scale.{_default('max_grade')}")]
SCALE = Annotated[
    str | None, typer.Option(help=f"Labels of the grades, worst first, with commas.{_default('scale')}")
]
RELEVANT_GRADE = Annotated[
    int | None,
    typer.Option(help=f"Lowest grade that AP and RR count as relevant.{_default('relevant_grade')}"),
]
SUCCESS_GRADE = Annotated[
    int | None, typer.Option(help=f"Lowest grade whose click is a success (SS).{_default('success_grade')}")
]
PERSISTENCE = Annotated[float | None, typer.Option(help=f"p of RBP.{_default('persistence')}")]
METRIC = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A further editorial metric, as RBP(p=0.6)@3; repeat for several."),
]
UNJUDGED = Annotated[
    Unjudged | None,
    typer.Option(
        help="Lists with an unjudged result: left out; filled with grade 0; with grades as clicks tell them "
        f"(needs --folds 2); or left out, beside the worst and the best case.{_default('unjudged')}"
    ),
]
CLICK_MODELS = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help=f"Click models to fit, with commas, or none.{_default('click_models')}"
    ),
]
POOL = Annotated[
    Pool | None,
    typer.Option(help=f"Ideal and relevant results from all judgments, or those shown.{_default('pool')}"),
]
CONFLICTS = Annotated[
    Conflicts | None,
    typer.Option(help=f"Rule for judgments that contradict each other.{_default('conflicts')}"),
]
MIN_USERS = Annotated[
    int | None,
    typer.Option(
        help="A report names a query only if so many users, at least, issued it, 1..64; the others appear "
        f"as digests.{_default('min_users')}"
    ),
]
BESIDE = Annotated[
    Beside | None, typer.Option(help="Show another log's published numbers beside the run's. [default: none]")
]
ITERATIONS = Annotated[int | None, typer.Option(help=f"Iterations of Algorithm 3.{_default('iterations')}")]
SEED = Annotated[int | None, typer.Option(help=f"Seed of every random draw.{_default('seed')}")]
CSV = Annotated[bool, typer.Option("--csv", help="Answer as CSV.")]
JSON = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
