"""``--conformance-operators``: from what was asked to the operators of a run."""

from __future__ import annotations

import difflib

import pytest

from conformance.api.errors import DeviceEnded, SubjectError
from conformance.devices import Device, ZygotePool
from conformance.devices._device import Ledger
from conformance.operators import CONTROL_SECONDS
from conformance.toolchains import toolchain_named

OPTION = "--conformance-operators"


def chosen_operators(config: pytest.Config, pool: ZygotePool, toolchain: str) -> tuple[str, ...]:
    """The names of the operators that the run is to try, in PyTorch's order; none where the option was not given.

    Raises UsageError for a name that PyTorch has no samples for, and where it has none at all here.
    """
    text = config.option.conformance_operators
    if text is None:
        return ()
    wanted = [name for part in text.split(",") if (name := part.strip())]
    if not wanted:
        raise pytest.UsageError(f"{OPTION} takes 'all' or names of operators with commas between them, found {text!r}")
    return choose(wanted, _known_operators(pool, toolchain))


def choose(wanted: list[str], known: list[str]) -> tuple[str, ...]:
    """Those of ``known`` that are meant: ``all``, a name, or a name without the variant, for all of its variants."""
    if wanted == ["all"]:
        return tuple(known)
    found = {name: [each for each in known if each == name or each.startswith(f"{name}.")] for name in wanted}
    for name, meant in found.items():
        if not meant:
            raise pytest.UsageError(_unknown(name, known))
    return tuple(each for each in known if any(each in meant for meant in found.values()))


def _unknown(name: str, known: list[str]) -> str:
    by_end = {each.rpartition(".")[2]: each for each in known} | {each: each for each in known}
    close = list(dict.fromkeys(by_end[each] for each in difflib.get_close_matches(name, by_end, n=3)))
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    return (
        f"{OPTION}: PyTorch has no samples for an operator named {name!r}.{hint} "
        f"It has them for {len(known)}, such as {', '.join(known[:3])} and nn.functional.relu; 'all' means all of them."
    )


def _known_operators(pool: ZygotePool, toolchain: str) -> list[str]:
    device = Device("control", lambda: pool.fork(toolchain_named(toolchain).device("control"), None, {}), Ledger())
    try:
        return list(device.call("operators", seconds=CONTROL_SECONDS))
    except SubjectError as error:
        raise pytest.UsageError(
            f"{OPTION} needs the samples of PyTorch's own tests, which cannot be imported here: {error.text}. "
            "pip install expecttest numpy brings what they need"
        ) from error
    except DeviceEnded as error:
        raise pytest.UsageError(f"{OPTION} needs the samples of PyTorch's own tests: {error}") from error
    finally:
        device.end()
