"""Trials as they are played: methods, modes of lowering, and backends that answer what cannot be read."""

from __future__ import annotations

import dataclasses
import math
import random
import subprocess
import sys
import weakref
from typing import Any

import pytest
import torch
from generate.test_programs import PROGRAM, SPEC
from support.places import REPOSITORY
from torch._subclasses.fake_tensor import FakeTensorMode

from conformance.devices.protocol import Subject
from conformance.generate.answers import answered, read
from conformance.generate.held import Held
from conformance.generate.inputs import make, spoilt
from conformance.generate.judge import Knowledge, Rules, differences
from conformance.generate.makers import Shadow
from conformance.generate.models import build, change_weights
from conformance.generate.play import Misdrawn, play
from conformance.generate.program import OPTIONAL, Absent, Line, Method, Program, Scalar
from conformance.generate.steps import Call, Step, Trial


def test_a_second_method_computes_what_it_says_with_the_same_state() -> None:
    program = dataclasses.replace(PROGRAM, others=(Method("second", (Line("mul", "v0 = x0 * self.p0"),), "v0 - x1"),))
    x = torch.full((3, 4), 2.0)
    second: Any = build(program, 0).second
    assert torch.equal(second(x, 3), x * make(SPEC) - 3)
    call = Call((SPEC, Scalar("int", 2)), method="second")
    trial = Trial((program,), (Step("model"), Step("lower"), Step("call", call=call)))
    (_, _, row, _) = read(answered(play(trial, Shadow(copies=True))), trial)
    assert torch.equal(row["result"], make(SPEC) ** 2 - 2)
    dead = dataclasses.replace(program, others=(Method("second", (*program.lines, Line("neg", "v9 = -x0")), "v0"),))
    assert [line.operator for line in dead.without_dead_code().others[0].lines] == ["to"]


def test_lowering_happens_in_its_mode() -> None:
    class Asking(Shadow):
        def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Any:
            seen.append((torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled()))
            return super().lower(module, dynamic=dynamic)

    seen: list[tuple[torch.dtype, bool]] = []
    for mode in ("", "deterministic", "default float64"):
        play(Trial((PROGRAM,), (Step("model"), Step("lower", 0, mode))), Asking(copies=True))
    assert seen == [(torch.float32, False), (torch.float32, True), (torch.float64, False)]
    assert torch.get_default_dtype() == torch.float32


def test_what_cannot_be_read_of_a_result_is_the_backends_error() -> None:
    class Unreadable(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *arguments: Any, **named: Any) -> Any:
            raise RuntimeError("not with me")

    class Odd(Shadow):
        def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Any:
            return lambda *arguments: torch.ones(2).as_subclass(Unreadable)

    call = Call((SPEC, Scalar("int", 2)))
    trial = Trial((PROGRAM,), (Step("model"), Step("lower"), Step("call", call=call)))
    rows = read(answered(play(trial, Odd(copies=True))), trial)
    assert (rows[2]["raised"]["type"], rows[2]["phase"]) == ("RuntimeError", "run")


@pytest.mark.parametrize("error", [AssertionError("mine"), SystemExit(1)])
def test_whatever_a_backend_raises_is_its_error(error: BaseException) -> None:
    class Raising(Shadow):
        def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Any:
            raise error

    trial = Trial((PROGRAM,), (Step("model"), Step("lower")))
    row = read(answered(play(trial, Raising(copies=True))), trial)[1]
    assert (row["raised"]["type"], row["phase"]) == (type(error).__name__, "lower")


def test_what_a_backend_raises_when_it_is_to_forget_is_its_error() -> None:
    class Unforgetting(Shadow):
        def forget(self) -> None:
            raise RuntimeError("never")

    with pytest.raises(Subject.Raised) as raised:
        play(Trial((PROGRAM,), (Step("model"), Step("lower"))), Unforgetting(copies=True))
    assert str(raised.value.original) == "never"


def test_a_step_that_no_model_can_take_is_a_mistake_of_the_harness() -> None:
    class Unmoved:
        __init__, lower, reset, forget = Shadow.__init__, Shadow.lower, Shadow.reset, Shadow.forget

    trial = Trial((PROGRAM,), (Step("model"), Step("lower"), Step("copy")))
    with pytest.raises(Misdrawn):
        play(trial, Unmoved(copies=True))


def test_a_result_without_memory_is_the_backends_error() -> None:
    class Fake(Shadow):
        def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Any:
            def call(*arguments: Any) -> Any:
                with FakeTensorMode():
                    return torch.ones(3)

            return call

    trial = Trial((PROGRAM,), (Step("model"), Step("lower"), Step("call", call=Call((SPEC, Scalar("int", 2))))))
    row = read(answered(play(trial, Fake(copies=True))), trial)[2]
    assert "FakeTensor" in row["raised"]["text"]
    assert row["phase"] == "run"


