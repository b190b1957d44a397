"""Lowering: what ``torch._C._jit_to_backend`` makes of a scripted module."""

from __future__ import annotations

from collections.abc import Callable

from conformance import features
from conformance.api.assertions import assert_names, check, refused
from conformance.api.availability import Availability
from conformance.api.verdicts import NotApplicable, NotExercised
from conformance.compare.assertions import (
    assert_close,
    assert_contiguous_like,
    assert_equal,
    assert_requires_grad_like,
    assert_types_like,
)
from conformance.contract import Control, Level, SpeaksOf, clauses
from conformance.discovery.describing import Description
from conformance.run.cell_context import CellContext
from conformance.run.result import Record
from conformance.toolchains.assertions import assert_pytorch_unchanged
from conformance.toolchains.torchscript.assertions import (
    assert_clean_refusal,
    assert_right_in_turns,
    assert_same_process,
    assert_same_signatures,
    assert_signs_of_zeros,
    calls_of_twin,
)
from conformance.toolchains.torchscript.client import PreparedCase, TorchScriptDevice
from conformance.toolchains.torchscript.promises import (
    DECLARED,
    ENDS_WELL,
    EXECUTE,
    GIVEN_MODULE,
    HANDED_OVER,
    INTERFACE,
    LOADED_AGAIN,
    PREPROCESSED,
    REFUSED,
    REGISTRATION,
    SAME_MODULE,
    TYPES,
)
from conformance.toolchains.torchscript.specs import with_foreign_entries

EVERY_CASE: tuple[str, ...] = ()
REPRESENTATIVE = ("add", "two_methods", "parameters", "conv_net")
#: Cases that every backend takes, to be used side by side with others.
COMPANY = ("add", "add_sub")

clause = clauses(level=Level.CORE)


@clause("lowering.methods", source=INTERFACE, cases=EVERY_CASE, control=Control.NONE, everyday=False)
def test_methods(host: TorchScriptDevice, case: PreparedCase, record: Record) -> None:
    """Every key of the method compile spec is a method of the lowered module, with the original's argument names,
    types and return type; nothing else of the original is exposed."""
    original = host.script(case)
    lowered = host.lower(original)
    wanted, found = host.signatures(original), host.signatures(lowered)
    check(set(case.methods) <= set(wanted), f"{case.name} has the methods {sorted(wanted)}, and not {case.methods}")
    assert_same_signatures(found, {method: wanted[method] for method in case.methods})
    exposed = host.exposes(lowered, original)
    check(not exposed, f"the lowered module exposes attributes of the original: {exposed}")
    if any(wanted[method]["defaults"] and not found[method]["defaults"] for method in case.methods):
        record.note("PyTorch drops the default values of arguments when it lowers: callers must give each argument.")


@clause("lowering.outputs", source=SAME_MODULE, cases=EVERY_CASE)
def test_outputs(host: TorchScriptDevice, case: PreparedCase) -> None:
    """Each method gives the outputs of eager PyTorch, within tolerance, for every sample, and when asked again."""
    lowered = host.lower(case)
    for call in (*case.calls, *case.calls):
        result = host.run_call(lowered, call)[0]
        assert_close(result, call.expected, f"{case.name}.{call.method}")
        assert_signs_of_zeros(case, result, call.expected, f"{case.name}.{call.method}")


@clause(
    "lowering.layout",
    source="pytorch/pytorch#41145, which says nothing of strides",
    level=Level.REPORTED,
    cases=EVERY_CASE,
    everyday=False,
)
def test_layout(host: TorchScriptDevice, case: PreparedCase, record: Record) -> None:
    """Whether a result is contiguous where eager PyTorch's is, so that code which calls view() on it keeps working."""
    lowered = host.lower(case)
    for call in case.calls:
        result = host.run_call(lowered, call)[0]
        with record.reporting():
            assert_contiguous_like(result, call.expected, f"{case.name}.{call.method}")


@clause("lowering.requires-grad", source=SAME_MODULE, cases=("add", "parameters"))
def test_requires_grad(host: TorchScriptDevice, case: PreparedCase) -> None:
    """A result requires grad only where eager PyTorch's does."""
    lowered = host.lower(case)
    for call in case.calls:
        result = host.run_call(lowered, call)[0]
        assert_requires_grad_like(result, call.expected, f"{case.name}.{call.method}")
        assert_close(result, call.expected, f"{case.name}.{call.method}")


