"""Settings: what they are (`model`), and where they come from (`load`)."""

from clickassay.core.settings.load import PREFIX, load_settings, memory_bytes
from clickassay.core.settings.model import MAX_DEPTH, SETTINGS, Setting, Settings

__all__ = ["MAX_DEPTH", "PREFIX", "SETTINGS", "Setting", "Settings", "load_settings", "memory_bytes"]
