"""Samples that are varied: what changes, what stays, and what is drawn from which seed."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import torch
from torch.utils import _pytree as pytree

from conformance.api.errors import ConformanceFailure
from conformance.compare.comparison import assert_close
from conformance.compare.values import decode
from conformance.generate.axes import AXES
from conformance.operators import samples
from conformance.operators.common import COMMON
from conformance.operators.forms import forms_of
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


@pytest.mark.parametrize("operator", ["add", "clamp", "nn.functional.relu", "index_add", "nn.functional.conv2d"])
def test_however_an_operator_is_written_it_gives_the_same_and_leaves_its_arguments(operator: str) -> None:
    entry = samples.database()[operator]
    sample = next(iter(entry.sample_inputs("cpu", torch.float32, set_seed=False)))
    before = pytree.tree_map_only(torch.Tensor, torch.clone, sample.input)
    expected = entry(sample.input, *sample.args, **sample.kwargs)
    for _, written in forms_of(entry):
        assert_close(written(sample.input, *sample.args, **sample.kwargs), expected, "the operator")
        assert_close(sample.input, before, "its argument")


def test_an_operator_is_written_in_all_the_ways_that_pytorch_has() -> None:
    found = {name: [form for form, _ in forms_of(entry)] for name, entry in samples.database().items()}
    assert found["sub"] == ["method", "in place", "sign", "alias"]
    assert found["cat"] == ["alias", "alias"]
    assert found["nn.LSTM"] == []
    counts = Counter(form for forms in found.values() for form in forms)
    assert all(
        counts[form] >= least for form, least in {"method": 250, "in place": 100, "sign": 15, "alias": 50}.items()
    )
    assert set(counts) == set(AXES["form"])


def test_some_samples_are_written_otherwise_and_those_in_place_need_the_feature() -> None:
    found = [each for seed in range(60) for each in samples.varied_samples_of("sub", "float32", seed, 4, [])]
    drawn = [each for each in found if isinstance(each, samples.Sample)]
    in_place = [each for each in drawn if "form=in place" in each.values]
    assert {value for each in drawn for value in each.values} >= {f"form={each}" for each in AXES["form"]}
    assert in_place == [each for each in drawn if "in_place" in each.needs] != []


def test_layers_of_more_than_one_operator_have_samples_with_their_weights_among_the_inputs() -> None:
    layers = [name for name in samples.database() if name.startswith("nn.") and not name.startswith("nn.functional.")]
    assert len(layers) >= 9
    for name in layers:
        (sample,) = samples.samples_of(name, "float32", 3, 1)
        assert isinstance(sample, samples.Sample), sample
        assert sample.call.startswith(f"{name}(float32[")
        assert "\n" not in sample.call
        inputs = decode(sample.inputs)
        assert len(inputs) > 2
        assert_close(sample.function(*inputs), decode(sample.expected), name)
        changed = [each * 2 if each.is_floating_point() else each for each in inputs[1:]]
        with pytest.raises(ConformanceFailure):
            assert_close(sample.function(inputs[0], *changed), decode(sample.expected), name)


@pytest.mark.parametrize("layer", ["nn.GRU", "nn.MultiheadAttention"])
def test_a_layer_is_traced_with_its_weights_as_inputs(layer: str) -> None:
    (sample,) = samples.samples_of(layer, "float32", 3, 1)
    assert isinstance(sample, samples.Sample)
    inputs = decode(sample.inputs)
    traced = torch.jit.trace(lambda *tensors: sample.function(*tensors), inputs, check_trace=False)
    assert len(list(traced.graph.inputs())) == len(inputs)
    assert_close(traced(*inputs), decode(sample.expected), layer)


def test_one_sample_alone_is_now_as_pytorch_has_it_and_now_another() -> None:
    found = [each for seed in range(30) for each in samples.varied_samples_of("sub", "float32", seed, 1, ["inference"])]
    plain = [each for each in found if isinstance(each, samples.Sample) and not each.mode and not _changes(each)]
    assert 0 < len(plain) < 20
    assert len(found) == 30


def _changes(sample: samples.Sample) -> bool:
    return not {"value=ordinary", "layout=contiguous"} <= set(sample.values)


def test_what_a_sample_needs_is_said_of_dtypes_that_pytorch_cannot_tell_finite() -> None:
    assert needed_features([torch.ones(2).to(torch.float8_e4m3fn)]) == []


def test_no_sample_has_the_sizes_that_pytorch_gives_of_no_pixels() -> None:
    drawn = [
        each
        for seed in range(40)
        for each in samples.varied_samples_of("nn.functional.pixel_unshuffle", "float32", seed, 2, [])
    ]
    assert any("of no elements" in each for each in drawn if isinstance(each, str))
    assert all(0 not in shape for each in drawn if not isinstance(each, str) for shape in each.shapes)
