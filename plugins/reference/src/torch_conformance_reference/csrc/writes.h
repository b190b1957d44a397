#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace reference {

// Weights and constants belong to the program and to all its calls, so that nothing may write to
// them. Refuses a graph in which an operator writes to one, or to a view of one. What reaches an
// operator by way of a list that the model builds is not followed here: the interpreter refuses
// that write when it happens (see ResolvedOperator::written).
void check_writes(torch::jit::Graph& graph);

} // namespace reference
