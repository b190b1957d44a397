"""Programs as data and as source, the tensors that they get, and where on the axes a trial lies."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Callable

import pytest
import torch
from generate.drawn import ByChance, drawn, scope_of

from conformance.generate import OPERATORS, THEMES_OF_PROGRAMS, THEMES_OF_SCENARIOS, TRAINING
from conformance.generate.axes import AXES
from conformance.generate.grammar.lacking import AlikeOperands, NotAlike
from conformance.generate.inputs import arguments_of, make
from conformance.generate.models import build
from conformance.generate.places import values_of
from conformance.generate.program import FORWARD, SECOND, Absent, Line, Program, TensorSpec
from conformance.generate.programs import Scope, near_twin_of
from conformance.generate.serialization import as_plain, trial_from_plain
from conformance.generate.steps import Call, Step, Trial

SPEC = TensorSpec("float32", (3, 4), seed=5)
PROGRAM = Program(
    arguments=(("x0", "Tensor"), ("x1", "int")),
    lines=(Line("to", "v0 = x0.to(torch.float16)"), Line("add", "v1 = v0.float() + self.p0 * x1")),
    result="(v1, v0)",
    parameters=(("p0", SPEC),),
)


def test_the_source_is_a_module_that_computes_what_it_says() -> None:
    model = build(PROGRAM, 0)
    x = torch.ones(3, 4)
    first, second = model(x, 2)
    assert second.dtype == torch.float16
    assert torch.equal(first, x + make(SPEC) * 2)


def test_the_wide_source_names_no_shorter_dtype() -> None:
    text = PROGRAM.source(wide=True)
    assert "torch.float64" in text
    assert "float16" not in text
    assert ".float()" not in text
    assert build(PROGRAM, 0, wide=True)(torch.ones(3, 4).double(), 2)[1].dtype == torch.float64


def test_another_seed_gives_other_weights() -> None:
    one, other = (dict(build(PROGRAM, seed).named_parameters())["p0"] for seed in (0, 1))
    assert not torch.equal(one, other)


def test_norms_are_as_training_leaves_them() -> None:
    """A new norm changes nothing that could be seen to be lost, or to be folded into the wrong weight."""
    lines = (Line("batch_norm", "v0 = self.m0(x0)"),)
    program = Program((("x0", "Tensor"),), lines, "v0", modules=(("m0", "torch.nn.BatchNorm2d(3)"),))
    x = torch.ones(1, 3, 2, 2)
    result = build(program, 0)(x)
    assert (result - x).abs().min() > 0.01
    assert torch.equal(build(program, 0)(x), result)
    torch.testing.assert_close(build(program, 0, wide=True)(x.double()), result.double(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("theme", [*THEMES_OF_PROGRAMS, TRAINING, *THEMES_OF_SCENARIOS])
def test_drawn_trials_survive_json_and_are_the_same_for_a_seed(theme: str) -> None:
    trials = drawn(scope_of("dynamo", theme), 15, 3)
    assert trials == drawn(scope_of("dynamo", theme), 15, 3)
    assert trials != drawn(scope_of("dynamo", theme), 15, 4)
    assert [trial_from_plain(json.loads(json.dumps(as_plain(each)))) for each in trials] == trials


KNOWN = {f"{axis}={value}" for axis, values in AXES.items() for value in values}


def test_drawn_trials_lie_on_the_axes() -> None:
    met = {
        value
        for theme in (*THEMES_OF_PROGRAMS, TRAINING, *THEMES_OF_SCENARIOS)
        for trial in drawn(scope_of("dynamo", theme), 25, 1)
        for value in values_of(trial)
    }
    assert met <= KNOWN
    assert len(met) > 0.8 * len(KNOWN), f"never drawn: {sorted(KNOWN - met)}"


def test_models_of_delegates_have_several_methods_now_and_then_and_each_is_called() -> None:
    trials = drawn(scope_of("torchscript", "elementwise"), 150, 5)
    several = [each for each in trials if each.programs[0].others]
    assert 10 < len(several) < 75
    for trial in several:
        program = trial.programs[0]
        called = {step.call.method for step in trial.steps if step.action == "call" and step.call is not None}
        assert called == {FORWARD, SECOND}
        assert f"    @torch.jit.export\n    def {SECOND}(self" in program.source()
    met = {value for trial in trials for value in values_of(trial)}
    assert {"event=second method", "event=lowered in a mode"} <= met <= KNOWN
    assert any(
        [line.operator for line in program.lines] == [line.operator for line in program.others[0].lines]
        and program.lines != program.others[0].lines
        for program in (each.programs[0] for each in several)
    ), "none has two methods that differ in a number alone"
    assert [trial_from_plain(json.loads(json.dumps(as_plain(each)))) for each in several] == several


@pytest.mark.parametrize(
    "scope", [scope_of("dynamo", "elementwise"), scope_of("torchscript", "elementwise", frozenset({"several_methods"}))]
)
def test_other_models_have_one_method(scope: Scope) -> None:
    assert not any(program.others for each in drawn(scope, 100, 5) for program in each.programs)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("missing", ["broadcasting", "mixed_dtypes"])
@pytest.mark.parametrize("toolchain", ["torchscript", "dynamo"])
def test_operands_are_alike_for_who_must_have_them_so(toolchain: str, missing: str) -> None:
    outcomes = Counter(
        _outcome(trial, missing)
        for theme in ("operators", "elementwise", "networks", "matrices", "reductions", "flow", "writes")
        for trial in drawn(scope_of(toolchain, theme, frozenset({missing})), 25, 7)
    )
    assert outcomes["not alike"] == 0
    assert outcomes["computed"] > 100


def _outcome(trial: Trial, missing: str) -> str:
    model, call = build(trial.programs[0], 0), trial.calls[0]
    try:
        with torch.no_grad(), AlikeOperands({missing}):
            model(*arguments_of(call))
    except NotAlike:
        return "not alike"
    except Exception:  # a program may raise, and PyTorch for what it is called with
        return "raised"
    return "computed"


REFUSED: tuple[Callable[[torch.Tensor, torch.Tensor], torch.Tensor], ...] = (
    lambda row, table: table + row,
    lambda row, table: row.mul(table),
    lambda row, table: torch.where(table > 0, table, row),
    lambda row, table: table + table.double(),
    lambda row, table: table.long().add_(table > 0),
    lambda row, table: torch.clamp(table, min=table.half()),
)


def test_operators_of_other_kinds_may_have_operands_that_are_not_alike() -> None:
    row, table = torch.ones(4), torch.ones(3, 4)
    with AlikeOperands({"broadcasting", "mixed_dtypes"}):
        assert (table + 1 - torch.ones(()) * table).shape == (table @ row).unsqueeze(1).expand(3, 4).shape
        assert torch.nn.functional.linear(table, table, row[:3]).shape == (3, 3)
        assert torch.where(table > 0, table, table).dtype == torch.float32
        for refused in REFUSED:
            with pytest.raises(NotAlike, match="operands"):
                refused(row, table)


def test_what_a_backend_declares_missing_is_not_drawn() -> None:
    missing = frozenset(
        {"broadcasting", "zero_dim", "empty", "non_contiguous", "large", "non_finite", "float64", "half_precision"}
        | {
            "integers",
            "booleans",
            "complex_numbers",
            "mixed_dtypes",
            "several_outputs",
            "scalars",
            "views",
            "parameters",
        }
        | {"elementwise", "matmul", "reductions", "convolution", "in_place", "control_flow", "loops", "raising"}
        | {"unbacked_sizes"}
    )
    for trial in drawn(scope_of("torchscript", "elementwise", missing), 20, 1):
        assert {name for program in trial.programs for name in program.operators} <= {"add", "sub", "dropout"}
        assert {spec.dtype for call in trial.calls for spec in call.tensors} == {"float32"}
        assert {spec.layout for call in trial.calls for spec in call.tensors} == {"contiguous"}


@pytest.mark.parametrize("layout", AXES["layout"][:6])
def test_a_layout_changes_strides_and_no_value(layout: str) -> None:
    shape = (2, 3, 4, 5)
    plain = make(TensorSpec("float32", shape, seed=1))
    other = make(TensorSpec("float32", shape, layout, seed=1))
    if layout == "expanded":
        plain = plain[:1].expand(shape)
    assert torch.equal(plain, other)
    moved = other.stride() != torch.empty(shape).stride() or other.storage_offset() != 0
    assert moved == (layout != "contiguous")


@pytest.mark.parametrize("values", AXES["value"])
@pytest.mark.parametrize("dtype", AXES["dtype"][:11])
def test_every_kind_of_value_is_made_in_every_dtype(dtype: str, values: str) -> None:
    spec = TensorSpec(dtype, (7,), values=values, seed=2)
    assert make(spec).dtype == getattr(torch, dtype)
    wide = make(spec, wide=True)
    assert torch.equal(torch.nan_to_num(wide.to(make(spec).dtype)), torch.nan_to_num(make(spec)))


def test_tied_arguments_are_one_tensor_or_overlap() -> None:
    call = Call((SPEC, SPEC), tied=(0, 1, "same"))
    one, other = arguments_of(call)
    assert one is other
    one, other = arguments_of(Call((SPEC, SPEC), tied=(0, 1, "overlap")))
    assert one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    assert one.data_ptr() != other.data_ptr()


def test_a_trial_says_where_it_lies() -> None:
    call = Call((TensorSpec("int64", (0, 3), "transposed", "large"),), mode="inference", thread=True)
    trial = Trial((PROGRAM,), (Step("model"), Step("lower"), Step("call", 0, call=call), Step("refill", 0, call=call)))
    values = values_of(trial)
    for wanted in ("dtype=int64", "size=empty", "size=rank 2", "layout=transposed", "value=large", "mode=inference"):
        assert wanted in values
    for wanted in ("mode=thread", "state=refilled", "state=parameters", "event=later call"):
        assert wanted in values
    assert "dtype=None" in values_of(Trial((PROGRAM,), (Step("call", 0, call=Call((SPEC, Absent(SPEC)))),)))


@pytest.mark.parametrize("toolchain", ["torchscript", "dynamo"])
def test_operators_side_by_side_return_what_each_operator_makes_of_the_arguments(toolchain: str) -> None:
    trials = drawn(scope_of(toolchain, OPERATORS), 120, 2)
    programs = [trial.programs[0] for trial in trials]
    assert sum(len(each.arguments) for each in programs) > 3 * len(programs)
    made = [name for each in programs for line in each.lines for name in _names_made(line.text)]
    returned = [name for each in programs for name in each.result.strip("(,)").split(", ")]
    assert len(returned) > 0.8 * len(made)
    others = [trial.programs[0] for trial in drawn(scope_of(toolchain, "views"), 120, 2)]
    # not in all: some rules make several statements, one of another
    assert _share_of_what_is_given(programs) > max(0.6, 0.05 + _share_of_what_is_given(others))


def _share_of_what_is_given(programs: list[Program]) -> float:
    """Of all statements those that have an argument, a parameter or a buffer in them."""
    lines = [line.text for program in programs for line in program.lines]
    return sum(re.search(r"\bx\d|self\.[pb]\d", line) is not None for line in lines) / len(lines)


def _names_made(text: str) -> list[str]:
    return [each.strip(", ") for each in text.partition(" = ")[0].split(",") if each.strip().startswith("v")]


def test_a_near_twin_differs_in_one_number_or_function() -> None:
    twins = [trial for trial in drawn(scope_of("torchscript", "elementwise"), 150, 2) if len(trial.programs) > 1]
    assert len(twins) > 5
    for trial in twins:
        one, other = trial.programs
        pairs = [*zip(one.lines, other.lines, strict=True), *zip(one.modules, other.modules, strict=True)]
        (pair,) = [each for each in pairs if each[0] != each[1]]
        assert one == dataclasses.replace(other, lines=one.lines, modules=one.modules), pair
        called = _programs_called(trial)
        assert 1 in called, "the twin is called"
        assert 0 in called[called.index(1) :], "and the first after it"


def test_no_near_twin_has_a_number_that_torchscript_saves_as_another() -> None:
    """reports/findings/jit_large_float.py: a whole number that is a float is an integer then."""
    program = Program((("x0", "Tensor"),), (Line("add", "v0 = x0 + 1700000000000"),), "v0")
    twins = [near_twin_of(ByChance(seed), program) for seed in range(20)]
    assert {twin.lines[0].text for twin in twins if twin is not None} == {"v0 = x0 + 1700000000001"}


def test_no_near_twin_casts_a_float_where_a_whole_number_was_cast() -> None:
    """A whole number beyond int16 is cast to it as it is; of a float beyond it PyTorch says nothing."""
    lines = (Line("mul", "v0 = x0 * 100003"), Line("to", "v1 = v0.to(torch.int16)"), Line("add", "v2 = v1 + 1"))
    program = Program((("x0", "Tensor"),), lines, "v2")
    twins = [near_twin_of(ByChance(seed), program) for seed in range(20)]
    assert {twin.lines[0].text for twin in twins if twin is not None} == {"v0 = x0 * 100003", "v0 = x0 * 100004"}
    assert {twin.lines[2].text for twin in twins if twin is not None} == {"v2 = v1 + 1", "v2 = v1 + 2", "v2 = v1 + 1.0"}


def test_a_near_twin_may_differ_in_a_function_that_another_one_is_given() -> None:
    called = "torch.utils.checkpoint.checkpoint(lambda t: torch.tanh(t) * t, x0, use_reentrant=False)"
    lines = (Line("relu", "v0 = F.relu(x0)"), Line("checkpoint", f"v1 = {called}"))
    program = Program((("x0", "Tensor"),), lines, "v1")
    twins = [near_twin_of(ByChance(seed), program) for seed in range(20)]
    assert {twin.lines for twin in twins if twin is not None} == {
        (Line("silu", "v0 = F.silu(x0)"), lines[1]),
        (lines[0], Line("checkpoint", f"v1 = {called.replace('tanh', 'sigmoid')}")),
    }


def test_a_near_twin_may_differ_in_an_attribute_of_a_submodule() -> None:
    modules = (("m0", "torch.nn.ModuleList([Scaled(0.5, 3), Scaled(2.0, -1)])"), ("m1", "torch.nn.ReLU()"))
    line = Line("for", "v0 = x0\nfor each in self.m0:\n    v0 = self.m1(each(v0))")
    program = Program((("x0", "Tensor"),), (line,), "v0", modules=modules)
    other = program.with_attribute(lambda factor, shift: ("4.0", shift))
    assert other is not None
    assert [text for _, text in other.modules] == [modules[0][1].replace("2.0", "4.0"), "torch.nn.ReLU()"]
    given = torch.tensor([1.0, -8.0])
    assert build(program, 0)(given).tolist() == [6.0, 0.0]
    assert build(other, 0)(given).tolist() == [13.0, 0.0]
    assert dataclasses.replace(program, modules=modules[1:]).with_attribute(lambda *both: both) is None


def _programs_called(trial: Trial) -> list[int]:
    """Of each call the number of its program."""
    models = [step.model for step in trial.steps if step.action == "model"]
    lowered: list[int] = []
    called = []
    for step in trial.steps:
        if step.action == "lower":
            lowered.append(models[step.model])
        elif step.action in ("save_load", "copy"):
            lowered.append(lowered[step.model])
        elif step.call is not None:
            called.append(lowered[step.model])
    return called


def test_the_numbers_of_a_program_are_those_beside_arithmetic() -> None:
    texts = ("v0 = x0 * 2.5", "v1 = torch.sum(v0, dim=1)", "v2 = (v1 + 3) / 1e-3", "v3 = v2[1:] ** 0.5", "v4 = x0 @ x0")
    program = dataclasses.replace(PROGRAM, lines=tuple(Line("it", text) for text in texts))
    assert [texts[line][begin:end] for line, begin, end in program.numbers()] == ["2.5", "3", "1e-3", "0.5"]
    assert program.with_number(program.numbers()[1], "4").lines[2].text == "v2 = (v1 + 4) / 1e-3"


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_a_conjugated_view_has_the_same_values_and_other_memory(dtype: str) -> None:
    spec = TensorSpec(dtype, (3, 4), seed=3)
    tensor = make(dataclasses.replace(spec, layout="conj_view"))
    assert tensor.is_conj() or tensor.is_neg()
    assert torch.equal(tensor, make(spec))
    wide = make(dataclasses.replace(spec, layout="conj_view"), wide=True)
    assert torch.equal(wide, make(spec, wide=True))
    assert (wide.stride(), wide.is_conj(), wide.is_neg()) == (tensor.stride(), tensor.is_conj(), tensor.is_neg())


def test_what_has_no_conjugated_view_lies_as_ever() -> None:
    spec = TensorSpec("float16", (3, 4), layout="conj_view", seed=3)
    assert make(spec).is_contiguous()
    assert make(spec, wide=True).is_contiguous()


def test_what_is_masked_has_whole_rows_of_minus_infinity() -> None:
    made = make(TensorSpec("float32", (4, 3), values="masked", seed=3))
    assert made.isinf().all(1).tolist() == [True, True, False, False]
