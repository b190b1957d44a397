"""What a torch.compile backend does in a process where its vendor's runtime is, and in one where it is not."""

from __future__ import annotations

from typing import Any

from conformance.comparison import assert_close
from conformance.compiled import is_clean_refusal
from conformance.errors import ConformanceFailure, SubjectError
from conformance.toolchains.dynamo.face import DynamoDevice, PreparedCase
from conformance.verdict import NotApplicable, NotExercised

#: What a step came to: it worked; an error said what is missing; another error; the numbers are wrong.
OK, REFUSED, ERROR, WRONG = "ok", "refused", "error", "wrong numbers"
#: Words by which an error tells its reader what to do.
_REMEDIES = ("install", "pip ", "conda ", "set ", "export ", "see http", "https://")


def modules_of_runtime(host: DynamoDevice, case: PreparedCase, backend: Any) -> list[str]:
    """The modules of the vendor's runtime, looked for once it has lowered and run a model.

    NotApplicable for a backend of PyTorch itself that has none, NotExercised where none of another's could be found.
    """
    host.run(host.lower(case), case.call.inputs)
    found = host.runtime_modules()
    if found:
        return found
    if backend.source.distribution in ("", "torch"):
        raise NotApplicable("the backend is PyTorch's own and has no runtime but PyTorch")
    raise NotExercised(
        "no native module of a vendor was imported; the backend's class can name what it needs (attribute 'runtime')"
    )


def is_clear(error: SubjectError, backend: str, missing: list[str]) -> bool:
    """Whether an error lets its reader know whose it is, or what is missing."""
    return is_clean_refusal(error, backend) or any(name in error.text for name in (backend, *missing))


def names_remedy(text: str) -> bool:
    """Whether an error's text says what to do."""
    return any(word in text.lower() for word in _REMEDIES)


def observed_steps(device: DynamoDevice, case: PreparedCase, backend: str, missing: list[str]) -> dict[str, str]:
    """What listing, lowering and running come to in a process; what loading refuses, every later step does."""
    observed: dict[str, str] = {}
    try:
        observed["load"] = OK if device.listed() else "not listed"
        lowered = device.lower(case)
        observed["lower"] = OK
        found = device.run(lowered, case.call.inputs).result
        assert_close(found, case.call.expected, case.name)
        observed["run"] = OK
    except SubjectError as error:
        kind = REFUSED if is_clear(error, backend, missing) else f"{ERROR} ({error.type})"
        for step in ("load", "lower", "run"):
            observed.setdefault(step, kind)
    except ConformanceFailure:
        observed["run"] = WRONG
    return observed
