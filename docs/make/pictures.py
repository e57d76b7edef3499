"""Take the pictures of the documents from the sample report, in headless Chromium: `make pictures`."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
REPORT = (ROOT / "reports" / "sample" / "report.html").resolve().as_uri()
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
PICTURES = {
    "report": {"viewport": {"width": 1200, "height": 1330}},
    "report-dark": {"viewport": {"width": 1200, "height": 1330}, "color_scheme": "dark"},
    "report-phone": {"viewport": {"width": 390, "height": 844}},
}

def main() -> None:
    """Write the three pictures of the screen, and the first page as it is printed."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, options in PICTURES.items():
            page = browser.new_context(reduced_motion="reduce", **options).new_page()
            page.goto(REPORT)
            page.wait_for_timeout(300)
            page.screenshot(path=IMAGES / f"{name}.png")
        printed(browser)
        browser.close()


def printed(browser: Browser) -> None:
    """Picture the first page of the report on paper."""
    page = browser.new_page()
    page.goto(REPORT)
    with tempfile.TemporaryDirectory() as folder:
        page.pdf(path=Path(folder) / "report.pdf", format="A4", print_background=True)
        command = ["pdftoppm", "-r", "60", "-f", "1", "-l", "1", "-singlefile", "-png"]
        subprocess.run([*command, f"{folder}/report.pdf", str(IMAGES / "report-print")], check=True)


if __name__ == "__main__":
    main()
