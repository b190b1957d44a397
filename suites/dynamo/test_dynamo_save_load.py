"""Save and load for ``torch.compile``: exported programs, packages and caches, each read by another process."""

from __future__ import annotations

from conformance import features
from conformance.api.assertions import check, refused
from conformance.api.verdicts import NotApplicable
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.run.result import Record
from conformance.toolchains import corpus
from conformance.toolchains.dynamo.assertions import assert_counts, assert_same_effects
from conformance.toolchains.dynamo.client import DynamoDevice, PreparedCase
from conformance.toolchains.dynamo.promises import (
    CACHE_ARTIFACTS,
    CACHES,
    DECLARED,
    EQUIVALENT,
    EXPORTED,
    MARKED,
    PACKAGE_GUARDS,
    PACKAGE_INTERFACE,
    PACKAGED,
)
from conformance.toolchains.dynamo.refusals import package_of

#: The rows of both arguments.
ROWS = ((0, 0), (1, 0))
#: torch.export takes no branch on data, and these are called with other sizes than they are exported for.
NOT_EXPORTED = ("branch_on_data", "sizes", "sized_backward")
#: What a compiler does with a graph, wherever that comes from: `compile.outputs` tries it.
COMPILED_ALONE = (
    "cached_tokens", "kept_then_written", "adds_nothing", "negative_view", "split_and_joined", "equal_numbers",
    "logits_and_scores",
    "narrow_differences", "masked_row", "last_of_few", "alike_names", "sums_of_halves", "nearly_attention",
    "formulas", "layers_with_options", "other_bodies", "either_given", "order_of_everything",
    "activations_with_options", "resized", "not_less", "gated", "grouped", "quotients", "rescaled", "dilated",
    "biased_attention", "bins", "sum_of_another_dtype", "weekdays", "fewer_places", "view_outlives",
    "listed_numbers", "other_listed_numbers", "activated", "bounded_activations", "counted_tokens", "clipped_rows",
    "while_loop", "cond_in_a_cond", "root_where_there_is_one", "each_with_each", "impossible_states",
)  # fmt: skip
EXPORTED_CASES = tuple(
    case.name for case in corpus("dynamo") if not case.everyday and case.name not in NOT_EXPORTED + COMPILED_ALONE
)
REPRESENTATIVE = ("chain", "matmul", "several_outputs", "parameters", "network")

export_clause = clauses(source=(EXPORTED, EQUIVALENT), level=Level.CORE)
package_clause = clauses(
    source=(PACKAGED, EQUIVALENT),
    level=Level.COMPLETE,
    needs=(features.packages,),
)
cache_clause = clauses(source=(CACHE_ARTIFACTS, EQUIVALENT), level=Level.CORE, cases=REPRESENTATIVE)


@export_clause("export.same-outputs", cases=EXPORTED_CASES)
def test_exported_outputs(host: DynamoDevice, target: DynamoDevice, case: PreparedCase) -> None:
    """A model that is exported and saved, and loaded and compiled in another process, gives the same outputs there; and
    it is the backend's code that ran."""
    lowered = target.lower(target.load_exported(host.export(case, case.call.inputs), case), case.call.inputs)
    for call in case.calls:
        assert_close(target.run(lowered, call.inputs).result, call.expected, f"{case.name}, exported")
    assert_counts(target.counts(lowered), case.name, least_runs=len(case.calls))


@export_clause("export.dynamic-sizes", source=(EXPORTED, MARKED), cases=("sizes",), needs=(features.dynamic_shapes,))
def test_exported_sizes(host: DynamoDevice, target: DynamoDevice, case: PreparedCase) -> None:
    """A program that is exported for any size is lowered once for marked dimensions, and serves every size from two
    up."""
    loaded = target.load_exported(host.export(case, case.call.inputs, ROWS), case)
    lowered = target.lower(loaded, case.call.inputs, marks=ROWS)
    for call in case.calls:
        result = target.run(lowered, call.inputs, stance="fail_on_recompile").result
        assert_close(result, call.expected, f"{case.name}, exported, of {len(call.inputs[0])} rows")
    assert_counts(target.counts(lowered), case.name, lowerings=1, least_runs=len(case.calls))


