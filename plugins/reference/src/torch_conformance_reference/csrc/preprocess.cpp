#include "preprocess.h"

#include "availability.h"
#include "method_lowering.h"
#include "numbers.h"
#include "sources.h"
#include "writes.h"

#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <atomic>

namespace reference {
namespace {

using c10::IValue;
using torch::jit::Module;

std::atomic<int64_t> preprocess_calls{0};

torch::jit::Method method_of(const Module& module, const IValue& key) {
  const std::string& name = key.toStringRef();
  if (auto method = module.find_method(name)) {
    return *method;
  }
  std::vector<std::string> names;
  for (const torch::jit::Method& method : module.get_methods()) {
    names.push_back("'" + method.name() + "'");
  }
  TORCH_CHECK(
      false,
      "Backend ", kBackendName, ": the method compile spec names '", name,
      "', which is not a method of ", module.type()->name()->qualifiedName(),
      ". Its methods are: ", c10::Join(", ", names), ".");
}

// PyTorch's wrapper unpacks a tuple, and cannot unpack an empty one.
bool returns_tuple(const torch::jit::Method& method) {
  const auto tuple = method.function().getSchema().returns().at(0).type()->cast<c10::TupleType>();
  TORCH_CHECK(
      tuple == nullptr || !tuple->elements().empty(),
      "Backend ", kBackendName, " does not take the method '", method.name(),
      "': it returns an empty tuple, which to_backend cannot wrap.");
  return tuple != nullptr;
}

} // namespace

IValue preprocess(
    const Module& module,
    const c10::Dict<IValue, IValue>& method_compile_spec,
    const torch::jit::BackendDebugHandleGenerator& generate_debug_handles) {
  ++preprocess_calls;
  TORCH_CHECK(
      !method_compile_spec.empty(),
      "Backend ", kBackendName,
      ": the method compile spec is empty. Give at least one method, for example {'forward': ''}.");
  Program program;
  program.method_compile_spec = method_compile_spec;
  Snapshot snapshot;
  for (const auto& entry : method_compile_spec) {
    const torch::jit::Method method = method_of(module, entry.key());
    const bool unpacked_by_wrapper = returns_tuple(method);
    std::shared_ptr<torch::jit::Graph> graph = method.graph()->copy();
    torch::jit::Inline(*graph);
    complete_source_ranges(graph->block());
    fold_plain_attributes(graph, module);
    restore_numbers(graph->block());
    torch::jit::EliminateDeadCode(graph);
    const auto debug_handles = generate_debug_handles(graph);
    Method lowered =
        MethodLowering(*graph, module, debug_handles, program.weights, snapshot).lower();
    check_writes(*graph);
    lowered.returns_tuple = unpacked_by_wrapper;
    program.methods.emplace(method.name(), std::move(lowered));
  }
  return pack(program);
}

int64_t preprocess_count() {
  return preprocess_calls;
}

} // namespace reference
