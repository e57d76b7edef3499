"""Settings: where they come from, which win, and what is refused."""

import re

import pytest

from clickassay.core.errors import SettingsError
from clickassay.core.settings import LOG_SETTINGS, NAMED_SETTINGS, SETTINGS, load_settings, log_settings


def from_toml(folder, text, **options):
    file = folder / "settings.toml"
    file.write_text(text, encoding="utf-8")
    return load_settings(file, **options)


def test_defaults_are_those_of_the_paper():
    chosen = load_settings()
    assert chosen.depth == (5, 10)
    assert chosen.idle_ms == 3_600_000
    assert chosen.scale == ("bad", "fair", "good", "excellent", "perfect")
    assert (chosen.max_grade, chosen.relevant_grade, chosen.success_grade) == (4, 3, 2)
    assert chosen.iterations == 1000


def test_names_are_spelt_as_on_the_command_line_and_one_depth_and_a_scale_with_commas_plainly(tmp_path):
    assert from_toml(tmp_path, 'idle-minutes = 0.5\nidle-scope = "query"').idle_ms == 30_000
    chosen = from_toml(tmp_path, 'depth = 3\nscale = "no, Maybe ,yes"\nrelevant_grade = 2\n')
    assert chosen.depth == (3,)
    assert chosen.scale == ("no", "maybe", "yes")
    assert chosen.max_grade == 2


def test_depths_are_sorted_and_named_once_and_the_deepest_is_stored():
    chosen = load_settings(depth=[10, 3, 10])
    assert chosen.depth == (3, 10)
    assert chosen.stored_depth == 10


def test_click_metrics_keep_their_order_and_are_named_once():
    assert load_settings().click_metric == ("MeanRR",)
    assert load_settings(click_metric=["UCTR, MeanRR", "UCTR"]).click_metric == ("UCTR", "MeanRR")
    with pytest.raises(SettingsError, match="needs at least one click metric, such as MeanRR"):
        load_settings(click_metric=[])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"depth": [0]}, "depths must be between"),
        ({"idle_minutes": 0}, "idle_minutes: found 0, expected a number, above 0, at most 10080"),
        ({"idle_scope": "market"}, "idle_scope: found 'market', expected one of user, query"),
        ({"max_rejected": float("nan")}, "max_rejected"),
        ({"persistence": 1}, "persistence: found 1, expected a number, above 0, below 1"),
        ({"persistence": float("nan")}, "persistence"),
        ({"max_grade": 2}, "relevant_grade 3 is above max_grade 2"),
        ({"success_grade": 5}, "success_grade 5 is above max_grade 4"),
        ({"scale": ["a", " A", "b"]}, "at least two distinct labels"),
        ({"scale": ["a", ""]}, "at least two distinct labels"),
        ({"folds": 0, "max_grade": 0}, "expected a whole number, 1 to 1024; setting max_grade"),
        (
            {"CLICKASSAY_FOLDS": "many"},
            "variable CLICKASSAY_FOLDS: found 'many', expected a whole number, 1 to 1024",
        ),
        ({"CLICKASSAY_DEPHT": "3"}, "unknown variable CLICKASSAY_DEPHT; did you mean CLICKASSAY_DEPTH?"),
        ({"CLICKASSAY_UNJUDGED": "gone"}, "expected one of drop, zero, model, extremes"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(given, message):
    variables = {name: value for name, value in given.items() if name.isupper()}
    with pytest.raises(SettingsError) as caught:
        load_settings(None, variables, **(given if not variables else {}))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


SIZES = {
    "4GB": 4_000_000_000, "512 MiB": 536_870_912, "1.5gb": 1_500_000_000, " 100 kb ": 100_000, "8B": 8,
    "1tib": 1_099_511_627_776,
}  # fmt: skip


@pytest.mark.parametrize(("limit", "size"), SIZES.items())
def test_a_memory_limit_is_a_number_with_its_unit(limit, size):
    settings = load_settings(memory_limit=limit)
    assert (settings.memory_limit, settings.memory_limit_bytes) == (limit, size)


def test_a_variable_wins_over_the_file_and_an_option_over_the_variable(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text("iterations = 7\nseed = 8\nfolds = 3\n", encoding="utf-8")
    variables = {"CLICKASSAY_SEED": "9", "CLICKASSAY_FOLDS": "2", "HOME": "/", "CLICKASSAY_DEPTH": " "}
    chosen = load_settings(file, variables, folds=1)
    assert (chosen.iterations, chosen.seed, chosen.folds, chosen.depth) == (7, 9, 1, (5, 10))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("DEPTH", "3,10", (3, 10)),
        ("NORMALISE_URLS", "false", False),
        ("SCALE", "no, maybe, yes, surely", ("no", "maybe", "yes", "surely")),
        ("METRIC", "RBP(p=0.6,max_rel=4)@3, nDCG@10", ("RBP(p=0.6,max_rel=4)@3", "nDCG@10")),
        ("CLICK_MODELS", "none", ()),
        ("IDLE_MINUTES", "0.5", 0.5),
        ("THREADS", "2", 2),
    ],
)
def test_a_variable_is_a_text_of_what_an_option_takes(name, text, value):
    assert getattr(load_settings(None, {f"CLICKASSAY_{name}": text}), name.lower()) == value


