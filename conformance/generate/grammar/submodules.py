"""Submodules of a class of the model's own, of which there are several: alone, in a row, in a list, in a dictionary."""

from __future__ import annotations

from conformance.generate.grammar.builder import Builder
from conformance.generate.grammar.rules import rule


def _own(b: Builder) -> str:
    return f"Scaled({b.draw.of('0.5', '2.0', '-1.5', '1.0')}, {b.draw.of('0', '3', '-1')})"


@rule("elementwise", "elementwise", "submodules", weight=4, operators=2)
def of_one_class(b: Builder) -> None:
    """What two of a class have in common is their code, and not their attributes."""
    one = b.float_value()
    name = b.name()
    match b.draw.of("two", "sequence", "list", "dictionary"):
        case "two":
            for module in (b.module(_own(b)), b.module(_own(b))):
                (one,) = b.make("submodule", f"{module}({one})")
        case "sequence":
            within = b.draw.of("torch.nn.ReLU()", "torch.nn.Identity()", _own(b))
            b.make("submodule", f"{b.module(f'torch.nn.Sequential({_own(b)}, {within}, {_own(b)})')}({one})")
        case "list":
            held = b.module(f"torch.nn.ModuleList([{_own(b)}, {_own(b)}])")
            text = f"{name} = {one}\nfor each in {held}:\n    {name} = each({name}) - {one}"
            b.block("submodule", text, name, f"{one} * 0.5 + 1")
        case _:
            # in the order in which they were put in
            held = b.module(f'torch.nn.ModuleDict({{"b": {_own(b)}, "a": {_own(b)}}})')
            text = f"{name} = {one}\nfor key, each in {held}.items():\n    {name} = each({name}) * 0.5"
            b.block("submodule", text, name, f"{one} * 0.5 + 1")
