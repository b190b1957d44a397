"""The end of a process counts: what is registered for it runs, all of it, and quietly."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.misbehaving import device, misbehaving_pool
from support.project import Project
from support.scripts import run_script, scripts_of

from conformance.api.errors import DeviceCutShort, DeviceDied, DeviceEnded, DeviceFlooded, DeviceGarbled, SubjectError
from conformance.devices import ZygotePool


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZygotePool]:
    with misbehaving_pool(tmp_path_factory.mktemp("site")) as pool:
        yield pool


def at_exit(body: str) -> str:
    """What a backend's load() does so that ``body`` is done when the process ends."""
    return f"import atexit, sys\n@atexit.register\ndef last():\n    {body}"


#: A library whose destructor ends the process before those of the others.
LIBRARY = """
#include <unistd.h>
namespace { struct Last { ~Last() { _exit(0); } } last; }
"""

#: How the end of a process is lost or abused: what the backend does in an exit handler, and what it comes to.
ENDINGS: dict[str, tuple[str, type[DeviceEnded]]] = {
    "os._exit(0)": ("os._exit(0)", DeviceCutShort),
    "exec": ("os.execv('/bin/true', ['true'])", DeviceCutShort),
    "another exit code": ("os._exit(3)", DeviceDied),
    "a signal": ("os.kill(os.getpid(), 15)", DeviceDied),
    "output": (
        "end = time.monotonic() + 20\n    while time.monotonic() < end: os.write(1, b'x' * 65536)",
        DeviceFlooded,
    ),
    "more output than is looked for in between": (
        "for _ in range(20): os.write(1, b'x' * 2**20)\n    os._exit(0)",
        DeviceFlooded,
    ),
}


@pytest.mark.parametrize(("body", "error"), ENDINGS.values(), ids=ENDINGS)
def test_an_exit_handler_cannot_end_the_process_its_own_way(
    pool: ZygotePool, body: str, error: type[DeviceEnded]
) -> None:
    child = device(pool, at_exit(body))
    assert child.call("register", {}, "register").raised is None
    with pytest.raises(error) as ended:
        child.leave("exit")
    assert type(ended.value) is error
    child.end()


def test_a_destructor_of_a_library_cannot_either(pool: ZygotePool, tmp_path: Path) -> None:
    (tmp_path / "last.cpp").write_text(LIBRARY)
    library = tmp_path / "last.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "last.cpp")], check=True)
    child = device(pool, f"import ctypes\nctypes.CDLL({str(library)!r})")
    assert child.call("register", {}, "register").raised is None
    with pytest.raises(DeviceCutShort, match="was cut short during exit"):
        child.leave("exit")
    child.end()


@pytest.mark.parametrize(
    ("said", "error", "told"),
    [
        ("'raised': {'type': 'E', 'bases': ['Exception'], 'text': 'I stay'}", SubjectError, "E in exit: I stay"),
        ("'value': 7", DeviceGarbled, "protocol error during exit: an answer where the process was to end"),
    ],
    ids=["an error", "a value"],
)
def test_who_answers_where_it_was_to_end_fails(pool: ZygotePool, said: str, error: type[Exception], told: str) -> None:
    answer = f"{{'number': 2, 'seconds': 0.0, 'warnings': [], {said}}}"
    child = device(
        pool,
        "from conformance.devices._framing import frame\n"
        + at_exit(f"os.write(connection(), frame({answer}))\n    time.sleep(60)"),
    )
    assert child.call("register", {}, "register").raised is None
    with pytest.raises(error, match=told):
        child.leave("exit")
    child.end()


def test_exit_handlers_that_return_are_all_run(pool: ZygotePool, tmp_path: Path) -> None:
    child = device(pool, at_exit(f"open({str(tmp_path / 'done')!r}, 'w').close()"))
    assert child.call("register", {}, "register").raised is None
    assert not child.leave("exit")
    assert (tmp_path / "done").exists()
    child.end()


def test_output_counts_for_the_request_that_it_was_written_in(pool: ZygotePool) -> None:
    """A process that answers many may write a little in each."""
    write = "for _ in range(10): os.write(1, b'x' * 2**20)"
    child = device(pool, f"{at_exit(write)}\n{write}")
    assert child.call("register", {}, "register").raised is None
    assert not child.leave("exit")
    child.end()


PLUGIN = """
    import atexit, os

    def compiler(graph, example_inputs):
        atexit.register(os._exit, 0)
        return graph.forward
"""


def test_a_backend_that_cuts_its_process_short_fails_and_its_script_shows_it(project: Project) -> None:
    project.install("hasty", PLUGIN, "compiler", "torch_dynamo_backends")
    run = project.run("--backend=hasty", "-k", "test_exit and dynamo_lowering and chain")
    assert run.exit_code == 1, run.output
    assert set(run.verdicts("hasty").values()) == {("FAIL", "exit")}
    (script,) = scripts_of(run, "hasty").values()
    told = run_script(script, site=project.site)
    assert told.exit_code == 1, told.output
    assert "was cut short at its exit" in told.output
