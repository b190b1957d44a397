#include "attributes.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/constant_propagation.h>

namespace reference {
namespace {

using c10::IValue;
using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;

bool is_plain(const IValue& value) {
  return value.isNone() || value.isBool() || value.isInt() || value.isDouble() || value.isString();
}

void fold(Block* block, Graph& graph, Attributes& attributes) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) {
      fold(inner, graph, attributes);
    }
    if (node->kind() != c10::prim::GetAttr) {
      continue;
    }
    const Attribute* attribute = attributes.find(node);
    if (attribute != nullptr && is_plain(attribute->value)) {
      const torch::jit::WithInsertPoint here(node);
      torch::jit::Value* constant = graph.insertConstant(attribute->value, node->sourceRange());
      constant->node()->copyMetadata(node);
      node->output()->replaceAllUsesWith(constant);
    }
  }
}

} // namespace

IValue Snapshot::copy(const IValue& value) {
  // Weights are plain tensors without history, whatever mode the host lowers in.
  const c10::InferenceMode no_inference(false);
  const at::NoGradGuard no_grad;
  return value.deepcopy(copies_);
}

Attributes::Attributes(Graph& graph, const torch::jit::Module& module) {
  known_.emplace(graph.inputs().at(0), Attribute{"", module._ivalue()});
}

const Attribute* Attributes::find(const Node* get_attr) {
  const auto owner = known_.find(get_attr->input());
  if (owner == known_.end() || !owner->second.is_object()) {
    return nullptr;
  }
  const std::string& name = get_attr->s(c10::attr::name);
  const std::string& prefix = owner->second.qualified_name;
  Attribute attribute{
      prefix.empty() ? name : prefix + "." + name, owner->second.value.toObjectRef().getAttr(name)};
  return &known_.emplace(get_attr->output(), std::move(attribute)).first->second;
}

void fold_plain_attributes(std::shared_ptr<Graph>& graph, const torch::jit::Module& module) {
  Attributes attributes(*graph, module);
  fold(graph->block(), *graph, attributes);
  torch::jit::ConstantPropagationImmutableTypes(graph);
}

} // namespace reference
