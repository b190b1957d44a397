"""How often trials have what faults need to be seen."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re

import pytest
import torch
from generate.drawn import ByChance, drawn, scope_of

from conformance.generate import OPERATORS, TRAINING
from conformance.generate.calls import Calls
from conformance.generate.dead_code import names_used
from conformance.generate.grammar import Abandoned, Builder
from conformance.generate.grammar.patterns import nearly_again
from conformance.generate.inputs import arguments_of
from conformance.generate.models import build
from conformance.generate.program import Line, Program, Scalar, TensorSpec
from conformance.generate.serialization import as_plain, trial_from_plain
from conformance.generate.steps import BEYOND, ELSEWHERE, FROZEN, MODES_OF_LOWERING, Call
from conformance.toolchains import toolchain_named

#: Hundreds of trials are drawn for each.
pytestmark = pytest.mark.parts


def test_python_numbers_are_others_in_later_calls_of_the_same_sizes() -> None:
    """Whoever keeps compiled code by the sizes of tensors alone keeps the number of the first call in it."""
    others = 0
    for trial in drawn(scope_of("torchscript", "elementwise"), 480, 6):
        first, *later = trial.calls
        sizes = [spec.shape for spec in first.tensors]
        numbers = [each for each in first.arguments if isinstance(each, Scalar)]
        others += any(
            numbers != [each for each in call.arguments if isinstance(each, Scalar)]
            for call in later
            if [spec.shape for spec in call.tensors] == sizes
        )
    assert others > 40


def test_models_are_lowered_in_modes_where_lowering_comes_before_the_first_call() -> None:
    def ways(toolchain: str) -> set[str]:
        trials = drawn(scope_of(toolchain, "elementwise"), 150, 6)
        return {step.detail for trial in trials for step in trial.steps if step.action == "lower"}

    assert ways("torchscript") == {"", ELSEWHERE, FROZEN, *MODES_OF_LOWERING}
    assert ways("dynamo") == {"", "dynamic", "static"}


def test_arguments_share_memory_where_one_is_written_to() -> None:
    """Any two of a kind, and not always the first."""
    trials = drawn(scope_of("dynamo", "writes"), 200, 4)
    pairs = [
        {getattr(call.arguments[place], "shape", None) for place in call.tied[:2]}
        for trial in trials
        if "writes" in trial.programs[0].marks
        for call in trial.calls
        if call.tied
    ]
    assert len(pairs) > 10
    assert all(len(shapes) == 1 for shapes in pairs)
    assert len({call.tied[:2] for trial in trials for call in trial.calls if call.tied}) > 1


def test_few_kinds_of_statements_make_a_whole_program() -> None:
    """A compiler that takes a program only as a whole takes none that has something of everything."""
    scope = scope_of("dynamo", "elementwise")
    # one in six; of four hundred alone that comes near to one in eight by chance
    programs = [trial.programs[0].lines for seed in (4, 5, 6) for trial in drawn(scope, 400, seed)]
    kinds = [len({line.operator for line in lines}) for lines in programs if len(lines) >= 5]
    assert sum(number <= 3 for number in kinds) > len(kinds) / 8


@pytest.mark.parametrize(
    ("expression", "others"),
    [
        ("x1 * 2", {"x1 * 2.0", "x1 * -2", "2 * x1", "x1 * 2"}),
        ("torch.sum(x0, dim=1)", {f"torch.sum(x0, {dim}{n})" for n in (0, -1, 1) for dim in ("", "dim=")}),
        ("x0 - x1", {"x1 - x0", "x0 - x1"}),
        (
            "x0.sum(dim=0, keepdim=True)",
            {
                f"x0.sum({dim}{n}, keepdim={kept})"
                for n, kept in ((0, True), (0, False), (-1, True))
                for dim in ("", "dim=")
            },
        ),
        ("F.dropout(x0, 0.5, training=False)", {"F.dropout(x0, 0.5, training=False)"}),
    ],
)
def test_an_expression_comes_again_with_something_changed(expression: str, others: set[str]) -> None:
    """Who takes expressions for equal that differ in a number's type only gives one of them the other's dtype."""
    traits = toolchain_named("torchscript").programs
    assert traits is not None
    found = set()
    for seed in range(40):
        builder = Builder(ByChance(seed), traits)
        builder.argument(TensorSpec("float32", (2, 2)))
        builder.argument(TensorSpec("int64", (2, 2)))
        builder.make("it", expression)
        with contextlib.suppress(Abandoned):  # PyTorch takes no negative part of what is dropped
            nearly_again(builder)
        found.add(builder.lines[-1].text.partition(" = ")[2])
    assert found == others


def test_python_numbers_are_computed_now_and_then() -> None:
    """Halves and rests of sizes round as Python's do, which a delegate computes by itself."""
    scope = scope_of("torchscript", "elementwise")
    texts = [line.text for trial in drawn(scope, 150, 4) for line in trial.programs[0].lines]
    computed = re.compile(r"// 2\)|% 3 - 1\)|2 - x\d|2 - v\d+\.shape|\) % 4\)|max\([xv]|\* 0\.5\)|1\.0 - x")
    assert sum(bool(computed.search(text)) for text in texts) > 5


