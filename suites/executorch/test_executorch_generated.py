"""Generated programs and scenarios: what nobody wrote a case for. See :mod:`conformance.generate`."""

from __future__ import annotations

from conformance.contract import Control, Level, SpeaksOf, clauses
from conformance.generate import THEMES_OF_PROGRAMS, THEMES_OF_SCENARIOS
from conformance.run.cell_context import CellContext
from conformance.run.generated import try_programs, try_scenarios
from conformance.toolchains.executorch.promises import SAME_PROGRAM

clause = clauses(
    source=SAME_PROGRAM,
    level=Level.CORE,
    control=Control.NONE,
    speaks_of=SpeaksOf.GENERATED,
)

#: What a program writes to its own values torch.export turns into computing, before any delegate sees it.
THEMES = tuple(each for each in THEMES_OF_PROGRAMS if each != "writes")


@clause("delegate.generated.programs", cases=THEMES)
def test_programs(context: CellContext) -> None:
    """Whatever program is drawn from PyTorch's operators, with whatever inputs: the lowered program gives the values,
    dtypes and sizes that eager PyTorch gives, as near as their dtypes allow. It raises where that raises, and leaves
    inputs, modes, random state and process as that does."""
    try_programs(context)


@clause("delegate.generated.scenarios", cases=THEMES_OF_SCENARIOS)
def test_scenarios(context: CellContext) -> None:
    """Whatever happens between calls, such as another model, other sizes, saving and loading, a call or a load that
    fails: each loaded program goes on doing what its model does in eager PyTorch; of dropped ones nothing is kept."""
    try_scenarios(context)
