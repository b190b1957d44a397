#pragma once

#include "values.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include <optional>
#include <string>

namespace native_target {

// What the guards of inference change: each thread has its own.
struct Modes {
  bool grad;
  bool inference;

  static Modes here() {
    return {at::GradMode::is_enabled(), c10::InferenceMode::is_enabled()};
  }

  bool operator==(const Modes&) const = default;

  c10::impl::GenericDict as_message() const {
    auto message = new_dict();
    message.insert("grad mode", grad);
    message.insert("inference mode", inference);
    return message;
  }
};

// A guard by its name ("no_grad", "inference_mode" or "none"), which holds in this thread for as long as this lives.
class Guard {
 public:
  explicit Guard(const std::string& name) {
    if (name == "no_grad") {
      no_grad_.emplace();
    } else if (name == "inference_mode") {
      inference_mode_.emplace();
    } else {
      TORCH_CHECK(name == "none", "expected the guard no_grad, inference_mode or none, found '", name, "'");
    }
  }

 private:
  std::optional<at::NoGradGuard> no_grad_;
  std::optional<c10::InferenceMode> inference_mode_;
};

} // namespace native_target
