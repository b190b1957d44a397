"""What a backend replaces of what its device runs shows, and what it may add is no alarm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.misbehaving import device, misbehaving_pool
from support.project import Project

from conformance.api.errors import DeviceTampered
from conformance.devices import ZygotePool


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZygotePool]:
    with misbehaving_pool(tmp_path_factory.mktemp("site")) as pool:
        yield pool


_SESSION = "from conformance.toolchains.torchscript.verbs.session import Session, verb\n"
_VALUES = "from conformance.compare import values\n"
#: What a backend replaces in load(), and what is named.
TAMPERED = {
    "a property of a class of ours": (
        _SESSION + "Session.module = property(lambda self: print)",
        "conformance.toolchains.torchscript.verbs.session.Session.module was replaced by",
    ),
    "a verb in the table": (
        _SESSION + "verb._functions['run'] = lambda session, **arguments: b''",
        "conformance.toolchains.torchscript.verbs.session.verb._functions.run was replaced by",
    ),
    "a function of ours": (
        _VALUES + "values.plain = lambda value: None",
        "conformance.compare.values.plain was replaced by",
    ),
    "a function in a list of ours": (
        _VALUES + "values._TYPED[0] = print",
        "conformance.compare.values._TYPED.0 was replaced by",
    ),
    "a list of ours that is shorter": (
        _VALUES + "del values._TYPED[-1]",
        "conformance.compare.values._TYPED.4 is gone",
    ),
    "a function of ours that is gone": (
        "from conformance.toolchains.torchscript.verbs import authored\ndel authored.lowered",
        "conformance.toolchains.torchscript.verbs.authored.lowered is gone",
    ),
    "the body of a function of ours": (
        _VALUES + "values.plain.__code__ = (lambda value: None).__code__",
        "the body of conformance.compare.values.plain is another",
    ),
    "the defaults of a function of ours": (
        "from conformance.toolchains.torchscript.verbs import lowering\nlowering.lower.__defaults__ = (b'',)",
        "lower is another",
    ),
    "a name that hides a builtin": (
        _VALUES + "values.isinstance = lambda *arguments: True",
        "conformance.compare.values.isinstance is new",
    ),
    "a method that hides its base's": (
        _SESSION + "Session.keep = lambda self, thing: 1",
        "conformance.toolchains.torchscript.verbs.session.Session.keep is new",
    ),
    "a method of one object of ours": (
        "import gc\n" + _SESSION + "held = [each for each in gc.get_objects() if isinstance(each, Session)]\n"
        "held[0].call = lambda verb, arguments: None",
        "Session.call is",
    ),
    "a builtin": (
        "import builtins\ninner = isinstance\nbuiltins.isinstance = lambda *given: inner(*given)",
        "builtins.isinstance was replaced by",
    ),
    "a function of PyTorch's that is called": (
        "import torch\ntorch.jit.script = lambda module: module",
        "torch.jit.script was replaced by",
    ),
    "a function of PyTorch's that this calls": (
        "import torch\ntorch.serialization._save = lambda *arguments: None",
        "torch.serialization._save was replaced by",
    ),
    "a method of modules": (
        "import torch\ntorch.nn.Module.__call__ = lambda *arguments: None",
        "torch.nn.modules.module.Module.__call__ was replaced by",
    ),
    "a method of tensors": (
        "import torch\ntorch.Tensor.clone = lambda self: self",
        "torch.Tensor.clone is new",
    ),
    "a function of Python's": ("import gc\ngc.collect = lambda: 0", "gc.collect was replaced by"),
}


@pytest.mark.parametrize(("load", "named"), TAMPERED.values(), ids=TAMPERED)
def test_what_was_replaced_is_named(pool: ZygotePool, load: str, named: str) -> None:
    child = device(pool, load)
    with pytest.raises(DeviceTampered) as tampered:
        child.call("register", {}, "register")
    assert named in str(tampered.value)
    child.end()


LATER = """
import threading, torch
def replace():
    torch.jit.load = print
threading.Timer(0.3, replace).start()
"""


@pytest.mark.parametrize("verb", ["release", "leave"])
def test_what_was_replaced_later_shows_at_the_end(pool: ZygotePool, verb: str) -> None:
    child = device(pool, LATER)
    assert child.call("register", {}, "register").raised is None
    child.call("switch", {"environment": {}}, "switch")
    __import__("time").sleep(1)
    with pytest.raises(DeviceTampered, match=r"torch\.jit\.load was replaced by builtins\.print"):
        child.leave("exit") if verb == "leave" else child.call("release", {}, "release")
    child.end()


#: What backends do when they are loaded, and may.
HARMLESS = {
    "an operator": """
import torch
library = torch.library.Library("mine", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
""",
    "a method of tensors that is new": "import torch\ntorch.Tensor.mine = lambda self: self",
    "a name for a device": """
import torch
torch.utils.rename_privateuse1_backend("mine")
torch.utils.generate_methods_for_privateuse1_backend(for_storage=False)
""",
    "a backend of torch.compile": """
import torch._dynamo
torch._dynamo.register_backend(name="mine", compiler_fn=lambda graph, inputs: graph)
torch.compile(torch.nn.Linear(2, 2), backend="mine")(torch.ones(1, 2))
""",
    "compilers of PyTorch": "import torch._inductor.compile_fx, torch._dynamo, torch.export, torch.onnx, torch.testing",
    "modules of ours": "import conformance.report, conformance.certificate, conformance.backend",
    "patches that are taken back": """
import unittest.mock, torch
with unittest.mock.patch("torch.jit.load"):
    pass
""",
    "a warning that is shown": "import warnings\nwarnings.simplefilter('ignore')\nwarnings.warn('x')",
    "what Python has for everybody to replace": """
import sys
inner = sys.excepthook
sys.excepthook = lambda *error: inner(*error)
""",
    "a module that is compiled": "import torch\ntorch.jit.script(torch.nn.Linear(2, 2))(torch.ones(1, 2))",
}


@pytest.mark.parametrize("load", HARMLESS.values(), ids=HARMLESS)
def test_what_backends_may_do_is_no_alarm(pool: ZygotePool, load: str) -> None:
    child = device(pool, load)
    reply = child.call("register", {}, "register")
    assert reply.raised is None
    child.call("release", {}, "release")
    child.end()


FORGER = """
    import os

    from conformance import DynamoBackend

    def compiler(graph, example_inputs):
        os.abort()

    class Plugin(DynamoBackend):
        name = "forger"

        def load(self):
            import torch._dynamo
            from conformance.toolchains.dynamo.verbs.session import Session

            torch._dynamo.register_backend(name="forger", compiler_fn=compiler)
            Session.backend_name = property(lambda self: "eager")
"""


def test_a_backend_that_has_another_one_tried_fails(project: Project) -> None:
    project.install("forger", FORGER)
    run = project.run("--backend=forger", "-k", "test_outputs and not kept and dynamo_lowering and chain")
    assert run.exit_code == 1, run.output
    assert set(run.verdicts("forger").values()) == {("FAIL", "register")}
    (cell,) = run.report("forger")["cells"]
    assert "Session.backend_name was replaced by" in cell["message"]
    assert "reproducer" not in cell


def test_the_environment_of_devices_tells_of_no_test(pool: ZygotePool) -> None:
    child = device(pool, "raise ValueError(sorted(name for name in os.environ if name.startswith('PYTEST')))")
    raised = child.call("register", {}, "register").raised
    assert raised is not None
    assert raised["text"] == "[]"
    child.end()
