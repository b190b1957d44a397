"""Verbs that look at modules without running them, and bundled inputs."""

from __future__ import annotations

import collections
import hashlib
from typing import Any

import torch
import torch.utils.bundled_inputs as bundled_inputs
from torch.jit.mobile import LiteScriptModule

from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.toolchains.shared_state import random_state, shared_state
from conformance.toolchains.torchscript.damage.archive import underlined_lines
from conformance.toolchains.torchscript.verbs.artifacts import call_method
from conformance.toolchains.torchscript.verbs.session import Session, verb


@verb
def signatures(session: Session, module: int) -> dict[str, dict[str, Any]]:
    """Each public method of a scripted or lowered module: argument names and types, which have defaults, and what
    it returns."""
    found = {}
    with Subject():
        script_module = session.module(module)._c
        for name in script_module._method_names():
            if name.startswith("__"):
                continue
            schema = script_module._get_method(name).schema
            arguments = [argument for argument in schema.arguments if argument.name != "self"]
            found[name] = {
                "arguments": [(argument.name, str(argument.type)) for argument in arguments],
                "defaults": [argument.name for argument in arguments if argument.has_default_value()],
                "returns": [str(value.type) for value in schema.returns],
            }
    return found


@verb
def state_of(session: Session, module: int) -> dict[str, str]:
    """A digest of each method's code, each attribute and each tensor of a scripted module, submodules included."""
    with Subject():
        scripted = session.module(module)
        state = {"training": str(scripted.training)}
        for path, inner in scripted.named_modules():
            for name in inner._c._method_names():
                state[f"{path}.{name}()"] = _digest(inner._c._get_method(name).code)
            for name in _attributes(inner):
                value = inner._c.getattr(name)
                state[f"{path}.{name}"] = _digest(encode(value) + str(getattr(value, "requires_grad", "")).encode())
    return state


def _attributes(module: Any) -> list[str]:
    """The attributes of a module that was scripted here; of one that was frozen or loaded, none."""
    concrete = getattr(module, "_concrete_type", None)
    return [] if concrete is None else list(concrete.get_attributes())


def _digest(data: str | bytes) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:16]


@verb
def exposes(session: Session, module: int, original: int) -> list[str]:
    """The attributes of the original module that the lowered one still has under the same name."""
    with Subject():
        lowered = session.module(module)._c
        named = _attributes(session.module(original))
        return [name for name in named if name != "training" and lowered.hasattr(name)]


@verb
def graph_of(session: Session, module: int, method: str) -> dict[str, Any]:
    """The operators of a method after inlining, the source lines of each, and the custom methods that it calls."""
    with Subject():
        target = session.module(module)
        graph = target._c._get_method(method).graph.copy()
        torch._C._jit_pass_inline(graph)
        lines: dict[str, list[str]] = {}
        calls: set[str] = set()
        for node in nodes_of(graph):
            lines.setdefault(node.kind(), []).extend(underlined_lines(node.sourceRange()))
            if node.kind() == "prim::CallMethod":
                calls.add(f"{next(iter(node.inputs())).type().annotation_str}.{node.s('name')}")
    return {"operators": sorted(lines), "lines": lines, "calls": sorted(calls)}


@verb
def work_of(session: Session, module: int, method: str) -> dict[str, int]:
    """How often each operator occurs in a method that computes a tensor in every run, outside of branches and loops,
    and that is left when PyTorch's own optimisations fold what they can (a batch norm into its convolution)."""
    with Subject():
        target = session.module(module)
        frozen = torch.jit.freeze(target, preserved_attrs=[method])
        plain, folded = (_work_in(each._c._get_method(method).graph.copy()) for each in (target, frozen))
    return dict(plain & folded)


def _work_in(graph: Any) -> collections.Counter[str]:
    torch._C._jit_pass_inline(graph)
    torch._C._jit_pass_dce(graph)
    return collections.Counter(node.kind() for node in graph.nodes() if _computes_a_tensor(node))


def _computes_a_tensor(node: Any) -> bool:
    is_operator = not node.kind().startswith("prim::")
    return is_operator and any(output.type().kind() == "TensorType" for output in node.outputs())


def nodes_of(block: Any) -> Any:
    """Every node of a graph or block, those of inner blocks included."""
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from nodes_of(inner)


@verb
def add_attribute(session: Session, module: int, name: str, value: bytes) -> None:
    """Register an attribute on a lowered module, and a method ``get_<name>`` that returns it."""
    with Subject():
        target = session.module(module)
        decoded = decode(value)
        type_ = torch._C._jit_try_infer_type(decoded).type()
        target._c._register_attribute(name, type_, decoded)
        target.define(f"def get_{name}(self) -> {type_.annotation_str}:\n    return self.{name}\n")


