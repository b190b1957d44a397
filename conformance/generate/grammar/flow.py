"""Statements that branch and loop."""

from __future__ import annotations

from conformance.generate.drawing import SIZES
from conformance.generate.grammar.builder import Abandoned, Builder, Value
from conformance.generate.grammar.rules import rule
from conformance.generate.program import TensorSpec


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


@rule("flow", "control_flow", "elementwise", weight=2, operators=1)
def branch_in_a_branch(b: Builder) -> None:
    """Two bounds of one number: the inner one may be the narrower or the wider, and is decided or is not."""
    one = b.pick(lambda value: value.floating and value.rank >= 1)
    name, size = b.name(), f"{one}.shape[0]"
    outer, inner = (f"{size} {b.draw.of('<', '>', '<=', '>=')} {b.draw.of(3, 2, 4, 1)}" for _ in "ab")
    text = (
        f"if {outer}:\n    if {inner}:\n        {name} = {one} + 1.0\n    else:\n        {name} = {one} * 2.0\n"
        f"else:\n    {name} = {one} - 3.0"
    )
    b.block("if", text, name, f"{one} + 1.0")


@rule("flow", "loops", "elementwise", "integers", "mixed_dtypes", weight=2, operators=1)
def loop_that_promotes(b: Builder) -> None:
    """What begins as a whole number, and is a float after the first turn."""
    one = b.float_value()
    name = b.name()
    text = (
        f"{name} = torch.zeros_like({one}, dtype=torch.int64)\n"
        f"for i in range({b.draw.of('3', '1', '2')}):\n    {name} = {name} + {one} * i"
    )
    b.block("for", text, name, f"{one} * 1.0")


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
    bound = b.draw.of(bound, bound, "1, 4, 2", "0, 10, 4", f"{bound}, -1, -2", f"2, {bound}")
    text = f"{name} = {one}\nfor i in range({bound}):\n    {name} = {name} * 0.5 + i"
    b.block("for", text, name, f"{one} * 0.5 + 1")


@rule("flow", "loops", "control_flow", "elementwise", "reductions", weight=4, operators=1)
def loop_while(b: Builder) -> None:
    """Turns that a condition counts, which may be none."""
    one = b.float_value()
    name, turn = b.name(), b.name()
    least = b.draw.of("0", "2", "3")
    test, after = f"{turn} < {b.draw.of('2', '0', '3')}", f"{turn} += 1"
    if one.rank and b.draw.chance(2):
        test, after = f"{turn} < {one}.shape[0] and {turn} < 3", f"{turn} += {b.draw.of(1, 2)}"
    elif b.traits.reads_values and b.draw.chance(2):
        test, after, least = f"bool({name}.abs().max() > 1.0) and {turn} < 5", f"{turn} += 1", "0"
        if 0 in one.shape:
            raise Abandoned
        b.marks.add("branch")
    text = f"{name} = {one}\n{turn} = {least}\nwhile {test}:\n    {name} = {name} * 0.5\n    {after}"
    b.block("while", text, name, f"{one} * 0.5")


@rule("flow", "loops", "in_place", "elementwise", weight=4)
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


@rule("flow", "loops", "in_place", "elementwise", "views", weight=4, operators=1)
def loop_that_makes(b: Builder) -> None:
    """What a turn makes is made anew in the next one, although nothing that it is made of changes."""
    one = b.float_value(least=1)
    name, own, held = b.name(), b.name(), b.name()
    made = b.draw.of(f"torch.zeros_like({one})", f"torch.ones_like({one})", f"{one}.clone()", f"{one} * 0.5")
    direct = (f"{own} += i", f"{own}.add_({one}, alpha=i)", f"{own}.mul_(i)")
    write = b.draw.of(*direct, f"{own}[:1] = i", f"{own}[-1:] = {one}[-1:] * i", f"{own}[:1].add_(i)")
    body = f"    {own} = {made}\n    {write}\n    {held}.append({own})"
    text = f"{held} = [{one}]\nfor i in range({b.draw.of('3', '2')}):\n{body}\n{name} = torch.stack({held}[1:])"
    b.block("for", text, name, f"torch.stack([{one}, {one}])")


def _test(b: Builder, one: Value) -> str:
    """What is asked of a value before a branch: its size, or its values where a toolchain reads them."""
    if b.traits.reads_values and b.draw.chance(2):
        b.marks.add("branch")
        return f"bool({one}.sum() > 0)"
    return f"{one}.shape[0] > {b.draw.of(1, 2, 3)}"


