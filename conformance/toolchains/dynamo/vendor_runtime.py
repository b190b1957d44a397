"""What a torch.compile backend does in a process where its vendor's runtime is, and in one where it is not."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

from conformance.api.availability import EITHER
from conformance.api.errors import ConformanceFailure, SubjectError
from conformance.api.features import delegation, packages
from conformance.api.verdicts import NotApplicable, NotExercised
from conformance.compare.assertions import assert_close
from conformance.discovery.describing import Description
from conformance.run.result import Record
from conformance.toolchains.dynamo.client import DynamoDevice, PreparedCase
from conformance.toolchains.dynamo.refusals import is_clean_refusal

#: What a step came to: it worked; an error said what is missing; another error; the numbers are wrong; they are right,
#: and PyTorch computed them where the backend says that it does.
OK, REFUSED, ERROR, WRONG, BY_PYTORCH = "ok", "refused", "error", "wrong numbers", "by PyTorch"
#: Words by which an error tells its reader what to do.
_REMEDIES = ("install", "pip ", "conda ", "set ", "export ", "see http", "https://")

#: What Dynamo adds to the text of every backend's error; it tells nobody how to come by a runtime.
_DYNAMOS_ADVICE = "Set TORCHDYNAMO_VERBOSE"


def modules_of_runtime(host: DynamoDevice, case: PreparedCase, backend: Description) -> list[str]:
    """The modules of the vendor's runtime, as :func:`modules_if_any` finds them; NotApplicable where there are none."""
    found = modules_if_any(host, case, backend)
    if not found:
        raise NotApplicable("the backend is PyTorch's own and has no runtime but PyTorch")
    return found


def modules_if_any(host: DynamoDevice, case: PreparedCase, backend: Description) -> list[str]:
    """The modules of the vendor's runtime, looked for once it has lowered and run a model.

    Empty for a backend of PyTorch itself that has none; NotExercised where none of another's could be found.
    """
    assert_close(host.run(host.lower(case), case.call.inputs).result, case.call.expected, case.name)
    found = host.runtime_modules()
    if not found and backend.source.distribution not in ("", "torch"):
        raise NotExercised(
            "no native module was imported of a distribution that can be missing where the backend is installed; the "
            "backend's class can name the modules that it needs (attribute 'runtime')"
        )
    return found


def is_clear(error: SubjectError, backend: str, missing: list[str]) -> bool:
    """Whether an error lets its reader know whose it is, or what is missing: the package of a module says that as well
    as the whole of its name, in whatever letters."""
    text = error.text.lower()
    names = {backend, *(name.partition(".")[0] for name in missing)}
    return is_clean_refusal(error, backend) or any(name.lower() in text for name in names)


def names_remedy(text: str) -> bool:
    """Whether an error's text says what to do."""
    return any(word in text.lower() for word in _REMEDIES)


@dataclasses.dataclass
class Steps:
    """What steps in one process come to, in the words of the table, where ``missing`` may be missing."""

    backend: str
    missing: list[str]
    observed: dict[str, str] = dataclasses.field(default_factory=dict)
    refusals: list[SubjectError] = dataclasses.field(default_factory=list)

    @contextlib.contextmanager
    def coming_to(self, *steps: str) -> Iterator[None]:
        """A block that takes the steps, and notes each that was taken. What the block fails with is what all come to
        that were not."""
        try:
            yield
        except SubjectError as error:
            clear = is_clear(error, self.backend, self.missing)
            if clear:
                self.refusals.append(error)
            self._all_come_to(REFUSED if clear else f"{ERROR} ({error.type})", steps)
        except ConformanceFailure:
            self._all_come_to(WRONG, steps)

    def _all_come_to(self, kind: str, steps: tuple[str, ...]) -> None:
        for step in steps:
            self.observed.setdefault(step, kind)


def observed_steps(device: DynamoDevice, case: PreparedCase, backend: str, missing: list[str]) -> dict[str, str]:
    """What listing, lowering and running come to in a process; what loading refuses, every later step does."""
    steps = Steps(backend, missing)
    with steps.coming_to("load", "lower", "run"):
        steps.observed["load"] = OK if device.listed() else "not listed"
        lowered = device.lower(case)
        steps.observed["lower"] = OK
        assert_close(device.run(lowered, case.call.inputs).result, case.call.expected, case.name)
        steps.observed["run"] = OK
    return steps.observed


