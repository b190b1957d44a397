"""Saboteurs of torch.compile: a process is not as it was, in what PyTorch itself has no word for."""

from __future__ import annotations

import abc
import locale
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import torch

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


class _LeavesWhenLowered(DynamoControl, abc.ABC):
    """A backend that leaves something in the process when it has lowered a graph."""

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        code = super().lower(graph, example_inputs)
        self.leave()
        return code

    @abc.abstractmethod
    def leave(self) -> None:
        """Leave it."""


class _LeavesWhenRun(DynamoControl, abc.ABC):
    """A backend that leaves something in the process when its code has run."""

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        self.leave()
        return result

    @abc.abstractmethod
    def leave(self) -> None:
        """Leave it."""


@saboteur("modes.lowering-leaves-no-trace", phases=("lower",))
class DynamoSetsTheLocale(_LeavesWhenLowered):
    """Lowering sets the locale that its parser wants, for numbers everywhere."""

    name = "dynamo_sets_the_locale"

    def leave(self) -> None:
        locale.setlocale(locale.LC_NUMERIC, "C.UTF-8")


@saboteur("modes.lowering-leaves-no-trace", phases=("lower",))
class DynamoSilencesWarnings(_LeavesWhenLowered):
    """Lowering silences its compiler's warnings, and everybody's."""

    name = "dynamo_silences_warnings"

    def leave(self) -> None:
        warnings.simplefilter("ignore")


@saboteur("modes.lowering-leaves-no-trace", phases=("lower",))
class DynamoPrintsMore(_LeavesWhenLowered):
    """Lowering sets how tensors are printed, for its own logs."""

    name = "dynamo_prints_more"

    def leave(self) -> None:
        torch.set_printoptions(precision=8, threshold=100_000)


@saboteur("modes.lowering-leaves-no-trace", phases=("lower",))
class DynamoLeavesOutputElsewhere(_LeavesWhenLowered):
    """A compiler that talks too much is kept quiet while it lowers, and the process after it."""

    name = "dynamo_leaves_output_elsewhere"

    def leave(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)


@saboteur("modes.running-leaves-no-trace", phases=("run",))
class DynamoBlocksSignals(_LeavesWhenRun):
    """Code that runs is not to be interrupted, and neither is its caller afterwards."""

    name = "dynamo_blocks_signals"

    def leave(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


@saboteur("modes.running-leaves-no-trace", phases=("run",))
class DynamoGivesWay(_LeavesWhenRun):
    """A thread that computed has a lower priority ever after."""

    name = "dynamo_gives_way"

    def leave(self) -> None:
        os.nice(1)


@saboteur("modes.lowering-leaves-no-trace", verdicts=(REPORTED,))
class DynamoRecursesDeeper(_LeavesWhenLowered):
    """Lowering lets Python recurse deeper, as the graphs that it walks need."""

    name = "dynamo_recurses_deeper"

    def leave(self) -> None:
        sys.setrecursionlimit(sys.getrecursionlimit() + 1000)


SABOTEURS = saboteur.all()
