"""Composition: lowered modules inside other modules, beside each other, and copied."""

from __future__ import annotations

from collections.abc import Callable

from conformance.api.assertions import assert_names, check, refused
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.toolchains.torchscript.assertions import unmangled
from conformance.toolchains.torchscript.client import PreparedCase, TorchScriptDevice
from conformance.toolchains.torchscript.promises import COMPOSED, GIVEN_MODULE, HELD, SAME_MODULE, SELECTED, STATE

#: Cases of two tensors of one shape, which the parents of these clauses can call.
PAIRS = ("add", "add_sub", "weighted_pair")

clause = clauses(source=(COMPOSED, SAME_MODULE), level=Level.CORE)


@clause("composition.nested", cases=(*PAIRS, "in_place"))
def test_nested(host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase) -> None:
    """A lowered module works as a submodule of a scripted module, there and after save and load."""
    original = host.script(case)
    plain, parent = host.embed(original), host.embed(host.lower(original))
    loaded = target.load(host.save(parent))
    for call in case.calls:
        expected = host.run(plain, "forward", call.inputs)
        assert_close(host.run(parent, "forward", call.inputs), expected, f"a parent of {case.name}")
        assert_close(target.run(loaded, "forward", call.inputs), expected, f"a loaded parent of {case.name}")


@clause("composition.selective", source=(SELECTED, SAME_MODULE))
def test_selective(
    host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase, other_case: Callable[[str], PreparedCase]
) -> None:
    """_jit_to_backend_selective lowers the named submodules and leaves the others alone."""
    original, lowered = host.lower_selectively([case, other_case("add_sub")], names=["second"])
    before, after = (host.children_of(each).get("first", "gone") for each in (original, lowered))
    check(unmangled(after) == unmangled(before), f"the submodule that was not named was {before} and is {after}")
    loaded = target.load(host.save(lowered))
    for call in case.calls:
        expected = host.run(original, "forward", call.inputs)
        assert_close(host.run(lowered, "forward", call.inputs), expected, "a selectively lowered module")
        assert_close(target.run(loaded, "forward", call.inputs), expected, "a selectively lowered module, loaded")


@clause("composition.selective-lowers", source=SELECTED, control=Control.NONE)
def test_selective_lowers(
    host: TorchScriptDevice, case: PreparedCase, other_case: Callable[[str], PreparedCase], backend: Description
) -> None:
    """_jit_to_backend_selective hands the named submodule to the backend, and no other."""
    _, lowered = host.lower_selectively([case, other_case("add_sub")], names=["second"])
    children = host.children_of(lowered)
    is_lowered = {name: f"LoweredWrapper.{backend.name}." in type_ for name, type_ in children.items()}
    check(is_lowered == {"first": False, "second": True}, f"the children's types are {children}")


@clause("composition.selective-errors", source=SELECTED)
def test_selective_errors(
    host: TorchScriptDevice, case: PreparedCase, other_case: Callable[[str], PreparedCase]
) -> None:
    """_jit_to_backend_selective refuses a submodule that is not there, naming it, and a parent that is not scripted."""
    cases = [case, other_case("add_sub")]
    with refused("a submodule that is not there") as error:
        host.lower_selectively(cases, names=["no_such_child"])
    assert_names(error, "no_such_child")
    with refused("a parent that is not scripted"):
        host.lower_selectively(cases, names=["first"], scripted=False)


@clause("composition.several", source=(COMPOSED, SAME_MODULE), cases=PAIRS)
def test_several(
    host: TorchScriptDevice, target: TorchScriptDevice, case: PreparedCase, other_case: Callable[[str], PreparedCase]
) -> None:
    """Two lowered submodules, of different types or of the same type, work side by side, there and after loading."""
    for neighbour in (other_case("add_sub"), case):
        originals = [host.script(case), host.script(neighbour, variant=1)]
        plain, parent = host.embed(*originals), host.embed(*(host.lower(original) for original in originals))
        loaded = target.load(host.save(parent))
        for call in case.calls:
            expected = host.run(plain, "forward", call.inputs)
            where = f"{case.name} beside {neighbour.name}"
            assert_close(host.run(parent, "forward", call.inputs), expected, where)
            assert_close(target.run(loaded, "forward", call.inputs), expected, f"{where}, loaded")


@clause("composition.deepcopy", source=(STATE, HELD), cases=("add", "two_methods", "parameters"))
def test_deepcopy(host: TorchScriptDevice, case: PreparedCase) -> None:
    """A deep copy computes the same and is independent: the original may run before it, or be gone."""
    lowered = host.lower(case)
    duplicate = host.copy_deeply(lowered)
    for call in case.calls:
        assert_close(host.run_call(lowered, call)[0], call.expected, f"{case.name}, of which there is a copy")
        assert_close(host.run_call(duplicate, call)[0], call.expected, f"a copy of {case.name}")
    host.forget(lowered)
    for call in case.calls:
        assert_close(host.run_call(duplicate, call)[0], call.expected, f"a copy of {case.name}, the original gone")
    host.forget(host.copy_deeply(duplicate))
    for call in case.calls:
        assert_close(host.run_call(duplicate, call)[0], call.expected, f"a copy of {case.name}, its own copy gone")


@clause("composition.deepcopy-then-lower", source=(STATE, GIVEN_MODULE))
def test_lowering_after_deepcopy(host: TorchScriptDevice, case: PreparedCase) -> None:
    """After a deep copy of a lowered module, the original can be lowered again, and all of them compute the same."""
    original = host.script(case)
    lowered = host.lower(original)
    duplicate = host.copy_deeply(lowered)
    again = host.lower(original)
    for module in (lowered, duplicate, again):
        assert_close(host.run_call(module, case.call)[0], case.call.expected, f"{case.name} beside its copy")
