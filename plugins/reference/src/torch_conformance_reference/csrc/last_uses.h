#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <unordered_map>
#include <vector>

namespace reference {

bool is_control_flow(const torch::jit::Node* node);

// Where each value of a graph is needed for the last time.
//
// A value lives until the last node of its own block that uses it, be it inside that node: a loop
// that uses a value from outside needs it again in its next iteration.
class LastUses {
 public:
  explicit LastUses(torch::jit::Block* block);

  bool is_used(torch::jit::Value* value) const;

  // Whether `node` is the last that needs the value, and takes it as an input of its own. Control
  // flow does not: its blocks may use the value too.
  bool is_taken_by(torch::jit::Value* value, torch::jit::Node* node) const;

  // The values that are needed until a control-flow node has ended, in the order of definition.
  std::vector<torch::jit::Value*> ending_with(torch::jit::Node* node) const;

 private:
  void find(torch::jit::Block* block);
  void find(torch::jit::Value* value);

  std::unordered_map<torch::jit::Value*, torch::jit::Node*> last_use_;
  std::unordered_map<torch::jit::Node*, std::vector<torch::jit::Value*>> ending_with_;
};

} // namespace reference
