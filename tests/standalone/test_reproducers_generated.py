"""Scripts of what generated cells found: they show the model, and the failure with the backend alone."""

from __future__ import annotations

import ast
import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from standalone.findings import files_of, written
from support.scripts import Told, code_of, run_script

from conformance.generate.inputs import make
from conformance.generate.program import Line, Method, Program, Scalar, TensorSpec
from conformance.generate.steps import UNCOUNTED, Call, Step, Trial
from conformance.standalone.reproducers import _trial
from conformance.standalone.reproducers._scenario import CannotReproduce
from conformance.standalone.reproducers._straight import Trials
from conformance.toolchains import toolchain_named

_X = TensorSpec("float32", (2, 3), "transposed")
#: A model of one statement, called once.
DOUBLED = Trial(
    (Program((("x", "Tensor"),), (Line("mul", "y = x * 2"),), "y"),),
    (Step("model"), Step("lower"), Step("call", call=Call((_X,)))),
)
_GRAD = TensorSpec("float32", (2, 3), grad=True)
_WEIGHTED = Program(
    (("x", "Tensor"), ("n", "int")),
    (Line("add", "y = x * self.weight + n"), Line("relu", "y = self.layer(y)")),
    "(y, y.sum())",
    parameters=(("weight", TensorSpec("float32", (3,), grad=True)),),
    buffers=(("mean", TensorSpec("float64", (0, 2))),),
    modules=(("layer", "torch.nn.ReLU()"),),
)
_TWO = Program((("x", "Tensor"), ("y", "Tensor")), (Line("add_", "x.add_(1)"),), "x + y")
_N = Scalar("int", 3)
#: Everything that a trial for torch.compile can have.
EVERYTHING = Trial(
    (_WEIGHTED, _TWO),
    (
        Step("model", 0),
        Step("model", 1),
        Step("model", 0, seed=2),
        Step("lower", 0, "dynamic"),
        Step("lower", 1),
        Step("lower", 2),
        Step("call", 0, call=Call((_GRAD, _N), mode="grad", backward=True, train=True, thread=True, second=True)),
        Step("refill", 0, call=Call((dataclasses.replace(_GRAD, seed=4), _N), mode="deterministic")),
        Step("refill", 0, UNCOUNTED, call=Call((dataclasses.replace(_GRAD, seed=5), _N))),
        Step("call", 0, call=Call((_GRAD, _N), mode="grad", backward=True, non_leaf=True, between=True, fewer=True)),
        Step("call", 1, call=Call((_X, _X), tied=(0, 1, "overlap"))),
        Step("call", 1, call=Call((_X, _X), mode="inference", tied=(0, 1, "same"))),
        Step("fail", 2, "too few", call=Call((_GRAD, _N))),
        Step("weights", 0, "in place"),
        Step("call", 0, call=Call((_GRAD, _N), mode="default float64")),
        Step("drop", 0),
        Step("reset"),
        Step("call", 2, call=Call((dataclasses.replace(_X, dtype="float64", values="extremes"), _N))),
    ),
)
#: What may be the matter with it.
_DIFFERENT = ("values", "dtype", "error", "writes", "crash", "hang")
#: A distribution that registers a backend, which does what a file beside it says.
_PLUGIN = """
import os
import time

from torch._dynamo.exc import SkipFrame


def compiler(graph, example_inputs):
    kept = []
    if os.environ["BROKEN"] == "declines":
        raise SkipFrame("some other time")

    def code(*arguments):
        results = graph.forward(*arguments)
        match os.environ["BROKEN"]:
            case "values":
                return [each + 1 for each in results]
            case "dtype":
                return [each.double() for each in results]
            case "rewrites":
                arguments[0].copy_(arguments[0].clone())
            case "constant":
                kept.append(results)
                return kept[0]
            case "crash":
                os.abort()
            case "hang":
                time.sleep(600)
        return results
    return code
"""


@pytest.fixture
def whole_toolchain(toolchain: str) -> None:
    """Skips where something is missing that the toolchain needs."""
    if lacking := toolchain_named(toolchain).lacking():
        pytest.skip(lacking)


