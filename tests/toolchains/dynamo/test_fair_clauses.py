"""What is no fault of a backend is not charged to it."""

from __future__ import annotations

from typing import Any

import pytest
from support.project import Project

from conformance.api.errors import ConformanceFailure, SubjectError
from conformance.run.result import Record
from conformance.toolchains.assertions import is_variable_of_others
from conformance.toolchains.dynamo.assertions import assert_nothing_piles_up, assert_same_surroundings, is_repeated
from conformance.toolchains.dynamo.vendor_runtime import is_clear
from conformance.toolchains.dynamo.verbs.runtime import modules_of_distributions

CANNOT_BE_SAVED = """
    from conformance import DynamoBackend

    class Plugin(DynamoBackend):
        name = "boxes"

        def load(self):
            import torch
            from functorch.compile import make_boxed_func
            from torch._dynamo.backends.common import aot_autograd
            from torch._dynamo.backends.registry import _COMPILER_FNS

            if self.name not in _COMPILER_FNS:
                backend = aot_autograd(fw_compiler=lambda graph, inputs: make_boxed_func(graph.forward))
                torch._dynamo.register_backend(backend, name=self.name)
"""


def test_pytorchs_own_assertion_about_packages_is_not_charged(project: Project) -> None:
    project.install("boxes", CANNOT_BE_SAVED)
    run = project.run("--backend=boxes", "--conformance-select=package.ready,package.weights")
    assert run.exit_code == 0, run.output
    rows = run.report("boxes")["cells"]
    assert len(rows) == 5
    for row in rows:
        assert row["verdict"] == "NOT_APPLICABLE"
        assert "expected OutputCode" in row["message"]
        assert "can be declared (features.packages)" in row["message"]


def test_inductor_may_have_a_variable_of_its_own() -> None:
    record = Record()
    before = {"grad mode": "True", "the variable HOME": "1"}
    before["the recursion limit"] = "1000"
    after = {**before, "the recursion limit": "2000", "the variable NPU_CACHE": "3"}
    after["the variable _TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"] = "2"
    assert_same_surroundings(after, before, "after lowering", record)
    (reported,) = record.reported
    assert "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR" in reported
    assert "NPU_CACHE" in reported
    assert "the recursion limit: expected 1000, found 2000" in reported


@pytest.mark.parametrize(
    "changed",
    [
        {"grad mode": "False"},
        {"the variable HOME": "2"},
        {"the variable OMP_NUM_THREADS": "1"},
        {"the variable NPU": "2"},
    ],
)
def test_what_others_rely_on_is_theirs(changed: dict[str, str]) -> None:
    before = {"grad mode": "True", "the variable HOME": "1", "the variable NPU": "1"}
    with pytest.raises(ConformanceFailure, match=next(iter(changed))):
        assert_same_surroundings({**before, **changed}, before, "after lowering", Record())


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("the variable LD_PRELOAD", True),
        ("the variable TORCHINDUCTOR_CACHE_DIR", False),  # set when torch._dynamo is imported
        ("the variable _MINE", False),
        ("the variable MINE", False),
        ("cwd", True),
    ],
)
def test_whose_a_variable_is(name: str, others: bool) -> None:
    assert is_variable_of_others(name) is others


class _Keeping:
    """A device of a backend that keeps the tensors of the last ``kept`` calls."""

    def __init__(self, kept: int) -> None:
        self._kept = kept

    def retained(self, *_: Any, calls: int, **__: Any) -> list[str]:
        return [f"argument 0 of call {number}" for number in range(calls - self._kept + 1, calls + 1)]


class _Case:
    name = "chain"

    class call:
        inputs = ()


@pytest.mark.parametrize(("kept", "reported"), [(0, 0), (1, 1), (8, 1)])
def test_what_is_kept_for_the_next_call_is_reported(kept: int, reported: int) -> None:
    record = Record()
    device: Any = _Keeping(kept)
    case: Any = _Case()
    assert_nothing_piles_up(device, device, case, record)
    assert len(record.reported) == reported


def test_what_piles_up_is_a_breach() -> None:
    device: Any = _Keeping(40)
    case: Any = _Case()
    with pytest.raises(ConformanceFailure, match="tensors of 40 of 40 calls are still in memory"):
        assert_nothing_piles_up(device, device, case, Record())


def test_who_does_not_repeat_its_bits_is_not_held_to_them() -> None:
    assert is_repeated(1.5, [1.5, 1.5])
    assert not is_repeated(1.5, [1.5, 1.25])


OWNERS = {
    "npu": {"npu-runtime"},
    "npu_tools": {"npu-runtime"},
    "backend": {"npu-backend"},
    "vendor": {"vendor-one", "vendor-two"},
    "torch": {"torch"},
}


@pytest.mark.parametrize(
    ("native", "beside", "missing"),
    [
        (["npu._core.impl"], {"torch"}, ["npu", "npu_tools"]),
        (["backend._native"], {"torch", "npu-backend"}, []),
        (["vendor.one._core"], {"torch"}, ["vendor.one"]),
        (["torch._C", "unowned._core"], {"torch"}, []),
    ],
)
def test_what_is_missing_is_missing_as_a_whole(native: list[str], beside: set[str], missing: list[str]) -> None:
    assert modules_of_distributions(native, OWNERS, beside) == missing


@pytest.mark.parametrize(
    ("text", "clear"),
    [
        ("No module named 'npu._core'", True),
        ("the NPU runtime cannot be loaded; pip install npu-runtime", True),
        ("list index out of range", False),
    ],
)
def test_an_error_may_name_the_package(text: str, clear: bool) -> None:
    assert is_clear(SubjectError("lower", "builtins.RuntimeError", (), text), "accelerator", ["npu._core"]) is clear
