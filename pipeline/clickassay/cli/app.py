"""The command line: its commands, each imported when it is called.

Exit codes: 0 done, 1 a finding, 2 bad input or usage (one line on stderr says what to do), 3 a fault of ours.
"""

import gc
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from clickassay.cli.exit import end_at_once, end_on_signals, run_command, write_anything
from clickassay.core.errors import SettingsError
from clickassay.core.text.escape import terminal
from clickassay.core.text.words import without_secrets


def raise_limits() -> None:
    """Raise the soft limit of open files to the hard one: a log may have thousands of files."""
    try:
        import resource  # noqa: PLC0415 - Windows has no such limit, and no such module
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # where the system refuses, the usual limit stays
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def quiet_libraries() -> None:
    """Ignore a warning of Polars that many files at once cause: a deadlock it guesses at is none."""
    warnings.filterwarnings("ignore", message="POLARS_MAX_BLOCKING_THREAD_COUNT reached")


Command = Any
"""A command or group as Typer makes it; their common class is not public."""


@dataclass(frozen=True)
class CommandEntry:
    """A command before its module is imported."""

    panel: str  # Where `--help` lists it.
    summary: str  # The first paragraph of its own help.
    module: str = ""  # Its module in `cli.commands`; "" = the module of its name.
    function: str = ""  # The function, or the `typer.Typer` of a group; "" = its own name.


START, ASK, JUDGMENTS, LOGS, MORE = "Start", "Ask a run", "Judgments", "Logs", "More"
COMMANDS = {
    "run": CommandEntry(START, "Build the report from logs and judgments."),
    "inspect": CommandEntry(
        START,
        "Show what a file or folder is, which command reads it, and what a run would reject; write nothing.",
    ),
    "init": CommandEntry(
        START, "Write a project file for the log in a folder: tables, columns, scale of grades.", "project"
    ),
    "evaluate": CommandEntry(
        START, "Evaluate rankings against judgments, and test whether two differ significantly.", "rankings"
    ),
    "judges": CommandEntry(
        START,
        "Measure how well judges agree, such as people and a language model, without a log.",
        "rankings",
    ),
    "query": CommandEntry(ASK, "Ask a run a question in SQL."),
    "explore": CommandEntry(
        ASK,
        "Browse a run's configurations, their clicks and the arithmetic of each metric, in a local page.",
        "inspect",
    ),
    "diff": CommandEntry(
        ASK, "Show what changed between two runs, and whether a change is significant.", "questions"
    ),
    "check": CommandEntry(
        ASK, "Check a run against rules, and end with exit code 1 if one is broken.", "questions"
    ),
    "power": CommandEntry(
        ASK, "Compute how many judged queries and sessions it takes to detect a difference.", "questions"
    ),
    "audit": CommandEntry(
        ASK,
        "Explain why tools report different numbers for one metric, and whether a conclusion changes.",
        "questions",
    ),
    "experiments": CommandEntry(
        ASK,
        "Learn from past A/B tests whether an offline metric tells better changes from worse.",
        "questions",
    ),
    "learn": CommandEntry(
        ASK,
        "Learn the probability of satisfaction of each grade with which ERR predicts clicks best.",
        "questions",
    ),
    "clicks": CommandEntry(ASK, "Click models: what users examine, and what attracts them."),
    "plan": CommandEntry(
        JUDGMENTS,
        "Choose which queries to label within a budget so that the estimate is most precise.",
        "label",
    ),
    "estimate": CommandEntry(
        JUDGMENTS,
        "Estimate how good a ranking is, or which of two is better, from the labels of a plan.",
        "label",
    ),
    "groups": CommandEntry(JUDGMENTS, "Find near-duplicate queries, and write them as groups.", "groups"),
    "patterns": CommandEntry(
        LOGS, "First half of run: summarise logs in a pattern table, from which a report is built."
    ),
    "report": CommandEntry(
        LOGS, "Second half of run: build the report from a pattern table and judgments, in seconds.", "run"
    ),
    "store": CommandEntry(LOGS, "Show a pattern store, check it, drop batches.", "patterns", "stores"),
    "import": CommandEntry(LOGS, "Convert logs from other tools to Parquet.", "imports", "imports"),
    "settings": CommandEntry(
        MORE,
        "Show each setting, its value, and where the value comes from; inputs and output of a project too.",
        "project",
    ),
    "simulate": CommandEntry(
        MORE, "Write a log of simulated users, and the truth behind it. Same seed, same bytes."
    ),
}
"""In the order of `--help`. Summaries stand here too, so that `--help` need not import what it lists."""


