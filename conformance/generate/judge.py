"""What was seen with a backend, compared with what plain PyTorch does, and with exact values.

What is not compared, with the reasons and sources, is listed in docs/generated-cells.md.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from conformance.api.errors import DeviceEnded
from conformance.api.verdicts import gist_of
from conformance.compare.comparison import describe
from conformance.compare.values import tensors_in
from conformance.generate.leeway import is_beyond_memory, lacks_a_kernel
from conformance.generate.leftovers import is_readable, left_by
from conformance.generate.nearness import Nearness
from conformance.generate.randomness import (
    all_same,
    are_two_draws,
    drawn_once,
    random_steps,
    without_random_numbers,
)
from conformance.generate.steps import BEYOND, Call, Trial


@dataclasses.dataclass(frozen=True, slots=True)
class Divergence:
    """One difference from plain PyTorch: the number of the step, what differs (the observable), and a sentence."""

    step: int
    observable: str
    text: str
    phase: str = "run"
    #: The name of what differs, where the observable has several: what of the process's state it is.
    about: str = ""
    #: Which result, gradient or written value it is, where it is of one.
    place: str = ""
    #: What became of the process, where it ended.
    ended: DeviceEnded | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Knowledge:
    """What plain PyTorch does in a trial: the rows of eager, of the exact computation, and of some with noise.

    Without exact rows only equality bit by bit is judged, and a difference may still be rounding. Where these are
    ``unstable``, by the number of the step, one raises and another does not: that judges no values, nor who raises.
    """

    eager: list[dict[str, Any]]
    exact: list[dict[str, Any]] | None = None
    noisy: list[list[dict[str, Any]]] = dataclasses.field(default_factory=list)
    unstable: frozenset[int] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """What is compared beside values; see :class:`conformance.toolchains.ProgramTraits`."""

    aliases: bool = True
    writes: bool = True
    gradients: bool = True
    #: Whether strides are eager's; else nothing is said of them.
    strides: bool = True
    #: Whether what is lowered has a signature of its own, and may refuse what Python would let pass.
    signatures: bool = False
    tolerances: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    #: Strips from the text of an exception what the toolchain's part of PyTorch adds around it.
    gist: Callable[[str], str] = str


def differences(trial: Trial, known: Knowledge, actual: Sequence[Mapping[str, Any]], rules: Rules) -> list[Divergence]:
    """Everything in which ``actual`` rows differ from what is known, in the order of the steps."""
    return list(_Judge(trial, known, rules).all(actual))


class _Judge:
    def __init__(self, trial: Trial, known: Knowledge, rules: Rules) -> None:
        self._trial = trial
        self._known = known
        self._rules = rules
        #: The steps that drew numbers, or went on with what one that did had kept.
        self._random = random_steps(known.eager)
        #: How near the results of the step must be that is judged.
        self._nearness = self._nearness_in(0)

    def all(self, actual: Sequence[Mapping[str, Any]]) -> Any:
        for number, row in enumerate(actual[:-1]):
            if self._may_part(number, row):
                break  # what the other would have given, and gone on with, nobody knows
            yield from self._step(number, row)
        else:
            yield from self._results_at_the_end(len(actual) - 1, actual[-1])
        if self._random:
            yield from self._repeated(actual)
        yield from self._end(len(actual) - 1, actual[-1])

    def _may_part(self, number: int, row: Mapping[str, Any]) -> bool:
        """Whether eager PyTorch or the backend raised in a step, where the other may go on."""
        step, raised = self._trial.steps[number], self._known.eager[number].get("raised")
        if number in self._known.unstable and ("raised" in row) != (raised is not None):
            return True
        if "raised" in row:
            # what a model is not meant to be given may be refused, although Python lets it pass
            spoilt = step.action == "fail" and step.detail != BEYOND
            return self._rules.signatures and spoilt and raised is None
        # what autograd refuses is no matter to who computes no gradients
        differentiable = step.call is not None and step.call.differentiable and not self._rules.gradients
        return raised is not None and (differentiable or lacks_a_kernel(raised) or is_beyond_memory(raised))

    def _step(self, number: int, row: Mapping[str, Any]) -> Any:
        eager = self._known.eager[number]
        self._nearness = self._nearness_in(number)
        where = f"step {number + 1} ({self._trial.steps[number].action})"
        if "raised" in eager or "raised" in row:
            if "raised" in eager and "raised" in row:
                yield from self._left(number, where, row, eager)
                return
            if "raised" in row:
                raised = row["raised"]
                kind = f"{raised['type']}: "
                text = gist_of(raised["text"], self._rules.gist).removeprefix(kind)
                yield Divergence(number, "error", f"{where}: {kind}{text}", row["phase"])
            else:
                yield Divergence(
                    number, "error", f"{where}: nothing was raised, where plain PyTorch raises {_told(eager['raised'])}"
                )
            return
        if "result" not in eager:
            if row.get("random") and not eager.get("random"):
                yield Divergence(number, "random state", f"{where}: random numbers were drawn", "lower")
            yield from self._modes(number, where, row, eager)
            return
        yield from self._result(number, where, row, eager)
        yield from self._left(number, where, row, eager)
        if "gradients" in eager and self._rules.gradients:
            yield from self._gradients(number, where, row, eager)

    def _nearness_in(self, number: int) -> Nearness:
        return Nearness(self._trial, number, self._rules.tolerances, bit_by_bit=self._known.exact is None)

    def _result(self, number: int, where: str, row: Mapping[str, Any], eager: Mapping[str, Any]) -> Any:
        mine, theirs = row["result"], eager["result"]
        if _structure(mine) != _structure(theirs):
            yield Divergence(number, "shape", f"{where}: expected {_structure(theirs)}, found {_structure(mine)}")
            return
        exact, noisy = self._others(number, lambda each: tensors_in(each.get("result")))
        sure = without_random_numbers(self._trial, number) if number in self._random else None
        for place, (one, other) in enumerate(zip(tensors_in(mine), tensors_in(theirs), strict=True)):
            name = f"result {place}"
            differs = functools.partial(_of_a_part, number, where, name)
            if one.dtype != other.dtype:
                yield differs("dtype", f"expected {other.dtype}, found {one.dtype}")
            elif one.shape != other.shape:
                yield differs("shape", f"expected {list(other.shape)}, found {list(one.shape)}")
            elif sure is None or place in sure:
                others = [_at(each, place) for each in noisy]
                text = self._nearness.difference(one, other, _at(exact, place), others)
                if text:
                    yield differs("values", text)
        yield from self._forms(number, where, row, eager)
        yield from self._aliases(number, where, row, eager)

    def _forms(self, number: int, where: str, row: Mapping[str, Any], eager: Mapping[str, Any]) -> Any:
        strides = zip(row["strides"], eager["strides"], strict=True) if self._rules.strides else ()
        for place, (one, other) in enumerate(strides):
            if one != other:
                yield _of_a_part(number, where, f"result {place}", "strides", f"expected strides {other}, found {one}")
        mine, theirs = row["requires_grad"], eager["requires_grad"]
        if mine != theirs and (self._rules.gradients or any(map(operator.gt, mine, theirs))):
            text = f"which results require grad: expected {theirs}, found {mine}"
            yield Divergence(number, "requires_grad", f"{where}: {text}")
        mine, theirs = row["leaves"], eager["leaves"]
        if any(map(operator.gt, mine, theirs)):
            text = f"which results require grad and have no history behind them: expected {theirs}, found {mine}"
            yield Divergence(number, "requires_grad", f"{where}: {text}")
        call = self._trial.steps[number].call
        mine, theirs = row["inference"], eager["inference"]
        # in inference mode an ordinary tensor does as well, and a copy of one is none
        if call is not None and call.mode != "inference" and any(map(operator.gt, mine, theirs)):
            text = f"which results are inference tensors: expected {theirs}, found {mine}"
            yield Divergence(number, "requires_grad", f"{where}: {text}")

    def _aliases(self, number: int, where: str, row: Mapping[str, Any], eager: Mapping[str, Any]) -> Any:
        mine, theirs = _pairs(row["aliases"]), _pairs(eager["aliases"])
        made, lost = sorted(mine - theirs), sorted(theirs - mine)
        if made:
            yield Divergence(number, "aliases", f"{where}: {_sentence(made)}, and not in plain PyTorch")
        elif lost and self._rules.aliases:
            yield Divergence(number, "aliases", f"{where}: not as in plain PyTorch, where {_sentence(lost)}")
        elif self._rules.aliases and row["identities"] != eager["identities"]:
            expected, found = eager["identities"], row["identities"]
            yield Divergence(
                number, "aliases", f"{where}: pairs of a result that is an argument: expected {expected}, found {found}"
            )

    def _left(self, number: int, where: str, row: Mapping[str, Any], eager: Mapping[str, Any]) -> Any:
        mine, theirs = row.get("written", {}), eager.get("written", {})
        raised = "raised" in eager
        exact, noisy = self._others(number, lambda each: each.get("written", {}))
        for name in sorted({*mine, *theirs}):
            if name not in theirs:
                yield Divergence(
                    number, "writes", f"{where}: {name} was written to, and is not in plain PyTorch", place=name
                )
            elif raised or not self._rules.writes:
                continue  # how far a call comes that raises is nobody's business
            elif name not in mine:
                if number not in self._random and theirs[name].numel():
                    yield Divergence(
                        number, "writes", f"{where}: {name} was not written to, and is in plain PyTorch", place=name
                    )
            elif number not in self._random:
                others = [each.get(name) for each in noisy if each is not None]
                text = self._nearness.difference(
                    mine[name], theirs[name], None if exact is None else exact.get(name), others
                )
                if text:
                    yield Divergence(number, "writes", f"{where}: {name} was left otherwise: {text}", place=name)
        if row.get("random") != eager.get("random") and number not in self._random:
            what = "were drawn" if row.get("random") else "were not drawn"
            yield Divergence(number, "random state", f"{where}: random numbers {what}")
        for name, (was, now) in row.get("otherwise", {}).items():
            if name not in eager.get("otherwise", {}):
                text = f"{name} was {was}, and is {now}, which it is not in plain PyTorch"
                yield Divergence(number, "writes", f"{where}: {text}")
        yield from self._marked(number, where, row, eager)
        yield from self._modes(number, where, row, eager)

    @staticmethod
    def _modes(number: int, where: str, row: Mapping[str, Any], eager: Mapping[str, Any]) -> Any:
        if row.get("modes") != eager.get("modes"):
            changed = f"changed {row.get('modes')}, plain PyTorch {eager.get('modes')}"
            yield Divergence(number, "process state", f"{where}: {changed}", about=", ".join(row.get("modes", ())))

    def _marked(self, number: int, where: str, row: Mapping[str, Any], eager: Mapping[str, Any]) -> Any:
        """What Autograd takes for written to, and is not, or the other way round."""
        mine, theirs = (set(each.get("marked", ())) for each in (row, eager))
        written = {*row.get("written", {}), *eager.get("written", {})}
        for name in sorted(mine - theirs - written):
            text = f"{where}: Autograd counts {name} as written to, which it is not in plain PyTorch"
            yield Divergence(number, "writes", text, place=name)
        call = self._trial.steps[number].call
        if "raised" in eager or call is None or call.mode == "inference" or not self._rules.gradients:
            return
        for name in sorted((theirs - mine) & set(row.get("written", {})) & set(eager.get("written", {}))):
            text = f"{where}: {name} was written to, and Autograd does not count that as plain PyTorch has it do"
            yield Divergence(number, "writes", text, place=name)

    def _gradients(self, number: int, where: str, row: Mapping[str, Any], eager: Mapping[str, Any]) -> Any:
        exact, noisy = self._others(number, lambda each: each.get("gradients"))
        due, given = len(eager["gradients"]), len(row["gradients"])
        call = self._trial.steps[number].call
        passes = 2 if call is not None and (call.again or call.second) else 1
        leaves = due // passes
        how = "gone back to again" if call is not None and call.again else "of gradients"
        if given not in (due, leaves):
            # what requires grad has changed by then
            yield Divergence(number, "gradients", f"{where}: expected {due} gradients, found {given}")
            return
        found = row["gradients"]
        if call is not None and call.second and not any(each is not None for each in found[leaves:]):
            found = found[:leaves]  # from gradients that do not require grad Autograd refuses to go back
        # the second pass may have been refused
        for place, (one, other) in enumerate(zip(found, eager["gradients"], strict=False)):
            name = f"gradient {place}" if place < leaves else f"gradient {place - leaves}, {how}"
            differs = functools.partial(_of_a_part, number, where, name, "gradients")
            if (one is None) != (other is None):
                if not _may_be_missing(one if other is None else other, call, later=place >= leaves):
                    yield differs(f"expected {_shown(other)}, found {_shown(one)}")
            elif other is not None and one.dtype != other.dtype:
                yield differs(f"expected {other.dtype}, found {one.dtype}")
            elif other is not None and one.shape != other.shape:
                yield differs(f"expected {list(other.shape)}, found {list(one.shape)}")
            elif other is not None and number not in self._random:
                others = [_at(each, place) for each in noisy]
                text = self._nearness.difference(one, other, _at(exact, place), others)
                if text:
                    yield differs(text)

    def _others(self, number: int, part: Any) -> tuple[Any, list[Any]]:
        exact = None if self._known.exact is None else part(self._known.exact[number])
        return exact, [part(each[number]) for each in self._known.noisy]

    def _repeated(self, actual: Sequence[Mapping[str, Any]]) -> Any:
        """Random results that are the same, where eager PyTorch's are not: those of two calls, or two of one call."""
        calls = [
            (number, step)
            for number, step in enumerate(self._trial.steps)
            if step.call is not None and "result" in actual[number] and "result" in self._known.eager[number]
        ]
        for place, (first, step) in enumerate(calls):
            pair = drawn_once(*(tensors_in(rows[first]["result"]) for rows in (actual, self._known.eager)))
            if pair is not None:
                text = f"step {first + 1}: results {pair[0]} and {pair[1]} are the same numbers, which are drawn twice"
                yield Divergence(first, "random state", text)
            for later, other in calls[place + 1 :]:
                if (step.model, step.call) == (other.model, other.call):
                    again = (tensors_in(actual[first]["result"]), tensors_in(actual[later]["result"]))
                    due = (tensors_in(self._known.eager[each]["result"]) for each in (first, later))
                    if all_same(*again) and are_two_draws(*due):
                        text = f"steps {first + 1} and {later + 1} gave the same numbers, which are random"
                        yield Divergence(later, "random state", text)

    def _results_at_the_end(self, number: int, row: Mapping[str, Any]) -> Any:
        eager = self._known.eager[-1]
        late = [each for each in row["late"] if each not in eager["late"]]
        if late:
            yield Divergence(number, "values", f"{late[0]} changed after it was given")
        shared = sorted(_pairs(row["shared"]) - _pairs(eager["shared"]))
        if shared:
            yield Divergence(number, "aliases", f"{_sentence(shared)}, and not in plain PyTorch")

    def _end(self, number: int, row: Mapping[str, Any]) -> Any:
        eager = self._known.eager[-1]
        for name, (was, now) in left_by(row["state"], eager["state"]).items():
            text = f"the trial changed {name}" + (f": it was {was}, and is {now}" if is_readable(name) else "")
            yield Divergence(number, "process state", text, about=name)
        if row.get("kept", 0) > eager.get("kept", 0):
            text = f"{row['kept']} tensors of calls are in memory when all is dropped; in plain PyTorch {eager['kept']}"
            yield Divergence(number, "memory", text, "release")


