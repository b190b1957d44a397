"""Several statements at a time, as models have them and compilers replace them: a layer and what follows it, attention
written out, softmax written out, what is taken apart and joined again. Now and then with a number, an order or another
use of a value in between that forbids the replacement.
"""

from __future__ import annotations

import re

from conformance.generate.grammar.builder import Abandoned, Builder, Value
from conformance.generate.grammar.matrices import factor, parameter
from conformance.generate.grammar.networks import image, running_statistics
from conformance.generate.grammar.rules import rule
from conformance.generate.program import TensorSpec


def _again(b: Builder, first: Value, last: Value) -> None:
    """Now and then use once more what lies in between, which then must be there."""
    if first is not last and b.draw.chance(3):
        b.make("mean", f"{last} + {first}.mean()")


def _activated(b: Builder, one: Value) -> Value:
    if one.fresh and "in_place" not in b.missing and b.draw.chance(5):  # whoever reads it later finds it changed
        name = b.draw.of("relu", "relu6", "silu", "leaky_relu")
        return b.make(f"{name}_", f"F.{name}({one}, inplace=True)", fresh=False)[0]
    name, options = b.draw.of(
        ("relu", ""), ("relu6", ""), ("hardtanh", ""), ("gelu", ""), ("silu", ""), ("leaky_relu", ""), ("sigmoid", ""),
        ("gelu", ", approximate='tanh'"), ("leaky_relu", ", 0.2"), ("softplus", ", 2.0"), ("hardsigmoid", ""),
        ("elu", ", 0.5"), ("hardtanh", ", -0.5, 2.0"),
    )  # fmt: skip
    return b.make(name, f"{'torch' if name == 'sigmoid' else 'F'}.{name}({one}{options})")[0]


@rule("networks", "convolution", "parameters", weight=5, operators=1)
def convolution_and_norm(b: Builder) -> None:
    one = image(b)
    channels = b.draw.of(2, 3, one.shape[1])
    weight = parameter(b, one, (channels, one.shape[1], *b.draw.of((1, 1), (3, 3), (2, 1))))
    bias = parameter(b, one, (channels,)) if b.draw.chance(2) else None
    first = last = b.make("conv2d", f"F.conv2d({one}, {weight}, {bias}, padding={b.draw.of(1, 0)})")[0]
    if not b.draw.chance(4):
        mean, variance = running_statistics(b, one, channels)
        scale, shift = (parameter(b, one, (channels,)) if not b.draw.chance(4) else None for _ in range(2))
        norm = f"F.batch_norm({first}, {mean}, {variance}, {scale}, {shift}, False, 0.1, {b.draw.of('1e-5', '1e-3')})"
        last = b.make("batch_norm", norm)[0]
    if b.draw.chance(2):
        last = _activated(b, last)
    if b.draw.chance(4):  # the weight of both: what is folded into it for one is wrong for the other
        b.make("conv2d", f"F.conv2d({one} * 0.5, {weight}, {bias})")
    _again(b, first, last)


