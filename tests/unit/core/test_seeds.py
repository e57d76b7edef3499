"""Generators that depend on names."""

import numpy as np

from clickassay.core.seeds import child


def draw(seed, *names, before=0):
    rng = np.random.default_rng(seed)
    rng.random(before)
    return child(rng, *names).integers(0, 2**62)


def test_a_child_generator_depends_on_seed_spawn_and_names_only():
    assert draw(1, "a", "b") == draw(1, "a", "b", before=9)
    assert len({draw(1, "a", "b"), draw(2, "a", "b"), draw(1, "ab"), draw(1, "b", "a"), draw(1)}) == 5
    first, second = np.random.default_rng(1).spawn(2)
    assert child(first, "a").integers(0, 2**62) != child(second, "a").integers(0, 2**62)
