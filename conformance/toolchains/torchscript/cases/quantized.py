"""MobileNetV2 (Sandler et al. 2018, arXiv:1801.04381), fp32 and int8, with random weights; and quantisation in small.

None is part of the corpus that every clause is tried on: the networks have 3.5 million weights, and whoever makes a
quantised model runs operators, which the process that devices are forked from must not. Clauses name them.
"""

from __future__ import annotations

import itertools
import warnings

import torch
from torch import Tensor, nn
from torch.ao import quantization

from conformance.api import features as f
from conformance.api.maker import Maker
from conformance.toolchains.torchscript.cases import case

#: Table 2 of the paper: expansion factor, output channels, repetitions, stride of the first.
_BOTTLENECKS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
_CLASSES = 1000
#: A quarter of the published resolution: the same operators, a twelfth of the time.
_PIXELS = 64
_NEEDS = (f.convolution, f.matmul, f.parameters, f.submodules, f.elementwise, f.views, f.reductions, f.scalars)


def _convolution(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(inputs, outputs, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]


class _Bottleneck(nn.Module):
    """An inverted residual with a linear bottleneck."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inputs * expansion
        expand = [*_convolution(inputs, wide), nn.ReLU6()] if expansion > 1 else []
        self.layers = nn.Sequential(
            *expand,
            *_convolution(wide, wide, kernel=3, stride=stride, groups=wide),
            nn.ReLU6(),
            *_convolution(wide, outputs),
        )
        self.is_residual = stride == 1 and inputs == outputs
        self.sum = nn.quantized.FloatFunctional()

    def forward(self, x: Tensor) -> Tensor:
        if self.is_residual:
            return self.sum.add(x, self.layers(x))
        return self.layers(x)


class _Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [*_convolution(3, 32, kernel=3, stride=2), nn.ReLU6()]
        channels = 32
        for expansion, outputs, repetitions, stride in _BOTTLENECKS:
            for index in range(repetitions):
                layers.append(_Bottleneck(channels, outputs, stride if index == 0 else 1, expansion))
                channels = outputs
        layers += [*_convolution(channels, 1280), nn.ReLU6()]
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, _CLASSES))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean([2, 3]))


@case(
    "mobilenet_v2",
    *_NEEDS,
    samples=lambda make: {"forward": _images(make)},
    everywhere=False,
)
class MobileNetV2(_Network):
    def __init__(self) -> None:
        super().__init__()
        _as_trained(self)


@case(
    "mobilenet_v2_int8",
    *_NEEDS,
    f.quantized,
    samples=lambda make: {"forward": _images(make)},
    everywhere=False,
)
class MobileNetV2Int8(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.network = _quantized(_as_trained(_Network()), (3, _PIXELS, _PIXELS))

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)


@case(
    "quantized_linear",
    f.quantized,
    f.matmul,
    f.elementwise,
    f.parameters,
    f.submodules,
    samples=lambda make: {"forward": [(make.floats(2, 8),), (make.floats(5, 8),)]},
    everywhere=False,
)
class QuantizedLinear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
        self.layers = _quantized(layers, (8,))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


def _as_trained(network: nn.Module) -> nn.Module:
    """Weights and statistics under which signals neither vanish nor explode, as training leaves them."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
        elif isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the statistics become those of the batches that are seen
    network.train()
    with torch.no_grad():
        network(torch.randn(4, 3, _PIXELS, _PIXELS))
    return network.eval()


def _quantized(network: nn.Module, shape: tuple[int, ...]) -> nn.Module:
    """The network in int8, by static quantisation: batch norms folded, observed on random inputs, then converted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the whole of torch.ao.quantization is deprecated
        for module in network.modules():
            if isinstance(module, nn.Sequential):
                _fold_batch_norms(module)
        wrapped = quantization.QuantWrapper(network)
        wrapped.qconfig = quantization.get_default_qconfig("x86")
        quantization.prepare(wrapped, inplace=True)
        with torch.no_grad():
            wrapped(torch.randn(8, *shape))
        quantization.convert(wrapped, inplace=True)
    return wrapped


def _fold_batch_norms(layers: nn.Sequential) -> None:
    for (name, layer), (following, norm) in itertools.pairwise(list(layers.named_children())):
        if isinstance(layer, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
            quantization.fuse_modules(layers, [name, following], inplace=True)


def _images(make: Maker) -> list[tuple[Tensor]]:
    return [(make.floats(1, 3, _PIXELS, _PIXELS),), (make.floats(2, 3, _PIXELS, _PIXELS),)]