def _may_be_missing(gradient: torch.Tensor | None, call: Call | None, *, later: bool) -> bool:
    """Whether it is as good to have no gradient as to have this one, of zeros: where it is one of gradients, or where
    one goes back from some results alone, and AOT Autograd gives zeros for what leads to the others."""
    if gradient is None or call is None or bool(gradient.any()):
        return False
    return bool(call.begin) or (call.second and later)


def _of_a_part(number: int, where: str, place: str, observable: str, text: str) -> Divergence:
    """A difference in one result or gradient of a step."""
    return Divergence(number, observable, f"{where}: {place}: {text}", place=place)


def _at(values: Any, place: int) -> Any:
    return values[place] if values is not None and place < len(values) else None


def _structure(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return "tensor"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(str(_structure(each)) for each in value)})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{key}: {_structure(each)}' for key, each in value.items())})"
    return f"{type(value).__name__} {value!r}" if isinstance(value, bool | int | float | str) else type(value).__name__


def _pairs(rows: Sequence[Sequence[str]]) -> set[tuple[str, ...]]:
    return {tuple(each) for each in rows}


def _sentence(pairs: Sequence[Sequence[str]]) -> str:
    return " and ".join(f"{one} lies in the memory of {other}" for one, other in pairs[:3])


def _told(raised: Mapping[str, Any]) -> str:
    return f"{raised['type']}: {raised['text'].strip().splitlines()[0][:200] if raised['text'].strip() else ''}"


def _shown(tensor: torch.Tensor | None) -> str:
    return "None" if tensor is None else describe(tensor)
