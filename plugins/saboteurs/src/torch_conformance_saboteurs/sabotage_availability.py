"""Saboteurs: claims, abilities, their errors, and the warning of an unavailable host."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from typing import Any, ClassVar

import torch

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.bridge import DebugHandles
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


def asked_directly() -> bool:
    """In ``is_available``: whether Python code that names it asks a fresh object, not a module its own."""
    asking = sys._getframe(1).f_back
    return asking is not None and "is_available" in asking.f_code.co_names


class RemembersCompiling(PythonBackend):
    """Knows whether this object has compiled while it was available, as that of a module that works has."""

    compiled = False

    def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
        self.compiled = PythonBackend.is_available(self)
        return super().compile(processed, method_compile_spec)


# Claims that are not the fact


@saboteur("availability.claim", "availability.impossible-target", phases=("probe",))
class ClaimsWithoutExecute(PythonControl):
    name = "claims_without_execute"

    class implementation(PythonBackend):
        """Claims to be available where it can compile but not execute."""

        def is_available(self) -> bool:
            return self.can_compile() or self.can_execute()


@saboteur("availability.impossible-target", phases=("probe",))
class ClaimsWithoutExecuteOnTargets(PythonControl):
    name = "claims_without_execute_on_targets"

    class implementation(PythonBackend):
        """Claims to be available where it can compile but not execute, unless the process has lowered a module."""

        lowered: ClassVar[bool] = False

        def check_spec(self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any]) -> None:
            super().check_spec(module, method_compile_spec)
            type(self).lowered = True

        def is_available(self) -> bool:
            return super().is_available() or (self.can_compile() and not self.lowered)


@saboteur("availability.claim", phases=("probe",))
class DeniesItsAbility(PythonControl):
    name = "denies_its_ability"

    class implementation(PythonBackend):
        """Claims to be unavailable although it can compile and execute."""

        def is_available(self) -> bool:
            return False


@saboteur("availability.target", "availability.claim", phases=("load", "probe"))
class DeniesWhatIsReady(PythonControl):
    name = "denies_what_is_ready"

    class implementation(PythonBackend):
        """Claims to be unavailable without a compiler, although compile has nothing to do and execute works."""

        def is_available(self) -> bool:
            return self.can_compile() and self.can_execute()


@saboteur("availability.host", "availability.target", phases=("lower", "load"))
class ClaimsWithoutCompile(PythonControl):
    name = "claims_without_compile"

    class implementation(PythonBackend):
        """Claims to be available without a compiler, and then compile raises."""

        def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
            if not self.can_compile():
                raise RuntimeError("there is no compiler here")
            return super().compile(processed, method_compile_spec)


@saboteur("availability.impossible", phases=("probe",))
class ExecutesWhatIsNotCompiled(PythonControl):
    name = "executes_what_is_not_compiled"

    class implementation(PythonBackend):
        """Without a compiler, compile raises and is_available is false, but execute takes the processed module."""

        def is_available(self) -> bool:
            return self.can_compile() and self.can_execute()

        def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
            if not self.can_compile():
                raise RuntimeError("there is no compiler here")
            return super().compile(processed, method_compile_spec)

        def execute(self, handle: Any, inputs: list[Any]) -> list[Any]:
            if isinstance(handle, str):
                record = self.unpack(handle)
                method = next(iter(record.debug_handles))
                handle = Handle(method, self.load_program(record)._get_method(method), {})
            return super().execute(handle, inputs)


@saboteur("availability.claim", phases=("probe",))
class LiesToWhoeverAsksDirectly(PythonControl):
    name = "lies_to_whoever_asks_directly"

    class implementation(PythonBackend):
        """A fresh object claims the opposite of what an object inside a lowered module claims."""

        def is_available(self) -> bool:
            return super().is_available() != asked_directly()


@saboteur("availability.claim", "availability.target", phases=("probe", "run"))
class LiesInsideModules(PythonControl):
    name = "lies_inside_modules"

    class implementation(PythonBackend):
        """An object inside a lowered module claims to be available where it cannot execute; a fresh one does not."""

        def is_available(self) -> bool:
            return super().is_available() or (self.can_compile() and not asked_directly())


@saboteur("availability.stable", phases=("probe", "lower"))
class AlternatesItsAnswer(PythonControl):
    name = "alternates_its_answer"

    class implementation(PythonBackend):
        """Answers every second question with the opposite."""

        questions = 0

        def is_available(self) -> bool:
            self.questions += 1
            return super().is_available() == (self.questions % 2 == 1)


@saboteur("availability.stable", phases=("probe",))
class TiresOfBeingAsked(PythonControl):
    name = "tires_of_being_asked"

    class implementation(PythonBackend):
        """Claims to be unavailable every thirtieth time that an object is asked."""

        questions = 0

        def is_available(self) -> bool:
            self.questions += 1
            return super().is_available() and self.questions % 30 != 0


@saboteur("availability.stable", verdicts=(REPORTED, "TIMEOUT"), phases=("probe",))
class ThinksHalfASecond(PythonControl):
    name = "thinks_half_a_second"

    class implementation(PythonBackend):
        """Looks for its device for half a second at each question."""

        def is_available(self) -> bool:
            time.sleep(0.5)
            return super().is_available()


# Artifacts and processes in which it is not available


@saboteur("availability.regained", "availability.target", "bundled.unavailable", phases=("load",))
class RefusesTheUnavailableHost(PythonControl):
    name = "refuses_the_unavailable_host"

    class implementation(PythonBackend):
        """Makes drafts where it is unavailable, which it refuses to load anywhere."""

        def pack(self, record: Record) -> Any:
            return super().pack(record) if self.is_available() else "draft:" + super().pack(record)


@saboteur("save-load.same-outputs", "availability.target", "availability.regained", phases=("load",))
class AvailableOnlyToTheHost(PythonControl):
    name = "available_only_to_the_host"

    class implementation(PythonBackend):
        """Is available only in the process that lowered the module."""

        here: ClassVar[bool] = False

        def check_spec(self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any]) -> None:
            super().check_spec(module, method_compile_spec)
            type(self).here = True

        def is_available(self) -> bool:
            return self.here and super().is_available()


@saboteur("availability.host", "availability.regained", "lowering.preprocess-once", phases=("lower",))
class NeedsTheDeviceToLower(PythonControl):
    name = "needs_the_device_to_lower"

    class implementation(PythonBackend):
        """Preprocess raises where the backend is not available."""

        def preprocess(
            self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any], debug_handles: DebugHandles
        ) -> Any:
            if not self.is_available():
                raise RuntimeError("no device to lower for")
            return super().preprocess(module, method_compile_spec, debug_handles)


# Its errors


@saboteur("availability.text", "availability.target", phases=("load", "run"))
class AdmitsItOnlyAtARun(PythonControl):
    name = "admits_it_only_at_a_run"

    class implementation(RemembersCompiling):
        """Loads where it is not available, and only running says so."""

        def is_available(self) -> bool:
            return super().is_available() or not (self.compiled or asked_directly())

        def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
            if PythonBackend.is_available(self):
                return super().compile(processed, method_compile_spec)
            self.compiled = True
            return dict.fromkeys(method_compile_spec, "")


@saboteur("availability.text", "availability.target", phases=("load", "lower"))
class HasItsOwnText(PythonControl):
    name = "has_its_own_text"

    class implementation(PythonBackend):
        """Asked by a module where it is not available, it raises an error of its own instead of saying no."""

        def is_available(self) -> bool:
            if super().is_available() or asked_directly():
                return super().is_available()
            raise RuntimeError("device not found")


@saboteur("availability.text", "availability.target", phases=("load", "lower"))
class ImitatesTheRefusal(PythonControl):
    name = "imitates_the_refusal"

    class implementation(PythonBackend):
        """Inside modules it claims to be available, and compile raises PyTorch's text as a RuntimeError."""

        def is_available(self) -> bool:
            return super().is_available() or not asked_directly()

        def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
            if not super().is_available():
                raise RuntimeError("Exception: Backend is not available.")
            return super().compile(processed, method_compile_spec)


