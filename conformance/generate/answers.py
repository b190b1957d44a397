"""A device's answer about a trial: a row for each step and one for its end, and, apart from these, what steps raised.

Apart, since texts of exceptions differ where nothing else does: so what two devices saw is mostly the same bytes. Rows
are written by the device, and read and checked by the harness, which believes nothing of them: a backend was at work in
the process that wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import msgspec
import torch

from conformance.api.errors import GarbledValue
from conformance.compare.packed import packed, unpacked
from conformance.compare.values import tensors_in
from conformance.generate.steps import Trial
from conformance.toolchains.shared_state import RECURSION_LIMIT

Row = dict[str, Any]


class Raised(msgspec.Struct, frozen=True):
    """An exception, as a device describes it."""

    type: str
    bases: list[str]
    text: str


class Failed(msgspec.Struct, frozen=True):
    """A step that raised."""

    raised: Raised
    phase: str


class Answer(msgspec.Struct, frozen=True):
    """The rows, encoded, and by their numbers the steps that raised."""

    rows: bytes
    failed: dict[int, Failed]


class _Observed(TypedDict, total=False):
    """A row; what has the types of nothing else is looked at by :func:`_expect_tensors`."""

    result: Any
    strides: list[list[int]]
    requires_grad: list[bool]
    leaves: list[bool]
    inference: list[bool]
    aliases: list[tuple[str, str]]
    identities: list[tuple[int, int]]
    gradients: list[Any]
    written: dict[str, Any]
    otherwise: dict[str, tuple[str, str]]
    marked: list[str]
    random: str
    modes: dict[str, tuple[str, str]]
    failed: bool
    late: list[str]
    shared: list[tuple[str, str]]
    state: dict[str, tuple[str, str]]
    kept: int


#: What says something of each tensor of a result.
_OF_EACH = ("strides", "requires_grad", "leaves", "inference")


def written(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows as a device answers them."""
    failed: dict[int, Any] = {}
    plain: list[Row] = []
    for number, row in enumerate(rows):
        if "raised" in row:
            row = dict(row)
            failed[number] = {"raised": row.pop("raised"), "phase": row.pop("phase")}
            row["failed"] = True
        plain.append(row)
    return {"rows": packed(plain), "failed": failed}


def answered(value: Any) -> Answer:
    """An answer as it came. Raises GarbledValue for anything else."""
    try:
        return msgspec.convert(value, Answer)
    except msgspec.ValidationError as error:
        raise GarbledValue(f"an answer about a trial that is none: {error}") from error


def read(answer: Answer, trial: Trial) -> list[Row]:
    """The rows of an answer, with ``raised`` and ``phase`` in those of steps that raised.

    Raises GarbledValue for rows that no device of ours writes about this trial.
    """
    rows: list[Any] = unpacked(answer.rows, list[_Observed])
    if len(rows) != len(trial.steps) + 1:
        raise GarbledValue(f"{len(rows)} rows about a trial of {len(trial.steps)} steps and an end")
    if not {"late", "shared", "state"} <= set(rows[-1]):
        raise GarbledValue("rows about a trial, the last of which says nothing of its end")
    limits = rows[-1]["state"].get(RECURSION_LIMIT, ())
    if not all(re.fullmatch(r"[0-9]{1,18}", each) for each in limits):
        raise GarbledValue(f"expected a recursion limit as a number, found {limits!r:.80}")
    for number, (row, step) in enumerate(zip(rows, trial.steps, strict=False)):
        if row.pop("failed", False) != (number in answer.failed):
            raise GarbledValue(f"step {number + 1} raised, and did not")
        if number in answer.failed:
            row.update(raised=msgspec.to_builtins(answer.failed[number].raised), phase=answer.failed[number].phase)
        elif step.call is not None:
            _expect_result(number, row, backward=step.call.backward)
        _expect_tensors(number, [*row.get("written", {}).values(), *filter(_there, row.get("gradients", []))])
    return rows


def _there(value: Any) -> bool:
    return value is not None


def _expect_result(number: int, row: Mapping[str, Any], *, backward: bool) -> None:
    missing = sorted({"result", "written", "aliases", "identities", *(["gradients"] if backward else [])} - set(row))
    if missing:
        raise GarbledValue(f"step {number + 1} gave a result, and says nothing of its {', '.join(missing)}")
    tensors = tensors_in(row.get("result"))
    _expect_tensors(number, tensors)
    told = {name: len(row.get(name, ())) for name in _OF_EACH}
    if set(told.values()) != {len(tensors)}:
        raise GarbledValue(f"step {number + 1} gave {len(tensors)} tensors, and says this of so many: {told}")


def _expect_tensors(number: int, values: Sequence[Any]) -> None:
    for each in values:
        if not isinstance(each, torch.Tensor) or each.layout != torch.strided or each.device.type != "cpu":
            raise GarbledValue(f"step {number + 1} gave {type(each).__name__} where a tensor in memory is due")
