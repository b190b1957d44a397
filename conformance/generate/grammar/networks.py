"""Statements that networks are made of: convolutions, pooling, normalisation, embeddings, dropout."""

from __future__ import annotations

from conformance.generate.grammar.builder import Abandoned, Builder, Value
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


@rule("networks", "convolution", "parameters", weight=4)
def convolution(b: Builder) -> None:
    rank = b.draw.of(4, 4, 3)
    one = image(b, rank)
    groups = b.draw.of(1, 1, one.shape[1] or 1)
    out = groups * b.draw.of(1, 2, 3)
    kernel = b.draw.of(1, 3, 2)
    shape = (out, one.shape[1] // groups, *([kernel] * (rank - 2)))
    weight = b.parameter(
        TensorSpec(one.dtype_name, shape, "contiguous", "ordinary", b.draw.seed(), not b.draw.chance(6))
    )
    bias = b.parameter(
        TensorSpec(one.dtype_name, (out,), "contiguous", "ordinary", b.draw.seed(), not b.draw.chance(6))
    )
    extra = f"stride={b.draw.of(1, 2)}, padding={b.draw.of(1, 0, 2)}, dilation={b.draw.of(1, 1, 2)}, groups={groups}"
    b.make(f"conv{rank - 2}d", f"F.conv{rank - 2}d({one}, {weight}, {bias if b.draw.chance(2) else None}, {extra})")


@rule("networks", "convolution", "parameters")
def transposed_convolution(b: Builder) -> None:
    one = image(b)
    shape = (one.shape[1], b.draw.of(1, 2), 2, 2)
    weight = b.parameter(
        TensorSpec(one.dtype_name, shape, "contiguous", "ordinary", b.draw.seed(), not b.draw.chance(6))
    )
    b.make("conv_transpose2d", f"F.conv_transpose2d({one}, {weight}, stride={b.draw.of(1, 2)})")


@rule("networks", "convolution", weight=3, operators=5)
def pool(b: Builder) -> None:
    one = image(b)
    name, text = b.draw.of(
        ("max_pool2d", f"F.max_pool2d({one}, 2, stride=1, padding=1)"),
        ("max_pool2d", f"F.max_pool2d({one}, {b.draw.of(1, 2, 3)}, ceil_mode={b.draw.of(True, True, False)})"),
        ("max_pool2d", f"F.max_pool2d({one}, 2, stride=1, dilation=2)"),
        ("avg_pool2d", f"F.avg_pool2d({one}, 2, stride=1, padding=1, count_include_pad={b.draw.of(True, False)})"),
        ("avg_pool2d", f"F.avg_pool2d({one}, {b.draw.of(2, 3)}, ceil_mode={b.draw.of(True, True, False)})"),
        ("avg_pool2d", f"F.avg_pool2d({one}, 2, padding=1, ceil_mode=True, divisor_override=3)"),
        ("adaptive_avg_pool2d", f"F.adaptive_avg_pool2d({one}, {b.draw.of('1', '(2, 3)')})"),
        ("adaptive_max_pool2d", f"F.adaptive_max_pool2d({one}, 1)"),
    )
    b.make(name, text)


@rule("networks", "convolution", "parameters", weight=2)
def batch_norm(b: Builder) -> None:
    one = b.pick(lambda value: str(value.dtype) == "torch.float32" and value.rank in (2, 4) and value.shape[1] > 0)
    name = b.module(f"torch.nn.BatchNorm{'1d' if one.rank == 2 else '2d'}({one.shape[1]})")
    b.make("batch_norm", f"{name}({one})", like=f"{one} * 1", fresh=True)


@rule("networks", "convolution", "parameters", weight=2)
def layer_norm(b: Builder) -> None:
    one = b.float_value(least=1)
    width = one.shape[-1]
    weight = b.parameter(
        TensorSpec(one.dtype_name, (width,), "contiguous", "ordinary", b.draw.seed(), not b.draw.chance(6))
    )
    b.make("layer_norm", f"F.layer_norm({one}, ({width},), {b.draw.of('None', str(weight))})")


@rule("networks", "convolution", operators=3)
def other_norms(b: Builder) -> None:
    one = b.float_value(least=3)
    name, text = b.draw.of(
        ("group_norm", f"F.group_norm({one}, 1)"),
        ("instance_norm", f"F.instance_norm({one})"),
        ("rms_norm", f"F.rms_norm({one}, ({one.shape[-1]},))"),
    )
    b.make(name, text)


@rule("networks", "views", weight=2)
def pad(b: Builder) -> None:
    one = b.float_value(least=1)
    amounts = b.draw.of("(1, 2)", "(0, 3)", "(-1, 1)", "(2, 1, 0, 1)")
    mode = b.draw.of(f"value={b.draw.of('0.0', '1.5')}", "mode='constant'", "mode='replicate'", "mode='reflect'")
    b.make("pad", f"F.pad({one}, {amounts}, {mode})")


@rule("networks", "views", "integers", "parameters", weight=2)
def embedding(b: Builder) -> None:
    try:
        index = b.pick(lambda value: value.integral)
    except Abandoned:
        (index,) = b.make("gt", f"({b.float_value()} > 0).long()")
    dtype = b.draw.of("float32", "float64") if "float64" not in b.missing else "float32"
    table = b.parameter(
        TensorSpec(
            dtype, (b.draw.of(4, 7), b.draw.of(3, 2)), "contiguous", "ordinary", b.draw.seed(), not b.draw.chance(6)
        )
    )
    bound = "" if b.draw.chance(4) else f" % {table}.shape[0]"
    if bound and b.draw.chance(6):
        bound += " - 1"  # below zero, which PyTorch refuses
    padding = f", padding_idx={b.draw.of(0, 1, -1)}" if b.draw.chance(2) else ""
    b.make("embedding", f"F.embedding({index}.long(){bound}, {table}{padding})")


@rule("networks", "convolution")
def interpolate(b: Builder) -> None:
    one = image(b)
    mode = b.draw.of("mode='nearest'", "mode='bilinear', align_corners=False", "mode='bilinear', align_corners=True")
    b.make("interpolate", f"F.interpolate({one}, scale_factor=2.0, {mode})")


@rule("networks", "in_place", "elementwise", "input_mutation", traits=("keeps_writes", "trains"))
def running_statistic(b: Builder) -> None:
    """A buffer is used, and brought up to date after that: what the backward pass needs is of what it was before."""
    one = b.float_value(least=1)
    kept = b.buffer(TensorSpec(one.dtype_name, one.shape[-1:], "contiguous", "ordinary", b.draw.seed()))
    name, text = b.draw.of(("sigmoid", f"torch.sigmoid({kept})"), ("add", f"{kept} * 2 + 1"), ("cos", f"{kept}.cos()"))
    (scale,) = b.make(name, text)
    b.make("mul", f"{one} * {scale}")
    after = b.draw.of(f"{kept}.mul_(0.5).add_(1)", f"{kept}.copy_({kept} * 0.5 - {scale})")
    b.write("copy_" if ".copy_" in after else "mul_", after, "writes")


def _of_many(b: Builder) -> Value:
    """A value of so many elements that two draws of them are not the same by accident."""
    one = b.pick(lambda value: value.floating and 0 not in value.shape)
    return one if one.meta.numel() >= 64 else b.make("repeat", f"{one}.flatten().repeat(64)")[0]


@rule("networks", "random_numbers", "views", traits=("trains",))
def dropout(b: Builder) -> None:
    one = _of_many(b)
    # two of one tensor are two draws
    for _ in range(b.draw.of(1, 1, 2)):
        b.make("dropout", f"F.dropout({one}, {b.draw.of('0.5', '0.1')}, training=self.training)", fresh=False)
    b.marks.add("random")


@rule("networks")
def dropout_in_evaluation(b: Builder) -> None:
    b.make("dropout", f"F.dropout({b.float_value()}, 0.5, training=False)", fresh=False)


@rule("networks", "random_numbers", "views", traits=("trains",))
def random_like(b: Builder) -> None:
    one = _of_many(b)
    name = b.draw.of("rand_like", "randn_like")
    for _ in range(b.draw.of(1, 1, 2)):
        b.make(name, f"{one} + torch.{name}({one})")
    b.marks.add("random")
