#include "numbers.h"

#include <torch/csrc/jit/ir/constants.h>

namespace reference {
namespace {

using torch::jit::Node;

bool takes_a_number(const Node* node) {
  return node->matches("aten::add(Tensor self, Tensor other, *, Scalar alpha) -> Tensor") ||
      node->matches("aten::sub(Tensor self, Tensor other, *, Scalar alpha) -> Tensor") ||
      node->matches("aten::mul(Tensor self, Tensor other) -> Tensor") ||
      node->matches("aten::div(Tensor self, Tensor other) -> Tensor");
}

// A flag is none: no overload of these operators takes a bool.
bool is_number(const at::Tensor& tensor) {
  return tensor.defined() && tensor.dim() == 0 && tensor.scalar_type() != at::kBool;
}

} // namespace

void restore_numbers(torch::jit::Block* block) {
  for (Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) {
      restore_numbers(inner);
    }
    if (!takes_a_number(node)) {
      continue;
    }
    const auto constant = torch::jit::toIValue(node->input(1));
    if (constant && constant->isTensor() && is_number(constant->toTensor())) {
      const torch::jit::WithInsertPoint here(node);
      torch::jit::Value* number = node->owningGraph()->insertConstant(
          constant->toTensor().item(), node->sourceRange());
      number->node()->copyMetadata(node);
      node->replaceInput(1, number);
    }
  }
}

} // namespace reference
