"""Chains are of operators that follow each other, each made in some program, and of nothing that is used twice."""

from __future__ import annotations

import contextlib
import re
from collections import Counter

import pytest
from generate.drawn import ByChance, scope_of

from conformance.generate.dead_code import made_by, names_used
from conformance.generate.grammar import Abandoned, Builder, chains
from conformance.generate.grammar.chains import Form, chain
from conformance.generate.program import TensorSpec
from conformance.generate.programs import draw_program

#: The forms of each kind that are written down.
_TABLES = ("ACTIVATIONS", "ARITHMETIC", "COMBINATIONS", "REDUCTIONS", "ROWS", "VIEWS", "JOINED", "POOLS")
_FORMS = [form for name in _TABLES for form in getattr(chains, f"_{name}")]


@pytest.mark.parametrize("form", _FORMS, ids=lambda form: form[1])
def test_every_form_can_be_made(form: Form) -> None:
    name, text = form
    made = 0
    for shape in ((1, 2, 4), (1, 2, 4, 4)):
        builder = Builder(ByChance(1), scope_of("torchscript", "elementwise").traits)
        for _ in "ab":
            builder.argument(TensorSpec("float32", shape))
        with contextlib.suppress(Abandoned):
            made += len(builder.make(name, text.format("x0", "x1", d=len(shape) - 1, n=len(shape) - 2)))
    assert made


@pytest.mark.parametrize("toolchain", ["torchscript", "dynamo", "executorch"])
def test_what_lies_in_between_is_used_once(toolchain: str) -> None:
    links = 0
    for seed in range(40):
        builder = Builder(ByChance(seed), scope_of(toolchain, "networks").traits)
        builder.argument(TensorSpec("float32", (1, 2, 4, 5)))
        chain(builder, 5)
        *inside, _ = [name for line in builder.lines for name in made_by(line)]
        uses = Counter(name for line in builder.lines for name in names_used([line]))
        assert [uses[name] for name in inside] == [1] * len(inside)
        assert not set(inside) & {value.name for value in builder.values}
        links += len(builder.lines)
    assert links > 40 * 4


def test_one_program_in_four_is_of_chains() -> None:
    """They are twice as long as others, of which one in forty is longer still."""
    programs = [draw_program(ByChance(seed), scope_of("torchscript", "reductions"))[0] for seed in range(200)]
    assert 25 < sum(20 <= len(program.lines) <= 28 for program in programs) < 75


def test_what_a_backend_lacks_is_in_no_chain() -> None:
    missing = {"views", "mixed_dtypes", "matmul", "convolution", "half_precision"}
    builder = Builder(ByChance(3), scope_of("torchscript", "elementwise").traits, missing)
    builder.argument(TensorSpec("float32", (1, 2, 4)))
    for _ in range(60):
        chain(builder, 3)
    text = "\n".join(line.text for line in builder.lines)
    assert "sum(" in text
    assert not re.search(r"\.to\(|linear|matmul|@|conv|pool|transpose|cat|\[\.\.\.|flip", text)
