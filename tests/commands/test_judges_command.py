"""`clickassay judges` as its users meet it."""

import json

import pytest

from support.logs import tiny


@pytest.fixture
def files(tmp_path):
    rows = [(f"q{n // 4}", f"d{n % 4}", n * 7 % 5) for n in range(240)]
    for name, off in (("people", 0), ("model", 1)):
        lines = (f"{q} 0 {d} {min(4, grade + off * (n % 3 == 0))}\n" for n, (q, d, grade) in enumerate(rows))
        (tmp_path / f"{name}.txt").write_text("".join(lines))
    return tmp_path / "people.txt", tmp_path / "model.txt"


def test_it_says_how_far_two_files_agree(files):
    said = tiny.said_by("judges", *files, "-q")
    assert said.startswith("people and model have a quadratic kappa of 0.9")
    assert "model gives higher grades, by 0.2" in said
    assert "How often each grade is given" in said


def test_json_has_the_verdict_and_every_measure(files):
    told = json.loads(tiny.said_by("judges", *files, "--judge", "a", "--judge", "b", "--json"))
    assert told["verdict"].startswith("a and b have")
    assert {row["measure"] for row in told["agreement"]} >= {"kappa", "ac1", "alpha_ordinal"}
    assert all(row["ci_low"] <= row["value"] <= row["ci_high"] for row in told["agreement"])


def test_the_folder_appears_whole_and_is_replaced_by_force_alone(files, tmp_path):
    out = tmp_path / "out"
    assert tiny.said_by("judges", *files, "-q", "--out", out).endswith(f"Tables: {out}\n")
    assert (out / "to_decide.csv").read_text().startswith("query,url,grade,grade of people,grade of model\n")
    assert "exists already" in tiny.refusal("judges", *files, "--out", out)
    tiny.said_by("judges", *files, "--out", out, "--force")


def test_one_file_of_one_judge_is_refused_in_one_line(files):
    assert "one judge; give a file for each judge" in tiny.refusal("judges", files[0])


def test_files_of_one_name_are_judges_by_their_paths_and_none_is_given_twice(files, tmp_path):
    (tmp_path / "other").mkdir()
    again = tmp_path / "other" / "people.txt"
    again.write_text(files[1].read_text())
    rows = json.loads(tiny.said_by("judges", files[0], again, "-q", "--json"))["agreement"]
    assert {(row["judge_a"], row["judge_b"]) for row in rows} == {(str(files[0]), str(again))}
    assert "is given twice; give each once" in tiny.refusal("judges", files[0], files[0])


def test_names_of_judges_clash_with_nothing(files, tmp_path):
    tiny.said_by("judges", *files, "--judge", "query", "--judge", "grade", "--out", tmp_path / "out", "-q")
    head = (tmp_path / "out" / "to_decide.csv").read_text().splitlines()[0]
    assert head == "query,url,grade,grade of query,grade of grade"
    line = tiny.refusal("judges", *files, "--judge", "all", "--judge", "x")
    assert "a judge is called 'all', which stands for all judges; name it by --judge" in line
