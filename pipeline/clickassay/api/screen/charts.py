"""Pictures of a report in a notebook."""

from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from clickassay.api.given import Place
from clickassay.api.screen.html import paragraph
from clickassay.core.files.output import place_to_write, published_file
from clickassay.core.text.escape import html


@dataclass(frozen=True)
class Chart:
    """A picture of a report; a notebook shows it.

    Attributes
    ----------
    name, title
        Its name for `RunResult.chart`, and its heading.
    alt
        What it shows, in words.
    svg
        The drawing.
    """

    name: str
    title: str
    alt: str
    svg: str

    def save(self, file: Place) -> Path:
        """Write the drawing as a new file of SVG; return it.

        Raises
        ------
        OutputError
            If the file exists, or cannot be written.
        """
        place = place_to_write(file)
        with published_file(place) as work:
            work.write_text(self.svg, encoding="utf-8", newline="\n")
        return place

    def __repr__(self) -> str:
        return f"{self.title}: {self.alt}"

    def _repr_html_(self) -> str:
        return f"<section>{paragraph(self.title)}{picture_of(self)}</section>"


def picture_of(chart: Chart) -> str:
    """Return a chart as an image on a light card, which dark notebooks show as it is."""
    data = b64encode(chart.svg.encode()).decode("ascii")
    card = "background:#fbfbfa;padding:0.75rem;max-width:min(100%,46rem)"
    return f'<img alt="{html(chart.alt)}" style="{card}" src="data:image/svg+xml;base64,{data}">'