def test_settings_of_spark_are_lines_of_a_variable():
    lines = "spark.a=1,2\nspark.b=x y"
    chosen = load_settings(None, {"CLICKASSAY_SPARK_CONF": lines, "CLICKASSAY_ENGINE": "spark"})
    assert chosen.spark_conf == ("spark.a=1,2", "spark.b=x y")


def test_a_wrong_line_of_a_file_is_refused_with_the_name_of_the_file(tmp_path):
    with pytest.raises(SettingsError, match=r"setting folds in settings file .*settings\.toml: found 0"):
        from_toml(tmp_path, "folds = 0")
    with pytest.raises(SettingsError, match=r"unknown setting iteration in .*; did you mean iterations\?"):
        from_toml(tmp_path, "iteration = 10")


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=lambda one: one.name)
def test_every_setting_says_what_it_means_and_its_range_is_the_one_that_is_checked(setting):
    assert setting.meaning.endswith(".")
    assert all((setting.group, setting.default, setting.expected))
    for end, step in re.findall(r"(?:at most|to) ([\d.]+)|(?:at least|above) ([\d.]+)", setting.limits):
        beyond = float(end) + 1 if end else float(step) - 1
        value = [int(beyond)] if setting.is_list else int(beyond)
        with pytest.raises(SettingsError, match=setting.name):
            load_settings(**{setting.name: value})


def test_the_settings_of_a_log_are_those_that_its_pattern_table_depends_on():
    of_all = {"depth", "idle_minutes", "idle_scope", "normalise_urls", "folds"}
    assert set(NAMED_SETTINGS) == of_all | {"only_judged"}
    beside = {"signal", "satisfied_seconds", "last_click", "outcome", "reformulation_minutes", "periods"}
    assert set(LOG_SETTINGS) == of_all | beside | {"only_judged", "clock", "time_zone"}


def test_a_table_that_is_too_old_to_name_a_setting_has_its_default():
    named = {name: getattr(load_settings(idle_minutes=30), name) for name in NAMED_SETTINGS}
    assert log_settings(named) == {
        **{"idle_minutes": 30, "idle_scope": "user", "normalise_urls": True, "folds": 16},
        **{"only_judged": False, "clock": None, "time_zone": "UTC"},
        **{"signal": ["auto"], "satisfied_seconds": 30.0, "last_click": "satisfied"},
        **{"outcome": [], "reformulation_minutes": 5.0, "periods": "day"},
    }
    assert log_settings({**named, "time_zone": "Europe/Berlin"})["time_zone"] == "Europe/Berlin"
