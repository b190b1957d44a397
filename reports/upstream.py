"""Run the scripts of ``findings/`` that are about a backend, and write what each shows as a text to be filed.

``python reports/upstream.py PREFIX ...`` runs every ``findings/PREFIX_*.py`` in the environment of a vendor's plugin,
``plugins/PREFIX``, or here where it is about what torch itself brings, and writes ``upstream/NAME.md``: title,
versions, the script, what was expected, what was found.
Exits with 1 if a script does not show its defect. Nothing is sent anywhere.
"""

from __future__ import annotations

import ast
import dataclasses
import platform
import re
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import environments

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "upstream"
LIMIT = 240
#: Backends that torch brings, and parts of torch: their scripts need nothing else.
OWN = ("aot", "eager", "executorch", "export", "inductor", "jit", "lite", "lowering")
#: The exit code of a script that ended with a text, and what runs one so that the text is part of what it prints.
_SAID = 9
_RUN = f"""
import runpy, sys
try:
    runpy.run_path(sys.argv.pop(1), run_name="__main__")
except SystemExit as end:
    if not isinstance(end.code, str):
        raise
    print(end.code)
    sys.exit({_SAID})
"""
#: Of a traceback only what was raised is shown: the rest names the files of whoever ran it.
_RAISED = re.compile(r"^[\w.]*(?:Error|Exception|BackendCompilerFailed)\b.*", re.MULTILINE)
_PATH = re.compile(r"(?:/[\w.+-]+){2,}/")


@dataclasses.dataclass(frozen=True)
class Finding:
    """A script, what it says of itself, and what running it came to."""

    script: Path
    title: str
    told: list[str]
    expected: str
    found: str
    shown: bool


def main(prefixes: list[str]) -> int:
    """Try the scripts of these vendors, and write their texts; the exit code."""
    plugins = {each.folder.name: each for each in environments.plugins()}
    known = sorted([*plugins, *OWN])
    unknown = sorted(set(prefixes) - set(known))
    if unknown or not prefixes:
        print(f"upstream.py: expected names among {', '.join(known)}; found {', '.join(unknown)}", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    return max(tried(each, plugins.get(each)) for each in prefixes)


def tried(prefix: str, plugin: environments.Plugin | None) -> int:
    """Try the scripts about a backend, in the environment of its plugin if it has one; 1 if one shows nothing."""
    python, lock = Path(sys.executable), ""
    if plugin is not None:
        environments.prepare(plugin)
        python, lock = plugin.python, plugin.lock.read_text(encoding="utf-8")
    findings = [run(script, python) for script in sorted((HERE / "findings").glob(f"{prefix}_*.py"))]
    for each in findings:
        print(f"{'shown' if each.shown else 'NOT SHOWN'}  {each.script.stem}: {each.found.splitlines()[-1]}")
        (FOLDER / f"{each.script.stem}.md").write_text(
            text(each, versions(lock or here(each.script))), encoding="utf-8"
        )
    return int(not all(each.shown for each in findings))


def run(script: Path, python: Path) -> Finding:
    """Run a script; a defect is shown by any end but exit code 0, if eager PyTorch came first and to its end, or if the
    script says itself what it found."""
    title, *told = (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "").split("\n\n")
    expected = [each.removeprefix("Expected: ") for each in told if each.startswith("Expected: ")]
    told = [each for each in told if not each.startswith("Expected: ")]
    # unbuffered: a process that dies keeps its lines
    command = [str(python), "-u", "-W", "ignore", "-c", _RUN, str(script)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    raised = _RAISED.findall(ended.stderr)
    tried = ended.stdout.startswith("eager") or ended.returncode == _SAID
    lines = [*ended.stdout.splitlines(), *raised[-1:]] if ended.returncode == 1 else ended.stdout.splitlines()
    if ended.returncode < 0:
        lines.append(f"the process ends with {signal.Signals(-ended.returncode).name}")
    found = _PATH.sub("", "\n".join(lines)) or "nothing is printed"
    by_default = ["what eager PyTorch gives."]
    return Finding(script, title, told, " ".join(expected or by_default), found, bool(ended.returncode) and tried)


def here(script: Path) -> str:
    """What a script needs beside torch that is installed here, as a lock names it: what it imports, or is about."""
    nodes = list(ast.walk(ast.parse(script.read_text(encoding="utf-8"))))
    named = [each.module or "" for each in nodes if isinstance(each, ast.ImportFrom)]
    named += [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
    modules = {each.partition(".")[0] for each in (*named, *script.stem.split("_")[1:2])} - {"torch"}
    found = metadata.packages_distributions()
    names = sorted({found[each][0] for each in modules if each in found and each != "functorch"})
    return "\n".join(f"{name}=={metadata.version(name)}" for name in names)


def versions(lock: str) -> str:
    """Torch, what a lock names, and where it ran."""
    where = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return ", ".join([f"torch {metadata.version('torch')}", *(each.replace("==", " ") for each in lock.split()), where])


def text(finding: Finding, versions: str) -> str:
    """What to file, as Markdown."""
    source = finding.script.read_text(encoding="utf-8").split('"""', 2)[2].strip()
    parts = (
        f"# {finding.title}",
        *finding.told,
        f"Versions: {versions}.",
        f"```python\n{source}\n```",
        f"**Expected:** {finding.expected}",
        f"**Found:**\n\n```text\n{finding.found}\n```",
    )
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
