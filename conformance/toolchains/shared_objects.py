"""What a shared library needs of others, read from the file without loading it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from conformance._util.compiling import torch_folder

#: Files that are Python or are made for it: libpython3.11.so.1.0, libtorch_python.so, _C.cpython-311-x86_64-linux.so.
_OF_PYTHON = re.compile(r"^lib(?:python\d|torch_python\b)|\.(?:cpython-|pypy\d|abi3\.so)")
#: Libraries of PyTorch: libtorch.so, libtorch_cpu.so, libc10.so.
_OF_PYTORCH = re.compile(r"^lib(?:torch|c10)(?:_\w+)?\.so")


def is_of_python(file: str) -> bool:
    """Whether the name of a file is that of Python itself, or of a library made for it."""
    return _OF_PYTHON.search(Path(file).name) is not None


def is_of_pytorch(file: str) -> bool:
    """Whether the name of a file is that of a library of PyTorch's."""
    return _OF_PYTORCH.search(Path(file).name) is not None


def unwanted_libraries(library: str, is_unwanted: Callable[[str], bool] = is_of_python) -> list[str]:
    """The libraries that a library needs, directly or through others, and that are unwanted by their names: parts of
    Python if nothing else is said. Each is the chain that leads to it.

    ``library`` is a path. What it needs is looked for where the dynamic linker would (the search path in the file,
    LD_LIBRARY_PATH), and beside libtorch; what lies elsewhere is the system's, and is not followed. A file that is no
    ELF needs nothing.
    """
    found = []
    beside_libtorch = torch_folder() / "lib"
    waiting = [(Path(library), Path(library).name)]
    seen = set()
    while waiting:
        path, chain = waiting.pop()
        names, search = _dynamic(path)
        for name in names:
            if name in seen:
                continue
            seen.add(name)
            here = f"{chain} needs {name}"
            if is_unwanted(name):
                found.append(here)
            waiting += [(folder / name, here) for folder in (*search, beside_libtorch) if (folder / name).is_file()][:1]
    return found


def _dynamic(path: Path) -> tuple[list[str], list[Path]]:
    """The names of the libraries that a file needs, and the folders that are searched for them because of it."""
    try:
        with path.open("rb") as file:
            section = next(_dynamic_sections(ELFFile(file)), None)
            tags = list(section.iter_tags()) if section is not None else []
    except (OSError, ELFError):
        return [], []
    names = _texts(tags, "needed")
    written = [*_texts(tags, "rpath"), *_texts(tags, "runpath"), os.environ.get("LD_LIBRARY_PATH", "")]
    folders = [each for text in written for each in text.split(":") if each]
    origin = str(path.resolve().parent)
    return names, [Path(each.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)) for each in folders]


def _texts(tags: list[Any], kind: str) -> list[str]:
    return [getattr(tag, kind) for tag in tags if tag.entry.d_tag == f"DT_{kind.upper()}"]


def _dynamic_sections(elf: ELFFile) -> Iterator[DynamicSection]:
    return (section for section in elf.iter_sections() if isinstance(section, DynamicSection))
