"""Where the harness finds the installed ExecuTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.toolchains import toolchain_named

LACKING = toolchain_named("executorch").lacking()


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_another_folder_of_that_name_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "executorch" / "examples").mkdir(parents=True)
    asked = "from conformance.toolchains.executorch.compiling import executorch_folder; print(executorch_folder())"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    folder = Path(done.stdout.strip())
    assert folder.parent != tmp_path
    assert (folder / "include").is_dir()
