"""The site: Sphinx, Markdown by MyST, no network at build time and none for the reader."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE))

import conformance  # noqa: E402

project = "torch-conformance"
release = version = conformance.__version__
author = "the authors of torch-conformance"
project_copyright = author

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["build"]
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(torch|collections|types|typing|pathlib)\b.*"),
    ("py:.*", r"LoweredCase|ClassVar"),
    # What a toolchain or a target is made of, and the site has no page for.
    ("py:class", r"conformance\.(devices|standalone|toolchains)\..*|CellDevice|Description"),
]

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
smartquotes = False  # "--backend" is two hyphens
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "torch-conformance"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
# Pages that are no section have no navigation of one.
html_sidebars: dict[str, list[str]] = {
    page: [] for page in ("index", "tutorial", "verdicts", "architecture", "evidence")
}
html_theme_options: dict[str, Any] = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
}


def _write_reference(_: Any) -> None:
    """Generate the reference from the code, before Sphinx looks which pages there are."""
    from reference import write_pages

    write_pages(_HERE / "generated")


def setup(app: Any) -> None:
    """Sphinx's entry point."""
    app.connect("config-inited", lambda _app, _config: _write_reference(_app))
