"""What loads is forked from another process than what saved."""

from __future__ import annotations

import pytest

from conformance.toolchains import toolchain_named


@pytest.mark.parametrize(("name", "lowers_apart"), [("torchscript", True), ("dynamo", True), ("executorch", False)])
def test_targets_are_no_relatives_of_hosts(name: str, lowers_apart: bool) -> None:
    zygote = toolchain_named(name).zygote
    assert zygote("target") == zygote("target without the runtime") != zygote("host")
    assert zygote("alone") == zygote("host") == zygote("control")
    assert zygote("elsewhere") == (zygote("target") if lowers_apart else zygote("alone"))
