#include "writes.h"

#include "refusals.h"

#include <torch/csrc/jit/ir/constants.h>

#include <unordered_set>

namespace reference {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// Operators that hand on what they are given, without a schema that says so.
bool passes_on(const Node* node) {
  switch (node->kind()) {
    case c10::prim::unchecked_cast:
    case c10::prim::unchecked_unwrap_optional:
    case c10::prim::ListUnpack:
    case c10::prim::TupleConstruct:
    case c10::prim::TupleIndex:
    case c10::prim::TupleSlice:
    case c10::prim::TupleUnpack:
      return true;
    default:
      return false;
  }
}

bool shares_memory(const c10::AliasInfo& argument, const c10::AliasInfo& result) {
  for (const c10::Symbol& set : argument.beforeSets()) {
    if (result.beforeSets().count(set) == 1) {
      return true;
    }
  }
  return false;
}

// Normalisation in training mode updates its running statistics, and its schema does not say so.
bool updates_statistics(const Node* node, const c10::FunctionSchema& schema, size_t argument) {
  if (node->kind() != c10::aten::batch_norm && node->kind() != c10::aten::instance_norm) {
    return false;
  }
  const std::string& name = schema.arguments()[argument].name();
  const char* training = node->kind() == c10::aten::batch_norm ? "training" : "use_input_stats";
  return (name == "running_mean" || name == "running_var") &&
      !node->input(argument)->mustBeNone() &&
      torch::jit::constant_as<bool>(node->namedInput(training)) != false;
}

// Follows what belongs to the program through a graph, in the order of execution.
class Owned {
 public:
  void visit(Block* block);

 private:
  void visit(Node* node);
  void visit_loop(Node* loop);
  void follow_schema(Node* node, const c10::FunctionSchema& schema);

  bool has(const Value* value) const {
    return values_.count(value) == 1;
  }

  void add_if(bool condition, const Value* value) {
    if (condition) {
      values_.insert(value);
    }
  }

  std::unordered_set<const Value*> values_;
};

void Owned::visit(Block* block) {
  for (Node* node : block->nodes()) {
    visit(node);
  }
}

void Owned::visit(Node* node) {
  if (node->kind() == c10::prim::Loop) {
    return visit_loop(node);
  }
  for (Block* block : node->blocks()) {
    visit(block);
    for (size_t at = 0; at < node->outputs().size(); ++at) {
      add_if(has(block->outputs()[at]), node->output(at));
    }
  }
  const bool any_input = std::any_of(
      node->inputs().begin(), node->inputs().end(), [this](Value* input) { return has(input); });
  const bool is_source = node->kind() == c10::prim::GetAttr || node->kind() == c10::prim::Constant;
  for (const Value* output : node->outputs()) {
    add_if(is_source || (any_input && passes_on(node)), output);
  }
  if (const c10::FunctionSchema* schema = node->maybeSchema()) {
    follow_schema(node, *schema);
  }
}

// What one iteration hands to the next may belong to the program too: repeat until nothing is
// added.
void Owned::visit_loop(Node* loop) {
  Block* body = loop->blocks()[0];
  size_t before = 0;
  do {
    before = values_.size();
    for (size_t at = 0; at < loop->outputs().size(); ++at) {
      const bool owned = has(loop->input(at + 2)) || has(body->outputs()[at + 1]);
      add_if(owned, body->inputs()[at + 1]);
      add_if(owned, loop->output(at));
    }
    visit(body);
  } while (values_.size() != before);
}

void Owned::follow_schema(Node* node, const c10::FunctionSchema& schema) {
  const size_t arguments = std::min(schema.arguments().size(), node->inputs().size());
  for (size_t at = 0; at < arguments; ++at) {
    const c10::AliasInfo* argument = schema.arguments()[at].alias_info();
    if (!has(node->input(at))) {
      continue;
    }
    if ((argument != nullptr && argument->isWrite()) || updates_statistics(node, schema, at)) {
      refuse(
          node,
          "it writes to a parameter, buffer, attribute or constant, and a lowered module keeps no "
          "state between calls");
    }
    for (size_t out = 0; out < std::min(schema.returns().size(), node->outputs().size()); ++out) {
      const c10::AliasInfo* result = schema.returns()[out].alias_info();
      add_if(
          argument != nullptr && result != nullptr &&
              (result->isWildcardBefore() || shares_memory(*argument, *result)),
          node->output(out));
    }
  }
}

} // namespace

void check_writes(Graph& graph) {
  Owned().visit(graph.block());
}

} // namespace reference
