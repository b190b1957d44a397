#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace reference {

// Gives aten::add, sub, mul and div back the number that a trace made a tensor constant of. A number
// does not decide the dtype of a result, a tensor of no dimensions may: PyTorch's own executor does
// the same to every graph.
void restore_numbers(torch::jit::Block* block);

} // namespace reference
