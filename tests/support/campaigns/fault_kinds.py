"""Kinds of fault, as data: what is done in a process of a backend, and in which phases."""

from __future__ import annotations

import dataclasses
import textwrap

#: When the author's class is loaded, a model lowered, an artifact compiled in another process, a method run, what was
#: lowered destroyed, and the process left as a script is.
PHASES = ("load", "lower", "artifact", "run", "release", "exit")
#: Phases in which somebody hears of an exception.
HEARD = ("load", "lower", "artifact", "run")
RUN = ("run",)
ELSEWHERE = "a clause about what surrounds a backend speaks of it, and not those of the campaign"
OWN = "what it does stays in its process, which no clause of the campaign looks at"


@dataclasses.dataclass(frozen=True)
class Fault:
    """``code`` is done in ``phases``. Where that is harmless a cell may PASS, and here is why; it may not be lost,
    charged to the harness, excused, or cost another backend anything."""

    name: str
    code: str
    phases: tuple[str, ...] = PHASES
    harmless: str = ""


def _signals() -> list[Fault]:
    names = ("SEGV", "KILL", "ABRT", "BUS", "ILL", "FPE", "TERM", "HUP", "QUIT", "SYS", "XCPU", "USR1")
    found = [Fault(f"signal_{name.lower()}", f"os.kill(os.getpid(), signal.SIG{name})") for name in names]
    return [*found, Fault("signal_stop", "os.kill(os.getpid(), signal.SIGSTOP)")]


