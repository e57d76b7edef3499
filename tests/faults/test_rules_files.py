"""Files of rules that are missing, broken, or of another form: one line, exit code 2."""

import pytest

from support.logs import tiny
from support.runs.sample_run import sample


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "expected a list of texts"),
        (b"# nothing\n", "expected a list of texts"),
        (b"rules = []", "has no rules, so every run would pass"),
        (b"rules = 'coverage >= 0.8'", "expected a list of texts"),
        (b"rules = [0.8]", "expected a list of texts"),
        (b"rules = [['coverage >= 0.8']]", "expected a list of texts"),
        (b"[rules]\ncoverage = 0.8", "expected a list of texts"),
        (b"rule = ['coverage >= 0.8']", "unknown key rule; expected only"),
        (b"rules = ['coverage >= 0.8']\nstrict = true", "unknown key strict; expected only"),
        (b"rules = ['coverage >= 0.8'", "not valid TOML: "),
        (b"coverage >= 0.8", "not valid TOML: "),
        (b"\x00", "not valid TOML: "),
        (b"rules = ['\xff']", "not valid TOML: "),
        (b"rules = " + b"[" * 50_000, "not valid TOML: "),
        (b"#" * 100_001, "more than 100,000 bytes"),
    ],
)
def test_a_file_of_another_form_is_refused_in_one_line(tmp_path, text, words):
    file = tmp_path / "rules.toml"
    file.write_bytes(text)
    line = tiny.refusal("check", sample(), "--rules", file)
    assert f"rules file {file}" in line
    assert words in line
    assert "rules = [" in line


@pytest.mark.parametrize("text", ["rules = ['']", "rules = ['coverage >= 0.8', 'coverage']"])
def test_a_rule_of_a_file_that_is_none_is_named(tmp_path, text):
    file = tmp_path / "rules.toml"
    file.write_text(text)
    assert "expected a rule such as coverage >= 0.8" in tiny.refusal("check", sample(), "--rules", file)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    assert "none.toml: No such file or directory" in tiny.refusal(
        "check", sample(), "--rules", tmp_path / "none.toml"
    )
    assert "Is a directory" in tiny.refusal("check", sample(), "--rules", tmp_path)


def test_a_mark_of_an_editor_at_the_beginning_is_no_error(tmp_path):
    file = tmp_path / "rules.toml"
    file.write_bytes(b"\xef\xbb\xbfrules = ['coverage >= 0']")
    assert tiny.inside("check", sample(), "--rules", file).code == 0
