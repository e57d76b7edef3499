"""Options of settings: each is made from the field that declares the setting.

A command asks for them by one parameter, ``Annotated[Settings, settings_of("depth", ...)]``. They stand apart
from the other options since settings take a while to import, and some commands have none.
"""

import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Optional

import typer

from clickassay.cli.inputs import project_options
from clickassay.cli.options import Group, click_metric_names, click_model_names, declared_option, metric_names
from clickassay.core.settings import LOG_SETTINGS, SETTINGS, Settings, load_settings, project_at_hand

TABLE_SETTINGS = (*LOG_SETTINGS, "outcome_kind", "test", "column", "shape", "max_rejected", "batch")
"""Settings of the pattern table, and of how it is made."""
GRADE_SETTINGS = ("scale", "max_grade", "relevant_grade", "success_grade", "conflicts")
METRIC_SETTINGS = ("metric", "click_metric", "persistence", "pool", "unjudged", "click_judge", "click_models")
REPORT_SETTINGS = (
    "max_markets",
    "title",
    "current",
    "question",
    "margin",
    "effect_margin",
    "full",
    "health_limit",
    "iterations",
    "min_users",
    "seed",
)
MACHINE_SETTINGS = ("threads", "memory_limit")
SPARK_SETTINGS = ("engine", "spark_master", "spark_remote", "spark_conf", "spark_staging")

_COMPLETIONS = {
    "metric": metric_names,
    "click_metric": click_metric_names,
    "click_judge": click_model_names,
    "click_models": click_model_names,
}

_FEW = 5
"""So many settings need no panels of their own in `--help`."""


def settings_of(*names: str, **fixed: object) -> Group:
    """Ask for --settings, --project and these settings; a command may fix one that it has no use for."""

    def build(given: Mapping[str, Any]) -> Settings:
        """Return the settings: those that the command fixes, options, variables, files, defaults."""
        options: dict[str, Any] = {
            name: value or None if isinstance(value, list) else value for name, value in given.items()
        }
        file, project = options.pop("settings"), project_at_hand(options.pop("project"))
        settings = load_settings(file, os.environ, project=project, **{**options, **fixed})
        if settings.threads is not None and "polars" not in sys.modules:  # it is read when Polars is loaded
            os.environ.setdefault("POLARS_MAX_THREADS", str(settings.threads))
        return settings

    declared = []
    for setting in (SETTINGS[name] for name in names):
        spelled = () if setting.also is None else (f"--{setting.name.replace('_', '-')}", setting.also)
        shown = typer.Option(
            *spelled,
            help=f"{setting.meaning}{setting.several} [{setting.limits_and_default}]",
            metavar=setting.metavar,
            rich_help_panel=setting.group if len(names) > _FEW else None,
            autocompletion=_COMPLETIONS.get(setting.name),
        )
        # of the type of the setting or None, so that a settings file can fill it
        kind: Any = list[str] | None if setting.is_list else Optional[setting.type]  # noqa: UP045 - it may be None already
        declared.append(declared_option(setting.name, Annotated[kind, shown]))
    return Group((*declared, *project_options()), build, names_engine=True)
