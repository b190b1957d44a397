#include "compile.h"

#include "availability.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/runtime/operator.h>

namespace reference {
namespace {

using c10::IValue;
using c10::impl::GenericDict;

c10::OperatorName parse_name(const std::string& text) {
  const size_t dot = text.find('.');
  return dot == std::string::npos ? c10::OperatorName(text, "")
                                  : c10::OperatorName(text.substr(0, dot), text.substr(dot + 1));
}

// The dispatcher has the tensor operators; those on integers, strings, lists are only in the
// registry of the JIT.
std::pair<Operation, const c10::FunctionSchema*> find_operation(const std::string& text) {
  const c10::OperatorName name = parse_name(text);
  if (const auto handle = c10::Dispatcher::singleton().findSchema(name)) {
    return {[op = *handle](c10::Stack& stack) { op.callBoxed(&stack); }, &handle->schema()};
  }
  const auto op = torch::jit::findOperatorFor(name);
  TORCH_CHECK(
      op != nullptr && op->hasOperation(),
      "Backend ", kBackendName, " cannot compile: this process has no operator ", text,
      ". Load the library that defines it, or a PyTorch that has it.");
  return {
      [operation = op->getOperation()](c10::Stack& stack) mutable { operation(stack); },
      &op->schema()};
}

void check_arity(
    const std::string& name,
    const c10::FunctionSchema& schema,
    const Instruction& instruction) {
  TORCH_CHECK(
      (schema.is_vararg() || schema.arguments().size() == instruction.inputs.size()) &&
          (schema.is_varret() || schema.returns().size() == instruction.outputs.size()),
      "Backend ", kBackendName, " cannot compile: the program calls ", name, " with ",
      instruction.inputs.size(), " inputs and ", instruction.outputs.size(),
      " outputs, and this process has ", schema,
      ". Lower the module with this version of PyTorch.");
}

std::vector<size_t> written_arguments(const c10::FunctionSchema& schema) {
  std::vector<size_t> written;
  for (size_t at = 0; at < schema.arguments().size(); ++at) {
    const c10::AliasInfo* alias = schema.arguments()[at].alias_info();
    if (alias != nullptr && alias->isWrite()) {
      written.push_back(at);
    }
  }
  return written;
}

std::vector<ResolvedOperator> resolve_operators(const Method& method) {
  std::vector<ResolvedOperator> operators;
  std::vector<const c10::FunctionSchema*> schemas;
  for (const std::string& name : method.operators) {
    auto [operation, schema] = find_operation(name);
    operators.push_back({std::move(operation), written_arguments(*schema)});
    schemas.push_back(schema);
  }
  for (const Instruction& instruction : method.code) {
    if (instruction.opcode == Opcode::Operator) {
      check_arity(method.operators[instruction.index], *schemas[instruction.index], instruction);
    }
  }
  return operators;
}

// A module that is loaded in inference mode would otherwise be usable only there: autograd refuses
// inference tensors.
void make_usable_outside_inference_mode(at::Tensor& weight) {
  if (weight.defined() && weight.is_inference()) {
    const c10::InferenceMode no_inference(false);
    const at::NoGradGuard no_grad;
    weight = weight.clone();
  }
}

} // namespace

CompiledMethod::CompiledMethod(
    std::shared_ptr<const CompiledProgram> program,
    std::string method_name)
    : compiled(std::move(program)),
      name(std::move(method_name)),
      method(compiled->program.methods.at(name)),
      operators(compiled->operators.at(name)) {}

void add_shareable_parts(const IValue& value, IValue::HashAliasedIValues& parts) {
  value.visit([&parts](const IValue& part) {
    if (part.isList() || part.isGenericDict() || (part.isTensor() && part.toTensor().defined())) {
      parts.insert(part);
    }
    return false;
  });
}

GenericDict compile(const IValue& processed, const GenericDict& method_compile_spec) {
  auto compiled = std::make_shared<CompiledProgram>();
  compiled->program = unpack(processed);
  for (auto& [name, weight] : compiled->program.weights) {
    make_usable_outside_inference_mode(weight);
    add_shareable_parts(weight, compiled->owned);
  }
  for (const auto& [name, method] : compiled->program.methods) {
    compiled->operators.emplace(name, resolve_operators(method));
    for (const IValue& constant : method.constants) {
      add_shareable_parts(constant, compiled->owned);
    }
  }
  GenericDict handles(c10::StringType::get(), c10::AnyType::get());
  for (const auto& entry : method_compile_spec) {
    const std::string& name = entry.key().toStringRef();
    TORCH_CHECK(
        compiled->program.methods.count(name) == 1,
        "Backend ", kBackendName, " cannot compile the method '", name,
        "': the processed module was lowered without it. Lower the module again.");
    handles.insert(name, c10::make_intrusive<CompiledMethod>(compiled, name));
  }
  return handles;
}

} // namespace reference
