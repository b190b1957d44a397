// TorchScript delegates that run without Python: one that keeps the contract, and others, each of which breaks it in one
// way, and only in a process that has no Python in it. There they could not be seen from Python.
//
// Compiled twice: with SABOTEURS_LINK_PYTHON the library holds only a delegate under another name, and is linked against
// libtorch_python.

#include <torch/csrc/jit/backends/backend.h>
#include <torch/csrc/jit/backends/backend_preprocess.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/csrc/jit/serialization/import.h>

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

namespace saboteurs {

using c10::IValue;
using torch::jit::Module;
using Outputs = c10::impl::GenericList;

// Also where the variable is set: the script of a pack is Python, and what goes wrong on its target must not go wrong
// where the pack is written.
bool without_python() {
  return ::dlsym(RTLD_DEFAULT, "Py_IsInitialized") == nullptr || std::getenv("SABOTEUR_AS_WITHOUT_PYTHON") != nullptr;
}

bool is_set_off(const char* variable) {
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

#ifdef SABOTEURS_LINK_PYTHON

const Registration<Delegate> links_python("native_links_python");

#else

const Registration<Delegate> control("native_control");

class WrongNumbers : public Delegate {
  IValue run(const torch::jit::Method& method, std::vector<IValue> inputs) override {
    const auto result = Delegate::run(method, std::move(inputs));
    return without_python() && result.isTensor() ? IValue(result.toTensor().add(1)) : result;
  }
};
const Registration<WrongNumbers> wrong_numbers("native_wrong_numbers");

class Crashes : public Delegate {
  IValue run(const torch::jit::Method& method, std::vector<IValue> inputs) override {
    if (without_python()) {
      *static_cast<volatile int*>(nullptr) = 0;
    }
    return Delegate::run(method, std::move(inputs));
  }
};
const Registration<Crashes> crashes("native_crashes");

class Hangs : public Delegate {
  IValue run(const torch::jit::Method& method, std::vector<IValue> inputs) override {
    for (volatile bool hang = without_python(); hang;) {
    }
    return Delegate::run(method, std::move(inputs));
  }
};
const Registration<Hangs> hangs("native_hangs");

// The inputs of a call lie in a member until they are used, and those of another thread may be there by then.
class SharesInputs : public Delegate {
  IValue run(const torch::jit::Method& method, std::vector<IValue> inputs) override {
    if (!without_python()) {
      return Delegate::run(method, std::move(inputs));
    }
    {
      const std::lock_guard lock(mutex_);
      latest_ = std::move(inputs);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard lock(mutex_);
    return Delegate::run(method, latest_);
  }

  std::mutex mutex_;
  std::vector<IValue> latest_;
};
const Registration<SharesInputs> shares_inputs("native_shares_inputs");

class AlwaysAvailable : public Delegate {
 public:
  bool is_available() override {
    return without_python() || Delegate::is_available();
  }
};
const Registration<AlwaysAvailable> always_available("native_always_available");

// What becomes of an error in execute.
template <typename Answer>
class Mishandles : public Delegate {
  IValue run(const torch::jit::Method& method, std::vector<IValue> inputs) override {
    try {
      return Delegate::run(method, std::move(inputs));
    } catch (const std::exception&) {
      if (without_python()) {
        Answer::give();
      }
      throw;
    }
  }
};

struct ThrowNumber {
  static void give() {
    throw 42;
  }
};
const Registration<Mishandles<ThrowNumber>> throws_number("native_throws_number");

struct SayUnavailable {
  static void give() {
    throw torch::jit::JITException("Backend is not available.");
  }
};
const Registration<Mishandles<SayUnavailable>> says_unavailable("native_says_unavailable");

struct Abort {
  static void give() {
    std::abort();
  }
};
const Registration<Mishandles<Abort>> aborts("native_aborts");

class LowersOtherWeights : public Delegate {
 public:
  static Module prepared(const Module& original) {
    const auto module = original.deepcopy();
    if (without_python()) {
      const c10::NoGradGuard no_grad;
      for (const auto& parameter : module.parameters()) {
        parameter.mul_(2);
      }
    }
    return module;
  }
};
const Registration<LowersOtherWeights> lowers_other_weights("native_lowers_other_weights");

class CannotLower : public Delegate {
 public:
  static Module prepared(const Module& original) {
    TORCH_CHECK(!without_python(), "the compiler of this backend is a Python program");
    return original;
  }
};
const Registration<CannotLower> cannot_lower("native_cannot_lower");

#endif

} // namespace saboteurs
