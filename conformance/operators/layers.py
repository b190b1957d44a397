"""Layers that are more than one of PyTorch's operators, with the samples of PyTorch's own module tests.

Imported in a control's process only: see :mod:`conformance.operators.samples`.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.utils import stateless
from torch.utils import _pytree as pytree

_DATABASE = "torch.testing._internal.common_modules"
#: Layers that no function of ``torch.nn.functional`` stands for, which would have samples of its own.
_LAYERS = (
    "GRU", "GRUCell", "LSTM", "LSTMCell", "MultiheadAttention", "RNN", "RNNCell", "TransformerDecoderLayer",
    "TransformerEncoderLayer",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class LayerSample:
    """A layer's inputs, in the form of a sample of an OpInfo: ``args`` begin with the layer and its parameters."""

    input: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class LayerInfo:
    """What :mod:`conformance.operators.samples` asks an OpInfo, of a layer: a function of its inputs and parameters."""

    variant_test_name = ""

    def __init__(self, info: Any) -> None:
        self.name: str = info.name
        self._info = info

    def supported_dtypes(self, device: str) -> frozenset[torch.dtype]:
        """The dtypes that PyTorch's own tests have for the layer."""
        return frozenset(self._info.supported_dtypes(device))

    def sample_inputs(self, device: str, dtype: torch.dtype, *, set_seed: bool) -> Iterator[LayerSample]:
        """Layers with parameters drawn from PyTorch's generator as it stands, in evaluation, and inputs for each."""
        assert not set_seed
        made = self._info.module_inputs_func(
            self._info, device=device, dtype=dtype, requires_grad=False, training=False
        )
        for each in made:
            layer = self._info.module_cls(*each.constructor_input.args, **each.constructor_input.kwargs)
            layer = layer.to(device, dtype).eval().requires_grad_(False)
            first, *others = _without_gradients(each.forward_input.args)
            weights = _without_gradients(dict(layer.named_parameters()))
            yield LayerSample(first, (layer, weights, *others), _without_gradients(each.forward_input.kwargs))

    def __call__(self, first: Any, layer: torch.nn.Module, weights: dict[str, Any], *others: Any, **named: Any) -> Any:
        """Call a layer with such parameters in the place of its own."""
        if not torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
            return torch.func.functional_call(layer, weights, (first, *others), named)
        with stateless._reparametrize_module(layer, weights):  # what functional_call does, and refuses to have traced
            return layer(first, *others, **named)


def layers() -> dict[str, LayerInfo]:
    """The layers under their names, as ``nn.GRU``; those that this PyTorch has samples for.

    Raises ModuleNotFoundError where something is missing that PyTorch's own tests need.
    """
    found = importlib.import_module(_DATABASE).module_db
    wanted = {f"nn.{name}" for name in _LAYERS}
    return {each.name: LayerInfo(each) for each in found if each.name in wanted}


def _without_gradients(tree: Any) -> Any:
    return pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, tree)
