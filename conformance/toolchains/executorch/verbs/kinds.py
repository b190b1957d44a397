"""Kinds of calls: which of them one exported program takes, with whatever sizes are dynamic in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import sympy
import torch
from torch.export import Dim, ExportedProgram

#: Up to which size a dimension is dynamic, at least: memory is planned for the largest.
_LARGEST = 40


@dataclasses.dataclass(frozen=True)
class Kind:
    """Calls with arguments of these forms (what stays as it is: dtypes and dim orders of tensors, numbers, the default
    dtype) and these sizes, of which some are symbols within ``bounds``, or computed of those."""

    forms: tuple[Any, ...]
    sizes: tuple[tuple[Any, ...], ...]
    bounds: Mapping[sympy.Symbol, tuple[int, int]] = dataclasses.field(default_factory=dict)

    def within(self, bounds: Mapping[sympy.Symbol, tuple[int, int]]) -> Kind:
        """Those whose sizes have these bounds, where there are any for them."""
        return dataclasses.replace(self, bounds={each: bounds.get(each, own) for each, own in self.bounds.items()})

    def takes(self, given: Sequence[Any]) -> bool:
        """Whether a call with these arguments is one of them."""
        if self.forms != _forms_of(given):
            return False
        known: dict[sympy.Symbol, int] = {}
        found = [
            pair
            for sizes, shape in zip(self.sizes, _shapes_of(given), strict=True)
            for pair in zip(sizes, shape, strict=True)
        ]
        for expected, size in found:
            if isinstance(expected, sympy.Symbol):
                least, most = self.bounds[expected]
                if known.setdefault(expected, size) != size or not least <= size <= most:
                    return False
        return all(size == _size(expected, known) for expected, size in found)


def kind_of(given: Sequence[Any]) -> Kind:
    """Calls with arguments that are like these in everything but the values of tensors."""
    return Kind(_forms_of(given), _shapes_of(given))


def kind_of_dynamic(program: ExportedProgram, given: Sequence[Any]) -> Kind:
    """The calls that a program takes which was exported with dynamic sizes for arguments like these."""
    examples = [node.meta["val"] for node in program.graph.nodes if node.name in program.graph_signature.user_inputs]
    sizes = tuple(
        tuple(each.node.expr if isinstance(each, torch.SymInt) else int(each) for each in example.shape)
        for example in examples
        if isinstance(example, torch.Tensor)
    )
    bounds = {symbol: (int(each.lower), int(each.upper)) for symbol, each in program.range_constraints.items()}
    return Kind(_forms_of(given), sizes, bounds)


def dynamic_sizes(given: Sequence[Any]) -> tuple[Any, ...] | None:
    """Dynamic dimensions, for ``torch.export``, wherever arguments have any; None where they have none."""
    sizes = tuple(
        {
            place: Dim.AUTO(max=max(_LARGEST, 2 * size))
            for place, size in enumerate(each.shape)
            if size > 1 and each.is_contiguous()
        }
        if isinstance(each, torch.Tensor)
        else None
        for each in given
    )
    return sizes if any(sizes) else None


def _size(expected: Any, known: Mapping[sympy.Symbol, int]) -> Any:
    return expected.subs(known) if isinstance(expected, sympy.Expr) else expected


def _forms_of(given: Sequence[Any]) -> tuple[Any, ...]:
    forms = ((each.dtype, each.dim_order()) if isinstance(each, torch.Tensor) else (type(each), each) for each in given)
    return (*forms, torch.get_default_dtype())


def _shapes_of(given: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(each.shape) for each in given if isinstance(each, torch.Tensor))
