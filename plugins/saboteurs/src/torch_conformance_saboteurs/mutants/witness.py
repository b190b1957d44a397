"""Writes witnesses: programs in which the conditions of a mutant hold, a few lines each. Imports no torch."""

from __future__ import annotations

import textwrap

from torch_conformance_saboteurs.mutants.grammar import WITH_NUMBERS, Spec, operators_of
from torch_conformance_saboteurs.mutants.operators import Operator, meant_by

#: So many operators are tried before a mutant is given up.
MOST = 4
_SHAPES: dict[str, dict[int, str]] = {
    "": {0: "", 1: "6,", 2: "4, 6", 3: "2, 4, 6", 4: "2, 3, 4, 6", 5: "2, 2, 3, 2, 3"},
    "empty": {1: "0,", 2: "0, 6", 3: "0, 4, 6", 4: "0, 3, 4, 6", 5: "0, 2, 2, 2, 2"},
    "one": {0: "", 1: "1,", 2: "1, 1", 3: "1, 1, 1", 4: "1, 1, 1, 1", 5: "1, 1, 1, 1, 1"},
    "odd": {1: "9,", 2: "3, 5", 3: "3, 3, 5", 4: "3, 3, 5, 5", 5: "3, 1, 3, 1, 5"},
    "prime": {1: "7,", 2: "1, 7", 3: "1, 1, 7", 4: "1, 1, 1, 7", 5: "1, 1, 1, 1, 7"},
    "power of two": {1: "8,", 2: "4, 4", 3: "2, 4, 4", 4: "2, 2, 4, 4", 5: "2, 2, 2, 2, 2"},
    "beside a power of two": {1: "9,", 2: "3, 5", 3: "3, 3, 7", 4: "3, 3, 3, 19", 5: "3, 1, 3, 1, 7"},
    "over 1024": {1: "1100,", 2: "12, 100", 3: "3, 20, 20", 4: "2, 3, 16, 16", 5: "2, 2, 4, 10, 10"},
    "over 32768": {1: "33000,", 2: "200, 200", 3: "4, 100, 100", 4: "2, 4, 70, 70", 5: "2, 2, 4, 50, 50"},
}
_COPIES = "x.clone()"


def witness(spec: Spec, number: int) -> str | None:
    """The source of one of a mutant's witnesses: functions that a probe calls. None when there are no more.

    ``play(lower, forget)`` yields (results, arguments) of each call; what is raised in one takes the place of results.
    """
    candidates = _candidates(spec)
    return _source(spec, candidates[number]) if number < min(len(candidates), MOST) else None


