"""What PyTorch itself executes: counted alike however it comes to it, in each thread, and without moving of data."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from support.project import Project

from conformance.toolchains.dynamo.verbs.executed import executed, named, profiled

MATRIX = torch.ones(4, 4)
IMAGE = torch.ones(1, 2, 8, 8)
#: Copies its inputs to memory of its own, and computes there in NumPy.
STAGES = """
    import numpy
    import torch

    from conformance import DynamoBackend, Features, features

    class Plugin(DynamoBackend):
        name = "stages"
        features = Features.all().without(features.training, "no backward pass")

        def load(self):
            def compiler(graph, example_inputs, **keywords):
                staged = [torch.empty_like(each) for each in example_inputs]

                def code(*arguments):
                    for place, each in zip(staged, arguments, strict=True):
                        place.copy_(each)
                    x, y = (each.numpy() for each in staged)
                    computed = numpy.maximum(x - y, 0) * 2 - y / (1 + x * x)
                    return (torch.zeros(computed.shape).copy_(torch.from_numpy(computed)),)

                return code

            torch._dynamo.register_backend(compiler, name=self.name)
"""


class _Tripled(torch.autograd.Function):
    """Three times a tensor, by NumPy on the way forward."""

    @staticmethod
    def forward(context: Any, tensor: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(tensor.detach().numpy() * 3)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(gradient.numpy() * 3)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (lambda: MATRIX @ MATRIX, ["aten::mm"]),
        (lambda: torch.softmax(MATRIX, 0), ["aten::_softmax"]),
        (lambda: torch.nn.functional.linear(MATRIX, MATRIX, MATRIX[0]), ["aten::addmm"]),
        (lambda: torch.conv2d(IMAGE, IMAGE), ["aten::convolution"]),
        (lambda: MATRIX * 2 + 1, ["aten::mul", "aten::add"]),
        (lambda: [each.flatten() for each in MATRIX.t().chunk(2)], []),
    ],
    ids=["matmul", "softmax", "linear", "conv2d", "numbers", "views"],
)
def test_an_operator_counts_once_eager_and_behind_aot_autograd(model: Callable[[], Any], expected: list[str]) -> None:
    assert executed(model, ()) == expected
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager")
    compiled()
    assert executed(compiled, ()) == expected


def test_what_another_thread_has_pytorch_run_counts() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert executed(lambda: pool.submit(torch.tanh, MATRIX).result(), ()) == ["aten::tanh"]


def test_moving_data_is_no_work_and_converting_it_is() -> None:
    place, numbers = torch.empty(4, 4), torch.ones(4, 4, dtype=torch.int64)
    for moves in (
        lambda: place.copy_(MATRIX),
        lambda: MATRIX.t().contiguous(),
        lambda: MATRIX.to("cpu", copy=True),
        lambda: torch.zeros(3).fill_(2),
        lambda: torch.tensor([1.0, 2.0]),
    ):
        assert executed(moves, ()) == []
    for converts in (lambda: place.copy_(numbers), lambda: MATRIX.to(torch.bfloat16), lambda: MATRIX.bool()):
        assert executed(converts, ()) == ["aten::copy_"]


def test_what_autograd_adds_up_by_itself_is_not_the_models() -> None:
    leaf, seed = torch.ones(3, requires_grad=True), torch.ones(3)
    mine, both = _Tripled.apply(leaf), (leaf * 2, leaf * 2)
    assert executed(lambda: torch.autograd.grad([mine, mine], [leaf], [seed, seed]), ()) == []
    assert executed(lambda: torch.autograd.grad(both, [leaf], [seed, seed]), ()) == ["aten::mul", "aten::mul"]


def test_an_operator_is_named_as_a_whole_and_by_its_parts() -> None:
    names = named(profiled(lambda: (MATRIX @ MATRIX).chunk(2), ()))
    assert names == {"aten::matmul", "aten::mm", "aten::chunk"}


@pytest.mark.slow
def test_a_backend_may_copy_to_where_it_computes(project: Project) -> None:
    project.install("stages", STAGES)
    run = project.run("--backend=stages", "-k", "test_delegated and chain")
    assert run.verdicts("stages") == {"compile.delegated[chain-compile-yes/yes]": ("PASS", "")}, run.output