@rule("flow", "control_flow", "in_place", "elementwise", weight=4, operators=1)
def branches_that_write(b: Builder) -> None:
    """The same expression in both branches is not the same value where each writes first."""
    one = b.float_value(least=1)
    name, own = b.name(), b.name()
    read = b.draw.of(f"{own} * 2", f"torch.relu({own})", f"{own} + {one}")
    branches = [
        f"    {own}.{write}\n    {name} = {read}" for write in b.draw.of(("add_(1)", "mul_(2)"), ("neg_()", "zero_()"))
    ]
    test = _test(b, one)
    b.block("if", f"{own} = {one}.clone()\nif {test}:\n{branches[0]}\nelse:\n{branches[1]}", name, f"{one} * 2")


@rule("flow", "loops", "in_place", "elementwise", weight=4, operators=1)
def loop_of_several(b: Builder) -> None:
    """Variables that take each other's places."""
    one = b.float_value()
    name, first, second, third = (b.name() for _ in range(4))
    write = b.draw.of(f"{first}.add_(i)", f"{first} = {first} + i", f"{third}.mul_(0.5)")
    turned = b.draw.of(f"{second}, {third}, {first}", f"{second}, {first}, {third}", f"{third}, {first}, {second}")
    text = (
        f"{first} = {one}.clone()\n{second} = {one} * 2.0\n{third} = {one} - 1.0\n"
        f"for i in range({b.draw.of('4', '2', '3')}):\n"
        f"    {first}, {second}, {third} = {turned}\n    {write}\n"
        f"{name} = {first} * 0.5 + {second} * 3.0 - {third}"
    )
    b.block("for", text, name, f"{one} * 0.5")


@rule("flow", "control_flow", "loops", "parameters", "elementwise", weight=4, operators=1)
def weight_of_a_turn(b: Builder) -> None:
    """A weight that nothing reads but the turns of a loop, or a branch, as a recurrent cell's."""
    one = b.float_value(least=1)
    weight = b.parameter(TensorSpec(one.dtype_name, one.shape, "contiguous", "ordinary", b.draw.seed(), grad=True))
    name = b.name()
    begin = b.draw.of(f"for i in range({b.draw.of('3', '1')}):", f"if {_test(b, one)}:")
    text = f"{name} = {one}\n{begin}\n    {name} = {name} * {weight} - 0.5"
    b.block(begin.split()[0], text, name, f"{one} * 0.5")


@rule("flow", "loops", "control_flow", "elementwise", weight=6, operators=1)
def loop_with_turns(b: Builder) -> None:
    """Turns that are not like the others: left out, the last one, or those that read what the others made."""
    one = b.float_value()
    name, other = b.name(), b.name()
    body = b.draw.of(
        f"    if i == 1:\n        continue\n    {name} = {name} * 0.5 + {other} * i",
        f"    if i == 2:\n        break\n    {name} = {name} * 0.5 + {other} * i",
        f"    {name} = {name} * 0.5 + {other} * i\n    if i == 1:\n        break\n    {other} = {other} - 1.0",
        f"    {other} = {other} + i\n    if i == 1:\n        continue\n    {name} = {name} + {other}",
        f"    {other} = {other} + 1.0\n    if i == 2:\n        {name} = {name} + {other}",
        f"    if i % 2 == 0:\n        {other} = {name} - 1.0\n    else:\n        {name} = {other} * 2.0",
    )
    text = f"{name} = {one}\n{other} = {one} + 0.5\nfor i in range({b.draw.of('4', '3', '1')}):\n{body}"
    b.block("for", text, name, f"{one} * 0.5")


@rule("flow", "control_flow", "elementwise", "views", weight=5, operators=1)
def containers(b: Builder) -> None:
    """Lists and dictionaries that a program fills, copies, and reads in their order."""
    one = b.float_value(least=1)
    name, held = b.name(), b.name()
    match b.draw.of("branch", "loop", "numbers", "copy", "copy", "dictionary"):
        case "branch":
            filled = f"if {_test(b, one)}:\n    {held}.append({one} - 1.0)\n{name} = torch.stack({held}).sum(0)"
        case "loop":
            filled = f"for i in range(3):\n    {held}.append({held}[-1] * 0.5)\n{name} = torch.stack({held}[1:]).sum(0)"
        case "numbers":
            first = b.draw.of("0", "1, 2", "0.5")
            text = f"{held} = [{first}]\nfor i in range(3):\n    {held}.append({held}[-1] + i)\n"
            b.block("list", f"{text}{name} = {one} * {held}[-1] + len({held})", name, f"{one} * 2.0")
            return
        case "copy":
            rest = b.name()
            copied = b.draw.of(f"list({held})", f"list({held})", f"{held}[:]", f"{held} + {held}")
            filled = f"{rest} = {copied}\n{rest}.append({one})\n{name} = torch.stack({held}).sum(0) + len({rest})"
        case _:
            text = f'{held} = {{"b": {one}, "a": {one} * 2.0}}\n{held}["0"] = {one} - 1.0\n{name} = {one}\n'
            text += f"for key in {held}.keys():\n    {name} = {name} * 0.5 + {held}[key]"
            b.block("dict", text, name, f"{one} * 0.5")
            return
    b.block("list", f"{held} = [{one}, {one} * 2.0]\n{filled}", name, f"{one} * 2.0")


