"""Saboteurs: what lies outside the declared features."""

from __future__ import annotations

from conformance.saboteur import Saboteur

SABOTEURS: tuple[Saboteur, ...] = ()
