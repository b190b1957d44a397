"""Verbs that find out about a backend before any cell runs: import it, prepare it, describe it, load it."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from conformance.backend import Backend, DynamoBackend, Environment, TorchScriptBackend
from conformance.cases import case_named
from conformance.registry import PluginError, check, describe, describe_libraries, load_backend, resolve
from conformance.toolchains import Subject
from conformance.values import encode

_BACKENDS = "__torch__.torch.classes.__backends__."


class Discovery:
    """The session of a describing child."""

    def __init__(self, subject: dict[str, Any] | None) -> None:
        self._subject = subject or {}
        self._backend: Backend | None = None

    def call(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Answer a verb of the table below."""
        verbs: dict[str, Callable[..., Any]] = {
            "register": lambda: None,
            "open": self._import,
            "describe": self._describe,
            "prepare": self._prepare,
            "load": self._load,
            "reproduction": self._reproduction,
            "saboteurs": self._saboteurs,
            "known_to_dynamo": _known_to_dynamo,
            "release": lambda: None,
        }
        return verbs[verb](**arguments)

    def _open(self) -> Backend:
        if self._backend is None:
            with Subject():
                backend = load_backend(self._subject)
                check(backend)
            self._backend = backend
        return self._backend

    def _import(self) -> None:
        self._open()

    def _prepare(self) -> dict[str, str | None]:
        backend = self._open()
        with Subject():
            prepared = backend.prepare()
            if prepared is not None and not isinstance(prepared, Environment):
                raise PluginError(f"prepare() returns a conformance.Environment or None, found {prepared!r:.80}")
            os.environ.update({name: value for name, value in (prepared or {}).items() if value is not None})
        return dict(prepared or {})

    def _describe(self, libraries: bool) -> dict[str, Any]:
        backend = self._open()
        with Subject():
            known = describe(backend)
            if libraries and isinstance(backend, TorchScriptBackend):
                known |= describe_libraries(backend)
            return known

    def _reproduction(self, cases: list[str]) -> dict[str, Any]:
        """What a script without the harness has to know of the backend, and cannot ask it."""
        backend = self._open()
        if isinstance(backend, DynamoBackend):
            return _reproduction_by_name(backend)
        assert isinstance(backend, TorchScriptBackend)
        own, base = type(backend), TorchScriptBackend
        with Subject():
            return _NOTHING_TO_COMPILE_WITH | {
                "libraries": [Path(path).name for path in backend.libraries],
                "loads": own.load is not base.load,
                "lowers": own.lower is not base.lower,
                "specs": {case: encode(backend.compile_spec(case_named(case))) for case in cases},
            }

    def _saboteurs(self) -> list[dict[str, Any]]:
        """The saboteurs of an entry point, which are no backend to be described but a sequence of them."""
        with Subject():
            return [
                {
                    "name": each.name,
                    "value": each.value,
                    "toolchain": each.backend.toolchain,
                    "sabotage": each.sabotage,
                    "caught_by": list(each.caught_by),
                    "verdicts": list(each.verdicts),
                    "phases": list(each.phases),
                    "target": each.target,
                }
                for each in resolve(self._subject["value"])
            ]

    def _load(self) -> list[str]:
        """Load the backend; the names of all backends that are registered then and were not before."""
        backend = self._open()
        before = _registered()
        with Subject():
            backend.load()
            names = sorted(_registered() - before)
            if isinstance(backend, TorchScriptBackend) and not self._subject["library"]:
                _expect_registered(backend.name, names)
            if isinstance(backend, DynamoBackend):
                _expect_known_to_dynamo(backend.name)
        return names


#: What ``torch.compile`` would be given.
_NOTHING_TO_COMPILE_WITH: dict[str, Any] = {"options": {}, "mode": None, "runtime": ()}


def _reproduction_by_name(backend: DynamoBackend) -> dict[str, Any]:
    """The same of a backend of ``torch.compile``, which PyTorch finds by its name unless its class does more."""
    with Subject():
        return {
            "libraries": [],
            "loads": type(backend).load is not DynamoBackend.load,
            "lowers": False,
            "specs": {},
            "options": _written_down(dict(backend.options)),
            "mode": backend.mode,
            "runtime": list(backend.runtime),
        }


def _written_down(options: dict[str, Any]) -> dict[str, Any] | None:
    """Options that are the same when they are read from their text; None for others."""
    try:
        return options if ast.literal_eval(repr(options)) == options else None
    except (ValueError, SyntaxError):
        return None


def open_session(subject: dict[str, Any] | None) -> Discovery:
    """A session that knows one source."""
    return Discovery(subject)


def _registered() -> set[str]:
    """The TorchScript backends that this process knows, seen by the classes that their libraries register."""
    names = set()
    for schema in torch._C._jit_get_custom_class_schemas():  # type: ignore[attr-defined]
        if schema.name == "__init__":
            type_name = schema.arguments[0].type.annotation_str
            if type_name.startswith(_BACKENDS):
                names.add(type_name.removeprefix(_BACKENDS))
    return names


def _expect_registered(name: str, names: list[str]) -> None:
    try:
        getattr(torch.classes.__backends__, name)
    except RuntimeError:
        found = f"it registered {', '.join(names)}" if names else "it registered no backend at all"
        raise PluginError(
            f"load() worked, but PyTorch knows no TorchScript backend named {name!r} afterwards: {found}. "
            "Set `name` to the name under which the library registers its class."
        ) from None


def _known_to_dynamo() -> dict[str, list[str]]:
    """Every name that ``torch.compile(backend=...)`` takes here, with its tags; importing no vendor's module."""
    import torch._dynamo
    from torch._dynamo.backends.registry import _COMPILER_FNS

    names = torch._dynamo.list_backends(exclude_tags=())
    return {name: list(getattr(_COMPILER_FNS.get(name), "_tags", ())) for name in names}


def _expect_known_to_dynamo(name: str) -> None:
    import torch._dynamo

    try:
        found = torch._dynamo.lookup_backend(name)
    except torch._dynamo.exc.InvalidBackend:
        raise PluginError(
            f"load() worked, but torch.compile knows no backend {name!r} afterwards. Register it with "
            "torch._dynamo.register_backend in load(), or by an entry point of the group 'torch_dynamo_backends'."
        ) from None
    if not callable(found):
        raise PluginError(f"the backend {name!r} is not callable: PyTorch has {found!r:.80} under that name")
