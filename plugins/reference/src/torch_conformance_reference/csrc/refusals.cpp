#include "refusals.h"

#include "availability.h"

#include <map>
#include <vector>

namespace reference {
namespace {

using torch::jit::Node;
using torch::jit::Symbol;

const std::map<Symbol, std::string>& refusals() {
  static const std::map<Symbol, std::string> table{
      {c10::prim::fork, "a call runs on the caller's thread alone"},
      {c10::prim::awaitable, "a call runs on the caller's thread alone"},
      {c10::aten::wait, "a call runs on the caller's thread alone"},
      {c10::prim::awaitable_wait, "a call runs on the caller's thread alone"},
      {c10::prim::rpc_async, "a call runs on the caller's thread alone"},
      {c10::prim::rpc_sync, "a call runs on the caller's thread alone"},
      {c10::prim::rpc_remote, "a call runs on the caller's thread alone"},
      {c10::prim::PythonOp, "the target may have no Python"},
      {c10::prim::SetAttr, "a lowered module keeps no state between calls"},
      {c10::prim::CallMethod, "which method it calls is known only when the model runs"},
      {c10::prim::CallFunction, "which function it calls is known only when the model runs"},
      {c10::prim::ModuleContainerIndex, "the submodule is known only when the model runs"},
      {c10::prim::CreateObject, "objects of classes are not supported"},
      {c10::prim::Enter, "context managers are not supported"},
      {c10::prim::Exit, "context managers are not supported"},
      {c10::prim::tolist, "its result's type is not part of the program"},
      {c10::prim::Closure, "closures are not supported"},
      {c10::aten::save, "a model that writes files is not supported"},
  };
  return table;
}

} // namespace

void refuse(const Node* node, const std::string& reason) {
  TORCH_CHECK(
      false,
      "Backend ", kBackendName, " does not take the operator ", node->kind().toQualString(), ": ",
      reason, ".\n", node->sourceRange().str());
}

void check_operator(const Node* node) {
  if (const auto refusal = refusals().find(node->kind()); refusal != refusals().end()) {
    refuse(node, refusal->second);
  }
}

} // namespace reference
