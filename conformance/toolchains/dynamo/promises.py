"""What is documented of backends of ``torch.compile``, and of what their users may rely on: what clauses rest on.

The pages are those of PyTorch 2.13, whose addresses stay what they are; what an installed PyTorch says itself is held
against it by a test (``tests/contract/test_promises.py``).
"""

from __future__ import annotations

from conformance.api.promise import Promise

_DOCS = "https://docs.pytorch.org/docs/2.13"
_GUIDE = f"{_DOCS}/user_guide/torch_compiler"
_CUSTOM_BACKENDS = f"{_GUIDE}/torch.compiler_custom_backends.html"
_COMPILE = f"{_DOCS}/generated/torch.compile.html"
_DYNAMIC_SHAPES = f"{_GUIDE}/torch.compiler_dynamic_shapes.html"
_AOT_COMPILE = f"{_GUIDE}/torch.compiler_aot_compile.html"
_SOURCE = "https://github.com/pytorch/pytorch/blob/v2.13.0/torch"

# What a backend is.
EQUIVALENT = Promise(
    _CUSTOM_BACKENDS,
    "What a backend returns is a function that is equivalent to the traced graph, and has the contract of that graph's "
    "forward: tensors are given, and a list of tensors comes back.",
)
COMPILED = Promise(
    _CUSTOM_BACKENDS, "A backend is called when a graph was traced, and is expected to return a compiled function."
)
REGISTERED = Promise(
    _CUSTOM_BACKENDS,
    "A backend is registered under a name, by a decorator or by an entry point of its package, and torch.compile takes "
    "the name: what the decorator registered goes before what entry points give.",
)
GIVEN_MODEL = Promise(
    _COMPILE, "torch.compile optimises the model that it is given, by the backend that is named for it."
)
OPTIONS = Promise(_COMPILE, "The options of one torch.compile are passed to the backend of that one.")
DECLARED = Promise(
    "the features that the backend's author declares",
    "What is declared to be there is there; what is declared missing is refused, and not computed otherwise.",
)
FAKE_TENSORS = Promise(
    f"{_GUIDE}/torch.compiler_fake_tensor.html",
    "What Dynamo traces with is like the real tensors in all respects but the data: dtypes, sizes, strides, and what "
    "aliases what.",
)
ENDS_WELL = Promise(
    "https://docs.python.org/3/c-api/interp-lifecycle.html#c.Py_RunMain",
    "A Python that ends normally, with no exception raised, ends with exit status zero.",
)
ERRORS = Promise(
    f"{_SOURCE}/_dynamo/config.py",
    "Errors of compiling are raised: that the model is run by eager PyTorch in their place is a setting, which is off.",
)
OPINFO = Promise(
    "op_db of torch.testing._internal.common_methods_invocations",
    "Samples of each operator's arguments, and the dtypes for which eager PyTorch has it.",
)
DROPPED = Promise(
    f"{_DOCS}/notes/faq.html",
    "The memory of a tensor is given back when the references to it are gone: what goes out of scope, or is deleted.",
)

# When it is compiled, and for what.
AT_LOWERING = Promise(
    "pytorch/pytorch#89373",
    "AOT Autograd's compilation is moved from the first run to where the frame is lowered, before its guards.",
)
GUARDS = Promise(
    "pytorch/pytorch#89373",
    "Guards that AOT Autograd makes while the backend lowers are installed with those of the frame, and protect what "
    "was compiled.",
)
CACHED = Promise(
    _COMPILE,
    "What a frame was compiled to is kept on its code object and used as long as its guards hold, and where they fail "
    "it is compiled anew.",
)
ANY_SIZE = Promise(
    _COMPILE,
    "By default a second size that comes is compiled for with any size in mind; with dynamic=False each by itself.",
)
MARKED = Promise(
    _DYNAMIC_SHAPES,
    "A dimension that is marked dynamic is compiled for once, and other sizes use that; where it becomes a constant "
    "that is an error.",
)
ZERO_AND_ONE = Promise(
    f"{_GUIDE}/compile/dynamic_shapes_zero_one_specialization.html",
    "Sizes zero and one are specialised on by themselves, and a dynamic size is neither.",
)
OVERLAPPING = Promise(
    "pytorch/pytorch#139789",
    "A call whose arguments overlap, one of which is written to, should be compiled for anew after one whose arguments "
    "do not; that PyTorch's own AOT Autograd does not is an open fault.",
)

# Modes.
AUTOGRAD = Promise(
    f"{_DOCS}/notes/autograd.html",
    "A result requires grad where one of the inputs does and grad mode is on; gradients go back to the leaves.",
)
BACKWARD = Promise(
    f"{_DOCS}/generated/torch.autograd.backward.html",
    "With retain_graph the graph of the derivative is not freed; with create_graph it can be differentiated again.",
)
NO_GRAD = Promise(
    f"{_DOCS}/generated/torch.no_grad.html",
    "Under no_grad nothing that is computed requires grad, whatever the inputs do; the mode is each thread's own.",
)
INFERENCE_MODE = Promise(
    f"{_DOCS}/generated/torch.autograd.grad_mode.inference_mode.html",
    "As no_grad, and what is made there autograd cannot record later; the mode is each thread's own.",
)
AMP = Promise(
    f"{_DOCS}/amp.html",
    "Under autocast each operator computes in the dtype that is laid down for it; elsewhere not.",
)
SEEDS = Promise(
    f"{_DOCS}/generated/torch.manual_seed.html", "torch.manual_seed seeds what draws random numbers, on all devices."
)
GENERATOR_STATE = Promise(
    f"{_DOCS}/generated/torch.set_rng_state.html",
    "torch.set_rng_state sets the state of the generator of random numbers, so that what was drawn from it is drawn "
    "again.",
)
DROPOUT = Promise(
    f"{_DOCS}/generated/torch.nn.Dropout.html",
    "Elements are zeroed with the probability that is given, and are chosen anew for each call.",
)

# What is saved.
EXPORTED = Promise(
    f"{_GUIDE}/export.html",
    "torch.export makes a sound program of a model, for the sizes that are said; it is saved, loaded, and run "
    "elsewhere.",
)
PACKAGED = Promise(
    _AOT_COMPILE,
    "What was compiled ahead of time is saved, and loaded by another process as a function that behaves like the "
    "original and compiles nothing; that of a module takes the module as its first argument.",
)
PACKAGE_GUARDS = Promise(
    _AOT_COMPILE, "A package is good for the sizes, dtypes and devices of its examples; others fail its guards."
)
PACKAGE_INTERFACE = Promise(
    _AOT_COMPILE, "Only backends with the interface SerializableCallable are saved in packages."
)
CACHES = Promise(
    f"{_GUIDE}/torch.compiler_troubleshooting.html",
    "What is compiled may be cached, to save the time of later runs, in other processes too.",
)
CACHE_ARTIFACTS = Promise(
    f"{_DOCS}/generated/torch.compiler.save_cache_artifacts.html",
    "What compilers have cached is given away as bytes, and loaded by another process.",
)
