"""A trial, played: models are made, lowered and called as its steps say, and all that can be seen of it is noted.

Runs in a device. The same steps are played by the shadow, which is plain PyTorch, and with a backend; what differs is
the :class:`~conformance.generate.makers.Maker`, by which a toolchain says how a program becomes a model of it.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from conformance.compare.values import refill, tensors_in
from conformance.devices.protocol import Subject, describe_exception
from conformance.generate.answers import written
from conformance.generate.call_modes import MODES, default_dtype, import_what_modes_need
from conformance.generate.gradients import gradients_of, no_longer_given
from conformance.generate.held import Held, let_go
from conformance.generate.inputs import arguments_of, spoilt, with_other_values
from conformance.generate.makers import FreezingMaker, Maker, MovingMaker, NotLowered, SavingMaker, Shadow
from conformance.generate.models import build, change_weights
from conformance.generate.noise import Noise
from conformance.generate.observe import ABSENT, Before, memories, modes_since, observed, process_state
from conformance.generate.program import FORWARD
from conformance.generate.steps import DYNAMIC, ELSEWHERE, FROZEN, MODES_OF_LOWERING, UNCOUNTED, Call, Step, Trial
from conformance.toolchains.shared_state import modes


def play(trial: Trial, maker: Maker, *, leaks: bool = False, artifacts: Sequence[bytes] = ()) -> dict[str, Any]:
    """Play a trial: for each step what was seen, and for the trial what it left; see :class:`Player`.
    Written as an :class:`~conformance.generate.answers.Answer`.

    ``leaks`` also asks what is kept when all is dropped; ``artifacts`` are what
    :func:`conformance.generate.moving.lowered_elsewhere` gave.
    """
    _freeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        player = Player(trial, maker, artifacts=artifacts)
        import_what_modes_need(trial)
        before = process_state()
        try:
            rows = [player.step(each) for each in trial.steps]
            rows.append(player.end(before, leaks=leaks))
        finally:
            player.models.clear()
            with Subject():  # some tell the backend
                maker.forget()
        return written(rows)


@functools.cache
def _freeze() -> None:
    """Make collections of garbage fast: objects from before the first trial are left out of them."""
    gc.collect()
    gc.freeze()


def play_wide(trial: Trial, *, copies: bool, noise: int | None = None) -> dict[str, Any]:
    """What plain PyTorch computes in 64 bits where the trial has fewer: a row for each step.

    ``noise`` is the seed of where the last place of a call's coarsest dtype is moved, which is in doubt.
    """
    with warnings.catch_warnings(), default_dtype(torch.float64):
        warnings.simplefilter("ignore")
        player = Player(trial, Shadow(copies=copies), wide=True, noise=noise)
        return written([*(player.step(each) for each in trial.steps), {"late": [], "shared": [], "state": {}}])


class Misdrawn(BaseException):
    """A step that the toolchain's models cannot take: a mistake of the harness, and no exception of the backend."""


