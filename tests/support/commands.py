"""Every command of the command line that does something, by its words."""

from typer.main import get_command

from clickassay.cli.app import app


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(commands(get_command(app)))