def test_a_script_shows_the_model_first() -> None:
    files = files_of(DOUBLED, "values")
    ast.parse(code_of(files))
    text = files["reproduce.py"].decode()
    assert max(map(len, text.splitlines())) <= 200
    lines = text.splitlines()
    assert lines.index("class Model(torch.nn.Module):") < 30
    assert len(lines) < 60
    assert '    with step("step 3 (call)", model0, inputs3) as seen:' in lines
    assert "        seen.result = lowered0(*inputs3)" in text.replace("    with torch.no_grad():\n    ", "")
    assert "import conformance" not in text
    assert "from conformance" not in text
    assert ".as_strided((2, 3), (1, 2))" in text


@pytest.mark.parametrize("toolchain", ["dynamo", "torchscript", "executorch"])
@pytest.mark.usefixtures("whole_toolchain")
def test_what_was_played_before_is_played_before(toolchain: str) -> None:
    text = files_of(DOUBLED, "values", toolchain, before=(DOUBLED, EVERYTHING))["reproduce.py"].decode()
    ast.parse(text)
    assert "reproduce(before_1, before_2, trial)" in text
    assert text.index("def trial(") < text.index("def before_1(")


def test_what_does_not_repeat_has_none() -> None:
    with pytest.raises(CannotReproduce, match="did not repeat"):
        files_of(DOUBLED, "values", verdict="FLAKY")


def test_a_second_method_and_the_mode_of_lowering_are_written() -> None:
    program = dataclasses.replace(DOUBLED.programs[0], others=(Method("second", (), "x - 1"),))
    steps = (Step("model"), Step("lower", 0, "no_grad"), Step("call", call=Call((_X,), method="second")))
    trial = Trial((program,), steps)
    text = "\n".join(Trials().steps(trial))
    assert "    with torch.no_grad():\n        lowered0 = backend.lower(model0)\n" in text
    assert "seen.result = lowered0.second(*inputs3)" in text
    assert (trial.as_case, DOUBLED.as_case) == ("generated with methods", "generated")


