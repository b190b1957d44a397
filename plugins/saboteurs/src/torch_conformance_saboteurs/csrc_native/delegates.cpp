// TorchScript delegates that run without Python: one that keeps the contract, and others, each of which breaks it in one
// way, and only in a process that has no Python in it. There they could not be seen from Python.
//
// Compiled twice: with SABOTEURS_LINK_PYTHON the library holds only a delegate under another name, and is linked against
// libtorch_python.

#include "delegate.h"

#ifndef SABOTEURS_LINK_PYTHON
#include "inference.cpp"
#endif

#include <torch/csrc/jit/runtime/jit_exception.h>

#include <c10/core/GradMode.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace saboteurs {

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