@rule("networks", "convolution", "views", "parameters", weight=5, operators=3)
def padded(b: Builder) -> None:
    """A pad ahead of what has a padding of its own, which is another one: zeros are not minus infinity, and are counted
    in a mean."""
    one = image(b, b.draw.of(4, 4, 3))
    if b.draw.chance(2):
        one = b.make("neg", f"-{one}.abs() - 0.5")[0]
    if one.rank == 4 and "submodules" not in b.missing and b.draw.chance(3):
        # what comes behind what is plainer in a graph of layers than in one of functions
        pad = b.draw.of("ZeroPad2d(1)", "ZeroPad2d(1)", "ConstantPad2d(1, 1.5)")
        name, pool = b.draw.of(
            ("max_pool2d", "MaxPool2d(3, 2)"), ("max_pool2d", "MaxPool2d(2)"), ("avg_pool2d", "AvgPool2d(2)")
        )
        b.make(name, f"{b.module(f'torch.nn.Sequential(torch.nn.{pad}, torch.nn.{pool})')}({one})")
        return
    kind = b.draw.of("convolution", "max", "convolution", "max", "mean")
    sides = ["1, 1", "0, 1", "2, 0"] if one.rank == 3 else ["1, 1, 1, 1", "1, 1, 0, 0", "0, 1, 0, 1", "2, 0, 2, 0"]
    values = ["0.0", "0.0", "1.0", "-2.0"]
    if kind == "convolution":  # which pads by itself, as much on one side as on the other
        sides, values = [*sides, sides[-1]], ["0.0", "0.0", *values]
    side, value = b.draw.choice(sides), b.draw.choice(values)
    wide = b.make("pad", f"F.pad({one}, ({side}), value={value})")[0]
    stride = f"stride={b.draw.of(1, 2)}"
    size, dims = b.draw.of(3, 2), one.rank - 2
    match kind:
        case "max":
            b.make(f"max_pool{dims}d", f"F.max_pool{dims}d({wide}, {size}, {stride})")
        case "mean":
            b.make(f"avg_pool{dims}d", f"F.avg_pool{dims}d({wide}, {size}, {stride}, count_include_pad=False)")
        case _:
            weight = parameter(b, one, (2, one.shape[1], *[size] * dims))
            b.make(f"conv{dims}d", f"F.conv{dims}d({wide}, {weight}, {stride}, padding={b.draw.of(0, 1)})")


@rule("networks", "convolution", "submodules", "parameters", weight=4, operators=1)
def blocks(b: Builder) -> None:
    """Layers as submodules, in the order that compilers look for; now and then one of them is called once more, by
    itself, and what was folded into it for the first call is wrong for the second."""
    one = image(b)
    if one.dtype_name != "float32" or 0 in one.shape:
        raise Abandoned
    channels = b.draw.of(2, 3, one.shape[1])
    size = b.draw.of(1, 3, 2)
    conv = b.module(
        f"torch.nn.Conv2d({one.shape[1]}, {channels}, {size}, padding={size // 2}, bias={b.draw.of(True, False)})"
    )
    norm = b.module(f"torch.nn.BatchNorm2d({channels}{b.draw.of('', '', ', affine=False')})")
    first = b.make("conv2d", f"{conv}({one})")[0]
    last = b.make("batch_norm", f"{norm}({first})", like=f"{first} * 1", fresh=True)[0]
    activation = b.draw.of("", "ReLU()", "Hardtanh()", "ReLU6()", "PReLU()", "Hardswish()", "LeakyReLU(0.2)", "SiLU()")
    if activation:
        last = b.make("activation", f"{b.module(f'torch.nn.{activation}')}({last})", like=f"{last} * 1", fresh=True)[0]
    match b.draw.of("", "", "conv", "norm", "value"):
        case "conv":
            b.make("conv2d", f"{conv}({one} * 0.5)")
        case "norm":
            b.make("batch_norm", f"{norm}({first} * 0.5)", like=f"{first} * 1", fresh=True)
        case "value":
            b.make("add", f"{first} + {last}")


@rule("networks", "recurrent", "submodules", "parameters", "several_outputs", weight=4, operators=1)
def recurrent(b: Builder) -> None:
    one = b.pick(lambda value: value.dtype_name == "float32" and value.rank in (3, 4) and 0 not in value.shape)
    if one.rank == 4:
        (one,) = b.make("flatten", f"{one}.flatten(0, 1)")
    kind = b.draw.of("GRU", "RNN", "LSTM", "LSTM")
    both_ways = ", bidirectional=True"
    options = b.draw.of("", ", batch_first=True", ", num_layers=2", ", bias=False", both_ways, both_ways)
    batch, steps = one.shape[1], one.shape[0]
    if "batch_first" in options:
        batch, steps = steps, batch
    layers = 2 if "num_layers" in options or "bidirectional" in options else 1
    width = 6 if "bidirectional" in options else 3
    outer = (batch, steps, width) if "batch_first" in options else (steps, batch, width)
    cell = b.module(f"torch.nn.{kind}({one.shape[-1]}, 3{options})")
    state = (layers, batch, 3)
    empty = f"torch.empty({state}, device='meta')"
    like = f"(torch.empty({outer}, device='meta'), {empty})"
    begun = ""
    if b.draw.chance(2):  # a state to begin with, which stays as it is
        first = b.buffer(TensorSpec("float32", state, "contiguous", "ordinary", b.draw.seed()))
        begun = f", ({first}, {first} * 0.5)" if kind == "LSTM" else f", {first}"
    call = f"{cell}({one}{begun})"
    if kind == "LSTM":
        name, rows, last = b.name(), b.name(), b.name()
        text = f"{rows}, {last} = {call}\n{name} = {rows}.sum() + {last}[0] - {last}[1]"
        b.block("lstm", text, name, empty)
        return
    b.make(kind.lower(), call, like=like, several=2)


