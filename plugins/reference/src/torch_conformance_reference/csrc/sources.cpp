#include "sources.h"

namespace reference {
namespace {

using torch::jit::Node;

bool has_source(const Node* node) {
  return !node->sourceRange().str().empty();
}

// A node that stands for about the same place: what computes an input, or else the nearest one in
// the block. Nullptr if there is none.
const Node* neighbour_with_source(const Node* node) {
  for (auto input = node->inputs().rbegin(); input != node->inputs().rend(); ++input) {
    if (has_source((*input)->node())) {
      return (*input)->node();
    }
  }
  const Node* end = node->owningBlock()->return_node();
  for (const Node* before = node->prev(); before != end; before = before->prev()) {
    if (has_source(before)) {
      return before;
    }
  }
  for (const Node* after = node->next(); after != end; after = after->next()) {
    if (has_source(after)) {
      return after;
    }
  }
  return nullptr;
}

} // namespace

void complete_source_ranges(torch::jit::Block* block) {
  for (Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) {
      complete_source_ranges(inner);
    }
    if (has_source(node)) {
      continue;
    }
    if (const Node* neighbour = neighbour_with_source(node)) {
      node->setSourceRange(neighbour->sourceRange());
    }
  }
}

} // namespace reference