@clause("lowering.repeatable", source=(EXECUTE, SAME_MODULE), cases=("add", "two_methods", "linear"))
def test_repeatable(
    host: TorchScriptDevice,
    case: PreparedCase,
    record: Record,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
) -> None:
    """A method is a function of its inputs: called many times, in any order with others, it is right each time. Whether
    it gives the same bits, which PyTorch itself does not promise, is reported."""
    for each in (case, *(other_cases("given_weights") if case.name == "linear" else ())):
        assert_right_in_turns(host, [(host.lower(each), each.calls * 2)], f"{each.name}, given the same tensors again")
    lowered = host.lower(case)
    first = {index: host.run_call(lowered, call)[0] for index, call in enumerate(case.calls)}
    for index, call in reversed(list(enumerate(case.calls))):
        assert_close(first[index], call.expected, f"{case.name}.{call.method}")
        where = f"{case.name}.{call.method}, called again"
        results = host.run_call(lowered, call, repeat=40)
        for result in results:
            assert_close(result, call.expected, where)
        with record.reporting():
            for result in results:
                assert_equal(result, first[index], where)


@clause("lowering.original-untouched", source=GIVEN_MODULE, cases=REPRESENTATIVE)
def test_original_is_untouched(host: TorchScriptDevice, case: PreparedCase) -> None:
    """The original module computes the same, and has the same methods, attributes and state, after lowering, and after
    the lowered module has run."""
    original = host.script(case)
    before = host.state_of(original)
    lowered = host.lower(original)
    assert_equal(host.state_of(original), before, "the original's methods, attributes and tensors")
    for call in case.calls:
        assert_close(host.run_call(lowered, call)[0], call.expected, f"{case.name}.{call.method}")
    assert_equal(host.state_of(original), before, "the original's methods, attributes and tensors, after a run")
    for call in case.calls:
        assert_close(host.run_call(original, call)[0], call.expected, f"the original's {call.method}")


@clause("lowering.inputs-untouched", source=(SAME_MODULE, EXECUTE), cases=EVERY_CASE)
def test_inputs_are_untouched(host: TorchScriptDevice, case: PreparedCase) -> None:
    """Running mutates no input; outputs share memory with no input and no earlier output, and keep their values."""
    lowered = host.lower(case)
    for call in case.calls:
        seen = host.run_watched(lowered, call, list(case.calls))
        for what, found in seen.items():
            check(not found, f"{case.name}.{call.method}: {what.replace('_', ' ')}: {found}")


@clause("lowering.output-types", source=TYPES, cases=EVERY_CASE, everyday=False)
def test_output_types(host: TorchScriptDevice, case: PreparedCase) -> None:
    """What execute returns has the types that the method declares: a wrong type is an error, never a value."""
    lowered = host.lower(case)
    for call in case.calls:
        result = host.run_call(lowered, call)[0]
        assert_types_like(result, call.expected, f"{case.name}.{call.method}")
        assert_close(result, call.expected, f"{case.name}.{call.method}")


@clause("lowering.spec-intact", source=(EXECUTE, INTERFACE), cases=("add", "two_methods"), control=Control.NONE)
def test_spec_is_intact(host: TorchScriptDevice, case: PreparedCase, backend: Description, record: Record) -> None:
    """The compile spec reaches the backend as given, each method's own, nested values and entries that the backend does
    not know too, and reads back equal from the lowered one."""
    original = host.script(case)
    given = host.given_spec(original)
    if backend.has(features.free_compile_spec):
        given = with_foreign_entries(given)
    lowered = host.lower(original, spec=given)
    assert_equal(host.read_spec(lowered), given, "the compile spec of the lowered module")
    received = host.received_spec(lowered)
    if received is None:
        record.note("What compile spec preprocess was given is not known: the plugin has no received_spec().")
    else:
        assert_equal(received, given, "the compile spec that preprocess was given")


@clause("lowering.bad-spec", source=INTERFACE, control=Control.NONE)
def test_bad_spec(host: TorchScriptDevice, case: PreparedCase, record: Record) -> None:
    """A key that is no method, and one that is no string, are errors with a text, and lowering works afterwards.
    Whether the error names the key, and whether an empty spec and a module that is not scripted are refused, is
    reported."""
    original = host.script(case)
    with refused("lowering with a key that is no string"):
        host.lower_badly(original, "key that is no string")
    with refused("lowering with a key that is no method") as error:
        host.lower_badly(original, "unknown method")
    with record.reporting():
        assert_names(error, "no_such_method")
    for fault in ("empty spec", "module that is not scripted"):
        with record.reporting(), refused(f"lowering with {fault}"):
            host.lower_badly(original, fault)
    lowered = host.lower(original)
    assert_close(host.run_call(lowered, case.call)[0], case.call.expected, "a lowering after the refused ones")


@clause("lowering.unregistered", source=REGISTRATION, control=Control.NONE)
def test_unregistered(host: TorchScriptDevice, case: PreparedCase) -> None:
    """A name with no preprocess function is refused, and the error names it."""
    original = host.script(case)
    name = "conformance_no_such_backend"
    with refused(f"lowering to the unregistered name {name!r}") as error:
        host.lower_unregistered(original, name)
    assert_names(error, name)


