#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace reference {

// Gives every node a place in the user's source, for refusals to show. The frontend leaves some
// without one (prim::SetAttr), and passes drop more: call it before them.
void complete_source_ranges(torch::jit::Block* block);

} // namespace reference
