"""A file of rules: TOML with the one list ``rules``."""

from pathlib import Path

from clickassay.core.errors import SettingsError
from clickassay.core.files.documents import DocumentError, read_toml

EXAMPLE = 'rules = ["coverage >= 0.8", "correlation(ERR, MeanRR) >= 0.3"]'


def read_rules_file(file: Path) -> tuple[str, ...]:
    """Return the texts of a file's rules.

    Raises SettingsError if the file cannot be read, or is not of the form of `EXAMPLE`.
    """
    try:
        document = read_toml(file)
    except OSError as error:
        raise SettingsError(f"rules file {file}: {error.strerror or error}") from error
    except DocumentError as error:
        raise SettingsError(f"rules file {file}: {error}; expected {EXAMPLE}") from error
    unknown = sorted(set(document) - {"rules"})
    if unknown:
        raise SettingsError(f"rules file {file}: unknown key {unknown[0]}; expected only {EXAMPLE}")
    rules = document.get("rules")
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise SettingsError(f"rules file {file}: expected a list of texts, {EXAMPLE}")
    if not rules:
        raise SettingsError(f"rules file {file} has no rule, and would pass every run; expected {EXAMPLE}")
    return tuple(rules)
