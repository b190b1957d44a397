"""Chains: operators one behind the other, of which nothing else uses what lies in between.

That is what compilers look for when they put one operator in the place of two, or exchange them. Which two, nobody can
list: so each form may follow each, and there are few enough that most pairs of kinds meet in some hundred programs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from conformance.api.features import OF_DTYPES
from conformance.generate.drawing import FLOATS
from conformance.generate.grammar.builder import Abandoned, Builder, Value
from conformance.generate.grammar.matrices import parameter
from conformance.generate.grammar.networks import running_statistics

#: An operator, and how it is written of a value ``{0}``: of another one ``{1}`` as well, along a dimension ``{d}``, for
#: pictures of ``{n}`` dimensions. The first of a kind are drawn most often: most models are made of these.
Form = tuple[str, str]
#: Chooses a form for a value, and writes it.
Kind = Callable[[Builder, Value], Form]

_ACTIVATIONS: Sequence[Form] = (
    ("relu", "F.relu({0})"), ("gelu", "F.gelu({0})"), ("silu", "F.silu({0})"), ("sigmoid", "torch.sigmoid({0})"),
    ("tanh", "torch.tanh({0})"), ("exp", "{0}.exp()"), ("gelu", "F.gelu({0}, approximate='tanh')"),
    ("leaky_relu", "F.leaky_relu({0}, 0.2)"), ("hardswish", "F.hardswish({0})"), ("softplus", "F.softplus({0})"),
    ("mish", "F.mish({0})"), ("log", "{0}.abs().log()"),
)  # fmt: skip
_ARITHMETIC: Sequence[Form] = (
    ("mul", "{0} * 2.0"), ("add", "{0} + 1.0"), ("mul", "{0} * {0}"), ("sub", "1.0 - {0}"), ("div", "{0} / 3.0"),
    ("neg", "-{0}"), ("abs", "{0}.abs()"), ("mul", "{0} * -0.5"), ("clamp", "{0}.clamp(min=0.0)"),
    ("pow", "{0} ** 2"), ("clamp", "{0}.clamp(-1.0, 1.0)"), ("sqrt", "{0}.abs().sqrt()"),
    ("rsqrt", "torch.rsqrt({0} * {0} + 1.0)"), ("reciprocal", "2.0 / {0}"), ("floor", "torch.floor({0})"),
)  # fmt: skip
_COMBINATIONS: Sequence[Form] = (
    ("mul", "{0} * {1}"), ("add", "{0} + {1}"), ("sub", "{0} - {1}"), ("add", "torch.add({0}, {1}, alpha=2)"),
    ("add", "torch.add({1}, {0}, alpha=2)"), ("sub", "{1} - {0}"), ("mul", "{1} * {0}"), ("add", "{1} + {0}"),
    ("div", "{0} / {1}"), ("maximum", "torch.maximum({0}, {1})"), ("where", "torch.where({1} > 0, {0}, {1})"),
    ("sub", "torch.sub({0}, {1}, alpha=3)"), ("where", "torch.where({0} > {1}, {1}, {0})"),
    ("minimum", "torch.minimum({1}, {0})"), ("masked_fill", "{0}.masked_fill({1} > 0, -1.0)"),
    ("lerp", "torch.lerp({0}, {1}, 0.25)"),
)  # fmt: skip
_REDUCTIONS: Sequence[Form] = (
    ("sum", "{0}.sum({d})"), ("mean", "{0}.mean({d})"), ("amax", "{0}.amax({d})"), ("max", "{0}.max({d})[0]"),
    ("mean", "{0}.mean({d}, keepdim=True)"), ("sum", "{0}.sum({d}, keepdim=True)"), ("amin", "{0}.amin({d})"),
    ("amax", "{0}.amax({d}, keepdim=True)"), ("var", "{0}.var({d}, unbiased=False)"), ("prod", "{0}.prod({d})"),
    ("norm", "torch.linalg.vector_norm({0}, dim=[{d}])"), ("logsumexp", "torch.logsumexp({0}, {d})"),
)  # fmt: skip
_ROWS: Sequence[Form] = (
    ("softmax", "torch.softmax({0}, dim={d})"), ("sort", "{0}.sort({d}, descending=True)[0]"),
    ("cumsum", "{0}.cumsum({d})"), ("layer_norm", "F.layer_norm({0}, [{0}.shape[-1]])"),
    ("topk", "{0}.topk(1, {d})[0]"), ("log_softmax", "F.log_softmax({0}, dim={d})"), ("sort", "{0}.sort({d})[0]"),
    ("normalize", "F.normalize({0}, dim={d})"), ("dropout", "F.dropout({0}, 0.5, training=False)"),
)  # fmt: skip
_VIEWS: Sequence[Form] = (
    ("transpose", "{0}.transpose(-1, -2)"), ("reshape", "{0}.reshape(-1)"), ("slice", "{0}[..., 1:]"),
    ("transpose", "{0}.transpose(0, -1)"), ("unsqueeze", "{0}.unsqueeze({d})"), ("slice", "{0}[..., :7]"),
    ("squeeze", "{0}.squeeze({d})"), ("slice", "{0}[:2]"), ("select", "{0}.select({d}, -1)"),
    ("flatten", "{0}.flatten(1)"), ("slice", "{0}[-4:]"), ("slice", "{0}[..., -3:]"),
    ("chunk", "{0}.chunk(2, {d})[0]"), ("slice", "{0}[::2]"), ("contiguous", "{0}.contiguous()"),
    ("narrow", "{0}.narrow({d}, 0, 1)"),
)  # fmt: skip
_JOINED: Sequence[Form] = (
    ("cat", "torch.cat([{0}, {0}], {d})"), ("cat", "torch.cat([{0}, {1}], 0)"), ("pad", "F.pad({0}, (1, 1))"),
    ("stack", "torch.stack([{0}, {0}])"), ("flip", "{0}.flip({d})"), ("cat", "torch.cat([{1}, {0}], -1)"),
    ("expand", "{0}.unsqueeze(0).expand_as(torch.stack([{0}, {0}]))"), ("roll", "{0}.roll(1, {d})"),
    ("pad", "F.pad({0}, (0, 2), value=-1.0)"), ("repeat", "{0}.repeat_interleave(2, {d})"),
    ("tril", "torch.tril({0})"),
)  # fmt: skip
_POOLS: Sequence[Form] = (
    ("max_pool", "F.max_pool{n}d({0}, 2)"), ("avg_pool", "F.avg_pool{n}d({0}, 2)"),
    ("max_pool", "F.max_pool{n}d({0}, 3, stride=1, padding=1)"), ("avg_pool", "F.adaptive_avg_pool{n}d({0}, 1)"),
    ("avg_pool", "F.avg_pool{n}d({0}, 3, stride=1, padding=1)"), ("max_pool", "F.adaptive_max_pool{n}d({0}, 1)"),
    ("interpolate", "F.interpolate({0}, scale_factor=2.0, mode='nearest')"), ("group_norm", "F.group_norm({0}, 1)"),
)  # fmt: skip
#: Dimensions of what is pooled and convolved, of rows of numbers and of pictures.
_OF_PICTURES = (3, 4)


def _one_of(forms: Sequence[Form]) -> Kind:
    def choose(b: Builder, one: Value) -> Form:
        name, text = forms[min(b.draw.upto(len(forms) - 1), b.draw.upto(len(forms) - 1))]
        if "{n}" in text and one.rank not in _OF_PICTURES:
            raise Abandoned
        dimension = b.dim(one) if "{d}" in text else 0
        other = _beside(b, one) if "{1}" in text else one
        return name, text.format(one, other, d=dimension, n=one.rank - 2)

    return choose


def _beside(b: Builder, one: Value) -> Value:
    """Something of the dtype of a value, and of its shape where there is such; a parameter, where nothing is found."""
    found = [each for each in b.values if each.dtype == one.dtype and each.name != one.name]
    alike = [each for each in found if each.shape == one.shape]
    if alike or (found and b.draw.chance(2)):
        return b.draw.choice(alike or found)
    if "parameters" in b.missing or not one.floating or not one.rank:
        raise Abandoned
    return parameter(b, one, one.shape[-1:] if "broadcasting" not in b.missing and b.draw.chance(2) else one.shape)


def _cast(b: Builder, one: Value) -> Form:
    """A cast, or one there and back."""
    names = [name for name in FLOATS if OF_DTYPES.get(name) not in b.missing]
    forms = [f"{one}.to(torch.{name})" for name in names]
    if one.floating:  # what is beyond a float of 16 bits is infinite, and no whole number
        forms += [f"{one}.to(torch.{name}).to({one}.dtype)" for name in names]
    if "booleans" not in b.missing:
        forms.append(f"({one} > 0).to({one}.dtype)")
    if one.floating and "integers" not in b.missing:  # bytes have no bound below zero
        forms.append(f"{one}.clamp(-9, 9).nan_to_num().to(torch.int64)")
    return "to", b.draw.choice(forms)


def _product(b: Builder, one: Value) -> Form:
    """A product with a weight, or of a value with itself."""
    if not one.floating or not one.rank or (0 in one.shape and not b.traits.multiplies_nothing):
        raise Abandoned
    width = b.draw.of(3, one.shape[-1])
    weight = parameter(b, one, (width, one.shape[-1]))
    forms = [
        ("linear", f"F.linear({one}, {weight})"),
        ("linear", f"F.linear({one}, {weight}, {parameter(b, one, (width,))})"),
        ("matmul", f"{one} @ {weight}.t()"),
        ("matmul", f"torch.matmul({one}, {one}.transpose(-1, -2))"),
    ]
    if one.rank == 2:
        added = parameter(b, one, (width,))
        options = b.draw.of("", ", beta=0.5, alpha=2", ", beta=0")
        forms.append(("addmm", f"torch.addmm({added}, {one}, {weight}.t(){options})"))
    if one.rank == 3:
        forms.append(("bmm", f"torch.bmm({one}, {one}.transpose(1, 2))"))
    return b.draw.choice(forms)


def _convolution(b: Builder, one: Value) -> Form:
    """A convolution with a weight, or a norm of channels."""
    if not one.floating or one.rank not in _OF_PICTURES or 0 in one.shape:
        raise Abandoned
    dims, channels = one.rank - 2, one.shape[1]
    if b.draw.chance(4):
        scale, shift = (parameter(b, one, (channels,)) for _ in range(2))
        mean, variance = running_statistics(b, one, channels)
        return "batch_norm", f"F.batch_norm({one}, {mean}, {variance}, {scale}, {shift}, False)"
    size = b.draw.of(1, 3)
    weight = parameter(b, one, (b.draw.of(2, channels), channels, *[size] * dims))
    bias = f", {parameter(b, one, (weight.shape[0],))}" if b.draw.chance(2) else ""
    return f"conv{dims}d", f"F.conv{dims}d({one}, {weight}{bias}, padding={b.draw.of(size // 2, 0)})"


#: Kinds of forms: the features without which none of a kind is drawn, how often the kind is, and how one is chosen.
_KINDS: tuple[tuple[tuple[str, ...], int, Kind], ...] = (
    (("elementwise",), 4, _one_of(_ARITHMETIC)),
    (("elementwise", "booleans"), 5, _one_of(_COMBINATIONS)),
    (("reductions", "zero_dim"), 4, _one_of(_REDUCTIONS)),
    (("views",), 3, _one_of(_VIEWS)),
    (("views",), 2, _one_of(_JOINED)),
    (("mixed_dtypes",), 2, _cast),
)
#: The same of forms that floats alone take.
_OF_FLOATS: tuple[tuple[tuple[str, ...], int, Kind], ...] = (
    (("elementwise",), 4, _one_of(_ACTIVATIONS)),
    (("reductions",), 2, _one_of(_ROWS)),
    (("matmul", "parameters"), 3, _product),
    (("convolution",), 3, _one_of(_POOLS)),
    (("convolution", "parameters"), 3, _convolution),
)
#: How many forms are chosen for a link until one is found that its value takes.
_MOST_TRIES = 8


def chain(b: Builder, length: int) -> None:
    """So many operators, of which each takes what the one before it gave; fewer where PyTorch takes no other. Only the
    last one's value can be used again."""
    of_any, of_floats = (
        [kind for needs, weight, kind in kinds if not set(needs) & set(b.missing) for _ in range(weight)]
        for kinds in (_KINDS, _OF_FLOATS)
    )
    # what is computed of weights alone is a constant, and one number to whoever folds it
    given = [each for each in b.values if each.origin != "state"]
    floating = [each for each in given if each.floating]
    link = b.draw.choice(floating if floating and not b.draw.chance(6) else given)
    for _ in range(length):
        kinds = [*of_any, *of_floats] if link.floating else of_any
        following = _following(b, link, kinds) if kinds else None
        if following is None:
            return
        link = following


def _following(b: Builder, link: Value, kinds: Sequence[Kind]) -> Value | None:
    """What an operator gives that takes a link, which nothing else takes from then on, unless it was there before."""
    for _ in range(_MOST_TRIES):
        with contextlib.suppress(Abandoned):
            name, text = b.draw.choice(kinds)(b, link)
            (following,) = b.make(name, text)
            if link.origin == "made":
                b.values.remove(link)
            return following
    return None
