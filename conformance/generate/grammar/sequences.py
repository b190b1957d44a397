"""Statements that go along a sequence: step by step with a memory, in pieces, or turned around for one operator."""

from __future__ import annotations

from conformance.generate.grammar.builder import Abandoned, Builder
from conformance.generate.grammar.matrices import parameter
from conformance.generate.grammar.rules import rule

#: So many steps at most are written out.
_MOST_STEPS = 9


@rule("flow", "loops", "in_place", "elementwise", "reductions", "views", weight=4, operators=1)
def remembered(b: Builder) -> None:
    """A memory of which each turn reads the whole, and writes a part through a view."""
    one = b.float_value(least=2)
    if not 0 < one.shape[1] <= _MOST_STEPS:
        raise Abandoned
    name, memory, given = b.name(), b.name(), b.name()
    read = b.draw.of(f"{memory}.sum(1)", f"{memory}.mean(1)", f"{memory}.sum(1) - {memory}[:, i]")
    write = b.draw.of(
        f"{memory}[:, i] = {given}",
        f"{memory}[:, i].add_({given})",
        f"{memory}.select(1, i).copy_({given})",
        f"{memory}.view(-1).mul_(0.5)",
    )
    text = (
        f"{memory} = {one}.clone(memory_format=torch.contiguous_format)\n{name} = {one}.sum(1)\n"
        f"for i in range({one}.shape[1]):\n    {given} = torch.tanh({read})\n    {write}\n"
        f"    {name} = {name} * 0.5 + {given}"
    )
    b.block("for", text, name, f"{one}.sum(1) * 0.5")


@rule("flow", "loops", "elementwise", "reductions", "views", weight=4, operators=1)
def in_pieces(b: Builder) -> None:
    """Pieces of a length that does not divide the whole, or windows of which the last go beyond the end."""
    one = b.float_value(least=1)
    size = one.shape[-1]
    if not 0 < size <= 33:
        raise Abandoned
    name, held = b.name(), b.name()
    length = b.draw.of(3, 2) if size <= _MOST_STEPS else b.draw.of(5, 8)
    (kept,) = b.make("slice", f"{one}[..., :1]", fresh=False)
    if size <= _MOST_STEPS and b.draw.chance(2):
        body = f"{held}.append({one}[..., i : i + {length}].{b.draw.of('mean', 'amax', 'sum')}(-1, True))"
        steps = f"range({one}.shape[-1])"
    else:
        body = f"{held}.append({one}[..., i : i + {length}] * (i + 1.0))"
        steps = f"range(0, {one}.shape[-1], {length})"
    text = f"{held} = [{kept}]\nfor i in {steps}:\n    {body}\n{name} = torch.cat({held}, -1)"
    b.block("for", text, name, f"torch.cat([{one}[..., :1], {one} * 1.0], -1)")


@rule("views", "views", "elementwise", "reductions", weight=3, operators=2)
def turned_around_for_one(b: Builder) -> None:
    """Two dimensions change places for an operator that acts along one of them, and change back."""
    one = b.float_value(least=2)
    first = b.draw.upto(one.rank - 2)
    turned, back = f"{one}.transpose({first}, -1)", f".transpose({first}, -1)"
    channels = one.meta.transpose(first, -1).shape[1]
    inner = [
        f"torch.softmax({turned}, -1)", f"{turned}.cumsum(-1)", f"F.layer_norm({turned}, ({one.shape[first]},))",
        f"{turned} / ({turned}.abs().amax(-1, keepdim=True) + 1.0)", f"torch.relu({turned})",
    ]  # fmt: skip
    if "parameters" not in b.missing and b.draw.chance(2):
        inner = [f"F.prelu({turned}, {parameter(b, one, (channels,))})"]
    b.make("transpose", f"{b.draw.choice(inner)}{back}")
