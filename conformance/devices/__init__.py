"""Where verbs run: processes of their own, forked from one that only imported torch."""

from __future__ import annotations

from conformance.devices._child import Child, Limits
from conformance.devices._device import Device, Transport
from conformance.devices._pool import Pool, ZygotePool

__all__ = ["Child", "Device", "Limits", "Pool", "Transport", "ZygotePool"]