def test_arguments_that_require_grad_are_computed_now_and_then() -> None:
    """A model behind another one is given tensors that are no leaves, and its gradients go on to what is before it."""
    calls = [call for trial in drawn(scope_of("dynamo", TRAINING), 60, 3) for call in trial.calls]
    given = [each for call in calls if call.non_leaf for each in arguments_of(call) if isinstance(each, torch.Tensor)]
    assert sum(each.requires_grad and not each.is_leaf for each in given) > 3
    written = [trial for trial in drawn(scope_of("dynamo", TRAINING), 60, 3) if "writes" in trial.programs[0].marks]
    assert not any(call.non_leaf or call.between for trial in written for call in trial.calls)
    assert sum(call.between for call in calls) > 3
    assert all(call.backward for call in calls if call.between)
    assert 0 < sum(call.fewer for call in calls) < sum(call.between for call in calls)
    assert not any(call.fewer and not call.between for call in calls)
    assert sum(call.second for call in calls) > 3
    assert all(call.backward and not call.again for call in calls if call.second)


def test_training_ends_in_a_loss() -> None:
    trials = drawn(scope_of("dynamo", TRAINING), 100, 3)
    last = [line.operator for trial in trials for line in trial.programs[0].lines[-1:]]
    assert sum(name.endswith(("_loss", "cross_entropy", "cross_entropy_with_logits", "kl_div")) for name in last) > 15


def test_a_call_fails_in_its_middle_where_a_program_writes_and_looks_up() -> None:
    """What was written before is written once, whatever a backend does to say where it failed."""
    trials = [
        trial
        for trial in drawn(scope_of("dynamo", "networks"), 200, 3)
        if any(".add_(1)" in line.text for line in trial.programs[0].lines)
        and any("< 1000, x" in line.text for line in trial.programs[0].lines)
    ]
    assert len(trials) > 2
    assert all(any(step.detail == BEYOND for step in trial.steps) for trial in trials)


def test_arguments_require_grad_where_nothing_goes_back_too() -> None:
    """What a delegate does with them that computes no gradients; autograd refuses to have them written to."""
    trials = drawn(scope_of("torchscript", "elementwise"), 150, 3)
    calls = [(trial, call) for trial in trials for call in trial.calls if call.differentiable]
    assert sum(isinstance(each, torch.Tensor) and each.requires_grad for _, c in calls for each in arguments_of(c)) > 5
    assert all(call.mode == "grad" and "writes" not in trial.programs[0].marks for trial, call in calls)


def test_sizes_coincide_more_often_than_by_chance() -> None:
    """What tells rows from columns by their numbers is wrong only where these are equal."""
    square = wide = layers = 0
    for trial in drawn(scope_of("dynamo", "matrices"), 400, 2):
        given = next(step.call for step in trial.steps if step.call is not None).arguments
        shapes = [each.shape for each in given if isinstance(each, TensorSpec)]
        matrices = [shape[-2:] for shape in shapes if len(shape) > 1]
        square += len(matrices) > 1 and len({size for shape in matrices for size in shape}) == 1
        weights = [spec.shape for _, spec in trial.programs[0].parameters if len(spec.shape) == 2]
        rows = {shape[0] for shape in shapes if len(shape) > 1}
        layers += len(weights)
        wide += sum(weight[0] == weight[1] or weight[0] in rows for weight in weights)
    assert square > 12
    assert wide > 0.35 * layers


def test_some_operators_come_behind_a_write_to_what_outlives_the_call() -> None:
    """A backend that begins again with PyTorch where it lacks an operator writes twice."""
    programs = [trial.programs[0] for trial in drawn(scope_of("dynamo", OPERATORS), 120, 4)]
    written = [each for each in programs if "writes" in each.marks]
    begun = [each for each in written if any(re.match(r"x\d|self\.b", line.text) for line in each.lines[:2])]
    assert len(begun) > 20


@pytest.mark.parametrize("theme", ["operators", "reductions", "dtypes"])
def test_what_no_model_of_a_toolchain_can_have_is_not_drawn_for_it(theme: str) -> None:
    scope = scope_of("executorch", theme)
    trials = drawn(scope, 60, 3)
    operators = {name for trial in trials for program in trial.programs for name in program.operators}
    assert len(operators) > 40
    assert not operators & scope.traits.lacks
    assert not any("complex64" in str(dataclasses.asdict(trial)) for trial in trials)
    assert not any(" bool(" in program.source() for trial in trials for program in trial.programs)
    assert {spec.layout for trial in trials for call in trial.calls for spec in call.tensors} <= {
        "contiguous",
        "channels_last",
    }
    weights = [spec for trial in trials for each in trial.programs for _, spec in (*each.parameters, *each.buffers)]
    assert {spec.layout for spec in weights} - {"contiguous", "channels_last"}


