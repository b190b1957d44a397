"""Saboteurs: what a release does with the artifacts of the one before, which lie in ``goldens/``.

The golden sets were written with ``SABOTEUR_RELEASE=1``, as the release before would have: ``conformance goldens``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from torch import Tensor

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import Listing, replaced

saboteur = Listing()

_GOLDENS = str(Path(__file__).parent / "goldens")


def _is_former_release() -> bool:
    return os.environ.get("SABOTEUR_RELEASE") == "1"


@saboteur("save-load.goldens", phases=("load",))
class ReadsNoFormerFormat(PythonControl):
    name = "reads_no_former_format"
    goldens = _GOLDENS

    class implementation(PythonBackend):
        """The format of the processed module has changed, and the former one is refused."""

        format = "torch-conformance-saboteurs/1" if _is_former_release() else "torch-conformance-saboteurs/2"


@saboteur("save-load.goldens")
class MisreadsFormerWeights(PythonControl):
    name = "misreads_former_weights"
    goldens = _GOLDENS

    class implementation(PythonBackend):
        """The former release wrote a scale beside the program, and this one takes it for another unit."""

        def pack(self, record: Record) -> Any:
            packed = super().pack(record)
            return packed if _is_former_release() else packed.replace("\n", " \n", 1)

        def unpack(self, processed: Any) -> Record:
            is_new = processed.partition("\n")[0].endswith(" ")
            record = super().unpack(processed.replace(" \n", "\n", 1))
            _scales[record.program] = 1.0 if is_new or _is_former_release() else 1.5
            return record

        def load_program(self, record: Record) -> Any:
            _current.append(_scales[record.program])
            return super().load_program(record)

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            return replaced(super().call(handle, inputs), Tensor, lambda each: each * _current[-1])


_scales: dict[bytes, float] = {}
_current: list[float] = []

SABOTEURS = saboteur.all()
