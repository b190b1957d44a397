"""Comparing what came out with what PyTorch gives: helpers that build the text of the failure.

Every comparison that is made while a cell runs is remembered with its margin, the share of the tolerance that the
largest error used up, so that a report can tell a backend that is exact from one that is just inside.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from conformance.api.errors import ConformanceFailure

#: rtol and atol by dtype, as ``torch.testing.assert_close`` has them. Dtypes that are not named compare exactly.
DEFAULT_TOLERANCES: Mapping[str, tuple[float, float]] = {
    "float64": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}

#: The share that is used where nothing was allowed: infinity is no number of JSON, which reports are.
_ALL = 1e300


@dataclasses.dataclass
class Allowance:
    """What was allowed for a dtype and by whom, and the worst of what was seen.

    ``origin`` is "default", "author" (the backend's class overrides it: a declared deviation) or "exact" (nothing is
    allowed). ``used`` is the largest share of the allowed error, ``absolute`` the error where that was.
    """

    rtol: float
    atol: float
    origin: str
    comparisons: int = 0
    used: float = 0.0
    absolute: float = 0.0


@dataclasses.dataclass
class Margin:
    """The comparisons of a cell, by the name of the dtype."""

    budgets: dict[str, Allowance] = dataclasses.field(default_factory=dict)

    @property
    def comparisons(self) -> int:
        return sum(allowance.comparisons for allowance in self.budgets.values())

    def as_row(self) -> dict[str, Any]:
        """The margin as a report has it: the worst comparison of all, and what was allowed and seen for each dtype."""
        dtype, worst = max(self.budgets.items(), key=lambda item: item[1].used)
        return {
            "comparisons": self.comparisons,
            "used": round(worst.used, 4),
            "absolute": worst.absolute,
            "dtype": dtype,
            "budgets": {name: dataclasses.asdict(allowance) for name, allowance in self.budgets.items()},
        }


@dataclasses.dataclass
class _Context:
    tolerances: Mapping[str, tuple[float, float]]
    margin: Margin

    def allowance(self, dtype: str) -> Allowance:
        if dtype not in self.margin.budgets:
            default = DEFAULT_TOLERANCES.get(dtype, (0.0, 0.0))
            rtol, atol = self.tolerances.get(dtype, default)
            origin = "author" if dtype in self.tolerances else "default" if dtype in DEFAULT_TOLERANCES else "exact"
            self.margin.budgets[dtype] = Allowance(rtol, atol, origin)
        return self.margin.budgets[dtype]


AllowanceOf = Callable[[str], Allowance]
_context: contextvars.ContextVar[_Context | None] = contextvars.ContextVar("comparison", default=None)


@contextlib.contextmanager
def comparing(tolerances: Mapping[str, tuple[float, float]]) -> Iterator[Margin]:
    """Within the block, comparisons use these tolerances over the defaults, and add to the margin that is yielded."""
    margin = Margin()
    token = _context.set(_Context(tolerances, margin))
    try:
        yield margin
    finally:
        _context.reset(token)


class Difference(ConformanceFailure):
    """Two values differ; ``exact`` where no tolerance was given."""

    def __init__(self, text: str, actual: Any, expected: Any, exact: bool) -> None:
        super().__init__(text)
        self.actual = actual
        self.expected = expected
        self.exact = exact


def assert_close(actual: Any, expected: Any, where: str) -> None:
    """``actual`` has the types, dtypes, shapes and, within the tolerance, the values of ``expected``.

    Containers are compared element by element. ``where`` says what was compared. Raises Difference.
    """
    context = _context.get() or _Context({}, Margin())
    try:
        _compare(actual, expected, where, context.allowance)
    except ConformanceFailure as failure:
        raise Difference(str(failure), actual, expected, exact=False) from None


def assert_equal(actual: Any, expected: Any, where: str) -> None:
    """``actual`` is ``expected``, bit by bit where they are tensors. Raises Difference."""
    exact = Allowance(0.0, 0.0, "exact")
    try:
        _compare(actual, expected, where, lambda dtype: exact)
    except ConformanceFailure as failure:
        raise Difference(str(failure), actual, expected, exact=True) from None


def is_equal(actual: Any, expected: Any) -> bool:
    """Whether ``actual`` is ``expected``, as :func:`assert_equal` has it."""
    try:
        assert_equal(actual, expected, "")
    except Difference:
        return False
    return True


def describe(value: Any) -> str:
    """A value in a few words: the type, dtype and shape of a tensor, and its first elements."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        if value.is_nested or value.device.type != "cpu" or value.layout != torch.strided:
            return f"a tensor of {dtype}: {', '.join(f'{name} {found}' for name, found in _form(value).items())}"
        try:
            elements = value.detach().flatten()[:4].tolist()
        except RuntimeError as error:  # there are dtypes of which PyTorch makes tensors, and reads no element
            return f"{dtype}{list(value.shape)}, which cannot be read ({error})"
        shown = [f"{each:.6g}" if isinstance(each, float) else str(each) for each in elements]
        dots = ", ..." if value.numel() > 4 else ""
        return f"{dtype}{list(value.shape)} [{', '.join(shown)}{dots}]"
    if isinstance(value, tuple | list):
        inner = ", ".join(describe(item) for item in value[:4]) + (", ..." if len(value) > 4 else "")
        return f"({inner}{',' if len(value) == 1 else ''})" if isinstance(value, tuple) else f"[{inner}]"
    return f"{type(value).__name__} {value!r:.80}"


