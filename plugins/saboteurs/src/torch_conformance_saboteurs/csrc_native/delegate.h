#pragma once

// The conforming delegate, of which the saboteurs here are kinds, and how one is registered under a name.

#include <torch/csrc/jit/backends/backend.h>
#include <torch/csrc/jit/backends/backend_preprocess.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/csrc/jit/serialization/import.h>

#include <ATen/ops/empty.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace saboteurs {

using c10::IValue;
using torch::jit::Module;
using Outputs = c10::impl::GenericList;

// Also where the variable is set: the script of a pack is Python, and what goes wrong on its target must not go wrong
// where the pack is written.
inline bool without_python() {
  return ::dlsym(RTLD_DEFAULT, "Py_IsInitialized") == nullptr || std::getenv("SABOTEUR_AS_WITHOUT_PYTHON") != nullptr;
}

inline bool is_set_off(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "0";
}

// The conforming delegate. Its processed module is the archive of the module as a tensor of bytes, a handle is the loaded
// module with the name of a method.
class Delegate : public torch::jit::PyTorchBackendInterface {
 public:
  // The module that goes into the artifact.
  static Module prepared(const Module& original) {
    return original;
  }

  bool is_available() override {
    return !is_set_off("SABOTEUR_EXECUTE");
  }

  c10::impl::GenericDict compile(IValue processed, c10::impl::GenericDict method_compile_spec) override {
    TORCH_CHECK(Delegate::is_available() || !is_set_off("SABOTEUR_COMPILE"), "cannot compile here");
    const auto archive = processed.toTensor();
    std::istringstream stream(
        std::string(static_cast<const char*>(archive.const_data_ptr()), static_cast<size_t>(archive.numel())));
    const auto module = torch::jit::load(stream);
    c10::impl::GenericDict handles(c10::StringType::get(), c10::AnyType::get());
    for (const auto& entry : method_compile_spec) {
      handles.insert(entry.key(), c10::ivalue::Tuple::create(module._ivalue(), entry.key()));
    }
    return handles;
  }

  Outputs execute(IValue handle, c10::impl::GenericList inputs) override {
    TORCH_CHECK(Delegate::is_available(), "cannot execute here");
    const auto& parts = handle.toTupleRef().elements();
    const auto method = Module(parts[0].toObject()).get_method(parts[1].toStringRef());
    const auto result = run(method, inputs.vec());
    Outputs outputs(c10::AnyType::get());
    if (result.isTuple()) {
      for (const auto& element : result.toTupleRef().elements()) {
        outputs.push_back(element);
      }
    } else {
      outputs.push_back(result);
    }
    return outputs;
  }

 protected:
  virtual IValue run(const torch::jit::Method& method, std::vector<IValue> inputs) {
    return method(std::move(inputs));
  }
};

template <typename Kind>
IValue preprocess(
    const Module& module,
    const c10::Dict<IValue, IValue>& method_compile_spec,
    const torch::jit::BackendDebugHandleGenerator&) {
  for (const auto& entry : method_compile_spec) {
    module.get_method(entry.key().toStringRef()); // which throws where there is none
  }
  std::ostringstream stream;
  Kind::prepared(module).save(stream);
  const auto data = stream.str();
  auto archive = at::empty({static_cast<int64_t>(data.size())}, at::kByte);
  std::memcpy(archive.data_ptr(), data.data(), data.size());
  return archive;
}

template <typename Kind>
class Registration {
 public:
  explicit Registration(const std::string& name) : preprocess_(name, preprocess<Kind>), backend_(name) {}

 private:
  torch::jit::backend_preprocess_register preprocess_;
  torch::jit::backend<Kind> backend_;
};

} // namespace saboteurs
