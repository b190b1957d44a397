"""What is documented of ExecuTorch's delegates: what clauses rest on.

Most of it stands in comments of ExecuTorch's own headers and modules, at the version whose lines are given.
"""

from __future__ import annotations

from conformance.api.promise import Promise

#: The version whose lines are cited.
VERSION = "1.5.1"
_DOCS = "https://docs.pytorch.org/executorch/stable"
_AVAILABLE = "pytorch/pytorch#53068"


def _at(path: str, first: int, last: int) -> str:
    """Where something stands: lines of a file of ExecuTorch's repository."""
    return f"https://github.com/pytorch/executorch/blob/v{VERSION}/{path}#L{first}-L{last}"


_INTERFACE = "runtime/backend/interface.h"
_INIT_CONTEXT = "runtime/backend/backend_init_context.h"
_EXECUTION_CONTEXT = "runtime/backend/backend_execution_context.h"
_METHOD = "runtime/executor/method.h"
_PARTITIONER = "exir/backend/partitioner.py"
_DETAILS = "exir/backend/backend_details.py"
_PYTHON = "runtime/__init__.py"

# Ahead of time.
SAME_PROGRAM = Promise(
    _at("exir/program/_program.py", 1654, 1675),
    "Lowering gives a copy of the program that means the same, of which the parts that a partitioner has tagged are "
    "delegated.",
)
PARTITIONED = Promise(
    _at(_PARTITIONER, 37, 58),
    "A partitioner says of any program which of its nodes are delegated; those that it does not tag are not, and each "
    "tag is a part of its own.",
)
PROGRAM_UNCHANGED = Promise(
    _at(_PARTITIONER, 84, 88),
    "A partitioner adds tags and the parts that it makes, and changes nothing else of the program that it is given.",
)
NOT_IN_PLACE = Promise(
    _at(_DETAILS, 98, 100),
    "Preprocess gets an exported program, which is not modified in place, and the compile specs.",
)
COMPILED_BLOB = Promise(
    _at(_DETAILS, 102, 105), "What preprocess gives for a part is a binary that runs that part in the backend."
)
EACH_METHOD = Promise(
    _at(_DETAILS, 121, 141),
    "Each part of each method gets a result of preprocess of its own, and by default each by itself.",
)
HANDLE_MAP = Promise(
    _at(_DETAILS, 106, 108),
    "The debug handle map leads from a delegate's own ids to debug handles of the exported program.",
)
DYNAMIC = Promise(
    _at("runtime/core/tensor_shape_dynamism.h", 16, 28),
    "The rank of a tensor never changes; its shape may within its capacity, where it is exported so.",
)
STATE_KEPT = Promise(
    f"{_DOCS}/compiler-delegate-and-partitioner.html",
    "Buffers that a model writes can be a delegate's, which then keeps what they hold from call to call.",
)
ORDER = Promise(
    _at(_INTERFACE, 93, 97), "What execute gets are the inputs and the outputs of the method, in their order."
)
NAMED_DATA = Promise(
    _at("exir/_serialize/_named_data_store.py", 56, 69),
    "Bytes that a backend adds under a key are those that it gets at run time under the same key; the same bytes are "
    "kept once.",
)
OPERATOR_SAMPLES = Promise(
    "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/testing/_internal/common_methods_invocations.py",
    "Samples of each operator's arguments, and the dtypes for which eager PyTorch has it.",
)
EXTERNAL_DATA = Promise(
    _at(_PYTHON, 326, 327),
    "Data that a program keeps outside of its .pte comes from the .ptd file that is given when it is loaded.",
)
QUANTISED = Promise(
    f"{_DOCS}/quantization-overview.html",
    "A model that is prepared by the backend's quantizer, calibrated and converted is lowered by its partitioner, and "
    "computes what the converted model does.",
)

