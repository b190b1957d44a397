"""Other installations of Python, with some of this one's distributions and nothing else of it."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement


def installation(folder: Path, *distributions: str, paths: tuple[Path, ...] = ()) -> Path:
    """A Python with these distributions, what they require and the folders on its path, and nothing else of ours."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    waiting, done = list(distributions), set[str]()
    while waiting:
        name = waiting.pop()
        if name in done:
            continue
        done.add(name)
        distribution = metadata.distribution(name)
        tops = {Path(file.parts[0]) for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            if not (site / top).exists():
                (site / top).symlink_to(distribution.locate_file(str(top)))
        requirements = [Requirement(text) for text in distribution.requires or ()]
        waiting += [each.name for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
    (site / "far.pth").write_text("".join(f"{path}\n" for path in paths))
    return folder / "bin" / "python"
