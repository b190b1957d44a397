"""Bugs of ten kinds, one in each copy of what ``conformance new`` writes, and what a first look has to show of each."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from support.project import Project
from support.scaffolded import change, install_new


@dataclasses.dataclass(frozen=True)
class Bug:
    """One change to one file of a scaffold. ``shown``: as regular expressions the operator, what is wrong, both values.

    ``select`` is the part of the contract that is tried: cells of some clauses in which such a bug shows.
    """

    kind: str
    toolchain: str
    file: str
    before: str
    after: str
    select: str
    shown: tuple[str, ...]
    options: tuple[str, ...] = ()


def planted(bug: Bug, folder: Path) -> Project:
    """A project in which a new backend with the bug is installed."""
    folder.mkdir(exist_ok=True)
    project = install_new(Project(folder), bug.toolchain)
    change(project, bug.file, bug.before, bug.after)
    return project


#: Where the compiler runs a kernel, and how a bug in the operator of that name goes on.
_CALL = "            values[step.node] = step.kernel(*args, **kwargs)\n"
_WHERE = '            if "{}" in str(step.node.target):\n                '
_RELU = "    return torch.where(x <= 0, torch.zeros((), dtype=x.dtype), x)\n"
_LOOKUP = "  line >> name;\n"
_EXECUTED = "      each.op->callBoxed(stack);\n"


def _after(operator: str, statement: str) -> str:
    return f"{_CALL}{_WHERE.format(operator)}{statement}\n"


BUGS = (
    Bug(
        "a wrong value in one dtype",
        "dynamo",
        "compiler.py",
        _CALL,
        _after("aten.mul", "values[step.node] = values[step.node] + (args[0].dtype == torch.float64)"),
        "test_outputs and (float64 or elementwise or chain)",
        (r"float64: 5 of 5 elements differ", r"expected -?[\d.]+, found -?[\d.]+", r"torch\.relu\(x - y\) \* 2"),
    ),
    Bug(
        "a wrong dtype",
        "dynamo",
        "compiler.py",
        _CALL,
        _after("aten.arg", "values[step.node] = values[step.node].int()"),
        "test_outputs and (argmax or reductions or sort or extremes)",
        (r"expected dtype torch\.int64, found torch\.int32", r"x\.argmax\(1\)"),
    ),
    Bug(
        "a wrong size",
        "dynamo",
        "compiler.py",
        _CALL,
        _after("aten.mean.dim", "values[step.node] = values[step.node].unsqueeze(0)"),
        "test_outputs and (reductions or softmax or normalised)",
        (r"expected shape torch\.Size\(\[3\]\), found torch\.Size\(\[1, 3\]\)", r"x\.mean\(1\)"),
    ),
    Bug(
        "a stale weight",
        "dynamo",
        "compiler.py",
        _CALL,
        """            if "aten.mm" in str(step.node.target):
                args = (args[0], self.__dict__.setdefault("kept", args[1].clone()))
"""
        + _CALL,
        "test_parameters or test_outputs and parameters",
        (r"its tensors \w+( \w+)?: . of . elements differ", r"expected -?[\d.]+, found -?[\d.]+", r"x @ self\.weight"),
    ),
    Bug(
        "an input is written",
        "dynamo",
        "compiler.py",
        _CALL,
        _after("aten.sub", "args[0].add_(1)"),
        "test_inputs_are_untouched and chain",
        (r"chain, the arguments after the call", r"expected -?[\d.]+, found -?[\d.]+", r"x - y"),
    ),
    Bug(
        "a result is reused by the next call",
        "dynamo",
        "kernels.py",
        _RELU,
        """    kept = _relu.__dict__.setdefault(tuple(x.shape), torch.empty_like(x))
    return kept.copy_(torch.where(x <= 0, torch.zeros((), dtype=x.dtype), x))
""",
        "test_outputs_are_kept or test_outputs and (chain or softmax)",
        (r"after 18 calls", r"expected -?[\d.]+, found -?[\d.]+", r"torch\.relu\(y\)"),
    ),
    Bug(
        "an error is swallowed",
        "dynamo",
        "compiler.py",
        '            raise UnsupportedOperatorError("; ".join(dict.fromkeys(map(_refusal, unknown))))\n',
        "            kernels = {**kernels, **{node.target: node.target for node in unknown}}\n",
        "test_refusal and (custom_operator or dropout)",
        (r"custom_operator .* is refused nowhere", r"self\.operator\(x \* 2\)", r"the declaration is out of date"),
    ),
    Bug(
        "the process ends",
        "dynamo",
        "compiler.py",
        _CALL,
        _after("aten.bmm", "__import__('os').abort()"),
        "test_outputs and dynamo_lowering and softmax",
        (r"the process killed by SIGABRT during run", r"query @ key\.transpose"),
    ),
    Bug(
        "a call does not end",
        "dynamo",
        "compiler.py",
        _CALL,
        _after("aten.mm", "__import__('time').sleep(1000)"),
        "test_outputs and dynamo_lowering and matmul",
        (r"TIMEOUT", r"run did not come back within 15 s", r"product = x @ y"),
        ("--conformance-timeout=15",),
    ),
    Bug(
        "wrong for a second shape",
        "dynamo",
        "compiler.py",
        _CALL,
        """            if "aten.mul" in str(step.node.target) and isinstance(args[1], int):
                args = (args[0], self.__dict__.setdefault(step.node.name, args[1]))
"""
        + _CALL,
        "test_dynamic_sizes",
        (r"elements differ", r"expected -?[\d.]+, found -?[\d.]+", r"\* x\.size\(0\)"),
    ),
    Bug(
        "NaN is lost",
        "dynamo",
        "kernels.py",
        _RELU,
        "    return torch.where(x > 0, x, torch.zeros((), dtype=x.dtype))\n",
        "test_outputs and dynamo_lowering and non_finite",
        (r"3 of 5 elements differ", r"expected nan, found 0", r"torch\.relu\(x - y\) \* 2"),
    ),
    Bug(
        "another operator",
        "torchscript",
        "csrc/delegate.cpp",
        _LOOKUP,
        _LOOKUP + '  if (name == "aten::sub.Tensor") {\n    name = "aten::add.Tensor";\n  }\n',
        "lowering.outputs",
        (r"add_sub\.forward: 4 of 4 elements differ", r"expected -?[\d.]+, found -?[\d.]+", r"x - y \+ x"),
    ),
    Bug(
        "a constant is saved without its fraction",
        "torchscript",
        "csrc/delegate.cpp",
        'text_ << "float " << std::hexfloat << value.toDouble()',
        'text_ << "float " << static_cast<int>(value.toDouble())',
        "lowering.outputs and elementwise",
        (
            r"elementwise\.forward: 1 of 15 elements differ",
            r"expected -?[\d.]+, found -?[\d.]+",
            r"torch\.where\(z > 0\.25",
        ),
    ),
)
