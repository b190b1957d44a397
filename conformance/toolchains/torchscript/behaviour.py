"""The behaviour table of pytorch/pytorch#53068: what must happen in each state of availability, and what does."""

from __future__ import annotations

from conformance.api.availability import EITHER, NOTHING, Availability
from conformance.api.case import Call
from conformance.api.errors import ConformanceFailure, SubjectError
from conformance.compare.comparison import assert_close
from conformance.toolchains.torchscript.assertions import NOT_AVAILABLE
from conformance.toolchains.torchscript.client import Module, PreparedCase, TorchScriptDevice

#: Outcomes of a step: it worked; PyTorch raised "Backend is not available."; something else was raised; the results
#: were wrong.
OK, REFUSED, ERROR, WRONG = "ok", "refused", "error", "wrong numbers"
#: The outcome of a step in which the backend itself throws.
THROWN = f"{ERROR} (RuntimeError)"
#: What may be measured on a host where it differs from the state that the author declares. With execute only, a compile
#: that returns what preprocess has made ready works, which is yes/yes in effect. With neither, a compile that passes on
#: what it is given can be called without any device.
_MEASURED = {
    Availability.EXECUTE_ONLY: Availability.FULL.value,
    Availability.NONE: EITHER.join((Availability.NONE.value, Availability.COMPILE_ONLY.value)),
}


def expected_on_host(state: Availability) -> dict[str, str]:
    """The row of a host. One that can compile but not execute behaves like one that can do neither."""
    available = state in (Availability.FULL, Availability.EXECUTE_ONLY)
    return {
        "available": _yes(available),
        "can": _MEASURED.get(state, state.value),
        "lower": OK,
        "warn": _yes(not available),
        "run": OK if available else REFUSED,
        "save": OK,
    }


def observe_host(host: TorchScriptDevice, case: PreparedCase) -> dict[str, str]:
    """Lower, run and save on a host, and measure what the backend can do there."""
    observed = {"available": _yes(host.claims_directly()), "can": "unknown"}
    original = host.script(case)
    try:
        lowered = host.lower(original)
    except SubjectError as error:
        return observed | {"lower": kind_of(error), "warn": _yes(_warned(error.stderr))}
    observed |= {"lower": OK, "warn": _yes(_warned(lowered.warnings)), "run": run_kind(host, lowered, case.call)}
    try:
        host.save(lowered)
        observed["save"] = OK
    except SubjectError as error:
        observed["save"] = kind_of(error)
    ability = host.measure(host.lower(original), case.call)
    return observed | {"can": ability.state}


def expected_on_target(host: Availability, state: Availability) -> dict[str, str]:
    """The row of a target.

    Where the target cannot compile, it depends on the host: loading succeeds only if the preprocessed module is
    compiled already, which a host without a compiler need not have done.
    """
    if state not in (Availability.FULL, Availability.EXECUTE_ONLY):
        return {"available": "no", "load": REFUSED}
    if state is Availability.EXECUTE_ONLY and host in (Availability.NONE, Availability.EXECUTE_ONLY):
        return {"available": "yes", "load": EITHER.join((OK, THROWN)), "run": EITHER.join((OK, NOTHING))}
    return {"available": "yes", "load": OK, "run": OK}


def observe_target(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> dict[str, str]:
    """Load and run on a target what a host lowered and saved."""
    artifact = host.save(host.lower(case))
    observed = {"available": _yes(target.claims_directly())}
    try:
        loaded = target.load(artifact)
    except SubjectError as error:
        return observed | {"load": kind_of(error)}
    return observed | {"load": OK, "run": run_kind(target, loaded, case.call)}


def run_kind(device: TorchScriptDevice, module: Module, call: Call) -> str:
    """The outcome of a call, in the words of the table."""
    try:
        result = device.run_call(module, call)[0]
    except SubjectError as error:
        return kind_of(error)
    try:
        assert_close(result, call.expected, call.method)
    except ConformanceFailure:
        return WRONG
    return OK


def kind_of(error: SubjectError) -> str:
    """REFUSED if PyTorch raised since the backend is not available; otherwise ERROR with the type of the exception."""
    refused = error.is_a("torch.jit.Error") and NOT_AVAILABLE in error.text
    return REFUSED if refused else f"{ERROR} ({error.type})"


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _warned(text: str) -> bool:
    return "is not available. Execution of this Module" in text
