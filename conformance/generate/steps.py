"""What happens to models of programs, step by step: a trial, as plain data."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

from conformance.generate import AS_CASE, AS_CASE_OF_METHODS
from conformance.generate.program import FORWARD, Argument, Program, TensorSpec

#: How the gradients lie in memory with which one goes back, if not one element behind the other: densely in another
#: order of the dimensions, or as one element for all, as those of a sum do.
UPSTREAM = ("other order", "one value")


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """The arguments of a call, and under what it is made.

    ``tied`` says that two arguments are one tensor, or overlap: ``(first, second, "same" | "overlap")``. ``mode``
    is "grad", "no_grad", "inference", "autocast" (to bfloat16), "autocast float16", "deterministic" or "default
    float64"; ``backward`` goes back from the result, ``train`` puts the model into training, ``thread`` makes the
    call in a fresh thread; ``non_leaf`` says that arguments which require grad were computed, as by a layer before
    the model; ``differentiable``, that arguments require grad although nothing goes back; ``between``, that the
    model is called once more, with other values, before it is gone back from the result, and ``fewer``, that this
    call has a row less, as the last batch may; ``upstream``, one of UPSTREAM or "", how the gradients lie in memory
    with which going back begins; ``begin`` is "first" or "last" where it begins at one of several results, as a
    loss is of logits and not of the features beside them; ``again``, that it is gone back twice, as from two
    losses; ``second``, that it is gone back from the gradients too, as where a loss speaks of them.
    """

    arguments: tuple[Argument, ...]
    mode: str = "no_grad"
    backward: bool = False
    train: bool = False
    thread: bool = False
    tied: tuple[int, int, str] | None = None
    method: str = FORWARD
    non_leaf: bool = False
    differentiable: bool = False
    between: bool = False
    fewer: bool = False
    upstream: str = ""
    begin: str = ""
    again: bool = False
    second: bool = False

    @property
    def flags(self) -> dict[str, bool]:
        """How it is made, beside its mode, by the names that reports have for it."""
        return {
            "backward": self.backward,
            "train": self.train,
            "thread": self.thread,
            "non-leaf": self.non_leaf,
            "requires grad": self.differentiable,
            "call in between": self.between,
            "fewer rows in between": self.fewer,
            "gradient layout": bool(self.upstream),
            "one result": bool(self.begin),
            "back again": self.again,
            "second derivative": self.second,
        }

    @property
    def tensors(self) -> list[TensorSpec]:
        """Those arguments that are tensors."""
        return [each for each in self.arguments if isinstance(each, TensorSpec)]


#: The detail of a step that lowers in another process than the one that plays the trial, which loads what comes of it.
ELSEWHERE = "elsewhere"
#: The details of one that says for which sizes: for any, or for those of each call alone.
DYNAMIC = {"dynamic": True, "static": False}
#: The detail of one that lowers a model whose weights have become constants of its graph.
FROZEN = "frozen"
#: The detail of one that fills arguments anew as other libraries do, of which Autograd counts no write.
UNCOUNTED = "uncounted"
#: The detail of a call that fails in eager PyTorch, if at all, by the values of its arguments: all else is as it was.
BEYOND = "beyond"
#: The actions of steps that each make something that can be called.
MAKES_LOWERED = ("lower", "save_load", "copy")
#: The details of one that lowers in a mode of PyTorch's, in which no call need be made.
MODES_OF_LOWERING = ("deterministic", "no_grad", "default float64")


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One step of a trial. What ``action`` can be is what :mod:`conformance.generate.play` knows.

    ``model`` is the number of a program, of a lowered model, or of neither; ``detail`` is the action's own.
    """

    action: str
    model: int = 0
    detail: str = ""
    seed: int = 0
    call: Call | None = None

    def __str__(self) -> str:
        words = [self.action, str(self.model), self.detail] + ([f"seed {self.seed}"] if self.seed else [])
        if self.call is not None:
            words += [f"({', '.join(map(str, self.call.arguments))})", f"mode={self.call.mode}"]
            words += [name for name, there in self.call.flags.items() if there]
            words += [f"{self.call.tied[2]} {self.call.tied[:2]}"] if self.call.tied else []
            words += [f"method={self.call.method}"] if self.call.method != FORWARD else []
        return " ".join(filter(None, words))


@dataclasses.dataclass(frozen=True, slots=True)
class Trial:
    """Programs, and what happens to models of them, in order."""

    programs: tuple[Program, ...]
    steps: tuple[Step, ...]

    def without_dead_code(self) -> Trial:
        """With programs from which nothing is missing that a result needs."""
        trains = any(call.train for call in self.calls)
        programs = tuple(each.without_dead_code(modules_write=trains) for each in self.programs)
        return dataclasses.replace(self, programs=programs)

    def without_gradients(self) -> Trial:
        """With calls whose arguments do not require grad, unless something goes back through them."""
        calls = [step.call and dataclasses.replace(step.call, differentiable=False) for step in self.steps]
        steps = tuple(dataclasses.replace(each, call=call) for each, call in zip(self.steps, calls, strict=True))
        return dataclasses.replace(self, steps=steps)

    @property
    def as_case(self) -> str:
        """The name of the case that an author's class is asked about for a script of it."""
        return AS_CASE_OF_METHODS if any(program.others for program in self.programs) else AS_CASE

    @property
    def is_lowered_elsewhere(self) -> bool:
        """Whether a step lowers in another process."""
        return any(step.detail == ELSEWHERE for step in self.steps)

    @property
    def calls(self) -> list[Call]:
        """Every call, in order."""
        return [step.call for step in self.steps if step.call is not None]

    @property
    def size(self) -> tuple[int, int, int]:
        """What makes one trial smaller than another: steps, statements, characters."""
        lines = [line.text for program in self.programs for each in program.all_methods for line in each.lines]
        return len(self.steps), len(lines), sum(map(len, lines))

    @property
    def keeps_values(self) -> bool:
        """Whether something of what a call computes may be in a later one: programs write, or have state that they
        may."""
        return any("writes" in each.marks or each.buffers or each.modules for each in self.programs)

    def calls_behind(self, number: int) -> list[Call]:
        """The calls of which something may be in what a step computes: its own, and where values are kept, those
        before it."""
        step = self.steps[number]
        kept = self.keeps_values or step.action == "refill"
        steps = self.steps[: number + 1] if kept else (step,)
        return [each.call for each in steps if each.call is not None]

    def coarsest(self, number: int | None = None) -> str:
        """The floating-point dtype of fewest bits that a step computes with, or any step has where none is named;
        "float64" where there is none."""
        calls = self.calls if number is None else self.calls_behind(number)
        text = " ".join(str(each) for each in self._everything(calls)).replace(".half(", ".to(float16")
        order = ("bfloat16", "float16", "float32", "complex64")
        modes = {call.mode for call in calls}
        text += " bfloat16" * ("autocast" in modes) + " float16" * ("autocast float16" in modes)
        found = next((name for name in order if re.search(rf"\b{name}\b", text)), "")
        if not found:
            return "float64" if "float64" in text or "complex128" in text else "float32"
        return "float32" if found == "complex64" else found

    def _everything(self, calls: Sequence[Call]) -> Iterator[object]:
        for program in self.programs:
            yield program.source()
            yield from (spec for _, spec in (*program.parameters, *program.buffers))
        for call in calls:
            yield from call.arguments