def test_where_lowering_is_costly_calls_are_mostly_of_one_kind() -> None:
    def kinds(toolchain: str) -> float:
        """How many kinds of calls a lowered model meets, on average."""
        scope = scope_of(toolchain, "elementwise")
        scope = dataclasses.replace(scope, traits=dataclasses.replace(scope.traits, takes_layouts=False))
        found = [
            len({tuple((spec.dtype, spec.shape) for spec in step.call.tensors) for step in trial.steps if step.call})
            for trial in drawn(scope, 200, 1)
            if not any(step.detail == "dynamic" for step in trial.steps)
        ]
        return sum(found) / len(found)

    assert kinds("executorch") < 0.8 * kinds("torchscript")


@pytest.mark.parametrize(
    ("toolchain", "missing", "least", "most"),
    [("dynamo", frozenset(), 0.1, 0.5), ("dynamo", frozenset({"training"}), 0, 0), ("torchscript", frozenset(), 0, 0)],
)
def test_some_programs_of_any_theme_are_gone_back_from(
    toolchain: str, missing: frozenset[str], least: float, most: float
) -> None:
    trials = drawn(scope_of(toolchain, "views", missing), 100, 2)
    assert least <= sum(any(call.backward for call in trial.calls) for trial in trials) / len(trials) <= most


def test_no_weight_is_larger_than_memory_allows() -> None:
    scope = scope_of("torchscript", "matrices")
    builder = Builder(ByChance(1), scope.traits)
    with pytest.raises(Abandoned):
        builder.parameter(TensorSpec("float32", (40003, 40003), "contiguous", "ordinary", 1, True))


def test_what_no_other_statement_uses_is_mostly_returned() -> None:
    """A statement whose value neither a result nor another statement has shows nothing."""
    programs = [trial.programs[0] for trial in drawn(scope_of("dynamo", "matrices"), 80, 5)]
    made = lost = 0
    for program in programs:
        seen = names_used(program.lines) | set(re.findall(r"v\d+", program.result))
        values = {name for line in program.lines for name in re.findall(r"^(v\d+) = ", line.text)}
        made, lost = made + len(values), lost + len(values - seen)
    assert lost < 0.13 * made


def test_two_sizes_change_places_now_and_then() -> None:
    """As many elements as before, in another shape: whoever plans anew by their number alone is wrong."""
    program = Program((("x0", "Tensor"), ("x1", "Tensor")), (Line("add", "v0 = x0 + x1"),), "v0")
    call = Call((TensorSpec("float32", (3, 5)), TensorSpec("float32", (5,))))
    scope = scope_of("executorch", "elementwise")
    shapes = [
        [[each.shape for each in later.tensors] for later in Calls(ByChance(seed), scope, program, ()).sizes(call)]
        for seed in range(60)
    ]
    assert 10 < shapes.count([[(5, 3), (3,)], [(3, 5), (5,)]]) < 40


def test_calls_come_to_sizes_that_nothing_was_compiled_for() -> None:
    """The second size is compiled for as any size: only a third shows what was taken from the second."""
    program = Program((("x0", "Tensor"),), (Line("mean", "v0 = x0.mean()"),), "v0")
    call, scope = Call((TensorSpec("float32", (3,)),)), scope_of("dynamo", "reductions")
    sizes = [
        {each.tensors[0].shape[0] for each in Calls(ByChance(seed), scope, program, ()).sizes(call)}
        for seed in range(60)
    ]
    assert sum(each >= {4, 7} for each in sizes) > 20


def test_a_weight_may_be_another_seen_from_the_other_side() -> None:
    """Weights that are told apart by their memory alone are two, if they lie in it in another way."""
    square = 0
    trials = [
        each
        for each in drawn(scope_of("torchscript", "matrices"), 500, 5)
        if any(spec.of for _, spec in each.programs[0].parameters)
    ]
    assert len(trials) > 10
    for trial in trials:
        program = trial.programs[0]
        for wide in (False, True):
            model = build(program, 3, wide=wide)
            for name, spec in program.parameters:
                if spec.of:
                    one, other = model.get_parameter(name), model.get_parameter(spec.of)
                    assert one.data_ptr() == other.data_ptr()
                    assert torch.equal(one, other.t())
                    assert spec.of in program.state()
                    assert name not in program.state()
                    square += one.shape[0] == one.shape[1]
        assert trial_from_plain(json.loads(json.dumps(as_plain(trial)))) == trial
    assert square > len(trials) / 2


def test_a_twin_may_differ_in_a_number_of_a_list() -> None:
    """A compiler makes a constant of such a list, which the code of its graph does not show."""
    lines = (
        Line("sub", "v0 = x0 - torch.tensor([0.5, -1.5])"),
        Line("isin", "v1 = torch.isin(v0, torch.tensor([0, 2]))"),
    )
    program = Program((("x0", "Tensor"),), lines, "v1")
    places = program.numbers()
    assert [program.lines[line].text[begin:end] for line, begin, end in places] == ["0.5", "-1.5"]
    assert "torch.tensor([0.5, 2.0])" in program.with_number(places[1], "2.0").source()
