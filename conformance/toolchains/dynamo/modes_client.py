"""What a clause sees of a device for a torch.compile backend where it trains, or calls models in different modes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from conformance.api.case import Call
from conformance.compare.values import decode, encode
from conformance.toolchains.client import CellDevice

if TYPE_CHECKING:
    from conformance.toolchains.dynamo.client import Model

#: What a process and a thread have for everybody in them: name → value, as text.
Surroundings = dict[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Trained:
    """A call that was gone back from: the tensors of its result, which of them require grad, and the gradients."""

    results: list[Any]
    requires_grad: list[bool]
    #: By the name of an argument ("argument 0") or a parameter; one mapping for each time that it went back.
    gradients: list[dict[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class Threads:
    """What threads found: the different results of each call, their modes before and after, and what was raised."""

    results: list[list[Any]]
    modes: list[dict[str, bool]]
    errors: list[str]


class ModesDevice(CellDevice):
    """The part of a device for torch.compile that knows modes, threads, seeds, options and gradients."""

    def differentiate(
        self,
        model: Model,
        inputs: tuple[Any, ...],
        wanted: tuple[bool, ...] | None = None,
        *,
        derived: bool = False,
        often: int = 1,
    ) -> Trained:
        """Call a model and go back from its result ``often`` times; every argument requires grad unless ``wanted`` says
        which. If ``derived`` the model gets results of a computation on them."""
        row = self.call(
            "differentiate",
            phase="run",
            model=model.number,
            inputs=encode(inputs),
            wanted=_all_of(inputs) if wanted is None else list(wanted),
            derived=derived,
            often=often,
        )
        return Trained(decode(row["results"]), row["requires_grad"], decode(row["gradients"]))

    def operators_run_in_training(self, model: Model, inputs: tuple[Any, ...]) -> dict[str, list[str]]:
        """The operators that PyTorch itself executes where a model is called with gradients, and on the way back: by
        which of the two it was, each time that it does. Arguments require grad that can."""
        wanted = [each.is_floating_point() for each in inputs]
        names: dict[str, list[str]] = self.call(
            "operators_run_in_training", phase="run", model=model.number, inputs=encode(inputs), wanted=wanted
        )
        return names

    def differentiate_twice(self, model: Model, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Gradients of a sum that contains the squares of a model's gradients, one for each argument."""
        found: tuple[Any, ...] = decode(
            self.call("differentiate_twice", phase="run", model=model.number, inputs=encode(inputs))
        )
        return found

    def train(self, model: Model, calls: tuple[Call, ...], rate: float = 0.5) -> tuple[list[Any], dict[str, Any]]:
        """A step of gradient descent for each call: the losses, and the parameters afterwards."""
        batches = [encode(call.inputs) for call in calls]
        row = self.call("train", phase="run", model=model.number, batches=batches, rate=rate)
        return decode(row["losses"]), decode(row["parameters"])

    def run_under(
        self, guard: str, model: Model, inputs: tuple[Any, ...], *, differentiable: bool = False
    ) -> tuple[Any, list[bool]]:
        """Call a model within "none", "no_grad", "inference_mode" or "autocast" (to bfloat16): the result, and which of
        its tensors require grad."""
        wanted = _all_of(inputs) if differentiable else []
        row = self.call("run_under", phase="run", guard=guard, model=model.number, inputs=encode(inputs), wanted=wanted)
        return decode(row["result"]), row["requires_grad"]

    @property
    def said(self) -> str:
        """What the process wrote and warned of during the last verb."""
        reply = self.last_reply
        return "" if reply is None else "\n".join((reply.stdout, reply.stderr, *reply.warnings))

    def surroundings(self, thread: str = "this", *, after: str = "inspect") -> Surroundings:
        """What the process has for everybody in it, and "this" thread or a "new" one; ``after`` is the phase to which a
        change is put down."""
        found: Surroundings = self.call("surroundings", phase=after, thread=thread)
        return found

    def run_in_threads(
        self, model: Model, calls: tuple[Call, ...], *, threads: int, rounds: int = 3, guard: str = "none"
    ) -> Threads:
        """Make each call so many times in each of so many fresh threads, while their parent stands under a guard."""
        row = self.call(
            "run_in_threads",
            phase="run",
            model=model.number,
            calls=[encode(call.inputs) for call in calls],
            threads=threads,
            rounds=rounds,
            guard=guard,
        )
        return Threads([[decode(each) for each in results] for results in row["results"]], row["modes"], row["errors"])

    def run_seeded(self, model: Model, inputs: tuple[Any, ...], seeds: tuple[int, ...], calls: int) -> list[list[Any]]:
        """For each seed the results of so many calls, one after the other."""
        rows = self.call(
            "run_seeded", phase="run", model=model.number, inputs=encode(inputs), seeds=list(seeds), calls=calls
        )
        return [[decode(each) for each in results] for results in rows]

    def retained(
        self, model: Model, inputs: tuple[Any, ...], *, differentiable: bool = False, calls: int = 3
    ) -> list[str]:
        """Which tensors of so many calls are still in memory when nobody but the backend can hold them."""
        found: list[str] = self.call(
            "retained",
            phase="run",
            model=model.number,
            inputs=encode(inputs),
            wanted=[differentiable] * len(inputs),
            calls=calls,
        )
        return found

    # How the backend is registered, and what it needs.

    def listed(self) -> bool:
        """Whether PyTorch lists the backend."""
        return bool(self.call("listed", phase="register"))

    def registration(self) -> list[str]:
        """What a user would stumble over, a sentence each."""
        problems: list[str] = self.call("registration", phase="register")
        return problems

    def runtime_modules(self) -> list[str]:
        """The modules without which the backend cannot do its work, as far as they can be seen."""
        names: list[str] = self.call("runtime_modules", phase="inspect")
        return names


def _all_of(inputs: tuple[Any, ...]) -> list[bool]:
    return [True] * len(inputs)
