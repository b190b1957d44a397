"""The lite interpreter: ``_save_for_lite_interpreter`` on the host, ``_load_for_lite_interpreter`` on the target."""

from __future__ import annotations

import itertools

from conformance.api.verdicts import NotApplicable
from conformance.contract import Control, Level, clause
from conformance.toolchains.torchscript.assertions import (
    assert_close,
    assert_equal,
    assert_names,
    assert_types_like,
    check,
    refused,
)
from conformance.toolchains.torchscript.damage.archive import truncations
from conformance.toolchains.torchscript.damage.processed import damaged_programs
from conformance.toolchains.torchscript.damage.survey import survey

EVERY_CASE: tuple[str, ...] = ()
REPRESENTATIVE = ("add", "two_methods", "parameters", "lstm")
LITE = ("lite",)


@clause("lite.same-outputs", source="pytorch/pytorch#52870", level=Level.MOBILE, cases=EVERY_CASE, runtimes=LITE)
def test_outputs(host, target, case):
    """A lowered module that is saved for the lite interpreter gives the same outputs there, for every method."""
    loaded = target.load(host.save(host.lower(case)))
    for call in (*case.calls, *case.calls):
        assert_close(target.run_call(loaded, call)[0], call.expected, f"{case.name}.{call.method}, lite")


@clause(
    "lite.types",
    source="pytorch/pytorch#52870",
    level=Level.MOBILE,
    cases=("add", "several_outputs", "single_tuple", "scalars", "integer_result", "nested_values", "strings"),
    runtimes=LITE,
)
def test_types(host, target, case):
    """The checks of output types work there: results have the types that the method declares."""
    loaded = target.load(host.save(host.lower(case)))
    for call in case.calls:
        assert_types_like(target.run_call(loaded, call)[0], call.expected, f"{case.name}.{call.method}, lite")


@clause(
    "lite.inputs-untouched", source="pytorch/pytorch#52870", level=Level.MOBILE, cases=REPRESENTATIVE, runtimes=LITE
)
def test_inputs_are_untouched(host, target, case):
    """Running there mutates no input; outputs share memory with no input and no earlier output."""
    loaded = target.load(host.save(host.lower(case)))
    for call in case.calls:
        for what, found in target.run_watched(loaded, call, list(case.calls)).items():
            check(not found, f"{case.name}.{call.method}, lite: {what.replace('_', ' ')}: {found}")


@clause("lite.ways", source="pytorch/pytorch#52870", level=Level.MOBILE, cases=("add", "linear"), runtimes=LITE)
def test_ways(host, target, case):
    """Saving and loading for the lite interpreter work through a file and a buffer, in any combination."""
    lowered = host.lower(case)
    for saved_via in ("buffer", "file"):
        artifact = host.save(lowered, via=saved_via)
        for loaded_via in ("buffer", "file"):
            loaded = target.load(artifact, via=loaded_via)
            where = f"{case.name}, saved via {saved_via} and loaded via {loaded_via}"
            assert_close(target.run_call(loaded, case.call)[0], case.call.expected, where)


@clause("lite.from-loaded", source="pytorch/pytorch#52870", level=Level.MOBILE, cases=REPRESENTATIVE, runtimes=LITE)
def test_from_loaded(host, target, bench, case):
    """A module that was saved and loaded by the full JIT can be saved for the lite interpreter there."""
    middle = bench.device("host", bench.cell.host)
    artifact = middle.save(middle.load(host.save(host.lower(case), runtime="full")))
    loaded = target.load(artifact)
    for call in case.calls:
        assert_close(
            target.run_call(loaded, call)[0], call.expected, f"{case.name}, loaded before it was saved for lite"
        )


@clause("lite.unknown-backend", source="pytorch/pytorch#52870", level=Level.MOBILE, runtimes=LITE, control=Control.NONE)
def test_unknown_backend(host, bare, case, backend):
    """Where the backend's library is not loaded, loading raises an error that names the backend's class."""
    artifact = host.save(host.lower(case))
    with refused("loading for lite without the backend's library") as error:
        bare.load(artifact)
    assert_names(error, backend.name)


