"""What makes the page alive, inlined into it: sortable tables, downloads, words on hover."""

import base64
import re
from dataclasses import replace
from functools import cache
from importlib.resources import files

import polars as pl
import pyarrow as pa
from markupsafe import Markup

from clickassay.contracts import EVERY
from clickassay.report.escape import script_json
from clickassay.report.model import SampleKey, Section, Table
from clickassay.report.tables import csv_text


@cache
def script() -> str:
    """Return the script of the page: DataTables, as the package itables brings it, and our own lines.

    Raises
    ------
    RuntimeError
        If the bundle of itables is not of the form that this function knows.
    """
    bundle = files("itables").joinpath("html", "dt_bundle.js").read_text(encoding="utf-8")
    exports = re.search(r"export\{([^}]*)\}", bundle)
    pairs = (pair.split(" as ") for pair in exports[1].split(",")) if exports else ()
    names = {public: own for own, public in pairs}
    if exports is None or "default" not in names:
        raise RuntimeError("the bundle of itables has another form than expected: pin the version before it")
    # a module may not import from its own page, so the library hands over its class in the same scope
    library = bundle.replace(exports[0], f"const SortableTable={names['default']};")
    own = files("clickassay.report").joinpath("templates", "live.js").read_text(encoding="utf-8")
    return _safe(f"{library}\n{own}")


def _safe(text: str) -> str:
    """Keep a script from ending its element early."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def downloads(sections: tuple[Section, ...], shown: tuple[SampleKey, ...]) -> Markup:
    """Return the CSV files of all tables as one JSON object of names and packed texts.

    They have the samples that are shown: a run can have hundreds.

    Arrow's own gzip packs them: its bytes do not depend on the machine.
    """
    tables = (table for section in sections for table in section.every_table if table.rows)
    packed = {table.name: _packed(csv_text(_of_samples(table, shown))) for table in tables}
    return Markup(script_json(packed))  # noqa: S704 - script_json escapes "<"


def _of_samples(table: Table, shown: tuple[SampleKey, ...]) -> Table:
    data, key = table.data, ("market", "depth", "judge")
    if data is None or not set(key) <= set(data.columns):
        return table
    wanted = {(EVERY, 0, EVERY)}
    wanted |= {
        (m, d, j)
        for one in shown
        for m in (one.market, EVERY)
        for d in (one.depth, 0)
        for j in (one.judge, EVERY)
    }
    kept = pl.DataFrame(sorted(wanted), schema={name: data.schema[name] for name in key}, orient="row")
    return replace(table, data=data.join(kept, on=list(key), how="semi", maintain_order="left"))


def _packed(text: str) -> str:
    packed = pa.compress(text.encode("utf-8"), codec="gzip", asbytes=True)
    return base64.b64encode(packed).decode("ascii")
