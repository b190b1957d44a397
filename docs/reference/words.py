"""Small pieces of Markdown, and the page of features."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from conformance.api.features import known_features

_ISSUE = re.compile(r"\b([\w.-]+/[\w.-]+)#(\d+)\b")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; what stands in a cell is Markdown already."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |" for line in lines) + "\n"


def prose(text: str) -> str:
    """Text of the code as Markdown that shows it as it stands: words with underscores or brackets as code."""
    return " ".join(_word(word) for word in text.replace("``", "`").split())


def _word(word: str) -> str:
    if "`" in word or not any(sign in word for sign in "_<*["):
        return word.replace("|", "\\|")
    core = word.rstrip(".,;:")
    return f"`{core}`{word[len(core) :]}".replace("|", "\\|")


def code(text: str) -> str:
    """Text as code, in a table too."""
    return f"`{text}`".replace("|", "\\|")


def linked(source: str) -> str:
    """Where a clause's source stands, with links to issues."""
    return _ISSUE.sub(r"[\1#\2](https://github.com/\1/issues/\2)", source)


def features_page() -> str:
    """Every feature that a backend can declare missing."""
    rows = [
        (
            code(f"features.{each.name}"),
            prose(each.statement),
            "the model, at lowering" if each.shows_at == "lower" else "the data, at run",
        )
        for each in known_features()
    ]
    return f"""# Features

What a backend may or may not be able to take, one by one. The floor is no feature, because every backend must have
it: a scripted module whose method adds and subtracts float32 tensors of the same shape.

```python
from conformance import Features, features

Features.all().without(features.loops, "prim::Loop is not lowered")
Features.none("not in the first version").including(features.elementwise, features.broadcasting)
```

A backend that declares a feature missing promises a *clean refusal* of the models that need it: by an error that names
the operator and shows the line of the model ([lowering.refusal](#lowering-refusal)). An inability that is not
declared is a failure. Where the need shows only in the data, refusing when the method runs will do.

{table(("feature", "what it is", "shows in"), rows)}"""
