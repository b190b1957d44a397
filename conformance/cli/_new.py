"""``new``."""

from __future__ import annotations

import argparse
from pathlib import Path

from conformance.cli._common import Commands, refuse, say
from conformance.toolchains import default_toolchain, toolchains


def add(commands: Commands) -> None:
    """``new``."""
    new = commands.add_parser(
        "new",
        help="write a plugin distribution for a backend of yours",
        description="Write a plugin distribution for a backend: the class that describes it, a small delegate that "
        "compiles (or your own library), and a workflow that certifies it in CI. No existing file is overwritten.",
    )
    new.add_argument("name", metavar="NAME", help="what the backend is called, such as mybackend or my_npu")
    new.add_argument("folder", metavar="DIR", nargs="?", type=Path, help="where to (default: NAME-conformance)")
    new.add_argument(
        "--toolchain",
        default=default_toolchain().name,
        help=f"what the backend plugs into: {_choices()} (default: %(default)s)",
    )
    new.add_argument(
        "--library",
        metavar="PATH",
        type=Path,
        help="a shared library that registers the backend; without it the source of a small one is written",
    )
    new.set_defaults(run=_new)


def _choices() -> str:
    """The toolchains that there are templates for, with what backends of each are."""
    return ", ".join(f"{each.name}, for {each.summary}" for each in toolchains() if each.templates is not None)


def _new(options: argparse.Namespace) -> int:
    from conformance.scaffold.distribution import NewPlugin, ScaffoldError, write

    try:
        plan = NewPlugin(options.name, options.toolchain, options.library)
        folder = options.folder or Path(plan.distribution)
        if options.library:
            library = options.library.absolute()
            plan = NewPlugin(options.name, options.toolchain, library, _registered_name(library, options.name))
        written = write(plan, folder)
    except ScaffoldError as error:
        return refuse(str(error))
    for path in written:
        say(str(path))
    say(f"\nNow:  pip install -e {folder}  &&  pytest --backend={plan.name}")
    return 0


def _registered_name(library: Path, name: str) -> str:
    """Under which name the library registers the backend, found by loading it in a process of its own.

    Raises ScaffoldError when it does not load, and when it registers several backends of which none has this name.
    """
    from conformance.api.errors import HarnessError
    from conformance.devices import Limits, ZygotePool
    from conformance.discovery.describing import SelectionError
    from conformance.discovery.selecting import library_sources
    from conformance.scaffold.distribution import ScaffoldError

    pool = ZygotePool(Limits())
    try:
        names = [source.name for source in library_sources(library, pool, option="--library")]
    except (SelectionError, HarnessError) as error:
        raise ScaffoldError(str(error)) from error
    finally:
        pool.close()
    if name in names:
        return name
    if len(names) > 1:
        raise ScaffoldError(
            f"{library.name} registers {', '.join(names)}, and no {name!r}: call the new one as it does"
        )
    return names[0]