@dataclasses.dataclass(frozen=True)
class Shipment:
    """What a host made of a case for a target: an exported program, and a package where the backend makes such."""

    case: PreparedCase
    program: bytes
    package: bytes | None
    #: The operators that PyTorch executes for the case with no backend at all; empty where the backend declares that
    #: PyTorch executes them with it too.
    operators: list[str]

    @classmethod
    def of(cls, host: DynamoDevice, bare: DynamoDevice, case: PreparedCase, backend: Description) -> Shipment:
        """Export the case's model on a host, and package it. That a backend which declares packages makes none is
        charged by the clauses about them: nothing of it comes to a target."""
        inputs, package = case.call.inputs, None
        if backend.has(packages):
            with contextlib.suppress(SubjectError):
                package = host.package(case, inputs)
        operators = bare.operators_run(bare.build(case), inputs) if backend.has(delegation) else []
        return cls(case, host.export(case, inputs), package, operators)

    def computed_by(self, kept: list[str]) -> str:
        """OK unless PyTorch itself, which executed the operators ``kept``, did all the work of one that delegates."""
        return BY_PYTORCH if self.operators and len(kept) >= len(self.operators) else OK


def without_runtime(*, delegates: bool) -> str:
    """What lowering and running come to where the vendor's runtime is missing.

    One that says that it computes by itself cannot, and refuses. Any other may leave the graph to PyTorch, as the
    backends that PyTorch's documentation composes of others do; it is right, or it refuses.
    """
    return REFUSED if delegates else EITHER.join((OK, REFUSED))


def expected_on_target(shipment: Shipment, *, present: bool) -> dict[str, str]:
    """What the steps on a target come to, with the vendor's runtime or without.

    A program is PyTorch's own to read, and to run as it is; only lowering takes the runtime. A package may hold all
    that it needs: then it works, and otherwise it is refused.
    """
    absent = without_runtime(delegates=bool(shipment.operators)), EITHER.join((OK, REFUSED))
    lowered, packaged = (OK, OK) if present else absent
    expected = {"program: load": OK, "program: lower": lowered, "program: run": lowered, "program: uncompiled": OK}
    return expected if shipment.package is None else expected | {"package: load": packaged, "package: run": packaged}


def observe_target(
    record: Record, device: DynamoDevice, shipment: Shipment, backend: str, missing: Sequence[str] = ()
) -> None:
    """Note what the steps on a target, which lacks the modules ``missing``, should come to, and what they do."""
    steps = Steps(backend, list(missing))
    _take_steps(device, shipment, steps)
    state = "absent" if missing else "present"
    expected = expected_on_target(shipment, present=not missing)
    record.expected |= {f"{state}: {step}": kind for step, kind in expected.items()}
    record.observed |= {f"{state}: {step}": steps.observed[step] for step in expected}
    where = f"On a target without {', '.join(missing)}" if missing else "On a target"
    for refusal in steps.refusals:
        record.note(f"{where}: {told(refusal)}")


def _take_steps(device: DynamoDevice, shipment: Shipment, steps: Steps) -> None:
    """Load, lower and run a program, run it uncompiled after that, and load and run a package."""
    case, observed = shipment.case, steps.observed
    inputs, expected = case.call.inputs, case.call.expected
    with steps.coming_to("program: lower", "program: run"):
        device.listed()  # the first verb of all is heard of what registering the backend raised
    with steps.coming_to("program: load", "program: lower", "program: run", "program: uncompiled"):
        program = device.load_exported(shipment.program, case)
        observed["program: load"] = OK
        with steps.coming_to("program: lower", "program: run"):
            if "program: lower" not in observed:
                lowered = device.lower(program, inputs)
                observed["program: lower"] = OK
                assert_close(device.run(lowered, inputs).result, expected, case.name)
                observed["program: run"] = shipment.computed_by(device.operators_run(lowered, inputs))
        assert_close(device.run(program, inputs).result, expected, case.name)
        observed["program: uncompiled"] = OK
    if shipment.package is None:
        return
    with steps.coming_to("package: load", "package: run"):
        package, model = device.load_package(shipment.package), device.build(case)
        observed["package: load"] = OK
        assert_close(device.run_package(package, model, inputs)[0], expected, case.name)
        observed["package: run"] = shipment.computed_by(device.operators_run_by_package(package, model, inputs))


def told(refusal: SubjectError) -> str:
    """Which error it is, when it comes, and whether it says what to do."""
    text = refusal.text.partition(_DYNAMOS_ADVICE)[0].strip()
    remedy = "says" if names_remedy(text) else "does not say"
    return f"{refusal.type} in {refusal.phase}, which {remedy} what to do: {text:.200}"
