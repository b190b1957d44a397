"""How a backend of ``torch.compile`` says that it does not take something, held against what it may say."""

from __future__ import annotations

import re
from typing import Any

from conformance.api.assertions import check
from conformance.api.case import Call
from conformance.api.errors import ConformanceFailure, SubjectError
from conformance.api.features import unbacked_sizes
from conformance.api.verdicts import NotApplicable
from conformance.compare.assertions import assert_close
from conformance.discovery.describing import Description
from conformance.toolchains import case_named
from conformance.toolchains.dynamo.assertions import assert_same_call
from conformance.toolchains.dynamo.client import (
    COMPILER_FAILED,
    DynamoDevice,
    Marks,
    Model,
    PreparedCase,
)

#: The assertion that PyTorch raises instead of naming what cannot be saved.
_NOT_TOLD_BY_PYTORCH = "expected OutputCode, got"
CONSTRAINT_VIOLATED = "torch.fx.experimental.symbolic_shapes.ConstraintViolationError"


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
