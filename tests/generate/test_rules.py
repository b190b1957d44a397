"""Every kind of statement is made, of what it is meant for."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterator

import pytest
from generate.drawn import ByChance

from conformance.generate.grammar import RULES, Abandoned, Builder, Rule, builder, lacking
from conformance.generate.grammar.idioms import read_after_the_whole
from conformance.generate.grammar.writes import to_view_of_own
from conformance.generate.program import TensorSpec
from conformance.toolchains import toolchain_named


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.family}-{rule.function.__name__}")
def test_every_rule_makes_statements(rule: Rule) -> None:
    """One that PyTorch always refuses would never be tried, and nobody would see that."""
    made = 0
    for seed in range(60):
        of_much = _builder_of_much(seed)
        with contextlib.suppress(Abandoned):
            rule.function(of_much)
        made += of_much.length > 1
    assert made >= 3


def test_nothing_is_refused_for_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a statement makes from nothing and what it is given are on one device, or the statement is never drawn."""
    refused: list[str] = []

    @contextlib.contextmanager
    def noted(missing: Collection[str]) -> Iterator[None]:
        try:
            with lacking.asked(missing):
                yield
        except Exception as error:
            refused.append(str(error))
            raise

    monkeypatch.setattr(builder, "asked", noted)
    for rule in RULES:
        for seed in range(20):
            with contextlib.suppress(Abandoned):
                rule.function(_builder_of_much(seed))
    assert len(refused) > 100
    assert [text for text in refused if "device" in text] == []


def _builder_of_much(seed: int) -> Builder:
    """What has values of many kinds, and a statement that rules may change."""
    traits = toolchain_named("dynamo").programs
    assert traits is not None
    specs = [TensorSpec(dtype, shape) for dtype in ("float32", "int64", "bool") for shape in ((2, 3), (3,))]
    specs += [TensorSpec("float32", (2, 2, 4, 4)), TensorSpec("float32", (2, 3, 3)), TensorSpec("complex64", (2, 3))]
    specs += specs[:1]
    made = Builder(ByChance(seed), traits)
    for spec in specs:
        made.argument(spec)
    made.optional(specs[0])
    made.scalar("float", 2)
    made.make("mul", f"{made.values[0]} * 2")
    return made


@pytest.mark.parametrize(("width", "is_taken"), [(300, True), (3000, False)])
def test_a_layer_has_no_more_weights_than_a_message_holds(width: int, is_taken: bool) -> None:
    traits = toolchain_named("torchscript").programs
    assert traits is not None
    with contextlib.nullcontext() if is_taken else pytest.raises(Abandoned):
        Builder(ByChance(1), traits).module(f"torch.nn.TransformerEncoderLayer({width}, 1, 4)")


@pytest.mark.parametrize("statement", [read_after_the_whole, to_view_of_own])
def test_what_is_long_is_not_taken_apart_place_by_place(statement: Callable[[Builder], None]) -> None:
    """Dynamo takes minutes to trace an ``unbind`` of thousands of places, and each program has more."""
    traits = toolchain_named("torchscript").programs
    assert traits is not None
    taken = {65: "", 3: ""}
    for size, seed in itertools.product(taken, range(60)):
        builder = Builder(ByChance(seed), traits)
        builder.argument(TensorSpec("float32", (size,)))
        with contextlib.suppress(Abandoned):
            statement(builder)
        taken[size] += "".join(line.text for line in builder.lines)
    assert ".unbind(" in taken[3]
    assert ".split(1" in taken[3]
    assert ".unbind(" not in taken[65]
    assert ".split(1" not in taken[65]


def test_a_statement_is_made_of_what_it_is_aimed_at_where_it_can_be() -> None:
    traits = toolchain_named("dynamo").programs
    assert traits is not None
    for seed in range(20):
        builder = Builder(ByChance(seed), traits)
        for size in range(1, 9):
            builder.argument(TensorSpec("float32", (size,)))
        aim = builder.values[3]
        builder.begin_statement(aim)
        assert builder.pick(lambda value: value.shape != (4,)) is not aim
        builder.begin_statement(aim)
        assert builder.pick() is aim
        builder.pick()
        assert builder.first_picked is aim


@pytest.mark.parametrize("zeros", [True, False])
def test_products_over_nothing_are_drawn_where_they_are_zeros(zeros: bool) -> None:
    traits = toolchain_named("dynamo").programs
    assert traits is not None
    made = 0
    for rule in (each for each in RULES if each.family == "matrices"):
        builder = Builder(ByChance(1), dataclasses.replace(traits, multiplies_nothing=zeros))
        for shape in ((3, 0), (2, 3, 0)):
            builder.argument(TensorSpec("float32", shape))
        with contextlib.suppress(Abandoned):
            rule.function(builder)
        made += builder.length
    assert bool(made) is zeros
