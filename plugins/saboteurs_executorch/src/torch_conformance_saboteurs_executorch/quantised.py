"""Saboteurs that take quantised models for what they are not."""

from __future__ import annotations

from typing import Any

import torch

from torch_conformance_saboteurs_executorch.bridge import Argument
from torch_conformance_saboteurs_executorch.control import BridgeControl
from torch_conformance_saboteurs_executorch.listing import Listing, floats
from torch_conformance_saboteurs_executorch.lowering import is_a

saboteur = Listing()


@saboteur("quantised.outputs")
class IgnoresZeroPoints(BridgeControl):
    """Values are quantised as if zero were always in the middle of the range."""

    name = "ignores_zero_points"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        for node in program.graph.nodes:
            if is_a(node, "quantize_per_tensor"):
                node.update_arg(2, 0)
        return super().preprocess(program, specs)


@saboteur("quantised.outputs")
class OneScaleForAllChannels(BridgeControl):
    """Weights have one scale, the first channel's."""

    name = "one_scale_for_all_channels"

    def preprocess(self, program: Any, specs: Any) -> bytes:
        for name, tensor in (*program.state_dict.items(), *program.constants.items()):
            if isinstance(tensor, torch.Tensor) and "scale" in name:
                tensor.data.fill_(tensor.flatten()[0].item())
        return super().preprocess(program, specs)


@saboteur("quantised.range")
class WrapsAround(BridgeControl):
    """What is beyond the calibrated range comes out at its other end."""

    name = "wraps_around"
    _beyond = False

    def before(self, handle: int, arguments: list[Argument]) -> int:
        self._beyond = any(tensor.abs().max() > 25 for tensor in floats(arguments)[:-1])
        return 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[-1:] if self._beyond else ():
            tensor.copy_(tensor.min() + tensor.max() - tensor)
        return 0


@saboteur("quantised.repeated")
class WidensItsRange(BridgeControl):
    """What comes in beyond the range that was calibrated widens the range for all calls that follow."""

    name = "widens_its_range"
    _widened = False

    def before(self, handle: int, arguments: list[Argument]) -> int:
        self._widened |= any(tensor.abs().max() > 25 for tensor in floats(arguments)[:-1])
        return 0

    def after(self, handle: int, arguments: list[Argument]) -> int:
        for tensor in floats(arguments)[-1:] if self._widened else ():
            step = tensor.abs().max() / 8
            tensor.copy_(torch.round(tensor / step) * step)
        return 0
