"""What clauses of ExecuTorch's delegates rest on stands where they say."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest

from conformance.api.promise import Promise
from conformance.contract import Clause, Level, contract_clauses
from conformance.toolchains import toolchain_named
from conformance.toolchains.executorch import promises

CLAUSES = contract_clauses("executorch")
LACKING = toolchain_named("executorch").lacking()
PROMISES = {name: value for name, value in vars(promises).items() if isinstance(value, Promise)}
#: A word of each place that is cited by its lines, in the comment that stands there.
WORDS = {
    "SAME_PROGRAM": "semantically-equivalent",
    "PARTITIONED": "tagged",
    "PROGRAM_UNCHANGED": "No change in the original",
    "NOT_IN_PLACE": "will not be modified in place",
    "COMPILED_BLOB": "can run the desired",
    "EACH_METHOD": "Dictionary mapping the method name",
    "HANDLE_MAP": "debug handle id",
    "DYNAMIC": "can never change, but shape sometimes can",
    "ORDER": "inputs and outputs",
    "NAMED_DATA": "the same key with the NamedDataMap",
    "EXTERNAL_DATA": ".ptd file",
    "INIT": "DelegateInvalidCompatibility",
    "EVERY_INIT": "called every time",
    "SPECS": "exact same",
    "FREED": "Free()",
    "EXECUTE": "equivalent semantics",
    "DESTROYED": "needs to be released",
    "OUTPUTS_GIVEN": "point those tensors to the buffer",
    "INPUTS_ALIASED": "alias the memory",
    "INPUTS_CHECKED": "must match",
    "RETRIED": "allow retry",
    "TEMPORARY": "reset after every delegate call",
    "LASTING": "life span",
    "LOAD_OPTIONS": "load-time options",
    "OPTIONS": "passed in by users",
    "CONCURRENT": "concurrently",
    "ANY_SOURCE": "file-like",
    "INVALID_PROGRAM": "contents of a program",
    "AVAILABLE": "available to process delegation calls",
    "REGISTERED": "Must match the string used in the PTE file",
    "ALIGNED": "Must be a power of two",
}


@pytest.mark.parametrize("graded", [each for each in CLAUSES if each.level is not Level.REPORTED], ids=lambda it: it.id)
def test_a_graded_clause_rests_on_a_promise(graded: Clause) -> None:
    assert graded.promises, f"{graded.id} is graded: say what it rests on (Promise), or state it as Level.REPORTED"
    for promise in graded.promises:
        assert re.match(r"[\w-]+/[\w-]+#\d+$|https://", promise.source), promise


def test_every_promise_is_kept_by_a_clause() -> None:
    used = {promise for each in CLAUSES for promise in each.promises}
    unused = sorted(name for name, promise in PROMISES.items() if promise not in used)
    assert unused == []


def test_no_two_promises_are_one_sentence() -> None:
    assert len({promise.says for promise in PROMISES.values()}) == len(PROMISES)


def test_each_place_that_is_cited_by_lines_has_a_word() -> None:
    assert set(WORDS) == {name for name, promise in PROMISES.items() if "#L" in promise.source}


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize("name", WORDS)
def test_it_stands_in_the_lines_that_are_cited(name: str) -> None:
    if importlib.metadata.version("executorch").partition("+")[0] != promises.VERSION:
        pytest.skip(f"lines are those of ExecuTorch {promises.VERSION}")
    from conformance.toolchains.executorch.compiling import executorch_folder

    found = re.search(r"/blob/v[^/]+/(.*)#L(\d+)-L(\d+)$", PROMISES[name].source)
    assert found is not None
    folder = executorch_folder()
    path = next(each for each in _places(folder, found[1]) if each.is_file())
    lines = path.read_text(encoding="utf-8").splitlines()[int(found[2]) - 1 : int(found[3])]
    text = " ".join(line.strip().removeprefix("*").removeprefix("///").strip() for line in lines)
    assert WORDS[name] in text, f"{PROMISES[name].source}: {text}"


def _places(folder: Path, path: str) -> tuple[Path, Path]:
    """Where the package has a file of the repository: headers lie in a folder of their own."""
    return folder / path, folder / "include" / "executorch" / path
