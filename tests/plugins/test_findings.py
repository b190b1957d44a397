"""What was found in others: each reproducer in ``reports/findings`` still shows it, with torch and the backend."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support.places import REPOSITORY

from conformance.toolchains import toolchain_named

FOLDER = REPOSITORY / "reports" / "findings"
SCRIPTS = sorted(FOLDER.glob("*.py"))
LIBRARIES = Path(torch.__file__).parent / "lib"
ENVIRONMENTS = REPOSITORY / "build" / "environments"
#: Vendors whose packages may be in environments of their own, made by `reports/regenerate.py`: what is imported there.
VENDORS = {"docc": "docc.torch", "iree": "iree.turbine", "openvino": "openvino", "tvm": "tvm", "zentorch": "zentorch"}
#: Backends that PyTorch's own tests have, which nobody uses.
TOYS = ("demo_", "test_backend_")
#: What delegates of ExecuTorch need beside it, by the extra of `plugins/executorch` that installs it.
EXTRAS = {"openvino": ("openvino", "nncf"), "tosa": ("tosa_serializer",)}
#: Where docc finds the compiler that it starts, and which one it starts without it.
DOCC_COMPILER = ("DOCC_BACKEND_COMPILER", "clang++-21")
#: What a vendor's package says where it leaves every model alone, since the processor lacks what it is made for.
IDLE_HERE = {"zentorch": "only available on CPUs with AVX-512"}


@pytest.mark.runs
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_reproducer_shows_what_it_says(script: Path) -> None:
    text = script.read_text()
    for library in ("libjitbackend_test.so", "libbackend_with_compiler.so"):
        if library in text and not (LIBRARIES / library).exists():
            pytest.skip(f"this build of torch does not ship {library}")
    vendor = script.name.partition("_")[0]
    python = sys.executable
    if vendor in VENDORS and not _is_installed(VENDORS[vendor]):
        python = str(ENVIRONMENTS / vendor / "bin" / "python")
        if not Path(python).exists():
            pytest.skip(
                f"{vendor} is not installed; python reports/upstream.py {vendor} installs it and runs its scripts"
            )
    if vendor == "docc" and shutil.which(os.environ.get(*DOCC_COMPILER)) is None:
        pytest.skip(f"docc needs a compiler: install {DOCC_COMPILER[1]}, or name another Clang in {DOCC_COMPILER[0]}")
    lacking = toolchain_named("executorch").lacking()
    if script.name.startswith("executorch_") and lacking:
        pytest.skip(lacking)
    for extra, modules in EXTRAS.items():
        if script.name.startswith(f"executorch_{extra}_") and not all(map(_is_installed, modules)):
            pytest.skip(f"it needs {' and '.join(modules)}: pip install './plugins/executorch[{extra}]'")
    finished = subprocess.run(
        [python, "-W", "ignore", str(script)], capture_output=True, text=True, timeout=240, check=False
    )
    if vendor in IDLE_HERE and IDLE_HERE[vendor] in finished.stderr:
        pytest.skip(f"{vendor} does nothing on this processor: {IDLE_HERE[vendor]}")
    assert finished.returncode != 0, f"it does not show any more: {finished.stdout}{finished.stderr}"
    for absent in ("ModuleNotFoundError", "ImportError", "InvalidBackend"):
        assert absent not in finished.stderr
    assert "conformance" not in text


def _is_installed(module: str) -> bool:
    """Whether this interpreter has a module, whose package need not be there either."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def test_every_reproducer_is_described() -> None:
    described = (FOLDER.parent / "findings.md").read_text()
    assert SCRIPTS
    for script in SCRIPTS:
        assert f"findings/{script.name}" in described


def test_every_defect_has_a_text_to_be_filed_that_shows_the_script_as_it_is() -> None:
    for script in SCRIPTS:
        if not script.name.startswith(TOYS):
            text = (FOLDER.parent / "upstream" / f"{script.stem}.md").read_text()
            assert script.read_text().split('"""', 2)[2].strip() in text, (
                f"python reports/upstream.py {script.stem.partition('_')[0]}"
            )
