"""Imported by zygotes, so that devices find every toolchain looked up already."""

from __future__ import annotations

from conformance.toolchains import toolchains

toolchains()