@clause("lowering.registered-once", source=LOADED_AGAIN, control=Control.NONE)
def test_registered_once(host: TorchScriptDevice, case: PreparedCase) -> None:
    """Loading the backend twice in a process is harmless."""
    before = host.lower(case)
    host.register_again()
    after = host.lower(case)
    for lowered in (before, after):
        assert_close(host.run_call(lowered, case.call)[0], case.call.expected, "a module, the backend loaded twice")


@clause("lowering.registered-twice", source=REGISTRATION, control=Control.NONE)
def test_second_registration_is_refused(host: TorchScriptDevice, backend: Description) -> None:
    """A second registration of the backend's name, by a copy of its library, is refused, and the refusal names it."""
    if not backend.files:
        raise NotApplicable("the backend registers itself by no library of its own")
    with refused("loading a copy of the library", even_by_ending=True) as error:
        host.load_copy_of_libraries()
    assert_names(error, backend.name)


@clause(
    "lowering.refusal",
    source=(REFUSED, DECLARED),
    cases=EVERY_CASE,
    control=Control.NONE,
    speaks_of=SpeaksOf.UNSUPPORTED,
)
def test_refusal(host: TorchScriptDevice, case: PreparedCase, backend: Description) -> None:
    """A model outside the declared features is refused at lowering with the operator's name and the model's source
    line (<--- HERE); it is never miscomputed and never crashes. What only data can show is refused at run."""
    assert_clean_refusal(host, case, backend)


@clause("lowering.twice", source=(GIVEN_MODULE, PREPROCESSED), cases=("parameters", "add", "submodules"))
def test_twice(host: TorchScriptDevice, case: PreparedCase, other_case: Callable[[str], PreparedCase]) -> None:
    """Two modules, and the same module twice, can be lowered in one process; each keeps its own weights, and a module
    that has changed is lowered as it is then."""
    original = host.script(case)
    twin = host.script(case, variant=1)
    expected = host.run_call(twin, case.call)[0]
    first, second, other, plain = (host.lower(each) for each in (original, original, twin, other_case("add")))
    for call in case.calls:
        for lowered in (first, second):
            assert_close(host.run_call(lowered, call)[0], call.expected, f"{case.name}, lowered twice")
    assert_close(host.run_call(other, case.call)[0], expected, f"{case.name} with other weights")
    add = other_case("add").call
    assert_close(host.run_call(plain, add)[0], add.expected, "another module lowered in the same process")
    host.disturb(original)
    changed, expected = host.lower(original), host.run_call(original, case.call)[0]
    assert_close(host.run_call(changed, case.call)[0], expected, f"{case.name}, lowered again after it was changed")


@clause("lowering.several-models", source=(SAME_MODULE, GIVEN_MODULE), cases=("add_sub", "weighted_pair", "linear"))
def test_several_models(
    host: TorchScriptDevice, case: PreparedCase, other_cases: Callable[..., tuple[PreparedCase, ...]]
) -> None:
    """Modules of several classes, and a twin with other weights, are lowered in one process and called in turns, each
    with its own shapes: each gives what it gives alone, no result is overwritten by the call of another, and when one
    is gone and a third twin is lowered in its place, all are still right."""
    first, twin = host.lower(case), host.lower(host.script(case, 1))
    models = [(first, case.calls), (twin, calls_of_twin(host, case, 1))]
    models += [(host.lower(each), each.calls) for each in other_cases(*COMPANY)]
    for frozen in other_cases("frozen"):  # one code, and other constants
        models += [(host.lower(host.script(frozen, n)), calls_of_twin(host, frozen, n)) for n in range(2)]
    assert_right_in_turns(host, models, f"{case.name} among {len(models)} models")
    host.forget(first)
    models[0] = host.lower(host.script(case, 2)), calls_of_twin(host, case, 2)
    assert_right_in_turns(host, models, f"{case.name} among {len(models)} models, one of them gone")


