"""What verbs of ExecuTorch's devices do, without a device."""

from __future__ import annotations

import importlib.util

import pytest
import torch

from conformance.api.case import case_named
from conformance.toolchains import toolchain_named

HAS_DELEGATES = importlib.util.find_spec("torch_conformance_saboteurs_executorch") is not None
LACKING = toolchain_named("executorch").lacking() or ("" if HAS_DELEGATES else "its plugins: see .ci/executorch")
pytestmark = pytest.mark.skipif(bool(LACKING), reason=LACKING)


@pytest.fixture(scope="module")
def program() -> bytes:
    from executorch.exir.backend.compile_spec_schema import CompileSpec
    from torch_conformance_reference_executorch.partition import ReferencePartitioner

    import conformance.toolchains.executorch.cases.networks  # noqa: F401  (registers the case)
    from conformance.toolchains.executorch.ahead_of_time import emitted, exported_methods, lowered_programs

    model, samples = case_named("linear", "executorch").build(0)
    partitioner = ReferencePartitioner((CompileSpec("one", b"1\0"), CompileSpec("none", b"")))
    exported = exported_methods(model, {"forward": samples["forward"][0]})
    return bytes(emitted(lowered_programs(exported, {"forward": [partitioner]}), planned=True).buffer)


def test_specs_are_read_and_changed_and_the_blob_stays(program: bytes) -> None:
    from conformance.toolchains.executorch.programs import blobs_of, contents_of, program_with_specs

    assert contents_of(program)["forward"]["specs"] == [{"one": b"1\0", "none": b""}]
    changed = program_with_specs(program, 0, {"other": b"\xff"})
    assert contents_of(changed)["forward"]["specs"] == [{"other": b"\xff"}]
    assert blobs_of(changed) == blobs_of(program)


def test_a_blob_is_replaced_and_all_else_stays(program: bytes) -> None:
    from conformance.toolchains.executorch.programs import blobs_of, contents_of, program_with_blob

    changed = program_with_blob(program, 0, b"another")
    assert blobs_of(changed) == [b"another"]
    assert contents_of(changed) == contents_of(program)


def test_handles_are_those_of_the_graph() -> None:
    from torch_conformance_reference_executorch.partition import ReferencePartitioner

    from conformance.toolchains.executorch.ahead_of_time import exported_methods, handle_maps_of, lowered_programs

    exported = exported_methods(torch.nn.Linear(3, 2), {"forward": (torch.zeros(1, 3),)})
    lowered = lowered_programs(exported, {"forward": [ReferencePartitioner()]})
    (found,) = handle_maps_of(lowered.exported_program())
    assert found["named"] == found["has"] != []
    assert found["ids"] == ["0"]


def test_compile_specs_travel_to_hooks_as_they_are() -> None:
    from torch_conformance_saboteurs_executorch.bridge import specs_in

    packed = b"key\0" + (3).to_bytes(8, "little") + b"a\0b" + b"none\0" + bytes(8)
    assert specs_in(packed) == {"key": b"a\0b", "none": b""}


def test_a_sum_that_executorch_rounds_as_float32_charges_no_delegate() -> None:
    from conformance.operators import samples
    from conformance.toolchains.executorch.verbs import open_target, operators

    session = open_target(None)
    found = samples.varied_samples_of("linalg.vecdot", "float64", 1, 3, ["inference"], layouts=False)
    made = [operators._exported(sample) for sample in found if not isinstance(sample, str)]
    assert made
    for sample in made:
        told = {name: sample[name] for name in ("program", "inputs", "expected", "mode", "settled")}
        reason = operators.confirm_program(session, **told)
        assert "ExecuTorch's kernels give something else than eager PyTorch" in reason
