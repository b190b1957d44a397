"""Verbs about a backend's registration and its vendor's runtime; and how a process is made to lack that."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch

from conformance.devices import Subject
from conformance.toolchains.dynamo.plugin import ENTRY_POINT_GROUP
from conformance.toolchains.dynamo.verbs.session import Session, verb

#: PyTorch uses it where it is there, and names it nowhere as a requirement.
_OPTIONAL_OF_PYTORCH = {"numpy"}


class Hidden(importlib.abc.MetaPathFinder):
    """Lets modules be missing as they are where they were not installed."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = tuple(names)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """Raises ModuleNotFoundError for a hidden module and what is in it; knows no other."""
        if any(fullname == name or fullname.startswith(f"{name}.") for name in self._names):
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def hide(names: Collection[str]) -> None:
    """Let this process lack modules. AssertionError when one of them was imported before."""
    early = sorted(set(names) & set(sys.modules))
    assert not early, f"{early} cannot be hidden: imported already"
    sys.meta_path.insert(0, Hidden(names))


@verb
def runtime_modules(session: Session) -> list[str]:
    """The modules without which the backend cannot do its work: those that its author names, or else all of each
    distribution of which a native module was imported since this process began.

    So they are missing where a distribution is not installed, and not one by one. One that PyTorch needs, or that
    brings the backend itself, is never missing beside it.
    """
    if session.backend is None:
        return []
    if session.backend.runtime:
        return list(session.backend.runtime)
    native = [
        name
        for name, module in list(sys.modules.items())
        if name not in session.imported_before
        and isinstance(
            getattr(getattr(module, "__spec__", None), "loader", None), importlib.machinery.ExtensionFileLoader
        )
    ]
    owners = {
        name: {_normal(each) for each in found} for name, found in importlib.metadata.packages_distributions().items()
    }
    beside = _needed_by_pytorch() | _OPTIONAL_OF_PYTORCH | _bringing(session, owners)
    return modules_of_distributions(native, owners, beside)


def modules_of_distributions(
    native: Sequence[str], owners: Mapping[str, set[str]], beside: Collection[str]
) -> list[str]:
    """What is missing where the distributions of ``native`` modules are not installed, but for those ``beside``.

    ``owners`` are the distributions of each package. Of a package that several share, such as a namespace, only what
    lies in it as the native module does is missing.
    """
    found: set[str] = set()
    for name in native:
        package, *rest = name.split(".")
        owning = owners.get(package, set())
        if not owning or owning & set(beside):
            continue
        if len(owning) > 1:
            found.add(".".join([package, *rest[:1]]))
        else:
            found.update(each for each, theirs in owners.items() if theirs == owning)
    return sorted(found)


def _bringing(session: Session, owners: Mapping[str, set[str]]) -> set[str]:
    """The distributions that bring the backend itself: that of its author's class, and the one that registers it."""
    points = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP, name=session.backend_name)
    registering = {_normal(point.dist.name) for point in points if point.dist is not None}
    return registering | owners.get(type(session.backend).__module__.partition(".")[0], set())


def _needed_by_pytorch() -> set[str]:
    """PyTorch's distribution, and all that it requires, directly or not."""
    known: set[str] = set()
    waiting = ["torch"]
    while waiting:
        name = _normal(waiting.pop())
        if name in known:
            continue
        known.add(name)
        try:
            required = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        waiting += [re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in required]
    return known


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@verb
def listed(session: Session) -> bool:
    """Whether PyTorch lists the backend."""
    with Subject():
        return session.backend_name in torch._dynamo.list_backends(exclude_tags=())


@verb
def registration(session: Session) -> list[str]:
    """A sentence for each thing about the backend's registration that a user would stumble over."""
    name = session.backend_name
    points = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    problems = entry_point_problems(name, [(each.name, each.value) for each in points], session.registered_before)
    with Subject():
        found = [torch._dynamo.lookup_backend(name) for _ in range(2)]
    if found[0] is not found[1]:
        problems.append(f"two lookups of {name!r} give different objects")
    problems += [
        f"what {name!r} leads to is {type(each).__name__}, not callable" for each in found if not callable(each)
    ]
    try:
        hash(found[0])
    except TypeError:
        problems.append(f"what {name!r} leads to cannot be hashed, as PyTorch's registry does")
    return problems


def entry_point_problems(name: str, points: Sequence[tuple[str, str]], registered: Collection[str]) -> list[str]:
    """What is wrong with the entry points ``(name, value)`` of a backend, where PyTorch has ``registered`` names of its
    own: it takes these before any entry point, and the last of several entry points of one name."""
    values = sorted({value for other, value in points if other == name})
    problems = []
    if len(values) > 1:
        problems.append(f"several entry points are named {name!r}, of which PyTorch takes one: {', '.join(values)}")
    if values and name in registered:
        problems.append(f"PyTorch has a backend {name!r} of its own, which is taken in place of {', '.join(values)}")
    return problems