@rule("networks", "convolution", "matmul", "reductions", "submodules", "parameters", weight=3, operators=1)
def modules(b: Builder) -> None:
    """Layers as PyTorch has them, each with options that a compiler may pass over."""
    one = image(b, b.draw.of(3, 4))
    if one.dtype_name != "float32" or 0 in one.shape:
        raise Abandoned
    channels, width = one.shape[1], one.shape[-1]
    groups = [number for number in range(channels, 0, -1) if channels % number == 0]
    kinds = [
        ("group_norm", f"GroupNorm({b.draw.choice(groups)}, {channels}, eps={b.draw.of('1e-5', '1e-2')})"),
        ("layer_norm", f"LayerNorm({width}, elementwise_affine={b.draw.of(True, False)})"),
        ("flatten", f"Flatten({b.draw.of('', '2')})"),
        ("softmax", f"Softmax(dim={b.draw.of(1, -1, 2)})"),
        ("prelu", f"PReLU({b.draw.of(1, channels)})"),
        ("unflatten", f"Unflatten(1, (1, {channels}))"),
    ]
    if one.rank == 3:
        kinds += [
            ("multi_head_attention", f"TransformerEncoderLayer({width}, 1, 4, dropout=0.0, batch_first=True)"),
            ("conv1d", f"Conv1d({channels}, 2, 3, padding=1, padding_mode='{b.draw.of('zeros', 'circular')}')"),
            ("instance_norm", f"InstanceNorm1d({channels}, affine=True, track_running_stats={b.draw.of(False, True)})"),
            ("linear", f"Sequential(torch.nn.Linear({width}, 3), torch.nn.GELU(), torch.nn.Linear(3, {width}))"),
        ]
    else:
        kinds += [
            ("conv2d", f"Conv2d({channels}, 2, 3, padding=1, padding_mode='{b.draw.of('reflect', 'circular')}')"),
            ("conv_transpose2d", f"ConvTranspose2d({channels}, 2, 2, stride=2)"),
            ("interpolate", "Upsample(scale_factor=2, mode='bilinear')"),
            ("adaptive_avg_pool2d", "AdaptiveAvgPool2d((1, 2))"),
        ]
    name, constructor = b.draw.choice(kinds)
    b.make(name, f"{b.module(f'torch.nn.{constructor}')}({one})")


@rule("matrices", "matmul", "parameters", weight=6, operators=1)
def layers(b: Builder) -> None:
    one = factor(b, least=1)
    width = b.draw.of(3, 4, one.shape[-1])
    bias = f", {parameter(b, one, (width,))}" if b.draw.chance(2) else ""
    first = b.make("linear", f"F.linear({one}, {parameter(b, one, (width, one.shape[-1]))}{bias})")[0]
    last = _activated(b, first)
    if b.draw.chance(2):
        last = b.make("linear", f"F.linear({last}, {parameter(b, one, (one.shape[-1], width))})")[0]
        if b.draw.chance(2):
            last = b.make("add", f"{last} + {one}")[0]
    _again(b, first, last)


