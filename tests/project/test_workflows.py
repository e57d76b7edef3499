"""Workflows of a forge call the Makefile and nothing else, and are what the forge and an auditor expect."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.places import ROOT

FORGE = ROOT / ".github"
WORKFLOWS = sorted((FORGE / "workflows").glob("*.yml"))
FORMS = sorted((FORGE / "ISSUE_TEMPLATE").glob("w*.yml"))
TOOLS = Path(sys.executable).parent


def ran(*command):
    done = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_calls_targets_of_the_makefile_and_nothing_else(file):
    text = file.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    tiers = set(re.findall(r"tier: ([\w-]+)", text)) | set(
        re.findall(r"[\w-]+", "".join(re.findall(r"tier: \[(.*)\]", text)))
    )
    called = re.findall(r"- run: (.*)", text)
    assert called
    for line in called:
        (target,) = re.fullmatch(r"make (\S+|\$\{\{ matrix\.tier \}\})", line).groups()
        assert ({target} if target in targets else tiers) <= targets


def test_the_workflow_of_the_page_on_nightly_runs_has_the_form_of_the_forge(tmp_path):
    page = (ROOT / "docs" / "how-to" / "nightly-run.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```yaml nightly.yml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "nightly.yml").write_text(text, encoding="utf-8")
    ran(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", tmp_path / "nightly.yml")


def test_workflows_and_forms_have_the_forms_of_the_forge():
    ran(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)
    ran(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.github-issue-forms", *FORMS)


def test_an_auditor_finds_nothing_in_the_workflows():
    ran(TOOLS / "zizmor", "--offline", "--config", FORGE / "zizmor.yml", FORGE / "workflows")
