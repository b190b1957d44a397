"""What is documented of delegates of TorchScript: what clauses rest on."""

from __future__ import annotations

from conformance.api.promise import Promise

_TO_BACKEND = "pytorch/pytorch#41145"
_WRAPPER = "pytorch/pytorch#71597"
_AVAILABLE = "pytorch/pytorch#53068"

# Lowering.
SAME_MODULE = Promise(
    _TO_BACKEND,
    "to_backend makes a module of the one that it is given, with the same methods, which gives the same results by the "
    "backend's execute; PyTorch's tests hold the two against each other.",
)
GIVEN_MODULE = Promise(
    _TO_BACKEND, "to_backend lowers the module that it is given, of which the backend gets a copy: no other is touched."
)
COMPOSED = Promise(
    _TO_BACKEND, "A lowered module can be a part of another module; selective lowering takes the parts that are named."
)
INTERFACE = Promise(
    _WRAPPER,
    "The keys of the method compile spec are the lowered module's public methods, and their values the backend's.",
)
EXECUTE = Promise(
    "https://github.com/pytorch/pytorch/blob/main/torch/csrc/jit/backends/backend_interface.h",
    "compile gives a handle for each method, and execute runs a handle on inputs and gives that method's outputs.",
)
PREPROCESSED = Promise(
    _AVAILABLE, "Preprocess takes place on the host, when the lowered module is made, and only there."
)
REGISTRATION = Promise(
    "pytorch/pytorch#51757", "Preprocess is registered for a backend's name, and a name without it is refused."
)
FROM_CPP = Promise("pytorch/pytorch#51797", "Modules are lowered by a function of C++, which Python's calls as well.")
REFUSED = Promise(
    "pytorch/pytorch#52603", "Preprocess refuses what it cannot take by an error with the operator and its line."
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
    "https://docs.python.org/3/library/sys.html#sys.exit", "A script that comes to its end ends with exit status zero."
)

# Saving and loading.
SAVED = Promise(
    _TO_BACKEND, "A lowered module is saved, and loaded by another process, in Python and in C++, where it runs."
)
STATE = Promise(
    _AVAILABLE,
    "What is got and set of a lowered module's state are the processed module and the compile spec, of which it is "
    "compiled again where the backend is available; what cannot be made ready fails with an exception.",
)
ATTRIBUTES = Promise(_WRAPPER, "What is added to a lowered module, attributes and bundled inputs, is saved with it.")
LITE = Promise(
    "pytorch/pytorch#52870",
    "Lowered modules are saved for the lite interpreter, where outputs have the declared types.",
)

# Availability.
AVAILABLE = Promise(
    _AVAILABLE,
    "is_available() is true if compile and execute can be called; for each pair of what can be compiled and executed "
    "on a host and on a target it is laid down what works.",
)
UNAVAILABLE = Promise(
    _AVAILABLE,
    'Where a backend is not available lowering warns, and loading and running raise "Backend is not available.".',
)

# Running.
NO_GRAD = Promise("pytorch/pytorch#26477", "Runtimes of phones run models under guards that are each thread's own.")
THREADS = Promise(
    "https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html",
    "One or more threads run a model's forward on their inputs at once.",
)
MOBILE_MODELS = Promise(
    "pytorch/pytorch#26764", "Models of phones, quantised ones too, are loaded and run without autograd."
)
DEBUG = Promise(
    "pytorch/pytorch#52603",
    "An error of a lowered module is told with the backend's text; with debug handles, in the lite interpreter, with "
    "the hierarchy of modules and the line of the source.",
)
