"""Where verbs run: processes of their own, forked from one that only imported torch."""

from __future__ import annotations

from conformance.devices._child import Child, Limits
from conformance.devices._device import Device, Ledger, Transport
from conformance.devices._framing import BUILTIN_VALUES, Codec
from conformance.devices._pool import Pool, ZygotePool
from conformance.devices._trace import Machine, Step, Trace
from conformance.devices.protocol import DeviceKind, Leave, Session, Subject, ZygoteKind

__all__ = [
    "BUILTIN_VALUES",
    "Child",
    "Codec",
    "Device",
    "DeviceKind",
    "Leave",
    "Ledger",
    "Limits",
    "Machine",
    "Pool",
    "Session",
    "Step",
    "Subject",
    "Trace",
    "Transport",
    "ZygoteKind",
    "ZygotePool",
]
