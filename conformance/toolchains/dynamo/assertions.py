"""Assertions for clauses about ``torch.compile`` backends."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from conformance.api.assertions import check
from conformance.api.case import Call
from conformance.api.errors import ConformanceFailure, SubjectError
from conformance.api.features import dynamic_shapes, unbacked_sizes
from conformance.api.verdicts import NotApplicable
from conformance.compare.assertions import assert_close, assert_equal, assert_strides_like
from conformance.compare.comparison import describe
from conformance.discovery.describing import Description
from conformance.run.result import Record
from conformance.toolchains import case_named
from conformance.toolchains.assertions import is_variable_of_others
from conformance.toolchains.dynamo.client import (
    COMPILER_FAILED,
    Counts,
    DynamoDevice,
    Marks,
    Model,
    Observation,
    PreparedCase,
    Surroundings,
    Tensors,
    Trained,
)

#: How many calls are made to see whether their tensors pile up in memory.
_MANY_CALLS = 40
#: The assertion that PyTorch raises instead of naming what cannot be saved.
_NOT_TOLD_BY_PYTORCH = "expected OutputCode, got"
#: What a compiler may change for itself: deeper recursion (Inductor, sympy) changes nobody's results.
_OF_ITS_OWN = {"the recursion limit"}
CONSTRAINT_VIOLATED = "torch.fx.experimental.symbolic_shapes.ConstraintViolationError"

__all__ = [
    "CONSTRAINT_VIOLATED",
    "assert_clean_refusal",
    "assert_costs_little_more",
    "assert_counts",
    "assert_dropped_alike",
    "assert_marks_refused",
    "assert_nothing_piles_up",
    "assert_right_in_threads",
    "assert_right_in_turns",
    "assert_right_or_refused",
    "assert_same_call",
    "assert_same_effects",
    "assert_same_surroundings",
    "assert_same_under",
    "assert_same_without_options",
    "assert_taken_or_refused",
    "assert_trained_alike",
    "assert_training_refused",
    "calls_of_twin",
    "is_clean_refusal",
    "is_repeated",
    "needs_a_flag",
    "package_of",
    "sizes_of",
]


def assert_counts(counts: Counts, where: str, *, lowerings: int | None = None, least_runs: int = 1) -> None:
    """The backend lowered graphs (``lowerings`` of them, if given), and its code ran ``least_runs`` times or more.

    Right results alone prove nothing: PyTorch itself runs what a backend skips, even if that is one graph of several.
    """
    check(
        not counts.declined,
        f"{where}: the backend raised {', '.join(dict.fromkeys(counts.declined))} in place of lowering "
        f"{len(counts.declined)} of {counts.lowerings} graphs, which Dynamo passed over: PyTorch ran what they have",
    )
    if lowerings is not None:
        check(
            counts.lowerings == lowerings,
            f"{where}: expected {lowerings} lowerings by the backend, found {counts.lowerings}",
        )
    check(counts.lowerings > 0, f"{where}: the backend was never given a graph: PyTorch ran the model by itself")
    check(
        counts.runs >= least_runs,
        f"{where}: the backend's code ran {counts.runs} times in {least_runs} calls: PyTorch ran the rest by itself",
    )


def assert_same_call(seen: Observation, expected: Observation, where: str) -> None:
    """A call gave what it gives in eager PyTorch, and did what it does there, in everything that can be observed."""
    assert_close(seen.result, expected.result, where)
    assert_same_effects(seen, expected, where)
    assert_strides_like(seen.result, expected.result, where)
    assert_equal(seen.shared, expected.shared, f"{where}, what shares memory")
    for name, traits in expected.traits.items():
        found = seen.traits.get(name, [])
        check(found == traits, f"{where}: {name}: expected {_listed(traits)}, found {_listed(found)}")


def _listed(traits: Sequence[str]) -> str:
    return ", ".join(traits) or "nothing special"


def assert_same_effects(seen: Observation, expected: Observation, where: str) -> None:
    """The arguments are afterwards what they are in eager PyTorch, and the same ones have been written to; and so are
    the parameters and buffers that the call changes."""
    assert_close(seen.arguments, expected.arguments, f"{where}, the arguments after the call")
    check(
        seen.written == expected.written,
        f"{where}: which arguments have a new _version: expected {expected.written}, found {seen.written}",
    )
    assert_close(seen.state, expected.state, f"{where}, the parameters and buffers that it changed")


def assert_same_under(guard: str, host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Each call within a guard is the same as in eager PyTorch within it, twice, with inputs that require no grad and
    with inputs that do; and it is the backend's code that runs."""
    compiled, original = host.compile(case), bare.build(case)
    for differentiable in (False, True, False):
        for call in case.calls:
            seen, expected = (
                device.run(model, call.inputs, guard=guard, differentiable=differentiable)
                for device, model in ((host, compiled), (bare, original))
            )
            inputs = " of inputs that require grad" if differentiable else ""
            assert_same_call(seen, expected, f"{case.name}{inputs} under {guard}")
    assert_counts(host.counts(compiled), case.name, least_runs=3 * len(case.calls))


