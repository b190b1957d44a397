"""Statements that networks are made of: convolutions, pooling, normalisation, embeddings, dropout."""

from __future__ import annotations

import torch

from conformance.generate.grammar.builder import Abandoned, Builder, Value
from conformance.generate.grammar.matrices import parameter
from conformance.generate.grammar.rules import rule
from conformance.generate.program import TensorSpec


def image(b: Builder, rank: int = 4) -> Value:
    """A value as convolutions take it: one that is there, or reshaped to it."""
    try:
        return b.float_value(rank=rank)
    except Abandoned:
        one = b.float_value(least=1)
    shape = {3: "1, 1, -1", 4: "1, 1, 1, -1"}[rank]
    return b.make("reshape", f"{one}.reshape({shape})")[0]


def running_statistics(b: Builder, one: Value, channels: int) -> tuple[Value, Value]:
    """A mean and a variance for each channel, as a norm keeps them."""
    mean, variance = (
        b.buffer(TensorSpec(one.dtype_name, (channels,), "contiguous", kind, b.draw.seed()))
        for kind in ("ordinary", "positive")
    )
    return mean, variance


@rule("networks", "convolution", "parameters", weight=4)
def convolution(b: Builder) -> None:
    rank = b.draw.of(4, 4, 3)
    one = image(b, rank)
    groups = b.draw.of(1, 1, one.shape[1] or 1)
    out = groups * b.draw.of(1, 2, 3)
    kernel = [b.draw.of(1, 3, 2)] * (rank - 2)
    strides, paddings = ["1", "2"], ["1", "0", "2", "'same'"]
    if rank == 4 and b.draw.chance(3):  # what holds for one side is wrong for the other
        kernel = list(b.draw.of((1, 3), (3, 2)))
        strides, paddings = ["(2, 1)", "(1, 2)"], ["(1, 0)", "(0, 2)"]
    weight = parameter(b, one, (out, one.shape[1] // groups, *kernel))
    bias = parameter(b, one, (out,))
    extra = f"stride={b.draw.choice(strides)}, padding={b.draw.choice(paddings)}, dilation={b.draw.of(1, 1, 2)}"
    given = f"{one}, {weight}, {bias if b.draw.chance(2) else None}"
    b.make(f"conv{rank - 2}d", f"F.conv{rank - 2}d({given}, {extra}, groups={groups})")


@rule("networks", "convolution", "parameters", weight=2)
def convolution_of_the_same_size(b: Builder) -> None:
    """What is added for the result to be as large as the image is uneven where the kernel has no middle."""
    rank = b.draw.of(4, 3)
    one = image(b, rank)
    weight = parameter(b, one, (b.draw.of(1, 2), one.shape[1], *(b.draw.of(2, 4, 3, 1) for _ in range(rank - 2))))
    b.make(f"conv{rank - 2}d", f"F.conv{rank - 2}d({one}, {weight}, padding='same', dilation={b.draw.of(1, 1, 2)})")


@rule("networks", "convolution", "parameters", weight=2)
def transposed_convolution(b: Builder) -> None:
    rank = b.draw.of(4, 4, 3)
    one = image(b, rank)
    groups = b.draw.of(1, 1, one.shape[1] or 1)
    out = b.draw.of(1, 2)
    weight = parameter(b, one, (one.shape[1], out, *[b.draw.of(2, 3)] * (rank - 2)))
    bias = parameter(b, one, (groups * out,)) if b.draw.chance(2) else None
    stride, more = b.draw.of(("1", "0"), ("2", "0"), ("2", "1"), ("3", "2"))
    extra = (
        f"stride={stride}, padding={b.draw.of('0', '1')}, output_padding={more}, dilation={b.draw.of('1', '1', '2')}"
    )
    name = f"conv_transpose{rank - 2}d"
    b.make(name, f"F.{name}({one}, {weight}, {bias}, {extra}, groups={groups})")


@rule("networks", "convolution", weight=4, operators=5)
def pool(b: Builder) -> None:
    one = image(b)
    counted = f"count_include_pad={b.draw.of(True, False)}"
    ceil = f"ceil_mode={b.draw.of(True, True, False)}"
    name, text = b.draw.of(
        ("max_pool2d", f"F.max_pool2d({one}, 3, stride=2, padding=1)"),
        ("max_pool2d", f"F.max_pool2d({one}, 2, stride=1, padding=1)"),
        ("max_pool2d", f"F.max_pool2d({one}, {b.draw.of(1, 2, 3)}, {ceil})"),
        ("max_pool2d", f"F.max_pool2d({one}, 2, stride=1, dilation=2)"),
        ("max_pool2d", f"F.max_pool2d({one}, (1, 2), stride=(1, 2))"),
        ("avg_pool2d", f"F.avg_pool2d({one}, 3, stride=2, padding=1, {counted}, {ceil})"),
        ("avg_pool2d", f"F.avg_pool2d({one}, 2, stride=1, padding=1, {counted})"),
        ("avg_pool2d", f"F.avg_pool2d({one}, {b.draw.of(2, 3)}, {ceil})"),
        ("avg_pool2d", f"F.avg_pool2d({one}, (2, 1), stride=(2, 1))"),
        ("avg_pool2d", f"F.avg_pool2d({one}, 2, padding=1, ceil_mode=True, divisor_override=3)"),
    )
    b.make(name, text)


@rule("networks", "convolution", weight=2, operators=2)
def pool_to_bins(b: Builder) -> None:
    """As many bins as there are to be, which are of one size where that divides, and overlap where it does not."""
    one = image(b)
    name, text = b.draw.of(
        ("adaptive_avg_pool2d", f"F.adaptive_avg_pool2d({one}, {b.draw.of('1', '(2, 3)', '3', '(1, 4)', '2')})"),
        ("adaptive_max_pool2d", f"F.adaptive_max_pool2d({one}, {b.draw.of('1', '(2, 3)', '2')})"),
    )
    b.make(name, text)


@rule("networks", "convolution", weight=2, operators=5)
def other_pools(b: Builder) -> None:
    one = image(b, 3)
    name, text = b.draw.of(
        ("max_pool1d", f"F.max_pool1d({one}, 2, ceil_mode={b.draw.of(False, True)})"),
        ("avg_pool1d", f"F.avg_pool1d({one}, 2, stride=1, padding=1, count_include_pad={b.draw.of(True, False)})"),
        ("adaptive_avg_pool1d", f"F.adaptive_avg_pool1d({one}, {b.draw.of(1, 2)})"),
        ("max_pool2d_with_indices", f"F.max_pool2d({one}, {b.draw.of('2', '(1, 2)')}, return_indices=True)"),
        ("lp_pool2d", f"F.lp_pool2d({one}, 2.0, {b.draw.of('2', '(1, 2)')})"),
    )
    b.make(name, text, several=2 if name.endswith("indices") else 1)


@rule("networks", "convolution", "views", "parameters", weight=2, operators=5)
def rearranged(b: Builder) -> None:
    """What moves elements between the channels and the places of an image, or takes them from between its places."""
    one = image(b)
    corners = b.draw.of(True, False)
    theta = b.buffer(TensorSpec(one.dtype_name, (1, 2, 3), "contiguous", "ordinary", b.draw.seed()))
    grid = f"F.affine_grid({theta}.expand({one}.shape[0], 2, 3), list({one}.shape), {corners})"
    beyond = b.draw.of("zeros", "border", "reflection")
    several = f"torch.cat([{one}, {one} * 2, {one} - 1, {one} * 0.5, {one} * 3, {one} - 2, {one} + 1, {one} * 4], 1)"
    name, text = b.draw.of(
        ("pixel_shuffle", f"F.pixel_shuffle({several}, 2)"),
        ("pixel_unshuffle", f"F.pixel_unshuffle({one}.repeat(1, 1, 2, 2), 2)"),
        ("channel_shuffle", f"F.channel_shuffle({several}, {b.draw.of(2, 4)})"),
        ("im2col", f"F.unfold({one}, 2, padding={b.draw.of(0, 1)}, stride={b.draw.of(1, 2)})"),
        ("col2im", f"F.fold(F.unfold({one}, 2), ({one}.shape[2], {one}.shape[3]), 2)"),
        ("grid_sampler", f"F.grid_sample({one}, {grid}, padding_mode='{beyond}', align_corners={corners})"),
    )
    if name == "pixel_unshuffle" and 0 in one.shape:
        raise Abandoned  # eager PyTorch gives other sizes than it documents
    b.make(name, text)


@rule("networks", "convolution", "parameters", weight=3)
def batch_norm(b: Builder) -> None:
    one = b.pick(lambda value: str(value.dtype) == "torch.float32" and value.rank in (2, 4) and value.shape[1] > 0)
    name = b.module(f"torch.nn.BatchNorm{'1d' if one.rank == 2 else '2d'}({one.shape[1]})")
    b.make("batch_norm", f"{name}({one})", like=f"{one} * 1", fresh=True)


def _off_centre(b: Builder, one: Value) -> Value:
    """A value, now and then with a mean that is large beside its spread."""
    return b.make("add", f"{one} + {b.draw.of('300.0', '-40.0')}")[0] if b.draw.chance(4) else one


@rule("networks", "convolution", "parameters", weight=2)
def layer_norm(b: Builder) -> None:
    one = _off_centre(b, b.float_value(least=1))
    shape = one.shape[-b.draw.of(1, 1, 2) :]
    weight, bias = (parameter(b, one, shape) if b.draw.chance(2) else None for _ in range(2))
    b.make("layer_norm", f"F.layer_norm({one}, {shape}, {weight}, {bias}, {b.draw.of('1e-5', '1e-3', '1e-12')})")


@rule("networks", "convolution", "parameters", weight=2, operators=3)
def other_norms(b: Builder) -> None:
    one = _off_centre(b, b.float_value(least=3))
    channels = one.shape[1]
    weight, bias = (parameter(b, one, (channels,)) if b.draw.chance(2) else None for _ in range(2))
    eps = b.draw.of("1e-5", "1e-2", "1e-12")
    groups = b.draw.of(1, channels, 2)
    name, text = b.draw.of(
        ("group_norm", f"F.group_norm({one}, {groups}, {weight}, {bias}, {eps})"),
        ("instance_norm", f"F.instance_norm({one}, None, None, {weight}, {bias}, eps={eps})"),
        ("rms_norm", f"F.rms_norm({one}, ({one.shape[-1]},), eps={eps})"),
        ("local_response_norm", f"F.local_response_norm({one}, {b.draw.of(2, 3)})"),
    )
    b.make(name, text)


@rule("networks", "views", weight=2)
def pad(b: Builder) -> None:
    one = b.float_value(least=1)
    amounts = b.draw.of("(1, 2)", "(0, 3)", "(-1, 1)", "(2, 1, 0, 1)", f"(0, -{one}.shape[-1] % 4)")
    modes = ["mode='constant'", "mode='replicate'", "mode='reflect'"]
    # where nothing is left to be wrapped around PyTorch gives memory that nobody wrote
    modes += ["mode='circular'"] * ("-" not in amounts)
    mode = b.draw.of(f"value={b.draw.of('0.0', '1.5')}", *modes)
    b.make("pad", f"F.pad({one}, {amounts}, {mode})")


@rule("networks", "views", "integers", "parameters", weight=6)
def embedding(b: Builder) -> None:
    try:
        index = b.pick(lambda value: value.integral)
    except Abandoned:
        (index,) = b.make("gt", f"({b.float_value()} > 0).long()")
    dtype = b.draw.of("float32", "float64") if "float64" not in b.missing else "float32"
    shape = (b.draw.of(4, 7), b.draw.of(3, 2))
    table = b.parameter(TensorSpec(dtype, shape, "contiguous", "ordinary", b.draw.seed(), not b.draw.chance(6)))
    bound = "" if b.draw.chance(4) else f" % {table}.shape[0]"
    if bound and b.draw.chance(6):
        bound += " - 1"  # below zero, which PyTorch refuses
    padding = f", padding_idx={b.draw.of(0, 1, -1)}" if b.draw.chance(2) else ""
    rows = f"{index}.long(){bound}"
    if bound and b.draw.chance(3):
        rows = f"torch.where({index} < 1000, {rows}, {index}.long())"  # refused for the few that are larger
    if index.rank == 2 and b.draw.chance(2):
        b.make(
            "embedding_bag",
            f"F.embedding_bag({rows}, {table}, mode='{b.draw.of('mean', 'sum', 'max')}')",
        )
        return
    scale = b.draw.of("", "", " * 4.0")  # which a compiler may multiply the table by
    b.make("embedding", f"F.embedding({rows}, {table}{padding}){scale}")


@rule("networks", "convolution", weight=3, operators=2)
def interpolate(b: Builder) -> None:
    one = image(b)
    common = ["mode='nearest'", "mode='bilinear', align_corners=False"]
    modes = ["mode='nearest'", "mode='nearest-exact'", "mode='area'"]
    modes += [f"mode='{kind}', align_corners={flag}" for kind in ("bilinear", "bicubic") for flag in (False, True)]
    size = b.draw.of(
        "scale_factor=2.0", "scale_factor=0.5", "scale_factor=1.5", "scale_factor=1.3", "size=(3, 4)", "size=(1, 7)",
        "size=(4, 6)", "size=7", "scale_factor=1.7", "scale_factor=(2.3, 1.6)", "scale_factor=0.7",
    )  # fmt: skip
    mode = b.draw.choice(modes if b.draw.chance(2) else common)
    b.make("interpolate", f"F.interpolate({one}, {size}, {mode})")


@rule("networks", "in_place", "elementwise", "input_mutation", traits=("keeps_writes", "trains"), weight=4, operators=1)
def running_statistic(b: Builder) -> None:
    """A buffer is used, and brought up to date after that: what the backward pass needs is of what it was before."""
    one = b.float_value(least=1)
    kept = b.buffer(TensorSpec(one.dtype_name, one.shape[-1:], "contiguous", "ordinary", b.draw.seed()))
    name, text = b.draw.of(("sigmoid", f"torch.sigmoid({kept})"), ("add", f"{kept} * 2 + 1"), ("cos", f"{kept}.cos()"))
    (scale,) = b.make(name, text)
    b.make("mul", f"{one} * {scale}")
    after = b.draw.of(f"{kept}.mul_(0.5).add_(1)", f"{kept}.copy_({kept} * 0.5 - {scale})")
    b.write("copy_" if ".copy_" in after else "mul_", after, "writes")


@rule(
    "networks", "in_place", "elementwise", "integers", "input_mutation", "parameters", "views", "broadcasting",
    traits=("keeps_writes",), weight=3, operators=1,
)  # fmt: skip
def counted_before_a_look_up(b: Builder) -> None:
    """A counter that has gone up when what is looked up is not there has gone up once."""
    index = b.pick(lambda value: value.origin == "argument" and value.dtype in (torch.int64, torch.int32))
    count = b.buffer(TensorSpec("float32", (1,), "contiguous", "ordinary", b.draw.seed()))
    table = b.parameter(TensorSpec("float32", (4, 3), "contiguous", "ordinary", b.draw.seed(), grad=True))
    b.write("add_", f"{count}.add_(1)", "writes")
    rows = f"torch.where({index} < 1000, {index} % {table}.shape[0], {index})"
    b.make("embedding", f"F.embedding({rows}, {table}) + {count}")


@rule("networks", "recurrent", "submodules", "parameters", "several_outputs", weight=3, operators=3)
def cell(b: Builder) -> None:
    """One step of a recurrent layer, from a state or from none."""
    one = b.pick(lambda value: value.dtype_name == "float32" and value.rank >= 2 and 0 not in value.shape)
    if one.rank > 2:
        (one,) = b.make("flatten", f"{one}.flatten(0, -2)")
    kind = b.draw.of("GRUCell", "LSTMCell", "RNNCell")
    step = b.module(f"torch.nn.{kind}({one.shape[1]}, 3{b.draw.of('', ', bias=False')})")
    begun = ""
    if b.draw.chance(2):
        state = b.buffer(TensorSpec("float32", (one.shape[0], 3), "contiguous", "ordinary", b.draw.seed()))
        begun = f", ({state}, {state} * 0.5)" if kind == "LSTMCell" else f", {state}"
    empty = f"torch.empty(({one.shape[0]}, 3), device='meta')"
    if kind == "LSTMCell":
        b.make("lstm_cell", f"{step}({one}{begun})", like=f"({empty}, {empty})", several=2)
    else:
        b.make("gru_cell" if kind == "GRUCell" else "rnn_cell", f"{step}({one}{begun})", like=empty)


def _of_many(b: Builder) -> Value:
    """A value of so many elements that two draws of them are not the same by accident."""
    one = b.pick(lambda value: value.floating and 0 not in value.shape)
    return one if one.meta.numel() >= 64 else b.make("repeat", f"{one}.flatten().repeat(64)")[0]


@rule("networks", "random_numbers", "views", traits=("trains",))
def dropout(b: Builder) -> None:
    one = _of_many(b)
    # two of one tensor are two draws, also where they look alike
    rates, behind = b.draw.of(("0.5",), ("0.1",), ("0.5", "0.5"), ("0.5", "0.1")), b.draw.of("", " * 2.0")
    training = b.draw.of("self.training", "self.training", "True")
    for rate in rates:
        b.make("dropout", f"F.dropout({one}, {rate}, training={training}){behind}", fresh=False)
    b.marks.add("random")


@rule("networks")
def dropout_in_evaluation(b: Builder) -> None:
    b.make("dropout", f"F.dropout({b.float_value()}, 0.5, training=False)", fresh=False)


@rule("networks", "random_numbers", "views", traits=("trains",))
def random_like(b: Builder) -> None:
    one = _of_many(b)
    name, text = b.draw.of(
        ("rand_like", f"torch.rand_like({one})"),
        ("randn_like", f"torch.randn_like({one})"),
        ("bernoulli", f"torch.bernoulli(torch.full_like({one}, 0.5))"),
        ("rand", f"torch.rand({one}.numel()).reshape({one}.shape)"),
    )
    if b.draw.chance(3):
        # used in another order than they are drawn in
        first, second = b.make(name, text)[0], b.make("rand", f"torch.rand({one}.shape[0])")[0]
        b.make("add", f"{one} + {second}.mean()")
        b.make("add", f"{one} + {first}")
    else:
        for _ in range(b.draw.of(1, 1, 2)):
            b.make(name, f"{one} + {text}")
    b.marks.add("random")
