"""The documents in parts, and the scripts of docs/make that write some of them."""

import importlib.util
import re

from support.places import ROOT


def parts(text, marker="##"):
    """Return {heading: text} of one level of headings, without what stands before the first."""
    pieces = re.split(rf"^{marker} (.+)$", text, flags=re.MULTILINE)[1:]
    headings = pieces[::2]
    assert len(set(headings)) == len(headings)
    return dict(zip(headings, pieces[1::2], strict=True))


def script(name):
    """Return a script of docs/make, which is no package, as a module."""
    spec = importlib.util.spec_from_file_location(f"make_{name}", ROOT / "docs" / "make" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
