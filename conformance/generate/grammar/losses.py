"""Statements that say how far a result is from what it should be: losses, and distances."""

from __future__ import annotations

from conformance.generate.grammar.builder import Builder
from conformance.generate.grammar.rules import rule
from conformance.generate.program import TensorSpec


@rule("reductions", "reductions", operators=4)
def losses(b: Builder) -> None:
    one = b.float_value()
    if "matmul" not in b.missing and one.rank == 2 and b.draw.chance(3):
        (one,) = b.make("matmul", f"{one} @ {one}.t()")  # autocast gives it in fewer bits, and the loss in more
    other = b.pick(lambda value: value.floating and value.shape == one.shape)
    name = b.draw.of("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
    options = b.draw.of("", ", reduction='sum'", ", reduction='none'")
    if name == "smooth_l1_loss" and b.draw.chance(2):
        options += f", beta={b.draw.of('0.25', '2.0', '0.0')}"
    if name == "huber_loss" and b.draw.chance(2):
        options += f", delta={b.draw.of('0.25', '2.0')}"
    b.make(name, f"F.{name}({one}, {other}{options})")


@rule("reductions", "reductions", "integers", weight=6, operators=2)
def cross_entropy(b: Builder) -> None:
    """Of rows, or of the places of pictures, some of which may be padded: these count in no mean."""
    one = b.pick(lambda value: value.floating and value.rank in (2, 3, 4))
    index = b.make("argmax", f"torch.argmax({one}, dim=1)")[0]
    padded = "booleans" not in b.missing and b.draw.chance(3)
    if padded:
        index = b.make("masked_fill", f"{index}.masked_fill({one}.select(1, 0) > 0.25, -100)")[0]
    if b.draw.chance(3):
        b.make("cross_entropy", f"F.cross_entropy({one}, {index})")
        return
    reduction = b.draw.of("mean", "mean", "sum", "none")
    ignored = "" if padded else b.draw.of("", ", ignore_index=0", ", ignore_index=1")
    if "parameters" not in b.missing and b.draw.chance(3):
        spec = TensorSpec(one.dtype_name, (one.shape[1],), "contiguous", "positive", b.draw.seed())
        ignored += f", weight={b.buffer(spec)}"
    if b.draw.chance(2):
        b.make("nll_loss", f"F.nll_loss({one}, {index}, reduction='{reduction}'{ignored})")
    else:
        smoothing = b.draw.of("", ", label_smoothing=0.1")
        b.make("cross_entropy", f"F.cross_entropy({one}, {index}, reduction='{reduction}'{ignored}{smoothing})")


@rule("reductions", "reductions", "elementwise", weight=2, operators=5)
def losses_of_probabilities(b: Builder) -> None:
    one = b.float_value(least=1)
    other = b.pick(lambda value: value.floating and value.shape == one.shape)
    reduction = f"reduction='{b.draw.of('mean', 'sum', 'none')}'"
    width = one.shape[-1]
    weight = b.draw.of("None", f"torch.linspace(0.5, 2.0, {width}, dtype={one}.dtype)")
    name, text = b.draw.of(
        (
            "binary_cross_entropy_with_logits",
            f"F.binary_cross_entropy_with_logits({one}, torch.sigmoid({other}), pos_weight={weight}, {reduction})",
        ),
        (
            "binary_cross_entropy",
            f"F.binary_cross_entropy(torch.sigmoid({one}), torch.sigmoid({other}), weight={weight}, {reduction})",
        ),
        (
            "kl_div",
            f"F.kl_div(F.log_softmax({one}, dim=-1), F.softmax({other}, dim=-1), "
            f"reduction='{b.draw.of('batchmean', 'sum', 'none')}')",
        ),
        ("poisson_nll_loss", f"F.poisson_nll_loss({one}, {other}, {reduction})"),
        ("soft_margin_loss", f"F.soft_margin_loss({one}, torch.sign({other}), {reduction})"),
    )
    b.make(name, text)


@rule("reductions", "reductions", "elementwise", weight=2, operators=3)
def distances(b: Builder) -> None:
    one = b.float_value(least=2)
    other = b.pick(lambda value: value.floating and value.rank >= 1 and value.shape[-1] == one.shape[-1])
    name, text = b.draw.of(
        ("cosine_similarity", f"F.cosine_similarity({one}, {other}, dim=-1)"),
        ("pairwise_distance", f"F.pairwise_distance({one}, {other}, keepdim={b.draw.of(False, True)})"),
        ("triplet_margin_loss", f"F.triplet_margin_loss({one}, {other}, {one} * 0.5)"),
    )
    b.make(name, text)


#: What training ends in.
LOSSES = (losses, cross_entropy, losses_of_probabilities)
