"""A report as one HTML file, which needs no network and can be read without its script."""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import re
from typing import Any

import jinja2
from markupsafe import Markup

from conformance.report import _rows
from conformance.report._escape import legible
from conformance.report._grid import LETTERS, failures_of, grid_of
from conformance.report._rows import Row
from conformance.verdict import Verdict

_TONES = {
    Verdict.PASS: "good",
    Verdict.UNSUPPORTED: "aside",
    Verdict.NOT_APPLICABLE: "aside",
    Verdict.NOT_EXERCISED: "aside",
    Verdict.XFAIL: "known",
    Verdict.HARNESS_ERROR: "harness",
    Verdict.LOST: "harness",
}
_DIGITS_SHOWN = 12
#: A source that becomes a link; whatever else an author writes stays text.
_ISSUE = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)#(?P<number>\d+)", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Fact:
    """What was tested: a name, a text, and the text in full where it is shortened."""

    name: str
    text: str
    full: str = ""


def html(report: dict[str, Any]) -> str:
    """The page of a report that ``read_report`` has validated. Its strings are shown as text, never as markup."""
    template = _environment().get_template("report.html.j2")
    failures = failures_of(report)
    anchors = {each.row["id"]: each.anchor for group in failures for each in group.failures}
    seen, suites = _rows.suite_table(report)
    behaviour = {role: (keys, _rows.behaviour_groups(report, role)) for role, keys in _rows.BEHAVIOUR_KEYS.items()}
    return template.render(
        report=report,
        facts=_facts(report),
        verdicts=seen,
        suites=suites,
        behaviour=behaviour,
        grid=grid_of(report, anchors),
        failures=failures,
        failed=len(anchors),
        style=_asset("report.css"),
        script=_asset("report.js"),
        script_digest=_digest("report.js"),
    )


def _facts(report: Row) -> list[Fact]:
    run, harness, backend = report["run"], report["harness"], report["backend"]
    environment, contract, score = report["environment"], harness["contract"], harness.get("selftest")
    known = ("torch", "python", "implementation", "platform")
    python = f"{environment.get('python', 'unknown')} {environment.get('implementation', '')}".strip()
    distribution = f"{backend['distribution']} {backend['version']}".strip()
    facts = [
        Fact("toolchain", backend["toolchain"]),
        Fact("distribution", distribution or "none"),
        *(Fact(each["name"], f"sha256 {each['sha256'][:_DIGITS_SHOWN]}…", each["sha256"]) for each in backend["files"]),
        Fact("torch", environment.get("torch", "unknown")),
        Fact("python", python),
        Fact("platform", environment.get("platform", "unknown")),
        *(Fact(name, text) for name, text in environment.items() if name not in known),
        Fact("seed", str(run["seed"])),
        Fact("started", run["started"]),
        Fact("took", f"{run['seconds']:.0f} s"),
        *([Fact("merged from", f"{len(run['shards'])} shards")] if run.get("shards") else []),
        Fact("arguments", " ".join(run["argv"]) or "none"),
        Fact("harness", harness["version"]),
        Fact("contract", f"{contract['version']}, sha256 {contract['sha256'][:_DIGITS_SHOWN]}…", contract["sha256"]),
    ]
    caught = (
        f"{score['caught']} of {score['saboteurs']} saboteurs caught" if score else "not run on this torch and platform"
    )
    return [*facts, Fact("self-test", caught)]


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("conformance.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters |= {"steps": _rows.steps_text, "different": _rows.different, "linked": _linked}
    environment.globals |= {
        "letter": LETTERS.__getitem__,
        "tone": lambda verdict: _TONES.get(verdict, "bad"),
        "Verdict": Verdict,
        "all_verdicts": tuple(Verdict),
        "level_line": _rows.level_line,
        "incomplete_line": _rows.incomplete_line,
        "not_exercised": _rows.not_exercised,
        "notes": _rows.notes,
    }
    return environment


def _finalize(value: Any) -> Any:
    """What is about to be written, and escaped: text without what is not seen."""
    return value if isinstance(value, Markup) else legible(str(value))


def _linked(source: str) -> Markup:
    """A source with its issues as links."""
    parts, end = [], 0
    for found in _ISSUE.finditer(source):
        address = f"https://github.com/{found['repository']}/issues/{found['number']}"
        parts += [_safe(source[end : found.start()]), Markup('<a href="{}">{}</a>').format(address, found[0])]
        end = found.end()
    return Markup("").join([*parts, _safe(source[end:])])


def _safe(text: str) -> Markup:
    return Markup.escape(legible(text))


def _asset(name: str) -> Markup:
    loader = _environment().loader
    assert loader is not None
    return Markup(loader.get_source(_environment(), name)[0])


def _digest(name: str) -> str:
    """What a Content-Security-Policy calls the script: a browser runs no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(_asset(name).encode()).digest()).decode()
