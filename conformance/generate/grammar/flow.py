"""Statements that branch and loop."""

from __future__ import annotations

from conformance.generate.drawing import SIZES
from conformance.generate.grammar.builder import Builder
from conformance.generate.grammar.rules import rule


@rule("flow", "control_flow", "elementwise", "reductions", "booleans", traits=("reads_values",), weight=2)
def branch_on_value(b: Builder) -> None:
    one = b.float_value()
    name = b.name()
    test = b.draw.of(f"bool({one}.sum() > 0)", f"bool(({one} != {one}).any())")
    then, other = b.draw.of(("+ 1.0", "* 2.0"), ("* -1.0", "- 0.5"))
    text = f"if {test}:\n    {name} = {one} {then}\nelse:\n    {name} = {one} {other}"
    b.block("if", text, name, f"{one} {then}")
    b.marks.add("branch")


@rule("flow", "control_flow", "elementwise", weight=2)
def branch_on_size(b: Builder) -> None:
    one = b.pick(lambda value: value.floating and value.rank >= 1)
    name = b.name()
    text = f"if {one}.shape[0] > {b.draw.of(2, 1, 3)}:\n    {name} = {one} + 1.0\nelse:\n    {name} = {one} * 2.0"
    b.block("if", text, name, f"{one} + 1.0")


@rule("flow", "control_flow", "elementwise", weight=2)
def branch_on_training(b: Builder) -> None:
    one = b.float_value()
    name = b.name()
    text = f"if self.training:\n    {name} = {one} + 1.0\nelse:\n    {name} = {one} * 2.0"
    b.block("if", text, name, f"{one} + 1.0")


@rule("flow", "raising", "reductions", traits=("saves",), weight=3)
def assertion(b: Builder) -> None:
    one = b.float_value(least=1)
    of_size = f"assert {one}.shape[0] != {b.draw.of(7, 1, 0)}, 'a size that is not meant'"
    if not b.traits.reads_values:
        b.check(of_size)
        return
    b.check(
        b.draw.of(
            of_size,
            f"assert bool(({one} == {one}).all()), 'NaN is not meant'",
            f"if bool({one}.sum() > 50):\n    raise ValueError('that much is not meant')",
        )
    )


@rule("flow", "loops", "elementwise", weight=2)
def loop(b: Builder) -> None:
    one = b.float_value()
    name = b.name()
    bound = b.draw.of("3", "1", "0", "70")
    if one.rank and one.shape[0] <= max(SIZES) and b.draw.chance(2):
        bound = f"{one}.shape[0]"
    scalars = [scalar for scalar, kind in b.scalars if kind == "int"]
    if scalars and b.draw.chance(2):
        bound = f"min({b.draw.choice(scalars)}, 3)"
    text = f"{name} = {one}\nfor i in range({bound}):\n    {name} = {name} * 0.5 + i"
    b.block("for", text, name, f"{one} * 0.5 + 1")


@rule("flow", "loops", "in_place", "elementwise", weight=2)
def loop_that_writes(b: Builder) -> None:
    """An operator on a value from outside of a loop is not the same in each turn where the loop writes to that."""
    one = b.float_value(least=1)
    name, own = b.name(), b.name()
    write = b.draw.of(f"{own}[:1] += 1", f"{own}.mul_(0.5)", f"{own}.add_(i)", f"{own}[..., :1] = 2")
    # none that keeps its operand for the way back, which the next turn would spoil
    read = b.draw.of(f"torch.relu({own})", f"{own} * 2", f"{own} + {one}", f"torch.sigmoid({own})")
    turns = b.draw.of("3", "2", f"{one}.shape[0]") if one.shape[0] <= max(SIZES) else "3"
    body = f"    {write}\n    {name} = {name} * 0.5 + {read}"
    text = f"{own} = {one}.clone()\n{name} = {one}\nfor i in range({turns}):\n{body}"
    b.block("for", text, name, f"{one} * 0.5 + {one}")