@rule("flow", "control_flow", "loops", "elementwise", weight=4, operators=1)
def stored_in_between(b: Builder) -> None:
    """What a dictionary holds under a key may be replaced in a branch or a loop before it is read."""
    one = b.float_value(least=1)
    name, held = b.name(), b.name()
    change = b.draw.of(
        f'if {_test(b, one)}:\n    {held}["a"] = {held}["a"] * 2.0',
        f'for i in range({b.draw.of("2", "3")}):\n    {held}["a"] = {held}["a"] * 0.5 + i',
        f'if {_test(b, one)}:\n    {held}["b"] = {held}["a"]\n    {held}["a"] = {one}',
    )
    text = f'{held} = {{"a": {one} - 1.0, "b": {one}}}\n{held}["b"] = {one} * 3.0\n{change}\n'
    b.block("dict", f'{text}{name} = {held}["a"] + {held}["b"] * 0.5', name, f"{one} * 0.5")


@rule("flow", "control_flow", "in_place", "elementwise", "views", weight=4, operators=1)
def written_when_listed(b: Builder) -> None:
    """A list has the tensor itself, and no copy: who writes to one changes the other."""
    one = b.float_value(least=1)
    name, held, own = b.name(), b.name(), b.name()
    kept = b.draw.of(f"{held} = [{one}]\n{held}.append({own})", f"{held} = [{one}, {own}]")
    write = b.draw.of(f"{own}.add_(1)", f"{own}[:1] = 2", f"{own} = F.relu({own}, inplace=True)", f"{held}[-1].mul_(2)")
    text = f"{own} = {one} * 0.5\n{kept}\n{write}\n{name} = {held}[-1] * 3.0 - {own}"
    b.block("list", text, name, f"{one} * 3.0")


@rule("flow", "control_flow", "elementwise", "reductions", "views", weight=4, operators=1)
def branch_that_could_not_be_taken(b: Builder) -> None:
    """What a branch computes cannot be computed where the other one is taken."""
    one = b.pick(lambda value: value.floating and value.rank >= 1)
    name, at = b.name(), b.draw.of(2, 3, 1)
    text = (
        f"if {one}.shape[0] > {at}:\n    {name} = {one}[{at}] * 2.0\n"
        f"else:\n    {name} = {one}.sum(0){b.draw.of('', ' - 1.0')}"
    )
    b.block("if", text, name, f"{one}.sum(0)")


@rule("flow", "control_flow", "elementwise", weight=4, operators=1)
def guarded(b: Builder) -> None:
    """A look-up or a division that is made only where it can be, which a condition ahead of it says."""
    one = b.float_value(least=1)
    name, held = b.name(), b.name()
    less = f"({one}.shape[0] - {b.draw.of(1, 2, 3)})"
    factor = b.draw.of(
        f"{one}.shape[1] if len({one}.shape) > 1 else 3",
        f"7 // {less} if {less} != 0 else 3",
        f'{held}["b"] if "b" in {held} else {held}["a"]',
        f"{held}[1] if len({held}) > 1 else {held}[0]",
    )
    begin = f'{held} = {{"a": {one}.shape[0]}}' if '"' in factor else f"{held} = [{one}.shape[0]]"
    b.block("if", f"{begin}\n{name} = {one} * ({factor})", name, f"{one} * 3")


@rule("flow", "loops", "in_place", "elementwise", "views", weight=4, operators=1)
def loop_behind_a_loop(b: Builder) -> None:
    """As many turns as another loop has, which go on with all that it left, and not with what its turn did."""
    one = b.float_value(least=1)
    name, held = b.name(), b.name()
    first, then = b.draw.of(
        (f"{held}.append({held}[-1] * 0.5)", f"{held}[-1 - i]"),
        (f"{held}[0].add_(1)", f"{held}[0] * i"),
        (f"{held}[0][:1] = i", f"{held}[0]"),
        (f"{held} += [{one} - i]", f"{held}[-1]"),
    )
    turns = b.draw.of("2", "3")
    text = (
        f"{held} = [{one}.clone()]\nfor i in range({turns}):\n    {first}\n"
        f"{name} = {one}\nfor i in range({turns}):\n    {name} = {name} * 0.5 + {then}"
    )
    b.block("for", text, name, f"{one} * 0.5")


