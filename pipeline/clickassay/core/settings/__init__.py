"""Settings: what they are (`model`), what each declares (`declared`), where they come from (`load`)."""

from clickassay.core.settings.declared import SETTINGS, Setting, options_of
from clickassay.core.settings.load import PREFIX, load_settings, memory_bytes
from clickassay.core.settings.model import MAX_DEPTH, Settings

__all__ = [
    "MAX_DEPTH",
    "PREFIX",
    "SETTINGS",
    "Setting",
    "Settings",
    "load_settings",
    "memory_bytes",
    "options_of",
]
