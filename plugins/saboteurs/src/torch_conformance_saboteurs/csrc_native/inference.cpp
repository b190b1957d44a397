// Delegates that go wrong under the guards of inference, and in threads.

#include "delegate.h"

#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

namespace saboteurs {

// Keeps the contract where Python is; elsewhere a kind of it loads and runs in its own way.
class OtherwiseNatively : public Delegate {
 public:
  c10::impl::GenericDict compile(IValue processed, c10::impl::GenericDict method_compile_spec) final {
    return without_python() ? load_natively(processed, method_compile_spec)
                            : Delegate::compile(processed, method_compile_spec);
  }

 protected:
  IValue run(const torch::jit::Method& method, std::vector<IValue> inputs) final {
    return without_python() ? run_natively(method, std::move(inputs)) : Delegate::run(method, std::move(inputs));
  }

  virtual c10::impl::GenericDict load_natively(const IValue& processed, const c10::impl::GenericDict& spec) {
    return Delegate::compile(processed, spec);
  }

  virtual IValue run_natively(const torch::jit::Method& method, std::vector<IValue> inputs) {
    return Delegate::run(method, std::move(inputs));
  }
};

class RefusesInferenceMode : public OtherwiseNatively {
  IValue run_natively(const torch::jit::Method& method, std::vector<IValue> inputs) override {
    TORCH_CHECK(!c10::InferenceMode::is_enabled(), "Cannot set version_counter for inference tensor");
    return Delegate::run(method, std::move(inputs));
  }
};
const Registration<RefusesInferenceMode> refuses_inference_mode("native_refuses_inference_mode");

// What is made while a module is loaded in inference mode takes part in autograd later.
class KeepsInferenceTensors : public OtherwiseNatively {
  c10::impl::GenericDict load_natively(const IValue& processed, const c10::impl::GenericDict& spec) override {
    scale_ = at::ones({1});
    return Delegate::compile(processed, spec);
  }

  IValue run_natively(const torch::jit::Method& method, std::vector<IValue> inputs) override {
    const auto result = Delegate::run(method, std::move(inputs));
    return result.isTensor() ? IValue(result.toTensor().detach().requires_grad_().mul(scale_).detach()) : result;
  }

  at::Tensor scale_;
};
const Registration<KeepsInferenceTensors> keeps_inference_tensors("native_keeps_inference_tensors");

// Gradients are turned off for a run, and on again only if it succeeds.
class LeaksAfterFailure : public OtherwiseNatively {
  IValue run_natively(const torch::jit::Method& method, std::vector<IValue> inputs) override {
    const bool before = c10::GradMode::is_enabled();
    c10::GradMode::set_enabled(false);
    auto result = Delegate::run(method, std::move(inputs));
    c10::GradMode::set_enabled(before);
    return result;
  }
};
const Registration<LeaksAfterFailure> leaks_after_failure("native_leaks_after_failure");

// Under no_grad the outputs for inputs that require grad have a history.
class RecordsHistory : public OtherwiseNatively {
  IValue run_natively(const torch::jit::Method& method, std::vector<IValue> inputs) override {
    const bool graded = std::any_of(inputs.begin(), inputs.end(), [](const IValue& input) {
      return input.isTensor() && input.toTensor().requires_grad();
    });
    const auto result = Delegate::run(method, std::move(inputs));
    const bool recorded = graded && result.isTensor() && !c10::InferenceMode::is_enabled();
    return recorded ? IValue(result.toTensor().detach().requires_grad_()) : result;
  }
};
const Registration<RecordsHistory> records_history("native_records_history");

// What a module remembers of the thread in which it was loaded.
class RemembersItsThread : public OtherwiseNatively {
  c10::impl::GenericDict load_natively(const IValue& processed, const c10::impl::GenericDict& spec) override {
    thread_ = std::this_thread::get_id();
    inference_ = c10::InferenceMode::is_enabled();
    return Delegate::compile(processed, spec);
  }

 protected:
  bool is_elsewhere() const {
    return std::this_thread::get_id() != thread_;
  }

  std::thread::id thread_;
  bool inference_ = false;
};

class RunsWhereItWasLoaded : public RemembersItsThread {
  IValue run_natively(const torch::jit::Method& method, std::vector<IValue> inputs) override {
    TORCH_CHECK(!is_elsewhere(), "no context is current in this thread");
    return Delegate::run(method, std::move(inputs));
  }
};
const Registration<RunsWhereItWasLoaded> runs_where_it_was_loaded("native_runs_where_it_was_loaded");

// A thread that runs a method is left in the mode in which another has loaded the module.
class CarriesModesToThreads : public RemembersItsThread {
  IValue run_natively(const torch::jit::Method& method, std::vector<IValue> inputs) override {
    auto result = Delegate::run(method, std::move(inputs));
    if (is_elsewhere()) {
      c10::GradMode::set_enabled(!inference_);
    }
    return result;
  }
};
const Registration<CarriesModesToThreads> carries_modes_to_threads("native_carries_modes_to_threads");

// Of several modules that are loaded at once all but one are refused.
class RefusesASecondLoad : public OtherwiseNatively {
  c10::impl::GenericDict load_natively(const IValue& processed, const c10::impl::GenericDict& spec) override {
    static std::mutex loading;
    const std::unique_lock alone(loading, std::try_to_lock);
    TORCH_CHECK(alone.owns_lock(), "the compiler is busy");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Delegate::compile(processed, spec);
  }
};
const Registration<RefusesASecondLoad> refuses_a_second_load("native_refuses_a_second_load");

} // namespace saboteurs
