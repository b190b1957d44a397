"""What an author writes to have a backend certified."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

from conformance.api.features import Features


class Environment(Mapping[str, str | None]):
    """Environment variables that put a process into a state; a value of None removes the variable.

    ``Environment()`` with no variables says: nothing needs to be done, a process is in that state by itself.
    """

    __slots__ = ("_variables",)

    def __init__(self, **variables: str | None) -> None:
        for name, value in variables.items():
            if value is not None and not isinstance(value, str):
                raise TypeError(
                    f"Environment({name}=...) takes a string, or None to remove the variable; "
                    f"found {type(value).__name__}: {value!r}"
                )
        self._variables = MappingProxyType(dict(variables))

    def __getitem__(self, name: str) -> str | None:
        return self._variables[name]

    def __iter__(self) -> Any:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __repr__(self) -> str:
        return f"Environment({', '.join(f'{name}={value!r}' for name, value in self._variables.items())})"


@dataclasses.dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a value may be from the expected one: ``|actual - expected| <= atol + rtol * |expected|``."""

    rtol: float
    atol: float

    def __post_init__(self) -> None:
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
                raise ValueError(f"Tolerance.{name} is a number from 0 to below 1, found {value!r}")


class LoweredCase(Protocol):
    """What an author's class is told about the model that is being lowered."""

    @property
    def name(self) -> str: ...

    @property
    def methods(self) -> tuple[str, ...]: ...


class Backend:
    """The backend under test, as its author describes it to the harness.

    An instance is made in each process that runs the backend, never in the pytest process itself, so a plugin may
    import whatever it likes.
    """

    toolchain: ClassVar[str]
    #: The name by which PyTorch knows the backend; the entry point's name when it is left empty.
    name: str = ""
    #: What the backend can take. Everything that it cannot, and does not declare, is reported as a failure.
    features: Features = Features.all()
    #: Tolerances other than the default, by the name of the dtype ("float32"). The report lists them as deviations.
    tolerances: Mapping[str, Tolerance] = MappingProxyType({})

    #: How to reach each state of availability (None: it cannot be reached, and is reported as NOT_EXERCISED).
    available: Environment | None = Environment()
    unavailable: Environment | None = None
    compile_only: Environment | None = None
    execute_only: Environment | None = None
    #: What takes the ability away from a *running* process after it loaded an artifact, without a restart.
    lost: Environment | None = None

    #: A folder of golden sets that the distribution brings: artifacts of former releases, see ``conformance goldens``.
    goldens: str | None = None

    def prepare(self) -> Environment | None:
        """Build or find what the backend needs. Called once before a run, in a process of its own; may be slow.

        What it returns is set in every device of the run: so what was found once need not be looked for again.
        """
        return None

    def load(self) -> None:
        """Make the backend known to PyTorch in this process. Must be harmless when called twice.

        Raises whatever explains best why the backend cannot be used here: the text is shown by ``--list-backends -v``.
        """

    def preprocess_count(self) -> int | None:
        """How often the backend has preprocessed a module in this process; None if it does not count."""
        return None
