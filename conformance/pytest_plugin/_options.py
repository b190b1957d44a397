"""The options of a run, parsed and checked once, before anything of a backend is asked for and torch is imported."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from conformance._util.escaping import legible
from conformance._util.seeds import seed_of
from conformance.api.clause import Level
from conformance.api.errors import GoldensError, HarnessError
from conformance.devices import Limits
from conformance.extensions import resolve
from conformance.generate.budget import Budget
from conformance.pytest_plugin._scope import BUDGET_OPTION, SHARD_OPTION, Shard, TimeBudget
from conformance.targets import TargetError, published_spec
from conformance.toolchains import toolchains

#: A list of ids has commas, and the id of a cell may have some in its brackets.
_ID = re.compile(r"(?:[^,\[]|\[[^\]]*\]?)+")
_GIB = 2**30
#: Seconds of a step, or GiB of a process: more than any has, and no more than the system calls can be given.
_MOST = 1_000_000


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """What the command line asks for, in the types that the harness works with."""

    backends: tuple[str, ...]
    library: Path | None
    #: The ids of what is tried; empty: all.
    select: tuple[str, ...]
    #: Which part of that; None: all of it.
    shard: Shard | None
    #: The time after which no cell is begun; None: there is none.
    budget: TimeBudget | None
    #: Whether an interrupted run is gone on with.
    resume: bool
    compile_options: tuple[dict[str, Any], ...]
    limits: Limits
    seed: int
    level: Level | None
    target: str
    goldens: Path | None
    report: Path
    #: How many failing cells of a group get a script, and how often a failing cell is tried again.
    reproducers: int
    reruns: int
    operator_samples: int
    #: What generated cells may try.
    generated: Budget
    #: The command line without anything that may be a path, or the address of a target: a report is published.
    published_arguments: tuple[str, ...]


def parse(config: pytest.Config) -> RunOptions:
    """The options of a run. Raises UsageError, with what was expected and found, for one that makes no sense, or that
    an extension which cannot be used would have to read."""
    try:
        return _parsed(config)
    except (HarnessError, pytest.UsageError) as error:
        raise pytest.UsageError(legible(str(error))) from error  # what was given may stand in it


def _parsed(config: pytest.Config) -> RunOptions:
    option = config.option
    return RunOptions(
        backends=tuple(option.conformance_backend),
        library=Path(option.conformance_library) if option.conformance_library else None,
        select=_ids(option.conformance_select),
        shard=_shard(option.conformance_shard),
        budget=_time_budget(option.conformance_budget),
        resume=option.conformance_resume,
        compile_options=tuple(map(_json_object, option.conformance_compile_options)),
        limits=limits_of(config),
        seed=_seed(option.conformance_seed),
        level=Level(option.conformance_level) if option.conformance_level else None,
        target=option.conformance_target,
        goldens=_goldens(option.conformance_goldens),
        report=Path(option.conformance_report),
        reproducers=_at_least(0, "0 or a positive number", "--conformance-reproducers", option.conformance_reproducers),
        reruns=_at_least(0, "a number, 0 or more", "--conformance-reruns", option.conformance_reruns),
        operator_samples=_at_least(
            1, "a number from 1 up", "--conformance-operator-samples", option.conformance_operator_samples
        ),
        generated=_budget(option.conformance_generated),
        published_arguments=published_arguments(config),
    )


def limits_of(config: pytest.Config) -> Limits:
    """What devices may use, as the options say. Raises UsageError for a number that makes no sense."""
    seconds, gibibytes = config.option.conformance_timeout, config.option.conformance_memory
    for name, value in (("--conformance-timeout", seconds), ("--conformance-memory", gibibytes)):
        if not 0 < value <= _MOST:
            raise pytest.UsageError(f"{name} takes a positive number up to {_MOST}, found {value:g}")
    return Limits(seconds=seconds, memory_bytes=int(gibibytes * _GIB))


def _at_least(least: int, wanted: str, name: str, found: int) -> int:
    if found < least:
        raise pytest.UsageError(f"{name} takes {wanted}, found {found}")
    return found


def _seed(text: str) -> int:
    if text == "random":
        return random.SystemRandom().randrange(2**31)
    try:
        return seed_of(text)
    except ValueError as error:
        raise pytest.UsageError(f"--conformance-seed: {error}; or 'random'") from None


def _ids(given: Iterable[str]) -> tuple[str, ...]:
    """What --conformance-select was given, each id once."""
    found = (each.strip() for text in given for each in _ID.findall(text))
    return tuple(dict.fromkeys(filter(None, found)))


def _shard(text: str | None) -> Shard | None:
    try:
        return Shard.parse(text) if text is not None else None
    except ValueError as error:
        raise pytest.UsageError(f"{SHARD_OPTION} {error}") from None


def _time_budget(text: str | None) -> TimeBudget | None:
    try:
        return TimeBudget.parse(text) if text is not None else None
    except ValueError as error:
        raise pytest.UsageError(f"{BUDGET_OPTION} {error}") from None


def _budget(text: str) -> Budget:
    try:
        return Budget.parse(text)
    except ValueError as error:
        raise pytest.UsageError(f"--conformance-generated: {error}") from None


def _json_object(text: str) -> dict[str, Any]:
    try:
        options = json.loads(text)
    except ValueError as error:
        raise pytest.UsageError(f"--conformance-compile-options takes a JSON object: {error}: {text!r}") from None
    if not isinstance(options, dict):
        raise pytest.UsageError(
            f"--conformance-compile-options takes a JSON object such as '{{\"name\": true}}', found {text!r}"
        )
    return options


def _goldens(text: str | None) -> Path | None:
    """The folder of golden sets, read once so that a damaged set is said before anything runs."""
    if not text:
        return None
    folder = Path(text)
    try:
        for reference in filter(None, (each.goldens for each in toolchains())):
            resolve(reference).read_goldens(folder)
    except GoldensError as error:
        raise pytest.UsageError(f"--conformance-goldens: {error}") from error
    return folder


#: A target as an ini option on the command line: `-o conformance_target=...`, `--override-ini=conformance_target=...`.
_TARGET_SETTING = re.compile(r"conformance_target\s*=.*", re.DOTALL)


def published_arguments(config: pytest.Config) -> tuple[str, ...]:
    """The command line without anything that may be a path, or the address of a target."""
    published: list[str] = []
    target = config.option.conformance_target
    for argument in config.invocation_params.args:
        # what is no Unicode cannot stand in a report
        name, equals, value = str(argument).encode(errors="replace").decode().partition("=")
        if name == "--conformance-target" and equals:
            published.append(f"{name}={_published_target(value, target)}")
            continue
        if published[-1:] == ["--conformance-target"]:
            published.append(_published_target(str(argument), target))
            continue
        if _TARGET_SETTING.search(str(argument)):
            published.append(_TARGET_SETTING.sub("conformance_target=<overridden>", str(argument)))
            continue
        hidden = "/" in value or "\\" in value
        if not name.startswith("-") and ("/" in name or "\\" in name):
            continue
        published.append(f"{name}{equals}{'<path>' if hidden else value}")
    return tuple(published)


def _published_target(said: str, target: str) -> str:
    """What a report may say of a target on the command line, which a later one may have overridden."""
    try:
        return published_spec(target) if said == target else "<overridden>"
    except TargetError as error:
        raise pytest.UsageError(str(error)) from error
