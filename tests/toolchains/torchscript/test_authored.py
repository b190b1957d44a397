"""What an author's class gives for a compile spec is told apart from what a backend does with it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from conformance.api.case import case_named
from conformance.toolchains import PluginError, import_cases
from conformance.toolchains.torchscript.backend import TorchScriptBackend
from conformance.toolchains.torchscript.verbs.authored import lowered

import_cases("torchscript")
ADD = case_named("add", "torchscript")


class Refusing(TorchScriptBackend):
    """One that gives a spec, and refuses to lower."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def compile_spec(self, case: Any) -> Any:
        """As told."""
        return self.spec

    def lower(self, module: Any, method_compile_spec: Any) -> Any:
        """It cannot."""
        raise RuntimeError("no idea")


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (
            ["forward"],
            r"compile_spec\('add'\) must give a dictionary, method → compile spec, found list: \['forward'\]",
        ),
        ({7: ""}, r"compile_spec\('add'\) must have names of methods for keys, found int: 7"),
        (
            {"forward": {"level": 3, "name": "fast"}},
            r"compile_spec\('add'\) gives 'forward' a value that TorchScript has no type for, .* Found int and str",
        ),
    ],
    ids=["list", "key", "mixed"],
)
def test_a_spec_that_no_backend_can_be_given_is_named(spec: Any, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint) as raised:
        lowered(Refusing(spec), torch.nn.Module(), ADD)
    assert "PyTorch says: no idea" in str(raised.value)


def test_what_a_backend_raises_otherwise_is_left_as_it_is() -> None:
    with pytest.raises(RuntimeError, match=r"^no idea$"):
        lowered(Refusing({"forward": {"level": 3}}), torch.nn.Module(), ADD)
