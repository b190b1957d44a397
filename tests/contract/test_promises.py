"""What promises say of PyTorch's own words holds of the PyTorch that is installed: it says them still.

Only what ships with PyTorch can be looked at here: docstrings, comments of headers and of Python, and the text that is
compiled into its library. Issues and pages of prose were read; ``docs/fairness.md`` says so.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from conformance.api.promise import Promise
from conformance.contract import contract_clauses
from conformance.toolchains.dynamo import promises as dynamo
from conformance.toolchains.torchscript import promises as torchscript

INSTALLED = Path(torch.__file__).parent
LIBRARY = "lib/libtorch_cpu.so"
HEADERS = "include/torch/csrc/jit/backends"

#: Where in the installed PyTorch a promise stands, and words of it by which it is found there.
STANDS_IN: dict[Promise, tuple[str, tuple[str, ...]]] = {
    torchscript.EXECUTE: (f"{HEADERS}/backend_interface.h", ("handle each method", "Execute the method specified by")),
    torchscript.THROWN: (f"{HEADERS}/backend_exception.h", ("std::string msg",)),
    torchscript.OFFLINE: ("jit/_serialization.py", ("offline version of this module", "stored as part of")),
    torchscript.HANDED_OVER: (LIBRARY, ("self.__backend.execute(self.__handles[",)),
    torchscript.TYPES: (LIBRARY, ("assert isinstance(_0, ",)),
    torchscript.HELD: (LIBRARY, ("self.__backend = $name()", "self.__handles = self.__backend.compile(")),
    torchscript.STATE: (LIBRARY, ("return self.__method_compile_spec, self.__processed_module, True",)),
    torchscript.REGISTRATION: (LIBRARY, ("Ensure that registration is only called once.", " is not registered.")),
    torchscript.WORDS: (LIBRARY, ('raise Exception("Backend is not available.")', "this Module is still possible by ")),
    dynamo.GIVEN_MODEL: ("__init__.py", ("given model/function using TorchDynamo and specified backend",)),
    dynamo.OPTIONS: ("__init__.py", ("options to pass to the backend",)),
    dynamo.CACHED: ("__init__.py", ("on the code object", "results are not applicable for subsequent calls")),
    dynamo.ANY_SIZE: ("__init__.py", ("NEVER generate dynamic kernels", "detect if dynamism has occurred")),
    dynamo.ERRORS: ("_dynamo/config.py", ("forcing a fallback to eager", '"TORCHDYNAMO_SUPPRESS_ERRORS", False')),
    dynamo.BACKWARD: ("autograd/__init__.py", ("will be freed", "higher order derivative products")),
    dynamo.NO_GRAD: ("autograd/grad_mode.py", ("even when the inputs have `requires_grad=True`", "is thread local")),
    dynamo.INFERENCE_MODE: ("autograd/grad_mode.py", ("cannot be used in computations recorded", "is thread-local")),
    dynamo.AMP: ("amp/autocast_mode.py", ("op-specific dtype",)),
    dynamo.SEEDS: ("random.py", ("random numbers on all devices",)),
    dynamo.GENERATOR_STATE: ("random.py", ("Sets the random number generator state.",)),
    dynamo.DROPOUT: ("nn/modules/dropout.py", ("independently for each forward call",)),
    dynamo.CACHE_ARTIFACTS: ("compiler/__init__.py", ("all the cache artifacts", "previously serialized via")),
    dynamo.MARKED: ("_dynamo/decorators.py", ("does not allow more than a single value", "we will raise an error")),
    dynamo.PACKAGE_GUARDS: ("_dynamo/aot_compile.py", ("GuardManager check failed",)),
    dynamo.PACKAGE_INTERFACE: ("_dynamo/aot_compile_types.py", ("class SerializableCallable(",)),
    dynamo.OPINFO: ("testing/_internal/common_methods_invocations.py", ("op_db: list[OpInfo]",)),
}
#: Said by a comment of a source that no wheel has.
IN_NO_WHEEL = (torchscript.GIVEN_MODULE,)


@pytest.fixture(scope="module")
def library() -> Iterator[mmap.mmap]:
    """What is compiled into PyTorch's library."""
    with (
        (INSTALLED / LIBRARY).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        yield content


def words_of(file: str) -> str:
    """A text of the installed PyTorch without the signs of comments, its words one blank apart."""
    text = re.sub(r"^\s*(//|#|\*) ?", " ", (INSTALLED / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return " ".join(text.split())


@pytest.mark.parametrize("promise", STANDS_IN, ids=lambda each: each.says[:40])
def test_a_promise_stands_where_it_is_said_to(promise: Promise, library: mmap.mmap) -> None:
    file, passages = STANDS_IN[promise]
    for passage in (*passages, *re.findall(r'"([^"]+)"', promise.says)):
        stands = library.find(passage.encode()) >= 0 if file == LIBRARY else passage in words_of(file)
        assert stands, f"PyTorch {torch.__version__} no longer says {passage!r} in {file}: read what it promises now"


def test_what_ships_with_pytorch_is_looked_at() -> None:
    promises = {each for clause in contract_clauses() for each in clause.promises}
    shipped = {each for each in promises if re.search(r"/generated/|/blob/|^op_db of", each.source)}
    assert len(shipped) > 20
    assert shipped <= {*STANDS_IN, *IN_NO_WHEEL}


def test_no_promise_is_made_for_nobody() -> None:
    named = {each for clause in contract_clauses() for each in clause.promises}
    made = {each for room in (dynamo, torchscript) for each in vars(room).values() if isinstance(each, Promise)}
    assert made == named


def test_nothing_is_quoted_that_is_not_looked_at() -> None:
    quoting = {each for clause in contract_clauses() for each in clause.promises if '"' in each.says}
    assert quoting <= set(STANDS_IN)


def test_pages_of_pytorch_are_those_of_one_release() -> None:
    for clause in contract_clauses():
        for promise in clause.promises:
            assert "/docs/stable/" not in promise.source, f"{clause.id}: the page that is called stable changes"
            assert "/docs/main/" not in promise.source, f"{clause.id}: the page of the development changes"