@cache
def load(name: str) -> Command:
    """Import a command or a group of commands."""
    from clickassay.cli.options import with_options  # noqa: PLC0415 - settings take a while to import

    entry = COMMANDS[name]
    module = import_module(f"clickassay.cli.commands.{entry.module or name}")
    found = getattr(module, entry.function or name)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(rich_markup_mode="markdown", add_completion=False)
        alone.command(name)(with_options(found))
        found = alone
    command = get_command(found)
    command.name = name
    return command


class _Loaded(Mapping[str, Command]):
    """The commands by name, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Command:
        return load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Root(TyperGroup):
    """The group of all commands: it lists them without importing them."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - what Typer hands to a group
        super().__init__(**attributes)
        self.commands = _Loaded()  # type: ignore[assignment] # nothing is added

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - its class is not public
        """Return the names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Command:  # noqa: ANN401, ARG002 - as above
        """Return a line of `--help`."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        return TyperCommand(cmd_name, help=entry.summary, rich_help_panel=entry.panel, add_help_option=False)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Command, list[str]]:  # noqa: ANN401
        """Return the command itself."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if command is None else load(str(name)), rest

    def make_context(self, *of: Any, **more: Any) -> Any:  # noqa: ANN401 - as above
        """Read the arguments before the command; SettingsError if Typer has no completion for the shell."""
        with _errors_told():
            try:
                return super().make_context(*of, **more)
            except SystemExit as ended:
                if ended.code:
                    raise
                raise typer.Exit from None  # an option of completion is done
            except typer.Exit as ended:
                if ended.exit_code:
                    raise SettingsError(
                        "no completion for this shell; start bash, zsh, fish or PowerShell, and type it there"
                    ) from None
                raise

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as above
        """Read the command's own arguments, and run it."""
        with _errors_told():
            return super().invoke(ctx)


@contextmanager
def _errors_told() -> Iterator[None]:
    """Clear errors of usage, which Typer prints, of secrets and of what a terminal would obey."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "exit_code") and isinstance(getattr(error, "message", None), str):
            error.message = terminal(without_secrets(error.message))  # type: ignore[attr-defined] # it has
        raise


app = typer.Typer(
    name="clickassay",
    cls=_Root,
    help="Does your offline metric predict what users click? From raw click logs to an honest answer.",
    epilog="For programs and agents: `clickassay --skill` shows one page of commands, exit codes and fields.",
    no_args_is_help=True,
    rich_markup_mode="rich",  # Markdown would be imported for --help; commands have it
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""Python looks for garbage in cycles after so many new objects. Libraries make a few hundred thousand objects
while they are imported, and none of these is garbage."""


def start() -> None:
    """Run the command line as all that this process does, and end the process; see `main`."""
    try:
        main()
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            end_at_once(ended.code or 0)
        raise


def main() -> None:
    """Run the command line; what a user can change becomes one line and exit code 2."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    raise_limits()
    quiet_libraries()
    write_anything()
    end_on_signals()
    sys.exit(run_command(app))


def _show_version(wanted: bool) -> None:
    if not wanted:
        return
    from clickassay.core.provenance import __version__, how_to_cite, of_a_report  # noqa: PLC0415 - takes a while

    # the other option is not read yet: to read it, Typer would import what takes long
    told = [*of_a_report(), how_to_cite()] if "--verbose" in sys.argv else [f"clickassay {__version__}"]
    sys.stdout.write("".join(f"{line}\n" for line in told))
    raise typer.Exit


def _show_skill(wanted: bool) -> None:
    if wanted:
        from importlib.resources import files  # noqa: PLC0415 - takes a while

        sys.stdout.write(files("clickassay.cli").joinpath("SKILL.md").read_text(encoding="utf-8"))
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool | None,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = None,
    verbose: Annotated[
        bool | None,
        typer.Option("--verbose", help="With --version: also what a bug report needs, and how to cite."),
    ] = None,
    skill: Annotated[
        bool | None,
        typer.Option(
            "--skill", callback=_show_skill, is_eager=True, help="Show the page for programs and agents."
        ),
    ] = None,
) -> None:
    """Check offline search metrics against what users click."""
