"""Generated programs and scenarios: what nobody wrote a case for. conformance.generate has the grammar and the judge."""

from __future__ import annotations

from conformance.contract import Control, Level, SpeaksOf, clauses
from conformance.generate import THEMES_OF_PROGRAMS, THEMES_OF_SCENARIOS
from conformance.run.cell_context import CellContext
from conformance.run.generated import try_programs, try_scenarios

clause = clauses(
    source="pytorch/pytorch torch/csrc/jit/backends/backend_detail.cpp, and test/jit/test_backends.py, which compares a lowered module with the scripted one",
    level=Level.CORE,
    control=Control.NONE,
    speaks_of=SpeaksOf.GENERATED,
)


@clause("generated.programs", cases=THEMES_OF_PROGRAMS)
def test_programs(context: CellContext) -> None:
    """Whatever program is drawn from PyTorch's operators, and with whatever inputs: the lowered module gives the
    values, dtypes, sizes and strides that eager PyTorch does, within what its dtype allows; it raises where that raises, and
    leaves arguments, modes, random state and process as that does."""
    try_programs(context)


@clause("generated.scenarios", cases=THEMES_OF_SCENARIOS)
def test_scenarios(context: CellContext) -> None:
    """Whatever happens between calls, such as another model, other sizes, weights that change, saving and loading, a call or a load that
    fails: each model goes on doing what it does in eager PyTorch, and
    nothing of the calls is kept when all is dropped."""
    try_scenarios(context)
