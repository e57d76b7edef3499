"""Every command that `inspect` or a message prints works: it is run as it stands, with capitals filled in."""

import gzip
import json
import re
import shlex
import shutil
import subprocess
import tomllib

import pytest

from support.logs import tiny
from support.places import IMPORTED

PARTNERS = {
    "LOG": ("log.tsv", "log.txt", "part.txt"),
    "XML": ("sessions.xml", "log.xml"),
    "QRELS": ("qrels.txt",),
    "SIZES": ("sizes.txt",),
}
"""Files of a case that names in capitals stand for."""

COMMAND = re.compile(r"clickassay import [a-z0-9-]+ .*? --out FOLDER")
OPTION = re.compile(r"(?:--grade-map|--cuts) (?:'[^']*'|[^' ]+)")


def commands_in(text):
    return list(dict.fromkeys(COMMAND.findall(text)))


def filled(command, folder, out):
    """Return the arguments of a command, or None if a case has no file for a name in capitals."""
    words = []
    for word in shlex.split(command)[1:]:
        partner = next((folder / name for name in PARTNERS.get(word, ()) if (folder / name).exists()), None)
        if word in PARTNERS and partner is None:
            return None
        words.append(str(out) if word == "FOLDER" else str(partner or word))
    return words


def files_of(case):
    asides = {"expected.json", "options.json", "map.tsv", "topics.tsv", *PARTNERS["SIZES"]}
    return [file for file in sorted(case.iterdir()) if file.name not in asides]


CASES = [case for case in sorted(IMPORTED.glob("*/*")) if case.is_dir()]


FIRST = {case.parent: case for case in reversed(CASES)}.values()


@pytest.mark.parametrize(
    ("case", "packed"),
    [*((case, False) for case in CASES), *((case, True) for case in FIRST)],
    ids=lambda case: f"{case.parent.name}-{case.name}" if hasattr(case, "parent") else str(case),
)
def test_what_inspect_prints_of_a_file_of_a_case_works(case, packed, tmp_path):
    for number, file in enumerate(files_of(case)):
        given = file
        if packed and file.suffix not in (".parquet", ".csv"):
            given = tmp_path / file.name
            given.write_bytes(gzip.compress(file.read_bytes()))
        ended = tiny.inside("inspect", given, "--quiet", "--max-rejected", "1", "--depth", "1")
        if ended.code == 2:
            assert case.name == "gb18030", ended.err  # its encoding cannot be known
            continue
        for place, command in enumerate(commands_in(ended.out)):
            arguments = filled(command, case, tmp_path / f"{number}-{place}")
            if arguments is not None:
                again = tiny.inside(*arguments, "--quiet")
                assert again.code == 0, (command, again.err)
        assert ended.code == 1 or commands_in(ended.out) or "clickassay run --searches" in ended.out


def test_the_documents_of_ubi_in_a_folder_have_one_command(tmp_path):
    query = {"query_id": "q1", "user_query": "lamp", "client_id": "c", "timestamp": "2026-05-01T10:00:00Z"}
    click = {"query_id": "q1", "action_name": "click", "client_id": "c", "timestamp": "2026-05-01T10:00:09Z"}
    hits, attributes = (
        {"query_response_hit_ids": ["p1"]},
        {"event_attributes": {"object": {"object_id": "p1"}}},
    )
    (tmp_path / "queries.ndjson").write_text(json.dumps(query | hits) + "\n")
    (tmp_path / "events.ndjson").write_text(json.dumps(click | attributes) + "\n")
    ended = tiny.inside("inspect", tmp_path, "--quiet")
    (command,) = commands_in(ended.out)
    assert tiny.inside(*filled(command, tmp_path, tmp_path / "out"), "--quiet").code == 0


REFUSALS = tomllib.loads((IMPORTED / "judgments" / "refusals.toml").read_text(encoding="utf-8"))
QUOTE = "\0"
"""In place of a quote inside quotes, which the pattern of an option does not know."""

