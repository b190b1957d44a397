"""What a clause can ask for. Each is a part of the cell's context; in a control, of one without a backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.discovery.describing import Description
from conformance.operators.trial import OperatorTrial
from conformance.pytest_plugin._run import CONTEXT
from conformance.run.cell_context import CellContext
from conformance.run.result import Record
from conformance.toolchains.client import CellDevice, PreparedCase


@pytest.fixture
def context(request: pytest.FixtureRequest) -> CellContext:
    """The devices of the cell, for a clause that needs more of them than a host and a target."""
    current: CellContext = request.node.stash[CONTEXT]
    return current


@pytest.fixture
def bench(context: CellContext) -> CellContext:
    """What ``context`` was called before 0.2."""
    return context


@pytest.fixture
def host(context: CellContext) -> CellDevice:
    """The process that lowers and saves, in the cell's host state."""
    return context.host


@pytest.fixture
def target(context: CellContext) -> CellDevice:
    """The process that loads and runs, in the cell's target state."""
    return context.target


@pytest.fixture
def native(context: CellContext) -> CellDevice:
    """A program without Python that loads and runs, in the cell's target state."""
    return context.native


@pytest.fixture
def bare(context: CellContext) -> CellDevice:
    """A process in which no backend is loaded."""
    return context.bare


@pytest.fixture
def case(context: CellContext) -> PreparedCase | None:
    """The model of the cell, with its sample calls."""
    return context.case


@pytest.fixture
def other_case(context: CellContext) -> Callable[[str], PreparedCase]:
    """Any model of the corpus, by its name: one that every backend takes, for it needs no feature."""
    return context.other_case


@pytest.fixture
def other_cases(context: CellContext) -> Callable[..., tuple[PreparedCase, ...]]:
    """Models of the corpus, by their names, without those that need a feature that the backend declares missing."""
    return context.other_cases


@pytest.fixture
def backend(context: CellContext) -> Description:
    """What is known of the backend under test: its name, declared features, states of availability."""
    return context.backend


@pytest.fixture
def goldens(context: CellContext) -> tuple[Any, ...]:
    """Artifacts that the backend wrote in former times."""
    return context.goldens


@pytest.fixture
def operators(context: CellContext) -> OperatorTrial:
    """Where PyTorch's operators are tried on the backend."""
    return context.operators


@pytest.fixture
def record(context: CellContext) -> Record:
    """Where a clause notes remarks, and its row of the behaviour table."""
    return context.record
