"""Availability of a torch.compile backend: how PyTorch finds it, and what its users see where its vendor's runtime, or
what it needs to compute by itself, is not there."""

from __future__ import annotations

import contextlib

from conformance import features
from conformance.api.assertions import assert_as_expected, check
from conformance.api.availability import Availability
from conformance.api.errors import SubjectError
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.run.cell_context import CellContext
from conformance.run.result import Record
from conformance.toolchains.dynamo.client import DynamoDevice, PreparedCase
from conformance.toolchains.dynamo.promises import COMPILED, DECLARED, ERRORS, REGISTERED
from conformance.toolchains.dynamo.vendor_runtime import (
    OK,
    Shipment,
    is_clear,
    modules_if_any,
    modules_of_runtime,
    observe_target,
    observed_steps,
    told,
    without_runtime,
)

clause = clauses(source=(ERRORS, DECLARED), level=Level.CORE, cases=("chain",), control=Control.NONE)


@clause("runtime.entry-point", source=REGISTERED)
def test_entry_point(host: DynamoDevice, case: PreparedCase) -> None:
    """The backend's name leads PyTorch to one callable, the same each time: no other distribution and no backend of
    PyTorch's own has that name, and what it leads to can be registered (it is hashed, and given attributes)."""
    check(host.listed(), "torch._dynamo.list_backends() does not have the backend")
    problems = host.registration()
    check(not problems, "; ".join(problems))


@clause("runtime.absent", source=(COMPILED, ERRORS, DECLARED))
def test_absent(
    host: DynamoDevice, case: PreparedCase, backend: Description, context: CellContext, record: Record
) -> None:
    """Where the vendor's runtime cannot be imported, loading or lowering ends with an error that names the backend or
    what is missing; never does it show only when code runs. Where the backend says that it computes by itself, PyTorch
    does not compute in its place, unseen; where it says nothing of the kind, that PyTorch does is reported."""
    missing = modules_of_runtime(host, case, backend)
    absent = context.device("host without the runtime", Availability.FULL, without=missing)
    try:
        lowered = absent.lower(case)
    except SubjectError as error:
        record.note(f"Without {', '.join(missing)}: {told(error)}")
        check(
            is_clear(error, backend.name, missing),
            f"the error names neither {backend.name!r} nor the package of {missing}: {error}",
        )
        return
    found = absent.run(lowered, case.call.inputs).result
    assert_close(found, case.call.expected, f"{case.name}, without {missing}")
    with contextlib.nullcontext() if backend.has(features.delegation) else record.reporting():
        check(
            False, f"without {missing} the model is lowered and computes all the same: PyTorch did, and nobody is told"
        )


@clause("runtime.host", level=Level.COMPLETE)
def test_host(
    host: DynamoDevice, case: PreparedCase, backend: Description, context: CellContext, record: Record
) -> None:
    """On a host with the vendor's runtime a model is lowered and runs; on one without it lowering and running are
    refused, and refused again when they are tried again, or, of a backend that does not say that it computes by itself,
    are right."""
    missing = modules_of_runtime(host, case, backend)
    absent = context.device("host without the runtime", Availability.FULL, without=missing)
    record.expected = dict.fromkeys(("present: load", "present: lower", "present: run"), OK)
    refused = without_runtime(delegates=backend.has(features.delegation))
    record.expected |= dict.fromkeys(("absent: lower", "absent: run", "absent, again: lower"), refused)
    for state, device in (("present", host), ("absent", absent), ("absent, again", absent)):
        steps = observed_steps(device, case, backend.name, missing)
        record.observed |= {f"{state}: {step}": kind for step, kind in steps.items()}
    record.observed = {step: kind for step, kind in record.observed.items() if step in record.expected}
    assert_as_expected(record.expected, record.observed)


@clause("runtime.target", level=Level.COMPLETE)
def test_target(
    host: DynamoDevice,
    target: DynamoDevice,
    bare: DynamoDevice,
    case: PreparedCase,
    backend: Description,
    context: CellContext,
    record: Record,
) -> None:
    """A target with the vendor's runtime lowers and runs an exported program, and runs a package. One without it loads
    the program, refuses to lower it, and can still run it uncompiled; a package it refuses, or the package needs no
    runtime and is right. Where the backend says that it computes by itself, what is right is not PyTorch's doing; where
    it does not, a program may be lowered without the runtime, and is right."""
    shipment = Shipment.of(host, bare, case, backend)
    observe_target(record, target, shipment, backend.name)
    assert_as_expected(record.expected, record.observed)
    missing = modules_if_any(host, case, backend)
    if not missing:
        record.note("There is no target without the backend's runtime: it is PyTorch's own, and needs nothing else.")
        return
    absent = context.device("target without the runtime", Availability.FULL, without=missing)
    observe_target(record, absent, shipment, backend.name, missing)
    assert_as_expected(record.expected, record.observed)


@clause(
    "runtime.fallback",
    source=DECLARED,
    cases=("chain", "matmul", "reductions", "softmax", "network", "beyond_32_bits"),
    needs=(features.delegation,),
)
def test_fallback(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """A backend that leaves a whole model to PyTorch's own operators declares that (delegation); one that says that it
    computes by itself leaves none entirely."""
    kept = host.operators_run(host.lower(case), case.call.inputs)
    every = bare.operators_run(bare.build(case), case.call.inputs)
    check(
        len(kept) < len(every),
        f"{case.name}: PyTorch itself executes {len(kept)} operators ({', '.join(dict.fromkeys(kept))}), and "
        f"{len(every)} where there is no backend at all",
    )
