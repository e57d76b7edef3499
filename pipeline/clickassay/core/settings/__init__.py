"""Settings, each declared once."""

from clickassay.core.settings.declared import (
    LOG_SETTINGS,
    NAMED_SETTINGS,
    SETTINGS,
    Setting,
    log_settings,
    options_of,
)
from clickassay.core.settings.load import (
    PREFIX,
    Origins,
    inputs_in,
    load_settings,
    memory_bytes,
    origins_of,
    settings_from,
)
from clickassay.core.settings.model import Settings
from clickassay.core.settings.of_log import MAX_DEPTH, OF_DWELL_TIMES, SIGNAL_NAME
from clickassay.core.settings.project import PROJECT, ProjectFile, project_at_hand, read_project
from clickassay.core.settings.texts import RATING, SUM, kinds_named

__all__ = [
    "LOG_SETTINGS", "MAX_DEPTH", "NAMED_SETTINGS", "OF_DWELL_TIMES", "PREFIX", "PROJECT", "RATING",
    "SETTINGS", "SIGNAL_NAME", "SUM", "Origins", "ProjectFile", "Setting", "Settings", "inputs_in",
    "kinds_named", "load_settings", "log_settings", "memory_bytes", "options_of", "origins_of",
    "project_at_hand", "read_project", "settings_from",
]  # fmt: skip