@rule("matrices", "matmul", "reductions", weight=4, operators=1)
def attention_written_out(b: Builder) -> None:
    one = b.pick(lambda value: value.floating and value.rank in (2, 3, 4) and 0 not in value.shape)
    while one.rank < 4 and not b.draw.chance(4):
        one = b.make("unsqueeze", f"{one}.unsqueeze(0)", fresh=False)[0]
    scale = b.draw.of(" / 3.0", " / 2.0", " * 0.5", "", f" / {one.shape[-1] ** 0.5!r}")
    keys = f"{one}.transpose(-1, -2)"
    if one.rank == 4 and one.shape[1] == one.shape[3]:  # other sides may change places as well
        keys = b.draw.of(keys, keys, f"{one}.permute(0, 3, 1, 2)")
    scores = b.make("matmul", f"({one} @ {keys}){scale}")[0]
    if not b.draw.chance(3):
        size = one.shape[-2]
        kind = b.draw.of("ordinary", "zeros", "ordinary", "masked" if "non_finite" not in b.missing else "negative")
        mask = b.buffer(TensorSpec(one.dtype_name, (size, size), "contiguous", kind, b.draw.seed()))
        scores = b.make("add", f"{scores} + {mask}")[0]
    dim = b.draw.of(-1, -1, -1, -2)
    layer = b.module(f"torch.nn.Softmax(dim={dim})") if b.draw.chance(3) else ""
    rows = b.make("softmax", f"{layer}({scores})" if layer else f"torch.softmax({scores}, dim={dim})")[0]
    last = b.make("matmul", f"{rows} @ {one}")[0]
    _again(b, rows, last)


@rule("reductions", "reductions", "elementwise", "broadcasting", weight=3, operators=1)
def normalised_by_hand(b: Builder) -> None:
    one = b.float_value(least=1)
    dim = b.dim(one)
    match b.draw.of("softmax", "layer_norm", "rms_norm", "logsumexp", "length"):
        case "softmax":
            powers = b.make("exp", f"({one} - {one}.amax(dim={dim}, keepdim=True)).exp()")[0]
            b.make("div", f"{powers} / {powers}.sum(dim={b.draw.of(dim, dim, 0)}, keepdim=True)")
        case "layer_norm":
            centred = b.make("sub", f"{one} - {one}.mean(dim={dim}, keepdim=True)")[0]
            variance = b.draw.of(
                f"{centred}.pow(2).mean(dim={dim}, keepdim=True)", f"{one}.var(dim={dim}, keepdim=True)"
            )
            b.make("rsqrt", f"{centred} * torch.rsqrt({variance} + {b.draw.of('1e-5', '1e-2')})")
        case "rms_norm":
            b.make("rsqrt", f"{one} * torch.rsqrt(({one} * {one}).mean(dim={dim}, keepdim=True) + 1e-5)")
        case "length":
            lengths = b.draw.of(f"{one}.norm(dim={dim}, keepdim=True)", f"{one}.square().sum(dim={dim}, keepdim=True)")
            unit = b.make("div", f"{one} / {lengths}")[0]
            if "parameters" not in b.missing:
                b.make("mul", f"{unit} * {parameter(b, one, one.shape[-1:])}")
        case _:
            most = b.make("amax", f"{one}.amax(dim={dim}, keepdim=True)")[0]
            b.make("log", f"({one} - {most}).exp().sum(dim={dim}, keepdim=True).log() + {most}")


@rule("elementwise", "elementwise", weight=2, operators=1)
def activation_written_out(b: Builder) -> None:
    one = b.float_value()
    cube = b.draw.of(f"{one} ** 3", f"torch.pow({one}, 3.0)", f"{one} * {one} * {one}")
    name, text = b.draw.of(
        ("tanh", f"0.5 * {one} * (1.0 + torch.tanh(0.7978845608 * ({one} + 0.044715 * {cube})))"),
        ("erf", f"{one} * 0.5 * (1.0 + torch.erf({one} / 1.41421))"),
        ("sigmoid", f"{one} * torch.sigmoid({b.draw.of('1.702', '1.0')} * {one})"),
        ("clamp", f"{one} * torch.clamp({one} + 3.0, 0.0, 6.0) / 6.0"),
        ("pow", f"torch.relu({one}) ** 2"),
    )
    b.make(name, text)


