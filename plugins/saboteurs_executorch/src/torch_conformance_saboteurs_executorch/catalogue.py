"""Every saboteur of this distribution."""

from __future__ import annotations

from conformance.api.saboteur import Saboteur
from torch_conformance_saboteurs_executorch import (
    blobs,
    external,
    generated,
    lives,
    lowering,
    memory,
    quantised,
    running,
)

SABOTEURS: tuple[Saboteur, ...] = (
    *lowering.saboteur.all(),
    *blobs.saboteur.all(),
    *running.saboteur.all(),
    *external.saboteur.all(),
    *lives.saboteur.all(),
    *memory.saboteur.all(),
    *quantised.saboteur.all(),
    *generated.saboteur.all(),
)
