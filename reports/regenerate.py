"""Run the harness on every backend of this repository, keep the reports beside this file, and write the scoreboard.

``python reports/regenerate.py`` takes half an hour, most of it inductor's; names after it regenerate only those.
OpenVINO is among them where it and ``plugins/openvino`` are installed. Exits with 1 if a backend cannot be run here
(PyTorch's own test backends are in some of its builds only): its former report is kept.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DELEGATES = ("reference", "python_control", "backend_with_compiler_demo", "test_backend", "test_backend_unavailable")
COMPILERS = ("eager", "aot_eager", "inductor")
OPENVINO = ("openvino", "openvino_aot_autograd")
OPENVINO_NEEDS = ("openvino", "torch_conformance_openvino")
HAS_OPENVINO = all(importlib.util.find_spec(module) is not None for module in OPENVINO_NEEDS)
BACKENDS = (*DELEGATES, *COMPILERS, *(OPENVINO if HAS_OPENVINO else ()))
#: Exit codes of a run that came to its end: the level was reached, or it was not.
ENDED = (0, 1)


def main(names: list[str]) -> int:
    """Regenerate the reports of these backends; the exit code."""
    unknown = sorted(set(names) - set(BACKENDS))
    if unknown:
        print(f"regenerate.py: expected names among {', '.join(BACKENDS)}; found {', '.join(unknown)}", file=sys.stderr)
        return 2
    missing = [name for name in names or BACKENDS if not regenerate(name)]
    scoreboard = subprocess.run([sys.executable, "-m", "conformance.cli", "scoreboard", str(HERE)], check=False)
    if missing:
        print(f"not regenerated: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else scoreboard.returncode


def regenerate(name: str) -> bool:
    """Run one backend, and keep its report if the run came to its end."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pytest", f"--backend={name}", "-n", "2", "-q", "-p", "no:cacheprovider"]
        run = subprocess.run(command, cwd=scratch, check=False)
        written = Path(scratch) / "conformance-report" / name
        if run.returncode not in ENDED or not (written / "report.json").is_file():
            return False
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        # The pages and all else are made of it: `conformance scoreboard reports --pages -o build/reports/index.html`.
        shutil.copyfile(written / "report.json", folder / "report.json")
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
