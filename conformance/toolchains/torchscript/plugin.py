"""The toolchain of TorchScript delegates, as an extension gives it. Imports no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance._util.shipped import shipped_folder
from conformance.api.backend import Backend
from conformance.hookspecs import hookimpl
from conformance.toolchains import NativeProgram, PluginError, ProgramTraits, Reproduction, Toolchain
from conformance.toolchains.libraries import details_of_libraries, problems_of_libraries
from conformance.toolchains.torchscript.backend import TorchScriptBackend

_HERE = "conformance.toolchains.torchscript"
_BACKENDS = "__torch__.torch.classes.__backends__."


class TorchScript(Toolchain):
    """``torch._C._jit_to_backend``, ``torch.jit.save`` and the lite interpreter."""

    name = "torchscript"
    summary = "TorchScript delegates (to_backend)"
    runtimes = ("full", "lite")
    backend_class = TorchScriptBackend
    is_default = True

    session = f"{_HERE}.verbs:open_session"
    client = f"{_HERE}.client:TorchScriptDevice"
    preload = f"{_HERE}.preload"
    cases = tuple(
        f"{_HERE}.cases.{name}"
        for name in (
            "arithmetic",
            "combined",
            "corners",
            "dtypes",
            "everyday",
            "flow",
            "memory",
            "networks",
            "practice",
            "ordinary",
            "quantized",
            "signatures",
        )
    )

    programs = ProgramTraits(
        copies_weights=True,
        keeps_aliases=False,
        keeps_strides=False,
        keeps_writes=False,
        keeps_gradients=False,
        trains=False,
        takes_python=False,
        saves=True,
        moves=True,
        freezes=True,
        decorator_of_methods="@torch.jit.export",
        takes_lists=True,
        gives_numbers=True,
    )
    conforming = ("reference", "python_control")
    library_hint = "registers no TorchScript backend (a static torch::jit::backend<...> object in it would)"
    suites = shipped_folder("suites") / "torchscript"
    seconds_of_an_operator = 10.0
    kit = f"{_HERE}.reproduce.kit:KIT"
    goldens = f"{_HERE}.goldens"
    can_pack = True
    templates = Path(__file__).with_name("templates")

    def native_program(self) -> NativeProgram:
        """A program of libtorch and nothing else; see ``csrc/``."""
        from conformance.toolchains.torchscript.native import native_program

        return native_program()

    def from_library(self, path: str) -> Backend:
        """A backend that is registered by loading the library."""
        library_class = type("LibraryBackend", (TorchScriptBackend,), {"libraries": (path,)})
        backend: Backend = library_class()
        return backend

    def registered(self) -> set[str]:
        """The backends of this process, seen by the classes that their libraries register."""
        import torch

        names = set()
        for schema in torch._C._jit_get_custom_class_schemas():  # type: ignore[attr-defined]
            if schema.name == "__init__":
                type_name = schema.arguments[0].type.annotation_str
                if type_name.startswith(_BACKENDS):
                    names.add(type_name.removeprefix(_BACKENDS))
        return names

    def problems(self, backend: Backend) -> list[str]:
        """What is wrong with ``libraries``."""
        assert isinstance(backend, TorchScriptBackend)
        return problems_of_libraries(backend)

    def details(self, backend: Backend, *, prepared: bool) -> dict[str, Any]:
        """The libraries of a backend that has been prepared, and their digests."""
        assert isinstance(backend, TorchScriptBackend)
        return details_of_libraries(backend) if prepared else {}

    def expect_known(self, backend: Backend, registered: list[str]) -> None:
        """Raise PluginError unless a class of the backend's name is registered."""
        import torch

        try:
            getattr(torch.classes.__backends__, backend.name)
        except RuntimeError:
            found = f"it registered {', '.join(registered)}" if registered else "it registered no backend at all"
            raise PluginError(
                f"load() worked, but PyTorch knows no TorchScript backend named {backend.name!r} afterwards: {found}. "
                "Set `name` to the name under which the library registers its class."
            ) from None

    def reproduction(self, backend: Backend, cases: list[str]) -> Reproduction:
        """Its libraries, what only its class can do, and the compile spec of each case."""
        from conformance.compare.values import encode
        from conformance.devices import Subject
        from conformance.toolchains import case_named

        def named(case: str) -> Any:
            from conformance.toolchains.torchscript.verbs.generated import GENERATED

            return GENERATED.get(case) or case_named(case, self.name)

        assert isinstance(backend, TorchScriptBackend)
        own, base = type(backend), TorchScriptBackend
        with Subject():
            return Reproduction(
                libraries=tuple(Path(path).name for path in backend.libraries),
                loads=own.load is not base.load,
                lowers=own.lower is not base.lower,
                specs={case: encode(backend.compile_spec(named(case))) for case in cases},
            )

    def gist(self, text: str) -> str:
        """Without the traceback that the interpreter puts around or behind what was raised."""
        from conformance.toolchains.torchscript.telling import gist

        return gist(text)


@hookimpl
def conformance_toolchains() -> list[Toolchain]:
    """The toolchain ``torchscript``."""
    return [TorchScript()]
