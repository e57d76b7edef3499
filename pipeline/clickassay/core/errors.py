"""One root of all errors that a user can cause or correct, one class per stage.

A message says what was found, what was expected, and what to do; it fits one line.
"""


class ClickassayError(Exception):
    """Root: anything that the command line shows as one line with exit code 2."""


class SettingsError(ClickassayError):
    """A setting is unknown, out of range, or contradicts another."""


class InputError(ClickassayError):
    """An input file is missing, unreadable, or lacks what method 2 asks of it."""


class NothingInCommonError(InputError):
    """Two inputs that belong together share no name: a finding about them, exit code 1."""


class NothingInCommonWarning(UserWarning):
    """Like the error above, but a value is still returned."""


class RejectedRowsError(InputError):
    """More rows of an input are unusable than may be."""


class JudgmentError(ClickassayError):
    """Judgments are off the scale or contradict each other."""


class MetricError(ClickassayError):
    """A metric has a value outside its range, which no sound input can give."""


class EngineError(ClickassayError):
    """The engine gave up: out of memory, out of disk, or a broken file met on the way."""


class PatternError(ClickassayError):
    """A stored pattern table is incomplete or does not fit what is asked of it."""


class StoreError(ClickassayError):
    """A pattern store is broken, in use, or was made with other settings."""


class MachineError(ClickassayError):
    """The system refuses to read a file, or has no room for it: no fault of the file."""


class OutputError(ClickassayError):
    """An output folder exists already, or cannot be written."""


class SimulationError(ClickassayError):
    """A simulated world cannot be made with these settings."""


class ClickModelError(ClickassayError):
    """Click models cannot be fitted to, or evaluated on, these clicks."""


class LearningError(ClickassayError):
    """Values of grades cannot be learned from these clicks."""


class ActiveError(ClickassayError):
    """A labelling plan cannot be made or estimated from."""


class QueryError(ClickassayError):
    """A question to a run is unknown, or is not valid SQL."""


class ReportError(ClickassayError):
    """A report cannot be drawn from what the run holds."""


class Interrupted(ClickassayError):  # noqa: N818 - not an error of anybody
    """The user pressed Ctrl-C."""