@clause(
    "lowering.preprocess-once",
    source=PREPROCESSED,
    hosts=(Availability.FULL, Availability.NONE),
    control=Control.NONE,
)
def test_preprocess_once(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """Preprocess happens on the host when the module is created, exactly once, available or not, and never on the
    target."""
    before = host.preprocess_count()
    if before is None:
        raise NotExercised("the backend does not count its preprocessing: override preprocess_count()")
    lowered = host.lower(case)
    times = (host.preprocess_count() or 0) - before
    check(times == 1, f"lowering preprocessed {times} times")
    loaded = target.load(host.save(lowered))
    assert_close(target.run_call(loaded, case.call)[0], case.call.expected, f"{case.name}, on the target")
    counts = host.preprocess_count(), target.preprocess_count()
    check(counts == (before + 1, 0), f"preprocess ran again after lowering: (host, target) = {counts}")


@clause("lowering.deterministic", source=(SAME_MODULE, PREPROCESSED), cases=REPRESENTATIVE)
def test_deterministic(host: TorchScriptDevice, context: CellContext, case: PreparedCase, record: Record) -> None:
    """The same module lowered twice, in two processes, gives artifacts that compute the same. Whether these give the
    same bits, and are the same byte for byte, is reported."""
    other, target = context.device("host", Availability.FULL), context.device("target", Availability.FULL)
    artifacts = [device.save(device.lower(case)) for device in (host, other)]
    loaded = [target.load(artifact) for artifact in artifacts]
    for call in case.calls:
        first, second = (target.run_call(each, call)[0] for each in loaded)
        where = f"{case.name}.{call.method} of two lowerings"
        for result in (first, second):
            assert_close(result, call.expected, where)
        with record.reporting():
            assert_equal(first, second, where)
    same = artifacts[0].data == artifacts[1].data
    record.note(f"Artifacts of two lowerings of one module are {'' if same else 'not '}the same, byte for byte.")


@clause("lowering.weights", source=(PREPROCESSED, GIVEN_MODULE), cases=("parameters", "submodules", "linear", "add"))
def test_weights(host: TorchScriptDevice, case: PreparedCase) -> None:
    """Parameters and buffers are those of the module at lowering; changing the original afterwards changes nothing."""
    original = host.script(case)
    lowered = host.lower(original)
    host.disturb(original)
    for call in case.calls:
        assert_close(
            host.run_call(lowered, call)[0], call.expected, f"{case.name}, its original changed after lowering"
        )


@clause("lowering.delegated", source=HANDED_OVER, cases=EVERY_CASE, control=Control.NONE, everyday=False)
def test_delegated(host: TorchScriptDevice, case: PreparedCase, backend: Description) -> None:
    """The lowered graph hands the work to the backend: it calls execute of the backend's class, and no tensor operator
    of the original stands in it."""
    original = host.script(case)
    lowered = host.lower(original)
    for method in case.methods:
        graph = host.graph_of(lowered, method)
        execute = f"__torch__.torch.classes.__backends__.{backend.name}.execute"
        check(execute in graph["calls"], f"{method} does not call {execute}; it calls {graph['calls']}")
        kept = sorted(set(graph["operators"]) & set(host.graph_of(original, method)["operators"]))
        kept = [name for name in kept if name.startswith("aten::") and name != "aten::__getitem__"]
        check(not kept, f"{method} still holds operators of the original: {kept}")


@clause("lowering.global-state", source=GIVEN_MODULE, cases=("add", "linear"))
def test_global_state(host: TorchScriptDevice, case: PreparedCase, record: Record) -> None:
    """Lowering, running and releasing leave what others in the process rely on as it was: grad and inference mode,
    default dtype, the random state, the number of threads torch uses, signal handlers, the working directory. What a
    backend has for itself, such as threads, open files, functions for exit, and its own variables, is reported."""
    original = host.script(case)
    before = host.process_state()
    lowered = host.lower(original)
    assert_same_process(host.process_state(), before, "the process after lowering", record)
    for call in case.calls:
        assert_close(host.run_call(lowered, call)[0], call.expected, f"{case.name}.{call.method}")
    assert_same_process(host.process_state(), before, "the process after running", record)
    host.forget(lowered)
    assert_same_process(host.process_state(), before, "the process after the module is gone", record)


@clause("lowering.pytorch-unchanged", source=GIVEN_MODULE, cases=("add", "linear"))
def test_pytorch_is_unchanged(host: TorchScriptDevice, bare: TorchScriptDevice, case: PreparedCase) -> None:
    """Loading the backend, lowering and running change nothing in PyTorch itself: no setting of the JIT (executor,
    fusers, inlining), no function of its modules and classes, no kernel of its operators."""
    assert_pytorch_unchanged(host, bare, "after loading the backend")
    for device, module in ((host, host.lower(case)), (bare, bare.script(case))):
        assert_close(device.run_call(module, case.call)[0], case.call.expected, case.name)
    assert_pytorch_unchanged(host, bare, f"after lowering and running {case.name}")


@clause("lowering.exit", source=ENDS_WELL)
def test_exit(host: TorchScriptDevice, case: PreparedCase, record: Record) -> None:
    """A process that lowered and ran a module ends by itself, with exit code 0. A process that it leaves behind is
    reported."""
    assert_close(host.run_call(host.lower(case), case.call)[0], case.call.expected, case.name)
    with record.reporting():
        host.leave()
