"""Write docs/reference/settings.md, every setting from the field that declares it: `make pages`."""

from itertools import groupby
from pathlib import Path

from clickassay.core.settings import PREFIX, SETTINGS, Setting
from clickassay.core.settings.declared import type_in_words

PAGE = Path(__file__).parents[1] / "reference" / "settings.md"

TOP = f"""<!-- Made by `make pages` from the fields of `Settings`: do not edit by hand. -->
# Settings

A setting has one name everywhere. `idle_minutes` here is

- `--idle-minutes 30`, an option of the commands that use it ([which](cli.md)),
- `{PREFIX}IDLE_MINUTES=30`, a variable of the environment,
- `idle_minutes = 30`, a line of the file that `--settings FILE.toml` names.

Options override variables, then the file, then the default. Variables and the file may have settings that a
command does not use; unknown names are refused. An empty variable is not set. True and false are
`--only-judged` and `--no-only-judged`. Lists take values with commas, by repeating the option, or in TOML:
`depth = [5, 10]`.

A run keeps its settings in `settings.json`.
"""


def settings_page() -> str:
    """Return the whole page as Markdown."""
    groups = groupby(SETTINGS.values(), key=lambda setting: setting.group)
    return "\n".join([TOP, *(_section(group, list(settings)) for group, settings in groups)])


def _section(group: str, settings: list[Setting]) -> str:
    rows = [_row(setting) for setting in settings]
    head = "| name | value | default | meaning |\n|---|---|---|---|\n"
    return f"## {group}\n\n{head}" + "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _row(setting: Setting) -> tuple[str, str, str, str]:
    kind = type_in_words(setting.type).removeprefix("a ")
    value = ", ".join(filter(None, (kind, "several" if setting.is_list else "", setting.limits)))
    meaning = " ".join(filter(None, (setting.meaning, setting.details)))
    return f"`{setting.name}`", value, setting.default, meaning


def main() -> None:
    """Write the page."""
    PAGE.write_text(settings_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
