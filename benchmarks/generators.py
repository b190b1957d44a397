"""How many mutants of torch.compile are killed by programs of NNSmith, and how many by ours, of an equal number.

    pip install nnsmith
    conformance selftest --mutants 100 --toolchain dynamo --mutants-programs 10 -o mutants.json
    python benchmarks/generators.py mutants.json [--programs 100] [--nodes 10] [--seed 0]

NNSmith (Liu et al., ASPLOS 2023) draws models of a compiler's operators with sizes and values that are valid for them.
The file has what our programs, so many for each theme, killed of each active mutant. Here each of these is given
programs of NNSmith, in a process of its own. One kills it if anything differs from eager PyTorch, bit by bit: values,
dtypes and sizes of results, gradients of weights, what was written to inputs; or if it raises, ends the process, or
does not come back. The control that mutants are made of is tried first, and must survive.
"""

from __future__ import annotations

import argparse
import collections
import copy
import dataclasses
import faulthandler
import importlib
import importlib.util
import json
import logging
import multiprocessing
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from tabulate import tabulate
from torch import Tensor
from torch_conformance_saboteurs.mutants.grammar import VARIABLE
from torch_conformance_saboteurs.mutants.kinds import MUTANTS

from conformance.generate.observe import differs
from conformance.selftest.mutants import wilson
from conformance.toolchains import Source, load_backend

TOOLCHAIN = "dynamo"
#: The clause of which each theme is given the programs that the file names.
OURS = "compile.generated.programs"
#: Seconds that all programs have together, for one mutant.
SECONDS = 300.0
#: What NNSmith's solver has for one program, in milliseconds.
SOLVER = 10_000
_SURVIVED = -1

#: A model, and what it is called with.
Program = tuple[torch.nn.Module, dict[str, Tensor]]


def main() -> int:
    """Print who killed how many, and what of it the other did not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="what conformance selftest --mutants kept with -o")
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=10, help="operators of a program, at most")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if importlib.util.find_spec("nnsmith") is None:
        parser.error("NNSmith is not installed here: pip install nnsmith")
    if not options.file.is_file():
        parser.error(f"{options.file} is no file: conformance selftest --mutants N -o {options.file} writes it")
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    document = json.loads(options.file.read_text())
    rows = [row for row in document["mutants"] if row["toolchain"] == TOOLCHAIN and row["active"]]
    programs = drawn(options.programs, options.nodes, options.seed)
    if (wrong := killed_by(None, programs)) != _SURVIVED:
        print(f"NNSmith's program {wrong + 1} differs without any mutant: these programs judge nobody")
        return 1
    each = document["programs"]
    print(f"{len(rows)} active mutants; {len(programs)} programs of NNSmith, {each} of ours for each theme")
    seen: dict[str, collections.Counter[tuple[bool, bool]]] = collections.defaultdict(collections.Counter)
    for number, row in enumerate(rows, start=1):
        kill = row["kill"] or {}
        ours = kill.get("clause") == OURS and kill["programs"] <= document["programs"]
        theirs = killed_by(row["spec"], programs) != _SURVIVED
        seen[row["spec"]["place"]][ours, theirs] += 1
        who = " and ".join([*["ours"] * ours, *["NNSmith's"] * theirs]) or "nobody"
        print(f"[{number}/{len(rows)}] {who}: {row['sentence']}", flush=True)
    print(table(seen))
    return 0


def table(seen: Mapping[str, collections.Counter[tuple[bool, bool]]]) -> str:
    """Of each place of mutants: how many there were, who killed how many, and what one killed and the other did not."""
    total: collections.Counter[tuple[bool, bool]] = sum(seen.values(), collections.Counter())
    rows = []
    for place, counts in (*sorted(seen.items()), ("all", total)):
        alone, other = counts[True, False], counts[False, True]
        rows.append([place, counts.total(), alone + counts[True, True], other + counts[True, True], alone, other])
    headers = ["mutants in", "active", "ours", "NNSmith's", "ours alone", "NNSmith's alone"]
    shares = [
        f"{name} {100 * low:.0f} to {100 * high:.0f} %"
        for name, index in (("ours", 0), ("NNSmith's", 1))
        for low, high in [wilson(sum(count for who, count in total.items() if who[index]), total.total())]
    ]
    return f"{tabulate(rows, headers)}\nof all, with 95 %: {', '.join(shares)}"


class Model(torch.nn.Module):
    """What NNSmith drew, without its checks and logs, for which Dynamo would break the graph at each operator."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.steps = [(function, given, made) for function, given, made, _ in network.instructions]
        self.layers = torch.nn.ModuleList(each for each, *_ in self.steps if isinstance(each, torch.nn.Module))
        self.takes, self.gives = list(network.input_map), list(network.output_map)

    def forward(self, *arguments: Tensor) -> tuple[Tensor, ...]:
        """The operators, one after the other."""
        values = dict(zip(self.takes, arguments, strict=True))
        for function, given, made in self.steps:
            results = function(*[values[name] for name in given])
            values.update(zip(made, results if isinstance(results, list | tuple) else [results], strict=True))
        return tuple(values[name] for name in self.gives)