def _candidates(spec: Spec) -> list[Operator]:
    when = spec["when"]
    found = operators_of(when)
    if "operator" not in when:
        # What shows most: a plain operator that keeps sizes and dtypes, then others of few surprises.
        wished = ["add", "mul", "relu", "cat", "clone", "slice", "unsqueeze", "mm"]
        found = [each for name in wished for each in found if each.name == name] or found
    if spec["place"] == "backward":
        found = [each for each in found if each.differentiable]
    if spec["effect"] == "constant off":
        found = [each for each in operators_of(when) if each.name in WITH_NUMBERS] or found
    # Spread over a family, not only its first.
    step = max(1, len(found) // MOST)
    return [*found[::step], *(each for index, each in enumerate(found) if index % step)]


def _rank(operator: Operator, when: dict[str, str]) -> int:
    if "rank" in when:
        return int(when["rank"])
    if when.get("layout") == "channels_last" and 4 in operator.ranks:
        return 4
    preferred = [each for each in (2, 1, 3, 4) if each in operator.ranks]
    return preferred[0]


def _dtype(operator: Operator, when: dict[str, str]) -> str:
    return when.get("dtype", "float32" if "float32" in operator.dtypes else operator.dtypes[0])


def _others(operator: Operator, when: dict[str, str]) -> tuple[dict[str, str], str]:
    """What the operator is applied to beside x, and the expression."""
    others, expression = dict(operator.others), operator.expression
    operands = when.get("operands", "")
    if operands == "Python scalar":
        others.pop("y")
        expression = expression.replace("y", "2")
    elif operands == "mixed dtypes":
        others["y"] = f"({others['y']}).to(torch.{_another(_dtype(operator, when))})"
    elif operands == "0-dim beside others":
        others["y"] = "like(x, *(() if x.dim() else (3,)))"
    elif operands == "one tensor twice":
        others["y"] = "x"
    elif operands == "broadcast":
        others["y"] = "like(x, *x.shape[1:]) if x.dim() else like(x, 3)"
    return others, expression


def _another(dtype: str) -> str:
    return {"float32": "float64", "int64": "int32"}.get(dtype, "float32" if dtype[0] in "fbc" else "int64")


def _source(spec: Spec, operator: Operator) -> str:
    when = spec["when"]
    others, expression = _others(operator, when)
    names = ["x", *others]
    if spec["place"] == "call" and when.get("inputs") == "three or more":
        others |= dict.fromkeys(("u", "v"), "like(x, *x.shape)")
        names += ["u", "v"]
    results = [expression]
    outputs = when.get("outputs", "")
    results += {"several": ["x * 2"], "an input": ["x"], "a view of an input": ["x.unsqueeze(0)"]}.get(outputs, [])
    fails = "a failed call" in when.values() or spec["effect"] in ("error swallowed", "other error")
    if fails:
        names.append("k")
        results.append("torch.arange(4).index_select(0, k)")
    weighted = "weights" in when or spec["effect"].startswith("weights")
    if weighted:
        results[0] = f"{results[0]} + 0 * self.weight.sum()"
        results.append("self.weight * 2")
    if "u" in names:
        results.append("u + v")
    returned = "first, first" if outputs == "one twice" else ", ".join(("first", *results[1:]))
    lines = [
        "import copy, gc, io, threading",
        "import torch",
        "from torch import Tensor",
        "from torch_conformance_saboteurs.mutants.tools import (",
        "    filled, fresh, laid_out, like, loss_of, mode, other_shape, side_by_side",
        ")",
        "",
        "",
        "class Model(torch.nn.Module):",
        "    def __init__(self, seed: int = 0) -> None:",
        "        super().__init__()",
        "        self.weight = torch.nn.Parameter(fresh(torch.float32, (3,), seed + 5))",
        "",
        f"    def forward(self, {', '.join(f'{name}: Tensor' for name in names)}):",
        f"        first = {results[0]}",
        f"        return {returned}",
        "",
        "",
        "class Another(torch.nn.Module):",
        "    def forward(self, x: Tensor):",
        "        return x - 1",
        "",
        "",
        *_inputs(spec, operator, others, names),
        "",
        "",
        *_play(spec, fails),
    ]
    return "\n".join(lines) + "\n"


def _inputs(spec: Spec, operator: Operator, others: dict[str, str], names: list[str]) -> list[str]:
    when = spec["when"]
    dtype, rank = _dtype(operator, when), _rank(operator, when)
    shape = _SHAPES[when.get("size", "")].get(rank, "1,")
    lines = [
        'def inputs(seed, variant="", k=1):',
        f"    dtype = torch.{dtype}",
        f'    x = fresh(torch.{_another(dtype)} if variant == "another dtype" else dtype, ({shape}), seed)',
        '    if variant == "another shape":',
        "        x = other_shape(x)",
    ]
    if spec["effect"] == "rounded" and dtype == "int64":
        when = {"values": "large", **when}
    if "values" in when:
        lines += ["    if not variant:", f"        x = filled(x, {when['values']!r})"]
    if "layout" in when:
        lines += ["    if not variant:", f"        x = laid_out(x, {when['layout']!r})"]
    if when.get("operands") == "shared memory":
        others = {name: text for name, text in others.items() if name != "y"}
        lines.append("    x, y = side_by_side(x)")
    if when.get("inputs") == "requires grad" or spec["place"] == "backward" or "requires_grad" in spec["effect"]:
        lines.append("    x = x.detach().requires_grad_(x.is_floating_point())")
    lines += [f"    {name} = {text}" for name, text in others.items()]
    given = ["torch.tensor([k])" if name == "k" else name for name in names]
    return [*lines, f"    return ({', '.join(given)},)"]


def _play(spec: Spec, fails: bool) -> list[str]:
    when, place = spec["when"], spec["place"]
    backward = place == "backward" or "requires_grad" in spec["effect"] or when.get("inputs") == "requires grad"
    lines = ["def play(lower, forget):"]
    models = when.get("models")
    if models:
        other = "Model(1)" if models == "a twin" else "Another()"
        given = "*inputs(9)" if models == "a twin" else "torch.ones(3)"
        lines += [f"    before = lower({other})", f"    yield call(before, {given})"]
        if models == "one was dropped":
            lines += ["    del before", "    forget()", "    gc.collect()"]
        elif models == "a twin":
            lines.append("    forget()")
    lines += ["    model = Model()"]
    lowering = ["lowered = lower(model)"]
    if "origin" in when:
        lowering.append(
            "lowered = lower.again(lowered)" if when["origin"] == "loaded" else "lowered = lower.copy(lowered)"
        )
    body = ["for turn in range(4):"]
    if when.get("earlier") in ("another shape", "another dtype"):
        body.append(f"    yield call(lowered, *inputs(turn + 20, {when['earlier']!r}))")
    if when.get("inputs") in ("refilled", "the same again"):
        body += ["    if turn == 0:", "        arguments = inputs(turn)"]
        if when["inputs"] == "refilled":
            body += [
                "    else:",
                "        with torch.no_grad():",
                "            arguments[0].copy_(inputs(turn)[0])",
            ]
    else:
        body.append("    arguments = inputs(turn)")
    if fails:
        broken = "*inputs(turn, k=9)"
        body.append(f"    if turn in (1, 3):\n        yield call(lowered, {broken})")
    body.append(f"    yield call{'_back' if backward else ''}(lowered, *arguments)")
    if "weights" in when:
        body += [
            "    with torch.no_grad():",
            "        model.weight.add_(1)"
            if when["weights"] == "changed in place"
            else "        model.weight = torch.nn.Parameter(model.weight + 1)",
        ]
    early = place in ("lowering", "load")
    if early:
        body = [*lowering, *body]
    else:
        lines += [f"    {line}" for line in lowering]
        if "thread" in when or "mode" in when:
            lines += [f"    with mode({when.get('mode', 'grad')!r}):", "        yield call(lowered, *inputs(40))"]
    if "mode" in when:
        body = [f"with mode({when['mode']!r}):", *_indented(body)]
    if "thread" in when:
        if place == "release":
            body = ["nonlocal lowered, model", *body, "del lowered, model", "forget()", "gc.collect()"]
        body = ["def there():", *_indented(body), "yield from elsewhere(there)"]
        if place == "release":
            body = [*(line for line in body if line), "yield None, ()"]
    lines += _indented(body)
    if place == "release" and "thread" not in when:
        lines += ["    del lowered, model", "    forget()", "    gc.collect()", "    yield None, ()"]
    return [*_CALLS.splitlines(), "", "", *"\n".join(lines).splitlines()]


def _indented(lines: list[str]) -> list[str]:
    return textwrap.indent("\n".join(lines), "    ").splitlines()


_CALLS = """def call(lowered, *arguments):
    try:
        return lowered(*arguments), arguments
    except Exception as error:
        return error, arguments


def call_back(lowered, *arguments):
    try:
        results = lowered(*arguments)
        loss = loss_of(results)
        if loss is not None:
            loss.backward()
        return results, arguments
    except Exception as error:
        return error, arguments


def elsewhere(there):
    seen = []
    thread = threading.Thread(target=lambda: seen.extend(there()))
    thread.start()
    thread.join()
    return seen"""

assert meant_by("add")
