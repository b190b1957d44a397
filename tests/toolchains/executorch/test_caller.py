"""The caller in C++, on programs without a delegate."""

from __future__ import annotations

import shutil

import pytest
import torch

from conformance.toolchains import toolchain_named

HAS_COMPILER = shutil.which("g++") is not None
LACKING = toolchain_named("executorch").lacking() or ("" if HAS_COMPILER else "there is no C++ compiler")
pytestmark = pytest.mark.skipif(bool(LACKING), reason=LACKING)

INPUTS = (torch.arange(6.0).view(2, 3), torch.ones(2, 3))


class _Subtract(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x - y


@pytest.fixture(scope="module", params=[True, False], ids=["planned", "not planned"])
def program(request: pytest.FixtureRequest) -> bytes:
    from conformance.toolchains.executorch.ahead_of_time import emitted, exported_methods, lowered_programs

    exported = exported_methods(_Subtract(), {"forward": INPUTS})
    return bytes(emitted(lowered_programs(exported, {}), planned=request.param).buffer)


def test_a_call_gives_what_it_should_and_memory_tells_of_nothing(program: bytes) -> None:
    from conformance.toolchains.executorch.caller import Settings, call_method

    found = call_method(program, b"", "forward", [INPUTS, INPUTS[::-1]], Settings(temporary=64))
    assert (found.code, found.phase, found.findings) == (0, "", [])
    assert torch.equal(found.results[0][0], INPUTS[0] - INPUTS[1])
    assert torch.equal(found.results[1][0], INPUTS[1] - INPUTS[0])


def test_a_program_for_which_there_is_no_memory_is_refused_by_its_code(program: bytes) -> None:
    from conformance.toolchains.executorch.caller import Settings, call_method

    found = call_method(program, b"", "forward", [INPUTS], Settings(lasting=16))
    assert (found.code, found.phase, found.results) == (0x21, "load", [])


def test_inputs_of_another_shape_are_refused_when_they_are_given(program: bytes) -> None:
    from conformance.toolchains.executorch.caller import Settings, call_method

    found = call_method(program, b"", "forward", [INPUTS, (INPUTS[0][:1], INPUTS[1])], Settings())
    assert (found.phase, len(found.results)) == ("run", 1)
    assert found.code > 0


def test_an_option_for_nobody_is_not_found() -> None:
    from conformance.toolchains.executorch.caller import get_option, set_option

    assert set_option("NobodysBackend", "key", True) == get_option("NobodysBackend", "key", "text") == 0x20
