"""Run the cells of docs/tutorial.ipynb again, and write what they show into it.

python docs/make/notebook.py
"""

import ast
import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

NOTEBOOK = Path(__file__).parents[1] / "tutorial.ipynb"


def main() -> None:
    """Write the notebook again."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        run_cells(notebook["cells"], Path(folder))
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def run_cells(cells: list[dict], folder: Path) -> None:
    """Run the cells of code in a folder, and put what each shows in place of its outputs."""
    names: dict[str, object] = {}
    with contextlib.chdir(folder):
        for place, cell in enumerate((one for one in cells if one["cell_type"] == "code"), start=1):
            cell["execution_count"] = place
            cell["outputs"] = list(outputs_of("".join(cell["source"]), names, place))


def outputs_of(code: str, names: dict[str, object], place: int) -> Iterator[dict]:
    """Yield what a cell prints, and its last value as text and HTML, as a notebook does."""
    *steps, last = ast.parse(code).body
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        is_value = isinstance(last, ast.Expr)
        body = steps if is_value else [*steps, last]
        exec(compile(ast.Module(body, []), f"cell {place}", "exec"), names)  # noqa: S102 - our own cells
        value = eval(compile(ast.Expression(last.value), "", "eval"), names) if is_value else None  # noqa: S307
    if printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": lines_of(printed.getvalue())}
    if value is not None:
        data = {"text/plain": lines_of(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = lines_of(value._repr_html_())
        yield {"data": data, "execution_count": place, "metadata": {}, "output_type": "execute_result"}


def lines_of(text: str) -> list[str]:
    """Return a text as notebooks keep it."""
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "160")
    main()
