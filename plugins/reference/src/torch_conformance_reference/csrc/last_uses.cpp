#include "last_uses.h"

namespace reference {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// The ancestor of `node`, or itself, that lies directly in `block`.
Node* lifted_to(Block* block, Node* node) {
  while (node->owningBlock() != block) {
    node = node->owningBlock()->owningNode();
  }
  return node;
}

} // namespace

bool is_control_flow(const Node* node) {
  return node->kind() == c10::prim::If || node->kind() == c10::prim::Loop;
}

LastUses::LastUses(Block* block) {
  find(block);
}

bool LastUses::is_used(Value* value) const {
  return last_use_.count(value) == 1;
}

bool LastUses::is_taken_by(Value* value, Node* node) const {
  return last_use_.at(value) == node && !is_control_flow(node);
}

std::vector<Value*> LastUses::ending_with(Node* node) const {
  const auto found = ending_with_.find(node);
  return found == ending_with_.end() ? std::vector<Value*>{} : found->second;
}

void LastUses::find(Block* block) {
  for (Value* value : block->inputs()) {
    find(value);
  }
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) {
      find(inner);
    }
    for (Value* value : node->outputs()) {
      find(value);
    }
  }
}

void LastUses::find(Value* value) {
  Node* last = nullptr;
  for (const torch::jit::Use& use : value->uses()) {
    Node* user = lifted_to(value->node()->owningBlock(), use.user);
    last = last == nullptr || user->isAfter(last) ? user : last;
  }
  if (last == nullptr) {
    return;
  }
  last_use_.emplace(value, last);
  if (is_control_flow(last)) {
    ending_with_[last].push_back(value);
  }
}

} // namespace reference
