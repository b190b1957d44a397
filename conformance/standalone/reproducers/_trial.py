"""The part of a generated finding's script that plays its trial, in eager PyTorch and with the backend, and compares.

Copied into ``support.py``, definition by definition. The names in :data:`PROVIDED` are the reproducer's own.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import gc
import operator
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

from conformance.compare.values import place_of, tensors_in
from conformance.generate.randomness import random_steps
from conformance.standalone.reproducers._loading import Backend, add_options, find_backend, load_backend
from conformance.standalone.reproducers._process import BACKEND, SECONDS, CannotTry
from conformance.standalone.supervisor import positive_seconds
from conformance.toolchains.assertions import is_variable_of_others
from conformance.toolchains.shared_state import RECURSION_LIMIT, VARIABLE, modes, shared_state

OBSERVABLE: str = ""
KEEPS: dict[str, bool] = {}
TOLERANCES: dict[str, tuple[float, float]] = {}
SURE: dict[str, list[int]] = {}
SIGNS_OF_ZEROS: bool = False
PROVIDED = frozenset({*__annotations__, "PROVIDED"})

#: What was seen of each step; results and gradients by step, with what they were where others may not change that;
#: the memory of calls.
SEEN: list[dict[str, Any]] = []
RESULTS: list[tuple[str, Any, list[torch.Tensor] | None]] = []
GRADIENTS: list[tuple[str, Any, list[torch.Tensor] | None]] = []
STORAGES: list[StorageWeakRef] = []
#: What a step changed of the modes that it was taken in, which end with it.
WITHIN: list[str] = []
#: The variables of the environment that were there at the beginning.
VARIABLES = frozenset(f"{VARIABLE}{name}" for name in os.environ)
#: The functions of PyTorch that nobody may replace.
FUNCTIONS = [
    (owner, name)
    for owner in (torch, torch.nn.functional, torch.Tensor, torch.nn.Module)
    for name, value in vars(owner).items()
    if name[0] != "_" and callable(value)
]


class Eager:
    """Plain PyTorch in the backend's place; a model that is lowered keeps its weights where the backend's does."""

    def lower(self, module: Any, **how: Any) -> Any:
        return copy.deepcopy(module).requires_grad_(False) if KEEPS["weights"] else module

    def save_and_load(self, lowered: Any) -> Any:
        return copy.deepcopy(lowered)

    def load_damaged(self, lowered: Any) -> None:
        raise RuntimeError("damaged")

    def reset(self) -> None:
        return


class step:
    """A block that is one step: what it raises is kept, and all that can be seen of a call, which sets ``result``."""

    def __init__(self, name: str, model: Any = None, arguments: Sequence[Any] = ()) -> None:
        self.name, self.model, self.arguments = name, model, arguments
        self.result: Any = None
        self.gradients: list[torch.Tensor | None] = []

    def _versions(self) -> dict[str, int]:
        """How often Autograd counts each tensor as written to."""
        return {name: each._version for name, each in self._named().items() if not each.is_inference()}

    def _named(self) -> dict[str, torch.Tensor]:
        tensors = {f"argument {n}": each for n, each in enumerate(self.arguments) if isinstance(each, torch.Tensor)}
        return tensors | (dict(self.model.state_dict(keep_vars=True)) if self.model is not None else {})

    def __enter__(self) -> step:
        print(self.name, file=sys.stderr, flush=True)
        self.before = {name: each.detach().clone() for name, each in self._named().items()}
        self.places = {name: place_of(each) for name, each in self._named().items()}
        self.versions = self._versions()
        self.random, self.state = torch.get_rng_state(), state()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        seen: dict[str, Any] = {"step": self.name}
        named, results = self._named(), tensors_in(self.result)
        owners = [(name, each) for name, each in named.items() if each.numel()]
        seen["writes"] = {
            name: each.detach().clone()
            for name, each in named.items()
            if name not in self.before or not same(each, self.before[name])
        }
        seen["moved"] = [
            name for name, each in named.items() if name in self.places and place_of(each) != self.places[name]
        ]
        seen["marked"] = [name for name, count in self._versions().items() if count != self.versions.get(name, count)]
        seen["random state"] = not torch.equal(self.random, torch.get_rng_state())
        after = state()
        seen["process state"] = [
            f"{name}: {self.state.get(name)} -> {after.get(name)}"
            for name in sorted({*self.state, *after})
            if self.state.get(name) != after.get(name)
        ] + WITHIN
        WITHIN.clear()
        if error is not None:
            seen["error"] = f"{type(error).__name__}: {error}"
        else:
            seen["numbers"] = repr([each for each in tree_leaves(self.result) if not isinstance(each, torch.Tensor)])
            seen["inference"] = [each.is_inference() for each in results]
            seen["values"] = [each.detach().to_dense().clone() for each in results]
            seen["strides"] = list(map(strides_of, results))
            seen["requires_grad"] = [each.requires_grad for each in results]
            seen["leaves"] = [each.requires_grad and each.is_leaf for each in results]
            seen["aliases"] = []
            for n, each in enumerate(results):
                place = each.untyped_storage().data_ptr() if each.numel() else None
                seen["aliases"] += [
                    f"result {n}, {name}" for name, other in owners if other.untyped_storage().data_ptr() == place
                ]
                owners.append((f"result {n}", each))
            seen["gradients"] = [None if each is None else each.detach().clone() for each in self.gradients]
            held = [each.detach() for each in results] if len(RESULTS) % 2 else self.result
            RESULTS.append((self.name, held, None if seen["aliases"] else [each.detach().clone() for each in results]))
            given = [each for each in tensors_in(self.gradients) if each.layout == torch.strided]
            given = [each for each in given if not each._is_zerotensor()]  # zeros of autograd may be without memory
            GRADIENTS.append((f"gradients of {self.name}", given, [each.detach().clone() for each in given]))
            calls = (*results, *given, *tensors_in(self.arguments))
            STORAGES.extend(StorageWeakRef(each.untyped_storage()) for each in calls)
        SEEN.append(seen)
        return error is None or isinstance(error, Exception)


@contextlib.contextmanager
def within(mode: Any) -> Iterator[None]:
    """A block in a mode, of which it is seen whether that is in force until its end."""
    with mode:
        before = modes()
        yield
        after = modes()
    WITHIN.extend(f"{name}: {before[name]} -> {after[name]}" for name in before if before[name] != after[name])


def strides_of(tensor: torch.Tensor) -> Any:
    """The strides that say something; whether it is contiguous, where a backend may choose them otherwise."""
    if not KEEPS["strides"]:
        return tensor.is_contiguous()
    return [stride if size > 1 else 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)] * bool(
        tensor.numel()
    )


def state() -> dict[str, str]:
    """What everybody in the process shares, and nobody may change."""
    functions = [id(vars(owner).get(name)) for owner, name in FUNCTIONS]
    shared = shared_state() | {"functions of torch": str(hash(tuple(functions)))}
    return {
        name: text
        for name, text in shared.items()
        if name != RECURSION_LIMIT and (name in VARIABLES or is_variable_of_others(name))
    }


def in_thread(work: Callable[[], Any]) -> Any:
    """Do something in a thread of its own. Returns what it gives, and raises what it raises."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(work).result()