@export_clause("export.twice", cases=("parameters", "network"))
def test_exported_twice(host: DynamoDevice, target: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Two programs of one model, loaded into one process, each keep the weights that they were exported with."""
    models = [host.build(case, variant) for variant in (0, 1)]
    programs = [host.export(model, case.call.inputs) for model in models]
    lowered = [target.lower(target.load_exported(each, case), case.call.inputs) for each in programs]
    other = bare.run(bare.build(case, variant=1), case.call.inputs).result
    for _ in range(2):
        for model, expected, whose in zip(lowered, (case.call.expected, other), ("first", "second"), strict=True):
            assert_close(target.run(model, case.call.inputs).result, expected, f"the {whose} program of {case.name}")


@export_clause("export.mutation", cases=("writes_input", "writes_slice", "writes_buffer"))
def test_exported_mutation(host: DynamoDevice, target: DynamoDevice, case: PreparedCase) -> None:
    """What an exported program writes to its inputs, to slices of them and to its buffers is written back."""
    lowered = target.lower(target.load_exported(host.export(case, case.call.inputs), case), case.call.inputs)
    for call in case.calls:
        seen = target.run(lowered, call.inputs)
        assert_close(seen.result, call.expected, f"{case.name}, exported")
        assert_same_effects(seen, call.effects, f"{case.name}, exported")


@package_clause("package.same-outputs", cases=(*REPRESENTATIVE, "views", "reductions", "beyond_32_bits", "dictionary"))
def test_packaged_outputs(host: DynamoDevice, target: DynamoDevice, case: PreparedCase) -> None:
    """What ``aot_compile`` makes of a model, saved and loaded in another process, gives the same outputs there, each
    argument in its place."""
    loaded = target.load_package(package_of(host, case))
    model = target.build(case)
    for call in (*case.calls, *case.calls):
        result, _ = target.run_package(loaded, model, call.inputs)
        assert_close(result, call.expected, f"{case.name}, packaged")


@package_clause("package.ready", source=PACKAGED, cases=("chain", "parameters", "network"))
def test_packages_are_ready(host: DynamoDevice, target: DynamoDevice, case: PreparedCase) -> None:
    """Nothing is compiled where a package is loaded and called: neither Dynamo, nor AOT Autograd, nor a tracer does
    any work there."""
    loaded = target.load_package(package_of(host, case))
    check(not loaded.work, f"loading the package of {case.name} does a compiler's work: {', '.join(loaded.work)}")
    model = target.build(case)
    for number in ("first", "second"):
        result, work = target.run_package(loaded, model, case.call.inputs)
        assert_close(result, case.call.expected, f"{case.name}, the {number} call of its package")
        check(not work, f"the {number} call of the package does a compiler's work: {', '.join(work)}")


@package_clause("package.weights", cases=("parameters", "network"))
def test_packages_take_weights(
    host: DynamoDevice, target: DynamoDevice, bare: DynamoDevice, case: PreparedCase
) -> None:
    """A package computes with the weights of the model that it is called with, whatever they were when it was made."""
    loaded = target.load_package(package_of(host, case))
    expected = bare.run(bare.build(case, variant=1), case.call.inputs).result
    for variant, wanted in ((1, expected), (0, case.call.expected)):
        result, _ = target.run_package(loaded, target.build(case, variant), case.call.inputs)
        assert_close(result, wanted, f"the package of {case.name} with the weights of model {variant}")


@package_clause("package.guards", source=PACKAGE_GUARDS, cases=("chain", "matmul", "parameters"))
def test_packages_check_their_guards(host: DynamoDevice, target: DynamoDevice, case: PreparedCase) -> None:
    """Inputs that a package was not made for raise an error, and no value comes of them; later calls are sound."""
    loaded, model = target.load_package(package_of(host, case)), target.build(case)
    first, *others = case.call.inputs
    for what, inputs in (("a dtype", (first.double(), *others)), ("a rank", (first[None], *others))):
        with refused(f"{what} that {case.name} was not compiled for") as refusal:
            target.run_package(loaded, model, inputs)
        check("GuardManager check failed" in refusal.text, f"{what}: expected a failed guard, found {refusal.text}")
    result, _ = target.run_package(loaded, model, case.call.inputs)
    assert_close(result, case.call.expected, f"the package of {case.name}, after a failed guard")


@package_clause(
    "package.refusal", source=(DECLARED, PACKAGE_INTERFACE), cases=("chain",), control=Control.NONE, needs=()
)
def test_packages_are_refused(host: DynamoDevice, case: PreparedCase, backend: Description) -> None:
    """A backend whose compiled code cannot be saved is refused when it is compiled ahead of time, with an error that
    PyTorch has for that (AOT Autograd's own says "OutputCode") or one that names the backend."""
    if backend.has(features.packages):
        raise NotApplicable("the backend declares that its packages can be saved")
    with refused("a package of a backend that declares that it has none") as refusal:
        host.package(case, case.call.inputs)
    pytorchs = ("SerializableCallable", "must have a 'serialize' method", "expected OutputCode, got")
    clean = any(text in refusal.text for text in pytorchs)
    check(clean or backend.name in refusal.text, f"the error does not say who cannot be saved: {refusal.text:.300}")


@cache_clause("cache.second-process", source=(CACHES, EQUIVALENT))
def test_second_process(host: DynamoDevice, target: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """A process that compiles what another one has compiled before it gives the same outputs, whatever was cached
    between them; and so does the same model with other weights."""
    for call in case.calls:
        assert_close(host.run(host.lower(case), call.inputs).result, call.expected, f"{case.name} in a first process")
    lowered = target.lower(case)
    for call in case.calls:
        assert_close(target.run(lowered, call.inputs).result, call.expected, f"{case.name} in a second process")
    _assert_other_weights(target, bare, case)
    assert_counts(target.counts(lowered), case.name, least_runs=len(case.calls))


def _assert_other_weights(target: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    other = target.lower(target.build(case, variant=1), case.call.inputs)
    expected = bare.run(bare.build(case, variant=1), case.call.inputs).result
    assert_close(target.run(other, case.call.inputs).result, expected, f"{case.name} with other weights")


@cache_clause("cache.artifacts")
def test_cache_artifacts(
    host: DynamoDevice, target: DynamoDevice, bare: DynamoDevice, case: PreparedCase, record: Record
) -> None:
    """``torch.compiler.save_cache_artifacts`` and ``load_cache_artifacts`` do no harm: a process that was given the
    artifacts of another one gives the same outputs, and so does the same model with other weights."""
    assert_close(host.run(host.lower(case), case.call.inputs).result, case.call.expected, f"{case.name}, to be cached")
    artifacts = host.save_cache()
    if artifacts is None:
        record.note(f"{case.name}: nothing that this backend makes is kept in PyTorch's caches.")
    else:
        target.load_cache(artifacts)
    lowered = target.lower(case)
    for call in case.calls:
        assert_close(target.run(lowered, call.inputs).result, call.expected, f"{case.name} with cache artifacts")
    _assert_other_weights(target, bare, case)
    assert_counts(target.counts(lowered), case.name, least_runs=len(case.calls))