class Player:
    """The models, lowered models and results of one trial; with ``wide`` in 64 bits, what it has in fewer."""

    def __init__(
        self,
        trial: Trial,
        maker: Maker,
        *,
        wide: bool = False,
        noise: int | None = None,
        artifacts: Sequence[bytes] = (),
    ) -> None:
        self._trial = trial
        self._maker = maker
        #: What is loaded, one after another, where a step lowers elsewhere; without any it lowers here.
        self._artifacts = list(artifacts)
        self._wide = wide
        #: By dtype, in the order of the calls.
        self._noises = _noises(trial, noise)
        self.models: list[torch.nn.Module] = []
        self.lowered: list[Callable[..., Any] | None] = []
        #: Of each lowered model its model.
        self._model_of: list[int] = []
        #: The calls that came back: what each lowered model was given last, and every result.
        self._arguments: dict[int, tuple[Call, list[Any]]] = {}
        self._held = Held()
        #: What the last step changed of the modes that it was taken in, which end with it.
        self._changed_within: dict[str, list[str]] = {}
        self._calls = itertools.count()

    def step(self, step: Step) -> dict[str, Any]:
        """Take a step: ``{}``, what a call came to, or ``{"raised", "phase"}``."""
        if step.action in ("call", "refill", "fail"):
            return self._call(step)
        loads = step.action in ("save_load", "damaged") or (step.detail == ELSEWHERE and self._artifacts)
        phase = "load" if loads else step.action
        random, self._changed_within = torch.get_rng_state(), {}
        act: Callable[[Step], None] = getattr(self, f"_{step.action}")
        try:
            if step.detail == "thread":
                _in_a_thread(lambda: act(step))
            else:
                act(step)
        except (Exception, SystemExit) as error:  # the edge of the device: whatever the backend raises is what was seen
            return {"raised": _raised(error), "phase": phase}
        row: dict[str, Any] = {"modes": self._changed_within} if self._changed_within else {}
        if step.action != "model" and not torch.equal(random, torch.get_rng_state()):
            row["random"] = "changed"
        return row

    def end(self, before: dict[str, str], *, leaks: bool) -> dict[str, Any]:
        """What the trial left: results that changed after they were given or share memory, and what is not as it was in
        the process."""
        after = process_state()
        names = sorted({*before, *after})
        changed = {
            name: [before.get(name, ABSENT), after.get(name, ABSENT)]
            for name in names
            if before.get(name) != after.get(name)
        }
        row: dict[str, Any] = {"late": self._held.changed(), "shared": self._held.shared(), "state": changed}
        if leaks:
            kept = memories([*self._held.tensors(), *self._all_arguments()])
            self._held.clear()
            self._arguments.clear()
            self.lowered.clear()
            beside = [type(each).forward.__globals__ for each in self.models]
            self.models.clear()
            with Subject():
                self._maker.reset()
            for each in beside:
                let_go(each)
            gc.collect()
            row["kept"] = sum(not each.expired() for each in kept)
        return row

    def _all_arguments(self) -> list[torch.Tensor]:
        return [
            each for _, arguments in self._arguments.values() for each in arguments if isinstance(each, torch.Tensor)
        ]

    # The actions.

    def _model(self, step: Step) -> None:
        program = self._trial.programs[step.model]
        self.models.append(build(program, step.seed, wide=self._wide))

    def _lower(self, step: Step) -> None:
        # the place is taken in any case: later steps count lowered models
        self.lowered.append(None)
        self._model_of.append(step.model)
        if step.detail == ELSEWHERE and self._artifacts:
            if not isinstance(self._maker, MovingMaker):
                raise Misdrawn("such a step is drawn only where models can be moved")
            self.lowered[-1] = self._maker.load(self._artifacts.pop(0), self.models[step.model])
        else:
            mode = MODES[step.detail] if step.detail in MODES_OF_LOWERING else contextlib.nullcontext
            with mode():
                before = modes()
                lowered = self._lowered_as(step.detail, self.models[step.model])
                self._changed_within = modes_since(before)
            if step.detail == ELSEWHERE and isinstance(self._maker, MovingMaker):
                # no other process could lower or save it: what that raises is raised here
                lowered = self._maker.load(self._maker.save(lowered, None), self.models[step.model])
            self.lowered[-1] = lowered

    def _lowered_as(self, detail: str, model: torch.nn.Module) -> Callable[..., Any]:
        if detail == FROZEN and isinstance(self._maker, FreezingMaker):
            return self._maker.lower_frozen(model)
        return self._maker.lower(model, dynamic=DYNAMIC.get(detail))

    @property
    def _saving(self) -> SavingMaker:
        if not isinstance(self._maker, SavingMaker):
            raise Misdrawn("such a step is drawn only where models can be saved")
        return self._maker

    def _save_load(self, step: Step) -> None:
        self.lowered.append(None)
        self._model_of.append(self._model_of[step.model])
        self.lowered[-1] = self._saving.save_and_load(self._there(step.model))

    def _copy(self, step: Step) -> None:
        self.lowered.append(None)
        self._model_of.append(self._model_of[step.model])
        self.lowered[-1] = self._saving.copy(self._there(step.model))

    def _damaged(self, step: Step) -> None:
        self._saving.load_damaged(self._there(step.model))

    def _weights(self, step: Step) -> None:
        change_weights(self.models[step.model], step.detail)

    def _drop(self, step: Step) -> None:
        self.lowered[step.model] = None
        gc.collect(0)

    def _reset(self, step: Step) -> None:
        self._maker.reset()

    def _there(self, number: int) -> Callable[..., Any]:
        function = self.lowered[number]
        if function is None:
            raise LookupError("what is called was dropped, or could not be made")
        return function

    def _method(self, number: int, name: str) -> Callable[..., Any]:
        function = self._there(number)
        return function if name == FORWARD else getattr(function, name)

    def _call(self, step: Step) -> dict[str, Any]:
        assert step.call is not None
        call, number = step.call, next(self._calls)
        module = self.models[self._model_of[step.model]]
        arguments = self._given(step, call)
        if step.action != "fail":  # one that raises has its arguments all the same
            self._arguments[step.model] = (call, arguments)
        if call.train != module.training:
            module.train(call.train)
        leaves = [each for each in arguments if isinstance(each, torch.Tensor) and each.requires_grad]
        leaves += [each for each in module.parameters() if call.backward and each.requires_grad]
        before = Before(arguments, module)
        made: dict[str, Any] = {}
        given: list[torch.Tensor] = []

        def work() -> None:
            try:
                with self._noises[number] if self._noises else contextlib.nullcontext():
                    with MODES[call.mode]():
                        within = modes()
                        made["result"] = self._method(step.model, call.method)(*arguments)
                        if call.between:
                            self._method(step.model, call.method)(*with_other_values(arguments, fewer=call.fewer))
                        made["modes"] = modes_since(within)
                    if call.backward:
                        made["gradients"] = gradients_of(
                            made["result"],
                            leaves,
                            call.upstream,
                            given,
                            call.begin,
                            again=call.again,
                            second=call.second,
                        )
            except NotLowered as error:
                made.update(raised=_raised(error.reason), phase="lower")
            except (Exception, SystemExit) as error:  # as above
                made.update(raised=_raised(error), phase="run")

        if call.thread:
            _in_a_thread(work)
        else:
            work()
        if "raised" in made:
            return {"raised": made["raised"], "phase": made["phase"]} | before.left(arguments, module)
        result = made["result"]
        try:
            row = observed(result, arguments, module)
            kept = [each.detach().clone() for each in tensors_in(result)]
        except Exception as error:  # the edge of the device: what the backend gave cannot even be read
            return {"raised": _raised(error), "phase": "run"} | before.left(arguments, module)
        row |= before.left(arguments, module)
        if made["modes"]:
            row["modes"] = row.get("modes", {}) | made["modes"]
        if call.backward:
            row["gradients"] = [None if each is None else each.detach().clone() for each in made["gradients"]]
            self._held.keep_gradients(number, made["gradients"])
            row["written"] |= no_longer_given(given, call.upstream)
        # what is memory of an argument or of the model may change by later steps, and does so in plain PyTorch too
        self._held.keep(number, result, was=None if row["aliases"] else kept)
        return row

    def _given(self, step: Step, call: Call) -> list[Any]:
        if step.action == "refill" and step.model in self._arguments:
            _, arguments = self._arguments[step.model]
            fresh = arguments_of(call, wide=self._wide)
            for old, new in zip(arguments, fresh, strict=True):
                refill(old, new, counted=step.detail != UNCOUNTED)
            return arguments
        arguments = arguments_of(call, wide=self._wide)
        if step.action == "fail":
            return spoilt(arguments, step.detail)
        return arguments


def _in_a_thread(work: Callable[[], None]) -> None:
    """Do something in a fresh thread, and raise here what it raises."""
    with ThreadPoolExecutor(1) as executor:
        executor.submit(work).result()


def _raised(error: BaseException) -> dict[str, Any]:
    described = describe_exception(error)
    return {"type": described["type"], "bases": described["bases"], "text": described["text"][:4000]}


def _noises(trial: Trial, seed: int | None) -> list[Noise]:
    """Of each call the noise of the coarsest dtype that it computes with; none without a seed."""
    if seed is None:
        return []
    dtypes = [trial.coarsest(number) for number, step in enumerate(trial.steps) if step.call is not None]
    made = {dtype: Noise(dtype, seed) for dtype in set(dtypes)}
    return [made[dtype] for dtype in dtypes]


def know(trial: Trial, *, copies: bool, noises: int) -> list[dict[str, Any]]:
    """What plain PyTorch computes in 64 bits: exactly, then ``noises`` times with noise of the coarsest dtype of each
    call."""
    exact = play_wide(trial, copies=copies)
    return [exact, *(play_wide(trial, copies=copies, noise=seed) for seed in range(noises))]
