"""What a conforming backend may do that looks like a breach from far away."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pytest
from support.project import Project, Run

from conformance.api.availability import EITHER, NOTHING, is_as_expected
from conformance.toolchains.torchscript.assertions import traces_of
from conformance.toolchains.torchscript.client import Artifact

#: A backend that does all of it, each with a sentence of why.
BACKEND = """
    import os
    import sys

    import torch
    from torch.jit._recursive import wrap_cpp_module
    from torch_conformance_saboteurs.backends import PythonControl
    from torch_conformance_saboteurs.control import PythonBackend
    from torch_conformance_saboteurs.graphs import inlined_graph


    class implementation(PythonBackend):
        log = None

        def preprocess(self, module, spec, debug_handles):
            print("AVX512 is not available, using AVX2", file=sys.stderr)
            return super().preprocess(module, spec, debug_handles)

        def debug_handles_of(self, module, program, methods, generate):
            frozen = torch.jit.freeze(wrap_cpp_module(module))._c  # a batch norm goes into its convolution
            for method in methods:
                generate(inlined_graph(frozen, method))
            return {method: {} for method in methods}

        def pack(self, record):  # where nothing can be done it is left to the device
            draft = not self.can_compile() and not self.can_execute()
            return "draft:" + super().pack(record) if draft else super().pack(record)

        def verify(self, processed):
            if processed.startswith("draft:") and not self.can_compile():
                raise RuntimeError("the program is not compiled, and there is no compiler here")
            return super().verify(processed.removeprefix("draft:"))

        def compile(self, processed, spec):  # nothing to do where nothing can run
            return super().compile(processed, spec) if self.can_execute() else dict.fromkeys(spec, processed)

        def call(self, handle, inputs):
            if type(self).log is None:  # one for the process
                type(self).log = os.open(os.devnull, os.O_WRONLY)
            return super().call(handle, inputs)


    class Plugin(PythonControl):
        name = "lenient"
        implementation = implementation
"""
#: Backends that lack integers: one refuses whatever is none of floats, one what does not fit into 32 bits.
NARROW = """
    import torch
    from torch_conformance_saboteurs.backends import PythonControl
    from torch_conformance_saboteurs.control import PythonBackend

    from conformance import features
    from conformance.compare.values import tensors_in


    def check(tensor):
        if {condition}:
            raise RuntimeError("an argument is no float, or too large")


    class implementation(PythonBackend):
        def call(self, handle, inputs):
            for tensor in tensors_in(inputs):
                check(tensor)
            return super().call(handle, inputs)


    class Plugin(PythonControl):
        name = "{name}"
        implementation = implementation
        features = PythonControl.features.without(features.integers, "they are not what the hardware has")
"""
CONDITIONS = {
    "floats": "not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)",
    "narrow": "tensor.dtype == torch.int64 and bool((tensor.abs() >= 2**31).any())",
}
CHOSEN = (
    "(test_availability and (test_host or test_warning or (test_target and full)))"
    " or test_message or test_handles or (test_lite_interpreter and test_again)"
)


@pytest.fixture(scope="module")
def run(new_project: Callable[[str], Project]) -> Run:
    project = new_project("allowed")
    project.install("lenient", BACKEND)
    return project.run("--backend=lenient", "-k", CHOSEN, "-n", "2")


@pytest.mark.slow
def test_what_is_allowed_passes(run: Run) -> None:
    failing = {row["id"]: row["message"] for row in run.report("lenient")["cells"] if row["verdict"] != "PASS"}
    assert not failing
    clauses = {row["clause"] for row in run.report("lenient")["cells"]}
    assert clauses == {
        "availability.host",
        "availability.target",
        "availability.warning",
        "debug.handles",
        "debug.message",
        "lite.again",
    }


@pytest.mark.slow
def test_the_report_says_what_was_allowed_and_what_was_seen(run: Run) -> None:
    rows = {row["id"]: row["behaviour"] for row in run.report("lenient")["cells"] if "behaviour" in row}
    host = rows["availability.host[add-full-no/no]"]
    assert (host["expected"]["can"], host["observed"]["can"]) == ("no/no or yes/no", "yes/no")
    target = rows["availability.target[add-full-no/no-no/yes]"]
    assert target["expected"] == {"available": "yes", "load": "ok or error (RuntimeError)", "run": "ok or nothing"}
    assert target["observed"] == {"available": "yes", "load": "error (RuntimeError)"}
    assert rows["availability.target[add-full-yes/no-no/yes]"]["expected"]["load"] == "ok"


def test_nothing_is_what_may_be_seen_only_where_it_is_said() -> None:
    assert is_as_expected(None, None)
    assert is_as_expected(EITHER.join(("ok", NOTHING)), None)
    assert is_as_expected(EITHER.join(("ok", NOTHING)), "ok")
    assert not is_as_expected("ok", None)
    assert not is_as_expected(None, "ok")
    assert not is_as_expected(EITHER.join(("ok", NOTHING)), "error")


@pytest.mark.parametrize(
    ("pid", "text", "found"),
    [
        (4321, "lowered by process 4321", True),
        (4321, "pid=4321;", True),
        (4321, "a line of 14321 bytes", False),
        (4321, "by process 4321q", True),
        (4321, "x4321f", False),
        (7, "version 7, 7 methods", False),
        (999, "999", False),
        (1000, "1000", True),
    ],
)
def test_a_short_process_id_is_not_found_in_every_number(pid: int, text: str, found: bool) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("archive/data.pkl", text)
    traces = traces_of({"pid": pid, "folders": []}, Artifact(archive.getvalue(), "full"))
    assert bool(traces["the id"]) == found


@pytest.mark.parametrize("name", CONDITIONS)
def test_who_lacks_integers_may_refuse_them_all_or_those_that_are_too_large(project: Project, name: str) -> None:
    project.install(name, NARROW.format(name=name, condition=CONDITIONS[name]))
    run = project.run(f"--backend={name}", "-k", "test_lowering and test_refusal", "-n", "2")
    assert run.exit_code == 0, run.output
    verdicts = {row["case"]: row["verdict"] for row in run.report(name)["cells"]}
    assert {"integers", "integer_division", "mixed_dtypes", "padding_mask"} <= set(verdicts)
    assert set(verdicts.values()) == {"PASS"}
