"""`clickassay patterns` and `store`: logs to a pattern table, or to a store that grows."""

import shlex
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from clickassay.cli.console import conclude, say, show, show_table, write_json
from clickassay.cli.exit import ExitCode
from clickassay.cli.inputs import Given, inputs_of
from clickassay.cli.options import FORCE, JSON, OF_SPARK, QUIET, with_options
from clickassay.cli.progress import shown_progress
from clickassay.cli.settings import MACHINE_SETTINGS, SPARK_SETTINGS, TABLE_SETTINGS, settings_of
from clickassay.core.errors import SettingsError
from clickassay.core.progress import Event
from clickassay.core.settings import PROJECT, ProjectFile, Settings
from clickassay.core.text.words import plural, utc_text

if TYPE_CHECKING:
    from clickassay.jobs.inputs import Sources


stores = typer.Typer(
    help="Show a pattern store, check it, drop batches.", no_args_is_help=True, add_completion=False
)


STORE = Annotated[Path, typer.Argument(metavar="STORE", help="Folder written by `patterns --store`.")]


@dataclass(frozen=True)
class TablePlace:
    """Where the pattern table is written: a folder of its own, or a store."""

    out: Annotated[str | None, typer.Option(help="Output folder (written atomically)."), OF_SPARK] = None
    store: Annotated[
        str | None, typer.Option(help="Instead of --out: a store; reads only new rows."), OF_SPARK
    ] = None
    force: FORCE = False

    def __post_init__(self) -> None:
        if self.out is not None and self.store is not None:
            raise typer.BadParameter("give either --out or --store")

    def or_of(self, project: ProjectFile | None) -> Self:
        """Return the place, else the store of a project; SettingsError if there is none."""
        if self.out is not None or self.store is not None:
            return self
        if project is None or not project.store:
            raise SettingsError(f'give either --out or --store, or store = "…" in {PROJECT}')
        return replace(self, store=project.place(project.store))


def patterns(
    inputs: Annotated[Given, inputs_of("searches", "clicks", "judgments", "outcomes", "assignments")],
    place: TablePlace,
    settings: Annotated[
        Settings,
        settings_of(*(*TABLE_SETTINGS, "late_minutes", "allow_gap", *MACHINE_SETTINGS, *SPARK_SETTINGS)),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the work and the resources it needs; write nothing.")
    ] = False,
    json: JSON = False,
    quiet: QUIET = False,
) -> None:
    """First half of `run`: summarise logs in a pattern table, from which a report is built.

    Exit code 1 if a data check found a problem; the output says what to do first.

    Examples
    --------
        clickassay patterns --searches logs/searches --clicks logs/clicks --out june-patterns

        clickassay patterns --searches logs/searches --clicks logs/clicks --store patterns-store

        clickassay patterns --searches logs/searches --clicks logs/clicks
        --only-judged --judgments grades.csv --out judged-patterns

        clickassay patterns --searches logs/searches --clicks logs/clicks --store patterns-store --dry-run
    """
    if "judgments" in inputs.by_option and not settings.only_judged:
        raise SettingsError("--judgments requires --only-judged; add it, or remove --judgments")
    place = place.or_of(inputs.project)
    if dry_run:
        _show_plan(inputs, place, settings, json=json, quiet=quiet)
        return
    from clickassay.api.patterns import PatternsResult

    with shown_progress(quiet=quiet) as progress:
        made = PatternsResult.of(_sources(inputs, settings), settings, **vars(place), progress=progress)
    inputs.tell(quiet=quiet)
    write_json(made.facts) if json else show(made.parts())
    conclude(is_finding=any(one.is_finding for one in made.findings), stderr=json)


def _sources(inputs: Given, settings: Settings) -> "Sources":
    """Return the log, and the judgments if they are used."""
    sources = inputs.needing("searches", *(("judgments",) if settings.only_judged else ()))
    return sources if settings.only_judged else replace(sources, judgments=None)


