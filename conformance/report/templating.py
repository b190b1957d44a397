"""What the HTML pages share: one environment that escapes every text, one layout, one style and one script."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from typing import Any

import jinja2
from markupsafe import Markup

from conformance._util.escaping import legible
from conformance.api.availability import is_as_expected
from conformance.api.verdicts import Verdict
from conformance.report.anchors import address_of, cell_anchor
from conformance.report.clause_grid import LETTERS
from conformance.report.view import steps_text

_TONES = {
    Verdict.PASS: "good",
    Verdict.UNSUPPORTED: "aside",
    Verdict.NOT_APPLICABLE: "aside",
    Verdict.NOT_EXERCISED: "aside",
    Verdict.XFAIL: "known",
    Verdict.HARNESS_ERROR: "harness",
    Verdict.LOST: "harness",
}
#: A source that becomes a link; whatever else an author writes stays text.
_ISSUE = re.compile(
    r"(?:(?<![\w.-])(?P<repository>[\w.-]++/[\w.-]++)#|https://github\.com/(?P<path>[\w.-]++/[\w.-]++)/(?:issues|pull)/)"
    r"(?P<number>\d++)",
    re.ASCII,
)


def render(template: str, **values: Any) -> str:
    """A template of this package with its values, every one of which is shown as text, never as markup."""
    return _environment().get_template(template).render(values)


def tone(verdict: Verdict) -> str:
    """The class that colours a verdict; its name is always written beside."""
    return _TONES.get(verdict, "bad")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("conformance.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )
    environment.filters |= {"steps": steps_text, "linked": _linked}
    environment.globals |= {
        "is_as_expected": is_as_expected,
        "cell_address": lambda cell: address_of(cell_anchor(cell)),
        "letter": LETTERS.__getitem__,
        "tone": tone,
        "asset": _asset,
        "digest": _digest,
    }
    return environment


def _finalize(value: Any) -> Any:
    """What is about to be written, and escaped: text without what is not seen."""
    return value if isinstance(value, Markup) else legible(str(value))


def _linked(source: str) -> Markup:
    """A source with its issues as links."""
    parts, end = [], 0
    for found in _ISSUE.finditer(source):
        address = f"https://github.com/{found['repository'] or found['path']}/issues/{found['number']}"
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
    """What a Content-Security-Policy calls a script: a browser runs no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(_asset(name).encode()).digest()).decode()
