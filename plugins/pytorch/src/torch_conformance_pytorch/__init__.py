"""PyTorch's own test backends, which some builds of torch ship in ``torch/lib``."""

from __future__ import annotations

from pathlib import Path

from conformance import Environment, Features, TorchScriptBackend, features


class _ShippedWithTorch(TorchScriptBackend):
    """A backend whose library lies in torch's own folder, if this build of torch has it."""

    library_name = ""

    @property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        """The library's path. Raises FileNotFoundError where the installed torch does not ship it."""
        import torch

        path = Path(torch.__file__).parent / "lib" / self.library_name
        if not path.is_file():
            raise FileNotFoundError(f"torch {torch.__version__} does not ship lib/{self.library_name}")
        return (str(path),)


class TestBackend(_ShippedWithTorch):
    """Runs nothing: it answers every method with sums and differences of its first two inputs, whatever the model says.

    It accepts every model, so nothing is declared missing.
    """

    __test__ = False
    name = "test_backend"
    library_name = "libjitbackend_test.so"


class TestBackendUnavailable(_ShippedWithTorch):
    """The twin that always says that it is not available: the only state that it has is no/no."""

    __test__ = False
    name = "test_backend_unavailable"
    library_name = "libjitbackend_test.so"
    available = None
    unavailable = Environment()


class CompilerDemo(_ShippedWithTorch):
    """Compiles aten::add and aten::sub of two inputs to a string, and refuses every other operator by name."""

    name = "backend_with_compiler_demo"
    library_name = "libbackend_with_compiler.so"
    features = Features.none("the demo compiles nothing but prim::Constant, aten::add and aten::sub").including(
        features.broadcasting,
        features.zero_dim,
        features.empty,
        features.non_contiguous,
        features.large,
        features.non_finite,
        features.float64,
        features.half_precision,
        features.integers,
        features.complex_numbers,
        features.mixed_dtypes,
        features.several_methods,
        features.free_compile_spec,
    )