NOW_CLOSED = {"gains", "fractions", "too_many_fractions", "words", "grade_below_0"}
SCORES = "".join(f"q,{n},{n / 50}\n" for n in range(51))
ODD = {
    "decimal commas": ("r.csv", "query;docid;rating\nq;a;1,5\nq;b;3,0\n"),
    "thousands": ("r.csv", "query;docid;rating\nq;a;1,000\nq;b;3\n"),
    "words with blanks and quotes": ("r.csv", "query,docid,rating\nq,a,it's so\nq,b,$so (so)\n"),
    "halves as qrels": ("r.qrels", "1 0 a 0.4\n1 0 b 1.5\n1 0 c 2.0\n"),
    "halves in a table of a run": ("r.csv", "query,url,grade\nq,a,0.5\nq,b,2.5\nq,c,4\n"),
    "scores in a table of a run": ("r.csv", "query,url,grade\n" + SCORES),
    "weights of clicks": (
        "r.json", '{"hits":{"hits":[{"_source":{"judgmentRatings":[{"query":"q","ratings":'
        '[{"docId":"a","rating":"1.523"},{"docId":"b","rating":"0.012"}]}]}}]}}',
    ),
}  # fmt: skip


def wanted(name):
    """Return name and text of the file of a refusal, or of an odd one."""
    return ODD[name] if name in ODD else next(iter(REFUSALS[name]["files"].items()))


@pytest.mark.parametrize("name", [*sorted(NOW_CLOSED), *ODD])
def test_the_option_that_a_refusal_suggests_works(name, tmp_path):
    file = tmp_path / wanted(name)[0]
    file.write_text(wanted(name)[1].lstrip("\n"), encoding="utf-8")
    seen = tiny.inside("inspect", file, "--quiet")
    assert (seen.code, commands_in(seen.out.replace(" FILE ", " "))) == (1, []) or " FILE " in seen.out
    refused = tiny.inside("import", "judgments", file, "--out", tmp_path / "out", "--quiet")
    assert refused.code == 2
    assert "guess" in refused.err or "?" in refused.err
    option, value = shlex.split(OPTION.search(refused.err.replace("'\"'\"'", QUOTE))[0])
    value = value.replace(QUOTE, "'").replace("?", "1")
    again = tiny.inside("import", "judgments", file, option, value, "--out", tmp_path / "out", "--quiet")
    assert again.code == 0, (value, again.err)


@pytest.mark.parametrize("text", ["1 0 a 0.4\n1 0 b 1.5\n1 0 c 2.0\n", "1 0 a 100\n1 0 b 0\n"])
def test_the_way_from_evaluate_through_import_ends_in_evaluate(text, tmp_path):
    (tmp_path / "q").write_text(text)
    (tmp_path / "r").write_text("1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n")
    refused = tiny.inside("evaluate", tmp_path / "q", tmp_path / "r", "--quiet")
    assert refused.code == 2
    (command,) = commands_in(refused.err)
    assert "evaluate FOLDER/judgments.parquet" in refused.err
    assert tiny.inside(*filled(command, tmp_path, tmp_path / "out"), "--quiet").code == 0
    evaluated = tiny.inside("evaluate", tmp_path / "out" / "judgments.parquet", tmp_path / "r", "--quiet")
    assert evaluated.code == 0, evaluated.err


@pytest.mark.parametrize(
    ("name", "content", "tool"),
    [
        ("it's r.csv", "query,docid,rating\nq,a,1\n".encode("utf-16"), "iconv"),
        ("searches.json", b'[{"search_id":1,"user_id":1,"query":"q","timestamp":0,"results":["a"]}]', "jq"),
    ],
)
def test_a_command_of_the_shell_that_is_printed_makes_a_file_that_is_read(name, content, tool, tmp_path):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    (tmp_path / name).write_bytes(content)
    ended = tiny.inside("inspect", tmp_path / name, "--quiet")
    command = re.search(rf"{tool} .*", ended.out + ended.err)[0]
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, timeout=30)
    (made,) = (file for file in tmp_path.iterdir() if file.name != name)
    assert tiny.inside("inspect", made, "--quiet").code == 0