@rule("reductions", "reductions", "mixed_dtypes", weight=2, operators=1)
def in_another_dtype(b: Builder) -> None:
    one = b.pick(lambda value: not value.dtype.is_complex and value.rank >= 1)
    wider = b.draw.of("float64", "float32") if "float64" not in b.missing else "float32"
    name = b.draw.of("mean", "sum", "cumsum", "prod", "mean", "softmax")
    owner = "F" if name == "softmax" else "torch"
    b.make(name, f"{owner}.{name}({one}, dim={b.dim(one)}, dtype=torch.{wider})")


@rule("views", "views", weight=5, operators=1)
def apart_and_together(b: Builder) -> None:
    one = given = b.pick(lambda value: value.rank >= 1)
    dim = b.dim(one)
    size = one.shape[dim]
    if size < 2:
        raise Abandoned
    if b.draw.chance(2):  # what is taken apart is used by nothing else, and the parts live on in its memory
        one = b.make("clone", f"{given}.clone()" if given.dtype_name == "bool" else f"{given} * 2")[0]
    how = b.draw.of(
        f"torch.split({one}, [1, {size - 1}], dim={dim})",
        f"torch.tensor_split({one}, 2, dim={dim})",
        f"torch.chunk({one}, 2, dim={dim})",
    )
    first, second = b.make("split", how, several=2)
    other = b.make("add", f"{given} + 1")[0] if one is not given else None
    turned = f"{second}, {first}"
    parts = b.draw.of(f"{first}, {second}", turned, turned, f"{first}, {first}", f"{second}")
    joined = b.make("cat", f"torch.cat([{parts}], dim={b.draw.of(dim, dim, 0)})")[0]
    if other is not None and not b.draw.chance(4):
        b.make("add", f"{joined} + {other}.sum()")
    elif b.draw.chance(3):
        b.make("slice", f"{joined}.narrow({dim}, 0, 1)")


@rule("views", "views", "elementwise", weight=3, operators=1)
def seen_otherwise(b: Builder) -> None:
    """A view is read when what it is a view of has long been used, and others of its size have come since."""
    one = b.make("mul", f"{b.float_value(least=1)} * 2")[0]
    name, seen = b.draw.of(("reshape", ".reshape(-1)"), ("unsqueeze", ".unsqueeze(0)"), ("flatten", ".flatten(0)"))
    view = b.make(name, f"{one}{seen}", fresh=False)[0]
    second = b.make("sigmoid", f"torch.sigmoid({one})")[0]
    third = b.make("tanh", f"torch.tanh({second}) + 0.5")[0]
    b.make("sub", f"{view} - {third}{seen}")


@rule("dtypes", "mixed_dtypes", "integers", weight=3, operators=1)
def dtypes_there_and_back(b: Builder) -> None:
    one = b.pick(lambda value: value.floating)
    small = b.make("clamp", f"torch.nan_to_num({one}).clamp(-30, 30)")[0]
    narrow = b.draw.of("int32", "int64", "int8", "bool") if "booleans" not in b.missing else "int32"
    short = b.make("to", f"({small} * {b.draw.of('1', '3.7')}).to(torch.{narrow})", fresh=False)[0]
    b.make("to", b.draw.of(f"{short}.to({small}.dtype)", f"{short}.to(torch.float32)", f"{short}.float()"), fresh=False)


@rule("dtypes", "elementwise", "views", weight=3, operators=1)
def nothing_converted(b: Builder) -> None:
    """What is converted to what it is already is the same tensor, which somebody else has, and no copy to write in."""
    one = b.pick(lambda value: value.floating)
    name, text = b.draw.of(
        ("to", f"{one}.to({one}.dtype)"),
        ("contiguous", f"{one}.contiguous()"),
        ("type_as", f"{one}.type_as({one})"),
        ("expand_as", f"{one}.expand_as({one})"),
    )
    same = b.make(name, text, fresh=False)[0]
    name, after = b.draw.of(("mul", f"{same} * 0.5"), ("relu", f"torch.relu({same})"), ("sub", f"{same} - 1.0"))
    b.make(name, after)