def same(one: torch.Tensor, other: torch.Tensor, rtol: float = 0.0, atol: float = 0.0) -> bool:
    """Whether two tensors have one dtype, one shape, and values that are near; NaN is NaN."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return torch.allclose(one, other, rtol, atol, equal_nan=True) if rtol or atol else near(one, other)


def near(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether every element is the same; NaN is NaN."""
    return bool(((one == other) | ((one != one) & (other != other))).all())


def unlike(mine: Any, theirs: Any, is_random: bool) -> str:
    """In what a tensor differs from eager's: its dtype, shape or values, unless these are random; empty where it does
    not."""
    if mine is None or theirs is None:
        return "" if mine is theirs else "values"
    if mine.dtype != theirs.dtype:
        return "dtype"
    if mine.shape != theirs.shape:
        return "shape"
    if is_random or not mine.numel():
        return ""
    if SIGNS_OF_ZEROS and not near(torch.signbit(mine), torch.signbit(theirs)):
        return "values"
    tolerance = TOLERANCES.get(str(theirs.dtype).removeprefix("torch."), (0.0, 0.0))
    return "" if same(mine, theirs, *tolerance) else "values"


def differences(
    mine: dict[str, Any], theirs: dict[str, Any], is_random: bool = False
) -> list[tuple[str, str, Any, Any]]:
    """In what a step differs from eager's: the observable, what it is of, what is expected, and what was found."""
    found: list[tuple[str, str, Any, Any]] = []
    for name, value in mine["writes"].items():
        other = theirs["writes"].get(name)
        if other is None or (KEEPS["writes"] and unlike(value, other, is_random)):
            found.append(("writes", name, other, value))
    missing = [name for name in theirs["writes"] if name not in mine["writes"]]
    if missing and KEEPS["writes"] and "error" not in theirs and not is_random:
        found.append(("writes", missing[0], theirs["writes"][missing[0]], None))
    if moved := [name for name in mine["moved"] if name not in theirs["moved"]]:
        found.append(("writes", moved[0], "lies as it lay", "has other strides, or lies elsewhere"))
    found += miscounted(mine, theirs)
    for what in ("random state", "process state"):
        if bool(mine[what]) != bool(theirs[what]) and not (is_random and what == "random state"):
            found.append((what, "", theirs[what], mine[what]))
    if "error" in mine or "error" in theirs:
        if ("error" in mine) != ("error" in theirs):
            found.append(("error", "", theirs.get("error"), mine.get("error")))
        return found
    if len(mine["values"]) != len(theirs["values"]):
        return [*found, ("shape", "number of results", len(theirs["values"]), len(mine["values"]))]
    if mine["numbers"] != theirs["numbers"]:
        found.append(("shape", "numbers among the results", theirs["numbers"], mine["numbers"]))
    for n, (value, other) in enumerate(zip(mine["values"], theirs["values"], strict=True)):
        if what := unlike(value, other, is_random and n not in SURE.get(theirs["step"], [])):
            found.append((what, f"result {n}", other, value))
    if mine["strides"] != theirs["strides"] and (
        KEEPS["strides"] or any(map(operator.lt, mine["strides"], theirs["strides"]))
    ):
        found.append(("strides", "", theirs["strides"], mine["strides"]))
    grads = mine["requires_grad"], theirs["requires_grad"]
    if grads[0] != grads[1] and (KEEPS["requires_grad"] or any(map(operator.gt, *grads))):
        found.append(("requires_grad", "", grads[1], grads[0]))
    if any(map(operator.gt, mine["inference"], theirs["inference"])):
        found.append(("requires_grad", "inference tensors", theirs["inference"], mine["inference"]))
    if any(map(operator.gt, mine["leaves"], theirs["leaves"])):
        found.append(("requires_grad", "without a history", theirs["leaves"], mine["leaves"]))
    made = set(mine["aliases"]) - set(theirs["aliases"])
    if made or (KEEPS["aliases"] and mine["aliases"] != theirs["aliases"]):
        found.append(("aliases", "", theirs["aliases"], mine["aliases"]))
    for n, (value, other) in enumerate(zip(mine["gradients"], theirs["gradients"], strict=True)):
        if KEEPS["requires_grad"] and unlike(value, other, is_random):
            found.append(("gradients", f"gradient {n}", other, value))
    return found


