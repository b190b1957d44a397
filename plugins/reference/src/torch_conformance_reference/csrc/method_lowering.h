#pragma once

#include "attributes.h"
#include "last_uses.h"
#include "program.h"

#include <torch/csrc/jit/backends/backend_preprocess.h>
#include <torch/csrc/jit/ir/ir.h>

#include <unordered_map>

namespace reference {

// Turns the graph of one method into instructions: each value gets a register, and control
// flow becomes jumps.
class MethodLowering {
 public:
  // `graph` must be inlined. Weights are added to `weights` under their qualified names.
  MethodLowering(
      torch::jit::Graph& graph,
      const torch::jit::Module& module,
      const torch::jit::NodeToDebugHandle& debug_handles,
      std::map<std::string, at::Tensor>& weights,
      Snapshot& snapshot);

  Method lower();

 private:
  void lower_block(torch::jit::Block* block);
  void lower_node(torch::jit::Node* node);
  void lower_constant(torch::jit::Node* node);
  void lower_complex_constant(torch::jit::Node* node, c10::complex<double> number);
  void lower_get_attr(torch::jit::Node* node);
  void lower_if(torch::jit::Node* node);
  void lower_loop(torch::jit::Node* node);
  void lower_tuple_slice(torch::jit::Node* node);
  void lower_isinstance(torch::jit::Node* node);
  void lower_raise(torch::jit::Node* node);
  void lower_operator(torch::jit::Node* node);
  void release_after(torch::jit::Node* node);
  void release_unused(at::ArrayRef<torch::jit::Value*> values, torch::jit::Node* node);

  int64_t new_register();
  int64_t define(torch::jit::Value* value);
  std::vector<int64_t> define(at::ArrayRef<torch::jit::Value*> values);
  Operand operand(torch::jit::Value* value, torch::jit::Node* user);
  std::vector<Operand> operands(at::ArrayRef<torch::jit::Value*> values, torch::jit::Node* user);
  int64_t constant(const c10::IValue& value);
  int64_t type(const c10::TypePtr& type, torch::jit::Node* node);

  size_t emit(
      torch::jit::Node* node,
      Opcode opcode,
      int64_t index,
      std::vector<Operand> inputs,
      std::vector<int64_t> outputs);
  void land(size_t jump);

  torch::jit::Graph& graph_;
  const torch::jit::NodeToDebugHandle& debug_handles_;
  std::map<std::string, at::Tensor>& weights_;
  Snapshot& snapshot_;
  Attributes attributes_;
  const LastUses last_uses_;
  Method method_;
  std::unordered_map<torch::jit::Value*, int64_t> registers_;
};

} // namespace reference
