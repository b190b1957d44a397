#pragma once

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <optional>
#include <string>
#include <unordered_map>

namespace reference {

// Copies of what a module holds, made when it is lowered: later changes of the original do not
// matter.
class Snapshot {
 public:
  c10::IValue copy(const c10::IValue& value);

 private:
  c10::IValue::HashIdentityIValueMap copies_;
};

// An attribute that a graph reads, found in the module while lowering.
struct Attribute {
  std::string qualified_name;
  c10::IValue value;

  // A module or another object that only leads to further attributes. Torchbind objects are values.
  bool is_object() const {
    return value.isObject() && !value.isCustomClass();
  }
};

// Follows prim::GetAttr from the module to the attribute's value.
class Attributes {
 public:
  Attributes(torch::jit::Graph& graph, const torch::jit::Module& module);

  // Nullptr if the owner is known only when the model runs. Ask for an owner before its attributes.
  const Attribute* find(const torch::jit::Node* get_attr);

 private:
  std::unordered_map<const torch::jit::Value*, Attribute> known_;
};

// Replaces attributes that are plain numbers, flags, strings or None by constants, and drops the
// branches that they rule out: in evaluation mode, BatchNorm's update of its statistics.
void fold_plain_attributes(
    std::shared_ptr<torch::jit::Graph>& graph,
    const torch::jit::Module& module);

} // namespace reference
