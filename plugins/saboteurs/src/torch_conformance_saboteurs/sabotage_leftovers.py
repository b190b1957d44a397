"""Saboteurs: lowering or running leaves the process other than it was."""

from __future__ import annotations

import _thread
import atexit
import locale
import os
import random
import signal
import sys
import threading
import warnings
from typing import Any

import torch

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.bridge import DebugHandles
from torch_conformance_saboteurs.control import Handle, PythonBackend
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()

_modes: list[torch.inference_mode] = []


class _LeavesWhenLowered(PythonBackend):
    """A backend that leaves something in the process when it has preprocessed a module."""

    def preprocess(
        self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any], debug_handles: DebugHandles
    ) -> Any:
        processed = super().preprocess(module, method_compile_spec, debug_handles)
        self.leave()
        return processed

    def leave(self) -> None:
        raise NotImplementedError


class _LeavesWhenRun(PythonBackend):
    """A backend that leaves something in the process when it has computed a result."""

    def call(self, handle: Handle, inputs: list[Any]) -> Any:
        result = super().call(handle, inputs)
        self.leave()
        return result

    def leave(self) -> None:
        raise NotImplementedError


@saboteur("lowering.global-state", phases=("inspect",))
class LeaksNoGrad(PythonControl):
    name = "leaks_no_grad"

    class implementation(_LeavesWhenRun):
        """Running leaves the thread without grad mode."""

        def leave(self) -> None:
            torch._C._set_grad_enabled(False)


@saboteur("lowering.global-state", phases=("inspect",))
class LeaksInferenceMode(PythonControl):
    name = "leaks_inference_mode"

    class implementation(_LeavesWhenRun):
        """Running leaves the thread in inference mode."""

        def leave(self) -> None:
            _modes.append(torch.inference_mode())
            _modes[-1].__enter__()


@saboteur("lowering.global-state", verdicts=(REPORTED,))
class LeavesThread(PythonControl):
    name = "leaves_thread"

    class implementation(_LeavesWhenLowered):
        """Lowering starts a thread that does not end."""

        def leave(self) -> None:
            threading.Thread(target=threading.Event().wait, daemon=True).start()


@saboteur("lowering.global-state", verdicts=(REPORTED,))
class LeavesNativeThread(PythonControl):
    name = "leaves_native_thread"

    class implementation(_LeavesWhenRun):
        """Running starts a thread that Python does not list."""

        def leave(self) -> None:
            _thread.start_new_thread(_asleep, ())


@saboteur("lowering.global-state", phases=("inspect",))
class ChangesDefaultDtype(PythonControl):
    name = "changes_default_dtype"

    class implementation(_LeavesWhenLowered):
        """Lowering makes float64 the default dtype."""

        def leave(self) -> None:
            torch.set_default_dtype(torch.float64)


@saboteur("lowering.global-state", phases=("inspect",))
class SeedsGlobally(PythonControl):
    name = "seeds_globally"

    class implementation(_LeavesWhenLowered):
        """Lowering seeds torch's global generator."""

        def leave(self) -> None:
            torch.manual_seed(0)


@saboteur("lowering.global-state", phases=("inspect",))
class DrawsRandomNumbers(PythonControl):
    name = "draws_random_numbers"

    class implementation(_LeavesWhenRun):
        """Running draws from torch's global generator."""

        def leave(self) -> None:
            torch.rand(1)


@saboteur("lowering.global-state", phases=("inspect",))
class ChangesThreadCount(PythonControl):
    name = "changes_thread_count"

    class implementation(_LeavesWhenRun):
        """Running changes the number of threads that torch uses."""

        def leave(self) -> None:
            torch.set_num_threads(torch.get_num_threads() + 1)


@saboteur("lowering.global-state", phases=("inspect",))
class FlushesDenormals(PythonControl):
    name = "flushes_denormals"

    class implementation(_LeavesWhenLowered):
        """Lowering makes the processor flush denormal numbers to zero."""

        def leave(self) -> None:
            torch.set_flush_denormal(True)


@saboteur("lowering.global-state", phases=("inspect",))
class LowersPrecision(PythonControl):
    name = "lowers_precision"

    class implementation(_LeavesWhenLowered):
        """Lowering allows matrix products in float32 a lower precision."""

        def leave(self) -> None:
            torch.set_float32_matmul_precision("medium")


@saboteur("lowering.global-state", phases=("inspect",))
class LeavesAutocast(PythonControl):
    name = "leaves_autocast"

    class implementation(_LeavesWhenLowered):
        """Lowering leaves autocast enabled."""

        def leave(self) -> None:
            torch.set_autocast_enabled("cpu", True)


@saboteur("lowering.global-state", verdicts=(REPORTED,))
class RegistersForExit(PythonControl):
    name = "registers_for_exit"

    class implementation(_LeavesWhenLowered):
        """Lowering registers a function that runs when the process ends."""

        def leave(self) -> None:
            atexit.register(bool)


@saboteur("lowering.global-state", phases=("inspect",))
class SeedsPython(PythonControl):
    name = "seeds_python"

    class implementation(_LeavesWhenLowered):
        """Lowering seeds Python's global generator."""

        def leave(self) -> None:
            random.seed(0)


@saboteur("lowering.global-state", phases=("inspect",))
class ChangesDirectory(PythonControl):
    name = "changes_directory"

    class implementation(_LeavesWhenLowered):
        """Lowering changes the working directory."""

        def leave(self) -> None:
            os.chdir("/")


@saboteur("lowering.global-state", phases=("inspect",))
class ChangesEnvironment(PythonControl):
    name = "changes_environment"

    class implementation(_LeavesWhenLowered):
        """Lowering sets an environment variable."""

        def leave(self) -> None:
            os.environ["OMP_DYNAMIC"] = "TRUE"


@saboteur("lowering.global-state", phases=("inspect",))
class ExtendsPath(PythonControl):
    name = "extends_path"

    class implementation(_LeavesWhenLowered):
        """Lowering adds a folder to where modules are imported from."""

        def leave(self) -> None:
            sys.path.append("/")


@saboteur("lowering.global-state", verdicts=(REPORTED,))
class LeavesDescriptor(PythonControl):
    name = "leaves_descriptor"

    class implementation(_LeavesWhenRun):
        """Running leaves a file open."""

        def leave(self) -> None:
            os.open(os.devnull, os.O_RDONLY)


@saboteur("lowering.global-state", phases=("inspect",))
class TakesSignal(PythonControl):
    name = "takes_signal"

    class implementation(_LeavesWhenLowered):
        """Lowering takes over the handler of SIGTERM."""

        def leave(self) -> None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


@saboteur("lowering.global-state", phases=("inspect",))
class SetsTheLocale(PythonControl):
    name = "sets_the_locale"

    class implementation(_LeavesWhenLowered):
        """Lowering sets the locale that its parser wants, for numbers everywhere."""

        def leave(self) -> None:
            locale.setlocale(locale.LC_NUMERIC, "C.UTF-8")


@saboteur("lowering.global-state", phases=("inspect",))
class SilencesWarnings(PythonControl):
    name = "silences_warnings"

    class implementation(_LeavesWhenRun):
        """Running silences the warnings of its library, and everybody's."""

        def leave(self) -> None:
            warnings.filterwarnings("ignore")


def _asleep() -> None:
    threading.Event().wait()


SABOTEURS = saboteur.all()
