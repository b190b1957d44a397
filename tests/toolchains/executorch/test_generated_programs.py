"""Generated programs and drawn operators of ExecuTorch's delegates, without a device."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
import torch

from conformance.compare.values import decode, encode
from conformance.generate.makers import NotLowered
from conformance.toolchains import toolchain_named

HAS_DELEGATES = importlib.util.find_spec("torch_conformance_saboteurs_executorch") is not None
LACKING = toolchain_named("executorch").lacking() or ("" if HAS_DELEGATES else "its plugins: see .ci/executorch")
pytestmark = pytest.mark.skipif(bool(LACKING), reason=LACKING)


class Session:
    """Stands for that of a device without a backend, or with one."""

    def __init__(self, backend: Any = None, partitioner: Any = None) -> None:
        self.backend = backend
        self._partitioners = [partitioner] if partitioner else []
        self.kept: list[Any] = []

    def partitioners(self, case: Any, *, shared: bool) -> list[Any]:
        return self._partitioners

    def keep(self, thing: Any) -> int:
        self.kept.append(thing)
        return len(self.kept) - 1

    def get(self, number: int) -> Any:
        return self.kept[number]


class Model(torch.nn.Module):
    """Gives its results in a container, and takes a number."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor, times: int) -> dict[str, torch.Tensor]:
        return {"sum": (x * self.weight).sum(0), "all": x * times}


def maker_of(session: Any) -> Any:
    """What lowers models in a device; plain ExecuTorch does without a delegate."""
    from conformance.toolchains.executorch.verbs.generated import maker_in

    return maker_in(session)


def test_a_model_is_lowered_by_another_process_for_its_first_call() -> None:
    maker, given = maker_of(Session()), (torch.ones(2, 4), 3)
    there = maker.lower(Model(), dynamic=False)
    saved = maker.save(there, given)
    assert not there.programs  # it was not loaded there
    here = maker.load(saved, Model())
    ((kind, _),) = here.programs
    assert kind.takes(given)
    assert torch.equal(here(*given)["all"], torch.full((2, 4), 3.0))
    assert len(here.programs) == 1
    here(torch.ones(3, 4), 3)
    assert len(here.programs) == 2
    assert maker.load(maker.save(there, None), Model()).programs == []


def test_bounds_that_are_closer_when_a_program_is_emitted_make_another_program() -> None:
    from torch_conformance_reference_executorch.partition import ReferencePartitioner

    images = [torch.ones(count, 1, 9) for count in (7, 15, 16)]
    for partitioner in (None, ReferencePartitioner()):
        maker = maker_of(Session(object(), partitioner))
        kind, program = maker.lowered(torch.nn.Conv1d(1, 2, 3), images[:1], dynamic=True)
        assert kind.takes(images[1:2])
        assert kind.takes(images[2:]) is (partitioner is None)
        assert bool(program.narrowed) is (partitioner is not None)


@pytest.fixture
def lowered() -> Any:
    """A model without a delegate, for any sizes."""
    return maker_of(Session()).lower(Model(), dynamic=True)


def same(found: Any, x: torch.Tensor, times: int) -> bool:
    expected = Model()(x, times)
    return list(found) == list(expected) and all(torch.allclose(found[name], expected[name]) for name in expected)


def test_a_program_serves_the_calls_that_it_was_made_for_and_others_get_their_own(lowered: Any) -> None:
    for size, times, programs in ((3, 2, 1), (7, 2, 1), (1, 2, 2), (7, 3, 3), (3, 2, 3)):
        x = torch.randn(size, 4)
        assert same(lowered(x, times), x, times)
        assert len(lowered.programs) == programs
    assert same(lowered(torch.randn(4, 3).t(), 2) and lowered(x.t().contiguous().t(), 2), x, 2)


def test_weights_are_those_of_lowering_and_come_back_with_what_was_saved(lowered: Any) -> None:
    model = Model()
    maker = maker_of(Session())
    early = maker.lower(model, dynamic=False)
    with torch.no_grad():
        model.weight.mul_(5)
    x = torch.randn(3, 4)
    for each in (early, maker.save_and_load(early), maker.copy(early)):
        assert same(each(x, 2), x, 2)
        assert len(each.programs) == 1
    with pytest.raises(RuntimeError):
        maker.load_damaged(early)


def test_what_cannot_be_lowered_says_why_and_wrong_arguments_are_refused(lowered: Any) -> None:
    class Branch(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x if x.sum() > 0 else -x

    with pytest.raises(NotLowered) as caught:
        maker_of(Session()).lower(Branch(), dynamic=False)(torch.ones(2))
    assert "Guard" in type(caught.value.reason).__name__
    lowered(torch.ones(3, 4), 2)
    with pytest.raises(Exception, match=r"\S"):
        lowered("not a tensor", 2)
    assert len(lowered.programs) == 1


def test_tensors_are_given_as_the_runtime_takes_them() -> None:
    from conformance.toolchains.executorch.verbs.models import as_taken

    last = torch.randn(1, 2, 3, 4).to(memory_format=torch.channels_last)
    assert as_taken(last).data_ptr() == last.data_ptr()
    assert as_taken(torch.zeros(4, 0, 2).transpose(0, 2)).stride() == torch.zeros(2, 0, 4).stride()
    assert as_taken(torch.randn(3, 4).t()).is_contiguous()
    assert as_taken(2.5) == 2.5


@pytest.fixture
def samples() -> list[dict[str, Any]]:
    """Samples of an operator that ExecuTorch has."""
    pytest.importorskip("expecttest")
    from conformance.toolchains.executorch.verbs.operators import varied_samples

    return varied_samples(Session(), "add", "float32", 1, 3, ["inference"])  # type: ignore[arg-type]


def test_samples_are_lowered_and_run_where_the_delegate_takes_them(samples: list[dict[str, Any]]) -> None:
    from torch_conformance_reference_executorch.partition import ReferencePartitioner

    from conformance.toolchains.executorch.verbs import operators

    class Backend:
        name = "ReferenceBackend"

    class Nothing(ReferencePartitioner):
        def takes(self, node: Any) -> bool:
            return False

    sample = next(each for each in samples if "program" in each)
    told = {name: sample[name] for name in ("program", "inputs", "mode")}
    for partitioner in (ReferencePartitioner(), Nothing()):
        session: Any = Session(Backend, partitioner)
        number = operators.lower_program(session, **told)
        taken = session.get(number) is not None
        assert taken is not isinstance(partitioner, Nothing)
        if not taken:
            assert operators.run_program(session, number, sample["inputs"], sample["mode"]) == {"left": True}
    rest = {name: sample[name] for name in ("expected", "settled")}
    assert operators.confirm_program(session, **told, **rest) == ""
    wrong = {**rest, "expected": encode(decode(sample["expected"]) + 1)}
    assert "something else than eager PyTorch" in operators.confirm_program(session, **told, **wrong)


def test_operators_that_core_aten_has_not_are_told_before_anything_is_lowered() -> None:
    pytest.importorskip("expecttest")
    from conformance.toolchains.executorch.verbs.operators import operator_themes, varied_samples

    (sample, *_) = varied_samples(Session(), "cummax", "float32", 1, 1, [])  # type: ignore[arg-type]
    assert sample["reason"].startswith("ExecuTorch has not aten.cummax")
    themes = operator_themes(Session())  # type: ignore[arg-type]
    dtypes = {each for operators in themes.values() for dtypes in operators.values() for each in dtypes}
    assert "float32" in dtypes
    assert "complex64" not in dtypes
