"""What a text cites is what CITATION.cff says."""

import re

from clickassay.core.provenance import METHOD, __version__, how_to_cite
from support.places import ROOT


def test_the_citation_names_authors_title_year_and_version_of_the_file():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    paper = text.split("- type: conference-paper\n")[1]
    families = re.findall(r"family-names: (\w+)", paper)
    title, year = (re.search(rf"^ +{key}: (.*)$", paper, re.MULTILINE)[1] for key in ("title", "year"))
    assert METHOD.lower() == f"{', '.join(families[:-1])} and {families[-1]}, {title}, CIKM {year}".lower()
    team, name, version = (
        re.search(rf"^(?:  - )?{key}: (.*)$", text, re.MULTILINE)[1] for key in ("name", "title", "version")
    )
    assert version == __version__
    assert f"{team}, {name} {version} (software)" in how_to_cite()
