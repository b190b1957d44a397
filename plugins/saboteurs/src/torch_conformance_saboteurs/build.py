"""Compiles what of this distribution is C++, once for the PyTorch that is installed.

The compiled files lie in a cache of the user's; ``SABOTEURS_CACHE`` puts it elsewhere, ``CXX`` chooses the compiler.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

from conformance.compiling import Compilation, compiled

_PACKAGE = Path(__file__).parent
_MODULE = "torch_conformance_saboteurs._bridge"
_LIBRARY = ("-O1", "-fPIC", "-shared", "-fvisibility=hidden")

BRIDGE = Compilation(
    output=f"_bridge{importlib.machinery.EXTENSION_SUFFIXES[0]}",
    sources=_PACKAGE / "csrc",
    main="bridge.cpp",
    flags=(*_LIBRARY, f"-I{sysconfig.get_paths()['include']}"),
    libraries=("-ltorch_python",),
)
#: Delegates that need no Python, but for one, which is in a library of its own.
DELEGATES = Compilation("libdelegates.so", _PACKAGE / "csrc_native", "delegates.cpp", _LIBRARY)
DELEGATE_WITH_PYTHON = Compilation(
    output="libdelegate_with_python.so",
    sources=_PACKAGE / "csrc_native",
    main="delegates.cpp",
    flags=(*_LIBRARY, "-DSABOTEURS_LINK_PYTHON"),
    libraries=("-Wl,--no-as-needed", "-ltorch_python"),
)


def cache_directory() -> Path:
    """Where compiled files lie: ``SABOTEURS_CACHE``, or the user's cache directory."""
    override = os.environ.get("SABOTEURS_CACHE")
    if override:
        return Path(override)
    import platformdirs

    return platformdirs.user_cache_path("torch-conformance-saboteurs")


def build(what: Compilation = BRIDGE) -> Path:
    """Compile it unless it is there already, and return its path. Raises conformance.compiling.CompileError."""
    return compiled(what, cache_directory())


def load() -> ModuleType:
    """The bridge as a module, compiled first if need be. The same module when called again in a process."""
    if _MODULE in sys.modules:
        return sys.modules[_MODULE]
    path = build()
    loader = importlib.machinery.ExtensionFileLoader(_MODULE, str(path))
    spec = importlib.util.spec_from_file_location(_MODULE, path, loader=loader)
    if spec is None:
        raise ImportError(f"{path} cannot be loaded as an extension module")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[_MODULE] = module
    return module