def miscounted(mine: dict[str, Any], theirs: dict[str, Any]) -> list[tuple[str, str, Any, Any]]:
    """What Autograd counts as written to and is not, or does not count although it is, as it does in eager PyTorch."""
    one, other = set(mine["marked"]), set(theirs["marked"])
    wrongly = one - other - {*mine["writes"], *theirs["writes"]}
    found = [("writes", name, "not counted as written to", "counted as written to") for name in sorted(wrongly)]
    if KEEPS["requires_grad"] and "error" not in theirs and not any(theirs["inference"]):
        missed = (other - one) & set(mine["writes"]) & set(theirs["writes"])
        found += [("writes", name, "counted as written to", "not counted as written to") for name in sorted(missed)]
    return found


def play(trials: Sequence[Callable[[Any], None]], eager: bool, path: str) -> None:
    """Play the trials in this process, and keep what was seen of the last one, and what it left."""
    torch.set_num_threads(1)
    if not eager:
        load_backend()
    backend = Eager() if eager else Backend()
    for number, trial in enumerate(trials, start=1):
        SEEN.clear()
        RESULTS.clear()
        GRADIENTS.clear()
        if number == len(trials):
            Path(path, "begun").touch()
        STORAGES.clear()
        trial(backend)
    calls = [*RESULTS, *GRADIENTS]
    late = [name for name, held, then in calls if then and not all(map(same, tensors_in(held), then))]
    places = [
        (name, each.untyped_storage().data_ptr())
        for name, held, _ in calls
        for each in tensors_in(held)
        if each.numel()
    ]
    shared = sorted(
        {
            f"{one} and {other}"
            for (one, place), (other, there) in combinations(places, 2)
            if place == there and one != other
        }
    )
    calls.clear()
    RESULTS.clear()
    GRADIENTS.clear()
    backend.reset()
    gc.collect()
    memory = sum(not each.expired() for each in STORAGES)
    torch.save({"steps": SEEN, "late": late, "shared": shared, "memory": memory}, Path(path, "seen.pt"))


