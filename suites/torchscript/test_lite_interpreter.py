"""The lite interpreter: ``_save_for_lite_interpreter`` on the host, ``_load_for_lite_interpreter`` on the target."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from conformance.api.assertions import assert_names, check, refused
from conformance.api.verdicts import NotApplicable
from conformance.compare.assertions import assert_close, assert_equal, assert_types_like
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.run.cell_context import CellContext
from conformance.run.result import Record
from conformance.toolchains.torchscript.client import PreparedCase, TorchScriptDevice
from conformance.toolchains.torchscript.damage.archive import truncations
from conformance.toolchains.torchscript.damage.processed import damaged_programs
from conformance.toolchains.torchscript.damage.survey import survey
from conformance.toolchains.torchscript.promises import (
    ATTRIBUTES,
    COMPOSED,
    HANDED_OVER,
    HELD,
    LITE,
    READY,
    SAME_MODULE,
    TYPES,
)

EVERY_CASE: tuple[str, ...] = ()
REPRESENTATIVE = ("add", "two_methods", "parameters", "lstm")

clause = clauses(source=LITE, level=Level.MOBILE, runtimes=("lite",))


@clause("lite.same-outputs", cases=EVERY_CASE, everyday=False)
def test_outputs(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """A lowered module that is saved for the lite interpreter gives the same outputs there, for every method."""
    loaded = target.load(host.save(host.lower(case)))
    for call in (*case.calls, *case.calls):
        assert_close(target.run_call(loaded, call)[0], call.expected, f"{case.name}.{call.method}, lite")


@clause(
    "lite.types",
    source=(LITE, TYPES),
    cases=("add", "several_outputs", "single_tuple", "scalars", "integer_result", "nested_values", "strings"),
)
def test_types(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """The checks of output types work there: results have the types that the method declares."""
    loaded = target.load(host.save(host.lower(case)))
    for call in case.calls:
        result = target.run_call(loaded, call)[0]
        assert_types_like(result, call.expected, f"{case.name}.{call.method}, lite")
        assert_close(result, call.expected, f"{case.name}.{call.method}, lite")


@clause("lite.inputs-untouched", source=(LITE, SAME_MODULE), cases=REPRESENTATIVE)
def test_inputs_are_untouched(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Running there mutates no input; outputs share memory with no input and no earlier output."""
    loaded = target.load(host.save(host.lower(case)))
    for call in case.calls:
        for what, found in target.run_watched(loaded, call, list(case.calls)).items():
            check(not found, f"{case.name}.{call.method}, lite: {what.replace('_', ' ')}: {found}")