@pytest.mark.parametrize(
    "text",
    ["query,docid,rating\n", "query,url,grade\n", "query,url,grade\nq,a,0.12\nq,b,0.53\n",
     "dear diary\ntoday\n", "query-id\tcorpus-id\tscore\n", '{"judgmentRatings":[]}'],
)  # fmt: skip
def test_what_nothing_reads_has_no_command_and_ends_with_1(text, tmp_path):
    (tmp_path / "r.csv").write_text(text)
    ended = tiny.inside("inspect", tmp_path / "r.csv", "--quiet")
    assert (ended.code, commands_in(ended.out.replace("judgments FILE", ""))) == (1, []), ended.out


ODD_NAMES = ("{}", "${}", "'{}'", "`{}`; #", '<{}> && "*"', "{}.", "-{}")
"""Columns as people and tools write them, `{}` for our name with blanks and capitals."""


def typed(line):
    """Return the words of a line as bash takes them."""
    told = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True, timeout=9
    )
    return told.stdout.decode().split("\0")[:-1] if line.strip() else []


@pytest.mark.parametrize("form", ODD_NAMES)
def test_options_that_name_columns_work_as_they_are_printed(form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, shown = [], []
    for what in ("searches", "clicks", "judgments"):
        frame = getattr(tiny, what)()
        frame.rename(
            {name: form.format(name.replace("_", " ").title()) for name in frame.columns}
        ).write_parquet(f"{what}.parquet")
        options += [f"--{what}", f"{what}.parquet"]
        said = tiny.inside("inspect", f"{what}.parquet").out.splitlines()[-1]
        shown += typed(said)[2:] if what != "judgments" else []  # an importer reads them too
    for _ in range(3):
        refused = tiny.refusal("run", *options, *tiny.QUICK, "--out", "run")
        options += typed(refused.partition("Then add ")[2])
    assert set(shown) < set(options)
    assert tiny.inside("run", *options, *tiny.QUICK, "--out", "run").code == 0


EVENT = {
    "event": {"action": "search"}, "session": {"id": "s"}, "user": {"id": "u"}, "@timestamp": 1,
    "search": {"query": "lamp", "results": {"items": [{"document": {"id": "a"}}], "total_results": 2}},
}  # fmt: skip
RESPONSE = {"took": 1, "hits": {"total": {"value": 9}, "hits": [{"_id": "a", "_score": 1.0}]}}
HITS = "search_id,user_id,query,timestamp,hits\ns,u,lamp,1,25\n"
PRODUCTS = "id,sku,created_at,name\n7,a,2026-01-01T00:00:00Z,lamp\n"


@pytest.mark.parametrize(
    ("command", "content", "options"),
    [
        (
            "patterns --clicks c --searches",
            EVENT,
            ["searches.user_id=user.id", "searches.timestamp=@timestamp"],
        ),
        ("patterns --clicks c --searches", RESPONSE, ["searches.results=hits.hits._id"]),
        ("patterns --clicks c --searches", HITS, None),  # a number of hits is no list
        ("inspect", PRODUCTS, None),  # an id of a row names no search
    ],
)
def test_a_column_that_cannot_be_meant_is_not_proposed(command, content, options, tmp_path):
    is_text = isinstance(content, str)
    file = tmp_path / ("t.csv" if is_text else "t.jsonl")
    file.write_text(content if is_text else json.dumps(content) + "\n")
    given = [] if command == "inspect" else ["--out", tmp_path / "out"]
    ended = tiny.inside(*command.split(), file, *given)
    _, _, proposed = (ended.out + ended.err).partition("add ")
    assert [word for word in typed(proposed) if word != "--column"] == (options or [])
    assert "It may be" not in ended.out
