"""Save and load: a lowered module as an artifact, loaded in another process by the full JIT."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.api.assertions import assert_names, check, refused
from conformance.api.availability import Availability
from conformance.api.case import Call
from conformance.api.verdicts import NotApplicable, NotExercised
from conformance.compare.assertions import assert_close, assert_equal
from conformance.compare.comparison import comparing
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.run.cell_context import CellContext
from conformance.run.result import Record
from conformance.toolchains.torchscript.assertions import calls_of_twin, in_turns, traces_of
from conformance.toolchains.torchscript.client import Artifact, Module, PreparedCase, TorchScriptDevice
from conformance.toolchains.torchscript.damage.archive import flips, truncations, with_old_setstate
from conformance.toolchains.torchscript.damage.processed import damaged_programs
from conformance.toolchains.torchscript.damage.survey import survey
from conformance.toolchains.torchscript.goldens import GOLDEN_CASES, GoldenSet
from conformance.toolchains.torchscript.promises import (
    ATTRIBUTES,
    FORMER,
    GOLDENS,
    HELD,
    OFFLINE,
    READY,
    SAME_MODULE,
    SAVED,
    STATE,
)

EVERY_CASE: tuple[str, ...] = ()
REPRESENTATIVE = ("add", "two_methods", "parameters", "lstm")
#: Cases that every backend takes, to be used side by side with others.
COMPANY = ("add", "add_sub")

clause = clauses(level=Level.CORE)


@clause("save-load.same-outputs", source=(SAVED, SAME_MODULE), cases=EVERY_CASE)
def test_outputs_survive_a_round_trip(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """A lowered module that is saved and loaded in another process gives the same outputs, for every method."""
    loaded = target.load(host.save(host.lower(case)))
    for call in (*case.calls, *case.calls):
        assert_close(target.run_call(loaded, call)[0], call.expected, f"{case.name}.{call.method}, loaded")


@clause("save-load.ways", source=(OFFLINE, SAME_MODULE), cases=("add", "linear"))
def test_ways(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Saving and loading work through a file, a buffer, and bytes, in any combination."""
    host.lower(case)  # an artifact holds all of its program, whatever the process has lowered before
    lowered = host.lower(case)
    for saved_via in ("buffer", "file", "bytes"):
        artifact = host.save(lowered, via=saved_via)
        for loaded_via in ("buffer", "file"):
            loaded = target.load(artifact, via=loaded_via)
            where = f"{case.name}, saved via {saved_via} and loaded via {loaded_via}"
            assert_close(target.run_call(loaded, case.call)[0], case.call.expected, where)


