"""Settings: where they come from, which win, and what is refused."""

from typing import get_args

import pytest
from pydantic import ValidationError

from clickassay.cli.options import Beside
from clickassay.core.errors import SettingsError
from clickassay.core.settings import MAX_DEPTH, Settings, load_settings
from clickassay.report.published.read import known


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


def test_a_file_wins_over_defaults_and_an_option_over_the_file(tmp_path):
    chosen = from_toml(tmp_path, "iterations = 7\nseed = 8\n", seed=9, folds=None)
    assert (chosen.iterations, chosen.seed, chosen.folds) == (7, 9, 1)


def test_names_may_be_spelt_as_on_the_command_line(tmp_path):
    assert from_toml(tmp_path, 'idle-minutes = 0.5\nidle-scope = "query"').idle_ms == 30_000


def test_one_depth_and_a_scale_with_commas_may_be_written_plainly(tmp_path):
    chosen = from_toml(tmp_path, 'depth = 3\nscale = "no, Maybe ,yes"\nrelevant_grade = 2\n')
    assert chosen.depth == (3,)
    assert chosen.scale == ("no", "maybe", "yes")
    assert chosen.max_grade == 2


def test_depths_are_sorted_and_named_once_and_the_deepest_is_stored():
    chosen = load_settings(depth=[10, 3, 10])
    assert chosen.depth == (3, 10)
    assert chosen.stored_depth == 10


def test_settings_cannot_be_changed():
    with pytest.raises(ValidationError, match="frozen"):
        load_settings().seed = 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": [0]}, "depths must lie in"),
        ({"depth": [MAX_DEPTH + 1]}, "depths must lie in"),
        ({"idle_minutes": 0}, "idle_minutes: Input should be greater than 0"),
        ({"idle_scope": "market"}, "'user' or 'query'"),
        ({"folds": 0}, "folds"),
        ({"folds": 1025}, "folds"),
        ({"max_rejected": 1.01}, "max_rejected"),
        ({"max_rejected": float("nan")}, "max_rejected"),
        ({"persistence": 1}, "persistence: Input should be less than 1"),
        ({"persistence": 0}, "persistence: Input should be greater than 0"),
        ({"persistence": float("nan")}, "persistence"),
        ({"iterations": 1}, "iterations"),
        ({"seed": 2**63}, "seed"),
        ({"max_grade": 0}, "max_grade"),
        ({"max_grade": 2}, "relevant_grade 3 is above max_grade 2"),
        ({"success_grade": 5}, "success_grade 5 is above max_grade 4"),
        ({"scale": ["a", " A", "b"]}, "at least two distinct labels"),
        ({"scale": ["a", ""]}, "at least two distinct labels"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(options, message):
    with pytest.raises(SettingsError) as caught:
        load_settings(**options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("limit", ["4GB", "512 MiB", "1.5gb", " 100 kb ", "8B"])
def test_a_memory_limit_is_a_number_with_its_unit(limit):
    assert load_settings(memory_limit=limit).memory_limit == limit


def test_several_faults_are_told_together():
    with pytest.raises(SettingsError, match=r"folds.*; .*seed"):
        load_settings(folds=0, seed=-1)


def test_settings_survive_json():
    chosen = load_settings(depth=[3], scale=["a", "b", "c", "d"], memory_limit="1GB")
    assert Settings(**chosen.model_dump(mode="json")) == chosen


def test_whatever_stands_beside_a_run_can_be_chosen_by_setting_and_option():
    choices = Settings.model_fields["beside"].annotation
    assert set(get_args(get_args(choices)[0])) == set(known()) == {one.value for one in Beside}
