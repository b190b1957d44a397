"""What is documented of delegates of TorchScript: what clauses rest on.

Most of it stands in the descriptions of the changes that made the delegate API, and in its source; what an installed
PyTorch says itself is held against it by a test (``tests/contract/test_promises.py``).
"""

from __future__ import annotations

from conformance.api.promise import Promise

_AVAILABLE = "pytorch/pytorch#53068"
_WRAPPER = "pytorch/pytorch#71597"
_SOURCE = "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/jit/backends"
_DETAIL = f"{_SOURCE}/backend_detail.cpp"
_DOCS = "https://docs.pytorch.org/docs/2.13"

# Lowering.
SAME_MODULE = Promise(
    "pytorch/pytorch#38893",
    "A lowered module gives the results of Python and of the regular JIT, also after saving and loading: PyTorch's "
    "tests hold them against each other.",
)
GIVEN_MODULE = Promise(
    _DETAIL, "The module is cloned before the backend gets it: what a backend does with it is functional."
)
COMPOSED = Promise(
    "pytorch/pytorch#41146", "Lowered modules are submodules of ScriptModules, are run there, saved and loaded."
)
SELECTED = Promise("pytorch/pytorch#43613", "Selective lowering lowers the submodules whose qualified names are given.")
INTERFACE = Promise(
    _WRAPPER, "The keys of the method compile spec are functions of the module, and its public ones: that is the API."
)
EXECUTE = Promise(
    f"{_SOURCE}/backend_interface.h",
    "compile is given the processed module and the compile spec, with the details of each method, and gives a handle "
    "for each; execute runs a handle on inputs and gives that method's outputs.",
)
HANDED_OVER = Promise(_DETAIL, "Each method of the lowered module calls execute of the backend's object.")
TYPES = Promise(_DETAIL, "What execute returned is checked to have the types that the method declares.")
HELD = Promise(
    _DETAIL, "The backend's object and the handles that compile gave are attributes of the lowered module they are for."
)
PREPROCESSED = Promise(
    _AVAILABLE, "Preprocess always takes place, on the host, when the lowered module is made, and only there."
)
REGISTRATION = Promise(
    _DETAIL, "Preprocess is registered once for a backend's name: a second time, and a name without it, are refused."
)
LOADED_AGAIN = Promise(
    "the documentation of conformance.Backend.load", "Loading the backend twice in one process is harmless."
)
FROM_CPP = Promise("pytorch/pytorch#51797", "Modules are lowered by a function of C++, which Python's calls as well.")
REFUSED = Promise(
    "pytorch/pytorch#52603",
    "How errors of compiling are surfaced is demonstrated: with the name of the operator that the backend does not "
    "take, and its line in the source of the original model.",
)
DECLARED = Promise(
    "the features that the backend's author declares",
    "What is declared to be there is there; what is declared missing is refused, and not computed otherwise.",
)
OPINFO = Promise(
    "op_db of torch.testing._internal.common_methods_invocations",
    "Samples of each operator's arguments, and the dtypes for which eager PyTorch has it.",
)
ENDS_WELL = Promise(
    "https://docs.python.org/3/c-api/interp-lifecycle.html#c.Py_RunMain",
    "A Python that ends normally, with no exception raised, ends with exit status zero.",
)

# Saving and loading.
SAVED = Promise(
    "pytorch/pytorch#41145", "A lowered module is exported, loaded in Python and in C++, and executed there."
)
WITHOUT_PYTHON = Promise(
    "pytorch/pytorch#40839",
    "The backend interface, and all that it takes to run a graph on a backend, is in libtorch; bindings for Python "
    "alone are in libtorch_python.",
)
OFFLINE = Promise(
    f"{_DOCS}/generated/torch.jit.save.html",
    "What is saved is an offline version of the module, for another process; extra files are stored as a part of it.",
)
STATE = Promise(
    _DETAIL,
    "What is got and set of a lowered module's state are the processed module and the compile spec, of which it is "
    "compiled again where the backend is available.",
)
READY = Promise(
    _AVAILABLE,
    "Loading succeeds if the preprocessed module is ready for execution, and fails with an exception if not.",
)
FORMER = Promise(
    _AVAILABLE, "Models that were saved with the former interface, which did not ask is_available(), are not broken."
)
GOLDENS = Promise(
    "the golden sets that a run is given",
    "What a former release of the backend wrote is loaded, and computes the same.",
)
ATTRIBUTES = Promise(
    _WRAPPER, "Attributes that are added to a module after it was lowered, and bundled inputs, are saved with it."
)
LITE = Promise(
    "pytorch/pytorch#52870",
    "Lowered modules are saved for the lite interpreter and loaded by it, give the results of the original there, and "
    "have the types of their outputs checked.",
)

# Availability.
AVAILABLE = Promise(
    _AVAILABLE,
    "is_available() is true if compile and execute can be called, and false otherwise; for each pair of what can be "
    "compiled and executed on a host and on a target it is laid down what works, and what is not possible.",
)
UNAVAILABLE = Promise(
    _AVAILABLE, "Where a backend is not available lowering warns, and loading and running raise an exception."
)
WORDS = Promise(
    _DETAIL,
    'The warning names the backend and says what is still possible; the exception says "Backend is not available."; '
    "both are PyTorch's.",
)

# Running.
NO_GRAD = Promise(
    "pytorch/pytorch#26477", "Runtimes of phones run models with autograd turned off, by flags that are thread-local."
)
GUARDED = Promise(
    "https://docs.pytorch.org/cppdocs/notes/inference_mode.html",
    "Models of the JIT are loaded and run in inference mode, where no operation records a gradient, even for inputs "
    "that require one; outside of it what was made there may be read, and not written.",
)
THREADS = Promise(
    "https://pytorch.org/docs/2.1/notes/cpu_threading_torchscript_inference.html",
    "One or more threads execute a model's forward on their inputs, each with an interpreter of its own.",
)
MOBILE_MODELS = Promise(
    "pytorch/pytorch#26868",
    "Loading a model may itself run operators, such as those that pack weights; MobileNetV2, fp32 and int8, loads and "
    "runs on phones.",
)
DEBUG = Promise(
    "pytorch/pytorch#55462",
    "What a lowered backend throws is told with the stack of the model as if it had not been lowered: debug handles, "
    "which are unique, lead from nodes of the graph to it.",
)
THROWN = Promise(f"{_SOURCE}/backend_exception.h", "What a backend throws in execute carries a message of its own.")
