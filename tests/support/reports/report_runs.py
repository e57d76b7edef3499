"""Runs to report on, from rich to empty and hostile, and a reader of the pages that come of them."""

import base64
import gzip
import json
from html.parser import HTMLParser

import numpy as np

from clickassay.findings.draw import draw_findings
from clickassay.findings.run import run_of as read_run
from clickassay.report.build import build_report
from support.reports.report_tables import (
    HOSTILE,
    empty_tables,
    frame_of,
    nothing_kept_tables,
    one_configuration_tables,
    run_info,
    run_tables,
    small_tables,
)

VOID = {"meta", "line", "path", "rect", "br"}


def drawn(tables, info):
    """The run of these tables and what it found: what a report is made of."""
    run = read_run(tables, info)
    return run, draw_findings(run, np.random.default_rng(0))


def report_of(tables, info):
    return build_report(*drawn(tables, info))


def hostile_info():
    info = run_info(
        command=HOSTILE,
        seed=0,
        notes=[HOSTILE],
        skipped_attributes=[HOSTILE],
        versions={HOSTILE: HOSTILE},
        inputs={HOSTILE: {"names": [f"{HOSTILE}\udcff"], "files": 1, "bytes": 1, "digest": HOSTILE}},
        has_navigational=False,
    )
    info["settings"]["scale"] = ["bad", "fair", f"{{{{x}}}} {HOSTILE}", "excellent", "perfect"]
    return info


def hostile_tables():
    return run_tables((HOSTILE,), (5,), (f"=cmd|' /C calc'!A0 {HOSTILE}",), n_queries=12, attribute="none")


def checks(*statuses):
    """The table of checks of the log's health with these statuses; those that fire say so."""
    names = ("no_clicks", "late_clicks", "busy_user")
    rows = [
        (name, status, 0.5, 0.25, *("",) * 3)
        if status == "ok"
        else (name, status, 0.5, 0.25, f"Of 9 clicks, 3 ({name}) fail: they are late.", "Mend the log.", "")
        for name, status in zip(names, statuses, strict=False)
    ]
    return frame_of("health", rows)


RUNS = {
    "full": (run_tables, run_info),
    "small": (small_tables, run_info),
    "hostile": (hostile_tables, hostile_info),
    "nothing kept": (nothing_kept_tables, run_info),
    "one configuration": (one_configuration_tables, lambda: run_info(has_navigational=False)),
    "empty": (empty_tables, dict),
}


def settings_with(**changes):
    """The content of settings.json with some settings changed."""
    info = run_info()
    return {**info, "settings": info["settings"] | changes}


def run_of(tables, **changes):
    """A run with these tables and some settings changed, as sections read it."""
    return read_run(tables, settings_with(**changes))


class Page(HTMLParser):
    """Elements, attributes, ids and scripts of a page, and whether every element is closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.tags, self.attributes, self.scripts = [], [], [], [], []
        self.links, self.seen, self.elements = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.elements.append((tag, dict(attrs)))
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag == "a":
            self.links.append((self.open[-1], dict(attrs)))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)
        else:
            self.seen.append(data)

    @property
    def ids(self):
        return [value for _, key, value in self.attributes if key == "id"]

    @property
    def files(self):
        """The packed files of the page by name, unpacked with Python's own gzip."""
        return {name: gzip.decompress(base64.b64decode(text)) for name, text in self.packed.items()}

    @property
    def packed(self):
        """The same as they are packed."""
        (packed,) = (json.loads(text) for attrs, text in self.scripts if attrs.get("id") == "files")
        return packed


def page_of(folder):
    return Page((folder / "report.html").read_text(encoding="utf-8"))
