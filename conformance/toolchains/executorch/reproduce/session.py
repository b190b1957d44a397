"""What the verbs of ExecuTorch that are copied into scripts take for a device's session: a thing is its own number."""

from __future__ import annotations

from typing import Any

from conformance.standalone.reproducers._process import author


class Session:
    """Stands where the harness has the objects of a device."""

    def __init__(self) -> None:
        self._shared: Any = None

    @property
    def backend(self) -> Any:
        """The author's class, which alone knows the partitioner."""
        return author()

    def partitioners(self, case: Any, *, shared: bool = False) -> list[Any]:
        """The backend's partitioner for a case, or the one that all share."""
        if not shared:
            return [author().partitioner(case)]
        self._shared = self._shared or author().partitioner(case)
        return [self._shared]

    def get(self, thing: Any) -> Any:
        """A thing."""
        return thing

    def keep(self, thing: Any) -> Any:
        """A thing."""
        return thing


session = Session()
