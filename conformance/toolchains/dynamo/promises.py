"""What is documented of backends of ``torch.compile``, and of what their users may rely on: what clauses rest on."""

from __future__ import annotations

from conformance.api.promise import Promise

_DOCS = "https://docs.pytorch.org/docs/stable"
_CUSTOM_BACKENDS = f"{_DOCS}/torch.compiler_custom_backends.html"
_COMPILE = f"{_DOCS}/generated/torch.compile.html"
_AUTOGRAD = f"{_DOCS}/notes/autograd.html"
_INFERENCE_MODE = f"{_DOCS}/generated/torch.autograd.grad_mode.inference_mode.html"

# What a backend is.
EQUIVALENT = Promise(
    _CUSTOM_BACKENDS,
    "What a backend returns is a function that is equivalent to the traced graph, and is called as that graph's "
    "forward is: tensors are given, and a list of tensors comes back.",
)
REGISTERED = Promise(
    _CUSTOM_BACKENDS,
    "A backend is registered under a name, by a decorator or by an entry point of its package, and torch.compile takes "
    "the name.",
)
GIVEN_MODEL = Promise(
    _COMPILE, "torch.compile optimises the model that it is given, by the backend that is named for it: no other's."
)
OPTIONS = Promise(_COMPILE, "The options of one torch.compile are passed to the backend of that one.")
DECLARED = Promise(
    "the features that the backend's author declares",
    "What is declared to be there is there; what is declared missing is refused, and not computed otherwise.",
)
FAKE_TENSORS = Promise(
    f"{_DOCS}/torch.compiler_fake_tensor.html",
    "The code behind a graph is traced with tensors that have the dtype, the sizes and the strides of eager PyTorch's.",
)
ENDS_WELL = Promise(
    "https://docs.python.org/3/library/sys.html#sys.exit", "A script that comes to its end ends with exit status zero."
)
AVAILABILITY = Promise(
    "pytorch/pytorch#53068",
    "For each pair of what can be compiled and executed on a host and on a target it is laid down what works; where a "
    "backend is not available that is an error, and no value.",
)
OPINFO = Promise(
    "op_db of torch.testing._internal.common_methods_invocations",
    "Samples of each operator's arguments, and the dtypes for which eager PyTorch has it.",
)

# When it is compiled, and for what.
AT_LOWERING = Promise(
    "pytorch/pytorch#89373", "Compilation is moved from the first run to where the frame is lowered, before its guards."
)
GUARDS = Promise(
    "pytorch/pytorch#89373",
    "Guards that are made while the backend lowers are installed with those of the frame, and each call looks at them.",
)
CACHED = Promise(
    _COMPILE,
    "What a frame was compiled to is used as long as its guards hold, and where they fail it is compiled anew.",
)
ANY_SIZE = Promise(
    _COMPILE,
    "By default the second size that comes is compiled for with any size in mind; with dynamic=False each by itself.",
)
MARKED = Promise(
    f"{_DOCS}/torch.compiler_dynamic_shapes.html",
    "A dimension that is marked dynamic is compiled for once, from size two up; where it becomes a constant that is an "
    "error.",
)
OVERLAPPING = Promise(
    "pytorch/pytorch#139789", "Arguments that overlap are told from those that do not, and are compiled for anew."
)

# Modes.
AUTOGRAD = Promise(
    _AUTOGRAD,
    "A result requires grad where one of the inputs does and grad mode is on; gradients go back to the leaves.",
)
NO_GRAD = Promise(_AUTOGRAD, "Under no_grad nothing that is computed requires grad; the mode is each thread's own.")
INFERENCE_MODE = Promise(
    _INFERENCE_MODE, "As no_grad, and what is made there are inference tensors; the mode is each thread's own."
)
AMP = Promise(
    f"{_DOCS}/amp.html",
    "Under autocast operators compute in the lower dtype that is laid down for each; elsewhere not.",
)
SEEDS = Promise(
    f"{_DOCS}/notes/randomness.html", "torch.manual_seed decides which random numbers are drawn, on all devices."
)

# What is saved.
EXPORTED = Promise(
    f"{_DOCS}/export.html",
    "torch.export makes a program of a model, with its weights, for the sizes that are said; saved and loaded it is a "
    "module again.",
)
PACKAGED = Promise(
    f"{_DOCS}/generated/torch.compiler.load_compiled_function.html",
    "What was compiled ahead of time and saved is loaded as a function, which is called without being compiled again.",
)
CACHE_ARTIFACTS = Promise(
    f"{_DOCS}/generated/torch.compiler.save_cache_artifacts.html",
    "What compilers have cached is given to another process, where it saves time.",
)