@clause(
    "lite.damaged",
    source="pytorch/pytorch#52603",
    level=Level.MOBILE,
    cases=("add", "linear"),
    runtimes=LITE,
    control=Control.NONE,
)
def test_damaged_program(host, target, bench, case, record):
    """A processed module that is damaged inside a well-formed archive is refused there with an error, or computes what
    is right: no crash, no hang, no wrong number."""
    damaged = damaged_programs(host.save(host.lower(case)).data, seed=case.seed + 1, count=60)
    if not damaged:
        raise NotApplicable("the processed module holds no value that can be damaged from outside")
    found = survey(bench, damaged, case.call, runtime="lite")
    record.note(f"Damage inside the processed module of {case.name}, lite: {found}.")


@clause(
    "lite.damaged-container",
    source="pytorch/pytorch#52870",
    level=Level.MOBILE,
    cases=("add", "parameters"),
    runtimes=LITE,
)
def test_truncated(host, target, bench, case):
    """A truncated artifact is refused there with an error. (For a changed bit PyTorch's own loader may crash.)"""
    truncated = truncations(host.save(host.lower(case)).data, seed=case.seed, count=30)
    found = survey(bench, truncated, case.call, runtime="lite")
    check(not found.right, f"truncated artifacts load and run: {found}")


@clause("lite.again", source="pytorch/pytorch#52870", level=Level.MOBILE, cases=("add", "parameters"), runtimes=LITE)
def test_again(host, target, case):
    """An artifact can be loaded several times in a process; the modules live and die independently, and leave no open
    file behind."""
    artifact = host.save(host.lower(case))
    warm = target.load(artifact)
    target.run_call(warm, case.call)
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
    assert_equal(target.process_state()["open descriptors"], descriptors, "open descriptors after three more loads")


@clause("lite.growth", source="pytorch/pytorch#52870", level=Level.MOBILE, cases=("conv_net", "add"), runtimes=LITE)
def test_growth(host, target, case):
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


@clause("lite.operators", source="pytorch/pytorch#52870", level=Level.MOBILE, cases=REPRESENTATIVE, runtimes=LITE)
def test_operators(host, target, case, record):
    """The artifact's operators and bytecode version can be listed, and name nothing that the target lacks."""
    found = target.lite_operators(host.save(host.lower(case)))
    check(found["bytecode_version"] > 0, f"the bytecode version is {found['bytecode_version']}")
    check(not found["unknown"], f"the artifact needs operators that the target does not have: {found['unknown']}")


@clause(
    "lite.operators-delegated", source="pytorch/pytorch#52870", level=Level.MOBILE, runtimes=LITE, control=Control.NONE
)
def test_operators_are_delegated(host, target, case):
    """The artifact needs none of the tensor operators that the backend took over: it loads where they are stripped."""
    original = host.graph_of(host.script(case), case.methods[0])["operators"]
    listed = target.lite_operators(host.save(host.lower(case)))["operators"]
    kept = sorted(
        {name.partition(".")[0] for name in listed} & {name for name in original if name.startswith("aten::")}
    )
    check(not kept, f"the artifact still needs {kept}")


@clause("lite.composition", source="pytorch/pytorch#52870", level=Level.MOBILE, cases=("add", "add_sub"), runtimes=LITE)
def test_composition(host, target, case, other_case):
    """Lowered submodules inside a scripted parent run there."""
    originals = [host.script(case), host.script(other_case("add_sub"))]
    plain = host.embed(*originals)
    loaded = target.load(host.save(host.embed(*(host.lower(original) for original in originals))))
    for call in case.calls:
        expected = host.run(plain, "forward", call.inputs)
        assert_close(target.run(loaded, "forward", call.inputs), expected, f"a parent of {case.name}, lite")


@clause("lite.attributes", source="pytorch/pytorch#71597", level=Level.MOBILE, runtimes=LITE)
def test_attributes(host, target, case):
    """Attributes and methods that are added to a lowered module survive there too."""
    lowered = host.lower(case)
    host.add_attribute(lowered, "labels", ["cat", "dog"])
    loaded = target.load(host.save(lowered))
    assert_equal(target.run(loaded, "get_labels", ()), ["cat", "dog"], "the attribute labels")
    assert_close(target.run_call(loaded, case.call)[0], case.call.expected, case.name)
