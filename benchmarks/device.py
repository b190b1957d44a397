"""Where the time of a device goes beside its work: the fork, the pages that it copies, what it looks at, its end.

    python benchmarks/device.py [TOOLCHAIN] [ROUNDS]

This process becomes what devices are forked from: it imports and warms up as the zygote of the toolchain does, and
forks children which do what each device does besides its verbs. The figures are means over the rounds, of each step:
milliseconds of the processor in the program and in the kernel, and pages that were written to for the first time.
They are of the processor, and so hardly depend on what else the machine does.
"""

from __future__ import annotations

import collections
import dataclasses
import gc
import importlib
import json
import os
import resource
import statistics
import sys
import warnings
from collections.abc import Callable

import torch
from tabulate import tabulate

import conformance.devices._serve  # noqa: F401  (as in a zygote)
from conformance._util.huge_pages import collapse_memory
from conformance.devices._imprint import Imprint
from conformance.toolchains import toolchain_named


@dataclasses.dataclass(frozen=True, slots=True)
class Usage:
    """Milliseconds in the program and in the kernel, and pages that were copied or first written to."""

    program: float
    kernel: float
    pages: float

    @classmethod
    def now(cls, of: int = resource.RUSAGE_SELF) -> Usage:
        """Since this process began, or those that it waited for."""
        found = resource.getrusage(of)
        return cls(found.ru_utime * 1e3, found.ru_stime * 1e3, found.ru_minflt)

    def __sub__(self, other: Usage) -> Usage:
        return Usage(self.program - other.program, self.kernel - other.kernel, self.pages - other.pages)


def main(toolchain: str = "torchscript", rounds: str = "100") -> None:
    """Print a row for each step, in ordinary pages of memory and in huge ones."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    kind = toolchain_named(toolchain).device("host").zygote
    for module in kind.imports:
        importlib.import_module(module)
    preload = importlib.import_module(kind.preload)
    collections.deque(preload.warm_up(), maxlen=0)
    if hasattr(preload, "make_models"):
        collections.deque(preload.make_models(0, None), maxlen=0)
    imprint = Imprint((*kind.imports, kind.preload))
    gc.collect()
    gc.freeze()
    steps: dict[str, Callable[[], object]] = {
        "what it runs, looked at ahead": imprint.differences,
        "... when the backend has loaded": imprint.differences,
        "... and at its end": imprint.differences,
    }
    _print_costs(f"{toolchain}, memory in ordinary pages", steps, int(rounds))
    collections.deque(collapse_memory(), maxlen=0)
    _print_costs(f"{toolchain}, memory in huge pages", steps, int(rounds))


def _print_costs(title: str, steps: dict[str, Callable[[], object]], rounds: int) -> None:
    costs: dict[str, list[Usage]] = collections.defaultdict(list)
    for _ in range(rounds):
        for step, usage in _one_device(steps).items():
            costs[step].append(usage)
    means = [
        Usage(*(statistics.mean(each) for each in zip(*map(dataclasses.astuple, found), strict=True)))
        for found in costs.values()
    ]
    rows = [(step, *dataclasses.astuple(mean)) for step, mean in zip(costs, means, strict=True)]
    rows.append(("together", *(sum(row[place] for row in rows) for place in (1, 2, 3))))
    print(f"a device of {title}, means over {rounds}, without its verbs")
    print(tabulate(rows, ["", "program ms", "kernel ms", "pages"], floatfmt=".1f", tablefmt="github"), end="\n\n")


def _one_device(steps: dict[str, Callable[[], object]]) -> dict[str, Usage]:
    """What each step costs a child, its fork costs this process, and its end the kernel."""
    reading, writing = os.pipe()
    before, children = Usage.now(), Usage.now(resource.RUSAGE_CHILDREN)
    pid = os.fork()
    if pid == 0:
        os.write(writing, json.dumps(_in_child(steps)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = {step: Usage(*found) for step, found in json.loads(pipe.read()).items()}
    os.waitpid(pid, 0)
    whole = Usage.now(resource.RUSAGE_CHILDREN) - children
    alive = told.pop("")
    return {"the fork, where it is forked from": Usage.now() - before, **told, "its end": whole - alive}


def _in_child(steps: dict[str, Callable[[], object]]) -> dict[str, tuple[float, float, float]]:
    found = {}
    for step, work in steps.items():
        before = Usage.now()
        work()
        found[step] = dataclasses.astuple(Usage.now() - before)
    return {**found, "": dataclasses.astuple(Usage.now())}


if __name__ == "__main__":
    main(*sys.argv[1:])