def _compare(actual: Any, expected: Any, where: str, allowance_of: AllowanceOf) -> None:
    if isinstance(expected, torch.Tensor):
        if not isinstance(actual, torch.Tensor):
            raise ConformanceFailure(f"{where}: expected {describe(expected)}, found {describe(actual)}")
        _compare_tensors(actual, expected, where, allowance_of)
    elif isinstance(expected, tuple | list):
        if type(actual) is not type(expected) or len(actual) != len(expected):
            raise ConformanceFailure(
                f"{where}: expected a {type(expected).__name__} of {len(expected)}, found {describe(actual)}"
            )
        for index, (mine, theirs) in enumerate(zip(actual, expected, strict=True)):
            _compare(mine, theirs, f"{where}[{index}]", allowance_of)
    elif isinstance(expected, dict):
        if not isinstance(actual, dict) or list(actual) != list(expected):
            raise ConformanceFailure(
                f"{where}: expected a dict with the keys {list(expected)}, found {describe(actual)}"
            )
        for key in expected:
            _compare(actual[key], expected[key], f"{where}[{key!r}]", allowance_of)
    elif type(actual) is not type(expected) or not _same_scalar(actual, expected):
        raise ConformanceFailure(f"{where}: expected {describe(expected)}, found {describe(actual)}")


def _same_scalar(actual: Any, expected: Any) -> bool:
    if isinstance(expected, float):
        both_nan = math.isnan(actual) and math.isnan(expected)
        return both_nan or math.isclose(actual, expected, rel_tol=1e-7, abs_tol=1e-7)
    return bool(actual == expected)


def _compare_tensors(actual: torch.Tensor, expected: torch.Tensor, where: str, allowance_of: AllowanceOf) -> None:
    form = _form(expected)
    for attribute, found in _form(actual).items():
        wanted = form.get(attribute)
        if found != wanted:
            raise ConformanceFailure(f"{where}: expected {attribute} {wanted}, found {found}")
    if expected.layout != torch.strided:
        actual, expected = actual.to_dense(), expected.to_dense()
    if expected.is_quantized:
        if not torch.equal(actual, expected):
            raise ConformanceFailure(f"{where}: expected {describe(expected)}, found {describe(actual)}")
        return
    dtype = str(expected.dtype).removeprefix("torch.")
    allowance = allowance_of(dtype)
    mine, theirs = _wide(actual), _wide(expected)
    equal = (mine == theirs) | (mine.isnan() & theirs.isnan())
    distance = _distance(mine, theirs)
    error = torch.where(equal, torch.zeros_like(distance), distance)
    allowed = allowance.atol + allowance.rtol * theirs.abs().to(torch.float64)
    wrong = ~equal & ~((error <= allowed) & error.isfinite())
    if mine.dtype.is_floating_point and allowance.rtol == allowance.atol == 0:
        wrong |= ~mine.isnan() & (torch.signbit(mine) != torch.signbit(theirs))
    _note(allowance, error, allowed, equal)
    if bool(wrong.any()):
        raise ConformanceFailure(_difference(actual, expected, where, wrong, error, allowance))


def _form(tensor: torch.Tensor) -> dict[str, Any]:
    """What two tensors must have in common before anything can be said of their values: one without values, as those
    on the meta device, has none that are right."""
    form = {"nested": tensor.is_nested, "device": tensor.device.type, "dtype": tensor.dtype, "layout": tensor.layout}
    return form if tensor.is_nested else form | {"shape": tensor.shape, "quantized": tensor.is_quantized}


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    detached = tensor.detach()
    if detached.dtype.is_complex:
        return detached.to(torch.complex128)
    if detached.dtype.is_floating_point:
        return detached.to(torch.float64)
    return detached.to(torch.int64)


def _distance(mine: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """How far apart the elements are, as float64; between different integers at least 1."""
    if mine.dtype.is_floating_point or mine.dtype.is_complex:
        return (mine - theirs).abs()
    # The difference of two integers may not fit into 64 bits; as float64, neighbours beyond 2**53 would be equal.
    return (mine.to(torch.float64) - theirs.to(torch.float64)).abs().clamp_min(1)


def _note(allowance: Allowance, error: torch.Tensor, allowed: torch.Tensor, equal: torch.Tensor) -> None:
    allowance.comparisons += 1
    finite = ~equal & error.isfinite()
    if bool(finite.any()):
        share = torch.where(finite, (error / allowed.clamp_min(1e-300)).clamp_max(_ALL), torch.zeros_like(allowed))
        at = int(share.argmax())
        if float(share.flatten()[at]) > allowance.used:
            allowance.used = float(share.flatten()[at])
            allowance.absolute = float(error.flatten()[at])


def _difference(
    actual: torch.Tensor,
    expected: torch.Tensor,
    where: str,
    wrong: torch.Tensor,
    error: torch.Tensor,
    allowance: Allowance,
) -> str:
    worst = torch.where(wrong, torch.nan_to_num(error.to(torch.float64), nan=math.inf, posinf=math.inf), -1.0)
    flat = int(worst.argmax())
    index = tuple(int(each) for each in torch.unravel_index(torch.tensor(flat), expected.shape))
    position = f" at {list(index)}" if index else ""
    wanted, found = (_in_full(tensor[index].item()) for tensor in (expected, actual))
    return (
        f"{where}: {int(wrong.sum())} of {wrong.numel()} elements differ beyond rtol={allowance.rtol:g}, "
        f"atol={allowance.atol:g}; worst{position}: expected {wanted}, found {found}"
    )


def _in_full(number: Any) -> str:
    return str(number) if isinstance(number, int) else f"{number:.9g}"