@clause("lite.ways", cases=("add", "linear"))
def test_ways(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Saving and loading for the lite interpreter work through a file and a buffer, in any combination."""
    lowered = host.lower(case)
    for saved_via in ("buffer", "file"):
        artifact = host.save(lowered, via=saved_via)
        for loaded_via in ("buffer", "file"):
            loaded = target.load(artifact, via=loaded_via)
            where = f"{case.name}, saved via {saved_via} and loaded via {loaded_via}"
            assert_close(target.run_call(loaded, case.call)[0], case.call.expected, where)


@clause("lite.from-loaded", cases=REPRESENTATIVE)
def test_from_loaded(
    host: TorchScriptDevice, target: TorchScriptDevice, context: CellContext, case: PreparedCase
) -> None:
    """A module that was saved and loaded by the full JIT can be saved for the lite interpreter there."""
    middle = context.device("host", context.cell.host)
    artifact = middle.save(middle.load(host.save(host.lower(case), runtime="full")))
    loaded = target.load(artifact)
    for call in case.calls:
        assert_close(
            target.run_call(loaded, call)[0], call.expected, f"{case.name}, loaded before it was saved for lite"
        )


@clause("lite.unknown-backend", source=(LITE, READY), control=Control.NONE)
def test_unknown_backend(
    host: TorchScriptDevice, bare: TorchScriptDevice, case: PreparedCase, backend: Description
) -> None:
    """Where the backend's library is not loaded, loading raises an error that names the backend's class."""
    artifact = host.save(host.lower(case))
    with refused("loading for lite without the backend's library") as error:
        bare.load(artifact)
    assert_names(error, backend.name)


@clause("lite.damaged", source=READY, cases=("add", "linear"), control=Control.NONE)
def test_damaged_program(
    host: TorchScriptDevice, target: TorchScriptDevice, context: CellContext, case: PreparedCase, record: Record
) -> None:
    """A processed module that is damaged inside a well-formed archive is refused there with an error, or computes what
    is right: no crash, no hang, no wrong number."""
    damaged = damaged_programs(host.save(host.lower(case)).data, seed=case.seed + 1, count=60)
    if not damaged:
        raise NotApplicable("the processed module holds no value that can be damaged from outside")
    found = survey(context, damaged, case.call, runtime="lite")
    record.note(f"Damage inside the processed module of {case.name}, lite: {found}.")


@clause("lite.damaged-container", source=(LITE, READY), cases=("add", "parameters"))
def test_truncated(
    host: TorchScriptDevice, target: TorchScriptDevice, context: CellContext, case: PreparedCase
) -> None:
    """A truncated artifact is refused there with an error. (For a changed bit PyTorch's own loader may crash.)"""
    truncated = truncations(host.save(host.lower(case)).data, seed=case.seed, count=30)
    found = survey(context, truncated, case.call, runtime="lite")
    check(not found.right, f"truncated artifacts load and run: {found}")


@clause("lite.again", source=(LITE, HELD), cases=("add", "parameters"))
def test_again(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase, record: Record) -> None:
    """An artifact can be loaded several times in a process; the modules live and die independently. Open files that
    they leave behind are reported."""
    artifact = host.save(host.lower(case))
    warm = target.load(artifact)
    assert_close(target.run_call(warm, case.call)[0], case.call.expected, f"{case.name}, lite")
    target.forget(warm)
    descriptors = target.process_state()["open descriptors"]
    first, second = (target.load(artifact) for _ in range(2))
    for loaded in (second, first):
        assert_close(target.run_call(loaded, case.call)[0], case.call.expected, f"{case.name}, loaded twice, lite")
    target.forget(first)
    assert_close(target.run_call(second, case.call)[0], case.call.expected, f"{case.name}, one of two gone, lite")
    target.forget(target.load(artifact))
    assert_close(target.run_call(second, case.call)[0], case.call.expected, f"{case.name}, a later one gone, lite")
    target.forget(second)
    with record.reporting():
        assert_equal(target.process_state()["open descriptors"], descriptors, "open descriptors after three more loads")


@clause("lite.growth", source=(LITE, HELD), cases=("conv_net", "add"))
def test_growth(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Loading many times does not grow without bound."""
    artifact = host.save(host.lower(case))
    target.load_many(artifact, case.call, count=40)
    count = 40
    readings = [target.load_many(artifact, case.call, count=count)[-1] for _ in range(4)]
    each = [(later - earlier) / count for earlier, later in itertools.pairwise(readings)]
    mean, least = sum(each) / len(each), min(each)  # what a cache takes once is not taken every time
    check(
        mean < 2048 and least < 512,
        f"each of {len(each) * count} loads of {len(artifact.data)} bytes keeps {mean:.0f} bytes of memory: {readings}",
    )


@clause("lite.operators", cases=REPRESENTATIVE)
def test_operators(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase, record: Record) -> None:
    """The artifact's operators and bytecode version can be listed, and name nothing that the target lacks."""
    found = target.lite_operators(host.save(host.lower(case)))
    check(found["bytecode_version"] > 0, f"the bytecode version is {found['bytecode_version']}")
    check(not found["unknown"], f"the artifact needs operators that the target does not have: {found['unknown']}")


@clause("lite.operators-delegated", source=(LITE, HANDED_OVER), control=Control.NONE)
def test_operators_are_delegated(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """The artifact needs none of the tensor operators that the backend took over: it loads where they are stripped."""
    original = host.graph_of(host.script(case), case.methods[0])["operators"]
    listed = target.lite_operators(host.save(host.lower(case)))["operators"]
    kept = sorted(
        {name.partition(".")[0] for name in listed} & {name for name in original if name.startswith("aten::")}
    )
    check(not kept, f"the artifact still needs {kept}")


@clause("lite.composition", source=(LITE, COMPOSED), cases=("add", "add_sub"))
def test_composition(
    host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase, other_case: Callable[[str], PreparedCase]
) -> None:
    """Lowered submodules inside a scripted parent run there."""
    originals = [host.script(case), host.script(other_case("add_sub"))]
    plain = host.embed(*originals)
    loaded = target.load(host.save(host.embed(*(host.lower(original) for original in originals))))
    for call in case.calls:
        expected = host.run(plain, "forward", call.inputs)
        assert_close(target.run(loaded, "forward", call.inputs), expected, f"a parent of {case.name}, lite")


@clause("lite.attributes", source=ATTRIBUTES)
def test_attributes(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Attributes and methods that are added to a lowered module survive there too."""
    lowered = host.lower(case)
    host.add_attribute(lowered, "labels", ["cat", "dog"])
    loaded = target.load(host.save(lowered))
    assert_equal(target.run(loaded, "get_labels", ()), ["cat", "dog"], "the attribute labels")
    assert_close(target.run_call(loaded, case.call)[0], case.call.expected, case.name)
