"""Settings, each declared once.

- ``model``: what they are, and what is refused.
- ``declared``: what each says of itself: type, range, default, meaning.
- ``load``: where they come from: defaults, a file, the environment, options.
"""

from clickassay.core.settings.declared import (
    LOG_SETTINGS,
    NAMED_SETTINGS,
    SETTINGS,
    SQL_SETTINGS,
    Setting,
    log_settings,
    options_of,
)
from clickassay.core.settings.load import PREFIX, load_settings, memory_bytes
from clickassay.core.settings.model import MAX_DEPTH, Settings

__all__ = [
    "LOG_SETTINGS",
    "MAX_DEPTH",
    "NAMED_SETTINGS",
    "PREFIX",
    "SETTINGS",
    "SQL_SETTINGS",
    "Setting",
    "Settings",
    "load_settings",
    "log_settings",
    "memory_bytes",
    "options_of",
]
