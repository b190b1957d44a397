"""Run the harness on every backend of this repository, keep the reports beside this file, and write the scoreboard.

``python reports/regenerate.py`` takes hours, most of them those of slow compilers; names of backends after it
regenerate only these, and what follows ``--`` is passed on to pytest. A backend of a vendor's runs in an environment
of its own, which is made for it (``environments.py``) with the versions that ``plugins/NAME/requirements.lock`` names.
Delegates of ExecuTorch run in ours, where it, ``plugins/executorch`` and what each needs are installed. Each report has
a table of the same operators. Exits with 1 if a backend cannot be run here (PyTorch's own test backends are in some of
its builds only): its former report is kept.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import environments

from conformance.report import read_report, write_report

HERE = Path(__file__).resolve().parent
DELEGATES = ("reference", "python_control", "backend_with_compiler_demo", "test_backend", "test_backend_unavailable")
COMPILERS = ("eager", "aot_eager", "inductor")
#: ExecuTorch's delegates, with the modules that each needs beside those that all need.
EXECUTORCH = {
    "XnnpackBackend": (),
    "OpenvinoBackend": ("openvino", "nncf"),
    "VulkanBackend": (),
    "CoreMLBackend": ("coremltools",),
    "TOSABackend": ("tosa_serializer",),
}
EXECUTORCH_NEEDS = ("executorch", "torch_conformance_executorch")
THERE = tuple(
    name
    for name, needs in EXECUTORCH.items()
    if all(importlib.util.find_spec(module) is not None for module in (*EXECUTORCH_NEEDS, *needs))
)
OURS = (*DELEGATES, *COMPILERS, *THERE)
PLUGINS = {backend: plugin for plugin in environments.plugins() for backend in plugin.backends}
BACKENDS = (*OURS, *PLUGINS)
#: Exit codes of a run that came to its end: the level was reached, or it was not.
ENDED = (0, 1)
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
#: The operators that every report is asked for, so that backends can be read side by side: those of most models, with
#: the ones that vendors get wrong. All of them take hours where each is compiled by a C++ compiler.
OPERATORS = (
    *("add", "sub", "mul", "div", "floor_divide", "remainder", "maximum", "clamp", "exp", "log", "sigmoid", "softmax"),
    *("sum", "mean", "var", "argmax", "cumsum", "sort", "where", "gather", "index_select", "cat", "matmul"),
    *(f"nn.functional.{name}" for name in ("relu", "gelu", "conv2d", "layer_norm", "max_pool2d", "embedding")),
)
TABLE = (f"--conformance-operators={','.join(OPERATORS)}", "--conformance-operator-samples=2")


def main(arguments: list[str]) -> int:
    """Regenerate the reports of these backends; the exit code."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        usage="%(prog)s [-h] [BACKEND ...] [-- OPTION_OF_PYTEST ...]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("backends", nargs="*", metavar="BACKEND", help=f"all, or of {', '.join(BACKENDS)}")
    names, options = parser.parse_args(arguments[:split]).backends, arguments[split + 1 :] or ["-n", "2"]
    if unknown := sorted(set(names) - set(BACKENDS)):
        parser.error(f"expected names among {', '.join(BACKENDS)}; found {', '.join(unknown)}")
    missing = [name for name in names or BACKENDS if not regenerate(name, options)]
    scoreboard = subprocess.run([sys.executable, "-m", "conformance.cli", "scoreboard", str(HERE)], check=False)
    if missing:
        print(f"not regenerated: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else scoreboard.returncode


def regenerate(name: str, options: list[str]) -> bool:
    """Run one backend, and keep its report if the run came to its end."""
    try:
        python = _python_for(name)
    except subprocess.CalledProcessError as error:
        print(f"{name}: its environment cannot be made: pip ended with {error.returncode}", file=sys.stderr)
        return False
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.run([python, *PYTEST, f"--backend={name}", *TABLE, *options], cwd=scratch, check=False)
        written = Path(scratch) / "conformance-report" / name
        if run.returncode not in ENDED or not (written / "report.json").is_file():
            return False
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        # The pages and all else are made of it: `conformance scoreboard reports --pages -o build/reports/index.html`.
        write_report(folder / "report.json", shortened(read_report(written / "report.json")))
    _tell_cost(name)
    return True


#: Innermost lines of a stack that stay in a report which is kept: five calls of Python, two lines each.
_LINES_OF_A_STACK = 10


def shortened(report: dict[str, Any]) -> dict[str, Any]:
    """A report in which, of cells that fail alike or say the same of it, the first alone has what its failure left
    behind, and the others say which that is; what generated cells found stands with their findings alone. Of stacks the
    innermost calls stay, of what generated cells tried the table over all of them, of times milliseconds. A toy with
    hundreds of failures would be the largest file of the repository."""
    first: dict[str, str] = {}
    for row in report["cells"]:
        row["seconds"] = {phase: round(seconds, 3) for phase, seconds in row.get("seconds", {}).items()}
        if "pairs" in row.get("generated", {}):
            row["generated"] |= {"values": [], "counts": [], "pairs": []}
        if "error" in row and row.get("generated", {}).get("findings"):
            row["error"] = {"type": row["error"].get("type", ""), "text": row["message"]}
        elif "error" in row and "fingerprint" in row:
            like = first.get(row["fingerprint"]) or first.setdefault(row.get("message", row["id"]), row["id"])
            first.setdefault(row["fingerprint"], like)
            if like != row["id"]:
                row["error"] = {"type": row["error"].get("type", ""), "text": f"as of {like}"}
        if row.get("error", {}).get("stack"):
            row["error"]["stack"] = "\n".join(row["error"]["stack"].splitlines()[-_LINES_OF_A_STACK:])
    return report


def _python_for(name: str) -> str:
    """The interpreter that has the backend."""
    plugin = PLUGINS.get(name)
    if plugin is None:
        return sys.executable
    environments.prepare(plugin)
    return str(plugin.python)


def _tell_cost(name: str) -> None:
    """Say how long the run took, and how large its largest process was (of all runs until now)."""
    report = json.loads((HERE / name / "report.json").read_text(encoding="utf-8"))
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"{name}: {report['run']['seconds'] / 60:.1f} min, {len(report['cells'])} cells, {memory:.1f} GiB at most")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
