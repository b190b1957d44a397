"""Samples that are varied: what changes, what stays, and what is drawn from which seed."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import torch

from conformance.compare.values import decode
from conformance.operators import samples
from conformance.operators.common import COMMON
from conformance.operators.statistics import unstable
from conformance.operators.themes import THEMES, theme_of
from conformance.operators.variations import needed_features, varied

TABLE = torch.arange(12.0).reshape(3, 4)


def all_of(count: int, *tensors: torch.Tensor, pointwise: bool = False) -> dict[str, list[list[torch.Tensor]]]:
    """What tensors are changed to, by the way in which they are."""
    found: dict[str, list[list[torch.Tensor]]] = {}
    for seed in range(count):
        changed, how = varied(tensors, random.Random(seed), pointwise=pointwise)
        found.setdefault(how, []).append(changed)
    return found


def test_layouts_change_no_value_and_values_no_size() -> None:
    before = TABLE.clone()
    found = all_of(300, TABLE)
    for how in ("layout=transposed", "layout=stepped", "layout=offset"):
        for (changed,) in found[how]:
            assert torch.equal(changed, TABLE)
            assert changed.stride() != TABLE.stride() or changed.storage_offset()
    assert {tuple(each[0].shape) for each in found["size=empty"]} == {(0, 4)}
    assert {tuple(each[0].shape) for each in found["size=rank 0"]} == {()}
    for value, number in (("inf", torch.inf), ("minus_inf", -torch.inf), ("zeros", 0.0)):
        for (changed,) in found[f"value={value}"]:
            assert changed.shape == TABLE.shape
            assert set(changed[changed != TABLE].tolist()) <= {number}
    assert all(bool(changed.isnan().any()) for (changed,) in found["value=nan"])
    assert torch.equal(TABLE, before)


def test_whole_numbers_become_extremes_of_pointwise_operators_alone() -> None:
    whole = torch.ones(5, dtype=torch.int32)
    assert "value=extremes" in all_of(100, whole, pointwise=True)
    assert {how for how in all_of(100, whole) if how.startswith("value=")} == {"value=ordinary"}


def test_the_features_that_tensors_need() -> None:
    assert needed_features([TABLE]) == []
    assert needed_features([TABLE.t()]) == ["non_contiguous"]
    assert needed_features([TABLE[:0], TABLE[:0]]) == ["empty"]
    assert needed_features([TABLE / 0]) == ["non_finite"]
    assert needed_features([TABLE, TABLE.int()[0, 0]]) == ["zero_dim", "mixed_dtypes", "broadcasting"]


@pytest.mark.parametrize(
    ("expected", "exact", "is_unstable"),
    [
        (torch.tensor([1, 2]), torch.tensor([1, 2]), False),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), True),
        (torch.tensor([1.5, torch.inf]), torch.tensor([1.25, torch.inf]).double(), False),
        (torch.tensor([1.5, torch.inf]), torch.tensor([1.5, 1e300], dtype=torch.float64), True),
        (torch.tensor([torch.nan]), torch.tensor([torch.inf]).double(), True),
        ((torch.tensor(1.0), torch.tensor(True)), (torch.tensor(1.0), torch.tensor(False)), True),
        (torch.tensor([1.0]), torch.tensor([1.0, 2.0]), True),
    ],
)
def test_what_rounding_decides_judges_nobody(expected: object, exact: object, is_unstable: bool) -> None:
    assert unstable(expected, exact) is is_unstable


def test_every_operator_has_a_theme_and_no_theme_is_small() -> None:
    themes = samples.themes()
    assert tuple(themes) == THEMES
    counts = Counter(name for operators in themes.values() for name in operators)
    assert set(counts.values()) == {1}
    assert len(counts) > 600
    assert min(map(len, themes.values())) > 25
    for operator, theme in (("add", "pointwise"), ("sum", "reductions"), ("linalg.svd", "linear-algebra")):
        assert operator in themes[theme]
    assert theme_of("an operator of tomorrow", "OpInfo") == "shapes"


def test_the_common_operators_are_pytorchs_and_some_of_every_theme() -> None:
    themes = samples.themes()
    assert {name for operators in themes.values() for name in operators} >= COMMON
    assert all(len(COMMON.intersection(operators)) >= 10 for operators in themes.values())


def test_a_seed_says_which_samples_are_drawn_and_the_first_is_as_pytorch_has_it() -> None:
    def drawn(seed: int) -> list[samples.Sample]:
        found = samples.varied_samples_of("add", "float32", seed, 4, ["inference", "backward"])
        return [each for each in found if isinstance(each, samples.Sample)]

    first, again = drawn(3), drawn(3)
    assert [each.values for each in first] == [each.values for each in again]
    assert [each.inputs for each in first] == [each.inputs for each in again]
    assert {each.inputs for each in first} != {each.inputs for seed in range(4, 8) for each in drawn(seed)}
    for seed in range(12):
        plain = drawn(seed)[0]
        assert {"value=ordinary", "layout=contiguous", "mode=no_grad"} <= set(plain.values)
        assert plain.call.startswith("add(float32[")
        assert torch.equal(plain.function(*decode(plain.inputs)), decode(plain.expected))
    assert len({value for seed in range(12) for each in drawn(seed) for value in each.values}) > 10