def calls_of_twin(bare: DynamoDevice, case: PreparedCase, variant: int) -> tuple[Call, ...]:
    """The calls of a case, with the results of its twin, the same model with other weights, in eager PyTorch."""
    twin = bare.build(case, variant)
    return tuple(dataclasses.replace(call, expected=bare.run(twin, call.inputs).result) for call in case.calls)


def assert_right_in_turns(host: DynamoDevice, models: Sequence[tuple[Model, Sequence[Call]]], where: str) -> None:
    """Models that are called in turns give right results, each of which is still right after the last call."""
    most = max(len(calls) for _, calls in models)
    turns = [(model, calls[turn % len(calls)]) for turn in range(most) for model, calls in models]
    results = host.run_in_turns([model for model, _ in turns], tuple(call for _, call in turns))
    for number, ((_, call), result) in enumerate(zip(turns, results, strict=True), start=1):
        assert_close(result, call.expected, f"{where}, call {number} of {len(turns)}")
        assert_strides_like(result, call.expected, f"{where}, call {number} of {len(turns)}")


def assert_right_in_threads(host: DynamoDevice, model: Model, case: PreparedCase, *, threads: int, rounds: int) -> None:
    """So many fresh threads at once each make every call of a case so often, and all are right; the backend's code ran
    for each."""
    before = host.counts(model).runs
    found = host.run_in_threads(model, case.calls, threads=threads, rounds=rounds)
    where = f"{case.name}, {threads} threads at once"
    check(not found.errors, f"{where}: {found.errors}")
    for call, results in zip(case.calls, found.results, strict=True):
        for result in results:
            assert_close(result, call.expected, where)
    assert_counts(host.counts(model), where, least_runs=before + threads * rounds * len(case.calls))


def assert_nothing_piles_up(
    host: DynamoDevice, model: Model, case: PreparedCase, record: Record, *, differentiable: bool = False
) -> None:
    """After many calls the tensors of at most half of them are in memory. Whichever are is reported: what a backend
    keeps for the next call, it has a use for."""
    kept = host.retained(model, case.call.inputs, differentiable=differentiable, calls=_MANY_CALLS)
    calls = {name.rpartition(" ")[2] for name in kept}
    shown = ", ".join(kept[:4]) + (", ..." if len(kept) > 4 else "")
    check(
        len(calls) <= _MANY_CALLS // 2,
        f"{case.name}: tensors of {len(calls)} of {_MANY_CALLS} calls are still in memory: {shown}",
    )
    with record.reporting():
        check(not kept, f"{case.name}: still in memory after {_MANY_CALLS} calls: {shown}")


def is_repeated(result: Any, others: Iterable[Any]) -> bool:
    """Whether a backend gives the same result again, bit by bit, for the same call."""
    try:
        for other in others:
            assert_equal(other, result, "called again")
    except ConformanceFailure:
        return False
    return True


def assert_same_surroundings(found: Surroundings, expected: Surroundings, where: str, record: Record) -> None:
    """Nothing of what everybody in a process and a thread has is new, gone or another; a variable of the environment
    that is new, and nobody's but its maker's, is reported, and so is what a compiler takes for itself."""
    nothing = "nothing"
    changed = [name for name in {**expected, **found} if found.get(name) != expected.get(name)]
    own = {name for name in changed if name not in expected and not is_variable_of_others(name)}
    own |= _OF_ITS_OWN.intersection(changed)
    for names, graded in (([name for name in changed if name not in own], True), (sorted(own), False)):
        told = [f"{name}: expected {expected.get(name, nothing)}, found {found.get(name, nothing)}" for name in names]
        with contextlib.nullcontext() if graded else record.reporting():
            check(not told, f"{where}: {'; '.join(told)}")


def assert_trained_alike(found: Trained, expected: Trained, where: str) -> None:
    """The results are the same, those that require grad as well, and every gradient."""
    assert_close(found.results, expected.results, f"{where}, the results")
    wanted = expected.requires_grad
    check(
        found.requires_grad == wanted,
        f"{where}: which results require grad: expected {wanted}, found {found.requires_grad}",
    )
    assert_close(found.gradients, expected.gradients, f"{where}, the gradients")


