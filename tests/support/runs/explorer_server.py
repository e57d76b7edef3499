"""The page of `clickassay explore`, served and visited."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

DETAILS = '[data-cell-name="configurations_details"]'
PATIENCE_MS = 30_000


@contextmanager
def server(folder: Path, home: Path):
    """Serve a run as the command does; yield the address it tells, and end it with Ctrl-C."""
    words = [sys.executable, "-m", "clickassay", "explore", str(folder), "--no-browser", "--min-users", "1"]
    variables = os.environ | {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables
    )
    try:
        yield process.stdout.readline().removeprefix("Page: ").strip(), process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        finally:
            process.kill()
            process.communicate()


class Visit:
    """One page and all that it asked for, complained of, or popped up."""

    def __init__(self, page, address, *, drawn=True):
        self.page, self.asked, self.complaints, self.popups = page, [], [], []
        page.set_default_timeout(PATIENCE_MS)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("websocket", lambda socket: self.asked.append(socket.url))
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dismiss)
        page.goto(address)
        for part in (f"{DETAILS} table", "marimo-vega canvas") if drawn else ():
            page.wait_for_selector(part)

    def _dismiss(self, dialog):
        self.popups.append(dialog.message)
        dialog.dismiss()

    def cell(self, name):
        return self.page.locator(f'[data-cell-name="{name}"]')

    def wait_for(self, name, words):
        self.cell(name).get_by_text(words).first.wait_for()

    def choose(self, label, value):
        self.page.get_by_label(label, exact=True).select_option(value)

    def tab(self, name):
        self.page.get_by_role("tab", name=name).click()

    def ask(self, sql):
        self.tab("SQL")
        self.page.get_by_label("SQL", exact=True).last.fill(sql)
        self.page.get_by_role("button", name="Run").click()

    def download(self, cell, button):
        with self.page.expect_download() as waiting:
            self.cell(cell).get_by_text(button, exact=True).click()
        return waiting.value

    def marks(self):
        """Return the pixels of points drawn on the chart, (x, y) from the left upper corner of the page."""
        return self.page.evaluate(MARKS)

    def hosts(self):
        """Return whom the page asked."""
        return {urlsplit(url).hostname for url in self.asked if not url.startswith(("data:", "blob:"))}


@contextmanager
def visited(chromium, address, **more):
    """Visit an address with a browser as wide as a desk's."""
    context = chromium.new_context(viewport={"width": 1400, "height": 1000}, accept_downloads=True)
    yield Visit(context.new_page(), address, **more)
    context.close()


MARKS = """() => {
  const canvas = document.querySelector('marimo-vega').shadowRoot.querySelector('canvas');
  const box = canvas.getBoundingClientRect(), scale = canvas.width / box.width;
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, found = [];
  for (let i = 0; i < data.length; i += 4) {
    const x = (i / 4 % canvas.width) / scale, y = Math.floor(i / 4 / canvas.width) / scale;
    if (data[i + 2] - data[i] > 25 && x < 485) found.push([box.x + x, box.y + y]);
  }
  return found;
}"""