def test_a_backend_that_takes_whatever_it_is_given_can_be_called_on() -> None:
    class Lenient(Shadow):
        def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Any:
            return lambda *arguments: torch.ones(2)

    call = Call((SPEC, Scalar("int", 2)))
    acts = (Step("call", call=call), Step("fail", 0, "too few", call=call), Step("refill", call=call))
    trial = Trial((PROGRAM,), (Step("model"), Step("lower"), *acts))
    rows = read(answered(play(trial, Lenient(copies=True))), trial)
    assert all("result" in row for row in rows[2:5])


def test_a_result_whose_memory_is_used_again_is_seen_by_who_holds_a_view_of_it() -> None:
    """A tensor that was returned may be gone while its memory is in use: ``kept.append(model(x).detach())``."""

    class Reusing(Shadow):
        def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Any:
            memory: dict[str, Any] = {}

            def call(*arguments: Any) -> torch.Tensor:
                result = module(*arguments)[0].detach()
                if memory and memory["held"]() is None:
                    result = memory["place"].copy_(result).detach()
                memory.update(place=result.detach(), held=weakref.ref(result))
                return result  # type: ignore[no-any-return]

            return call

    calls = [Step("call", call=Call((SPEC, Scalar("int", number)))) for number in (2, 3, 4)]
    trial = Trial((PROGRAM,), (Step("model"), Step("lower"), *calls))
    assert read(answered(play(trial, Reusing(copies=True))), trial)[-1]["late"] == ["result of call 2"]
    assert read(answered(play(trial, Shadow(copies=True))), trial)[-1]["late"] == []


def test_results_of_different_calls_that_share_memory_are_seen() -> None:
    """A result that was folded to a constant is the same tensor at each call: who writes to one changes the other."""

    class Folding(Shadow):
        def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Any:
            first: list[Any] = []

            def call(*arguments: Any) -> Any:
                first.append(module(*arguments))
                return first[0]

            return call

    calls = [Step("call", call=Call((SPEC, Scalar("int", number)))) for number in (2, 2, 2)]
    trial = Trial((PROGRAM,), (Step("model"), Step("lower"), *calls))
    folded, eager = (read(answered(play(trial, each(copies=True))), trial) for each in (Folding, Shadow))
    pairs = [
        (f"result {n} of call {x}", f"result {n} of call {y}") for n in (0, 1) for x, y in ((2, 1), (3, 1), (3, 2))
    ]
    assert sorted(map(tuple, folded[-1]["shared"])) == pairs
    assert eager[-1]["shared"] == []
    found = differences(trial, Knowledge(eager), folded, Rules())
    text = "result 0 of call 2 lies in the memory of result 0 of call 1"
    assert [(each.observable, text in each.text) for each in found] == [("aliases", True)]
    # a view of one tensor at each call shares its memory in plain PyTorch too
    assert differences(trial, Knowledge(folded), folded, Rules()) == []
    # whether it would be in plain PyTorch nobody knows where that has no kernel
    raised = {"raised": {"type": "NotImplementedError", "bases": [], "text": "no"}, "phase": "run"}
    assert differences(trial, Knowledge([*eager[:2], *[raised] * 3, eager[-1]]), folded, Rules()) == []


def test_a_result_without_a_history_is_seen_where_plain_pytorchs_has_one() -> None:
    """Backward succeeds with such a result, and leaves no gradient behind it: also where gradients are no promise."""

    class Cut(Shadow):
        def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Any:
            def call(x: torch.Tensor, number: int) -> Any:
                return tuple(each.detach().requires_grad_(each.requires_grad) for each in module(x, number))

            return call

    call = Call((SPEC, Scalar("int", 2)), mode="grad", differentiable=True)
    trial = Trial((PROGRAM,), (Step("model"), Step("lower"), Step("call", call=call)))
    cut, eager = (read(answered(play(trial, each(copies=True))), trial) for each in (Cut, Shadow))
    assert cut[2]["requires_grad"] == eager[2]["requires_grad"]
    found = differences(trial, Knowledge(eager), cut, Rules(gradients=False))
    assert [(each.observable, "no history" in each.text) for each in found] == [("requires_grad", True)]
    refused = [*eager[:2], {"raised": {"type": "RuntimeError", "bases": [], "text": "no"}, "phase": "run"}, eager[3]]
    assert differences(trial, Knowledge(refused), eager, Rules(gradients=False)) == []
    assert [each.observable for each in differences(trial, Knowledge(refused), eager, Rules())] == ["error"]


_PLAYED_FIRST = """
import sys
from generate.test_playing import PROGRAM, SPEC, Call, Scalar, Shadow, Step, Trial, answered, play, read

assert "torch._inductor" not in sys.modules
call = Call((SPEC, Scalar("int", 2)), mode="deterministic")
trial = Trial((PROGRAM,), (Step("model"), Step("lower"), Step("call", call=call)))
assert read(answered(play(trial, Shadow(copies=True))), trial)[-1]["state"] == {}
assert "torch._inductor" in sys.modules
"""


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ("import torch._dynamo", []),
        ("import functools; torch.relu = functools.wraps(torch.relu)(lambda x: x)", ["functions of torch"]),
        ("was = torch.manual_seed; torch.manual_seed = lambda seed: was(0)", ["functions of torch"]),
    ],
    ids=["Dynamo is imported", "a function has a wrapper", "a function is another one"],
)
def test_functions_that_pytorch_wraps_itself_are_no_others(change: str, names: list[str]) -> None:
    code = f"""
import torch
from conformance.generate.observe import process_state
before = process_state()
assert "torch._dynamo" not in __import__("sys").modules
{change}
after = process_state()
found = [name for name in before if before[name] != after[name] and name.startswith("functions")]
assert found == {names!r}, found
"""
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True)


