"""A generated trial as straight code: its models as classes, its steps one below the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

from conformance.generate.inputs import arguments_of
from conformance.generate.models import made_state
from conformance.generate.program import FORWARD, Program
from conformance.generate.steps import (
    BEYOND,
    DYNAMIC,
    ELSEWHERE,
    FROZEN,
    MODES_OF_LOWERING,
    UNCOUNTED,
    Call,
    Step,
    Trial,
)

#: A tensor of more elements stands in inputs.pt.
_MOST_INLINE = 64
_MODES = {
    "no_grad": "torch.no_grad()",
    "inference": "torch.inference_mode()",
    "autocast": 'torch.autocast("cpu", dtype=torch.bfloat16)',
    "deterministic": "deterministic()",
    "default float64": "default_dtype(torch.float64)",
}
_SPOILT = {
    "too few": "{}[:-1]",
    "a string": '["not a tensor", *{}[1:]]',
    BEYOND: (
        "[each + 10**6 if isinstance(each, torch.Tensor) and each.dtype in (torch.int64, torch.int32) else each"
        " for each in {}]"
    ),
}


def step_name(number: int, step: Step) -> str:
    """What a script calls a step of a trial, by its number in that, from 0 on."""
    return f"step {number + 1} ({step.action})"


class Trials:
    """Writes trials. ``models`` are the classes that they need, ``values`` tensors that are too large for a text. Where
    it ``watches_modes`` the script tells what changes them while they are in force."""

    def __init__(self, *, watches_modes: bool = False) -> None:
        self._in_mode = "with within({}):" if watches_modes else "with {}:"
        self.models: list[str] = []
        self.values: dict[str, torch.Tensor] = {}
        self._names: dict[Program, str] = {}

    def function(self, name: str, trial: Trial, docstring: str = "") -> str:
        """A trial as a function."""
        lines = [f'"""{docstring}"""'] if docstring else []
        lines += self.steps(trial)
        return "\n".join([f"def {name}(backend: Any) -> None:", *(f"    {line}" if line else "" for line in lines)])

    def steps(self, trial: Trial) -> list[str]:
        """The statements of a trial."""
        self._trial = trial
        #: Of each model its number, of each lowered model its model's; and the inputs that each was called with last.
        self._model_of: list[int] = []
        self._inputs: dict[int, str] = {}
        self._count = 0
        self._trains = any(call.train for call in trial.calls)
        return [line for number, step in enumerate(trial.steps) for line in self._step(number, step)]

    def _step(self, number: int, step: Step) -> Iterator[str]:
        if step.action == "model":
            yield from self._model(step)
            return
        if step.call is not None:
            yield from self._call(number, step, step.call)
            return
        yield f'with step("{step_name(number, step)}"):'
        yield from (f"    {line}" for line in self._act(step))

    def _model(self, step: Step) -> Iterator[str]:
        program = self._trial.programs[step.model]
        if program not in self._names:
            name = f"Model{len(self._names)}" if self._names else "Model"
            self._names[program] = name
            self.models.append(_class(program, name))
        state = made_state(program, step.seed)
        model = f"model{self._count}"
        yield f"torch.manual_seed({step.seed})"
        if state:
            yield f"{model} = {self._names[program]}("
            yield from (f"    {name}={self._tensor(value)}," for name, value in state.items())
            yield ").eval()"
        else:
            yield f"{model} = {self._names[program]}().eval()"
        if program.modules:
            yield f"as_trained({model})"
        self._count += 1

    def _act(self, step: Step) -> Iterator[str]:
        lowered = f"lowered{step.model}"
        match step.action:
            case "lower":
                made = f"lowered{len(self._model_of)} = backend.lower(model{step.model}"
                if step.detail in MODES_OF_LOWERING:
                    yield self._in_mode.format(_MODES[step.detail])
                    yield f"    {made})"
                else:
                    options = {"": "", ELSEWHERE: ", elsewhere=True", FROZEN: ", frozen=True"}
                    options |= {name: f", dynamic={value}" for name, value in DYNAMIC.items()}
                    yield f"{made}{options[step.detail]})"
                self._model_of.append(step.model)
            case "save_load":
                yield self._made(f"backend.save_and_load({lowered})", step)
                self._model_of.append(self._model_of[step.model])
            case "copy":
                yield self._made(f"copy.deepcopy({lowered})", step)
                self._model_of.append(self._model_of[step.model])
            case "damaged":
                yield f"backend.load_damaged({lowered})"
            case "weights":
                yield f'change_weights(model{step.model}, "{step.detail}")'
            case "drop":
                yield f"del {lowered}"
                yield "gc.collect(0)"
            case "reset":
                yield "backend.reset()"
            case other:
                raise ValueError(f"no script can be written for the step {other}")

    def _made(self, expression: str, step: Step) -> str:
        """What gives the next lowered model."""
        made = f"in_thread(lambda: {expression})" if step.detail == "thread" else expression
        return f"lowered{len(self._model_of)} = {made}"

    def _call(self, number: int, step: Step, call: Call) -> Iterator[str]:
        model, lowered = f"model{self._model_of[step.model]}", f"lowered{step.model}"
        if self._trains:
            yield f"{model}.train({call.train})"
        inputs = f"inputs{number + 1}"
        if step.action == "refill" and step.model in self._inputs:
            inputs = self._inputs[step.model]
            yield from self._given("fresh", call)
            yield f"for old, new in zip({inputs}, fresh, strict=True):"
            yield "    tensors = isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor)"
            yield "    if tensors and old.shape == new.shape and old.dtype == new.dtype:"
            yield "        with torch.no_grad():"
            yield f"            old{'.data' if step.detail == UNCOUNTED else ''}.copy_(new)"
        else:
            yield from self._given(inputs, call)
        if step.action == "fail":
            yield f"{inputs} = {_SPOILT.get(step.detail, '[None, *{}[1:]]').format(inputs)}"
        else:
            self._inputs[step.model] = inputs
        called = lowered if call.method == FORWARD else f"{lowered}.{call.method}"
        work = [f"seen.result = {called}(*{inputs})"]
        if call.between:
            yield f"between = with_other_values({inputs}{', fewer=True' if call.fewer else ''})"
            work.append(f"{called}(*between)")
        if call.mode in _MODES:
            work = [self._in_mode.format(_MODES[call.mode]), *(f"    {line}" for line in work)]
        if call.backward:
            yield f"leaves = [each for each in {inputs} if isinstance(each, torch.Tensor) and each.requires_grad]"
            yield f"leaves += [each for each in {model}.parameters() if each.requires_grad]"
            options = [
                f", {name}={value!r}"
                for name in ("upstream", "begin", "again", "second")
                if (value := getattr(call, name))
            ]
            work.append(f"seen.gradients = gradients_of(seen.result, leaves{''.join(options)})")
        yield f'with step("{step_name(number, step)}", {model}, {inputs}) as seen:'
        if call.thread:
            work = ["def work() -> None:", *(f"    {line}" for line in work), "", "in_thread(work)"]
        yield from (f"    {line}" if line else "" for line in work)

    def _given(self, name: str, call: Call) -> Iterator[str]:
        """The arguments of a call as a list."""
        made = arguments_of(call)
        tied = call.tied
        yield f"{name}: list[Any] = ["
        yield from (f"    {self._tensor(each) if isinstance(each, torch.Tensor) else repr(each)}," for each in made)
        yield "]"
        if tied is None:
            return
        first, second, how = tied
        if how == "same":
            yield f"{name}[{second}] = {name}[{first}]"
        elif made[first].dim() and made[first].shape[0]:
            grads = [made[place].requires_grad for place in (first, second)]
            yield "# one row apart in one memory"
            yield f"base = torch.cat([{name}[{first}].detach(), {name}[{second}].detach()[-1:]])"
            yield f"{name}[{first}], {name}[{second}] = base[:-1], base[1:]"
            yield from (
                f"{name}[{place}].requires_grad_()" for place, grad in zip((first, second), grads, strict=True) if grad
            )

    def _tensor(self, tensor: torch.Tensor) -> str:
        """A tensor as an expression: with its whole storage, where it is not simply contiguous, and with its bits."""
        grad = ".requires_grad_()" if tensor.requires_grad else ""
        grad += "" if tensor.is_leaf else ".clone()"
        tensor = tensor.detach()
        if tensor.is_neg():  # as conformance.generate.inputs.conj_view makes them
            zeros = f"torch.zeros({list(tensor.shape)}, dtype={tensor.dtype})"
            return f"torch.complex({zeros}, {self._as_it_lies(-tensor.resolve_neg().contiguous())}).conj().imag{grad}"
        if tensor.is_conj():
            return f"{self._as_it_lies(tensor.resolve_conj())}.conj().resolve_conj().conj(){grad}"
        return self._as_it_lies(tensor) + grad

    def _as_it_lies(self, tensor: torch.Tensor) -> str:
        plain = tensor.is_contiguous() and not tensor.storage_offset()
        storage = tensor if plain else _storage_of(tensor)
        if storage.numel() > _MOST_INLINE:
            name = f"tensor {len(self.values) + 1}"
            self.values[name] = storage.clone()
            text = f'torch.load(Path(__file__).with_name("inputs.pt"), weights_only=True)["{name}"]'
        else:
            # so many tell numbers of 32 bits, and of 64, from each other
            digits = 17 if storage.dtype in (torch.float64, torch.complex128) else 9
            text = f"torch.tensor({_elements(storage.tolist(), digits)}, dtype={storage.dtype})"
            text += f".reshape({list(storage.shape)})" if not storage.numel() and storage.dim() > 1 else ""
        if not plain:
            text += f".as_strided({tuple(tensor.shape)}, {tensor.stride()}"
            text += f", {tensor.storage_offset()})" if tensor.storage_offset() else ")"
        return text


def _storage_of(tensor: torch.Tensor) -> torch.Tensor:
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return torch.as_strided(tensor, (count,), (1,), 0)


def _elements(value: Any, digits: int) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_elements(each, digits) for each in value)}]"
    if isinstance(value, complex):
        return f"complex({_elements(value.real, digits)}, {_elements(value.imag, digits)})"
    return repr(float(f"{value:.{digits}g}")) if isinstance(value, float) else repr(value)


def _class(program: Program, name: str) -> str:
    source = program.source()
    return re.sub(r"\bclass Model\b", f"class {name}", source[source.index("class ") :]).strip("\n")