def drawn(count: int, nodes: int, seed: int) -> list[Program]:
    """So many programs of NNSmith with their inputs; those for which its solver has no time are replaced by others."""
    model_of = importlib.import_module("nnsmith.materialize").Model.init("torch", "cpu")
    operators = importlib.import_module("nnsmith.narrow_spec").auto_opset(model_of)
    generate = importlib.import_module("nnsmith.graph_gen").model_gen
    programs: list[Program] = []
    for number in range(seed * 1_000_003, sys.maxsize):
        if len(programs) == count:
            break
        try:
            graph = generate(operators, "symbolic-cinit", max_nodes=nodes, seed=number, timeout_ms=SOLVER)
            model = model_of.from_gir(graph.make_concrete())
            model.refine_weights()
            given = {name: torch.as_tensor(value) for name, value in model.make_oracle().input.items()}
        except Exception as error:  # what it cannot draw, and sizes that PyTorch does not take
            print(f"NNSmith's seed {number} gives no program: {type(error).__name__}", file=sys.stderr)
            continue
        programs.append((Model(model.torch_model), given))
    return programs


def killed_by(spec: Mapping[str, Any] | None, programs: Sequence[Program]) -> int:
    """The place of the first program that shows a mutant, which is tried in a process of its own; -1 if it survives."""
    ours, its = multiprocessing.get_context("fork").Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_try, args=(spec, programs, its))
    process.start()
    its.close()
    place = 0
    try:
        while ours.poll(SECONDS):
            told: int | None = ours.recv()
            if told is None:
                return _SURVIVED
            place = told
            if told < 0:
                return -told - 1
    except EOFError:
        pass  # it has ended, in the program that it was at
    finally:
        process.kill()
        process.join()
    return place


def _try(spec: Mapping[str, Any] | None, programs: Sequence[Program], told: Connection) -> None:
    """Play the programs; ``told`` gets the place of each when it begins, less than zero if it differs, None at last."""
    faulthandler.disable()
    if spec is not None:
        os.environ[VARIABLE] = json.dumps(spec)
    (kind,) = (each for each in MUTANTS if each.toolchain == TOOLCHAIN)
    backend: Any = load_backend(dataclasses.asdict(Source("dynamo_mutant", value=kind.backend, toolchain=TOOLCHAIN)))
    backend.load()
    for place, (model, given) in enumerate(programs):
        told.send(place)
        torch._dynamo.reset()
        torch.manual_seed(place)
        expected = _seen(copy.deepcopy(model), given)
        compiled = copy.deepcopy(model)
        torch.manual_seed(place)
        if not _same(expected, _seen(compiled, given, backend.name)):
            told.send(-place - 1)
            return
    told.send(None)


def _seen(model: torch.nn.Module, given: Mapping[str, Tensor], backend: str = "") -> list[Any]:
    """What a call comes to: results, gradients, what inputs are then; or that it raises."""
    inputs = [value.clone() for value in given.values()]
    called = torch.compile(model, backend=backend) if backend else model
    try:
        results = called(*inputs)
    except Exception:  # whatever a model raises, or a mutant makes of it, is what it comes to
        return ["raised"]
    wanted = [each.sum() for each in results if each.requires_grad]
    if wanted:
        torch.autograd.backward(wanted)
    gradients = [each.grad for each in model.parameters()]
    return [*(each.detach() for each in results), *gradients, *inputs]


def _same(expected: Sequence[Any], found: Sequence[Any]) -> bool:
    return len(expected) == len(found) and all(map(_alike, expected, found))


def _alike(one: Any, other: Any) -> bool:
    if not (isinstance(one, Tensor) and isinstance(other, Tensor)):
        return type(one) is type(other) and bool(one == other)
    if differs(one, other):
        return False
    return one.is_complex() or bool((one.isnan() | (one.signbit() == other.signbit())).all())


if __name__ == "__main__":
    raise SystemExit(main())
