"""Samples that are tried in one program: which wait, what is tried again by itself, what is wrong together alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from operators.trying import trial_of
from support.project import Project

from conformance.api.errors import DeviceTimeout, SubjectError
from conformance.compare.values import encode
from conformance.operators.table import Outcome, Tried
from conformance.operators.together import Draw, Drawn, Group, Waiting, told_together
from conformance.operators.trial import LEFT

INPUTS = encode((torch.ones(2),))
#: A backend of torch.compile that takes two calls of one function for the same call, whatever they are given.
MERGING = """
    import torch

    def compiler(graph, example_inputs, **keywords):
        first = {}
        for node in list(graph.graph.nodes):
            if node.op == "call_function" and node.target in (torch.exp, torch.sin, torch.neg, torch.abs):
                before = first.setdefault(node.target, node)
                if before is not node:
                    node.replace_all_uses_with(before)
                    graph.graph.erase_node(node)
        graph.recompile()
        return graph.forward
"""


def draw(operator: str, count: int = 1) -> Draw:
    """A draw of an operator."""
    return Draw(operator, "float32", 0, count)


class Processes:
    """A control and a backend in one. A program is the operators in it; ``wrong`` says of one whether it is wrong."""

    def __init__(
        self, *wrong: str, excuse: str = "", mode: str = "", left: bool = False, most: int = 8, rounded: str = ""
    ) -> None:
        self.wrong = [set(each.split()) for each in wrong]
        self.excuse = excuse
        self.mode = mode
        self.left = left
        self.most = most
        self.rounded = rounded
        self.timeouts = 0
        self.ran: list[str] = []

    def open(self) -> Any:
        return self

    def end(self) -> None:
        """A device that ends."""

    def call(self, verb: str, **told: Any) -> Any:
        if verb == "varied_samples":
            return [self.sample(told["operator"]) for _ in range(told["count"])]
        if verb == "joined_program":
            joined = self.sample(" ".join(told["programs"]))
            return {**joined, "places": [[place] for place in range(len(told["programs"]))]}
        if verb == "lower_program":
            self.ran.append(told["program"])
            if len(told["program"].split()) > self.most:
                raise DeviceTimeout("lower", 1.0)
            if {"refused"} & set(told["program"].split()):
                raise SubjectError("lower", "NotImplementedError", (), "aten::refused is not supported")
            if {"stumbling"} & set(told["program"].split()):
                executing = "While executing %stumbling : call_function[target=torch.ops.aten.add.Tensor](args = ())"
                raise SubjectError("lower", "IndexError", (), f"list index out of range\n\n{executing}")
            return 1
        if verb == "run_program":
            found = set(self.ran[-1].split())
            wrong = set[str]().union(*(each for each in self.wrong if each <= found))
            numbers = (
                0.0 if each in wrong else 1.0005 if each == self.rounded else 1.0 for each in self.ran[-1].split()
            )
            results = tuple(torch.full((2,), number) for number in numbers)
            return {"left": True} if self.left else {"result": encode(results)}
        return self.excuse if verb == "confirm_program" else None

    def time_out(self) -> None:
        self.timeouts += 1

    def sample(self, program: str) -> dict[str, Any]:
        return {
            "program": program,
            "operators": [f"aten::{each}" for each in program.split()],
            "inputs": INPUTS,
            "expected": encode((torch.ones(2),)),
            "exact": encode((torch.full((2,), 1.001, dtype=torch.float64),)) if program == self.rounded else None,
            "settled": True,
            "unconfirmed": True,
            "joins": not self.left,
            "mode": self.mode,
            "call": f"{program}()",
            "values": [f"value={program}"],
            "shapes": [[2]],
        }


def tried(processes: Processes, draws: Iterable[Draw]) -> list[Drawn]:
    """What the samples come to."""
    return list(trial_of(processes.open, timed_out=processes.time_out).varied(draws, modes=[]))


EIGHT = [draw(name) for name in ["add", "sub", "mul", "exp", "sin", "cos", "tan", "neg"]]


def test_eight_that_are_right_are_one_program() -> None:
    processes = Processes()
    found = tried(processes, EIGHT)
    assert processes.ran == ["add sub mul exp sin cos tan neg"]
    assert [each.operators for each in found] == [(each.operator,) for each in EIGHT]
    assert {each.tried.outcome for each in found} == {Outcome.RIGHT}


def test_one_that_is_wrong_is_found_by_halves_and_is_tried_apart_from_then_on() -> None:
    processes = Processes("exp")
    found = tried(processes, [*EIGHT, *EIGHT, *EIGHT])
    assert [each.operators for each in found if each.tried.outcome is not Outcome.RIGHT] == [("exp",)] * 3
    # of the first eight by halves, and in a fresh process; then each time as soon as it is drawn, again in a fresh one
    assert [len(each.split()) for each in processes.ran[:8]] == [8, 4, 2, 2, 1, 1, 1, 4]
    assert all(each == "exp" or "exp" not in each.split() for each in processes.ran[8:])


def test_what_is_refused_or_no_better_without_the_backend_charges_no_neighbour() -> None:
    found = tried(Processes(), [*EIGHT[:7], draw("refused")])
    outcomes = [each.tried.outcome for each in found]
    assert outcomes == [Outcome.RIGHT] * 7 + [Outcome.REFUSED]
    found = tried(Processes("exp", excuse="PyTorch does no better"), EIGHT)
    assert {each.operators[0]: each.tried.outcome for each in found}["exp"] is Outcome.NOT_APPLICABLE
    assert sum(each.tried.outcome is Outcome.RIGHT for each in found) == 7


def test_what_an_interpreter_was_executing_refuses_nothing() -> None:
    found = tried(Processes(), [*EIGHT[:7], draw("stumbling")])
    assert [each.tried.outcome for each in found] == [Outcome.RIGHT] * 7 + [Outcome.FAILED]


def test_two_that_are_wrong_together_alone_are_a_finding_of_both() -> None:
    *alone, together = tried(Processes("sub cos"), EIGHT)
    assert {each.tried.outcome for each in alone} == {Outcome.RIGHT}
    assert len(alone) == 8
    assert (together.operators, together.tried.outcome) == (("sub", "cos"), Outcome.WRONG)
    assert together.sample == {
        "call": "sub() beside cos()", "values": ["value=cos", "value=sub"], "shapes": [[2], [2]]
    }  # fmt: skip
    excused = tried(Processes("sub cos", excuse="PyTorch does no better"), EIGHT)
    assert {each.tried.outcome for each in excused} == {Outcome.RIGHT}


def test_those_that_may_not_be_joined_are_not_and_what_is_left_ends_a_draw() -> None:
    processes = Processes(left=True)
    found = tried(processes, [draw("add", 3), draw("sub", 3)])
    assert processes.ran == ["add", "sub"]
    assert all(each.tried.message.startswith(LEFT) for each in found)


def test_each_is_as_far_from_what_is_exact_as_it_may_be_by_itself() -> None:
    processes = Processes(rounded="cos")
    found = tried(processes, EIGHT)
    assert {each.tried.outcome for each in found} == {Outcome.RIGHT}
    assert len(processes.ran) == 1


def test_of_a_slow_backend_less_is_asked_at_a_time_and_no_time_out_is_noted() -> None:
    processes = Processes(most=3)
    found = tried(processes, [*EIGHT, *EIGHT])
    assert {each.tried.outcome for each in found} == {Outcome.RIGHT}
    assert [len(each.split()) for each in processes.ran] == [8, 4, 2, 2, 4, 2, 2, *[2] * 4]
    assert processes.timeouts == 0


def groups(*drawn: tuple[str, str]) -> list[Group]:
    """The groups of samples of (operator, mode), one for each draw."""
    waiting, found = Waiting(), []
    for operator, mode in drawn:
        waiting.add(draw(operator), {"joins": True, "mode": mode})
        found += list(waiting.due())
    return found


def test_a_program_is_of_one_mode_and_nothing_waits_for_ever() -> None:
    found = groups(*[("add", ""), ("sub", "backward")] * 8)
    assert [{sample["mode"] for _, sample in each} for each in found] == [{""}, {"backward"}]
    assert [len(each) for each in found] == [8, 8]
    found = groups(("neg", "inference"), *[("add", "")] * 24)
    assert [[drawn.operator for drawn, _ in each] for each in found] == [["add"] * 8, ["add"] * 8, ["neg"], ["add"] * 8]


def test_waiting_takes_what_can_be_joined_and_was_right() -> None:
    waiting = Waiting()
    assert waiting.takes(draw("add"), {"joins": True})
    assert not waiting.takes(draw("add"), {"joins": False})
    assert not waiting.takes(draw("add"), {})
    waiting.learn(Drawn(("add",), "float32", {}, Tried(Outcome.RIGHT)))
    assert waiting.takes(draw("add"), {"joins": True})
    waiting.learn(Drawn(("add", "sub"), "float32", {}, Tried(Outcome.WRONG)))
    assert not waiting.takes(draw("sub"), {"joins": True})


def test_several_are_told_as_one() -> None:
    one = {"call": "add(1)", "values": ["b", "a"], "shapes": [[1]]}
    other = {"call": "sub(2)", "values": ["a"], "shapes": [[2], [3]]}
    told = told_together([(draw("add"), one), (draw("sub"), other)])
    assert told == {"call": "add(1) beside sub(2)", "values": ["a", "b"], "shapes": [[1], [2], [3]]}


def test_a_backend_that_merges_two_calls_is_found(project: Project) -> None:
    project.install("merging", MERGING, "compiler", group="torch_dynamo_backends")
    run = project.run("--backend=merging", "-k", "drawn and pointwise", "--conformance-generated=200", "-n", "0")
    (row,) = [row for row in run.report("merging")["cells"] if "generated" in row]
    assert (run.exit_code, row["verdict"]) == (1, "FAIL"), run.output
    found = row["generated"]["findings"]
    assert found
    for each in found:
        assert len(each["operators"]) == 2, each
        assert " beside " in each["message"]
