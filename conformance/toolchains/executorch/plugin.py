"""The toolchain of ExecuTorch's delegates, as an extension gives it. Imports neither torch nor ExecuTorch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance._util.shipped import shipped_folder
from conformance.api.backend import Backend
from conformance.devices import DeviceKind
from conformance.hookspecs import hookimpl
from conformance.toolchains import PluginError, ProgramTraits, Reproduction, Toolchain
from conformance.toolchains.executorch.backend import ExecuTorchBackend
from conformance.toolchains.libraries import details_of_libraries, problems_of_libraries

_HERE = "conformance.toolchains.executorch"
#: Operators that Core ATen has not, or ExecuTorch no kernel for: no program that has one can be made or loaded.
_NO_KERNEL = (
    "adaptive_max_pool2d", "addmv", "argsort", "bitwise_left_shift", "bitwise_right_shift", "bucketize", "copysign",
    "cummax", "cummin", "cumprod", "diagonal_scatter", "embedding_bag", "erfc", "exp2", "fft_ifft", "fft_irfft",
    "fft_rfft", "fmax", "fmin", "grid_sampler", "hypot", "kthvalue", "lgamma", "linalg_cholesky", "linalg_det",
    "linalg_inv", "linalg_solve", "linalg_solve_triangular", "local_response_norm", "logcumsumexp", "logdet",
    "masked_select", "median", "scatter_reduce", "searchsorted", "signbit", "sort", "std_mean", "unfold", "unique",
    "var_mean",
)  # fmt: skip
_NO_DTYPE = ("complex64",)
#: Operators whose results have sizes that values decide, of which a plan knows no more than the largest.
_SIZED_BY_VALUES = ("nonzero",)


class ExecuTorch(Toolchain):
    """``to_edge_transform_and_lower`` on the host, and ``executorch.runtime`` on the target."""

    name = "executorch"
    summary = "ExecuTorch delegates"
    runtimes = ("runtime",)
    backend_class = ExecuTorchBackend
    requires = ("executorch.runtime",)  # `executorch` alone is a namespace, which any folder of that name is too
    installed_by = "pip install 'torch-conformance[executorch]'"

    session = f"{_HERE}.verbs:open_target"
    client = f"{_HERE}.client:ExecuTorchDevice"
    preload = f"{_HERE}.preload"
    preload_of_targets = f"{_HERE}.loading"
    cases = tuple(
        f"{_HERE}.cases.{name}"
        for name in (
            "arithmetic",
            "combined",
            "corners",
            "dtypes",
            "everyday",
            "networks",
            "ordinary",
            "quantised",
            "signatures",
            "state",
        )
    )
    suites = shipped_folder("suites") / "executorch"
    kit = f"{_HERE}.reproduce.kit:KIT"
    templates = Path(__file__).with_name("templates")

    programs = ProgramTraits(
        copies_weights=True,
        keeps_aliases=False,
        keeps_strides=False,
        keeps_writes=False,
        keeps_state=True,
        keeps_gradients=False,
        trains=False,
        saves=True,
        moves=True,
        takes_python=True,
        takes_none=False,
        reads_values=False,
        is_costly=True,
        takes_layouts=False,
        multiplies_nothing=False,  # reports/findings/executorch_product_over_nothing.py
        may_refuse=False,
        lacks=frozenset((*_NO_KERNEL, *_NO_DTYPE, *_SIZED_BY_VALUES)),
    )
    conforming = ("reference_executorch",)

    def device(self, role: str = "host") -> DeviceKind:
        """A host has the ahead-of-time half alone: the run-time half is loaded into targets."""
        kind = super().device(role)
        return dataclasses.replace(kind, session=f"{_HERE}.verbs:open_host") if role.startswith("host") else kind

    def registered(self) -> set[str]:
        """The delegates that the runtime of this process has."""
        if self.lacking():
            return set()
        from executorch.runtime import Runtime

        return set(Runtime.get().backend_registry.registered_backend_names)

    def names_taken(self) -> Mapping[str, str]:
        """Delegates that ExecuTorch brings along: a new one of such a name would have the same id."""
        return {name.removesuffix("Backend").lower(): "executorch" for name in self.registered()}

    def problems(self, backend: Backend) -> list[str]:
        """What is wrong with ``libraries``, and whether there is a partitioner."""
        assert isinstance(backend, ExecuTorchBackend)
        problems = problems_of_libraries(backend)
        if not isinstance(backend.only_lowers, str):
            problems.append(f"only_lowers must be a sentence that says why, found {backend.only_lowers!r:.80}")
        if type(backend).partitioner is ExecuTorchBackend.partitioner:
            problems.append("partitioner() is missing, which gives the partitioner of a model")
        return problems

    def details(self, backend: Backend, *, prepared: bool) -> dict[str, Any]:
        """The libraries of a backend that has been prepared, and their digests."""
        assert isinstance(backend, ExecuTorchBackend)
        found = details_of_libraries(backend) if prepared else {}
        return {**found, "only_lowers": backend.only_lowers}

    def expect_known(self, backend: Backend, registered: list[str]) -> None:
        """Raise PluginError unless the runtime has a delegate of the backend's name."""
        assert isinstance(backend, ExecuTorchBackend)
        known = sorted(self.registered())
        if backend.name not in known and not backend.only_lowers:
            new = f"it registered {', '.join(registered)}" if registered else "it registered nothing"
            raise PluginError(
                f"load() worked, but ExecuTorch's runtime has no delegate {backend.name!r} afterwards: {new}, and the "
                f"runtime has {', '.join(known)}. Set `name` to the id under which the library registers its delegate."
            )

    def reproduction(self, backend: Backend, cases: list[str]) -> Reproduction:
        """The names of the libraries, where loading them is all. Only the author's class has the partitioner."""
        assert isinstance(backend, ExecuTorchBackend)
        loads = type(backend).load is not ExecuTorchBackend.load
        libraries = () if loads else tuple(Path(library).name for library in backend.libraries)
        return Reproduction(libraries=libraries, loads=loads, lowers=True)


@hookimpl
def conformance_toolchains() -> list[Toolchain]:
    """The toolchain ``executorch``."""
    return [ExecuTorch()]
