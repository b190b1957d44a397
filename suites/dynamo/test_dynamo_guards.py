"""Guards: what was assumed when a frame was lowered is checked at each call, and a call for which it does not hold is
lowered for again (pytorch/pytorch#89373: also what was assumed *while* the backend lowered)."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import torch

from conformance import features
from conformance.api.assertions import check
from conformance.api.verdicts import NotApplicable
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.run.result import Record
from conformance.toolchains.dynamo.assertions import assert_costs_little_more, assert_counts, assert_same_call, sizes_of
from conformance.toolchains.dynamo.client import DynamoDevice, PreparedCase
from conformance.toolchains.dynamo.promises import (
    ANY_SIZE,
    CACHED,
    COMPILED,
    DECLARED,
    EQUIVALENT,
    GUARDS,
    MARKED,
    OVERLAPPING,
    ZERO_AND_ONE,
)
from conformance.toolchains.dynamo.refusals import assert_marks_refused, assert_right_or_refused

#: The rows of both arguments.
ROWS = ((0, 0), (1, 0))
#: How much more a call with a new size may cost than the next ones with it; of seconds it is reported.
AT_A_NEW_SIZE = {"functions": 5000}
SECONDS_AT_A_NEW_SIZE = {"seconds": 0.008}

clause = clauses(source=(GUARDS, CACHED), level=Level.CORE)


@clause(
    "guards.one-shape-env",
    source="pytorch/pytorch#89373, which says it of AOT Autograd",
    level=Level.REPORTED,
    cases=("chain", "parameters", "sizes", "scalars"),
)
def test_one_shape_env(host: DynamoDevice, case: PreparedCase, backend: Description, record: Record) -> None:
    """Whether Dynamo's fake mode and its ShapeEnv are the only ones: lowering replaces neither, and adds no symbol that
    no input explains, for which no guard could be made."""
    marks = ROWS if case.name == "sizes" and backend.has(features.dynamic_shapes) else ()
    lowered = host.lower(case, marks=marks)
    counts = host.counts(lowered)
    assert_counts(counts, case.name, least_runs=0)
    with record.reporting():
        check(not counts.disturbed, f"{case.name}: {'; '.join(dict.fromkeys(counts.disturbed))}")


@clause("guards.dynamic-sizes", source=(MARKED, COMPILED), cases=("sizes",), needs=(features.dynamic_shapes,))
def test_dynamic_sizes(host: DynamoDevice, case: PreparedCase) -> None:
    """One lowering for dimensions that are marked dynamic serves every size from two up: the first call with a size
    does nothing of a compiler's work either."""
    lowered = host.lower(case, marks=ROWS)
    for call in case.calls:
        work = host.tracing_done(lowered, call.inputs)
        check(not work, f"the first call with {len(call.inputs[0])} rows does a compiler's work: {', '.join(work)}")
        seen = host.run(lowered, call.inputs, stance="fail_on_recompile")
        assert_same_call(seen, call.effects, f"{case.name} of {len(call.inputs[0])} rows")
    assert_counts(host.counts(lowered), case.name, lowerings=1, least_runs=2 * len(case.calls))


@clause("guards.automatic", source=ANY_SIZE, cases=("sizes",), needs=(features.dynamic_shapes,))
def test_automatic(host: DynamoDevice, case: PreparedCase) -> None:
    """Unmarked, the second size is lowered for with symbolic sizes, and those that follow need no other lowering."""
    compiled = host.compile(case)
    for call in case.calls:
        assert_same_call(host.run(compiled, call.inputs), call.effects, f"{len(call.inputs[0])} rows")
    assert_counts(host.counts(compiled), f"{len(case.calls)} sizes", lowerings=2, least_runs=len(case.calls))


