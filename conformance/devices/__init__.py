"""Where verbs run: processes of their own, forked from one that only imported torch."""

from __future__ import annotations

from conformance.devices._child import Child, Limits
from conformance.devices._device import Device, Ledger, Transport
from conformance.devices._pool import Pool, ZygotePool
from conformance.devices._trace import Machine, Step, Trace

__all__ = ["Child", "Device", "Ledger", "Limits", "Machine", "Pool", "Step", "Trace", "Transport", "ZygotePool"]
