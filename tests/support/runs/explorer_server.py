"""The page of `clickassay explore`, served and visited."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

DETAILS = "#configuration"
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
        if drawn:
            page.wait_for_selector("svg circle")

    def _dismiss(self, dialog):
        self.popups.append(dialog.message)
        dialog.dismiss()

    def choose(self, label, value):
        """Choose an option, which loads the page of it."""
        with self.page.expect_navigation():
            self.page.get_by_label(label).select_option(value)

    def find(self, words):
        self.page.get_by_label("find").fill(words)
        with self.page.expect_navigation():
            self.page.get_by_label("find").press("Enter")

    def tab(self, name):
        with self.page.expect_navigation():
            self.page.get_by_role("navigation").get_by_text(name).click()

    def ask(self, sql):
        self.tab("SQL")
        self.page.locator("textarea").fill(sql)
        with self.page.expect_navigation():
            self.page.get_by_role("button", name="Run").click()
        return self.page.inner_text("#answer")

    def download(self, button):
        with self.page.expect_download() as waiting:
            self.page.locator("main").get_by_text(button, exact=True).first.click()
        return Path(waiting.value.path())

    def marks(self):
        """Return the middles of the points of the chart, (x, y) from the left upper corner of the page."""
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


MARKS = """() => [...document.querySelectorAll('svg circle')].map(mark => {
  const box = mark.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})"""
