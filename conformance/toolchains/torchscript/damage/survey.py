"""Many damaged artifacts, tried and counted; after one that ends its process the next are tried in a new one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from conformance.api.availability import Availability
from conformance.api.case import Call
from conformance.api.errors import ConformanceFailure, DeviceEnded, DeviceTimeout, SubjectError
from conformance.compare.comparison import assert_close
from conformance.toolchains.torchscript.client import Artifact

#: After this many that hang the rest is not tried: each costs a whole time limit.
_MOST_HANGS = 3


@dataclasses.dataclass
class Survey:
    """How many were refused with an error, computed what is right, computed something wrong, or ended the process."""

    tried: int = 0
    refused: int = 0
    right: int = 0
    wrong: list[str] = dataclasses.field(default_factory=list)
    ended: list[DeviceEnded] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        hung = sum(isinstance(each, DeviceTimeout) for each in self.ended)
        parts = {
            "refused": self.refused,
            "computed what is right": self.right,
            "computed something wrong": len(self.wrong),
            "ended the process": len(self.ended) - hung,
            "hung": hung,
        }
        return f"of {self.tried} damaged artifacts " + ", ".join(
            f"{count} {what}" for what, count in parts.items() if count
        )


def survey(
    bench: Any, damaged: Sequence[tuple[str, bytes]], call: Call, *, runtime: str, numbers: bool = True
) -> Survey:
    """Load each damaged artifact and make the call; ``damaged`` has what was done to each, and its bytes;
    ``bench`` is the cell's :class:`conformance.run.cell_context.CellContext`.

    A process that ends is replaced, so that none that follows goes untried. With ``numbers`` false any result counts as
    right. Raises what a process came to, or ConformanceFailure for a wrong result, when every artifact was tried: the
    first of them, with the counts of all.
    """
    found = Survey()
    target = bench.target
    for what, data in damaged:
        found.tried += 1
        try:
            result = target.run_call(target.load(Artifact(data, runtime)), call)[0]
            if numbers:
                assert_close(result, call.expected, f"accepted although damaged ({what})")
            found.right += 1
        except SubjectError:
            found.refused += 1
        except ConformanceFailure as failure:
            found.wrong.append(str(failure))
        except DeviceEnded as error:
            error.context = f"artifact with damage: {what}"
            found.ended.append(error)
            if sum(isinstance(each, DeviceTimeout) for each in found.ended) == _MOST_HANGS:
                break
            target = bench.device("target", bench.cell.target or Availability.FULL)
    if found.ended:
        found.ended[0].context += f"; {found}"
        raise found.ended[0]
    if found.wrong:
        raise ConformanceFailure(f"{found.wrong[0]}; {found}", phase="run")
    return found