@clause("save-load.host-gone", source=OFFLINE, cases=REPRESENTATIVE)
def test_the_host_may_be_gone(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """An artifact needs nothing of the process that made it: it is loaded after that process has ended."""
    host.lower(case)  # of what the process has lowered before, the artifact needs nothing either
    artifact = host.save(host.lower(case))
    host.release()
    loaded = target.load(artifact)
    for call in case.calls:
        assert_close(target.run_call(loaded, call)[0], call.expected, f"{case.name}, its host gone")


@clause("save-load.spec", source=STATE, cases=("add", "two_methods"), control=Control.NONE)
def test_spec(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """The compile spec survives saving and loading, and what preprocess kept of it does too."""
    original = host.script(case)
    lowered = host.lower(original)
    artifact = host.save(lowered)
    loaded = target.load(artifact)
    assert_equal(target.read_spec(loaded), host.given_spec(original), "the compile spec of the loaded module")
    assert_equal(target.received_spec(loaded), host.received_spec(lowered), "the spec in the loaded processed module")


@clause("save-load.again", source=STATE, cases=REPRESENTATIVE)
def test_again(host: TorchScriptDevice, target: TorchScriptDevice, context: CellContext, case: PreparedCase) -> None:
    """Save, load, save, load works, each in a process of its own, and computes the same."""
    first = target.load(host.save(host.lower(case)))
    for call in case.calls:
        assert_close(target.run_call(first, call)[0], call.expected, f"{case.name}, saved and loaded")
    third = context.device("target", Availability.FULL)
    second = third.load(target.save(first))
    for call in case.calls:
        assert_close(third.run_call(second, call)[0], call.expected, f"{case.name}, saved and loaded twice")


@clause("save-load.many", source=(STATE, HELD), cases=("add", "parameters"))
def test_loading_several_times(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """One artifact can be loaded several times in a process; the modules live and die independently."""
    artifact = host.save(host.lower(case))
    first, second, third = (target.load(artifact) for _ in range(3))
    for loaded in (third, first, second):
        assert_close(target.run_call(loaded, case.call)[0], case.call.expected, f"{case.name}, loaded three times")
    target.forget(first)
    for loaded in (second, third):
        assert_close(target.run_call(loaded, case.call)[0], case.call.expected, f"{case.name}, one of three gone")
    target.forget(third)
    assert_close(target.run_call(second, case.call)[0], case.call.expected, f"{case.name}, two of three gone")


@clause("save-load.several-models", source=(SAME_MODULE, HELD), cases=("add_sub", "weighted_pair", "linear"))
def test_several_models_loaded(
    host: TorchScriptDevice,
    target: TorchScriptDevice,
    case: PreparedCase,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
) -> None:
    """Artifacts of several modules, and of twins with other weights, are loaded in one process and called in turns:
    each gives what it gives alone, also when one of them is gone and another is loaded in its place."""
    cases = [(case, 0), (case, 1), *((each, 0) for each in other_cases(*COMPANY))]
    models = [_loaded(host, target, each, variant) for each, variant in cases]
    for gone in range(2):
        for module, call in in_turns(models):
            assert_close(target.run_call(module, call)[0], call.expected, f"{case.name} among {len(models)} models")
        target.forget(models[gone][0])
        models[gone] = _loaded(host, target, case, 2 + gone)
    for module, call in in_turns(models):
        assert_close(target.run_call(module, call)[0], call.expected, f"{case.name}, loaded after others were gone")


def _loaded(
    host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase, variant: int
) -> tuple[Module, tuple[Call, ...]]:
    """A case's module with the weights of ``variant``, lowered, saved and loaded on a target; and its calls."""
    return target.load(host.save(host.lower(host.script(case, variant)))), calls_of_twin(host, case, variant)


@clause("save-load.attributes", source=ATTRIBUTES)
def test_attributes(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Attributes and methods that are added to a lowered module survive saving and loading."""
    lowered = host.lower(case)
    values = {"labels": ["cat", "dog"], "threshold": 0.25, "table": case.call.inputs[0]}
    for name, value in values.items():
        host.add_attribute(lowered, name, value)
    loaded = target.load(host.save(lowered))
    for name, value in values.items():
        assert_equal(target.run(loaded, f"get_{name}", ()), value, f"the attribute {name}")
    assert_close(target.run_call(loaded, case.call)[0], case.call.expected, case.name)


@clause("save-load.extra-files", source=OFFLINE)
def test_extra_files(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """_extra_files survive saving and loading."""
    files = {"labels.txt": "cat\ndog\n", "metadata.json": '{"é": 1}'}
    for via in ("buffer", "file"):
        artifact = host.save(host.lower(case), extra_files=files, via=via)
        loaded = target.load(artifact, extra_files=list(files))
        assert_equal(loaded.extra_files, files, f"the extra files, saved via {via}")


@clause("save-load.unknown-backend", source=SAVED, control=Control.NONE)
def test_unknown_backend(
    host: TorchScriptDevice, bare: TorchScriptDevice, case: PreparedCase, backend: Description
) -> None:
    """Where the backend's library is not loaded, loading raises an error that names the backend's class."""
    artifact = host.save(host.lower(case))
    with refused("loading without the backend's library") as error:
        bare.load(artifact)
    assert_names(error, f"__backends__.{backend.name}")


@clause("save-load.damaged", source=READY, cases=("add", "linear"), control=Control.NONE)
def test_damaged_program(
    host: TorchScriptDevice, target: TorchScriptDevice, context: CellContext, case: PreparedCase, record: Record
) -> None:
    """An artifact whose processed module is damaged inside a well-formed archive is refused with an error, at load or
    at run, or computes what is right: no crash, no hang, no wrong number."""
    damaged = damaged_programs(host.save(host.lower(case)).data, seed=case.seed, count=120)
    if not damaged:
        raise NotApplicable("the processed module holds no value that can be damaged from outside")
    found = survey(context, damaged, case.call, runtime="full")
    record.note(f"Damage inside the processed module of {case.name}: {found}.")


@clause("save-load.damaged-container", source=READY, cases=("add", "parameters"))
def test_damaged_container(
    host: TorchScriptDevice, target: TorchScriptDevice, context: CellContext, case: PreparedCase
) -> None:
    """An artifact whose container is truncated is refused with an error; one with changed bits, in any of its records,
    neither crashes nor hangs the process (what PyTorch does not notice in its own records is not the backend's)."""
    artifact = host.save(host.lower(case)).data
    found = survey(context, truncations(artifact, seed=case.seed, count=30), case.call, runtime="full")
    check(not found.right, f"truncated artifacts load and run: {found}")
    survey(context, flips(artifact, seed=case.seed, count=2), case.call, runtime="full", numbers=False)


@clause(
    "save-load.older",
    source=(FORMER, STATE),
    cases=("add", "two_methods"),
    control=Control.NONE,
)
def test_older(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """An artifact of an older release still loads and computes the same: in the former layout without the wrapper
    module, and with the former __setstate__, which did not ask is_available."""
    lowered = host.lower(case)
    former_layout = host.save_inner(lowered)
    former_setstate = Artifact(with_old_setstate(host.save(lowered).data), "full")
    for artifact, what in ((former_layout, "in the former layout"), (former_setstate, "with the former __setstate__")):
        loaded = target.load(artifact)
        for call in case.calls:
            assert_close(target.run_call(loaded, call)[0], call.expected, f"{case.name}, {what}")


@clause(
    "save-load.goldens",
    source=GOLDENS,
    cases=GOLDEN_CASES,
    runtimes=("full", "lite"),
    control=Control.NONE,
)
def test_goldens(target: TorchScriptDevice, case: PreparedCase, goldens: Sequence[GoldenSet]) -> None:
    """Artifacts that former releases of the backend wrote load, and compute what they did."""
    kept = [(each, golden) for each in goldens for golden in each.goldens_of(case.name, target.runtime)]
    if not kept:
        raise NotExercised(
            "no golden set with this case: `conformance goldens` writes, --conformance-goldens reads one"
        )
    for golden_set, golden in kept:
        loaded = target.load(golden.artifact)
        with comparing(golden_set.tolerances):
            for call in golden.calls:
                where = f"{case.name}.{call.method} of the golden set {golden_set.name}"
                assert_close(target.run_call(loaded, call)[0], call.expected, where)


@clause("save-load.no-host-paths", source=OFFLINE, cases=("add", "linear", "even_weights"))
def test_no_host_paths(host: TorchScriptDevice, context: CellContext, case: PreparedCase) -> None:
    """The artifact holds nothing of the process that made it: no absolute path of its folders, no process id."""
    hosts = host, context.device("host", context.cell.host)
    found = [traces_of(device.identity(), device.save(device.lower(case))) for device in hosts]
    for kind in found[0]:
        in_both = [traces[kind] for traces in found if traces[kind]]
        check(len(in_both) < len(found), f"the artifact holds {kind} of the process that lowered: {in_both}")
