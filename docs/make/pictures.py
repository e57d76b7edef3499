"""Take the pictures of the documents in headless Chromium: `make pictures`, of the sample report.

    .venv/bin/python docs/make/pictures.py --gallery FOLDER

takes the gallery's, of reports in a folder: `week-report` of the tutorial, and the runs that
`python -m benchmarks.promises.real_logs --runs FOLDER` leaves.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
GALLERY = ROOT / "reports" / "gallery"
SHOWN = ("week-report", "run_clara2", "run_trec2013")
REPORT = (ROOT / "reports" / "sample" / "report.html").resolve().as_uri()
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
PICTURES = {
    "report": {"viewport": {"width": 1200, "height": 1330}},
    "report-dark": {"viewport": {"width": 1200, "height": 1330}, "color_scheme": "dark"},
    "report-phone": {"viewport": {"width": 390, "height": 844}},
}


def main() -> None:
    """Write the pictures of the sample report, or of the gallery."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gallery", type=Path, help="folder of the reports of the gallery")
    folder = parser.parse_args().gallery
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        if folder is None:
            for name, options in PICTURES.items():
                screen(browser, REPORT, IMAGES / f"{name}.png", options)
            printed(browser)
        else:
            for name in SHOWN:
                report = (folder / name / "report.html").resolve().as_uri()
                screen(browser, report, GALLERY / f"{name.split('_')[-1]}.png", PICTURES["report"])
        browser.close()


def screen(browser: Browser, report: str, out: Path, options: dict) -> None:
    """Picture the first screen of a report."""
    page = browser.new_context(reduced_motion="reduce", **options).new_page()
    page.goto(report)
    page.wait_for_timeout(300)
    page.screenshot(path=out)


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
