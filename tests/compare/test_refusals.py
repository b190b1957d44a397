"""How an error says that an operator is refused."""

from __future__ import annotations

import pytest

from conformance.compare.refusals import operator_named, operator_refused, says_that_it_refuses


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("Backend mine does not take the operator aten::reciprocal", "aten::reciprocal"),
        ("mine has no kernel for aten.gather.default (from: x.gather(0, y))", "aten::gather"),
        (
            "no kernel for torch_nn._linear_cross_entropy_batch_chunked.default",
            "torch_nn::_linear_cross_entropy_batch_chunked",
        ),
        ("no kernel for prims.convert_element_type.default", "prims::convert_element_type"),
        ("cannot lower prim::If: the branches differ", "prim::If"),
        ("Backend mine does not take the operator aten::IntImplicit", "aten::IntImplicit"),
        ("torch.addmm is not supported", "aten::addmm"),
        ("torch.nn.functional.relu_ is not supported", "aten::relu_"),
        ("torch.cat is broken", None),  # the program has none
        ("expected torch.float32, found torch.float64", None),
        ("aten::surely_nothing is not supported", None),
        ("something is wrong", None),
    ],
)
def test_an_operator_is_named_as_it_was_lowered_or_as_the_program_has_it(text: str, operator: str | None) -> None:
    assert operator_named(text, {"addmm", "relu"}) == operator


def test_a_class_can_say_that_it_refuses() -> None:
    assert says_that_it_refuses(["mine.compiler.UnsupportedOperatorError", "RuntimeError"])
    assert says_that_it_refuses(["mine.Refused", "NotImplementedError"])
    assert not says_that_it_refuses(["RuntimeError", "Exception"])
    assert not says_that_it_refuses(["unsupported_things.KernelError"])


@pytest.mark.parametrize(
    ("text", "classes", "operator"),
    [
        ("IndexError: list index out of range", ["IndexError"], None),
        ("there is no kernel for this", ["mine.UnsupportedOperator"], "aten::add"),
        ("RuntimeError: not supported", ["RuntimeError"], "aten::add"),
        ("aten::mul has no kernel", ["RuntimeError"], "aten::mul"),
        ("TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'", ["TypeError"], None),
    ],
)
def test_what_an_interpreter_was_executing_makes_no_refusal(text: str, classes: list[str], operator: str) -> None:
    executing = "\n\nWhile executing %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = ())"
    assert operator_refused(text + executing, classes) == operator


@pytest.mark.parametrize(
    ("text", "classes", "operator"),
    [
        ("IndexError: list index out of range while lowering aten::add", ["IndexError"], None),
        ("backend='mine' raised:\nAttributeError: no field of aten::add", ["BackendCompilerFailed"], None),
        ("aten::add: a form that is not supported", ["builtins.IndexError"], "aten::add"),
        ("'aten::add'", ["KeyError"], "aten::add"),  # a table of kernels, in which there is none
    ],
)
def test_a_mistake_is_no_refusal_whatever_it_names(text: str, classes: list[str], operator: str | None) -> None:
    assert operator_refused(text, classes) == operator