# Init, execute, destroy.
INIT = Promise(
    _at(_INTERFACE, 74, 83),
    "init gives a handle or the code of an error, and refuses what it cannot run by the code for what is incompatible.",
)
EVERY_INIT = Promise(
    _at(_INTERFACE, 54, 62),
    "init is called each time that a program is initialised, and makes the delegate ready to be executed.",
)
SPECS = Promise(
    _at(_INTERFACE, 71, 72), "The compile specs that init gets are exactly those that the blob was made with."
)
FREED = Promise(
    _at(_INTERFACE, 69, 70), "A delegate that needs its blob no longer after init frees it, and its memory is reused."
)
EXECUTE = Promise(
    _at(_INTERFACE, 64, 68), "A blob has what is needed to execute what its part of the model means, each time."
)
DESTROYED = Promise(_at(_INTERFACE, 135, 144), "destroy releases what belongs to a handle, when its program ends.")
OUTPUTS_GIVEN = Promise(
    _at(_METHOD, 147, 167),
    "Outputs that are not planned lie in the memory that the caller gives for them, and nowhere else.",
)
INPUTS_ALIASED = Promise(
    _at(_METHOD, 112, 123),
    "Inputs that are not planned are the caller's own tensors, whose memory the method gets; planned ones are copied.",
)
INPUTS_CHECKED = Promise(
    _at(_METHOD, 131, 143), "The type of each input must be that of the method, or setting it is an error."
)
RETRIED = Promise(_at(_METHOD, 227, 230), "A method whose execution ended with an error can be executed again.")
TEMPORARY = Promise(
    _at(_EXECUTION_CONTEXT, 39, 48),
    "A delegate can ask for temporary memory, which is taken back after each of its calls, and may be refused.",
)
LASTING = Promise(
    _at(_INIT_CONTEXT, 51, 57),
    "A delegate can ask for memory of the runtime that lasts as long as its model; where there is none it is refused.",
)
LOAD_OPTIONS = Promise(
    _at(_INIT_CONTEXT, 86, 95),
    "Load-time options are of one load, and of the delegate that they name; one that was not given is not found.",
)
OPTIONS = Promise(
    _at(_INTERFACE, 104, 133),
    "Users set and ask for options of a delegate at any time, by which its own state changes; it answers with a code.",
)

# The runtime.
CONCURRENT = Promise(
    _at(_PYTHON, 282, 285), "Any number of programs and methods can be loaded and executed at the same time."
)
ANY_SOURCE = Promise(
    _at(_PYTHON, 317, 320), "A program is loaded from a path, from bytes or a bytearray, or from an open file."
)
INVALID_PROGRAM = Promise(
    _at("runtime/core/error.h", 88, 89), "What is wrong with the contents of a program is an error with a code."
)
AVAILABLE = Promise(
    _at(_INTERFACE, 49, 52), "is_available says whether a delegate can take calls, and does so by its answer alone."
)
REGISTERED = Promise(
    _at(_INTERFACE, 160, 176), "A delegate is registered under the name that a .pte has for it, and found by that name."
)
TABLE = Promise(
    _AVAILABLE,
    "For each pair of what can be compiled and executed on a host and on a target it is laid down what works.",
)
SPLIT = Promise(
    f"{_DOCS}/backend-delegates-integration.html",
    "A delegate has a half that is used ahead of time, in Python, and one that a device links, which has neither "
    "Python nor PyTorch.",
)
PORTABLE = Promise(
    f"{_DOCS}/getting-started-architecture.html",
    "What is emitted is a .pte file, which is all that a device needs of the process that made it.",
)
ALIGNED = Promise(
    _at("exir/capture/_config.py", 80, 82), "Who emits a program chooses where its parts begin: any power of two."
)

# Developers' tools.
BUNDLED = Promise(
    f"{_DOCS}/bundled-io.html",
    "A bundled program carries inputs and expected outputs of its methods, with which the target verifies them.",
)
TRACED = Promise(
    f"{_DOCS}/etdump.html",
    "A program that is loaded with an ETDump keeps a record of what is executed, and otherwise runs as it does.",
)
DELEGATE_EVENTS = Promise(
    f"{_DOCS}/delegate-debugging.html",
    "What a delegate logs bears ids that its debug handle map leads back to the model.",
)