def assert_training_refused(
    host: DynamoDevice, bare: DynamoDevice, case: PreparedCase, backend: str, wanted: tuple[bool, ...]
) -> None:
    """A call whose arguments require grad as ``wanted`` says, or whose model's parameters do, is refused by an error
    that names the backend, or an error of going back from it."""
    try:
        found = host.differentiate(host.compile(case), case.call.inputs, wanted)
    except SubjectError as error:
        clean = is_clean_refusal(error, backend) or "backward" in error.text
        check(clean, f"expected BackendCompilerFailed naming {backend!r}, or an error of backward, found {error}")
        return
    whose = "inputs" if any(wanted) else "parameters"
    check(all(found.requires_grad), f"{case.name}: the result requires no grad, though the {whose} do; nobody is told")
    assert_trained_alike(found, bare.differentiate(bare.build(case), case.call.inputs, wanted), case.name)
    check(False, f"the gradients of {case.name} are right: the declaration is out of date")


def assert_dropped_alike(found: Trained, expected: Trained, share: float, where: str) -> None:
    """The gradient of the first argument is zero exactly where the result is, in about ``share`` of it; what neither
    this nor ``expected`` has dropped is the same in both."""
    pairs = list(zip(_dropped(found, where), _dropped(expected, where), strict=True))
    for mine, theirs in pairs:
        alike = (mine.shape, mine.dtype, mine.layout) == (theirs.shape, theirs.dtype, theirs.layout)
        check(alike, f"{where}: expected something like {describe(theirs)}, found {describe(mine)}")
    (result, _), (gradient, _) = pairs
    dropped = result == 0
    differing = int((dropped != (gradient == 0)).sum())
    check(differing == 0, f"{where}: {differing} of {dropped.numel()} elements are dropped one way and not the other")
    # Five standard deviations: once in two million draws.
    allowed = 5 * (share * (1 - share) / dropped.numel()) ** 0.5
    rate = float(dropped.double().mean())
    check(abs(rate - share) <= allowed, f"{where}: expected {share:g} of the elements to be dropped, found {rate:g}")
    for mine, theirs in pairs:
        kept = mine.where((mine != 0) & (theirs != 0), theirs)
        assert_close(kept, theirs, f"{where}, what neither this nor eager PyTorch has dropped")


def _dropped(trained: Trained, where: str) -> Tensors:
    """The one result, and the gradient of the first argument."""
    if len(trained.results) != 1 or not trained.results[0].is_floating_point():
        raise ConformanceFailure(f"{where}: expected a tensor of floating point, found {describe(trained.results)}")
    gradient = trained.gradients[0].get("argument 0") if trained.gradients else None
    if gradient is None:
        raise ConformanceFailure(f"{where}: there is no gradient: the result does not depend on the argument")
    return [trained.results[0], gradient]


def assert_costs_little_more(
    found: Mapping[str, float], allowed: Mapping[str, float], what: str, than: str = "later"
) -> None:
    """What a call costs more than others do, by unit ("functions", "seconds"), is within what is allowed of each."""
    for unit, most in allowed.items():
        check(found[unit] <= most, f"{what} takes {found[unit]:g} {unit} more than {than} (allowed: {most:g})")


def assert_same_without_options(
    host: DynamoDevice, case: PreparedCase, expected: Any, operators: list[str], assert_same: Callable[..., None]
) -> None:
    """A compile without options is lowered by itself, gives what ``assert_same`` takes for ``expected``, and leaves to
    PyTorch the ``operators`` (sorted)."""
    plain = host.compile_with(case)
    assert_same(host.run(plain, case.call.inputs).result, expected, f"{case.name}, compiled without options")
    ran = sorted(host.operators_run(plain, case.call.inputs))
    assert_equal(ran, operators, f"{case.name}: what PyTorch runs itself")
    assert_counts(host.counts(plain), case.name, lowerings=1, least_runs=3)


def assert_taken_or_refused(
    host: DynamoDevice, case: PreparedCase, name: str, *, options: dict[str, Any] | None = None, mode: str | None = None
) -> None:
    """A compile with ``options`` or a ``mode``, in which ``name`` stands, is refused by an error that names it or the
    keyword; or it is said that it is ignored, and the result is right."""
    keyword = "mode" if options is None else "options"
    try:
        compiled = host.compile_with(case, options=options, mode=mode)
        found = host.run(compiled, case.call.inputs).result
    except SubjectError as error:
        check(
            _speaks_of(error.text, name, keyword),
            f"{keyword} {name!r}: the error names neither: {error.type}: {error.text.strip():.300}",
        )
        return
    assert_close(found, case.call.expected, f"{case.name} with an unknown one of {keyword}")
    mentioned = name in host.said or any(
        "ignor" in line and _speaks_of(line, name, keyword) for line in host.said.splitlines()
    )
    check(mentioned, f"{keyword} {name!r} is neither refused nor said to be ignored, though no backend can know it")


