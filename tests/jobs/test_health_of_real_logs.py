"""Real logs and simulated worlds get only cautions that are true of them."""

import pytest

import clickassay as ca
from clickassay.core.settings import Settings
from clickassay.inputs.importers.pyclick import import_pyclick
from clickassay.inputs.importers.ubi import import_ubi
from clickassay.inputs.simulate.simulation import simulate
from clickassay.jobs.inspect import inspect_log, tables_of
from support.logs.real_logs import CLARA, TREC, clara, track
from support.places import DATA

YANDEX, CHORUS = DATA / "yandex_pyclick_sample", DATA / "chorus_esci_ubi"

NO_TIMES = {"same_minute", "one_search_each", "busy_query"}
"""The sample for PyClick has neither times nor users, and its 20 queries are unevenly frequent."""

LOGS = {
    # 19 days of January lack searches and hours others, whatever the reason; its days differ much
    "clara": (CLARA, clara, {"double_days", "missing_days", "silent_hours"}),
    # 12 of 191 lists; the queries of a topic share its judgments
    "trec-2012": (TREC, track(2012), {"repeated_results", "near_duplicate_queries"}),
    "trec-2013": (TREC, track(2013), {"near_duplicate_queries"}),
    "yandex": (YANDEX, lambda out: import_pyclick(YANDEX / "testSample", out=out), NO_TIMES),
    # clicks in a demo shop, by hand: some name no search, come a day later, or lie below the tenth result
    "chorus": (
        CHORUS,
        lambda out: import_ubi([CHORUS / "ubi_queries_events.ndjson"], out=out),
        {"unmatched_clicks", "late_clicks", "clicks_elsewhere", "missing_days"},
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_real_log_gets_only_cautions_that_are_true_of_it(name, tmp_path):
    folder, imported, expected = LOGS[name]
    if not folder.exists():
        pytest.skip(f"{folder.name} is not next to the checkout")
    imported(tmp_path / "log")
    top = 5 if name == "clara" else 4
    settings = Settings(max_rejected=0.5, max_grade=top, scale=tuple(map(str, range(top + 1))))
    found = inspect_log(tables_of(tmp_path / "log"), settings).health
    assert {one.check: one.status for one in found} == dict.fromkeys(expected, "caution")
    assert "zone" not in " ".join(one.text for one in found)


@pytest.mark.parametrize("world", ["web", "cascade", "rbp", "dcg", "rr", "null"])
def test_nothing_is_said_of_a_simulated_world(world, tmp_path):
    simulate(world, out=tmp_path / "log", n_searches=6_000, seed=3)
    assert inspect_log(tables_of(tmp_path / "log"), Settings()).health == ()


@pytest.mark.skipif(not CLARA.exists(), reason="no ../shared/data to read")
def test_a_log_that_is_all_noise_supports_no_click_model(tmp_path):
    clara(tmp_path / "log")
    log = {name: tmp_path / "log" / f"{name}.parquet" for name in ("searches", "clicks")}
    ca.pattern_table(**log, out=tmp_path / "patterns", depth=[5], max_rejected=0.5, progress=False)
    found = ca.compare_click_models(tmp_path / "patterns", hold_out="lists", depth=5)
    assert found.model is None
    assert "cannot tell" in found.answer
