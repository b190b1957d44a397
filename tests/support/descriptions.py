"""Descriptions of backends that nobody has."""

from __future__ import annotations

import dataclasses

from conformance.api.availability import Availability
from conformance.discovery.describing import Description
from conformance.toolchains import Source, toolchains

ANY_BACKEND = Description(
    source=Source(name="none"),
    prepared={},
    name="none",
    toolchain="torchscript",
    missing_features={},
    tolerances={},
    states={state.value: {} for state in Availability},
    lost=None,
    files=(),
)


ANY_BACKENDS = [dataclasses.replace(ANY_BACKEND, toolchain=each.name) for each in toolchains()]