@rule("elementwise", "elementwise", "booleans", weight=4, operators=1)
def ends_in_another_dtype(b: Builder) -> None:
    """A chain of floats whose last operator gives something else, as detectors and classifiers end."""
    one = b.float_value()
    inner = b.draw.of(f"{one} * 0.5 + 1.0", f"{one} + {one}", f"torch.sigmoid({one})", f"torch.relu({one}) - 0.5")
    chain = b.make("mul", inner)[0]
    other = b.draw.of("0.5", str(one))
    name, text = b.draw.of(
        ("gt", f"{chain} > {other}"),
        ("le", f"{chain} <= {other}"),
        ("ne", f"{chain} != {other}"),
        ("isnan", f"torch.isnan({chain})"),
        ("logical_and", f"({chain} > 0.5) & ({one} < 1.0)"),
    )
    b.make(name, text)


@rule("elementwise", "elementwise", "several_outputs", weight=2, operators=1)
def the_same_twice(b: Builder) -> None:
    """Two equal expressions are two tensors: who writes to one of them does not change the other."""
    one = b.float_value()
    text = b.draw.of(f"{one} * 2.0", f"torch.exp({one})", f"{one} + 1.0", f"torch.relu({one})")
    for _ in range(2):
        b.make("mul", text)


@rule("elementwise", "elementwise", "views", traits=("trains",), weight=3, operators=1)
def stopped(b: Builder) -> None:
    """What no gradient goes through, beside what one goes through: forward both are the same."""
    one = b.float_value()
    name, text = b.draw.of(
        ("detach", f"{one} + ({one}.round() - {one}).detach()"),
        ("detach", f"{one} * torch.sigmoid({one}).detach()"),
        ("detach", f"({one} - {one}.detach().mean()) ** 2"),
    )
    b.make(name, text)


#: How an expression is changed a little: what is found, and what takes its place.
_NEARLY = (
    (r"(?<=[-+*/%=(, ] )(-?\d+)(?=$|[),])", r"\1.0"),
    (r"(?<=[-+*/%=(, ] )(-?\d+)\.0(?=$|[),])", r"\1"),
    (r"(?<=[-+*/%=(, ] )(\d[\d.]*)(?=$|[),])", r"-\1"),
    (r"padding=1, dilation=1", "padding=2, dilation=2"),
    (r"(?<=dim=)-?\d", "0"),
    (r"(?<=dim=)-?\d", "-1"),
    (r"^([\w.]+) (\S+) ([\w.]+)$", r"\3 \2 \1"),
    # no flag that makes it random, or write to what a norm keeps
    (r"\b(keepdim|descending|ceil_mode|count_include_pad|is_causal)=False", r"\1=True"),
    (r"\b(keepdim|descending|ceil_mode|count_include_pad|is_causal)=True", r"\1=False"),
    (r"$", ""),
)
#: So many of them, the first, change the type of a number.
_OF_TYPES = 2


@rule("elementwise", weight=5, operators=6)
def nearly_again(b: Builder) -> None:
    """An expression that is there already, with another number, dimension or order: who looks for equal ones to compute
    them once must see what differs. Or the same, after which the one that is there may have been written to."""
    found = [line for line in b.lines if line.text.startswith("v") and "\n" not in line.text and " = " in line.text]
    line = b.draw.choice(found[-6:]) if found else None
    names, _, expression = line.text.partition(" = ") if line else ("", "", "")
    if line is None or "," in names or "self.m" in expression:
        raise Abandoned
    changes = _NEARLY[_OF_TYPES:] if "mixed_dtypes" in b.missing else _NEARLY
    ways = [(pattern, by) for pattern, by in changes if re.search(pattern, expression)]
    pattern, by = b.draw.choice(ways)
    b.make(line.operator, re.sub(pattern, by, expression, count=1))