@clause(
    "guards.sizes-zero-and-one",
    source=(ZERO_AND_ONE, EQUIVALENT),
    cases=("sizes",),
    needs=(features.dynamic_shapes, features.empty),
)
def test_sizes_zero_and_one(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Sizes 0 and 1, of which symbolic sizes say nothing, are lowered for by themselves, and are right."""
    lowered, original = host.lower(case, marks=ROWS), bare.build(case)
    x, y = case.call.inputs
    for rows in (1, 0, 2, 1, 0):
        inputs = (x[:rows], y[:rows])
        assert_same_call(host.run(lowered, inputs), bare.run(original, inputs), f"{case.name} of {rows} rows")


@clause("guards.many-sizes", source=(MARKED, COMPILED), cases=("sizes",), needs=(features.dynamic_shapes,))
def test_many_sizes(
    host: DynamoDevice,
    bare: DynamoDevice,
    case: PreparedCase,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
    record: Record,
) -> None:
    """Many sizes are served by what was lowered for the first of them, and the first call with a size goes
    through no compiler: in the median it enters at most five thousand Python functions more than the next. Whether it
    takes more than eight milliseconds more, and whether a call after all of them enters a hundred functions more than
    one before, is reported."""
    lowered, original = host.lower(case, marks=ROWS), bare.build(case)
    sizes = list(range(2, 152))
    _, *fresh = [host.effort_at_first(lowered, call.inputs, calls=4) for call in case.calls]
    median = {unit: statistics.median(each[unit] for each in fresh) for unit in ("functions", "seconds")}
    assert_costs_little_more(median, AT_A_NEW_SIZE, f"{case.name}: a new size")
    with record.reporting():
        assert_costs_little_more(median, SECONDS_AT_A_NEW_SIZE, f"{case.name}: a new size")
    before = host.effort(lowered, case.call.inputs, calls=3)[-1].get("functions", 0)
    found, expected = host.run_at_sizes(lowered, sizes), bare.run_at_sizes(original, sizes)
    for size, result, right in zip(sizes, found, expected, strict=True):
        assert_close(result, right, f"{case.name} of {size} rows")
    after = host.effort(lowered, case.call.inputs, calls=3)[-1].get("functions", 0)
    with record.reporting():
        check(
            after <= before + 100,
            f"{case.name}: a call enters {before:g} Python functions, and {after:g} after {len(sizes)} other sizes",
        )
    assert_counts(host.counts(lowered), f"{len(sizes)} sizes", lowerings=1, least_runs=len(sizes))
    for square in other_cases("each_with_each"):
        compiled = host.lower(square, marks=ROWS)
        for call in square.calls:
            assert_close(host.run(compiled, call.inputs).result, call.expected, f"{square.name}, of any size")


@clause("guards.made-while-lowering", cases=("sized_backward",), needs=(features.dynamic_shapes, features.training))
def test_made_while_lowering(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """A guard that is made only while the backend lowers (the backward of an operator asks for a size) is installed: a
    size that violates it is lowered for again, and has the right gradients."""
    compiled, original = host.compile(case), bare.build(case)
    for number, call in enumerate(case.calls):
        marks = ROWS if number == 0 else ()
        found, expected = host.gradients(compiled, call.inputs, marks), bare.gradients(original, call.inputs)
        assert_close(found, expected, f"{case.name} of {len(call.inputs[0])} rows: (result, gradients)")
    assert_counts(host.counts(compiled), case.name, least_runs=len(case.calls))


@clause("guards.duplicate-arguments", source=(GUARDS, EQUIVALENT), cases=("chain", "writes_input", "writes_slice"))
def test_duplicate_arguments(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """One tensor given for two arguments, after or before two different ones, gives what it gives in eager PyTorch."""
    original = bare.build(case)
    for order in (("", "tied"), ("tied", "")):
        compiled = host.compile(case)
        for arranged in order:
            seen = host.run(compiled, case.call.inputs, arranged=arranged)
            expected = bare.run(original, case.call.inputs, arranged=arranged)
            assert_same_call(seen, expected, f"{case.name}, {arranged or 'different'} arguments in the order {order}")
        host.reset()


@clause(
    "guards.overlapping-views", source=(EQUIVALENT, OVERLAPPING), cases=("writes_slice",), control=Control.STAND_INS
)
def test_overlapping_views(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Arguments that are overlapping views of one memory, one of which is written to, after arguments that are not."""
    compiled, original = host.compile(case), bare.build(case)
    x, y = case.call.inputs
    inputs = (torch.cat([x, y[:1]]), y)
    assert_same_call(host.run(compiled, case.call.inputs), case.call.effects, f"{case.name}, arguments apart")
    seen, expected = (
        device.run(model, inputs, arranged="overlapping") for device, model in ((host, compiled), (bare, original))
    )
    assert_same_call(seen, expected, f"{case.name}, overlapping arguments")


def kinds_of(inputs: tuple[torch.Tensor, ...], backend: Description) -> list[tuple[torch.Tensor, ...]]:
    """The two arguments, then arguments of each other kind that the backend takes, then the first ones again."""
    x, y = inputs
    begun_later = tuple(torch.cat([each.new_ones(1), each.flatten()])[1:].view_as(each) for each in (x, y))
    kinds = [(x, y), begun_later, (x.double(), y.double()), (x[None], y[None])]
    if backend.has(features.non_contiguous):
        kinds.append((x.t(), y.t()))
    kinds.append((x[0], y[1]))
    if backend.has(features.mixed_dtypes):
        kinds.append((x.double(), y))
    return [*kinds, (x, y)]


def layouts_of(inputs: tuple[torch.Tensor, ...]) -> str:
    """The dtype, sizes and strides of each argument, and where in its memory it begins."""
    return ", ".join(
        f"{each.dtype} {list(each.shape)} {each.stride()} from {each.storage_offset()} on" for each in inputs
    )


@clause("guards.kinds", source=(CACHED, EQUIVALENT), cases=("chain",), needs=(features.float64,))
def test_kinds(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase, backend: Description) -> None:
    """Arguments of another dtype, rank or layout, as far as the backend takes such, are lowered for again, and are
    right; and so are the first ones, when they come back. Where in its memory a tensor begins is no such thing: Dynamo
    makes no guard of it."""
    compiled, original = host.compile(case, dynamic=sizes_of(backend)), bare.build(case)
    kinds = kinds_of(case.call.inputs, backend)
    for inputs in kinds:
        expected = bare.run(original, inputs)
        assert_same_call(host.run(compiled, inputs), expected, f"{case.name} of {layouts_of(inputs)}")
    assert_counts(host.counts(compiled), case.name, least_runs=len(kinds))


@clause(
    "guards.unbacked-sizes",
    source="capture_dynamic_output_shape_ops of torch._dynamo.config, a flag that fullgraph=True alone sets",
    level=Level.REPORTED,
    cases=("nonzero",),
    needs=(features.dynamic_shapes, features.unbacked_sizes),
)
def test_unbacked_sizes(host: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """Whether one lowering serves every size that comes, where Dynamo is told to capture a size that only the data
    tells."""
    host.configure(capture_dynamic_output_shape_ops=True)
    with record.reporting():
        lowered = host.lower(case)
        for call in case.calls:
            assert_close(host.run(lowered, call.inputs).result, call.expected, f"{len(call.expected)} elements")
        assert_counts(host.counts(lowered), case.name, lowerings=1, least_runs=len(case.calls))


@clause("guards.specialisation", source=(DECLARED, ANY_SIZE, MARKED), cases=("sizes",), control=Control.NONE)
def test_specialisation(host: DynamoDevice, case: PreparedCase, backend: Description) -> None:
    """A backend that declares no dynamic shapes says so where a dimension is marked dynamic (ConstraintViolationError,
    or BackendCompilerFailed with its name). Where none is, it is right at each size, or refuses in the same words what
    Dynamo makes dynamic; and each size is right with ``dynamic=False``."""
    if backend.has(features.dynamic_shapes):
        raise NotApplicable("the backend declares dynamic shapes: guards.dynamic-sizes holds it to that")
    assert_marks_refused(host, case, ROWS, backend.name)
    compiled = host.compile(case)
    for call in case.calls:
        assert_right_or_refused(host, compiled, call, backend.name, f"{len(call.inputs[0])} rows")
    host.reset()
    compiled = host.compile(case, dynamic=False)
    for call in case.calls:
        assert_same_call(host.run(compiled, call.inputs), call.effects, f"{len(call.inputs[0])} rows, dynamic=False")
    assert_counts(host.counts(compiled), case.name, least_runs=len(case.calls))