@saboteur("availability.text", phases=("probe",))
class AvailableAfterARefusal(PythonControl):
    name = "available_after_a_refusal"

    class implementation(PythonBackend):
        """A fresh object claims to be available once a module has been refused in the process."""

        refused: ClassVar[bool] = False

        def is_available(self) -> bool:
            direct = asked_directly()
            if not direct and not super().is_available():
                type(self).refused = True
            return super().is_available() or (direct and self.refused)


# The ability is lost after loading


@saboteur("availability.lost", verdicts=("CRASH",))
class CrashesWhenLost(PythonControl):
    name = "crashes_when_lost"

    class implementation(RemembersCompiling):
        """Ends the process with SIGSEGV when a loaded module is run after the backend was lost."""

        def is_available(self) -> bool:
            if self.compiled and not super().is_available():
                os.kill(os.getpid(), signal.SIGSEGV)
            return super().is_available()


@saboteur("availability.lost")
class IgnoresTheLoss(PythonControl):
    name = "ignores_the_loss"

    class implementation(RemembersCompiling):
        """A loaded module keeps computing after the backend was lost."""

        def is_available(self) -> bool:
            return self.compiled or super().is_available()

        def can_execute(self) -> bool:
            return self.compiled or super().can_execute()


@saboteur("availability.lost")
class FailsInExecuteWhenLost(PythonControl):
    name = "fails_in_execute_when_lost"

    class implementation(RemembersCompiling):
        """A loaded module claims to be available for ever; after the loss execute raises an error of its own."""

        def is_available(self) -> bool:
            return self.compiled or super().is_available()


@saboteur("availability.lost")
class NeverRecovers(PythonControl):
    name = "never_recovers"

    class implementation(RemembersCompiling):
        """A module that was once run without the backend stays unavailable when the backend is back."""

        lost = False

        def is_available(self) -> bool:
            self.lost = self.lost or (self.compiled and not super().is_available())
            return super().is_available() and not self.lost


# The warning of an unavailable host


class _Rewording(io.StringIO):
    def write(self, text: str) -> int:
        return os.write(2, text.replace("is not available", "could not be found").encode())


@saboteur("availability.warning", "availability.host", phases=("lower", "probe"))
class SilencesTheWarning(PythonControl):
    """Loading the backend swallows what PyTorch writes to stderr, the warning included."""

    name = "silences_the_warning"

    def load(self) -> None:
        super().load()
        sys.stderr = io.StringIO()


@saboteur("availability.warning", "availability.host", phases=("lower", "probe"))
class RewordsTheWarning(PythonControl):
    """Loading the backend puts a filter before stderr that rewords the warning."""

    name = "rewords_the_warning"

    def load(self) -> None:
        super().load()
        sys.stderr = _Rewording()


@saboteur("availability.warning", phases=("lower",))
class WarnsForNothing(PythonControl):
    name = "warns_for_nothing"

    class implementation(PythonBackend):
        """Says that it is not available where it is."""

        def pack(self, record: Record) -> Any:
            if self.is_available():
                print("Backend [warns_for_nothing] is not available.", file=sys.stderr)
            return super().pack(record)


SABOTEURS = saboteur.all()
