"""What a trial's calls gave, as a caller keeps it, and what becomes of it while others are made."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from conformance.compare.values import tensors_in
from conformance.generate.observe import differs, memory_of


@dataclasses.dataclass(frozen=True, slots=True)
class _Kept:
    """What a call gave: whether it is its result or its gradients, the number of the call, what the caller keeps, and
    copies of what may not change."""

    what: str
    call: int
    kept: Any
    was: list[torch.Tensor] | None

    @property
    def name(self) -> str:
        """What it is, in words."""
        return f"{self.what} of call {self.call + 1}"


class Held:
    """Results and gradients of calls, each kept until the end of the trial."""

    def __init__(self) -> None:
        self._results: list[_Kept] = []
        self._gradients: list[_Kept] = []

    def keep(self, call: int, result: Any, *, was: list[torch.Tensor] | None) -> None:
        """Keep the result of a call, in turn that itself, and tensors that share its memory and are others: who asks
        whether a tensor that was returned is still there, before it uses its memory again, must see both.

        ``was`` are copies of its tensors; None where later steps may change them, as they may in plain PyTorch.
        """
        kept = [each.detach() for each in tensors_in(result)] if len(self._results) % 2 else result
        self._results.append(_Kept("result", call, kept, was))

    def keep_gradients(self, call: int, gradients: list[torch.Tensor | None]) -> None:
        """Keep the gradients that a call gave, as whoever adds up those of several calls."""
        # zeros of autograd may be without memory
        there = [each for each in tensors_in(gradients) if each.layout == torch.strided and not each._is_zerotensor()]
        self._gradients.append(_Kept("gradient", call, there, [each.detach().clone() for each in there]))

    def tensors(self) -> list[torch.Tensor]:
        """The tensors that are nobody's but the caller's."""
        return tensors_in([each.kept for each in self._all() if each.was is not None])

    def changed(self) -> list[str]:
        """The names of what is no longer as it was."""
        return [
            each.name
            for each in self._all()
            if each.was is not None and any(map(differs, tensors_in(each.kept), each.was))
        ]

    def shared(self) -> list[list[str]]:
        """Pairs of what two calls gave that lies in one memory, the later one first: who writes to one changes both."""
        owners: dict[int, list[tuple[int, str]]] = {}
        found = []
        for each in self._all():
            for index, tensor in enumerate(tensors_in(each.kept)):
                if not tensor.numel() or tensor.layout != torch.strided:
                    continue
                name = f"{each.what} {index} of call {each.call + 1}"
                before = owners.setdefault(memory_of(tensor), [])
                found += [[name, owner] for call, owner in before if call != each.call]
                before.append((each.call, name))
        return found

    def clear(self) -> None:
        """Drop them."""
        self._results.clear()
        self._gradients.clear()

    def _all(self) -> list[_Kept]:
        return [*self._results, *self._gradients]


def let_go(names: dict[str, Any]) -> None:
    """Have the names that a compiler put beside a model's class stand for nothing.

    Behind a graph break Dynamo keeps what a backend compiled there, even when it is reset, and that may hold what it
    was called with last, as :class:`torch.fx.Interpreter` does.
    """
    for name in names:
        if name.startswith("__") and name not in ("__name__", "__builtins__"):
            names[name] = None
