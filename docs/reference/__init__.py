"""The reference, generated from the code when the site is built: what is written by hand goes stale."""

from __future__ import annotations

from pathlib import Path

from reference import contract, options, promises, schema, words


def pages() -> dict[str, str]:
    """Every generated page: its path below ``generated/``, and its Markdown."""
    return {
        "options.md": options.page(),
        "features.md": words.features_page(),
        "schema.md": schema.page(),
        "promises.md": promises.page(),
        **contract.pages(),
    }


def write_pages(folder: Path) -> None:
    """Write the pages afresh; one that did not change keeps its date, so that Sphinx reads only what did."""
    wanted = {folder / name: text for name, text in pages().items()}
    if folder.is_dir():
        for path in folder.rglob("*"):
            if path.is_file() and path not in wanted:
                path.unlink()
    for path, text in wanted.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


__all__ = ["pages", "write_pages"]
