"""What a backend may or may not be able to take, one by one, each with a sentence of prose.

The floor, which is no feature because every backend must have it: a module whose method adds and subtracts float32
tensors of the same shape (in a torch.compile backend also multiplies, divides and clamps them). A backend that
declares a feature missing promises a *clean refusal* of the models that need it; an inability that is not declared is
a failure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from types import MappingProxyType


@dataclasses.dataclass(frozen=True, slots=True)
class Feature:
    """One capability, by the name that reports use, with the sentence that explains it."""

    name: str
    statement: str
    #: Whether the need shows in the model when it is lowered, or only in the data when it runs.
    shows_at: str = "lower"


_REGISTRY: dict[str, Feature] = {}


def _feature(name: str, statement: str, shows_at: str = "lower") -> Feature:
    _REGISTRY[name] = feature = Feature(name, statement, shows_at)
    return feature


def _data_feature(name: str, statement: str) -> Feature:
    return _feature(name, statement, shows_at="run")


elementwise = _feature(
    "elementwise", "Elementwise operators other than aten::add and aten::sub (mul, relu, exp, where, ...)."
)
broadcasting = _data_feature("broadcasting", "Operands of different shapes that broadcast against each other.")
matmul = _feature("matmul", "Matrix products: aten::linear, aten::matmul, aten::addmm.")
reductions = _feature("reductions", "Reductions along dimensions: sum, mean, max.")
views = _feature("views", "Operators that rearrange a tensor: reshape, transpose, slicing, cat.")
convolution = _feature("convolution", "Convolution, pooling and batch normalisation as an evaluated network uses them.")
recurrent = _feature("recurrent", "aten::lstm, whose weights come as a list of tensors.")
quantized = _feature(
    "quantized",
    "Quantised layers, whose weights are packed when a module is loaded (quantized::conv2d, quantized::linear).",
)
parameters = _feature("parameters", "Modules with parameters and buffers, which become part of the lowered module.")
constants = _feature("constants", "Tensors that are constants of the graph, as torch.jit.freeze makes them of weights.")
submodules = _feature("submodules", "Modules that call submodules, inlined into the method that is lowered.")
several_methods = _feature(
    "several_methods", "More than one method in the method compile spec, with different signatures."
)
several_outputs = _feature("several_outputs", "Methods that return a tuple of several values.")
single_tuple = _feature("single_tuple", "A method that returns a tuple of one element, which stays a tuple.")
nested_values = _feature("nested_values", "Lists and dictionaries as arguments and results: of tensors, or of numbers.")
scalars = _feature("scalars", "Python numbers as arguments and as results: int, float, bool.")
strings = _feature("strings", "Strings as arguments and as results.")
optionals = _feature("optionals", "Optional arguments, given and not given.")
zero_dim = _data_feature("zero_dim", "Tensors with no dimensions.")
empty = _data_feature("empty", "Tensors with no elements.")
non_contiguous = _data_feature(
    "non_contiguous", "Inputs with other strides than contiguous ones: transposed, sliced, expanded."
)
large = _data_feature(
    "large", "Tensors of some hundred thousand elements, where vectorised and parallel code paths begin."
)
non_finite = _data_feature(
    "non_finite", "NaN, infinities, signed zeros and subnormal numbers, carried as IEEE 754 says."
)
float64 = _data_feature("float64", "torch.float64, beyond the precision of float32.")
half_precision = _data_feature("half_precision", "torch.float16 and torch.bfloat16.")
integers = _data_feature(
    "integers", "torch.int64, torch.int32 and torch.uint8, with values beyond 2**31 and wrap-around."
)
booleans = _feature("booleans", "torch.bool tensors and comparisons.")
complex_numbers = _data_feature("complex_numbers", "torch.complex64.")
mixed_dtypes = _data_feature("mixed_dtypes", "Operands of different dtypes, promoted as PyTorch promotes them.")
in_place = _feature("in_place", "Operators that change an intermediate result in place.")
control_flow = _feature("control_flow", "Branches that depend on values: prim::If, torch.cond.")
loops = _feature("loops", "prim::Loop: loops with a trip count, and loops with a condition.")
raising = _feature("raising", "A model that raises an exception by itself (prim::RaiseException).")
mutable_state = _feature(
    "mutable_state", "A method that writes an attribute or a buffer of its module (prim::SetAttr, in-place)."
)
fork = _feature("fork", "torch.jit.fork and torch.jit.wait (prim::fork, aten::wait).")
debug_handles = _feature(
    "debug_handles",
    "Preprocess takes debug handles, so that the lite interpreter can tell which line of the model failed.",
)
free_compile_spec = _feature(
    "free_compile_spec", "Entries of the compile spec that the backend does not know are kept, not refused."
)
# Of torch.compile backends alone.
delegation = _feature(
    "delegation", "Operators of a graph run in the backend's own code, and not one by one in PyTorch when it is called."
)
dynamic_shapes = _feature("dynamic_shapes", "Symbolic sizes: what was lowered once serves tensors of many sizes.")
unbacked_sizes = _feature("unbacked_sizes", "Sizes that only the data tells, such as that of a result of nonzero.")
input_mutation = _feature("input_mutation", "A graph that writes to its inputs, to parts of them, or to buffers.")
custom_operators = _feature("custom_operators", "Operators of torch.library that the backend has never heard of.")
packages = _feature(
    "packages", "What aot_compile makes is saved, and loaded by a process in which nothing is compiled."
)
training = _feature("training", "Inputs and parameters that require grad, and the backward pass.")
random_numbers = _feature("random_numbers", "Operators that draw random numbers, such as dropout while training.")


class Features:
    """An immutable set of declared features, with the reason for each that is missing.

    Start from :meth:`all` or :meth:`none`, then say :meth:`without` or :meth:`including`.
    """

    __slots__ = ("_missing",)

    def __init__(self, missing: Mapping[str, str]) -> None:
        unknown = sorted(set(missing) - set(_REGISTRY))
        if unknown:
            raise ValueError(f"unknown features {unknown}; the known ones are {sorted(_REGISTRY)}")
        self._missing = MappingProxyType(dict(missing))

    @classmethod
    def all(cls) -> Features:
        """Every feature that the harness knows."""
        return cls({})

    @classmethod
    def none(cls, reason: str) -> Features:
        """No feature but the floor; ``reason`` is what a report says about each."""
        return cls(dict.fromkeys(_REGISTRY, reason))

    def without(self, feature: Feature, reason: str) -> Features:
        """The same features but one; ``reason`` goes into the report and must say something."""
        if not isinstance(feature, Feature):
            raise TypeError(
                f"without() takes a conformance.features.Feature, not {type(feature).__name__}: {feature!r}"
            )
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"say why {feature.name!r} is missing: the report shows the reason to users")
        return Features({**self._missing, feature.name: reason})

    def including(self, *present: Feature) -> Features:
        """The same features and these."""
        names = {feature.name for feature in present}
        return Features({name: reason for name, reason in self._missing.items() if name not in names})

    @property
    def missing(self) -> Mapping[str, str]:
        """Feature name → reason, for each feature that is declared missing."""
        return self._missing

    def __contains__(self, feature: Feature) -> bool:
        return feature.name not in self._missing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Features) and self._missing == other._missing

    def __hash__(self) -> int:
        return hash(frozenset(self._missing.items()))

    def __repr__(self) -> str:
        return f"Features(missing={dict(self._missing)!r})"


#: The name of the feature that values of a dtype need; float32 needs none.
OF_DTYPES: Mapping[str, str] = {
    "float64": float64.name,
    "float16": half_precision.name,
    "bfloat16": half_precision.name,
    "bool": booleans.name,
    "complex64": complex_numbers.name,
    **dict.fromkeys(("int64", "int32", "int16", "int8", "uint8"), integers.name),
}


def known_features() -> Iterator[Feature]:
    """Every feature, in the order in which they are documented."""
    return iter(_REGISTRY.values())