@verb
def bundle(session: Session, module: int, inputs: dict[str, list[bytes]], info: list[str] | None, inflate: str) -> None:
    """Bundle inputs to a module in place, for each method by name.

    ``inflate`` is "none", or "expression": the first tensor is stored halved, and inflated by an expression on reading.
    """
    with Subject():
        target = session.module(module)
        functions: dict[Any, Any] = {}
        infos: dict[Any, list[str]] = {}
        for method, samples in inputs.items():
            attribute = getattr(target, method)
            functions[attribute] = [_inflatable(decode(sample), inflate) for sample in samples]
            infos[attribute] = list(info or ())
        bundled_inputs.augment_many_model_functions_with_bundled_inputs(
            target, inputs=functions, info=infos if info else None
        )


def _inflatable(sample: tuple[Any, ...], inflate: str) -> tuple[Any, ...]:
    if inflate == "none":
        return tuple(_bundleable(value) for value in sample)
    halved = bundled_inputs.InflatableArg(value=sample[0] / 2, fmt="{} * 2")
    return (halved, *sample[1:])


#: Elements of a storage up to which PyTorch bundles a tensor without being asked twice.
_STORED_AS_IT_IS = 16


def _bundleable(value: Any) -> Any:
    """PyTorch stores small tensors as they are and constant ones compactly; others must be bundled on purpose."""
    if not isinstance(value, torch.Tensor) or value.numel() == 0:
        return value
    stored = value.untyped_storage().nbytes() // value.element_size()
    constant = bool((value == value.flatten()[0]).all())
    return value if stored <= _STORED_AS_IT_IS or constant else bundled_inputs.bundle_large_tensor(value)


@verb
def read_bundle(session: Session, module: int, methods: list[str]) -> dict[str, Any]:
    """What each of the functions for reading bundled inputs says; inputs are encoded."""
    with Subject():
        target = session.module(module)

        def ask(name: str, *arguments: Any) -> Any:
            return call_method(target, name, arguments)

        read: dict[str, Any] = {
            "functions_and_info": encode(ask("get_bundled_inputs_functions_and_info")),
            "for": {method: encode(ask(f"get_all_bundled_inputs_for_{method}")) for method in methods},
        }
        if "forward" in methods:
            read["all"] = encode(ask("get_all_bundled_inputs"))
            read["count"] = ask("get_num_bundled_inputs")
    return read


@verb
def bundle_by_cloning(session: Session, module: int, inputs: list[bytes]) -> int:
    """Bundle by ``bundle_inputs``, which clones the module."""
    with Subject():
        samples = [decode(sample) for sample in inputs]
        return session.keep(bundled_inputs.bundle_inputs(session.module(module), samples))


@verb
def has_bundle(session: Session, module: int) -> bool:
    """Whether the module answers ``get_all_bundled_inputs``."""
    with Subject():
        target = session.module(module)
        if isinstance(target, LiteScriptModule):
            return bool(target._c.find_method("get_all_bundled_inputs"))
        return bool(target._c._has_method("get_all_bundled_inputs"))


@verb
def process_state(session: Session) -> dict[str, Any]:
    """What a backend must leave as it found it in the process that uses it, and what it may have more of."""
    import atexit
    import sys
    import threading

    return {
        **random_state(),
        **shared_state(),
        "the search path of modules": list(sys.path),
        "threads of Python": sorted(thread.name for thread in threading.enumerate()),
        "threads of the process": _entries("/proc/self/task"),
        "open descriptors": _entries("/proc/self/fd"),
        "functions registered for exit": atexit._ncallbacks(),
    }


def _entries(folder: str) -> int:
    import contextlib
    import os

    with contextlib.suppress(OSError):  # not on this platform
        return len(os.listdir(folder))
    return 0


@verb
def identity(session: Session) -> dict[str, Any]:
    """What is this process's own: its id, and the absolute paths of the folders that it works with."""
    import os
    import sys
    import tempfile
    from pathlib import Path

    libraries = session.backend.libraries if session.backend else ()
    folders = {
        os.getcwd(),
        sys.prefix,
        tempfile.gettempdir(),
        str(Path.home()),
        *(str(Path(x).parent) for x in libraries),
    }
    return {"pid": os.getpid(), "folders": sorted(folder for folder in folders if len(folder) > 1)}
