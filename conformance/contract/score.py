"""The score of the last self-test, kept in the user's state folder, where every later report finds it."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import platformdirs

import conformance
from conformance._util.files import read_bounded, write_atomically
from conformance._util.shipped import shipped_folder
from conformance.contract.table import contract_digest


def identity(toolchain: str = "") -> dict[str, Any]:
    """What a score is valid for: the versions of harness and torch, the contract of a toolchain, and the platform."""
    return {
        "harness": conformance.__version__,
        "contract": contract_digest(toolchain),
        "torch": metadata.version("torch"),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def succeeded(document: dict[str, Any]) -> bool:
    """Whether every saboteur was caught, every clause is proven, and every control passed."""
    score = document["score"]
    return (
        score["caught"] == score["saboteurs"]
        and not document["unproven"]
        and not any(control["failing"] for control in document["controls"])
    )


def remember(document: dict[str, Any], toolchain: str = "") -> None:
    """Keep the score of a toolchain's contract in the user's state folder."""
    path = _score_path(toolchain)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**identity(toolchain), "score": document["score"], "succeeded": succeeded(document)})
    write_atomically(path, text)


def remembered_score(toolchain: str = "") -> dict[str, Any] | None:
    """The score of the last whole self-test of this harness and the toolchain's contract, on this torch and platform;
    None if there was none."""
    try:
        here = identity(toolchain)
        kept = json.loads(read_bounded(_score_path(toolchain), 2**20))
        if {name: kept[name] for name in here} != here:
            return None
        score = {name: int(kept["score"][name]) for name in ("caught", "saboteurs")}
        return {**score, "succeeded": bool(kept["succeeded"])}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None  # none was kept, or the file is damaged


def shipped_mutants() -> dict[str, Any] | None:
    """The score of mutants that ships with the harness (``reports/mutants.json``), and whether it is of this contract;
    None where none ships."""
    try:
        document = json.loads(read_bounded(shipped_folder("reports") / "mutants.json", 2**26))
        score = {name: document["score"][name] for name in ("killed", "active", "drawn", "low", "high")}
        return {**score, "current": document["contract"] == contract_digest()}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _score_path(toolchain: str) -> Path:
    """The file of a contract's score: toolchains that share a contract share one."""
    has_own = contract_digest(toolchain) != contract_digest()
    return platformdirs.user_state_path("torch-conformance") / f"selftest{f'-{toolchain}' if has_own else ''}.json"