def watch(who: str, folder: str, options: argparse.Namespace, libraries: list[str]) -> str:
    """Play in a process of its own; "crash" or "hang" where it came to that, and what is known of it."""
    command = [
        sys.executable,
        os.path.abspath(sys.argv[0]),
        "--backend",
        options.backend,
        "--play",
        who,
        "--folder",
        folder,
    ]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "REPRODUCER_BACKEND": options.backend,
        "REPRODUCER_LIBRARIES": os.pathsep.join(libraries),
    }
    process = subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    )
    try:
        _, text = process.communicate(timeout=options.seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return f"hang: {process.communicate()[1]}"
    return f"crash: {process.returncode}: {text}" if process.returncode else ""


def found_in(folder: str, options: argparse.Namespace, libraries: list[str]) -> list[tuple[str, str]]:
    """Everything in which the backend differs from eager PyTorch. Raises CannotTry."""
    for who in ("eager", "backend"):
        os.mkdir(os.path.join(folder, who))
        ended = watch(who, os.path.join(folder, who), options, libraries)
        if ended and (who == "eager" or not Path(folder, who, "begun").exists()):
            raise CannotTry(f"the process with {who} did not come to the trial: {ended}")
        if ended:
            return [(ended.partition(":")[0], f"{ended.partition(':')[2].strip()[-3000:]}")]
    theirs, mine = (torch.load(Path(folder, who, "seen.pt"), weights_only=True) for who in ("eager", "backend"))
    rows = [{"random": each["random state"], "written": each["writes"]} for each in theirs["steps"]]
    found = [
        (what, f"{step['step']}: {of}\n  expected {expected}\n  found    {actual}")
        for number, (step, other) in enumerate(zip(mine["steps"], theirs["steps"], strict=True))
        for what, of, expected, actual in differences(step, other, number in random_steps(rows))
    ]
    if mine["late"] != theirs["late"]:
        found.append(("values", f"results that changed after they were given: {mine['late']}"))
    if made := sorted(set(mine["shared"]) - set(theirs["shared"])):
        found.append(("aliases", f"results that share memory, and do not in eager PyTorch: {made}"))
    if mine["memory"] > theirs["memory"] and OBSERVABLE == "memory":
        found.append(("memory", f"{mine['memory']} tensors are kept, with eager PyTorch {theirs['memory']}"))
    return found


def reproduce(*trials: Callable[[Any], None]) -> NoReturn:
    """Play trials with the backend and in eager PyTorch, each way in a process, and end with the exit code: the failure
    is there when the last of them shows a difference in what was recorded."""
    sys.exit(_main(trials))


def _main(trials: Sequence[Callable[[Any], None]]) -> int:
    parser = argparse.ArgumentParser(description=(sys.modules["__main__"].__doc__ or "").partition("\n")[0])
    add_options(parser)
    parser.add_argument("--backend", default=BACKEND, metavar="NAME", help="the name that it registers (%(default)s)")
    parser.add_argument(
        "--seconds", type=positive_seconds, default=SECONDS, metavar="S", help="for each process (%(default)g)"
    )
    parser.add_argument("--play", choices=("eager", "backend"), help="only play the trial, here: for a debugger")
    parser.add_argument("--folder", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        if options.play:
            play(trials, options.play == "eager", options.folder or tempfile.mkdtemp(prefix="reproducer-"))
            return 0
        with tempfile.TemporaryDirectory(prefix="reproducer-") as folder:
            found = found_in(folder, options, find_backend(options))
    except CannotTry as reason:
        print(f"NOT TRIED: {reason}")
        return 2
    for what, text in found:
        print(f"{what}: {text}")
    if not found:
        print("NOT REPRODUCED: all is as in eager PyTorch")
        return 0
    reproduced = any(what == OBSERVABLE for what, _ in found)
    print("REPRODUCED" if reproduced else f"FAILS OTHERWISE: what was recorded differs in {OBSERVABLE}")
    return 1 if reproduced else 3
