"""The part of scripts that finds the libraries of a backend. Copied into scripts, where a toolchain's own part says so;
see :mod:`conformance.standalone.reproducers._main`.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from pathlib import Path

import torch

from conformance._util.processes import set_environment
from conformance.standalone.reproducers._process import DISTRIBUTION, LIBRARIES, PLUGIN, CannotTry, instance_of


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let the command line name what a process cannot find by itself."""
    parser.add_argument("--library", action="append", default=[], metavar="PATH", help="a library of the backend")


def find_backend(options: argparse.Namespace) -> list[str]:
    """The backend's libraries: those that were named, or each by its name in the usual places, or those that the
    author's class names, as for a run. Raises CannotTry."""
    named = options.library or list(filter(None, os.environ.get("CONFORMANCE_LIBRARY", "").split(os.pathsep)))
    for path in named:
        if not Path(path).is_file():
            raise CannotTry(f"there is no library {path}")
    if named:
        return [str(Path(path).resolve()) for path in named]
    found = [_find_library(name) for name in LIBRARIES]
    if None not in found:
        return [path for path in found if path is not None]
    why = "this script knows no class that names it"
    if PLUGIN:
        try:
            with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as process:
                return process.submit(_libraries_of_class, PLUGIN).result()
        except Exception as error:  # whatever the author's code raises, or how its process ends
            why = f"{PLUGIN} does not name it ({type(error).__name__}: {error})"
    raise CannotTry(
        f"the backend's library {LIBRARIES[found.index(None)]} was not found beside this script, in torch/lib"
        + (f", or among the files of {DISTRIBUTION}" if DISTRIBUTION else "")
        + f", and {why}. Name it: --library PATH, or CONFORMANCE_LIBRARY=PATH"
    )


def _libraries_of_class(plugin: str) -> list[str]:
    """Where an author's class has its libraries, once it is prepared; that may compile them."""
    backend = instance_of(plugin)
    set_environment(backend.prepare())
    return [str(Path(path).absolute()) for path in backend.libraries]


def _find_library(name: str) -> str | None:
    places = [Path(__file__).with_name(name), Path(torch.__file__).parent / "lib" / name]
    with contextlib.suppress(metadata.PackageNotFoundError):
        files = metadata.files(DISTRIBUTION) if DISTRIBUTION else None
        places += [Path(str(file.locate())) for file in files or () if file.name == name]
    for place in places:
        if place.is_file():
            return str(place)
    return None
