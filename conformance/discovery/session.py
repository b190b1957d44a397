"""Verbs that find out about a backend before any cell runs: import it, prepare it, describe it, load it."""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Callable
from typing import Any

from conformance.api.backend import Backend, Environment
from conformance.devices import Subject
from conformance.discovery.checking import check, describe, plain
from conformance.extensions import resolve
from conformance.toolchains import PluginError, load_backend, toolchain_named


class Discovery:
    """The session of a describing child."""

    def __init__(self, subject: dict[str, Any] | None) -> None:
        self._subject = subject or {}
        self._backend: Backend | None = None

    def call(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Answer a verb of the table below."""
        verbs: dict[str, Callable[..., Any]] = {
            "register": lambda: None,
            "has_class": self._has_class,
            "open": self._import,
            "describe": self._describe,
            "prepare": self._prepare,
            "load": self._load,
            "reproduction": self._reproduction,
            "saboteurs": self._saboteurs,
            "known": self._known,
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

    def _has_class(self) -> bool:
        """Whether the module that is imported has an author's class by the name; other backends it may register."""
        with Subject():
            module = importlib.import_module(self._subject["imports"])
            found = getattr(module, self._subject["name"], None)
        return isinstance(found, Backend) or (isinstance(found, type) and issubclass(found, Backend))

    def _import(self) -> None:
        self._open()

    def _prepare(self) -> dict[str, str | None]:
        backend = self._open()
        with Subject():
            prepared = backend.prepare()
            if prepared is not None and not isinstance(prepared, Environment):
                raise PluginError(f"prepare() returns a conformance.Environment or None, found {prepared!r:.80}")
            os.environ.update({name: value for name, value in (prepared or {}).items() if value is not None})
        return {plain(name): plain(value) for name, value in (prepared or {}).items()}

    def _describe(self, prepared: bool) -> dict[str, Any]:
        backend = self._open()
        with Subject():
            return describe(backend, prepared=prepared)

    def _reproduction(self, cases: list[str]) -> dict[str, Any]:
        backend = self._open()
        return dataclasses.asdict(toolchain_named(backend.toolchain).reproduction(backend, cases))

    def _known(self, toolchain: str) -> dict[str, list[str]]:
        """The names by which PyTorch itself knows backends of a toolchain, with their tags."""
        return toolchain_named(toolchain).known()

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
                    "replaces_functions": each.replaces_functions,
                }
                for each in resolve(self._subject["value"])
            ]

    def _load(self) -> list[str]:
        """Load the backend; the names of all backends that are registered then and were not before."""
        backend = self._open()
        toolchain = toolchain_named(backend.toolchain)
        before = toolchain.registered()
        with Subject():
            backend.load()
            names = sorted(toolchain.registered() - before)
            if not self._subject["library"]:
                toolchain.expect_known(backend, names)
        return names


def open_session(subject: dict[str, Any] | None) -> Discovery:
    """A session that knows one source."""
    return Discovery(subject)
