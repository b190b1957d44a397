"""Generated cells: programs, and sequences of events, that are drawn from a seed and compared with eager PyTorch.

A clause with ``SpeaksOf.GENERATED`` has a cell for each *theme* that it names. How much a cell tries is its share of
the run's :class:`~conformance.generate.budget.Budget`; along which axes inputs are drawn, and what each can be, says
:mod:`conformance.generate.axes`.
"""

from __future__ import annotations

#: Programs of operators side by side, each computed from what was given, all of them returned, and called often.
OPERATORS = "operators"
#: What programs are about. A toolchain that compiles for training has programs of TRAINING as well.
THEMES_OF_PROGRAMS = (
    OPERATORS,
    "elementwise",
    "reductions",
    "matrices",
    "networks",
    "indexing",
    "views",
    "writes",
    "dtypes",
)
TRAINING = "training"
#: What sequences of events are about.
THEMES_OF_SCENARIOS = ("calls", "models", "state", "failures")
THEMES = (*THEMES_OF_PROGRAMS, TRAINING, *THEMES_OF_SCENARIOS)

#: What --conformance-generated is, unless the run says otherwise.
DEFAULT_BUDGET = "4m"
#: What a cell tries at least where the budget is a time, however slow the backend is. A level takes no fewer programs.
LEAST_PROGRAMS = 25
LEAST_SCENARIOS = 5
#: The time of a scenario in programs.
PROGRAMS_OF_A_SCENARIO = 10

#: The names of the case that an author's class is given where it is asked about a generated program: of one method,
#: and of several.
AS_CASE = "generated"
AS_CASE_OF_METHODS = "generated with methods"
