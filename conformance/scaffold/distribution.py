"""A plugin distribution for a new backend, rendered from the templates that ship with the harness.

Each toolchain that has any names a folder of templates, with a ``files.toml`` that says which becomes which file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import jinja2

import conformance
from conformance import toolchains as stacks
from conformance._util.files import write_atomically
from conformance.toolchains import installed_sources, toolchain_named

#: What templates of several toolchains share.
_COMMON = Path(__file__).with_name("templates")
_MANIFEST = "files.toml"
_HARNESS = "torch-conformance"
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LONGEST_NAME = 40


class ScaffoldError(Exception):
    """A distribution of that name cannot be written there; the text says what would do."""


@dataclasses.dataclass(frozen=True, slots=True)
class NewPlugin:
    """What is to be written: a backend's name, its toolchain, and the library if there is one already.

    ``registered`` is the name under which the library registers itself with PyTorch.
    """

    name: str
    toolchain: str
    library: Path | None = None
    registered: str = ""

    def __post_init__(self) -> None:
        if self.toolchain not in toolchains():
            raise ScaffoldError(
                f"there are no templates for the toolchain {self.toolchain!r}; there are some for: "
                f"{', '.join(toolchains())}"
            )
        check_name(self.name, self.toolchain)
        if self.distribution == _HARNESS:
            raise ScaffoldError(
                f"the distribution of a backend named {self.name!r} would be called {_HARNESS}, as the harness is; "
                "choose another name"
            )
        refusal = _manifest(self.toolchain).get("no_library", "")
        if self.library and refusal:
            raise ScaffoldError(f"--library: {refusal}")
        try:
            str(self.library).encode()
        except UnicodeEncodeError:
            raise ScaffoldError(
                f"--library: {str(self.library)!r} is written into the sources, which are UTF-8, and it is not; move "
                "the file, or rename it"
            ) from None

    @property
    def distribution(self) -> str:
        """The name of the distribution, and of its folder where no other is given."""
        return f"{self.name.replace('_', '-')}-conformance"

    @property
    def package(self) -> str:
        """The name of the package; not the backend's own, which its author may need elsewhere."""
        return f"{self.name}_conformance"

    @property
    def class_name(self) -> str:
        """The name of the backend's class."""
        words = "".join(word.capitalize() for word in self.name.split("_"))
        return words if words.endswith("backend") else f"{words}Backend"

    def values(self) -> dict[str, Any]:
        """What the templates can name."""
        manifest = _manifest(self.toolchain)
        requirement = _HARNESS + (f"[{manifest['extra']}]" if "extra" in manifest else "")
        return {
            "name": self.name,
            "registered": self.registered or self.name,
            "distribution": self.distribution,
            "package": self.package,
            "class_name": self.class_name,
            "variable": f"{self.name.upper()}_DISABLE",
            "library_variable": f"{self.name.upper()}_LIBRARY",
            "library": str(self.library) if self.library else "",
            # Without a way to take the backend away, the states of availability that mobile needs cannot be reached.
            "level": "core" if self.library else manifest["level"],
            "levels": manifest["levels"],
            "version": conformance.__version__,
            "requirement": requirement,
            "harness": _where_from(requirement),
            "oldest_torch": _oldest_torch(),
        }


def _where_from(requirement: str) -> str:
    """What pip installs as this harness elsewhere: the checkout that this one was installed from, or else a version.
    The requirement names it, with the extra that is needed."""
    text = metadata.distribution(_HARNESS).read_text("direct_url.json")  # PEP 610
    origin = json.loads(text) if text else {}
    if "vcs_info" in origin:
        return f"{requirement} @ {origin['vcs_info']['vcs']}+{origin['url']}@{origin['vcs_info']['commit_id']}"
    return f"{requirement}=={conformance.__version__}"


def _oldest_torch() -> str:
    """The oldest release of torch that the harness takes."""
    bounds = (re.match(r"torch\b.*>=\s*([\d.]+)", each) for each in metadata.requires(_HARNESS) or ())
    return next(found[1] for found in bounds if found)


def toolchains() -> tuple[str, ...]:
    """The toolchains that there are templates for."""
    return tuple(sorted(each.name for each in stacks.toolchains() if each.templates is not None))


def check_name(name: str, toolchain: str) -> None:
    """Raise ScaffoldError unless a new backend of a toolchain can be called so."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise ScaffoldError(
            f"{name!r:.60} is no name for a backend: it takes lower-case letters, digits and single underscores, "
            f"begins with a letter, and has {_LONGEST_NAME} characters at most, such as mybackend or my_npu"
        )
    taken = {source.name: source.distribution for source in installed_sources()}
    taken = {**toolchain_named(toolchain).names_taken(), **taken}
    if name in taken:
        raise ScaffoldError(f"a backend named {name!r} is installed already, by {taken[name]}; choose another name")


def _templates(toolchain: str) -> Path:
    folder = toolchain_named(toolchain).templates
    assert folder is not None, "a plan is only made for a toolchain that has templates"
    return folder


def _manifest(toolchain: str) -> dict[str, Any]:
    return tomllib.loads((_templates(toolchain) / _MANIFEST).read_text(encoding="utf-8"))


def rendered(plan: NewPlugin) -> dict[str, str]:
    """Every file of the distribution: its path within the folder, and its text."""
    manifest = _manifest(plan.toolchain)
    files: dict[str, str] = dict(manifest["always"])
    if plan.library is None:
        files |= manifest.get("own_delegate", {})
    environment = jinja2.Environment(
        loader=jinja2.PrefixLoader(
            {
                "common": jinja2.FileSystemLoader(_COMMON),
                "own": jinja2.FileSystemLoader(_templates(plan.toolchain)),
            }
        ),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # the files are sources, not pages
    )
    environment.filters["python"] = _python_string
    values = plan.values()
    return {
        environment.from_string(target).render(values): environment.get_template(template).render(values)
        for target, template in files.items()
    }


def write(plan: NewPlugin, folder: Path) -> list[Path]:
    """Write the distribution into a folder, which is made if need be; the files that were written.

    Raises ScaffoldError, before anything is written, when one of them exists, and when the folder cannot be written to:
    then nothing is left of what was written until then.
    """
    files = {folder / name: text for name, text in rendered(plan).items()}
    try:
        existing = [path for path in files if os.path.lexists(path)]
        if existing:
            more = f" (and {len(existing) - 1} more)" if len(existing) > 1 else ""
            raise ScaffoldError(f"{existing[0]}{more} exists already, and nothing is overwritten; name another folder")
        with contextlib.ExitStack() as undo:
            for path, text in files.items():
                for parent in reversed(path.parents):
                    if not parent.exists():
                        parent.mkdir()
                        undo.callback(_remove, os.rmdir, parent)
                write_atomically(path, text)
                undo.callback(_remove, os.unlink, path)
            undo.pop_all()
    except OSError as error:
        raise ScaffoldError(f"{error.filename or folder} cannot be written: {error.strerror}") from error
    except ValueError as error:
        raise ScaffoldError(f"{str(folder)!r} is no name of a folder: {error}") from error
    return list(files)


def _remove(how: Callable[[Path], None], path: Path) -> None:
    with contextlib.suppress(OSError):  # it is gone, or somebody has put something there
        how(path)


def _python_string(text: str) -> str:
    """A string as Python sources write it, with the quotes of the house."""
    return json.dumps(text, ensure_ascii=False)