ENDS = [
    *_signals(),
    *(Fault(f"exit_{code}", f"os._exit({code})") for code in (0, 1, 255)),
    Fault("exit_of_c", "ctypes.CDLL(None).exit(0)", HEARD),
    Fault("exec", "os.execv('/bin/true', ['true'])"),
    Fault("null_pointer", "ctypes.string_at(0)"),
    Fault("stack_overflow", "sys.setrecursionlimit(10**9); f = lambda f: f(f); f(f)", HEARD),
]
HANGS = [
    Fault("sleep", "time.sleep(600)"),
    Fault("busy", "while True: pass"),
    Fault("busy_with_gil", "import re; re.match('(?:a|aa)+$', 'a' * 200 + 'b')"),
    Fault("deadlock", "lock = threading.Lock(); lock.acquire(); lock.acquire()"),
    Fault("reads_nothing", "os.read(os.pipe()[0], 1)"),
]
RAISES = [
    *(
        Fault(f"raise_{name.lower()}", f"raise {name}('no')", HEARD)
        for name in ("RuntimeError", "MemoryError", "KeyError", "AssertionError", "NotImplementedError", "OSError")
    ),
    *(
        Fault(f"raise_{name.lower()}", f"raise {name}()", HEARD)
        for name in ("BaseException", "SystemExit", "KeyboardInterrupt", "GeneratorExit", "StopIteration")
    ),
    Fault("raise_group", "raise ExceptionGroup('many', [ValueError(str(n)) for n in range(1000)])", HEARD),
    Fault("raise_skip", "import _pytest.outcomes as o; raise o.Skipped('not today')", HEARD),
    Fault("raise_leave", "from conformance.devices.protocol import Leave; raise Leave()", HEARD),
    Fault("raise_not_exercised", "from conformance.api.errors import TargetUnable; raise TargetUnable('no')", HEARD),
    Fault(
        "raise_unprintable",
        """
        class Unprintable(Exception):
            def __str__(self): raise KeyError("nothing")
            __repr__ = __str__
        raise Unprintable()
        """,
        HEARD,
    ),
    Fault("raise_long", "raise RuntimeError('x' * 100_000_000)", HEARD),
    Fault("raise_surrogates", "raise RuntimeError('\\ud800\\x00\\x1b[31m')", HEARD),
    Fault("raise_chain", "e = None\nfor n in range(300): e2 = ValueError(n); e2.__cause__ = e; e = e2\nraise e", HEARD),
]
CHANNELS = [
    Fault("garbage_to_all", "for n in range(3, 256): write(n, b'\\xff' * 64)", HEARD),
    Fault("text_to_sockets", "for n in sockets(): write(n, b'Hello, world\\n')", HEARD),
    Fault("huge_length", "for n in sockets(): write(n, b'\\x7f' * 8)", HEARD),
    Fault("short_message", "for n in sockets(): write(n, (4).to_bytes(8, 'big') + b'\\x02SIQ')", HEARD),
    Fault("endless_message", "while True: [write(n, (2**28).to_bytes(8, 'big') * 999) for n in sockets()]", HEARD),
    Fault("forged_answers", "[write(n, answer(k, 0.1)) for n in sockets() for k in range(12)]", HEARD),
    Fault(
        "no_number_of_seconds", "for n in sockets():\n    for k in range(12): write(n, answer(k, float('nan')))", HEARD
    ),
    Fault("closed_all", "os.closerange(3, 4096)", HEARD),
    Fault("closed_sockets", "for n in sockets(): os.close(n)", HEARD),
    Fault("shut_sockets", "for n in sockets(): socket.socket(fileno=os.dup(n)).shutdown(2)", HEARD),
    Fault("null_for_sockets", "for n in sockets(): os.dup2(os.open('/dev/null', os.O_RDWR), n)", HEARD),
    Fault("closed_standard", "os.closerange(0, 3)", harmless=OWN),
    Fault("no_descriptors_left", "kept.append([open('/dev/null') for _ in range(10**6)])", HEARD),
]
LEFTOVERS = [
    Fault("thread_left", "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()", harmless=OWN),
    Fault("busy_thread_left", "threading.Thread(target=spin, daemon=True).start()", harmless=OWN),
    Fault("thread_waited_for", "threading.Thread(target=time.sleep, args=(600,)).start()", harmless=OWN),
    Fault("child_left", "os.fork() or time.sleep(600)", harmless=OWN),
    Fault("child_stopped", "os.fork() or os.kill(os.getpid(), signal.SIGSTOP)", harmless=OWN),
    Fault("child_in_session", "os.fork() or (os.setsid(), time.sleep(600))", harmless=OWN),
    Fault("daemon", "daemon()", harmless=OWN),
    Fault("daemon_that_hears_nothing", "daemon(lambda: [signal.signal(n, 1) for n in (1, 2, 3, 15)])", harmless=OWN),
    Fault("many_children", "for _ in range(40): os.fork() or time.sleep(600)", harmless=OWN),
    Fault("child_answers", "os.fork() or answer_later()", HEARD, harmless=OWN),
    Fault("zombie", "os.fork() or os._exit(0)", harmless=OWN),
    Fault("files_left", "import tempfile; [tempfile.mkstemp() for _ in range(50)]; tempfile.mkdtemp()", harmless=OWN),
    Fault("no_temporary_folder", "import shutil, tempfile; shutil.rmtree(tempfile.gettempdir())", harmless=OWN),
    Fault("other_folder", "os.chdir('/')", harmless=ELSEWHERE),
    Fault("folder_gone", "import tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)", harmless=ELSEWHERE),
]
RESOURCES = [
    Fault("memory", "kept.append([bytearray(2**26) for _ in range(10**6)])", HEARD),
    Fault("memory_of_torch", "torch.empty(2**42, dtype=torch.uint8)", HEARD),
    Fault("flood", "while True: os.write(1, b'x' * 65536)", HEARD),
    Fault("flood_of_errors", "while True: os.write(2, b'\\xff\\xfe\\x00' * 65536)", HEARD),
    Fault("no_text", "os.write(1, bytes(range(256)) * 64); os.write(2, b'\\xc3\\x28\\xff' * 999)", harmless=OWN),
    Fault("large_file", "open('/proc/self/fd/1', 'wb').truncate(2**40)", HEARD),
    Fault("little_memory", "limit(resource.RLIMIT_AS, 2**20)", harmless=OWN),
    Fault("no_files", "limit(resource.RLIMIT_NOFILE, 3)", harmless=OWN),
    Fault("no_time", "limit(resource.RLIMIT_CPU, 1); spin()", HEARD),
    Fault("nothing_written", "limit(resource.RLIMIT_FSIZE, 0)", harmless=OWN),
]
SURROUNDINGS = [
    Fault("deaf", "[signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19, 17)]", harmless=OWN),
    Fault("deaf_and_asleep", "[signal.signal(n, 1) for n in range(1, 32) if n not in (9, 19, 17)]; time.sleep(600)"),
    Fault("alarm", "signal.signal(14, 0); signal.setitimer(signal.ITIMER_REAL, 0.02); time.sleep(600)"),
    Fault("blocked_signals", "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))", harmless=OWN),
    Fault("no_environment", "os.environ.clear()", harmless=ELSEWHERE),
    Fault("other_locale", "import locale; locale.setlocale(locale.LC_ALL, 'C.UTF-8')", harmless="any process may"),
    Fault("other_umask", "os.umask(0o777)", harmless=ELSEWHERE),
    Fault("default_dtype", "torch.set_default_dtype(torch.float64)", harmless=ELSEWHERE),
    Fault("no_gradients", "torch.set_grad_enabled(False)", harmless=ELSEWHERE),
    Fault("threads", "torch.set_num_threads(64)", harmless=ELSEWHERE),
    Fault("seed", "torch.manual_seed(0); import random; random.seed(0)", harmless=ELSEWHERE),
    Fault("builtins", "import builtins; builtins.isinstance = lambda *a: True", HEARD, harmless=OWN),
    Fault("no_length", "import builtins; builtins.len = lambda a: 1 // 0", HEARD),
    Fault("clock", "time.perf_counter = lambda: float('nan')", harmless=OWN),
    Fault("clock_goes_back", "ticks = iter(range(9**6, 0, -1)); time.perf_counter = lambda: next(ticks)", harmless=OWN),
    Fault("no_streams", "sys.stdout = sys.stderr = None", harmless=OWN),
    Fault("closed_streams", "sys.stdout.close(); sys.stderr.close()", harmless=OWN),
    Fault("no_modules", "[sys.modules.pop(n) for n in list(sys.modules) if n.startswith('conf')]", harmless=OWN),
    Fault("no_path", "sys.path.clear()", harmless=OWN),
    Fault("shallow", "sys.setrecursionlimit(60)", HEARD, harmless=OWN),
    Fault("warnings_raise", "import warnings; warnings.simplefilter('error')", harmless=OWN),
    Fault("traced", "sys.settrace(lambda *a: 1 // 0)", harmless=OWN),
    Fault("no_collector", "import gc; gc.disable(); gc.set_threshold(0)", harmless=OWN),
]
RESULTS = [
    Fault("result_twice", "result = [*result, *result]", RUN, harmless="compile.result-form speaks of it"),
    *(
        Fault(f"result_{name}", f"result = {code}", RUN)
        for name, code in (
            ("meta", "each(result, lambda t: t.to('meta'))"),
            ("sparse", "each(result, lambda t: t.to_sparse())"),
            ("nested", "each(result, lambda t: torch.nested.nested_tensor([t]))"),
            ("fake", "each(result, fake)"),
            ("nan", "each(result, lambda t: t * float('nan') if t.numel() else t.new_full((1,), float('nan')))"),
            ("integers", "each(result, lambda t: t.to(torch.int32) + 1)"),
            ("empty", "each(result, lambda t: t.flatten()[:0])"),
            ("none", "[None]"),
            ("nothing", "[]"),
            ("text", "['a text']"),
            ("module", "[os]"),
            ("no_list", "7"),
        )
    ),
]
FAULTS = {
    each.name: dataclasses.replace(each, code=textwrap.dedent(each.code).strip())
    for each in (*ENDS, *HANGS, *RAISES, *CHANNELS, *LEFTOVERS, *RESOURCES, *SURROUNDINGS, *RESULTS)
}
