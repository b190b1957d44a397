"""Generated programs and scenarios: what nobody wrote a case for. See :mod:`conformance.generate`."""

from __future__ import annotations

from conformance.contract import Control, Level, SpeaksOf, clauses
from conformance.generate import THEMES_OF_PROGRAMS, THEMES_OF_SCENARIOS, TRAINING
from conformance.run.cell_context import CellContext
from conformance.run.generated import try_programs, try_scenarios
from conformance.toolchains.dynamo.promises import EQUIVALENT, GUARDS

clause = clauses(
    source=(EQUIVALENT, GUARDS),
    level=Level.CORE,
    control=Control.NONE,
    speaks_of=SpeaksOf.GENERATED,
)


@clause("compile.generated.programs", cases=(*THEMES_OF_PROGRAMS, TRAINING))
def test_programs(context: CellContext) -> None:
    """Whatever program is drawn from PyTorch's operators, with whatever inputs: the compiled model gives the values,
    dtypes, sizes, strides, aliases, writes and gradients that eager PyTorch gives, as near as their dtypes allow. It
    raises where that raises, and leaves modes, random state and process as that does."""
    try_programs(context)


@clause("compile.generated.scenarios", cases=THEMES_OF_SCENARIOS)
def test_scenarios(context: CellContext) -> None:
    """Whatever happens between calls, such as another model, other sizes, weights that change, a reset, a call that
    fails: each compiled model goes on doing what it does in eager PyTorch, and of dropped ones nothing is kept."""
    try_scenarios(context)
