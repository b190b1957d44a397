#include "availability.h"
#include "compile.h"
#include "interpreter.h"
#include "preprocess.h"

#include <torch/csrc/jit/backends/backend.h>
#include <torch/csrc/jit/backends/backend_preprocess.h>
#include <torch/library.h>

namespace reference {

class ReferenceBackend : public torch::jit::PyTorchBackendInterface {
 public:
  // Compile needs no more than execute does, see availability.h.
  bool is_available() override {
    return can_compile() && can_execute();
  }

  c10::impl::GenericDict compile(
      c10::IValue processed,
      c10::impl::GenericDict method_compile_spec) override {
    require_compile();
    return reference::compile(processed, method_compile_spec);
  }

  c10::impl::GenericList execute(c10::IValue handle, c10::impl::GenericList inputs) override {
    require_execute();
    TORCH_CHECK(
        handle.isCustomClass(),
        "Backend ", kBackendName, " cannot execute: expected a handle from compile, found ",
        handle.tagKind(), ".");
    return interpret(*handle.toCustomClass<CompiledMethod>(), inputs);
  }
};

namespace {

// PyTorch refuses a second registration of the name, be it by a copy of this library. The
// preprocess function goes first: its refusal is the one that names the backend plainly.
const torch::jit::backend_preprocess_register preprocess_registration(kBackendName, preprocess);
const torch::jit::backend<ReferenceBackend> backend_registration(kBackendName);

TORCH_LIBRARY(reference_backend, library) {
  library.class_<CompiledMethod>("CompiledMethod");
  library.def("preprocess_count() -> int", preprocess_count);
}

} // namespace
} // namespace reference