def _speaks_of(text: str, name: str, keyword: str) -> bool:
    """Whether a text contains the name, or the keyword as a whole word ("model" does not mention the mode)."""
    return name in text or re.search(rf"\b{keyword.removesuffix('s')}s?\b", text, re.IGNORECASE) is not None


def package_of(host: DynamoDevice, case: PreparedCase) -> bytes:
    """A package of a case's model. NotApplicable where PyTorch has no words for code that cannot be saved: it says
    "expected OutputCode" of whatever is built on AOT Autograd and is not its own."""
    try:
        return host.package(case, case.call.inputs)
    except SubjectError as error:
        if _NOT_TOLD_BY_PYTORCH in error.text:
            raise NotApplicable(
                f"PyTorch itself cannot package what is built on AOT Autograd so ({error.text.strip():.200}); that the "
                "backend has no packages can be declared (features.packages)"
            ) from None
        raise


def is_clean_refusal(error: SubjectError, backend: str) -> bool:
    """Whether Dynamo says that the backend failed, and names it."""
    return error.is_a(COMPILER_FAILED) and backend in error.text


def needs_a_flag(case: PreparedCase, backend: Description) -> bool:
    """Whether what a case needs, and the backend lacks, comes to a backend only where Dynamo is told to capture it."""
    lacking = {each.name for each in case_named(case.name, "dynamo").features if not backend.has(each)}
    return lacking == {unbacked_sizes.name}


def assert_clean_refusal(host: DynamoDevice, case: PreparedCase, backend: Description) -> None:
    """A model that needs an undeclared feature is refused by an error that names the backend (``compile.refusal``).

    Where the need shows only in the data, an error of the code that runs will do, which Dynamo does not touch. A model
    that only touches what is missing need not be refused, if it is right.
    """
    model = case_named(case.name, "dynamo")
    lacking = [feature for feature in model.features if not backend.has(feature)]
    missing = ", ".join(sorted(feature.name for feature in lacking))
    in_data = all(feature.shows_at == "run" for feature in lacking)
    touched = {feature.name for feature in model.touches}
    if any(feature.name == unbacked_sizes.name for feature in lacking):
        # Otherwise Dynamo breaks the graph there, and no backend gets to see such a size.
        host.configure(capture_dynamic_output_shape_ops=True)
    refusals = 0
    for call in case.calls:
        try:
            compiled = host.lower(case, call.inputs)
            found = host.run(compiled, call.inputs).result
        except SubjectError as error:
            if not (in_data and error.phase == "run" and error.text.strip()):
                check(
                    is_clean_refusal(error, backend.name),
                    f"expected BackendCompilerFailed naming {backend.name!r}, found {error.type}: "
                    f"{error.text.strip():.300}",
                )
            refusals += 1
            continue
        try:
            assert_close(found, call.expected, case.name)
        except ConformanceFailure as difference:
            raise ConformanceFailure(
                f"{case.name} (needs {missing}) is not refused but miscomputed: {difference}"
            ) from None
    optional = all(feature.name in touched for feature in lacking)
    check(refusals > 0 or optional, f"{case.name} (needs {missing}) is refused nowhere: the declaration is out of date")


def assert_right_or_refused(host: DynamoDevice, compiled: Model, call: Call, backend: str, where: str) -> None:
    """A call gives what it gives in eager PyTorch, or is refused by an error that names the backend."""
    try:
        seen = host.run(compiled, call.inputs)
    except SubjectError as error:
        check(is_clean_refusal(error, backend), f"{where}: expected BackendCompilerFailed with its name, found {error}")
        return
    assert_same_call(seen, call.effects, where)


def assert_marks_refused(host: DynamoDevice, case: PreparedCase, marks: Marks, backend: str) -> None:
    """Lowering for dimensions that are marked dynamic ends with Dynamo's error for that, or one that names the
    backend."""
    try:
        host.lower(case, marks=marks)
    except SubjectError as error:
        clear = error.is_a(CONSTRAINT_VIOLATED) or is_clean_refusal(error, backend)
        check(clear, f"expected a ConstraintViolationError or BackendCompilerFailed, found {error}")
        return
    check(False, "dimensions marked dynamic were accepted, though dynamic shapes are declared missing")


def sizes_of(backend: Description) -> bool | None:
    """What the keyword ``dynamic`` of ``torch.compile`` is, for a model that is called with several sizes: False where
    the backend declares no dynamic shapes, so that each size is lowered for."""
    return None if backend.has(dynamic_shapes) else False
