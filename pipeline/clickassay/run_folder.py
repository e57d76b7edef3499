"""A finished run read back from its folder: its tables, and what is said of a broken one."""

import json
from pathlib import Path

import polars as pl

from clickassay.errors import ReportError
from clickassay.inputs import READ_ERRORS, first_line
from clickassay.settings import Settings
from clickassay.table_form import ContractError, Table


def read_table(run: Path, contract: Table) -> pl.DataFrame:
    """Read one table of a run folder.

    Raises
    ------
    ReportError
        If its file is missing, broken or of another form; the message names it.
    """
    file = run / f"{contract.name}.parquet"
    if not file.is_file():
        raise no_run(run, file.name)
    try:
        return contract.canonical(pl.read_parquet(file, glob=False))
    except (*READ_ERRORS, ContractError) as error:
        raise broken(file, first_line(error)) from error


def settings_of_run(folder: Path) -> Settings:
    """Return the settings of a run.

    Raises
    ------
    ReportError
        If its settings.json is missing or broken.
    """
    try:
        written = json.loads((folder / "settings.json").read_text(encoding="utf-8"))["settings"]
        known = {name: written[name] for name in Settings.model_fields if name in written}
        if len(known["scale"]) != known["max_grade"] + 1:  # --max-grade alone: the scale has no labels
            del known["scale"]
        return Settings(**known)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReportError(f"{folder / 'settings.json'} is missing or broken; make the run again") from error


def no_run(folder: Path, name: str) -> ReportError:
    """Return the error of a folder that lacks a file of a run."""
    return ReportError(f"no {name} in {folder}: give a folder that `clickassay run` made")


def broken(file: Path, what: str) -> ReportError:
    """Return the error of a file of a run that cannot be used."""
    return ReportError(f"{file} is broken ({what}); make the run again")
