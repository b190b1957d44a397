"""What we demand of TorchScript delegates beyond the contract."""

from __future__ import annotations

import os

from conformance.api.case import Call
from conformance.assertions import assert_close
from conformance.contract import Level, clause
from conformance.run.result import Record
from conformance.toolchains.client import PreparedCase
from conformance.toolchains.torchscript.client import TorchScriptDevice


@clause("outside.mean", source="our customers", level=Level.REPORTED, cases=("outside_running_mean",))
def test_mean(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase, record: Record) -> None:
    """The mean of each row is taken from it, on the host and on the target."""
    record.note(f"judged in {'pytest' if 'PYTEST_VERSION' in os.environ else 'an unknown process'}")
    lowered = host.lower(case)
    loaded = target.load(host.save(lowered))
    for call in case.calls:
        assert isinstance(call, Call)
        for device, module in ((host, lowered), (target, loaded)):
            assert_close(device.run(module, call.method, call.inputs), call.expected, "the means")