@rule("flow", "matmul", "parameters", "half_precision", "mixed_dtypes", traits=("trains",), weight=3, operators=1)
def in_lower_precision(b: Builder) -> None:
    """A part that is computed in lower precision, in the middle of what is not."""
    one = b.pick(lambda value: value.dtype_name == "float32" and value.rank >= 1 and 0 not in value.shape)
    weight = b.parameter(TensorSpec("float32", (3, one.shape[-1]), "contiguous", "ordinary", b.draw.seed(), grad=True))
    name, short = b.name(), b.name()
    dtype = b.draw.of("bfloat16", "float16")
    after = b.draw.of(f"{short}.float() * 2.0", f"{short} + {short}.float()", f"{short}")
    within = f'with torch.autocast("cpu", dtype=torch.{dtype}):'
    text = f"{within}\n    {short} = F.linear({one}, {weight})\n{name} = {after}"
    given = f"F.linear({one}, {weight}).to(torch.{dtype if after == short else 'float32'})"
    b.block("autocast", text, name, given)


@rule("flow", "elementwise", "reductions", traits=("trains",), weight=2, operators=1)
def computed_again(b: Builder) -> None:
    """What is not kept for the way back, and computed a second time; and what is written for one row, for all."""
    one = b.float_value(least=1)
    body = b.draw.of("torch.tanh(t) * t", "torch.sigmoid(t) + 1.0", "F.relu(t) * 2.0", "t.amax() * t")
    name, text = b.draw.of(
        ("checkpoint", f"torch.utils.checkpoint.checkpoint(lambda t: {body}, {one}, use_reentrant=False)"),
        ("vmap", f"torch.func.vmap(lambda row: row * row.sum())({one})"),
    )
    b.make(name, text)


@rule("flow", "control_flow", "elementwise", "optionals", traits=("takes_none",), weight=3, operators=1)
def where_given(b: Builder) -> None:
    """What is computed with an argument that may be None."""
    if not b.optionals:
        raise Abandoned
    whole = "mixed_dtypes" not in b.missing  # which beside these numbers become floats
    one, given = b.pick(lambda value: value.floating or (whole and value.integral)), b.draw.choice(b.optionals)
    name, with_it = b.name(), b.draw.of(f"{one} + {given}", f"{one} * {given}", f"{one} - {given} * 2")
    bounded = f"torch.clamp({one}, {given}, {one} + 1.0)"
    text, like = b.draw.of(
        (f"{name} = {one} * 0.5\nif {given} is not None:\n    {name} = {with_it}", with_it),
        (f"if {given} is None:\n    {name} = {one} - 1.0\nelse:\n    {name} = {with_it}", with_it),
        (f"{name} = {with_it} if {given} is not None else {one} * 2.0", with_it),
        (f"{name} = {one}\nif {given} is not None:\n    {name} = {bounded}", bounded),
    )
    b.block("if", text, name, like)


@rule("flow", "elementwise", "scalars", "nested_values", traits=("takes_lists",), weight=2, operators=1)
def with_listed_numbers(b: Builder) -> None:
    """What is computed with the numbers of an argument that is a list."""
    numbers = [scalar for scalar, _ in b.scalars if scalar.endswith("]")]
    if not numbers:
        raise Abandoned
    one, first, last = b.float_value(), numbers[0], numbers[-1]
    b.make("mul", b.draw.of(f"{one} * {first} + {last}", f"({one} + {last}) * {first}", f"{one} * ({first} - {last})"))


@rule("flow", "elementwise", "reductions", "parameters", traits=("trains",), weight=7, operators=1)
def without_gradients(b: Builder) -> None:
    """What is computed with gradients off, in the middle of what has them, as models scale their weights; or once with
    them and once without, as a target is beside a prediction."""
    one = b.float_value(least=1)
    weight = b.parameter(TensorSpec(one.dtype_name, one.shape[-1:], "contiguous", "ordinary", b.draw.seed(), grad=True))
    name, scale = b.name(), b.name()
    of = b.draw.of(str(weight), str(weight), str(one))
    if b.draw.chance(2):
        twice = b.draw.of(f"torch.tanh({of})", f"{of} * 0.5", f"torch.sigmoid({one} * {weight})")
        without, last = f"with torch.no_grad():\n    {scale} = {twice}\n", f"{name} * ({scale} + 2.0)"
        text = b.draw.of(f"{without}{name} = {twice}\n", f"{name} = {twice}\n{without}")
        b.block("no_grad", f"{text}{name} = {last}", name, twice)
        return
    inner = b.draw.of(f"{of}.abs().sum() + 1.0", f"torch.tanh({of})", f"{of} * 0.5")
    text = f"with torch.no_grad():\n    {scale} = {inner}\n{name} = {one} * {weight} / ({scale} + 2.0)"
    b.block("no_grad", text, name, f"{one} * {weight}")
