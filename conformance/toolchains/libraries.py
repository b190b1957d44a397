"""The shared libraries that an author's class names, for every toolchain whose backends have such."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Protocol

from conformance._util.files import sha256_of
from conformance.toolchains.source import PluginError

#: What ``libraries`` must be.
_PATHS = "a tuple of paths as strings"


class HasLibraries(Protocol):
    """A backend with shared libraries."""

    @property
    def libraries(self) -> tuple[str, ...]: ...


def problems_of_libraries(backend: HasLibraries) -> list[str]:
    """What is wrong with ``libraries``, as far as it can be seen before the backend is prepared."""
    libraries = inspect.getattr_static(backend, "libraries")
    # What computes them may compile them, which is for after prepare(): details_of_libraries() looks at those.
    if hasattr(type(libraries), "__get__") or _are_paths(libraries):
        return []
    return [_wrong(libraries)]


def details_of_libraries(backend: HasLibraries) -> dict[str, Any]:
    """The libraries of a backend that has been prepared, and their digests, as a description has them.

    Raises PluginError where one is not there.
    """
    libraries = backend.libraries
    if not _are_paths(libraries):
        raise PluginError(_wrong(libraries))
    paths = [Path(path).absolute() for path in libraries]
    missing = [path for path in libraries if not Path(path).is_file()]
    if missing:
        raise PluginError(
            f"libraries names {' and '.join(missing)}, and after prepare() there is no such file: build it before the "
            f"run or in prepare(), and give a path that is right in {Path.cwd()}, or an absolute one"
        )
    return {
        "libraries": list(map(str, paths)),
        "files": [{"name": path.name, "sha256": sha256_of(path)} for path in paths],
    }


def _wrong(libraries: Any) -> str:
    return f"libraries must be {_PATHS}, found {type(libraries).__name__}: {libraries!r:.80}"


def _are_paths(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(path, str) for path in value)
