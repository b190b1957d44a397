"""What a clause can ask for. Each is a part of the cell's bench; in a control, of a bench without a backend."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.bench import Bench, Record
from conformance.catalogue import Description
from conformance.goldens import GoldenSet
from conformance.operators.trial import OperatorTrial
from conformance.pytest_plugin._run import BENCH
from conformance.toolchains.cell import CellDevice, PreparedCase


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Bench:
    """The devices of the cell, for a clause that needs more of them than a host and a target."""
    current: Bench = request.node.stash[BENCH]
    return current


@pytest.fixture
def host(bench: Bench) -> CellDevice:
    """The process that lowers and saves, in the cell's host state."""
    return bench.host


@pytest.fixture
def target(bench: Bench) -> CellDevice:
    """The process that loads and runs, in the cell's target state."""
    return bench.target


@pytest.fixture
def native(bench: Bench) -> CellDevice:
    """A program without Python that loads and runs, in the cell's target state."""
    return bench.native


@pytest.fixture
def bare(bench: Bench) -> CellDevice:
    """A process in which no backend is loaded."""
    return bench.bare


@pytest.fixture
def case(bench: Bench) -> PreparedCase | None:
    """The model of the cell, with its sample calls."""
    return bench.case


@pytest.fixture
def other_case(bench: Bench) -> Callable[[str], PreparedCase]:
    """Any model of the corpus, by its name."""
    return bench.other_case


@pytest.fixture
def backend(bench: Bench) -> Description:
    """What is known of the backend under test: its name, declared features, states of availability."""
    return bench.backend


@pytest.fixture
def goldens(bench: Bench) -> tuple[GoldenSet, ...]:
    """Artifacts that the backend wrote in former times."""
    return bench.goldens


@pytest.fixture
def operators(bench: Bench) -> OperatorTrial:
    """Where PyTorch's operators are tried on the backend."""
    return bench.operators


@pytest.fixture
def record(bench: Bench) -> Record:
    """Where a clause notes remarks, and its row of the behaviour table."""
    return bench.record