@pytest.mark.parametrize("detail", ["", "elsewhere", "dynamic", "static", "frozen", "default float64"])
def test_plain_pytorch_takes_however_a_model_is_lowered(detail: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script plays its steps with plain PyTorch, too."""
    monkeypatch.setitem(_trial.KEEPS, "weights", True)
    steps = Trials().steps(dataclasses.replace(DOUBLED, steps=(Step("model"), Step("lower", 0, detail))))
    (call,) = (line.strip() for line in steps if "backend.lower" in line)
    names = {"backend": _trial.Eager(), "model0": torch.nn.Tanh()}
    exec(call, names)
    assert isinstance(names["lowered0"], torch.nn.Tanh)


@pytest.mark.parametrize(
    "layout", ["contiguous", "transposed", "stepped", "offset", "expanded", "channels_last", "conj_view"]
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "complex64"])
def test_a_tensor_is_written_as_it_lies(layout: str, dtype: str) -> None:
    shape = (2, 2, 2, 2) if layout == "channels_last" else (3, 4)
    values = "extremes" if dtype in ("float32", "int64") else "nan"
    tensor = make(TensorSpec(dtype, shape, layout, values))
    again: torch.Tensor = eval(Trials()._tensor(tensor), {"torch": torch, "nan": math.nan, "inf": math.inf})
    assert (again.stride(), again.storage_offset()) == (tensor.stride(), tensor.storage_offset())
    assert (again.is_conj(), again.is_neg()) == (tensor.is_conj(), tensor.is_neg())
    assert torch.equal(torch.nan_to_num(again), torch.nan_to_num(tensor))
    assert again.untyped_storage().nbytes() == tensor.untyped_storage().nbytes()


@pytest.mark.parametrize(("name", "matters"), [("_COMPILER_PRIVATE", False), ("OMP_NEW_AND_OTHERS", True)])
def test_a_variable_that_is_a_compilers_own_is_no_change(
    name: str, matters: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _trial.state()
    monkeypatch.setenv(name, "1")
    assert (_trial.state() != before) is matters


@pytest.mark.parametrize(("values", "names"), [("nan", {"nan"}), ("minus_inf", {"inf"})])
def test_a_script_imports_the_numbers_that_it_is_given(values: str, names: set[str]) -> None:
    call = Call((TensorSpec("float32", (4, 4), values=values),))
    text = files_of(dataclasses.replace(DOUBLED, steps=(*DOUBLED.steps[:2], Step("call", call=call))), "values")
    tree = ast.parse(text["reproduce.py"])
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & {"inf", "nan"}
    imported = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert used == names
    assert used <= imported


def test_an_argument_that_was_computed_is_computed_in_the_script() -> None:
    call = Call((dataclasses.replace(_X, layout="contiguous", grad=True),), mode="grad", backward=True, non_leaf=True)
    text = "\n".join(Trials().steps(dataclasses.replace(DOUBLED, steps=(*DOUBLED.steps[:2], Step("call", call=call)))))
    assert ".requires_grad_().clone()," in text


def test_large_tensors_lie_beside_the_script() -> None:
    large = dataclasses.replace(DOUBLED.steps[2], call=Call((TensorSpec("float32", (40, 40)),)))
    files = files_of(dataclasses.replace(DOUBLED, steps=(*DOUBLED.steps[:2], large)), "values")
    assert set(files) == {"reproduce.py", "support.py", "inputs.pt"}


@pytest.mark.runs
def test_scripts_tell_what_is_there(tmp_path: Path) -> None:
    """What differs as it did, what differs otherwise, what crashes and hangs, what is as in eager PyTorch, and what
    cannot be tried."""
    site = tmp_path / "site"
    metadata = site / "broken-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "broken_plugin.py").write_text(_PLUGIN)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[torch_dynamo_backends]\nbroken = broken_plugin:compiler\n")
    small = {what: written(tmp_path / what, files_of(DOUBLED, what)) for what in _DIFFERENT}
    twice = dataclasses.replace(DOUBLED, steps=(*DOUBLED.steps, DOUBLED.steps[-1]))
    shared = written(tmp_path / "shared", files_of(twice, "aliases"))
    # the gradient of sgn is zeros without memory
    sign = dataclasses.replace(DOUBLED.programs[0], lines=(Line("sgn", "y = torch.sgn(x)"),))
    backward = Step("call", call=Call((_GRAD,), mode="grad", backward=True))
    zeros = Trial((sign,), (Step("model"), Step("lower"), backward))
    without_memory = written(tmp_path / "zeros", files_of(zeros, "gradients"))
    everything = written(tmp_path / "everything", files_of(EVERYTHING, "values"))

    def told(script: Path, broken: str, *arguments: str) -> Told:
        return run_script(script, *arguments, site=site, BROKEN=broken)

    with ThreadPoolExecutor(3) as pool:
        tried = {
            "values": pool.submit(told, small["values"], "values"),
            "shared": pool.submit(told, shared, "constant"),
            "otherwise": pool.submit(told, small["dtype"], "values"),
            "declined": pool.submit(told, small["error"], "declines"),
            "rewritten": pool.submit(told, small["writes"], "rewrites"),
            "crash": pool.submit(told, small["crash"], "crash"),
            "hang": pool.submit(told, small["hang"], "hang", "--seconds=45"),
            "zeros": pool.submit(told, without_memory, ""),
            "gone": pool.submit(told, everything, ""),
            "untried": pool.submit(told, everything, "", "--backend=nobody"),
        }
    found = {name: each.result() for name, each in tried.items()}
    outputs = "\n".join(f"--- {name}\n{each.output}" for name, each in found.items())
    codes = {name: each.exit_code for name, each in found.items()}
    assert codes == {
        "values": 1,
        "shared": 1,
        "otherwise": 3,
        "declined": 1,
        "rewritten": 1,
        "crash": 1,
        "hang": 1,
        "zeros": 0,
        "gone": 0,
        "untried": 2,
    }, outputs
    assert "values: step 3 (call): result 0" in found["values"].output
    assert "in eager PyTorch: ['step 3 (call) and step 4 (call)']" in found["shared"].output
    assert "step 3 (call)" in found["crash"].output