def test_what_pytorch_imports_for_a_mode_is_no_change_that_a_trial_made() -> None:
    """In a process that PyTorch has imported nothing in yet, as a device is that was forked early."""
    done = subprocess.run(
        [sys.executable, "-c", _PLAYED_FIRST], cwd=REPOSITORY / "tests", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("was", "becomes"),
    [(math.nan, 0.0), (math.inf, torch.finfo(torch.float32).max), (complex(1, 0), complex(math.nan, 0))],
    ids=["NaN is zero now", "infinity is the largest", "complex, with a history"],
)
def test_what_becomes_of_a_result_that_is_held_is_seen_of_each_kind_of_number(was: complex, becomes: complex) -> None:
    result = torch.full((2,), was)
    held = Held()
    held.keep(0, result.requires_grad_() if result.is_complex() else result, was=[result.detach().clone()])
    assert held.changed() == []
    result.detach()[1:].fill_(becomes)
    assert held.changed() == ["result of call 1"]


def test_what_dynamo_keeps_behind_a_graph_break_is_not_kept_by_the_backend() -> None:
    """An interpreter holds what it was called with last, and Dynamo the interpreter, even when it is reset."""

    class Compiling(Shadow):
        def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Any:
            return torch.compile(module, backend=lambda graph, _: torch.fx.Interpreter(graph).run)

        def reset(self) -> None:
            torch._dynamo.reset()

    lines = (Line("masked_select", "v0 = torch.masked_select(x0, x0 > 0).sum()"),)
    trial = Trial(
        (Program((("x0", "Tensor"),), lines, "v0"),), (Step("model"), Step("lower"), Step("call", call=Call((SPEC,))))
    )
    assert read(answered(play(trial, Compiling(copies=False), leaks=True)), trial)[-1]["kept"] == 0


def test_what_is_refilled_stays_none_where_it_was() -> None:
    lines = (Line("if", "v0 = x0 * 2.0\nif x1 is not None:\n    v0 = v0 + x1"),)
    program = Program((("x0", "Tensor"), ("x1", OPTIONAL)), lines, "v0")
    calls = Call((SPEC, Absent(SPEC))), Call((SPEC, SPEC))
    steps = Step("model"), Step("lower"), Step("call", call=calls[0]), Step("refill", call=calls[1])
    trial = Trial((program,), (*steps, Step("call", call=calls[1])))
    _, _, without, again, given, _ = read(answered(play(trial, Shadow(copies=True))), trial)
    assert torch.equal(without["result"], again["result"])
    assert torch.equal(given["result"], make(SPEC) * 3.0)


@pytest.mark.parametrize("how", ["in place", "through data", "replaced", "loaded"])
def test_weights_change_in_one_way_or_another(how: str) -> None:
    model = torch.nn.BatchNorm1d(2)
    before = {name: (value.clone(), value._version) for name, value in model.state_dict(keep_vars=True).items()}
    kept = dict(model.state_dict(keep_vars=True))
    change_weights(model, how)
    after = model.state_dict(keep_vars=True)
    assert all(torch.equal(after[name], was * 2 + 1) for name, (was, _) in before.items() if was.is_floating_point())
    assert (after["weight"] is kept["weight"]) == (how != "replaced")
    if how != "replaced":
        assert (after["weight"]._version == before["weight"][1]) == (how == "through data")


def test_what_is_beyond_a_table_is_beyond_in_whole_numbers_alone() -> None:
    index, values = torch.tensor([1, 2]), torch.tensor([1.0])
    spoiled = spoilt([values, index, 3], "beyond")
    assert spoiled[0] is values
    assert (spoiled[1].tolist(), spoiled[2]) == ([1000001, 1000002], 3)


def test_random_numbers_of_python_that_a_backend_uses_up_are_seen() -> None:
    class Drawing(Shadow):
        def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Any:
            random.random()
            return super().lower(module, dynamic=dynamic)

    trial = Trial((PROGRAM,), (Step("model"), Step("lower"), Step("call", call=Call((SPEC, Scalar("int", 2))))))
    eager = read(answered(play(trial, Shadow(copies=True))), trial)
    actual = read(answered(play(trial, Drawing(copies=True))), trial)
    (found,) = differences(trial, Knowledge(eager), actual, Rules())
    assert (found.observable, found.phase) == ("process state", "run")
    assert "Python's random state" in found.text