def _show_plan(inputs: Given, place: TablePlace, settings: Settings, *, json: bool, quiet: bool) -> None:
    from clickassay.jobs.stores import plan_store, plan_table

    if settings.engine != "arrays":
        raise SettingsError(f"--dry-run supports the engine arrays only; remove --engine {settings.engine}")
    with shown_progress(quiet=quiet) as progress:
        progress(Event("looking at the log"))
        sources = _sources(inputs, settings)
        if place.store is not None:
            plan = plan_store(sources, Path(place.store), settings)
        else:
            plan = plan_table(sources, Path(place.out or ""), settings, force=place.force)
    if json:
        write_json(
            {
                "folder": str(plan.place),
                "searches": asdict(plan.searches),
                "clicks": asdict(plan.clicks),
                "batches": len(plan.windows),
                "wall_seconds": plan.wall_seconds,
                "memory_bytes": plan.memory_bytes,
                "written_bytes": plan.written_bytes,
                "note": plan.note(),
            }
        )
        return
    names, rows = plan.table()
    show_table(names, rows, numbers=names[1:])
    for name, text in plan.lines():
        say(f"{name:8} {text}")
    if (note := plan.note()) is not None:
        say(f"Note: {note}")
    say("Nothing was written.")


@stores.command()
@with_options
def info(store: STORE, json: JSON = False) -> None:
    """Show the batches of a store.

    Example:

        clickassay store info patterns-store
    """
    from clickassay.jobs.stores import batch_summaries

    batches = batch_summaries(store)
    if json:
        write_json(batches)
        return
    numbers = ("searches", "clicks", "sessions closed", "bytes")
    rows = [
        (
            *(str(one.batch), "the beginning" if one.start_ms is None else utc_text(one.start_ms)),
            utc_text(one.end_ms),
            *(f"{number:,}" for number in (one.searches, one.clicks, one.sessions, one.bytes)),
        )
        for one in batches
    ]
    show_table(("batch", "from", "closed up to", *numbers), rows, numbers=("batch", *numbers))


@stores.command()
@with_options
def verify(store: STORE, json: JSON = False) -> None:
    """Check every file of a store against its digest, counts against their sums, and ids for repeats.

    Exit code 1 if something is wrong.

    Example:

        clickassay store verify patterns-store
    """
    from clickassay.patterns.places import STORE_FILE
    from clickassay.patterns.store import PatternStore

    kept = PatternStore(store)
    damage = kept.damage()
    older = [] if damage else kept.without_digest()
    if json:
        write_json({"store": str(store), "faults": damage, "batches_without_digest": older})
    elif damage:
        again = f"clickassay store forget {shlex.quote(str(store))} --from …"
        say(*damage)
        if not damage[0].startswith(str(store / STORE_FILE)):  # that is restored: no batch is broken
            say(f"Drop the first broken batch and all later ones: {again}")
    else:
        say(f"{store}: all files are unchanged, counts add up, and no search id occurs in two runs")
        if older:
            number = plural(len(older), "batch", "batches")
            say(f"Not checked: batch.json of {number}, written without a digest by an older clickassay")
    if damage:
        raise typer.Exit(ExitCode.FINDING)


@stores.command()
@with_options
def forget(
    store: STORE,
    first: Annotated[
        int | None, typer.Option("--from", min=1, help="Drop this batch and all later ones.")
    ] = None,
    before: Annotated[int | None, typer.Option(min=2, help="Drop all batches before this one.")] = None,
    json: JSON = False,
) -> None:
    """Drop batches: the last ones to build them again, or the first ones for good.

    Examples
    --------
        clickassay store forget patterns-store --from 5

        clickassay store forget patterns-store --before 3
    """
    from clickassay.patterns.store import PatternStore

    if (first is None) == (before is None):
        raise typer.BadParameter("give either --from or --before")
    kept = PatternStore(store)
    with kept.locked():
        dropped = kept.forget_from(first) if first is not None else kept.forget_before(before or 0)
    if json:
        write_json({"store": str(store), "batches_dropped": dropped})
    else:
        say(f"{store}: {plural(dropped, 'batch', 'batches')} dropped")
