#pragma once

#include "program.h"

#include <torch/custom_class.h>

#include <functional>
#include <memory>

namespace reference {

// Takes its inputs from the stack and leaves its outputs there.
using Operation = std::function<void(c10::Stack&)>;

// An operator of this process, found by its name.
struct ResolvedOperator {
  Operation call;
  // Which of its arguments it writes to.
  std::vector<size_t> written;
};

// A program that is ready to run. Nothing changes it after compile, so that any number of threads
// may execute it at once.
struct CompiledProgram {
  Program program;
  // For each method, its operators in the order of Method::operators.
  std::map<std::string, std::vector<ResolvedOperator>> operators;
  // The weights and constants: what belongs to the program, and must not leave it.
  c10::IValue::HashAliasedIValues owned;
};

// The handle that PyTorch keeps for one method. It shares the program with the other methods'
// handles, and keeps it alive.
struct CompiledMethod : torch::CustomClassHolder {
  CompiledMethod(std::shared_ptr<const CompiledProgram> program, std::string name);

  const std::shared_ptr<const CompiledProgram> compiled;
  const std::string name;
  const Method& method;
  const std::vector<ResolvedOperator>& operators;
};

// Adds the parts of a value that can be shared between two owners: tensors, lists and dictionaries.
void add_shareable_parts(const c10::IValue& value, c10::IValue::HashAliasedIValues& parts);

// Reads and checks a processed module, and gives a handle for each method of the spec.
c10::impl::GenericDict compile(
    const c10::IValue& processed,
    const c10::impl::GenericDict& method_compile_spec);

} // namespace reference
