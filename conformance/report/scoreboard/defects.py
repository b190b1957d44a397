"""Defects that were found in others, by kind and by whose they are: scripts that are kept beside the reports.

``FOLDER/findings/NAME.py`` shows one, with a docstring that begins with its title; ``FOLDER/findings.md`` describes it
below a heading that says whose it is; ``FOLDER/findings/kinds.toml`` has a list of names for each kind, in the order in
which kinds are shown; ``FOLDER/upstream/NAME.md`` is the text to be filed, where there is one.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import shutil
import tomllib
from pathlib import Path

from conformance.report._json import ReportError
from conformance.report.scoreboard.boards import linked

SCRIPTS, KINDS, TEXTS, DESCRIPTION = "findings", "findings/kinds.toml", "upstream", "findings.md"
#: Of a script that stands in no list, and of one that is not described.
UNSORTED, NOBODYS = "of no kind yet", "not described"
_LINK = re.compile(r"\(findings/([\w-]+)\.py\)")


@dataclasses.dataclass(frozen=True)
class Defect:
    """One script. ``script`` and ``text`` are addresses; ``text`` is empty where nothing is to be filed."""

    name: str
    title: str
    whose: str
    script: str
    text: str


@dataclasses.dataclass(frozen=True)
class Kind:
    """The defects of one kind, in the order of whose they are."""

    title: str
    defects: tuple[Defect, ...]

    def of(self, whose: str) -> int:
        """How many are of one."""
        return sum(each.whose == whose for each in self.defects)


@dataclasses.dataclass(frozen=True)
class Defects:
    """All of them. ``owners`` are those whose they are, in the order of the description."""

    owners: tuple[str, ...]
    kinds: tuple[Kind, ...]

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(len(kind.defects) for kind in self.kinds)


def defects_of(folder: Path, beside: Path) -> Defects | None:
    """The defects that are kept in ``folder``, with addresses from ``beside``; None where there are none.

    Raises ReportError for a list of kinds, or a script, that cannot be read.
    """
    scripts = sorted((folder / SCRIPTS).glob("*.py"))
    if not scripts:
        return None
    try:
        owners, kinds = _owners(folder / DESCRIPTION), _kinds(folder / KINDS)
        found = {path.stem: _defect(path, owners.get(path.stem, NOBODYS), folder, beside) for path in scripts}
    except (OSError, ValueError, SyntaxError) as error:
        raise ReportError(f"the findings in {folder} cannot be read: {error}") from error
    sorted_names = {name for names in kinds.values() for name in names}
    unknown = sorted(sorted_names - set(found))
    if unknown:
        raise ReportError(f"{folder / KINDS} names {', '.join(unknown)}; expected names of scripts beside it")
    kinds = kinds | {UNSORTED: [name for name in found if name not in sorted_names]}
    order = list(dict.fromkeys([*owners.values(), NOBODYS]))
    shown = (
        Kind(title, tuple(sorted((found[name] for name in names), key=lambda each: order.index(each.whose))))
        for title, names in kinds.items()
        if names
    )
    return Defects(tuple(one for one in order if any(each.whose == one for each in found.values())), tuple(shown))


def copy_defects(folder: Path, beside: Path) -> None:
    """Put the scripts and the texts beside a page that is read elsewhere."""
    for part, pattern in ((SCRIPTS, "*.py"), (TEXTS, "*.md")):
        for path in (folder / part).glob(pattern):
            (beside / part).mkdir(exist_ok=True)
            if (beside / part).resolve() != path.parent.resolve():
                shutil.copyfile(path, beside / part / path.name)


def _defect(path: Path, whose: str, folder: Path, beside: Path) -> Defect:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
    title = " ".join(docstring.partition("\n\n")[0].split())
    text = f"{TEXTS}/{path.stem}.md"
    script = f"{SCRIPTS}/{path.name}"
    return Defect(
        path.stem,
        title,
        whose,
        linked((beside / script, folder / script), beside),
        linked((beside / text, folder / text), beside),
    )


def _owners(description: Path) -> dict[str, str]:
    """Name of a script → the heading that it is described under, up to a comma: it heads a narrow column."""
    heading = NOBODYS
    found: dict[str, str] = {}
    for line in description.read_text(encoding="utf-8").splitlines() if description.is_file() else ():
        if line.startswith("## "):
            heading = line.removeprefix("## ").partition(",")[0].strip()
        found |= dict.fromkeys(_LINK.findall(line), heading)
    return found


def _kinds(path: Path) -> dict[str, list[str]]:
    """Kind → names of scripts. Raises ValueError where the file is no such table."""
    table = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for kind, names in table.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{path.name}: expected a list of names for {kind!r}, found {names!r}")
    return table
